"""Training by hand: what a model is trained on, and its trainer asked for all reads."""

import streamnb as snb
from streamnb.passes.contract import RunOptions
from streamnb.passes.fit import reads_of
from streamnb.passes.run import run_reads
from streamnb.rows.opening import opened
from streamnb.rows.preparing import RowOptions
from streamnb.solving import objectives
from streamnb.solving.data import TrainingData
from streamnb.solving.objectives import RowSums
from streamnb.solving.reading import ReadTask

OPTIONS = RunOptions(progress=False)


def data_of(stats, objective, n_rows=None):
    """What a model is trained on, of statistics with the moments of training."""
    n_rows = n_rows or (1 if objectives.one_row(stats) else len(stats.classes))
    task = ReadTask.at_zero(objective, RowOptions(), stats.classes, (stats.n_features, n_rows))
    return TrainingData(task, RowSums.of(stats))


def scanned(X, y, objective, **options):
    """The same of rows."""
    return data_of(snb.scan(X, y, moments=objectives.MOMENTS), objective, **options)


def trained(trainer, X, y):
    """What a trainer comes to, of all the reads that it asks for."""
    return run_reads(reads_of(trainer.reads(), opened(X, y), OPTIONS))[0]
