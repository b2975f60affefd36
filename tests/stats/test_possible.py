"""Rows that go: each request once, and no rows that were never there, as far as sums can tell."""

import pickle
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import streamnb as snb
from streamnb.stats.complements import Slack, weight_outside
from streamnb.stats.tables import SparseTable

X, Y = np.array([[1.0], [3.0], [3.0]]), np.array([0, 1, 0])


def outcome(model):
    sums = {name: getattr(model.stats_, name).tolist() for name in model.stats_.moments}
    return model.classes_.tolist(), model.stats_.n_rows, model.forgotten_, sums


# ------------------------------------------------------------------------------------------- rows that are not there


TWICE = r"never added: a sum\w* is left without any weight \(class 0, feature 0\)"


@pytest.mark.parametrize("family", ["multinomial", "poisson", "gaussian"])
def test_a_row_does_not_go_twice_where_sums_tell(family):
    model = snb.LinearNB(family).fit(X, Y).forget(X[:1], [0])
    before = outcome(model)
    with pytest.raises(ValueError, match=TWICE):
        model.forget(X[:1], [0])
    assert outcome(model) == before


def test_nor_out_of_sparse_tables():
    rows = sp.csr_array(np.pad(X, ((0, 0), (0, 5000))))
    whole, row = (snb.scan(rows[:n], Y[:n], memory_limit="20 kB") for n in (3, 1))
    assert isinstance(whole.table("sum"), SparseTable)
    with pytest.raises(ValueError, match=TWICE):
        _ = whole - row - row


IMPOSSIBLE = {
    "squares below 0": ([1, 2, 2], [5], ["sum_sq"], "a sum_sq of what is left is below 0"),
    "too small squares": ([3, 3, 4], [1, 5], ["sum", "sum_sq"], "the sum_sq of what is left is too small for its sum"),
    "squares of no value": ([0, 1, 3], [1, 1], ["nonzero", "sum_sq"], "a sum_sq is left where no value is"),
    "a sum of no value": ([0, 3], [2], ["sum", "nonzero"], "a sum is left where no value is"),
    "more values than rows": ([1, 1], [0], ["nonzero"], "the nonzero of what is left is above the weight"),
    "more large values": ([1, 1], [0], ["above"], "the above of what is left is above the weight"),
    "a sum below 0": ([1, 2], [4], ["sum"], "a sum of what is left is below 0"),
    "a sum alone": ([1, 2], [1, 1], ["sum"], "a sum is left without any weight"),
    "a reciprocal": ([2, 2, 2], [2.5, 1.5], ["sum", "inv_sum"], "the inv_sum of what is left is too small"),
    "a distance": ([-1, 3, 3], [-2], ["sum", "deviation"], "the deviation of what is left is too small"),
}


@pytest.mark.parametrize("case", IMPOSSIBLE)
def test_sums_that_no_rows_have_are_refused_by_class_and_feature(case):
    rows, gone, moments, message = IMPOSSIBLE[case]
    stats = [snb.scan(np.array([[1.0, x] for x in part]), ["a"] * len(part), moments=moments) for part in (rows, gone)]
    with pytest.raises(ValueError, match=message + r".*\(class 'a', feature 1\)"):
        _ = stats[0] - stats[1]


def test_labels_of_an_indicator_are_looked_at_too():
    labels = np.array([[1, 0], [1, 1], [0, 1]])
    model = snb.LinearNB("poisson").fit(X, labels).forget(X[:1], labels[:1])
    with pytest.raises(ValueError, match=r"never added|more rows of class"):
        model.forget(np.array([[6.5]]), [[0, 0]])  # of all rows, 6 are left


