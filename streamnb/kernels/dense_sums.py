"""Sums and sums of squares of unweighted dense float32 rows, and sums of products of feature pairs.

Products are the packed upper triangle (i <= j), n (n + 1) / 2 cells for each group; the cell of (i, j) is
i n - i (i + 1) / 2 + j.
"""

import math

import numpy as np

from streamnb.kernels.compiler import brick, flags, kernel, part
from streamnb.kernels.exact import add_low, spill, two_product, two_sum
from streamnb.kernels.lanes import (
    LANES,
    absolute,
    any_below,
    chosen,
    plus_product,
    prefetch,
    put,
    spread,
    take,
    widened,
)
from streamnb.kernels.row_values import raise_tops

FEWEST, MANY = 32, 256  # average rows of a group that justify separate sums, and that share them
CLOSE = 64  # rows of a group whose values are in the cache together
AHEAD = 4 * LANES  # columns to prefetch ahead, two cache lines
PARTS = 8  # the sum of x, its rounding errors, the errors of these, and so on; then the same for x^2
HALF = 4  # the first part of sums of x^2
NUMBERS = np.arange(LANES, dtype=np.float32)
NONE, ZERO, BEFORE, ABOVE = np.float32(np.inf), np.float32(0.0), np.float32(0.5), np.float32(1.0 + 2.0**-23)
at = np.uintp  # an unsigned index spares the check for negative ones


@kernel
def add_both(values, codes, tops, tile, top, least, depth, rows, ends, sums, hi, lo, hi_sq, lo_sq):
    # (hi, lo)[codes[i], j] += x[i, j] and (hi_sq, lo_sq)[codes[i], j] += x[i, j]^2, error-free; returns for each
    # whether more than the first low part is in use
    # In rows t * tile to (t + 1) * tile no value of feature j is larger than tops[t, j]. `top` (n_features,), `least`
    # (2, n_features), `depth` (one for LANES features), `rows` (n_rows,), `ends` (n_groups,) and `sums` (PARTS,
    # n_features or more) are scratch arrays.
    n_groups, spilled, spilled_sq = len(ends), False, False
    together = 1 + MANY * n_groups // tile
    for t in range(0, len(tops), together):
        top[:] = 0.0
        for u in range(t, min(t + together, len(tops))):
            raise_tops(tops[u], top)
        round_up(top)
        depth[:] = 0
        first, last = t * tile, min((t + together) * tile, len(values))
        by_group(codes[first:last], first, ends, rows)
        start = 0
        for k in range(n_groups):
            if ends[k] > start:
                n_rows = power_from(ends[k] - start)
                begin(top, n_rows, False, sums[:4])
                begin(top, n_rows, True, sums[4:])
                losing(top, n_rows, least)
                add_rows(values, rows[: last - first], start, ends[k], least, depth, sums)
                spilled |= end(top, n_rows, False, sums[:4], k, hi, lo)
                spilled_sq |= end(top, n_rows, True, sums[4:], k, hi_sq, lo_sq)
                start = ends[k]
    return spilled, spilled_sq


@part
def by_group(codes, first, ends, rows):
    # rows[ends[k - 1] : ends[k]] = the rows of group k, ascending; row numbers start at `first`
    ends[:] = 0
    for i in range(len(codes)):
        ends[codes[i]] += 1
    begin = 0
    for k in range(len(ends)):
        begin, ends[k] = begin + ends[k], begin
    for i in range(len(codes)):
        k = codes[i]
        rows[ends[k]] = first + i
        ends[k] += 1


@kernel
def each_once(rows, weight):
    """Return whether the entries are the rows from the first on, each with weight 1."""
    others = 0
    for e in range(len(rows)):
        others += (rows[e] != e) | (weight[e] != 1.0)
    return others == 0


@part
def round_up(top):
    # round each top up to a power of two above it
    for j in range(len(top)):
        top[j] = math.ldexp(1.0, math.frexp(top[j])[1])


@part
def power_from(n_rows):
    """Return the smallest power of two that is at least `n_rows`."""
    n = 1.0
    while n < n_rows:
        n *= 2.0
    return n


@part
def height(size, n_rows, squared):
    """The start of a sum of terms up to `size`, or up to its square; `size` and `n_rows` are powers of two.

    Whatever the signs, the sum stays between 2 n s and 4 n s, so it is rounded to multiples of one unit, u = 2^-51 n s.
    Where x is a multiple of u, x^2 is a multiple of u^2, and so are the rounding errors of its sum, whose own sum is
    rounded to that unit.
    """
    return 3.0 * n_rows * (size * size if squared else size)


