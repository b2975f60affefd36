"""Debian's descriptions of packages, told apart by section: JSON lines, beside Vowpal Wabbit from its own text file."""

import json
import re
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegressionCV
from threadpoolctl import threadpool_limits

import streamnb as snb
from benchmarks.peers.table import SLOWER, Row, Size, ratio

EXAMPLES = Path(__file__).parents[2] / "examples"  # scripts, which import from their own folder
ENOUGH = 0.8  # of the rows held back, right
N_FEATURES = 2**15
HELD = 5  # one of so many
WORD = re.compile(r"[a-z][a-z0-9+]{1,29}")
OTHER = "--oaa {} -b 22 --quiet"  # the fastest of its settings, one pass over single words, that comes to ENOUGH


SHORT = 450  # characters
TOPICS = 29


def topic_rows(size: Size, folder: Path) -> Iterator[Row]:
    """Penalties chosen on five folds, six by us and by scikit-learn: short texts have more columns than rows."""
    sys.path.append(str(EXAMPLES))
    from thesis_tables import descriptions

    texts, topics = descriptions(None, n_sections=TOPICS)
    short = [i for i, text in enumerate(texts) if len(text) < SHORT][: 14_000 if size.repeats > 1 else 2_000]
    what = f"penalty of softmax chosen on 5 folds, {len(short):,} short texts, words and pairs, CPU"
    if not short:
        yield Row(f"{what} (no descriptions: no network?)", "LogisticRegressionCV", 1.5, 0.7, None, SLOWER)
        return
    X, y = [texts[i] for i in short], np.array([topics[i] for i in short])
    (folder / "short.jsonl").write_text(
        "".join(json.dumps({"text": text, "section": topic}) + "\n" for text, topic in zip(X, y, strict=True))
    )

    def ours() -> None:
        rows = snb.text(folder / "short.jsonl", "text", "section", words=(1, 2))
        snb.SoftmaxRegressionCV().fit(rows, n_threads=1)

    def theirs() -> None:
        rows = TfidfVectorizer(ngram_range=(1, 2)).fit_transform(X)
        LogisticRegressionCV(Cs=6, cv=5, scoring="neg_log_loss", max_iter=100).fit(rows, y)

    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that their iterations were spent
        yield Row(what, "tf-idf and LogisticRegressionCV", 1.5, 0.7, cpu(ours) / cpu(theirs), SLOWER)


def cpu(run: Callable[[], None]) -> float:
    """Seconds of the process."""
    start = time.process_time()
    run()
    return time.process_time() - start


def description_rows(size: Size, folder: Path) -> Iterator[Row]:
    """Two threads each: Vowpal Wabbit has one that parses and one that learns. Both sides come to ENOUGH, or say so."""
    what = "hashed descriptions to .80 on held-out rows, from JSON lines, two threads"
    try:
        from vowpalwabbit import Workspace
    except ImportError:
        yield Row(what, "Vowpal Wabbit --oaa", 1, 3, None)
        return
    sys.path.append(str(EXAMPLES))
    from thesis_tables import descriptions

    texts, sections = descriptions(None, n_sections=100)
    if not texts:
        yield Row(what, "Vowpal Wabbit --oaa (no descriptions: no network?)", 1, 3, None)
        return
    names, codes = np.unique(sections, return_inverse=True)
    for name, some in (("train", range(len(texts))), ("held", range(0, len(texts), HELD))):
        rows = [i for i in some if (i % HELD == 0) == (name == "held")]
        with (folder / f"{name}.jsonl").open("w") as lines, (folder / f"{name}.vw").open("w") as plain:
            for i in rows:
                lines.write(json.dumps({"text": texts[i], "section": sections[i]}) + "\n")
                plain.write(f"{codes[i] + 1} | {' '.join(WORD.findall(texts[i].lower()))}\n")

    def ours() -> snb.LeastSquaresClassifier:
        rows = snb.text(folder / "train.jsonl", "text", "section", n_features=N_FEATURES)
        return snb.LeastSquaresClassifier(transform="log1p", max_passes=3).fit(rows)

    def theirs() -> None:
        settings = OTHER.format(len(names))
        Workspace(f"{settings} -d {folder / 'train.vw'} -f {folder / 'model.vw'}").finish()

    faster = ratio(theirs, ours, size.repeats, time.perf_counter)
    accuracy = ours().score(snb.text(folder / "held.jsonl", "text", "section", n_features=N_FEATURES))
    judge = Workspace(f"-i {folder / 'model.vw'} -t --quiet")
    held = [line.split(" ", 1) for line in (folder / "held.vw").read_text().splitlines()]
    their_accuracy = np.mean([judge.predict(text) == int(label) for label, text in held])
    reached = faster if accuracy >= ENOUGH else None
    yield Row(f"{what}: {accuracy:.3f}", f"Vowpal Wabbit --oaa: {their_accuracy:.3f}", 1, 3, reached)
