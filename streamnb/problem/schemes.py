"""How K classes become rows of weights, and how scores are decided."""

from collections.abc import Iterable
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from scipy.special import expit, log_expit, logsumexp

from streamnb.core import arguments
from streamnb.problem.priors import Pseudo
from streamnb.problem.references import check_reference, reference_number, two_labels, with_unlabelled
from streamnb.problem.score_logs import log_odds, log_ratio, log_softmax, odds_of, top_class
from streamnb.problem.sides import ClassSums, Sides, against_rest, class_against_class, from_heaviest
from streamnb.stats.class_stats import ClassStats
from streamnb.stats.complements import with_and_without

LEAST = float(np.log(np.finfo(np.float64).tiny))  # keeps other classes above a reference without rows, which scores 0


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
