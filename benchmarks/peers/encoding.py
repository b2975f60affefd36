"""Rows made of what is no table of numbers yet: codegrams of heartbeats, counts of categories."""

import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.feature_extraction.text import CountVectorizer

import streamnb as snb
from benchmarks.peers.table import Row, Size, ratios

BEATS = 10  # to a row of the other problems
LENGTH = 100  # letters of a window
GOAL = 10**7  # beats a second
CATEGORY_ROWS = 40  # to a row of the other problems
OF_VALUE = 10  # rows of each category
FOLDS = 5


def encoding_rows(size: Size, _: Path) -> Iterator[Row]:
    """The peer is given the letters, one text a window: it has only to count their trigrams."""
    rng = np.random.default_rng(0)
    n_beats = size.n_rows * BEATS + 1
    R, T = rng.integers(100, 400, (2, n_beats))
    letters = rng.choice(list("ABCDEF"), (n_beats // LENGTH, LENGTH))
    windows = ["".join(window) for window in letters]
    counter = CountVectorizer(analyzer="char", ngram_range=(3, 3), lowercase=False, dtype=np.int32)
    seconds = []

    def ours():
        start = time.process_time()
        snb.codegram(R, T, length=LENGTH)
        seconds.append(time.process_time() - start)

    (faster,) = ratios(lambda: counter.fit_transform(windows), [ours], size.repeats, time.process_time)
    what = f"codegrams, trigrams in windows of {LENGTH} letters, one thread"
    yield Row(what, f"{GOAL:,} beats a second", 1, 2, n_beats / float(np.median(seconds[1:])) / GOAL)
    yield Row(what, "CountVectorizer, given the letters", 5, 10, faster)
    yield from category_rows(size)


def category_rows(size: Size) -> Iterator[Row]:
    """The peer is given the fold of each row, and its counts are left in a table of one column."""
    rng = np.random.default_rng(0)
    n_rows = size.n_rows * CATEGORY_ROWS
    n_values = n_rows // OF_VALUE
    x, y = rng.integers(0, n_values, n_rows).astype(float), rng.integers(0, 2, n_rows)
    frame = pd.DataFrame({"x": x, "fold": snb.fold_numbers(n_rows, FOLDS), "y": y})
    counters = snb.CategoryCounters(folds=FOLDS)
    peer, ours = lambda: frame.groupby(["x", "fold", "y"]).size(), lambda: counters.fit(x[:, None], y)
    (faster,) = ratios(peer, [ours], size.repeats, time.perf_counter)
    what = f"counters, a column of {n_values:,} categories, {n_rows:,} rows, {FOLDS} folds, one scan"
    yield Row(what, "pandas, groupby of the same counts", 4, 8, faster)
