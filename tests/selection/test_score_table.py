"""LinearNBCV against refitting by hand, on any problem and any holder of the rows."""

import contextlib
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
import zarr
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_iris
from zarr.storage import MemoryStore

import streamnb as snb
from streamnb.selection import cross_validation, grid_models, score_table
from streamnb.selection.score_table import warn_of_ends
from tests.support.cross_validated import problem
from tests.support.stores import CountingStore, chunk_keys
from tests.support.strategies import example
from tests.support.zarr_stores import write_arrays

PENALTIES = {
    "l1": lambda p: snb.L1(p["l1"]),
    "score": lambda p: snb.L1(p["l1"], scale="score"),
    "l1 + l2": lambda p: snb.L1(p["l1"]) + snb.L2(p["l2"]),
    "top": lambda p: snb.TopK([int(k) for k in np.atleast_1d(p["top_k"])]),
    "decorrelation": lambda p: snb.L1(p["l1"]) + snb.Decorrelation(p["decorrelation"], scale="curvature"),
    "soft": lambda p: snb.Separable(lambda w: -w / (1.0 + abs(w)), p["separable"]),
}
GRID = {
    "l1": [0.0, 1.0, 4.0],
    "l2": [0.0, 2.0],
    "top_k": [1, 3, 6],
    "decorrelation": [0.0, 0.05],
    "separable": [0.0, 3],
}


def test_each_repeat_has_folds_of_its_own():
    x, y, weight = problem(3)
    model = snb.LinearNBCV("poisson", snb.L1([0.0, 2.0]), folds=2, repeats=2, seed=4, scoring="accuracy")
    model.fit(x, y, sample_weight=weight)
    for repeat in range(2):
        numbers = snb.fold_numbers(len(y), 2, seed=4, repeat=repeat)
        for fold in range(2):
            here, rest = numbers == fold, numbers != fold
            one = snb.LinearNB("poisson", snb.L1(2.0)).fit(x[rest], y[rest], sample_weight=weight[rest])
            found = model.cv_results_[f"split{repeat * 2 + fold}_test_score"][1]
            np.testing.assert_allclose(found, one.score(x[here], y[here], weight[here]), rtol=1e-12)


@given(data=st.data(), scores=st.lists(st.lists(st.integers(-9, 9), min_size=3, max_size=3), min_size=1, max_size=6))
def test_rules_choose_what_their_definitions_say(data, scores):
    """Of the points good enough that with the fewest features, of these the one with the highest mean."""
    splits = np.array(scores, float)
    n_features = np.array(data.draw(st.lists(st.integers(1, 4), min_size=len(scores), max_size=len(scores))))
    table = score_table.GridScores([{}] * len(scores), splits, None, n_features, n_features[:, None], np.arange(2))
    mean = splits.mean(axis=1)
    top = int(mean.argmax())
    slack = {"best": 0.0, "parsimonious": 0.01 * abs(mean[top]), "one_se": splits[top].std(ddof=1) / np.sqrt(3)}
    for rule, width in slack.items():
        chosen = table.best(rule)
        enough = mean >= mean[top] - width
        assert enough[chosen]
        assert n_features[chosen] == n_features[enough].min()
        assert mean[chosen] == mean[enough & (n_features == n_features[chosen])].max()


def test_the_same_scores_in_other_splits_are_a_tie():
    """Which splits a point does well in says nothing of it: of such points that with the fewest features is chosen."""
    rng = np.random.default_rng(0)
    n_features = np.array([5, 4, 3, 2, 6])
    for n_splits in (3, 10, 50):
        scores = rng.random(n_splits)
        splits = np.stack([rng.permutation(scores) for _ in n_features])
        for held in (splits, np.asfortranarray(splits)):
            arguments = [{"l1": 1.0}] * 5, held, held[:, :, None], n_features, n_features[:, None], np.arange(1)
            table = score_table.GridScores(*arguments)
            assert table.best("best") == 3
            assert (table.table()["rank_test_score"] == 1).all()
            assert len({*table.mean, *table.class_mean[:, 0]}) == len({*table.std}) == 1


# ------------------------------------------------------------------------------------ ends of grids


