"""Laws of evaluate: the same values whatever holds the labels, and clear errors."""

import dask.array as da
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import zarr
from scipy.special import logsumexp, softmax
from sklearn import metrics as sk

import streamnb as snb

N = 300
CLASSES = np.array(["blue", "green", "red"])


def zarr_of(values, chunk):
    chunks = (chunk, *values.shape[1:])
    dtype = str if values.dtype.kind == "U" else values.dtype
    array = zarr.create_array(zarr.storage.MemoryStore(), shape=values.shape, chunks=chunks, dtype=dtype)
    array[...] = values
    return array


def unknown_chunks(values):
    array = da.from_array(values, chunks=(64, *values.shape[1:]))
    return array[da.from_array(np.ones(len(values), bool), chunks=64)]


KINDS = {
    "numpy": lambda values: values,
    "list": lambda values: values.tolist(),
    "pandas": lambda values: pd.Series(values) if values.ndim == 1 else pd.DataFrame(values),
    "zarr": lambda values: zarr_of(values, 37),
    "dask": lambda values: da.from_array(values, chunks=(53, 2)[: values.ndim]),
    "dask of unknown sizes": unknown_chunks,
}


def problem():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, N)
    scores = rng.normal(size=(N, 3)).round(1)
    scores[np.arange(N), codes] += 1.0
    proba = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    weight = rng.integers(1, 4, N).astype(float)
    columns = dict(y_pred=CLASSES[scores.argmax(axis=1)], scores=scores, proba=proba, sample_weight=weight)
    return CLASSES[codes], columns


def told(evaluation):
    """Every value of an evaluation of `problem`."""
    ranks = [evaluation.roc_auc(None), evaluation.average_precision(None), evaluation.roc_auc("macro", "ovo")]
    losses = [evaluation.log_loss(), evaluation.brier(), evaluation.n_rows, evaluation.weight]
    return np.hstack([evaluation.confusion_matrix().ravel(), *ranks, *losses])


@pytest.fixture(scope="module")
def expected():
    y_true, columns = problem()
    return told(snb.evaluate(y_true, **columns))


def test_values_are_those_of_scikit_learn():
    y_true, columns = problem()
    e, w = snb.evaluate(y_true, **columns), columns["sample_weight"]
    assert e.classes.tolist() == CLASSES.tolist()
    assert e.accuracy() == pytest.approx(sk.accuracy_score(y_true, columns["y_pred"], sample_weight=w))
    assert e.log_loss() == pytest.approx(sk.log_loss(y_true, columns["proba"], sample_weight=w))
    by_scores, by_proba = (
        sk.roc_auc_score(y_true == "red", columns[n][:, 2], sample_weight=w) for n in ("scores", "proba")
    )
    assert e.roc_auc(None)[2] == pytest.approx(by_proba, rel=1e-4)
    assert e.roc_auc_margin(None)[2] == pytest.approx(by_scores)
    assert "roc_auc " in repr(e) and "roc_auc_margin " in repr(e)
    false, true, _ = e.roc_curve("red")
    assert sk.auc(false, true) == pytest.approx(e.roc_auc(None)[2])
    alone = snb.evaluate(y_true, scores=columns["scores"], sample_weight=w)  # which has no other order
    assert alone.roc_auc(None)[2] == alone.roc_auc_margin(None)[2] == pytest.approx(by_scores)
    assert "roc_auc_margin " in repr(alone) and "roc_auc " not in repr(alone)
    with pytest.raises(ValueError, match=r"'margin'.*scores="):
        snb.evaluate(y_true, proba=columns["proba"]).roc_auc_margin()
    area = sk.roc_auc_score(y_true, columns["proba"], multi_class="ovr")
    assert snb.evaluate(y_true, proba=columns["proba"]).roc_auc() == pytest.approx(area, abs=1e-12)


