"""What intervals need of judged rows, beside the tallies whose metrics they are of."""

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from streamnb.core import memory, persistence
from streamnb.evaluation.content_sample import ContentSample
from streamnb.evaluation.score_order import Histogram
from streamnb.evaluation.tallies import BINS, Rows
from streamnb.stats.row_means import RowMeans

BUCKETS = 256  # of groups; with fewer groups, nearly each has a bucket of its own
SAMPLED = 1 << 17  # scores of all rows of the sample, about
LEAST_SAMPLED = 2000  # rows of it, of many classes
CELLS = 1 << 21  # of all histograms of buckets of one ranking: 8 MiB, 16 MiB with fractional weights
BUCKET_BINS = 32, 256  # of these histograms, at least and at most

Means = Mapping[str, Sequence[str]]  # names of the values of each row whose means are kept, by tally
Values = Mapping[str, Any]  # of a block of rows, by tally


class Weights:
    """Whether weights are whole, and the number of equal weights that would tell as much (Kish 1965)."""

    def __init__(self) -> None:
        self._sums = RowMeans(("squared", "fractional"))

    def add(self, weight: np.ndarray) -> None:
        if (weight == 1.0).all():  # as one row
            weight = np.array([float(len(weight))])
            self._sums.add([np.ones(1), np.zeros(1)], weight)
        else:
            self._sums.add([weight, weight % 1.0 != 0.0], weight)

    @property
    def are_counts(self) -> bool:
        """True while all weights are whole, so that each says how many equal rows there are."""
        return self._sums.sums[0, 1] == 0.0

    @property
    def n_rows(self) -> float:
        """The effective number of rows: the sum of whole weights, ``(sum w)^2 / sum w^2`` of others."""
        squared, _, weight = self._sums.sums[0]
        return float(weight if self.are_counts else weight**2 / squared)

    def __add__(self, other: "Weights") -> "Weights":
        total = Weights()
        total._sums = self._sums + other._sums
        return total

    def _to_state(self) -> Any:
        return self._sums._to_state()

    def restore(self, state: Any) -> None:
        """Restore the sums that `_to_state` returned."""
        self._sums.restore(state)


