"""Fixed-size tallies of judged rows that merge."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from typing import Any, Self

import numpy as np

from streamnb.core import arguments, messages, persistence, row_checks
from streamnb.evaluation.score_order import Ranking
from streamnb.evaluation.slices import Slices, Slicing, check_memory, form_of_slice
from streamnb.evaluation.tallies import (
    BUCKETS,
    LOSSES,
    RELIABILITY,
    ConfusedPairs,
    Decisions,
    GroupSpread,
    Rows,
    RowSpread,
    SetDecisions,
    add_reliability,
    losses_of,
    reliability_of,
)
from streamnb.fits.statistic import added, restored, state_of
from streamnb.kernels import ranks
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
    ):
        self.n_classes = K = arguments.positive_integer("n_classes", n_classes)
        needs = (needs,) if isinstance(needs, str) else needs
        self.needs = frozenset(arguments.one_of("needs", need, NEEDS) for need in needs)
        self.multilabel = bool(multilabel)
        if arguments.positive_integer("n_bins", n_bins) < 2:
            raise ValueError("n_bins=1 should be at least 2")
        exact_rows = int(arguments.finite_number("exact_rows", exact_rows, minimum=0))
        self.classes = np.arange(K) if classes is None else np.asarray(classes)
        if self.classes.shape != (K,):
            raise ValueError(f"classes has shape {self.classes.shape}; it should name each of the {K} classes")
        self.n_rows = self.n_unknown = 0
        self.level = check_level(interval)
        self.is_grouped = grouped  # whether intervals are of rows in groups
        self._form: dict[str, Any] = {"n_classes": K, "needs": self.needs, "multilabel": self.multilabel}
        self._form |= {"exact_rows": exact_rows, "n_bins": n_bins, "interval": self.level, "grouped": grouped}
        self._form["classes"] = self.classes
        self._tallies: dict[str, Any] = {"total": RowMeans.of_values(())}
        if self.multilabel and self.needs & DECISIONS:
            self._tallies["decisions"] = SetDecisions.of_classes(K, False)
        elif self.needs & {"hits", "confusion", "confused"}:
            self._tallies["decisions"] = Decisions.of_classes(K, "confusion" in self.needs)
        if "confused" in self.needs and not self.multilabel:
            self._tallies["confused"] = ConfusedPairs(K)
        if "ranking" in self.needs:
            self._tallies["ranking"] = self.ranking_of(1)
            if self.multilabel and "multilabel" in self.needs:
                self._tallies["ranking_loss"] = RowMeans.of_values(("ranking_loss",))
        if "margin" in self.needs:
            self._tallies["margin"] = self.ranking_of(1)
        if "probabilities" in self.needs:
            self._tallies["losses"] = RowMeans.of_values(LOSSES)
            if "reliability" in self.needs:
                self._tallies["reliability"] = RowMeans.of_values(RELIABILITY)
        check_grouped(grouped or None, self.level, slicing)
        if self.level is not None:
            self._tallies["spread"] = self._spread(exact_rows, grouped)
        if slicing is not None:
            form = form_of_slice(self._form)
            check_memory(slicing.n_slices, form)
            self._tallies["slices"] = Slices(slicing, type(self)(**form))

    def _spread(self, exact_rows: int, grouped: bool) -> RowSpread | GroupSpread:
        """What the intervals of the metrics that are kept need."""
        K, tallies = self.n_classes, self._tallies
        means: dict[str, Sequence[str]] = {}
        for name, values in (("losses", LOSSES), ("reliability", RELIABILITY), ("ranking_loss", ("ranking_loss",))):
            if name in tallies:
                means[name] = values
        if "decisions" in tallies and (grouped or self.multilabel):
            means["decisions"] = tallies["decisions"].names
        ranked: list[str] = [name for name in ("ranking", "margin") if name in tallies]
        if grouped:
            return GroupSpread.of(K, means, {name: tallies[name].shape for name in ranked})
        several = K > 2 or self.multilabel
        if "decisions" in tallies and tallies["decisions"].table is None:
            ranked.append("predicted")
        return RowSpread.of(K, means, ranked if several else (), exact_rows, self.multilabel)

    def warn_of_unknown(self) -> None:
        """Warn of rows whose labels the model does not know."""
        if self.n_unknown:
            n_rows = self.n_rows + self.n_unknown
            messages.warn(
                f"{self.n_unknown:,} of {n_rows:,} rows have labels that the model does not know; all measures leave "
                "these rows out, though each is a wrong decision"
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
        outputs = {"predicted": predicted, "ranking": ranking, "margin": margin, "log_proba": log_proba}
        rows = self._checked(codes, weight, outputs, groups)
        if not self.multilabel and (unknown := rows.labels < 0).any():
            self.n_unknown += int(unknown.sum())
            rows, slices = rows.of(~unknown), None if slices is None else slices[~unknown]
        self.add_rows(rows)
        if "slices" in self._tallies:
            self._tallies["slices"].add(rows, slices)

    def add_rows(self, rows: Rows) -> None:
        """Add checked rows to all tallies but those of slices."""
        self.n_rows += len(rows.weight)
        self._tallies["total"].add([], rows.weight)
        values: dict[str, Any] = {}
        if "decisions" in self._tallies:
            values["decisions"] = self._tallies["decisions"].add(rows)
        if "confused" in self._tallies:
            self._tallies["confused"].add(rows)
        known = rows.with_weight()
        if "losses" in self._tallies:
            values["losses"] = losses_of(known)
            self._tallies["losses"].add(values["losses"], known.weight)
        if "reliability" in self._tallies:
            values["reliability"] = reliability_of(known)
            add_reliability(self._tallies["reliability"], values["reliability"], known.weight)
        if {"ranking", "margin"} & self._tallies.keys():
            labels = known.labels.toarray() if self.multilabel else known.labels
            for name in ("ranking", "margin"):
                if name not in self._tallies:
                    continue
                self._tallies[name].add(getattr(known, name)[:, :, None], labels, known.weight)
                if self.is_grouped:
                    values[f"{name} groups"] = self._tallies[name].groups(labels)
        if "ranking_loss" in self._tallies:
            values["ranking_loss"] = [np.empty(len(labels))]
            ranks.ranking_loss(known.ranking, labels, *values["ranking_loss"])
            self._tallies["ranking_loss"].add(values["ranking_loss"], known.weight)
        if "spread" in self._tallies:
            self._tallies["spread"].add(rows, known, values)

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
            rows["bucket"] = self._buckets(groups, n_rows)
        return Rows(labels, weight, **rows)

    def _buckets(self, groups: Any, n_rows: int) -> np.ndarray:
        """The bucket of the group of each row."""
        if groups is None:
            raise ValueError("groups is missing; intervals of this evaluation are of rows in groups: give them")
        groups = row_checks.check_labels(groups, "groups")
        row_checks.check_lengths(n_rows, len(groups), "groups", "codes")
        return _HASHED.numbers(0, n_rows, groups, 0)

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

    def ranking_of(self, n_models: int) -> Ranking:
        """An empty ranking of several models with the settings of this evaluation."""
        sizes = {"exact_rows": self._form["exact_rows"], "n_bins": self._form["n_bins"], "n_models": n_models}
        pairs = "pairs" in self.needs and self.n_classes > 2 and not self.multilabel
        return Ranking(self.n_classes, multilabel=self.multilabel, pairs=pairs, **sizes)

    def with_tallies(self, n_rows: int, tallies: dict[str, Any], n_unknown: int = 0) -> Self:
        """A copy with tallies of other rows."""
        judged = type(self).__new__(type(self))
        judged.__dict__.update(self.__dict__, n_rows=n_rows, n_unknown=n_unknown, _tallies=tallies)
        return judged

    def save(self, path: Any) -> None:
        """Write to one file; `snb.load` reads it, and the loaded evaluation takes more rows."""
        persistence.save(path, self)

    def _to_state(self) -> dict[str, Any]:
        form = [sorted(self.needs), self.multilabel, self._form["exact_rows"], self._form["n_bins"]]
        state = {"classes": self.classes, "form": form, "n_rows": self.n_rows, "tallies": state_of(self._tallies)}
        if "slices" in self._tallies:
            state["slicing"] = self._tallies["slices"].slicing
        if self.level is not None:
            state["interval"] = self.level
        if self.n_unknown:
            state["n_unknown"] = self.n_unknown
        if self.level is not None or self.is_grouped:
            state["grouped"] = self.is_grouped
        return state

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> Self:
        persistence.known(cls, state, "classes", "form", "n_rows", "tallies", *OPTIONAL, "n_unknown")
        classes, (needs, multilabel, exact_rows, n_bins) = state["classes"], state["form"]
        if not persistence.is_a(tuple[list[str], bool, int, int], (needs, multilabel, exact_rows, n_bins)):
            raise ValueError(f"form={state['form']} should be names, a bool and two whole numbers")
        if "confusion" in needs and not multilabel:  # checked before a table larger than the file is allocated
            pairs_of_state("table", state["tallies"]["decisions"][3], (len(classes),) * 2)
        options = {"multilabel": multilabel, "exact_rows": exact_rows, "n_bins": n_bins}
        options |= {name: state[name] for name in OPTIONAL if name in state}
        if not isinstance(options.get("slicing"), Slicing | None):
            raise ValueError(f"slicing={options['slicing']!r} should be a Slicing")
        empty = cls(len(classes), needs, **options, classes=classes)
        n_rows = arguments.whole_number("n_rows", state["n_rows"])
        n_unknown = arguments.whole_number("n_unknown", state.get("n_unknown", 0))
        return empty.with_tallies(n_rows, restored("tallies", empty._tallies, state["tallies"]), n_unknown)


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


OPTIONAL = "interval", "grouped", "slicing"  # parts of files of evaluations that have them


def check_level(interval: Any) -> float | None:
    """The confidence of intervals, between 0 and 1, or None."""
    if interval is None:
        return None
    level = arguments.finite_number("interval", interval)
    if not 0.0 < level < 1.0:
        raise ValueError(f"interval={interval!r} should be between 0 and 1, such as 0.95")
    return level


def check_grouped(groups: Any, interval: Any, by: Any) -> None:
    """Refuse groups without intervals, which slices have in any case."""
    if groups is not None and interval is None and by is None:
        raise ValueError("groups= goes with intervals; give interval=0.95, or leave groups= out")


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


def check_multilabel(judged: Tallied, what: str) -> None:
    """Refuse metrics of label sets for single labels."""
    if not judged.multilabel:
        raise ValueError(f"{what} is for multi-label rows; these have one label each (multilabel=False)")


def check_single(judged: Tallied, what: str) -> None:
    """Refuse metrics of single labels for multi-label rows."""
    if judged.multilabel:
        raise ValueError(f"{what} is for rows of one label each; these are multi-label")


def is_binary(judged: Tallied) -> bool:
    """True for two classes, where metrics are of the second."""
    return judged.n_classes == 2 and not judged.multilabel


def ranked_classes(judged: Tallied) -> range:
    """The classes over which metrics of rankings are averaged: of two, the second alone."""
    return range(judged.n_classes)[is_binary(judged) :]