def test_log_odds_are_exact_where_probabilities_are_the_softmax_of_scores():
    """Probabilities of 1 are all the same; the scores that they come from are not."""
    rng = np.random.default_rng(0)
    scores, y = rng.normal(scale=300.0, size=(200, 3)), rng.integers(0, 3, 200)
    scores[np.arange(200), y] += 200.0
    proba = softmax(scores, axis=1)
    odds = np.column_stack([scores[:, k] - logsumexp(np.delete(scores, k, axis=1), axis=1) for k in range(3)])
    expected = [sk.roc_auc_score(y == k, odds[:, k]) for k in range(3)]
    np.testing.assert_allclose(snb.evaluate(y, scores=scores, proba=proba).roc_auc(None), expected)
    model = snb.LinearNBCV("gaussian", snb.L1([0.0]), folds=2, scoring=["roc_auc", "roc_auc_margin"])
    found, numbers = model.fit(scores, y).cv_results_, snb.fold_numbers(200, 2)
    for fold in range(2):
        here = numbers == fold
        fitted = snb.LinearNB("gaussian").fit(scores[~here], y[~here])
        raw, proba = fitted.decision_function(scores[here]), fitted.predict_proba(scores[here])
        judged = snb.evaluate(y[here], scores=raw, proba=proba)
        assert found[f"split{fold}_test_roc_auc"][0] == pytest.approx(judged.roc_auc())
        assert found[f"split{fold}_test_roc_auc_margin"][0] == pytest.approx(judged.roc_auc_margin())
        assert judged.roc_auc() != judged.roc_auc_margin()


MIXED = [("dask", "zarr"), ("zarr", "dask"), ("list", "dask"), ("dask", "pandas")]


@pytest.mark.parametrize(("of_truth", "of_columns"), [*zip(KINDS, KINDS), *MIXED])
def test_values_do_not_depend_on_what_holds_the_columns(of_truth, of_columns, expected):
    y_true, columns = problem()
    columns = {name: KINDS[of_columns](values) for name, values in columns.items()}
    np.testing.assert_array_equal(told(snb.evaluate(KINDS[of_truth](y_true), **columns)), expected)


def test_columns_of_frames_are_matched_by_name():
    rng = np.random.default_rng(3)
    y, proba = CLASSES[np.arange(N) % 3], rng.dirichlet(np.ones(4), N)
    named = pd.DataFrame(proba[:, :3] / proba[:, :3].sum(axis=1, keepdims=True), columns=["red", "blue", "green"])
    expected = sk.log_loss(y, named[CLASSES], labels=CLASSES)
    for frame in (named, named[CLASSES], pl.from_pandas(named)):
        assert snb.evaluate(y, proba=frame).log_loss() == pytest.approx(expected)
        assert snb.evaluate(y, scores=frame).roc_auc_margin() == snb.evaluate(y, scores=named[CLASSES]).roc_auc_margin()
    assert snb.evaluate(y, proba=named, scores=named, classes=[*named.columns]).log_loss() == pytest.approx(expected)
    more = snb.evaluate(y, proba=pd.DataFrame(proba, columns=["pink", "red", "green", "blue"]))
    assert more.classes.tolist() == ["blue", "green", "pink", "red"]
    numbered = pl.DataFrame(named.to_numpy(), schema=["2", "0", "1"])
    assert snb.evaluate(np.arange(N) % 3, proba=numbered).log_loss() == pytest.approx(expected)
    for columns in ([0, 1, 2], ["p", "q", "r"]):  # not the names of classes
        unnamed = snb.evaluate(y, proba=named.set_axis(columns, axis=1)).log_loss()
        assert unnamed == snb.evaluate(y, proba=named.to_numpy()).log_loss()
    listed = snb.evaluate(np.arange(N) % 3, proba=pd.DataFrame(named.to_numpy()), classes=[2, 0, 1])
    assert listed.log_loss() == pytest.approx(expected)
    sets = pd.DataFrame((rng.random((N, 2)) < 0.5).astype(int), columns=["a", "b"])
    chances = pd.DataFrame(rng.random((N, 2)), columns=["b", "a"])
    assert snb.evaluate(sets, proba=chances).log_loss() == snb.evaluate(sets, proba=chances[["a", "b"]]).log_loss()
    with pytest.raises(ValueError, match=r"proba has the columns \['red', 'blue', 'green'\], and the classes"):
        snb.evaluate(y, proba=named, classes=CLASSES)


