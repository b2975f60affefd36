"""The selector: scikit-learn's contract, any X, and the features that the ranking puts first."""

import dask.array as da
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits
from sklearn.feature_selection import SelectKBest, chi2, f_classif
from sklearn.utils import get_tags

import streamnb as snb
from streamnb.selection.criteria import CRITERIA
from tests.support.refusals import refuses
from tests.support.strategies import FORMS, build, example, is_weighted

SELECTORS = [snb.FeatureSelector(by, k=1) for by in CRITERIA] + [
    snb.FeatureSelector(),
    snb.FeatureSelector("f_classif", "all"),
    snb.FeatureSelector("mutual_info", 2, presence="nonzero"),
    snb.FeatureSelector("score", 2, family="gaussian", scheme="ovr"),
    snb.FeatureSelector("score", 2, family=snb.Bernoulli(), binarize=0.5),
    snb.FeatureSelector("fcbf", 2),
]


def plain(x):
    return x.toarray() if sp.issparse(x) else np.asarray(x)


@pytest.mark.parametrize("by", CRITERIA)
def test_the_ranking_is_that_of_the_statistics(by):
    rows = example()
    fitted = snb.FeatureSelector(by, 4).fit(rows.x, rows.y, sample_weight=rows.w)
    ranked = snb.rank_features(snb.scan(rows.x, rows.y, sample_weight=rows.w), by)
    assert np.array_equal(fitted.scores_, ranked.scores) and np.array_equal(fitted.ranking_, ranked.ranking)
    assert (fitted.pvalues_ is None) == (ranked.pvalues is None)
    kept = sorted(ranked.ranking[:4])
    assert fitted.get_support(indices=True).tolist() == kept
    assert np.array_equal(fitted.transform(rows.x), rows.x[:, kept])


@pytest.mark.parametrize(
    ("by", "function", "make"),
    [("chi2", chi2, sp.csr_array), ("chi2", chi2, sp.csc_matrix), ("f_classif", f_classif, np.asarray)],
)
def test_select_k_best_of_scikit_learn(by, function, make):
    X, y = load_digits(return_X_y=True)
    X = X[:, X.any(axis=0)]
    ours, theirs = snb.FeatureSelector(by, 20).fit(make(X), y), SelectKBest(function, k=20).fit(X, y)
    assert np.array_equal(ours.get_support(), theirs.get_support())
    ours, theirs = (model.transform(make(X)) for model in (ours, theirs))
    assert type(ours) is type(theirs) and np.array_equal(plain(ours), plain(theirs))


def test_partial_fit_with_one_class_waits_for_a_second():
    rows = example()
    first = rows.y == "b"
    selector = snb.FeatureSelector(k=3).partial_fit(rows.x[first], rows.y[first])
    refuses(ValueError, "one class", lambda: selector.transform(rows.x))
    selector.partial_fit(rows.x[~first], rows.y[~first])
    assert np.array_equal(selector.scores_, snb.FeatureSelector(k=3).fit(rows.x, rows.y).scores_)


def test_k_may_change_after_fitting():
    rows = example()
    selector = snb.FeatureSelector("f_classif", k=2).fit(rows.x, rows.y)
    for k in (1, 5, 9):
        assert selector.set_params(k=k).transform(rows.x).shape == (41, k)
    assert selector.set_params(k="all").get_support().all()


def test_more_than_there_are_features_keeps_all():
    rows = example()
    selector = snb.FeatureSelector(k=10)
    with pytest.warns(snb.StreamnbWarning, match="k=10.*9 features"):
        selector.fit(rows.x, rows.y)
    assert np.array_equal(selector.transform(rows.x), rows.x)


@pytest.mark.parametrize("name", [name for name in FORMS if name.startswith("dask")])
def test_dask_stays_lazy(name, tmp_path):
    rows = example("int")
    given = build(name, rows, tmp_path)
    fitted, X = snb.FeatureSelector("score", 3).fit(**given), given["X"]
    expected = snb.FeatureSelector("score", 3).fit(rows.x, rows.y, sample_weight=rows.w if is_weighted(name) else None)
    reduced = fitted.transform(X)
    assert np.array_equal(plain(reduced.compute()), expected.transform(rows.x))
    assert isinstance(reduced, da.Array) and reduced.dtype == X.dtype and type(reduced._meta) is type(X._meta)
    assert str(reduced.chunks) == str((X.chunks[0], (3,)))
    assert type(reduced.compute(scheduler="sync")) is type(X.compute(scheduler="sync"))


def test_names_of_columns():
    rows = example()
    frame = pd.DataFrame(rows.x).add_prefix("f")
    fitted = snb.FeatureSelector("chi2", 3).fit(frame, rows.y)
    names = [f"f{j}" for j in sorted(fitted.ranking_[:3])]
    assert fitted.get_feature_names_out().tolist() == names
    reduced = fitted.set_output(transform="pandas").transform(frame)
    assert reduced.columns.tolist() == names and np.array_equal(reduced, frame[names])
    assert fitted.transform(frame[frame.columns[::-1]].assign(more="x")).equals(reduced)
    refuses(ValueError, "feature names", lambda: fitted.transform(frame.iloc[:, 1:]))
    assert not hasattr(fitted.fit(rows.x, rows.y), "feature_names_in_")


