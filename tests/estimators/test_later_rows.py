"""Rows that `partial_fit` adds, whose values the rows of the first call did not have."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as of_numpy

import streamnb as snb

RNG = np.random.default_rng(0)
Y = np.arange(200) % 2
REAL = RNG.random((200, 2))
SHIFTED = np.add(REAL, [0.0, 5.0])
CODES = of_numpy.arrays(float, st.tuples(st.integers(2, 8), st.just(2)), elements=st.integers(0, 4))


def said(model, *rows, **options):
    with warnings.catch_warnings(record=True, action="always") as caught:
        model.partial_fit(*rows, **options)
    return [str(one.message) for one in caught if issubclass(one.category, snb.StreamnbWarning)]


@given(CODES, CODES, st.sampled_from([np.asarray, sp.csr_array]), st.booleans())
@pytest.mark.filterwarnings("ignore::streamnb.core.messages.StreamnbWarning")
def test_new_categories_count_as_in_a_fit_of_all_rows(first, more, form, mixed):
    family = snb.Mixed([("gaussian", [0]), ("categorical", [1])]) if mixed else "categorical"
    y = [np.arange(len(X)) % 2 for X in (first, more)]
    model = snb.LinearNB(family).fit(form(first), y[0]).partial_fit(form(more), y[1])
    whole = snb.LinearNB(family).fit(np.concatenate([first, more]), np.concatenate(y))
    alone = snb.LinearNB(family).fit(first, y[0])
    for one, other in ((model, whole), (model, alone)):
        if other is alone:
            model.forget(form(more), y[1])
        assert one.column_names_.tolist() == other.column_names_.tolist()
        np.testing.assert_array_equal(one.coef_, other.coef_)
        np.testing.assert_array_equal(one.intercept_, other.intercept_)


def test_a_category_that_comes_later_is_learned(tmp_path):
    X = np.column_stack([np.arange(200) % 3, np.arange(200) % 2]).astype(float)
    model = snb.LinearNB("categorical").fit(X, np.arange(200) // 2 % 2)
    model.save(tmp_path / "model.snb")
    for one in (model, snb.load(tmp_path / "model.snb")):
        one.partial_fit(np.full((200, 2), 7.0), np.ones(200, int), decay=0.5)
        assert one.predict_proba([[7.0, 7.0]])[0, 1] > 0.99 and one.n_features_in_ == 2
        assert one.stats_.n_features == 7


def later(transform, X, family="gaussian", **options):
    model = snb.LinearNB(family, transform=transform).fit(pd.DataFrame(REAL, columns=["a", "b"]), Y)
    return said(model, pd.DataFrame(X, columns=["a", "b"]), Y, **options)


@pytest.mark.parametrize(
    ("transform", "message"),
    [
        (snb.Bins(6), r"most numbers of \['b'\] lie beyond the borders of all bins"),
        ("quantile_normal", r"most numbers of \['b'\] lie beyond all numbers of the first rows"),
    ],
)
def test_numbers_that_mostly_lie_beyond_what_was_learned_are_named(transform, message):
    few = np.where(np.arange(200)[:, None] < 60, SHIFTED, REAL)
    assert not later(transform, few) and not later(transform, RNG.random((200, 2)))
    for X, options in ((SHIFTED, {}), (few, {"sample_weight": np.where(np.arange(200) < 60, 1.0, 0.1)})):
        (text,) = later(transform, X, **options)
        assert re.search(message, text), text
    assert not later(snb.Bins(edges=[0.2, 0.4]), SHIFTED)


def test_categories_that_cannot_become_columns_are_counted():
    X = np.column_stack([np.arange(200) % 3, np.arange(200) % 2]).astype(float)
    tree = snb.TreeNB(family="categorical", max_features=1).fit(X, Y)
    assert not said(tree, X, Y)
    assert "have no effect: 200 of 'x" in said(tree, X + 5.0, Y)[0]
    model = snb.LinearNB("categorical").fit(X, Y)
    (text,) = said(model, iter([(np.add(X, [2.0, 5.0]), Y)]))
    assert "have no effect: 133 of 'x0', 200 of 'x1', in 200 rows" in text


def test_trees_learn_new_categories_of_all_columns():
    X, more = (RNG.integers(low, low + 3, (200, 3)).astype(float) for low in (0, 1))
    tree = snb.TreeNB(family="categorical").fit(X, Y).partial_fit(more, Y)
    whole = snb.TreeNB(family="categorical").fit(np.concatenate([X, more]), np.tile(Y, 2))
    np.testing.assert_array_equal(tree.predict_proba(more), whole.predict_proba(more))
