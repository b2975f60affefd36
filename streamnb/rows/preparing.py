"""What is done to a row before it is summed or scored; nothing is learned here."""

from dataclasses import dataclass, fields
from hashlib import sha256
from typing import Any

import numpy as np

from streamnb.core import arguments, persistence, row_checks
from streamnb.kernels import row_values
from streamnb.rows.boundary import surveyed
from streamnb.rows.chunk import Chunk
from streamnb.rows.domain import Domain
from streamnb.rows.survey import Survey

TRANSFORMS = {"binary": row_values.BINARY, "log1p": row_values.LOG1P, "sqrt": row_values.SQRT}
NORMS = {"l1": row_values.NORM_L1, "l2": row_values.NORM_L2}


@dataclass(frozen=True, eq=False, repr=False)
class FeatureScale:
    """What features are multiplied by, (n_features,): a value, alike and shown by all its numbers."""

    values: np.ndarray

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FeatureScale) and np.array_equal(self.values, other.values)

    def __hash__(self) -> int:
        return hash(self.values.tobytes())

    def __repr__(self) -> str:
        digest = sha256(np.ascontiguousarray(self.values).tobytes()).hexdigest()[:16]
        return f"<FeatureScale: {len(self.values):,} features, {digest}>"


def transformed(chunk: Chunk, survey: Survey, options: "RowOptions") -> tuple[Chunk, Survey]:
    """Apply the elementwise transform, scale the features, then divide each row by its length."""
    transform, normalize, scale = options.transform, options.normalize, options.scale
    if transform is not None:
        lowest = {"sqrt": 0.0, "log1p": np.nextafter(-1.0, 0.0)}.get(transform, -np.inf)
        Domain(f"transform={transform!r}", lowest).check(chunk, survey)
        stored = np.empty(len(chunk.stored))
        row_values.transform_values(chunk.stored, TRANSFORMS[transform], stored)
        chunk = chunk.with_values(stored)
    if scale is not None:
        row_checks.check_n_features(chunk.shape[1], len(scale.values), "the idf of these rows")
        chunk = chunk.scaled(scale.values)
    if normalize is not None:
        stored = chunk.stored.astype(np.float64)
        row_values.normalize_rows(stored, chunk.row_ends, NORMS[normalize])
        chunk = chunk.with_values(stored)
    if transform is None and normalize is None and scale is None:
        return chunk, survey
    return surveyed(chunk)


@dataclass(frozen=True)
class RowOptions:
    """What is done to a row before it is summed or scored, in this order."""

    transform: str | None = None
    normalize: str | None = None
    binarize: float = 0.0
    centre: float = 0.0
    scale: FeatureScale | None = None  # between transform and normalize

    def __post_init__(self) -> None:
        arguments.one_of("transform", self.transform, [None, "binary", "log1p", "sqrt"])
        arguments.one_of("normalize", self.normalize, [None, "l1", "l2"])
        for name in ("binarize", "centre"):
            object.__setattr__(self, name, arguments.finite_number(name, getattr(self, name)))

    @classmethod
    def of_state(cls, saved: Any) -> "RowOptions":
        """Loaded options; older files have fewer of them."""
        transform, normalize, *others = saved
        if len(others) > 2:
            others[2] = FeatureScale(persistence.array("scale", others[2], ["f8"], (len(others[2]),)))
        return cls(transform, normalize, *others)

    def to_state(self) -> list[Any]:
        """What `of_state` takes."""
        saved = [getattr(self, part.name) for part in fields(self)]
        return saved[:-1] if self.scale is None else [*saved[:-1], self.scale.values]

    @property
    def seen(self) -> str:
        """What is summed, in words."""
        steps = ((name, getattr(self, name)) for name in ("transform", "scale", "normalize"))
        done = [f"{name}={how!r}" for name, how in steps if how is not None]
        return f"X after {' and '.join(done)}" if done else "X"
