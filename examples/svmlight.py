"""A svmlight file as it lies: looked through once, fitted by ranges of bytes, judged in folds, turned into a store.

    python examples/svmlight.py [rows.svm]

Without a file it writes one of its own, of handwritten digits: a line is a label and `index:value` for what is not 0.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np
from sklearn.datasets import dump_svmlight_file, load_digits

import streamnb as snb


def written(folder):
    """The path of a file of digits, the last 300 of them in another one."""
    X, digit = load_digits(return_X_y=True)
    for name, rows in (("train.svm", np.s_[:-300]), ("test.svm", np.s_[-300:])):
        dump_svmlight_file(X[rows], digit[rows], str(folder / name), zero_based=False)
    return folder / "train.svm", folder / "test.svm"


def main(path, test, folder):
    """Fit, judge and convert a file; `test` is another one with rows of the same features, or None."""
    rows = snb.svmlight(path)
    print(rows)
    model = snb.LinearNBCV("poisson", snb.L1(scale="score", n_taus=8), folds=3, scoring="accuracy").fit(rows)
    kept = int((model.coef_ != 0).any(axis=0).sum())
    print(f"{kept} of {rows.n_features} features kept, {model.score(rows):.3f} of the rows of the fit are right")
    if test is not None:
        new = snb.svmlight(test, n_features=rows.n_features, zero_based=rows.zero_based)
        print(f"{model.score(new):.3f} of {new.n_rows} new rows")
    snb.convert(rows, folder / "rows.zarr")
    again = snb.LinearNB("poisson").fit(folder / "rows.zarr", "y")
    same = np.array_equal(again.coef_, snb.LinearNB("poisson").fit(rows).coef_)
    print(f"the same model from a store: {same}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        given = (sys.argv[1], None) if sys.argv[1:] else written(Path(folder))
        main(*given, Path(folder))
