"""Pictures of a page."""

import re

import numpy as np
import pytest

import streamnb as snb
from streamnb.reporting.describing import described
from streamnb.reporting.facts import Facts
from streamnb.reporting.judging import judged
from streamnb.reporting.pictures import pictures
from tests.reporting.conftest import rows


def test_pictures_of_two_classes(two):
    model, others = two
    facts = Facts(described(model), judged(model.evaluate(others, "late")))
    found = pictures(model, facts)
    assert [one.heading for one in found["judged"]] == [
        "ROC curve",
        "Precision and recall",
        "Reliability",
        "Scores for “yes”",
    ]
    assert len(found["features"]) == len(found["choice"]) == 1
    names = [name for some in found.values() for one in some for name in re.findall(r' id="([^"]+)"', one.drawing.svg)]
    assert len(names) == len(set(names)) > 0
    assert all(one.description and one.drawing.svg.startswith("<svg") for some in found.values() for one in some)


@pytest.mark.parametrize("interactions", [0, [("age", "city")]])
def test_terms_have_a_picture_each(interactions):
    model = snb.AdditiveClassifier(interactions, l2=1.0, pair_factor=1.0, folds=2).fit(rows(), "late")
    found = pictures(model, Facts(described(model), None))
    assert len(found["features"]) == len(model.terms_) and not found["judged"]


@pytest.mark.parametrize(
    ("ward", "finding"),
    [
        (lambda late: np.where(late == "no", 0, 1), "ward = 1 is most clearly worse"),
        (lambda late: np.arange(len(late)) % 2, "No slice is clearly worse"),
        (lambda late: np.arange(len(late)) % 97, "No slice is clearly worse"),  # each of few rows
    ],
)
def test_slices_are_called_the_worst_where_they_are(two, ward, finding):
    model, others = two
    facts = Facts(described(model), judged(model.evaluate(others, "late", by={"ward": ward(others["late"])})))
    (found,) = pictures(model, facts)["slices"]
    assert finding in found.drawing.finding
