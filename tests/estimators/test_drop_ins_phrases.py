"""Drop-ins speak as scikit-learn's: its phrases in messages, its warnings and dtypes."""

import re
import warnings

import dask.array as da
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import zarr
from sklearn import naive_bayes

import streamnb as snb

COUNTS = ["MultinomialNB", "ComplementNB", "BernoulliNB", "CategoricalNB"]
X, y = np.array([[1, 0, 2], [1, 1, 0], [0, 3, 1], [2, 1, 1]]), np.array([0, 1, 1, 0])


def both(name):
    return getattr(snb, name), getattr(naive_bayes, name)


@pytest.mark.parametrize("name", ["MultinomialNB", "GaussianNB"])
def test_labels_that_are_not_in_the_initial_classes(name):
    theirs = "The target label.* in y do not exist in the initial classes"
    if name == "GaussianNB":
        with pytest.raises(ValueError, match=theirs):
            naive_bayes.GaussianNB().partial_fit(X, y, classes=[0, 2])
    with pytest.raises(ValueError, match=theirs + r".*label 1 at row 1, not in classes=\[0, 2\]: list it there"):
        getattr(snb, name)().partial_fit(X, y, classes=[0, 2])


@pytest.mark.parametrize("classes", [[1, 1], [0, 1, 2, 2], [0, 2]])
@pytest.mark.parametrize("name", ["MultinomialNB", "GaussianNB"])
def test_other_classes_than_before(name, classes):
    for model in both(name):
        fitted = model().partial_fit(X, y, classes=[0, 1])
        with pytest.raises(ValueError, match="is not the same as on last call to partial_fit, was: "):
            fitted.partial_fit(X, y, classes=classes)


@pytest.mark.parametrize("closed", [True, False])
def test_repeats_are_refused_as_such(closed):
    fitted = snb.MultinomialNB().partial_fit(X, y, classes=[0, 1] if closed else None)
    message = (
        r"classes=\[0, 1, 1\] is not the same as on last call to partial_fit, was: \[0, 1\]; a label is listed twice"
    )
    with pytest.raises(ValueError, match=message):
        fitted.partial_fit(X, y, classes=[0, 1, 1])
    with pytest.raises(ValueError, match="classes lists a label twice; list each once"):
        snb.MultinomialNB().partial_fit(X, y, classes=[0, 1, 1])
    with pytest.raises(ValueError, match="classes is"):
        fitted.partial_fit(X, y, classes=[])
    assert fitted.partial_fit(X, y, classes=[1, 0]).classes_.tolist() == [0, 1]


@pytest.mark.parametrize("given", [[1.0, -0.1, 1.0], [-1.0, -2.0, 0.0]])
@pytest.mark.parametrize("name", ["MultinomialNB", "ComplementNB"])
def test_pseudo_counts_below_0(name, given):
    for model in both(name):
        with pytest.raises(ValueError, match=re.escape("All values in alpha must be greater than 0.")):
            model(alpha=np.array(given)).fit(X, y)
    at = int(np.argmax(np.array(given) < 0))
    with pytest.raises(ValueError, match=re.escape(f"alpha[{at}]={given[at]}") + ".* finite .* at least 0"):
        getattr(snb, name)(alpha=given).fit(X, y)
    assert getattr(snb, name)(alpha=np.array([0.0, 1.0, 1.0])).fit(X, y).predict(X).shape == (4,)


@pytest.mark.parametrize("lists", [True, False])
@pytest.mark.parametrize("name", COUNTS)
def test_small_pseudo_counts_are_warned_of_whenever_rows_are_added(name, lists):
    for model in both(name):
        one_for_all = not lists or name in ("CategoricalNB", "BernoulliNB")  # scikit-learn's take no other
        alpha = 0.0 if one_for_all else np.array([0.0, 1.0, 1.0])
        fitted = model(alpha=alpha, force_alpha=False)
        for _ in range(2):
            with pytest.warns(UserWarning, match="alpha too small will result in numeric errors") as caught:
                fitted.partial_fit(X, y, classes=[0, 1])
            assert len(caught) == 1
        with pytest.warns(UserWarning, match=r"setting alpha = 1.0e-10. Use `force_alpha=True` to keep"):
            fitted.fit(X, y)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            fitted.predict(X)


# ---- dtypes ----------------------------------------------------------------------------------------------------------

HALF = (X + 0.1).astype(np.float32)
KINDS = {"NumPy": lambda x: x, "SciPy": sp.csr_array, "pandas": pd.DataFrame, "Fortran": np.asfortranarray}
ELSEWHERE = {
    "Dask": lambda x: da.from_array(x, chunks=(2, 3)),
    "Zarr": lambda x: zarr.create_array(zarr.storage.MemoryStore(), data=x),
    "lists": np.ndarray.tolist,
    "mixed frame": lambda x: pd.DataFrame(x, columns=list("abc")).assign(more=[1, 2, 3, 4]),
}
SHOWN = "class_prior_", "theta_", "var_"


@pytest.mark.parametrize("kind", KINDS)
def test_a_gaussian_model_of_float32_shows_float32(kind, tmp_path):
    theirs = naive_bayes.GaussianNB().fit(HALF, y)
    fitted = [snb.GaussianNB().fit(KINDS[kind](HALF), y), snb.GaussianNB().partial_fit(KINDS[kind](HALF), y, [0, 1])]
    fitted[0].save(tmp_path / "m.snb")
    exact = snb.GaussianNB().fit(HALF.astype(np.float64), y)
    for model in (*fitted, snb.load(tmp_path / "m.snb")):
        for name in SHOWN:
            assert getattr(model, name).dtype == getattr(theirs, name).dtype == np.float32, name
            np.testing.assert_allclose(getattr(model, name), getattr(theirs, name), rtol=1e-5)
        assert (model.predict_log_proba(X) == exact.predict_log_proba(X)).all()  # nothing is rounded on the way
    assert all(getattr(exact, name).dtype == np.float64 for name in SHOWN)


def test_the_first_rows_of_a_gaussian_model_tell_its_dtype():
    for first, second in ((HALF, X), (X, HALF), (HALF, HALF), (X.astype(float), HALF)):
        ours, theirs = (model().partial_fit(first, y, [0, 1]).partial_fit(second, y) for model in both("GaussianNB"))
        assert [getattr(ours, name).dtype for name in SHOWN] == [getattr(theirs, name).dtype for name in SHOWN]
    given = [model(priors=[0.3, 0.7]).fit(HALF, y) for model in both("GaussianNB")]
    assert given[0].class_prior_.dtype == given[1].class_prior_.dtype
    assert (given[0].class_prior_ == given[1].class_prior_).all()
    assert given[0].fit(X, y).class_prior_.dtype == np.float64
    assert snb.GaussianNB().fit(HALF, y).forget(HALF[:1], y[:1]).theta_.dtype == np.float32


@pytest.mark.parametrize("kind", ELSEWHERE)
def test_rows_from_elsewhere_and_of_several_dtypes_give_float64(kind):
    assert snb.GaussianNB().fit(ELSEWHERE[kind](HALF), y).theta_.dtype == np.float64
    assert snb.GaussianNB().fit(lambda: iter([(HALF, y)])).theta_.dtype == np.float64
