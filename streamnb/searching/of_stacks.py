"""Stacks on the folds of a search: each is fitted without every fold, to all rows of which those of it weigh nothing.

The folds of the search are those that the stack makes its margins by, too: what it says of rows outside a fold comes
from models without that fold and without their own.
"""

from typing import Any

from sklearn.base import clone

from streamnb.estimators.classifier import model_and_rows
from streamnb.estimators.stacked_nb import StackedNB, reads_at_most
from streamnb.evaluation.judging import JudgingTask
from streamnb.passes.options import RunOptions
from streamnb.passes.run import run
from streamnb.rows.fold_rows import FoldRows
from streamnb.rows.preparing import RowOptions
from streamnb.scanning.class_scan import ClassScan, with_folds
from streamnb.searching.contest import Judging, OneByOne
from streamnb.searching.encodings import Encoded
from streamnb.searching.found import Judged

LEAST_FOLDS = 3


class StackOnFolds(OneByOne):
    """A stack, fitted anew without each fold."""

    def __init__(self, name: str, model: StackedNB, encoded: Encoded, judging: Judging, options: RunOptions):
        super().__init__(name, judging)
        self._encoded, self._options = encoded, options
        self._model = clone(model).set_params(folds=judging.folds, seed=judging.seed)
        self._n_rows = 1

    def plan(self, most_reads: int | None) -> str:
        return f"{self.names[0]}: {sum(self.reads(0))} reads at most"

    def reads(self, max_passes: int) -> tuple[int, int]:
        fitting = reads_at_most(self._model)
        return self._encoded.n_reads + self._judging.n_folds * (fitting + 1), fitting

    def begin(self) -> None:
        try:
            if self._judging.n_folds < LEAST_FOLDS:
                raise ValueError(
                    f"folds={self._judging.n_folds} leave no rows beside the fold that judges a stack and the one "
                    f"whose margins are made; take {LEAST_FOLDS} at least"
                )
            self.report = self.report + self._encoded.learn(self._judging, self._options)
        except (ValueError, TypeError) as error:
            self.left_out[self.names[0]] = str(error)

    def _cost(self) -> dict[str, Any]:
        return {"reads": self.report.rows // self._n_rows, "seconds": self.report.seconds}

    def _on(self, fold: int) -> list[float]:
        """The scores on a fold of the stack fitted to the other rows."""
        judging, encoded = self._judging, self._encoded
        rows = encoded.outside(fold) if encoded.nested else encoded.rows
        asked = judging.folds, judging.groups, 1, judging.seed
        task, rows = with_folds(ClassScan((), RowOptions()), rows, *asked)
        assert task.folding is not None
        stack = clone(self._model)
        stack.fit(FoldRows(rows, task.folding, fold, inside=False), groups=judging.groups, **self._options.fit_options)
        needs = judging.scorer.needs
        if "probabilities" in needs and not hasattr(stack, "predict_proba"):
            raise ValueError("a scoring needs probabilities, and its second level has none")
        model, held = model_and_rows(stack, FoldRows(rows, task.folding, fold, inside=True))
        sheet, report = run(JudgingTask(model, frozenset({*needs, "confusion"})), held, self._options)
        self.report, self._n_rows = self.report + stack.report_ + report, report.rows
        return [one.of(sheet.evaluations) for one in judging.scorer.each]

    def fitted(self, judged: Judged) -> Any:
        rows, options = self._encoded.to_fit, self._options.fit_options
        model = clone(self._model).fit(*rows, groups=self._judging.groups, **options)
        self.report = self.report + model.report_
        return self._encoded.finished(model)