@pytest.mark.parametrize("gamma", [1.0, 0.5])
def test_rows_that_were_there_always_go(gamma):
    """No moment is so close to its bound that rounding refuses rows that were there."""
    rng = np.random.default_rng(0)
    x = rng.lognormal(size=(40, 6)) * (rng.random((40, 6)) < 0.7)
    x[:, 5] = 0.1  # whose squares are as small as its sum allows
    y, w = rng.integers(0, 2, 40), 2.0 ** rng.uniform(-1, 1, 40)
    options = {"moments": ["sum", "sum_sq", "nonzero", "above", "deviation"], "classes": [0, 1]}
    left = snb.scan(x, y, sample_weight=w, **options) * gamma
    for i in rng.permutation(40):
        left = left - snb.scan(x[[i]], y[[i]], sample_weight=w[[i]], **options) * gamma
    assert left.n_rows == 0 and not left.weight.any() and not left.sum_sq.any()


@pytest.mark.slow
@pytest.mark.parametrize(("sigma", "width", "weighted"), [(2.0, 3, True), (4.0, 3, False), (4.0, 20, True)])
def test_windows_over_values_of_any_size_are_those_of_fresh_scans(sigma, width, weighted):
    """Squares of float64 have 106 digits, and those of lognormal(4) lie 2^90 apart: nothing of them is rounded."""
    rng = np.random.default_rng(int(sigma) + width)
    x = rng.lognormal(sigma=sigma, size=(50 + width, 4)) * (rng.random((50 + width, 4)) < 0.7)
    y, w = rng.integers(0, 2, len(x)), rng.uniform(0.5, 2.0, len(x)) if weighted else np.ones(len(x))

    def scanned(first, stop, rows=x):
        some = slice(first, stop)
        return snb.scan(rows[some], y[some], sample_weight=w[some], classes=[0, 1], moments=["sum", "sum_sq", "above"])

    window, sparse = scanned(0, width), scanned(0, width, sp.csr_array(x))
    for i in range(50):
        window = window + scanned(i + width, i + width + 1) - scanned(i, i + 1)
        sparse = sparse - scanned(i, i + 1, sp.csr_array(x)) + scanned(i + width, i + width + 1, sp.csr_array(x))
    fresh = scanned(50, 50 + width)
    for found in (window, sparse):
        for name in ("weight", "sum", "sum_sq", "above"):
            assert np.array_equal(getattr(found, name), getattr(fresh, name))
        assert np.array_equal(found.scatter(), fresh.scatter())


def test_squares_of_float32_of_any_size_do_not_depend_on_cuts():
    rng = np.random.default_rng(0)
    x, y = rng.uniform(1, 2, (256, 16)).astype(np.float32), np.zeros(256, int)
    x[::2] *= np.float32(3e13)
    whole, large, small = (snb.scan(rows, y[: len(rows)]) for rows in (x, x[::2], x[1::2]))
    assert np.array_equal((whole - large).sum_sq, small.sum_sq)
    assert np.array_equal((snb.scan(x[:100], y[:100]) + snb.scan(x[100:], y[100:])).sum_sq, whole.sum_sq)


def test_deviations_under_real_weights_are_taken_away_whole():
    rng = np.random.default_rng(0)
    parts = [(rng.random((9, 40)), rng.uniform(0.1, 3.0, 9)) for _ in range(2)]
    options = {"moments": ["deviation", "above"], "centre": 0.3, "binarize": -1.0}
    a, b = (snb.scan(x, np.zeros(9, int), sample_weight=w, **options) for x, w in parts)
    for name in ("deviation", "above"):
        assert np.array_equal(getattr(a + b - b, name), getattr(a, name))
    tiny = snb.scan(np.array([[0.5], [-2.0], [3.0]]), [0, 0, 0], sample_weight=np.full(3, 1e-290), binarize=-1.0)
    assert tiny.above[0, 0] == pytest.approx(2e-290, rel=1e-15)


def test_rows_of_an_indicator_may_have_negative_values():
    a, b = (snb.scan(np.array([[x]]), np.array([[1, 0]])) for x in (-1.0, 2.0))
    assert (a + b - b).sum.tolist() == a.sum.tolist()
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(30, 3)), (rng.random((30, 2)) < 0.5).astype(int)
    assert snb.LinearNB("gaussian").partial_fit(x, y).forget(x[:5], y[:5]).stats_.n_rows == 25


