"""Rows that are selected: which, in which order, and as they were."""

import gzip
import json

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

import streamnb as snb
from streamnb.corpora import reading
from streamnb.corpora.scoring import ScoringModels, log_odds, scores_of
from streamnb.corpora.selecting import gumbel
from streamnb.rows.texts import of_strings
from tests.support.corpora import corpus, lines, model, odds, wet, written, written_lines
from tests.support.refusals import refuses

ROWS = lines()


@pytest.fixture(scope="module")
def fitted():
    return model()


@pytest.fixture
def select(fitted, tmp_path):
    def select(label="good", models=fitted, rows=ROWS, packing="", size=1 << 20, **options):
        k = len(list(tmp_path.iterdir()))
        before, reading.PART_BYTES = reading.PART_BYTES, size
        try:
            data = corpus(tmp_path / f"in{k}", rows, packing=packing)
            options = {"text": "text"} | options
            return snb.select(models, data, tmp_path / f"out{k}", label, **options), tmp_path / f"out{k}"
        finally:
            reading.PART_BYTES = before

    return select


def best(n, scores):
    return np.sort(np.argsort(-scores, kind="stable")[:n])


@pytest.mark.parametrize("packing", ["", ".gz", ".zst"])
def test_rows_above_a_threshold_keep_their_bytes_and_have_their_score(packing, select, fitted):
    found, out = select(threshold=0.6, packing=packing)
    scores = scores_of(odds(fitted, ROWS))
    kept = [(row, score) for row, score in zip(ROWS, scores) if score >= 0.6]
    assert (found.rows, found.kept) == (len(ROWS), len(kept)) and 0 < len(kept) < len(ROWS)
    expected = [row[:-1] + f',"score":{float(score)!r}}}'.encode() for row, score in kept]
    assert written_lines(out) == expected
    assert all(name.endswith(f".jsonl{packing}") for name in written(out))


@pytest.mark.parametrize(
    ("how", "size", "n_threads", "packing"),
    [
        ({"share": 0.1}, 6000, 3, ""),
        ({"number": 41}, 50, 2, ".zst"),
        ({"resample": 25, "seed": 7}, 6000, 3, ".gz"),
        ({"resample": 25, "seed": 7}, 1 << 20, 1, ""),
    ],
)
def test_the_best_rows_are_chosen_whatever_the_parts(how, size, n_threads, packing, select, fitted):
    found, out = select(size=size, n_threads=n_threads, packing=packing, score=None, **how)
    scores = odds(fitted, ROWS)
    n = {"share": 30, "number": 41, "resample": 25}[next(iter(how))]
    if "seed" in how:
        scores = scores + gumbel(7, 0, len(ROWS))
    assert found.kept == n and written_lines(out) == [ROWS[k] for k in best(n, scores)]


def test_quotas_are_of_the_rows_of_each_label(select, fitted):
    found, out = select(None, number={"good": 9, "raw": 4})
    scores = odds(fitted, ROWS)
    good, raw = np.where(scores > 0, scores, -np.inf), np.where(scores > 0, -np.inf, -scores)
    chosen = sorted([*best(9, good), *best(4, raw)])
    rows = [json.loads(line) for line in written_lines(out)]
    assert [row["id"] for row in rows] == chosen and found.kept == 13
    assert [row["score_label"] for row in rows] == ["good" if scores[k] > 0 else "raw" for k in chosen]
    np.testing.assert_allclose([row["score"] for row in rows], scores_of(np.abs(scores[chosen])))
    assert select(None, share={"good": 1.0, "raw": 0.5})[0].kept == (scores > 0).sum() + round((scores <= 0).sum() / 2)