@part
def rest_height(size, n_rows, squared):
    """The same for the sum of rounding errors, half a unit each."""
    return n_rows * 2.0**-52 * height(size, n_rows, squared)


@part
def begin(top, n_rows, squared, sums):
    for j in range(len(top)):
        sums[0, j] = height(top[j], n_rows, squared)
        sums[1, j] = rest_height(top[j], n_rows, squared)
        sums[2, j] = sums[3, j] = 0.0


@part
def losing(top, n_rows, least):
    # least[d, j] = 24 digits of a unit: it is a multiple of this, and so are larger values
    # d = 0: the unit u of the sum of x. d = 1: 2^-27 n u, of which the sum of what x loses holds multiples, and whose
    # square 2^-156 n^4 s^2 is no less than 2^-53 of all that n squares lose twice, 2^-104 n^3 s^2
    for j in range(len(top)):
        unit = 2.0**-51 * n_rows * top[j]
        for d in range(2):
            least[d, j] = 2.0**23 * unit if unit > 2.0**-149 else 0.0  # every float32 is a multiple of the unit
            unit *= 2.0**-27 * n_rows


@part
def add_rows(values, rows, start, end, least, depth, sums):
    # add rows[start:end] to the sums of their group, a few at a time; depth[s] is the number of rounding errors of x in
    # columns s * LANES to (s + 1) * LANES: 0 or 1 in this group, or unknown (2), when each row is added by itself
    n_features = values.shape[1]
    for s in range(len(depth)):
        depth[s] -= depth[s] % 2
    for first in range(start, end, CLOSE):
        stop, n_deep = min(first + CLOSE, end), 0
        for p in range(stop, min(stop + CLOSE, len(rows))):
            prefetch(values, rows[p], 0)
            prefetch(values, rows[p], 2 * LANES)
        for s in range(len(depth)):
            column = min(s * LANES, n_features - LANES)  # the last vector may overlap the one before
            skip = s * LANES - column
            if depth[s] == 0:
                depth[s] += sum_both(values, rows, first, stop, column, skip, least, sums)
            if depth[s] == 1:
                depth[s] += sum_both_deep(values, rows, first, stop, column, skip, least, sums)
            n_deep += depth[s] == 2
        if n_deep > 0:
            for p in range(first, stop):
                for s in range(len(depth)):
                    if depth[s] == 2:
                        column = min(s * LANES, n_features - LANES)
                        add_both_lanes(values, rows[p], column, s * LANES - column, sums)


@part
def end(top, n_rows, squared, sums, k, hi, lo):
    # (hi, lo)[k] += the growth of the sums, exact by Sterbenz's lemma, and their errors; True if more than the first
    # low part is in use. Overwrites `sums`
    high, low, more = hi[k], lo[0, k], 0
    for j in range(len(top)):
        high[j], e = two_sum(high[j], sums[0, j] - height(top[j], n_rows, squared))
        e, sums[0, j] = two_sum(e, sums[1, j] - rest_height(top[j], n_rows, squared))
        low[j], sums[1, j] = two_sum(low[j], e)
        more += (sums[0, j] != 0.0) | (sums[1, j] != 0.0) | (sums[2, j] != 0.0) | (sums[3, j] != 0.0)
    if more == 0:
        return False
    spilled = False
    for j in range(len(top)):
        spilled |= spill(lo, k, j, sums[0, j], sums[1, j])
        spilled |= spill(lo, k, j, sums[2, j], sums[3, j])
    return spilled


@brick
def grown(total, x):
    # total + x, where the total is larger, and the rounding error (FastTwoSum, Dekker 1971)
    after = total + x
    return after, x - (after - total)


@brick
def grown_by_square(total, x):
    # the same for x^2; the product alone is exact
    after = plus_product(total, x, x)
    return after, plus_product(total - after, x, x)


@brick
def read(values, row, column, lowest):
    # x = values[row, column + lane], and the smallest absolute values of nonzero numbers so far
    prefetch(values, row, column + AHEAD)
    stored = take(values, row, column, LANES)
    size = absolute(stored)
    size = chosen(size, spread(ZERO, LANES), size, spread(NONE, LANES))
    return widened(stored), chosen(lowest, size, size, lowest)


@brick
def few_digits(lowest, least, depth, column, skip):
    # whether a number, from lane `skip` on, is at most least[depth, column + lane], a power of two
    some = chosen(take(NUMBERS, 0, 0, LANES), spread(np.float32(skip) - BEFORE, LANES), lowest, spread(NONE, LANES))
    return any_below(some, take(least, depth, column, LANES) * ABOVE)