def test_sums_beside_a_tie_do_not_depend_on_cuts():
    values = np.array([2.0**46] * 512 + [8.0, 3.0, 1 - 2.0**-51])[:, None]
    whole, *parts = (snb.scan(x, np.zeros(len(x), int)) for x in (values, values[:512], values[512:]))
    assert (parts[0] + parts[1]).sum == whole.sum == float(sum(map(Fraction, values[:, 0])))


def test_faded_sums_are_taken_away_whole():
    rng = np.random.default_rng(0)
    a, b = (snb.scan(rng.uniform(1, 2, (n, 500)), np.zeros(n, int)) for n in (50, 3))
    left = (a * 0.9 + b) - a * 0.9
    assert np.array_equal(left.sum, b.sum) and np.array_equal(left.sum_sq, b.sum_sq)
    small = snb.scan(np.array([[1e-146, 2e-147]]), [0])
    assert (small * 1.0).sum_sq.tolist() == small.sum_sq.tolist()


def test_what_was_scaled_keeps_the_digits_of_a_pair():
    rng = np.random.default_rng(0)
    x, y = rng.lognormal(size=(30, 3)), np.arange(30) % 2
    stats = [snb.scan(x[some], y[some]) for some in (slice(20), slice(20, 30))]
    both, halved = (stats[0] + stats[1]) * 0.3, (stats[0] + stats[1]) * 0.5
    assert both.tables["sum_sq"].rounded and not halved.tables["sum_sq"].rounded
    left = both - stats[1] * 0.3
    np.testing.assert_allclose(left.sum_sq, (stats[0] * 0.3).sum_sq, rtol=1e-15)
    assert not (left - stats[0] * 0.3).sum_sq.any()
    assert np.array_equal((halved - stats[1] * 0.5).sum_sq, 0.5 * stats[0].sum_sq)


# ------------------------------------------------------------------------------------------------------- the ledger


def fitted():
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 5, (40, 3)).astype(float), np.arange(40) % 2
    return snb.LinearNB("poisson").fit(x, y), x, y


def test_a_request_is_forgotten_once():
    model, x, y = fitted()
    assert model.forgotten_ == ()
    model.forget(x[:3], y[:3], key="request 17").forget(x[3:5], y[3:5]).forget(x[5:6], y[5:6], key=18)
    assert model.forgotten_ == ("request 17", 18)
    before = outcome(model)
    for rows in (slice(0, 3), slice(8, 9)):  # whatever the rows
        with pytest.raises(ValueError, match=r"key='request 17' was forgotten before, as request 1 of 2"):
            model.forget(x[rows], y[rows], key="request 17")
    assert outcome(model) == before
    assert outcome(model.forget(x[8:9], y[8:9], key="18"))[2] == ("request 17", 18, "18")


def test_what_is_refused_does_not_enter_the_ledger():
    model, x, y = fitted()
    with pytest.raises(ValueError, match="never added"):
        model.forget(x[:3] + 1e9, y[:3], key="a")
    assert model.forgotten_ == ()
    model.forget(x[:3], y[:3], key="a")


@pytest.mark.parametrize("key", [True, 1.5, "", b"17", ("a", 1)])
def test_a_key_is_a_name_or_a_number(key):
    model, x, y = fitted()
    with pytest.raises(TypeError, match=r"key=.* should be the name of a request to forget rows, a str or an int"):
        model.forget(x[:1], y[:1], key=key)


def test_the_ledger_stays_with_the_model_until_it_is_fitted_anew(tmp_path):
    model, x, y = fitted()
    model.forget(x[:3], y[:3], key="a").refit(smoothing=2.0).partial_fit(x[:3], y[:3])
    assert model.forgotten_ == ("a",) and "forgotten_" not in model.get_params()
    model.save(tmp_path / "model.snb")
    for again in (snb.load(tmp_path / "model.snb"), pickle.loads(pickle.dumps(model))):
        assert again.forgotten_ == ("a",)
        with pytest.raises(ValueError, match="key='a' was forgotten before"):
            again.forget(x[:3], y[:3], key="a")
    assert clone(model).forgotten_ == ()
    with pytest.raises(ValueError, match="one class only"):
        model.fit(x, np.zeros(40))  # a fit that fails changes nothing
    assert model.forgotten_ == ("a",)
    assert model.fit(x, y).forgotten_ == ()