@pytest.mark.parametrize(("kind", "order"), [("numpy", [2, 0, 1]), ("dask", [1, 2, 0]), ("zarr", [2, 1, 0])])
def test_classes_are_listed_in_any_order_with_their_columns(kind, order, expected):
    y_true, columns = problem()
    columns |= {name: columns[name][:, order] for name in ("scores", "proba")}
    columns = {name: KINDS[kind](values) for name, values in columns.items()}
    e = snb.evaluate(KINDS[kind](y_true), classes=CLASSES[order].tolist(), **columns)
    assert e.classes.tolist() == CLASSES.tolist()
    np.testing.assert_array_equal(told(e), expected)


def test_one_column_is_of_the_second_of_two_classes_as_they_are_listed():
    y_true, p = np.array(["yes", "no", "yes", "no", "yes"]), np.array([0.9, 0.2, 0.4, 0.5, 0.7])
    forms = [
        snb.evaluate(y_true, proba=p, classes=["no", "yes"]),
        snb.evaluate(y_true, proba=1.0 - p, classes=["yes", "no"]),
        snb.evaluate(y_true, scores=-np.log(p), proba=np.column_stack([p, 1.0 - p]), classes=["yes", "no"]),
    ]
    for e in forms:
        assert e.classes.tolist() == ["no", "yes"]
        assert e.roc_auc() == pytest.approx(sk.roc_auc_score(y_true == "yes", p))
        assert e.log_loss() == pytest.approx(sk.log_loss(y_true, p))
    two_columns = np.column_stack([np.log(p), -np.log(p)])
    assert snb.evaluate(y_true, scores=two_columns, classes=["yes", "no"]).roc_auc() == pytest.approx(5 / 6)


def test_a_value_that_is_no_score_is_named_by_its_own_column():
    with pytest.raises(ValueError, match="scores contains NaN: row 1, column 0"):
        snb.evaluate([1, 2, 3], scores=[[0, 0, 1], [np.nan, 0, 1], [0, 0, 1]], classes=[3, 1, 2])


def test_labels_may_be_an_anndata_categorical(expected):
    y_true, columns = problem()
    group = zarr.create_group(zarr.storage.MemoryStore(), attributes={"encoding-type": "categorical"})
    group.create_array("codes", data=np.searchsorted(CLASSES, y_true).astype(np.int8), chunks=(41,))
    group.create_array("categories", data=CLASSES.astype(np.dtypes.StringDType()))
    columns = {name: KINDS["dask"](values) for name, values in columns.items()}
    np.testing.assert_array_equal(told(snb.evaluate(group, **columns)), expected)


@pytest.mark.parametrize("kind", ["numpy", "zarr"])
def test_wide_rows_are_read_in_several_blocks(kind):
    """120 rows of 20,000 labels do not go into one."""
    y_true, y_pred = np.random.default_rng(0).integers(0, 2, (2, 120, 20_000), dtype=np.uint8)
    e = snb.evaluate(KINDS[kind](y_true), KINDS[kind](y_pred))
    assert e.n_rows == 120
    assert e.hamming_loss() == pytest.approx(sk.hamming_loss(y_true, y_pred))


# ---- several labels a row --------------------------------------------------------------------------------------------

