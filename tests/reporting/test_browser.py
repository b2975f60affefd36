"""Pages in a real browser: no error, no request, a slider that moves numbers, and nothing wider than the screen."""

import json
import re
import shutil
from urllib.parse import unquote

import numpy as np
import pandas as pd
import pytest

import streamnb as snb
from tests.reporting.conftest import HOSTILE, NAMES, rows, several

webdriver = pytest.importorskip("selenium.webdriver")
BROWSER, DRIVER = shutil.which("chromium") or shutil.which("google-chrome"), shutil.which("chromedriver")
MISSING = "there is no Chromium with its driver: apt-get install chromium-driver"
pytestmark = [pytest.mark.browser, pytest.mark.skipif(not (BROWSER and DRIVER), reason=MISSING)]
MODELS = {
    "linear": snb.LinearNBCV(folds=2),
    "tree": snb.TreeNB(transform=snb.Bins(3)),
    "search": {"families": ["multinomial", "bernoulli"], "penalties": [None], "folds": 2, "scoring": "accuracy"},
}
POINTS = "return JSON.parse(document.getElementById('thresholds').textContent)[0].points"
SMALLEST = """
return Math.min(...[...document.querySelectorAll("body *")].filter((one) => one.getClientRects().length)
  .map((one) => parseFloat(getComputedStyle(one).fontSize)))"""
MOVE = """
const slider = document.getElementById("slider-range");
slider.value = arguments[0];
slider.dispatchEvent(new Event("input"))"""


@pytest.fixture(scope="module")
def browser():
    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    for option in ("headless=new", "no-sandbox", "disable-gpu", "disable-dev-shm-usage", "disable-extensions"):
        options.add_argument(f"--{option}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options, webdriver.ChromeService(DRIVER))
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def linear(tmp_path_factory):
    path = tmp_path_factory.mktemp("linear") / "report.html"
    snb.report(snb.LinearNB().fit(rows(), "late"), rows(), "late", path)
    return path


def opened(browser, path, width=1280):
    """Open a page; return the addresses that it asks for, and what is said on the console."""
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    browser.get_log("performance")
    browser.get(path.as_uri())
    events = [json.loads(one["message"])["message"] for one in browser.get_log("performance")]
    asked = {one["params"]["request"]["url"] for one in events if one["method"] == "Network.requestWillBeSent"}
    own = {url for url in asked if unquote(url) == unquote(path.as_uri()) or url.startswith("data:")}
    assert own
    return asked - own, browser.get_log("browser")


def number(browser, name):
    return float(re.sub("[^0-9.]", "", browser.find_element("id", f"slider-{name}").text))


@pytest.mark.parametrize("kind", MODELS)
def test_the_slider_shows_what_evaluate_says(kind, browser, tmp_path):
    X, y = several(n_classes=2) if kind == "tree" else (rows(), "late")
    model = best = MODELS[kind]
    if kind == "search":
        model = snb.search(X, y, **model, show=False)
        best = model.best_
    else:
        model.fit(X, y)
    snb.report(model, X, y, tmp_path / "report.html")
    assert opened(browser, tmp_path / "report.html") == (set(), [])
    found, truth = best.evaluate(X, y), y if kind == "tree" else X.pop("late")
    assert number(browser, "precision") == pytest.approx(100 * found.precision(), abs=0.051)
    assert number(browser, "recall") == pytest.approx(100 * found.recall(), abs=0.051)
    accuracy = browser.find_element("css selector", "[data-metric=accuracy] td").text
    assert accuracy == f"{100 * found.accuracy():.1f} %"
    scores, own = best.decision_function(X), np.asarray(truth) == best.classes_[1]
    points = browser.execute_script(POINTS)
    place = len(points) // 3
    browser.execute_script(MOVE, place)
    taken = scores >= points[place][0] - 1e-5 * abs(points[place][0])
    assert number(browser, "kept") == pytest.approx(100 * taken.mean(), abs=0.051)
    assert number(browser, "precision") == pytest.approx(100 * own[taken].mean(), abs=0.051)
    assert number(browser, "misses") == pytest.approx(1000 * (own & ~taken).mean(), abs=0.051)


def test_costs_move_the_cheapest_threshold(linear, browser):
    opened(browser, linear)
    cost = browser.find_element("id", "slider-alarm")
    cost.clear()
    cost.send_keys("10")
    browser.find_element("id", "slider-cheapest").click()
    points = np.array([point[5:7] for point in browser.execute_script(POINTS)])
    assert number(browser, "cost") == pytest.approx(1000 * (points @ [10, 1]).min(), abs=0.051)
    browser.find_element("id", "slider-own").click()
    assert browser.find_element("id", "slider-threshold").text == "50.0 %"


def test_a_search_leaves_the_rows_that_have_the_text(linear, browser):
    opened(browser, linear)
    browser.find_element("css selector", "[data-table=features-table] input").send_keys("city=rome")
    listed = browser.find_elements("css selector", "#features-table tbody tr:not([hidden])")
    assert [row.text.split()[1] for row in listed] == ["city=Rome"]


def test_hostile_names_run_nothing_and_the_page_fits_the_screen(browser, tmp_path):
    X, y = several(n_classes=5)
    frame, labels = pd.DataFrame(X, columns=NAMES), np.array(NAMES)[y]
    snb.report(snb.LinearNB("gaussian").fit(frame, labels), frame, labels, tmp_path / "report.html")
    for width in (360, 800, 1280):
        assert opened(browser, tmp_path / "report.html", width) == (set(), [])
        assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    assert HOSTILE in browser.find_element("tag name", "body").text
    assert browser.execute_script(SMALLEST) >= 12.0


def test_without_a_script_the_table_is_there(linear, browser):
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    opened(browser, linear)
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
    assert not browser.find_element("id", "slider").is_displayed()
    assert "model’s own" in browser.find_element("css selector", "#cost details table").text
