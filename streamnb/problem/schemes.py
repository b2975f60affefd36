"""How K classes become rows of weights, and what the scores of a row mean."""

from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from scipy.special import expit, log_expit, logsumexp

from streamnb.core import arguments, messages
from streamnb.kernels import judge
from streamnb.problem.priors import Pseudo
from streamnb.problem.sides import ClassSums, Sides, against_rest, class_against_class
from streamnb.stats.rests import HEAVY

CACHED = 1 << 14  # numbers of a table that stays in the cache while it is worked on
_LEAST = float(np.log(np.finfo(np.float64).tiny))


class Scheme:
    """Rows of weights for K classes."""

    name: ClassVar[str]
    has_probabilities: ClassVar[bool] = True
    multilabel: ClassVar[bool] = False  # True where a row bears any number of labels
    of_classes: ClassVar[bool] = True  # row k of coef_ is that of class k
    reference: Any = None  # number of the class that the others are set against

    def n_rows(self, n_classes: int) -> int:
        """R, the rows of coef_."""
        return n_classes

    def row_names(self, classes: np.ndarray) -> list[Any]:
        """What the positive side of each row of coef_ is: a class, or (ovo) the pair (earlier, later)."""
        return classes.tolist()

    def width(self, n_classes: int) -> int | None:
        """Columns of `decision_function`; None where it has one number a row."""
        return n_classes

    def sides(self, data: "ClassSums", pseudo: Pseudo, rows: Any) -> Sides:
        """Form the sides of some rows of coef_, each smoothed once."""
        raise NotImplementedError

    def intercepts(self, log_priors: np.ndarray) -> np.ndarray:
        """What the class priors (K,), in logs, add to each row, (R,)."""
        raise NotImplementedError

    def class_scores(self, margins: np.ndarray) -> np.ndarray:
        """From the margins of the rows (n, R) to the scores of `decision_function`."""
        return margins

    def judged_by(self, n_classes: int) -> np.ndarray | None:
        """The row of weights whose margin is the score of each class, (K,), R for a class that scores 0.

        None where a decision is something else than the first class of the highest score.
        """
        return np.arange(n_classes)

    def ranking(self, margins: np.ndarray) -> np.ndarray:
        """What rows are ranked by in ROC curves: posterior log-odds of the class where it has one, else the margin."""
        return self.class_scores(margins)

    def decide(self, margins: np.ndarray) -> np.ndarray:
        """Number of the class for each row of data; multi-label: (n, K), 1 for its labels and 0 for the others.

        Of margins (n, R, G), for one label a row, those of G models, (n, G).
        """
        return top_class(margins)

    def log_proba(self, margins: np.ndarray) -> np.ndarray:
        """Logs of the class probabilities, (n, K)."""
        raise NotImplementedError


class Joint(Scheme):
    """K generative scores, argmax; weights are deviations from the pooled model."""

    name = "joint"

    def sides(self, data, pseudo, rows):
        n_seen = np.count_nonzero(data.seen)
        if pseudo.highest is None:
            pooled = (data.total + n_seen * pseudo.sum)[None, :]
        else:  # sums that were cut off do not add up to the total
            seen = np.flatnonzero(data.seen)
            pooled = pseudo.smoothed(data.sums(seen), data.counts[seen, None])[0].sum(axis=0, keepdims=True)
        n_pooled = np.atleast_2d(data.count + n_seen * pseudo.count)
        own = pseudo.smoothed(*data.own(rows))
        apart = _from_heaviest(data, pseudo, rows, *own)
        return Sides(own[0], own[1], pooled, n_pooled, data.beside(data.seen, rows), True, apart)

    def intercepts(self, log_priors):
        return log_priors

    def ranking(self, margins):
        return _log_odds(margins)

    def log_proba(self, margins):
        return _log_softmax(margins)


class OneVsRest(Scheme):
    """Each class against the sum of all others."""

    name = "ovr"

    def sides(self, data, pseudo, rows):
        return against_rest(data, pseudo, rows)

    def intercepts(self, log_priors):
        others = np.where(np.eye(len(log_priors), dtype=bool), -np.inf, log_priors)
        return _log_ratio(log_priors, logsumexp(others, axis=1))

    def log_proba(self, margins):
        logs = log_expit(margins)
        return logs - logsumexp(logs, axis=1, keepdims=True)


