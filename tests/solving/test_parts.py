"""What (6.2) needs to know of the data: sums of both sides, counts and dispersion, whole and in blocks."""

import numpy as np
import pytest

import streamnb as snb
from streamnb.problem.families import as_family
from streamnb.problem.penalties import Pull
from streamnb.problem.schemes import as_scheme
from streamnb.problem.smoothing import Smoothing
from streamnb.solving import parts
from streamnb.solving.parts import FeatureBlock, Part
from streamnb.stats.sparse_tables import SparseTable

rng = np.random.default_rng(0)
Y = rng.integers(0, 4, 40)
X = rng.poisson(0.7 + (Y[:, None] == np.arange(9) % 4)).astype(float)
X[:, 5] = 0.0
STATS = snb.scan(X, Y)
EVERY = slice(None)
SUMS, COUNTS = np.stack([X[k == Y].sum(axis=0) for k in range(4)]), np.bincount(Y).astype(float)


def part(family="poisson", stats=STATS, columns=EVERY, scheme="ovr", smoothing=0.0, idf=False, estimate=None):
    family = as_family(family)
    if columns == EVERY:
        columns = slice(0, stats.n_features)
    smoothing = Smoothing(family, smoothing, estimate or "posterior_mean")
    return Part(stats, family, columns, as_scheme(scheme, stats.classes, None, stats.multilabel), smoothing, idf)


def test_sides_are_sums_and_counts():
    sides = part(smoothing=0.5).sides()
    mean = X.mean(axis=0)
    np.testing.assert_allclose(sides.positive, SUMS + 0.5 * mean)
    np.testing.assert_allclose(sides.negative, SUMS.sum(axis=0) - SUMS + 0.5 * mean)
    np.testing.assert_allclose(sides.n_positive[:, 0], COUNTS + 0.5)
    np.testing.assert_allclose(sides.n_negative[:, 0], 40.0 - COUNTS + 0.5)
    counted = part("multinomial", smoothing=1.0).sides()  # counts of a coupled family are lengths of texts
    np.testing.assert_allclose(counted.n_positive[:, 0], SUMS.sum(axis=1) + 9.0)


def test_idf_multiplies_columns():
    weighted = part(idf=True)
    df = np.count_nonzero(X, axis=0)
    np.testing.assert_allclose(weighted.scale, np.log(41.0 / (1.0 + df)) + 1.0)
    np.testing.assert_allclose(weighted.sides().positive, SUMS * weighted.scale)
    assert part().scale is None


@pytest.mark.parametrize("sparse", [False, True])
def test_blocks_put_together_are_the_whole(sparse, monkeypatch):
    monkeypatch.setattr(parts, "BLOCK", 8)
    monkeypatch.setattr(parts, "CLASSES_BLOCK", 18)
    stats = STATS.with_tables(SparseTable.of) if sparse else STATS
    whole, cut = part(smoothing=1.0), part(stats=stats, smoothing=1.0)
    weights = whole.of_rows(EVERY)[1].solved(Pull(l1=0.5))[0]
    assert len(cut.blocks) == 5 and len(cut.groups(range(4))) == 4
    for block in cut.blocks:
        np.testing.assert_array_equal(block.equations().solved(Pull(l1=0.5))[0], weights[:, block.columns])
    for rows in cut.groups([0, 1, 3]):
        np.testing.assert_array_equal(cut.of_rows(rows)[1].solved(Pull(l1=0.5))[0], weights[rows])
    block = FeatureBlock(cut, np.array([7, 2]), slice(1, 3))
    assert block.n_rows == 2 and block.columns.tolist() == [7, 2]
    np.testing.assert_array_equal(block.equations().solved(Pull(l1=0.5))[0], weights[1:3][:, [7, 2]])


def test_rows_are_taken_together_as_long_as_they_are_few_sums(monkeypatch):
    monkeypatch.setattr(parts, "BLOCK", 18)  # two rows of nine features
    assert part().groups([0, 1, 2, 3]) == [slice(0, 2), slice(2, 4)]
    assert part().groups([0, 2, 3]) == [slice(0, 1), slice(2, 4)] and part().groups([]) == []


