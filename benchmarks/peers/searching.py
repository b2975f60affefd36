"""`search` beside the same candidates one after the other, and the blind one beside tuned logistic regression."""

import time
import warnings
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import numpy as np
import zarr
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import streamnb as snb
from benchmarks.peers.problems import topics
from benchmarks.peers.table import BETTER, SLOWER, Row, Size

FAMILIES = ["poisson", "multinomial", "gaussian"]
TRANSFORMS = [None, "log1p", "sqrt", ("l1:100", "log1p")]
SMOOTHINGS = [0.1, 1.0, 10.0]
L1 = snb.L1(scale="score")


def search_rows(size: Size, folder: Path) -> Iterator[Row]:
    """Seconds are of the wall: both sides have all threads."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that reads were spent, that a fold lacks a class
        yield settings_row(size, folder)
        yield from blind_rows(size)


def settings_row(size: Size, folder: Path) -> Row:
    rng, K = np.random.default_rng(0), 20
    y = rng.integers(0, K, size.shared_rows)
    X = rng.poisson(rng.gamma(1.0, 1.0, (K, 100))[y]).astype(np.float32)
    store = zarr.create_array(folder / "search.zarr", data=X, chunks=(4_000, 100))
    families = FAMILIES if len(y) > 1_000 else FAMILIES[:1]
    asked = {"families": families, "transforms": TRANSFORMS, "smoothing": SMOOTHINGS, "penalties": [L1]}

    def alone():
        for family, transform, smoothing in product(families, TRANSFORMS, SMOOTHINGS):
            options = {"transform": transform, "smoothing": smoothing, "scoring": ["accuracy", "roc_auc"]}
            snb.LinearNBCV(family, L1, **options).fit(store, y)

    snb.search(X[:500], y[:500], **asked, folds=2, show=False)  # compiles
    ours = seconds(lambda: snb.search(store, y, **asked, show=False))
    what = f"4 transforms x 3 smoothings x {len(families)} families x L1, 5 folds, {len(y):,} rows of 100, K = 20, Zarr"
    return Row(what, "LinearNBCV of each, one after the other", 4, 10, seconds(alone) / ours)


def blind_rows(size: Size) -> Iterator[Row]:
    n_rows = max(size.shared_rows // 4, 300)  # of which logistic regression takes long enough
    part = n_rows / 100_000
    X, y = topics(n_rows, max(int(27_551 * part**0.7), 100), 20)
    pipeline = make_pipeline(TfidfTransformer(sublinear_tf=True), LogisticRegression(max_iter=200))
    n_folds, strengths = (5, [0.1, 0.3, 1.0, 3.0, 10.0]) if n_rows > 1_000 else (2, [1.0])
    theirs = GridSearchCV(pipeline, {"logisticregression__C": strengths}, cv=n_folds)
    found: list[snb.Search] = []
    snb.search(X[:500], y[:500], folds=2, show=False)  # compiles
    ours = seconds(lambda: found.append(snb.search(X, y, folds=n_folds, show=False)))
    peer = seconds(lambda: theirs.fit(X, y))
    what, against = (
        f"blind search, texts, {X.shape[0]:,} x {X.shape[1]:,}, K = 20",
        f"logistic regression, {len(strengths)} C x {n_folds} folds",
    )
    yield Row(what, against, 0.5, 0.1, ours / peer, SLOWER)
    reached = found[0].ranked[0].mean("accuracy") / theirs.best_score_
    yield Row(f"{what}: accuracy, ours / theirs", against, 0.99, 1, reached, BETTER)


def seconds(run) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start
