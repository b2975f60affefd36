"""Models of each kind, rows that they have not seen, and pages that show them."""

import matplotlib
import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt

import streamnb as snb

matplotlib.use("Agg")
HOSTILE = "<script>alert(1)</script>"
NAMES = [HOSTILE, "</style><b>\"quoted'", "שלום עולם", "a name that is " + "very " * 40 + "long", "$x$ & {{ y }}"]


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def rows(n=400, seed=0):
    """A data frame with a number, a category and missing values, and a label of two classes."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"age": rng.normal(50.0, 10.0, n), "city": rng.choice(["Rome", "Oslo", "Bonn"], n)})
    frame["weight"] = np.where(np.arange(n) % 7, rng.normal(70.0, 9.0, n), np.nan)
    frame["late"] = np.where(frame.age / 10.0 + (frame.city == "Rome") + rng.normal(0.0, 1.0, n) > 5.5, "yes", "no")
    return frame


def several(n=400, n_classes=4, seed=0):
    """Numbers with a class each, of several classes."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    return rng.normal(0.0, 1.0, (n, 5)) + 1.5 * np.eye(5)[y % 5], y


@pytest.fixture(scope="session")
def two():
    """A model of two classes, and other rows."""
    return snb.LinearNBCV(folds=2).fit(rows(), "late"), rows(seed=1)


@pytest.fixture
def without_pictures(monkeypatch):
    """Pages take a tenth of the time without their pictures, which have tests of their own."""
    monkeypatch.setattr("streamnb.reporting.report.pictures", lambda *given: {})


@pytest.fixture
def page_of(tmp_path):
    """Writes a report and returns its text."""

    def written(*given, **options):
        snb.report(*given, path=tmp_path / "report.html", force=True, **options)
        return (tmp_path / "report.html").read_text()

    return written
