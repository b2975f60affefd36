"""Text for the demonstration: the Python source on this machine as labelled rows of hashed counts.

A row is two source lines, its label the top-level package it comes from. A file is either for training or
held out, never both.
"""

import os
import random
import re
import sysconfig
import zlib
from collections import Counter, deque
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.feature_extraction.text import HashingVectorizer

N_FEATURES = 2**18
N_PACKAGES = 24
HELD_OUT_ONE_IN = 25
LINES_PER_ROW = 2
LONGEST_LINE = 200
ROWS_WANTED = 1_100_000  # a million for training, the rest held out
ROWS_PER_CHUNK = 8192
NGRAM_SIZES = (3, 4, 5)
TOKEN = re.compile(r"\w+|[^\w\s]+")
TOKEN_TAG = "token "  # makes a token longer than any n-gram, so that it never shares a name with one


class SourceFile(NamedTuple):
    """One file of source: where it is, its name below its root, its package and its lines that are not blank."""

    path: Path
    name: str
    package: str
    n_lines: int


class Sampling(NamedTuple):
    """Which lines become a row: two from every `step`-th on, and this share of all such rows."""

    step: int
    share: float

    @classmethod
    def about(cls, n_rows, files):
        """Rows overlap only where there is too little text for a million of them otherwise."""
        n_lines = sum(file.n_lines for file in files)
        step = LINES_PER_ROW if n_lines >= LINES_PER_ROW * min(n_rows, ROWS_WANTED) else 1
        return cls(step, min(1.0, n_rows * step / n_lines))


@cache
def find_files():
    """Source files of the packages with most lines, shuffled (always the same way) to mix the packages."""
    paths = sysconfig.get_paths()
    roots = dict.fromkeys(Path(paths[kind]) for kind in ("stdlib", "purelib", "platlib"))
    files = [file for root in roots for file in files_below(root)]
    lines, many = Counter(), Counter(file.package for file in files)
    for file in files:
        if many[file.package] >= HELD_OUT_ONE_IN:  # files enough to hold some out
            lines[file.package] += file.n_lines
    packages = {package for package, _ in lines.most_common(N_PACKAGES)}
    files = [file for file in files if file.package in packages]
    random.Random(0).shuffle(files)
    return files


def files_below(root):
    for path in sorted(root.rglob("*.py")):
        name = path.relative_to(root)
        package = name.parts[0].removesuffix(".py")
        # The standard library's folder may hold the installed packages: they are a root of their own.
        if package in ("site-packages", "dist-packages") or not path.is_file():
            continue
        if n_lines := len(lines_of(path)):
            yield SourceFile(path, name.as_posix(), package, n_lines)


def split(files):
    """Training files and held-out files: of each package the one in so many whose names have the smallest hashes."""
    packages = {}
    for file in sorted(files, key=lambda file: zlib.crc32(file.name.encode())):
        packages.setdefault(file.package, []).append(file)
    held_out = {file for own in packages.values() for file in own[: len(own) // HELD_OUT_ONE_IN]}
    return [file for file in files if file not in held_out], [file for file in files if file in held_out]


def lines_of(path):
    text = path.read_text(encoding="utf-8", errors="replace")
    return [line for line in map(str.strip, text.splitlines()) if line]


def rows_of(file, sampling):
    """The rows of a file as text; which ones are sampled depends on its name only."""
    lines = [line[:LONGEST_LINE] for line in lines_of(file.path)]
    starts = range(0, len(lines), sampling.step)
    chance = random.Random(file.name)
    return ["\n".join(lines[i : i + LINES_PER_ROW]) for i in starts if chance.random() < sampling.share]


def features_of(text):
    """Tokens and character n-grams."""
    tokens = [TOKEN_TAG + token for token in TOKEN.findall(text)]
    ngrams = [text[i : i + size] for size in NGRAM_SIZES for i in range(len(text) - size + 1)]
    return tokens + ngrams


def hasher(analyzer):
    return HashingVectorizer(
        n_features=N_FEATURES, analyzer=analyzer, norm=None, alternate_sign=False, dtype=np.float32
    )


def hash_files(files, sampling):
    """Counts (CSR) and labels of all rows of some files."""
    rows = [rows_of(file, sampling) for file in files]
    labels = np.repeat([file.package for file in files], [len(texts) for texts in rows])
    return hasher(features_of).transform([text for texts in rows for text in texts]), labels


def hashed_chunks(files, sampling):
    """Yield `hash_files` of a few files at a time, in order, computed on all cores and never far ahead."""
    n_workers = min(8, os.cpu_count() or 1)
    pending = deque()
    with ProcessPoolExecutor(n_workers, mp_context=get_context("forkserver")) as pool:
        for batch in batches(files, ROWS_PER_CHUNK * sampling.step / sampling.share):
            pending.append(pool.submit(hash_files, batch, sampling))
            if len(pending) > 2 * n_workers:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()


def batches(files, n_lines):
    """Cut a list of files where `n_lines` lines are reached."""
    batch, seen = [], 0
    for file in files:
        batch.append(file)
        seen += file.n_lines
        if seen >= n_lines:
            yield batch
            batch, seen = [], 0
    if batch:
        yield batch


def feature_names(n_rows=10_000):
    """Name of each column: hashing is one-way, so hash what a sample of the text holds; the most frequent wins."""
    files = find_files()
    sampling = Sampling.about(n_rows, files)
    counts = Counter()
    for file in files:
        for text in rows_of(file, sampling):
            counts.update(features_of(text))
    features = [feature for feature, count in reversed(counts.most_common()) if count > 1]
    columns = hasher(lambda feature: [feature]).transform(features).indices
    return dict(zip(columns.tolist(), features, strict=True))
