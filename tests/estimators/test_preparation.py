"""Rows of a fit: how they are opened, what is learned of them before the scan, and what of that a file keeps."""

import dask.array as da
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.base import clone

import streamnb as snb
from tests.support.refusals import refuses

RNG = np.random.default_rng(6)
Y = RNG.integers(0, 3, 200)
X = pd.DataFrame(RNG.gamma(1.0 + Y[:, None], 1.0, (200, 3)), columns=["a", "b", "c"])
X.iloc[3, 1] = np.nan


def test_bins_inside_a_model_are_bins_before_it():
    model = snb.LinearNB("bernoulli", snb.L2(0.5), transform=snb.Bins(5)).fit(X, Y)
    bins = snb.Bins(5).fit(X)
    apart = snb.LinearNB("bernoulli", snb.L2(0.5)).fit(bins.rows(X, Y))
    np.testing.assert_array_equal(model.coef_, apart.coef_)
    assert model.n_features_in_ == 3 and model.feature_names_in_.tolist() == ["a", "b", "c"]
    assert (
        model.column_names_.tolist() == bins.get_feature_names_out().tolist() and "b is missing" in model.column_names_
    )
    assert model.posterior()["feature"].tolist()[0] == model.column_names_[0]
    expected = apart.predict_proba(bins.rows(X))
    np.testing.assert_array_equal(model.predict_proba(X), expected)
    lazy = da.from_array(X.to_numpy(), chunks=(70, 3))
    of_dask = snb.LinearNB("bernoulli", snb.L2(0.5), transform=snb.Bins(5)).fit(lazy, da.from_array(Y, chunks=70))
    np.testing.assert_array_equal(of_dask.coef_, model.coef_)
    np.testing.assert_array_equal(of_dask.predict_proba(lazy).compute(), expected)
    found = snb.LinearNBCV("bernoulli", snb.L1([0.1]), transform=snb.Bins(5), folds=3).fit(X, Y)
    np.testing.assert_array_equal(found.coef_, snb.LinearNB("bernoulli", snb.L1(0.1)).fit(bins.rows(X, Y)).coef_)
    rest = snb.LinearNB("bernoulli", transform=snb.Bins(5)).fit(X, Y).forget(X[:50], Y[:50])
    np.testing.assert_array_equal(rest.stats_.above, snb.scan(bins.rows(X[50:], Y[50:])).above)


def test_quantile_normal_is_a_map_of_ranks():
    x = np.nan_to_num(X.to_numpy(), nan=1.0)
    family = snb.Gaussian(covariance="own")
    model = snb.LinearNB(family, transform="quantile_normal").fit(x, Y)
    other = snb.LinearNB(family, transform="quantile_normal").fit(np.exp(x), Y)  # which keeps the order
    np.testing.assert_allclose(model.predict_proba(x), other.predict_proba(np.exp(x)), atol=0.02)
    assert model.n_features_in_ == 3 and not hasattr(model, "column_names_")


@pytest.mark.usefixtures("as_in_folds")
@pytest.mark.filterwarnings("ignore:max_passes:streamnb.StreamnbWarning")
def test_models_of_several_reads_learn_steps_too(tmp_path):
    rows = snb.Bins(4).fit(X).rows(X, Y)
    asked = {"l2": 1.0, "max_passes": 60}
    model = snb.SoftmaxRegression(**asked, transform=snb.Bins(4)).fit(X, Y, checkpoint=tmp_path / "reads")
    np.testing.assert_array_equal(model.coef_, snb.SoftmaxRegression(**asked).fit(rows).coef_)
    assert model.n_features_in_ == 3 and model.column_names_[0].startswith("a in (-inf")
    refuses(ValueError, "feature names", lambda: model.predict(X[["a", "b"]]))
    chosen = snb.SoftmaxRegressionCV([1.0], folds=3, max_passes=3, transform=snb.Bins(4)).fit(X, Y)
    plain = snb.SoftmaxRegression(1.0, max_passes=chosen.best_params_["max_passes"]).fit(rows)
    np.testing.assert_array_equal(chosen.coef_, plain.coef_)