def test_the_way_back_puts_zeros_in():
    rows = example()
    fitted = snb.FeatureSelector(k=4).fit(rows.x, rows.y)
    back = fitted.inverse_transform(fitted.transform(rows.x))
    assert np.array_equal(back, np.where(fitted.get_support(), rows.x, 0.0))


def test_tags_say_what_a_criterion_takes():
    positive = [by for by in CRITERIA if get_tags(snb.FeatureSelector(by)).input_tags.positive_only]
    assert positive == ["chi2", "poisson_log_ratio", "score"]
    assert not get_tags(snb.FeatureSelector("score", family="gaussian")).input_tags.positive_only
    assert all(get_tags(selector).input_tags.sparse for selector in SELECTORS)


@pytest.mark.parametrize(
    "option, error",
    [
        ({"by": "chi"}, ValueError),
        ({"k": 0}, ValueError),
        ({"k": -1}, ValueError),
        ({"k": "every"}, ValueError),
        ({"k": 2.0}, TypeError),
        ({"k": None}, TypeError),
        ({"presence": "sum"}, ValueError),
        ({"family": "no"}, ValueError),
        ({"scheme": "no"}, ValueError),
        ({"smoothing": np.nan}, ValueError),
        ({"binarize": np.inf}, ValueError),
    ],
    ids=str,
)
def test_wrong_options_are_named(option, error):
    rows = example()
    refuses(error, f"{next(iter(option))}=", lambda: snb.FeatureSelector(**option).fit(rows.x, rows.y))


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array, lambda x: da.from_array(x, chunks=(9, -1))])
def test_negative_values_are_named_with_row_and_column(make):
    rows = example()
    rows.x[23, 5] = -2.0
    with pytest.raises(ValueError, match=r"Negative values.*FeatureSelector\(by='chi2'\): row 23, column 5 is -2"):
        snb.FeatureSelector(k=3).fit(make(rows.x), rows.y)
    assert snb.FeatureSelector("f_classif", k=3).fit(make(rows.x), rows.y).scores_.shape == (9,)


def test_one_class_and_other_widths():
    rows = example()
    refuses(ValueError, "one class", lambda: snb.FeatureSelector(k=3).fit(rows.x, np.full(len(rows), "b")))
    fitted = snb.FeatureSelector(k=3).fit(rows.x, rows.y)
    for X in (rows.x[:, :4], da.from_array(rows.x[:, :4], chunks=(9, -1)), iter([rows.x[:, :4]])):
        refuses(ValueError, "X has 4 features, but FeatureSelector is expecting 9", fitted.transform, X)
    refuses(ValueError, "expecting 9 features", lambda: fitted.partial_fit(rows.x[:, :4], rows.y))


def test_features_are_selected_by_their_values(tmp_path):
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 50)
    X = np.column_stack([rng.poisson(1.0, (100, 3)), 1 + y + 2 * rng.integers(0, 2, 100) * y])
    for values in ("value", "bins"):
        selector = snb.FeatureSelector("mutual_info", 1, values=values, n_bins=32).fit(X, y)
        assert selector.get_support(indices=True).tolist() == [3] and selector.scores_[3] == pytest.approx(np.log(2))
        parts = snb.FeatureSelector("mutual_info", 1, values=values, n_bins=32)
        parts.partial_fit(X[:60], y[:60]).partial_fit(X[60:], y[60:])
        np.testing.assert_array_equal(parts.scores_, selector.scores_)
        selector.save(tmp_path / "s.snb")
        np.testing.assert_array_equal(snb.load(tmp_path / "s.snb").scores_, selector.scores_)
    assert snb.FeatureSelector("mutual_info", 1).fit(X, y).scores_[3] == 0.0
    for wrong, message in (({"values": "all"}, "values='all'"), ({"n_bins": 0}, "n_bins=0")):
        refuses(ValueError, message, snb.FeatureSelector(**wrong).fit, X, y)


@pytest.mark.parametrize("by", ["mutual_info", "one_r", "fcbf"])
def test_numbers_that_are_always_present_are_pointed_out(by):
    X, y = np.array([[1.0, 5.0], [1.1, 4.0], [9.0, 5.0], [9.1, 4.0]] * 5), [0, 0, 1, 1] * 5
    with pytest.warns(snb.StreamnbWarning, match="each is above binarize=0 in all rows, or in none"):
        snb.FeatureSelector(by, k=1).fit(X, y)
    binned = snb.FeatureSelector(by, k=1, values="bins").fit(X, y)
    assert binned.get_support().tolist() == [True, False]


@pytest.mark.parametrize("by", ["sfs", "relief"])
def test_values_of_a_search_that_takes_none_are_refused_by_its_name(by):
    with pytest.raises(ValueError, match=f"by='{by}' goes by the values themselves, not by values='bins'"):
        snb.FeatureSelector(by, values="bins").fit([[1.0], [2.0]], [0, 1])
