import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp
import zarr
from hypothesis import given
from hypothesis import strategies as st

import streamnb as snb

RNG = np.random.default_rng(0)
N = 1_237
X = RNG.poisson(2.0, (N, 4)).astype(float)
Y = (X[:, 0] + RNG.poisson(1.0, N) > 3).astype(int)
GROUPS = RNG.integers(0, 60, N)
FRAME = pd.DataFrame(X, columns=list("abcd")).assign(
    city=RNG.choice(["x", "y"], N), late=np.where(Y, "yes", "no"), patient=GROUPS, number=np.arange(N)
)


@given(st.integers(1, 99), st.integers(2, 300), st.integers(0, 5))
def test_each_row_is_in_one_part_of_the_size_asked_for(percent, n_rows, seed):
    numbers = np.arange(max(n_rows, 100))[:, None]
    train, test = snb.train_test_split(numbers, test_size=percent / 100, seed=seed)
    assert np.array_equal(np.sort(np.vstack([train, test]), axis=0), numbers)
    assert abs(len(test) - len(numbers) * percent / 100) <= 25 and (np.diff(train[:, 0]) > 0).all()
    more = np.vstack([numbers, numbers + len(numbers)])
    assert np.isin(
        test, snb.train_test_split(more, test_size=percent / 100, seed=seed)[1]
    ).all()  # later rows move none


def containers(folder):
    snb.write_csr(folder / "rows.zarr", [(X[i : i + 90], Y[i : i + 90]) for i in range(0, N, 90)], n_features=4)
    root = zarr.open_group(folder / "dense.zarr", mode="w")
    root.create_array("X", data=X, chunks=(100, 4))
    root.create_array("y", data=Y, chunks=(77,))
    yield sp.csr_array(X), Y
    yield folder / "rows.zarr", "y"
    yield str(folder / "dense.zarr"), "y"
    yield da.from_array(X, chunks=(100, 4)), Y
    yield zarr.open_array(folder / "dense.zarr" / "X"), Y


def test_matrices_have_the_same_parts_in_any_container(tmp_path):
    train, test, y_train, y_test = snb.train_test_split(X, Y, test_size=0.2)
    expected = snb.LinearNB("poisson").fit(train, y_train)
    judged = expected.evaluate(test, y_test, interval=0.9)
    trained = snb.SoftmaxRegressionCV([1.0, 10.0], folds=3, max_passes=5).fit(sp.csr_array(train), y_train)
    for rows, y in containers(tmp_path):
        parts = snb.train_test_split(rows, y, test_size=0.2)
        of_train, of_test = parts[2:] or (y, y)
        model = snb.LinearNB("poisson").fit(parts[0], of_train)
        assert np.array_equal(model.coef_, expected.coef_)
        assert np.array_equal(np.asarray(model.predict_proba(parts[1])), expected.predict_proba(test))
        assert model.evaluate(parts[1], of_test, interval=0.9).summary() == judged.summary()
        model = snb.SoftmaxRegressionCV([1.0, 10.0], folds=3, max_passes=5).fit(parts[0], of_train)
        np.testing.assert_allclose(np.asarray(model.predict_proba(parts[1])), trained.predict_proba(test), atol=1e-3)

    train, test = snb.train_test_split(lambda: ((X[i : i + 90], Y[i : i + 90]) for i in range(0, N, 90)), test_size=0.2)
    assert np.array_equal(snb.LinearNB("poisson").fit(train).coef_, expected.coef_)
    assert np.array_equal(np.vstack([chunk for chunk, _ in test()]), snb.train_test_split(X, test_size=0.2)[1])


def test_tables_have_the_same_parts_in_any_container(tmp_path):
    (tmp_path / "folder").mkdir()
    for i in range(0, N, 300):
        FRAME[i : i + 300].to_parquet(tmp_path / "folder" / f"{i:05d}.parquet", row_group_size=70)
    FRAME.to_json(tmp_path / "rows.jsonl", orient="records", lines=True)
    train, test = snb.train_test_split(FRAME, test_size=0.3, groups="patient")
    assert not set(train["patient"]) & set(test["patient"]) and abs(len(test) / N - 0.3) < 0.05
    expected = snb.LinearNB("auto").fit(train, "late")
    judged = expected.evaluate(test, "late", interval=0.9, groups="patient", by="city")
    for rows in (
        tmp_path / "folder",
        str(tmp_path / "rows.jsonl"),
        pa.Table.from_pandas(FRAME),
        dd.from_pandas(FRAME, npartitions=3),
        FRAME.to_dict("records"),
    ):
        parts = snb.train_test_split(rows, test_size=0.3, groups="patient")
        model = snb.LinearNB("auto").fit(parts[0], "late")
        assert np.array_equal(np.asarray(model.predict_proba(parts[1])), expected.predict_proba(test))
        again = model.evaluate(parts[1], "late", interval=0.9, groups="patient", by="city")
        assert again.summary() == judged.summary()
    _, test = snb.train_test_split(tmp_path / "folder", test_size=0.2, stratify="late")
    assert repr(test) == f"<{test.n_rows} of {N:,} rows of a table>"
    classes = snb.describe(test, "late").classes
    for label, count in FRAME["late"].value_counts().items():
        assert abs(classes[label] - 0.2 * count) <= 1
    target = snb.Ridge().fit(*snb.train_test_split(X, X[:, 0] * 0.5)[::2])
    assert target.score(X, X[:, 0] * 0.5) > 0.99
    with pytest.raises(TypeError, match="X is a part of a table that was split; give the table itself"):
        snb.write_predictions(expected, snb.train_test_split(tmp_path / "folder")[1], tmp_path / "out")


