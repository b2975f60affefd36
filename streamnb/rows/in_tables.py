"""Rows of tables, whose columns are encoded as they are read."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from streamnb.rows.block import Block
from streamnb.rows.raw import RawSource
from streamnb.rows.source import multiple
from streamnb.rows.tables import Fields, Tables, check_has


class TableSource(RawSource):
    """Rows of `Tables`; see `RawSource`. Groups and fold numbers may be columns of the table, by name."""

    unknown: Any = None  # what counts values that encoding finds no column for

    def blocks(self, start: int = 0, stop: int | None = None) -> Iterator[Block]:
        yield from super().blocks(start, stop)
        if self.unknown is not None:
            self.unknown.tell(self.n_rows)

    @property
    def tables(self) -> Tables:
        """What holds them."""
        return self._raw

    def rows_near(self, n_rows: int) -> int:
        return multiple(self.tables.step, n_rows)

    def named(self, column: Any, name: str) -> Any:
        if not isinstance(column, str):
            return column
        check_has(self.tables.schema, [column], name)
        if column in self.tables.fields.features and name in ("y", "sample_weight"):
            raise ValueError(
                f"{name}={column!r} is a feature of X; name it where the table is opened, such as "
                f"snb.table(.., {name.removeprefix('sample_')}={column!r})"
            )
        jobs = self.tables.selected(Fields((), y=column, labels=name)).jobs(0, self.tables.n_rows)
        return np.concatenate([read().y for _, read in jobs])
