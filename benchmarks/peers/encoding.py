"""Rows made of what is no table yet: codegrams of heartbeats."""

import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer

import streamnb as snb
from benchmarks.peers.table import Row, Size, ratios

BEATS = 10  # to a row of the other problems
LENGTH = 100  # letters of a window
GOAL = 10**7  # beats a second


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
