"""Counts of presence read no values where a store is known to hold positive ones only, and stay what they are."""

from collections import Counter

import numpy as np
import pytest
import scipy.sparse as sp
import zarr
from zarr.storage import MemoryStore

import streamnb as snb
from tests.support.stores import CountingStore, chunk_keys
from tests.support.strategies import example, stream


def written(rows):
    store = CountingStore(MemoryStore())
    group = snb.write_csr(store, stream(rows, "x", "y"), n_features=rows.x.shape[1])
    store.reads.clear()
    return store, group


def reads_of(store, group, name):
    return Counter({key: n for key, n in store.reads.items() if key in set(chunk_keys(group[name]))})


def same_counts(stats, expected, *names):
    return all(np.array_equal(getattr(stats, name), getattr(expected, name)) for name in names)


W = example().w
OPTIONS = [{"transform": transform} for transform in (None, "binary", "log1p", "sqrt")]
OPTIONS += [{"folds": folds, "sample_weight": weight} for folds in (None, 3) for weight in (None, 4.0 * W, W)]


@pytest.mark.parametrize("options", OPTIONS)
def test_counts_of_known_values_are_those_of_the_values_read(options):
    rows = example()
    store, group = written(rows)
    options = {"moments": ["nonzero", "above"], **options}
    stats, expected = (snb.scan(*given, **options) for given in ((group, "y"), (rows.x, rows.y)))
    assert not reads_of(store, group, "data")
    assert reads_of(store, group, "indices") == dict.fromkeys(chunk_keys(group["indices"]), 1)
    for a, b in zip([stats, *stats.folds], [expected, *expected.folds], strict=True):
        assert same_counts(a, b, "nonzero", "above", "weight")


def test_a_bernoulli_model_and_its_report_do_without_the_values():
    rows = example()
    store, group = written(rows)
    model = snb.LinearNB("bernoulli").fit(group, "y")
    assert not reads_of(store, group, "data")
    assert (model.coef_ == snb.LinearNB("bernoulli").fit(rows.x, rows.y).coef_).all()
    poisson = snb.LinearNB("poisson").fit(group, "y")
    assert reads_of(store, group, "data")
    assert model.report_.bytes == poisson.report_.bytes - group["data"].nbytes


@pytest.mark.parametrize(
    "options",
    [{"moments": ["sum"]}, {"moments": ["above"], "binarize": 0.5}, {"moments": ["nonzero"], "normalize": "l2"}],
)
def test_values_that_matter_are_read(options):
    rows = example()
    store, group = written(rows)
    assert same_counts(snb.scan(group, "y", **options), snb.scan(rows.x, rows.y, **options), *options["moments"])
    assert reads_of(store, group, "data") == dict.fromkeys(chunk_keys(group["data"]), 1)


@pytest.mark.parametrize("values", [[1.0, -1.0], [1.0, 0.0]], ids=["negative", "explicit zero"])
def test_values_not_known_to_be_positive_are_read(values, tmp_path):
    x = sp.csr_array((values, [0, 1], [0, 1, 2]), shape=(2, 2))
    group = snb.write_csr(tmp_path / "new.zarr", [(x, [0, 1])], n_features=2)
    stats = snb.scan(group, "y", moments=["nonzero", "above"])
    assert stats.above.tolist() == [[1, 0], [0, 0]]
    assert stats.nonzero.tolist() == [[1, 0], [0, float(values[1] != 0)]]


def test_a_family_that_does_not_take_every_value_has_them_read(tmp_path):
    class Fractions(snb.Bernoulli):
        name = "fractions"
        highest = 1.0

    group = snb.write_csr(tmp_path / "new.zarr", [(np.array([[1.0, 2.0], [1.0, 0.0]]), [0, 1])], n_features=2)
    with pytest.raises(ValueError, match="2"):
        snb.LinearNB(Fractions()).fit(group, "y")


def test_a_store_of_somebody_else_has_its_values_read(tmp_path):
    group = snb.write_csr(tmp_path / "new.zarr", [(np.eye(2), [0, 1])], n_features=2)
    group = zarr.open_group(tmp_path / "new.zarr", mode="r+")
    del group.attrs["streamnb"]
    group["data"][:] = [1.0, 0.0]
    assert snb.scan(group, "y", moments=["nonzero"]).nonzero.tolist() == [[1, 0], [0, 0]]


# ---- chunks that are missing -----------------------------------------------------------------------------------------


def sparse_store(X, lost=(), **attributes):
    """A group without the chunks of zeros, as zarr writes it, and without those that are lost."""
    kept, matrix = {}, sp.csr_array(np.asarray(X, "f4"))
    group = zarr.open_group(MemoryStore(kept), mode="w", zarr_format=2)
    about = {"encoding-type": "csr_matrix", "encoding-version": "0.1.0", "shape": list(X.shape)}
    group.attrs.update(about | attributes)
    for name in ("data", "indices", "indptr"):
        values = getattr(matrix, name)
        array = group.create_array(name, shape=values.shape, dtype=values.dtype, chunks=(8,))
        array[:] = values
    for key in lost:
        del kept[key]
    return group


FULL = np.random.default_rng(0).poisson(1.0, (60, 5))


def test_rows_without_values_may_have_no_chunks():
    for X in (np.zeros((60, 5)), FULL * (np.arange(60) >= 20)[:, None]):
        assert np.array_equal(snb.scan(sparse_store(X), np.arange(60) % 2).sum, snb.scan(X, np.arange(60) % 2).sum)


def test_chunks_that_were_in_the_first_column_or_lost_are_warned_of():
    X, y = np.concatenate([FULL[:30], np.eye(1, 5).repeat(30, axis=0)]), np.arange(60) % 2
    with pytest.warns(snb.StreamnbWarning, match=r"'indices' .* lacks 4 of its .* Its rows count as having column 0"):
        assert np.array_equal(snb.scan(sparse_store(X), y).sum, snb.scan(X, y).sum)
    with pytest.raises(snb.DataError, match=r"'indices' .* lacks 4 of its"):
        snb.scan(sparse_store(X, streamnb={}), y)


@pytest.mark.parametrize("lost", ["indptr/0", "indptr/1", "indices/0", "indices/2", "data/1"])
def test_chunks_that_cannot_have_been_zeros_are_refused(lost):
    with pytest.raises(snb.DataError, match=r"lacks 1 of its .* copy the store again, or write it anew"):
        snb.scan(sparse_store(FULL, [lost]), np.arange(60) % 2)


def test_a_store_that_was_not_written_to_its_end_is_refused(tmp_path):
    def chunks():
        yield np.ones((1 << 12, 1 << 9))  # more than one chunk of values
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        snb.write_csr(tmp_path / "x.zarr", chunks(), n_features=1 << 9)
    with pytest.raises(snb.DataError, match=r"x\.zarr is incomplete: .* written last and missing; write it anew"):
        snb.scan(tmp_path / "x.zarr", np.ones(1 << 12))
