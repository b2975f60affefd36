"""Text for the examples: five lines a row of the standard library, labelled by the package they come from."""

from importlib.util import find_spec
from pathlib import Path

import numpy as np
from sklearn.feature_extraction.text import HashingVectorizer

PACKAGES = ["asyncio", "email", "http", "json", "unittest", "xml"]
N_FEATURES = 2**16
LINES_PER_ROW = 5


def chunks(packages=PACKAGES):
    """Yield counts of words (CSR) and labels, a file at a time; the packages take turns."""
    files = {name: sorted(Path(find_spec(name).origin).parent.rglob("*.py")) for name in packages}
    words = HashingVectorizer(n_features=N_FEATURES, norm=None, alternate_sign=False, dtype=np.float32)
    for turn in range(max(map(len, files.values()))):
        for name in packages:
            for path in files[name][turn : turn + 1]:
                lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
                rows = [" ".join(lines[i : i + LINES_PER_ROW]) for i in range(0, len(lines), LINES_PER_ROW)]
                if rows:
                    yield words.transform(rows), np.full(len(rows), name)
