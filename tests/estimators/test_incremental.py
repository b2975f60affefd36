"""refit: what needs no rows is the fit of the same rows; weights of classes are weights of their rows."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.utils.class_weight import compute_sample_weight

import streamnb as snb
from tests.support.refusals import refuses
from tests.support.strategies import LABELS, example, labelled, messy_csr

MODELS = [
    snb.LinearNB(),
    snb.LinearNB("poisson", snb.L1(0.3), idf=True),
    snb.LinearNB("bernoulli", scheme="ovr"),
    snb.LinearNB("gaussian", snb.L1(0.4, scale="score")),
    snb.MultinomialNB(),
    snb.ComplementNB(),
    snb.BernoulliNB(),
    snb.PoissonNB(),
    snb.GaussianNB(),
    snb.CategoricalNB(),
]
every_model = pytest.mark.parametrize("model", MODELS, ids=str)


def same_answers(a, b, x, exact=True):
    compare = np.testing.assert_array_equal if exact else np.testing.assert_allclose
    compare(a.predict_log_proba(x), b.predict_log_proba(x), **({} if exact else {"rtol": 1e-9, "atol": 1e-9}))
    assert a.classes_.tolist() == b.classes_.tolist()


def weights_of(rows, class_weight):
    return rows.w * [class_weight.get(label, 1.0) for label in rows.y.tolist()]


@every_model
@settings(max_examples=2)
@given(data=st.data())
def test_class_weight_is_the_sample_weight_of_its_rows(model, data):
    rows = example("str")
    powers = st.sampled_from([0.25, 0.5, 1.0, 2.0, 8.0])
    class_weight = data.draw(st.dictionaries(st.sampled_from(LABELS["str"]), powers))
    fitted = clone(model).fit(rows.x, rows.y, sample_weight=rows.w)
    before = fitted.stats_
    assert fitted.refit(class_weight=class_weight) is fitted
    assert fitted.stats_ is before
    expected = clone(model).fit(rows.x, rows.y, sample_weight=weights_of(rows, class_weight))
    same_answers(fitted, expected, rows.x)


@pytest.mark.parametrize("model", [MODELS[2], MODELS[4], MODELS[9]], ids=str)
@pytest.mark.parametrize("kind", ["int", "bool"])
def test_balanced_weights_are_those_of_scikit_learn(model, kind):
    rows = example(kind)
    fitted = clone(model).fit(rows.x, rows.y).refit(class_weight="balanced")
    expected = clone(model).fit(rows.x, rows.y, sample_weight=compute_sample_weight("balanced", rows.y))
    same_answers(fitted, expected, rows.x, exact=False)


def test_class_weight_holds_until_something_else_is_said(tmp_path):
    rows = example("int")
    heavy = {-1: 4.0, 7: 0.5}
    model = snb.LinearNB("poisson").fit(rows.x, rows.y).refit(class_weight=heavy)
    weighted = {"sample_weight": weights_of(rows, heavy) / rows.w}
    same_answers(model, snb.LinearNB("poisson").fit(rows.x, rows.y, **weighted), rows.x)
    model.refit(smoothing=2.0)
    assert model.class_weight_ == heavy
    same_answers(model, snb.LinearNB("poisson", smoothing=2.0).fit(rows.x, rows.y, **weighted), rows.x)
    model.save(tmp_path / "model.snb")
    loaded = snb.load(tmp_path / "model.snb")
    assert loaded.class_weight_ == heavy
    for again in (model, loaded):
        again.partial_fit(rows.x, rows.y)
        twice = {"sample_weight": 2 * weighted["sample_weight"]}
        same_answers(again, snb.LinearNB("poisson", smoothing=2.0).fit(rows.x, rows.y, **twice), rows.x)
        again.forget(rows.x, rows.y)
    same_answers(model.refit(class_weight=None), snb.LinearNB("poisson", smoothing=2.0).fit(rows.x, rows.y), rows.x)
    model.refit(class_weight=heavy).fit(rows.x, rows.y)
    assert model.class_weight_ is None
    same_answers(model, snb.LinearNB("poisson", smoothing=2.0).fit(rows.x, rows.y), rows.x)


def test_the_choice_of_a_penalty_takes_weights_and_losses_afterwards():
    rows = example("int")
    model = snb.LinearNBCV("poisson", snb.L1([0.1, 1.0]), folds=2, scoring="accuracy").fit(rows.x, rows.y)
    plain = snb.LinearNB("poisson", snb.L1(model.best_params_["l1"]))
    weight = np.where(rows.y == 0, 4.0, 1.0)
    same_answers(model.refit(class_weight={0: 4.0}), clone(plain).fit(rows.x, rows.y, weight), rows.x)
    same_answers(model.fit(rows.x, rows.y), plain.fit(rows.x, rows.y), rows.x)
    loss = [[0, 1, 8], [2, 0, 1], [1, 4, 0]]
    np.testing.assert_array_equal(model.refit(loss=loss).predict(rows.x), plain.refit(loss=loss).predict(rows.x))
    refuses(ValueError, "predictive=True is for penalty=None", lambda: model.predict(rows.x, predictive=True))


def test_a_class_without_rows_any_more_keeps_no_weight():
    rows = example("str")
    model = snb.LinearNB().fit(rows.x, rows.y).refit(class_weight={"b": 4.0, "ash": 2.0})
    theirs = rows.y == "b"
    model.forget(rows.x[theirs], rows.y[theirs])
    weight = np.where(rows.y[~theirs] == "ash", 2.0, 1.0)
    same_answers(model, snb.LinearNB().fit(rows.x[~theirs], rows.y[~theirs], sample_weight=weight), rows.x)


@pytest.mark.parametrize(
    ("class_weight", "error", "words"),
    [
        ("balance", ValueError, "class_weight='balance' is unknown.*'balanced'"),
        ([1.0, 2.0], TypeError, "class_weight=.*None, 'balanced' or a dict"),
        ({"oak": 1.0}, ValueError, r"label 'oak', which is not a class; those are \['ash'"),
        ({"ash": -1.0}, ValueError, r"class_weight\['ash'\]=-1.0 should be finite and at least 0"),
        ({"ash": np.nan}, ValueError, r"class_weight\['ash'\]=nan"),
        ({"ash": "2"}, TypeError, r"class_weight\['ash'\]='2' should be a number"),
        ({"ash": 0, "b": 0, "willow": 0}, ValueError, "sums to zero"),
        ({"ash": 0, "b": 0}, ValueError, "one class only"),
    ],
)
def test_wrong_class_weights_are_refused_and_change_nothing(class_weight, error, words):
    rows = example("str")
    model = snb.LinearNB().fit(rows.x, rows.y).refit(class_weight={"b": 2.0})
    before = model.predict_log_proba(rows.x)
    refuses(error, words, lambda: model.refit(class_weight=class_weight, smoothing=3.0))
    assert model.class_weight_ == {"b": 2.0} and model.smoothing == "auto"
    np.testing.assert_array_equal(model.predict_log_proba(rows.x), before)


def test_labels_of_an_indicator_have_no_class_weight():
    rows = example("int")
    model = snb.LinearNB().fit(rows.x, np.column_stack([rows.y == 0, rows.y == 7]))
    refuses(ValueError, "class_weight='balanced' is for one label a row", lambda: model.refit(class_weight="balanced"))
    assert model.refit(class_weight=None).class_weight_ is None


ALL = ["sum", "sum_sq", "nonzero", "above"]


@given(labelled(min_rows=6, kind="bool"), st.permutations(["gaussian", "poisson", "bernoulli", "multinomial", "gamma"]))
def test_one_scan_serves_every_family(rows, families):
    rows.y[:2] = [False, True]
    rows.x[:] += 1.0  # so that every family takes them
    model = snb.LinearNB(families[0]).fit(rows.x, rows.y, sample_weight=rows.w, moments=ALL)
    stats = model.stats_
    for family in families:
        expected = snb.LinearNB(family).fit(rows.x, rows.y, sample_weight=rows.w)
        same_answers(model.refit(family=family), expected, rows.x)
    assert model.stats_ is stats
    same_answers(
        model.refit(idf=True, family="poisson"),
        snb.LinearNB("poisson", idf=True).fit(rows.x, rows.y, sample_weight=rows.w),
        rows.x,
    )


def test_rows_that_come_later_bring_the_moments_that_are_kept():
    rows = example("int")
    model = snb.LinearNB("poisson").fit(rows.x, rows.y, moments=None)
    model.partial_fit(sp.csr_array(rows.x), rows.y).forget(messy_csr(rows.x), rows.y)
    assert set(model.stats_.moments) == set(ALL)
    same_answers(model.refit(family="gaussian"), snb.LinearNB("gaussian").fit(rows.x, rows.y), rows.x)
    narrower = snb.LinearNB("gaussian").fit(rows.x, rows.y).refit(family="poisson").partial_fit(rows.x, rows.y)
    twice = snb.LinearNB("poisson").fit(np.vstack([rows.x] * 2), np.tile(rows.y, 2))
    same_answers(narrower, twice, rows.x)
    assert set(model.fit(rows.x, rows.y).stats_.moments) == {"sum", "sum_sq"}


def test_a_family_whose_moments_were_not_kept_is_refused():
    rows = example()
    model = snb.LinearNB("poisson").fit(rows.x, rows.y, moments="nonzero")
    refuses(ValueError, r"lack the moment 'sum_sq'.*fit\(moments=\)", lambda: model.refit(family="gaussian"))
    refuses(ValueError, "moments='sum_cubed' is unknown", lambda: model.fit(rows.x, rows.y, moments=["sum_cubed"]))
    assert model.family == "poisson" and set(model.stats_.moments) == {"sum", "nonzero"}


@pytest.mark.parametrize("model", [MODELS[1], MODELS[6], MODELS[8], MODELS[9]], ids=str)
def test_every_estimator_keeps_further_moments(model):
    rows = example("int")
    fitted, plain = clone(model).fit(rows.x, rows.y, moments=None), clone(model).fit(rows.x, rows.y)
    assert set(fitted.stats_.moments) == set(ALL)
    same_answers(fitted, plain, rows.x)
