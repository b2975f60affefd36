"""The thesis's tables: a cell is what cross-validation of that family and penalty alone says; two scans in all."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits

import streamnb as snb
from streamnb.passes.contract import Report
from streamnb.searching.comparing import OVERALL
from streamnb.selection.score_table import GridScores
from tests.support.refusals import refuses

X, y = load_digits(return_X_y=True)
kept = y < 4
X, y = X[kept][:200], y[kept][:200]
two = y < 2

RHOS = snb.Decorrelation([0.1, 0.3], scale="curvature")
PENALTIES = {
    "plain": None,
    "best": snb.TopK([1, 5, 20, 64]),
    "l1": snb.L1(n_taus=6),
    "best, apart": snb.TopK([3, 20]) + RHOS,
    "l1, apart": snb.L1([5.0, 100.0]) + RHOS,
}
SMALL = {"plain": None, "l1": snb.L1([5.0, 100.0])}


def compare(*args, **options):
    return snb.compare(*args, show=False, **{"penalties": SMALL, "folds": 3, **options})


def expected_cells(model, rule):
    """Score, features and point of each class and overall, by hand from the results of one cross-validation."""
    options = {"scheme": model.scheme, "smoothing": model.smoothing}
    results, path = model.cv_results_, snb.solve(model.stats_, model.family, model.penalty, **options)
    by_class = zip(model.classes_, path.n_features_per_class.T)
    rows = [(results[f"class_test_score_{label}"], n_features) for label, n_features in by_class]
    for score, n_features in [*rows, (results["mean_test_score"], path.n_features)]:
        enough = np.flatnonzero(score >= score.max() * (0.99 if rule == "parsimonious" else 1.0))
        fewest = enough[n_features[enough] == n_features[enough].min()]
        at = fewest[score[fewest].argmax()]
        yield score[at], n_features[at], path.grid[at]


# ---- what stands in the tables ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("family", "scheme", "rule"), [("gaussian", "ovr", "parsimonious"), ("poisson", "joint", "best")]
)
@pytest.mark.filterwarnings("ignore:.*of those tried")
def test_each_cell_is_that_of_the_family_and_the_penalty_alone(family, scheme, rule):
    options = {"scheme": scheme, "rule": rule, "folds": 2, "repeats": 2, "seed": 5, "binarize": 7.5, "smoothing": 0.5}
    weight = 1.0 + np.arange(len(y)) % 3
    table = compare(X, y, families=["bernoulli", family], penalties=PENALTIES, sample_weight=weight, **options)
    assert (table.families, table.penalties) == (["bernoulli", family], list(PENALTIES))
    assert table.scores.shape == table.n_features.shape == table.points.shape == (2, 5, 5)
    for p, penalty in enumerate(PENALTIES.values()):
        model = snb.LinearNBCV(family, penalty or snb.L1(0.0), **options).fit(X, y, weight)  # 0: no penalty
        for row, (score, n_features, point) in enumerate(expected_cells(model, rule)):
            assert table.scores[1, p, row] == score
            assert table.n_features[1, p, row] == n_features
            assert table.points[1, p, row] == (point if penalty else {})
        assert table.scores[1, p, -1] == model.best_score_


def test_the_standard_columns_are_those_of_the_thesis():
    table = snb.compare(X, y, families="poisson", folds=2, show=False)
    assert table.penalties == ["plain", "TopK", "L1", "TopK + Decorrelation", "L1 + Decorrelation"]
    assert [sorted(point) for point in table.points[0, :, 0]] == [
        [],
        ["top_k"],
        ["l1"],
        ["decorrelation", "top_k"],
        ["decorrelation", "l1"],
    ]
    plain = table.n_features[0, 0, -1]
    assert (table.n_features[0, 1:] < plain).all()
    assert (table.scores[0, 1:] >= 0.98 * table.scores[0, 0]).all()
    named = snb.compare(X, y, families="poisson", penalties=["L1", "plain"], folds=2, show=False)
    assert (named.scores[0] == table.scores[0, [2, 0]]).all()


@pytest.mark.parametrize(
    "options",
    [
        {"families": ["poisson", "multinomial"]},
        {"scheme": "ovo", "families": ["poisson"]},
        {"scheme": "reference", "reference": 2, "families": ["bernoulli"]},
        {"transform": "sqrt", "normalize": "l2", "idf": True, "families": ["poisson", "gaussian"]},
        {"families": [snb.NegativeBinomial(2.0), snb.NegativeBinomial(5.0)], "priors": "uniform"},
        {"families": [snb.Laplace(4.0), "gamma"]},
        {"families": [snb.Mixed({"poisson": range(30), snb.Laplace(4.0): ...}), "gaussian"]},
        {"groups": np.arange(len(y)) // 7, "scoring": "accuracy"},
    ],
)
@pytest.mark.filterwarnings("ignore:.*of those tried")
def test_options_are_those_of_cross_validation(options):
    table = compare(X, y, **options)
    options = {"folds": 3, "scheme": "ovr", "rule": "parsimonious", **options}
    families, groups = options.pop("families", table.families), options.pop("groups", None)
    for f, family in enumerate(families):
        model = snb.LinearNBCV(family, SMALL["l1"], **options).fit(X, y, groups=groups)
        assert table.scores[f, 1, -1] == model.best_score_
        assert table.points[f, 1, -1] == model.best_params_


def test_columns_of_a_data_frame_go_to_families_by_name():
    frame = pd.DataFrame(X - [0.0, 20.0] * 32, columns=[f"{'red' if j % 2 else 'black'}{j}" for j in range(64)])
    family = snb.Mixed({"poisson": [name for name in frame if name.startswith("black")], "gaussian": ...})
    assert (
        compare(frame, y, families=family).scores
        == compare(frame.to_numpy(), y, families=snb.Mixed({"poisson": slice(0, 64, 2), "gaussian": ...})).scores
    ).all()
    refuses(ValueError, r"compare\(families='poisson'\)", lambda: compare(frame, y, families=[family, "poisson"]))


def test_labels_of_an_indicator():
    labels = np.stack([y == 0, y % 2 == 0, y > 2], axis=1).astype(int)
    table = compare(X, labels, families="poisson", penalties=PENALTIES, classes=["zero", "even", "three"])
    model = snb.LinearNBCV("poisson", PENALTIES["l1, apart"], folds=3, rule="parsimonious").fit(X, labels)
    assert table.classes.tolist() == ["zero", "even", "three"]
    assert table.scores[0, -1, -1] == model.best_score_


def test_a_listed_class_without_rows_has_no_score():
    with pytest.warns(snb.StreamnbWarning, match="lack rows of a class"):
        table = compare(X, y, classes=[0, 1, 2, 3, 7], overall="mean_of_classes", memory_limit="1GB")
    np.testing.assert_allclose(table.scores[:, :, 5], table.scores[:, :, :4].mean(axis=2), rtol=1e-14)
    assert np.isnan(table.scores[:, :, 4]).all() and set(table.points[:, :, 4].ravel()) == {None}
    assert "7" not in [line.split()[0] for line in str(table).splitlines() if line]


# ---- where decorrelation is not defined ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "options", "why"),
    [
        (two, {"families": "poisson"}, "at least 3 classes"),
        (slice(None), {"families": "poisson", "scheme": "ovo"}, "not defined for scheme='ovo'"),
        (slice(None), {"families": "multinomial"}, "not defined for family='multinomial'"),
    ],
)
def test_decorrelation_is_left_out_where_it_is_not_defined(rows, options, why):
    table = compare(X[rows], y[rows], penalties=PENALTIES, **options)
    apart = ["best, apart", "l1, apart"]
    assert [name for _, name in table.left_out] == apart
    assert np.isnan(table.scores[:, 3:]).all() and np.isfinite(table.scores[:, :3]).all()
    *lines, note = str(table).splitlines()
    assert note.startswith("Left out: best, apart, l1, apart; ") and why in note
    assert lines[2].split() == ["plain", "best", "l1"]
    assert set(table.to_frame()["penalty"]) == {"plain", "best", "l1"}


def test_one_family_may_have_decorrelation_and_another_not():
    table = compare(X, y, families=["multinomial", "poisson"], penalties={"apart": RHOS, "plain": None})
    assert list(table.left_out) == [("multinomial", "apart")]
    assert np.isnan(table.scores[0, 0]).all() and np.isfinite(table.scores[1]).all()
    with pytest.raises(ValueError, match=r"penalties has none that is defined here: .* not defined for family"):
        compare(X, y, families="multinomial", penalties={"apart": RHOS})


# ---- two scans -------------------------------------------------------------------------------------------------------


def test_a_stream_is_asked_for_twice_whatever_is_compared():
    calls = []

    def stream():
        calls.append(len(calls))
        return ((X[a : a + 70], y[a : a + 70]) for a in range(0, len(y), 70))

    table = compare(stream, keep="no")
    assert calls == [0, 1]
    assert table.report_.rows == 2 * len(y)
    assert (table.scores == compare(X, y).scores).all()
    kept = compare(stream)
    assert calls == [0, 1, 2] and (kept.scores == table.scores).all()
    assert (kept.report_.reads, kept.report_.reads_kept) == (2, 1)


# ---- what cannot be --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"families": ["poisson", "poison"]}, "family='poison' is unknown"),
        ({"families": []}, "families is empty"),
        ({"families": ["poisson", "poisson"]}, "families has poisson twice"),
        ({"families": 3}, "family=3"),
        ({"families": [snb.Laplace(1.0), snb.Laplace(2.0)]}, "distances from 1, 2"),
        ({"families": ["poisson", snb.Mixed({"beta": [1, 2], "poisson": ...})]}, "family='beta' has no penalties"),
        ({"penalties": {}}, "penalties={} is empty"),
        ({"penalties": ["plain", "L3"]}, "penalties='L3' is unknown; it should be one of 'plain', 'TopK'"),
        ({"penalties": {"mine": "l1"}}, "penalties['mine']='l1' is unknown"),
        ({"penalties": snb.L1(1.0)}, "a dict {name: penalty}"),
        ({"penalties": 3}, "penalties=3"),
        ({"penalties": {"few": snb.TopK(65)}}, "more features than the 64"),
        ({"scheme": "ava"}, "scheme='ava'"),
        ({"scheme": "reference"}, "reference=None is not a class"),
        ({"rule": "worst"}, "rule='worst'"),
        ({"scoring": "auc"}, "scoring='auc'"),
        ({"scheme": "ovo", "scoring": "neg_log_loss"}, "needs probabilities"),
        ({"folds": 1}, "folds=1"),
        ({"smoothing": -1.0}, "smoothing=-1.0"),
        ({"smoothing": snb.GammaPrior(1.0, 1.0)}, "no prior of family='bernoulli'"),
        ({"idf": "yes"}, "idf='yes'"),
        ({"binarize": "no"}, "binarize"),
        ({"n_threads": 0}, "n_threads=0"),
        ({"X": [snb.LinearNB()]}, "X has models; compare fits its own to rows: use snb.compare_models(["),
        ({"y": np.zeros(len(y), int)}, "one class only ([0])"),
        ({"y": np.zeros(len(y), int), "classes": [0, 1]}, "one class only ([0])"),
        ({"X": iter([(X, y)]), "y": None, "keep": "no"}, "compare reads the rows more than once"),
        ({"models": [snb.LinearNB()]}, "snb.compare_models(models, X, y) of fitted ones"),
    ],
)
def test_arguments_that_cannot_be(options, message):
    refuses((ValueError, TypeError), re.escape(message), lambda: compare(**{"X": X, "y": y, **options}))


def test_a_family_that_does_not_take_the_data_is_named():
    refuses(ValueError, r"compare\(families='poisson'\): row 0, column 0 is -1.0", lambda: compare(X - 1.0, y))
    with pytest.raises(ValueError, match=r"compare\(families='chi_squared'\) takes values above 0"):
        compare(X, y, families=["gaussian", "chi_squared"])
    with pytest.raises(ValueError, match=r"compare\(families='binomial'\) takes values of at most 3"):
        compare(X, y, families=["poisson", snb.Binomial(3)])
    assert np.isfinite(compare(X - 1.0, y, families="gaussian").scores).all()


# ---- a rule for each column, and what stands last --------------------------------------------------------------------


def test_columns_have_rules_of_their_own():
    """Each as `LinearNBCV` chooses by that rule; the number of features of a class may be off the grid."""
    penalties, options = {"k": snb.TopK([1, 5, 20]), "l1": SMALL["l1"]}, {"scheme": "joint", "folds": 3}
    rules = {"k": "per_split"}
    table = snb.compare(X, y, families="poisson", penalties=penalties, rule=rules, show=False, **options)
    assert table.rule == {"k": "per_split", "l1": "parsimonious"}
    model = snb.LinearNBCV("poisson", penalties["k"], rule="per_split", **options).fit(X, y)
    assert table.n_features[0, 0, :4].tolist() == list(model.best_params_["top_k"].values())
    assert table.points[0, 0, :4].tolist() == [{"top_k": k} for k in model.best_params_["top_k"].values()]
    assert table.scores[0, 0, 4] == model.best_score_ and table.points[0, 0, 4] is None
    plain = snb.compare(X, y, families="poisson", penalties=penalties, show=False, **options)
    assert np.array_equal(table.scores[0, 1], plain.scores[0, 1])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"rule": "per_split"},
            "column 'plain': rule='per_split' needs TopK .*; columns have rules of their own by a dict",
        ),
        ({"rule": {"top": "best"}}, "rule has the column 'top', which is none of 'plain', 'l1'"),
        ({"rule": {"l1": "cheapest"}}, "rule='cheapest' is unknown"),
        ({"penalties": None, "rule": {"L1": "per_split"}}, "column 'L1': rule='per_split' needs TopK"),
        ({"overall": "mean"}, "overall='mean' is unknown; it should be one of 'one_point', 'mean_of_classes'"),
        (
            {"overall": "mean_of_classes", "scoring": "neg_log_loss"},
            "overall='mean_of_classes' needs a score of each class",
        ),
    ],
    ids=str,
)
def test_rules_that_have_nothing_to_choose_from(options, message):
    refuses(ValueError, message, lambda: compare(X, y, **options))


CLASSES = np.array(["<a>", "b"])
GRID = [{"l1": 0.0}, {"l1": 0.5}]


def judged(scores, class_scores=True):
    """Scores (G, S) at two points; those of the second class, where there are any, go the other way."""
    scores = np.array(scores)
    each = np.stack([scores, scores[::-1]], axis=2) if class_scores else None
    return GridScores(GRID, scores, each, np.array([9, 4]), np.array([[8, 7], [3, 2]]), CLASSES)


def made(**changed):
    cells = {
        ("poisson", "L1"): judged([[0.5, 0.7], [0.8, 0.9]]),
        ("poisson", "none"): judged([[0.9, 0.9], [0.1, 0.1]], class_scores=False),
        ("gaussian", "L1"): judged([[0.2, np.nan], [0.1, 0.3]]),
    }
    left_out = {("gaussian", "none"): "it is not <defined>"}
    arguments = dict(judged=cells, left_out=left_out, scoring="accuracy", overall="one_point", report=Report(rows=7))
    rules = {"L1": "best", "none": "best"}
    return snb.Comparison.of(["poisson", "gaussian"], **{"rules": rules, **arguments, **changed})


def test_each_cell_is_that_of_the_point_chosen():
    table = made()
    assert table.scores.shape == table.n_features.shape == table.points.shape == (2, 2, 3)
    np.testing.assert_allclose(table.scores[0, 0], [0.85, 0.85, 0.85])
    assert table.n_features[0, 0].tolist() == [3, 7, 4]  # of the class at its own best point, and of all
    assert table.points[0, 0].tolist() == [GRID[1], GRID[0], GRID[1]]
    np.testing.assert_allclose(table.scores[1, 0], [0.2, 0.2, 0.2])  # means of what is defined
    assert np.isnan(table.scores[0, 1, :2]).all() and table.scores[0, 1, 2] == 0.9  # no values of classes
    assert np.isnan(table.scores[1, 1]).all() and (table.n_features[1, 1] == -1).all()
    assert table.points[1, 1].tolist() == [None] * 3


def test_what_is_printed():
    poisson, gaussian = str(made()).split("\n\ngaussian: ")
    caption, _, *lines = poisson.splitlines()
    assert caption == "poisson: accuracy (features kept), rule 'best'"
    assert [line.split() for line in lines] == [
        ["L1", "none"],
        ["<a>", "0.8500", "(3)", "-"],
        ["b", "0.8500", "(7)", "-"],
        [OVERALL, "0.8500", "(4)", "0.9000", "(9)"],
    ]
    assert gaussian.splitlines()[2].split() == ["L1"] and gaussian.endswith("Left out: none; it is not <defined>")
    assert repr(made()) == "<Comparison: 2 classes, families ['poisson', 'gaussian'], penalties ['L1', 'none']>"


def test_names_are_escaped_in_a_notebook():
    html = made()._repr_html_()
    assert html.count("<table>") == 2 and "&lt;a&gt;" in html and "<a>" not in html
    assert "it is not &lt;defined&gt;" in html and "<td>0.8500 (3)</td>" in html


def test_a_data_frame_has_a_row_for_each_cell_that_is_not_left_out():
    frame = made().to_frame()
    assert list(frame.columns) == ["family", "penalty", "class", "score", "n_features", "point"] and len(frame) == 9
    row = frame[(frame.family == "poisson") & (frame.penalty == "L1") & (frame["class"] == "b")].iloc[0]
    assert (row.score, row.n_features, row.point) == (pytest.approx(0.85), 7, GRID[0])
    assert set(frame["class"]) == {"<a>", "b", OVERALL}


def test_tables_are_saved_and_checked_when_they_are_read(tmp_path):
    table = made()
    table.save(tmp_path / "table.snb")
    again = snb.load(tmp_path / "table.snb")
    assert str(again) == str(table) and again.report_ == table.report_ and again.left_out == table.left_out
    assert again.points.tolist() == table.points.tolist()
    for name, shape in (("scores", r"\(2, 2, 3\)"), ("n_features", r"\(2, 2, 3\)")):
        with pytest.raises(ValueError, match=rf"{name} is .* of shape {shape}"):
            snb.Comparison._from_state({**table._to_state(), name: getattr(table, name)[:, :1]})


def numbered():
    """Two splits, k = 1 or 10: procedure 7.1 says 6 of the first class and 1 of the second."""
    first = np.array([[0.99, 0.90], [0.992, 0.95]])
    each = np.stack([first, np.array([[0.8, 0.8], [0.7, 0.7]]), np.full((2, 2), np.nan)], axis=2)
    grid, k = [{"top_k": 1}, {"top_k": 10}], np.array([1, 10])
    of_classes = np.column_stack([k, k, k])
    return GridScores(grid, np.nanmean(each, axis=2), each, np.array([2, 15]), of_classes, np.array(["a", "b", "c"]))


def test_the_mean_of_the_classes(tmp_path):
    table = made(judged={("poisson", "k"): numbered()}, left_out={}, rules={"k": "best"}, overall="mean_of_classes")
    assert table.scores[0, 0, 3] == pytest.approx((0.971 + 0.8) / 2) and table.points[0, 0, 3] is None
    assert table.n_features[0, 0].tolist() == [10, 1, -1, 6]  # 5.5, halves up
    assert str(table).splitlines()[0].endswith("rule 'best'; last the mean of the classes")
    table.save(tmp_path / "table.snb")
    assert snb.load(tmp_path / "table.snb").overall == "mean_of_classes"
