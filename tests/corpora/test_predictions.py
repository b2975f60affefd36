"""Predictions of a corpus are those of the model, whatever the files, parts, threads and formats."""

import json
import os
import warnings

import dask.dataframe as dd
import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import streamnb as snb
from streamnb.corpora import reading
from tests.support.corpora import corpus, lines, model, written_lines
from tests.support.refusals import refuses
from tests.support.web_server import serving

ROWS = [json.loads(row) for row in lines()]
TEXTS = [row["text"] for row in ROWS]


@pytest.fixture(scope="module")
def fitted():
    return model()


def table_of(folder):
    return pd.concat([pq.read_table(path).to_pandas() for path in sorted(folder.glob("*.parquet"))], ignore_index=True)


@pytest.mark.parametrize(
    "packing, n_threads, size", [("", 1, 1 << 20), ("", 3, 4000), (".zst", 2, 100), (".gz", 1, 100)]
)
def test_they_are_those_of_the_model_in_order(packing, n_threads, size, fitted, tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "PART_BYTES", size)
    out = tmp_path / "out"
    options = {"text": "text", "keep": ["id", "kind"], "proba": True, "scores": True, "n_threads": n_threads}
    found = snb.write_predictions(fitted, corpus(tmp_path / "in", packing=packing), out, **options)
    table = table_of(out)
    assert found.rows == found.kept == len(ROWS) and found.parts == len(list(out.glob("*.parquet")))
    assert table.columns.tolist() == ["id", "kind", "label", "p_good", "p_raw", "score"]
    assert table["id"].tolist() == list(range(len(ROWS))) and table["kind"].tolist() == [row["kind"] for row in ROWS]
    assert table["label"].tolist() == fitted.predict(TEXTS).tolist()
    np.testing.assert_array_equal(table[["p_good", "p_raw"]], fitted.predict_proba(TEXTS))
    np.testing.assert_array_equal(table["score"], fitted.decision_function(TEXTS))


@pytest.mark.parametrize("format", ["jsonl", "jsonl.zst", "jsonl.gz"])
def test_lines_hold_the_same(format, fitted, tmp_path):
    snb.write_predictions(
        fitted, corpus(tmp_path / "in"), tmp_path / "out", text="text", keep=["nested"], format=format
    )
    found = [json.loads(line) for line in written_lines(tmp_path / "out")]
    assert [row["label"] for row in found] == fitted.predict(TEXTS).tolist()
    assert [row["nested"] for row in found] == [row["nested"] for row in ROWS]
    assert (tmp_path / "out" / f"part-00000.{format}").exists()


def test_tables_and_labels_of_several_kinds(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.choice(list("xyz"), 50), "n": rng.normal(size=50), "y": np.arange(50) % 3})
    fitted = snb.LinearNB("bernoulli").fit(snb.table(frame, "y"))
    expected = fitted.predict(frame).tolist()
    frame.to_parquet(tmp_path / "x.parquet", row_group_size=20)
    frame.to_csv(tmp_path / "x.csv", index=False)
    frame.to_json(tmp_path / "x.jsonl", orient="records", lines=True)
    for name in ("x.parquet", "x.csv", "x.jsonl"):
        out = tmp_path / f"of {name}"
        snb.write_predictions(fitted, tmp_path / name, out, keep=["a", "y"])
        table = table_of(out)
        assert table["label"].tolist() == expected
        assert table["a"].tolist() == frame["a"].tolist() and table["y"].tolist() == frame["y"].tolist()


def test_what_text_opened_and_texts_of_parquet(fitted, tmp_path):
    pd.DataFrame({"text": TEXTS}).to_parquet(tmp_path / "x.parquet")
    corpus(tmp_path / "in")
    rows = snb.text(str(tmp_path / "in"), "text", n_features=1 << 10)
    for k, (X, text) in enumerate([(rows, None), (tmp_path / "x.parquet", "text")]):
        snb.write_predictions(fitted, X, tmp_path / str(k), text=text)
        assert table_of(tmp_path / str(k))["label"].tolist() == fitted.predict(TEXTS).tolist()


def test_lines_of_text_have_no_field(tmp_path):
    rows = snb.text(corpus(tmp_path / "in"), "text", y="kind", n_features=1 << 10)
    fitted = snb.LinearNB("multinomial").fit(rows)
    (tmp_path / "x.txt").write_text("\n".join(TEXTS))
    snb.write_predictions(fitted, tmp_path / "x.txt", tmp_path / "out", format="jsonl")
    found = [json.loads(line)["label"] for line in written_lines(tmp_path / "out")]
    assert found == fitted.predict(TEXTS).tolist()


