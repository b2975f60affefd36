"""Labels by name: a column of a data frame, and indicators of labels that write_csr stores beside the rows."""

import anndata
import dask.dataframe as dd
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from zarr.storage import MemoryStore

import streamnb as snb
from tests.support.refusals import cases, refused
from tests.support.strategies import same_stats

N_ROWS, N_LABELS = 60, 5
RNG = np.random.default_rng(0)
X = RNG.poisson(1.0, (N_ROWS, 4)).astype(float)
LATE = np.array(["early", "late", "lost"])[RNG.integers(0, 3, N_ROWS)]
LABELS = (RNG.random((N_ROWS, N_LABELS)) < 0.3).astype(int)
NAMES = ["a", "b", "c", "d"]
APART = pd.DataFrame(X, columns=NAMES)
FRAME = APART.assign(late=LATE)[["a", "late", "b", "c", "d"]]
FRAMES = {"pandas": lambda: FRAME, "dask": lambda: dd.from_pandas(FRAME, npartitions=3)}
every_frame = pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)


def chosen(X, y):
    model = snb.LinearNBCV("poisson", snb.L1([0.1, 1.0, 3.0]), folds=3, scoring="accuracy").fit(X, y)
    return model.coef_, model.cv_results_["mean_test_score"]


def answers(X, y):
    model = snb.LinearNB("poisson", snb.L1(0.2)).fit(X, y)
    return model.coef_, model.classes_.tolist(), model.score(X, y), model._model.score(X, y)


USES = {  # what rows and labels are taken for
    "scan": lambda X, y: snb.scan(X, y).sum,
    "fit": answers,
    "choice": chosen,
}


# ------------------------------------------------------------------------------------------- columns of a frame


@every_frame
@cases(USES)
def test_labels_are_taken_from_a_column(case, make):
    np.testing.assert_equal(case(make(), "late"), case(APART, LATE))


@every_frame
def test_predictions_leave_out_labels_and_take_columns_in_any_order(make):
    model = snb.LinearNB("poisson").fit(make(), "late")
    expected = model.predict(APART).tolist()
    assert np.asarray(model.predict(make())).tolist() == expected
    assert np.asarray(model.predict(make()[FRAME.columns[::-1].tolist()])).tolist() == expected
    assert model.score(make()) == model.score(make(), "late")
    with refused(ValueError, "Feature names seen at fit time, yet now missing.*a"):
        model.predict(make().drop(columns=["a"]))


def test_mixed_columns_are_named_without_the_labels():
    family = snb.Mixed({"gaussian": ["a", "c"], "poisson": ...})
    numbered = snb.Mixed({"gaussian": [0, 2], "poisson": ...})
    model = snb.LinearNB(family).fit(FRAME, "late")
    assert np.array_equal(model.coef_, snb.solve(snb.scan(X, LATE), numbered)[0].coef_)
    options = {"penalties": ["plain"], "folds": 3, "show": False}
    one, other = (
        snb.compare(FRAME, "late", families=family, **options),
        snb.compare(X, LATE, families=numbered, **options),
    )
    assert np.array_equal(one.scores, other.scores)


OF_PEOPLE = np.repeat(["p", "q", "r", "s", "t", "u"], 10)
GROUPED = {
    "of numbers": APART.assign(late=LATE, person=OF_PEOPLE),
    "mixed": APART.assign(late=LATE, person=OF_PEOPLE, plane=np.array(["x", "y"])[RNG.integers(0, 2, N_ROWS)]),
}
TABLES = {"pandas": lambda frame: frame, "polars": pl.from_pandas, "arrow": pa.Table.from_pandas}
GROUPING = {
    "LinearNBCV": lambda X, y, groups: snb.LinearNBCV("poisson", snb.L1([0.1, 1.0]), folds=3).fit(X, y, groups=groups),
    "SoftmaxRegressionCV": lambda X, y, groups: snb.SoftmaxRegressionCV([1.0, 10.0], folds=3).fit(X, y, groups=groups),
    "AdditiveClassifier": lambda X, y, groups: snb.AdditiveClassifier(l2=[1.0, 10.0], folds=3).fit(X, y, groups=groups),
    "scan": lambda X, y, groups: snb.scan(X, y, groups=groups, folds=3),
}


@pytest.mark.filterwarnings("ignore::streamnb.StreamnbWarning")
@pytest.mark.parametrize(("name", "table"), [*zip(["mixed", "of numbers", "mixed"], TABLES.values())], ids=TABLES)
@cases(GROUPING)
def test_a_column_of_groups_is_no_feature(case, name, table):
    frame = GROUPED[name]
    whole, apart = table(frame), table(frame.drop(columns="person"))
    found, expected = case(whole, "late", "person"), case(apart, "late", OF_PEOPLE)
    if isinstance(found, snb.ClassStats):
        same_stats(found, expected)
        return
    assert found.feature_names_in_.tolist() == expected.feature_names_in_.tolist()
    np.testing.assert_array_equal(found.predict_proba(whole), expected.predict_proba(apart))
    assert found.score(whole, "late") == expected.score(apart, "late")


