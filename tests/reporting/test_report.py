"""Reports of every kind of model, and wrong arguments."""

import re

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.naive_bayes import GaussianNB

import streamnb as snb
from streamnb.reporting.report import drift_tables
from tests.reporting.conftest import rows, several
from tests.support.refusals import refuses

X, Y = several(200)
pytestmark = pytest.mark.usefixtures("without_pictures")


def test_metrics_on_the_page_are_those_of_evaluate(two, page_of):
    model, others = two
    page, found = page_of(model, others, "late"), model.evaluate(others, "late")
    value = re.search(r'data-metric="accuracy".*?<td class="number">(.*?)</td>', page, re.DOTALL)[1]
    assert value == f"{100 * found.accuracy():.1f} %"
    assert f"It is right for {value} of 400 rows" in page
    assert "snb.load(&#39;model.snb&#39;)" in page


def test_rows_are_read_once(page_of):
    n_rows = []

    def chunks():
        n_rows.append(len(X))
        yield X, Y

    model = snb.LinearNB("gaussian").fit(X, Y)
    page_of(model, iter([(X, Y)]))
    page_of(model, chunks)
    assert n_rows == [200]


@pytest.mark.parametrize(
    "model",
    [
        snb.LinearNB("gaussian"),
        snb.SoftmaxRegressionCV(folds=2),
        snb.MarginClassifier(),
        snb.QuadraticDiscriminantAnalysis(),
        snb.TreeNB(transform=snb.Bins(3)),
        snb.AdditiveClassifier(1, l2=1.0, pair_factor=1.0, folds=2, resolutions=(4, 8)),
    ],
    ids=lambda model: type(model).__name__,
)
def test_every_kind_of_model_has_a_page(model, page_of):
    page = page_of(model.fit(X, Y), X, Y)
    assert type(model).__name__ in page and 'id="thresholds"' in page


def test_models_of_paths_and_of_files(tmp_path, page_of):
    model = snb.LinearNB("gaussian").fit(X, Y)
    model.save(tmp_path / "m.snb", stats=False)
    path = snb.solve(model.stats_, "gaussian", snb.L2([0.1, 1.0]))
    for one in (snb.load(tmp_path / "m.snb"), path[0]):
        assert "How good it is" in page_of(one, X, Y)


def test_a_search_shows_its_candidates(tmp_path):
    found = snb.search(
        X, Y, families=["gaussian", "laplace"], penalties=[None], folds=2, scoring="accuracy", show=False
    )
    found.report(tmp_path / "alone.html")
    page = (tmp_path / "alone.html").read_text()
    assert "Candidates, the best first" in page and "laplace" in page and "shows the model alone" in page
    snb.report(found, X, Y, tmp_path / "judged.html")
    assert "How good it is" in (tmp_path / "judged.html").read_text()


