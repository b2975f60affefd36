"""Texts as they lie: JSON lines to models, without a matrix in between.

Rows are five lines of source, labels the packages of the standard library that they come from. Words and pairs of words
are hashed while the file is read; the same rows are then counted by a vocabulary that one pass learns.

    python examples/texts.py
"""

import json
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import streamnb as snb

PACKAGES = ["asyncio", "email", "json", "unittest"]
LINES_PER_ROW = 5


def main():
    with TemporaryDirectory() as folder:
        train, test = write(Path(folder))
        rows = snb.text(train, text="source", y="package", words=(1, 2), n_features=2**16)
        print(f"{rows.n_rows:,} rows of {len(PACKAGES)} packages")
        print("accuracy")
        print(f"naive Bayes, one scan         {snb.LinearNB('multinomial').fit(rows).score(test):.3f}")
        softmax = snb.SoftmaxRegression(l2=1.0, tol=0.03).fit(rows)
        print(f"softmax, {softmax.n_passes_:2} reads more        {softmax.score(test):.3f}")

        rows = snb.text(train, text="source", y="package", vocabulary=3000)
        model = snb.LinearNB("multinomial", snb.TopK(20, by="score")).fit(rows)
        print(f"20 words of each package      {model.score(test):.3f}")
        print("\nThe words that tell most:")
        for label, weights in zip(model.classes_, model.coef_):
            best = np.argsort(-weights)[:6]
            print(f"{label:>10}  {'  '.join(rows.vocabulary[j] for j in best if weights[j] > 0)}")


def write(folder):
    """JSON lines for training, and of every fifth file for testing."""
    paths = folder / "train.jsonl", folder / "test.jsonl"
    with paths[0].open("w") as train, paths[1].open("w") as test:
        for package in PACKAGES:
            for k, path in enumerate(sorted(Path(find_spec(package).origin).parent.rglob("*.py"))):
                lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
                for i in range(0, len(lines), LINES_PER_ROW):
                    row = {"source": "\n".join(lines[i : i + LINES_PER_ROW]), "package": package}
                    (test if k % 5 == 4 else train).write(json.dumps(row) + "\n")
    return paths


if __name__ == "__main__":
    main()
