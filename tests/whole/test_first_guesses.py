"""First guesses of somebody who knows scikit-learn and pandas: each works, or an error says what to type.

The first are what scikit-learn's page "Getting Started" does, with estimators of ours; the others are of tables.
"""

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.compose import TransformedTargetRegressor, make_column_transformer
from sklearn.datasets import load_breast_cancer
from sklearn.inspection import permutation_importance
from sklearn.metrics import ConfusionMatrixDisplay, RocCurveDisplay, precision_score, recall_score, roc_auc_score
from sklearn.model_selection import RandomizedSearchCV, TunedThresholdClassifierCV, cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MultiLabelBinarizer, OneHotEncoder, StandardScaler

import streamnb as snb
from tests.support.refusals import refuses

X, Y = load_breast_cancer(return_X_y=True, as_frame=True)
WHO = Y.map({0: "malignant", 1: "benign"}).rename("who")
X_TRAIN, X_TEST, Y_TRAIN, Y_TEST = train_test_split(X, WHO, random_state=0)


@pytest.fixture(scope="module")
def model():
    return snb.SoftmaxRegression(standardize=True).fit(X_TRAIN, Y_TRAIN)


def test_search_of_parameters():
    options = {"param_distributions": {"l2": [0.1, 1.0, 10.0]}, "n_iter": 2, "random_state": 0, "cv": 2}
    search = RandomizedSearchCV(snb.SoftmaxRegression(standardize=True), **options).fit(X_TRAIN, Y_TRAIN)
    assert search.best_params_["l2"] in (0.1, 1.0, 10.0) and search.score(X_TEST, Y_TEST) > 0.95


def test_a_data_frame_with_strings_and_the_name_of_a_column():
    frame = X.assign(town=["Jena", "Ulm", None] * 189 + ["Jena", "Ulm"], who=WHO)
    assert snb.SoftmaxRegression().fit(frame, "who").score(frame, "who") > 0.95


# ---- tables: sixteen more, on flights that are late ------------------------------------------------------------------


