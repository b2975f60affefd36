"""How good it is: the command measures real rows in processes, goes on where it stopped, and pages have its tables."""

import json
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits, load_wine
from sklearn.metrics import accuracy_score, log_loss, roc_auc_score
from sklearn.naive_bayes import MultinomialNB

from benchmarks.how_good import __main__ as command
from benchmarks.how_good import measuring, pages
from benchmarks.how_good.results import KEPT, Results
from benchmarks.how_good.sets import DENSE, SPARSE, TABLE, read

SETS = {
    "digits": {"what": "digits", "fetch": "scikit-learn, `load_digits`"},
    "wine": {"what": "wines", "fetch": "scikit-learn, `load_wine`", "label": "cultivar"},
    "words": {"what": "grey levels as counts", "fetch": "scikit-learn, `load_digits`"},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("sets")
    (path / "sets.json").write_text(json.dumps(SETS))
    X, y = load_digits(return_X_y=True)
    held_out = np.arange(len(y)) % 5 == 0
    np.savez(path / "digits.npz", X=X.astype(np.uint8), y=y, held_out=held_out)
    rows = sp.csr_matrix(X.astype(np.int32))
    arrays = {"data": rows.data, "indices": rows.indices, "indptr": rows.indptr, "shape": rows.shape}
    np.savez(path / "words.npz", **arrays, y=y, held_out=held_out)
    table = load_wine(as_frame=True).frame
    table["hue"] = np.where(table["hue"] > 1.0, "blue", "red")
    table["held_out"] = np.arange(len(table)) % 4 == 0
    table.rename(columns={"target": "cultivar"}).to_parquet(path / "wine.parquet")
    return path


@pytest.mark.parametrize("page", command.PAGES, ids=lambda page: page.name)
def test_tables_are_those_of_the_results(page):
    text = page.read_text()
    assert pages.filled(text, Results.read(KEPT)) == text, "make it anew: python -m benchmarks.how_good --page"
    assert "<!-- table: " in text and "| `search` |" in text


def test_rows_held_out_take_no_part_and_columns_of_theirs_alone_are_left_out(folder):
    kinds = {name: read(folder, name) for name in SETS}
    assert [rows.kind for rows in kinds.values()] == [DENSE, TABLE, SPARSE]
    assert [*map(len, (kinds["wine"].y, kinds["wine"].y_new))] == [133, 45] and "held_out" not in kinds["wine"].X
    assert kinds["words"].X.getnnz(axis=0).all() and kinds["words"].X.shape[1] == kinds["words"].X_new.shape[1] < 64
    few = read(folder, "digits", 100)
    assert len(few.y) <= 100 and len(few.y_new) <= 25 and {*few.y_new} <= {*few.y}


def test_metrics_are_those_of_scikit_learn(folder):
    X, y, X_new, y_new = read(folder, "digits")
    model = MultinomialNB().fit(X, y)
    proba = model.predict_proba(X_new)
    scores = measuring.log_odds(model, X_new, proba)
    found = measuring.judged(y_new, model.predict(X_new), proba, scores, model.classes_)
    assert found["accuracy"] == pytest.approx(accuracy_score(y_new, model.predict(X_new)))
    assert found["log_loss"] == pytest.approx(log_loss(y_new, np.clip(proba, 2.0**-52, 1.0 - 2.0**-52)))
    areas = [roc_auc_score(y_new == label, scores[:, k]) for k, label in enumerate(model.classes_)]
    assert found["roc_auc"] == pytest.approx(np.mean(areas)) and 0.0 < found["calibration_error"] < 0.2


@pytest.mark.slow
@pytest.mark.benchmark
@pytest.mark.process
def test_the_command_measures_what_is_missing_and_tells_of_what_fails(folder, tmp_path, capsys):
    kept, page = tmp_path / "results.json", tmp_path / "page.md"
    page.write_text("\n".join(f"<!-- table: {name} -->\n<!-- end -->" for name in ("means", DENSE, TABLE)))
    given = [str(folder), "--results", str(kept), "--out", str(page), "--sets", "digits", "wine", "--tools"]
    command.main([*given, "LinearNB", "LogisticRegression"])
    first = Results.read(kept)
    for of_set in first.found.values():
        assert [*of_set] == ["LinearNB", "LogisticRegression"]
        for one in of_set.values():
            assert 0.85 < one["accuracy"] <= 1.0 and 0.95 < one["roc_auc"] <= 1.0 and one["log_loss"] > 0.0
            assert one["seconds"] > 0.0 and 50.0 < one["memory"] < 4000.0 and one["version"]
    assert "| dense numbers, 1 sets | `LinearNB` | ." in page.read_text() and "| wine | " in page.read_text()
    first.found["digits"]["LinearNB"]["accuracy"] = 0.125
    first.write(kept)
    command.main([*given, "LinearNB", "GaussianNB"])  # digits alone: the other has categories
    second = Results.read(kept)
    assert second.found["digits"]["LinearNB"]["accuracy"] == 0.125 and "GaussianNB" not in second.found["wine"]
    assert "| .125 |" in page.read_text() and "digits GaussianNB accuracy ." in capsys.readouterr().out
    command.main([*given, "LinearNB", "--again"])
    assert Results.read(kept).found["digits"]["LinearNB"]["accuracy"] > 0.85
    command.main([*given, "LogisticRegression", "--again", "--limit", "0"])
    assert "LogisticRegression on wine: took more than 0 minutes." in page.read_text()
    with pytest.raises(SystemExit, match="name another file"):
        command.main([*given, "LinearNB", "--rows", "50"])


@pytest.mark.slow
@pytest.mark.benchmark
@pytest.mark.process
def test_an_error_is_kept_and_others_go_on(tmp_path):
    (tmp_path / "sets.json").write_text(json.dumps({"gaps": {}}))
    X = np.where(np.arange(60).reshape(30, 2) == 7, np.nan, 1.0)
    np.savez(tmp_path / "gaps.npz", X=X, y=np.arange(30) % 2, held_out=np.arange(30) > 20)
    found = measuring.in_a_process(Path(tmp_path), "gaps", "GaussianNB", None, 600.0)
    assert found["failed"].startswith("ValueError: Input X contains NaN")
