"""LinearNBCV where classes or weights lack, fitted again, and as a scikit-learn estimator; what it refuses."""

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.metrics import roc_auc_score

import streamnb as snb
from streamnb.core import memory
from streamnb.evaluation.scorers import SCORERS
from streamnb.passes import checkpoint
from streamnb.passes.checkpoint import Checkpoint
from streamnb.passes.contract import RunOptions
from streamnb.passes.run import run_reads
from streamnb.problem.families import as_family
from streamnb.rows import row_blocks
from streamnb.rows.opening import opened
from streamnb.selection import cross_validation
from tests.support.cross_validated import outcome, problem

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


@pytest.mark.parametrize("scoring", ["roc_auc", "accuracy", "recall_weighted", "f1_micro", "f1_macro", lambda e: 0.5])
def test_a_fold_whose_rows_weigh_nothing_has_no_score(scoring):
    weight, labels = (snb.fold_numbers(60, 3) != 0).astype(float), np.eye(3, dtype=int)[y0]
    with pytest.warns(snb.StreamnbWarning, match="1 of 3 splits"):
        model = snb.LinearNBCV("poisson", FEW, folds=3, scoring=scoring).fit(x0, labels, sample_weight=weight)
    assert np.isnan(model.cv_results_["split0_test_score"]).all()
    others = np.mean([model.cv_results_[f"split{s}_test_score"] for s in (1, 2)], axis=0)
    np.testing.assert_allclose(model.cv_results_["mean_test_score"], others)


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


# ------------------------------------------------------------------------------------ a scoring scan that goes on


class BrokenOff(Exception):
    pass


@pytest.mark.parametrize("scoring", ["neg_log_loss", "roc_auc_ovo"])
def test_a_scoring_scan_that_was_broken_off_goes_on_to_the_same_bits(scoring, tmp_path, monkeypatch):
    stats, rows = snb.scan(x0, y0, folds=3), opened(x0, y0)

    def scores(grid=(0.0, 1.0, 5.0), **run):
        poisson, penalties = as_family("poisson"), (snb.L1(grid), snb.L2(grid))
        asked = [cross_validation.Candidate.of(stats, poisson, penalty, {}, 1) for penalty in penalties]
        options, scorer = RunOptions(progress=False, **run), SCORERS[scoring]
        judged, report, _ = run_reads(cross_validation.judged_together(asked, scorer, rows, options))
        return [each.scores(scorer) for each in judged], report

    add, written = Checkpoint.add, []

    def add_and_break_off(self, *part):
        add(self, *part)
        written.append(self.done)
        if len(written) == 2:
            raise BrokenOff

    for module, name, value in ((checkpoint, "SECONDS", 0.0), (checkpoint, "SHARE", 0), (row_blocks, "BLOCK_ROWS", 7)):
        monkeypatch.setattr(module, name, value)
    expected, _ = scores()
    monkeypatch.setattr(Checkpoint, "add", add_and_break_off)
    with pytest.raises(BrokenOff):
        scores(checkpoint=tmp_path / "c.snb")
    assert snb.load(tmp_path / "c.snb").done == [(0, 14)]
    for _ in range(2):
        found, report = scores(checkpoint=tmp_path / "c.snb")
        assert report.rows == 60 and written[-1] == [(0, 60)] and len(written) == 9  # the second time no row is read
        for one, two in zip(found, expected, strict=True):
            assert np.array_equal(one.scores, two.scores, equal_nan=True) and np.isfinite(one.scores).all()
    with pytest.raises(ValueError, match=r"is of another scan: candidates had other values|candidates was .* and is"):
        scores([0.0, 1.0, 6.0], checkpoint=tmp_path / "c.snb")


# -------------------------------------------------------------------------------------- what cannot be, in time


