"""What intervals are computed from: the same for all cuts and orders, in files, and for any type of groups."""

import numpy as np
import pytest
import scipy.sparse as sp

import streamnb as snb
from streamnb.core.persistence import load
from streamnb.evaluation.intervals import ESTIMATES
from streamnb.evaluation.tallies import ContentSample
from tests.support.influence import drawn, judged

SETS = {"hamming_loss", "jaccard", "ranking_loss", "subset_accuracy"}


def intervals(one):
    names = ESTIMATES.keys() - (set() if one.multilabel else SETS)
    if one.multilabel:
        names -= {"balanced_accuracy", "matthews_corrcoef", "cohen_kappa", "precision", "recall", "specificity"}
        names -= {"f_score"}
    averages = {"precision", "recall", "specificity", "f_score"} & names
    return {name: one.interval(name, *(["macro"] if name in averages else [])) for name in names}


@pytest.mark.parametrize("multilabel", [False, True])
@pytest.mark.parametrize("grouped", [False, True])
def test_intervals_have_the_same_bits_for_all_cuts(multilabel, grouped, tmp_path):
    made, labels, outputs = drawn(8, n=200, multilabel=multilabel, interval=0.95, grouped=grouped, exact_rows=90)
    groups = np.arange(200) % 37 if grouped else None
    whole = judged(made, labels, outputs, None, groups)
    cut = judged(made, labels, outputs, None, groups, cuts=[1, 2, 95, 150])

    def part(some):
        parts = {name: part[some] for name, part in outputs.items()}
        return judged(made, labels[some], parts, None, None if groups is None else groups[some])

    merged = part(slice(120, 200)) + (part(slice(0, 30)) + part(slice(30, 120)))
    assert intervals(cut) == intervals(whole) == intervals(merged)
    assert str(whole) == str(merged)
    whole.save(tmp_path / "e.snb")
    loaded = load(tmp_path / "e.snb")
    assert intervals(loaded) == intervals(whole) and str(loaded) == str(whole)
    assert intervals(loaded + part(slice(0, 50))) == intervals(whole + part(slice(0, 50)))


def test_groups_are_the_same_whatever_holds_them():
    made, labels, outputs = drawn(9, interval=0.95, grouped=True)
    numbers = np.arange(60) // 4
    found = [
        intervals(judged(made, labels, outputs, None, groups))
        for groups in (numbers, numbers.astype(np.int8), numbers.astype(np.uint32))
    ]
    assert found[0] == found[1] == found[2]
    names = np.array([f"patient {k}" for k in numbers])
    text = [intervals(judged(made, labels, outputs, None, each)) for each in (names, names.astype(object))]
    assert text[0] == text[1]


def test_of_rows_that_are_groups_intervals_are_nearly_those_of_rows():
    made, labels, outputs = drawn(10, n=4000, interval=0.95)
    alone = intervals(judged(made, labels, outputs))
    together = intervals(judged({**made, "grouped": True}, labels, outputs, None, np.arange(4000)))
    for name, (low, high) in alone.items():
        assert np.diff(together[name])[0] == pytest.approx(high - low, rel=0.25), name


def test_repeated_rows_in_groups_say_no_more_than_once():
    made, labels, outputs = drawn(11, n=100, interval=0.95, K=2)
    twice = np.repeat(np.arange(100), 5)
    repeated = {name: part[twice] for name, part in outputs.items()}
    once = judged({**made, "grouped": True}, labels, outputs, None, np.arange(100))
    more = judged({**made, "grouped": True}, labels[twice], repeated, None, twice)
    for name, ends in intervals(once).items():
        assert intervals(more)[name] == pytest.approx(ends, rel=1e-9), name


def test_bad_groups_and_levels():
    made, labels, outputs = drawn(12, interval=0.95, grouped=True)
    one = snb.Evaluation(**made)
    with pytest.raises(ValueError, match="groups is missing"):
        one.add(labels, **outputs)
    with pytest.raises(ValueError, match="groups should have one entry"):
        one.add(labels, **outputs, groups=[1, 2, 3])
    assert one.n_rows == 0
    for wrong in (0.0, 1.0, 95, -0.5):
        with pytest.raises(ValueError, match=r"interval=.* should be between 0 and 1, such as 0.95"):
            snb.Evaluation(2, interval=wrong)
    with pytest.raises(TypeError, match="interval=True should be a number"):
        snb.Evaluation(2, interval=True)
    with pytest.raises(ValueError, match=r"groups= needs intervals; give interval=0.95"):
        snb.Evaluation(2, grouped=True)
    with pytest.raises(ValueError, match=r"these differ in interval: 0.9 and None"):
        snb.Evaluation(2, interval=0.9) + snb.Evaluation(2)


# ---- samples: the same for all cuts and orders, and each row equally likely ------------------------------------------


def rows(n=300, seed=0):
    rng = np.random.default_rng(seed)
    labels = sp.csr_array((rng.random((n, 4)) < 0.4).astype(np.uint8))
    return {"ranking": np.round(rng.normal(size=(n, 4)), 1), "labels": labels}, rng.integers(1, 4, n).astype(float)


EMPTY = {"ranking": np.zeros((0, 4)), "labels": sp.csr_array((0, 4), dtype=np.uint8)}


def sampled(some, size=50, cuts=()):
    (parts, weight), sample = rows(), ContentSample(size, EMPTY)
    for piece in np.split(some, cuts):
        sample.add({name: part[piece] for name, part in parts.items()}, weight[piece])
    return sample


def test_every_row_is_equally_likely():
    values = np.arange(100_000.0)
    sample = ContentSample(4000, {"ranking": values[:0]})
    sample.add({"ranking": values}, np.ones(len(values)))
    held = sample.prune().parts["ranking"]
    assert len(held) == 4000
    counts = np.histogram(held, 10, (0, len(values)))[0]
    assert ((counts - 400.0) ** 2 / 400.0).sum() < 27.9  # chi-squared, 9 degrees of freedom, once in a thousand


def test_samples_of_damaged_files_are_refused():
    state = sampled(np.arange(300)).arrays()
    indices, indptr, _ = state["parts"]["labels"]
    for wrong in ({"weight": np.ones(3)}, {"parts": {**state["parts"], "labels": [indices, indptr, 5]}}):
        with pytest.raises(ValueError, match="should"):
            ContentSample(50, EMPTY).of_arrays({**state, **wrong})
