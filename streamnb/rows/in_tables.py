"""Rows of tables, whose columns are encoded as they are read."""

from typing import Any, Self

import numpy as np

from streamnb.rows.raw import RawSource
from streamnb.rows.source import multiple
from streamnb.rows.tables import Fields, Tables, check_has


class TableSource(RawSource):
    """Rows of `Tables`; see `RawSource`. Groups and fold numbers may be columns of the table, by name."""

    @property
    def tables(self) -> Tables:
        """What holds them."""
        return self._raw

    def rows_near(self, n_rows: int) -> int:
        return multiple(self.tables.step, n_rows)

    def whole_column(self, column: Any, name: str) -> np.ndarray:
        if not isinstance(column, str):
            return super().whole_column(column, name)
        check_has(self.tables.schema, [column], name)
        jobs = self.tables.selected(Fields((), y=column)).jobs(0, self.tables.n_rows)
        return np.concatenate([read().y for _, read in jobs])

    def with_split(self, name: str, values: Any) -> Self:
        return super().with_split(name, self.whole_column(values, name) if isinstance(values, str) else values)