class RowSpread:
    """For rows that are independent: sums of squares, of losses of cubes too, and a sample of rows.

    Parameters
    ----------
    n_classes : int
    means : dict
    sampled : names of the parts of rows of which a sample is kept: "predicted", "ranking", "margin"
        It tells how the values of a row for several classes vary together.
    most_rows : int
        Of the sample.
    multilabel : bool
    """

    grouped = False

    def __init__(self, n_classes: int, means: Means, sampled: Sequence[str], most_rows: int, multilabel: bool):
        self.weights, self._sampled, self._n_classes = Weights(), tuple(sampled), n_classes
        self.squares = {name: RowMeans(values) for name, values in means.items()}
        self.cubes = {name: RowMeans(values) for name, values in means.items() if name == "losses"}
        if "reliability" in means:
            pairs = (f"{a} {b}" for a, b in zip(*np.triu_indices(BINS), strict=True))
            self.squares["reliability"] = RowMeans(pairs) if multilabel else RowMeans(("excess",), n_groups=BINS)
        size = max(min(most_rows, SAMPLED // n_classes), LEAST_SAMPLED)
        self.sample = ContentSample(size) if sampled else None

    def add(self, rows: Rows, known: Rows, values: Values) -> None:
        """Add rows with the values whose means are kept: of all rows for decisions, of those known otherwise."""
        self.weights.add(rows.weight)
        for name, squares in self.squares.items():
            weight = (rows if name == "decisions" else known).weight
            if name != "reliability":
                squares.add([np.square(value) for value in values[name]], weight)
            elif values[name][0].shape[1] == 1:
                bins, proba, right = (part[:, 0] for part in values[name])
                squares.add([np.square(right - proba)], weight, bins)
            else:
                excess = _excess(*values[name])
                squares.add([excess[:, a] * excess[:, b] for a, b in zip(*np.triu_indices(BINS), strict=True)], weight)
        for name, cubes in self.cubes.items():
            cubes.add([value * value * value for value in values[name]], known.weight)
        if self.sample is not None:
            parts = {name: getattr(known, name) for name in self._sampled}
            self.sample.add({"labels": known.labels, **parts}, known.weight)

    def _powers(self) -> dict[str, dict[str, RowMeans]]:
        return {"squares": self.squares, "cubes": self.cubes}

    def __add__(self, other: Self) -> Self:
        total = type(self).__new__(type(self))
        total.__dict__.update(self.__dict__, weights=self.weights + other.weights)
        total.squares, total.cubes = (
            {name: each + others[name] for name, each in sums.items()}
            for sums, others in zip(self._powers().values(), other._powers().values(), strict=True)
        )
        total.sample = None if self.sample is None or other.sample is None else self.sample + other.sample
        return total

    def _to_state(self) -> dict[str, Any]:
        powers = {
            power: {name: each._to_state() for name, each in sums.items()} for power, sums in self._powers().items()
        }
        sample = None if self.sample is None else self.sample._to_state()
        return {"weights": self.weights._to_state(), "sample": sample, **powers}

    def restore(self, state: dict[str, Any]) -> None:
        """Fill an empty object from the state that `_to_state` returned."""
        self.weights.restore(state["weights"])
        for power, sums in self._powers().items():
            for name, each in sums.items():
                each.restore(state[power][name])
        if (state["sample"] is None) != (self.sample is None):
            raise ValueError("a sample of rows is missing, or there should be none")
        if self.sample is None:
            return
        self.sample.restore(state["sample"])
        for name, part in self.sample.parts.items():
            if name in ("ranking", "margin"):
                persistence.array(name, part, ["f8"], (None, self._n_classes))
            elif not sp.issparse(part):
                persistence.array(name, part, ["i8"], (None,))


def _excess(bins: np.ndarray, proba: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Correctness less probability of each row in each bin, averaged over its labels, (n, BINS)."""
    row = np.arange(len(bins))[:, None] * BINS
    sums = np.bincount((row + bins).ravel(), (right - proba).ravel(), len(bins) * BINS)
    return sums.reshape(-1, BINS) / bins.shape[1]


class GroupSpread:
    """For rows in groups: tallies of each of 256 buckets, to which groups are hashed.

    Parameters
    ----------
    n_classes : int
    means : dict
    rankings : dict
        Columns, groups of labels of each ranking.
    """

    grouped = True

    def __init__(self, n_classes: int, means: Means, rankings: Mapping[str, tuple[int, int]], multilabel: bool):
        self.weights, self._multilabel = Weights(), multilabel
        self.total = RowMeans((), n_groups=BUCKETS)
        self.sums = {name: RowMeans(values, n_groups=BUCKETS) for name, values in means.items()}
        if "reliability" in means:
            self.sums["reliability"] = RowMeans(("excess",), n_groups=BUCKETS * BINS)
        # hit, true and predicted weight by bucket and class
        self.counts = memory.zeros(3, BUCKETS, n_classes if "decisions" in means else 0)
        self.scores: dict[str, Histogram] = {}
        self._label_groups = {name: n_groups for name, (_, n_groups) in rankings.items()}
        for name, (n_columns, n_groups) in rankings.items():
            n_bins = int(np.clip(CELLS // (n_columns * n_groups * BUCKETS), *BUCKET_BINS))
            self.scores[name] = Histogram(n_columns, n_groups * BUCKETS, n_bins)

    def add(self, rows: Rows, known: Rows, values: Values) -> None:
        """Add rows with the values whose means are kept: of all rows for decisions, of those known otherwise."""
        assert rows.bucket is not None and known.bucket is not None
        self.weights.add(rows.weight)
        self.total.add([], rows.weight, rows.bucket)
        for name, sums in self.sums.items():
            if name == "reliability":
                bins, proba, right = values[name]
                cells = (known.bucket[:, None] * BINS + bins).ravel()
                weight = np.repeat(known.weight / bins.shape[1], bins.shape[1])
                sums.add([(right - proba).ravel()], weight, cells)
            else:
                some = rows if name == "decisions" else known
                sums.add(values[name], some.weight, some.bucket)
        if "decisions" in self.sums:
            self._count(rows, known)
        for name, histogram in self.scores.items():
            groups = known.bucket[:, None] * self._label_groups[name] + values[f"{name} groups"]
            histogram.add(getattr(known, name)[:, :, None], groups, known.weight)

    def _count(self, rows: Rows, known: Rows) -> None:
        """Count the classes, or labels, that were hit, true and predicted in each bucket."""
        of_rows: Any = (rows.bucket, rows.weight)
        cells: list[tuple[Any, Any, Any]]
        if self._multilabel:
            parts = rows.labels.multiply(rows.predicted).tocsr(), rows.labels, rows.predicted
            cells = [(*(np.repeat(x, np.diff(part.indptr)) for x in of_rows), part.indices) for part in parts]
        else:
            hit = rows.labels == rows.predicted
            cells = [(*(x[hit] for x in of_rows), rows.predicted[hit]), (known.bucket, known.weight, known.labels)]
            cells.append((*of_rows, rows.predicted))
        for counts, (bucket, weight, classes) in zip(self.counts, cells, strict=True):
            np.add.at(counts, (bucket, classes), weight)

    def __add__(self, other: Self) -> Self:
        total = type(self).__new__(type(self))
        total.__dict__.update(self.__dict__, weights=self.weights + other.weights, total=self.total + other.total)
        total.sums = {name: sums + other.sums[name] for name, sums in self.sums.items()}
        total.counts = self.counts + other.counts
        total.scores = {name: scores + other.scores[name] for name, scores in self.scores.items()}
        return total

    def _to_state(self) -> dict[str, Any]:
        return {
            "weights": self.weights._to_state(),
            "total": self.total._to_state(),
            "sums": {name: sums._to_state() for name, sums in self.sums.items()},
            "counts": self.counts,
            "scores": {name: scores._to_state() for name, scores in self.scores.items()},
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Fill an empty object from the state that `_to_state` returned."""
        self.weights.restore(state["weights"])
        self.total.restore(state["total"])
        for name, sums in self.sums.items():
            sums.restore(state["sums"][name])
        self.counts = persistence.array("counts", state["counts"], ["f8"], self.counts.shape)
        for name, scores in self.scores.items():
            scores.restore(state["scores"][name])
