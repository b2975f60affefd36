"""How fast are filters? Megabytes of JSON lines a second of one core: `python -m benchmarks.filter_speed`.

Documents of 75 lines of the standard library, code for the network or not, several times over: a model learns from
them, scores them, and the best tenth of the same lines packed by zstd is written to another packed file. fastText,
HashingVectorizer with SGDClassifier, Vowpal Wabbit and DSIR's own code (`pip install fasttext-wheel vowpalwabbit
data-selection`) are passed over where they are not installed. Of these, lines are parsed and the best ones sorted out
by the few lines of Python below, all in memory, and fastText and Vowpal Wabbit have their words lowered and split by
`words_of` before the clock starts, but for the best tenth. Seconds are those of the processor, of all threads, the
fewest of `--repeats` runs; a tool that takes long has a part of the rows.
"""

import argparse
import gzip
import json
import re
import shutil
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import streamnb as snb
from benchmarks.corpus import EXAMPLES

PIECES, COPIES = 3, 4  # documents of the example in one of ours, and how often they are there
WORDS, COLUMNS, TENTH = (1, 2), 2**18, 0.1
WORD = re.compile(r"\w+")
TOKENS: dict[str, dict[str, Any]] = {
    "words": {"words": (1, 1)},
    "words and pairs": {"words": (1, 2)},
    "3 characters": {"words": None, "chars": (3, 3)},
    "3 to 5 characters": {"words": None, "chars": (3, 5)},
    "3 bytes": {"words": None, "bytes": (3, 3)},
    "3 to 5 bytes": {"words": None, "bytes": (3, 5)},
}


def words_of(text: str) -> str:
    return " ".join(WORD.findall(text.lower()))


class Files:
    """The same rows as JSON lines, packed or not, and as each tool wants them."""

    def __init__(self, folder: Path, rows: list[dict[str, str]], part: float = 1.0):
        rows = rows[: int(part * len(rows))]
        self.folder, self.rows = folder, rows
        self.lines, self.packed = folder / "rows.jsonl", folder / "rows.jsonl.zst"
        text = b"".join(json.dumps(row).encode() + b"\n" for row in rows)
        self.lines.write_bytes(text)
        self.packed.write_bytes(pa.compress(text, "zstd", asbytes=True))
        self.nbytes = len(text)

    def read(self) -> tuple[list[str], list[str]]:
        records = list(map(json.loads, self.lines.read_bytes().splitlines()))
        return [row["text"] for row in records], [row["kind"] for row in records]


def documents() -> list[dict[str, str]]:
    sys.path.append(str(EXAMPLES))
    import filter_corpus

    filter_corpus.LINES *= PIECES
    found = [row for file in filter_corpus.documents(10_000) for row in file]
    return found * COPIES


def keep_best(files: Files, score: Callable[[list[str]], Any]) -> None:
    """What a tool without files of its own needs to write the best tenth."""
    lines = pa.input_stream(files.packed, compression="zstd").read().splitlines(keepends=True)
    scores = np.asarray(score([json.loads(line)["text"] for line in lines]))
    best = np.sort(np.argsort(-scores)[: int(TENTH * len(scores))])
    kept = b"".join(lines[k] for k in best)
    (files.folder / "kept.zst").write_bytes(pa.compress(kept, "zstd", asbytes=True))


Steps = tuple[Callable[[], Any], Callable[[], Any], Callable[[], Any]]  # training, scoring, selecting


def web_archive(files: Files) -> Path:
    """The same texts as a WET file, a member of gzip each."""
    path = files.folder / "rows.warc.wet.gz"
    with path.open("wb") as file:
        for k, row in enumerate(files.rows):
            text = row["text"].encode()
            head = (
                f"WARC/1.0\r\nWARC-Type: conversion\r\nWARC-Record-ID: <urn:{k}>\r\nContent-Length: {len(text)}\r\n\r\n"
            )
            file.write(gzip.compress(head.encode() + text + b"\r\n\r\n"))
    return path


def streamnb(make: Callable[[], Any], wet: bool = False) -> Callable[[Files], Steps]:
    def steps(files: Files) -> Steps:
        text: Any = "text"
        y: Any = "kind"
        lines, packed = files.lines, files.packed
        if wet:
            lines = packed = web_archive(files)
            text, y = None, np.array([row["kind"] for row in files.rows])

        def fit() -> Any:
            rows = snb.text(lines, text, y, words=WORDS, n_features=COLUMNS, n_threads=1)
            return make().fit(rows, n_threads=1)

        def fresh(name: str) -> Path:
            shutil.rmtree(files.folder / name, ignore_errors=True)
            return files.folder / name

        model = fit()
        return (
            fit,
            lambda: snb.write_predictions(model, lines, fresh("scores"), proba=True, n_threads=1),
            lambda: snb.select(model, packed, fresh("kept"), "net", share=TENTH, n_threads=1),
        )

    return steps


def fast_text(files: Files) -> Steps:
    import fasttext

    path, (texts, labels) = files.folder / "train.txt", files.read()
    plain = list(map(words_of, texts))
    path.write_text("".join(f"__label__{label} {text}\n" for text, label in zip(plain, labels)))

    def fit() -> Any:
        return fasttext.train_supervised(str(path), wordNgrams=WORDS[1], bucket=COLUMNS, thread=1, verbose=0)

    def score(some: list[str]) -> list[float]:
        found = [dict(map(reversed, model.f.predict(text + "\n", 2, 0.0, "strict"))) for text in some]
        return [one.get("__label__net", 0.0) for one in found]

    model = fit()
    return fit, lambda: score(plain), lambda: keep_best(files, lambda some: score(list(map(words_of, some))))


