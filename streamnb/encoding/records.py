"""Columns of single rows of a table and of single texts, in plain Python: services answer one record at a time.

Values that records seldom have, such as decimal numbers, are `Unusual`: they are left to the encoding itself, which
takes them or says what is wrong. This file imports only NumPy and light modules.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from datetime import date, datetime
from difflib import get_close_matches
from functools import lru_cache
from math import isfinite
from struct import unpack
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import numpy as np

from streamnb.core.messages import listed
from streamnb.core.persistence import class_name
from streamnb.rows.table_columns import (
    BOOLEAN,
    CATEGORY,
    DATES,
    LEVEL,
    NUMBER,
    PAIR_SEPARATOR,
    WEEKDAYS,
    from_text,
    of_float,
    takes,
)

TOKEN = re.compile(r"(?u)\b\w\w+\b")  # as in scikit-learn's vectorizers
SPACES = re.compile(r"\s\s+")
KINDS = "words", "chars", "bytes"  # of n-grams, in the order of kernels/ngrams
DATED = re.compile(r"\d{4}-\d\d-\d\d([ T]\d\d:\d\d:\d\d)?")
TYPES: dict[type, str] = {str: CATEGORY, bool: BOOLEAN, int: NUMBER, float: NUMBER}
LONG = 1 << 16  # characters of texts from which on compiled loops are worth their import
KNOWN_TOKENS = 1 << 16  # whose hashes are remembered
BEYOND = 1 << 63  # whole numbers that Arrow lacks


class Unusual(Exception):
    """Something that the encoding of whole tables or texts has to take, or to refuse."""


class Row(NamedTuple):
    """The columns of the stored values of a row, which rise, and the values, or None if all are 1."""

    columns: np.ndarray
    values: np.ndarray | None


def values_of(record: Any, names: list[str]) -> list[Any]:
    """The values of a record with these keys, in this order; other keys are ignored, as columns of a table are.

    Raises
    ------
    TypeError, ValueError
        The record is no dict, or lacks a key; the message names it.
    """
    if not isinstance(record, Mapping):
        record = record.to_dict() if hasattr(record, "to_dict") else record  # a row of a data frame
    if not isinstance(record, Mapping):
        raise TypeError(f"record={record!r:.80} should be a dict with the keys {listed(names)}")
    try:
        return [record[name] for name in names]
    except KeyError:
        absent = next(name for name in names if name not in record)
        near = get_close_matches(absent, [key for key in map(str, record) if key not in names], 1)
        instead = f", but {near[0]!r}, which the model does not know" if near else ""
        raise ValueError(f"record has no {absent!r}{instead}; give None for a value that is not known") from None


def numbers_of(record: Any, names: Any, n_features: int) -> np.ndarray:
    """The numbers of a record, (n_features,): a dict, whose missing values become NaN, or a row of an array."""
    if isinstance(record, Mapping):
        if names is None:
            raise TypeError(f"record={record!r:.80} has keys, and the model was fitted on columns without names")
        named = zip(names, values_of(record, [*map(str, names)]), strict=True)
        return np.array([_as_float(name, value) for name, value in named])
    row = np.asarray(record)
    if row.shape != (n_features,):
        raise ValueError(
            f"record has shape {row.shape}; it should be one row of an array, ({n_features},)"
            + (", or a dict" if names is not None else "")
        )
    return row


def _as_float(name: str, value: Any) -> float:
    try:
        if not isinstance(value, str | bytes):
            return np.nan if value is None else float(value)
    except TypeError:
        pass
    raise TypeError(f"record: {name!r} is {value!r:.80}, of type {type(value).__name__}; it should be a number")


# ---- tables ----------------------------------------------------------------------------------------------------------


class TableRecords:
    """Encodes records as a `TableEncoding` does, which is the argument, made or not."""

    def __init__(self, encoding: Any):
        self.kinds, self.names = encoding.columns, [*encoding.columns]
        self.complete = False  # whether each part has to have a column
        self.known = encoding.growth is not None and encoding.zones is not None  # else an early version's, by its rules
        self._fill: list[tuple[tuple[int, ...], Callable, Callable]] = []
        first, self._n_shared, self._measures = 0, 0, False
        for part, code in encoding.coded:
            kind, at = class_name(code), tuple(self.names.index(name) for name in part.columns)
            read = _reader(part, encoding.columns, (encoding.zones or {}).get(part.columns[0]))
            self._fill.append((at, read, _PLACES[kind](part, code, first)))
            self._measures |= kind == "PlainNumber"
            self._n_shared += kind == "SharedHash"
            first += 0 if kind == "SharedHash" else _width(code, kind)
        self._texts, self._shared_first = list[tuple[int, TextRecords, int]](), first
        shared = [code.n_features for _, code in encoding.coded if class_name(code) == "SharedHash"]
        first += shared[0] if shared else 0
        for name, grams in encoding.texts:
            self._texts.append((self.names.index(name), TextRecords(grams), first))
            first += self._texts[-1][1].n_columns

    def __call__(self, record: Any) -> Row:
        """The row of a record.

        Raises
        ------
        Unusual
            The encoding has to take the record itself.
        """
        return self.row(values_of(record, self.names))

    def rows(self, records: Any) -> list[Row]:
        """The rows of several records, whose values of a column are of one type."""
        if not all(isinstance(record, Mapping) and record.keys() >= {*self.names} for record in records):
            raise Unusual
        values = [values_of(record, self.names) for record in records]
        for column in zip(*values, strict=True):
            if len({TYPES.get(type(value), "other") for value in column if not is_missing(value)}) > 1:
                raise Unusual
        return [self.row(of_record) for of_record in values]

    def row(self, values: list[Any]) -> Row:
        """The row of the values of all columns."""
        if not self.known:
            raise Unusual
        columns, stored = list[int](), list[float]()
        for at, read, place in self._fill:
            value = read(values[at[0]]) if len(at) == 1 else _pair(read, values[at[0]], values[at[1]])
            placed = place(value)
            if not placed and self.complete:
                raise Unusual
            for column, number in placed:
                columns.append(column)
                stored.append(number)
        if self._n_shared > 1:
            begin = sum(column < self._shared_first for column in columns)
            columns[begin:] = sorted({*columns[begin:]})
            del stored[len(columns) :]
        as_ones = not self._measures and not self._texts
        own = Row(np.array(columns, np.int32), None if as_ones else np.array(stored, np.float64))
        if not self._texts:
            return own
        rows = [own]
        for place_of_text, encode, first in self._texts:
            counts = encode.row(values[place_of_text])
            rows.append(Row(counts.columns + np.int32(first), counts.values))
        return Row(*(np.concatenate(parts) for parts in zip(*rows, strict=True)))


def is_missing(value: Any) -> bool:
    """Whether a value stands for none; dates that are none of pandas are among them."""
    return value is None or (isinstance(value, float | date) and value != value)


def plain(value: Any, kind: str | None, taken: tuple[str | None, ...]) -> Any:
    """A str, bool, int or float, as a column of this kind, which takes others, has them; None if it is missing."""
    given = TYPES.get(type(value))
    if given is None:
        if is_missing(value):
            return None
        if not isinstance(value, np.float64 | np.integer | np.bool_ | np.str_):  # float32 has fewer digits
            raise Unusual
        return plain(value.item(), kind, taken)
    if value != value:
        return None
    if given not in taken or (type(value) is int and not -BEYOND <= value < BEYOND):
        raise Unusual
    if type(value) is float and kind in (CATEGORY, BOOLEAN) and not value.is_integer():
        raise Unusual
    return value


def _reader(part: Any, kinds: Mapping[str, str | None], zone: str | None) -> Callable[[Any], Any]:
    """What makes a string or a number of a value, None if it is missing."""
    kind = kinds[part.columns[0]]
    taken = takes(kind)
    if part.date_part is not None:
        return _dated(part.date_part, zone) if kind in DATES else _unusual
    if part.role != LEVEL:
        return lambda value: _number(plain(value, kind, taken))
    if len(part.columns) == 2 and kind != kinds[part.columns[1]]:
        return _unusual
    return lambda value: _string(plain(value, kind, taken))


def _unusual(value: Any) -> Any:
    if is_missing(value):
        return None
    raise Unusual


def _string(value: Any) -> str | None:
    """A category as a string; equal numbers of different types are the same."""
    if type(value) is str:
        return from_text(value)
    if type(value) is float:
        return of_float(value)
    return None if value is None else str(int(value))


def _number(value: Any) -> float | None:
    if value is None:
        return None
    number = float(value)
    if not isfinite(number):
        raise Unusual  # which names the column
    return number


def _pair(read: Callable[[Any], str | None], one: Any, other: Any) -> str | None:
    one, other = read(one), read(other)
    return None if one is None or other is None else f"{one}{PAIR_SEPARATOR}{other}"


def _dated(date_part: str, zone: str | None) -> Callable[[Any], str | None]:
    """What makes a string of a part of a date, which is in a time zone or in none."""
    return_of: dict[str, Callable[[Any], Any]] = {
        "year": lambda day: day.year,
        "month": lambda day: day.month,
        "weekday": lambda day: WEEKDAYS[day.weekday()],
        "hour": lambda day: getattr(day, "hour", 0),
    }
    wanted = return_of[date_part]
    try:
        local = None if zone is None else ZoneInfo(zone)
    except (KeyError, ValueError):  # a distance from UTC, +02:00
        return _unusual

    def read(value: Any) -> str | None:
        if is_missing(value):
            return None
        if type(value) is str and DATED.fullmatch(value):
            try:
                value = datetime.fromisoformat(value)
            except ValueError:
                raise Unusual from None
        if not isinstance(value, date) or (getattr(value, "tzinfo", None) is None) != (local is None):
            raise Unusual
        return str(wanted(value.astimezone(local) if isinstance(value, datetime) and local is not None else value))

    return read


# ---- places of values, by the class of their code --------------------------------------------------------------------

Places = tuple[tuple[int, float], ...]  # columns with their numbers


def _width(code: Any, kind: str) -> int:
    """The number of columns of a code."""
    if kind == "LevelCodes":
        return len(code.values) + code.rare + code.missing
    if kind == "BinCodes":
        return len(np.ravel(code.edges.edges)) + 1 + int(code.edges.missing[0])
    return (code.n_features if kind == "HashedCodes" else 1) + code.missing


def _gap(code: Any, kind: str, first: int) -> Places:
    """The place of a missing value."""
    return ((first + _width(code, kind) - 1, 1.0),) if code.missing else ()


def _of_levels(part: Any, code: Any, first: int) -> Callable[[str | None], Places]:
    known: dict[str | None, Places] = {value: ((first + place, 1.0),) for place, value in enumerate(code.values)}
    known[None] = _gap(code, "LevelCodes", first)
    rare: Places | None = ((first + len(code.values), 1.0),) if code.rare else None

    def place(value: str | None) -> Places:
        found = known.get(value)
        if found is not None:
            return found
        if rare is not None:
            return rare
        if len(part.columns) == 1:
            raise Unusual  # which warns of it
        return ()

    return place


def _of_bins(part: Any, code: Any, first: int) -> Callable[[float | None], Places]:
    edges = np.ravel(code.edges.edges).tolist()
    gap: Places = ((first + len(edges) + 1, 1.0),) if code.edges.missing[0] else ()
    return lambda value: gap if value is None else ((first + bisect_left(edges, value), 1.0),)


def _of_number(part: Any, code: Any, first: int) -> Callable[[float | None], Places]:
    gap = ((first, code.median), *_gap(code, "PlainNumber", first))
    return lambda value: gap if value is None else ((first, value),)


def _of_hash(part: Any, code: Any, first: int) -> Callable[[str | None], Places]:
    gap = _gap(code, "HashedCodes", first)
    if class_name(code) == "SharedHash":
        gap = ((first + hashed(part.missing().encode(), 0, code.n_features)[0], 1.0),) if code.missing else ()

    def place(value: str | None) -> Places:
        if value is None:
            return gap
        return ((first + hashed(part.named(value).encode(), 0, code.n_features)[0], 1.0),)

    return place


_PLACES: dict[str, Callable[[Any, Any, int], Callable[[Any], Places]]] = {
    "LevelCodes": _of_levels,
    "BinCodes": _of_bins,
    "PlainNumber": _of_number,
    "HashedCodes": _of_hash,
    "SharedHash": _of_hash,
}


# ---- texts -----------------------------------------------------------------------------------------------------------


class TextRecords:
    """Counts n-grams of texts as `NGrams` does, which is the argument, made or not; `key` is that of texts in dicts."""

    def __init__(self, grams: Any, key: str | None = None):
        self._grams, self._key = grams, key
        self._n_features, self._signed = grams.n_features, grams.alternate_sign  # which take long where it is not made
        self._known = None if grams.vocabulary is None else {t.encode(): n for n, t in enumerate(grams.vocabulary)}
        self.n_columns = self._n_features if self._known is None else len(self._known)
        self.n_sizes = sum(high - low + 1 for low, high in filter(None, (getattr(grams, kind) for kind in KINDS)))

    def __call__(self, record: Any) -> Row:
        """The row of a text, or of a dict with one."""
        if isinstance(record, Mapping) and self._key is not None:
            (record,) = values_of(record, [self._key])
        return self.row(record)

    def rows(self, texts: Any) -> list[Row]:
        """The rows of several texts."""
        return [*map(self.row, texts)]

    def row(self, text: Any) -> Row:
        """The counts of the n-grams of a text."""
        if type(text) is not str or len(text) * self.n_sizes > LONG or "\ud800" <= max(text, default="") <= "\udfff":
            raise Unusual
        counts: dict[int, int] = {}
        for seed, token in tokens(self._grams, text.encode()):
            if self._known is None:
                column, sign = hashed(token, seed, self._n_features)
                counts[column] = counts.get(column, 0) + (sign if self._signed else 1)
            elif (column := self._known.get(token, -1)) >= 0:
                counts[column] = counts.get(column, 0) + 1
        columns = sorted(counts)
        return Row(np.array(columns, np.int32), np.array([counts[column] for column in columns], np.float32))


def tokens(grams: Any, raw: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the n-grams of a text, as bytes of UTF-8, with the seeds of their hashes."""
    text = raw.decode(errors="replace")
    if grams.lowercase:
        text, raw = text.lower(), raw.lower()
    sizes = [getattr(grams, kind) for kind in KINDS]
    units: tuple[Callable[[], list[bytes]], ...] = (
        lambda: [word.encode() for word in TOKEN.findall(text)],
        lambda: [character.encode() for character in SPACES.sub(" ", text)],
        lambda: [raw[k : k + 1] for k in range(len(raw))],
    )
    for unit, size, seed, gap in zip(units, sizes, seeds(grams), (b" ", b"", b""), strict=True):
        some = unit() if size else []
        for n in range(size[0], size[1] + 1) if size else ():
            for i in range(len(some) - n + 1):
                yield seed, some[i] if n == 1 else gap.join(some[i : i + n])


