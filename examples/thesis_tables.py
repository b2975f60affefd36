"""Tables 2 to 4 of the thesis on data that anybody has: families against penalties, class by class.

    python examples/thesis_tables.py [--out build/tables] [--points 20] [--debian] [--packages 20000]

Handwritten digits come with scikit-learn. With --debian also the packages of Debian, told apart by the words of their
descriptions; classes are the largest sections of the archive. `apt-get update` fetches the lists into a folder of
their own, which needs Debian or Ubuntu and a network; nothing of the system is changed. Without them, it says so.

Each data set is read twice, whatever the numbers of families, penalties and grid points.
"""

import argparse
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import apt_lists
import numpy as np
from sklearn.datasets import load_digits
from sklearn.feature_extraction.text import CountVectorizer

import streamnb as snb

INK = 7.5  # a pixel is present in the darker half of its range
RHOS = [0.1, 0.3]  # of decorrelation, in units of the curvature
N_SECTIONS = 12
N_WORDS = 1000
N_POINTS = 8  # for packages, unless fewer are asked for


def main():
    options = parse_options()
    options.out.mkdir(parents=True, exist_ok=True)
    X, y = load_digits(return_X_y=True)
    tables(options, "digits", X, y, penalties=penalties(X.shape[1], options.points), binarize=INK)
    if options.debian:
        debian(options)


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--out", type=Path, default=Path("build/tables"), help="folder for the tables")
    parser.add_argument(
        "--points", type=int, default=20, help="taus and numbers of features tried (default %(default)s)"
    )
    parser.add_argument("--debian", action="store_true", help="descriptions of Debian packages, too")
    parser.add_argument("--packages", type=int, default=20_000, help="at most so many (default %(default)s)")
    return parser.parse_args()


def penalties(n_features, n_points):
    """The columns of the thesis, with grids of that size."""
    top_k = snb.TopK(np.unique(np.geomspace(1, n_features, n_points).round().astype(int)).tolist())
    l1, apart = snb.L1(n_taus=n_points), snb.Decorrelation(RHOS, scale="curvature")
    return {"plain": None, "TopK": top_k, "L1": l1, "TopK + Decorr.": top_k + apart, "L1 + Decorr.": l1 + apart}


def tables(options, name, X, y, **more):
    """Print the tables of a data set and write them as text and CSV."""
    print(f"{name}: {X.shape[0]:,} rows, {X.shape[1]:,} features, {len(np.unique(y))} classes\n")
    started = perf_counter()
    comparison = snb.compare(X, y, **more)
    files = [options.out / f"{name}.txt", options.out / f"{name}.csv"]
    files[0].write_text(f"{comparison}\n")
    comparison.to_frame().to_csv(files[1], index=False)
    print(f"\n{comparison.report_.rows:,} rows read in two scans; {perf_counter() - started:.0f} s in all")
    print(f"Wrote {files[0]} and {files[1]}\n")


# ---- packages of Debian ----------------------------------------------------------------------------------------------


def debian(options):
    texts, sections = descriptions(options.packages)
    if not texts:
        print("No Debian packages: apt-get is missing, or could not fetch its lists (is there a network?)")
        return
    X = CountVectorizer(max_features=N_WORDS, token_pattern=r"[a-z]{2,}").fit_transform(texts)
    tables(options, "debian", X, np.array(sections), penalties=penalties(X.shape[1], min(options.points, N_POINTS)))


def descriptions(most, n_sections=N_SECTIONS):
    """Descriptions of at most so many packages of the largest sections, evenly from all, and their sections."""
    with TemporaryDirectory() as folder:
        lists = apt_lists.fetched(Path(folder), {"Acquire::Languages": "en"})
        english = {p["Package"]: p["Description-en"] for p in paragraphs(lists, "*Translation-en", "Description-en")}
        packages = {p["Package"]: p for p in paragraphs(lists, "*_Packages", "Section")}
    largest = {section for section, _ in Counter(p["Section"] for p in packages.values()).most_common(n_sections)}
    chosen = [
        (english.get(name, p["Description"]), p["Section"]) for name, p in packages.items() if p["Section"] in largest
    ]
    order = np.random.default_rng(0).permutation(len(chosen))[:most]
    return [chosen[i][0] for i in order], [chosen[i][1] for i in order]


def paragraphs(lists, pattern, wanted):
    """Fields of each package in the lists of that name, of those packages that have the wanted one."""
    for path in sorted(lists.glob(pattern)):
        for text in path.read_text(encoding="utf-8").split("\n\n"):
            lines = text.replace("\n ", " ").splitlines()  # a field goes on where a line begins with a space
            fields = dict(line.split(": ", 1) for line in lines if ": " in line)
            if wanted in fields:
                yield fields


if __name__ == "__main__":
    main()
