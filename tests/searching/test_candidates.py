"""Estimators on given folds: what they need, and what they lack."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import zarr
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, roc_auc_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC

import streamnb as snb
from streamnb.evaluation.scorers import as_scorer
from streamnb.passes.contract import RunOptions
from streamnb.rows.opening import opened
from streamnb.searching.axes import Encoded, in_memory
from streamnb.searching.candidates import fitted_other, group_of, named_models, others_of
from streamnb.searching.rounds import Judging, ToJudge
from tests.support.refusals import refuses

rng = np.random.default_rng(1)
Y = np.arange(60) % 2
X = rng.normal(size=(60, 3)) + Y[:, None]
FOLDS = np.arange(60) // 2 % 3
ROWS = Encoded(opened(X, Y), (X, Y, None))


def how(scoring, folds=FOLDS):
    return Judging(folds, 1 + folds.max(), None, 0, scoring, as_scorer(scoring))


def judged_other(estimator, given, judging):
    (one,) = others_of({"it": estimator}, given, judging)
    one.advance()
    found = one.advance(ToJudge(["it"], range(judging.n_folds)))
    return found[0] if found else one.left_out["it"]


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix, pd.DataFrame, lambda X: X.tolist()])
def test_rows_of_any_form_in_memory_give_the_same_scores(form):
    given = in_memory(form(X), Y, np.arange(60) % 3, "others=")
    judged = judged_other(LogisticRegression(), given, how(["accuracy", "neg_log_loss"]))
    for fold in range(3):
        held = fold == FOLDS
        rest = ~held
        model = LogisticRegression().fit(X[rest], Y[rest], given[2][rest])
        own = model.score(X[held], Y[held], given[2][held])
        np.testing.assert_allclose(judged.scores["accuracy"][fold], own, rtol=1e-12)
    assert judged.n_features == judged.reads == -1 and judged.mean("neg_log_loss") < 0.0


def test_what_an_estimator_lacks_is_said():
    given = X, Y, None
    assert judged_other(LinearSVC(), given, how("roc_auc")).mean("roc_auc") > 0.8
    assert "needs probabilities, and it has none" in judged_other(LinearSVC(), given, how("neg_log_loss"))
    refuses(ValueError, "its fit takes none", lambda: fitted_other(KNeighborsClassifier(), (X, Y, np.ones(60))))
    assert "a class has no rows outside fold 0" in judged_other(LinearSVC(), given, how("accuracy", 1 - Y))


def test_reads_and_time_end_a_model_that_can_be_judged():
    for limit, n_reads in (({"most_reads": 3}, 3), ({"deadline": 0.0}, 2)):
        model = snb.SoftmaxRegressionCV(1.0, max_passes=20, tol=0.0)
        found = group_of("it", model, ROWS, how("accuracy"), RunOptions(False))
        found.advance()
        (judged,) = found.advance(ToJudge(["it"], range(3), **limit))
        assert judged.reads == 1 + n_reads and judged.point["max_passes"] <= n_reads


def test_models_are_named_by_what_they_are():
    names = named_models([snb.SoftmaxRegressionCV(max_passes=3), snb.MarginClassifierCV()])
    assert list(names) == ["SoftmaxRegressionCV(max_passes=3)", "MarginClassifierCV()"]
    refuses(ValueError, "twice", lambda: named_models([snb.MarginClassifierCV(), snb.MarginClassifierCV()]))


LABELS = rng.integers(0, 2, 120)
COUNTS = rng.poisson(1.0 + LABELS[:, None] * np.arange(4) % 3, (120, 4)).astype(float)
STACK = snb.StackedNB(["poisson", "gaussian"], "gaussian")


def test_each_fold_is_judged_by_a_stack_of_the_others():
    found = snb.search(
        COUNTS, LABELS, families=[], models=[STACK], folds=3, scoring=["accuracy", "roc_auc"], show=False
    )
    (judged,), number = found.candidates, snb.fold_numbers(120, 3)
    assert judged.reads == 3 * 3  # two of each stack, and one that judges it
    for fold in range(3):
        rest = np.flatnonzero(number != fold)
        alone = snb.StackedNB(STACK.families, "gaussian", folds=np.searchsorted(np.unique(number[rest]), number[rest]))
        alone.fit(COUNTS[rest], LABELS[rest])
        own = number == fold
        assert judged.scores["accuracy"][fold] == pytest.approx(accuracy_score(LABELS[own], alone.predict(COUNTS[own])))
        auc = roc_auc_score(LABELS[own], alone.decision_function(COUNTS[own]))
        assert judged.scores["roc_auc"][fold] == pytest.approx(auc)
    whole = snb.StackedNB(STACK.families, "gaussian", folds=3).fit(COUNTS, LABELS)
    np.testing.assert_array_equal(found.best_.decision_function(COUNTS), whole.decision_function(COUNTS))


def test_labels_are_searched_by_models_of_all_together_beside_each_by_itself():
    sets = np.c_[LABELS, COUNTS[:, 1] > 1, rng.integers(0, 2, 120)].astype(int)
    frame = pd.DataFrame(sets, columns=["ill", "old", "any"])
    found = snb.search(COUNTS, frame, folds=3, scoring="f1_micro", show=False)
    assert found.best_.classes_.tolist() == ["ill", "old", "any"]
    assert snb.StackedNB(["poisson", "gaussian"]).fit(COUNTS, frame).classes_.tolist() == ["ill", "old", "any"]
    names = [judged.name for judged in found.candidates]
    assert any(name.startswith("LabelSpaceCV") for name in names)
    assert any(name.startswith("StackedNB") for name in names) and "bernoulli" in names
    assert not found.left_out


def test_a_scoring_that_needs_probabilities_leaves_out_a_stack_without():
    least = snb.StackedNB(["poisson"], snb.LeastSquaresClassifier())
    with pytest.warns(snb.StreamnbWarning, match="left out"):
        found = snb.search(
            COUNTS, LABELS, families=["poisson"], models=[least], folds=3, scoring="neg_log_loss", show=False
        )
    assert "its second level has none" in next(iter(found.left_out.values()))


def test_two_folds_are_too_few():
    with pytest.raises(ValueError, match="folds=2 leave no rows outside the fold that judges"):
        snb.search(COUNTS, LABELS, families=[], models=[STACK], folds=2, show=False)


def test_an_additive_model_chooses_on_the_folds_of_the_search():
    rng = np.random.default_rng(0)
    rows = rng.uniform(-1, 1, (400, 3))
    y = np.where(rows[:, 0] * rows[:, 1] > 0, "a", "b")
    model = snb.AdditiveClassifier(1, l2=1.0, pair_factor=1.0, resolutions=(4, 16))
    found = snb.search(rows, y, models=[model], families=["gaussian"], folds=3, budget=None, show=False)
    assert isinstance(found.best_, snb.AdditiveClassifier)
    alone = model.set_params(folds=3, scoring="neg_log_loss").fit(rows, y)
    best = next(one for one in found.candidates if "Additive" in one.name)
    np.testing.assert_allclose(best.scores["neg_log_loss"].mean(), alone.best_score_)
    np.testing.assert_array_equal(found.best_.coef_, alone.coef_)


def test_models_that_make_columns_of_tables_themselves_are_judged_once():
    frame = pd.DataFrame({"x": X[:, 0], "level": np.where(X[:, 1] > 0, "a", "b")})
    models = [snb.AdditiveClassifier(0, l2=1.0, resolutions=(4,)), snb.LinearNBCV("auto")]
    found = snb.search(frame, Y, models=models, families=[], folds=3, show=False)
    names = [one.name.partition("(")[0] for one in found.candidates]
    assert sorted(names) == ["AdditiveClassifier", "LinearNBCV"]


def test_the_model_of_all_rows_converges_unless_reads_are_limited():
    """Models without each fold are closed once their scores no longer rise; that of all rows is trained to the end."""
    model, rows = snb.SoftmaxRegressionCV([0.1], max_passes=60, standardize=True), load_iris(return_X_y=True)
    how = {"families": [], "models": [model], "calibration": None, "scoring": "accuracy", "show": False}
    further, limited = (snb.search(*rows, **how, budget=budget).best_ for budget in ("auto", "130 reads"))
    assert further.best_params_ == limited.best_params_ and further.converged_ and not limited.converged_
    assert further.history_["objective"][-1] < limited.history_["objective"][-1]
    for model in (further, limited):
        assert len(model.history_["held_out_score"]) == model.n_passes_


@pytest.mark.parametrize("l2", [[1e4, 1e3, 100.0, 10.0, 1.0, 0.1, 0.01], [0.1, 0.01, 0.001]])
def test_penalties_are_judged_as_far_as_scores_rise(l2, tmp_path):
    rows, y = load_iris(return_X_y=True)
    rows, y = np.concatenate([rows, rows[::2] + 0.01])[1:], np.concatenate([y, y[::2]])[1:]
    model = snb.SoftmaxRegressionCV(l2, standardize=True, max_passes=100)
    asked = {"models": [model], "families": ["gaussian"], "scoring": "neg_log_loss", "show": False}
    found, every = (snb.search(rows, y, **asked, budget=budget) for budget in ("auto", None))
    assert isinstance(found.best_, snb.SoftmaxRegressionCV)
    one, other = found.best_, every.best_
    judged = sorted({point["l2"] for point in one.cv_results_["params"]}, reverse=True)
    at = sorted(l2, reverse=True).index(judged[0])
    assert judged == sorted(l2, reverse=True)[at : at + len(judged)]  # without gaps, and the best has worse neighbours
    assert one.best_score_ > other.best_score_ - 0.001
    store = zarr.create_array(tmp_path / "rows.zarr", data=rows, chunks=(37, 4))
    again = snb.search(store, y, **asked, n_threads=2)
    np.testing.assert_array_equal(again.best_.coef_, one.coef_)
    means = [[each.mean("neg_log_loss") for each in search.ranked] for search in (again, found)]
    assert means[0] == means[1]


def test_an_additive_model_that_is_beaten_tries_no_pairs():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(1_000, 6))
    y = rows @ rng.normal(size=6) > 0.3 * rng.normal(size=1_000)
    models = [snb.SoftmaxRegressionCV([1.0]), snb.AdditiveClassifier()]
    found = snb.search(rows, y, families=[], models=models, show=False)
    n_folds = {one.name.partition("(")[0]: one.n_folds for one in found.candidates}
    assert n_folds == {"SoftmaxRegressionCV": 5, "AdditiveClassifier": 1}
    (beaten,) = (one for one in found.candidates if "Additive" in one.name)
    assert beaten.point["interactions"] == 0 and beaten.point["l2"] == 1.0