@pytest.mark.parametrize("model", [snb.MultinomialNB(), snb.GaussianNB(), snb.CategoricalNB()], ids=str)
def test_other_estimators_keep_one_too(model, tmp_path):
    _, x, y = fitted()
    model.fit(x, y).forget(x[:1], y[:1], key="a").save(tmp_path / "model.snb")
    with pytest.raises(ValueError, match="key='a' was forgotten before"):
        snb.load(tmp_path / "model.snb").forget(x[1:2], y[1:2], key="a")


def test_files_without_a_ledger_have_an_empty_one():
    model, _, _ = fitted()
    state = model._to_state()
    assert "forgotten_" not in state["fitted"]
    assert snb.LinearNB._from_state(state).forgotten_ == ()
    state["fitted"]["forgotten_"] = ("a", "a")
    with pytest.raises(ValueError, match="key='a' was forgotten before"):
        snb.LinearNB._from_state(state)


def test_all_rows_go_block_by_block_whatever_their_sizes():
    rng = np.random.default_rng(0)
    rows = (rng.normal(size=(400, 8)) * 10.0 ** rng.uniform(-12, 12, size=(400, 8))).astype(np.float32)
    scans = [snb.scan(rows[i : i + 50], np.arange(50) % 2, moments=("sum", "sum_sq")) for i in range(0, 400, 50)]
    left = snb.scan(rows, np.arange(400) % 2, moments=("sum", "sum_sq")) - sum(scans[1:], scans[0])
    assert left.n_rows == 0 and not left.weight.any()


# ---- What is left without a class, or below an upper bound, keeps its digits, however small it is --------------------


@pytest.mark.parametrize("heavy", [1.0, 1e6, 1e12, 1e16])
def test_the_weight_outside_a_class(heavy):
    weight = np.array([heavy, 0.1, 0.2, 0.3])
    stats = snb.scan(np.ones((4, 1)), [0, 1, 1, 2], sample_weight=weight)
    exact = [sum(Fraction(w) for w, k in zip(weight, [0, 1, 1, 2]) if k != one) for one in range(3)]
    np.testing.assert_allclose(weight_outside(stats), [float(e) for e in exact], rtol=1e-15)


@pytest.mark.parametrize("labels", [[0, 0, 1, 1, 2], np.array([[1, 0], [1, 1], [0, 1], [0, 1], [0, 0]])])
def test_slack_is_that_of_fractions(labels):
    x, weight = np.array([[3.0, 1.0], [3.0, 3.0], [3.0, 2.0], [0.0, 3.0], [3.0, 3.0]]), [1e16, 0.1, 0.7, 1e-9, 1e12]
    stats = snb.scan(x, labels, sample_weight=weight)
    labels = np.asarray(labels)
    member = labels == 1 if labels.ndim == 2 else labels[:, None] == np.arange(3)

    def exactly(rows):
        return [float(sum((Fraction(weight[i]) * Fraction(3.0 - x[i, j]) for i in rows), Fraction())) for j in (0, 1)]

    for table in (stats, stats.with_tables(SparseTable.of)):
        slack, K = Slack(table, "sum", 3.0, np.array([0, 1])), member.shape[1]
        assert slack.sums().tolist() == [exactly(np.flatnonzero(member[:, k])) for k in range(K)]
        np.testing.assert_allclose(slack.total, exactly(range(5)), rtol=1e-15)
        classes = np.repeat(np.arange(K), 2)
        outside = slack.outside(np.tile([0, 1], K), classes).reshape(K, 2)
        np.testing.assert_allclose(outside, [exactly(np.flatnonzero(~member[:, k])) for k in range(K)], rtol=1e-15)
