"""What a source that makes its blocks of those of another leaves to the other."""

from collections.abc import Iterator
from copy import copy
from typing import Any, Self

import numpy as np

from streamnb.rows.source import Source


class SourceOfAnother(Source):
    """A source of the same rows as another, `_rows`; a subclass says what becomes of its blocks."""

    _rows: Source

    @property
    def arrays(self) -> Any:
        return self._rows.arrays

    @property
    def own_groups(self) -> str | None:  # type: ignore[override]
        return self._rows.own_groups

    @property
    def label_names(self) -> np.ndarray | None:  # type: ignore[override]
        return self._rows.label_names

    @property
    def n_blocks(self) -> int | None:
        return self._rows.n_blocks

    def _of(self, rows: Source) -> Self:
        part = copy(self)
        part._rows = rows
        return part

    def cut(self, start: int, stop: int) -> Self:
        part = self._of(self._rows.cut(start, stop))
        part.group = None
        return part

    def wanted(self, values: bool, block_bytes: int) -> Self:
        part = self._of(self._rows.wanted(values, block_bytes))
        part.values_matter, part.longer_blocks = values, block_bytes
        return part

    def with_split(self, name: str, values: Any) -> Self:
        return self._of(self._rows.with_split(name, values))

    def whole_column(self, column: Any, name: str) -> np.ndarray:
        return self._rows.whole_column(column, name)

    def cut_alike(self, column: Any, whole: np.ndarray) -> Any:
        return self._rows.cut_alike(column, whole)

    def check_resumable(self) -> None:
        self._rows.check_resumable()

    def check_read_again(self, who: str) -> None:
        self._rows.check_read_again(who)

    def layout(self) -> dict[str, str]:
        return self._rows.layout()

    def rows_near(self, n_rows: int) -> int:
        return self._rows.rows_near(n_rows)

    def beside(self, step: int) -> Iterator[dict[str, Any]]:
        return self._rows.beside(step)
