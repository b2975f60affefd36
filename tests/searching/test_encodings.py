"""What is learned of rows, with labels or without, is learned of those outside each fold."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import dump_svmlight_file
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline

import streamnb as snb
from streamnb.encoding.opening import is_raw
from tests.support.refusals import refuses

rng = np.random.default_rng(4)
N = 120
Y = np.arange(N) % 2
FRAME = pd.DataFrame(
    {
        "plane": np.char.add("N", rng.integers(0, 60, N).astype(str)),
        "port": np.where(rng.random(N) < 0.8, Y, 1 - Y).astype(str),
        "miles": rng.normal(size=N),
    }
)
FOLDS = np.arange(N) // 2 % 3
QUIET = {"show": False, "folds": FOLDS, "scoring": ["accuracy", "roc_auc"]}
ONCE = {"l2": 1.0, "max_passes": 8, "tol": 0.05}
pytestmark = pytest.mark.filterwarnings("ignore:max_passes:streamnb.StreamnbWarning")


def by_hand(fitted):
    """Accuracy on each fold of what is fitted to the others: a function of rows and labels."""
    held = [fold == FOLDS for fold in range(3)]
    return [fitted(FRAME[~one], Y[~one]).score(FRAME[one], Y[one]) for one in held]


def scores_of(found, word):
    return next(one for one in found.candidates if word in one.name).scores["accuracy"]


def test_a_table_is_encoded_by_the_rows_outside_each_fold():
    given = {"encodings": [{}, {"bins": 3, "min_count": 2}], "penalties": [None]}
    found = snb.search(FRAME.assign(late=Y), "late", models=[snb.SoftmaxRegressionCV(**ONCE)], families=["auto"],
                       **given, **QUIET)  # fmt: skip
    for name, asked in (("as usual", {}), ("bins=3", {"bins": 3, "min_count": 2})):
        bayes = by_hand(lambda X, y, asked=asked: snb.LinearNB("auto").fit(snb.table(X, y, **asked)))
        np.testing.assert_array_equal(scores_of(found, f"auto, encoding={name}"), bayes)
    best = found.ranked[0].point.get("max_passes", 0)
    softmax = by_hand(lambda X, y: snb.SoftmaxRegression(1.0, max_passes=max(best, 1), tol=0.05).fit(snb.table(X, y)))
    np.testing.assert_allclose(scores_of(found, "Softmax"), softmax, atol=0.06)
    np.testing.assert_array_equal(found.best_.predict(FRAME[::-1]), found.best_.predict(FRAME)[::-1])


def test_a_table_that_was_opened_has_the_candidates_of_the_same_frame():
    frame, quiet = FRAME.assign(late=Y, id=np.arange(N).astype(str)), {**QUIET, "budget": None}
    found = snb.search(snb.table(frame, "late", drop=["id"], bins=8), **quiet)
    right = snb.search(frame.drop(columns="id"), "late", encodings=[{"bins": 8}, {"bins": None}], **quiet)
    names = {one.name.replace("bins=8", "as usual") for one in right.candidates}
    assert {one.name for one in found.candidates} - names == {"AdditiveClassifier()"}
    for one, same in (("auto, encoding=as usual", "auto, encoding=bins=8"), ("auto, encoding=bins=None",) * 2):
        np.testing.assert_array_equal(scores_of(found, one), scores_of(right, same))
    assert found.guesses == right.guesses and found.best_.predict(frame).shape == (N,)


def test_columns_of_texts_are_told_apart_from_identifiers_and_a_search_no_better_than_guesses_says_so():
    words = rng.integers(0, 50, (200, 6)).astype(str)
    frame = pd.DataFrame({"body": [" ".join(one) for one in words], "y": np.arange(200) % 2})
    with pytest.warns(snb.StreamnbWarning, match=r"\['body'\] are texts.* X=snb.table\(.., text=\['body'\]\)"):
        found = snb.search(frame, "y", show=False, families=["auto"], folds=3)
    assert "No candidate beats guesses" in str(found) or found.best_score_ > found.guesses[found.scorings[0]]


def test_rows_that_are_opened_and_columns_that_are_texts_are_told_what_search_takes(tmp_path):
    path = str(tmp_path / "docs.jsonl")
    pd.DataFrame({"x": list("uvw") * 3, "y": ["a", "b", None] * 3}).to_csv(tmp_path / "missing.csv", index=False)
    refuses(ValueError, "y has a missing label at row 2", lambda: snb.search(tmp_path / "missing.csv", "y", show=False))
    pd.DataFrame({"body": [f"word{i} leaf" for i in range(N)], "module": Y}).to_json(path, orient="records", lines=True)
    cure = r"opened and encoded already: give search .*, with encodings=\[{'text': 'body', 'words': \(1, 2\)}\]"
    refuses(ValueError, cure, snb.search, snb.text(path, "body", "module"), encodings=[{"words": (1, 2)}], show=False)
    with pytest.warns(snb.StreamnbWarning, match=r"\['body'\] have a different .* drop=\['body'\]"):
        snb.search(path, y="module", families=["auto"], penalties=[None], **QUIET)


def test_a_svmlight_file_takes_categories(tmp_path):
    path, X = tmp_path / "codes.svm", rng.integers(0, 4, (N, 2))
    dump_svmlight_file(X, Y, str(path))
    given = {"families": ["categorical"], "penalties": [None], **QUIET}
    found, dense = snb.search(snb.svmlight(path), **given), snb.search(X, Y, **given)
    np.testing.assert_array_equal(scores_of(found, "categorical"), scores_of(dense, "categorical"))
    np.testing.assert_array_equal(found.best_.predict(X), dense.best_.predict(X))


def test_transformers_and_learned_transforms_are_fitted_in_each_fold(tmp_path):
    counters = snb.CategoryCounters(folds=3)
    found = snb.search(
        FRAME[["plane", "port"]], Y, encodings=[counters], families=["gaussian"], penalties=[None], **QUIET
    )

    def pipeline(X, y):
        return make_pipeline(snb.CategoryCounters(folds=3), snb.LinearNB("gaussian")).fit(X[["plane", "port"]], y)

    one = FOLDS == 1
    own = pipeline(FRAME[~one], Y[~one]).score(FRAME.loc[one, ["plane", "port"]], Y[one])
    assert found.candidates[0].scores["accuracy"][1] == own
    assert found.best_.predict(FRAME[["plane", "port"]]).shape == (N,)
    X = rng.normal(size=(N, 3)) + Y[:, None]
    found = snb.search(X, Y, transforms=[None, snb.Bins(4), "quantile_normal"], families=["gaussian"], penalties=[None],
                       **QUIET)  # fmt: skip
    for word, transform in (("Bins", snb.Bins(4)), ("quantile", "quantile_normal")):
        alone = []
        for held in (fold == FOLDS for fold in range(3)):
            model = snb.LinearNB("gaussian", transform=transform).fit(X[~held], Y[~held])
            alone.append(model.score(X[held], Y[held]))
        np.testing.assert_array_equal(scores_of(found, word), alone)
    found.save(tmp_path / "found.snb")
    assert snb.load(tmp_path / "found.snb").best_.score(X, Y) > 0.7


def test_vocabularies_are_those_of_the_other_texts():
    texts = [f"w{a} w{b} {'red' if y else 'blue'}" for a, b, y in zip(*rng.integers(0, 90, (2, N)), Y, strict=True)]
    found = snb.search(texts, Y, encodings=[{"vocabulary": 20}, {"n_features": 64}], families=["multinomial"],
                       penalties=[None], **QUIET)  # fmt: skip
    for fold in range(3):
        rest, held = np.flatnonzero(fold != FOLDS), np.flatnonzero(fold == FOLDS)
        own = snb.text([texts[i] for i in rest], y=Y[rest], vocabulary=20)
        others = snb.text([texts[i] for i in held], y=Y[held], vocabulary=own.vocabulary)
        assert scores_of(found, "vocabulary")[fold] == snb.LinearNB().fit(own).score(others)
    assert {one.reads for one in found.candidates} == {2, 4} and found.best_.predict(texts[:2]).shape == (2,)


def test_numbers_of_categories_are_those_of_the_other_rows(tmp_path):
    codes = np.column_stack([rng.integers(0, 40, N), Y + rng.integers(0, 3, N), rng.integers(0, 3, N)])
    given = {"models": [], "penalties": [None], "folds": FOLDS, "scoring": "neg_log_loss", "show": False}
    mixed = snb.Mixed([("categorical", [0, 1]), ("poisson", [2])])
    found = snb.search(codes, Y, families=["categorical", "multinomial", mixed], **given)
    for word, family in (("categorical", "categorical"), ("Mixed", mixed)):
        for fold in range(3):
            rest, held = fold != FOLDS, fold == FOLDS
            model = snb.LinearNB(family).fit(codes[rest], Y[rest])  # whose column 0 has fewer values
            loss = -log_loss(Y[held], model.predict_proba(codes[held]))
            judged = next(one for one in found.candidates if one.name.startswith(word))
            np.testing.assert_allclose(judged.scores["neg_log_loss"][fold], loss, rtol=1e-9)
    with pytest.warns(snb.StreamnbWarning, match="transform='log1p' is nothing for the categories"):
        binned = snb.search(codes, Y, families=["categorical"], transforms=[None, "log1p", snb.Bins(4)], **given)
    assert len(binned.candidates) == 2
    found = snb.search(codes, Y, families=["categorical"], **given)
    alone = snb.LinearNB("categorical").fit(codes, Y)
    found.save(tmp_path / "found.snb")
    for best in (found.best_, snb.load(tmp_path / "found.snb").best_):
        np.testing.assert_array_equal(best.predict_proba(codes), alone.predict_proba(codes))
    assert found.best_.column_names_.tolist() == alone.column_names_.tolist()


def test_tables_whose_columns_are_all_categories_have_the_family_that_is_automatic_too():
    given = {"models": [], "penalties": [None], "smoothing": [1.0], **QUIET}
    found = snb.search(FRAME[["plane", "port"]], Y, families=["auto", "categorical"], **given)
    auto, named = (one.scores["accuracy"] for one in found.candidates)
    np.testing.assert_array_equal(auto, named)
    alone = snb.search(FRAME[["plane", "port"]], Y, families=["categorical"], **given)
    assert (
        alone.best_.predict(FRAME[["plane", "port"]]).tolist() == found.best_.predict(FRAME[["plane", "port"]]).tolist()
    )
    with pytest.raises(ValueError, match=r"some of the columns are gaussian: use family='auto', or snb.table"):
        snb.search(FRAME, Y, families=["categorical"], encodings=[{"bins": None}], **given)


def test_noise_stays_noise_whatever_is_learned():
    rows, labels = pd.DataFrame(rng.integers(0, 200, (600, 8)).astype(str), columns=[*"abcdefgh"]), np.arange(600) % 2
    found = snb.search(
        rows, labels, families=["multinomial", "gaussian"], encodings=[{}, {"min_count": 3}, snb.CategoryCounters()],
        models=[snb.SoftmaxRegressionCV([1.0], max_passes=4, tol=0.05)], penalties=[None, snb.TopK([2])], folds=3,
        show=False,
    )  # fmt: skip
    assert len(found.candidates) == 3 * 5
    for judged in found.candidates:
        assert abs(judged.mean("roc_auc") - 0.5) < 0.09, judged.name


def test_a_path_is_a_table_and_frames_of_numbers_are_rows(tmp_path):
    FRAME.assign(late=Y).to_csv(tmp_path / "flights.csv", index=False)
    given = {"families": ["auto"], "penalties": [None], "encodings": [{}], **QUIET}
    of_path = snb.search(str(tmp_path / "flights.csv"), y="late", **given)
    of_frame = snb.search(FRAME, Y, **given)
    assert str(of_path.results_["accuracy"]) == str(of_frame.results_["accuracy"])
    assert of_path.best_.predict(str(tmp_path / "flights.csv")).tolist() == of_frame.best_.predict(FRAME).tolist()
    with pytest.raises(TypeError, match="others= needs rows and labels in memory"):
        snb.search(str(tmp_path / "flights.csv"), "late", others={"logistic": LogisticRegression()}, **QUIET)
    assert is_raw(FRAME) and not is_raw(FRAME[["miles"]]) and not is_raw(np.ones((2, 2)))


def test_what_is_wrong_is_said():
    with pytest.raises(ValueError, match=r"encodings has {'bin': 8}: got an unexpected keyword argument 'bin'"):
        snb.search(FRAME, Y, encodings=[{"bin": 8}], **QUIET)
    with pytest.raises(TypeError, match=r"encodings=.*CategoryCounters.* needs rows and labels in memory"):
        snb.search(lambda: iter([]), Y, encodings=[snb.CategoryCounters()], **QUIET)
