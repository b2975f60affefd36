"""A fitted model on rows: what is said of it, of which rows, and what merges."""

import sys

import dask.array as da
import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

import streamnb as snb
from streamnb.evaluation.judging import Evaluations, judged
from tests.support import exported

rng = np.random.default_rng(0)
y = rng.choice(["ash", "beech", "oak"], 90)
X = rng.poisson(0.5 + 2.0 * (np.unique(y, return_inverse=True)[1][:, None] == np.arange(5) % 3)).astype(float)
weight = rng.choice([0.5, 1.0, 2.0], 90)
stats = snb.scan(X, y)
model = snb.solve(stats, "poisson")[0]


def test_only_what_is_needed_is_said():
    evaluation = judged(model, X, y, None, ["ranking"])
    assert evaluation.needs == {"ranking"}
    with pytest.raises(ValueError, match="needs 'hits'"):
        evaluation.accuracy()


def test_rows_of_labels_that_the_model_does_not_know_are_left_out_of_all_measures(tmp_path):
    strange, needs = np.where(np.arange(90) < 30, "palm", y), ["confusion", "ranking", "probabilities"]
    with pytest.warns(snb.StreamnbWarning, match="30 of 90 rows have labels that the model does not know"):
        evaluation = judged(model, X, strange, None, needs)
    known = judged(model, X[30:], y[30:], None, needs)
    assert (evaluation.n_rows, evaluation.n_unknown, known.n_unknown) == (60, 30, 0)
    assert evaluation.summary() == known.summary()
    assert "60 rows without 30 of unknown labels" in repr(evaluation)
    evaluation.save(tmp_path / "found.snb")
    both = snb.load(tmp_path / "found.snb") + known
    assert (both.n_rows, both.n_unknown) == (120, 30)


def test_labels_of_another_kind_are_a_mistake():
    with pytest.raises(ValueError, match="give all labels one kind"):
        judged(model, X, np.arange(90) % 3, None, ["confusion"])
    with pytest.raises(ValueError, match="y is an indicator of labels; the model was fitted with one label a row"):
        judged(model, X, np.eye(3, dtype=int)[np.arange(90) % 3], None, ["confusion"])


def test_models_of_sets_of_labels_take_no_single_labels():
    of_sets = snb.solve(snb.scan(X, (X[:, :3] > 1.0).astype(int)), "poisson")[0]
    with pytest.raises(ValueError, match="y is one label a row; the model was fitted with an indicator of labels"):
        judged(of_sets, X, y, None, ["confusion"])


def test_rows_that_are_rejected_have_no_place_among_decisions():
    rejecting = snb.LinearNB("poisson", threshold=0.99999, reject_label="none").fit(X, y)
    rejecting = rejecting._model
    assert (rejecting.predict(X) == "none").any()
    with pytest.raises(ValueError, match=r"rejects rows.*refit\(threshold=None\)"):
        judged(rejecting, X, y, None, ["confusion"])
    assert judged(rejecting, X, y, None, ["ranking"]).roc_auc() > 0.5


SAYS = {"scores": "decision_function", "proba": "predict_proba"}
OTHERS = {
    "naive Bayes": (snb.GaussianNB(), exported.LABELS),
    "covariances": (snb.QuadraticDiscriminantAnalysis(reg_param=0.1), exported.LABELS),
    "least squares": (snb.LeastSquaresClassifier(), exported.LABELS),
    "space of labels": (snb.LabelSpace(2), exported.SETS),
    "stack": (snb.StackedNB(["gaussian", "poisson"], folds=2), exported.LABELS),
    "pairs": (snb.LinearNB("poisson", scheme="ovo"), exported.LABELS),
}


