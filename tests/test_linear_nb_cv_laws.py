"""LinearNBCV against refitting by hand, on any problem and any holder of the rows; what it reads, keeps and refuses."""

import pickle
import tracemalloc
import warnings
from collections import Counter
from functools import partial, reduce
from operator import add

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp
import zarr
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp
from sklearn import metrics
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks
from zarr.storage import MemoryStore

import streamnb as snb
from streamnb import model_selection
from tests.strategies import chunkings, example, messy_csr, write_arrays
from tests.test_sources import CountingStore, chunk_keys

# --------------------------------------------------------------------------------------- problems and penalties


def problem(seed, n_classes=3, n_rows=60, n_features=6):
    """Rows of a continuous kind, so that scores are not tied by chance; some weights are 0."""
    rng = np.random.default_rng([seed, n_classes])
    y = rng.permutation(np.arange(n_rows) % n_classes)
    rate = rng.gamma(1.0, 1.0, (n_classes, n_features))
    x = rng.poisson(rate[y]) * (1.0 + 0.1 * rng.random((n_rows, n_features)))
    x[:, -1] = 0.0
    return x, y, rng.choice([0.0, 0.5, 1.0, 2.0], n_rows, p=[0.05, 0.3, 0.35, 0.3])


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


def log_odds(scores):
    return np.stack([s - logsumexp(np.delete(scores, k, axis=1), axis=1) for k, s in enumerate(scores.T)], axis=1)


def ranked(model, x, scheme):
    """What rows are ranked by: one number a row for two classes, else a column a class."""
    scores = model.decision_function(x)
    return log_odds(scores) if scores.ndim == 2 and scheme in ("joint", "reference") else scores


def areas(of, y, scores, weight):
    """The area of each class against the rest; of class 1 alone where there are two."""
    if scores.ndim == 1:
        return of(y == 1, scores, sample_weight=weight)
    return np.mean([of(y == k, scores[:, k], sample_weight=weight) for k in range(scores.shape[1])])


def by_library(scoring, model, x, y, weight, scheme):
    """The score of a fitted model by scikit-learn; rows without weight are left out."""
    x, y, weight = x[weight > 0], y[weight > 0], weight[weight > 0]
    predicted = model.predict(x)
    if scoring == "accuracy":
        return metrics.accuracy_score(y, predicted, sample_weight=weight)
    if scoring == "balanced_accuracy":
        return np.mean(metrics.recall_score(y, predicted, labels=np.unique(y), average=None, sample_weight=weight))
    if scoring in ("f1_macro", "precision_weighted", "recall_micro"):
        name, average = scoring.split("_")
        score = getattr(metrics, f"{name}_score")
        return score(y, predicted, average=average, sample_weight=weight, zero_division=0.0)
    if scoring == "neg_log_loss":
        return -metrics.log_loss(y, model.predict_proba(x), sample_weight=weight, labels=model.classes_)
    of = metrics.roc_auc_score if scoring == "roc_auc" else metrics.average_precision_score
    return areas(of, y, ranked(model, x, scheme), weight)


SCORINGS = [
    "accuracy",
    "balanced_accuracy",
    "f1_macro",
    "precision_weighted",
    "recall_micro",
    "neg_log_loss",
    "roc_auc",
    "average_precision",
]


@st.composite
def settings_of_a_model(draw):
    family = draw(st.sampled_from(["poisson", "multinomial", "gaussian", "geometric"]))
    scheme = draw(st.sampled_from(["joint", "ovr", "ovo", "reference"]))
    n_classes = draw(st.sampled_from([2, 3, 3, 4]))
    kinds = [k for k in PENALTIES if k != "decorrelation" or (n_classes > 2 and family != "multinomial")]
    kind = draw(st.sampled_from([k for k in kinds if k != "decorrelation" or scheme != "ovo"]))
    scoring = draw(st.sampled_from([s for s in SCORINGS if scheme != "ovo" or s != "neg_log_loss"]))
    options = {"scheme": scheme, "reference": n_classes - 1 if scheme == "reference" else None}
    options["smoothing"] = draw(st.sampled_from([0.3, 1.0]))
    options["priors"] = draw(st.sampled_from([None, "uniform"]))
    if family != "gaussian":
        options["transform"] = draw(st.sampled_from([None, "sqrt", "log1p"]))
        options["idf"] = draw(st.booleans())
    return family, kind, scoring, n_classes, options