def test_several_models_are_asked_in_one_read(select, fitted):
    other = model(words=(1, 2), alternate_sign=False)
    models = {"a": fitted, "b": other}
    found, out = select(None, models, where="a.good > .5 and not b.raw >= .4")
    keep = (scores_of(odds(fitted, ROWS)) > 0.5) & ~(scores_of(odds(other, ROWS, "raw")) >= 0.4)
    rows = [json.loads(line) for line in written_lines(out)]
    assert [row["id"] for row in rows] == np.flatnonzero(keep).tolist() and 0 < found.kept < len(ROWS)
    assert {"score_a.good", "score_b.raw"} < rows[0].keys()
    found, out = select("a.good", models, number=5, where="b.good > .2", score="s")
    able = np.where(scores_of(odds(other, ROWS)) > 0.2, odds(fitted, ROWS), -np.inf)
    rows = [json.loads(line) for line in written_lines(out)]
    assert [row["id"] for row in rows] == best(5, able).tolist() and "s" in rows[0] and "s_b.good" in rows[0]


@pytest.mark.parametrize("how", [{"threshold": 0.0}, {"share": 1.0}])
def test_bad_lines_are_skipped_in_one_read_and_in_two(how, select, fitted):
    rows = [*ROWS[:50]]
    for k in (0, 20, 21, 49):
        rows[k] = b'{"id": 3, "text": null, "x": }'
    found, out = select(rows=rows, errors="skip", size=2000, score=None, **how)
    assert (found.rows, found.kept, found.skipped) == (50, 46, 4)
    assert written_lines(out) == [row for k, row in enumerate(rows) if k not in (0, 20, 21, 49)]
    refuses(ValueError, r"line 1: row 0 is not JSON", lambda: select(rows=rows, **how))


def test_bad_lines_of_text_are_found_among_blank_ones(fitted, tmp_path):
    (tmp_path / "x.txt").write_bytes(b"fine1\n\n\xff\n\n\nfine2\n\n")
    found = snb.select(fitted, tmp_path / "x.txt", tmp_path / "out", "good", threshold=0.0, score=None, errors="skip")
    assert (found.rows, found.skipped) == (7, 1)
    texts = [json.loads(line)["text"] for line in written_lines(tmp_path / "out")]
    assert [text for text in texts if text] == ["fine1", "fine2"] and len(texts) == 6
    with pytest.raises(ValueError, match=r"x.txt, line 3: a line is not UTF-8"):
        snb.select(fitted, tmp_path / "x.txt", tmp_path / "other", "good", threshold=0.0)


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "parquet", "txt"])
def test_rows_of_other_kinds(ending, fitted, tmp_path):
    frame = pd.DataFrame([json.loads(row) for row in ROWS])[["id", "text"]]
    path, name = tmp_path / f"x.{ending}", {"txt": "jsonl"}.get(ending, ending)
    if ending == "parquet":
        frame.to_parquet(path, row_group_size=50)
    elif ending == "txt":
        path.write_text("\n".join(frame["text"]))
    else:
        frame.to_csv(path, index=False)
    text = None if ending == "txt" else "text"
    snb.select(fitted, path, tmp_path / "out", "good", number=40, text=text)
    chosen = best(40, odds(fitted, ROWS))
    part = tmp_path / "out" / f"part-00000.{name}"
    read = {"parquet": lambda path: pq.read_table(path).to_pandas(), "txt": lambda path: pd.read_json(path, lines=True)}
    found = read.get(ending, pd.read_csv)(part)
    assert found["text"].tolist() == frame["text"].iloc[chosen].tolist()
    np.testing.assert_allclose(found["score"], scores_of(odds(fitted, ROWS)[chosen]))


def test_wrong_arguments_are_named(select, fitted):
    for label, wrong, error in (
        ("good", {}, "nothing|where"),
        (None, {}, "nothing says which rows to keep"),
        ("good", {"share": 0}, "share=0 should be above 0, and 1 at most"),
        ("good", {"share": 1.5}, "share=1.5"),
        ("good", {"number": 0}, "number"),
        ("good", {"number": 5, "share": 0.5}, "share= and number= are both given"),
        ("good", {"threshold": "high"}, "threshold='high' should be a number"),
        ("best", {"share": 0.5}, r"label: 'best' is not a label of the model; its labels are \['good', 'raw'\]"),
        (None, {"share": 0.5}, "share=0.5 needs a label; give label="),
        ("good", {"number": {"good": 1}}, "are both given"),
        (None, {"where": "bad > .5"}, "where: 'bad' is not a label"),
        ("good", {"threshold": {"good": 0.1}}, "should be a number; share and number may be given by label"),
        ("good", {"share": 0.5, "score": "id"}, "the rows have 'id' already"),
        ("good", {"share": 0.5, "score": 3}, "score=3 should be the name of a field"),
        ("good", {"resample": 5, "seed": None}, "seed=None"),
        ("good", {"resample": 5, "seed": -1}, "seed=-1"),
        (None, {"share": {}}, "names no label"),
        (None, {"where": "1 > 0"}, "names no label"),
        ("good", {"where": "not " * 5000 + "good > .5"}, "nested too deeply|cannot be read"),
    ):
        if not wrong and label:
            continue
        refuses((ValueError, TypeError), error, select, label, **wrong)


