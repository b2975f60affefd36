"""Source lines as documents: softmax regression beside fastText, from texts to labels, two threads each.

`python -m benchmarks.corpus [--texts build/source_lines] [--most 400]` takes the rows of `make demo`, fifteen of them
to a document: which of 24 packages is it from? fastText (`pip install fasttext-wheel`, passed over without it) makes
five epochs over the words of shuffled documents, in lower case, at its own learning rate and at a faster one. Softmax
regression of words and pairs, 2^18 columns, takes reads until log loss and accuracy on held-out files are within .005
and .003 of those after `most` reads, which count as converged, and it is as accurate as the better of fastText's
models. Seconds are those of the processor for a fit, parsing included.
"""

import argparse
import json
import random
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import log_loss

import streamnb as snb
from benchmarks.steps import ACCURACY, LOSS

EXAMPLES = Path(__file__).parents[1] / "examples"  # scripts, which import from their own folder
PER_DOCUMENT = 15
COLUMNS = {"words": (1, 2), "n_features": 2**18}
EPOCHS, RATES = 5, (0.1, 0.5)
THREADS = 2
FEW = 30  # reads that are tried


def documents(path: Path) -> Iterator[tuple[str, str]]:
    """Each package's consecutive rows, some at a time, and its name."""
    with path.open(encoding="utf-8") as lines:
        for package, rows in groupby(map(json.loads, lines), lambda row: row["package"]):
            own = [row["text"] for row in rows]
            for first in range(0, len(own), PER_DOCUMENT):
                yield "\n".join(own[first : first + PER_DOCUMENT]), package


def one_line(text: str) -> str:
    """The words of a text, in lower case."""
    return " ".join("".join(c if c.isalnum() else " " for c in text.lower()).split())


def write(folder: Path, texts: Path) -> None:
    """Write the documents as JSON lines and as fastText wants them."""
    for part in ("train", "held_out"):
        rows = list(documents(texts / f"{part}.jsonl"))
        with (folder / f"{part}.jsonl").open("w") as lines:
            lines.writelines(json.dumps({"text": text, "package": package}) + "\n" for text, package in rows)
        random.Random(0).shuffle(rows)
        with (folder / f"{part}.txt").open("w") as lines:
            lines.writelines(f"__label__{package} {one_line(text)}\n" for text, package in rows)


def opened(path: Path) -> Any:
    return snb.text(path, text="text", y="package", n_threads=THREADS, **COLUMNS)


def softmax(folder: Path, n_reads: int) -> tuple[float, float, float]:
    """Log loss and accuracy on the held-out documents after so many reads, and the seconds of the fit."""
    began = time.process_time()
    model = snb.SoftmaxRegression(tol=0.0, max_passes=n_reads).fit(opened(folder / "train.jsonl"), n_threads=THREADS)
    seconds, held_out = time.process_time() - began, opened(folder / "held_out.jsonl")
    proba, y = model.predict_proba(held_out), np.concatenate([block.y for block in held_out.blocks()])
    return log_loss(y, proba, labels=model.classes_), float((model.classes_[proba.argmax(axis=1)] == y).mean()), seconds


def fast_text(folder: Path, rate: float) -> tuple[float, float, float]:
    """The same of fastText."""
    import fasttext

    began = time.process_time()
    model = fasttext.train_supervised(str(folder / "train.txt"), epoch=EPOCHS, lr=rate, thread=THREADS, verbose=0)
    seconds, loss, hits = time.process_time() - began, [], []
    for line in (folder / "held_out.txt").open():
        label, _, text = line.partition(" ")
        shares = {name: share for share, name in model.f.predict(text, -1, 0.0, "strict")}
        loss.append(-np.log(max(shares.get(label, 0.0), 1e-15) / sum(shares.values())))
        hits.append(max(shares, key=shares.__getitem__) == label)
    return float(np.mean(loss)), float(np.mean(hits)), seconds


def show(name: str, loss: float, accuracy: float, seconds: float) -> None:
    print(f"{name}: accuracy {accuracy:.4f}, log loss {loss:.4f}, {seconds:.1f} s", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--texts", type=Path, default=Path("build/source_lines"), help="kept for the next run")
    parser.add_argument("--rows", type=int, default=1_100_000, help="of the demonstration")
    parser.add_argument("--most", type=int, default=400, help="reads that count as converged")
    options = parser.parse_args()
    sys.path.append(str(EXAMPLES))
    from source_lines import keep_texts

    with tempfile.TemporaryDirectory() as name, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that the reads were spent
        folder, best = Path(name), 0.0
        write(folder, keep_texts(options.texts, options.rows))
        snb.SoftmaxRegression(max_passes=4).fit(opened(folder / "held_out.jsonl"))  # compiles
        for rate in RATES if find_spec("fasttext") else ():
            found = fast_text(folder, rate)
            show(f"fastText, {EPOCHS} epochs, learning rate {rate:g}", *found)
            best = max(best, found[1])
        loss, accuracy, seconds = softmax(folder, options.most)
        show(f"softmax regression, {options.most} reads", loss, accuracy, seconds)
        for n_reads in range(2, FEW + 1):
            found = softmax(folder, n_reads)
            show(f"softmax regression, {n_reads} reads", *found)
            if found[0] <= loss + LOSS and found[1] >= max(accuracy - ACCURACY, best):
                break


if __name__ == "__main__":
    main()
