"""Several models on the same rows: any rows, one read, the same bits however they are cut; tables, and intervals."""

import dask.array as da
import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

import streamnb as snb
from streamnb.passes.contract import Report
from streamnb.searching.comparing_models import Difference
from tests.support.refusals import refuses

mpl.use("Agg")

rng = np.random.default_rng(0)
N = 240
Y = rng.choice(["ash", "beech", "oak"], N)
X = rng.poisson(0.5 + 1.5 * (np.unique(Y, return_inverse=True)[1][:, None] == np.arange(5) % 3)).astype(float)
MODELS = {
    "plain": snb.LinearNB("poisson").fit(X[::2], Y[::2]),
    "bins": snb.LinearNB("bernoulli", transform=snb.Bins(3)).fit(X[::2], Y[::2]),
    "normal": snb.LinearNB("gaussian").fit(X[::2], Y[::2]),
}
TWO = snb.LinearNB().fit(X, Y == "oak")
WEIGHT = rng.choice([1.0, 2.0], N)


def numbers(compared):
    return compared.differences.drop(columns=["model", "versus", "metric"]).to_numpy()


def test_evaluations_are_those_of_each_model_alone():
    compared = snb.compare_models(MODELS, X, Y, sample_weight=WEIGHT, baseline="bins")
    assert list(compared.evaluations) == ["bins", "plain", "normal"] and compared.baseline == "bins"
    for name, model in MODELS.items():
        assert compared.evaluations[name].summary() == model.evaluate(X, Y, WEIGHT, interval=0.95).summary()
    frame = compared.differences
    assert list(frame) == ["model", "versus", "metric", "difference", "low", "high", "p_value", "p_adjusted"]
    assert frame["model"].tolist() == ["plain"] * 4 + ["normal"] * 4 and set(frame["versus"]) == {"bins"}
    for _, row in frame.iterrows():
        values = [getattr(compared.evaluations[name], row.metric)() for name in (row.model, "bins")]
        assert row.difference == pytest.approx(values[0] - values[1], abs=1e-12)
        assert row.low <= row.difference <= row.high and row.p_value <= row.p_adjusted
    repeated = [np.repeat(rows, WEIGHT.astype(int), axis=0) for rows in (X, Y)]
    np.testing.assert_allclose(numbers(snb.compare_models(MODELS, *repeated, baseline="bins")), numbers(compared))


def test_the_same_bits_from_rows_of_any_kind(tmp_path):
    expected = numbers(snb.compare_models(MODELS, X, Y))
    snb.write_csr(tmp_path / "x.zarr", [(sp.csr_array(X), Y)], n_features=5)
    chunks = ((X[part], Y[part]) for part in (slice(0, 7), slice(7, 100), slice(100, N)))
    for rows in ((da.from_array(X, chunks=(50, 5)), Y), (sp.csr_array(X), Y), (tmp_path / "x.zarr", "y"), (chunks,)):
        np.testing.assert_array_equal(numbers(snb.compare_models(MODELS, *rows, n_threads=2)), expected)
    swapped = snb.compare_models({"normal": MODELS["normal"], "plain": MODELS["plain"]}, X, Y).differences
    forth = snb.compare_models(MODELS, X, Y).differences.query("model == 'normal'")
    for here, there in (("difference", "difference"), ("low", "high"), ("p_value", "p_value")):
        np.testing.assert_allclose(swapped[here].abs().to_numpy(), forth[there].abs().to_numpy(), rtol=1e-12)


def test_fractional_weights_count_as_rows_that_tell_as_much():
    alone, half = snb.compare_models(MODELS, X, Y), snb.compare_models(MODELS, X, Y, sample_weight=np.full(N, 0.5))
    np.testing.assert_allclose(numbers(half), numbers(alone), rtol=1e-9, atol=1e-12)
    assert "fractional weights" in repr(half)


