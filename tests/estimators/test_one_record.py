"""One record is answered as a batch of it, to the last bit, by every estimator; what is wrong is named."""

import datetime
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest

import streamnb as snb
from streamnb.encoding.table_encoding import TableEncoding
from streamnb.encoding.text import TextEncoding
from tests.support.refusals import refuses
from tests.support.saved_kinds import HERE, KINDS, SEQUENCES, TABLE, TEXTS, X

MODELS = {name: path for path in sorted(HERE.glob("v2-*.snb")) if (name := path.stem[3:]) in KINDS}
rng = np.random.default_rng(3)
N = 400
WORDS = np.array(["Straße", "ÉTÉ", "io", "tea", "été", "İ", "x", "42", "mañana", "ΟΔΟΣ", "a_b", "naïve", "don't"])
FRAME = pd.DataFrame(
    {
        "colour": rng.choice(["red", "blue", "7", "true", None], N),
        "rooms": rng.integers(-3, 9, N),
        "area": np.where(rng.random(N) < 0.2, np.nan, rng.gamma(2.0, 30.0, N)),
        "new": rng.random(N) < 0.5,
        "day": pd.Timestamp("2023-12-28") + pd.to_timedelta(rng.integers(0, 60 * 24 * 9, N), "h"),
        "agent": rng.choice([f"agent {k}" for k in range(90)], N),
        "note": [" ".join(rng.choice(WORDS, 6)) for _ in range(N)],
    }
)
FRAME["at"] = FRAME["day"].dt.tz_localize("UTC").dt.tz_convert("America/New_York")
Y = np.where(rng.random(N) < 0.4, "sold", np.where(FRAME["rooms"] > 3, "open", "none"))
PLAIN = [name for name in FRAME if name not in ("note", "agent")]
WAYS = {
    "bins": (snb.SoftmaxRegression, {"text": ["note"]}),
    "numbers": (snb.SoftmaxRegression, {"bins": None, "text": {"note": {"words": (1, 2), "chars": (2, 3)}}}),
    "pairs": (
        snb.SoftmaxRegression,
        {"pairs": [("colour", "new"), ("colour", "agent")], "hashed": ["agent", "rooms"], "hash_features": 16},
    ),
    "rare": (snb.SoftmaxRegression, {"columns": PLAIN, "min_count": 70, "bins": 4, "missing": "ignore"}),
    "terms": (snb.AdditiveClassifier, {"columns": PLAIN}),
}


def rows_of(model):
    """Rows that a model of `saved_kinds` takes, as a batch and one by one."""
    encoding = getattr(model, "encoding_", None)
    if isinstance(encoding, TableEncoding):
        return TABLE, TABLE.to_dict("records")
    if encoding is not None:
        rows = TEXTS if isinstance(encoding, TextEncoding) else SEQUENCES
        return rows, rows
    return X, X