@pytest.mark.parametrize(
    ("values", "scores", "limits", "says"),
    [
        (
            [1.0, 10.0],
            [[0.5, 0.6], [0.7, 0.81]],
            {},
            r"l2=10 is the largest.* larger ones .* l2, such as \[1, 10, 100\]",
        ),
        ([1e-3, 1.0], [[0.7, 0.81], [0.5, 0.6]], {}, r"l2=0.001 is the smallest.* such as \[1, 0.001, 0.0001\]"),
        ([0.0, 4.0], [[0.5, 0.6], [0.7, 0.81]], {}, r"such as \[0, 4, 40\]"),
        ([2, 3], [[0.5, 0.6], [0.7, 0.81]], {}, r"such as \[2, 3, 4\]"),
        ([0.0, 1.0], [[0.7, 0.81], [0.5, 0.6]], {}, None),  # nothing is below 0
        ([2, 3], [[0.5, 0.6], [0.7, 0.81]], {"l2": (1, 3)}, None),
        ([1.0], [[0.5, 0.6]], {}, None),
        ([1.0, 10.0], [[0.7, 0.8], [0.703, 0.804]], {}, None),  # less than 1 %
        ([1.0, 10.0], [[0.5, 0.6], [0.9, 0.61]], {}, None),  # may be chance
        ([1.0, 10.0], [[0.5], [0.7]], {}, None),  # and always may be with one fold
        ([1.0, 10.0], [[0.5, np.nan], [0.7, np.nan]], {}, None),
        ([1.0, 10.0, 100.0], [[0.2, 0.2], [0.5, 0.6], [0.52, 0.63]], {}, None),  # gains fall from step to step
        ([1.0, 10.0, 100.0], [[0.4, 0.5], [0.5, 0.6], [0.6, 0.71]], {}, "l2=100 is the largest"),
        ([1.0, 10.0, 100.0], [[0.2, 0.2], [0.5, 0.6], [0.4, 0.5]], {}, None),  # the best is inside
    ],
)
def test_a_value_that_is_clearly_best_at_the_end_of_its_grid_says_so(values, scores, limits, says):
    grid = [{"l2": value, "l1": 0.5} for value in values] + [{"l2": 1e5, "l1": 0.1}]  # others do not count
    scores = np.array([*scores, [0.0] * len(scores[0])])
    best = int(np.nanmean(scores, axis=1).argmax())
    warns = contextlib.nullcontext() if says is None else pytest.warns(snb.StreamnbWarning, match=says)
    with warns:
        warn_of_ends(grid, scores, best, {"l2": "l2"}, limits)


RNG = np.random.default_rng(0)
CLASSES = np.arange(240) % 3
ROWS = RNG.normal(size=(240, 9)) + np.eye(3)[CLASSES][:, RNG.permutation(9) % 3]
LABELS = (ROWS > 0.5).astype(int)[:, :6]
AT_AN_END = [
    (snb.SoftmaxRegressionCV(l2=[1e5, 1e3]), CLASSES, "l2=1000 is the smallest of those tried"),
    (snb.MarginClassifierCV(l1=[1e3, 100.0]), CLASSES, "l1=100 is the smallest"),
    (snb.LeastSquaresClassifierCV([1e4, 1e3]), CLASSES, "l2=1000 is the smallest"),
    (snb.LabelSpaceCV([1, 2], 1.0), LABELS, "n_components=2 is the largest"),
    (snb.LinearNBCV("gaussian", snb.TopK([1, 3])), CLASSES, "top_k=3 is the largest .* give them in penalty"),
    (snb.AdditiveClassifier(0, l2=[1e4, 1e3], resolutions=(4,)), CLASSES, "l2=1000 is the smallest"),
]


@pytest.mark.parametrize(("model", "y", "says"), AT_AN_END, ids=lambda value: type(value).__name__)
def test_every_estimator_that_chooses_says_so(model, y, says):
    with pytest.warns(snb.StreamnbWarning, match=says):
        model.fit(ROWS, y)


def test_of_support_vector_machines_too():
    with pytest.warns(snb.StreamnbWarning, match="C=1 is the largest .* give them in C, such as"):
        snb.CrammerSingerSVMCV([0.01, 1.0], folds=3, scoring="accuracy").fit(*load_iris(return_X_y=True))


def test_a_search_says_so_of_its_best_model_alone():
    models = [one for one, y, _ in AT_AN_END if y is CLASSES]
    for candidates, says in ((models[2:], "l2=1000 is the smallest"), (models[-2:], "top_k=3 is the largest")):
        with pytest.warns(snb.StreamnbWarning) as caught:
            snb.search(ROWS, CLASSES, families=[], models=candidates, scoring="accuracy", show=False)
        (said,) = [str(one.message) for one in caught]
        assert said.startswith(says)