def test_urls_are_read_and_written(fitted, tmp_path):
    import fsspec

    memory, root = fsspec.filesystem("memory"), f"memory://{tmp_path.name}"
    corpus(tmp_path / "in", packing=".zst")
    memory.put(str(tmp_path / "in"), f"/{tmp_path.name}/in", recursive=True)
    for out in (f"{root}/out", f"{root}/out"):
        found = snb.write_predictions(fitted, f"{root}/in/*.zst", out, text="text", format="jsonl")
        assert found.rows == len(ROWS)
    assert found.there == found.parts == 1
    got = memory.cat_file(f"/{tmp_path.name}/out/part-00000.jsonl").splitlines()
    assert [json.loads(line)["label"] for line in got] == fitted.predict(TEXTS).tolist()


def test_a_run_goes_on_with_a_new_signature_and_keeps_none(fitted, tmp_path):
    with serving() as web:
        url = web.put("x.jsonl", b"\n".join(lines()) + b"\n")
        for number in range(2):
            signed = f"{url}?X-Amz-Signature=secret{number}"
            found = snb.write_predictions(fitted, signed, tmp_path / "out", text="text")
    assert found.there == found.parts == 1
    assert "secret" not in (tmp_path / "out" / "_streamnb" / "run.json").read_text()


def test_bad_lines_are_named_or_skipped_and_counted(fitted, tmp_path):
    rows = lines(60)
    for k, bad in ((3, b"no json"), (17, b'{"id": 1}'), (30, b'{"text": 3}'), (44, b'{"text": "\xff"}'), (45, b"[1]")):
        rows[k] = bad
    data = corpus(tmp_path / "in", rows, 2)
    with pytest.raises(snb.DataError, match=r"0.jsonl, line 4: row 3 is not JSON"):
        snb.write_predictions(fitted, data, tmp_path / "out", text="text", format="jsonl", n_threads=1)
    assert not list((tmp_path / "out").glob("*.jsonl"))
    for fault, rest in ((b"no json", rows), (b'{"text": "\xff"}', rows[30:])):
        (tmp_path / "one").mkdir(exist_ok=True)
        data = corpus(tmp_path / "one", [row for row in rest if row == fault or row.startswith(b'{"id": ')][:70], 1)
        with pytest.raises(snb.DataError, match=r"0.jsonl, line \d+: "):
            snb.write_predictions(fitted, data, tmp_path / "two", text="text", force=True)
    found = snb.write_predictions(
        fitted, corpus(tmp_path / "in", rows, 2), tmp_path / "three", text="text", errors="skip"
    )
    assert (found.rows, found.skipped, found.kept) == (60, 5, 55)
    good = [json.loads(row)["text"] for k, row in enumerate(rows) if k not in (3, 17, 30, 44, 45)]
    assert table_of(tmp_path / "three")["label"].tolist() == fitted.predict(good).tolist()


@pytest.mark.parametrize(
    ("bad", "place", "of_table"), [("null", 0, True), (" null", 2, False), ("7", 2, True), ('{"text"', 0, False)]
)
def test_lines_that_are_no_objects_are_named_or_skipped_wherever_they_are(fitted, tmp_path, bad, place, of_table):
    path, whole, options = tmp_path / "x.jsonl", fitted, {"text": "text"}
    if of_table:
        frame = pd.DataFrame({"text": ["u", "u", "v", "v"]})
        whole, options = snb.LinearNB("auto").fit(snb.table(frame, ["good", "raw", "raw", "raw"])), {}
    rows = [json.dumps(row) for row in ROWS[:4]]
    path.write_text("\n".join([*rows[:place], bad, *rows[place:]]))
    runs = [(snb.select, {"where": "good >= 0"}), (snb.write_predictions, {"format": "jsonl"})]
    for run, more in (*runs, (snb.write_predictions, {"keep": ["id"], "format": "parquet"})):
        with pytest.raises(snb.DataError, match=rf"x.jsonl, line {place + 1}: row {place} is not "):
            run(whole, path, tmp_path / "strict", force=True, **more, **options)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*were not seen in fit")
            found = run(whole, path, tmp_path / "skipping", errors="skip", force=True, **more, **options)
        assert (found.rows, found.kept, found.skipped) == (5, 4, 1)