SET_KINDS = {
    "dense": lambda values: values,
    "bools": lambda values: values.astype(bool),
    "csr": sp.csr_matrix,
    "coo": sp.coo_array,
    "frame": pd.DataFrame,
    "zarr": lambda values: zarr_of(values, 9),
    "dask": lambda values: da.from_array(values, chunks=(11, 2)),
    "dask of csr": lambda values: da.from_array(values, chunks=(11, 4)).map_blocks(sp.csr_array),
}


@pytest.mark.parametrize(
    ("truth", "found"), [*((kind, "dense") for kind in SET_KINDS), ("dask", "csr"), ("csr", "dask")]
)
def test_indicators_of_any_kind_are_judged_like_dense_ones(truth, found):
    rng = np.random.default_rng(0)
    y_true, y_pred = (rng.random((2, 40, 4)) < 0.4).astype(int)
    scores = rng.normal(size=(40, 4))
    e = snb.evaluate(SET_KINDS[truth](y_true), SET_KINDS[found](y_pred), scores=scores, classes=list("abcd"))
    assert e.multilabel and e.classes.tolist() == list("abcd")
    assert e.hamming_loss() == pytest.approx(sk.hamming_loss(y_true, y_pred))
    assert e.f_score("macro") == pytest.approx(sk.f1_score(y_true, y_pred, average="macro"))
    assert e.ranking_loss() == pytest.approx(sk.label_ranking_loss(y_true, scores))
    assert e.roc_auc() == pytest.approx(sk.roc_auc_score(y_true, scores))


# ---- errors ----------------------------------------------------------------------------------------------------------

GOOD = dict(y_true=["a", "b", "a"], y_pred=["a", "b", "b"])


@pytest.mark.parametrize(
    "given, message",
    [
        (dict(y_pred=None), "give y_pred, scores or proba"),
        (dict(y_true=None), "give y_true"),
        (dict(y_pred=["a", "b"]), "y_pred should have one entry for each row of y_true"),
        (dict(scores=np.zeros(2)), "scores should have one entry"),
        (dict(sample_weight=np.ones(4)), "sample_weight should have one entry"),
        (dict(sample_weight=[1, 1, -1]), "not negative"),
        (dict(classes=["a"]), "y_true has the label 'b' at row 1"),
        (dict(y_pred=["a", "b", "c"], classes=["a", "b"]), "y_pred has the label 'c' at row 2"),
        (dict(y_pred=[1, 2, 1]), "strings"),
        (dict(y_pred=[1, 2, 1], classes=["a", "b"]), "y_pred holds numbers"),
        (dict(y_true=["a", None, "b"]), "y_true has a missing label at row 1"),
        (dict(y_true=[], y_pred=[]), "y_true is empty"),
        (dict(scores=[0.0, np.nan, 1.0]), "scores contains NaN: row 1"),
        (dict(scores=np.zeros((3, 3))), "give classes="),
        (dict(scores=np.zeros((3, 3, 1))), "one dimension or two"),
        (dict(scores=["x", "y", "z"]), "scores has dtype"),
        (dict(proba=[0.0, 1.0, 1.5]), "probabilities should be from 0 to 1"),
        (dict(proba=[0.0, np.nan, 1.0]), "proba contains NaN"),
        (dict(y_true=[[0, 2], [1, 0], [0, 1]]), "indicator of labels should hold 0 and 1"),
        (dict(y_true=np.eye(3)), r"y_pred has shape \(3,\); multi-label"),
        (dict(y_true=np.eye(3), y_pred=np.eye(3), classes=["a"]), "multi-label rows should be an indicator"),
    ],
)
@pytest.mark.parametrize("lazy", [False, True])
def test_what_does_not_fit_is_refused(given, message, lazy):
    given = GOOD | given
    if lazy:
        arrays = {name: np.asarray(values) for name, values in given.items() if values is not None}
        given |= {name: da.from_array(a, chunks=a.shape) for name, a in arrays.items() if name != "classes"}
    with pytest.raises((ValueError, TypeError), match=message):
        snb.evaluate(**given)


