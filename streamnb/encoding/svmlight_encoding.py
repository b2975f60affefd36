"""The feature numbering of svmlight files, saved with the model."""

from dataclasses import dataclass
from typing import Any

from streamnb.core import persistence
from streamnb.encoding.encoding import Encoding
from streamnb.rows.files import is_svmlight
from streamnb.rows.in_svmlight import SvmlightFile, svmlight
from streamnb.rows.opening import opened
from streamnb.rows.source import Source


@persistence.register
@dataclass(frozen=True)
class SvmlightEncoding(persistence.Parameters, Encoding):
    """The options with which a svmlight file was read, because another file may not show the number of features."""

    n_features: int
    zero_based: bool
    multilabel: bool = False

    @classmethod
    def of(cls, file: SvmlightFile) -> "SvmlightEncoding":
        return cls(file.n_features, bool(file.zero_based), file.multilabel)

    @property
    def learned(self) -> bool:
        return False

    @property
    def n_columns(self) -> int:
        return self.n_features

    def takes(self, X: Any) -> bool:
        return isinstance(X, SvmlightFile) or is_svmlight(X)

    def encode(self, X: Any, y: Any = None, weight: Any = None, *, labelled: bool = False) -> Source:
        if not isinstance(X, SvmlightFile):
            X = svmlight(X, n_features=self.n_features, zero_based=self.zero_based, multilabel=self.multilabel)
        if X.zero_based != self.zero_based:
            raise ValueError(
                f"X={str(X.path)!r} is read with zero_based={X.zero_based}, and what was fitted with "
                f"{self.zero_based}; give the path alone, or zero_based={self.zero_based}"
            )
        return opened(X, y, weight, labelled=labelled)

    def differs(self, other: Encoding) -> str:
        return ""  # rows from other sources cannot be compared
