"""A problem ready to solve: statistics, families, scheme and smoothing, in blocks of features."""

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

import numpy as np

from streamnb.core import arguments, memory, messages
from streamnb.problem.family import Family
from streamnb.problem.mixed import grouped_parts
from streamnb.problem.penalties import Custom, Decorrelation, Penalty, Pull
from streamnb.problem.priors import Prior
from streamnb.problem.schemes import Joint, LabelReference, MultiLabel, OneVsOne, Scheme, TwoClasses
from streamnb.problem.sides import check_overlap
from streamnb.problem.smoothing import EVIDENCE, Smoothing, log_class_priors
from streamnb.problem.together import Together
from streamnb.solving.normal_models import is_own
from streamnb.solving.parts import Columns, FeatureBlock, Part
from streamnb.solving.posteriors import strength
from streamnb.solving.ranking import Kept, TopRanking, numbers_kept
from streamnb.stats.class_stats import ClassStats
from streamnb.stats.complements import HEAVY, weight_outside
from streamnb.stats.tables import SparseTable

CURES = {
    "idf": "scale the columns",
    "smoothing": "give a number, which has no effect here",
    "feature_weight": "scale the columns",
}


class Problem:
    """The data of (6.2): parts with one family each, class priors, and the scheme."""

    def __init__(
        self,
        stats: ClassStats,
        family: Family,
        scheme: Scheme,
        smoothing: Any = 1.0,
        priors: Any = None,
        idf: bool = False,
        estimate: str = "posterior_mean",
        overlap: str = "refuse",
        memory_limit: int | None = None,
        feature_weight: Any = None,
    ):
        self.stats, self.family, self.scheme = stats, family, scheme
        if scheme.apart and scheme.reference is not None:
            check_overlap(stats, scheme.reference, overlap)
        if isinstance(smoothing, str) and smoothing == EVIDENCE:
            smoothing = strength(stats, family, estimate)
        self.n_features = stats.n_features
        self.feature_weight = check_feature_weight(feature_weight, family, stats.n_features)
        self.n_rows = scheme.n_rows(len(stats.classes))
        sparse = all(isinstance(stats.tables.get(name), SparseTable) for name in family.moments)
        self.on_demand = sparse and 8 * self.n_rows * self.n_features > memory.allowed(memory_limit)
        weighed = scheme.with_reference(stats, ())
        self.seen = weighed.weight > 0
        self.parts = []
        if any(member.covariant for member in family.members):
            raise ValueError("Gaussian with a covariance of its own or in common goes with no other family in Mixed")
        for member, columns in grouped_parts(family, self.n_features):
            known = Smoothing.of(member, smoothing, estimate, self.n_features, len(stats.classes))
            prior = known.of_columns(columns)
            self.parts.append(Part(stats, member, columns, scheme, prior, idf, self.on_demand))
        self.blocks = [block for part in self.parts for block in part.blocks]
        log_priors = log_class_priors(priors, weighed, estimate)
        if not stats.multilabel and np.isneginf(log_priors).all():
            raise ValueError(
                f"priors={priors!r} leave no probability to the classes that have rows, "
                f"{messages.listed(stats.classes[self.seen])}; one of them at least should have some"
            )
        self.intercepts = scheme.intercepts(log_priors)
        if isinstance(scheme, MultiLabel) and priors is None:  # 1 - p loses its digits if nearly all rows have a label
            outside = weight_outside(stats)
            with np.errstate(divide="ignore"):
                odds = np.log(stats.weight) - np.log(outside)
            self.intercepts = np.where(stats.weight > HEAVY * outside, odds, self.intercepts)

    def check_held(self) -> None:
        """Raise an error for parameters that are fitted together if the weights do not fit into memory."""
        for member in self.family.members:
            if isinstance(member, Together):
                raise MemoryError(
                    f"family={member.name!r} under scheme='ovo' holds the weights of all {self.n_rows:,} pairs of "
                    f"classes, which would take {self.n_rows * self.n_features * 8 / 2**30:,.0f} GiB; "
                    "scheme='joint' or 'ovr' has one row of weights a class"
                )

    @property
    def scale(self) -> np.ndarray | None:
        """Factors of the columns (idf), (n_features,), or None."""
        if any(part.scale is None for part in self.parts):
            return None
        scale = np.empty(self.n_features)
        for part in self.parts:
            scale[part.columns] = part.scale
        return scale

    @property
    def moments(self) -> dict[str, np.ndarray | None]:
        """The functions of x that weights multiply, with their columns; None for all columns."""
        names = {part.family.moment for part in self.parts}
        if len(names) == 1:
            return {names.pop(): None}
        every = np.arange(self.n_features)
        columns = {name: [every[p.columns] for p in self.parts if p.family.moment == name] for name in sorted(names)}
        return {name: np.sort(np.concatenate(lists)) for name, lists in columns.items()}

    @property
    def second(self) -> np.ndarray | None:
        """Weights of ln(1 - x), (n_features, R), or None if no family has them."""
        fits = {part: part.fitted.second for part in self.parts if isinstance(part.family, Together)}
        if all(second is None for second in fits.values()):
            return None
        weights = np.zeros((self.n_features, self.n_rows))
        for part, second in fits.items():
            weights[part.columns] = 0.0 if second is None else second.T
        return weights

    def pieces(self, columns: Columns) -> Iterator[tuple[FeatureBlock, Columns]]:
        """Yield some features in blocks, each with the places of its features among `columns`."""
        if len(self.parts) == 1:
            yield FeatureBlock(self.parts[0], columns), slice(None)
            return
        owner, place = self._homes[:, columns]
        for k, part in enumerate(self.parts):
            mine = np.flatnonzero(owner == k)
            if mine.size:
                yield FeatureBlock(part, place[mine]), mine

    @cached_property
    def _homes(self) -> np.ndarray:
        """The part of each feature and its number in the part, (2, n_features)."""
        homes = np.empty((2, self.n_features), np.intp)
        for k, part in enumerate(self.parts):
            homes[0, part.columns], homes[1, part.columns] = k, np.arange(part.n_features)
        return homes

    @cached_property
    def ranking(self) -> TopRanking:
        """The ranking that TopK uses."""
        return TopRanking(self.parts, self.n_rows, self.n_features)

    def kept(self, pull: Pull) -> Kept | None:
        """Return the features that TopK keeps, or None without TopK."""
        return None if pull.top_k is None else self.ranking.kept(pull.by, self.numbers_kept(pull.top_k))

    def numbers_kept(self, k: Any) -> list[int]:
        """Return how many features TopK keeps in each row of weights, (R,)."""
        n_ranked = self.ranking.n_ranked
        learned = self.stats.options.learned
        if learned is not None and not learned.by_column and not isinstance(k, Mapping):
            k = min(k, n_ranked)  # the rows outside a fold may give fewer columns than all rows
        return numbers_kept(k, n_ranked, lambda: self.scheme.row_names(self.stats.classes), self.n_rows)

    def breakpoints(self, scored: bool, row: int | None = None) -> np.ndarray:
        """Return the L1 tau at which the last weight of each feature (or that of one row) is zero, (n_features,)."""
        out = np.empty(self.n_features)
        for block in self.blocks:
            breaks = block.equations().breakpoints(scored)
            out[block.columns] = breaks.max(axis=0) if row is None else breaks[row]
        return out