def test_masked_scores_are_refused():
    with pytest.raises(ValueError, match="scores has masked entries"):
        snb.evaluate([0, 1], scores=np.ma.array([0.0, 1.0], mask=[False, True]))


def test_blocks_without_rows_change_nothing():
    y = da.from_array(np.repeat(["a", "b", "c"], 4), chunks=4)
    kept = y[y != "b"]
    assert snb.evaluate(kept, kept, scores=(kept == "c").astype(float)).roc_auc() == 1.0


def test_a_single_label_has_an_accuracy_and_no_ranking():
    e = snb.evaluate(["a", "a"], ["a", "a"], scores=[1.0, 2.0])
    assert e.accuracy() == 1.0
    assert np.isnan(e.roc_auc())


def test_unknown_blocks_need_the_same_blocks_beside_them():
    y = unknown_chunks(np.arange(N) % 3)
    with pytest.raises(ValueError, match="compute_chunk_sizes"):
        snb.evaluate(y, np.arange(N) % 3)


def test_two_columns_of_scores_rank_by_the_second_less_the_first():
    rng = np.random.default_rng(0)
    y, scores = rng.integers(0, 2, 300), rng.normal(size=(300, 2)) + rng.normal(size=(300, 1))
    proba, infinite = softmax(scores, axis=1), np.array([[-np.inf, -np.inf], [0.0, 1.0], [-np.inf, 0.0]])
    of_proba = snb.evaluate(y, proba=proba)
    for given in (scores, np.log(proba), np.diff(scores)[:, 0]):
        judged = snb.evaluate(y, scores=given, proba=proba)
        assert judged.roc_auc() == of_proba.roc_auc() and judged.average_precision() == of_proba.average_precision()
    assert snb.evaluate([0, 1, 1], scores=infinite).roc_auc() == 1.0
    names = np.array(["b", "a"])
    assert snb.evaluate(names[y], scores=scores, classes=names).roc_auc() == of_proba.roc_auc()


def test_decisions_follow_from_probabilities_and_scores():
    """The largest of each row is predicted; of several labels, each above 1/2."""
    rng = np.random.default_rng(0)
    proba, y = rng.dirichlet(np.ones(3), 60), np.array(["a", "b", "c"])[rng.integers(0, 3, 60)]
    expected = snb.evaluate(y, np.array(["a", "b", "c"])[proba.argmax(axis=1)]).confusion_matrix()
    two, on = y == "a", rng.integers(0, 2, (60, 3))
    for given, want in (
        ({"proba": proba}, expected),
        ({"scores": np.log(proba)}, expected),
        ({"scores": -np.log(proba), "proba": proba}, expected),
        ({"proba": proba[:, [2, 0, 1]], "classes": ["c", "a", "b"]}, expected),
    ):
        np.testing.assert_array_equal(snb.evaluate(y, **given).confusion_matrix(), want)
    for given in ({"proba": proba[:, 0]}, {"scores": np.column_stack([np.full(60, 0.5), proba[:, 0]])}):
        assert snb.evaluate(two, **given).accuracy() == np.mean(two == (proba[:, 0] > 0.5))
    assert snb.evaluate(on, proba=proba).f_score("macro") == snb.evaluate(on, proba > 0.5).f_score("macro")
    with pytest.raises(ValueError, match=r"give snb.evaluate y_pred=, proba=, or scores= with a column for each class"):
        snb.evaluate(two, scores=proba[:, 0]).accuracy()
    with pytest.raises(ValueError, match=r"y_pred has shape \(60, 3\).* give probabilities as proba="):
        snb.evaluate(y, proba)


def test_numbers_are_judged_with_their_model():
    with pytest.raises(ValueError, match=r"evaluate\(model, X, y\)"):
        snb.evaluate([0.5, 1.5], [0.4, 1.7])