def test_documents_of_files_and_archives(fitted, tmp_path):
    pytest.importorskip("fastwarc")
    texts = [json.loads(row)["text"] for row in ROWS[:60]]
    (tmp_path / "docs").mkdir()
    for k, text in enumerate(texts):
        (tmp_path / "docs" / f"{k:02d}.txt").write_text(text)
    (tmp_path / "x.warc.wet.gz").write_bytes(b"".join(map(gzip.compress, wet(texts))))
    chosen = best(6, odds(fitted, ROWS[:60]))
    snb.select(fitted, tmp_path / "docs", tmp_path / "a", "good", number=6, whole_files=True)
    rows = [json.loads(line) for line in written_lines(tmp_path / "a")]
    assert [row["text"] for row in rows] == [texts[k] for k in chosen]
    assert [row["path"] for row in rows] == [str(tmp_path / "docs" / f"{k:02d}.txt") for k in chosen]
    snb.select(fitted, tmp_path / "x.warc.wet.gz", tmp_path / "b", "good", number=6)
    rows = [json.loads(line) for line in written_lines(tmp_path / "b")]
    assert [(row["text"], row["url"]) for row in rows] == [(texts[k], f"http://x/{k}") for k in chosen]
    found = snb.write_predictions(fitted, tmp_path / "x.warc.wet.gz", tmp_path / "c", keep=["url"], format="jsonl")
    assert found.rows == 60 and json.loads(written_lines(tmp_path / "c")[7])["url"] == "http://x/7"


@pytest.mark.parametrize(
    ("how", "size"),
    [({"number": 20}, 4000), ({"threshold": 0.4}, 1 << 20), ({"where": "good > .4", "label": None}, 4000)],
)
def test_repeats_are_left_out_before_rows_are_chosen(how, size, select, fitted):
    rows = [*ROWS[:60], b"bad", *(row.replace(b"fine", b" FINE") for row in ROWS[:60]), *ROWS[60:90], *ROWS[:5]]
    found, out = select(rows=rows, size=size, drop_repeats=True, errors="skip", score=None, **how)
    scores = odds(fitted, ROWS[:90])
    chosen = best(20, scores) if "number" in how else np.flatnonzero(scores_of(scores) >= 0.4)
    assert written_lines(out) == [ROWS[k] for k in chosen]
    assert (found.rows, found.repeated, found.skipped) == (156, 65, 1) and ", 65 repeated" in str(found)


def test_a_folder_that_holds_what_is_read_is_refused_even_by_force(fitted, tmp_path):
    data = tmp_path / "part-00000.jsonl"
    data.write_bytes(b"\n".join(ROWS) + b"\n")
    for write in (snb.select, snb.write_predictions):
        options = {"threshold": 0.5, "label": "good"} if write is snb.select else {}
        with pytest.raises(ValueError, match="which is a file of X; give another folder"):
            write(fitted, str(data), tmp_path, text="text", force=True, **options)
    assert data.read_bytes() == b"\n".join(ROWS) + b"\n"


def test_a_file_that_has_changed_is_another_run(fitted, tmp_path):
    data, options = tmp_path / "in.jsonl", {"label": "good", "number": 2, "text": "text"}
    data.write_bytes(b"\n".join(ROWS) + b"\n")
    snb.select(fitted, data, tmp_path / "out", **options)
    assert snb.select(model(), data, tmp_path / "out", **options).there == 1  # a model of another fit of the same rows
    data.write_bytes(b"\n".join(ROWS[::-1]) + b"\n")
    refuses(ValueError, "of another run: the files", lambda: snb.select(fitted, data, tmp_path / "out", **options))


