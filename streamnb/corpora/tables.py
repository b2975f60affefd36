"""Reads the rows of a table that is no file: a data frame, an Arrow table or the partitions of a Dask frame."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from streamnb.core.messages import listed
from streamnb.corpora.inputs import CorpusPart
from streamnb.corpora.reading import TablePiece
from streamnb.rows.boundary import is_dask
from streamnb.rows.source import Source
from streamnb.rows.table_columns import arrow
from streamnb.rows.table_opening import as_table, is_path, is_table, tabular

PART_ROWS, PIECE_ROWS = 1 << 20, 1 << 16  # of a table in memory


def is_held_table(X: Any) -> bool:
    """Whether X is a table that is not to be opened from files."""
    return not isinstance(X, Source) and is_table(X) and not is_path(X)


@dataclass(frozen=True, eq=False)
class HeldTable:
    """How a table is read: in parts of so many rows, or in the partitions that it has in Dask."""

    table: Any  # of pandas, Dask or Arrow

    @classmethod
    def of(cls, X: Any) -> "HeldTable":
        """Of a data frame of any package, or an Arrow table."""
        X = tabular(as_table(X, named=True))
        return cls(X if hasattr(X, "iloc") else arrow().table(X))

    def check_has(self, argument: str, names: Iterable[str]) -> None:
        """Refuse names that are no columns."""
        known = [str(name) for name in getattr(self.table, "column_names", None) or self.table.columns]
        for name in names:
            if name not in known:
                raise ValueError(f"{argument}={name!r} is not a column of X; it has {listed(np.array(known, object))}")

    @property
    def parts(self) -> list[CorpusPart]:
        """The parts, which follow the order of the rows."""
        n_parts = self.table.npartitions if is_dask(self.table) else max(-(-self.table.shape[0] // PART_ROWS), 1)
        return [CorpusPart(number, ("the table",), number, n_parts) for number in range(n_parts)]

    def jobs(self, part: CorpusPart) -> Iterator[TablePiece]:
        """Yield pieces of a part, in order."""
        if is_dask(self.table):
            rows = self.table.get_partition(part.piece).compute()
        else:
            rows = self.table[part.piece * PART_ROWS : (part.piece + 1) * PART_ROWS]
        for first in range(0, rows.shape[0], PIECE_ROWS):
            some = rows[first : first + PIECE_ROWS]
            nbytes = some.memory_usage(index=False).sum() if hasattr(some, "iloc") else some.nbytes
            yield TablePiece(first, some, int(nbytes), some.shape[0], first)
