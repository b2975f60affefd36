"""The estimator: scikit-learn's contract, and one model whatever the order and the parts the rows came in."""

from collections.abc import Mapping

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.utils import get_tags

import streamnb as snb
from tests.support.saved import read_without_pickle
from tests.support.strategies import LABELS, build, example

MODELS = [
    snb.LinearNB(),
    snb.LinearNB(family="poisson"),
    snb.LinearNB("bernoulli"),
    snb.LinearNB("gaussian"),
    snb.LinearNB("gaussian", snb.L1(0.5)),
    snb.LinearNB("poisson", snb.L1(0.2, scale="score") + snb.L2(0.1), scheme="ovr"),
    snb.LinearNB(snb.Multinomial(), snb.L2(0.3), idf=True),
    snb.LinearNB("multinomial", snb.L1(0.1), transform="log1p", normalize="l2"),
    snb.LinearNB("bernoulli", snb.L1(0.3), binarize=0.5, scheme="ovr", priors="uniform"),
]


def outcome(model):
    return model.classes_.tolist(), model.coef_.tolist(), np.asarray(model.intercept_).tolist()


# ---------------------------------------------------------------------------------- one model, many ways


@pytest.mark.parametrize("model", MODELS[:6], ids=str)
def test_the_model_is_the_solution_of_its_statistics(model):
    rows = example()
    parts = [snb.scan(p.x, p.y, sample_weight=p.w) for p in rows.split((20, 21))]
    fitted = clone(model).fit(rows.x, rows.y, sample_weight=rows.w)
    solved = snb.solve(parts[0] + parts[1], model.family, model.penalty, scheme=model.scheme)[0]
    assert outcome(solved) == outcome(fitted)
    assert np.array_equal(solved.predict(rows.x), fitted.predict(rows.x))
    assert np.array_equal(solved.predict_proba(rows.x), fitted.predict_proba(rows.x))


def test_forgetting_a_class_drops_it_unless_it_was_listed():
    rows = example()
    theirs = rows.y == "b"
    fitted = snb.LinearNB().fit(rows.x, rows.y)
    assert fitted.forget(rows.x[theirs], rows.y[theirs]).classes_.tolist() == ["ash", "willow"]
    listed = snb.LinearNB().fit(rows.x, rows.y, classes=LABELS["str"])
    with pytest.warns(snb.StreamnbWarning, match="b"):
        listed.forget(rows.x[theirs], rows.y[theirs])
        assert listed.classes_.tolist() == LABELS["str"]
        assert listed.intercept_[1] == -np.inf and not listed.coef_[1].any()
    assert "b" not in listed.predict(rows.x)


def test_refit_needs_no_data_and_takes_other_options():
    rows = example()
    model = snb.LinearNB().fit(rows.x, rows.y)
    for options in (
        {"penalty": snb.L1(0.5)},
        {"family": "poisson", "penalty": None, "smoothing": 0.1},
        {"family": snb.Multinomial(), "scheme": "ovr", "priors": "uniform"},
        {"penalty": snb.L2(2.0) + snb.L1(0.1, scale="score"), "scheme": "joint"},
    ):
        assert model.refit(**options) is model
        expected = clone(model).set_params(**options).fit(rows.x, rows.y)
        assert outcome(model) == outcome(expected)


def test_refit_refuses_what_needs_the_rows_again():
    rows = example()
    model = snb.LinearNB().fit(rows.x, rows.y)
    for option in ({"transform": "log1p"}, {"normalize": "l2"}, {"binarize": 1.0}):
        with pytest.raises(ValueError, match=next(iter(option))):
            model.refit(**option)
    with pytest.raises(ValueError, match="sum_sq"):
        model.refit(family="gaussian")
    with pytest.raises((TypeError, ValueError), match="smothing"):
        model.refit(smothing=2.0)


@pytest.mark.parametrize("kind", LABELS)
def test_partial_fit_with_one_class_waits_for_a_second(kind):
    rows = example(kind)
    first = rows.y == rows.y[0]
    model = snb.LinearNB().partial_fit(rows.x[first], rows.y[first])
    with pytest.raises(ValueError, match=r"(?i)one class|second class|two classes|2 classes"):
        model.predict(rows.x)
    model.partial_fit(rows.x[~first], rows.y[~first])
    assert outcome(model) == outcome(snb.LinearNB().fit(rows.x, rows.y))


def test_idf_counts_documents_by_weight_and_matches_scikit_learn():
    rows = example()
    repeats = np.arange(len(rows)) % 3 + 1
    repeated = np.repeat(rows.x, repeats, axis=0), np.repeat(rows.y, repeats)
    model = snb.LinearNB(idf=True).fit(rows.x, rows.y, sample_weight=repeats)
    assert outcome(model) == outcome(snb.LinearNB(idf=True).fit(*repeated))
    scaled = TfidfTransformer(norm=None).fit(repeated[0])
    expected = snb.LinearNB().fit(scaled.transform(repeated[0]), repeated[1])
    np.testing.assert_allclose(
        model.predict_proba(rows.x), expected.predict_proba(scaled.transform(rows.x)), rtol=1e-10
    )


# ------------------------------------------------------------------------------------- saving and copying


def test_saved_models_are_json_and_arrays_without_pickle(tmp_path):
    rows = example()
    snb.LinearNB(idf=True).fit(rows.x, rows.y).save(tmp_path / "model.snb")
    read_without_pickle(tmp_path / "model.snb")


# ----------------------------------------------------------------------------------------- in company


def test_tags_say_what_a_family_takes():
    assert all(get_tags(model).input_tags.sparse for model in MODELS)
    positive = [get_tags(snb.LinearNB(f)).input_tags.positive_only for f in ("multinomial", "poisson", "gaussian")]
    assert positive == [True, True, False]


# ------------------------------------------------------------------------------------- report and progress


def entry(report, name):
    return report[name] if isinstance(report, Mapping) else getattr(report, name)


@pytest.mark.parametrize("name", ["csr_array", "zarr csr v3", "dask", "generator, chunks of X, y"])
def test_report_says_what_was_read(name, tmp_path):
    model = snb.LinearNB().fit(**build(name, example(), tmp_path))
    assert entry(model.report_, "rows") == 41
    assert entry(model.report_, "blocks") >= 1
    assert entry(model.report_, "bytes") >= example().x.astype(bool).sum()
    for name in ("seconds_reading", "seconds_computing", "seconds_waiting"):
        assert 0 <= entry(model.report_, name) < np.inf


def test_progress_is_shown_on_request_only(capfd, tmp_path):
    passed = build("zarr csr v3", example(), tmp_path)
    snb.LinearNB().fit(**passed)
    assert capfd.readouterr() == ("", "")
    snb.LinearNB().fit(**passed, progress=True)
    assert capfd.readouterr().err.strip()
