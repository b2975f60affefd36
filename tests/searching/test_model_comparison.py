"""What a comparison of models says: its table, notes and picture, and how often its intervals hold the truth."""

import matplotlib as mpl
import numpy as np
import pytest
from scipy.stats import norm

import streamnb as snb
from streamnb.evaluation.differences import Difference, of_decisions, of_means
from streamnb.passes.report import Report
from streamnb.searching.model_comparison import ModelComparison

mpl.use("Agg")
FOUND = [
    ("b", "accuracy", Difference(0.02, 0.01, 0.03, 0.01)),
    ("b", "brier", Difference(-0.1, -0.3, 0.1, 0.4)),
    ("c", "accuracy", Difference(0.2, 0.1, 0.3, 1e-9)),
]


def compared(found=FOUND, notes=()):
    evaluation = snb.evaluate([0, 1, 1], [0, 1, 0], interval=0.95)
    return ModelComparison(dict.fromkeys("abc", evaluation), found, Report(), list(notes))


def test_it_prints_as_a_table_that_says_how_p_values_are_corrected():
    assert repr(compared(notes=["a note"])).splitlines() == [
        "Differences from 'a' on the same 3 rows, 95 % intervals of independent rows",
        "             difference      low     high  p (Holm)",
        "b: accuracy     +0.0200  +0.0100  +0.0300    0.0200",
        "b: brier        -0.1000  -0.3000  +0.1000    0.4000",
        "c: accuracy     +0.2000  +0.1000  +0.3000   < .0001",
        "Lower is better: brier.",
        "a note",
        "P-values are corrected for 3 comparisons (Holm); each interval stands alone.",
    ]
    assert "Holm" not in repr(compared(FOUND[:1])) and "Lower" not in repr(compared(FOUND[:1]))
    html = compared()._repr_html_()
    assert "<caption>Differences from &#x27;a&#x27;" in html and "<td>+0.2000</td>" in html and "(Holm)" in html


def test_the_frame_and_the_picture_have_the_same_numbers():
    frame = compared().differences
    assert frame["p_adjusted"].tolist() == pytest.approx([0.02, 0.4, 3e-9])
    shown = compared().plot()
    assert shown.points_.get_xdata().tolist() == [0.02, 0.2] and shown.names == ["b", "c"]
    assert compared().plot("brier").value.tolist() == [-0.1]
    with pytest.raises(ValueError, match="metric='log_loss'"):
        compared().plot("log_loss")


def test_intervals_of_paired_differences_hold_the_truth():
    """Two models that are right about much the same rows; the first on 80 % of them, the second on 84 %."""
    rng, draws, n = np.random.default_rng(0), 600, 150
    sure = 0.6 * rng.normal(size=(2, draws, n)) + 0.8 * rng.normal(size=(draws, n))
    one, other = sure < norm.ppf([[[0.80]], [[0.84]]])
    counts = zip((other & ~one).sum(axis=1).tolist(), (one & ~other).sum(axis=1).tolist())
    found = [of_decisions(won, lost, float(n), 0.95) for won, lost in counts]
    assert 0.93 <= np.mean([each.low <= 0.04 <= each.high for each in found]) <= 0.98
    d = sure[1] ** 2 - sure[0] ** 2 + 0.1
    found = [of_means(each.sum(), (each**2).sum(), float(n), 0.95) for each in d]
    assert 0.93 <= np.mean([each.low <= 0.1 <= each.high for each in found]) <= 0.97