@brick
def put_from(sums, part, column, skip, new):
    # sums[part, column + lane] = new[lane] from lane `skip` on
    skipped = spread(np.float32(skip) - BEFORE, LANES)
    put(sums, part, column, chosen(take(NUMBERS, 0, 0, LANES), skipped, new, take(sums, part, column, LANES)))


@brick
def sum_both(values, rows, first, stop, column, skip, least, sums):
    # Add x = values[rows[p], column + lane] and x^2, p from first to stop, to the sums of LANES columns but the first
    # `skip`, with one rounding error of the sum of x^2 and none of that of x. A nonzero value of at most least[0,
    # column + lane] would need more: then return True and leave `sums` unchanged.
    lowest = spread(NONE, LANES)
    total = take(sums, 0, column, LANES)
    squares, errors = take(sums, HALF, column, LANES), take(sums, HALF + 1, column, LANES)
    for p in range(first, stop):
        x, lowest = read(values, rows[at(p)], column, lowest)
        total = total + x
        squares, error = grown_by_square(squares, x)
        errors = errors + error
    if few_digits(lowest, least, 0, column, skip):
        return True
    put_from(sums, 0, column, skip, total)
    put_from(sums, HALF, column, skip, squares)
    put_from(sums, HALF + 1, column, skip, errors)
    return False


@brick
def sum_both_deep(values, rows, first, stop, column, skip, least, sums):
    # the same with one more error of each, and least[1]
    lowest = spread(NONE, LANES)
    total, errors = take(sums, 0, column, LANES), take(sums, 1, column, LANES)
    squares, more = take(sums, HALF, column, LANES), take(sums, HALF + 1, column, LANES)
    last = take(sums, HALF + 2, column, LANES)
    for p in range(first, stop):
        x, lowest = read(values, rows[at(p)], column, lowest)
        total, error = grown(total, x)
        errors = errors + error
        squares, error = grown_by_square(squares, x)
        more, error = grown(more, error)
        last = last + error
    if few_digits(lowest, least, 1, column, skip):
        return True
    put_from(sums, 0, column, skip, total)
    put_from(sums, 1, column, skip, errors)
    put_from(sums, HALF, column, skip, squares)
    put_from(sums, HALF + 1, column, skip, more)
    put_from(sums, HALF + 2, column, skip, last)
    return False


@brick
def add_to(sums, part, column, x):
    # add to a part of the sums; returns the rounding error
    total = take(sums, part, column, LANES)
    after = total + x
    gained = after - total
    put(sums, part, column, after)
    return (total - (after - gained)) + (x - gained)


@brick
def add_both_lanes(values, row, column, skip, sums):
    # Add x = values[row, column + lane] and x^2, with all rounding errors, to the sums of LANES columns but the first
    # `skip`. `values` are float32, so that x^2 is exact in float64; as `dense_sums` starts the sums, it has a second
    # error only where x has one.
    zeros, skipped = spread(0.0, LANES), spread(np.float32(skip) - BEFORE, LANES)
    x = chosen(take(NUMBERS, 0, 0, LANES), skipped, widened(take(values, row, column, LANES)), zeros)
    lost = add_to(sums, 0, column, x)
    lost_of_square = add_to(sums, HALF + 1, column, add_to(sums, HALF, column, x * x))
    if any_below(zeros, absolute(lost)):
        add_to(sums, 3, column, add_to(sums, 2, column, add_to(sums, 1, column, lost)))
        add_to(sums, HALF + 3, column, add_to(sums, HALF + 2, column, lost_of_square))


_PAIRS, _FOURS, _EIGHTS = (np.uint64(mask) for mask in (0x5555555555555555, 0x3333333333333333, 0x0F0F0F0F0F0F0F0F))
_BYTES = np.uint64(0x0101010101010101)
_ONE, _TWO, _FOUR, _LAST = (np.uint64(shift) for shift in (1, 2, 4, 56))
WORD = 64  # rows


@kernel
def weigh(values, weight, hi, lo):
    # hi[i, j] + lo[i, j] = weight[i] * x[i, j], exactly
    for i in range(values.shape[0]):
        for j in range(values.shape[1]):
            hi[i, j], lo[i, j] = two_product(weight[i], np.float64(values[i, j]))


@kernel
def add_csr(data, indices, indptr, rows, codes, weight, n_features, hi):
    # hi[codes[e], (i, j)] += weight[e] * x_i * x_j over the stored values of row rows[e]
    start = indptr[0]
    for e in range(len(codes)):
        k, first, last = codes[e], indptr[rows[e]] - start, indptr[rows[e] + 1] - start
        for p in range(first, last):
            i, wx = np.int64(indices[p]), weight[e] * np.float64(data[p])
            own = i * n_features - i * (i + 1) // 2
            for q in range(p, last):
                hi[k, own + np.int64(indices[q])] += wx * np.float64(data[q])


