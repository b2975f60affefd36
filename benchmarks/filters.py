"""How accurate are filters? Beside fastText, trained on the same rows: `python -m benchmarks.filters`.

Two sets that most machines have: documents of the standard library, code for the network or not, as in
`examples/filter_corpus.py`, a fifth of the files to learn from and another held out, each in turn; and translated
messages of programs (`/usr/share/locale`, with Debian's packages such as iso-codes, gettext, coreutils and
libglib2.0-data), their language one of those with at least 1,000 messages; a fifth of the messages held out, in all
languages.

Each tool has several settings, of which one is chosen on a quarter of the rows to learn from, by AUC of two classes and
accuracy of more; with it, a model learns from all of them. Seconds are those of the processor for that fit. fastText
(`pip install fasttext-wheel`) is passed over where it is not installed; it reads texts in lower case, for source code
words alone.
"""

import argparse
import gettext
import json
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
from sklearn.metrics import roc_auc_score

import streamnb as snb
from benchmarks.corpus import EXAMPLES, one_line

PARTS = 5  # of the files of sources, at most
LOCALES = Path("/usr/share/locale")
FEWEST, MOST = 1_000, 2_000  # messages of a language
Row = tuple[str, str]  # a text and its label
OF_WORDS = {"transform": "log1p", "normalize": "l2", "idf": True}


class Found(NamedTuple):
    accuracy: float
    auc: float  # of two classes
    seconds: float


class Rows(NamedTuple):
    """Those to learn from, a quarter of them to choose by, and those held out."""

    train: list[Row]
    choice: list[bool]
    held_out: list[Row]


def sources(options: argparse.Namespace) -> Iterator[Rows]:
    sys.path.append(str(EXAMPLES))
    from filter_corpus import documents

    files = documents(10_000)
    for part in range(options.parts):
        train = [((row["text"], row["kind"]), k % 4 == 0) for k, file in enumerate(files[part::PARTS]) for row in file]
        held_out = [(row["text"], row["kind"]) for file in files[(part + 1) % PARTS :: PARTS] for row in file]
        yield Rows([row for row, _ in train], [apart for _, apart in train], held_out)


def messages(root: Path) -> Iterator[tuple[str, str, str]]:
    """Each message once in each language: original, translation and language."""
    seen = set()
    for path in sorted(root.glob("*/LC_MESSAGES/*.mo")):
        language, file = path.parts[-3].split(".")[0], path.resolve()
        if file in seen:
            continue
        seen.add(file)
        try:
            with path.open("rb") as opened:
                catalogue = gettext.GNUTranslations(opened)._catalog
        except (OSError, ValueError, LookupError):  # damaged
            continue
        for original, text in catalogue.items():
            if isinstance(original, str) and original and text and text != original and (text, language) not in seen:
                seen.add((text, language))
                yield original, text, language


def languages(options: argparse.Namespace) -> Iterator[Rows]:
    by_language: dict[str, list[tuple[str, str, str]]] = {}
    for message in messages(options.locales):
        by_language.setdefault(message[2], []).append(message)
    train, choice, held_out = [], [], []
    for language, some in sorted(by_language.items()):
        if len(some) < FEWEST:
            continue
        for place in np.random.default_rng(0).permutation(len(some))[:MOST]:
            original, text, _ = some[place]
            part = crc32(original.encode()) % 20
            if part < 4:
                held_out.append((text, language))
            else:
                train.append((text, language))
                choice.append(part < 8)
    yield Rows(train, choice, held_out)


OURS: dict[str, list[tuple[str, dict[str, Any], Any]]] = {
    "sources": [
        ("SoftmaxRegressionCV", {"words": words, "chars": chars}, lambda: snb.SoftmaxRegressionCV(**OF_WORDS))
        for words, chars in (((1, 2), None), ((1, 2), (3, 4)))
    ],
    "languages": [
        (f"LinearNB, smoothing {s:g}", sizes, lambda s=s: snb.LinearNB("multinomial", smoothing=s, **OF_WORDS))
        for sizes in (
            {"words": None, "chars": (1, 4)},
            {"words": (1, 2), "chars": (1, 5)},
            {"words": None, "bytes": (1, 6)},
            {"words": (1, 2), "bytes": (1, 6)},
        )
        for s in (0.1, 0.03)
    ],
}
THEIRS: dict[str, list[dict[str, Any]]] = {
    "sources": [
        {"wordNgrams": 2, "epoch": epoch, "lr": rate, **more}
        for more in ({}, {"minn": 3, "maxn": 5})
        for epoch, rate in ((5, 0.1), (5, 0.5), (25, 0.1), (25, 0.5))
    ],
    "languages": [
        {"minn": 2, "maxn": 4, "dim": 16, "epoch": 25, "lr": 0.5},  # sizes of fastText's own model of languages
        {"minn": 2, "maxn": 4, "dim": 50, "epoch": 25, "lr": 0.5},
        {"minn": 1, "maxn": 4, "dim": 50, "epoch": 10, "lr": 0.5},
    ],
}


