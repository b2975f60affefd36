"""Rows of tables, whose columns are encoded as they are read."""

from streamnb.rows.raw import RawSource
from streamnb.rows.source import multiple


class TableSource(RawSource):
    """Rows of `Tables`; see `RawSource`."""

    def rows_near(self, n_rows: int) -> int:
        return multiple(self._raw.step, n_rows)