class TwoClasses(Scheme):
    """The second class against the first: what every scheme comes to where K = 2."""

    name = "two classes"
    of_classes = False

    def n_rows(self, n_classes):
        return 1

    def row_names(self, classes):
        return classes[1:].tolist()

    def width(self, n_classes):
        return None

    def sides(self, data, pseudo, rows):
        return class_against_class(data, pseudo, np.array([1]), np.array([0]))

    def intercepts(self, log_priors):
        return _log_ratio(log_priors[1:], log_priors[:1])

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

    def sides(self, data, pseudo, rows):
        return against_rest(data, pseudo, rows)

    def intercepts(self, log_priors):
        with np.errstate(divide="ignore"):
            return log_priors - np.log1p(-np.exp(log_priors))

    def judged_by(self, n_classes):
        return None

    def decide(self, margins):
        return (margins > 0).astype(np.int64)

    def log_proba(self, margins):
        return log_expit(margins)


class Reference(Scheme):
    """Each class against one named class, which scores 0."""

    name = "reference"
    of_classes = False

    def __init__(self, n_classes: int, reference: int):
        self.reference = reference
        self._others = np.delete(np.arange(n_classes), reference)

    def n_rows(self, n_classes):
        return n_classes - 1

    def row_names(self, classes):
        return classes[self._others].tolist()

    def sides(self, data, pseudo, rows):
        return class_against_class(data, pseudo, self._others[rows], np.array([self.reference]))

    def intercepts(self, log_priors):
        # the reference scores 0: without rows it has, in place of no probability, one that nothing comes down to
        return _log_ratio(log_priors[self._others], np.maximum(log_priors[[self.reference]], _LEAST))

    def class_scores(self, margins):
        return np.insert(margins, self.reference, 0.0, axis=1)

    def judged_by(self, n_classes):
        return np.insert(np.arange(n_classes - 1), self.reference, n_classes - 1)

    def ranking(self, margins):
        return _log_odds(self.class_scores(margins))

    def decide(self, margins):
        return top_class(self.class_scores(margins))

    def log_proba(self, margins):
        return _log_softmax(self.class_scores(margins))


class OneVsOne(Scheme):
    """Every pair of classes; the later one is the positive side. Decision by votes, ties by bounded margins."""

    name = "ovo"
    has_probabilities = False
    of_classes = False

    def __init__(self, n_classes: int):
        self._n_classes = n_classes
        self._earlier, self._later = np.triu_indices(n_classes, 1)

    def n_rows(self, n_classes):
        return n_classes * (n_classes - 1) // 2

    def row_names(self, classes):
        return list(zip(classes[self._earlier].tolist(), classes[self._later].tolist(), strict=True))

    def sides(self, data, pseudo, rows):
        return class_against_class(data, pseudo, self._later[rows], self._earlier[rows])

    def intercepts(self, log_priors):
        return _log_ratio(log_priors[self._later], log_priors[self._earlier])

    def class_scores(self, margins):
        """Votes, and the sum of margins squeezed into a third of a vote, (n, K)."""
        ballot = self.ballot(len(margins))
        ballot.cast(margins, slice(0, margins.shape[1]))
        return ballot.scores()

    def ballot(self, n_rows: int) -> "Ballot":
        """Votes of some rows, still to be cast."""
        return Ballot(n_rows, self._n_classes, self._earlier, self._later)

    def judged_by(self, n_classes):
        return None

    def decide(self, margins):
        by_model = np.moveaxis(margins, 1, -1)
        return top_class(self.class_scores(by_model.reshape(-1, margins.shape[1]))).reshape(by_model.shape[:-1])


class Votes(OneVsOne):
    """The same where margins come as votes already counted, (n, K)."""

    def class_scores(self, margins):
        return margins


class Ballot:
    """Votes of rows for K classes, and the sums of bounded margins that decide between equal ones."""

    def __init__(self, n_rows: int, n_classes: int, earlier: np.ndarray, later: np.ndarray):
        self._earlier, self._later = earlier, later
        self._votes = np.zeros((n_rows, n_classes))
        self._confidence = np.zeros_like(self._votes)

    def cast(self, margins: np.ndarray, pairs: slice) -> None:
        """Add the votes of some pairs, margins (n_rows, n_pairs)."""
        later, earlier = (self._sums(classes[pairs]) for classes in (self._later, self._earlier))
        won = margins > 0
        self._votes += (later @ won.T + earlier @ ~won.T).T
        bounded = np.sign(margins) - np.sign(margins) / (1.0 + np.abs(margins))
        self._confidence += ((later - earlier) @ bounded.T).T

    def _sums(self, classes: np.ndarray) -> sp.csr_array:
        """What adds up the pairs of each class, (K, n_pairs)."""
        n_pairs = len(classes)
        return sp.csr_array((np.ones(n_pairs), (classes, np.arange(n_pairs))), shape=(self._votes.shape[1], n_pairs))

    def scores(self) -> np.ndarray:
        """Votes and less than a third of a vote."""
        return self._votes + self._confidence / (3.0 * (np.abs(self._confidence) + 1.0))


