"""N-grams of words, characters and bytes of UTF-8 texts, and k-mers of nucleotides, counted by row: sorted CSR.

A text is normalised to a line of units: words of at least two characters, each followed by a space, all characters
with runs of spaces merged, or all bytes. An n-gram is then a contiguous part of the line and is hashed in place.

`rules` has the lower case of each code point (its CODE bits), and whether it is a letter of words or a space.

Codegrams are n-grams of letters, which stand for intervals between heartbeats; they are counted by window or record.
"""

import numpy as np

from streamnb.kernels.compiler import brick, kernel, part
from streamnb.kernels.digits import (
    COPIED,
    LOW32,
    STRIDE,
    copy_letters,
    four_bytes,
    lowest_bit,
    place,
    rotated,
    word_bits,
)

CODE, WORD, SPACE, HARD = (1 << 21) - 1, 1 << 21, 1 << 22, 1 << 23
BLANK = 32
WORDS, CHARACTERS, BYTES = 0, 1, 2
SPARE = 32  # bytes after a line that may be written or read, and are ignored
KEY_FACTOR, KEY_BITS = 2442741, (1 << 40) - 1  # of hashes of keys, whose products fit int64
SHORT = 2  # groups of four bytes that are always mixed, and used where present: most words have no more
AMBIGUOUS, IGNORED, WRONG = 4, 5, 6  # kinds of bytes beside the four letters, 0 to 3
DIGIT = 11  # bits of a column in one pass of the radix sort, at most


# ---- MurmurHash3 (x86, 32 bits; Appleby 2011) of parts of a line, after which at least eight bytes may be read ----


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


# ---- texts -----------------------------------------------------------------------------------------------------------


@kernel
def find_hard(buffer, starts, stops, rules, out):
    # out[i]: whether text i is invalid UTF-8, or has a character whose lower case is not a single code point
    for i in range(len(starts)):
        out[i] = False
        at = int(starts[i])
        while at < stops[i] and not out[i]:
            if at + 4 <= stops[i] and four_bytes(buffer, at) & 0x80808080 == 0:  # ASCII needs no special treatment
                at += 4
                continue
            lead = int(buffer[at])
            size = 1 if lead < 0x80 else 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4
            if 0x80 <= lead < 0xC2 or lead > 0xF4 or at + size > stops[i]:
                out[i] = True
                break
            for j in range(at + 1, at + size):
                out[i] = out[i] or (int(buffer[j]) & 0xC0) != 0x80
            code = code_at(buffer, at, size)
            short = (size == 3 and code < 0x800) or (size == 4 and code < 0x10000)
            none = short or 0xD800 <= code < 0xE000 or code > 0x10FFFF
            out[i] = out[i] or none or (code < len(rules) and (rules[code] & HARD) != 0)
            at += size


@kernel
def count_ngrams(
    buffer, starts, stops, stored_starts, stored_stops, rules, ranges, seeds, known, n_columns, signed, line, units,
    hashes, keys, sorted_keys, places, indptr, indices, data,
):  # fmt: skip
    # counts of the n-grams of `ranges` (words, characters, bytes) as CSR: indptr[0] = 0, columns ascend in each row;
    # bytes are those of the texts as they are stored
    for i in range(len(starts)):
        n_keys = np.int64(0)  # a literal 0 would have its callees compiled again
        for kind in range(3):
            shortest, longest = ranges[kind, 0], ranges[kind, 1]
            if longest > 0:
                if kind == BYTES:
                    n_units = bytes_of(buffer, stored_starts[i], stored_stops[i], (rules[65] & CODE) - 65, line)
                    bytewise = True
                else:
                    n_units = units_of(kind, buffer, starts[i], stops[i], rules, line, units)
                    bytewise = kind == CHARACTERS and n_units > 0 and units[1, n_units - 1] == n_units  # ASCII
                if bytewise:
                    n = hash_bytes(line, n_units, shortest, longest, seeds[kind], hashes)
                else:
                    n = hash_ngrams(line, units, n_units, shortest, longest, seeds[kind], hashes)
                if len(known[0]) == 0:
                    n_keys = hashed_keys(hashes, n, n_columns, keys, n_keys)
                else:
                    n_keys = known_keys(line, units, n_units, shortest, longest, hashes, known, keys, n_keys)
        indptr[i + 1] = count_keys(keys, sorted_keys, n_keys, n_columns, places, signed, indices, data, indptr[i])


