"""Settings: every combination that can be, in words, and those that take no penalty once."""

import numpy as np
import pytest

import streamnb as snb
from streamnb.evaluation.scorers import as_scorer
from streamnb.searching.axes import DEFAULTS, checked, settings_of
from streamnb.searching.contest import Judging


def settings(scoring="accuracy", **asked):
    return settings_of(
        checked({**dict.fromkeys(DEFAULTS), **asked}), Judging(5, 5, None, 0, scoring, as_scorer(scoring))
    )


def test_by_default_each_family_is_judged_plain_and_under_l1():
    found, left_out = settings()
    assert len(found) == 6 and not left_out
    assert [one.name for one in found[:2]] == ["multinomial", f"multinomial, {DEFAULTS['penalties'][1]!r}"]
    assert {one.rows.transform for one in found} == {None}


def test_the_settings_are_the_product_of_the_lists():
    found, _ = settings(transforms=[None, ("l1", "sqrt")], idf=[True], smoothing=[0.5, 2.0], families=["poisson"])
    assert len(found) == 8 and found[-1].rows.transform == ("l1", "sqrt")
    assert found[-1].options == {"scheme": "joint", "smoothing": 2.0, "idf": True}
    assert found[-1].name.endswith("smoothing=2.0, transform=('l1', 'sqrt'), idf=True")


@pytest.mark.parametrize("covariance", ["own", "full"])
def test_what_takes_neither_penalty_nor_smoothing_stands_there_once(covariance):
    family = snb.Gaussian(covariance=covariance)
    found, _ = settings(families=[family], smoothing=[0.5, 2.0], penalties=[snb.L1(0.1), snb.L2(1.0)])
    assert len(found) == 1 and found[0].penalty is None


def test_what_cannot_be_is_left_out_with_its_reason():
    found, left_out = settings("neg_log_loss", families=["poisson"], schemes=["joint", "ovo"], penalties=[None])
    assert [one.name for one in found] == ["poisson"] and "probabilities" in left_out["poisson, scheme=ovo"]


def test_columns_of_mixed_families_may_have_names():
    mixed = snb.Mixed({"poisson": ["a"], "gaussian": ...})
    (found,), _ = settings(families=[mixed], penalties=[None])
    assert found.on(np.array(["b", "a"], object), None).family.parts(2)[0][1] == slice(1, 2)


def test_transforms_that_are_learned_stand_by_themselves():
    asked = checked({**dict.fromkeys(DEFAULTS), "transforms": [None, snb.Bins(4), "quantile_normal", "sqrt"]})
    assert asked["transforms"] == [None, "sqrt"] and len(asked["learned"]) == 2
