"""Commands that read data or models: their data is what the library answers."""

import io
import json
import re

import distributed
import numpy as np
import pandas as pd
import pytest

import streamnb as snb
from streamnb.kernels import compiler
from streamnb.searching import warming
from tests.reporting.conftest import rows, without_pictures
from tests.support.command_line import LABELS, ran, store, texts
from tests.support.corpora import corpus, lines, model, written, written_lines
from tests.support.processes import python
from tests.support.reference_kmers import fasta, fastq

__all__ = ["without_pictures"]


@pytest.fixture
def fitted(tmp_path):
    path = store(tmp_path)
    model = snb.LinearNB(penalty=snb.TopK(2)).fit(str(path), "y")
    model.save(tmp_path / "m.snb", meta={"rows": 90})
    return path, model, tmp_path / "m.snb"


@pytest.mark.parametrize("ending", ["csv", "parquet", "npy", "jsonl"])
def test_predictions_by_the_ending_of_the_file(ending, fitted, tmp_path, capsys):
    path, model, file = fitted
    out = tmp_path / f"p.{ending}"
    assert ran(capsys, "predict", file, path, "--proba", "--scores", "-o", out)[:2] == (0, "")
    read = {"csv": pd.read_csv, "parquet": pd.read_parquet, "jsonl": lambda f: pd.read_json(f, lines=True)}
    proba, scores = model.predict_proba(str(path)), model.decision_function(str(path))
    if ending == "npy":
        np.testing.assert_allclose(np.load(out), np.hstack([proba, scores]))
        return
    frame = read[ending](out)
    assert frame["label"].tolist() == model.predict(str(path)).tolist()
    np.testing.assert_allclose(frame[["p_perl", "p_python", "p_ruby"]], proba, atol=1e-9)
    np.testing.assert_allclose(frame[["score_perl", "score_python", "score_ruby"]], scores, atol=1e-9)


def test_labels_go_to_stdout(fitted, capsys):
    path, model, file = fitted
    ended, said, words = ran(capsys, "predict", file, path)
    assert ended == 0 and said.split() == ["label", *model.predict(str(path)).tolist()] and not words


def test_rows_come_from_standard_input(tmp_path, capsys, monkeypatch):
    frame = pd.DataFrame({"n": [1.5, -2.0, 0.5, -1.0] * 10, "y": ["high", "low"] * 20})
    snb.LinearNB("auto").fit(frame, "y").save(tmp_path / "m.snb")
    for given in (frame.to_csv(index=False), frame.to_json(orient="records", lines=True)):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(given.encode())))
        assert ran(capsys, "predict", tmp_path / "m.snb", "-")[1].split() == ["label", *frame["y"]]


def test_predicted_numbers_and_their_intervals(fitted, tmp_path, capsys):
    table = pd.DataFrame({"x": np.arange(200.0) % 17, "y": np.arange(200.0) % 17 + np.arange(200) % 3})
    table.to_parquet(tmp_path / "t.parquet")
    model = snb.PoissonRegressorCV().fit(table, "y")
    model.save(tmp_path / "numbers.snb")
    for options, columns, found in (
        ([], "prediction", model.predict(table)[:, None]),
        (["--interval", ".9"], "prediction,lower,upper", model.predict(table, interval=0.9)),
    ):
        ended, said, _ = ran(capsys, "predict", tmp_path / "numbers.snb", tmp_path / "t.parquet", *options)
        head, *lines = said.splitlines()
        assert ended == 0 and head == columns
        np.testing.assert_allclose([[*map(float, line.split(","))] for line in lines], found)
    ended, _, words = ran(capsys, "predict", tmp_path / "numbers.snb", tmp_path / "t.parquet", "--proba")
    assert ended == 2 and "--proba is of classes" in words
    assert ran(capsys, "export", tmp_path / "numbers.snb", tmp_path / "light.snb")[0] == 0
    light = snb.load(tmp_path / "light.snb")
    assert light.predict(table[["x"]], interval=0.9).tolist() == model.predict(table, interval=0.9).tolist()
    ended, _, words = ran(capsys, "predict", fitted[2], fitted[0], "--interval", ".9")
    assert ended == 2 and "predicts classes" in words