@kernel
def collect_ngrams(
    buffer, starts, stops, copies, rules, kind, shortest, longest, line, units, slots, begins, ends, hits
):
    # the distinct n-grams of texts, line[begins[k] : ends[k]], and their counts in copies; returns their number
    n_found, at = 0, 0
    mask = len(slots) - 1
    for i in range(len(starts)):
        rest = line[at:]
        n_units = units_of(kind, buffer, starts[i], stops[i], rules, rest, units)
        for first in range(n_units):
            for n in range(shortest, min(longest, n_units - first) + 1):
                begin, end = at + units[0, first], at + units[1, first + n - 1]
                slot = hash_of(line, begin, end, 0) & mask
                while slots[slot] >= 0 and not same(line, begin, end, line, begins[slots[slot]], ends[slots[slot]]):
                    slot = (slot + 1) & mask
                if slots[slot] < 0:
                    slots[slot], begins[n_found], ends[n_found] = n_found, begin, end
                    n_found += 1
                hits[slots[slot]] += copies[i]
        if n_units > 0:
            at += units[1, n_units - 1] + 1
    return n_found


@kernel
def hash_each(buffer, starts, stops, seed, out):
    # out[i] = MurmurHash3 (x86, 32 bits) of a text as it is
    for i in range(len(starts)):
        out[i] = hash_of(buffer, starts[i], stops[i], seed)


@kernel
def place_each(hashes, slots):
    # an open-addressing table from hashes to numbers of distinct tokens; its length is a power of two
    mask = len(slots) - 1
    for i in range(len(hashes)):
        slot = hashes[i] & mask
        while slots[slot] >= 0:
            slot = (slot + 1) & mask
        slots[slot] = i


@kernel
def first_new_key(buffer, at, depth, known):
    # the first key of JSON objects, of those that are no values of others, whose hash is not among the sorted `known`:
    # where it begins and ends within its quotes, and its hash; -1 where there is none
    is_key = False
    while at < len(buffer):
        byte = int(buffer[at])
        if byte == 34:
            at += 1
            begin, code = at, 0
            while at < len(buffer) and buffer[at] != 34:
                if is_key:
                    code = ((code ^ int(buffer[at])) * KEY_FACTOR + 1) & KEY_BITS
                at += 1 + (buffer[at] == 92)
            if is_key:
                place = np.searchsorted(known, code)
                if place == len(known) or known[place] != code:
                    return begin, min(at, len(buffer)), code
            is_key = False
        elif byte == 123 or byte == 91:
            depth += 1
            is_key = depth == 1 and byte == 123
        elif byte == 125 or byte == 93:
            depth -= 1
        elif byte == 44:
            is_key = depth == 1
        elif byte == 10:
            depth = 0
        at += 1
    return -1, -1, 0


# ---- units -----------------------------------------------------------------------------------------------------------


@brick
def code_at(buffer, at, size):
    # the code point of a character of `size` bytes
    if size == 1:
        return int(buffer[at])
    code = int(buffer[at]) & (0xFF >> (size + 1))
    for j in range(at + 1, at + size):
        code = code << 6 | (int(buffer[j]) & 0x3F)
    return code


@brick
def put(line, at, code):
    # write a code point in UTF-8; return the position after it
    if code < 0x80:
        line[at] = code
        return at + 1
    size = 2 if code < 0x800 else 3 if code < 0x10000 else 4
    for j in range(size - 1, 0, -1):
        line[at + j] = 0x80 | (code & 0x3F)
        code >>= 6
    line[at] = (0xF00 >> size & 0xFF) | code
    return at + size


@brick
def rule_at(buffer, at, rules):
    # the rule of the character at that position, and its size in bytes
    code = int(buffer[at])
    if code < 0x80:
        return int(rules[code]), 1
    size = 2 if code < 0xE0 else 3 if code < 0xF0 else 4
    code = code_at(buffer, at, size)
    return (int(rules[code]) if code < len(rules) else code), size


@part
def units_of(kind, buffer, start, stop, rules, line, units):
    # normalise a text to a line of units, from units[0, k] to units[1, k]; returns their number
    if kind == CHARACTERS:
        return characters_of(buffer, start, stop, rules, line, units)
    n = words_of(buffer, start, stop, (rules[65] & CODE) - 65, line, units)
    if n >= 0:
        return n
    n, at, begin, length, i = 0, 0, 0, 0, start
    while i < stop:
        rule, size = rule_at(buffer, i, rules)
        i += size
        if rule & WORD:
            at = put(line, at, rule & CODE)
            length += 1
        elif length > 0:
            if length > 1:
                units[0, n], units[1, n] = begin, at
                line[at] = BLANK
                n, begin = n + 1, at + 1
            at, length = begin, 0
    if length > 1:
        units[0, n], units[1, n] = begin, at
        n += 1
    return n


