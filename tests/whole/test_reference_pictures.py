"""Every page of an estimator in the reference has a picture, which its code draws."""

import inspect
import re
import sys
from pathlib import Path

import pytest

import streamnb as snb
from streamnb.selection.feature_ranking import FeatureSearch

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def pictures():
    sys.path.insert(0, str(DOCS))
    yield pytest.importorskip("pictures")
    sys.path.remove(str(DOCS))


def public_classes():
    found = {name: getattr(snb, name) for name in snb.__all__}
    return {name: one for name, one in found.items() if inspect.isclass(one)}


def test_every_estimator_every_search_and_every_display_has_a_picture(pictures):
    wanted = {
        name
        for name, one in public_classes().items()
        if (hasattr(one, "fit") and (hasattr(one, "predict") or hasattr(one, "get_support")))
        or issubclass(one, FeatureSearch)
        or name.endswith("Display")
    }
    assert len(wanted) > 45 and sorted((wanted | {"Search"}) - pictures.CODE.keys()) == []
    assert pictures.CODE.keys() <= public_classes().keys()


def test_the_code_uses_what_the_page_is_about(pictures):
    by_another = {"Ridge", "Lasso", "ElasticNet"}  # the path of each is drawn by ElasticNetCV
    uses = {"Search": "search", "Evaluation": "evaluate", "ModelComparison": "compare_models"}
    uses |= {"FeatureRanking": "rank_features", "SearchDisplay": "plot", "DifferencesDisplay": "plot"}
    for name, code in pictures.CODE.items():
        assert re.search(rf"\b{uses.get(name, name)}\b", code) or name in by_another


@pytest.mark.slow
def test_pictures_are_small_and_have_the_colours_of_the_page(pictures):
    pictures.matplotlib.use("agg")
    for name in pictures.CODE.keys() - pictures.OF_DISPLAYS.keys():
        drawn = pictures.picture(name)
        assert len(drawn) < 44_000, name  # paths of regressions have some hundred points
        assert drawn.count("<figure") == 1 and '<svg role="img" aria-label="' in drawn
        assert "var(--" in drawn or "currentColor" in drawn