def test_a_row_of_csv_with_too_many_values_is_skipped_wherever_it_is(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text('text,n\n"a, b",1\nc,2,3\nd,4\n')
    model = snb.LinearNB("auto").fit(snb.table(pd.DataFrame({"text": ["a, b", "c", "c"], "n": [1, 2, 2]}), [0, 1, 1]))
    found = snb.write_predictions(model, path, tmp_path / "out", errors="skip", keep=["n"])
    assert (found.rows, found.kept, found.skipped) == (3, 2, 1) and table_of(tmp_path / "out")["n"].tolist() == [1, 4]


def test_rows_of_tables_without_a_text_are_named_or_skipped(fitted, tmp_path):
    texts = [None if k in (0, 17, 39) else text for k, text in enumerate(TEXTS[:40])]
    pd.DataFrame({"id": range(40), "text": texts}).to_parquet(tmp_path / "x.parquet", row_group_size=15)
    with pytest.raises(snb.DataError, match=r"x.parquet: row 0 has no text in 'text'"):
        snb.write_predictions(fitted, tmp_path / "x.parquet", tmp_path / "out", text="text")
    options = {"text": "text", "errors": "skip", "keep": ["id"]}
    found = snb.write_predictions(fitted, tmp_path / "x.parquet", tmp_path / "skipped", **options)
    good = [k for k in range(40) if texts[k] is not None]
    table = table_of(tmp_path / "skipped")
    assert (found.rows, found.skipped) == (40, 3) and table["id"].tolist() == good
    assert table["label"].tolist() == fitted.predict([TEXTS[k] for k in good]).tolist()


@pytest.mark.parametrize("packing", [".gz", ".zst"])
def test_files_that_are_cut_off_or_empty(packing, fitted, tmp_path):
    corpus(tmp_path / "in", packing=packing)
    path = tmp_path / "in" / f"1.jsonl{packing}"
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(snb.DataError, match="damaged or cut off"):
        snb.write_predictions(fitted, tmp_path / "in", tmp_path / "out", text="text")
    assert not list((tmp_path / "out").glob("*.parquet"))
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "a.jsonl").write_bytes(b"")
    found = snb.write_predictions(fitted, tmp_path / "empty", tmp_path / "none", text="text")
    assert found.rows == 0 and not list((tmp_path / "none").glob("*.parquet"))


def test_wrong_arguments_are_named(fitted, tmp_path):
    data = corpus(tmp_path / "in")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").write_text("")
    for wrong, error in (
        ({"format": "csv"}, "format='csv'"),
        ({"errors": "ignore"}, "errors='ignore'"),
        ({"text": None}, "name the field that holds the text"),
        ({"keep": "url"}, "keep='url' should be a list"),
        ({"folder": tmp_path / "full"}, "is not empty: it holds 'thesis.tex'"),
        ({"X": ["a", "b"]}, "no such file"),
        ({"X": snb.text(TEXTS)}, "rows in memory"),
        ({"model": snb.LinearNB().fit([[0.0], [1.0]], [0, 1])}, "not fitted on texts or a table"),
        ({"model": snb.MarginClassifier().fit(snb.text(TEXTS), [row["kind"] for row in ROWS]), "proba": True}, "proba"),
    ):
        given = {"model": fitted, "X": data, "folder": tmp_path / "out", "text": "text", **wrong}
        refuses((ValueError, TypeError, OSError), error, snb.write_predictions, **given)


def test_a_folder_of_another_run_is_replaced_only_by_force(fitted, tmp_path):
    data = corpus(tmp_path / "in")
    out = tmp_path / "out"
    snb.write_predictions(fitted, data, out, text="text")
    with pytest.raises(ValueError, match=r"is of another run: what is written was \[False"):
        snb.write_predictions(fitted, data, out, text="text", format="jsonl")
    snb.write_predictions(fitted, data, out, text="text", format="jsonl", force=True)
    assert sorted(name for name in os.listdir(out) if name[0] != "_") == ["part-00000.jsonl"]
    first = (out / "part-00000.jsonl").read_bytes()
    (out / "part-00000.jsonl").write_bytes(b"edited")
    assert snb.write_predictions(fitted, data, out, text="text", format="jsonl").there == 1
    assert snb.write_predictions(fitted, data, out, text="text", format="jsonl", force=True).there == 0
    assert (out / "part-00000.jsonl").read_bytes() == first
    corpus(tmp_path / "in", lines(100))
    with pytest.raises(ValueError, match="is of another run: the files"):
        snb.write_predictions(fitted, data, out, text="text", format="jsonl")


