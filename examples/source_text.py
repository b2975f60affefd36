"""Text for the demonstration: the Python source on this machine as JSON lines.

A row is two source lines, its label the top-level package it comes from. A file is either for training or
held out, never both.
"""

import json
import random
import sysconfig
import zlib
from collections import Counter
from functools import cache
from pathlib import Path
from typing import NamedTuple

N_PACKAGES = 24
HELD_OUT_ONE_IN = 25
LINES_PER_ROW = 2
LONGEST_LINE = 200
ROWS_WANTED = 1_100_000  # a million for training, the rest held out


class SourceFile(NamedTuple):
    """One file of source: where it is, its name below its root, its package and its size."""

    path: Path
    name: str
    package: str
    n_bytes: int


class Sampling(NamedTuple):
    """Which lines become a row: of this share of files, two from every `step`-th on, and a share of all such rows."""

    files: float
    step: int
    share: float

    @classmethod
    def about(cls, n_rows, files):
        """Rows overlap only where there is too little text for a million of them otherwise."""
        counted = files[::50]
        lines_per_byte = sum(len(lines_of(file.path)) for file in counted) / sum(file.n_bytes for file in counted)
        n_lines = lines_per_byte * sum(file.n_bytes for file in files)
        step = LINES_PER_ROW if n_lines >= LINES_PER_ROW * min(n_rows, ROWS_WANTED) else 1
        share = min(1.0, n_rows * step / n_lines)
        some = min(1.0, 50 * share)  # few rows are a fiftieth of the lines of some files: others are not read
        return cls(some, step, share / some)


@cache
def find_files():
    """Source files of the packages with most text, shuffled (always the same way) to mix the packages."""
    paths = sysconfig.get_paths()
    roots = dict.fromkeys(Path(paths[kind]) for kind in ("stdlib", "purelib", "platlib"))
    files = [file for root in roots for file in files_below(root)]
    sizes, many = Counter(), Counter(file.package for file in files)
    for file in files:
        if many[file.package] >= HELD_OUT_ONE_IN:  # files enough to hold some out
            sizes[file.package] += file.n_bytes
    packages = {package for package, _ in sizes.most_common(N_PACKAGES)}
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
        if n_bytes := path.stat().st_size:
            yield SourceFile(path, name.as_posix(), package, n_bytes)


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
    chance = random.Random(file.name)
    if chance.random() >= sampling.files:
        return []
    lines = [line[:LONGEST_LINE] for line in lines_of(file.path)]
    starts = range(0, len(lines), sampling.step)
    return ["\n".join(lines[i : i + LINES_PER_ROW]) for i in starts if chance.random() < sampling.share]


def write(path, files, sampling):
    """Write the rows of some files as JSON lines, {"text": .., "package": ..}."""
    with path.open("w", encoding="utf-8") as out:
        for file in files:
            label = json.dumps(file.package)
            out.writelines(f'{{"text": {json.dumps(text)}, "package": {label}}}\n' for text in rows_of(file, sampling))
