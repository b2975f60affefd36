"""A problem ready to solve: statistics, families, scheme and smoothing, in blocks of features."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from streamnb.core import arguments, memory, messages
from streamnb.problem.families import Together
from streamnb.problem.family import Family
from streamnb.problem.mixed import grouped_parts
from streamnb.problem.penalties import Custom, Decorrelation, Penalty, Pull
from streamnb.problem.schemes import Joint, LabelReference, MultiLabel, OneVsOne, Scheme, TwoClasses
from streamnb.problem.sides import check_overlap
from streamnb.problem.smoothing import EVIDENCE, Prior, Smoothing, log_class_priors
from streamnb.solving.equations import Equations
from streamnb.solving.normal_models import is_own
from streamnb.solving.parts import Columns, FeatureBlock, Part
from streamnb.solving.posteriors import strength
from streamnb.stats.class_stats import ClassStats
from streamnb.stats.complements import HEAVY, weight_outside
from streamnb.stats.tables import SparseTable

MERITS = 1 << 22  # most merits, of all features and rows of weights, that are cached
CURES = {
    "idf": "scale the columns",
    "smoothing": "give a number, which has no effect here",
    "feature_weight": "scale the columns",
}


class TopRanking:
    """Ranks features for TopK; the columns of a part with a family `as_one` are ranked together."""

    def __init__(self, parts: Sequence[Part], n_rows: int, n_features: int):
        self.parts, self.n_rows, self.n_features = parts, n_rows, n_features
        self._found: dict[tuple[str, int], tuple[np.ndarray, np.ndarray | None]] = {}
        self._together: dict[tuple[str, Part], np.ndarray] = {}
        self._last: np.ndarray | None = None  # the last column of each ranked item, where items are not all features
        if any(part.family.as_one for part in parts):
            every = np.arange(n_features)
            self._last = np.sort(np.concatenate([every[p.columns][-1 if p.family.as_one else 0 :] for p in parts]))

    @property
    def n_ranked(self) -> int:
        """Number of ranked items: features, with the columns of a category counted once."""
        return self.n_features if self._last is None else len(self._last)

    def kept(self, by: str, numbers: Sequence[int]) -> "Kept":
        """Return the best items of each row of weights; `numbers` is how many."""
        cut, last = np.full((self.n_rows, 1), np.inf), np.full((self.n_rows, 1), -1, np.intp)
        for r, k in enumerate(numbers):
            if k == 0:  # leaves the cut at infinity
                continue
            merit, order = self._ranked(by, r)
            if order is None:
                ties = k - np.count_nonzero(merit > (worst := np.partition(merit, -k)[-k]))
                at = np.flatnonzero(merit == worst)[ties - 1]
            else:
                at = order[k - 1]
            cut[r], last[r] = merit[at], at if self._last is None else self._last[at]
        return Kept(self, by, cut, last)

    def entering(self, by: str, numbers: np.ndarray) -> np.ndarray | None:
        """Return which of the ascending numbers first keeps each feature, (R, n); None if some are ranked as one."""
        if self._last is not None:
            return None
        enters, first = np.empty((self.n_rows, self.n_features), np.int32), np.arange(1, self.n_features + 1)
        for r in range(self.n_rows):
            merit, order = self._ranked(by, r)
            order = np.argsort(-merit, kind="stable") if order is None else order
            enters[r, order] = np.searchsorted(numbers, first)
        return enters

    def _ranked(self, by: str, r: int) -> tuple[np.ndarray, np.ndarray | None]:
        """Return the merits of a row of weights, (n_ranked,), and their order, ties by number; cached if small.

        Sorting takes longer than finding the best k, so the order is None in the first call. It is computed for the
        second number of a grid and serves all others.
        """
        if (by, r) in self._found:
            merit, order = self._found[by, r]
            order = np.argsort(-merit, kind="stable") if order is None else order
        else:
            merit, order, row = np.empty(self.n_features), None, slice(r, r + 1)
            for part in self.parts:
                merit[part.columns] = self.merits(part, by, row, partial(_unpulled, part, row))[0]
            merit = merit if self._last is None else merit[self._last]
        if self.n_rows * self.n_features <= MERITS:
            self._found[by, r] = merit, order
        return merit, order

    def merits(self, part: Part, by: str, rows: slice, equations: Callable[[], Equations]) -> np.ndarray:
        """Return the merits of the features of a part, (R, n), or (R, 1) if they are ranked as one."""
        if not part.family.as_one:
            return equations().merit(by)
        if (by, part) not in self._together:
            come_to = np.sum if by == "likelihood" else np.max
            groups = part.groups(range(self.n_rows))
            found = [come_to(part.of_rows(group)[1].merit(by), axis=1, keepdims=True) for group in groups]
            self._together[by, part] = np.concatenate(found)
        return self._together[by, part][rows]


def _unpulled(part: Part, rows: slice) -> Equations:
    return part.of_rows(rows)[1]


@dataclass(frozen=True, slots=True, eq=False)
class Kept:
    """The k best features of each row of weights: the lowest merit kept and the last of its ties, (R, 1)."""

    ranking: TopRanking
    by: str
    cut: np.ndarray
    last: np.ndarray

    def mark(self, equations: Equations, part: Part, columns: Columns, rows: slice = slice(None)) -> Equations:
        """Mark the kept features; `equations` have no pull yet, `columns` are the numbers of their features."""
        merit, cut = self.ranking.merits(part, self.by, rows, lambda: equations), self.cut[rows]
        every = np.arange(self.ranking.n_features)
        numbers = every[part.columns][-1:] if part.family.as_one else every[columns]
        kept = (merit > cut) | ((merit == cut) & (numbers <= self.last[rows]))
        return replace(equations, kept=np.broadcast_to(kept, equations.t_star.shape))


def numbers_kept(k: Any, n_ranked: int, names: Callable[[], Sequence[Any]], n_rows: int) -> list[int]:
    """Return how many features TopK keeps in each row of weights, (R,); raise an error for labels that have no row."""
    largest = max(k.values(), default=0) if isinstance(k, Mapping) else k
    if largest > n_ranked:
        given = f"k={k!r}" if isinstance(k, Mapping) else f"k={int(k)}"
        raise ValueError(f"TopK({given}) keeps more features than the {n_ranked} there are")
    if not isinstance(k, Mapping):
        return [int(k)] * n_rows
    rows = names()
    strange = [label for label in k if label not in rows]
    if strange or len(k) < len(rows):
        what = f"has no row of weights for {strange[0]!r}" if strange else "names no number for some"
        raise ValueError(f"TopK(k={k!r}) {what}; it should have one for each of {', '.join(map(repr, rows))}")
    return [k[name] for name in rows]


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
            raise ValueError("Gaussian with covariances cannot be combined with other families in Mixed")
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
            raise ValueError(f"{named} does not go with {option}={shown}; {cure}, or use covariance='diagonal'")


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
                    "already; use another family, 'poisson' for counts"
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
