"""The way of the rows through a fit: few files, so that it can be read from top to bottom."""

import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import streamnb as snb
from streamnb.rows.block import Block
from streamnb.rows.source import Source

PACKAGE = f"{Path(snb.__file__).parent}/"
ROOMS = tuple(f"{PACKAGE}{room}/" for room in ("estimators", "selection", "training", "searching"))
rng = np.random.default_rng(0)
X, Y = rng.normal(size=(60, 4)), np.arange(60) % 3


def files_met(fit):
    """Files of these rooms with a function that is given X, what it was opened as, or a block of it."""
    files = set()

    def called(frame, event, _):
        if event != "call" or not frame.f_code.co_filename.startswith(ROOMS):
            return
        given = list(frame.f_locals.values())
        given += [part for value in given if isinstance(value, tuple) for part in value]
        if any(value is X or isinstance(value, Source | Block) for value in given):
            files.add(frame.f_code.co_filename.removeprefix(PACKAGE))

    threading.setprofile(called)
    sys.setprofile(called)
    try:
        fit()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return files


@pytest.mark.filterwarnings("ignore:max_passes:streamnb.StreamnbWarning")
@pytest.mark.parametrize(
    ("model", "most"),
    [
        (snb.SoftmaxRegression(max_passes=2), 6),
        (snb.SoftmaxRegression(max_passes=2, transform=snb.Bins(3), idf=True, normalize="l2"), 6),
        (snb.SoftmaxRegressionCV(1.0, folds=3, max_passes=2), 8),
        (snb.MarginClassifier(max_passes=2, calibration="sigmoid"), 7),
    ],
    ids=lambda value: type(value).__name__,
)
def test_rows_pass_few_files(model, most):
    files = files_met(lambda: model.fit(X, Y))
    assert "training/learner.py" in files and len(files) <= most, sorted(files)


@pytest.mark.parametrize(
    ("chosen", "most"),
    [
        (lambda: snb.LinearNBCV("gaussian", calibration="sigmoid").fit(X, Y), 5),
        (lambda: snb.compare(X, Y, families=["gaussian"], penalties=["plain"], show=False), 3),
        (lambda: snb.search(X, Y, families=["gaussian"], models=[], show=False), 7),  # with a sample to calibrate by
    ],
    ids=["LinearNBCV", "compare", "search"],
)
def test_rows_that_naive_bayes_is_chosen_by_pass_few_files(chosen, most):
    files = files_met(chosen)
    assert "selection/cross_validation.py" in files and len(files) <= most, sorted(files)
