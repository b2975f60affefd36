"""The door for rows of any kind: a fitted model makes its own columns of raw ones."""

import numpy as np
import pandas as pd
import pytest

import streamnb as snb
from streamnb.encoding.opening import opened

TEXTS, Y = ["red wine", "green tea", "red grape"], ["wine", "tea", "wine"]


@pytest.fixture
def folder(tmp_path):
    for i, (text, label) in enumerate(zip(TEXTS, Y)):
        (tmp_path / "classes" / label).mkdir(parents=True, exist_ok=True)
        (tmp_path / "classes" / label / f"{i}.txt").write_text(text)
    (tmp_path / "rows.txt").write_text("\n".join(TEXTS))
    return tmp_path


def test_texts_are_told_by_what_they_are(folder):
    expected = snb.scan(snb.text(TEXTS, y=Y), moments=["sum"])
    pattern = str(folder / "r*.txt")
    for X in (TEXTS, np.array(TEXTS), np.array(TEXTS, object), folder / "rows.txt", str(folder / "rows.txt"), pattern):
        np.testing.assert_array_equal(snb.scan(X, Y, moments=["sum"]).sum, expected.sum)
    np.testing.assert_array_equal(snb.scan(folder / "classes", moments=["sum"]).sum, expected.sum)
    assert snb.plan(TEXTS, Y).n_features == snb.plan(folder / "classes").n_features == 2**18
    model = snb.LinearNB("multinomial").fit(TEXTS, Y)
    assert model.predict(["grape"]).tolist() == ["wine"] == model.predict(folder / "classes")[2:].tolist()
    for wrong in (TEXTS, folder / "rows.txt"):  # how a matrix was made nobody knows
        with pytest.raises(ValueError, match="were numbers already"):
            snb.LinearNB("multinomial").fit(np.eye(3), Y).predict(wrong)


def test_files_of_fields_are_tables(tmp_path):
    (tmp_path / "rows.jsonl").write_text('{"t": "red", "y": "wine"}\n{"t": "green", "y": "tea"}\n' * 2)
    (tmp_path / "rows.csv").write_text("t,y\n" + "red,wine\ngreen,tea\n" * 2)
    for name in ("rows.jsonl", "rows.csv"):
        model = snb.LinearNB("auto").fit(tmp_path / name, "y")
        assert model.predict(tmp_path / name).tolist() == ["wine", "tea"] * 2 and model.score(tmp_path / name) == 1.0


def test_tables_in_memory_are_tables_where_columns_go_by_their_kinds():
    frame = pd.DataFrame({"n": [1, 2, 3, 4], "y": [0, 0, 1, 1]})
    assert opened(frame, "y").n_features == 1 and opened(frame, "y", numbers="none").n_features == 4
    assert snb.LinearNB("auto").fit(frame, "y").predict(frame).tolist() == [0, 0, 1, 1]
    with pytest.raises(ValueError, match="family='auto' goes by the kinds of columns of a table"):
        snb.LinearNB("auto").fit(np.eye(4), [0, 0, 1, 1])


def test_rows_that_were_opened_without_labels_take_them():
    frame = pd.DataFrame({"colour": ["red", "green", "red"], "n": [1.0, 2.0, 4.0], "y": Y, "w": [1, 2, 1]})
    named = snb.table(frame, columns=["colour", "n"])
    for X, whole in ((snb.text(TEXTS), snb.text(TEXTS, y=Y)), (named, snb.table(frame, "y", columns=["colour", "n"]))):
        expected = snb.scan(whole, moments=["sum"])
        assert np.array_equal(snb.scan(X, Y, moments=["sum"]).sum, expected.sum)
        doubled = snb.scan(X, Y, sample_weight=[2, 2, 2], folds=[0, 1, 0], moments=["sum"])
        assert np.array_equal(doubled.sum, 2.0 * expected.sum) and [fold.n_rows for fold in doubled.folds] == [2, 1]
        assert snb.LinearNB().fit(X, Y).score(X, Y) == snb.SoftmaxRegression().fit(X, Y).score(whole) == 1.0
        assert next(X.blocks()).y is None  # as they were
        for wrong in (Y[:2], [*Y, "tea"]):
            with pytest.raises(ValueError, match="inconsistent numbers of samples"):
                snb.LinearNB().fit(X, wrong)
        with pytest.raises(ValueError, match="requires y to be passed"):
            snb.LinearNB().fit(X)
    assert np.array_equal(snb.scan(named, "y", sample_weight="w").weight, [2.0, 2.0])
    both = pd.DataFrame({"wine": [1, 0, 1], "tea": [0, 1, 0]})
    assert snb.LinearNB(scheme="ovr").fit(named, both).classes_.tolist() == ["wine", "tea"]


def test_labels_that_are_given_twice_are_refused(folder):
    frame = pd.DataFrame({"n": [1.0, 2.0, 4.0], "y": Y})
    given_twice = r"y is given beside X, and the rows of X bring labels of their own.* opened with y="
    for X in (snb.text(TEXTS, y=Y), snb.text(folder / "classes"), snb.table(frame, "y"), snb.table(frame[["n"]], Y)):
        with pytest.raises(ValueError, match=given_twice):
            snb.LinearNB().fit(X, Y)
    with pytest.raises(ValueError, match=r"sample_weight is given beside X, .* weights .* opened with weight="):
        snb.LinearNB().fit(snb.text(TEXTS, y=Y, weight=[1, 1, 1]), sample_weight=[1, 1, 1])
    with pytest.raises(ValueError, match=r"y='y' is a feature of X; .* snb.table\(.., y='y'\)"):
        snb.LinearNB().fit(snb.table(frame), "y")
    with pytest.raises(ValueError, match="y='late' is not a column"):
        snb.LinearNB().fit(snb.table(frame), "late")


