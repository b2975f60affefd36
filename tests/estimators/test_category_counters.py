from decimal import Decimal
from functools import partial

import dask.array as da
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
import zarr
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import TargetEncoder

import streamnb as snb
from tests.support.refusals import refuses

rng = np.random.default_rng(0)
N = 400
X = np.where(rng.random((N, 2)) < 0.05, np.nan, rng.integers(0, 12, (N, 2)).astype(float))
Y = np.array(["ash", "birch", "cedar"])[(np.nan_to_num(X[:, 0]) + rng.integers(0, 3, N)).astype(int) % 3]
WORDS, CLASSES, FOLDS = [["a"], ["a"], ["a"], ["b"], ["b"], ["c"]], [0, 1, 1, 0, 0, 1], [0, 1, 0, 1, 0, 1]


def test_the_example_by_hand():
    counters = snb.CategoryCounters(folds=FOLDS)
    found = counters.fit_transform(WORDS, CLASSES)
    np.testing.assert_allclose(found[:, 1], [2 / 3, 1 / 2, 2 / 3, 1 / 3, 1 / 3, 1 / 2])
    new = [["a"], ["b"], ["c"], ["z"]]
    np.testing.assert_allclose(counters.transform(new), [[0.4, 0.6], [0.75, 0.25], [1 / 3, 2 / 3], [0.5, 0.5]])
    stats = counters.class_stats()
    np.testing.assert_allclose(stats.sum, [[5 / 3, 4 / 3], [4 / 3, 5 / 3]], rtol=1e-15)
    np.testing.assert_allclose(stats.sum_sq, [[1, 2 / 3], [11 / 18, 17 / 18]], rtol=1e-15)
    rare = snb.CategoryCounters(folds=FOLDS, min_count=2).fit(WORDS, CLASSES)
    np.testing.assert_allclose(rare.transform([["c"], ["z"]]), [[1 / 3, 2 / 3]] * 2)


def test_codes_are_those_of_target_encoder_on_the_same_folds():
    X = np.nan_to_num(globals()["X"], nan=99.0)
    cv, folds = StratifiedKFold(4, shuffle=True, random_state=0), np.empty(N, int)
    for fold, (_, test) in enumerate(cv.split(X, Y)):
        folds[test] = fold
    counters = snb.CategoryCounters(("prior", 5.0), folds)
    peer = TargetEncoder(smooth=5.0, cv=cv)
    np.testing.assert_allclose(counters.fit_transform(X, Y), peer.fit_transform(X, Y), rtol=1e-13)
    new = np.append(X, [[50.0, 1.0]], axis=0)
    np.testing.assert_allclose(counters.transform(new), peer.transform(new), rtol=1e-13)


def test_naive_bayes_on_counters_takes_no_second_pass():
    counters = snb.CategoryCounters([1, "prior"], 4, pairs=True, log_odds=True, raw=True, min_count=3)
    codes = counters.fit_transform(X, Y)
    moments = ["sum", "sum_sq", "nonzero"]
    scanned, found = snb.scan(codes, Y, moments=moments), counters.class_stats(moments)
    for moment in moments:
        np.testing.assert_array_equal(getattr(found, moment), getattr(scanned, moment))
    assert found.n_rows == N and found.negatives > 0 and codes.shape[1] == len(counters.get_feature_names_out())
    model = snb.solve(found, "gaussian")[0]
    np.testing.assert_array_equal(model.coef_, snb.solve(scanned, "gaussian")[0].coef_)


def test_folds_are_judged_by_codes_that_know_neither():
    folds = snb.fold_numbers(N, 4)
    counters = snb.CategoryCounters(folds=folds).fit(X, Y)
    rest = folds != 3
    alone = snb.CategoryCounters(folds=folds[rest]).fit(X[rest], Y[rest])
    np.testing.assert_array_equal(counters.class_stats(without_fold=3).sum, alone.class_stats().sum)
    np.testing.assert_array_equal(counters.transform(X, without_fold=3), alone.transform(X))