@given(drawn=settings_of_a_model(), data=st.data())
@settings(max_examples=60)
def test_scores_are_those_of_models_fitted_and_judged_by_hand(drawn, data):
    """Each split: LinearNB fitted to the other rows, and scikit-learn's metric of its answers."""
    family, kind, scoring, n_classes, options = drawn
    x, y, weight = problem(data.draw(st.integers(0, 50)), n_classes)
    folds, repeats, seed = data.draw(st.integers(2, 3)), data.draw(st.integers(1, 2)), data.draw(st.integers(0, 9))
    storage = data.draw(st.sampled_from([np.asarray, sp.csr_array, messy_csr]))
    run = {"folds": folds, "repeats": repeats, "seed": seed, "scoring": scoring}
    model = snb.LinearNBCV(family, PENALTIES[kind](GRID), **run, **options)
    with warnings.catch_warnings(action="ignore", category=snb.StreamnbWarning):  # a class whose rows weigh nothing
        model.fit(storage(x), y, sample_weight=weight)
    for repeat in range(repeats):
        numbers = snb.fold_numbers(len(y), folds, seed=seed, repeat=repeat)
        for fold in range(folds):
            here, rest = numbers == fold, numbers != fold
            complete = all(set(y[part & (weight > 0)]) == set(range(n_classes)) for part in (here, rest))
            for at, point in enumerate(model.cv_results_["params"] if complete else ()):
                one = snb.LinearNB(family, PENALTIES[kind](point), **options)
                one.fit(x[rest], y[rest], sample_weight=weight[rest])
                if 0.0 < np.abs(one.coef_).max() < 1e-9:
                    continue  # weights of rounding alone put rows in any order
                expected = by_library(scoring, one, x[here], y[here], weight[here], options["scheme"])
                found = model.cv_results_[f"split{repeat * folds + fold}_test_score"][at]
                np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12, err_msg=f"{point}")


BY_LABEL = {
    "accuracy": metrics.accuracy_score,
    "neg_hamming_loss": lambda *a, **k: -metrics.hamming_loss(*a, **k),
    "f1_macro": partial(metrics.f1_score, average="macro", zero_division=0.0),
    "f1_samples": partial(metrics.f1_score, average="samples", zero_division=0.0),
    "recall_micro": partial(metrics.recall_score, average="micro"),
    "roc_auc": metrics.roc_auc_score,
    "average_precision": metrics.average_precision_score,
    "neg_ranking_loss": lambda *a, **k: -metrics.label_ranking_loss(*a, **k),
}


@given(
    scoring=st.sampled_from(list(BY_LABEL)),
    family=st.sampled_from(["poisson", "multinomial", "gaussian"]),
    kind=st.sampled_from(["l1", "score", "l1 + l2", "top", "decorrelation"]),
    seed=st.integers(0, 20),
    sparse=st.booleans(),
)
def test_multilabel_scores_are_those_of_models_fitted_and_judged_by_hand(scoring, family, kind, seed, sparse):
    kind = "l1" if family == "multinomial" and kind == "decorrelation" else kind
    x, y, weight = problem(seed)
    weight = np.maximum(weight, 0.5)
    labels = np.stack([y == 0, y != 1, x[:, 0] > 1.0, (x[:, 1] > 1.0) | (y == 2)], axis=1).astype(int)
    labels[:12, 2:] = np.arange(12)[:, None] % 2  # no label is that of all rows, or of none, in any fold
    penalty = PENALTIES[kind]
    model = snb.LinearNBCV(family, penalty(GRID), folds=2, scoring=scoring, seed=1)
    with warnings.catch_warnings(action="ignore", category=snb.StreamnbWarning):
        model.fit(x, sp.csr_array(labels) if sparse else labels, sample_weight=weight)
    numbers = snb.fold_numbers(len(y), 2, seed=1)
    for at, point in enumerate(model.cv_results_["params"]):
        for fold in range(2):
            here = numbers == fold
            one = snb.LinearNB(family, penalty(point)).fit(x[~here], labels[~here], sample_weight=weight[~here])
            of_scores = scoring in ("roc_auc", "average_precision", "neg_ranking_loss")
            answer = (one.decision_function if of_scores else one.predict)(x[here])
            expected = BY_LABEL[scoring](labels[here], answer, sample_weight=weight[here])
            np.testing.assert_allclose(
                model.cv_results_[f"split{fold}_test_score"][at], expected, rtol=1e-9, atol=1e-12
            )