@part
def words_of(buffer, start, stop, lower, line, units):
    # units of an ASCII text, followed by readable bytes; -1 if it is not ASCII; `lower` is added to A to Z
    n_edges = edges_of(buffer, start, stop, units)
    text, copied, n, at = place(buffer), place(line), 0, 0
    for k in range(0, n_edges, 2):
        begin, size = units[0, k], units[0, k + 1] - units[0, k]
        for j in range(0, size, COPIED):
            copy_letters(text, begin + j, copied, at + j, lower)
        line[at + size] = BLANK
        units[0, n], units[1, n] = at, at + size
        n, at = n + (size > 1), at + (size + 1 if size > 1 else 0)
    return n if n_edges >= 0 else -1


@brick
def edges_of(buffer, start, stop, units):
    # the alternating begins and ends of runs of letters of words; returns their number, -1 as above
    if stop + STRIDE > len(buffer):
        return -1
    text, n, before = place(buffer), 0, 0
    for at in range(start, stop, STRIDE):
        bits, others = word_bits(text, at)
        inside = (1 << min(stop - at, STRIDE)) - 1
        bits &= inside
        if others & inside:
            return -1
        edges = (bits ^ (bits << 1 | before)) & LOW32
        before = bits >> (STRIDE - 1)
        while edges:
            units[0, n] = at + lowest_bit(edges)
            edges &= edges - 1
            n += 1
    if before:
        units[0, n] = stop
        n += 1
    return n


@brick
def characters_of(buffer, start, stop, rules, line, units):
    n, at, i = 0, 0, start
    while i < stop:
        rule, size = rule_at(buffer, i, rules)
        i += size
        units[0, n] = at
        if rule & SPACE and i < stop:
            following, size = rule_at(buffer, i, rules)
            if following & SPACE:  # a run of spaces is one blank
                while following & SPACE:
                    i += size
                    if i >= stop:
                        break
                    following, size = rule_at(buffer, i, rules)
                rule = BLANK
        at = put(line, at, rule & CODE)
        units[1, n] = at
        n += 1
    return n


@part
def bytes_of(buffer, start, stop, lower, line):
    # copy a text as it is, with `lower` added to A to Z; returns its length
    n = stop - start
    for k in range(n):
        byte = int(buffer[start + k])
        line[k] = byte + lower * int(65 <= byte <= 90)
    return n


# ---- counts ----------------------------------------------------------------------------------------------------------


@part
def hashed_keys(hashes, n, n_columns, keys, at):
    # a key has a column and the sign of a hash; the column is the low bits of its magnitude, n_columns a power of two
    for k in range(n):
        h = hashes[k]
        negative = h >> 31
        keys[at + k] = ((h ^ -negative) + negative & (n_columns - 1)) << 1 | negative
    return at + n


@part
def known_keys(line, units, n_units, shortest, longest, hashes, known, keys, at):
    # k as the column of each n-gram that is token k of the vocabulary `known`: a hash table and the position of tokens
    slots, tokens, bounds = known
    k = 0
    for first in range(n_units):
        for n in range(shortest, min(longest, n_units - first) + 1):
            begin, end = units[0, first], units[1, first + n - 1]
            slot = hashes[k] & (len(slots) - 1)
            k += 1
            while slots[slot] >= 0:
                token = int(slots[slot])
                if same(line, begin, end, tokens, bounds[token], bounds[token + 1]):
                    keys[at] = token << 1
                    at += 1
                    break
                slot = (slot + 1) & (len(slots) - 1)
    return at