def test_a_model_is_no_different_from_itself():
    frame = snb.compare_models([MODELS["plain"], MODELS["plain"]], X, Y).differences
    assert {*frame["versus"]} == {"1 LinearNB"} and {*frame["model"]} == {"2 LinearNB"}
    assert (frame["difference"] == 0.0).all() and (frame["p_value"] == 1.0).all() and (frame["low"] <= 0.0).all()


def test_models_without_probabilities_and_of_other_packages():
    margins = snb.MarginClassifier().fit(X[::2], Y[::2])
    logistic = LogisticRegression(C=0.1).fit(X[::2], Y[::2])
    compared = snb.compare_models({"plain": MODELS["plain"], "margins": margins, "logistic": logistic}, X, Y)
    assert compared.differences.query("model == 'margins'")["metric"].tolist() == ["accuracy", "roc_auc"]
    said = {"proba": logistic.predict_proba(X), "scores": logistic.decision_function(X)}
    own = snb.evaluate(Y, logistic.predict(X), **said, interval=0.95)
    assert compared.evaluations["logistic"].summary() == own.summary()
    linear = {name: snb.solve(snb.scan(X[::2], Y[::2]), name)[0] for name in ("poisson", "multinomial")}
    assert len(snb.compare_models(linear, X, Y, metrics="accuracy").differences) == 1
    with pytest.raises(ValueError, match="no model has any of these that the baseline 'margins' has"):
        snb.compare_models({"margins": margins, "plain": MODELS["plain"]}, X, Y, metrics=["brier", "log_loss"])


def test_sets_of_labels():
    labels = (X[:, :3] + rng.poisson(0.5, (N, 3)) > 1.0).astype(int)
    models = {name: snb.LinearNB(name).fit(X, labels) for name in ("poisson", "bernoulli")}
    compared = snb.compare_models(models, X, labels)
    evaluations = [model.evaluate(X, labels) for model in models.values()]
    for metric, found in zip(("accuracy", "log_loss", "brier", "roc_auc"), compared.differences["difference"]):
        assert found == pytest.approx(getattr(evaluations[1], metric)() - getattr(evaluations[0], metric)())
    with pytest.raises(ValueError, match="y is one label a row; the model was fitted with an indicator of labels"):
        snb.compare_models(models, X, Y)
    with pytest.raises(ValueError, match=r"models\['poisson'\] predicts sets of labels and models\['plain'\] one"):
        snb.compare_models({**models, **MODELS}, X, labels)


def test_raw_rows_of_which_models_make_other_columns(tmp_path):
    texts = [
        f"{'red' if label == 'oak' else 'green'} {word}"
        for label, word in zip(Y, rng.choice(["one", "two", "three"], N))
    ]
    made = {"words": {}, "letters": {"chars": (2, 3), "words": None}}
    models = {name: snb.LinearNB("multinomial").fit(snb.text(texts, y=Y, **how)) for name, how in made.items()}
    compared = snb.compare_models(models, texts, Y)
    frame = pd.DataFrame(X, columns=list("abcde")).assign(tree=Y, kind=rng.choice(["x", "y"], N))
    frame.to_parquet(tmp_path / "rows.parquet")
    of_table = {
        "all": snb.LinearNB("auto").fit(tmp_path / "rows.parquet", y="tree"),
        "few": snb.LinearNB("auto").fit(frame[["a", "kind", "tree"]], y="tree"),
    }
    beside = snb.compare_models(of_table, tmp_path / "rows.parquet", "tree")
    for found, rows, given in ((compared, (texts, Y), models), (beside, (frame, "tree"), of_table)):
        for name, model in given.items():
            assert found.evaluations[name].summary() == model.evaluate(*rows, interval=0.95).summary()
    with pytest.raises(ValueError, match=r"models\['plain'\] was fitted on numbers, and X holds texts or a table"):
        snb.compare_models({**models, **MODELS}, texts, Y)
    with pytest.raises(ValueError, match=r"models\['plain'\] was fitted on numbers"):
        snb.compare_models({**of_table, **MODELS}, frame, "tree")


