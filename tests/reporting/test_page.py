"""The page: nothing of data becomes markup, and everything can be read."""

import html
import json
import re
from itertools import combinations

import numpy as np
import pandas as pd
import pytest

import streamnb as snb
from streamnb.reporting.describing import described
from streamnb.reporting.facts import Facts
from streamnb.reporting.judging import judged
from streamnb.reporting.pictures import pictures
from streamnb.reporting.report import HERE
from tests.reporting.conftest import HOSTILE, NAMES, rows, several

CSS = (HERE / "page.css").read_text()
SCHEMES = [
    dict(re.findall(r"--([\w]+): (#[0-9a-f]{6})", block)) for block in re.findall(r":root \{(.*?)\}", CSS, re.DOTALL)
]
LARGEST = 3_000_000  # bytes of a page


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """The page of a model whose classes and columns have hostile names, and slices by one of them."""
    X, y = several(n_classes=5)
    frame, labels = pd.DataFrame(X, columns=NAMES), np.array(NAMES)[y]
    path = tmp_path_factory.mktemp("page") / "report.html"
    snb.report(snb.LinearNB("gaussian").fit(frame, labels), frame, labels, path, by={NAMES[0]: labels})
    return path.read_text()


def test_hostile_names_are_text(page):
    assert HOSTILE not in page and "</style><b>" not in page and "{{ y }}" in page
    assert len(re.findall("<script", page)) == 2 and len(re.findall("</style>", page)) == 1
    thresholds = json.loads(re.search(r'id="thresholds">(.*?)</script>', page, re.DOTALL)[1])
    assert {one["label"] for one in thresholds} == {name if len(name) < 120 else name[:119] + "…" for name in NAMES}
    for name in NAMES[:3]:
        assert html.escape(name, quote=False) in page or html.escape(name) in page


def test_nothing_is_asked_of_elsewhere(page):
    addresses = set(re.findall(r'https?://[^"\s]+', page))
    assert addresses <= {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}
    assert not re.search(r"""(?:src|href)=["'](?!#|data:)""", page) and "@import" not in page and "url(h" not in page
    assert "default-src 'none'" in page and len(page.encode()) < LARGEST


SEEN = {  # linear RGB as people see it (Machado, Oliveira and Fernandes 2009)
    "all": np.eye(3),
    "no red": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "no green": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "no blue": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}
XYZ = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]


def linear(colour):
    channels = np.array([int(colour[at : at + 2], 16) for at in (1, 3, 5)]) / 255.0
    return np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)


def lab(rgb):
    """CIE 1976 L*a*b* of linear RGB, in which about 2 is just noticeable."""
    x, y, z = np.cbrt(np.maximum(XYZ @ np.clip(rgb, 0.0, 1.0) / [0.9505, 1.0, 1.089], 0.001))
    return np.array([116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)])


@pytest.mark.parametrize("eyes", SEEN)
@pytest.mark.parametrize("scheme", SCHEMES[:2], ids=["light", "dark"])
def test_colours_differ_for_the_colour_blind(scheme, eyes):
    seen = [lab(SEEN[eyes] @ linear(scheme[f"c{k}"])) for k in range(1, 7)]
    assert min(np.linalg.norm(one - two) for one, two in combinations(seen, 2)) > 10.0


def luminance(colour):
    return float(linear(colour) @ [0.2126, 0.7152, 0.0722])


def contrast(one, two):
    low, high = sorted([luminance(one), luminance(two)])
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", SCHEMES, ids=["light", "dark", "print"])
def test_contrast(scheme):
    """WCAG 2: 4.5 for text; lines of pictures have it, too."""
    for text in ("ink", "muted", "accent", *(f"c{k}" for k in range(1, 7))):
        assert contrast(scheme[text], scheme["page"]) >= 4.5, text
        assert contrast(scheme[text], scheme["surface"]) >= 4.5, text
    for cell in ("right", "wrong"):
        assert contrast(scheme["ink"], scheme[cell]) >= 4.5, cell


def test_letters_are_large_enough(page):
    sizes = [float(size) for size in re.findall(r"font(?:-size)?:[^;\"]*?([\d.]+)px", page)]
    assert min(sizes) >= 12.0
    assert min(float(size) * 16.0 for size in re.findall(r"font-size: ([\d.]+)rem", page)) >= 12.0


def test_pictures_and_regions_have_names(page):
    pictures = re.findall(r"<svg [^>]*>", page)
    assert all('role="img" aria-label="' in one or 'aria-hidden="true"' in one for one in pictures)
    ids = re.findall(r' id="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'href="#([^"]+)"', page)) <= set(ids)


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
        (lambda late: np.arange(len(late)) % 97, "No slice is clearly worse"),  # each of few rows
    ],
)
def test_slices_are_called_the_worst_where_they_are(two, ward, finding):
    model, others = two
    facts = Facts(described(model), judged(model.evaluate(others, "late", by={"ward": ward(others["late"])})))
    (found,) = pictures(model, facts)["slices"]
    assert finding in found.drawing.finding