@part
def count_keys(keys, sorted_keys, n, n_columns, places, signed, indices, data, at):
    # the sorted columns of keys, and the count or the sum of signs of each, from `at` on; returns their end
    n_bits = digit = 1
    while n_columns > 1 << n_bits:
        n_bits += 1
    while digit < DIGIT and 1 << digit < 2 * n:  # about as many buckets as keys
        digit += 1
    n_passes = -(-n_bits // digit)
    digit = -(-n_bits // n_passes)
    for k in range(n_passes):
        sort_by_digit(keys, n, 1 + k * digit, places[: 1 << digit], sorted_keys)
        keys, sorted_keys = sorted_keys, keys
    last, count, at = -1, 0, at - 1
    for k in range(n):
        column, sign = int(keys[k]) >> 1, 1 - 2 * (int(keys[k]) & signed)
        new = int(column != last)
        at, count, last = at + new, count * (1 - new) + sign, column
        indices[at], data[at] = column, count
    return at + 1


@brick
def sort_by_digit(keys, n, low, places, out):
    # one pass of a radix sort, by the bits from `low` on; len(places) is a power of two. An unsigned index spares the
    # check for negative ones
    mask, begin = len(places) - 1, 0
    places[:] = 0
    for k in range(n):
        places[np.uint64((int(keys[k]) >> low) & mask)] += 1
    for d in range(len(places)):
        begin, places[d] = begin + places[d], begin
    for k in range(n):
        digit = np.uint64((int(keys[k]) >> low) & mask)
        out[np.uint64(places[digit])] = keys[k]
        places[digit] += 1


# ---- nucleotides -----------------------------------------------------------------------------------------------------


@kernel
def count_kmers(
    buffer, starts, stops, kinds, k, numbers, n_columns, keys, sorted_keys, places, lengths, indptr, indices, data
):
    # the k-mers of each sequence as CSR: indptr[0] = 0, columns ascend in each row; lengths[i]: the letters of row i.
    # The code of a k-mer has two bits for each letter; its column is numbers[code], or the code if there are none.
    # Returns the position of the first wrong byte, -1 if there is none
    mask = (1 << (2 * k)) - 1
    for i in range(len(starts)):
        code, run, n, length = 0, 0, 0, 0  # `run` letters, of which none is ambiguous, precede
        for at in range(starts[i], stops[i]):
            kind = int(kinds[int(buffer[at])])
            if kind < AMBIGUOUS:
                code, run, length = (code << 2 | kind) & mask, run + 1, length + 1
                if run >= k:
                    column = code if len(numbers) == 0 else int(numbers[code])
                    keys[n] = column << 1  # the low bit is a sign, of which k-mers have none
                    n += 1
            elif kind == AMBIGUOUS:
                run, length = 0, length + 1
            elif kind == WRONG:
                return at
        lengths[i] = length
        indptr[i + 1] = count_keys(keys, sorted_keys, n, n_columns, places, 0, indices, data, indptr[i])
    return -1


# The letters A to F as 0 to 5, by which of R, T and R / T do not decrease: the sum of 4, 2 and 1. Where R and T differ,
# the ratio moves with R, also where products are rounded to a tie.
LETTERS = 5, 1, 3, 3, 2, 2, 4, 0


@brick
def letter(r, t, next_r, next_t):
    """The letter for a beat and the next; ratios are compared without division."""
    return LETTERS[4 * (next_r >= r) + 2 * (next_t >= t) + (next_r * t >= r * next_t)]


@brick
def moved(counts, words, n_words, columns, values, at):
    """Move the counts of these words to the output from `at` on and reset them; return the end."""
    for k in range(n_words):
        columns[at + k] = words[k]
        values[at + k] = counts[words[k]]
        counts[words[k]] = 0
    return at + n_words


@kernel
def count_words(R, T, begins, order, stride, length, state, counts, words, columns, values, sizes):
    """Count the words of each row: of a window of `length` letters, or of a whole record if `length` is 0.

    Return the number of finished rows. Their distinct words are in `columns`, in order of first occurrence, with counts
    in `values`, and the number of words of each row in `sizes`. Beat 0 is the last one of the previous call; begins[i]
    marks beat i as the first of a record, where an unfinished window is dropped. The open row stays in `counts`, with
    its words in `words`, and in `state`: its last letters as a number, its number of letters, the letters missing until
    the next word, and its number of words.
    """
    word, n_letters, missing, n_words = state[0], state[1], state[2], state[3]
    shift = len(counts) // 6
    n_rows, at = 0, 0
    for i in range(1, len(R)):
        if not begins[i]:
            word = word % shift * 6 + letter(R[i - 1], T[i - 1], R[i], T[i])
            n_letters += 1
            missing -= 1
            if missing == 0:
                missing = stride
                if counts[word] == 0:
                    words[n_words] = word
                    n_words += 1
                counts[word] += 1
        if begins[i] or n_letters == length:
            end = moved(counts, words, n_words, columns, values, at)
            if length == 0 or not begins[i]:
                sizes[n_rows] = end - at
                n_rows += 1
                at = end
            word, n_letters, missing, n_words = 0, 0, order, 0
    state[0], state[1], state[2], state[3] = word, n_letters, missing, n_words
    return n_rows