def test_rows_of_any_kind_leave_the_same_counts(tmp_path):
    filled = np.nan_to_num(X)
    expected = snb.CategoryCounters().fit_transform(filled, Y, np.full(N, 2.0))
    store = zarr.create_array(tmp_path / "x.zarr", data=filled, chunks=(64, 2))
    for rows in (store, sp.csr_array(filled), filled.astype(int).astype(str).tolist()):
        found = snb.CategoryCounters().fit_transform(rows, Y, np.full(N, 2.0))
        np.testing.assert_array_equal(found, expected)
    counters = snb.CategoryCounters().fit(filled, Y)
    lazy = da.from_array(filled, chunks=(90, 2))
    in_dask = snb.CategoryCounters().fit(lazy, da.from_array(Y, chunks=90))
    np.testing.assert_array_equal(in_dask.transform(lazy).compute(), counters.transform(filled))
    refuses(ValueError, "X is in Dask", lambda: in_dask.fit_transform(lazy, Y))


def test_frames_names_copies_and_files(tmp_path):
    frame = pd.DataFrame({"tail": np.where(X[:, 0] > 5, "N1", "N2"), "dest": X[:, 1], "late": Y == "ash"})
    counters = snb.CategoryCounters({False: 2, True: 1}, pairs=[(0, 1)]).fit(frame, "late")
    assert counters.get_feature_names_out()[-1] == "tail & dest: P(True)" and counters.n_values_.tolist()[0] == 2
    rows = frame[["tail", "dest"]]
    counters.save(tmp_path / "c.snb")
    again = snb.load(tmp_path / "c.snb")
    np.testing.assert_array_equal(again.transform(rows), counters.transform(rows))
    assert clone(counters).get_params()["pairs"] == [(0, 1)]
    np.testing.assert_array_equal(counters.transform(frame[["late", "dest", "tail"]]), counters.transform(rows))
    for others in (frame[["tail"]], pa.table(frame[["tail"]])):
        refuses(ValueError, "feature names", counters.transform, others)
    refuses(ValueError, "y='label'", lambda: counters.fit(pa.table(frame)))


@pytest.mark.filterwarnings("ignore:X has feature names, but CategoryCounters was fitted without")
def test_dates_are_the_same_categories_in_every_type_and_unit():
    days = pd.DatetimeIndex(np.array(["2013-01-05", "NaT", "9999-12-31", "2013-01-05"], "M8[us]"))
    columns = [days, days.astype("M8[s]"), days.tz_localize("UTC").tz_convert("Asia/Tokyo"), days.astype(object)]
    columns += [days[[0, 1, 2]].append(days[:1]), pd.Series(days.date).astype("category")]
    frames = [pd.DataFrame({"day": column}) for column in columns]
    table = pa.table({"day": pa.array(days.date, from_pandas=True)})
    frames += [table, pl.from_arrow(table), pa.table(frames[2])]
    counters = snb.CategoryCounters(folds=2).fit(np.array(days, "M8[D]")[:, None], [0, 1, 1, 0])
    for frame in (np.array(days, "M8[ms]")[:, None], *frames):
        assert counters.transform(frame)[:, 1].tolist() == pytest.approx([1 / 4, 2 / 3, 2 / 3, 1 / 4])


def test_numbers_of_a_database_are_categories():
    prices = [Decimal("1.5"), None, Decimal(2), Decimal("1.5")]
    counters = snb.CategoryCounters(folds=2).fit(pa.table({"price": prices, "y": [0, 1, 1, 0]}), "y")
    expected = counters.transform(pl.DataFrame({"price": [1.5, None, 2.0, 1.5]}))
    np.testing.assert_array_equal(counters.transform(pd.DataFrame({"price": prices})), expected)


def test_a_path_lacks_the_numbers_that_thresholds_cut():
    with pytest.raises(TypeError, match="y='delay' names a column; with thresholds= it is the numbers themselves"):
        snb.CategoryCounters(thresholds=[0.0]).fit("rows.parquet", "delay")


