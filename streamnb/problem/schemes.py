"""How K classes, or sets of them, become rows of weights, and how scores are decided."""

from collections.abc import Iterable, Mapping
from graphlib import CycleError, TopologicalSorter
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from scipy.special import expit, log_expit, logit, logsumexp, softmax

from streamnb.core import arguments, row_checks
from streamnb.kernels import decisions
from streamnb.problem.sides import (
    ClassSums,
    Sides,
    against_rest,
    check_reference,
    class_against_class,
    from_heaviest,
    reference_number,
    two_labels,
    with_unlabelled,
)
from streamnb.problem.smoothing import Pseudo
from streamnb.stats.class_stats import ClassStats
from streamnb.stats.complements import with_and_without

CACHED = 1 << 14  # numbers of a table that fits into the cache
_SOFTMAX = 1e-6  # tolerance of probabilities that are the softmax of the scores
LEAST = float(np.log(np.finfo(np.float64).tiny))  # keeps other classes above a reference without rows, which scores 0


def top_class(scores: np.ndarray) -> np.ndarray:
    """The first class with the highest score, along axis 1 of (n, K) or (n, K, G)."""
    if scores.ndim == 2:
        return scores.argmax(axis=1)
    top = np.empty((len(scores), scores.shape[2]), np.int64)
    decisions.top_class(np.ascontiguousarray(scores), np.empty(scores.shape[2]), top)
    return top


def log_softmax(scores: np.ndarray) -> np.ndarray:
    """Scores less the logsumexp of their row, (n, K)."""
    logs, sums = np.empty(scores.shape), np.empty(len(scores))
    decisions.below_top(np.ascontiguousarray(scores), logs)
    decisions.row_sums(np.exp(logs), sums)
    logs -= np.log(sums)[:, None]
    return logs