@given(data=st.data(), scores=st.lists(st.lists(st.integers(-9, 9), min_size=3, max_size=3), min_size=1, max_size=6))
def test_rules_choose_what_their_definitions_say(data, scores):
    """Of the points good enough that with the fewest features, of these the one with the highest mean."""
    splits = np.array(scores, float)
    n_features = np.array(data.draw(st.lists(st.integers(1, 4), min_size=len(scores), max_size=len(scores))))
    table = model_selection.GridScores([{}] * len(scores), splits, None, n_features, n_features[:, None], np.arange(2))
    mean = splits.mean(axis=1)
    top = int(mean.argmax())
    slack = {"best": 0.0, "parsimonious": 0.01 * abs(mean[top]), "one_se": splits[top].std(ddof=1) / np.sqrt(3)}
    for rule, width in slack.items():
        chosen = table.best(rule)
        enough = mean >= mean[top] - width
        assert enough[chosen]
        assert n_features[chosen] == n_features[enough].min()
        assert mean[chosen] == mean[enough & (n_features == n_features[chosen])].max()


# ------------------------------------------------------------------------------------ whatever holds the rows


def outcome(model):
    columns = {name: column.tolist() for name, column in model.cv_results_.items() if name != "params"}
    return str(columns), model.best_, model.coef_.tolist(), model.intercept_.tolist()


@given(data=st.data(), scoring=st.sampled_from(["roc_auc", "f1_macro", "neg_log_loss"]))
def test_chunks_threads_and_partitions_do_not_matter(data, scoring):
    """To the last bit where sums are exact."""
    rows = example("str")
    groups = np.arange(len(rows)) // 2
    model = snb.LinearNBCV("poisson", snb.L1([0.0, 0.5, 2.0]), folds=2, repeats=2, scoring=scoring)
    expected = outcome(model.fit(rows.x, rows.y, rows.w, groups=groups))
    sizes = data.draw(chunkings(len(rows)))
    blocks = [(part.x, part.y, part.w) for part in rows.split(sizes)]
    model.fit(lambda: iter(blocks), groups=groups, n_threads=data.draw(st.integers(1, 3)))
    assert outcome(model) == expected
    lazy = [
        da.from_array(a, chunks=((*sizes,), *((n,) for n in a.shape[1:]))) for a in (rows.x, rows.y, rows.w, groups)
    ]
    if data.draw(st.booleans()):
        lazy = [a[da.ones(len(rows), chunks=((*sizes,),), dtype=bool)] for a in lazy]  # lengths forgotten
    x, y, w, g = lazy
    assert outcome(model.fit(x, y, w, groups=g)) == expected


