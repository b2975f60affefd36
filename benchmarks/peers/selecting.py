"""Features chosen by the models of subsets, beside scikit-learn's, which fits every one of them."""

import dataclasses
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from sklearn.feature_selection import SequentialFeatureSelector
from sklearn.model_selection import PredefinedSplit
from sklearn.naive_bayes import BernoulliNB
from threadpoolctl import threadpool_limits

import streamnb as snb
from benchmarks.peers.table import Row, Size, ratios

N_STEPS = 2


def selecting_rows(size: Size, folder: Path) -> Iterator[Row]:
    rng, n_rows = np.random.default_rng(0), min(size.n_rows // 4, 10_000)
    n_features = 50 if n_rows == 10_000 else 8
    y = rng.integers(0, 2, n_rows)
    X = (rng.random((n_rows, n_features)) < 0.3 + 0.1 * rng.random(n_features) * y[:, None]).astype(np.float32)
    split = PredefinedSplit(snb.fold_numbers(n_rows, 5))
    peer = SequentialFeatureSelector(BernoulliNB(), n_features_to_select=N_STEPS, cv=split)
    search = snb.ForwardSelection(rows=None)
    selector = snb.FeatureSelector(search, N_STEPS, family="bernoulli")
    stats = snb.scan(X, y, folds=5, moments=["above"])
    sample = snb.sample_rows(X, y, stats, rows=None)
    asked = dataclasses.replace(search, k=N_STEPS)
    runs = [
        lambda: selector.fit(X, y, n_threads=1),
        lambda: snb.rank_features(stats, asked, family="bernoulli", sample=sample),
    ]
    with threadpool_limits(1):
        whole, steps = ratios(lambda: peer.fit(X, y), runs, min(size.repeats, 3), time.process_time)
    if not np.array_equal(selector.get_support(), peer.get_support()):
        raise AssertionError("the two chose other features")
    what = f"SFS, {N_STEPS} steps over {n_features} features, {n_rows:,} rows, 5 folds"
    yield Row(f"{what}, both reads included", "SequentialFeatureSelector, the same folds and choice", 50, 500, whole)
    yield Row(f"{what}, off statistics and a sample", "the same", 50, 500, steps)