def log_odds(scores: np.ndarray) -> np.ndarray:
    """s_y - logsumexp of the other scores, (n, K), without cancellation."""
    (n_rows, n_classes), scores = scores.shape, np.ascontiguousarray(scores)
    odds, step = np.empty(scores.shape), max(CACHED // n_classes, 1)
    for first in range(0, n_rows, step):
        some = slice(first, first + step)
        _fill_log_odds(scores[some], odds[some])
    return odds


def _fill_log_odds(scores: np.ndarray, odds: np.ndarray) -> None:
    """Write the log-odds of a few rows into `odds`."""
    top = top_class(scores)
    decisions.below_top(scores, odds)
    mass = np.exp(odds)
    decisions.others(mass, top)
    far = np.flatnonzero(mass[np.arange(len(top)), top] < 1e-290)  # too far below the highest for exp
    distant = odds[far]
    with np.errstate(divide="ignore"):
        odds -= np.log(mass, out=mass)
    if far.size:
        at = np.arange(len(far)), top[far]
        highest, distant[at] = distant[at], -np.inf
        odds[far, top[far]] = highest - logsumexp(distant, axis=1)


def odds_of(scores: np.ndarray, proba: np.ndarray) -> np.ndarray:
    """ln P / (1 - P) of each class, (n, K): from scores where their softmax is `proba`, which avoids rounding."""
    exact = (np.abs(softmax(scores, axis=1) - proba) <= _SOFTMAX).all(axis=1, keepdims=True)
    with np.errstate(divide="ignore"):
        return np.where(exact, log_odds(scores), logit(proba))


def log_ratio(positive: np.ndarray, negative: np.ndarray) -> np.ndarray:
    """The difference of two logs; -inf where the positive one is -inf, even if both are."""
    return np.where(np.isneginf(positive), -np.inf, positive - np.where(np.isneginf(positive), 0.0, negative))


class Scheme:
    """Rows of weights for K classes."""

    name: ClassVar[str]
    has_probabilities: ClassVar[bool] = True
    multilabel: ClassVar[bool] = False  # True where a row has any number of labels
    of_classes: ClassVar[bool] = True  # True where row k of coef_ is that of class k
    reference: Any = None  # index of the class that the others are compared with
    apart: ClassVar[bool] = False  # True where each row of weights depends only on the rows of its two groups

    def n_rows(self, n_classes: int) -> int:
        """R, the rows of coef_."""
        return n_classes

    def row_names(self, classes: np.ndarray) -> list[Any]:
        """The class on the positive side of each row of coef_; for ovo, the pair (earlier, later)."""
        return classes.tolist()

    def width(self, n_classes: int) -> int | None:
        """Columns of `decision_function`; None where it is 1-D."""
        return n_classes

    def with_reference(self, stats: ClassStats, moments: Iterable[str]) -> ClassStats:
        """Statistics, of at least these moments, with the rows without any label as a class where they are needed."""
        return stats

    def groups(self, rows: Any) -> tuple[np.ndarray, np.ndarray]:
        """The classes on the positive and the negative side of some rows of weights."""
        raise NotImplementedError

    def two_groups(self, stats: ClassStats, row: int) -> ClassStats:
        """Statistics of an indicator's rows on the two sides of a row of weights, as two classes."""
        raise NotImplementedError

    def sides(self, data: ClassSums, pseudo: Pseudo, rows: Any) -> Sides:
        """Form the sides of some rows of coef_, each smoothed once: by default each class against all others."""
        return against_rest(data, pseudo, rows)

    def intercepts(self, log_priors: np.ndarray) -> np.ndarray:
        """The intercept that log class priors (K,) add to each row of weights, (R,)."""
        raise NotImplementedError

    def class_scores(self, margins: np.ndarray) -> np.ndarray:
        """The scores of `decision_function` from margins (n, R)."""
        return margins

    def judged_by(self, n_classes: int) -> np.ndarray | None:
        """The row of weights whose margin is the score of each class, (K,); R for a class that scores 0.

        None where the decision is not the first class with the highest score.
        """
        return None if self.multilabel else np.arange(n_classes)

    def ranking(self, margins: np.ndarray) -> np.ndarray:
        """Scores that rank rows in ROC curves: posterior log-odds of each class where it has any, else margins."""
        return self.class_scores(margins)

    def of_each_class(self, of_rows: np.ndarray, of_all: np.ndarray, n_classes: int) -> np.ndarray:
        """Feature counts of classes (G, K) from those of rows of weights (G, R) and of all rows together (G,)."""
        return of_rows if self.of_classes else np.repeat(of_all[:, None], n_classes, axis=1)

    def decide(self, margins: np.ndarray) -> np.ndarray:
        """The class index of each row of data; multi-label: (n, K), 1 for its labels and 0 for the others.

        Margins (n, R, G) of G models, for one label per row, give (n, G).
        """
        return (margins > 0).astype(np.int64) if self.multilabel else top_class(self.class_scores(margins))

    def log_proba(self, margins: np.ndarray) -> np.ndarray:
        """Log probabilities of classes, (n, K)."""
        raise NotImplementedError


class Joint(Scheme):
    """K generative scores, argmax; weights are deviations from the pooled model."""

    name = "joint"

    def sides(self, data, pseudo, rows):
        seen = np.flatnonzero(data.seen)
        more = pseudo.of_all(seen)
        if pseudo.highest is None:
            pooled = (data.total + more.sum)[None, :]
        else:  # sums that were cut off do not add up to the total
            pooled = pseudo.of(seen).smoothed(data.sums(seen), data.counts[seen, None])[0].sum(axis=0, keepdims=True)
        n_pooled = np.atleast_2d(data.count + more.count)
        own = pseudo.of(rows).smoothed(*data.own(rows))
        apart = from_heaviest(data, pseudo, rows, *own)
        return Sides(own[0], own[1], pooled, n_pooled, data.aligned(data.seen, rows), True, apart)

    def intercepts(self, log_priors):
        return log_priors

    def ranking(self, margins):
        return log_odds(self.class_scores(margins))

    def log_proba(self, margins):
        return log_softmax(self.class_scores(margins))


class OneVsRest(Scheme):
    """Each class against the sum of all others."""

    name = "ovr"

    def intercepts(self, log_priors):
        others = np.where(np.eye(len(log_priors), dtype=bool), -np.inf, log_priors)
        return log_ratio(log_priors, logsumexp(others, axis=1))

    def log_proba(self, margins):
        logs = log_expit(margins)
        return logs - logsumexp(logs, axis=1, keepdims=True)


class Contrasts(Scheme):
    """Each row of weights compares two classes: those at its place in `positive` and `negative`, (R,).

    A `negative` of length 1 is the class that all others are compared with.
    """

    of_classes = False
    least = -np.inf  # the lowest log prior of a class on the negative side

    def __init__(self, positive: np.ndarray, negative: np.ndarray):
        self.positive, self.negative = positive, negative

    def n_rows(self, n_classes):
        return len(self.positive)

    def row_names(self, classes):
        return classes[self.positive].tolist()

    def groups(self, rows):
        return self.positive[rows], self.negative if len(self.negative) == 1 else self.negative[rows]

    def sides(self, data, pseudo, rows):
        return class_against_class(data, pseudo, *self.groups(rows))

    def intercepts(self, log_priors):
        return log_ratio(log_priors[self.positive], np.maximum(log_priors[self.negative], self.least))


class TwoClasses(Contrasts):
    """The second class against the first: every scheme is this one for K = 2."""

    name = "two classes"

    def __init__(self) -> None:
        super().__init__(np.array([1]), np.array([0]))

    def width(self, n_classes):
        return None

    def class_scores(self, margins):
        return margins[:, 0]

    def judged_by(self, n_classes):
        return np.array([1, 0])

    def decide(self, margins):
        return (margins[:, 0] > 0).astype(np.int64)

    def log_proba(self, margins):
        return log_expit(np.hstack([-margins, margins]))


class MultiLabel(Scheme):
    """Binary relevance: each label against all rows without it."""

    name = "multilabel"
    multilabel = True

    def two_groups(self, stats, row):
        return with_and_without(stats, row)

    def intercepts(self, log_priors):
        with np.errstate(divide="ignore"):
            return log_priors - np.log1p(-np.exp(log_priors))

    def log_proba(self, margins):
        return log_expit(self.ranking(margins))


class AgainstReference(Contrasts):
    """Each class or label against one of them, the reference, or against rows without any label (None)."""

    least = LEAST

    def __init__(self, n_classes: int, reference: int | None):
        against = n_classes if reference is None else reference
        super().__init__(np.setdiff1d(np.arange(n_classes), against), np.array([against]))
        self.reference = reference

    def with_reference_column(self, of_rows: np.ndarray, of_reference: Any) -> np.ndarray:
        """Values (n, R) of rows of weights, with those of the reference in its column, if it has one."""
        return of_rows if self.reference is None else np.insert(of_rows, self.reference, of_reference, axis=1)

    def of_each_class(self, of_rows, of_all, n_classes):
        return self.with_reference_column(of_rows, of_all)


class Reference(AgainstReference):
    """Each class against one named class, which scores 0."""

    name = "reference"
    ranking, log_proba = Joint.ranking, Joint.log_proba

    def class_scores(self, margins):
        return self.with_reference_column(margins, 0.0)

    def judged_by(self, n_classes):
        return np.insert(np.arange(n_classes - 1), self.reference, n_classes - 1)


class LabelReference(AgainstReference):
    """Each label against one of them, or against the rows without any label, whose index follows the last label's.

    Rows of other labels have no effect: means, dispersion and prior of a row of weights are those of its two groups
    (Shishkova 2016, 6.1).
    """

    name = "label reference"
    multilabel = True
    apart = True
    log_proba = MultiLabel.log_proba

    def width(self, n_classes):
        return len(self.positive)

    def with_reference(self, stats, moments):
        return stats if self.reference is not None else with_unlabelled(stats, moments)

    def two_groups(self, stats, row):
        return two_labels(stats, int(self.negative[0]), int(self.positive[row]))

    def ranking(self, margins):
        """The margin of each label; that of the reference is the negative of the highest margin."""
        return self.with_reference_column(margins, -margins.max(axis=1))

    def decide(self, margins):
        return self.with_reference_column(super().decide(margins), 0)


class Ballot:
    """Votes of rows for K classes, and sums of bounded margins that break ties."""

    def __init__(self, n_rows: int, n_classes: int, earlier: np.ndarray, later: np.ndarray):
        self._earlier, self._later = earlier, later
        self._votes = np.zeros((n_rows, n_classes))
        self._confidence = np.zeros_like(self._votes)

    def cast(self, margins: np.ndarray, pairs: slice) -> None:
        """Add the votes of some pairs, from their margins (n_rows, n_pairs)."""
        later, earlier = (self._sums(classes[pairs]) for classes in (self._later, self._earlier))
        won = margins > 0
        self._votes += (later @ won.T + earlier @ ~won.T).T
        bounded = np.sign(margins) - np.sign(margins) / (1.0 + np.abs(margins))
        self._confidence += ((later - earlier) @ bounded.T).T

    def _sums(self, classes: np.ndarray) -> sp.csr_array:
        """A matrix (K, n_pairs) that sums the pairs of each class."""
        n_pairs = len(classes)
        return sp.csr_array((np.ones(n_pairs), (classes, np.arange(n_pairs))), shape=(self._votes.shape[1], n_pairs))

    def scores(self) -> np.ndarray:
        """Votes, plus less than a third of a vote from the margins."""
        return self._votes + self._confidence / (3.0 * (np.abs(self._confidence) + 1.0))


class OneVsOne(Contrasts):
    """Every pair of classes, the later one on the positive side; decides by votes, and ties by bounded margins."""

    name = "ovo"
    has_probabilities = False

    def __init__(self, n_classes: int):
        earlier, later = np.triu_indices(n_classes, 1)
        super().__init__(later, earlier)
        self._n_classes = n_classes

    def row_names(self, classes):
        return list(zip(classes[self.negative].tolist(), classes[self.positive].tolist(), strict=True))

    def class_scores(self, margins):
        """Votes, plus the sum of bounded margins scaled to less than a third of a vote, (n, K)."""
        ballot = self.ballot(len(margins))
        ballot.cast(margins, slice(0, margins.shape[1]))
        return ballot.scores()

    def ballot(self, n_rows: int) -> Ballot:
        """An empty ballot for some rows."""
        return Ballot(n_rows, self._n_classes, self.negative, self.positive)

    def judged_by(self, n_classes):
        return None

    def decide(self, margins):
        by_model = np.moveaxis(margins, 1, -1)
        return top_class(self.class_scores(by_model.reshape(-1, margins.shape[1]))).reshape(by_model.shape[:-1])


class Votes(OneVsOne):
    """The same for margins that are votes counted before, (n, K)."""

    def class_scores(self, margins):
        return margins


SCHEMES = ("joint", "ovr", "ovo", "reference")


def as_scheme(name: Any, classes: np.ndarray, reference: Any = None, multilabel: bool = False) -> Scheme:
    """The scheme of that name for these classes, or the one for two classes or for an indicator of labels."""
    arguments.one_of("scheme", name, SCHEMES)
    check_reference(name, reference)
    if multilabel and name == "ovo":
        raise ValueError(
            "scheme='ovo' takes one label a row; a 2-D y has binary relevance ('joint', 'ovr'), and 'reference'"
        )
    if name == "reference":
        at = reference_number(classes, reference, multilabel)
    elif multilabel:
        return MultiLabel()
    if multilabel:
        return LabelReference(len(classes), at)
    if len(classes) == 2:
        return TwoClasses()
    if name == "reference":
        return Reference(len(classes), at or 0)
    return OneVsOne(len(classes)) if name == "ovo" else {"joint": Joint, "ovr": OneVsRest}[name]()


def probabilities(scheme: Scheme, margins: np.ndarray) -> np.ndarray:
    """Class probabilities, (n, K)."""
    if isinstance(scheme, TwoClasses):
        return expit(np.hstack([-margins, margins]))
    return np.exp(scheme.log_proba(margins))


def odds_of_classes(scheme: Scheme, margins: np.ndarray) -> np.ndarray:
    """The log-odds of the probability of each class, by which evaluations rank rows of more than two, (n, K)."""
    return odds_of(scheme.class_scores(margins), probabilities(scheme, margins))


def raw_scores(scheme: Scheme, margins: np.ndarray) -> np.ndarray:
    """The scores that rank rows by class without probabilities: class scores, or margins for multi-label rows."""
    return scheme.ranking(margins) if scheme.multilabel else scheme.class_scores(margins)


class Nested(MultiLabel):
    """Binary relevance where labels imply others: ``follows[a, d]`` is true where a row with label d also has a."""

    name = "nested"

    def __init__(self, follows: np.ndarray):
        self.follows = follows

    def decide(self, margins: np.ndarray) -> np.ndarray:
        return (super().decide(margins) @ self.follows.T > 0).astype(np.int64)

    def log_proba(self, margins: np.ndarray) -> np.ndarray:
        own = super().log_proba(margins)
        return np.stack([own[:, below].max(axis=1) for below in self.follows], axis=1)

    def hits(self, predicted: np.ndarray, lowest: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """Where the lowest label of a row and all above it are predicted, and no other label, (n_rows,) bool."""
        at = np.minimum(np.searchsorted(labels, lowest), len(labels) - 1)
        return (predicted == self.follows[:, at].T).all(axis=1) & (labels[at] == lowest)


def check_hierarchy(hierarchy: Any) -> dict[Any, tuple[Any, ...]]:
    """The parents of each label that has any.

    Raises
    ------
    ValueError, TypeError
        The hierarchy is not a mapping of labels to labels, or it has a cycle.
    """
    if not isinstance(hierarchy, Mapping) or not hierarchy:
        raise TypeError(f"hierarchy={hierarchy!r} should map labels to their parents, such as {{'dog': 'animal'}}")
    parents = {}
    for label, above in hierarchy.items():
        several = above if isinstance(above, list | tuple | set | frozenset) else (above,)
        parents[row_checks.plain(label)] = tuple(map(row_checks.plain, several))
    try:
        TopologicalSorter(parents).prepare()
    except CycleError as error:
        circle = " -> ".join(map(repr, reversed(error.args[1])))
        raise ValueError(f"hierarchy has a circle, {circle}: each would follow from itself") from None
    return parents


def nested(parents: dict[Any, tuple[Any, ...]], classes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """All labels of rows and hierarchy, sorted (L,), and (L, L) bool: ``follows[a, d]`` where label d implies a."""
    listed = {*classes.tolist(), *parents, *(one for above in parents.values() for one in above)}
    kinds = {row_checks.label_kind(np.asarray(one)) if np.ndim(one) == 0 else "objects" for one in listed}
    if len(kinds) > 1:
        raise ValueError(
            f"hierarchy and y should have labels of one kind, and have {' and '.join(sorted(kinds))}; y has, for one, "
            f"{classes[0].item()!r}, the hierarchy {next(iter(parents))!r}"
        )
    labels = row_checks.check_labels(sorted(listed), "hierarchy")
    place = {label: at for at, label in enumerate(labels.tolist())}
    follows = np.zeros((len(labels),) * 2, bool)
    for label, at in place.items():
        todo = [label]
        while todo:
            one = todo.pop()
            if not follows[place[one], at]:
                follows[place[one], at] = True
                todo += parents.get(one, ())
    return labels, follows


DRAWS = 32  # random codes, from which the one with the largest distance is taken


def check_code(code: Any, n_classes: int) -> np.ndarray:
    """Check a given code and return it as (n_classes, n_bits) bool.

    Raises
    ------
    ValueError
        An entry is neither 0 nor 1, the number of words is not that of the classes, all classes share a bit, or two
        classes have the same word.
    """
    given = np.asarray(code)
    if given.ndim != 2 or given.dtype.kind not in "buif" or not np.isin(given, (0, 1)).all():
        raise ValueError(f"code={code!r} should have a row of bits, 0 or 1, for each class")
    if len(given) != n_classes:
        raise ValueError(f"code has {len(given)} words; it should have one for each of the {n_classes} classes")
    words = given.astype(bool)
    same = np.flatnonzero(words.all(axis=0) | ~words.any(axis=0))
    if same.size:
        raise ValueError(f"bit {same[0]} of code is the same in all words; each should tell some classes from others")
    if n_classes > 1 and distance(words) == 0:
        raise ValueError("two classes have the same word of code; nothing would tell them apart")
    return words


def random_code(n_classes: int, code_size: float, seed: int) -> np.ndarray:
    """A code of ``code_size * n_classes`` bits, (K, B) bool: of several random ones, that with the largest distance."""
    size = arguments.finite_number("code_size", code_size, minimum=0.0)
    n_bits = max(int(size * n_classes), 1)
    least = max(int(np.ceil(np.log2(max(n_classes, 2)))), 1)
    if size == 0.0 or n_bits < least:
        raise ValueError(
            f"code_size={code_size} makes {n_bits} bits for {n_classes} classes, which have no words of their own in "
            f"these; it should be at least {least / n_classes:.3g}"
        )
    rng, best = np.random.default_rng(seed), np.zeros((n_classes, 0), bool)
    for _ in range(DRAWS):
        words = rng.random((n_classes, n_bits)) < 0.5
        same = words.all(axis=0) | ~words.any(axis=0)
        # a bit that all classes share carries no information
        words[rng.integers(n_classes, size=n_bits), np.arange(n_bits)] ^= same
        if not best.size or distance(words) > distance(best):
            best = words
    return best


def distance(words: np.ndarray) -> int:
    """The smallest number of bits in which two words differ."""
    signs = 2.0 * words - 1.0
    alike = signs @ signs.T
    np.fill_diagonal(alike, -np.inf)
    return round((words.shape[1] - float(alike.max())) / 2.0) if len(words) > 1 else words.shape[1]