def flights():
    random = np.random.default_rng(0)
    rows = pd.DataFrame({"miles": random.integers(100, 3000, N_FLIGHTS), "hour": random.integers(5, 24, N_FLIGHTS)})
    rows["carrier"] = random.choice(["UA", "DL", "WN"], N_FLIGHTS)
    rows["day"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(random.integers(0, 90, N_FLIGHTS), "D")
    how_late = rows["hour"] / 6 - 2.5 + 1.5 * (rows["carrier"] == "WN") + random.normal(size=N_FLIGHTS) / 2
    return rows.assign(late=np.where(how_late > 0, "yes", "no"), minutes=np.exp(how_late))


N_FLIGHTS = 600
FLIGHTS = flights()
LATE = FLIGHTS.drop(columns="minutes")
ROWS, LABELS = LATE.drop(columns="late"), LATE["late"]


@pytest.fixture(scope="module")
def of_flights():
    return snb.SoftmaxRegression().fit(LATE, "late")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("flights")
    for week in range(4):
        LATE[week * 150 : (week + 1) * 150].to_parquet(folder / f"{week}.parquet")
    return folder


def test_polars_with_dates_in_another_order_of_columns(of_flights):
    frame = pl.from_pandas(LATE)
    model = snb.SoftmaxRegression().fit(frame, "late")
    np.testing.assert_array_equal(model.predict(frame[::1, ::-1]), of_flights.predict(ROWS))
    assert model.score(frame[:, ::-1], "late") == of_flights.score(ROWS, LABELS) > 0.85


def test_a_relation_and_a_reader_of_duckdb(of_flights):
    connection = duckdb.connect()
    connection.register("flights", pa.table(LATE))
    relation = connection.sql("select * from flights")
    for rows in (lambda: relation, lambda: relation.arrow()):
        np.testing.assert_array_equal(snb.SoftmaxRegression().fit(rows(), "late").coef_, of_flights.coef_)
    with pytest.raises(ValueError, match=r"X is of type DuckDBPyConnection; sql\(\.\.\) of a connection is a table"):
        snb.SoftmaxRegression().fit(connection.execute("select * from flights"), "late")


@pytest.mark.parametrize("of_package", [lambda table: table, pl.from_pandas], ids=["pandas", "Polars"])
def test_cross_val_score_of_a_table_with_strings_and_dates(of_package):
    found = cross_val_score(snb.SoftmaxRegression(), of_package(ROWS), of_package(LABELS), cv=3, scoring="roc_auc")
    assert (found > 0.9).all()


def test_column_transformer():
    codes = make_column_transformer((StandardScaler(), ["miles", "hour"]), (OneHotEncoder(), ["carrier"]))
    of_ours = make_column_transformer((snb.Bins(8), ["miles", "hour"]), (snb.CategoryCounters(), ["carrier"]))
    for columns in (codes, of_ours):
        assert make_pipeline(columns, snb.SoftmaxRegression()).fit(ROWS, LABELS).score(ROWS, LABELS) > 0.85


def test_weights_are_an_array_or_a_column():
    copies = np.arange(N_FLIGHTS) % 3
    expected = snb.LinearNB("auto").fit(ROWS, LABELS, sample_weight=copies).predict_proba(ROWS)
    for rows in (LATE.assign(copies=copies), pl.from_pandas(LATE.assign(copies=copies))):
        weighted = snb.LinearNB("auto").fit(rows, "late", sample_weight="copies")
        np.testing.assert_array_equal(weighted.predict_proba(ROWS), expected)
    for keyword in ("weight", "weights"):
        refuses(TypeError, f"'{keyword}': use sample_weight=", snb.LinearNB().fit, ROWS, LABELS, **{keyword: copies})


def test_a_split_of_a_folder(folder):
    train, test = train_test_split(sorted(map(str, folder.glob("*.parquet"))), test_size=0.25, random_state=0)
    assert snb.SoftmaxRegression().fit(train, "late").evaluate(test, "late").accuracy() > 0.8
    train, test = snb.train_test_split(folder, test_size=0.25)
    assert snb.SoftmaxRegression().fit(train, "late").evaluate(test, "late").accuracy() > 0.8
    refuses(AttributeError, r"use snb.train_test_split\(X, y, test_size=0.2\), of rows of any kind", lambda: snb.split)
    with pytest.raises(TypeError, match=r"'test_size': use snb.train_test_split\(X, y, test_size=0.2\)"):
        snb.SoftmaxRegression().fit(folder, "late", test_size=0.2)
    refuses(TypeError, "'random_state': use seed=", lambda: snb.train_test_split(folder, random_state=0))


@pytest.mark.parametrize("name", ["profile", "summary"])
def test_a_first_look(name):
    with pytest.raises(AttributeError, match=r"use snb.describe\(X, y\); snb.search\(X, y\).report\(path\) is a page"):
        getattr(snb, name)(LATE)
    assert snb.describe(LATE, "late").n_rows == len(LATE)


def test_continuing_next_week():
    model = snb.LinearNB("auto").fit(LATE[:300], "late").partial_fit(LATE[300:], "late")
    assert model.score(LATE, "late") > 0.85 and model.stats_.n_rows == N_FLIGHTS
    with pytest.raises(AttributeError, match=r"has no 'partial_fit'.*; LinearNB learns from rows as they come"):
        snb.SoftmaxRegression().partial_fit(LATE, "late")


def test_save_load_and_one_record(of_flights, tmp_path):
    of_flights.save(tmp_path / "late.snb")
    loaded = snb.load(tmp_path / "late.snb")
    flight = {"carrier": "WN", "hour": 22, "day": "2024-01-03", "miles": 500}
    assert loaded.predict(flight).tolist() == loaded.predict([flight]).tolist() == ["yes"]
    assert loaded.predict(ROWS.iloc[0]).tolist() == loaded.predict(ROWS[:1]).tolist()
    with pytest.warns(snb.StreamnbWarning, match="X has no 'carrier', which counts as missing .*, but 'carier'"):
        loaded.predict({**dict.fromkeys(["id", "late"], 1), "carier": "WN", "hour": 22})
    with pytest.raises(ValueError, match=r"X has 4 features, but .* a table, as a data frame, dicts or a file"):
        loaded.predict([[500, 22, "WN", "2024-01-03"]])
    refuses(AttributeError, r"use snb.load\(path\)", lambda: of_flights.load(tmp_path / "late.snb"))


def test_a_picture_of_the_importance_of_columns(of_flights):
    told = permutation_importance(of_flights, ROWS, LABELS, n_repeats=2, random_state=0).importances_mean
    assert {*ROWS.columns[np.argsort(told)[2:]]} == {"hour", "carrier"}
    for guess in ("plot", "plot_importance"):
        with pytest.raises(AttributeError, match=r"use snb.TellingFeaturesDisplay.from_estimator\(model\)"):
            getattr(of_flights, guess)()
    refuses(AttributeError, "use explain", lambda: of_flights.shap_values(ROWS))
    refuses(AttributeError, r"no attribute 'fit': use snb.search\(X, y\)", lambda: snb.fit(LATE, "late"))
    with pytest.raises(TypeError, match=r"of a search: snb.search\(X, y\).report\(path\)"):
        snb.report("late.parquet", "late", None, "page.html")
    assert snb.TellingFeaturesDisplay.from_estimator(of_flights).ax_ is not None


def test_pictures_of_the_confusion_matrix_and_of_the_roc_curve(of_flights):
    for display in (ConfusionMatrixDisplay, RocCurveDisplay):
        display.from_estimator(of_flights, ROWS, LABELS)
    ours = snb.ConfusionMatrixDisplay.from_estimator(of_flights, LATE, "late")
    snb.RocDisplay.from_estimator(of_flights, pl.from_pandas(LATE), "late")
    assert ours is not None
    for name in ("RocCurveDisplay", "plot_roc_curve", "plot_confusion_matrix"):
        refuses(AttributeError, f"no attribute '{name}': use snb\\.\\w+Display.from_estimator", getattr, snb, name)


def test_a_threshold_of_precision_090():
    model = snb.SoftmaxRegression().fit(LATE, "late")
    model.set_threshold(model.evaluate(LATE, "late").threshold("yes", precision=0.9))
    assert precision_score(LABELS, model.predict(ROWS), pos_label="yes") >= 0.9
    tuned = TunedThresholdClassifierCV(snb.SoftmaxRegression(), scoring="balanced_accuracy", cv=2).fit(ROWS, LABELS)
    assert tuned.score(ROWS, LABELS) > 0.85


SEVERAL = [["a", "b"] if row % 3 else ["b"] for row in range(N_FLIGHTS)]


@pytest.mark.parametrize(
    ("rows", "labels"),
    [
        (ROWS, SEVERAL),
        (ROWS, [labels * (3 - len(labels)) for labels in SEVERAL]),
        (ROWS, pd.Series(SEVERAL)),
        (ROWS, list(map(set, SEVERAL))),
        (ROWS.assign(tags=SEVERAL), "tags"),
        (pl.from_pandas(ROWS).with_columns(tags=pl.Series(SEVERAL)), "tags"),
    ],
)
@pytest.mark.parametrize("fit", [snb.SoftmaxRegression().fit, snb.search])
def test_lists_of_labels(fit, rows, labels):
    refuses(ValueError, r"holds a list of labels for each row; .*MultiLabelBinarizer\(\)", lambda: fit(rows, labels))


def test_lists_of_labels_as_it_is_said():
    indicator = MultiLabelBinarizer().fit_transform(SEVERAL)
    assert snb.SoftmaxRegression().fit(ROWS, indicator).predict(ROWS).shape == indicator.shape


def test_a_thousandth_of_positive_rows():
    random = np.random.default_rng(1)
    y = np.arange(20_000) % 1000 == 7
    rows = pd.DataFrame({"a": random.normal(size=len(y)) + 3 * y, "b": random.choice(["u", "v"], len(y))})
    model = snb.SoftmaxRegression().fit(rows, y)
    judged, chances = model.evaluate(rows, y), model.predict_proba(rows)[:, 1]
    assert chances.sum() == pytest.approx(y.sum(), rel=0.25)
    assert judged.roc_auc() == pytest.approx(roc_auc_score(y, chances), abs=0.002) and judged.roc_auc() > 0.95
    assert recall_score(y, chances >= np.quantile(chances, 0.9)) > 0.7
    assert cross_val_score(snb.SoftmaxRegression(), rows, y, cv=2, scoring="roc_auc").min() > 0.9


def test_text_beside_numbers():
    notes = np.where(LABELS == "yes", "queue at the gate", "boarding done")
    rows = LATE[["hour", "late"]].assign(note=[f"{note}, seat {row}" for row, note in enumerate(notes)])
    with pytest.warns(snb.StreamnbWarning, match=r"are texts.* X=snb.table\(.., text=\['note'\]"):
        snb.SoftmaxRegression().fit(rows, "late")
    with pytest.raises(TypeError, match=r"'text': use X=snb.table\(X, y, text=\['name of the column'\]\), without y"):
        snb.SoftmaxRegression().fit(rows, "late", text="note")
    told = snb.SoftmaxRegression().fit(snb.table(rows[:400], "late", text=["note"]))
    assert told.score(rows[400:], "late") == 1.0


def test_a_skewed_target_with_intervals():
    X, y = ROWS[["hour", "carrier"]], FLIGHTS["minutes"]
    model = TransformedTargetRegressor(snb.Ridge(), func=np.log, inverse_func=np.exp).fit(X[:300], y[:300])
    with pytest.raises(AttributeError, match=r"use model.predict\(X, interval=0.9\), after model.calibrate"):
        model.regressor_.predict_interval(X)
    with pytest.raises(TypeError, match=r"'return_std': use model.predict\(X, interval=0.9\).*TransformedTarget"):
        model.regressor_.predict(X, return_std=True)
    logs = model.regressor_.calibrate(X[300:450], np.log(y[300:450])).predict(X, interval=0.9)
    inside = (np.exp(logs[:, 1]) <= y) & (y <= np.exp(logs[:, 2]))
    assert 0.82 < inside[450:].mean() < 0.98 and model.score(X[450:], y[450:]) > 0.5