@kernel
def add_csr_pairs(data, indices, indptr, rows, codes, weight, n_features, hi, lo):
    # the same in parts (hi, lo); True if more than the first low part is in use
    start, spilled = indptr[0], False
    for e in range(len(codes)):
        k, first, last = codes[e], indptr[rows[e]] - start, indptr[rows[e] + 1] - start
        for p in range(first, last):
            i = np.int64(indices[p])
            wx, wx_error = two_product(weight[e], np.float64(data[p]))
            own = i * n_features - i * (i + 1) // 2
            for q in range(p, last):
                x, at = np.float64(data[q]), own + np.int64(indices[q])
                term, error = two_product(wx, x)
                hi[k, at], r = two_sum(hi[k, at], term)
                spilled |= add_low(lo, k, at, r, error)
                if wx_error != 0.0:
                    term, error = two_product(wx_error, x)
                    hi[k, at], r = two_sum(hi[k, at], term)
                    spilled |= add_low(lo, k, at, r, error)
    return spilled


@kernel
def add_groups(values, rows, weight, begins, ends, out):
    # out[g, (i, j)] += sum of weight[e] * x_i * x_j over the rows rows[e] of group g, e from begins[g] to ends[g]; four
    # rows at once, so that each cell is loaded and stored once for all four
    n_features = values.shape[1]
    for g in range(len(begins)):
        cells, last = out[g], ends[g] - 1
        for a in range(begins[g], ends[g], 4):
            b, c, d = min(a + 1, last), min(a + 2, last), min(a + 3, last)
            p, q, r, s = values[rows[a]], values[rows[b]], values[rows[c]], values[rows[d]]
            w_q, w_r, w_s = weight[b] * (a + 1 <= last), weight[c] * (a + 2 <= last), weight[d] * (a + 3 <= last)
            at = 0
            for i in range(n_features):
                f_p, f_q, f_r, f_s = weight[a] * p[i], w_q * q[i], w_r * r[i], w_s * s[i]
                for j in range(i, n_features):
                    cells[at + j - i] += (f_p * p[j] + f_q * q[j]) + (f_r * r[j] + f_s * s[j])
                at += n_features - i


@kernel
def scatter_about_means(sum_hi, sum_lo, product_hi, product_lo, weight_hi, weight_lo, out):
    # out[i, j] = product_ij - sum_i * sum_j / weight, in doubled precision: sums of products about the means
    n_features, at = len(sum_hi), 0
    for i in range(n_features):
        m = sum_hi[i] / weight_hi  # the mean with its error: one Newton correction of the rounded quotient
        p, e = two_product(m, weight_hi)
        m_lo = ((sum_hi[i] - p) - e + sum_lo[i] - m * weight_lo) / weight_hi
        for j in range(i, n_features):
            p, e = two_product(m, sum_hi[j])
            e += m * sum_lo[j] + m_lo * sum_hi[j]
            s, r = two_sum(product_hi[at], -p)
            out[i, j] = out[j, i] = s + (r + product_lo[at] - e)
            at += 1
        out[i, i] = max(out[i, i], 0.0)


# ---- presence as bits, 64 rows of a column in one word, so that co-occurrences are counted word by word ----


def _summed(word):
    # population count: sums of two, four and eight bits, then of all bytes; a single instruction where available
    word = word - ((word >> _ONE) & _PAIRS)
    word = (word & _FOURS) + ((word >> _TWO) & _FOURS)
    word = (word + (word >> _FOUR)) & _EIGHTS
    return (word * _BYTES) >> _LAST


def _counted(word):
    return int(word).bit_count()  # for interpreted kernels, where products would overflow


n_ones = _counted if flags.DISABLE_JIT else brick(_summed)


@kernel
def pack(values, rows, threshold, words):
    # bit r of words[w, j] = [x[rows[64 w + r], j] > threshold]
    for w in range(words.shape[0]):
        word, first = words[w], w * WORD
        word[:] = 0
        for r in range(first, min(first + WORD, len(rows))):
            x, shift = values[rows[r]], np.uint64(r - first)
            for j in range(len(word)):
                word[j] |= np.uint64(x[j] > threshold) << shift


@kernel
def count_pairs(bits, out):
    # out[(i, j)] += number of rows with both columns i <= j; bits are (n_features, n_words), cells as in products
    at = 0
    for i in range(bits.shape[0]):
        for j in range(i, bits.shape[0]):
            total = np.uint64(0)
            for w in range(bits.shape[1]):
                total += np.uint64(n_ones(bits[i, w] & bits[j, w]))
            out[at] += total
            at += 1