@pytest.mark.parametrize("chunk", [1, 7, 1000])
def test_each_chunk_of_a_csr_group_is_read_twice(chunk):
    store = CountingStore(MemoryStore())
    group = write_arrays(zarr.create_group(store), example("int"), chunk=chunk)
    group.create_array("site", data=np.arange(41) // 2, chunks=(11,))
    store.reads.clear()
    snb.LinearNBCV(penalty=snb.L1([0.0, 1.0]), folds=2, repeats=3).fit(group, "y", groups="site")
    for name in ("data", "indices", "indptr", "y", "site"):
        assert {key: store.reads[key] for key in chunk_keys(group[name])} == dict.fromkeys(chunk_keys(group[name]), 2)


@pytest.mark.parametrize("chunks", [(7, 9), (7, 4), (100, 100)])
def test_each_chunk_of_a_dense_array_is_read_twice(chunks):
    store, rows = CountingStore(MemoryStore()), example("int")
    array = zarr.create_array(store, name="x", data=rows.x + 1.0, chunks=chunks)
    store.reads.clear()
    snb.LinearNBCV(penalty=snb.L1([0.0, 1.0]), folds=np.arange(41) % 3).fit(array, rows.y)
    assert store.reads == Counter(dict.fromkeys(chunk_keys(array), 2))


@pytest.mark.parametrize("kind", PENALTIES)
@pytest.mark.parametrize("labels", ["classes", "labels"])
@pytest.mark.parametrize("family", ["poisson", "gaussian", "bernoulli", "multinomial"])
def test_weights_for_the_columns_of_a_block_are_the_same(family, labels, kind, monkeypatch):
    """Where the weights of all models would take too much memory they are computed block by block."""
    kind = "soft" if family == "multinomial" and kind == "decorrelation" else kind
    x, y, _ = problem(3)
    y = np.eye(3, dtype=int)[y] if labels == "labels" else y
    model = snb.LinearNBCV(family, PENALTIES[kind](GRID), folds=2, scoring="neg_log_loss", idf=family == "poisson")
    expected = outcome(model.fit(x, y))
    monkeypatch.setattr(model_selection, "WEIGHTS_BYTES", 0)
    monkeypatch.setattr(model_selection, "MARGINS", 50)
    for rows in (x, sp.csr_array(x)):
        model.fit(rows, y)
        found = model.cv_results_["mean_test_score"]
        np.testing.assert_allclose(found, clone(model).fit(x, y).cv_results_["mean_test_score"], rtol=1e-12)
        assert str(model.best_) == str(expected[1])


def test_memory_is_not_that_of_all_weights(monkeypatch):
    """Neither for the intercepts, which every feature adds to, nor for the scores."""
    n_features, taus = 40_000, np.arange(40.0)
    x = sp.random_array((60, n_features), density=2e-4, format="csr", rng=np.random.default_rng(0))
    y = np.arange(60) % 3
    monkeypatch.setattr(model_selection, "WEIGHTS_BYTES", 0)
    monkeypatch.setattr(model_selection, "MARGINS", 1 << 15)
    model = snb.LinearNBCV("poisson", snb.L1(taus), folds=2, scoring="accuracy").fit(x, y)
    tracemalloc.start()
    clone(model).fit(x, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < len(taus) * 3 * n_features * 8 / 2  # half the weights of one split


# ------------------------------------------------------------------------------- classes and weights that lack

x0, y0, _ = problem(0)
RARE = np.where(np.arange(60) == 17, 99, y0)
FEW = snb.L1([0.0, 1.0])


@pytest.mark.parametrize("scheme", ["joint", "ovr", "ovo", "reference"])
@pytest.mark.parametrize("scoring", ["roc_auc", "average_precision", "accuracy", "f1_macro", "recall_weighted"])
def test_a_class_of_one_row_has_a_score_in_its_split_alone(scoring, scheme):
    model = snb.LinearNBCV("poisson", FEW, folds=3, scoring=scoring, scheme=scheme, reference=99)
    model.set_params(reference=99 if scheme == "reference" else None)
    with pytest.warns(
        snb.StreamnbWarning, match=r"2 of 3 splits lack rows of a class: no score there for \[99\]"
    ) as caught:
        model.fit(x0, RARE)
    assert len(caught) == 1
    assert np.isfinite(model.cv_results_["mean_test_score"]).all()
    of_its_split = model._scores.class_scores[:, snb.fold_numbers(60, 3)[17], 3]
    np.testing.assert_array_equal(model.cv_results_["class_test_score_99"], of_its_split)
    assert np.isnan(model._scores.class_scores[:, :, 3]).sum(axis=1).tolist() == [2, 2]


def test_means_of_a_class_are_over_the_folds_that_have_it():
    """Recall of a class that a fold lacks is not 0 there, but none."""
    labels = np.where((y0 == 1) & (snb.fold_numbers(60, 3) == 0), 0, y0)
    with pytest.warns(snb.StreamnbWarning, match="1 of 3 splits"):
        model = snb.LinearNBCV("poisson", FEW, folds=3, scoring="accuracy").fit(x0, labels)
    numbers, recalls = snb.fold_numbers(60, 3), []
    for fold in (1, 2):
        here = numbers == fold
        fitted = snb.LinearNB("poisson", snb.L1(1.0)).fit(x0[~here], labels[~here])
        recalls.append(np.mean(fitted.predict(x0[here & (labels == 1)]) == 1))
    np.testing.assert_allclose(model.cv_results_["class_test_score_1"][1], np.mean(recalls))


@pytest.mark.parametrize("scoring", ["roc_auc", "accuracy", "neg_log_loss", "f1_macro"])
@pytest.mark.parametrize("scheme", ["joint", "ovr", "ovo", "reference"])
def test_a_listed_class_without_rows(scheme, scoring):
    if scheme == "ovo" and scoring == "neg_log_loss":
        scoring = "balanced_accuracy"
    model = snb.LinearNBCV("multinomial", FEW, folds=3, scoring=scoring, scheme=scheme)
    if scheme == "reference":
        model.set_params(reference=7)
    with pytest.warns(snb.StreamnbWarning, match=r"\[7\]"):
        model.fit(x0, y0, classes=[0, 1, 2, 7])
    assert np.isfinite(model.cv_results_["mean_test_score"]).all()
    assert 7 not in model.predict(x0)


def test_a_fold_whose_rows_weigh_nothing_has_no_score():
    weight = (snb.fold_numbers(60, 3) != 0).astype(float)
    for scoring in ("roc_auc", "accuracy"):
        with pytest.warns(snb.StreamnbWarning, match="1 of 3 splits"):
            model = snb.LinearNBCV("poisson", FEW, folds=3, scoring=scoring).fit(x0, y0, sample_weight=weight)
        assert np.isnan(model.cv_results_["split0_test_score"]).all()
        both = [model.cv_results_[f"split{s}_test_score"] for s in (1, 2)]
        np.testing.assert_allclose(model.cv_results_["mean_test_score"], np.mean(both, axis=0))


def test_weight_in_one_fold_only_is_refused():
    weight = (snb.fold_numbers(60, 3) == 2).astype(float)
    with pytest.raises(ValueError, match="sample_weight is 0 in all rows outside fold 2"):
        snb.LinearNBCV("poisson", FEW, folds=3).fit(x0, y0, sample_weight=weight)


def test_no_score_in_any_split_is_an_error():
    folds = np.where(y0 == 0, 0, 1)
    with pytest.raises(ValueError, match="'roc_auc' has no value in any of the 2 splits"):
        snb.LinearNBCV("poisson", FEW, folds=folds).fit(x0, y0 > 0)


@pytest.mark.parametrize(
    "labels", [np.array(["no", "yes", "perhaps"])[y0], y0 == 0, y0 - 1], ids=["str", "bool", "int"]
)
def test_labels_of_any_kind(labels):
    """They name the columns of the results, and nothing else depends on them."""
    _, codes = np.unique(labels, return_inverse=True)
    model, plain = (snb.LinearNBCV("poisson", FEW, folds=3).fit(x0, y) for y in (labels, codes))
    for k, label in enumerate(model.classes_.tolist()):
        scores = model.cv_results_[f"class_test_score_{label}"]
        assert (scores == plain.cv_results_[f"class_test_score_{k}"]).all()
    assert (model.coef_ == plain.coef_).all()


# -------------------------------------------------------------------------------------- what cannot be, in time


@pytest.mark.parametrize(
    ("params", "y", "message"),
    [
        ({"folds": None}, y0, "folds=None"),
        ({"scoring": "f1"}, y0, "scoring='f1' is not for these rows: average='binary' is for two classes"),
        ({"scoring": "neg_hamming_loss"}, y0, "scoring='neg_hamming_loss' is not for these rows"),
        ({"scoring": "roc_auc_ovo"}, np.eye(3, dtype=int)[y0], "scoring='roc_auc_ovo' is not for these rows"),
        ({"scoring": lambda evaluation: evaluation.recall(None)}, y0, "should be one number"),
        ({"scoring": lambda evaluation: None}, y0, "returned None"),
        ({"scoring": lambda evaluation: np.inf}, y0, "returned inf"),
    ],
)
def test_what_cannot_be(params, y, message):
    with pytest.raises((ValueError, TypeError), match=message):
        snb.LinearNBCV("poisson", FEW, **{"folds": 3, **params}).fit(x0, y)


def test_a_score_that_has_no_meaning_is_refused_before_the_second_scan():
    scans = []

    def stream():
        scans.append(1)
        return iter([(x0, y0)])

    with pytest.raises(ValueError, match="scoring='f1'"):
        snb.LinearNBCV("poisson", FEW, folds=3, scoring="f1").fit(stream)
    assert len(scans) == 1


def changing_stream(second):
    parts = iter([(x0, y0), second])
    return lambda: iter([next(parts)])


@pytest.mark.parametrize(
    ("second", "message"),
    [
        ((x0[::-1], y0[::-1]), "another order in the second scan"),
        ((x0[:50], y0[:50]), "50 rows in the second scan and 60"),
        ((np.hstack([x0, x0]), y0), "12 features"),
        ((x0, np.where(y0 == 1, 5, y0)), "label 5 at row"),
    ],
    ids=["order", "fewer", "wider", "labels"],
)
def test_other_rows_in_the_second_scan_are_noticed(second, message):
    """Rows in another order would be judged by models that have seen them."""
    with pytest.raises(ValueError, match=message):
        snb.LinearNBCV("poisson", FEW, folds=3).fit(changing_stream(second))


def test_other_labels_in_the_second_scan_are_noticed():
    labels = np.eye(3, dtype=int)[y0]
    parts = iter([(x0, labels), (x0, labels[:, :2])])
    with pytest.raises(ValueError, match="y has 2 columns"):
        snb.LinearNBCV("poisson", FEW, folds=3).fit(lambda: iter([next(parts)]))


# ----------------------------------------------------------------------------------------- fitted once and again


def state(model):
    return {name: str(value) for name, value in vars(model).items() if name != "_learned"}, model.coef_.tolist()


def test_what_fails_changes_nothing():
    model = snb.LinearNBCV("poisson", folds=3).fit(x0, y0)
    before = state(model)
    for options in (
        {"rule": "parsimonious", "smoothing": -1.0},
        {"rule": "none"},
        {"scoring": "accuracy"},
        {"smothing": 1},
    ):
        with pytest.raises(ValueError):
            model.refit(**options)
        assert state(model) == before
    for x, y in ((x0 - 1.0, y0), (x0, y0[:9]), (x0, np.zeros(60, int)), (x0[:2], y0[:2])):
        with pytest.raises(ValueError):
            model.fit(x, y)
        assert state(model) == before


def test_nothing_of_the_last_fit_is_left():
    model = snb.LinearNBCV("poisson", FEW, folds=3).fit(x0, y0)
    assert hasattr(model, "n_features_per_class_")
    model.refit(class_weight="balanced")
    model.set_params(scoring="neg_log_loss").fit(x0, y0)
    assert not hasattr(model, "n_features_per_class_")
    assert outcome(model) == outcome(clone(model).fit(x0, y0))


@pytest.mark.parametrize("name", ["penalty", "family", "scheme", "scoring", "seed", "folds"])
def test_parameters_that_scores_depend_on_wait_for_fit(name):
    """However they were changed: the grid point that was chosen means nothing under another penalty."""
    new = {"penalty": snb.L2([1.0, 2.0]), "family": "multinomial", "scheme": "ovr", "scoring": "accuracy"}
    value = {**new, "seed": 5, "folds": np.arange(60) % 3}[name]
    model = snb.LinearNBCV("poisson", FEW, folds=3).fit(x0, y0)
    coef = model.coef_
    for change in (lambda: model.refit(**{name: value}), lambda: model.set_params(**{name: value}).refit()):
        with pytest.raises(ValueError, match=rf"(?s){name}=.*use fit"):
            change()
        assert (model.coef_ == coef).all()
    assert model.fit(x0, y0).refit(rule="one_se", smoothing=0.5).rule == "one_se"


def test_refitted_after_saving_and_pickling(tmp_path):
    model = snb.LinearNBCV("poisson", snb.L1() + snb.L2([0.0, 1.0]), folds=np.arange(60) % 3, rule="one_se").fit(x0, y0)
    model.save(tmp_path / "m.snb")
    for copied in (snb.load(tmp_path / "m.snb"), pickle.loads(pickle.dumps(model))):
        assert outcome(copied) == outcome(model)
        assert copied.get_params().keys() == model.get_params().keys()
        assert outcome(copied.refit(rule="best", smoothing=0.3)) == outcome(
            clone(model).fit(x0, y0).refit(rule="best", smoothing=0.3)
        )


@pytest.mark.parametrize("scheme", ["joint", "ovr", "ovo", "reference"])
@pytest.mark.parametrize("n_classes", [2, 3, 4])
def test_fewest_features_of_a_class_are_of_its_own_row_if_it_has_one(scheme, n_classes):
    """Three classes have three pairs: those are not its rows."""
    x, y, _ = problem(5, n_classes)
    model = snb.LinearNBCV("poisson", folds=2, scheme=scheme, reference=0 if scheme == "reference" else None).fit(x, y)
    path = snb.solve(
        model.stats_,
        "poisson",
        snb.L1(model.cv_results_["param_l1"], "score"),
        scheme=scheme,
        reference=model.reference,
    )
    own = n_classes > 2 and scheme in ("joint", "ovr")
    for k in range(n_classes):
        scores = model.cv_results_[f"class_test_score_{k}"]
        n_features = path.n_features_per_class[:, k] if own else path.n_features
        assert model.n_features_per_class_[k] == n_features[scores >= 0.99 * scores.max()].min()


# ------------------------------------------------------------------------------------------------- scikit-learn

CHECKED = [
    snb.LinearNBCV("poisson", snb.L1(0.5), folds=2),
    snb.LinearNBCV("gaussian", snb.L1([0.0, 0.5]), folds=2, scoring="accuracy"),
    snb.LinearNBCV("bernoulli", snb.L2(1.0), scheme="ovr", folds=3, repeats=2, scoring="neg_log_loss", rule="one_se"),
]
OF_ROW_NUMBERS = "a row of weight 2 is in one fold, two rows are in two: their models are judged on other rows"


def of_a_cross_validated_model(estimator):
    """Only where there is a choice does it matter which rows are judged together."""
    grid = reduce(add, ([*part.tau] for part in estimator.penalty.parts))
    names = ("dense", "sparse") if len(grid) > 1 else ()
    return {f"check_sample_weight_equivalence_on_{name}_data": OF_ROW_NUMBERS for name in names}


@pytest.mark.filterwarnings("ignore::streamnb.StreamnbWarning")  # some of the data sets lack a class in a fold
@parametrize_with_checks(CHECKED, expected_failed_checks=of_a_cross_validated_model)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