def test_areas_of_many_rows_come_from_histograms_and_a_sample():
    truth = rng.integers(0, 2, 30_000)
    rows = rng.normal(size=(len(truth), 3)) + truth[:, None] * [1.0, 0.8, 0.2]
    models = {name: snb.LinearNB("gaussian").fit(rows[:300] * kept, truth[:300])
              for name, kept in (("all", [1, 1, 1]), ("first", [1, 0, 0]))}  # fmt: skip
    compared = snb.compare_models(models, rows, truth, metrics="roc_auc")
    assert "standard errors are from a sample of 10,0" in repr(compared)
    found = compared.differences.iloc[0]
    some = snb.compare_models(models, rows[:10_000], truth[:10_000], metrics="roc_auc").differences.iloc[0]
    bound = sum(one.roc_auc_error for one in compared.evaluations.values())
    assert 0.0 < bound < 1e-3
    wide = (found.high - found.low - 2.0 * bound) / (some.high - some.low)
    assert wide == pytest.approx(3.0**-0.5, rel=0.05)


@pytest.mark.parametrize(
    ("models", "options", "error", "words"),
    [
        ({}, {}, ValueError, "models has no model; a comparison takes two or more"),
        ({"plain": MODELS["plain"]}, {}, ValueError, "models has 1 model; a comparison takes two or more"),
        (MODELS["plain"], {}, TypeError, "models is of type LinearNB; it should be a list or dict"),
        ([MODELS["plain"], snb.Ridge()], {}, TypeError, r"models\['2 Ridge'\].*; of regressions, use evaluate"),
        ({**MODELS, 1: MODELS["plain"]}, {}, TypeError, "models has the key 1; names of models should be strings"),
        ({**MODELS, "raw": snb.LinearNB()}, {}, NotFittedError, r"models\['raw'\]: This LinearNB"),
        ({**MODELS, "class": snb.LinearNB}, {}, TypeError, r"models\['class'\] is the class LinearNB"),
        ({**MODELS, "no": "model"}, {}, TypeError, r"models\['no'\]='model' should be a fitted classifier"),
        ({**MODELS, "two": TWO}, {}, ValueError, "have different classes: False is one of 'two'"),
        (MODELS, {"baseline": "best"}, ValueError, "baseline='best'"),
        (MODELS, {"metrics": "auc"}, ValueError, "metrics='auc'"),
        (MODELS, {"metrics": []}, ValueError, "metrics is empty; name at least one of 'accuracy'"),
        (MODELS, {"metrics": None}, TypeError, "metrics=None should be names out of 'accuracy'"),
        (MODELS, {"interval": 95}, ValueError, "interval=95 should be"),
        (MODELS, {"interval": None}, ValueError, "interval=None should be between 0 and 1"),
        (MODELS, {"groups": np.zeros(N, int)}, ValueError, "groups has one group"),
        (MODELS, {"groups": Y[:-1]}, ValueError, "groups should have one entry for each row"),
    ],
)  # fmt: skip
def test_wrong_use_is_refused_with_words(models, options, error, words):
    refuses(error, words, lambda: snb.compare_models(models, X, Y, **options))


def test_rows_of_labels_that_no_model_knows_are_left_out():
    strange = np.where(np.arange(N) < 20, "palm", Y)
    with pytest.warns(snb.StreamnbWarning, match=f"20 of {N} rows have labels that the model does not know"):
        found = snb.compare_models(MODELS, X, strange, metrics=["accuracy", "brier"])
    assert repr(found) == repr(snb.compare_models(MODELS, X[20:], Y[20:], metrics=["accuracy", "brier"]))


