"""Which model when: naive Bayes from one scan beside models of a few reads more, on rows held back.

    python examples/several_passes.py [--debian] [--packages 8000] [--penalties 4]

Handwritten digits come with scikit-learn. With --debian also the packages of Debian, told apart by the words of their
descriptions; classes are the sections of the archive. `apt-get update` fetches the lists into a folder of their own,
which needs Debian or Ubuntu and a network; nothing of the system is changed. Without them, it says so.

A row in five is held back. Penalties, and how often the rows are read, are chosen on three folds of the others, in
reads that all models share. The last line is scikit-learn's logistic regression, its C chosen on the same folds.
Seconds are those of one thread.
"""

import argparse
import warnings
from time import perf_counter

import numpy as np
from sklearn.datasets import load_digits
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, PredefinedSplit
from sklearn.pipeline import make_pipeline
from thesis_tables import descriptions
from threadpoolctl import threadpool_limits

import streamnb as snb

FEWEST = 10  # packages of a section, which others are left out for
N_FOLDS = 3


def main():
    options = parse_options()
    warnings.simplefilter("ignore")  # that a fold lacks a class, that few reads were spent
    X, y = load_digits(return_X_y=True)
    compare("digits", X, y, options)
    if options.debian:
        debian(options)


def debian(options):
    texts, sections = descriptions(options.packages, n_sections=100)
    if not texts:
        print("No Debian packages: apt-get is missing, or could not fetch its lists (is there a network?)")
        return
    X, y = CountVectorizer(token_pattern=r"[a-z][a-z0-9+]+", min_df=3).fit_transform(texts), np.array(sections)
    names, sizes = np.unique(y, return_counts=True)
    kept = np.isin(y, names[sizes >= FEWEST])
    compare("debian", X[kept].astype(np.float64), y[kept], options, idf=True, normalize="l2")


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--debian", action="store_true", help="descriptions of Debian packages, too")
    parser.add_argument("--packages", type=int, default=8_000, help="at most so many (default %(default)s)")
    parser.add_argument("--penalties", type=int, default=4, help="so many are judged (default %(default)s)")
    return parser.parse_args()


def compare(name, X, y, options, **prepared):
    """Print accuracy, AUC, reads and seconds of every model on rows held back."""
    held_out, strengths = snb.fold_numbers(len(y), 5) == 0, np.geomspace(100.0, 0.1, options.penalties)
    train, test, n_rows = (X[~held_out], y[~held_out]), (X[held_out], y[held_out]), np.count_nonzero(~held_out)
    print(f"{name}: {n_rows:,} rows, {X.shape[1]:,} features, {len(np.unique(y))} classes\n")
    print(f"{'':24} {'accuracy':>8} {'AUC':>6} {'reads':>6} {'seconds':>8}")
    for model in models(strengths, prepared):
        model.fit(X[:500], y[:500])  # compiles
        started = perf_counter()
        model.fit(*train, n_threads=1)
        tell(type(model).__name__, model, test, perf_counter() - started, n_reads(model, n_rows))
    search = GridSearchCV(
        peer(prepared),
        {"logisticregression__C": 1.0 / strengths},
        cv=PredefinedSplit(snb.fold_numbers(n_rows, N_FOLDS)),
    )
    started = perf_counter()
    with threadpool_limits(1):
        search.fit(*train)
    tell("scikit-learn's", search, test, perf_counter() - started)
    print()


def models(strengths, prepared):
    """Naive Bayes, with one penalty and with a choice of them, and what takes a few reads more."""
    chosen = {"folds": N_FOLDS, "scoring": "accuracy", **prepared}
    yield snb.LinearNB("multinomial", **prepared)
    yield snb.LinearNBCV("multinomial", snb.L1(n_taus=10, scale="score"), **chosen)
    for kind in (snb.LeastSquaresClassifierCV, snb.MarginClassifierCV, snb.SoftmaxRegressionCV):
        yield kind(strengths, **chosen)


def peer(prepared):
    """Logistic regression of scikit-learn on the same features."""
    steps = [TfidfTransformer()] if prepared else []
    return make_pipeline(*steps, LogisticRegression(max_iter=500))


def n_reads(model, n_rows):
    """How often the model read the rows, the scans among these."""
    reports = model.report_, getattr(model, "scoring_report_", None)
    return sum(report.rows for report in reports if report is not None) // n_rows


def tell(name, model, test, seconds, reads=""):
    judged = snb.evaluate(test[1], model.predict(test[0]), scores=model.decision_function(test[0]))
    print(f"{name:24} {judged.accuracy():8.4f} {judged.roc_auc():6.4f} {reads:>6} {seconds:8.1f}")


if __name__ == "__main__":
    main()