def test_features_are_numbered_among_all():
    some, numbers = part(columns=slice(3, 8)), np.array([1, 4, 8])
    assert some.n_features == 5 and some.globally(slice(1, 3)) == slice(4, 6) and some.globally(EVERY) == slice(3, 8)
    assert some.globally(np.array([4, 0])).tolist() == [7, 3]
    chosen = Part(STATS, as_family("poisson"), numbers, as_scheme("ovr", STATS.classes), part()._smoothing, False)
    assert chosen.globally(slice(1, 3)).tolist() == [4, 8]
    np.testing.assert_array_equal(chosen.sides().positive, SUMS[:, numbers])


def test_cells_at_hand_are_those_of_the_table():
    sparse = part(stats=STATS.with_tables(SparseTable.of), smoothing=1.0)
    columns = np.array([5, 2, 7])
    classes, local, sums = sparse.cells(columns)
    np.testing.assert_array_equal(sums, SUMS[classes, columns[local]])
    assert len(sums) == np.count_nonzero(SUMS[:, columns])
    listed = sparse.equations_of_cells(columns[local], classes, sums).solved(Pull(l1=0.3))[0][0]
    np.testing.assert_allclose(listed, sparse.of_rows(EVERY)[1].solved(Pull(l1=0.3))[0][classes, columns[local]])


def test_classes_of_one_kind_differ_in_their_sums_alone():
    stats = snb.scan(X[:9], [0, 1, 0, 2, 3, 1, 2, 3, 3], classes=range(6))  # of weight 2, 2, 2, 3, 0, 0
    first, kind = part(stats=stats).kinds
    assert len(first) == 3 and kind[0] == kind[1] == kind[2] and kind[4] == kind[5] and (kind[first] == [0, 1, 2]).all()
    assert part().known_by_kind(Pull(l1=1.0)) and part("multinomial").known_by_kind(Pull())
    assert not part("multinomial").known_by_kind(Pull(l1=1.0)) and not part(scheme="ovo").known_by_kind(Pull())


def test_each_label_of_an_indicator_has_its_own_dispersion():
    labels = np.stack([Y == 0, X[:, 1] > 1], axis=1).astype(int)
    shared, each = part("gaussian"), part("gaussian", snb.scan(X, labels))
    assert shared.phi().shape == (9,) and each.phi().shape == (2, 9)
    for k in range(2):
        own = part("gaussian", snb.scan(X, labels[:, k]))
        np.testing.assert_allclose(each.phi(slice(2, 6), slice(k, k + 1))[0], own.phi(slice(2, 6)))


class Tumbling(snb.Poisson):
    name = "falling link"

    def link(self, m):
        return -m


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: part(stats=snb.scan(-X, Y)), "Negative values .*family='poisson'"),
        (lambda: part(stats=snb.scan(-X, Y), columns=slice(2, 4)), r"feature 2 has a sum below 0 in class 0"),
        (
            lambda: part("bernoulli", idf=True),
            "idf=True means nothing for family='bernoulli', which sees presence only",
        ),
        (lambda: part(snb.Binomial(1)), r"family=Binomial\(k=1\) takes values of at most 1, but feature 0 has a mean"),
        (lambda: part(Tumbling()), "link that falls between the means"),
        (
            lambda: part("chi_squared", snb.scan(X, Y, moments=["log_sum"])),
            "takes values above 0, but feature 0 has others",
        ),
        (lambda: part(snb.Laplace(2.0), snb.scan(X, Y, moments=["deviation"])), "needs deviations from its centre"),
        (lambda: part("multinomial", smoothing=snb.DirichletPrior(0.5), estimate="map"), "has no mode"),
    ],
)
def test_data_that_do_not_go_with_the_family(wrong, message):
    with pytest.raises(ValueError, match=message):
        wrong()