def test_data_frames_of_numbers_with_labels_and_groups():
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    models = {name: snb.LinearNB("gaussian").fit(frame[:n], Y[:n]) for name, n in (("many", N), ("few", N // 2))}
    patients = np.arange(N) % 40
    named = snb.compare_models(models, frame.assign(kind=Y, patient=patients), "kind", groups="patient")
    apart = snb.compare_models(models, frame, Y, groups=patients)
    assert repr(named) == repr(apart)
    with pytest.raises(ValueError, match="'ward' is not a column of X"):
        snb.compare_models(models, frame.assign(kind=Y), "kind", groups="ward")


def test_rows_without_weight_have_no_differences():
    models = {name: MODELS[name] for name in ("plain", "normal")}
    found = snb.compare_models(models, X, Y, sample_weight=np.zeros(N))
    assert found.differences["difference"].isna().all() and "+nan" not in repr(found)


def test_rows_of_groups_are_not_independent():
    patients = np.arange(N) % 30
    models = {name: MODELS[name] for name in ("plain", "normal")}
    one = snb.compare_models(models, X, Y, groups=patients)
    assert "95 % intervals of 29 groups" in repr(one)  # two are hashed alike
    each = models["plain"].evaluate(X, Y, interval=0.95, groups=patients)
    assert one.evaluations["plain"].summary() == each.summary()
    twice = snb.compare_models(models, np.repeat(X, 2, 0), np.repeat(Y, 2), groups=np.repeat(patients, 2))
    same = [name for name in one.differences if name not in ("model", "versus", "metric")]
    of_means = one.differences["metric"] != "roc_auc"
    np.testing.assert_allclose(twice.differences[same][of_means], one.differences[same][of_means], rtol=1e-9)
    alone = snb.compare_models(models, X, Y)
    assert not np.allclose(alone.differences["low"], one.differences["low"])
    cut = da.from_array(X, chunks=(50, 5)), Y
    np.testing.assert_array_equal(numbers(snb.compare_models(models, *cut, groups=patients)), numbers(one))


# ---- the table and the picture ---------------------------------------------------------------------------------------

FOUND = [
    ("b", "accuracy", Difference(0.02, 0.01, 0.03, 0.01)),
    ("b", "brier", Difference(-0.1, -0.3, 0.1, 0.4)),
    ("c", "accuracy", Difference(0.2, 0.1, 0.3, 1e-9)),
]


def made(found=FOUND, notes=()):
    evaluation = snb.evaluate([0, 1, 1], [0, 1, 0], interval=0.95)
    return snb.ModelComparison(dict.fromkeys("abc", evaluation), found, Report(), list(notes))


def test_it_prints_as_a_table_that_says_how_p_values_are_corrected():
    assert repr(made(notes=["a note"])).splitlines() == [
        "Differences from 'a' on the same 3 rows, 95 % intervals of independent rows",
        "             difference      low     high  p (Holm)",
        "b: accuracy     +0.0200  +0.0100  +0.0300    0.0200",
        "b: brier        -0.1000  -0.3000  +0.1000    0.4000",
        "c: accuracy     +0.2000  +0.1000  +0.3000   < .0001",
        "Lower is better: brier.",
        "a note",
        "P-values are corrected for 3 comparisons (Holm); each interval stands alone.",
    ]
    assert "Holm" not in repr(made(FOUND[:1])) and "Lower" not in repr(made(FOUND[:1]))
    html = made()._repr_html_()
    assert "<caption>Differences from &#x27;a&#x27;" in html and "<td>+0.2000</td>" in html and "(Holm)" in html


def test_the_frame_and_the_picture_have_the_same_numbers():
    frame = made().differences
    assert frame["p_adjusted"].tolist() == pytest.approx([0.02, 0.4, 3e-9])
    shown = made().plot()
    assert shown.points_.get_xdata().tolist() == [0.02, 0.2] and shown.names == ["b", "c"]
    assert made().plot("brier").value.tolist() == [-0.1]
    refuses(ValueError, "metric='log_loss'", lambda: made().plot("log_loss"))