@pytest.mark.parametrize(
    ("params", "y", "message"),
    [
        ({"folds": None}, y0, "folds=None"),
        (
            {"scoring": "f1"},
            y0,
            "scoring='f1' is not for these rows: .* use 'f1_micro' or 'f1_macro' or 'f1_weighted'$",
        ),
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


def changing_stream(second):
    parts = iter([(x0, y0), second])
    return lambda: iter([next(parts)])


@pytest.mark.parametrize(
    ("second", "message"),
    [
        ((x0[::-1], y0[::-1]), "other features and labels in read 2 than in read 1"),
        ((x0[:50], y0[:50]), "50 rows of 6 features in read 2 and 60"),
        ((np.hstack([x0, x0]), y0), "12 features"),
        ((x0, np.where(y0 == 1, 5, y0)), "label 5 at row|other labels in read 2"),
    ],
    ids=["order", "fewer", "wider", "labels"],
)
def test_other_rows_in_the_second_scan_are_noticed(second, message):
    """Rows in another order would be judged by models that have seen them."""
    with pytest.raises(ValueError, match=message):
        snb.LinearNBCV("poisson", FEW, folds=3).fit(changing_stream(second), keep="no")


def test_other_labels_in_the_second_scan_are_noticed():
    labels = np.eye(3, dtype=int)[y0]
    parts = iter([(x0, labels), (x0, labels[:, :2])])
    with pytest.raises(ValueError, match=r"y has 2 columns|other labels in read 2"):
        snb.LinearNBCV("poisson", FEW, folds=3).fit(lambda: iter([next(parts)]), keep="no")


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


# ------------------------------------------------------------------------------------------------- many classes


def test_what_will_take_minutes_is_said_before_it_is_done(monkeypatch):
    x, y = np.random.default_rng(0).poisson(1.0, (60, 4)), np.arange(60) % 3
    monkeypatch.setattr(cross_validation, "PER_MARGIN", 1.0)
    with pytest.warns(snb.StreamnbWarning, match=r"judging 60 rows by 5 x 7 models of 3 classes will .* 24 minutes of"):
        snb.LinearNBCV("poisson", snb.L1(np.arange(7.0))).fit(x, y)
    with pytest.warns(snb.StreamnbWarning, match=r"60 rows by 5 x 2 models .* 48 minutes of one core; progress=True"):
        snb.compare(x, y, families=["poisson", "multinomial"], penalties={"plain": None}, show=False)


def test_confusion_matrices_that_do_not_fit_are_refused_before_rows_are_judged(monkeypatch):
    x, y = np.random.default_rng(0).poisson(1.0, (60, 4)), np.arange(60) % 3
    monkeypatch.setattr(memory, "free_memory", lambda: 20_000)
    with pytest.raises(MemoryError, match=r"what scoring=.accuracy_of. keeps of 5 x 7 models of 3 classes .* fewer"):
        snb.LinearNBCV("poisson", snb.L1(np.arange(7.0)), scoring=accuracy_of).fit(x, y)


def accuracy_of(evaluation):
    return evaluation.accuracy()


@pytest.mark.parametrize(("scheme", "sparse"), [("joint", True), ("ovr", False)])
def test_weights_computed_for_few_rows_at_a_time_give_the_same_bits(scheme, sparse, monkeypatch):
    rng = np.random.default_rng(0)
    x, y = rng.poisson(0.3, (300, 50)), rng.integers(0, 40, 300)
    x, model = (sp.csr_array(x) if sparse else x), snb.LinearNBCV(folds=2, scoring="neg_log_loss", scheme=scheme)
    expected = model.fit(x, y).cv_results_["mean_test_score"]
    monkeypatch.setattr(cross_validation, "WEIGHTS_BYTES", 0)
    monkeypatch.setattr(cross_validation, "COSTLY_MARGINS", 5 * 40 * 20)
    assert np.array_equal(model.fit(x, y).cv_results_["mean_test_score"], expected)


# ---- scores of the rows that models have seen ------------------------------------------------------------------------


@pytest.mark.parametrize("scoring", ["roc_auc", "accuracy", "roc_auc_reference"])
def test_training_rows_are_judged_by_the_models_that_saw_them(scoring):
    rng = np.random.default_rng(4)
    labels = rng.integers(0, 3, 150)
    x = rng.poisson(1.0, (150, 6)) + np.eye(6, dtype=int)[labels] * rng.poisson(1.0, (150, 1))
    options = {"folds": 3, "repeats": 2, "scoring": scoring, "scheme": "reference", "reference": 0}
    penalty, kept_open = snb.TopK([1, 6]), {"scheme": "reference", "reference": 0}
    plain = snb.LinearNBCV("poisson", penalty, **options).fit(x, labels)
    model = snb.LinearNBCV("poisson", penalty, return_train_score=True, **options).fit(
        da.from_array(x, (40, 6)), labels
    )
    for name, values in plain.cv_results_.items():
        np.testing.assert_array_equal(model.cv_results_[name], values)
    seen = [name for name in model.cv_results_ if "train" in name]
    of_test = {name for name in plain.cv_results_ if "test_score" in name}
    of_test -= {"rank_test_score", "low_test_score", "high_test_score"}
    assert {name.replace("train", "test") for name in seen} == of_test
    for split in range(6):
        rest = snb.fold_numbers(150, 3, repeat=split // 3) != split % 3
        for point, k in enumerate(penalty.k):
            alone = snb.LinearNB("poisson", snb.TopK(int(k)), **kept_open).fit(x[rest], labels[rest])
            scores = alone.decision_function(x[rest])
            if scoring == "accuracy":
                expected = alone.score(x[rest], labels[rest])
            elif scoring == "roc_auc":
                odds = scores - np.stack([logsumexp(np.delete(scores, c, axis=1), axis=1) for c in range(3)], axis=1)
                expected = np.mean([roc_auc_score(labels[rest] == c, odds[:, c]) for c in range(3)])
            else:
                pairs = [(c, np.isin(labels[rest], [0, c])) for c in (1, 2)]
                expected = np.mean([roc_auc_score(labels[rest][two] == c, scores[two, c]) for c, two in pairs])
            assert model.cv_results_[f"split{split}_train_score"][point] == pytest.approx(expected, rel=1e-12)
    means = np.mean([model.cv_results_[f"split{split}_train_score"] for split in range(6)], axis=0)
    np.testing.assert_allclose(model.cv_results_["mean_train_score"], means, rtol=1e-14)
