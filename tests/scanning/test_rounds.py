"""A fit in rounds, by files alone, is the fit of all rows together, to the last bit, whatever is fitted."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import streamnb as snb
from streamnb.scanning.rounds import check_sums
from streamnb.solving.learner import Learner
from streamnb.stats.row_sample import SampleTask
from tests.support.sites import folds_of, in_rounds, parts_of, table

ROWS = table()
PARTS = parts_of(ROWS)
SCHEMA = sum(snb.schema(rows, "late", bins=4, folds=3) for rows in PARTS.values())
POOLED = snb.table(ROWS, "late", bins=4)
FOLDS = folds_of(PARTS, 3)
NUMBERS = {name: rows[["distance", "hour"]].to_numpy() for name, rows in PARTS.items()}
LABELS = {name: rows["late"].to_numpy() for name, rows in PARTS.items()}


def scores_of(model, X):
    names = "decision_function", "predict_joint_log_proba", "transform"
    return np.asarray(next(getattr(model, name) for name in names if hasattr(model, name))(X))


MODELS = {  # of columns of a table: what is fitted in rounds, and of all rows together
    "a choice on folds": (snb.LinearNBCV("auto", folds=3), snb.LinearNBCV("auto", folds=FOLDS), 2),
    "softmax with l1": (snb.SoftmaxRegression(0.5, 0.5, tol=1e-2), None, None),
    "a line search alone": (snb.SoftmaxRegression(max_passes=1, l1=0.1), None, 2),
    "weights of classes": (snb.SoftmaxRegression(0.5, 0.1, max_passes=3, class_weight="balanced"), None, 4),
    "margins": (snb.MarginClassifier(l1=0.5, max_passes=4), None, None),
    "least squares": (snb.LeastSquaresClassifier(max_passes=3), None, 4),
    "products": (snb.LeastSquaresClassifier(solver="products"), None, 1),
    "idf, then a norm": (snb.SoftmaxRegression(l1=0.1, idf=True, normalize="l2", max_passes=2), None, 4),
    "trees": (snb.TreeNB(snb.L1(0.1)), None, 1),
}


@pytest.mark.filterwarnings("ignore:max_passes")
@pytest.mark.parametrize("name", MODELS)
def test_a_fit_in_rounds_is_that_of_all_rows(name, tmp_path):
    model, together, expected = MODELS[name]
    found, n_rounds = in_rounds(SCHEMA.fit(model), PARTS, tmp_path)
    whole = (type(model)(**model.get_params()) if together is None else together).fit(POOLED)
    np.testing.assert_array_equal(scores_of(found, ROWS), scores_of(whole, ROWS))
    assert expected in (None, n_rounds)
    assert found.report_.rows == whole.report_.rows


OF_NUMBERS = {
    "bins": (snb.LinearNB("bernoulli", transform=snb.Bins(3)), None, 2),
    "quantiles, by fold": (
        snb.LinearNBCV("gaussian", transform="quantile_normal", folds=3),
        snb.LinearNBCV("gaussian", transform="quantile_normal", folds=FOLDS),
        3,
    ),
    "categories": (snb.LinearNB(snb.Categorical()), None, 2),
    "categories, counted": (snb.CategoryCounters(), None, None),
    "corrections on bins": (snb.GeneralizedNB(0.5, 3, tol=1e-1), None, None),
}


@pytest.mark.parametrize("name", OF_NUMBERS)
def test_what_is_learned_of_numbers_is_learned_in_rounds(name, tmp_path):
    model, together, expected = OF_NUMBERS[name]
    schema = snb.schema(NUMBERS["north"], LABELS["north"], classes=["no", "yes"])
    found, n_rounds = in_rounds(schema.fit(model), NUMBERS, tmp_path, LABELS)
    X, y = (np.concatenate([*parts.values()]) for parts in (NUMBERS, LABELS))
    whole = (type(model)(**model.get_params()) if together is None else together).fit(X, y)
    np.testing.assert_array_equal(scores_of(found, X), scores_of(whole, X))
    assert expected in (None, n_rounds)


def test_no_sample_of_the_rows_is_drawn(tmp_path, monkeypatch):
    """With l2 alone a fit here draws one to save reads; in rounds it is the fit without."""
    model = snb.SoftmaxRegression(2.0, tol=1e-1)
    found, _ = in_rounds(SCHEMA.fit(model), PARTS, tmp_path)
    sampled = snb.SoftmaxRegression(2.0, tol=1e-1).fit(POOLED)

    def no_sample(*_, **__):
        yield from ()
        return None, type(sampled.report_)()

    monkeypatch.setattr(Learner, "sample", no_sample)
    whole = snb.SoftmaxRegression(2.0, tol=1e-1).fit(POOLED)
    np.testing.assert_array_equal(found.coef_, whole.coef_)
    assert not np.array_equal(found.coef_, sampled.coef_)


@settings(max_examples=5)
@given(st.lists(st.integers(0, 90), min_size=2, max_size=2), st.integers(0, 3))
def test_any_cut_into_sites_leaves_the_same_gradient(cuts, seed):
    asked = SCHEMA.fit(snb.SoftmaxRegression(max_passes=2))
    parts = {name: rows for name, rows in parts_of(ROWS, sorted(cuts)).items() if len(rows)}
    names = np.random.default_rng(seed).permutation([*parts]).tolist()
    whole, of_sites = asked.read(ROWS, site="all"), asked.merge(*(asked.read(parts[name], site=name) for name in names))
    for one, other in zip(whole.total.tables.values(), of_sites.total.tables.values(), strict=True):
        np.testing.assert_array_equal(one.value(), other.value())
    asked = asked.step(whole)
    whole, of_sites = asked.read(ROWS, site="all"), asked.merge(*(asked.read(parts[name], site=name) for name in names))
    assert {name: np.asarray(part).tolist() for name, part in whole.total.items()} == {
        name: np.asarray(part).tolist() for name, part in of_sites.total.items()
    }


# ---- what does not fit -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def two_rounds():
    first = SCHEMA.fit(snb.SoftmaxRegression(l1=0.1))
    answers = [first.read(rows, site=name) for name, rows in PARTS.items()]
    return first, answers, first.step(*answers)


def test_answers_to_other_rounds_are_refused(two_rounds):
    first, answers, second = two_rounds
    with pytest.raises(ValueError, match=f"answers round {first.fingerprint}, and this one is {second.fingerprint}"):
        second.step(*answers)
    reads = [second.read(rows, site=name) for name, rows in PARTS.items()]
    third = second.step(*reads)
    assert third.asks == second.asks == "ReadTask"
    with pytest.raises(ValueError, match="north is a gradient at other weights"):
        third.step(*reads)
    with pytest.raises(ValueError, match="site 'west' is missing; the sites of this fit are north, south, west"):
        second.step(*reads[:2])
    fewer = second.read(PARTS["west"][1:], site="west")
    with pytest.raises(ValueError, match="site 'west' read 39 rows, and 40 before; each round reads the same rows"):
        second.step(*reads[:2], fewer)
    with pytest.raises(ValueError, match="'north' answers twice"):
        second.step(*reads, reads[0])
    with pytest.raises(ValueError, match="got none"):
        second.step()
    with pytest.raises(TypeError, match="got Schema"):
        second.step(SCHEMA)
    again = second.step(second.merge(*reads[1:]), reads[0])  # some first, as a hub between sites may
    np.testing.assert_array_equal(again.weights["weights"], third.weights["weights"])


def test_weights_of_a_round_are_those_of_its_file(two_rounds):
    """Another processor may round the weights of a step in another way; gradients add only at the same ones."""
    _, _, second = two_rounds
    moved = replace(second, weights={**second.weights, "weights": second.weights["weights"] + 0.25})
    one, other = (each.read(PARTS["north"], site="north").total["losses"] for each in (second, moved))
    assert (one != other).any()
    for name, wrong in (("weights", second.weights["weights"][1:]), ("step", None), ("top", "high")):
        damaged = replace(second, weights={**second.weights, name: wrong})
        with pytest.raises(ValueError, match=name):
            damaged.read(PARTS["north"], site="north")


def test_files_with_other_parts_are_refused(two_rounds, tmp_path):
    _, _, second = two_rounds
    answer = second.read(PARTS["north"], site="north")
    odd = replace(answer, total={name: part for name, part in answer.total.items() if name != "gradient"})
    with pytest.raises(ValueError, match="the answer of north is no total of ReadTask: KeyError"):
        second.merge(odd)
    for estimators, message in (
        ((("SoftmaxRegression", {"l3": 1.0}),), "an estimator that there is not here"),
        ((("L1", {}),), "the round should be of estimators, and has L1"),
    ):
        replace(second, estimators=estimators).save(tmp_path / "w.snb")
        with pytest.raises(ValueError, match=message):
            snb.load(tmp_path / "w.snb")


@pytest.mark.parametrize(
    ("model", "error", "message"),
    [
        (snb.MarginClassifier(calibration="sigmoid"), ValueError, "calibration='sigmoid' of MarginClassifier keeps"),
        (snb.AdditiveClassifier(), ValueError, "of AdditiveClassifier keeps a sample of the rows, which would leave"),
        (snb.Ridge(), TypeError, r"Ridge does not predict the classes \['no', 'yes'\]; fit another one, or"),
        (object(), TypeError, "estimators of streamnb, not fitted"),
    ],
)
def test_fits_that_are_not_sums_are_refused(model, error, message):
    with pytest.raises(error, match=message):
        SCHEMA.fit(model)
    with pytest.raises(ValueError, match="sample: a sample of the rows is kept, which would leave"):
        check_sums(SampleTask(SCHEMA.classes, None, 100))


def test_the_sites_of_a_schema_answer_the_first_round_too():
    schema = snb.schema(ROWS, "late", bins=4, sites=[*PARTS])
    first = schema.fit(snb.SoftmaxRegression(l1=0.1))
    answers = [first.read(rows, site=name) for name, rows in PARTS.items()]
    with pytest.raises(ValueError, match="site 'west' is missing; the sites of this fit are north, south, west"):
        first.step(*answers[:2])
    assert first.step(*answers).sites == {"north": 15, "south": 35, "west": 40}


def test_several_estimators_score_themselves():
    with pytest.raises(TypeError, match="score itself on held-out rows"):
        SCHEMA.fit(snb.LinearNB(), snb.LinearNBCV())