def test_fields_that_are_kept_as_lines_stay_as_they_are_and_unknown_ones_are_named(fitted, tmp_path):
    (tmp_path / "x.jsonl").write_bytes(b'{"id":1,"text":"fine1"}\n{"id":2.5,"text":"spam1"}\n{"text":"x"}\n')
    options = {"text": "text", "format": "jsonl.gz"}
    with pytest.warns(snb.StreamnbWarning, match=r"keep='idd': no row .*x.jsonl has such a field: did you mean 'id'\?"):
        snb.write_predictions(fitted, tmp_path / "x.jsonl", tmp_path / "out", keep=["id", "idd"], **options)
    found = list(map(json.loads, written_lines(tmp_path / "out")))
    assert [repr(row["id"]) for row in found] == ["1", "2.5", "None"] and [*found[0]] == ["id", "idd", "label"]
    with pytest.warns(snb.StreamnbWarning, match=r"text='txt'.* did you mean 'text'\?"):
        found = snb.select(fitted, tmp_path / "x.jsonl", tmp_path / "kept", "good", share=1, text="txt", errors="skip")
    assert (found.rows, found.skipped) == (3, 3)
    with pytest.warns(snb.StreamnbWarning, match=r"keep='url'.* a field: \['id', 'text'\]"):
        snb.write_predictions(fitted, tmp_path / "x.jsonl", tmp_path / "table", keep=["url"], text="text")


FRAME = pd.DataFrame({"id": np.arange(300), "a": np.arange(300) % 7 - 3.0, "c": [*"abcd"] * 75})
LATE = (FRAME["a"] + (FRAME["c"] == "a") + np.random.default_rng(0).normal(0.0, 2.0, 300) > 0).to_numpy()
HELD = {
    "pandas": lambda frame: frame,
    "Dask": lambda frame: dd.from_pandas(frame, npartitions=3),
    "Arrow": pa.Table.from_pandas,
    "Polars, lazy": lambda frame: pl.from_pandas(frame).lazy(),
    "reader": lambda frame: pa.Table.from_pandas(frame).to_reader(),
    "DuckDB": lambda frame: duckdb.sql("select * from frame"),
}


@pytest.mark.parametrize("kind", HELD)
def test_tables_that_are_no_files(kind, tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "PART_ROWS", 128)
    monkeypatch.setattr(reading, "PIECE_ROWS", 50)
    model = snb.LinearNB("auto").fit(FRAME[["a", "c"]], LATE)
    found = snb.write_predictions(model, HELD[kind](FRAME), tmp_path / "out", proba=True, keep=["id"])
    table = table_of(tmp_path / "out")
    assert (found.rows, found.parts) == (300, 3) and table["id"].tolist() == FRAME["id"].tolist()
    np.testing.assert_array_equal(table[["p_False", "p_True"]], model.predict_proba(FRAME))
    again = pd.DataFrame({name: FRAME[name].tolist() for name in FRAME})  # whose numbers are beside each other or not
    assert snb.write_predictions(model, HELD[kind](again), tmp_path / "out", proba=True, keep=["id"]).there == 3
    with pytest.raises(ValueError, match="is of another run: the rows was"):
        snb.write_predictions(model, HELD[kind](FRAME[::-1]), tmp_path / "out", proba=True, keep=["id"])


@pytest.mark.filterwarnings("error:X does not have valid feature names")
def test_files_and_records_for_a_model_of_numbers(tmp_path):
    numbers = pd.DataFrame({"id": FRAME["id"], "a": FRAME["a"], "first": FRAME["c"] == "a"})
    model = snb.SoftmaxRegression().fit(numbers[["a", "first"]], LATE)
    numbers.to_csv(tmp_path / "rows.csv", index=False)
    numbers[["first", "id", "a"]].to_parquet(tmp_path / "rows.parquet")
    for number, X in enumerate([tmp_path / "rows.csv", tmp_path / "rows.parquet", numbers.to_dict("records")]):
        snb.write_predictions(model, X, tmp_path / str(number), proba=True, keep=["id"])
        table = table_of(tmp_path / str(number))
        np.testing.assert_array_equal(table[["p_False", "p_True"]], model.predict_proba(numbers[["a", "first"]]))
    assert snb.select(model, tmp_path / "rows.csv", tmp_path / "chosen", label="True", share=0.5).rows == 300


def test_texts_of_a_frame(fitted, tmp_path):
    frame = pd.DataFrame({"text": TEXTS, "id": range(len(TEXTS))})
    snb.write_predictions(fitted, frame, tmp_path / "out", text="text", keep=["id"], format="jsonl")
    found = [json.loads(line) for line in written_lines(tmp_path / "out")]
    assert found == [{"id": n, "label": label} for n, label in enumerate(fitted.predict(TEXTS).tolist())]
    for wrong, message in (
        ({}, "text=None, but the model is of texts; name the column"),
        ({"text": "txt"}, "text='txt' is not a column of X: did you mean 'text'"),
        ({"text": "text", "keep": ["no"]}, "keep='no' is not a column of X"),
    ):
        refuses(ValueError, message, snb.write_predictions, fitted, frame, tmp_path / "other", **wrong)