@every_frame
def test_a_name_that_is_no_column_is_explained(make):
    for use in (snb.scan, snb.LinearNB("poisson").fit, snb.plan, snb.LinearNBCV("poisson").fit):
        with refused(ValueError, "y='tardy' is not a column of X", "late"):
            use(make(), "tardy")


def test_names_that_are_not_one_column_of_a_frame_are_explained():
    twice = pd.concat([FRAME, FRAME[["late"]]], axis=1)
    with refused(ValueError, "y='late' is the name of several columns of X"):
        snb.scan(twice, "late")
    with refused(ValueError, "y='late'", "not in a Zarr group", "data frame"):
        snb.scan(X, "late")


# ------------------------------------------------------------------------------------------- indicators in a store


KINDS = {
    "dense": np.asarray,
    "bool": lambda y: y.astype(bool),
    "csr": sp.csr_array,
    "csc": sp.csc_matrix,
    "lists": np.ndarray.tolist,
}


def chunks(kind=np.asarray, step=7):
    for start in range(0, N_ROWS, step):
        yield sp.csr_array(X[start : start + step]), kind(LABELS[start : start + step])


@pytest.fixture(params=["memory", "path"])
def store(request, tmp_path):
    where = MemoryStore() if request.param == "memory" else tmp_path / "rows.zarr"
    group = snb.write_csr(where, chunks(), n_features=4)
    return group if request.param == "memory" else where


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_an_indicator_of_labels_is_stored_beside_the_rows(kind):
    group = snb.write_csr(MemoryStore(), chunks(kind), n_features=4)
    assert np.array_equal(anndata.io.read_elem(group).toarray(), X)
    assert np.array_equal(anndata.io.read_elem(group["y"]).toarray(), LABELS)
    assert same_stats(snb.scan(group, "y"), snb.scan(X, LABELS))


@pytest.mark.parametrize("step", [1, 13, N_ROWS])
def test_indicators_of_any_chunks(step, monkeypatch):
    monkeypatch.setattr("streamnb.rows.writing.CHUNK", 16)
    monkeypatch.setattr("streamnb.rows.writing.ROW_CHUNK", 8)
    group = snb.write_csr(MemoryStore(), chunks(step=step), n_features=4)
    assert group["y/indptr"].nchunks == 8 and group["y/data"].dtype == np.uint8
    assert same_stats(snb.scan(group, "y"), snb.scan(X, LABELS))


def test_rows_without_labels_and_labels_without_rows_are_kept():
    y = sp.csr_array((3, 4), dtype=int)
    group = snb.write_csr(MemoryStore(), [(np.eye(3), y), (np.eye(3), y)], n_features=3)
    assert snb.scan(group, "y").weight.tolist() == [0.0] * 4 and snb.scan(group, "y").every.n_rows == 6


@cases(USES)
def test_every_use_of_a_named_indicator(case, store):
    np.testing.assert_equal(case(store, "y"), case(X, LABELS))


def test_chunks_of_labels_of_several_kinds_are_refused(tmp_path):
    one, wide = LABELS[:7], np.hstack([LABELS, LABELS])[:7]
    for first, second, *words in (
        (one, LATE[:7], "y holds strings where labels were an indicator of 5 labels"),
        (LATE[:7], one, "y holds an indicator of 5 labels where labels were strings"),
        (one, wide, "y holds an indicator of 10 labels where labels were an indicator of 5 labels"),
        (one, one[:6], r"inconsistent numbers of samples: \[7, 6\]"),
        (one, one * 2, "y has 2 at row .*, column"),
    ):
        with refused(ValueError, *words):
            snb.write_csr(MemoryStore(), [(X[:7], first), (X[7:14], second)], n_features=4)
    with refused(ValueError, "y has 2 at row .*, column"):
        snb.write_csr(tmp_path / "x.zarr", [(X[:7], one * 2)], n_features=4)
    assert not (tmp_path / "x.zarr").exists()


def test_a_lost_or_damaged_chunk_of_an_indicator_is_noticed(tmp_path):
    name = "indices"
    snb.write_csr(tmp_path / "x.zarr", chunks(), n_features=4)
    (path,) = (tmp_path / "x.zarr" / "y" / name / "c").iterdir()
    whole = path.read_bytes()
    path.write_bytes(whole[:-5] + bytes([whole[-5] ^ 1]) + whole[-4:])
    with refused(snb.DataError, f"y/{name}", "chunk 0 cannot be read"):
        snb.scan(tmp_path / "x.zarr", "y")
    path.unlink()
    with refused(snb.DataError, f"y/{name}", "lacks 1 of its 1 chunks"):
        snb.scan(tmp_path / "x.zarr", "y")


def test_a_plan_knows_the_labels_of_a_named_indicator(store):
    told, expected = snb.plan(store, "y"), snb.plan(sp.csr_array(X), LABELS)
    assert (told.n_classes, told.dense_bytes, told.tables) == (N_LABELS, expected.dense_bytes, expected.tables)
    assert expected.sparse_bytes <= told.sparse_bytes <= told.dense_bytes * 2
