"""How well a model does, from blocks of judged rows that merge."""

from collections.abc import Callable, Iterable
from itertools import combinations
from typing import Any

import numpy as np

from streamnb import _checks, _html, persistence
from streamnb.kernels import ranks
from streamnb.ranking import Levels, Ranking
from streamnb.tallies import Decisions, Losses, RowMeans, Rows, SetDecisions, ratio

_GIVEN_AS = {
    "hits": "y_pred=",
    "confusion": "y_pred= (for at most 1000 classes)",
    "multilabel": "y_pred= of multi-label rows",
    "ranking": "scores= or proba=",
    "pairs": "scores= or proba= (for at most 20 classes)",
    "probabilities": "proba=",
}  # what snb.evaluate keeps it of

NEEDS = ("hits", "confusion", "ranking", "pairs", "probabilities", "multilabel")
_DECISIONS = frozenset({"hits", "confusion", "multilabel"})


@persistence.register
class Evaluation:
    """One model judged on some rows: memory of fixed size, blocks of rows in any order, exact merging with ``+``.

    Values follow scikit-learn's conventions and agree with its functions on the same rows. They do not depend on how
    the rows are cut into blocks or in which order these are merged: to the last bit where sums of weights are exact
    (whole weights), and in practice always for means over rows.

    Parameters
    ----------
    n_classes : int
        K classes, or labels of multi-label rows.
    needs : names out of "hits", "confusion", "ranking", "pairs", "probabilities", "multilabel"
        What to keep, and so what can be asked for:

        - "hits": accuracy, balanced accuracy, precision, recall, F score; of the order of K numbers;
        - "confusion": the same and the confusion matrix; K x K numbers;
        - "ranking": ROC AUC and curve, average precision; scores of `exact_rows` rows, later ``2 K n_bins`` numbers;
        - "pairs", with "ranking": ROC AUC one-vs-one for K > 2; ``K K n_bins`` numbers;
        - "probabilities": log loss, Brier score;
        - "multilabel": what compares sets of labels (with "ranking", the ranking loss too); of no effect otherwise.
    multilabel : bool
        Rows have any number of labels. "hits", "confusion" and "multilabel" then mean the same.
    exact_rows : int
        Scores are kept one by one up to that many rows, and ROC AUC and average precision are exact. Beyond, they come
        from histograms, within `roc_auc_error` and `average_precision_error`.
    n_bins : int
        Bins of a histogram, at least 2.
    classes : (K,) labels, optional
        Names of the classes in the order of their numbers; 0 .. K - 1 unless given.

    Notes
    -----
    A row whose label no class has (code -1) is a wrong decision: it counts in accuracy and in the precision of the
    class it was given. It has no place in the confusion matrix, in rankings and in losses.
    """

    def __init__(
        self,
        n_classes: int,
        needs: Iterable[str] = ("confusion", "ranking", "probabilities"),
        *,
        multilabel: bool = False,
        exact_rows: int = 10_000,
        n_bins: int = 2048,
        classes: Any = None,
    ):
        self.n_classes = K = _checks.positive_integer("n_classes", n_classes)
        needs = (needs,) if isinstance(needs, str) else needs
        self.needs = frozenset(_checks.one_of("needs", need, NEEDS) for need in needs)
        self.multilabel = bool(multilabel)
        if _checks.positive_integer("n_bins", n_bins) < 2:
            raise ValueError("n_bins=1 should be at least 2")
        exact_rows = int(_checks.finite_number("exact_rows", exact_rows, minimum=0))
        self.classes = np.arange(K) if classes is None else np.asarray(classes)
        if self.classes.shape != (K,):
            raise ValueError(f"classes has shape {self.classes.shape}; it should name each of the {K} classes")
        self.n_rows = 0
        self._form = (K, self.needs, self.multilabel, exact_rows, n_bins)
        self._tallies: dict[str, Any] = {"total": RowMeans(())}
        if self.multilabel and self.needs & _DECISIONS:
            self._tallies["decisions"] = SetDecisions(K, False)
        elif self.needs & {"hits", "confusion"}:
            self._tallies["decisions"] = Decisions(K, "confusion" in self.needs)
        if "ranking" in self.needs:
            self._tallies["ranking"] = self.ranking_of(1)
            if self.multilabel and "multilabel" in self.needs:
                self._tallies["ranking_loss"] = RowMeans(("ranking_loss",))
        if "probabilities" in self.needs:
            self._tallies["losses"] = Losses()

    @property
    def weight(self) -> float:
        """Weight of the rows."""
        return self._tallies["total"].weight

    @property
    def class_weight(self) -> np.ndarray:
        """Weight of the rows of each class, (K,)."""
        return self._decisions().true.copy()

    # ---- rows in -----------------------------------------------------------------------------------------------------

    def add(
        self, codes: Any, weight: Any = None, *, predicted: Any = None, ranking: Any = None, log_proba: Any = None
    ) -> None:
        """Add a block of rows; what no need asks for is not looked at.

        Parameters
        ----------
        codes : (n,) int
            Class numbers, -1 for a label that no class has. Multi-label: an indicator (n, K), dense or CSR.
        weight : (n,), optional
            1 each unless given.
        predicted : as codes, without -1
            For "hits", "confusion", "multilabel".
        ranking : (n,) or (n, K)
            For "ranking": the higher, the more likely the class; (n,) or (n, 1) for class 1 of two, of (n, 2) the
            second column counts. Infinities are scores like others.
        log_proba : (n, K)
            For "probabilities": natural logs of class probabilities; multi-label, of each label being on.

        Raises
        ------
        ValueError, TypeError
            Something needed is missing, or of another length or width; numbers of no class; NaN; negative weights.
            Nothing was added then.
        """
        rows = self._checked(codes, weight, predicted, ranking, log_proba)
        self.n_rows += len(rows.weight)
        self._tallies["total"].add([], rows.weight)
        for name in ("decisions", "losses"):
            if name in self._tallies:
                self._tallies[name].add(rows)
        if "ranking" in self._tallies:
            self._rank(rows)

    def _rank(self, rows: Rows) -> None:
        known = rows.known()
        labels = known.labels.toarray() if self.multilabel else known.labels
        self._tallies["ranking"].add(known.ranking, labels, known.weight)
        if "ranking_loss" in self._tallies:
            loss = np.empty(len(labels))
            ranks.ranking_loss(known.ranking, labels, loss)
            self._tallies["ranking_loss"].add([loss], known.weight)

    def _checked(self, codes: Any, weight: Any, predicted: Any, ranking: Any, log_proba: Any) -> Rows:
        K = self.n_classes
        if self.multilabel:
            labels: Any = _checks.check_indicator(codes, K, "codes")
        else:
            labels = _checks.check_class_numbers(codes, K, "codes", lowest=-1)
        n_rows = labels.shape[0]
        weight = np.ones(n_rows) if weight is None else _checks.check_weights(weight)
        _checks.check_lengths(n_rows, len(weight), "weight", "codes")
        rows: dict[str, Any] = {}
        if "decisions" in self._tallies:
            self._given("predicted", predicted, _DECISIONS)
            check = _checks.check_indicator if self.multilabel else _checks.check_class_numbers
            rows["predicted"] = check(predicted, K, "predicted")
            _checks.check_lengths(n_rows, rows["predicted"].shape[0], "predicted", "codes")
        if "ranking" in self._tallies:
            self._given("ranking", ranking, {"ranking"})
            rows["ranking"] = self._check_ranking(ranking, n_rows)
        if "losses" in self._tallies:
            self._given("log_proba", log_proba, {"probabilities"})
            rows["log_proba"] = _checks.check_log_proba(log_proba, n_rows, K)
        return Rows(labels, weight, **rows)

    def _given(self, name: str, value: Any, needs: Iterable[str]) -> None:
        if value is None:
            asked = ", ".join(repr(need) for need in NEEDS if need in needs and need in self.needs)
            raise ValueError(
                f"{name} is missing; this evaluation needs {asked}: give {name}, or leave that out of needs"
            )

    def _check_ranking(self, ranking: Any, n_rows: int) -> np.ndarray:
        if self.n_classes != 2 or self.multilabel:
            return _checks.check_scores(ranking, n_rows, self.n_classes)
        ranking = np.asarray(ranking)
        return _checks.check_scores(
            ranking[:, 1] if ranking.ndim == 2 and ranking.shape[1] == 2 else ranking, n_rows, 1
        )

    def __add__(self, other: "Evaluation") -> "Evaluation":
        """The evaluation of the rows of both; neither is changed."""
        if not isinstance(other, Evaluation):
            return NotImplemented
        if self._form != other._form or not np.array_equal(self.classes, other.classes):
            names = ("n_classes", "needs", "multilabel", "exact_rows", "n_bins", "classes")
            forms: Any = zip(names, (*self._form, self.classes), (*other._form, other.classes), strict=True)
            name, one, two = next((n, a, b) for n, a, b in forms if not np.array_equal(a, b))
            raise ValueError(
                f"evaluations merge if they were made with the same {', '.join(names)}; {name} differ: {one} and {two}"
            )
        tallies = {name: tally + other._tallies[name] for name, tally in self._tallies.items()}
        return self.with_tallies(self.n_rows + other.n_rows, tallies)

    def ranking_of(self, n_models: int) -> Ranking:
        """An empty ranking of some models such as this one keeps of its own."""
        K, needs, multilabel, exact_rows, n_bins = self._form
        pairs = "pairs" in needs and K > 2 and not multilabel
        return Ranking(K, multilabel=multilabel, pairs=pairs, exact_rows=exact_rows, n_bins=n_bins, n_models=n_models)

    def with_tallies(self, n_rows: int, tallies: dict[str, Any]) -> "Evaluation":
        """The same with rows that were judged elsewhere."""
        judged = Evaluation.__new__(Evaluation)
        judged.__dict__.update(self.__dict__, n_rows=n_rows, _tallies=tallies)
        return judged

    def save(self, path: Any) -> None:
        """Write to one file; `snb.load` reads it, and what it gives takes more rows."""
        persistence.save(path, self)

    def to_state(self) -> dict[str, Any]:
        form = [sorted(self.needs), *self._form[2:]]
        tallies = {name: tally.to_state() for name, tally in self._tallies.items()}
        return {"classes": self.classes, "form": form, "n_rows": self.n_rows, "tallies": tallies}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> "Evaluation":
        classes, (needs, multilabel, exact_rows, n_bins) = state["classes"], state["form"]
        if "confusion" in needs and not multilabel:  # before a table is made that is larger than the file
            persistence.array("table", state["tallies"]["decisions"][3], ["f8"], (len(classes),) * 2)
        options = {"multilabel": multilabel, "exact_rows": exact_rows, "n_bins": n_bins}
        restored = cls(len(classes), needs, **options, classes=classes)
        restored.n_rows = _checks.whole_number("n_rows", state["n_rows"])
        for name, tally in restored._tallies.items():
            tally.restore(state["tallies"][name])
        return restored

    # ---- decisions ---------------------------------------------------------------------------------------------------

    def accuracy(self) -> float:
        """Share of the weight that was predicted right; multi-label, where the whole set was (subset accuracy)."""
        return self._decisions().means.mean("right")

    def balanced_accuracy(self) -> float:
        """Mean of the recall of the classes that have rows."""
        decisions = self._decisions()
        return _mean(ratio(decisions.hit, decisions.true)[decisions.true > 0.0])

    def confusion_matrix(self) -> np.ndarray:
        """Weight by true class (rows) and predicted class (columns), (K, K)."""
        self._only_single("confusion_matrix")
        table = self._decisions("confusion").table
        assert table is not None
        return table.copy()

    def precision(self, average: str | None = "binary") -> Any:
        """Share of the weight predicted to be of a class that is; 0 where nothing was.

        Parameters
        ----------
        average : "binary", "micro", "macro", "weighted", "samples" or None
            "binary": class 1 of two; "macro": mean over classes that occur, true or predicted (multi-label: over all);
            "weighted": by true weight; "samples": mean over multi-label rows; None: each class, (K,).
        """
        return self._rate("precision", average)

    def recall(self, average: str | None = "binary") -> Any:
        """Share of the weight of a class that was predicted to be of it; 0 where it has none; as `precision`."""
        return self._rate("recall", average)

    def f_score(self, average: str | None = "binary", beta: float = 1.0) -> Any:
        """F score, ``(1 + beta^2) hit / (beta^2 true + predicted)``; as `precision`, "samples" for beta = 1 alone."""
        beta = _checks.finite_number("beta", beta, minimum=0.0)
        if average == "samples" and beta != 1.0:
            raise ValueError(f"beta={beta!r}: the mean over rows is kept for beta=1 alone; choose another average")
        return self._rate("f_score", average, beta)

    def _rate(self, kind: str, average: str | None, beta: float = 1.0) -> Any:
        _checks.one_of("average", average, [None, "binary", "micro", "macro", "weighted", "samples"])
        if average == "samples":
            self._only_multilabel("average='samples'")
        decisions = self._decisions()
        if average == "samples":
            return decisions.means.mean(kind)
        hit, true, predicted = decisions.hit, decisions.true, decisions.predicted
        if average == "micro":
            hit, true, predicted = (x.sum(keepdims=True) for x in (hit, true, predicted))
        among = {"precision": predicted, "recall": true}
        values = ratio(hit, among[kind]) if kind in among else ratio((1.0 + beta**2) * hit, beta**2 * true + predicted)
        if average is None:
            return values
        if average == "binary":
            if self.n_classes != 2 or self.multilabel:
                raise ValueError(
                    f"average='binary' is for two classes; for these {self.n_classes} choose 'micro', 'macro', "
                    "'weighted' or None" + (", or 'samples'" if self.multilabel else "")
                )
            return float(values[1])
        if average == "micro":
            return float(values[0])
        if average == "weighted":
            return _mean(values, true)
        occurs = np.full(self.n_classes, True) if self.multilabel else (true > 0.0) | (predicted > 0.0)
        return _mean(values[occurs])

    def hamming_loss(self) -> float:
        """Share of labels, over rows, that are on where they should be off or the reverse; multi-label."""
        return self._set_mean("hamming", "hamming_loss")

    def jaccard(self) -> float:
        """Mean over rows of ``labels right / labels true or predicted``; multi-label.

        A row without labels that is predicted to have none counts 1: the two sets are equal. scikit-learn's
        `jaccard_score(average="samples")` counts it 0 unless `zero_division=1`.
        """
        return self._set_mean("jaccard", "jaccard")

    def subset_accuracy(self) -> float:
        """Share of the weight whose set of labels was predicted as a whole; multi-label."""
        return self._set_mean("right", "subset_accuracy")

    def ranking_loss(self) -> float:
        """Mean over rows of the share of pairs (label on, label off) in the wrong order or tied; multi-label."""
        self._only_multilabel("ranking_loss")
        return self._kept("ranking_loss", "multilabel" if "ranking" in self.needs else "ranking").mean("ranking_loss")

    # ---- rankings ----------------------------------------------------------------------------------------------------

    def roc_auc(self, average: str | None = "macro", multi_class: str = "ovr") -> Any:
        """Area under the ROC curve: for two classes that of class 1, else one class against the rest, or pairs.

        Parameters
        ----------
        average : "macro", "weighted" or None
            Mean over the classes that have rows and are not all rows, plain or by their weight; NaN if none is such.
            None: each class, (K,), NaN where undefined.
        multi_class : "ovr" or "ovo"
            "ovo": mean over pairs of classes that have rows of the two areas of the pair, by the scores of the one and
            of the other (Hand and Till 2001), plain or by the weight of the pair; for K > 2 it needs "pairs".
        """
        _checks.one_of("average", average, ["macro", "weighted", None])
        if _checks.one_of("multi_class", multi_class, ["ovr", "ovo"]) == "ovr" or self._is_binary:
            return self._over_classes(self._ranking().auc, average)
        if average is None:
            raise ValueError("average=None is for multi_class='ovr'; one against one has no value of a class")
        pairs = list(self._pairs())
        areas = np.array([0.5 * (one.auc() + two.auc()) for one, two in pairs])
        weights = np.array([one.own.sum() + one.rest.sum() for one, _ in pairs])
        return _mean(areas, weights if average == "weighted" else None)

    def average_precision(self, average: str | None = "macro") -> Any:
        """Average precision; for two classes that of class 1; average as in `roc_auc`."""
        _checks.one_of("average", average, ["macro", "weighted", None])
        levels = self._ranking().levels
        return self._over_classes(lambda k: levels(k).average_precision(), average)

    @property
    def roc_auc_error(self) -> float:
        """Bound on the error of `roc_auc`, whatever the average: the largest of any class or pair; 0 while exact.

        ``1/2 sum_b p_b n_b / (P N)`` over bins b with own weight p_b of P and other weight n_b of N.
        """
        errors = list(map(self._ranking().auc_error, range(self.n_classes)[self._is_binary :]))
        if "pairs" in self.needs and self.n_classes > 2 and not self.multilabel:
            errors += [side.auc_error() for pair in self._pairs() for side in pair]
        return _largest(errors)

    @property
    def average_precision_error(self) -> float:
        """Bound on the error of `average_precision`, from the best and worst order inside bins; as `roc_auc_error`."""
        return _largest(each.average_precision_error() for each in self._levels())

    def roc_curve(self, label: Any = None, *, drop_intermediate: bool = True) -> tuple[np.ndarray, ...]:
        """ROC curve of a class against the rest: false positive rate, true positive rate, thresholds, each (m,).

        Parameters
        ----------
        label : one of `classes`
            Class 1 of two unless given. Of two, class 0 is ranked by minus the score.
        drop_intermediate : bool
            Leave out points on straight lines.
        """
        if label is None and self._is_binary:
            label = self.classes[1]
        at = np.flatnonzero(self.classes == label)
        if not at.size:
            raise ValueError(f"label={label!r} is not a class; it should be one of {_checks.listed(self.classes)}")
        return self._ranking().levels(int(at[0])).roc_curve(drop_intermediate)

    @property
    def _is_binary(self) -> bool:
        return self.n_classes == 2 and not self.multilabel

    def _levels(self) -> Iterable[Levels]:
        """Each class against the rest; for two classes, the second."""
        return map(self._ranking().levels, range(self.n_classes)[self._is_binary :])

    def _pairs(self) -> Iterable[tuple[Levels, Levels]]:
        """Each pair of classes with rows: one against two by the scores of one, two against one by those of two."""
        self._only_single("multi_class='ovo'")
        ranking = self._ranking("pairs")
        for one, two in combinations(range(self.n_classes), 2):
            levels = ranking.levels(one, two)
            if levels.defined:
                yield levels, ranking.levels(two, one)

    def _over_classes(self, value: Callable[[int], float], average: str | None) -> Any:
        if average is None:
            return np.array([value(k) for k in range(self.n_classes)])
        values = np.array([value(k) for k in range(self.n_classes)[self._is_binary :]])
        own = [each.own.sum() for each in self._levels() if each.defined] if average == "weighted" else []
        return _mean(values[~np.isnan(values)], np.array(own))

    # ---- probabilities -----------------------------------------------------------------------------------------------

    def log_loss(self) -> float:
        """Mean of -ln P(true class), P clipped to [eps, 1 - eps], eps = 2^-52; multi-label: mean over labels too."""
        return self._losses().mean("log_loss")

    def brier(self) -> float:
        """Mean over rows of the squared error of the probabilities, summed over classes; half of it for two classes.

        Multi-label: the mean over labels of what each would have by itself.
        """
        return self._losses().mean("brier")

    # ---- what was kept -----------------------------------------------------------------------------------------------

    def _decisions(self, need: str = "hits") -> Decisions:
        return self._kept("decisions", need)

    def _ranking(self, need: str = "ranking") -> Ranking:
        return self._kept("ranking", need)

    def _losses(self) -> RowMeans:
        return self._kept("losses", "probabilities").means

    def _kept(self, tally: str, need: str) -> Any:
        """A tally that answers what `need` stands for."""
        if tally not in self._tallies or (need in ("confusion", "pairs") and need not in self.needs):
            kept = ", ".join(map(repr, sorted(self.needs))) or "nothing"
            raise ValueError(
                f"this value needs {need!r}, but needs held {kept}; give snb.evaluate {_GIVEN_AS[need]}, or make the "
                f"Evaluation with {need!r} too"
            )
        return self._tallies[tally]

    def _set_mean(self, name: str, metric: str) -> float:
        self._only_multilabel(metric)
        return self._kept("decisions", "multilabel").means.mean(name)

    def _only_multilabel(self, what: str) -> None:
        if not self.multilabel:
            raise ValueError(f"{what} is for multi-label rows; these have one label each (multilabel=False)")

    def _only_single(self, what: str) -> None:
        if self.multilabel:
            raise ValueError(f"{what} is for rows of one label each; these are multi-label")

    def __repr__(self) -> str:
        lines = [f"  {name:18} {value:10.6f}" + error for name, value, error in self._shown()]
        return "\n".join([self._title(), *lines])

    def _repr_html_(self) -> str:
        return _html.table(self._title(), [(name, f"{value:.6f}{error}") for name, value, error in self._shown()])

    def _title(self) -> str:
        kind = "labels" if self.multilabel else "classes"
        return f"Evaluation of {self.n_rows:,} rows (weight {self.weight:,.6g}), {self.n_classes:,} {kind}"

    def _shown(self) -> list[tuple[str, float, str]]:
        """Names and values of the metrics there are, and within what they are known."""
        shown: list[tuple[str, float, float]] = []
        if "decisions" in self._tallies:
            shown += [("accuracy", self.accuracy(), 0.0), ("f_score (macro)", self.f_score("macro"), 0.0)]
        if self.multilabel and "decisions" in self._tallies:
            shown += [("hamming_loss", self.hamming_loss(), 0.0), ("jaccard", self.jaccard(), 0.0)]
        if "ranking" in self._tallies:
            shown += [("roc_auc", self.roc_auc(), self.roc_auc_error)]
            shown += [("average_precision", self.average_precision(), self.average_precision_error)]
        if "losses" in self._tallies:
            shown += [("log_loss", self.log_loss(), 0.0), ("brier", self.brier(), 0.0)]
        return [(name, value, f"  (within {error:.1g})" if error > 0.0 else "") for name, value, error in shown]


def _mean(values: np.ndarray, weights: np.ndarray | None = None) -> float:
    """Mean, NaN of nothing; plain where no weight is left, as in scikit-learn."""
    if not len(values):
        return np.nan
    return float(np.average(values, weights=weights if weights is not None and weights.any() else None))


def _largest(errors: Iterable[float]) -> float:
    """The largest of the errors that are defined; NaN if none is."""
    return max((error for error in errors if not np.isnan(error)), default=np.nan)
