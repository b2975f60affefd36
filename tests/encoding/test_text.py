"""`snb.text`: the same rows from wherever they come, and every model reads them."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather as feather
import pytest

import streamnb as snb
from streamnb.core import persistence

WORDS = {"tea": "green leaf cup", "wine": "red grape glass"}
RNG = np.random.default_rng(0)
Y = RNG.permutation(["tea", "wine"] * 60)
ROWS = [" ".join(RNG.choice((WORDS[y] + " and or the with").split(), 9)) for y in Y]
N = 2**10
FRAME = pd.DataFrame({"t": ROWS, "y": Y, "w": 1.0})


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("texts")
    for part in range(2):
        lines = (json.dumps({"t": t, "y": y, "w": 1.0}) + "\n" for t, y in zip(ROWS[part::2], Y[part::2]))
        (folder / f"{part}.jsonl").write_text("".join(lines))
    (folder / "rows.txt").write_text("\n".join(ROWS))
    FRAME.to_csv(folder / "rows.csv.gz", index=False)
    FRAME.to_parquet(folder / "rows.parquet", row_group_size=7)
    feather.write_feather(FRAME, str(folder / "rows.feather"), chunksize=7)
    for i, (t, y) in enumerate(zip(ROWS, Y)):
        (folder / "classes" / y).mkdir(parents=True, exist_ok=True)
        (folder / "classes" / y / f"{i}.txt").write_text(t)
    return folder


def test_rows_are_the_same_from_wherever_they_come(folder):
    expected = snb.scan(snb.text(ROWS, y=Y, n_features=N), moments=["sum"])
    named = {"text": "t", "y": "y", "weight": "w"}
    for X, columns in (
        (folder / "*.jsonl", named),
        ([folder / "0.jsonl", folder / "1.jsonl"], named),
        (str(folder / "rows.txt"), {"y": Y}),
        *((folder / f"rows.{ending}", named) for ending in ("csv.gz", "parquet", "feather")),
        (folder / "classes", {}),
        (FRAME, named),
        (pa.Table.from_pandas(FRAME), named),
        (FRAME["t"], {"y": FRAME["y"], "weight": 1.0}),
    ):
        rows = snb.text(X, **columns, n_features=N, n_threads=2)
        assert rows.n_rows == 120 and repr(rows).startswith("<TextSource: 120 rows")
        np.testing.assert_array_equal(snb.scan(rows, moments=["sum"]).sum, expected.sum)
        blocks = list(rows.blocks(13, 31))
        assert (blocks[0].first_row, sum(block.n_rows for block in blocks)) == (13, 18)


def test_models_read_texts_again_and_from_any_row_on(folder, tmp_path):
    rows = snb.text(folder / "*.jsonl", "t", "y", n_features=N)
    assert snb.SoftmaxRegression(tol=0.1).fit(rows).score(rows) > 0.95
    assert (
        snb.LinearNBCV("multinomial", snb.L1(n_taus=3), folds=3)
        .fit(rows)
        .predict(snb.text(["red tea glass"], n_features=N))
        == "wine"
    )
    first = snb.scan(rows, checkpoint=tmp_path / "scan.snb")
    again = snb.scan(rows, checkpoint=tmp_path / "scan.snb")
    np.testing.assert_array_equal(first.sum, again.sum)
    other = snb.text(folder / "*.jsonl", "t", "y", n_features=N, words=(1, 2))
    with pytest.raises(ValueError, match=r"another scan.*the features"):
        snb.scan(other, checkpoint=tmp_path / "scan.snb")


def test_names_of_columns_go_with_the_model(folder):
    rows = snb.text(folder / "*.jsonl", "t", "y", n_features=N, keep_tokens=100)
    model = snb.LinearNB("multinomial").fit(rows)
    best = model.feature_names_in_[np.argmax(model.coef_[0])]
    assert best.split('"')[1] in WORDS["wine"]
    assert set(model.predict(snb.text(ROWS[:4], n_features=N, keep_tokens=2))) <= {"tea", "wine"}
    model.fit(snb.text(ROWS, y=Y, n_features=N))
    assert not hasattr(model, "feature_names_in_")


@pytest.mark.parametrize(
    ("given", "options", "words"),
    [
        ("no/such.jsonl", {}, "no such file"),
        (ROWS, {"text": "t"}, "text='t' names a column"),
        (ROWS, {"y": Y[:5]}, "inconsistent"),
        (ROWS, {"n_features": 1000}, "power of two"),
        (FRAME, {}, r"X is a table; text= .*'t', 'y', 'w'"),
        (FRAME, {"text": "u"}, "text='u' is not a column"),
        ([], {}, "0 sample"),
    ],
)
def test_what_is_refused(given, options, words):
    with pytest.raises((TypeError, ValueError, OSError), match=words):
        snb.text(given, **options)


def test_texts_that_cannot_be_opened(folder, tmp_path):
    with pytest.raises(ValueError, match="y"):
        snb.LinearNB("multinomial").fit(snb.text(ROWS))
    with pytest.raises(ValueError, match="is a folder of texts"):
        snb.text(folder / "classes", "t")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match="empty folder"):
        snb.text(tmp_path / "empty")
    (tmp_path / "bad.txt").write_bytes(b"fine\ncaf\xe9\n")
    with pytest.raises(snb.DataError, match=r"bad.txt: the text of row 1 is not UTF-8"):
        snb.scan(snb.text(tmp_path / "bad.txt", y=[0, 1]))
    assert snb.scan(snb.text(tmp_path / "bad.txt", y=[0, 1], errors="replace")).n_rows == 2


def test_labels_and_names_that_are_wrong(tmp_path):
    (tmp_path / "labels.jsonl").write_bytes(b'{"t": "red", "y": "a"}\n{"t": "green", "y": "\xe9"}\n')
    with pytest.raises(snb.DataError, match=r"labels\.jsonl: y='y' of row 1 is not UTF-8"):
        snb.scan(snb.text(tmp_path / "labels.jsonl", "t", "y"))
    (tmp_path / "rows.csv").write_text('{"t": "red", "y": "a"}\n')
    with pytest.raises(snb.DataError, match="looks like JSON"):
        snb.text(tmp_path / "rows.csv", "t", "y")
    (tmp_path / "empty.jsonl").write_text("\n \n")
    with pytest.raises(snb.DataError, match=r"empty\.jsonl holds no rows"):
        snb.text(tmp_path / "empty.jsonl", "t", "y")
    (tmp_path / "cells.h5ad").write_text("red wine")
    with pytest.raises(snb.DataError, match=r"cells\.h5ad is not an HDF5 file, despite its name"):
        snb.scan(tmp_path / "cells.h5ad", "obs/kind")


TEXTS, LABELS = ["red wine", "green tea", "red grape", "tea leaf"] * 3, ["wine", "tea"] * 6
OPTIONS = {"words": (1, 2), "n_features": 2**8}


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("texts") / "rows.jsonl"
    path.write_text("".join(json.dumps({"t": t, "y": y}) + "\n" for t, y in zip(TEXTS, LABELS)))
    return path


@pytest.mark.parametrize(
    "estimator", [snb.LinearNB("multinomial"), snb.SoftmaxRegression(tol=0.1), snb.MultinomialNB()], ids=repr
)
def test_models_make_their_columns_of_texts(estimator, path, tmp_path):
    estimator.fit(snb.text(path, "t", "y", **OPTIONS)).save(tmp_path / "m.snb")
    model = snb.load(tmp_path / "m.snb")
    assert model.encoding_ == estimator.encoding_ and model.encoding_.y == "y"
    expected = estimator.predict(snb.text(TEXTS, **OPTIONS)).tolist()
    frame = pd.DataFrame({"t": TEXTS, "y": LABELS})
    for X in (path, str(path), [path], TEXTS, np.array(TEXTS), frame, frame["t"]):
        assert model.predict(X).tolist() == expected == LABELS
    assert model.score(path) == model.score(path, "y") == model.score(TEXTS, LABELS) == model.score(frame) == 1.0
    assert model.predict(snb.HashedText(**OPTIONS).transform(TEXTS)).tolist() == LABELS  # the same columns as a matrix
    with pytest.raises(FileNotFoundError, match="a single text goes in a list"):
        model.predict("red wine")
    with pytest.raises(ValueError, match=r"words=\(1, 1\) and not \(1, 2\).*Give the raw rows"):
        model.predict(snb.text(TEXTS, n_features=2**8))


def test_further_rows_are_made_alike(path):
    whole = snb.LinearNB("poisson").fit(snb.text(TEXTS * 2, y=LABELS * 2, **OPTIONS))
    parts = snb.LinearNB("poisson").partial_fit(snb.text(path, "t", "y", **OPTIONS)).partial_fit(path)
    np.testing.assert_array_equal(parts.coef_, whole.coef_)
    np.testing.assert_array_equal(parts.forget(TEXTS, LABELS).stats_.sum, whole.stats_.sum / 2)
    assert parts.fit(np.eye(2), [0, 1]).encoding_ is None
    selector = snb.FeatureSelector("chi2", 2).fit(snb.text(path, "t", "y", **OPTIONS))
    assert selector.transform(path).shape == selector.transform(TEXTS).shape == (12, 2)


def test_one_field_has_the_texts():
    with pytest.raises(TypeError, match=r"text=\['title', 'body'\] should be the name of one field; join the texts"):
        snb.text("news.jsonl", ["title", "body"])


def test_groups_are_fields(tmp_path):
    groups = [f"writer {i % 5}" for i in range(12)]
    frame = pd.DataFrame({"t": TEXTS, "y": LABELS, "g": groups})
    frame.to_csv(tmp_path / "rows.csv", index=False)
    frame.to_json(tmp_path / "rows.jsonl", orient="records", lines=True)
    expected = snb.scan(snb.text(TEXTS, y=LABELS, **OPTIONS), folds=3, groups=groups)
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
            snb.scan(X, LABELS, folds=2, groups="g")


def test_a_vocabulary_and_what_differs(tmp_path):
    rows = snb.text(TEXTS, y=LABELS, vocabulary=3)
    persistence.save(tmp_path / "e.snb", rows.encoding)
    encoding = persistence.load(tmp_path / "e.snb")
    assert encoding.n_columns == 3 and encoding.encode(TEXTS).feature_names.tolist() == rows.feature_names.tolist()
    assert not encoding.differs(rows.encoding)
    assert encoding.differs(snb.text(TEXTS, vocabulary=2).encoding) == "they are those of another vocabulary"
    assert encoding.differs(object()) == "they were made of texts"


def test_only_whole_encodings_are_loaded(tmp_path):
    model = snb.MultinomialNB().fit(snb.text(TEXTS, y=LABELS, n_features=16))
    state = model._to_state()
    for wrong in ("words", snb.text(TEXTS, n_features=8).encoding):
        with pytest.raises(ValueError, match="should make 16 columns"):
            type(model)._from_state({**state, "fitted": {**state["fitted"], "encoding_": wrong}})