def test_labels_of_svmlight_files_are_written_as_there(tmp_path, capsys):
    rows = tmp_path / "rows.svm"
    rows.write_text("1 1:1\n-1 2:1\n1 1:2 2:1\n-1 2:2\n")
    snb.LinearNB("poisson").fit(rows).save(tmp_path / "m.snb")
    ended, said, _ = ran(capsys, "predict", tmp_path / "m.snb", rows, "--proba")
    found = said.splitlines()
    assert (
        ended == 0
        and found[0] == "label,p_-1,p_1"
        and [line.partition(",")[0] for line in found[1:]] == ["1", "-1", "1", "-1"]
    )
    ended, said, _ = ran(capsys, "inspect", tmp_path / "m.snb", "--class", "-1")
    assert ended == 0 and {line.split()[0] for line in said.splitlines()[2:]} == {"-1"}


def test_evaluation_is_that_of_the_library(fitted, capsys):
    path, model, file = fitted
    ended, said, _ = ran(capsys, "evaluate", file, path, "--y", "y", "--json")
    found = json.loads(said)
    proba, scores = model.predict_proba(str(path)), model.decision_function(str(path))
    same = snb.evaluate(LABELS, model.predict(str(path)), proba=proba, scores=scores)
    assert ended == 0 and found == pytest.approx(same.summary())
    assert "accuracy" in ran(capsys, "evaluate", file, path, "--y", "y")[1]


