"""Examples of the task that compares models, with rows, for examples_of_contracts."""

from collections.abc import Callable
from typing import Any

import numpy as np

import streamnb as snb
from streamnb.encoding.ngrams import NGrams
from streamnb.evaluation.judging import JudgedModel, JudgingTask
from streamnb.rows.labels import open_columns
from streamnb.rows.opening import opened
from streamnb.rows.source import Source
from tests.support.examples_of_raw_rows import texts_of
from tests.support.examples_of_regressions import REGRESSIONS

rng = np.random.default_rng(0)
COUNTS, WEIGHT = rng.poisson(1.0, (40, 5)).astype(float), rng.choice([0.25, 0.5, 1.0, 2.0], 40)
Y, SETS = rng.integers(0, 3, 40), (rng.random((40, 3)) < 0.4).astype(int)


def paired(X: Any, y: Any, *families: str, encode: Any = None) -> JudgingTask:
    stats = snb.scan(X, *(() if encode else (y,)))
    decisions = "confusion" if y.ndim == 1 else "multilabel"
    needs, nothing = frozenset({decisions, "ranking", "probabilities"}), Source(open_columns(None, None, None, False))
    models = {name: JudgedModel(snb.solve(stats, name)[0], needs, nothing, encode) for name in families}
    return JudgingTask(models, stats.classes, y.ndim == 2, 0.9)


def of_texts() -> tuple[snb.PassTask, Source]:
    words, texts = NGrams((1, 2)), texts_of(COUNTS, Y, WEIGHT)
    task = paired(texts.with_step(words, words.n_columns, "words"), Y, "multinomial", "bernoulli", encode=words)
    return task, texts.with_step(None, 5, "texts")


COMPARING: dict[str, Callable[[], tuple[snb.PassTask, Source]]] = {
    "compared": lambda: (paired(COUNTS, Y, "poisson", "bernoulli"), opened(COUNTS, Y, WEIGHT)),
    "compared_labels": lambda: (paired(COUNTS, SETS, "poisson", "bernoulli"), opened(COUNTS, SETS, WEIGHT)),
    "compared_texts": of_texts,
}
BESIDE: dict[type, dict[str, Callable[[], tuple[snb.PassTask, Source]]]] = {  # tasks of these files
    **REGRESSIONS
}
