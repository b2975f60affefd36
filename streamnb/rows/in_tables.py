"""Rows of tables, whose columns are encoded as they are read."""

from streamnb.rows.raw import RawSource
from streamnb.rows.source import multiple
from streamnb.rows.tables import Tables


class TableSource(RawSource):
    """Rows of `Tables`; see `RawSource`."""

    @property
    def tables(self) -> Tables:
        """What holds them."""
        return self._raw

    def rows_near(self, n_rows: int) -> int:
        return multiple(self.tables.step, n_rows)
