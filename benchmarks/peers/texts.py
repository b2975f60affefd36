"""Texts: words and pairs of words hashed, read and fitted, beside scikit-learn and pyarrow alone."""

import json
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from pyarrow import json as arrow_json
from sklearn.feature_extraction.text import HashingVectorizer

import streamnb as snb
from benchmarks.peers.table import SLOWER, Row, Size, ratio, ratios

N_FEATURES = 2**18
WORDS = 1, 2
LENGTH = 100  # words of a text
VOCABULARY = 30_000
COPIES = 4  # of each text in the file, which is then long beside what a fit does once


def drawn(n_rows: int) -> list[str]:
    """Texts of words whose frequencies fall as those of languages do."""
    rng = np.random.default_rng(0)
    letters = np.array(list("etaoinshrdlucmfwypvbgk"))
    words = np.array(["".join(rng.choice(letters, size)) for size in rng.integers(1, 11, VOCABULARY)])
    share = 1.0 / np.arange(1, VOCABULARY + 1)
    drawn = rng.choice(VOCABULARY, (n_rows, LENGTH), p=share / share.sum())
    return [" ".join(words[row]) for row in drawn]


def text_rows(size: Size, folder: Path) -> Iterator[Row]:
    """One thread each, but for the fit, which has two as pyarrow has."""
    texts = drawn(size.n_rows // 8)
    peer = HashingVectorizer(n_features=N_FEATURES, ngram_range=WORDS, norm=None, alternate_sign=False)
    rows = snb.text(texts, words=WORDS, n_features=N_FEATURES, n_threads=1)

    def ours():
        for _ in rows.blocks():
            pass

    (faster,) = ratios(lambda: peer.transform(texts), [ours], size.repeats, time.process_time)
    yield Row("text to hashed CSR, words and pairs, 2^18 columns", "HashingVectorizer", 7, 12, faster)
    path = folder / "texts.jsonl"
    with path.open("w") as file:
        for _ in range(COPIES):
            file.writelines(json.dumps({"text": text, "y": i % 20}) + "\n" for i, text in enumerate(texts))

    def fit():
        source = snb.text(path, "text", "y", words=WORDS, n_features=N_FEATURES, n_threads=2)
        snb.LinearNB("multinomial").fit(source, n_threads=2)

    longer = ratio(fit, lambda: arrow_json.read_json(path), size.repeats, time.perf_counter)
    yield Row("fit from JSON lines, words and pairs, two threads", "reading with pyarrow", 5, 3.5, longer, SLOWER)
