"""Fitting from the command line gives the models that the library fits."""

import json

import numpy as np
import pandas as pd
import pytest

import streamnb as snb
from streamnb.additive.regressor import LOSSES
from streamnb.cli import fit_commands
from streamnb.selection.score_table import RULES
from tests.support.command_line import LABELS, ran, store, texts


def test_the_model_of_a_store_is_that_of_the_library(tmp_path, capsys):
    path, out = store(tmp_path), tmp_path / "m.snb"
    asked = ["--family", "poisson", "--transform", "sqrt", "--scheme", "ovr"]
    asked += ["--cv", 3, "--seed", 1, "--scoring", "accuracy"]
    ended, said, words = ran(capsys, "fit", path, "--y", "y", *asked, "-o", out)
    assert ended == 0 and not said and "accuracy on held-out rows" in words
    options = {"transform": "sqrt", "scheme": "ovr", "folds": 3, "seed": 1, "scoring": "accuracy"}
    same = snb.LinearNBCV("poisson", snb.L1(scale="score"), **options).fit(str(path), "y")
    assert np.array_equal(snb.load(out).coef_, same.coef_)


def test_curves_of_counts_are_those_of_the_library(tmp_path, capsys):
    rng, out = np.random.default_rng(0), tmp_path / "m.snb"
    frame = pd.DataFrame({"age": rng.uniform(0, 1, 150), "town": rng.choice(["Ulm", "Jena"], 150), "log_years": 0.5})
    frame["claims"] = rng.poisson(np.exp(frame["age"]))
    frame.to_csv(tmp_path / "claims.csv", index=False)
    asked = "--y", "claims", "--offset", "log_years", "--model", "additive-poisson", "--cv", 3
    ended, said, words = ran(capsys, "fit", tmp_path / "claims.csv", *asked, "-o", out)
    assert ended == 0 and not said and "d2 on held-out rows" in words
    same = snb.AdditiveRegressor("poisson", folds=3).fit(tmp_path / "claims.csv", "claims", offset="log_years")
    rows = frame[["age", "town"]]
    assert np.array_equal(snb.load(out).predict(rows), same.predict(rows))
    given = out, tmp_path / "claims.csv", "--offset", "log_years"
    ended, said, _ = ran(capsys, "predict", *given)
    assert ended == 0
    np.testing.assert_allclose([float(line) for line in said.split()[1:]], np.exp(0.5) * same.predict(rows))
    ended, said, _ = ran(capsys, "evaluate", *given, "--y", "claims", "--json")
    errors = same.evaluate(frame, "claims", offset="log_years")
    assert ended == 0 and json.loads(said)["d2"] == pytest.approx(errors.d2)
    asked = "--y", "claims", "--task", "regression", "--offset", "log_years", "--force", "-o"
    ended, said, words = ran(capsys, "search", tmp_path / "claims.csv", *asked, out)
    found = snb.search(tmp_path / "claims.csv", "claims", task="regression", offset="log_years", show=False)
    assert ended == 0 and np.array_equal(snb.load(out).predict(rows), found.best_.predict(rows)), words


@pytest.mark.parametrize(
    ("asked", "kind"),
    [
        (["--penalty", "none"], snb.LinearNB),
        (["--penalty", "l1:score=1"], snb.LinearNB),
        (["--model", "margin", "--cv", 2], snb.MarginClassifierCV),
        (["--no-stats", "--penalty", "l1:score=1"], snb.PortableModel),
    ],
    ids=str,
)
def test_kinds_of_models(asked, kind, tmp_path, capsys):
    ended, _, words = ran(capsys, "fit", store(tmp_path), "--y", "y", *asked, "-o", tmp_path / "m.snb")
    model = snb.load(tmp_path / "m.snb")
    assert ended == 0, words
    assert type(model) is kind and (model.predict(str(tmp_path / "counts.zarr")) == LABELS).mean() > 0.8


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        (["--model", "additive", "--idf"], "--idf is not for --model additive"),
        (["--model", "additive", "--penalty", "l2=1"], "--penalty is not for --model additive"),
        (["--model", "additive", "--rule", "best"], "--rule is not for --model additive"),
        (["--model", "softmax", "--smoothing", 1], "--smoothing is not for --model softmax"),
        (["--penalty", "none", "--cv", 3], "--folds is for choosing, and --penalty none leaves nothing to choose"),
    ],
    ids=str,
)
def test_options_without_effect_are_refused(asked, why, tmp_path, capsys):
    ended, said, words = ran(capsys, "fit", store(tmp_path), "--y", "y", *asked, "-o", tmp_path / "m.snb")
    assert ended == 2 and why in words and not said
    assert not (tmp_path / "m.snb").exists()


