"""Penalties and reads chosen in shared reads: the scores of models fitted one by one, any rows to the same bits."""

import warnings

import numpy as np
import pandas as pd
import pytest
import zarr
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from zarr.storage import MemoryStore

import streamnb as snb
from streamnb.selection import fold_models
from tests.estimators.test_trained import X, Y
from tests.support.refusals import refuses
from tests.support.stores import CountingStore

pytestmark = pytest.mark.filterwarnings("ignore:max_passes:streamnb.StreamnbWarning")
FEW = {"folds": 3, "max_passes": 5}
N = len(Y)
FOLDS = snb.fold_numbers(N, 3)
OUT = np.arange(3)[:, None] != FOLDS


def fitted(kind, point, *rows, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", snb.StreamnbWarning)  # that the few reads of the point were spent
        return getattr(snb, kind)(**point, **options).fit(*rows)


@pytest.mark.filterwarnings("ignore:.*of those tried")
def test_probabilities_and_rankings_are_judged_and_features_counted():
    by_rank = snb.SoftmaxRegressionCV(l1=[3.0, 1e6], scoring="roc_auc", **FEW).fit(X, Y)
    table = pd.DataFrame(by_rank.cv_results_)
    none = table[table.param_l1 == 1e6]
    assert (
        none.mean_test_score.tolist() == [0.5] and none.n_features.tolist() == [0] and by_rank.best_params_["l2"] == 0.0
    )
    point = table.params[table.index[-1]]
    alone = fitted("SoftmaxRegression", point, X[FOLDS != 1], Y[FOLDS != 1])
    area = roc_auc_score(Y[FOLDS == 1], alone.predict_proba(X[FOLDS == 1]), multi_class="ovr")
    np.testing.assert_allclose(table["split1_test_score"].iloc[-1], area)
    used = [fitted("SoftmaxRegression", point, X[out], Y[out]).coef_.any(axis=0).sum() for out in OUT]
    assert table.n_features.iloc[-1] == np.rint(np.mean(used))
    by_loss = snb.SoftmaxRegressionCV(1.0, scoring=["neg_log_loss", "accuracy"], **FEW).fit(X, Y)
    in_list = by_loss.cv_results_["mean_test_accuracy"]
    both = in_list, snb.SoftmaxRegressionCV(1.0, scoring="accuracy", **FEW).fit(X, Y).cv_results_["mean_test_score"]
    np.testing.assert_array_equal(*both)
    by_function = snb.SoftmaxRegressionCV(1.0, scoring=lambda e: -e.log_loss(), **FEW).fit(X, Y)
    assert by_loss.best_score_ == by_function.best_score_ and -1.2 < by_loss.best_score_ < -0.3
    few = snb.SoftmaxRegressionCV([0.1, 1.0], scoring="roc_auc", rule="parsimonious", **FEW).fit(X, Y)
    enough = few.cv_results_["mean_test_score"] >= 0.99 * few.cv_results_["mean_test_score"].max()
    assert few.best_params_["max_passes"] == few.cv_results_["param_max_passes"][enough].min()


def test_of_a_list_of_scorings_the_first_chooses_and_all_are_told(tmp_path):
    asked = ["neg_log_loss", "accuracy", "roc_auc_margin"]
    several = snb.SoftmaxRegressionCV([0.1, 10.0], scoring=asked, **FEW).fit(X, Y)
    first, second = (snb.SoftmaxRegressionCV([0.1, 10.0], scoring=one, **FEW).fit(X, Y) for one in asked[:2])
    table, points = several.cv_results_, [str(point) for point in second.cv_results_["params"]]
    assert (
        several.best_params_ == first.best_params_
        and (table["mean_test_score"] == first.cv_results_["mean_test_score"]).all()
    )
    assert (table["mean_test_neg_log_loss"] == table["mean_test_score"]).all() and "mean_test_roc_auc_margin" in table
    both = [(i, points.index(str(point))) for i, point in enumerate(table["params"]) if str(point) in points]
    same = np.array([(table["split1_test_accuracy"][i], second.cv_results_["split1_test_score"][k]) for i, k in both])
    assert len(both) > 4 and (same[:, 0] == same[:, 1]).all()
    several.save(tmp_path / "m.snb")
    assert (snb.load(tmp_path / "m.snb").cv_results_["mean_test_accuracy"] == table["mean_test_accuracy"]).all()
    with pytest.raises(ValueError, match="'neg_log_loss' needs probabilities"):
        snb.MarginClassifierCV(scoring=["accuracy", "neg_log_loss"]).fit(X, Y)


@pytest.mark.usefixtures("as_in_folds")
def test_calibration_is_that_of_the_models_without_each_fold():
    grid = {"l2": [0.1, 10.0], "scoring": "accuracy", "max_passes": 6}
    for kind in (snb.MarginClassifier, snb.LeastSquaresClassifier):
        search = getattr(snb, f"{kind.__name__}CV")(**grid, calibration="sigmoid").fit(X, Y)
        plain = clone(search).set_params(calibration=None).fit(X, Y)
        assert search.best_params_ == plain.best_params_ and not hasattr(plain, "predict_proba")
        alone = kind(**search.best_params_, calibration="sigmoid").fit(X, Y)  # its folds are the same
        np.testing.assert_array_equal(search.predict_proba(X), alone.predict_proba(X))
        plans = [snb.plan(X, Y, model=model).most_reads for model in (search, plain)]
        assert plans[0] == plans[1] + 7


def test_of_equal_scores_the_next_scoring_chooses():
    same = [lambda e: 1.0, "accuracy"]
    model = snb.MarginClassifierCV([0.1, 1e4], scoring=same, **FEW).fit(X, Y)
    accuracy = model.cv_results_["mean_test_accuracy"]
    assert accuracy[model.cv_results_["params"].tolist().index(model.best_params_)] == accuracy.max() > accuracy.min()


def result(model):
    scores = [model.cv_results_[name].tolist() for name in sorted(model.cv_results_) if name != "params"]
    return model.best_params_, model.coef_.tolist(), model.history_["objective"].tolist(), str(scores)


def test_a_read_decodes_each_chunk_once_and_groups_read_by_themselves():
    store = CountingStore(MemoryStore())
    array = zarr.create_array(store, name="x", data=X, chunks=(37, 6))
    model = snb.SoftmaxRegressionCV([0.1, 10.0, 100.0], tol=0.0, scoring="accuracy", **FEW)
    for memory_limit, n_groups in ((None, 1), (15_000, 5)):
        plan = snb.plan(array, Y, model=model, memory_limit=memory_limit)
        assert (plan.n_models, plan.n_groups, plan.most_reads) == (9, n_groups, 1 + 5 * n_groups + 5)
        store.reads.clear()
        if n_groups == 1:
            whole = clone(model).fit(array, Y)
        else:
            with pytest.warns(snb.StreamnbWarning, match=r"9 models take .*in 5 groups of 2, .*up to 5 times"):
                again = clone(model).fit(array, Y, memory_limit=memory_limit, keep="memory")
        chunks = [n for key, n in store.reads.items() if "/c/" in key]
        last = 5 * n_groups + whole.n_passes_ if memory_limit else 0  # without a limit the scan keeps the rows
        assert set(chunks) == {1 + last} and len(chunks) == 5
    assert result(again) == result(whole)
    assert "most_reads" not in repr(snb.plan(X, Y)) and "most_reads    11" in repr(snb.plan(X, Y, model=model))
    single = snb.plan(X, Y, model=snb.SoftmaxRegression(max_passes=7))
    assert (single.n_models, single.most_reads) == (1, 8)


def test_the_best_penalty_is_trained_until_it_converges():
    """As the plain model is, which takes more reads than the models without a fold, or fewer."""
    model = snb.SoftmaxRegressionCV([0.1, 10.0], folds=3, max_passes=40).fit(X, Y)
    alone = snb.SoftmaxRegression(l2=model.best_params_["l2"], max_passes=40).fit(X, Y)
    assert model.converged_ and model.n_passes_ == alone.n_passes_ != model.best_params_["max_passes"]
    np.testing.assert_array_equal(model.coef_, alone.coef_)
    sparing = clone(model).set_params(rule="parsimonious").fit(X, Y)
    assert sparing.n_passes_ == sparing.best_params_["max_passes"] < model.best_params_["max_passes"]


@pytest.mark.parametrize(
    ("kind", "outputs"), [("SoftmaxRegression", "predict_proba"), ("MarginClassifier", "decision_function")]
)
def test_of_many_rows_models_go_on_from_those_of_the_middle_penalty(kind, outputs, monkeypatch):
    monkeypatch.setattr(fold_models, "MANY", N)
    monkeypatch.setattr(fold_models, "ROWS_A_WEIGHT", 1)
    model = getattr(snb, f"{kind}CV")([0.1, 1.0, 30.0, 300.0], scoring="roc_auc", folds=3)
    plan, found = snb.plan(X, Y, model=model), clone(model).fit(X, Y)
    assert found.report_.reads <= plan.most_reads == 1 + 2 * 51 + 50 + (kind == "MarginClassifier") * 51
    table = pd.DataFrame(found.cv_results_)
    middle = table[table.param_l2 == 1.0]
    ends = table[table.param_l2 != 1.0]
    assert ends.param_l2.tolist() == [300.0, 30.0, 0.1] and len(middle) == middle.param_max_passes.max() > 3
    assert (ends.param_max_passes >= len(middle)).all() and len(set(ends.mean_test_score)) == 3
    for point in ends.params:
        alone = [getattr(fitted(kind, {"l2": point["l2"]}, X[out], Y[out]), outputs)(X[~out]) for out in OUT]
        areas = [snb.evaluate(Y[~out], scores=scores).roc_auc() for out, scores in zip(OUT, alone, strict=True)]
        assert ends.mean_test_score[ends.param_l2 == point["l2"]].item() == pytest.approx(np.mean(areas), abs=2e-3)
    array = zarr.create_array(MemoryStore(), data=X, chunks=(37, 6))
    assert result(clone(model).fit(array, Y, n_threads=3)) == result(found)
    with pytest.warns(snb.StreamnbWarning, match="groups of"):
        assert result(clone(model).fit(X, Y, memory_limit=30_000)) == result(found)


def test_what_is_refused():
    model = snb.SoftmaxRegressionCV
    with pytest.raises(ValueError, match=r"y holds one class only \(\['ash'\]\); SoftmaxRegressionCV needs"):
        model(1.0).fit(X, np.repeat("ash", N))
    with pytest.raises(ValueError, match=r"one class only \(\['a'\]\) outside fold 0"):
        model(1.0, folds=FOLDS).fit(X, np.where(FOLDS == 0, "b", "a"))
    refuses(ValueError, "NaN", lambda: model(1.0).fit(np.where(X > 2.9, np.nan, X), Y))
    refuses(ValueError, "pass a callable that returns a fresh iterator", model(1.0).fit, iter([(X, Y)]), keep="no")
    refuses(MemoryError, "memory_limit", lambda: model(1.0).fit(X, Y, memory_limit=2000))
    with pytest.raises(MemoryError, match=r"what scoring='roc_auc' keeps of 5 models of 3 classes .* fewer penalties"):
        model(1.0, scoring="roc_auc").fit(np.tile(X, (60, 1)), np.tile(Y, 60), memory_limit="200kB")
    with pytest.raises(ValueError, match="separable"):
        model(0.0, folds=2, tol=1e-2, max_passes=200).fit(np.arange(20.0)[:, None], np.arange(20) // 10)
    times = iter(range(100))
    with pytest.raises(ValueError, match=r"X gave 149 rows of 6 features in read 2 and 150"):
        model(1.0, folds=2).fit(lambda: iter([(X, Y)] if next(times) == 0 else [(X[:-1], Y[:-1])]), keep="no")
    refuses(AttributeError, "LinearNB learns from rows as they come", lambda: model().partial_fit(X, Y))
    assert not hasattr(model(), "forget")
