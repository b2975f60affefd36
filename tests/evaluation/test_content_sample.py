"""A sample of rows by what they hold: the same for all cuts and orders, and each row equally likely."""

import numpy as np
import pytest
import scipy.sparse as sp

from streamnb.evaluation.content_sample import ContentSample


def rows(n=300, seed=0):
    rng = np.random.default_rng(seed)
    labels = sp.csr_array((rng.random((n, 4)) < 0.4).astype(np.uint8))
    return {"ranking": np.round(rng.normal(size=(n, 4)), 1), "labels": labels}, rng.integers(1, 4, n).astype(float)


def sampled(some, size=50, cuts=()):
    (parts, weight), sample = rows(), ContentSample(size)
    for piece in np.split(some, cuts):
        sample.add({name: part[piece] for name, part in parts.items()}, weight[piece])
    return sample


def shown(sample):
    sample.prune()
    return [sample.parts["ranking"].tolist(), sample.parts["labels"].toarray().tolist(), sample.weight.tolist()]


def test_it_does_not_depend_on_cuts_or_order():
    whole = shown(sampled(np.arange(300)))
    dense = ContentSample(50)
    dense.add({"labels": np.zeros(0, int), "ranking": np.zeros((0, 4))}, np.zeros(0))  # no row of a block is known
    assert not dense.parts
    assert len(whole[2]) == 50
    assert shown(sampled(np.arange(300)[::-1], cuts=[7, 8, 120, 299])) == whole
    merged = sampled(np.arange(200, 300)) + sampled(np.arange(120), cuts=[60]) + sampled(np.arange(120, 200))
    assert shown(merged) == whole


def test_rows_that_are_alike_are_one_row():
    (parts, weight), once = rows(), shown(sampled(np.arange(300)))
    sample = ContentSample(50)
    for _ in range(3):
        sample.add(parts, weight)
    assert shown(sample) == [*once[:2], [3.0 * w for w in once[2]]]
    sample = ContentSample(4)
    sample.add({"ranking": np.array([[0.0], [-0.0], [1.0]])}, np.ones(3))
    assert sample.prune().weight.tolist() in ([2.0, 1.0], [1.0, 2.0])


def test_every_row_is_equally_likely():
    values = np.arange(100_000.0)
    sample = ContentSample(4000)
    sample.add({"ranking": values[:, None], "labels": np.zeros(len(values), np.int64)}, np.ones(len(values)))
    held = sample.prune().parts["ranking"][:, 0]
    assert len(held) == 4000
    counts = np.histogram(held, 10, (0, len(values)))[0]
    assert ((counts - 400.0) ** 2 / 400.0).sum() < 27.9  # chi-squared, 9 degrees of freedom, once in a thousand


def test_it_is_restored():
    one, other = sampled(np.arange(300)), ContentSample(50)
    other.restore(one._to_state())
    assert shown(other) == shown(one) and shown(other + sampled(np.arange(9))) == shown(one + sampled(np.arange(9)))
    for name, wrong in (("weight", np.ones(3)), ("key", np.zeros(50)), ("limit", np.zeros(2, np.int64))):
        with pytest.raises(ValueError, match="should"):
            ContentSample(50).restore({**one._to_state(), name: wrong})
