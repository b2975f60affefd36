"""How the columns of a table grow with rows that are added to a fit, and shrink as rows are removed."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from streamnb.core import persistence
from streamnb.core.messages import warn
from streamnb.encoding.table_codes import BinCodes, Code, LevelCodes, OneNumber, PlainNumber, SharedHash, ordered
from streamnb.encoding.table_scan import LevelCounts
from streamnb.rows.table_columns import BOOLEAN, CATEGORY, NOTHING, ColumnPart, kind_of, takes

PartCodes = Mapping[ColumnPart, Code]
PartCounts = Mapping[ColumnPart, Any]  # the counts of the values of each part


@persistence.register
@dataclass(frozen=True, eq=False)
class Growth(persistence.Parameters):
    """What turns further rows into the columns that a fit of all rows would have.

    `parts` are all parts of columns, in order, and `constant` those without a column of the model because every row had
    the same value, with its code. `kinds` and `zones` are those of all columns. The rest are options of `table`:
    whether missing values have a column, from how many rows on a value has one, and how many values may have one.
    """

    parts: list[ColumnPart]
    constant: list[tuple[ColumnPart, Code]]
    kinds: dict[str, str | None]
    zones: dict[str, str] | None
    missing: bool = True
    min_count: int = 1
    most: int = 1 << 18

    def kinds_in(self, schema: Any, encoded: Collection[str]) -> dict[str, str | None]:
        """The kinds of the columns of a table; those that were not encoded count only if they are of the same kind."""
        found: dict[str, str | None] = {}
        for name in (name for name in self.kinds if name in schema.names):
            kind, given = self.kinds[name], kind_of(schema.field(name).type)
            if kind == NOTHING and given in (CATEGORY, BOOLEAN):
                kind = given
            if name in encoded or given in (kind, NOTHING) or (kind is None and given in takes(None)):
                found[name] = kind
        return found

    def grown(self, codes: PartCodes, learned: PartCounts) -> dict[ColumnPart, Code]:
        """The codes with columns for values that only further rows have; warns of what cannot have one."""
        grown = {part: self._grown(part, code, learned[part]) for part, code in codes.items() if part in learned}
        more = {part: code.n_columns - codes[part].n_columns for part, code in grown.items()}
        full = [part for part, code in codes.items() if isinstance(code, LevelCodes) and learned[part].full]
        excess = sum(code.n_columns for code in grown.values() if isinstance(code, LevelCodes)) - self.most
        for part in sorted(more, key=more.__getitem__, reverse=True):
            if excess > 0 and more[part]:
                excess -= more[part]
                grown[part] = codes[part]
                full.append(part)
        if full:
            warn(
                f"X: new values of {_labels(full)} have no effect, as categories have {self.most:,} columns at most; "
                "fit such columns with snb.table(.., hashed=)"
            )
        return grown

    def _grown(self, part: ColumnPart, code: Code, learned: Any) -> Code:
        gaps = self.missing and bool(np.any(learned.missing))
        if not isinstance(code, LevelCodes):
            return code.with_gaps(True) if gaps else code
        new = {value: count for value, count in learned.counts.items() if value not in code.known}
        kept = [value for value, count in new.items() if count >= self.min_count]
        rare = code.rare or len(kept) < len(new)
        return LevelCodes(ordered(part, [*code.values, *kept]), rare, code.missing or gaps, code.new)

    def joined(self, other: "Growth", ours: PartCodes, theirs: PartCodes) -> dict[ColumnPart, Code]:
        """The codes of the rows of two tables, each encoded by itself; a ValueError where columns cannot be matched."""
        if (self.missing, self.min_count, self.most) != (other.missing, other.min_count, other.most):
            raise ValueError("their tables were encoded with other options of snb.table")
        ours, theirs = dict(self.constant) | {**ours}, dict(other.constant) | {**theirs}
        joined: dict[ColumnPart, Code] = {}
        for part in dict.fromkeys([*self.parts, *other.parts]):
            one, two = ours.get(part), theirs.get(part)
            if one is not None and two is not None and all(self._is_alike(other, name) for name in part.columns):
                joined[part] = self._joined(part, one, two)
            elif any(code is not None and has_columns(code) for code in (one, two)):
                raise ValueError(f"the column {part.label!r} is missing, empty or of another kind in one of the tables")
        return joined

    def _is_alike(self, other: "Growth", name: str) -> bool:
        """Whether two tables have the same kind and time zone of a column."""
        kinds = {self.kinds.get(name), other.kinds.get(name)}
        zones = {(one.zones or {}).get(name) for one in (self, other)}
        return len(kinds - {NOTHING}) < 2 and (len(zones) < 2 or NOTHING in kinds)

    def _joined(self, part: ColumnPart, one: Code, two: Code) -> Code:
        if isinstance(one, LevelCodes) and isinstance(two, LevelCodes):
            for code, more in ((one, two), (two, one)):
                if code.rare and more.known.keys() - code.known.keys():
                    raise ValueError(f"values of {part.label!r} are rare in one of the tables and not in the other")
            values = ordered(part, {*one.known, *two.known})
            return LevelCodes(values, one.rare or two.rare, one.missing or two.missing, max(one.new, two.new))
        if self.missing and isinstance(one, BinCodes) and isinstance(two, OneNumber):
            return one.with_gap_of(two)
        if self.missing and isinstance(one, OneNumber) and isinstance(two, BinCodes):
            return two.with_gap_of(one)
        plain = isinstance(one, PlainNumber) and isinstance(two, PlainNumber) and not one.missing and not two.missing
        if plain and self.missing:  # no median stands for a number
            return one
        if persistence.digest(one.with_gaps(True)) != persistence.digest(two.with_gaps(True)):
            raise ValueError(
                f"the numbers of {part.label!r} have other bins or another median in each of the tables, or "
                "are all equal in one"
            )
        return one if persistence.digest(two) == persistence.digest(two.with_gaps(False)) else two

    def is_constant(self, code: Code, learned: Any) -> bool:
        """Whether rows have one value, by its code and the counts of their values."""
        if isinstance(code, OneNumber):
            others = learned.low[0] <= learned.high[0] and not learned.low[0] == code.value == learned.high[0]
            return not others and not (self.missing and learned.missing[0] and not np.isnan(code.value))
        return isinstance(code, LevelCodes) and code.n_columns == 1 and (code.missing or not learned.missing)

    def warn_of_learned(self, codes: PartCodes, learned: PartCounts) -> None:
        """Warn of values that a fit of all rows may not count as rare."""
        rare = [
            part
            for part, code in codes.items()
            if isinstance(code, LevelCodes)
            and (code.rare or self.min_count > 1)
            and learned[part].counts.keys() - code.known.keys()
        ]
        if rare:
            warn(
                f"which values of {_labels(rare)} are rare was learned from the first rows, and stays as it is; a fit "
                "of all rows may learn others"
            )

    def _varies(self, part: ColumnPart, code: Code | None, learned: Any) -> bool:
        """Whether rows have other values than the one of a code, or several if it is not known which."""
        if code is None:
            return isinstance(learned, LevelCounts) and len(learned.counts) > 1
        return not self.is_constant(self._grown(part, code, learned), learned)

    def warn_of_left_out(self, names: Collection[str], codes: PartCodes, learned: PartCounts) -> None:
        """Warn of columns that had one value, have others in further rows, and yet have no column of the model."""
        constant = dict(self.constant)
        odd = []
        for part in self.parts:
            if part in codes or part.columns[0] not in names:
                continue
            if part not in learned or self._varies(part, constant.get(part), learned[part]):
                odd.append(part)
        if odd:
            warn(f"X: {_labels(odd)} had one value in the rows before, and stay left out; fit all rows to include them")


def has_columns(code: Code) -> bool:
    """Whether a code has columns in a model; those of categories are two or more, as one would tell nothing."""
    return code.n_columns > isinstance(code, LevelCodes)


def shrunk(code: Code, there: np.ndarray) -> Code:
    """The code without columns that no row has; `there` says of each of its columns whether some row has it."""
    if isinstance(code, LevelCodes):
        values = [value for value, is_there in zip(code.values, there, strict=False) if is_there]
        rare = code.rare and bool(there[len(code.values)])
        return LevelCodes(values, rare, code.missing and bool(there[-1]), code.new)
    if isinstance(code, SharedHash):  # other parts have its columns, too
        return code
    return code if there[-1] else code.with_gaps(False)


def _labels(parts: Collection[ColumnPart]) -> list[str]:
    return [", ".join(part.columns) if len(part.columns) > 1 else part.label for part in parts]
