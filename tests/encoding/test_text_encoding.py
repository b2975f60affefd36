"""How texts become columns is part of the model, and of its file."""

import json

import numpy as np
import pandas as pd
import pytest

import streamnb as snb
from streamnb.core import persistence

TEXTS, Y = ["red wine", "green tea", "red grape", "tea leaf"] * 3, ["wine", "tea"] * 6
OPTIONS = {"words": (1, 2), "n_features": 2**8}


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("texts") / "rows.jsonl"
    path.write_text("".join(json.dumps({"t": t, "y": y}) + "\n" for t, y in zip(TEXTS, Y)))
    return path


@pytest.mark.parametrize(
    "estimator", [snb.LinearNB("multinomial"), snb.SoftmaxRegression(tol=0.1), snb.MultinomialNB()], ids=repr
)
def test_models_make_their_columns_of_texts(estimator, path, tmp_path):
    estimator.fit(snb.text(path, "t", "y", **OPTIONS)).save(tmp_path / "m.snb")
    model = snb.load(tmp_path / "m.snb")
    assert model.encoding_ == estimator.encoding_ and model.encoding_.y == "y"
    expected = estimator.predict(snb.text(TEXTS, **OPTIONS)).tolist()
    frame = pd.DataFrame({"t": TEXTS, "y": Y})
    for X in (path, str(path), [path], TEXTS, np.array(TEXTS), frame, frame["t"]):
        assert model.predict(X).tolist() == expected == Y
    assert model.score(path) == model.score(path, "y") == model.score(TEXTS, Y) == model.score(frame) == 1.0
    assert model.predict(snb.HashedText(**OPTIONS).transform(TEXTS)).tolist() == Y  # the same columns as a matrix
    with pytest.raises(FileNotFoundError, match="a single text goes in a list"):
        model.predict("red wine")
    with pytest.raises(ValueError, match=r"words=\(1, 1\) and not \(1, 2\).*Give the raw rows"):
        model.predict(snb.text(TEXTS, n_features=2**8))


def test_further_rows_are_made_alike(path):
    whole = snb.LinearNB("poisson").fit(snb.text(TEXTS * 2, y=Y * 2, **OPTIONS))
    parts = snb.LinearNB("poisson").partial_fit(snb.text(path, "t", "y", **OPTIONS)).partial_fit(path)
    np.testing.assert_array_equal(parts.coef_, whole.coef_)
    np.testing.assert_array_equal(parts.forget(TEXTS, Y).stats_.sum, whole.stats_.sum / 2)
    assert parts.fit(np.eye(2), [0, 1]).encoding_ is None
    selector = snb.FeatureSelector("chi2", 2).fit(snb.text(path, "t", "y", **OPTIONS))
    assert selector.transform(path).shape == selector.transform(TEXTS).shape == (12, 2)


def test_groups_are_fields(tmp_path):
    groups = [f"writer {i % 5}" for i in range(12)]
    frame = pd.DataFrame({"t": TEXTS, "y": Y, "g": groups})
    frame.to_csv(tmp_path / "rows.csv", index=False)
    frame.to_json(tmp_path / "rows.jsonl", orient="records", lines=True)
    expected = snb.scan(snb.text(TEXTS, y=Y, **OPTIONS), folds=3, groups=groups)
    for X in (tmp_path / "rows.csv", tmp_path / "rows.jsonl", [tmp_path / "rows.jsonl"], frame):
        found = snb.scan(snb.text(X, "t", "y", **OPTIONS), folds=3, groups="g")
        assert np.array_equal(found.without_fold(0).sum, expected.without_fold(0).sum)
        with pytest.raises(ValueError, match="'no'"):
            snb.scan(snb.text(X, "t", "y"), folds=3, groups="no")
    (tmp_path / "gaps.jsonl").write_text('{"t": "red", "g": "a"}\n{"t": "green"}\n')
    with pytest.raises(ValueError, match="groups='g' is missing at row 1"):
        snb.scan(snb.text(tmp_path / "gaps.jsonl", "t", y=[0, 1]), folds=2, groups="g")
    (tmp_path / "rows.txt").write_text("\n".join(TEXTS))
    for X in (TEXTS, tmp_path / "rows.txt"):
        with pytest.raises(ValueError, match="groups='g' names a"):
            snb.scan(X, Y, folds=2, groups="g")


def test_a_vocabulary_and_what_differs(tmp_path):
    rows = snb.text(TEXTS, y=Y, vocabulary=3)
    persistence.save(tmp_path / "e.snb", rows.encoding)
    encoding = persistence.load(tmp_path / "e.snb")
    assert encoding.n_columns == 3 and encoding.encode(TEXTS).feature_names.tolist() == rows.feature_names.tolist()
    assert not encoding.differs(rows.encoding)
    assert encoding.differs(snb.text(TEXTS, vocabulary=2).encoding) == "they are those of another vocabulary"
    assert encoding.differs(object()) == "they were made of texts"


def test_only_whole_encodings_are_loaded(tmp_path):
    model = snb.MultinomialNB().fit(snb.text(TEXTS, y=Y, n_features=16))
    state = model._to_state()
    for wrong in ("words", snb.text(TEXTS, n_features=8).encoding):
        with pytest.raises(ValueError, match="should make 16 columns"):
            type(model)._from_state({**state, "fitted": {**state["fitted"], "encoding_": wrong}})
