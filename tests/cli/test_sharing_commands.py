"""Sites share sums as files alone, by commands; the model is that of all rows together."""

import numpy as np
import pytest

import streamnb as snb
from tests.support.command_line import ran
from tests.support.sites import SITES, folds_of, parts_of, table

ROWS = table()
PARTS = parts_of(ROWS)


@pytest.fixture
def site(tmp_path, capsys, monkeypatch):
    """Runs a command in a folder with the rows of each site, and returns what it says; it should end with 0."""
    monkeypatch.chdir(tmp_path)
    for name, rows in PARTS.items():
        rows.to_parquet(f"{name}.parquet", index=False)

    def run(*arguments, ends=0):
        ended, said, words = ran(capsys, *arguments)
        assert (ended, said) == (ends, ""), words
        return words

    return run


def made(site, *more):
    """The schema of all sites, and their sums."""
    for name in SITES:
        site("schema", f"{name}.parquet", "--y", "late", "--bins", "4", *more, "-o", f"s-{name}.snb")
    site("merge", *(f"s-{name}.snb" for name in SITES), "--drop-counts", "-o", "schema.snb")
    for name in SITES:
        site("scan", f"{name}.parquet", "--schema", "schema.snb", "-o", f"{name}.snb")
    return site("merge", *(f"{name}.snb" for name in SITES), "-o", "all.snb")


def answered(site, of, out):
    for name in SITES:
        site("read", f"{name}.parquet", "--weights", of, "-o", f"read-{name}.snb", "--force")
    return site("step", of, *(f"read-{name}.snb" for name in SITES), "-o", out)


def test_sums_of_sites_become_models(site):
    assert "north 15, south 35, west 40 rows" in made(site, "--folds", "3")
    assert "LinearNB" in site("fit", "all.snb", "--family", "auto", "--penalty", "l1=0.5", "-o", "m.snb")
    together = snb.table(ROWS, "late", bins=4)
    expected = snb.LinearNB("auto", snb.L1(0.5)).fit(together)
    np.testing.assert_array_equal(snb.load("m.snb").decision_function(ROWS), expected.decision_function(ROWS))

    words = site("fit", "all.snb", "--family", "auto", "--scoring", "accuracy", "-o", "w.snb")
    assert "asks for ScoringTask" in words and "streamnb read DATA --weights w.snb" in words
    assert "accuracy on held-out rows: " in answered(site, "w.snb", "chosen.snb")
    chosen = snb.LinearNBCV("auto", folds=folds_of(PARTS, 3), scoring="accuracy").fit(together)
    assert snb.load("chosen.snb").best_params_ == chosen.best_params_
    np.testing.assert_array_equal(snb.load("chosen.snb").coef_, chosen.coef_)


def test_a_model_of_several_reads_is_fitted_in_rounds(site):
    site("schema", "north.parquet", "--y", "late", "--bins", "4", "-o", "schema.snb")
    site("scan", "north.parquet", "--schema", "schema.snb", "-o", "north.snb")
    site("fit", "north.snb", "--model", "softmax", "--l2", "5", "-o", "w0.snb")  # by the schema of these sums
    assert "asks for ReadTask" in answered(site, "w0.snb", "w1.snb")
    site("read", "north.parquet", "--weights", "w1.snb", "-o", "a.snb")
    site("read", "south.parquet", "--weights", "w1.snb", "-o", "b.snb")
    assert "north, south" in site("merge", "w1.snb", "a.snb", "b.snb", "-o", "ab.snb")
    words = site("step", "w1.snb", "ab.snb", "read-west.snb", "-o", "w2.snb", ends=1)
    assert "the answer of west is ClassScan: it answers round" in words


def test_a_regression_with_an_offset_is_fitted_in_rounds(site):
    rows = ROWS.assign(log_years=np.log(1.0 + np.arange(90) % 3)).drop(columns="late")
    asked = "--y", "hour", "--task", "regression", "--offset", "log_years", "--folds", "2", "-o"
    for name, own in parts_of(rows).items():
        own.to_parquet(f"{name}.parquet", index=False)
        site("schema", f"{name}.parquet", *asked, f"s-{name}.snb")
    site("merge", *(f"s-{name}.snb" for name in SITES), "-o", "schema.snb")
    words, number = site("fit", "schema.snb", "--model", "poisson", "-o", "w0.snb"), 0
    while "asks for" in words:
        words, number = answered(site, f"w{number}.snb", f"w{number + 1}.snb"), number + 1
    chosen = snb.PoissonRegressorCV(folds=folds_of(PARTS, 2)).fit(rows, "hour", offset="log_years")
    np.testing.assert_array_equal(snb.load(f"w{number}.snb").coef_, chosen.coef_)
    words = site("read", "west.parquet", "--weights", "w0.snb", "--offset", "years", "-o", "x.snb", ends=2)
    assert "--offset 'years' is not a column of X" in words


def test_wrong_use_is_told_from_wrong_data(site):
    site("schema", "north.parquet", "--y", "late", "--sites", "north,south", "-o", "schema.snb")
    assert "--site 'west' should be one of" in site(
        "scan", "west.parquet", "--schema", "schema.snb", "-o", "w.snb", ends=2
    )
    site("scan", "west.parquet", "--schema", "schema.snb", "--site", "south", "-o", "w.snb")
    words = site("merge", "schema.snb", "w.snb", "-o", "x.snb", ends=2)
    assert "schema.snb a Schema, w.snb a SiteSums" in words
    assert "holds a SiteSums, not a Schema" in site("scan", "west.parquet", "--schema", "w.snb", "-o", "x.snb", ends=2)
    assert "there is no 'none.snb'" in site("fit", "none.snb", "-o", "x.snb", ends=2)
    snb.LinearNB().fit([[2, 0], [0, 3]], [0, 1]).save("m.snb")
    words = site("fit", "m.snb", "-o", "x.snb", ends=2)
    assert "holds a LinearNB, and fit takes rows, sums or a schema" in words
    assert "sums of site 'north' are missing" in site("fit", "w.snb", "--penalty", "none", "-o", "x.snb", ends=1)
    words = site("fit", "w.snb", "--y", "late", "-o", "x.snb", ends=2)
    assert "--y is of rows, and w.snb holds no rows" in words
    words = site("fit", "west.parquet", "--y", "late", "--l2", "1", "-o", "x.snb", ends=2)
    assert "--l2 is not for --model bayes" in words
    words = site("fit", "schema.snb", "--model", "softmax", "--l2", "1", "--cv", "3", "-o", "x.snb", ends=2)
    assert "--folds is for choosing, and --l2 leaves nothing to choose" in words