def test_a_comparison_shows_its_tables(tmp_path):
    snb.compare(X, Y, families="gaussian", penalties=["plain"], folds=2, show=False).report(tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text()
    assert "Families and penalties" in page and "plain" in page and "shows the model alone" not in page


def test_regressions(page_of):
    model = snb.ElasticNetCV(intervals=True).fit(X[:, :4], X[:, 4])
    judged = model.evaluate(X[:, :4], X[:, 4], interval=0.95)
    page = page_of(model, X[:, :4], X[:, 4], by={"half": np.arange(len(X)) % 2})
    for text in (f"{judged.rmse:.3f}", "predicts a number", "off by", "rows inside", "lift", "mean absolute error"):
        assert text in page
    text = re.sub("<[^>]*>", "", page.split("<main>")[1].split("<script")[0])
    assert "class" not in text.lower()
    several = page_of(snb.Ridge(1.0).fit(X[:, :4], X[:, 3:5]), X[:, :4], X[:, 3:5])
    assert "Root mean squared error" in several and "off by" not in several
    counts = np.floor(np.exp(X[:, 4]))
    page = page_of(snb.PoissonRegressor().fit(X[:, :4], counts), X[:, :4], counts)
    assert "weight per standard deviation" in page and "D²" in page and "model.calibrate(X, y)" in page


def test_rows_without_labels_show_the_model_alone(two, page_of):
    model, others = two
    for given in (None, others.drop(columns="late")):
        assert "shows the model alone" in page_of(model, given)
    assert "How good it is" in page_of(model, others)  # whose column the model knows
    assert "shows the model alone" in page_of(snb.LinearNB("gaussian").fit(X, Y), X)


def test_one_class_and_unknown_labels(page_of):
    model = snb.LinearNB("gaussian").fit(X, Y)
    assert "of 50 rows" in page_of(model, X[Y == 1], Y[Y == 1])
    with pytest.warns(snb.StreamnbWarning, match="rows have labels that the model does not know"):
        page = page_of(model, X, Y + 1)
    assert f"whose labels it knows; {np.count_nonzero(Y.max() == Y)} others are left out" in page


@pytest.mark.filterwarnings("ignore:y has .* distinct whole numbers")
def test_many_classes(page_of):
    y = np.arange(200)
    rows = np.random.default_rng(0).poisson(1.0, (200, 20)) + np.eye(20, dtype=int)[y % 20] * 3
    page = page_of(snb.LinearNB().fit(rows, y), rows, y)
    assert "The worst 15 of 200 classes" in page and "Confusion matrix" not in page and len(page) < 3_000_000


def test_files_and_folders(two, tmp_path):
    snb.report(two[0], path=tmp_path / "report.html")
    before = (tmp_path / "report.html").read_text()
    refuses(FileExistsError, "force=True", lambda: snb.report(two[0], path=tmp_path / "report.html"))
    assert (tmp_path / "report.html").read_text() == before
    snb.report(two[0], path=tmp_path / "report.html", force=True)
    refuses(FileNotFoundError, "there is no folder", lambda: snb.report(two[0], path=tmp_path / "no" / "report.html"))
    refuses(IsADirectoryError, "is a folder", lambda: snb.report(two[0], path=tmp_path, force=True))
    assert [one.name for one in tmp_path.iterdir()] == ["report.html"]


def test_wrong_arguments(two, tmp_path):
    refuses(TypeError, "fitted model", lambda: snb.report("m.snb", path=tmp_path / "report.html"))
    refuses(ValueError, "is not a column", snb.report, two[0], rows(), "no such column", tmp_path / "report.html")
    refuses(TypeError, "path=", lambda: snb.report(two[0], rows(), "late", 3))
    assert not [*tmp_path.iterdir()]


def test_regressions_of_others_have_no_page(page_of):
    with pytest.raises(TypeError, match="LinearRegression predicts numbers"):
        page_of(LinearRegression().fit(X[:, :4], X[:, 4]), X[:, :4], X[:, 4])


def test_additive_regressions(page_of):
    model = snb.AdditiveRegressor(interactions=0).fit(X[:, :2], X[:, 2])
    page = page_of(model.calibrate(X[:, :2], X[:, 2]), X[:, :2], X[:, 2])
    assert "mean absolute change" in page and "rows inside" in page


def test_columns_values_classes_and_predictions_that_differ():
    model, table = snb.LinearNB().fit(rows(), "late"), rows(seed=1)
    late = table[table["late"] == "yes"].assign(city=["Kyiv", "Rome"] * (int((table["late"] == "yes").sum()) // 2))
    found = [model.evaluate(one, "late") for one in (table, late)]
    columns, unseen, classes, scores = drift_tables(model, *(t.drop(columns="late") for t in (table, late)), found)
    assert columns.rows[0][0] == "city" and columns.rows[0][2] == "yes" and len(columns.rows) == 3
    assert unseen.rows == (("city", "Kyiv", 0, len(late) // 2),)
    assert classes.rows[0][2:3] in ((0.0,), (1.0,)) and len(scores.rows) == 2


@pytest.mark.usefixtures("without_pictures")
def test_reports_show_a_second_set(page_of):
    model, table = snb.LinearNB().fit(rows(), "late"), rows(seed=1)
    page = page_of(model, table, "late", against=rows(seed=2))
    assert "What changed" in page and "second set" in page
    page = page_of(model, table, "late", against=table.drop(columns="late"))
    assert "What changed" in page and 'class="number">second set</th>\n    </tr>' not in page
    X, y = several()
    assert "second set" in page_of(snb.LinearNB("gaussian").fit(X, y), X, y, against=(X, y))
    refuses(ValueError, "no X", lambda: page_of(model, against=table))
    assert "What changed" in page_of(snb.Ridge(1.0).fit(X, X[:, 0]), X, X[:, 0], against=X)
    refuses(TypeError, "fitted model of streamnb", lambda: page_of(GaussianNB().fit(X, y), X, y, against=(X, y)))