def seeds(grams: Any) -> list[int]:
    """The seed of the hashes of each kind of n-grams; the first kind that is there has 0."""
    given = [getattr(grams, kind) is not None for kind in KINDS]
    apart = grams.vocabulary is None
    return [k if apart and any(given[:k]) and given[k] else 0 for k in range(len(KINDS))]


@lru_cache(KNOWN_TOKENS)
def hashed(token: bytes, seed: int, n_features: int) -> tuple[int, int]:
    """The column and the sign of an n-gram, by its 32-bit MurmurHash3."""
    h, n = seed, len(token) & ~3
    for k in unpack(f"<{n // 4}I", token[:n]):
        h = _mixed(h, k)
        h = ((h << 13 | h >> 19) * 5 + 0xE6546B64) & 0xFFFFFFFF
    if len(token) > n:
        h = _mixed(h, int.from_bytes(token[n:], "little"))
    h ^= len(token)
    for factor, shift in ((0x85EBCA6B, 16), (0xC2B2AE35, 13)):
        h = (h ^ h >> shift) * factor & 0xFFFFFFFF
    h ^= h >> 16
    negative = h >> 31
    return (-h if negative else h) & (n_features - 1), 1 - 2 * negative


def _mixed(h: int, k: int) -> int:
    k = k * 0xCC9E2D51 & 0xFFFFFFFF
    return h ^ (k << 15 | k >> 17) * 0x1B873593 & 0xFFFFFFFF


def records_of(encoding: Any) -> TableRecords | TextRecords | None:
    """What encodes records as an encoding does, which is made or not; None if it has to do that itself."""
    kind = class_name(encoding)
    if kind == "TextEncoding":
        return TextRecords(encoding.ngrams, encoding.text)
    return TableRecords(encoding) if kind == "TableEncoding" else None
