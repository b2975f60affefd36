"""What was written: rows, kept rows, bytes and seconds."""

import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import reduce
from operator import add

from streamnb.core.notebook import table


@dataclass(frozen=True)
class Written:
    """What a run has read and written, as a sum over its parts.

    Attributes
    ----------
    rows, kept, skipped, repeated : int
        Rows that were read, that were written, bad ones that were left out, and those that repeat an earlier one.
    bytes : int
        Of the rows that were read, unpacked.
    parts, there : int
        All parts, and those of them that an earlier run had written.
    seconds : float
        Of this run.
    """

    rows: int = 0
    kept: int = 0
    skipped: int = 0
    bytes: int = 0
    parts: int = 0
    there: int = 0
    seconds: float = 0.0
    repeated: int = 0

    def __add__(self, other: "Written") -> "Written":
        return Written(*(getattr(self, name) + getattr(other, name) for name in self.__dataclass_fields__))

    @classmethod
    def of(cls, parts: Iterable["Written"], started: float) -> "Written":
        """The sum over parts, with the seconds since `started`, as `time.perf_counter` counts them."""
        return replace(reduce(add, parts, cls()), seconds=time.perf_counter() - started)

    def __str__(self) -> str:
        share = f" ({self.kept / self.rows:.1%})" if self.rows else ""
        bad = f", {self.skipped:,} bad ones skipped" if self.skipped else ""
        bad += f", {self.repeated:,} repeated" if self.repeated else ""
        there = f" ({self.there:,} were there)" if self.there else ""
        speed = f", {self.bytes / 1e6 / self.seconds:,.0f} MB a second" if self.seconds and not there else ""
        return (
            f"{self.rows:,} rows{bad}, {self.kept:,} kept{share}, {self.bytes / 1e6:,.1f} MB read in {self.parts:,} "
            f"parts{there}, {self.seconds:.1f} s{speed}"
        )

    def _repr_html_(self) -> str:
        return table("Written", [(name, f"{getattr(self, name):,}") for name in self.__dataclass_fields__])