@pytest.fixture
def of_table(tmp_path):
    """A table with a number, a model of it, and the beginning of the command that judges it."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"n": rng.integers(0, 7, 80), "w": rng.integers(0, 3, 80), "patient": np.arange(80) // 4})
    frame = frame.assign(ward=rng.choice(["a", "b"], 80), y=frame["n"] // 3 % 2 ^ (rng.random(80) < 0.2))
    frame.to_csv(tmp_path / "rows.csv", index=False)
    model = snb.LinearNB("auto").fit(snb.table(tmp_path / "rows.csv", "y", columns=["n"]))
    model.save(tmp_path / "m.snb")
    return frame, model, ["evaluate", tmp_path / "m.snb", tmp_path / "rows.csv", "--y", "y"]


def test_evaluation_has_intervals(of_table, capsys):
    frame, model, command = of_table
    ended, said, _ = ran(capsys, *command, "--interval", ".9")
    assert ended == 0 and "90 % intervals of independent rows" in said
    ended, said, _ = ran(capsys, *command, "--interval", ".9", "--groups", "patient", "--json")
    same = model.evaluate(frame, "y", interval=0.9, groups="patient").summary()
    assert ended == 0 and json.loads(said) == pytest.approx(same) and "accuracy low" in same
    ended, _, words = ran(capsys, *command, "--interval", "95")
    assert ended == 2 and "--interval 95.0 should be between 0 and 1" in words


def test_evaluation_weighs_rows(of_table, capsys):
    frame, model, command = of_table
    ended, said, _ = ran(capsys, *command, "--weight", "w", "--json")
    right = model.predict(frame) == frame["y"]
    assert ended == 0 and json.loads(said)["accuracy"] == pytest.approx(np.average(right, weights=frame["w"]))
    assert np.average(right, weights=frame["w"]) != right.mean()


def test_evaluation_by_columns_that_are_no_features(of_table, capsys):
    frame, model, command = of_table
    slices = model.evaluate(frame, "y", by=["ward", "n"]).slices
    ended, said, _ = ran(capsys, *command, "--by", "ward,n", "--json")
    found = pd.DataFrame(json.loads(said)["slices"])
    assert ended == 0 and found["value"].tolist() == slices["value"].tolist()
    assert str(slices["slice"][0]) in ran(capsys, *command, "--by", "ward,n")[1]
    assert "wing" in ran(capsys, *command, "--by", "wing")[2]


def test_models_and_their_features_are_shown(fitted, capsys):
    _, model, file = fitted
    found = json.loads(ran(capsys, "inspect", file, "--top", 1, "--json")[1])
    assert found["meta"] == {"rows": 90} and found["top_features"] == model.top_features(1).to_dict("records")
    ended, _, words = ran(capsys, "inspect", file, "--class", "cobol")
    assert ended == 2 and "'cobol' is not a class; it should be one of perl, python, ruby" in words


def test_exports_by_the_ending(fitted, tmp_path, capsys):
    path, model, file = fitted
    for ending in ("json", "snb"):
        assert ran(capsys, "export", file, tmp_path / f"out.{ending}")[0] == 0
    assert json.loads((tmp_path / "out.json").read_text())["n_features"] == 6
    assert ran(capsys, "predict", tmp_path / "out.snb", path)[1].split()[1:] == model.predict(str(path)).tolist()
    ended, _, words = ran(capsys, "export", file, tmp_path / "out.pickle")
    assert ended == 2 and "should end with one of .onnx, .json" in words
    for ending in ("json", "snb"):  # of a model that has no statistics
        assert ran(capsys, "export", tmp_path / "out.snb", tmp_path / f"again.{ending}")[0] == 0
        assert (tmp_path / f"again.{ending}").read_bytes() == (tmp_path / f"out.{ending}").read_bytes()


def test_plans_and_stores(tmp_path, capsys):
    path = texts(tmp_path)
    asked = ["--text", "body", "--y", "section", "--n-features", 256]
    assert "n_rows        90" in ran(capsys, "plan", path, *asked)[1]
    assert ran(capsys, "convert", path, tmp_path / "t.zarr", *asked)[0] == 0
    assert snb.scan(str(tmp_path / "t.zarr"), "y").n_rows == 90


def test_tables_become_stores_by_hashes_and_bins(tmp_path, capsys):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"plane": rng.choice(["N1", "N2"], 90), "miles": rng.normal(size=90), "late": LABELS})
    frame.to_parquet(tmp_path / "f.parquet")
    asked = [tmp_path / "f.parquet", "--y", "late", "--hash", "plane", "--bins", "miles=4", "--n-features", 64]
    assert "n_features    68" in ran(capsys, "plan", *asked)[1]
    made = tmp_path / "f.zarr"
    for force in ([], ["--force"]):
        assert ran(capsys, "convert", *asked[:1], made, *asked[1:], *force)[0] == 0
    names = snb.LinearNB().fit(str(made), "y").feature_names_in_
    assert len(names) == 68 and names[0].startswith("miles in (-inf") and names[4] == "hash 0"
    assert ran(capsys, "convert", *asked[:1], made, *asked[1:])[0] == 2
    ended, _, words = ran(capsys, "convert", *asked[:1], tmp_path / "g.zarr", "--hash", "plan")
    assert ended == 2 and "--hash 'plan' is not a column" in words and not (tmp_path / "g.zarr").exists()


@pytest.mark.cluster
def test_workers_of_a_scheduler_read(fitted, tmp_path, capsys):
    path, model, _ = fitted
    with distributed.LocalCluster(n_workers=1, processes=False, dashboard_address=None) as cluster:
        there = ["--client", cluster.scheduler_address]
        fit = ["fit", path, "--y", "y", "--penalty", "topk=2", "-o", tmp_path / "there.snb", *there]
        assert ran(capsys, *fit)[0] == 0
        assert np.array_equal(snb.load(tmp_path / "there.snb").coef_, model.coef_)
        labels = ran(capsys, "predict", tmp_path / "there.snb", path, *there)[1].split()[1:]
        assert labels == model.predict(str(path)).tolist()
        assert ran(capsys, "convert", path, tmp_path / "again.zarr", "--y", "y", *there)[0] == 0
        n_tasks = cluster.scheduler.transition_counter
    again = snb.LinearNB(penalty=snb.TopK(2)).fit(str(tmp_path / "again.zarr"), "y")
    assert np.array_equal(again.coef_, model.coef_) and n_tasks > 0


def test_faults_of_the_data_have_their_message_and_status_1(fitted, tmp_path, capsys):
    path, _, file = fitted
    (tmp_path / "damaged.snb").write_bytes(file.read_bytes()[:-100])
    ended, _, words = ran(capsys, "predict", tmp_path / "damaged.snb", path)
    assert ended == 1 and "save it again" in words
    ended, _, words = ran(capsys, "predict", file, path, "-o", tmp_path / "p.xlsx")
    assert ended == 2 and "should end with one of .csv" in words


def test_sequences_from_a_file_to_taxa(tmp_path, capsys):
    rng = np.random.default_rng(0)
    letters = ["".join(rng.choice(list("ACGT"), 200)) for _ in range(3)]
    (tmp_path / "refs.fasta").write_bytes(fasta(letters))
    (tmp_path / "reads.fastq").write_bytes(fastq([one[:150] for one in letters]))
    (tmp_path / "tax.tsv").write_text("Feature ID\tTaxon\ns0\tk__A;g__x\ns1\tk__A;g__y\ns2\tk__B;g__z\n")
    model, labels = tmp_path / "m.snb", ["k__A;g__x", "k__A;g__y", "k__B;g__z"]
    asked = "fit", tmp_path / "refs.fasta", "--labels", tmp_path / "tax.tsv", "--k", 5, "-o", model
    assert ran(capsys, *asked)[0] == 0
    fitted = snb.load(model)
    assert (fitted.smoothing, fitted.penalty, fitted.encoding_.k) == (0.001, None, 5)
    assert ran(capsys, "predict", model, tmp_path / "reads.fastq", "-o", tmp_path / "out.tsv")[0] == 0
    expected = [f"s{i}\t{label}" for i, label in enumerate(labels)]
    assert (tmp_path / "out.tsv").read_text().splitlines() == ["read\tlabel", *expected]
    ended, said, _ = ran(capsys, "predict", model, tmp_path / "reads.fastq", "--confidence", 0.7)
    assert ended == 0 and said.splitlines()[:2] == ["read,taxon,confidence", "s0,k__A;g__x,1.0"]
    again = "predict", model, tmp_path / "reads.fastq"
    for given, status, why in [
        ((*asked[:-1], "n.snb", "--y", "y"), 2, "--y is not for sequences"),
        ((*asked[:-1], "n.snb", "--words", "1-2"), 2, "--words is not for sequences"),
        (("fit", tmp_path / "tax.tsv", "--labels", "header", "-o", "n.snb"), 1, "neither FASTA nor FASTQ"),
        (("fit", tmp_path, "--labels", "header", "-o", "n.snb"), 1, "is a folder"),
        ((*again, "--confidence", 0.7, "--proba"), 2, "--proba has no effect beside --confidence"),
        ((*again, "--confidence", 0.7, "-o", tmp_path / "parts"), 2, "--confidence is for a file, such as -o"),
        ((*again, "--keep", "id"), 2, "--keep is for parts in a folder, such as -o"),
    ]:
        ended, _, words = ran(capsys, *given)
        assert (ended, why in words) == (status, True), words


def test_options_of_sequences_are_refused_for_other_rows_and_models(fitted, tmp_path, capsys):
    path = fitted[0]
    ended, _, words = ran(capsys, "fit", path, "--y", "y", "--k", 5, "-o", tmp_path / "n.snb")
    assert ended == 2 and "--k is for sequences, which have --labels" in words
    normal = snb.LinearNB("gaussian").fit(str(path), "y")
    normal.save(tmp_path / "normal.snb")
    ended, _, words = ran(capsys, "predict", tmp_path / "normal.snb", path, "--confidence", 0.7)
    assert ended == 1 and "draws from counts: it needs a multinomial model" in words
    normal.save(tmp_path / "bare.snb", stats=False)
    ended, _, words = ran(capsys, "predict", tmp_path / "bare.snb", path, "--confidence", 0.7)
    assert ended == 2 and "has no ranks; fit it with its statistics" in words


@pytest.fixture
def of_corpus(tmp_path):
    model().save(tmp_path / "m.snb")
    model(words=(1, 2)).save(tmp_path / "other.snb")
    return tmp_path / "m.snb", corpus(tmp_path / "in"), tmp_path


def test_numbers_are_predicted(tmp_path, capsys):
    frame = pd.DataFrame({"x": np.arange(20.0), "y": 2.0 * np.arange(20.0)})
    frame.to_csv(tmp_path / "rows.csv", index=False)
    snb.Ridge(alpha=0.0).fit(frame, "y").save(tmp_path / "m.snb")
    given = "predict", tmp_path / "m.snb", tmp_path / "rows.csv"
    assert ran(capsys, *given, "-o", tmp_path / "out.csv")[0] == 0
    np.testing.assert_allclose(pd.read_csv(tmp_path / "out.csv")["prediction"], frame["y"], atol=1e-9)
    code, _, err = ran(capsys, *given, "--proba")
    assert code and "predicts numbers" in err


def test_predictions_go_to_a_folder_in_parts(of_corpus, capsys):
    file, data, folder = of_corpus
    arguments = "predict", file, data, "--text", "text", "--proba", "--keep", "id,kind"
    ended, said, words = ran(capsys, *arguments, "-o", f"{folder}/scores/")
    assert (ended, said) == (0, "") and "300 rows, 300 kept (100.0%)" in words
    snb.write_predictions(model(), data, folder / "same", proba=True, keep=["id", "kind"], text="text")
    assert written(folder / "scores") == written(folder / "same")
    ended, _, words = ran(capsys, *arguments, "--format", "jsonl", "-o", folder / "scores")
    assert ended == 1 and "is of another run" in words
    assert ran(capsys, *arguments, "--format", "jsonl", "-o", folder / "scores", "--force")[0] == 0


def test_rows_are_selected(of_corpus, capsys):
    file, data, folder = of_corpus
    ended, said, words = ran(
        capsys, "select", file, data, "--label", "good", "--share", 0.1, "--text", "text", "-o", folder / "a"
    )
    assert (ended, said) == (0, "") and "30 kept (10.0%)" in words
    snb.select(model(), data, folder / "same", "good", share=0.1, text="text")
    assert written(folder / "a") == written(folder / "same")
    where = "m.good > .5 and other.good > .6"
    ended = ran(
        capsys, "select", file, folder / "other.snb", data, "--where", where, "--text", "text", "-o", folder / "b"
    )
    assert ended[0] == 0
    both = {"m": model(), "other": model(words=(1, 2))}
    snb.select(both, data, folder / "both", where=where, text="text")
    assert written(folder / "b") == written(folder / "both")
    quotas = ["--number", "good=3,raw=2", "--score", "", "--text", "text"]
    assert ran(capsys, "select", file, data, *quotas, "-o", folder / "c")[0] == 0
    assert set(written_lines(folder / "c")) < set(lines()) and len(written_lines(folder / "c")) == 5


def test_wrong_use_of_a_corpus_is_told_from_wrong_data(of_corpus, capsys):
    file, data, folder = of_corpus
    ended, _, words = ran(capsys, "select", file, data, "--share", "a lot", "-o", folder / "x")
    assert ended == 2 and "'a lot' should be a number, or numbers by label" in words
    ended, _, words = ran(capsys, "select", file, file, data, "--share", "0.1", "-o", folder / "x")
    assert ended == 2 and "one name" in words
    ended, _, words = ran(
        capsys, "select", file, f"{folder}/no*", "--label", "good", "--share", "0.1", "-o", folder / "x"
    )
    assert ended == 1 and "there is no such file" in words


@pytest.fixture
def of_report(tmp_path):
    """A model, a search, and a table."""
    rows().to_parquet(tmp_path / "test.parquet")
    snb.LinearNBCV(folds=2).fit(rows(), "late").save(tmp_path / "m.snb")
    return tmp_path


def plain(page):
    """A page without what differs from one to the next."""
    return re.sub(r"<th scope=\"row\">written</th>.*", "", page)


@pytest.mark.usefixtures("without_pictures")
def test_the_page_is_that_of_the_library(of_report, capsys):
    model, table, out = of_report / "m.snb", of_report / "test.parquet", of_report / "r.html"
    asked = "report", model, table, "--y", "late", "--by", "city", "--against", table, "-o", out
    ended, said, words = ran(capsys, *asked)
    assert ended == 0 and not said and "bytes" in words
    snb.report(snb.load(model), table, "late", of_report / "other.html", by="city", against=table)
    page, other = (plain(one.read_text()) for one in (out, of_report / "other.html"))
    assert page == other.replace("model.snb", str(model))
    assert ran(capsys, *asked)[0] == 2 and "--force" in ran(capsys, *asked)[2]
    assert ran(capsys, *asked, "--force")[0] == 0


@pytest.mark.usefixtures("without_pictures")
def test_a_model_alone_and_a_search(of_report, capsys):
    assert ran(capsys, "report", of_report / "m.snb", "-o", of_report / "alone.html")[0] == 0
    assert "shows the model alone" in (of_report / "alone.html").read_text()
    families = {"families": ["multinomial"], "penalties": [None]}
    snb.search(rows(), "late", **families, folds=2, show=False).save(of_report / "s.snb")
    assert ran(capsys, "report", of_report / "s.snb", "-o", of_report / "search.html")[0] == 0
    assert "Candidates, the best first" in (of_report / "search.html").read_text()


@pytest.mark.usefixtures("without_pictures")
def test_rows_without_labels_and_folders_that_are_not_there(of_report, capsys):
    unlabelled = pd.read_parquet(of_report / "test.parquet").drop(columns="late")
    unlabelled.to_parquet(of_report / "new.parquet")
    assert ran(capsys, "report", of_report / "m.snb", of_report / "new.parquet", "-o", of_report / "r.html")[0] == 0
    assert "shows the model alone" in (of_report / "r.html").read_text()
    ended, _, words = ran(capsys, "report", of_report / "m.snb", "-o", of_report / "no" / "r.html")
    assert ended == 2 and "no folder" in words


def test_words_of_warming_go_to_stderr(monkeypatch, capsys):
    monkeypatch.setattr(warming, "warming", lambda: iter(["texts: 3 kernels", "/kept holds 3"]))
    assert ran(capsys, "warm") == (0, "", "texts: 3 kernels\n/kept holds 3\n")


def test_a_folder_of_kernels_that_cannot_be_written_to_is_a_fault(monkeypatch, capsys, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setattr(compiler.flags, "DISABLE_JIT", 0)
    monkeypatch.setattr(compiler, "FOLDER", tmp_path / "file" / "streamnb")
    ended, said, words = ran(capsys, "warm")
    assert (ended, said) == (1, "") and "set NUMBA_CACHE_DIR to a folder that can be written to" in words


FEW = """
import sys
from streamnb.cli.main import status
assert status(sys.argv[1:]) == 0
heavy = {"sklearn", "pandas", "zarr", "numba", "dask", "scipy"}
print(len(sys.modules), sorted(heavy & set(sys.modules)), file=sys.stderr)
"""


@pytest.mark.process
@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl"])
def test_few_rows_take_little_more_than_numpy_also_of_a_model_with_statistics(ending, tmp_path):
    rng = np.random.default_rng(0)
    days = pd.Timestamp("1969-12-28") + pd.to_timedelta(rng.integers(0, 24 * 900, 200), unit="h")
    frame = pd.DataFrame({"zip": rng.choice(["07", "7", "NA", "é,"], 200), "n": rng.integers(0, 9, 200), "day": days})
    frame["open"], frame["size"] = rng.random(200) < 0.5, np.where(frame["n"] == 3, np.nan, rng.normal(size=200))
    frame.loc[frame["n"] == 4, "zip"] = None
    table = snb.table(frame, np.where(rng.poisson(frame["n"]) > 4, "many", "few"))
    model = snb.SoftmaxRegression(1.0).fit(table)
    model.save(tmp_path / "m.snb")
    model.save(tmp_path / "light.snb", stats=False)
    given, light = tmp_path / f"rows.{ending}", snb.load(tmp_path / "light.snb")
    write = {"csv": lambda rows: rows.to_csv(given, index=False), "parquet": lambda rows: rows.to_parquet(given)}
    write["jsonl"] = lambda rows: rows.to_json(given, orient="records", lines=True, date_format="iso", date_unit="s")
    write[ending](pd.concat([frame] * 6))  # more rows than are few
    expected = light.predict_proba(given)[:200].tolist()
    write[ending](frame)
    ended = python("-c", FEW, "predict", tmp_path / "m.snb", given, "--proba")
    assert ended.returncode == 0, ended.stderr
    n_modules, _, heavy = ended.stderr.partition(" ")
    assert int(n_modules) < 450 and heavy.strip() == "[]"
    assert [[float(share) for share in line.split(",")[1:]] for line in ended.stdout.split()[1:]] == expected


def test_drift_ends_with_a_status_of_its_own(tmp_path, capsys):
    old, new = rows(), rows(seed=1).assign(city="Kyiv").drop(columns="late")
    model = snb.LinearNB().fit(old, "late")
    model.save(tmp_path / "m.snb")
    model.save(tmp_path / "light.snb", stats=False)
    new.to_parquet(tmp_path / "new.parquet")
    old.to_parquet(tmp_path / "old.parquet")
    ended, said, words = ran(capsys, "drift", tmp_path / "m.snb", tmp_path / "new.parquet")
    assert (ended, words) == (3, "") and "1 of 3 columns moved" in said
    ended, said, _ = ran(capsys, "drift", tmp_path / "m.snb", tmp_path / "new.parquet", "--json")
    found = json.loads(said)
    assert ended == 3 and found["moved"] == ["city"]
    assert found["unseen"] == [{"column": "city", "value": "Kyiv", "rows_before": 0, "rows": 400}]
    before = "--before", tmp_path / "new.parquet"
    assert ran(capsys, "drift", tmp_path / "m.snb", tmp_path / "new.parquet", *before)[0] == 0
    assert ran(capsys, "drift", tmp_path / "m.snb", tmp_path / "new.parquet", "--threshold", 1e9)[0] == 0
    assert ran(capsys, "drift", tmp_path / "m.snb", tmp_path / "new.parquet", "--ignore", "city")[0] == 0
    for file, ended, message in (("light.snb", 1, "stats=False"), ("gone.snb", 2, "gone.snb")):
        found = ran(capsys, "drift", tmp_path / file, tmp_path / "new.parquet")
        assert found[0] == ended and message in found[2]