def sgd(files: Files) -> Steps:
    from sklearn.feature_extraction.text import HashingVectorizer
    from sklearn.linear_model import SGDClassifier

    columns = HashingVectorizer(n_features=COLUMNS, ngram_range=WORDS)

    def fit() -> Any:
        texts, labels = files.read()
        return SGDClassifier(loss="log_loss", max_iter=5, tol=None).fit(columns.transform(texts), labels)

    def score(some: list[str]) -> Any:
        return model.predict_proba(columns.transform(some))[:, 0]

    model = fit()
    return fit, lambda: score(files.read()[0]), lambda: keep_best(files, score)


def vowpal(files: Files) -> Steps:
    """A pass over examples that are parsed and hashed by Vowpal Wabbit."""
    from vowpalwabbit import Workspace

    def example(text: str, label: str = "") -> str:
        return f"{label}| {words_of(text)}"

    texts, labels = files.read()
    train = [example(text, "1 " if label == "net" else "-1 ") for text, label in zip(texts, labels)]
    new = list(map(example, texts))

    def fit() -> Any:
        model = Workspace(f"--loss_function logistic --ngram {WORDS[1]} -b 18 --quiet")
        for line in train:
            model.learn(line)
        return model

    def score(some: list[str]) -> list[float]:
        return [model.predict(line) for line in some]

    model = fit()
    return fit, lambda: score(new), lambda: keep_best(files, lambda some: score(list(map(example, some))))


def dsir(files: Files) -> Steps:
    """As many rows drawn as there are in the best tenth; of lines that are not packed."""
    from data_selection import HashedNgramDSIR

    target = files.folder / "target.jsonl"
    target.write_text("".join(json.dumps(row) + "\n" for row in files.rows if row["kind"] == "net"))

    def fit() -> Any:
        made = HashedNgramDSIR([str(files.lines)], [str(target)], str(files.folder / "cache"), num_proc=1)
        made.fit_importance_estimator("all")
        return made

    model = fit()

    def select() -> None:
        model.compute_importance_weights()
        shutil.rmtree(files.folder / "drawn", ignore_errors=True)
        model.resample(str(files.folder / "drawn"), int(TENTH * len(files.rows)), str(files.folder / "drawn-cache"))

    return fit, model.compute_importance_weights, select


TOOLS: dict[str, tuple[str | None, float, Callable[[Files], Steps]]] = {  # the package, the part of rows, the steps
    "streamnb, LinearNB": (None, 1.0, streamnb(lambda: snb.LinearNB("multinomial"))),
    "streamnb, LinearNB, of a WET file": ("fastwarc", 0.3, streamnb(lambda: snb.LinearNB("multinomial"), wet=True)),
    "streamnb, SoftmaxRegression": (None, 0.3, streamnb(snb.SoftmaxRegression)),
    "fastText, 5 epochs": ("fasttext", 0.3, fast_text),
    "HashingVectorizer and SGDClassifier, 5 epochs": ("sklearn", 0.3, sgd),
    "Vowpal Wabbit, one pass": ("vowpalwabbit", 0.3, vowpal),
    "DSIR's own code, 10,000 columns": ("data_selection", 0.03, dsir),
}


def speeds(steps: list[Callable[[], Any]], nbytes: int, repeats: int) -> Iterator[float]:
    """Megabytes a second of each step."""
    seconds = np.full(len(steps), np.inf)
    for _ in range(repeats):
        for k, step in enumerate(steps):
            began = time.process_time()
            step()
            seconds[k] = min(seconds[k], time.process_time() - began)
    yield from (nbytes / seconds / 1e6).tolist()


def tokens(files: Files, repeats: int) -> None:
    print("\n| columns | MB a second and core |\n| --- | --- |")
    texts = [row["text"] for row in files.rows]
    opened = [snb.text(texts, n_features=COLUMNS, n_threads=1, **sizes) for sizes in TOKENS.values()]
    steps = [lambda rows=rows: list(map(type, rows.blocks())) for rows in opened]
    for name, speed in zip(TOKENS, speeds(steps, sum(len(text.encode()) for text in texts), repeats)):
        print(f"| {name} | {speed:.0f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=3)
    options, rows = parser.parse_args(), documents()
    warnings.simplefilter("ignore")
    rows = [rows[k] for k in np.random.default_rng(0).permutation(len(rows))]
    print("| MB a second and core | training | scoring | the best tenth |\n| --- | --- | --- | --- |")
    for name, (package, part, tool) in TOOLS.items():
        if package is not None and not find_spec(package):
            print(f"| {name} | not installed | | |")
            continue
        with tempfile.TemporaryDirectory() as folder:
            files = Files(Path(folder), rows, part)
            found = " | ".join(f"{speed:.1f}" for speed in speeds([*tool(files)], files.nbytes, options.repeats))
            print(f"| {name} | {found} |", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        tokens(Files(Path(folder), rows, 0.3), options.repeats)


if __name__ == "__main__":
    main()