def test_default_penalties_of_additive_models_go_on_where_they_are_clearly_the_best():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(200, 50))
    y = rows[:, 0] + 5.0 * rng.normal(size=200) > 0
    found = snb.AdditiveClassifier(0, resolutions=(4, 16), folds=3).fit(rows, y)
    assert found.best_params_["l2"] > 30.0 and {1.0, 3.0, 10.0, 30.0} < {*found.cv_results_["param_l2"].tolist()}
    assert found.best_score_ == found.cv_results_["mean_test_score"].max()


# ------------------------------------------------------------------------------------ whatever holds the rows


def test_each_chunk_of_a_csr_group_is_read_twice():
    store = CountingStore(MemoryStore())
    group = write_arrays(zarr.create_group(store), example("int"), chunk=7)
    group.create_array("site", data=np.arange(41) // 2, chunks=(11,))
    store.reads.clear()
    snb.LinearNBCV(penalty=snb.L1([0.0, 1.0]), folds=2, repeats=3).fit(group, "y", groups="site")
    for name in ("data", "indices", "indptr", "y", "site"):
        n_reads = 3 if name == "site" else 2  # groups are counted before
        keys = chunk_keys(group[name])
        assert {key: store.reads[key] for key in keys} == dict.fromkeys(keys, n_reads)


BLOCKWISE = [  # each penalty, and each other family with those that it solves in its own way
    *(("poisson", kind) for kind in PENALTIES),
    ("gaussian", "decorrelation"),
    ("bernoulli", "score"),
    ("multinomial", "l1"),
]


@pytest.mark.parametrize(("family", "kind"), BLOCKWISE)
def test_weights_for_the_columns_of_a_block_are_the_same(family, kind, monkeypatch):
    """Where the weights of all models would take too much memory they are computed block by block."""
    x, y, _ = problem(3)
    y = np.eye(3, dtype=int)[y] if BLOCKWISE.index((family, kind)) % 2 else y  # labels, or classes
    model = snb.LinearNBCV(family, PENALTIES[kind](GRID), folds=2, scoring="neg_log_loss", idf=family == "poisson")
    expected = clone(model).fit(x, y)
    monkeypatch.setattr(cross_validation, "WEIGHTS_BYTES", 0)
    monkeypatch.setattr(grid_models, "MARGINS", 50)
    for rows in (x, sp.csr_array(x)):
        model.fit(rows, y)
        for column in ("mean_test_score", "std_test_score"):
            np.testing.assert_allclose(model.cv_results_[column], expected.cv_results_[column], rtol=1e-9, atol=1e-12)
        assert str(model.best_params_) == str(expected.best_params_)


def test_memory_is_not_that_of_all_weights(monkeypatch):
    """Neither for the intercepts, which every feature adds to, nor for the scores."""
    n_features, taus = 40_000, np.arange(40.0)
    x = sp.random_array((60, n_features), density=2e-4, format="csr", rng=np.random.default_rng(0))
    y = np.arange(60) % 3
    monkeypatch.setattr(cross_validation, "WEIGHTS_BYTES", 0)
    monkeypatch.setattr(grid_models, "MARGINS", 1 << 15)
    model = snb.LinearNBCV("poisson", snb.L1(taus), folds=2, scoring="accuracy").fit(x, y)
    tracemalloc.start()
    clone(model).fit(x, y, n_threads=1)  # each thread makes weights of its own
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < len(taus) * 3 * n_features * 8 / 2  # half the weights of one split


def test_a_list_of_scorings_has_the_columns_of_each_under_its_name(tmp_path):
    X, y, _ = problem(0)
    names, options = ["accuracy", "roc_auc", "f1_macro"], {"folds": 3, "return_train_score": True}
    model = snb.LinearNBCV("poisson", snb.L1([0.0, 1.0, 5.0]), scoring=names, **options).fit(X, y)
    for name in names:
        alone = snb.LinearNBCV("poisson", snb.L1([0.0, 1.0, 5.0]), scoring=name, **options).fit(X, y)
        for column, values in alone.cv_results_.items():
            if "score" in column:
                np.testing.assert_array_equal(model.cv_results_[column.replace("score", name)], values)
    np.testing.assert_array_equal(model.cv_results_["mean_test_score"], model.cv_results_["mean_test_accuracy"])
    model.save(tmp_path / "model.snb")
    loaded = snb.load(tmp_path / "model.snb")
    assert loaded.scoring == names and loaded.cv_results_.keys() == model.cv_results_.keys()
    with pytest.raises(TypeError, match="compare shows one score"):
        snb.compare(X, y, scoring=names)
