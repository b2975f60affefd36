"""Columns that tell the label almost alone are named; others are not, of real data neither."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn import datasets

import streamnb as snb

RNG = np.random.default_rng(0)
X = RNG.normal(size=500)
LATE = X > 0.3
TABLE = pd.DataFrame({"noise": RNG.normal(size=500), "kind": RNG.choice(list("abc"), 500), "late": LATE})


def said(frame, label="late", make=None):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        (make or snb.LinearNB("auto")).fit(frame, label)
    return [str(one.message) for one in caught if "alone almost" in str(one.message)]


@pytest.mark.parametrize(
    "column",
    [
        X,
        np.where(LATE, "yes", "no"),
        np.where(LATE & (RNG.random(500) > 0.001), RNG.integers(1, 400, 500), 0),  # an amount that only these have
        np.where(np.arange(500) == 7, "yes", np.where(LATE, "yes", "no")),
    ],
)
def test_a_column_that_tells_the_label_is_named_once(column):
    for make in (snb.LinearNB("auto"), snb.SoftmaxRegression(tol=0.1)):
        (found,) = said(TABLE.assign(told=column), make=make)
        assert found.startswith("each of the columns ['told'] alone almost determines the label")


@pytest.mark.parametrize(
    "given", [{"families": ["auto"]}, {"families": [], "models": [snb.SoftmaxRegressionCV([1.0])]}]
)
def test_a_search_names_it_once(given):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        snb.search(TABLE.assign(told=np.where(LATE, "yes", "no")), "late", folds=3, show=False, **given)
    assert [str(one.message)[:31] for one in caught] == ["each of the columns ['told'] al"]


def test_a_hashed_column_is_named_too():
    told = np.where(LATE, "yes", "no") + pd.Series(np.arange(500) % 40).astype(str)
    rows = snb.table(TABLE.assign(told=told), "late", hashed=["told"], hash_features=2**16)
    (found,) = said(rows, None)
    assert "['told']" in found
    several = snb.table(TABLE.assign(told=told), "late", hashed=["told", "kind"], hash_features=2**16)
    assert not said(several, None)  # columns of the model are of both then
    row = [f"r{i // 2 * 2}" for i in range(500)]
    assert not said(snb.table(TABLE.assign(row=row), "late", hashed=["row"], hash_features=2**16), None)


def test_columns_that_do_not_tell_it():
    near = np.where(RNG.random(500) < 0.05, ~LATE, LATE)
    rows = [f"r{i}" for i in range(500)]
    assert not said(TABLE.assign(near=near.astype(str), row=rows, number=np.arange(500.0)))
    assert not said(TABLE.assign(few=np.where(LATE, "a", "b"))[:90])
    rare = RNG.random(500) < 0.02
    assert not said(TABLE.assign(late=rare, width=np.where(rare, 0.5, RNG.random(500))))


@pytest.mark.parametrize("name", ["iris", "breast_cancer", "wine", "digits"])
def test_no_false_alarm(name):
    frame, y = getattr(datasets, f"load_{name}")(return_X_y=True, as_frame=True)
    assert not said(frame, y)


@pytest.mark.parametrize("weight", [0.001, 20.0])
def test_weights_are_no_numbers_of_rows(weight):
    table = TABLE.assign(row=[f"r{i}" for i in range(500)])
    weighted = {"sample_weight": np.full(500, weight)}

    class Weighted(snb.LinearNB):
        def fit(self, X, y):
            return super().fit(X, y, **weighted)

    assert not said(table, make=Weighted("auto"))
    assert said(table.assign(told=np.where(LATE, "yes", "no")), make=Weighted("auto"))
