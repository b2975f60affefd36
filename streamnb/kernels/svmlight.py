"""Parses svmlight text into labels and CSR arrays.

`text` ends with a newline, followed by 8 readable bytes. Numbers are rounded as Python rounds them, or left to Python
where that would take more precision than two float64.
"""

from fractions import Fraction

import numpy as np

from streamnb.kernels.compiler import brick, kernel, part
from streamnb.kernels.digits import digits, find, letter, place
from streamnb.kernels.exact import two_product

NEWLINE, HASH, PLUS, COMMA, MINUS, POINT, COLON, Q = b"\n#+,-.:q"
RIGHT, NO_FEATURE, FALLS, TOO_HIGH = range(4)  # the state of a line: valid, or what is wrong with it
FARTHEST = 280  # largest exponent of 10 with error-free products
_POWERS = [Fraction(10) ** e for e in range(-FARTHEST, FARTHEST + 1)]
POWER = np.array([float(power) for power in _POWERS])  # rounding errors are in POWER_LOW
POWER_LOW = np.array([float(power - Fraction(float(power))) for power in _POWERS])
FEW = 10**15  # numbers that float64 holds; with 2^53, some numbers of 16 digits would take another path than most
WHOLE = np.array([10**n for n in range(9)])
ROOM = np.array([(2**63 - 1) // 10**n - 1 for n in range(9)])  # largest numbers before n more digits in 63 bits


@brick
def ends(c):
    """Whether a byte ends a token."""
    return c <= 32 or c == HASH


@brick
def past_blanks(text, p):
    c = letter(text, p)
    while c == 32 or (9 <= c <= 13 and c != NEWLINE):
        p += 1
        c = letter(text, p)
    return p


@brick
def past_token(text, p, also):
    """The end of the token: a blank, a comment, or the byte `also`."""
    c = letter(text, p)
    while not ends(c) and c != also:
        p += 1
        c = letter(text, p)
    return p


@brick
def past_line(text, p):
    while letter(text, p) != NEWLINE:
        p += 1
    return p + 1


@brick
def more_digits(text, p, m):
    """Append the digits from p on to m: the number, the end of the digits, and whether the number fits into 63 bits.

    After a full word the step is always 8, so that the processor need not wait for the count of digits.
    """
    n, number = digits(text, p)
    fits = True
    while n == 8:
        fits = fits and m <= ROOM[8]
        m, p = m * WHOLE[8] + number, p + 8
        if not 48 <= letter(text, p) <= 57:
            return m, p, fits
        n, number = digits(text, p)
    return m * WHOLE[n] + number, p + n, fits and m <= ROOM[n]


@brick
def rounded(m, e):
    """Return m * 10^e rounded to the nearest float64, and whether that is certain; 0 <= m < 2^63.

    Where m and the power of ten are exact in float64, one operation rounds once (Clinger 1990).
    """
    if m <= FEW and -22 <= e <= 22:
        return m / POWER[FARTHEST - e] if e < 0 else m * POWER[FARTHEST + e], True
    return rounded_pairs(m, e)


@part
def rounded_pairs(m, e):
    """The same, where m and the power of ten are pairs of float64.

    The relative error of their product is below 2^-102: certain unless that close to the midpoint of two float64.
    """
    if e < -FARTHEST or e > FARTHEST:
        return 0.0, False
    high = float(m)
    low = float(m - np.int64(high))
    product, error = two_product(high, POWER[FARTHEST + e])
    error += high * POWER_LOW[FARTHEST + e] + low * POWER[FARTHEST + e]
    x = product + error
    rest, slack = error - (x - product), 2.0**-100 * x
    return x, x + (rest - slack) == x and x + (rest + slack) == x


@brick
def decimal(text, p):
    """The number that begins at p, its end, and whether it is valid and certain."""
    c = letter(text, p)
    sign = -1.0 if c == MINUS else 1.0
    if c in (MINUS, PLUS):
        p += 1
        c = letter(text, p)
    m, k, right = c - 48, 0, 48 <= c <= 57
    after = letter(text, p + 1)
    if right and ends(after):  # most numbers have one digit, or one before the point
        return sign * m, p + 1, True
    if right and after == POINT:
        p += 1
    else:
        m, begin = 0, p
        m, p, right = more_digits(text, p, m)
        right = right and p > begin
    if letter(text, p) == POINT:
        begin = p + 1
        m, p, fits = more_digits(text, begin, m)
        k, right = p - begin, right and fits
    e, c = -k, letter(text, p)
    if c == 101 or c == 69:  # e or E
        c = letter(text, p + 1)
        n, number = digits(text, p + 1 + (c in (MINUS, PLUS)))
        right = right and 0 < n < 8
        e, p = e - number if c == MINUS else e + number, p + 1 + (c in (MINUS, PLUS)) + n
    x, certain = rounded(m, e)
    return sign * x, p, right and certain


@brick
def read_labels(text, p, several, labels, n_labels, odd, n_odd):
    """Read one label, or any number of them between commas; return their end, their number, and that of odd ones."""
    begin = p
    first = n_labels
    while True:
        start = p
        labels[n_labels], p, right = decimal(text, p)
        c = letter(text, p)
        if several and n_labels == first and letter(text, past_token(text, p, COLON)) == COLON:
            return begin, first, n_odd  # a feature: the row has no label
        if not right or not (ends(c) or (several and c == COMMA)):
            odd[n_odd, 0], odd[n_odd, 1] = -1 - n_labels, start
            n_odd += 1
            p = past_token(text, p, COMMA if several else NEWLINE)
            c = letter(text, p)
        n_labels += 1
        if not several or c != COMMA:
            return p, n_labels, n_odd
        p += 1


@kernel
def read_lines(text, size, several, base, n_features, labels, label_ends, indptr, indices, values, odd):
    """Read the lines of text[:size] into labels and CSR arrays; blank and comment lines are skipped.

    Indices begin with `base`. odd[i] is a number that is left to Python: its position in `values`, or -1 minus its
    position in `labels`, and where it begins. Return the numbers of rows and of odd numbers, and, if a line is wrong,
    how and where.
    """
    text, p, row, at, n_labels, n_odd = place(text), 0, 0, 0, 0, 0
    indptr[0] = label_ends[0] = 0
    while p < size:
        p = past_blanks(text, p)
        c = letter(text, p)
        if c in (NEWLINE, HASH):
            p = past_line(text, p)
            continue
        p, n_labels, n_odd = read_labels(text, p, several, labels, n_labels, odd, n_odd)
        p = past_blanks(text, p)
        if letter(text, p) == Q and letter(text, p + 1) == 105 and letter(text, p + 2) == 100:  # qid:
            p = past_token(text, p, NEWLINE)
        last = base - 1
        while True:
            p = past_blanks(text, p)
            c = letter(text, p)
            if c in (NEWLINE, HASH):
                p = past_line(text, p)
                break
            start = p
            n, j = digits(text, p)
            p += n
            fits = True
            if n == 8:
                j, p, fits = more_digits(text, p, j)
            if n == 0 or (fits and letter(text, p) != COLON):
                return row, n_odd, NO_FEATURE, start
            if not fits or j - base >= n_features:
                return row, n_odd, TOO_HIGH, start
            if j <= last:
                return row, n_odd, FALLS, start
            last, begin = j, p + 1
            values[at], p, right = decimal(text, begin)
            if not right or not ends(letter(text, p)):
                odd[n_odd, 0], odd[n_odd, 1] = at, begin
                n_odd += 1
                p = past_token(text, p, NEWLINE)
            indices[at] = j - base
            at += 1
        row += 1
        indptr[row], label_ends[row] = at, n_labels
    return row, n_odd, RIGHT, 0


@kernel
def survey_lines(text, size):
    """Return the number of rows in text[:size], their lowest first index and their highest last index.

    Only for text without comments, otherwise -1 rows; wrong lines are left to `read_lines`.
    """
    text, p, row, lowest, highest = place(text), 0, 0, np.int64(2) ** 62, np.int64(-1)
    if find(text, 0, size, HASH) < size:
        return -1, lowest, highest
    while p < size:
        end = find(text, p, size, NEWLINE)
        if past_blanks(text, p) < end:
            row += 1
            colon = find(text, p, end, COLON)
            first = index_before(text, colon, p)
            while colon < end and first < 0:  # qid: has no digits before it
                colon = find(text, colon + 1, end, COLON)
                first = index_before(text, colon, p)
            if colon < end:
                lowest = min(lowest, first)
                last = end - 1
                while letter(text, last) != COLON:
                    last -= 1
                highest = max(highest, index_before(text, last, p))
        p = end + 1
    return row, lowest, highest


@brick
def index_before(text, p, begin):
    """The number whose last digit is before p, -1 if there is none."""
    q = p
    while q > begin and 48 <= letter(text, q - 1) <= 57:
        q -= 1
    if q == p or p - q > 18:
        return -1
    n, j = digits(text, q)
    return more_digits(text, q + n, j)[0] if n == 8 else j