@pytest.mark.parametrize("name", [name for name in MODELS if hasattr(snb.load(MODELS[name]), "predict")])
def test_every_estimator_answers_one_record_as_a_batch(name):
    model = snb.load(MODELS[name])
    if not hasattr(model, "predict_one"):
        assert not hasattr(model, "predict") or "model" in name
        return
    rows, records = rows_of(model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", snb.StreamnbWarning)
        said = np.asarray(model.predict(rows))
        shares = model.predict_proba(rows) if hasattr(model, "predict_proba") else None
        for row, record in enumerate(records):
            found = model.predict_one(record)
            found = list(found.values()) if isinstance(found, dict) else found
            assert np.array_equal(said[row], found)
            if shares is not None:
                assert list(model.predict_proba_one(record).values()) == shares[row].tolist()


@pytest.mark.parametrize("way", WAYS)
def test_tables_of_all_kinds_of_columns(way):
    kind, options = WAYS[way]
    model = kind(l2=1.0).fit(snb.table(FRAME, Y, **options))
    shares = model.predict_proba(FRAME)
    forms = [FRAME.to_dict("records"), FRAME.assign(day=FRAME["day"].astype(str)).to_dict("records")]
    forms.append(FRAME.astype(object).to_dict("records"))
    for row in range(0, N, 40):
        for records in forms:
            assert list(model.predict_proba_one(records[row]).values()) == shares[row].tolist()
        record = {**forms[0][row], "day": forms[0][row]["day"].to_pydatetime(), "more": [1]}
        assert list(model.predict_proba_one(record).values()) == shares[row].tolist()


ODD = [None, np.nan, np.float32(3.1), np.float64(3.0), np.int8(3), np.bool_(True), 3, 3.0, True, "3", "3.0", "TRUE", ""]
ODD += [datetime.date(2024, 1, 2), datetime.datetime(2024, 1, 2, 3), "2024-01-02", "2024-02-30", b"red", [3], 2**70]
ODD += [datetime.datetime(2024, 1, 2, 3, tzinfo=datetime.UTC), pd.Timestamp("2024-01-02", tz="Asia/Kolkata"), np.inf]
ODD += [pd.NA, pd.NaT, "2024-01-02T03:04:05Z", np.datetime64("2024-01-02"), 10**17, -0.0, 1e300, "\ud800", {}]


@pytest.fixture(scope="module")
def model():
    return snb.SoftmaxRegression(1.0).fit(snb.table(FRAME, Y, text=["note"]))


@pytest.mark.parametrize("column", FRAME.columns)
def test_odd_values_are_taken_and_refused_as_in_a_batch(model, column):
    record = FRAME.to_dict("records")[0]
    for value in ODD:
        answers = []
        for answer in (lambda row: model.predict_proba([row])[0].tolist(), model.predict_proba_one):
            with warnings.catch_warnings(record=True) as warned:
                warnings.simplefilter("always")
                try:
                    found = answer({**record, column: value})
                except (ValueError, TypeError, OverflowError) as error:
                    answers.append((type(error), str(error)))
                else:
                    answers.append([*found.values()] if isinstance(found, dict) else found)
            answers.append([str(one.message) for one in warned])
        assert answers[:2] == answers[2:], value


def test_what_is_no_record_is_refused_by_name():
    table = snb.LinearNB("auto").fit(FRAME.drop(columns="note"), Y)
    numbers = snb.LinearNB("poisson").fit(pd.DataFrame(X, columns=list("abcd")), np.arange(10) % 2)
    array, texts = snb.LinearNB("poisson").fit(X, np.arange(10) % 2), snb.load(MODELS["softmax-texts"])
    record, row = FRAME.drop(columns="note").to_dict("records")[0], dict(zip("abcd", X[0], strict=True))
    for model, wrong, error, what in [
        (table, {k: v for k, v in record.items() if k != "area"}, ValueError, "no 'area'; give None"),
        (table, {("Area" if k == "area" else k): v for k, v in record.items()}, ValueError, "no 'area', but 'Area'"),
        (table, list(record.values()), TypeError, "a dict with the keys"),
        (table, {**record, "rooms": "many"}, snb.DataError, "'rooms' is of type string"),
        (table, {**record, "area": np.inf}, snb.DataError, "'area' is infinite"),
        (numbers, {**row, "b": "many"}, TypeError, "'b' is 'many', of type str"),
        (numbers, {"a": 1.0}, ValueError, "no 'b'"),
        (numbers, {**row, "c": None}, ValueError, "NaN"),
        (array, row, TypeError, "without names"),
        (array, X[:1], ValueError, r"one row of an array, \(4,\)"),
        (array, X[0, :3], ValueError, r"shape \(3,\)"),
        (array, [1.0, 2.0, None, 3.0], ValueError, "column 2"),
        (texts, 3, TypeError, "string"),
        (texts, ["ash"], TypeError, "string"),
    ]:
        for method in (model.predict_one, model.predict_proba_one):
            refuses(error, what, method, wrong)
    refuses(AttributeError, "predict_proba", lambda: snb.load(MODELS["margin-classifier"]).predict_proba_one(X[0]))
    with pytest.warns(snb.StreamnbWarning, match="1 of 1 values of 'colour' were not seen in fit"):
        table.predict_one({**record, "colour": "pink"})
    expected = table.predict_proba_one({**record, "day": datetime.datetime(2024, 3, 1)})
    for day in (np.datetime64("2024-03-01"), np.datetime64("2024-03-01T00"), np.datetime64("2024-03-01", "ns")):
        of_numpy = {**record, "rooms": np.int8(record["rooms"]), "day": day}
        assert table.predict_proba_one(of_numpy) == expected
    assert table.predict_proba_one(pd.Series(record)) == table.predict_proba_one(record)


def test_changed_models_answer_anew_and_threads_share_one():
    model = snb.LinearNB("poisson", smoothing=1.0).fit(X, np.arange(10) % 2)
    for change in (
        lambda: model.set_threshold(1.3),
        lambda: model.refit(smoothing=5.0),
        lambda: model.partial_fit(X[:3], [1, 1, 1]),
        lambda: model.calibrate(X, np.arange(10) % 2),
    ):
        change()
        for row in X[:4]:
            assert model.predict_one(row) == model.predict([row])[0]
            assert list(model.predict_proba_one(row).values()) == model.predict_proba([row])[0].tolist()
    table = snb.AdditiveClassifier(1, l2=1.0).fit(FRAME.drop(columns=["note", "day"]), Y)
    shares, records = table.predict_proba(FRAME), FRAME.to_dict("records")
    with ThreadPoolExecutor(1000) as pool:
        found = list(pool.map(table.predict_proba_one, records))
    assert np.array_equal([list(one.values()) for one in found], shares)