@pytest.mark.parametrize("name", [*exported.MODELS, *OTHERS])
def test_a_model_is_judged_by_what_it_says(name, tmp_path):
    model, y = {**exported.MODELS, **OTHERS}[name]
    model, X = exported.fitted(name) if name in exported.MODELS else (model.fit(exported.X, y), exported.X[::-1])
    weight = 1.0 + np.arange(len(y)) % 3
    models = [model]
    if name in exported.MODELS:
        model.save(tmp_path / "model.snb", stats=False)
        models.append(snb.load(tmp_path / "model.snb"))
    said = {argument: getattr(model, says)(X) for argument, says in SAYS.items() if hasattr(model, says)}
    if "reference" in name and "label" in name:
        del said["scores"]  # the reference has none
    expected = snb.evaluate(y, model.predict(X), **said, classes=model.classes_, sample_weight=weight).summary()
    assert len(expected) > 3
    for one in models:
        found = snb.evaluate(one, X, y, sample_weight=weight)
        assert found.summary() == pytest.approx(expected, rel=1e-6) and found.weight == weight.sum()
    assert model.evaluate(X, y, weight).summary() == snb.evaluate(model, X, y, sample_weight=weight).summary()


def test_labels_may_be_a_column_of_a_file(tmp_path):
    frame = pd.DataFrame({"n": X[:, 0], "colour": np.where(X[:, 1] > 1, "red", "green"), "w": weight, "tree": y})
    path = str(tmp_path / "rows.parquet")
    frame.to_parquet(path)
    fitted = snb.LinearNB("auto").fit(path, "tree")
    expected = snb.evaluate(y, fitted.predict(path), proba=fitted.predict_proba(path)).summary()
    for given in ([path, "tree"], [frame, "tree"], [path], [frame.drop(columns="tree"), y]):
        found = snb.evaluate(fitted, *given).summary()
        assert {name: found[name] for name in expected} == pytest.approx(expected)
    assert fitted.evaluate(path, "tree", "w").weight == weight.sum()
    texts = snb.LinearNB().fit(["red wine", "green tea"], ["wine", "tea"])
    assert texts.evaluate(snb.text(["tea", "wine"]), ["tea", "wine"]).accuracy() == 1.0


def test_a_model_on_rows_in_dask_is_judged_there():
    rows, labels = da.from_array(X, chunks=(40, 5)), da.from_array(y, chunks=40)
    fitted = snb.LinearNB("poisson").fit(X, y)
    assert fitted.evaluate(rows, labels).summary() == fitted.evaluate(X, y).summary()


NAIVE = snb.LinearNB("poisson").fit(X, y)


@pytest.mark.parametrize(
    ("given", "said", "error", "message"),
    [
        ((NAIVE, "none.parquet", "y"), {}, (snb.DataError, FileNotFoundError), "none.parquet"),
        ((NAIVE, X), {}, ValueError, "requires y to be passed"),
        ((NAIVE,), {}, ValueError, r"no rows to judge the model on: evaluate\(model, X, y\)"),
        ((NAIVE, X, y[:5]), {}, ValueError, r"inconsistent numbers of samples: \[90, 5\]"),
        ((NAIVE, X[:, :4], y), {}, ValueError, "X has 4 features, but LinearNB is expecting 5"),
        ((NAIVE, X, y), {"proba": X}, ValueError, "proba is given with a model, which has its own"),
        ((NAIVE, X, y), {"classes": ["ash"]}, ValueError, "classes is given with a model"),
        ((NAIVE, snb.text(["a", "b"], y=["ash", "oak"]), ["ash", "oak"]), {}, ValueError, "y is given beside X, and"),
        ((snb.LinearNB(), X, y), {}, NotFittedError, "not fitted yet"),
        ((snb.LinearNB, X, y), {}, TypeError, "LinearNB is a class; give a model of it that is fitted"),
        ((X, NAIVE, y), {}, TypeError, r"the model comes first: evaluate\(model, X, y\)"),
        ((y, y, y), {}, ValueError, r"y needs a model, evaluate\(model, X, y\)"),
        (("test.csv", y), {}, TypeError, "y_true='test.csv' is a path or a name, and no labels; a model is judged on"),
        ((LogisticRegression(), X, y), {}, TypeError, r"LogisticRegression is not a model of streamnb; give its"),
    ],
)
def test_what_does_not_go_with_a_model_is_said(given, said, error, message):
    with pytest.raises(error, match=message):
        snb.evaluate(*given, **said)


# ---- options ---------------------------------------------------------------------------------------------------------


def test_dask_is_told_the_size_of_what_it_moves():
    total = Evaluations([snb.Evaluation(2, "hits")])
    assert sys.getsizeof(total) > total.nbytes > 0
