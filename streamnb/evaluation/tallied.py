"""Fixed-size tallies of judged rows that merge."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from typing import Any, Self

import numpy as np

from streamnb.core import arguments, messages, persistence, row_checks
from streamnb.evaluation.reference import NestedRanking, ReferenceGroups, Steps
from streamnb.evaluation.score_order import Ranking
from streamnb.evaluation.slices import Slices, Slicing, check_memory, form_of_slice
from streamnb.evaluation.tallies import (
    BIN_PAIRS,
    BINS,
    BUCKETS,
    LOSSES,
    OF_SETS,
    RELIABILITY,
    WEIGHTS,
    ConfusedPairs,
    Decisions,
    Rows,
    add_reliability,
    add_weights,
    excess_products,
    losses_of,
    reliability_of,
    sample_of_rows,
    scores_by_bucket,
    some_of,
)
from streamnb.kernels import ranks
from streamnb.passes.statistic import added, restored, state_of
from streamnb.problem.schemes import Scheme, raw_scores
from streamnb.rows.splits import Folding
from streamnb.stats.row_means import RowMeans, pairs_of_state

NEEDS = {  # what an evaluation may keep, and the argument of snb.evaluate that provides it
    "hits": "y_pred=, proba=, or scores= with a column for each class",
    "confusion": "y_pred= (for at most 1000 classes)",
    "confused": "y_pred= (for more than 1000 classes)",
    "ranking": "scores= or proba=",
    "margin": "scores=",
    "pairs": "scores= or proba= (for at most 20 classes)",
    "probabilities": "proba=",
    "reliability": "proba=",
    "multilabel": "y_pred= of multi-label rows",
}
DECISIONS = frozenset({"hits", "confusion", "confused", "multilabel"})
CACHED_MARGINS = 1 << 16  # transposed at once
_HASHED = Folding(BUCKETS, by="groups")  # the bucket of a group is the same in every process


class Tallied:
    """Tallies of rows judged by one model; `Evaluation` adds the metrics."""

    def __init__(
        self,
        n_classes: int,
        needs: Iterable[str] = ("confusion", "ranking", "probabilities"),
        *,
        multilabel: bool = False,
        exact_rows: int = 10_000,
        n_bins: int = 2048,
        classes: Any = None,
        interval: float | None = None,
        grouped: bool = False,
        slicing: Slicing | None = None,
        n_models: int = 1,
        reference: ReferenceGroups | None = None,
    ):
        self.n_classes = K = arguments.positive_integer("n_classes", n_classes)
        if reference is not None:  # which judges no other rows
            needs = "ranking"
        if isinstance(needs, str):
            needs = (needs,)
        self.needs = frozenset(arguments.one_of("needs", need, NEEDS) for need in needs)
        self.multilabel = bool(multilabel)
        if arguments.positive_integer("n_bins", n_bins) < 2:
            raise ValueError("n_bins=1 should be at least 2")
        exact_rows = int(arguments.finite_number("exact_rows", exact_rows, minimum=0))
        self.classes = np.arange(K) if classes is None else np.asarray(classes)
        if self.classes.shape != (K,):
            raise ValueError(f"classes has shape {self.classes.shape}; it should name each of the {K} classes")
        self.n_rows = self.n_unknown = 0
        self.positive = 1  # the class of two that metrics of one class are of
        self.level = check_level(interval)
        self.is_grouped = grouped  # whether intervals are of rows in groups
        self._form: dict[str, Any] = {"n_classes": K, "needs": self.needs, "multilabel": self.multilabel}
        self._form |= {"exact_rows": exact_rows, "n_bins": n_bins, "interval": self.level, "grouped": grouped}
        self.n_models = arguments.positive_integer("n_models", n_models)
        self.reference = reference
        self._form |= {"classes": self.classes, "n_models": self.n_models, "reference": reference}
        check_grouped(grouped or None, self.level, slicing)
        if self.n_models > 1 and (self.level is not None or slicing is not None):
            raise ValueError(f"n_models={self.n_models} go without interval and slicing: evaluate one model")
        by_rows, by_bucket = self.level is not None and not grouped, self.level is not None and grouped
        n_buckets, n_powers, n_powers_of_losses = self.n_models, 1, 1  # of sums
        if by_bucket:
            n_buckets = BUCKETS
        if by_rows:
            n_powers, n_powers_of_losses = 2, 3
        self._tallies: dict[str, Any] = {"total": RowMeans.of_values((), n_buckets // self.n_models)}
        sizes = {"exact_rows": exact_rows, "n_bins": n_bins, "n_models": self.n_models}
        if reference is not None:
            kind = NestedRanking if reference.nested else Ranking
            self._tallies["reference"] = [kind(1, multilabel=True, pairs=False, **sizes) for _ in reference.own]
            return
        pairs = "pairs" in self.needs and K > 2 and not self.multilabel
        ranking_of = partial(Ranking, K, multilabel=self.multilabel, pairs=pairs, **sizes)
        if self.multilabel and self.needs & DECISIONS:
            self._tallies["decisions"] = Decisions.of_classes(K, n_buckets=n_buckets, n_powers=n_powers)
        elif self.needs & {"hits", "confusion", "confused"}:
            n_groups = n_buckets // self.n_models
            self._tallies["decisions"] = Decisions.of_classes(K, "confusion" in self.needs, self.n_models, n_groups)
        if "confused" in self.needs and not self.multilabel:
            self._tallies["confused"] = ConfusedPairs(K)
        if "ranking" in self.needs:
            self._tallies["ranking"] = ranking_of()
            if self.multilabel and "multilabel" in self.needs:
                self._tallies["ranking_loss"] = RowMeans.of_values(("ranking_loss",), n_buckets, n_powers)
        if "margin" in self.needs:
            self._tallies["margin"] = ranking_of()
        if "probabilities" in self.needs:
            self._tallies["losses"] = RowMeans.of_values(LOSSES, n_buckets, n_powers_of_losses)
            if "reliability" in self.needs:
                values = (*RELIABILITY, "square") if by_rows and not self.multilabel else RELIABILITY
                self._tallies["reliability"] = RowMeans.of_values(values, n_buckets * BINS)
                if by_rows and self.multilabel:
                    self._tallies["excess"] = RowMeans.of_values(f"{a} {b}" for a, b in zip(*BIN_PAIRS, strict=True))
        if self.level is not None:
            self._tallies["weights"] = RowMeans.of_values(WEIGHTS)
        ranked: list[str] = [name for name in ("ranking", "margin") if name in self._tallies]
        if by_bucket:
            for name in ranked:
                self._tallies[f"{name} by bucket"] = scores_by_bucket(*self._tallies[name].shape)
        if by_rows and "decisions" in self._tallies and self._tallies["decisions"].table is None:
            ranked.append("predicted")
        if by_rows and ranked and (K > 2 or self.multilabel):
            self._tallies["sample"] = sample_of_rows(K, ranked, exact_rows, self.multilabel)
        if slicing is not None:
            form = form_of_slice(self._form)
            check_memory(slicing.n_slices, form)
            self._tallies["slices"] = Slices(slicing, type(self)(**form))

    def warn_of_unknown(self) -> None:
        """Warn of rows whose labels the model does not know."""
        if self.n_unknown:
            n_rows = self.n_rows + self.n_unknown
            messages.warn(
                f"{self.n_unknown:,} of {n_rows:,} rows have labels that the model does not know; all metrics leave "
                "these rows out, although each is an error"
            )

    @property
    def weight(self) -> float:
        """Total weight of the rows."""
        return self._tallies["total"].weight

    @property
    def class_weight(self) -> np.ndarray:
        """Weight of the rows of each class, (K,)."""
        return decisions(self).true.copy()

    # ---- rows in -----------------------------------------------------------------------------------------------------

    def add(
        self,
        codes: Any,
        weight: Any = None,
        *,
        predicted: Any = None,
        ranking: Any = None,
        margin: Any = None,
        log_proba: Any = None,
        groups: Any = None,
        slices: Any = None,
    ) -> None:
        """Add a block of rows; arguments that no need requires are ignored.

        Parameters
        ----------
        codes : (n,) int
            Class numbers, -1 for an unknown label, whose rows are left out and counted as `n_unknown`. Multi-label: an
            indicator (n, K), dense or CSR.
        weight : (n,), optional
            1 each by default.
        predicted : as codes, without -1
            For "hits", "confusion", "multilabel".
        ranking : (n,) or (n, K)
            For "ranking": the higher, the more likely the class. For two classes (n,) or (n, 1), the score of class 1,
            or (n, 2), of which the second column is used. Infinities are valid scores.
        margin : as ranking
            For "margin": raw scores of the classes.
        log_proba : (n, K)
            For "probabilities": natural logs of class probabilities; multi-label, of each label being on.
        groups : (n,) labels
            With `grouped`: the group of each row.
        slices : (n, columns) int
            With `slicing`: the number of the slice of each row in each column.

        Raises
        ------
        ValueError, TypeError
            A required argument is missing or has a wrong length or width; class numbers out of range; NaN; negative
            weights. Nothing is added in these cases.
        """
        if self.n_models > 1 or self.reference is not None:
            raise ValueError(
                f"add is of one model that judges all rows, and this evaluation has n_models={self.n_models} and "
                f"reference={self.reference}; give rows to add_margins"
            )
        outputs = {"predicted": predicted, "ranking": ranking, "margin": margin, "log_proba": log_proba}
        rows = self._checked(codes, weight, outputs, groups)
        if not self.multilabel and (unknown := rows.labels < 0).any():
            self.n_unknown += int(unknown.sum())
            rows, slices = some_of(rows, ~unknown), None if slices is None else slices[~unknown]
        self.add_rows(rows)
        if "slices" in self._tallies:
            self._tallies["slices"].add(rows, slices)

    def add_rows(self, rows: Rows) -> None:
        """Add checked rows to all tallies but those of slices."""
        if self.level is None:
            rows = replace(rows, bucket=None)
        else:
            add_weights(self._tallies["weights"], rows.weight)
        self.count(rows.weight, rows.bucket)
        for name in ("decisions", "confused"):
            if name in self._tallies:
                self._tallies[name].add(rows)
        known = rows.with_weight()
        self._add_means(known)
        if {"ranking", "margin"} & self._tallies.keys():
            self._rank(known)
        if "sample" in self._tallies:
            sample = self._tallies["sample"]
            sample.add({name: getattr(known, name) for name in sample.parts}, known.weight)

    def count(self, weight: np.ndarray, bucket: np.ndarray | None = None) -> None:
        """Count rows with their weights."""
        self.n_rows += len(weight)
        self._tallies["total"].add([], weight, bucket)

    def _add_means(self, rows: Rows) -> None:
        """Add rows of positive weight to means over rows."""
        if "losses" in self._tallies:
            self._tallies["losses"].add(losses_of(rows), rows.weight, rows.bucket)
        if "reliability" in self._tallies:
            predictions = reliability_of(rows)
            add_reliability(self._tallies["reliability"], predictions, rows)
            if "excess" in self._tallies:
                self._tallies["excess"].add(excess_products(*predictions), rows.weight)
        if "ranking_loss" in self._tallies:
            values = np.empty(len(rows.weight))
            ranks.ranking_loss(rows.ranking, rows.labels.toarray(), values)
            self._tallies["ranking_loss"].add([values], rows.weight, rows.bucket)

    def _rank(self, rows: Rows) -> None:
        """Add rows of positive weight to what is kept of their scores."""
        labels = rows.labels.toarray() if self.multilabel else rows.labels
        for name in ("ranking", "margin"):
            if name not in self._tallies:
                continue
            ranked, scores = self._tallies[name], getattr(rows, name)
            if scores.ndim != 3:
                scores = scores[:, :, None]
            ranked.add(scores, labels, rows.weight)
            if rows.bucket is not None:
                groups = rows.bucket[:, None] * ranked.shape[1] + ranked.groups(labels)
                self._tallies[f"{name} by bucket"].add(scores, groups, rows.weight)

    # ---- rows of several models --------------------------------------------------------------------------------------

    def add_margins(self, scheme: Scheme, margins: np.ndarray, labels: Any, weight: np.ndarray) -> None:
        """Add rows with known labels and their margins by all models, (n, R, models or more)."""
        self.count(weight)
        if self.reference is not None:
            for one in self.reference.compared(labels, weight, self.n_classes):
                self.add_compared(one.row, margins[one.rows, one.row], one.sides, weight[one.rows])
            return
        if self.multilabel:
            labels = row_checks.check_indicator(labels, self.n_classes, "labels")
        if "decisions" in self._tallies and not self.multilabel:
            self._tallies["decisions"].add(Rows(labels, weight, scheme.decide(margins)))
        ranked: dict[str, Any] = {}
        if "ranking" in self._tallies:
            ranked["ranking"] = self._ranked_by(scheme.ranking, margins)
        if "margin" in self._tallies:
            ranked["margin"] = self._ranked_by(partial(raw_scores, scheme), margins)
        if ranked:
            self._rank(Rows(labels, weight, **ranked).with_weight())
        of_sets = "decisions" in self._tallies and self.multilabel
        if not of_sets and not {"losses", "ranking_loss"} & self._tallies.keys():
            return
        for model in range(self.n_models):
            bucket = None
            if self.n_models > 1:
                bucket = np.full(len(margins), model)
            of_model = np.ascontiguousarray(margins[:, :, model])
            outputs = outputs_of_margins(scheme, of_model, self.needs - {"margin"})
            if "log_proba" in outputs:
                row_checks.check_log_proba(outputs["log_proba"], len(margins), self.n_classes)
            rows = Rows(labels, weight, **outputs, bucket=bucket)
            if of_sets:
                predicted = row_checks.check_indicator(scheme.decide(of_model), self.n_classes, "predicted")
                rows = replace(rows, predicted=predicted)
                self._tallies["decisions"].add(rows)
            self._add_means(rows.with_weight())

    def _ranked_by(self, ranked_by: Any, margins: np.ndarray) -> np.ndarray:
        """The scores by which each model ranks rows, (n, columns, models)."""
        step = 1
        if len(margins):
            step = max(CACHED_MARGINS // margins[0].size, 1)
        parts = []
        for first in range(0, max(len(margins), 1), step):
            few = margins[first : first + step, :, : self.n_models].swapaxes(1, 2)
            scores = ranked_by(few.reshape(-1, margins.shape[1]))
            parts.append(np.ascontiguousarray(scores.reshape(len(few), self.n_models, -1).swapaxes(1, 2)))
        scores = np.concatenate(parts)
        width = scores.shape[1] * scores.shape[2]
        row_checks.check_scores(scores.reshape(-1, width), len(margins), width)
        return scores

    def add_decided(self, decided: np.ndarray, labels: np.ndarray, weight: np.ndarray | None) -> None:
        """Add rows with the classes by all models, (n, models or more); without weights each row counts once."""
        tally = self._tallies["decisions"]
        self.count(np.ones(len(labels)) if weight is None else weight)
        if weight is None and tally.table is None:
            tally.add_each_once(labels, decided)
        else:
            tally.add(Rows(labels, np.ones(len(labels)) if weight is None else weight, decided))

    def add_compared(self, row: int, scores: np.ndarray | Steps, sides: np.ndarray, weight: np.ndarray) -> None:
        """Add rows that a row of weights compares with its reference, which were counted.

        Scores are (n, models or more), or the steps of nested models.
        """
        ranking = self._tallies["reference"][row]
        if isinstance(scores, Steps):
            ranking.add_steps(scores, sides, weight)
        else:
            row_checks.check_scores(scores, *scores.shape)
            ranking.add(scores[:, None], sides, weight)

    @property
    def models(self) -> list[Self]:
        """The evaluation of each model."""
        return [self.of_model(model) for model in range(self.n_models)]

    def of_model(self, model: int) -> Self:
        """The evaluation of one of several models."""
        return self.of_models(model, model + 1)

    def of_models(self, first: int, stop: int) -> Self:
        """The evaluation of neighbouring models: of one, or of any number against a reference.

        It shares its counts with this one, so that neither should take more rows.
        """
        if self.n_models == 1:
            return self
        tallies = dict(self._tallies)
        for name, tally in self._tallies.items():
            if name == "reference":
                tallies[name] = [ranking.of_models(first, stop) for ranking in tally]
            elif name in ("ranking", "margin"):
                tallies[name] = tally.of_models(first, stop)
            elif name == "decisions":
                tallies[name] = tally.of_model(first)
            elif name != "total":
                n_groups = 1
                if name == "reliability":
                    n_groups = BINS
                tallies[name] = tally.of(slice(first * n_groups, stop * n_groups))
        some = self.with_tallies(self.n_rows, tallies, self.n_unknown)
        some.n_models, some._form = stop - first, {**self._form, "n_models": stop - first}
        return some

    def _checked(self, codes: Any, weight: Any, outputs: dict[str, Any], groups: Any) -> Rows:
        K = self.n_classes
        if self.multilabel:
            labels: Any = row_checks.check_indicator(codes, K, "codes")
        else:
            labels = row_checks.check_class_numbers(codes, K, "codes", lowest=-1)
        n_rows = labels.shape[0]
        weight = np.ones(n_rows) if weight is None else row_checks.check_weights(weight, name="weight")
        row_checks.check_lengths(n_rows, len(weight), "weight", "codes")
        rows: dict[str, Any] = {}
        if "decisions" in self._tallies:
            predicted = self._given("predicted", outputs, DECISIONS)
            check = row_checks.check_indicator if self.multilabel else row_checks.check_class_numbers
            rows["predicted"] = check(predicted, K, "predicted")
            row_checks.check_lengths(n_rows, rows["predicted"].shape[0], "predicted", "codes")
        for name in ("ranking", "margin"):
            if name in self._tallies:
                rows[name] = self._check_ranking(self._given(name, outputs, {name}), n_rows)
        if "losses" in self._tallies:
            log_proba = self._given("log_proba", outputs, {"probabilities"})
            rows["log_proba"] = row_checks.check_log_proba(log_proba, n_rows, K)
        if self.is_grouped:
            rows["bucket"] = buckets_of(groups, n_rows)
        return Rows(labels, weight, **rows)

    def _given(self, name: str, outputs: dict[str, Any], needs: Iterable[str]) -> Any:
        """An output that some of the needs require; refuse None."""
        if outputs[name] is None:
            required = ", ".join(repr(need) for need in NEEDS if need in needs and need in self.needs)
            raise ValueError(
                f"{name} is missing; this evaluation needs {required}: give {name}, or leave that out of needs"
            )
        return outputs[name]

    def _check_ranking(self, ranking: Any, n_rows: int) -> np.ndarray:
        ranking = copy(ranking)  # so that the caller cannot change scores after their bins are laid out
        if self.n_classes != 2 or self.multilabel:
            return row_checks.check_scores(ranking, n_rows, self.n_classes)
        ranking = np.asarray(ranking)
        return row_checks.check_scores(
            ranking[:, 1] if ranking.ndim == 2 and ranking.shape[1] == 2 else ranking, n_rows, 1
        )

    def __add__(self, other: Any) -> Self:
        """The evaluation of the rows of both; neither is changed."""
        if not isinstance(other, Tallied):
            return NotImplemented
        form, others = ({**one._form, "slices": has(one, "slices")} for one in (self, other))
        if is_binary(self) and is_binary(other):
            form["positive"], others["positive"] = self.classes[self.positive], other.classes[other.positive]
        for name, a in form.items():
            if not np.array_equal(a, b := others[name]):
                raise ValueError(
                    f"evaluations merge if they were made with the same {', '.join(form)}; these differ in {name}: "
                    f"{a} and {b}"
                )
        tallies = added(self._tallies, other._tallies)
        return self.with_tallies(self.n_rows + other.n_rows, tallies, self.n_unknown + other.n_unknown)

    def begun(self) -> Self:
        """An evaluation of no rows, made with the same arguments but for slices."""
        return type(self)(**self._form)

    def with_tallies(self, n_rows: int, tallies: dict[str, Any], n_unknown: int = 0) -> Self:
        """A copy with tallies of other rows."""
        judged = type(self).__new__(type(self))
        judged.__dict__.update(self.__dict__, n_rows=n_rows, n_unknown=n_unknown, _tallies=tallies)
        return judged

    def with_positive(self, label: Any) -> Self:
        """The evaluation of two classes with metrics of the class `label`, such as `precision()`; None changes nothing.

        Without it they are those of the second class. With more classes, use ``recall(average=None)``.
        """
        if label is None:
            return self
        known = self.classes.tolist()
        if not is_binary(self) or label not in known:
            what = f"one of {known}"
            if len(known) != 2:
                what = (
                    f"one of two classes, and these are {self.n_classes}; of the evaluation precision(average=None), "
                    "recall(average=None) and threshold(label, ..) are those of each class"
                )
            raise ValueError(f"positive={label!r} should be {what}")
        judged = self.with_tallies(self.n_rows, self._tallies, self.n_unknown)
        judged.positive = known.index(label)
        return judged

    def save(self, path: Any) -> None:
        """Write to one file; `snb.load` reads it, and the loaded evaluation takes more rows."""
        persistence.save(path, self)

    def _to_state(self) -> dict[str, Any]:
        form = [sorted(self.needs), self.multilabel, self._form["exact_rows"], self._form["n_bins"]]
        state = {"classes": self.classes, "form": form, "n_rows": self.n_rows, "tallies": state_of(self._tallies)}
        if "slices" in self._tallies:
            state["slicing"] = self._tallies["slices"].slicing
        if self.level is not None or self.is_grouped:
            state["grouped"] = self.is_grouped
        usual = {"interval": None, "n_unknown": 0, "positive": 1, "n_models": 1, "reference": None}
        here = {**vars(self), "interval": self.level}
        state |= {name: here[name] for name, value in usual.items() if here[name] != value}
        return state

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> Self:
        persistence.known(cls, state, "classes", "form", "n_rows", "tallies", *OPTIONAL, "n_unknown", "positive")
        classes, (needs, multilabel, exact_rows, n_bins) = state["classes"], state["form"]
        if not persistence.is_a(tuple[list[str], bool, int, int], (needs, multilabel, exact_rows, n_bins)):
            raise ValueError(f"form={state['form']} should be names, a bool and two whole numbers")
        options = {"multilabel": multilabel, "exact_rows": exact_rows, "n_bins": n_bins}
        options |= {name: state[name] for name in OPTIONAL if name in state}
        n_models = arguments.positive_integer("n_models", options.get("n_models", 1))
        of_models = (n_models,) if n_models > 1 else ()
        if "confusion" in needs and not multilabel:  # checked before tables larger than the file are allocated
            pairs_of_state("table", state["tallies"]["decisions"][3], (*of_models, *(len(classes),) * 2))
        if of_models and "decisions" in state["tallies"]:
            pairs_of_state("predicted", state["tallies"]["decisions"][2], (*of_models, len(classes)))
        if of_models and "losses" in state["tallies"]:
            pairs_of_state("losses", state["tallies"]["losses"], (*of_models, None))
        if not isinstance(options.get("slicing"), Slicing | None):
            raise ValueError(f"slicing={options['slicing']!r} should be a Slicing")
        if not isinstance(options.get("reference"), ReferenceGroups | None):
            raise ValueError(f"reference={options['reference']!r} should be ReferenceGroups")
        empty = cls(len(classes), needs, **options, classes=classes)
        n_rows = arguments.whole_number("n_rows", state["n_rows"])
        n_unknown = arguments.whole_number("n_unknown", state.get("n_unknown", 0))
        tallies = restored("tallies", empty._tallies, _of_files(state["tallies"], empty._tallies))
        empty.positive = int(arguments.one_of("positive", state.get("positive", 1), [0, 1]))
        return empty.with_tallies(n_rows, tallies, n_unknown)


def outputs_of_margins(scheme: Scheme, margins: np.ndarray, needs: frozenset[str]) -> dict[str, Any]:
    """The scores and probabilities of rows with these margins (n, R), as far as an `Evaluation` needs them."""
    outputs = {}
    if "ranking" in needs:
        outputs["ranking"] = scheme.ranking(margins)
    if "margin" in needs:
        outputs["margin"] = raw_scores(scheme, margins)
    if "probabilities" in needs:
        outputs["log_proba"] = scheme.log_proba(margins)
    return outputs


OPTIONAL = "interval", "grouped", "slicing", "n_models", "reference"  # parts of files of evaluations that have them


def buckets_of(groups: Any, n_rows: int) -> np.ndarray:
    """The bucket of the group of each row."""
    if groups is None:
        raise ValueError("groups is missing; intervals of this evaluation are of rows in groups: give them")
    groups = row_checks.check_labels(groups, "groups")
    row_checks.check_lengths(n_rows, len(groups), "groups", "codes")
    return _HASHED.numbers(0, n_rows, groups, 0)


def check_level(interval: Any) -> float | None:
    """The confidence of intervals, between 0 and 1, or None."""
    if interval is None:
        return None
    level = arguments.finite_number("interval", interval)
    if not 0.0 < level < 1.0:
        raise ValueError(f"interval={interval!r} should be between 0 and 1, such as 0.95")
    return level


def given_level(interval: Any) -> float:
    """The confidence of intervals that there are in any case."""
    level = check_level(interval)
    if level is None:
        raise ValueError("interval=None should be between 0 and 1, such as 0.95")
    return level


def check_intervals(judged: Tallied) -> RowMeans:
    """Squares of the weights, and which are not whole; refuse evaluations that were made without intervals."""
    if judged.level is None:
        raise ValueError("this evaluation was made without intervals; give interval=0.95 where it is made")
    return judged._tallies["weights"]


def check_grouped(groups: Any, interval: Any, by: Any) -> None:
    """Refuse groups without intervals, which slices have in any case."""
    if groups is not None and interval is None and by is None:
        raise ValueError("groups= needs intervals; give interval=0.95, or leave groups= out")


# ---- tallies ---------------------------------------------------------------------------------------------------------


def decisions(judged: Tallied, need: str = "hits") -> Decisions:
    """The tally of decisions."""
    return kept(judged, "decisions", need)


def ranking(judged: Tallied, need: str = "ranking") -> Ranking:
    """The ranking of rows by log-odds, or by raw scores where log-odds are not known."""
    by_margin = "ranking" not in judged._tallies and "margin" in judged._tallies
    return kept(judged, "margin" if by_margin else "ranking", need)


def ranking_by_margin(judged: Tallied) -> Ranking:
    """The ranking of rows by raw scores, which equals that by log-odds for two classes and for labels."""
    same_order = judged.multilabel or judged.n_classes == 2
    return kept(judged, "ranking" if same_order and "margin" not in judged._tallies else "margin", "margin")


def ranking_name(judged: Tallied, ranked: Ranking) -> str:
    """The name of a ranking of an evaluation."""
    return next(name for name in ("ranking", "margin") if judged._tallies.get(name) is ranked)


def losses(judged: Tallied) -> RowMeans:
    """Mean losses of the probabilities."""
    return kept(judged, "losses", "probabilities")


def kept(judged: Tallied, tally: str, need: str) -> Any:
    """A tally; refuse with a message if it was not kept for `need`."""
    if tally not in judged._tallies or (need in ("confusion", "pairs") and need not in judged.needs):
        held = ", ".join(map(repr, sorted(judged.needs))) or "nothing"
        raise ValueError(
            f"this value needs {need!r}, but needs held {held}; give snb.evaluate {NEEDS[need]}, or make the "
            f"Evaluation with {need!r} too"
        )
    return judged._tallies[tally]


def has(judged: Tallied, tally: str) -> bool:
    """Whether the tally was kept."""
    return tally in judged._tallies


def kinds_of(judged: Tallied) -> set[str]:
    """The tallies that were kept, with "order" for scores of any kind, and "label sets" for decisions of labels."""
    kinds = {*judged._tallies}
    if kinds & {"ranking", "margin"}:
        kinds.add("order")
    if "decisions" in kinds and judged.multilabel:
        kinds.add("label sets")
    return kinds


def check_multilabel(judged: Tallied, what: str) -> None:
    """Refuse metrics of label sets for single labels."""
    if not judged.multilabel:
        raise ValueError(f"{what} is for multi-label rows; these have one label each (multilabel=False)")


def check_single(judged: Tallied, what: str) -> None:
    """Refuse metrics of single labels for multi-label rows."""
    if judged.multilabel:
        raise ValueError(f"{what} is for rows of one label each; these are multi-label")


def is_binary(judged: Tallied) -> bool:
    """True for two classes, where metrics are of one of them, `positive`."""
    return judged.n_classes == 2 and not judged.multilabel


def ranked_classes(judged: Tallied) -> Sequence[int]:
    """The classes over which metrics of rankings are averaged: of two, the positive one alone."""
    if is_binary(judged):
        return [judged.positive]
    return range(judged.n_classes)


# ---- files of older versions -----------------------------------------------------------------------------------------


def _of_files(state: dict[str, Any], empty: dict[str, Any]) -> dict[str, Any]:
    """The state of tallies. Files of version 0.3 keep the bins of probabilities side by side, and a "spread" apart."""
    state, width = dict(state), 3 * BINS + 1
    if "reliability" in state and np.size(state["reliability"]) in (width, 2 * width):
        sums = pairs_of_state("reliability", state["reliability"], (1, width))
        weight_first = sums[:, 0, :-1].reshape(2, BINS, 3)
        state["reliability"] = list(weight_first[:, :, [1, 2, 0]])
    spread = state.pop("spread", None)
    if spread is None:
        return state
    state["weights"] = spread["weights"]
    if "sums" in spread:
        return state | _of_groups(state, spread, empty)
    return state | _of_rows(state, spread, empty)


def _of_rows(state: dict[str, Any], spread: dict[str, Any], empty: dict[str, Any]) -> dict[str, Any]:
    """Sums with their squares and cubes, which were apart."""
    persistence.known(Tallied, spread, "weights", "sample", "squares", "cubes")
    found, squares = {}, spread["squares"]
    if spread["sample"] is not None:
        found["sample"] = spread["sample"]
    if "decisions" in squares:
        *counts, means = state["decisions"]
        n = len(OF_SETS)
        found["decisions"] = [*counts, _joined(1, (means, n), (squares["decisions"], n))]
    if "losses" in squares:
        powers = state["losses"], squares["losses"], spread["cubes"]["losses"]
        found["losses"] = _joined(1, *((power, len(LOSSES)) for power in powers))
    if "ranking_loss" in squares:
        found["ranking_loss"] = _joined(1, (state["ranking_loss"], 1), (squares["ranking_loss"], 1))
    if "excess" in empty:
        found["excess"] = squares["reliability"]
    elif "reliability" in squares:
        found["reliability"] = _joined(BINS, (state["reliability"], 2), (squares["reliability"], 1))
    return found


def _joined(n_groups: int, *parts: tuple[Any, int]) -> list[np.ndarray]:
    """The sums of several states, each of so many values, side by side with the weight of the first."""
    sums = [pairs_of_state("means", state, (n_groups, n_values + 1)) for state, n_values in parts]
    return list(np.concatenate([*(part[:, :, :-1] for part in sums), sums[0][:, :, -1:]], axis=2))


def _of_groups(state: dict[str, Any], spread: dict[str, Any], empty: dict[str, Any]) -> dict[str, Any]:
    """Sums by bucket of groups, which were beside those of all rows."""
    persistence.known(Tallied, spread, "weights", "total", "sums", "counts", "scores")
    found = {f"{name} by bucket": scores for name, scores in spread["scores"].items()}
    found |= {"total": spread["total"], **spread["sums"]}
    if "decisions" in found:
        n_classes = empty["decisions"].n_classes
        counts = pairs_of_state("counts", spread["counts"], (3, BUCKETS, n_classes))
        outcomes = [list(outcome) for outcome in np.moveaxis(counts, 1, 0)]
        found["decisions"] = [*outcomes, state["decisions"][3], found["decisions"]]
    if "reliability" in found:
        sums = pairs_of_state("reliability", found["reliability"], (BUCKETS * BINS, 2))
        by_bucket = np.zeros((2, BUCKETS, BINS, 3))
        by_bucket[:, :, :, 1:] = sums.reshape(2, BUCKETS, BINS, 2)
        # of the bucket that a row fell in, only correctness less probability is known; of all, both are
        by_bucket[:, 0, :, :2] += np.stack(state["reliability"])[:, :, :1]
        found["reliability"] = list(by_bucket.reshape(2, -1, 3))
    return found
