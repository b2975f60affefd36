"""MurmurHash3 (x86, 32 bits; Appleby 2011) of the n-grams that are parts of a line of bytes.

Bytes after a line are read and ignored: there are at least eight.
"""

from streamnb.kernels.compiler import brick, part
from streamnb.kernels.digits import LOW32, four_bytes, rotated

SHORT = 2  # groups of four bytes that are always mixed, and used where present: most words have no more


@brick
def mixed(k):
    # only the low 32 bits of this and later values count
    return rotated(k * 0xCC9E2D51, 15) * 0x1B873593


@brick
def with_four(h, line, at):
    # the state of the hash after four more bytes
    return rotated(h ^ mixed(four_bytes(line, at)), 13) * 5 + 0xE6546B64


@brick
def finished(h, line, at, end, length):
    # the hash from the state and up to three last bytes; later bytes are masked, and 0 mixes to 0
    h ^= mixed(four_bytes(line, at) & ((1 << (int(end - at) << 3)) - 1))
    h = (h ^ int(length)) & LOW32
    h = ((h ^ h >> 16) * 0x85EBCA6B) & LOW32
    h = ((h ^ h >> 13) * 0xC2B2AE35) & LOW32
    return h ^ h >> 16


@brick
def with_fours(h, line, at, end):
    # the state after all groups of four bytes, and their end; mixing unused groups avoids a branch misprediction
    n = (end - at) >> 2
    for k in range(SHORT):
        more = with_four(h, line, at + 4 * k)
        h = more if k < n else h
    for k in range(SHORT, n):
        h = with_four(h, line, at + 4 * k)
    return h, at + 4 * n


@brick
def hash_of(line, begin, end, seed):
    h, at = with_fours(int(seed), line, begin, end)
    return finished(h, line, at, end, end - begin)


@brick
def same(line, begin, end, other, first, last):
    if end - begin != last - first:
        return False
    for j in range(end - begin):  # noqa: SIM110 - no generators here
        if line[begin + j] != other[first + j]:
            return False
    return True


@part
def hash_ngrams(line, units, n_units, shortest, longest, seed, hashes):
    # the hashes of all n-grams, by first unit, then by length, since these share their first bytes
    k = 0
    for first in range(n_units):
        h, begin = int(seed), units[0, first]
        at = begin
        for n in range(1, min(longest, n_units - first) + 1):
            end = units[1, first + n - 1]
            h, at = with_fours(h, line, at, end)
            if n >= shortest:
                hashes[k] = finished(h, line, at, end, end - begin)
                k += 1
    return k


@part
def hash_bytes(line, n_units, shortest, longest, seed, hashes):
    # the same where each unit is a byte
    k = 0
    for first in range(n_units):
        h = int(seed)
        for n in range(1, min(longest, n_units - first) + 1):
            if n & 3 == 0:
                h = with_four(h, line, first + n - 4)
            if n >= shortest:
                hashes[k] = finished(h, line, first + (n & ~3), first + n, n)
                k += 1
    return k
