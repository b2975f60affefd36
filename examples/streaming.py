"""Rows that come and go: which package of the standard library is a line of code from?

    python examples/streaming.py

Statistics are sums, so rows are added by `partial_fit`, taken away by `forget`, weighed down by age (`decay=`), and
whatever is left is, to the last bit, what one scan of the rows that count would have given.
"""

from itertools import islice

import numpy as np
import scipy.sparse as sp
from library_text import N_FEATURES, chunks

import streamnb as snb


def main():
    parts = list(islice(chunks(), 90))
    (X_test, y_test), parts = stacked(parts[::5]), [part for k, part in enumerate(parts) if k % 5]
    model = snb.LinearNB("multinomial")
    print("rows seen  packages  held-out accuracy")
    for k, (X, y) in enumerate(parts):  # each file is read once and need not be kept
        model.partial_fit(X, y)
        if k % 18 == 17:
            print(f"{model.stats_.n_rows:9,d} {len(model.classes_):9d} {model.score(X_test, y_test):18.3f}")

    first, rest = stacked(parts[:30]), stacked(parts[30:])
    model.forget(*first)
    afresh = snb.LinearNB("multinomial").fit(*rest)
    same = np.array_equal(model.coef_, afresh.coef_) and np.array_equal(model.intercept_, afresh.intercept_)
    print(f"\nThe oldest {len(first[1]):,d} rows forgotten; the same bits as a fit without them: {same}")

    weeks = [stacked(parts[k::4]) for k in range(4)]
    sums = [snb.scan(*week, moments=["sum"]) for week in weeks]
    window = sums[0] + sums[1] + sums[2]
    window = window + sums[3] - sums[0]  # a sliding window
    print(f"A window of three weeks, slid by one: {window.n_rows:,d} rows of {N_FEATURES:,d} features")
    penalty = snb.L1(1.0, scale="score")
    fading = snb.LinearNB("multinomial", penalty)
    for week in weeks:
        fading.partial_fit(*week, decay=0.5)  # each week counts half of the next
    for name, model in (("window", snb.solve(window, "multinomial", penalty)[0]), ("fading", fading)):
        kept = np.count_nonzero(model.coef_.any(axis=0))
        print(f"{name:<8} {kept:6d} features, held-out accuracy {model.score(X_test, y_test):.3f}")


def stacked(parts):
    """One CSR array and one array of labels."""
    return sp.vstack([X for X, _ in parts], format="csr"), np.concatenate([y for _, y in parts])


if __name__ == "__main__":
    main()
