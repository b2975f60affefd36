"""Procedure 7.1: a number of features in each split, and their mean."""

import numpy as np
import pytest

import streamnb as snb
from streamnb.selection.score_table import GridScores, features_per_split, nearest, points_alike

rng = np.random.default_rng(5)
N = 240
Y = (rng.random((N, 3)) < [0.35, 0.25, 0.3]).astype(int)
Y = np.column_stack([Y, Y.sum(axis=1) == 0]).astype(int)
X = rng.poisson(1.0, (N, 9)).astype(float)
X[:, :6] += Y[:, [0, 1, 2, 0, 1, 2]] * rng.poisson(0.8, (N, 6))
ASKED = {"scheme": "reference", "reference": 3, "scoring": "roc_auc_reference", "folds": 3}


def by_the_book(scores, ks):
    """Procedure 7.1 word by word."""
    chosen = []
    for split in scores.T:
        if not np.isnan(split).all():
            chosen.append(min(k for k, score in zip(ks, split) if score > np.nanmax(split) - 0.01))
    return int(np.floor(np.mean(chosen) + 0.5)) if chosen else None


def test_the_example_by_hand():
    scores, k = np.array([[0.99, 0.90], [0.992, 0.95]]), np.array([1, 10])
    assert features_per_split(scores, k) == 6
    assert nearest(k, 6) == 1 and nearest(k, 5) == 0 and nearest(np.array([4, 8]), 6) == 0
    grid = [{"top_k": 1}, {"top_k": 10}]
    both = GridScores(grid, scores, scores[:, :, None], k, k[:, None], np.array(["ill"]))
    assert [part.tolist() for part in both.per_split()] == [[6], [1]]
    assert both.class_features().tolist() == [10]  # the mean curve has another answer


def test_against_the_procedure():
    for n_points, n_splits in ((1, 1), (5, 3), (12, 10)):
        ks = rng.permutation(np.arange(1, 60))[:n_points]
        scores = rng.random((n_points, n_splits)).round(2)
        scores[rng.random(scores.shape) < 0.1] = np.nan
        scores[:, rng.random(n_splits) < 0.2] = np.nan
        assert features_per_split(scores, ks) == by_the_book(scores, ks)
    assert features_per_split(np.full((2, 3), np.nan), np.array([1, 2])) is None


def test_points_of_a_product():
    grid = [{"top_k": k, "decorrelation": t} for k in (1, 5) for t in (0.0, 0.2, 0.4)]
    at, k = points_alike(grid, 4)
    assert at.tolist() == [1, 4] and k.tolist() == [1, 5]


@pytest.mark.parametrize("penalty", [snb.TopK([1, 2, 5, 9]), snb.TopK([1, 2, 9]) + snb.L2([0.1, 5.0])], ids=str)
def test_the_final_model_has_a_number_for_each_label(penalty):
    model = snb.LinearNBCV("poisson", penalty, **ASKED).fit(X, Y)
    best, stats = model.best_params_, model.stats_
    of_all = dict(best)
    model.refit(rule="per_split")
    k = model.best_params_["top_k"]
    assert list(k) == [0, 1, 2] and {**model.best_params_, "top_k": 0} == {**of_all, "top_k": 0}
    alike, numbers = points_alike(model.cv_results_["params"], model.cv_results_["params"].tolist().index(of_all))
    shown = []
    for u in range(3):
        scores = np.stack([split_scores(model, penalty, point, u) for point in alike])
        assert k[u] == by_the_book(scores, numbers)
        shown.append(model.cv_results_[f"class_test_score_{u}"][alike[nearest(numbers, k[u])]])
    assert model.best_score_ == pytest.approx(np.mean(shown), rel=1e-12)
    assert model.n_features_per_class_.tolist() == [*k.values(), -1]
    assert np.count_nonzero(model.coef_, axis=1).tolist() == list(k.values())
    rest = {kind: tau for kind, tau in model.best_params_.items() if kind == "l2"}
    final = snb.TopK(k) + snb.L2(rest["l2"]) if rest else snb.TopK(k)
    alone = snb.solve(stats, "poisson", final, scheme="reference", reference=3)[0]
    assert np.array_equal(alone.coef_, model.coef_)
    fitted = snb.LinearNBCV("poisson", penalty, rule="per_split", **ASKED).fit(X, Y)
    assert fitted.best_params_ == model.best_params_ and np.array_equal(fitted.coef_, model.coef_)
    assert model.refit(rule="best").best_params_ == of_all


def split_scores(model, penalty, point, u):
    """The scores of a label in each split at a point, from models of that point alone."""
    params = model.cv_results_["params"][point]
    parts = [snb.TopK([params["top_k"]])] + ([snb.L2([params["l2"]])] if "l2" in params else [])
    alone = snb.LinearNBCV("poisson", sum(parts[1:], parts[0]), **{**ASKED, "scoring": "roc_auc_reference"}).fit(X, Y)
    return alone._scores.class_scores[0, :, u]