def check_feature_weight(feature_weight: Any, family: Family, n_features: int | None = None) -> np.ndarray | None:
    """Check the factors of the weights, (n_features,) or None; `n_features` is None if it is not known."""
    if feature_weight is None:
        return None
    given = arguments.numbers_for_features("feature_weight", feature_weight)
    if np.ndim(given) == 0 or (n_features is not None and len(given) != n_features):
        there = "n_features" if n_features is None else n_features
        raise ValueError(f"feature_weight has shape {np.shape(given)}; it should be ({there},), one for each feature")
    if (given < 0.0).any() or not given.any():
        at = int(np.argmin(given))
        raise ValueError(f"feature_weight[{at}]={given[at]}: they should be at least 0, and one of them above it")
    for member in family.members:
        if isinstance(member, Together):
            raise ValueError(f"feature_weight is not defined for family={member.name!r}, fitted together; leave it out")
    return given


def check_normal(family: Family, penalty: Penalty | None, scheme: Scheme, options: Mapping[str, Any]) -> None:
    """Raise an error for what variances or covariances of each class do not go with; nothing for other families."""
    if not (family.covariant or is_own(family)):
        return
    named = f"family={family!r}"
    if not isinstance(scheme, Joint | TwoClasses):
        given = "a 2-D y" if scheme.multilabel else f"scheme={scheme.name!r}"
        raise ValueError(
            f"{named} is for scheme='joint' and one label a row, not for {given}; covariance='diagonal' is for all"
        )
    if penalty is not None:
        raise ValueError(f"{named} takes no penalty, not penalty={penalty!r}; covariance='diagonal' takes penalties")
    for option, cure in CURES.items():
        value = options.get(option)
        number = option == "smoothing" and not isinstance(value, Prior | str)
        if not (number or value is None or value is False):
            shown = "[..]" if np.ndim(value) else repr(value)
            raise ValueError(f"{named} does not go with {option}={shown}; {cure}, or take covariance='diagonal'")


def check_penalty(penalty: Penalty | None, family: Family, scheme: Scheme, n_classes: int) -> None:
    """Raise an error for a penalty that is not defined for this family, scheme or number of classes."""
    check_normal(family, penalty, scheme, {})
    if penalty is None:
        return
    for member in family.members:
        if isinstance(member, Together):
            raise ValueError(
                f"penalty={penalty!r} is not defined for family={member.name!r}, whose parameters are fitted together; "
                "it should be None (LinearNBCV, which chooses a penalty, is not for this family)"
            )
    parts = {part.kind: part for part in penalty.parts}
    for kind in (Custom.kind, Decorrelation.kind):
        for member in family.members:
            if kind in parts and member.coupled:
                raise ValueError(
                    f"penalty={parts[kind]!r} is not defined for family={member.name!r}, whose features are coupled "
                    "already; take another family, 'poisson' for counts"
                )
    if Decorrelation.kind not in parts:
        return
    part = parts[Decorrelation.kind]
    n_classes += isinstance(scheme, LabelReference) and scheme.reference is None  # the rows without any label
    if n_classes < 3:
        raise ValueError(f"penalty={part!r} needs at least 3 classes to set apart; there are {n_classes}")
    if isinstance(scheme, OneVsOne):
        raise ValueError(
            f"penalty={part!r} is not defined for scheme='ovo', whose rows are pairs of classes; "
            "it should be 'joint', 'ovr' or 'reference'"
        )