def test_columns_of_bins_go_by_their_own_names():
    """The first column of the bins is not the first of the data frame."""
    mixed = snb.Mixed({"bernoulli": ["a"], "poisson": ...})
    refuses(ValueError, "'a'", lambda: snb.LinearNB(mixed, transform=snb.Bins(5)).fit(X, Y))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: snb.LinearNB("gaussian", transform="quantile_normal").fit(X, Y), "1 NaN in column 1"),
        (lambda: snb.LinearNB(transform=snb.Bins(1)).fit(X, Y), "n_bins=1"),
        (lambda: snb.LinearNB(transform=snb.Bins(4)).fit(iter([(X.to_numpy(), Y)]), keep="no"), "read"),
        (lambda: snb.LinearNB(transform=snb.Bins(4)).fit(X, Y).refit(transform=snb.Bins(5)), "learned before the scan"),
        (lambda: snb.LinearNB(transform=snb.Bins(4)).fit(X, Y).refit(transform=None), "is learned|use fit"),
        (lambda: snb.LinearNB(transform=snb.Bins(4)).fit(X, Y).predict(X[["a", "b"]]), "feature names"),
        (lambda: snb.LinearNB(transform="bins").fit(X, Y), "transform='bins'"),
    ],
)
def test_what_cannot_be_prepared(call, words):
    refuses(ValueError, words, call)


FRAME = pd.DataFrame({"a": [3.0, 0.0, 2.0, 1.0], "b": [0.0, 3.0, 2.0, 4.0]})
PETS = ["cat", "dog", "dog", "cat"]
FITTED = [snb.LinearNB(), snb.MultinomialNB(), snb.SoftmaxRegression(max_passes=3), snb.FeatureSelector(k=1)]


@pytest.mark.filterwarnings("ignore:max_passes")
@pytest.mark.parametrize("model", FITTED, ids=lambda model: type(model).__name__)
def test_a_fit_that_fails_leaves_names_and_what_was_learned(model):
    model.fit(FRAME, PETS)
    before = dict(vars(model))
    refuses(ValueError, "infinity", lambda: model.fit(pd.DataFrame({"c": [np.inf, 0.0]}), ["cat", "dog"]))
    assert vars(model) == before and model.feature_names_in_.tolist() == ["a", "b"]


TELCO = pd.DataFrame(
    {
        "plan": ["a", "b", "a", "c", "b", "a"] * 8,
        "since": pd.date_range("2024-01-01", periods=48, freq="9D"),
        "minutes": np.where(np.arange(48) % 7 == 0, np.nan, np.arange(48) % 11),
        "loyal": pd.Categorical(["yes", "no", "yes"] * 16),
        "churn": ["no", "yes", "no", "no", "yes", "yes"] * 8,
    }
)


def test_parts_of_a_frame_that_is_a_table_add_up():
    parts = [TELCO[::2], TELCO[1::2]]
    model = snb.LinearNB("multinomial").fit(parts[0], "churn")
    both = clone(model).partial_fit(parts[0], "churn", classes=["no", "yes"])
    both.partial_fit(parts[1], "churn")
    of_all = clone(model).fit(TELCO, "churn").feature_names_in_.tolist()
    names = [[name for name in each if not name.startswith("minutes")] for each in (both.feature_names_in_, of_all)]
    assert both.stats_.n_rows == 48 and names[0] == names[1]


@pytest.mark.filterwarnings("ignore:X. its columns are numbers alone")
def test_frames_of_numbers_alone_stay_as_they_are():
    numbers = FRAME.assign(c=[True, False, True, True], d=pd.array([1, 2, 3, 4], "Int64"), e=[1, 2, 3, 4.5])
    numbers["e"] = numbers["e"].astype(object)
    for X in (numbers, pa.Table.from_pandas(numbers.astype({"e": float}))):
        model = snb.GaussianNB().fit(X, PETS)
        assert model.n_features_in_ == 5 and model.encoding_ is None
    gaps = FRAME.assign(a=[np.nan, 1.0, 2.0, 3.0])
    binned = snb.LinearNB("bernoulli", transform=snb.Bins()).fit(gaps, PETS)  # which have a place for them
    assert binned.n_features_in_ == 2 and binned.encoding_ is None and binned.column_names_[0] == "a in (-inf, 1.5]"
    assert snb.LinearNB("bernoulli").fit(gaps, PETS).feature_names_in_.tolist()[3] == "a is missing"


def test_names_of_labels_beside_a_table_are_kept():
    labels = pd.DataFrame({"red": [1, 0] * 24, "blue": [0, 1, 1] * 16})
    model = snb.LinearNB("bernoulli").fit(TELCO, labels)
    assert model.classes_.tolist() == ["red", "blue"]
    refuses(ValueError, "order", lambda: model.score(TELCO, labels[["blue", "red"]]))