SETS = {"sources": sources, "languages": languages}


def judged(y: np.ndarray, labels: np.ndarray, proba: np.ndarray, seconds: float) -> Found:
    auc = roc_auc_score(y == labels[1], proba[:, 1]) if len(labels) == 2 else np.nan
    return Found(float((labels[proba.argmax(axis=1)] == y).mean()), float(auc), seconds)


def ours(how: Any, train: list[Row], new: list[Row], folder: Path) -> Found:
    _, sizes, make = how
    path = folder / "train.jsonl"
    path.write_text("".join(json.dumps({"text": text, "label": label}) + "\n" for text, label in train))
    began = time.process_time()
    model = make().fit(snb.text(path, "text", y="label", n_features=2**20 if "bytes" in sizes else 2**18, **sizes))
    seconds = time.process_time() - began
    proba = model.predict_proba([text for text, _ in new])
    return judged(np.array([label for _, label in new]), model.classes_, proba, seconds)


def theirs(how: dict[str, Any], train: list[Row], new: list[Row], folder: Path) -> Found:
    import fasttext

    plain = one_line if "wordNgrams" in how else lambda text: " ".join(text.lower().split())
    path = folder / "train.txt"
    order = np.random.default_rng(0).permutation(len(train))
    path.write_text("".join(f"__label__{train[k][1]} {plain(train[k][0])}\n" for k in order))
    began = time.process_time()
    model = fasttext.train_supervised(str(path), thread=1, verbose=0, **how)
    seconds = time.process_time() - began
    labels = np.unique([label for _, label in train])
    places = {f"__label__{label}": k for k, label in enumerate(labels)}
    proba = np.zeros((len(new), len(labels)))
    for row, (text, _) in enumerate(new):
        for share, name in model.f.predict(plain(text) + "\n", -1 if len(labels) == 2 else 1, 0.0, "strict"):
            proba[row, places[name]] = share
    return judged(np.array([label for _, label in new]), labels, proba, seconds)


def chosen(fit: Any, settings: list[Any], rows: Rows, folder: Path) -> Found:
    """How the setting does on the rows held out that is best on those to choose by."""
    fewer = [row for row, apart in zip(rows.train, rows.choice, strict=True) if not apart]
    others = [row for row, apart in zip(rows.train, rows.choice, strict=True) if apart]
    best, most = settings[0], -1.0
    for how in settings:
        found = fit(how, fewer, others, folder)
        score = found.accuracy if np.isnan(found.auc) else found.auc
        print(f"    {score:.4f} {how[:2] if isinstance(how, tuple) else how}", flush=True)
        if score > most:
            best, most = how, score
    found = fit(best, rows.train, rows.held_out, folder)
    print(f"  held out: {found} by {best[:2] if isinstance(best, tuple) else best}", flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=[*SETS])
    parser.add_argument("--locales", type=Path, default=LOCALES, help="where catalogues of messages lie")
    parser.add_argument("--parts", type=int, default=PARTS, help="fifths of the files of sources to learn from in turn")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    tools = {"streamnb": (ours, OURS)} | ({"fastText": (theirs, THEIRS)} if find_spec("fasttext") else {})
    for name in [options.only] if options.only else SETS:
        results: dict[str, list[Found]] = {tool: [] for tool in tools}
        with tempfile.TemporaryDirectory() as folder:
            for rows in SETS[name](options):
                n_labels = len({label for _, label in rows.train})
                print(f"{name}: {len(rows.train):,} rows, {len(rows.held_out):,} held out, {n_labels} labels")
                for tool, (fit, settings) in tools.items():
                    results[tool].append(chosen(fit, settings[name], rows, Path(folder)))
        for tool, found in results.items():
            accuracy, auc, seconds = np.mean(found, axis=0)
            print(f"{name}, {tool}: accuracy {accuracy:.4f}, AUC {auc:.4f}, {seconds:.1f} s", flush=True)


if __name__ == "__main__":
    main()