def test_the_help_names_rules_that_are_taken():
    (rule,) = (option for option in fit_commands.fit.params if option.name == "rule")
    assert set(rule.help.rstrip(".").split(", ")) < set(RULES)


def test_models_of_several_reads_take_the_options():
    of_rows = {"transform", "normalize", "idf"}
    for kind in fit_commands.at_l2().values():
        assert of_rows <= kind().get_params().keys()
    for name, kind in fit_commands.choosing().items():
        of_classes = of_rows | {"scoring"} if name in fit_commands.READS else set()
        assert {"folds", "seed", "rule"} | of_classes <= kind().get_params().keys()
    assert [*fit_commands.choosing()] == [*fit_commands.READS, *fit_commands.OF_NUMBERS]
    assert [f"additive-{loss}" for loss in LOSSES] == fit_commands.CURVES


def test_an_additive_model_is_chosen_by_the_scoring(tmp_path, capsys):
    path, out = store(tmp_path), tmp_path / "m.snb"
    asked = ["--model", "additive", "--cv", 2, "--scoring", "accuracy", "--seed", 3]
    ended, _, words = ran(capsys, "fit", path, "--y", "y", *asked, "-o", out)
    assert ended == 0 and "accuracy on held-out rows" in words, words
    params = snb.load(out).get_params()
    assert (params["folds"], params["scoring"], params["seed"]) == (2, "accuracy", 3)


def test_texts_have_names_and_make_their_columns_again(tmp_path, capsys):
    path, out = texts(tmp_path), tmp_path / "m.snb"
    asked = ["--text", "body", "--y", "section", "--words", "1-2", "--n-features", 1024, "--penalty", "none"]
    assert ran(capsys, "fit", path, *asked, "-o", out)[0] == 0
    assert ran(capsys, "predict", out, path)[1].split()[1:] == LABELS.tolist()
    assert 'body: "gem' in ran(capsys, "inspect", out, "--class", "ruby")[1]


def test_texts_stand_beside_other_columns(tmp_path, capsys):
    path, out, rng = tmp_path / "rows.csv", tmp_path / "m.snb", np.random.default_rng(0)
    frame = pd.DataFrame({"note": rng.choice(["red wine", "calm sea"], 60), "age": rng.normal(size=60), "no": 1.5})
    frame.assign(y=np.where(frame["age"] > 0.0, "old", "young")).to_csv(path, index=False)
    asked = "--y", "y", "--text", "note", "--words", "1-2", "--columns", "age"
    assert ran(capsys, "fit", path, *asked, "--penalty", "none", "-o", out)[0] == 0
    rows = snb.table(str(path), "y", columns=["age", "note"], text={"note": {"words": (1, 2)}})
    np.testing.assert_array_equal(snb.load(out).coef_, snb.LinearNB().fit(rows).coef_)
    assert f"{rows.n_features:,} columns" in ran(capsys, "schema", path, *asked, "-o", tmp_path / "s.snb")[2]
    ended, _, words = ran(capsys, "schema", path, *asked, "--vocabulary", 9, "-o", tmp_path / "t.snb")
    assert ended and "--vocabulary is of texts alone" in words


def test_a_search_prints_its_table_and_saves_the_best(tmp_path, capsys):
    path, out = store(tmp_path), tmp_path / "m.snb"
    asked = ["--family", "poisson", "--transform", "none", "--transform", "sqrt", "--folds", 3, "--scoring", "accuracy"]
    ended, said, words = ran(capsys, "search", path, "--y", "y", *asked, "--budget", "10m", "-o", out)
    assert ended == 0, words
    options = {"families": ["poisson"], "transforms": [None, "sqrt"], "folds": 3, "scoring": ["accuracy"]}
    same = snb.search(str(path), "y", **options, show=False)
    assert np.array_equal(snb.load(out).coef_, same.best_.coef_) and "sqrt" in said


def test_a_search_takes_the_class_that_metrics_are_of(tmp_path, capsys):
    path, rng = tmp_path / "rows.csv", np.random.default_rng(0)
    frame = pd.DataFrame(rng.poisson(1.0, (90, 4)), columns=[*"abcd"])
    late = np.where(frame["a"] + rng.poisson(1.0, 90) > 2, "no", "yes")
    frame.assign(town=rng.choice(["Ulm", "Jena"], 90), y=late).to_csv(path, index=False)
    asked = "search", path, "--y", "y", "--family", "poisson", "--folds", 3, "--scoring", "recall", "-o"
    ended, said, words = ran(capsys, *asked, tmp_path / "m.snb", "--positive", "no")
    assert ended == 0 and "recall of no" in said, words
    ended, _, words = ran(capsys, *asked, tmp_path / "n.snb", "--positive", "perhaps")
    assert ended and "--positive 'perhaps' should be one of ['no', 'yes']" in words