@pytest.mark.filterwarnings("ignore:.*of those tried")
def test_saved_and_read(tmp_path):
    model = snb.LinearNBCV("poisson", snb.TopK([1, 3]), rule="per_split", **ASKED).fit(X, Y)
    model.save(tmp_path / "model.snb")
    again = snb.load(tmp_path / "model.snb")
    assert again.best_params_ == model.best_params_ and np.array_equal(again.predict(X), model.predict(X))
    penalty = snb.TopK(model.best_params_["top_k"])
    asked = {"scheme": "reference", "reference": 3}
    snb.LinearNBCV("poisson", penalty, **ASKED).fit(X, Y).save(tmp_path / "grid.snb")
    assert snb.load(tmp_path / "grid.snb").best_params_ == {"top_k": penalty.k}
    path = snb.solve(model.stats_, "poisson", penalty, **asked)
    path.save(tmp_path / "path.snb")
    assert snb.load(tmp_path / "path.snb").grid == path.grid == [{"top_k": penalty.k}]


def test_one_label_a_row():
    y = Y.argmax(axis=1)
    for scheme, reference in (("joint", None), ("ovr", None), ("reference", 3)):
        model = snb.LinearNBCV("poisson", snb.TopK([1, 4, 9]), scheme=scheme, reference=reference, rule="per_split")
        model.fit(X, y)
        labels = [0, 1, 2] if scheme == "reference" else [0, 1, 2, 3]
        assert list(model.best_params_["top_k"]) == labels
        assert np.count_nonzero(model.coef_, axis=1).tolist() == [model.best_params_["top_k"][u] for u in labels]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"penalty": snb.L1([1.0])}, r"rule='per_split' needs TopK with a grid of numbers .*, not penalty=L1"),
        ({"penalty": None}, r"needs TopK with a grid of numbers"),
        ({"penalty": snb.TopK({0: 1})}, r"needs TopK with a grid of numbers"),
        ({"scheme": "ovo"}, "rule='per_split' is not for scheme='ovo'"),
        ({"scoring": "neg_log_loss"}, "rule='per_split' needs a score of each class"),
    ],
    ids=str,
)
def test_where_there_is_no_number_of_features(options, message):
    with pytest.raises(ValueError, match=message):
        snb.LinearNBCV("poisson", **{"penalty": snb.TopK([1, 2]), "rule": "per_split"} | options).fit(X, Y[:, 0])


def test_a_number_for_each_row_of_weights():
    stats = snb.scan(X, Y)
    asked = {"scheme": "reference", "reference": 3}
    for by in ("weight", "score", "likelihood"):
        model = snb.solve(stats, "poisson", snb.TopK({0: 4, 1: 0, 2: 9}, by=by), **asked)[0]
        assert np.count_nonzero(model.coef_, axis=1).tolist() == [4, 0, 9]
        for u, k in ((0, 4), (2, 9)):
            every = snb.solve(stats, "poisson", snb.TopK(k, by=by), **asked)[0]
            assert np.array_equal(model.coef_[u], every.coef_[u]) and model.intercept_[u] == every.intercept_[u]
    for family in ("multinomial", "gaussian"):
        model = snb.solve(stats, family, snb.TopK({0: 4, 1: 0, 2: 9}), **asked)[0]
        assert np.count_nonzero(model.coef_, axis=1).tolist() == [4, 0, 9]
    two = snb.LinearNB("poisson", snb.TopK({1: 3})).fit(X, Y[:, 0])
    assert np.count_nonzero(two.coef_) == 3


@pytest.mark.parametrize(
    ("k", "message"),
    [
        ({0: 1, 1: 1}, r"TopK\(k=\{0: 1, 1: 1\}\) names no number for some; it should have one for each of 0, 1, 2"),
        ({0: 1, 1: 1, 2: 1, 3: 1}, r"has no row of weights for 3; it should have one for each of 0, 1, 2"),
        ({0: 1, 1: 10, 2: 1}, r"TopK\(k=\{0: 1, 1: 10, 2: 1\}\) keeps more features than the 9 there are"),
        (10, r"TopK\(k=10\) keeps more features than the 9 there are"),
    ],
)
def test_numbers_that_do_not_go_with_the_problem(k, message):
    with pytest.raises(ValueError, match=message):
        snb.solve(snb.scan(X, Y), "poisson", snb.TopK(k), scheme="reference", reference=3)


def test_what_is_no_number():
    with pytest.raises(ValueError, match=r"k\['a'\]=-1 should be at least 0"):
        snb.TopK({"a": -1})
    with pytest.raises(TypeError, match=r"k\['a'\]=1.5 should be a whole number"):
        snb.TopK({"a": 1.5})
