"""Rows of text, whose features are made as they are read."""

from typing import Any, Self

from streamnb.rows.raw import RawSource


class TextSource(RawSource):
    """Texts, in `TextsInMemory`, `TextFiles` or `TextFolders`; see `RawSource`."""

    def named(self, column: Any, name: str) -> Any:
        return self._raw.column(column, name) if isinstance(column, str) else column

    def rows_near(self, n_rows: int) -> int:
        return max(n_rows, self._raw.unpacked_rows)

    @property
    def vocabulary(self) -> tuple[str, ...] | None:
        """The n-grams that have a column each, None where columns are hashed."""
        return getattr(self._step, "vocabulary", None)

    def with_step(
        self, step: Any, n_features: int, about: str, feature_names: Any = None, encoding: Any = None
    ) -> Self:
        part = super().with_step(step, n_features, about, feature_names, encoding)
        part.names_last = part.vocabulary is not None
        return part
