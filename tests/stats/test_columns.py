"""Statistics are added and subtracted by the names of their columns."""

import pickle

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import streamnb as snb

RNG = np.random.default_rng(0)
Y = np.arange(40) % 2
FRAME = pd.DataFrame(RNG.random((40, 3)), columns=["a", "b", "c"])
LATE = np.where(Y, "yes", "no")
FIRST = pd.DataFrame({"carrier": RNG.choice(["A", "B"], 40), "miles": RNG.random(40), "late": LATE})
SECOND = FIRST.assign(carrier=RNG.choice(["A", "C"], 40), miles=RNG.random(40) + 1.0)
BY_CARRIER = ["carrier=A", "carrier=B", "carrier=C"]


def carriers(rows):
    return rows.drop(columns="miles")


@pytest.mark.parametrize(
    "again", [lambda stats, path: stats, "file", lambda stats, path: pickle.loads(pickle.dumps(stats))]
)
def test_equally_many_columns_of_other_categories_are_not_added_up(again, tmp_path):
    def stored(stats):
        if again != "file":
            return again(stats, tmp_path)
        stats.save(tmp_path / "stats.snb")
        return snb.load(tmp_path / "stats.snb")

    one, two = (stored(snb.scan(carriers(rows), "late", folds=2)) for rows in (FIRST, SECOND))
    assert one.n_features == two.n_features == 2
    both = one + two
    counts = pd.crosstab(*(pd.concat([FIRST, SECOND], ignore_index=True)[name] for name in ("late", "carrier")))
    np.testing.assert_array_equal(both.sum, counts)
    assert both.encoding.column_names.tolist() == BY_CARRIER and both.fold(0).n_features == 3
    np.testing.assert_array_equal((both - one).sum, two.sum)
    np.testing.assert_array_equal((two + one).sum, both.sum)
    assert one.drift(two)["new"].tolist() == two.drift(one)["old"].tolist()


def test_columns_of_a_matrix_are_put_in_order_by_their_names():
    whole, part = snb.scan(FRAME, Y), snb.scan(FRAME[["c", "a", "b"]], Y)
    np.testing.assert_array_equal((whole + part).sum, 2 * whole.sum)
    np.testing.assert_array_equal((whole + snb.scan(FRAME.to_numpy(), Y)).sum, 2 * whole.sum)
    gram = [snb.scan(rows, Y, moments=["sum", "gram"]) for rows in (FRAME, FRAME[["c", "a", "b"]])]
    np.testing.assert_array_equal((gram[0] + gram[1]).gram, 2 * gram[0].gram)
    table = snb.scan(pa.table(FRAME), Y)
    np.testing.assert_array_equal((table + part).sum, 2 * whole.sum)


def bins(rows):
    return snb.scan(rows, "late")


def plain(rows, **options):
    return snb.scan(snb.table(rows, "late", bins=None, **options))


def fitted(rows, transform):
    return snb.LinearNB("gaussian", transform=transform).fit(rows[["miles"]].to_numpy(), rows["late"]).stats_


@pytest.mark.parametrize(
    ("one", "two", "message"),
    [
        (lambda: bins(FIRST), lambda: bins(SECOND), "'miles' have other bins .*; learn the columns"),
        (
            lambda: plain(FIRST.assign(miles=[None, *FIRST["miles"][1:]])),
            lambda: plain(SECOND.assign(miles=[None, *SECOND["miles"][1:]])),
            "'miles' have other .* another median",
        ),
        (lambda: plain(FIRST), lambda: plain(SECOND.assign(miles=1.0)), "'miles' have other .* are all equal in one"),
        (lambda: plain(FIRST), lambda: plain(carriers(SECOND)), "column 'miles' is missing, empty or of another kind"),
        (
            lambda: plain(FIRST),
            lambda: plain(SECOND.assign(miles=SECOND["miles"].astype(str))),
            "column 'miles' is missing, empty or of another kind",
        ),
        (lambda: plain(FIRST), lambda: plain(SECOND, min_count=2), "other options of snb.table"),
        (
            lambda: plain(FIRST.assign(carrier=["R", *FIRST["carrier"][1:]]), min_count=2),
            lambda: plain(SECOND, min_count=2),
            "values of 'carrier' are rare in one of the tables and not in the other",
        ),
        (lambda: snb.scan(FRAME, Y), lambda: snb.scan(FRAME.rename(columns={"a": "d"}), Y), "or have them .*: 'a'"),
        (
            lambda: snb.scan(FRAME, Y, histogram="bins"),
            lambda: snb.scan(FRAME[["b", "a", "c"]], Y, histogram="bins"),
            "none can be added or moved, such as histograms",
        ),
        (lambda: snb.scan(FRAME, Y), lambda: snb.scan(SECOND[["carrier"]], LATE), "their rows were opened differently"),
        (lambda: fitted(FIRST, snb.Bins(3)), lambda: fitted(SECOND, snb.Bins(3)), "learned from other rows"),
        (
            lambda: fitted(FIRST, "quantile_normal"),
            lambda: fitted(SECOND, "quantile_normal"),
            "learned from other rows",
        ),
        (
            lambda: snb.CategoricalNB().fit(carriers(FIRST), "late").stats_,
            lambda: snb.CategoricalNB().fit(carriers(SECOND), "late").stats_,
            "hold sums to which none can be added",
        ),
        (
            lambda: snb.scan(snb.text(["a b", "b"], vocabulary=["a", "b"]), [0, 1]),
            lambda: snb.scan(snb.text(["a b", "b"], vocabulary=["b", "c"]), [0, 1]),
            "another vocabulary",
        ),
    ],
)
@pytest.mark.filterwarnings("ignore::streamnb.core.messages.StreamnbWarning")
def test_columns_that_cannot_be_matched_are_refused(one, two, message):
    for first, second in ((one(), two()), (two(), one())):
        with pytest.raises(ValueError, match=message):
            first + second
        with pytest.raises(ValueError, match=message):
            first - second


