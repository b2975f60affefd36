"""Rows kept by their scattered numbers: as many as asked for, of every class, weighed by how likely each was kept."""

from itertools import pairwise

import numpy as np
import pytest

from streamnb.rows.boundary import as_chunk
from streamnb.stats.row_sample import RowSample

N = 20_000
rng = np.random.default_rng(0)
CODES = np.where(rng.random(N) < 0.01, 2, rng.integers(0, 2, N))
WEIGHT = rng.choice([0.0, 0.5, 1.0], N)
NUMBERED = np.arange(N, dtype=float)[:, None]


def drawn(cuts, labels=CODES, size=300, n_rows=None):
    sample = RowSample(3, size, n_rows=n_rows)
    for start, stop in pairwise(cuts):
        sample.add(as_chunk(NUMBERED[start:stop], start)[0], labels[start:stop], WEIGHT[start:stop], CODES[start:stop])
    return sample.finish().drawn()


def test_a_sample_has_the_shares_of_all_rows_and_enough_of_each_class():
    rows = drawn([0, N])
    numbers, codes = rows.X[:, 0].astype(int), rows.labels.indices
    np.testing.assert_array_equal(codes, CODES[numbers])
    np.testing.assert_array_equal(rows.fold, CODES[numbers])
    assert len(np.unique(numbers)) == len(numbers) and 250 < len(numbers) < 400
    assert (WEIGHT[numbers] > 0.0).all() and np.count_nonzero(codes == 2) > 50
    shares = np.bincount(codes, rows.weight) / rows.weight.sum()
    np.testing.assert_allclose(shares, np.bincount(CODES, WEIGHT) / WEIGHT.sum(), atol=0.05)
    assert shares[2] == pytest.approx(0.01, abs=0.004)
    assert rows.weight.sum() == pytest.approx(WEIGHT[numbers].sum())
    assert abs(numbers.mean() - N / 2) < 0.1 * N


def test_parts_of_a_known_number_of_rows_keep_their_share():
    known, unknown = ([RowSample(3, 3000, each=1, n_rows=n) for _ in range(10)] for n in (N, None))
    for parts in (known, unknown):
        for part, (start, stop) in zip(parts, pairwise(range(0, N + 1, N // 10)), strict=True):
            chunk = as_chunk(NUMBERED[start:stop], start)[0]
            part.add(chunk, CODES[start:stop], None, CODES[start:stop])
            part.finish()
    assert [len(part.drawn().key) for part in unknown] == [2000] * 10
    assert all(240 < len(part.drawn().key) < 400 for part in known)
    merged, expected = (sum(parts[1:], parts[0]).drawn(weighed=False) for parts in (known, unknown))
    np.testing.assert_array_equal(merged.key, expected.key)
    np.testing.assert_array_equal(drawn([0, 100], n_rows=100).key, drawn([0, 100]).key)


def test_rows_of_weight_0_take_no_places():
    masked, some = RowSample(3, 300), np.arange(N) % 50 == 0
    masked.add(as_chunk(NUMBERED)[0], CODES, some.astype(float), CODES)
    rows = masked.finish().drawn()
    assert len(rows.key) >= 300 and some[rows.X[:, 0].astype(int)].all()


def test_few_rows_are_all_kept_as_they_weigh():
    rows = drawn([0, 100])
    order = np.argsort(rows.X[:, 0])
    np.testing.assert_array_equal(rows.X[order, 0], np.flatnonzero(WEIGHT[:100] > 0.0))
    np.testing.assert_array_equal(rows.weight[order], WEIGHT[:100][WEIGHT[:100] > 0.0])


def test_heavy_rows_are_drawn_in_proportion_to_their_weights():
    weight = np.where(np.arange(N) % 100 == 7, 1000.0, np.where(CODES == 1, 0.5, 1.0))
    parts = [RowSample(3, 1000, each=1, n_rows=N, mean_weight=float(weight.mean())) for _ in range(4)]
    whole = RowSample(3, 1000, each=1, n_rows=N, mean_weight=float(weight.mean()))
    for sample, (start, stop) in zip([*parts, whole], [*pairwise(range(0, N + 1, N // 4)), (0, N)], strict=True):
        some = slice(start, stop)
        sample.add(as_chunk(NUMBERED[some], start)[0], CODES[some], weight[some], CODES[some])
        sample.finish()
    rows, merged = whole.drawn(), sum(parts[1:], parts[0]).drawn()
    np.testing.assert_array_equal(rows.key, merged.key)
    np.testing.assert_array_equal(rows.weight, merged.weight)
    heavy = rows.X[:, 0].astype(int) % 100 == 7
    assert heavy.sum() == N // 100 and len(heavy) in range(1000, 1010)  # a sample by rows has 10 of these 200
    np.testing.assert_allclose(rows.weight[heavy].sum() / rows.weight.sum(), 200_000.0 / weight.sum(), rtol=0.002)
    light = np.bincount(rows.labels.indices[~heavy], rows.weight[~heavy])
    expected = np.bincount(CODES[weight < 1000.0], weight[weight < 1000.0])
    np.testing.assert_allclose(light / light.sum(), expected / expected.sum(), atol=0.05)
