"""Codegrams: heartbeats coded as letters, and counts of each word of letters in records or windows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product
from typing import Any

import numpy as np
import scipy.sparse as sp

from streamnb.core import arguments, row_checks
from streamnb.kernels.ngrams import count_words

LETTERS = "ABCDEF"
HIGHEST_ORDER = 8  # 6^8 counts take 7 MB
BLOCK = 1 << 16  # beats processed at a time
LARGEST = 3_037_000_499  # the square root of 2^63: products of whole numbers up to this fit 64 bits
RANGE = 1e-150, 1e150  # of floats, so that products neither overflow nor underflow
MOST = 2**31 - 1  # letters in a row; counts are int32


def codegram(
    R: Any, T: Any = None, order: int = 3, stride: int = 1, length: int | None = None, groups: Any = None
) -> sp.csr_array:
    """Count the words of an electrocardiogram: how amplitudes and intervals rise and fall from beat to beat.

    Each step from one beat to the next is a letter. It says whether the amplitude R, the interval T and their ratio
    R / T do not fall (+) or fall (-): A + + +, B - - +, C + - +, D - + -, E + + -, F - - -. There are no others,
    because the ratio rises if R rises and T falls. A word is `order` consecutive letters. Counts of words are features
    of a record, or of a part of it.

    Parameters
    ----------
    R : (n_beats,)
        Amplitudes of the R-peaks, above 0, in any unit. Or, without T, an iterable of pieces (R, T) or (R, T, groups):
        the pieces are one stream, however it is cut.
    T : (n_beats,)
        RR intervals, above 0, in any unit: the time from the previous beat, for each beat.
    order : int
        Letters of a word, from 1 to 8.
    stride : int
        Letters from the beginning of one word to that of the next. With 1, words overlap and each is counted.
    length : int, optional
        Letters of a window, which is a row. Windows of a record follow each other; a word lies within one window, and
        letters that do not fill the last window are left out. None makes each record a row.
    groups : (n_beats,), optional
        The record of each beat; beats of a record must be contiguous and in order of time. None means one record.

    Returns
    -------
    csr_array, int32, of shape (n_windows, 6**order) or (n_records, 6**order)
        The count of each word; rows in the order of the beats, columns in alphabetical order, with the names of
        `codegram_names`. A record of m beats has m - 1 letters and (m - 1) // length windows, and a window has
        (length - order) // stride + 1 words. If `length` is None, a record too short for a word is a row of zeros.

    Raises
    ------
    ValueError
        A value of R or T is not finite, not above 0, or too large to be multiplied; R, T and groups differ in length;
        beats of a record are not contiguous; a record is shorter than `length`; `order`, `stride` or `length` is out
        of range.
    TypeError
        R or T does not hold numbers, or R does not hold pieces if T is missing; `order`, `stride` or `length` is not
        a whole number.

    Notes
    -----
    The letter from beat n to n + 1 says whether R[n+1] >= R[n], T[n+1] >= T[n] and R[n+1] T[n] >= R[n] T[n+1]. That is
    exact for whole numbers, and the same in any unit except for the rounding of products. A stream is read once, and
    only the current piece and the counts are kept.

    Codegrams are part of V. Uspensky's information analysis of electrocardiosignals; trigrams of them are the features
    of section 7 of S. Shishkova, *Additive regularisation of the naive linear Bayes classifier* (bachelor's thesis,
    MIPT, Moscow, 2016, in Russian).

    Examples
    --------
    >>> import streamnb as snb
    >>> counts = snb.codegram([1.0, 1.2, 1.1, 1.3, 1.3, 1.0], [0.8, 0.9, 0.7, 0.7, 0.8, 0.85])  # the letters ABAED
    >>> snb.codegram_names()[counts.indices]
    array(['ABA', 'AED', 'BAE'], dtype='<U3')
    """
    order = _order(order)
    stride = _at_least("stride", stride, 1)
    length = 0 if length is None else _at_least("length", length, order, f"order={order}, the letters of a word")
    records, words = _Records(length), _Words(order, stride, length)
    for amplitudes, intervals, labels in _blocks(_pieces(R, T, groups)):
        words.add(amplitudes, intervals, records.begins(labels, len(amplitudes)))
    records.end()
    return words.matrix()


def codegram_names(order: int = 3) -> np.ndarray:
    """The words that the columns of `codegram` count.

    Parameters
    ----------
    order : int
        As for `codegram`.

    Returns
    -------
    (6**order,) of str
        For the columns of a data frame, or as `feature_names` of plots.

    Examples
    --------
    >>> import streamnb as snb
    >>> snb.codegram_names(2)[:8]
    array(['AA', 'AB', 'AC', 'AD', 'AE', 'AF', 'BA', 'BB'], dtype='<U2')
    """
    return np.array(["".join(word) for word in product(LETTERS, repeat=_order(order))])


def _order(order: Any) -> int:
    order = _at_least("order", order, 1)
    if order > HIGHEST_ORDER:
        raise ValueError(f"order={order} makes 6**{order} columns; it should be at most {HIGHEST_ORDER}")
    return order


def _at_least(name: str, value: Any, least: int, why: str = "") -> int:
    """Return `value` as an int of at least `least`; `why` replaces the number in the message."""
    number = arguments.whole_number(name, value)
    if number < least:
        raise ValueError(f"{name}={value} should be at least {why or least}")
    return number


# ---- beats in --------------------------------------------------------------------------------------------------------

Beats = tuple[Any, Any, Any]  # amplitudes, intervals, and the record of each beat or None


def _pieces(R: Any, T: Any, groups: Any) -> Iterator[Beats]:
    """Yield the pieces of a stream, or all beats as one piece."""
    if T is not None:
        yield R, T, groups
        return
    if hasattr(R, "dtype") or not isinstance(R, Iterable):
        raise TypeError(
            f"T is missing and R is of type {type(R).__name__}; give T, an interval for each beat of R, or in place "
            "of R an iterable of pieces (R, T)"
        )
    labels = None if groups is None else row_checks.check_labels(groups, "groups")
    first = 0
    for k, piece in enumerate(R):
        if not isinstance(piece, tuple | list) or not 2 <= len(piece) <= 3:
            of = f" of {len(piece)}" if isinstance(piece, tuple | list) else ""
            raise TypeError(
                f"T is missing and piece {k} of R is a {type(piece).__name__}{of}; give T, or pieces (R, T) or "
                "(R, T, groups)"
            )
        if labels is not None and len(piece) == 3:
            raise ValueError(f"groups is given, and piece {k} of R brings groups of its own; leave one of them out")
        own = None if labels is None else labels[first : first + np.size(piece[0])]
        first += np.size(piece[0])
        yield (*piece, own)[:3]
    if labels is not None:
        _check_lengths({"R": first, "groups": len(labels)}, 0)


def _blocks(pieces: Iterable[Beats]) -> Iterator[Beats]:
    """Yield the beats in checked blocks."""
    first, grouped = 0, None
    for k, (R, T, groups) in enumerate(pieces):
        R, T = _numbers("R", R), _numbers("T", T)
        lengths = {"R": len(R), "T": len(T)}
        if groups is not None:
            groups = row_checks.check_labels(groups, "groups", first)
            lengths["groups"] = len(groups)
        _check_lengths(lengths, first)
        if grouped not in (None, groups is not None):
            raise ValueError(
                f"R: piece {k} has {'no ' * grouped}groups, unlike those before; give them with all or none"
            )
        grouped = groups is not None
        for start in range(0, len(R), BLOCK):
            here = slice(start, start + BLOCK)
            amplitudes = _checked("R", "amplitudes", R[here], first + start)
            intervals = _checked("T", "intervals", T[here], first + start)
            yield amplitudes, intervals, None if groups is None else groups[here]
        first += len(R)
    if not first:
        raise ValueError("R holds no beats; give at least one (of a generator, which can be read once, a fresh one)")


def _numbers(name: str, given: Any) -> np.ndarray:
    if np.ma.is_masked(given):
        raise ValueError(f"{name} has masked entries; leave such beats out of R and T, and of groups")
    try:
        values = np.asarray(given)
    except ValueError as error:
        raise ValueError(f"{name} should be 1-D, a number for each beat: {error}") from error
    if values.dtype.kind not in "iuf" and values.size:
        raise TypeError(f"{name} has dtype {values.dtype}; it should hold numbers, one for each beat")
    if values.ndim != 1:
        raise ValueError(f"{name} has shape {values.shape}; it should be 1-D, a number for each beat")
    return values


def _check_lengths(lengths: dict[str, int], first: int) -> None:
    if len({*lengths.values()}) > 1:
        given = ", ".join(f"{name} has {n}" for name, n in lengths.items())
        raise ValueError(f"{given} entries from beat {first} on; each should have one for each beat")


def _checked(name: str, what: str, values: np.ndarray, first: int) -> np.ndarray:
    """Check that values are above 0 and can be multiplied; return them as integers or float64."""
    whole = values.dtype.kind in "iu"
    lowest, highest = (1, LARGEST) if whole else RANGE
    values = values if whole else values.astype(np.float64, copy=False)
    if values.min() >= lowest and values.max() <= highest:  # false if there is a NaN
        return values
    at = int(np.argmin((values >= lowest) & (values <= highest)))
    expected = "finite and above 0; leave such beats out of R and T, and of groups"
    if 0 < values[at] < np.inf:
        expected = f"from {lowest:g} to {highest:g}, for they are multiplied; choose another unit"
    raise ValueError(f"{name} has {values[at]} at beat {first + at}; {what} should be {expected}")


# ---- records ---------------------------------------------------------------------------------------------------------


class _Records:
    """Finds where records begin; checks that each is contiguous and at least as long as a window."""

    def __init__(self, length: int):
        self._length = length
        self._seen: set[Any] = set()
        self._label: Any = None
        self._first = self._n_beats = 0

    def begins(self, labels: np.ndarray | None, n_beats: int) -> np.ndarray:
        """A mask of the next beats that begin a record, (n_beats,)."""
        begins = np.zeros(n_beats, bool)
        begins[0] = self._n_beats == 0 or (labels is not None and labels[0] != self._label)
        if labels is not None:
            begins[1:] = labels[1:] != labels[:-1]
        for at in np.flatnonzero(begins).tolist():
            if self._n_beats + at:
                self._check_length(self._n_beats + at)
            self._begin(self._n_beats + at, None if labels is None else labels[at].item())
        self._n_beats += n_beats
        return begins

    def end(self) -> None:
        """Check the last record after all beats."""
        self._check_length(self._n_beats)

    def _begin(self, beat: int, label: Any) -> None:
        if label in self._seen:
            raise ValueError(
                f"groups has {label!r} at beat {beat} once more, after another record began; beats of a record should "
                "stand together: sort by record, and by time within it"
            )
        self._seen.add(label)
        self._first, self._label = beat, label

    def _check_length(self, stop: int) -> None:
        n_letters = stop - self._first - 1
        which = f"the record {'' if self._label is None else f'{self._label!r} '}from beat {self._first} on"
        if n_letters < self._length:
            raise ValueError(
                f"length={self._length} is longer than {which}: {n_letters + 1} beats are {n_letters} letters; use "
                "shorter windows, or leave that record out"
            )
        if not self._length and n_letters > MOST:
            raise ValueError(f"{which} has {n_letters} letters, whose counts may pass int32; cut it by length=")


# ---- words out -------------------------------------------------------------------------------------------------------


class _Words:
    """Counts words, row by row."""

    def __init__(self, order: int, stride: int, length: int):
        self._options = order, stride, length
        self._counts, self._open = np.zeros((2, 6**order), np.int32)
        self._state = np.array([0, 0, order, 0])
        self._last: list[np.ndarray] = [np.empty(0, np.int64)] * 2
        self._columns: list[np.ndarray] = []
        self._values: list[np.ndarray] = []
        self._sizes: list[np.ndarray] = []

    def add(self, R: np.ndarray, T: np.ndarray, begins: np.ndarray) -> None:
        """Add further beats."""
        whole = all(values.dtype.kind in "iu" for values in (R, T, *self._last))
        dtype = np.int64 if whole else np.float64
        R, T = (np.concatenate(both, dtype=dtype, casting="unsafe") for both in zip(self._last, (R, T), strict=True))
        begins = np.concatenate([np.zeros(len(R) - len(begins), bool), begins])
        self._last = [R[-1:], T[-1:]]
        columns, values = np.empty((2, self._state[3] + len(R)), np.int32)
        sizes = np.empty(len(R), np.int64)
        n_rows = count_words(
            R, T, begins, *self._options, self._state, self._counts, self._open, columns, values, sizes
        )
        self._keep(columns, values, sizes[:n_rows].copy())

    def _keep(self, columns: np.ndarray, values: np.ndarray, sizes: np.ndarray) -> None:
        n_values = int(sizes.sum())
        self._columns.append(columns[:n_values].copy())
        self._values.append(values[:n_values].copy())
        self._sizes.append(sizes)

    def matrix(self) -> sp.csr_array:
        """Close the last record and return the counts."""
        if not self._options[2]:
            words = self._open[: self._state[3]]
            self._keep(words, self._counts[words], np.array([len(words)]))
        columns, values, sizes = map(np.concatenate, (self._columns, self._values, self._sizes))
        dtype = np.int32 if len(columns) <= MOST else np.int64
        indptr = np.concatenate([[0], np.cumsum(sizes)]).astype(dtype)
        matrix = sp.csr_array(
            (values, columns.astype(dtype, copy=False), indptr), shape=(len(sizes), len(self._counts))
        )
        matrix.sort_indices()
        return matrix
