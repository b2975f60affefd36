"""What is done to a row before it is summed or scored; nothing is learned here."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from streamnb.core import arguments
from streamnb.kernels import row_values
from streamnb.rows.boundary import surveyed
from streamnb.rows.chunk import Chunk
from streamnb.rows.domain import Domain
from streamnb.rows.survey import Survey

TRANSFORMS = {"binary": row_values.BINARY, "log1p": row_values.LOG1P, "sqrt": row_values.SQRT}
NORMS = {"l1": row_values.NORM_L1, "l2": row_values.NORM_L2}


def transformed(chunk: Chunk, survey: Survey, transform: str | None, normalize: str | None) -> tuple[Chunk, Survey]:
    """Apply the elementwise transform, then divide each row by its length."""
    if transform is not None:
        lowest = {"sqrt": 0.0, "log1p": np.nextafter(-1.0, 0.0)}.get(transform, -np.inf)
        Domain(f"transform={transform!r}", lowest).check(chunk, survey)
        stored = np.empty(len(chunk.stored))
        row_values.transform_values(chunk.stored, TRANSFORMS[transform], stored)
        chunk = chunk.with_values(stored)
    if normalize is not None:
        stored = chunk.stored.astype(np.float64)
        row_values.normalize_rows(stored, chunk.row_ends, NORMS[normalize])
        chunk = chunk.with_values(stored)
    if transform is None and normalize is None:
        return chunk, survey
    return surveyed(chunk)


@dataclass(frozen=True)
class RowOptions:
    """What is done to a row before it is summed or scored, in this order."""

    transform: str | None = None
    normalize: str | None = None
    binarize: float = 0.0
    centre: float = 0.0

    def __post_init__(self) -> None:
        arguments.one_of("transform", self.transform, [None, "binary", "log1p", "sqrt"])
        arguments.one_of("normalize", self.normalize, [None, "l1", "l2"])
        for name in ("binarize", "centre"):
            object.__setattr__(self, name, arguments.finite_number(name, getattr(self, name)))

    @classmethod
    def of_state(cls, saved: Any) -> "RowOptions":
        """Loaded options; older files have fewer of them."""
        transform, normalize, *others = saved
        return cls(transform, normalize, *others)

    @property
    def seen(self) -> str:
        """What is summed, in words."""
        done = [f"{name}={how!r}" for name in ("transform", "normalize") if (how := getattr(self, name)) is not None]
        return f"X after {' and '.join(done)}" if done else "X"
