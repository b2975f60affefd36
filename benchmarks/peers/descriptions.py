"""Debian's descriptions of packages, told apart by section: JSON lines, beside Vowpal Wabbit from its own text file."""

import json
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import streamnb as snb
from benchmarks.peers.table import Row, Size, ratio

EXAMPLES = Path(__file__).parents[2] / "examples"  # scripts, which import from their own folder
ENOUGH = 0.8  # of the rows held back, right
N_FEATURES = 2**15
HELD = 5  # one of so many
WORD = re.compile(r"[a-z][a-z0-9+]{1,29}")
OTHER = "--oaa {} -b 22 --quiet"  # the fastest of its settings, one pass over single words, that comes to ENOUGH


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