def test_estimators_take_tables(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"s": rng.choice(["a", "b", "c"], 90), "n": rng.integers(0, 9, 90), "x": rng.normal(size=90)})
    frame["y"] = (frame["s"] == "a") | (frame["n"] > 6)
    frame.to_parquet(tmp_path / "rows.parquet")
    chosen = snb.LinearNBCV("auto", snb.TopK([1, 2]), folds=2).fit(tmp_path / "rows.parquet", "y", groups="n")
    assert {name[0] for name in chosen.feature_names_in_} == {"s", "x"}
    chosen.save(tmp_path / "model.snb")
    again = snb.load(tmp_path / "model.snb")
    turned = frame[["x", "n", "s"]].assign(more=1)
    assert np.array_equal(again.predict_proba(turned), chosen.predict_proba(tmp_path / "rows.parquet"))
    assert again.refit(smoothing=2.0).score(frame, "y") > 0.7
    trained = snb.SoftmaxRegression(tol=0.1).fit(tmp_path / "rows.parquet", "y")
    assert trained.score(tmp_path / "rows.parquet") == trained.score(frame, frame["y"]) > 0.8
    table = snb.compare(tmp_path / "rows.parquet", "y", families="auto", penalties=["plain"], folds=2, show=False)
    assert np.isfinite(table.scores).all() and snb.scan(tmp_path / "rows.parquet", "y").n_rows == 90


def test_what_is_no_table_of_the_model_is_said_to_be_none(tmp_path):
    frame = pd.DataFrame({"s": ["a", "b"] * 4, "n": range(8), "y": [0, 1] * 4})
    frame.to_csv(tmp_path / "rows.csv", index=False)
    with pytest.raises(ValueError, match=r"rows\.csv' is a table; give the name of its column of labels"):
        snb.LinearNB("auto").fit(tmp_path / "rows.csv")
    model = snb.LinearNB("auto").fit(tmp_path / "rows.csv", "y")
    with pytest.raises(ValueError, match=r"X has 2 features, .* expecting a table, .* with the columns \['s'"):
        model.predict(np.ones((1, 2)))
    with pytest.raises(ValueError, match=r"X holds texts: .*snb\.text\(X\).*snb\.HashedText\(\).*such as a data frame"):
        model.predict(["a", "b"])
    assert model.predict(pd.DataFrame({"n": [1], "s": ["a"]})).tolist() == [0]
    of_texts = snb.LinearNB().fit(snb.text(frame, "s", y="y"))
    with pytest.raises(ValueError, match=r"text='s' is not a column of X: \['n'\]"):
        of_texts.predict(frame[["n"]])


@pytest.mark.parametrize("columns", [["n"], ["n", "s"]])
@pytest.mark.parametrize("model", [snb.LinearNB(), snb.PoissonRegressor(), snb.AdditiveClassifier(folds=2)])
def test_labels_in_another_order_than_the_rows_are_told(model, columns):
    frame = pd.DataFrame({"s": ["a", "b"] * 40, "n": range(80), "y": [0, 1, 1] * 26 + [0, 1]})
    X, y = frame[columns], frame["y"]
    for call in (model.fit, model.score):
        with pytest.warns(snb.StreamnbWarning, match=r"another order.*; give y\.loc\[X\.index\]"):
            call(X, y[::-1])
        call(X.set_index([X["n"], X["n"]]), y.set_axis(y.index[::-1] + 1))


def test_further_svmlight_files_are_read_as_the_first(tmp_path):
    train, new = tmp_path / "train.svm", tmp_path / "new.svm"
    train.write_text("0 0:3 4:1\n1 1:2 3:1\n0 0:1 4:2\n1 1:4\n")
    new.write_text("1 1:2\n0 4:1\n")  # neither the feature 0 nor the number of features can be told
    model = snb.LinearNB("poisson").fit(train)
    model.save(tmp_path / "m.snb")
    for fitted in (model, snb.load(tmp_path / "m.snb")):
        assert fitted.predict(new).tolist() == [1.0, 0.0] and fitted.score(str(new)) == 1.0
        assert fitted.predict(snb.svmlight(new, zero_based=True, n_features=5)).tolist() == [1.0, 0.0]
        assert fitted.predict(np.eye(5)[[1, 4]]).tolist() == [1.0, 0.0]
        assert fitted.predict(snb.text(["red"], vocabulary=["red", "a", "b", "c", "d"])).shape == (1,)
        with pytest.raises(ValueError, match=r"zero_based=False, and what was fitted with True"):
            fitted.predict(snb.svmlight(new))
    new.write_text("1 9:2\n")
    with pytest.raises(ValueError, match="n_features=5, but X"):
        model.predict(new)
    whole = snb.LinearNB("poisson").fit(train).partial_fit(train)
    np.testing.assert_array_equal(whole.stats_.sum, 2 * model.stats_.sum)