def test_numbers_of_numpy_and_conditions_that_always_hold(select):
    expected, _ = select(number=41, threshold=None)
    assert select(number=np.int64(41))[0].kept == expected.kept == 41
    assert select(where="1 > 0")[0].kept == len(ROWS)


TEXTS = [json.loads(row)["text"] for row in lines(30)]


def test_odds_are_those_of_probabilities_and_do_not_saturate():
    fitted = model()
    long = [" ".join(TEXTS[:n]) * 50 for n in (1, 10, 20)]
    X = fitted.encoding_.ngrams(of_strings(TEXTS + long))
    logs = fitted.predict_log_proba(X)
    for k in range(2):
        found = log_odds(fitted, logs, k)
        np.testing.assert_allclose(scores_of(found), fitted.predict_proba(X)[:, k], rtol=1e-12)
        np.testing.assert_allclose(found, fitted.decision_function(X) * (1 if k else -1), rtol=1e-12)
    assert len(set(log_odds(fitted, logs, 1)[-3:])) == 3


def test_odds_of_many_classes_and_margins():
    rng = np.random.default_rng(0)
    X, y = rng.poisson(1.0, (60, 5)), np.arange(60) % 3
    fitted = snb.LinearNB("poisson").fit(X, y)
    proba = fitted.predict_proba(X)
    found = np.column_stack([log_odds(fitted, np.log(proba), k) for k in range(3)])
    np.testing.assert_allclose(scores_of(found), proba, rtol=1e-9)
    assert log_odds(fitted, np.array([[-np.inf, 0.0, -np.inf]]), 0) == -np.inf
    margins = snb.MarginClassifier().fit(X, y)
    assert (log_odds(margins, margins.decision_function(X), 2) == margins.decision_function(X)[:, 2]).all()


def test_each_of_several_labels_of_a_row_has_odds_of_its_own():
    Y = np.array([[k % 2, k % 3 == 0, 1] for k in range(30)])
    Y[:3, 2] = 0
    fitted = snb.LinearNB("multinomial").fit(snb.text(TEXTS, n_features=1 << 10), Y)
    X = fitted.encoding_.ngrams(of_strings(TEXTS))
    for k in range(3):
        found = log_odds(fitted, fitted.predict_log_proba(X), k)
        np.testing.assert_allclose(scores_of(found), fitted.predict_proba(X)[:, k], rtol=1e-9)


def test_models_of_one_text_share_its_columns_and_others_make_their_own():
    models = ScoringModels.of({"a": model(), "b": model(), "c": model(words=(1, 2))}, "text")
    made = models.matrices(of_strings(TEXTS), 0)
    assert made["a"] is made["b"] and made["c"].n_values > made["a"].n_values
    assert models.column("b.good", "where") == ("b", 0)
    with pytest.raises(ValueError, match=r"'good' is a label of several models; name the model, too: a.good"):
        models.column("good", "where")
    with pytest.raises(ValueError, match=r"label: 'bad' is not a label of the model; its labels are \['good', 'raw'"):
        models.column("bad", "label")


def test_models_that_make_no_columns_are_refused():
    numbers = snb.LinearNB().fit([[0.0, 1.0], [1.0, 0.0]], [0, 1])
    refuses(ValueError, "model is a LinearNB that was not fitted on texts or a table", ScoringModels.of, numbers)
    frame = pd.DataFrame({"a": ["x", "y"] * 5, "y": [0, 1] * 5})
    table = snb.LinearNB("bernoulli").fit(snb.table(frame, "y"))
    refuses(ValueError, "several models can score only texts", lambda: ScoringModels.of({"a": table, "b": table}))
    refuses(ValueError, "text='t' names a field of texts", lambda: ScoringModels.of(table, "t"))
    refuses(ValueError, "has no model", lambda: ScoringModels.of({}))