def test_numbers_as_they_are_add_up_and_models_of_the_sum_take_tables(tmp_path):
    first, second = (rows.assign(delay=RNG.random(40)).drop(columns="late") for rows in (FIRST, SECOND))
    one, two = (snb.Ridge().fit(rows, "delay") for rows in (first, second))
    model, every = snb.Ridge().fit(one.stats_ + two.stats_), pd.concat([first, second], ignore_index=True)
    whole = snb.Ridge().fit(every, "delay")
    assert model.feature_names_in_.tolist() == whole.feature_names_in_.tolist() == [*BY_CARRIER, "miles"]
    np.testing.assert_allclose(model.predict(every), whole.predict(every), rtol=1e-12)
    one.partial_fit(two.stats_).save(tmp_path / "model.snb")
    again = snb.load(tmp_path / "model.snb")
    np.testing.assert_array_equal(again.predict(every), one.predict(every))
    again.forget(snb.Ridge().fit(first, "delay").stats_)
    assert again.feature_names_in_.tolist() == ["carrier=A", "carrier=C", "miles"]
    assert (again.stats_ + one.stats_).n_features == 4


def test_moved_columns_keep_their_names():
    stats = snb.scan(FRAME, Y)
    turned = stats.with_columns(np.array([2, 0, 1]))
    np.testing.assert_array_equal((turned + stats).sum, turned.sum * 2.0)
    np.testing.assert_array_equal((stats + turned).sum, stats.sum * 2.0)
    for fewer in (stats.with_columns(np.array([0, 1, -1])), snb.scan(FIRST, "late").with_columns(np.arange(5))):
        with pytest.raises(ValueError, match="have different columns"):
            fewer + (stats if fewer.n_features == 3 else snb.scan(FIRST, "late"))


def test_the_drift_of_other_categories_names_the_columns():
    one, two = snb.scan(carriers(FIRST), "late"), snb.scan(carriers(SECOND), "late")
    for names in (["x", "y"], one.encoding.column_names):
        found = set(one.drift(two, feature_names=names)["feature"]) - {"(share of rows)"}
        assert "carrier=C" in found and found <= {*names, "carrier=C"}


@pytest.mark.filterwarnings("ignore::streamnb.core.messages.StreamnbWarning")
@pytest.mark.parametrize("value", [0.5, 7.0, np.nan])
def test_numbers_that_are_all_equal_in_one_part_add_up(value):
    """The other part has the bins, and every number is in one of them, or in that of missing ones."""
    rest = FIRST.assign(miles=value)
    one, two = snb.scan(FIRST, "late", moments=["sum"]), snb.scan(rest, "late", moments=["sum"])
    expected = snb.LinearNB("multinomial").fit(FIRST, "late").partial_fit(rest, "late").stats_
    for total in (one + two, two + one):
        assert total.n_rows == 80 and total.encoding.column_names.tolist() == expected.encoding.column_names.tolist()
        np.testing.assert_array_equal(total.sum, expected.sum)
    np.testing.assert_array_equal((one + two - two).sum, one.sum)
