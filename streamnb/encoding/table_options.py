"""The options of `table` about columns, and the encoding that follows from them and the counts of one pass."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from streamnb.core import arguments
from streamnb.encoding.bins import BinEdges
from streamnb.encoding.ngrams import KINDS, NGrams, check_n_features
from streamnb.encoding.table_codes import BinCodes, Code, LevelCodes, OneNumber, PlainNumber, SharedHash, ordered
from streamnb.encoding.table_encoding import TableEncoding
from streamnb.encoding.table_growth import Growth, has_columns
from streamnb.encoding.table_scan import LevelCounts, TableCounts
from streamnb.rows.table_columns import (
    CATEGORY,
    DATES,
    LEVEL,
    MEASURE,
    MEASURED,
    NOTHING,
    ColumnPart,
    kind_of,
    parts_of_dates,
)
from streamnb.rows.tables import Tables, check_has
from streamnb.stats.value_counts import ValueCells

MISSING = "level", "ignore"


class ColumnOptions:
    """The checked options of `table` about columns."""

    def __init__(
        self,
        categorical: Any,
        text: Any,
        bins: Any,
        dates: Any,
        pairs: Any,
        min_count: Any,
        missing: Any,
        n_hashed: int,
        hashed: Any,
    ):
        self.hashed = names_of("hashed", hashed)
        self.categorical = (
            () if isinstance(categorical, str) and categorical == "auto" else names_of("categorical", categorical)
        ) + self.hashed
        self.text, self.pairs = names_of("text", text), _pairs(pairs)
        self.bins = _bins(bins)
        self.dates = arguments.one_of("dates", dates, [True, False])
        self.min_count = arguments.positive_integer("min_count", min_count)
        self.missing = arguments.one_of("missing", missing, MISSING) == "level"
        self.n_hashed = check_n_features(n_hashed, "hash_features")
        self._grams = {name: self._ngrams(name, text) for name in self.text}

    @property
    def strings(self) -> tuple[str, ...]:
        """Columns that are read as strings from files without types."""
        return self.categorical + self.text

    def _ngrams(self, name: str, text: Any) -> NGrams:
        """The n-grams of a column of texts, with options where `text` maps its name to any."""
        options = text[name] if isinstance(text, Mapping) else {}
        known = *KINDS, "lowercase"
        if not isinstance(options, Mapping) or not {*options} <= {*known}:
            raise ValueError(f"text={text!r}: {name!r} should map to options of n-grams, which are {', '.join(known)}")
        return NGrams(n_features=self.n_hashed, **options)

    def kinds(self, tables: Tables, features: list[str]) -> dict[str, str | None]:
        """The kind of each column, None if all values are treated as categories; unsupported types are refused."""
        kinds: dict[str, str | None] = {}
        named = {"hashed": self.hashed, "categorical": self.categorical, "text": self.text, "bins": tuple(self.bins[1])}
        for argument, names in {**named, "pairs": tuple(name for pair in self.pairs for name in pair)}.items():
            check_has(tables.schema.empty_table().select(features).schema, names, argument)
        for name in features:
            dtype = tables.schema.field(name).type
            kind = kind_of(dtype)
            if kind is None:
                raise TypeError(
                    f"X: column {name!r} is nested, of type {dtype}; make columns of its parts, or leave it out with "
                    "columns="
                )
            if name in self.text and kind not in (CATEGORY, NOTHING):
                raise TypeError(f"text={name!r} is a column of type {dtype}; it should hold strings")
            if kind not in DATES or self.dates:
                kinds[name] = None if name in self.categorical and kind not in DATES else kind
        return kinds

    def parts(self, tables: Tables, kinds: dict[str, str | None]) -> tuple[ColumnPart, ...]:
        """The parts to encode: columns and parts of dates first, then pairs."""
        parts: list[ColumnPart] = []
        for name, kind in kinds.items():
            if kind in DATES:
                parts += parts_of_dates(name, tables.schema.field(name).type)
            elif name not in self.text:
                parts.append(ColumnPart((name,), MEASURE if kind in MEASURED else LEVEL))
        return (*parts, *(ColumnPart(pair, LEVEL) for pair in self.pairs))

    def encoding(
        self, counts: TableCounts, kinds: dict[str, str | None], y: Any, weight: Any, zones: dict[str, str]
    ) -> TableEncoding:
        """The encoding of the columns, from the counts of one pass."""
        hashed = self._hashed(counts)
        codes = [
            (part, SharedHash(self.n_hashed, self._gaps(learned)) if part in hashed else self._code(part, learned))
            for part, learned in zip(counts.parts, counts.of_parts, strict=True)
        ]
        coded = sorted((pair for pair in codes if has_columns(pair[1])), key=lambda pair: pair[0] in hashed)
        used = {name for part, _ in coded for name in part.columns} | {*self.text}
        if not used:
            raise ValueError("X has no column of more than one value, so that nothing tells its rows from each other")
        y, weight = (given if isinstance(given, str) else None for given in (y, weight))
        growth = Growth([*counts.parts], [], kinds, zones, self.missing, self.min_count, self.n_hashed)
        every = zip(codes, counts.of_parts, strict=True)
        constant = [pair for pair, learned in every if growth.is_constant(pair[1], learned)]
        growth = replace(growth, constant=constant)
        kinds = {name: kind for name, kind in kinds.items() if name in used}
        zones = {name: zone for name, zone in zones.items() if name in used}
        return TableEncoding(coded, [*self._grams.items()], kinds, y, weight, zones, growth)

    def _hashed(self, counts: TableCounts) -> set[ColumnPart]:
        """The parts to hash: named ones, then those with most values, until the others have few enough together."""
        levels = [pair for pair in zip(counts.parts, counts.of_parts, strict=True) if isinstance(pair[1], LevelCounts)]
        hashed = {part for part, learned in levels if learned.full or part.columns in [(name,) for name in self.hashed]}
        sizes = {part: len(self._kept(learned)) for part, learned in levels if part not in hashed}
        for part in sorted(sizes, key=sizes.__getitem__, reverse=True):
            if sum(sizes.values()) <= self.n_hashed:
                break
            del sizes[part]
            hashed.add(part)
        return hashed

    def _gaps(self, learned: LevelCounts) -> bool:
        """Whether missing values have a column."""
        return self.missing and learned.missing > 0

    def _kept(self, learned: LevelCounts) -> list[str]:
        """The values that are not rare; with a `min_count` of 1 all that occur, however small their weight is."""
        least = self.min_count if self.min_count > 1 else 0
        return [value for value, count in learned.counts.items() if count >= least]

    def _code(self, part: ColumnPart, learned: Any) -> Code:
        """The code of a part."""
        if isinstance(learned, LevelCounts):
            return self._level_code(part, learned)
        gaps = self.missing and bool(learned.missing[0])
        if not learned.features[0].keys.size:
            return OneNumber(np.nan)
        if learned.low[0] == learned.high[0] and not gaps:
            return OneNumber(float(learned.low[0]))
        name = part.columns[0]
        n_bins = self.bins[1].get(name, self.bins[0])
        if n_bins is None:
            return PlainNumber(_median(learned.features[0]), gaps)
        return BinCodes(BinEdges.learned(learned, n_bins, "quantile", gaps))

    def _level_code(self, part: ColumnPart, learned: LevelCounts) -> LevelCodes:
        kept = self._kept(learned)
        n_values, n_once = learned.counts.total(), sum(count == 1 for count in learned.counts.values())
        new = n_once / n_values if n_values else 0.0
        return LevelCodes(ordered(part, kept), len(kept) < len(learned.counts), self._gaps(learned), new)


def _median(cells: ValueCells) -> float:
    """The largest number in the cell that contains the median, the lower one of two."""
    return float(cells.tops()[cells.reaching(np.array(0.5))])


def names_of(argument: str, given: Any) -> tuple[str, ...]:
    """Names of columns, each once; anything else is refused."""
    if isinstance(given, str) or not isinstance(given, Iterable) or not all(isinstance(one, str) for one in given):
        cure = f"; give [{given!r}]" if isinstance(given, str) else ""
        raise TypeError(f"{argument}={given!r} should be a list of names of columns{cure}")
    return tuple(dict.fromkeys(given))


def _pairs(given: Any) -> tuple[tuple[str, str], ...]:
    pairs = [names_of("pairs", pair) for pair in given] if isinstance(given, list | tuple) else [()]
    if any(len(pair) != 2 for pair in pairs):
        raise TypeError(f"pairs={given!r} should be a list of pairs of names of columns")
    return tuple((first, second) for first, second in pairs)


def _bins(given: Any) -> tuple[int | None, dict[str, int | None]]:
    """The default number of bins, and that of columns with another number; None for no bins."""
    each = dict(given) if isinstance(given, Mapping) else {}
    numbers = [*each.values()] if isinstance(given, Mapping) else [given]
    for n in numbers:
        if n is not None and arguments.positive_integer("bins", n) < 2:
            raise ValueError(f"bins={given!r} should be 2 or more, or None for numbers as they are")
    return (16 if isinstance(given, Mapping) else given), each