SCHEMES = ("joint", "ovr", "ovo", "reference")


def as_scheme(name: Any, classes: np.ndarray, reference: Any = None, multilabel: bool = False) -> Scheme:
    """The scheme of that name for these classes, or the one for two classes or for an indicator of labels."""
    arguments.one_of("scheme", name, SCHEMES)
    if multilabel:
        if name in ("ovo", "reference"):
            raise ValueError(f"scheme={name!r} takes one label a row; an indicator of labels has binary relevance only")
        return MultiLabel()
    if name != "reference" and reference is not None:
        raise ValueError(f"reference={reference!r} goes with scheme='reference', not with scheme={name!r}")
    if name == "reference":
        at = np.flatnonzero([reference is not None and label == reference for label in classes])
        if at.size == 0:
            raise ValueError(f"reference={reference!r} is not a class; it should be one of {messages.listed(classes)}")
    if len(classes) == 2:
        return TwoClasses()
    if name == "reference":
        return Reference(len(classes), int(at[0]))
    return OneVsOne(len(classes)) if name == "ovo" else {"joint": Joint, "ovr": OneVsRest}[name]()


def probabilities(scheme: Scheme, margins: np.ndarray) -> np.ndarray:
    """Class probabilities, (n, K)."""
    if isinstance(scheme, TwoClasses):
        return expit(np.hstack([-margins, margins]))
    return np.exp(scheme.log_proba(margins))


def _from_heaviest(data: ClassSums, pseudo: Pseudo, classes: Any, sums: np.ndarray, n_positive: np.ndarray) -> Any:
    """What a class that outweighs all others is set apart from: where it stands, and what the others come to.

    `sums` and `n_positive` are smoothed; None where it is not among the `classes`, or there is none.
    """
    top = int(np.argmax(data.counts))
    seen = np.flatnonzero(data.seen)
    others = seen[seen != top]
    n_others = np.atleast_2d(data.rests[top] + len(others) * pseudo.count)
    heavy = data.beside(np.arange(len(data.counts)) == top, classes) & (n_positive > HEAVY * n_others)
    if not heavy.any():
        return None
    where, of_others = np.broadcast_to(heavy, sums.shape), np.zeros(sums.shape)
    if pseudo.highest is None:
        of_others[where] = data.outside(*data.cells(where, classes))
        of_others += len(others) * pseudo.sum
    else:
        of_others += pseudo.smoothed(data.sums(others), data.counts[others, None])[0].sum(axis=0)
    return heavy, of_others, n_others


def top_class(scores: np.ndarray) -> np.ndarray:
    """The first class of the highest score, of (n, K) or (n, K, G) along axis 1."""
    top = np.empty((len(scores), *scores.shape[2:]), np.int64)
    judge.top_class(*((scores, top) if scores.ndim == 3 else (scores[:, :, None], top[:, None])))
    return top


def _log_softmax(scores: np.ndarray) -> np.ndarray:
    """Scores less the log of the sum of their exponentials over the row, (n, K)."""
    logs, sums = np.empty(scores.shape), np.empty(len(scores))
    judge.below_top(scores, logs)
    judge.row_sums(np.exp(logs), sums)
    logs -= np.log(sums)[:, None]
    return logs


def _log_odds(scores: np.ndarray) -> np.ndarray:
    """s_y - logsumexp of the others', (n, K), without cancellation."""
    n_rows, n_classes = scores.shape
    odds, step = np.empty(scores.shape), max(CACHED // n_classes, 1)
    for first in range(0, n_rows, step):
        some = slice(first, first + step)
        _fill_log_odds(scores[some], odds[some])
    return odds


def _fill_log_odds(scores: np.ndarray, odds: np.ndarray) -> None:
    """The same of few rows, into `odds`."""
    top = top_class(scores)
    judge.below_top(scores, odds)
    mass = np.exp(odds)
    judge.others(mass, top)
    far = np.flatnonzero(mass[np.arange(len(top)), top] < 1e-290)  # too far below the highest for exp
    distant = odds[far]
    with np.errstate(divide="ignore"):
        odds -= np.log(mass, out=mass)
    if far.size:
        at = np.arange(len(far)), top[far]
        highest, distant[at] = distant[at], -np.inf
        odds[far, top[far]] = highest - logsumexp(distant, axis=1)


def _log_ratio(positive: np.ndarray, negative: np.ndarray) -> np.ndarray:
    # -inf where the positive side is empty, whatever the other side
    return np.where(np.isneginf(positive), -np.inf, positive - np.where(np.isneginf(positive), 0.0, negative))