def test_numbers_are_coded_by_the_share_above_thresholds():
    y = rng.normal(size=N)
    counters = snb.CategoryCounters(thresholds=[-0.5, 0.5], folds=2).fit(X, y)
    one = snb.CategoryCounters(thresholds=[0.5], folds=2).fit(X, y)
    binary = snb.CategoryCounters(folds=2).fit(X, y > 0.5)
    np.testing.assert_array_equal(one.transform(X), binary.transform(X)[:, 1::2])
    assert counters.get_feature_names_out().tolist()[:2] == ["x0: P(y > -0.5)", "x0: P(y > 0.5)"]
    found = counters.fit_transform(X, y)
    assert (found[:, 0] >= found[:, 1]).all() and (found[:, 2] >= found[:, 3]).all()
    refuses(ValueError, "y is missing at row 3", lambda: counters.fit(X, np.where(np.arange(N) == 3, np.nan, y)))


def test_leaving_one_row_out_leaks_and_warns():
    noise = rng.integers(0, 2, N)
    with pytest.warns(snb.StreamnbWarning, match="reveals its class"):
        found = snb.CategoryCounters(oof="loo").fit_transform(X[:, :1], noise)[:, 1]
    for value in range(12):
        of_value = X[:, 0] == value
        low, high = (found[of_value & (noise == k)] for k in (1, 0))
        np.testing.assert_allclose(high[0] - low[0], 1.0 / (of_value.sum() - 1 + 2))


WRONG = [
    (partial(snb.CategoryCounters, -1.0), "c=-1.0 should be finite and at least 0"),
    (partial(snb.CategoryCounters, "smooth"), "c='smooth' is unknown"),
    (partial(snb.CategoryCounters, {"ash": 1.0}), "c=.* should have a number for each class"),
    (partial(snb.CategoryCounters, []), "c is an empty list"),
    (partial(snb.CategoryCounters, 0, log_odds=True), "c=0 with log_odds=True"),
    (partial(snb.CategoryCounters, folds=[0, 1, 0]), "folds"),
    (partial(snb.CategoryCounters, folds=1), "folds=1"),
    (partial(snb.CategoryCounters, folds=N + 1), "some have no row"),
    (partial(snb.CategoryCounters, pairs=[(0, 5)]), "pairs"),
    (partial(snb.CategoryCounters, hash_bits=99), "hash_bits=99"),
    (partial(snb.CategoryCounters, thresholds=[1, 0]), "thresholds="),
    (partial(snb.CategoryCounters, oof="own"), "oof='own'"),
]


def test_what_is_wrong_is_named():
    for make, message in WRONG:
        refuses(ValueError, message, make().fit, X, Y)
    refuses(ValueError, "y to be passed", lambda: snb.CategoryCounters().fit(X))
    refuses(ValueError, "missing label at row 0", lambda: snb.CategoryCounters().fit(X, [None, *Y[1:]]))
    refuses(ValueError, "y has two dimensions", snb.CategoryCounters().fit, X, np.eye(3, dtype=int)[np.arange(N) % 3])
    counters = snb.CategoryCounters(0.0).fit(X, Y)
    with pytest.raises(ValueError, match=r"row 1, column 0, a value for which too few rows were counted.*use c > 0"):
        counters.transform([[1.0, 1.0], [77.0, 1.0]])
    with pytest.raises(ValueError, match="oof='folds'"), pytest.warns(snb.StreamnbWarning):
        snb.CategoryCounters(oof="loo").fit_transform(X, Y, np.ones(N))
    refuses(TypeError, "pairs=3 should be a bool, or a list of pairs", lambda: snb.CategoryCounters(pairs=3).fit(X, Y))
    refuses(ValueError, "of 2 folds none is left", snb.CategoryCounters(folds=2).fit(X, Y).class_stats, without_fold=0)
    refuses(ValueError, "summ", lambda: counters.class_stats(["summ"]))