@pytest.mark.parametrize(("share", "n"), [(0.33, 20), (0.33, 40), (0.3, 5), (0.25, 3), (0.2, 2)])
def test_of_few_groups_the_share_asked_for_is_tested_and_not_always_the_largest(share, n):
    groups = np.repeat(np.arange(n), np.append(50, np.full(n - 1, 5)))
    tests = [snb.train_test_split(groups, test_size=share, groups=groups, seed=seed)[1] for seed in range(20)]
    assert {len(np.unique(test)) for test in tests} == {max(round(share * n), 1)}
    assert {0 in test for test in tests} == {True, False}


def test_small_classes_are_not_all_split_alike_and_shares_near_the_ends_are_those_asked_for():
    kinds = np.repeat(np.arange(300), 3)
    _, test = snb.train_test_split(kinds, test_size=0.25, stratify=kinds)
    assert abs(len(test) / len(kinds) - 0.25) < 0.05 and np.bincount(test).max() == 1
    for share in (0.001, 0.999, 0.007):
        assert len(snb.train_test_split(np.zeros(10_000), test_size=share)[1]) == round(10_000 * share)


@pytest.mark.cluster
def test_workers_read_the_parts(tmp_path):
    distributed = pytest.importorskip("distributed")
    *_, (store, _), _, _ = containers(tmp_path)
    train, _ = snb.train_test_split(store, test_size=0.2)
    with distributed.Client(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None) as client:
        model = snb.LinearNB("poisson").fit(train, "y", client=client)
    assert np.array_equal(model.coef_, snb.LinearNB("poisson").fit(train, "y").coef_)


def test_mistakes_are_named():
    for arguments, message in (
        ({"test_size": 20}, "test_size=20 should be a share between 0 and 1, such as 0.2"),
        ({"groups": GROUPS, "stratify": Y}, "give groups or stratify, not both"),
        ({"groups": "patient"}, "groups='patient' names a column, and X is a ndarray"),
        ({"stratify": Y[:5]}, "stratify has 5 .*X has|stratify"),
        ({"stratify": True}, "stratify=True should be the name of a column, or an array with a value for each row"),
        ({"y": "kind"}, "y='kind' names a column, and X is a ndarray"),
    ):
        with pytest.raises(ValueError, match=message):
            snb.train_test_split(X, **arguments)
    with pytest.raises(ValueError, match=r"test_size=0\.01 leaves no row for one part of 3 rows"):
        snb.train_test_split(X[:3], test_size=0.01, seed=1)
    with pytest.raises(TypeError, match="X is an iterator, which is read once; give a callable"):
        snb.train_test_split(iter([X]))
    for name in ("y", "groups"):
        with pytest.raises(ValueError, match=f"{name}='gone' is not a column of X"):
            snb.train_test_split(FRAME, **{name: "gone"})
    with pytest.raises(TypeError, match="'train_size': use test_size="):
        snb.train_test_split(X, train_size=0.8)


def test_columns_that_parts_lack_are_named(tmp_path):
    array = zarr.open_group(tmp_path / "rows.zarr", mode="w").create_array("X", data=X, chunks=(200, 4))
    train, _ = snb.train_test_split(array)
    numbers = X[: train.n_rows, 1] + 0.5
    with pytest.raises(ValueError, match="y is None: give the number to predict for each row"):
        snb.Ridge().fit(train)
    for name, fit in {
        "y": lambda: snb.Ridge().fit(train, X[:, 1] + 0.5),
        "sample_weight": lambda: snb.Ridge().fit(train, numbers, sample_weight=Y),
        "offset": lambda: snb.PoissonRegressor().fit(train, numbers, offset=Y),
        "groups": lambda: snb.ElasticNetCV().fit(train, numbers, groups=Y),
    }.items():
        with pytest.raises(ValueError, match=f"{name} should have one entry for each row of X"):
            fit()
