"""The area of each class against the reference is scikit-learn's on the rows of the two."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import roc_auc_score

import streamnb as snb
from streamnb.evaluation.reference import NestedRanking, ReferenceGroups, Steps
from streamnb.problem.schemes import as_scheme

rng = np.random.default_rng(8)
N, K, G = 300, 4, 3
Y = (rng.random((N, K)) < [0.4, 0.3, 0.2, 0.4]).astype(int)
LABELS = rng.integers(0, K, N)
WEIGHT = rng.choice([0.0, 1.0, 2.5], N)
SCHEMES = {
    "labels": (as_scheme("reference", np.arange(K), 3, True), Y),
    "unlabelled": (as_scheme("reference", np.arange(K), snb.UNLABELLED, True), Y),
    "classes": (as_scheme("reference", np.arange(K), 1), LABELS),
    "two classes": (as_scheme("reference", np.arange(2), 0), LABELS % 2),
}


def expected(y, reference, margins, rows_of):
    """Areas on subsets, column by column of the margins; `rows_of` the classes that these are of."""
    on = np.eye(K, dtype=int)[y] if y.ndim == 1 else y
    against = on.sum(axis=1) == 0 if reference is None else on[:, reference] == 1
    areas = {}
    for column, u in enumerate(rows_of):
        asked = (on[:, u] == 1) != against
        areas[u] = roc_auc_score(on[asked, u], margins[asked, column], sample_weight=WEIGHT[asked])
    return areas


@pytest.mark.parametrize("exact_rows", [N, 0], ids=["one by one", "bins"])
@pytest.mark.parametrize("name", SCHEMES)
def test_against_scikit_learn(name, exact_rows):
    scheme, y = SCHEMES[name]
    n_classes = 2 if name == "two classes" else K
    n_rows, room = scheme.n_rows(n_classes), G + 1
    margins = rng.normal(size=(N, n_rows, room)).round(1 if exact_rows else 9)
    form = {"multilabel": y.ndim == 2, "exact_rows": exact_rows, "reference": ReferenceGroups.of(scheme)}
    whole, parts = (snb.Evaluation(n_classes, n_models=G, **form) for _ in range(2))
    codes = sp.csr_array(y) if y.ndim == 2 else y
    whole.add_margins(scheme, margins, codes, WEIGHT)
    for some in (slice(0, 70), slice(70, N)):
        part = snb.Evaluation(n_classes, n_models=G, **form)
        part.add_margins(scheme, margins[some], codes[some], WEIGHT[some])
        parts = parts + part
    rows_of = scheme.groups(slice(None))[0].tolist()
    reference = 0 if name == "two classes" else scheme.reference
    for point in range(G):
        areas = expected(y, reference, margins[:, :, point], rows_of)
        one = whole.of_model(point)
        of_classes = one.roc_auc(average=None)
        within = one.roc_auc_error + 1e-12
        np.testing.assert_allclose(of_classes[rows_of], list(areas.values()), rtol=0.0, atol=within)
        assert one.roc_auc() == pytest.approx(np.mean(list(areas.values())), abs=within)
        assert np.array_equal(parts.of_model(point).roc_auc(average=None), of_classes, equal_nan=True)
        assert one.roc_auc_error == 0.0 if exact_rows else 0.0 < one.roc_auc_error < 5e-3
    if name in ("labels", "classes"):
        assert np.isnan(of_classes[reference])
    again = snb.Evaluation._from_state(whole._to_state())
    assert np.array_equal(again.of_model(1).roc_auc(None), whole.of_model(1).roc_auc(None), equal_nan=True)
    assert (again + parts).of_model(0).roc_auc() == pytest.approx(whole.of_model(0).roc_auc(), abs=2 * within)


@pytest.mark.filterwarnings("ignore:.*of those tried")
def test_in_cross_validation_the_reference_has_no_score():
    """Scores are means over the other classes; tests/laws/test_held_out.py holds them against models of each fold."""
    x, folds, penalty = rng.poisson(1.0, (N, 5)) + np.eye(5, dtype=int)[LABELS], np.arange(N) % 3, snb.TopK([1, 3])
    asked = {"scheme": "reference", "reference": 3, "scoring": "roc_auc_reference", "folds": folds}
    model = snb.LinearNBCV("poisson", penalty, **asked).fit(x, LABELS)
    of_classes = [model.cv_results_[f"class_test_score_{u}"] for u in range(K)]
    np.testing.assert_allclose(np.mean(of_classes[:3], axis=0), model.cv_results_["mean_test_score"])
    assert np.isnan(of_classes[3]).all() and model.n_features_per_class_[3] == -1
    table = snb.compare(x, LABELS, families="poisson", penalties={"k": penalty}, show=False, **asked)
    assert np.isnan(table.scores[0, 0, 3]) and "\n3 " not in str(table)


def test_a_label_that_a_fold_lacks():
    """NaN there, one warning."""
    folds = np.arange(N) % 3
    y = np.column_stack([Y[:, 0] * (folds != 1), Y[:, 1], Y[:, :2].sum(axis=1) == 0]).astype(int)
    x = rng.poisson(1.0, (N, 4)) + y[:, [0, 1, 2, 0]]
    asked = {"scheme": "reference", "reference": 2, "scoring": "roc_auc_reference", "folds": folds}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = snb.LinearNBCV("poisson", snb.TopK([2]), **asked).fit(x, y)
    assert [str(w.message) for w in caught] == [
        "1 of 3 splits lack rows of a class: no score there for [0]; the means are over the others"
    ]
    assert model.cv_results_["split1_test_score"][0] > 0.5 and 0.5 < model.best_score_ < 1.0


def test_where_there_is_no_reference():
    for scheme in ("joint", "ovr", "ovo"):
        with pytest.raises(ValueError, match=f"'roc_auc_reference' needs scheme='reference' .*, not scheme='{scheme}'"):
            snb.LinearNBCV("poisson", scheme=scheme, scoring="roc_auc_reference").fit(Y, LABELS)


# ---- nested models ---------------------------------------------------------------------------------------------------

M, STEPS = 400, 12
SIDES = rng.integers(0, 2, (M, 1)).astype(np.uint8)
NESTED_WEIGHT = rng.integers(1, 4, M).astype(float)
CHANGES = rng.normal(size=(M, STEPS)) * (rng.random((M, STEPS)) < 0.3) + 0.1 * SIDES
SCORES = CHANGES.cumsum(axis=1)
SCORES[7, 5:] = np.inf
SCORES[8, :5] = -np.inf


def steps_of(scores):
    """Where they change."""
    first = np.ones((len(scores), 1), bool)
    starts = np.hstack([first, scores[:, 1:] != scores[:, :-1]]).T
    return Steps(starts.sum(axis=1).cumsum(), np.nonzero(starts)[1].astype(np.int32), scores.T[starts])


def empty(exact_rows):
    return NestedRanking(1, multilabel=True, pairs=False, exact_rows=exact_rows, n_bins=512, n_models=STEPS)


def nested(n_rows, exact_rows, step):
    one = empty(exact_rows)
    for first in range(0, n_rows, step):
        some = slice(first, min(first + step, n_rows))
        one.add_steps(steps_of(SCORES[some]), SIDES[some], NESTED_WEIGHT[some])
    return one


@pytest.mark.parametrize("exact_rows", [M, 150, 0])
def test_nested_models_against_scikit_learn(exact_rows):
    whole = nested(M, exact_rows, 70)
    alike = nested(M, exact_rows, M)
    part, rest = nested(100, exact_rows, 30), empty(exact_rows)
    rest.add(SCORES[100:, None], SIDES[100:], NESTED_WEIGHT[100:])  # all scores, not steps
    again = empty(exact_rows)
    again = again.of_arrays((part + rest).arrays())
    for g in range(STEPS):
        one = whole.of_models(g, g + 1)
        finite = np.clip(SCORES[:, g], -1e9, 1e9)
        area, error = roc_auc_score(SIDES[:, 0], finite, sample_weight=NESTED_WEIGHT), one.auc_error(0)
        assert error == 0.0 if exact_rows == M else 0.0 < error < 5e-3
        assert one.auc(0) == pytest.approx(area, abs=error + 1e-12)
        assert one.auc(0) == alike.of_models(g, g + 1).auc(0) == again.of_models(g, g + 1).auc(0) == whole.areas()[0, g]
        assert whole.areas()[1, g] == pytest.approx(error, rel=1e-12)
