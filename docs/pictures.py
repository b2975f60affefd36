"""The pictures on the pages of estimators and displays: the code of each, which the page shows, and what it draws.

Called while the site is built. `python docs/pictures.py FOLDER NAME..` writes some of them alone.
"""

import ast
import re
import sys
from html import escape
from pathlib import Path
from types import SimpleNamespace

import matplotlib
from matplotlib import pyplot

from streamnb.reporting.svg import drawn

DIGITS = """from sklearn.datasets import load_digits

X, y = load_digits(return_X_y=True, as_frame=True)"""
TUMOURS = """from sklearn.datasets import load_breast_cancer

X, y = load_breast_cancer(return_X_y=True, as_frame=True)"""
IRISES = DIGITS.replace("load_digits", "load_iris")
WINES = DIGITS.replace("load_digits", "load_wine")
PATIENTS = DIGITS.replace("load_digits", "load_diabetes")
LABELS = """from sklearn.datasets import make_multilabel_classification

X, Y = make_multilabel_classification(n_samples=1000, n_classes=5, random_state=0)"""

LONG_NUMBER = re.compile(r"(\d\d\.\d)\d+|(\d\.\d\d)\d+")  # of a place in a picture, in pixels

CODE = {
    "LinearNB": f"""
{DIGITS}
model = snb.LinearNB("poisson").fit(X, y)
snb.RegularizationPathDisplay.from_estimator(model, 8)""",
    "LinearNBCV": f"""
{DIGITS}
model = snb.LinearNBCV("poisson", snb.L1(n_taus=20), scoring="accuracy", rule="one_se").fit(X, y)
snb.ScoreDisplay.from_estimator(model)""",
    "MultinomialNB": f"""
{DIGITS}
model = snb.MultinomialNB().fit(X[:1200], y[:1200])
snb.ConfusionMatrixDisplay.from_estimator(model, X[1200:], y[1200:])""",
    "ComplementNB": f"""
{DIGITS}
model = snb.ComplementNB().fit(X[:1200], y[:1200])
snb.ConfusionMatrixDisplay.from_estimator(model, X[1200:], y[1200:])""",
    "BernoulliNB": f"""
{DIGITS}
model = snb.BernoulliNB(binarize=7).fit(X[:1200], y[:1200])
snb.ReliabilityDisplay.from_estimator(model, X[1200:], y[1200:])""",
    "PoissonNB": f"""
{DIGITS}
model = snb.PoissonNB().fit(X[:1200], y[:1200])
snb.RocDisplay.from_estimator(model, X[1200:], y[1200:])""",
    "GaussianNB": f"""
{TUMOURS}
model = snb.GaussianNB().fit(X[::2], y[::2])
snb.ReliabilityDisplay.from_estimator(model, X[1::2], y[1::2])""",
    "CategoricalNB": f"""
{DIGITS}
model = snb.CategoricalNB(min_categories=17).fit(X[:1200], y[:1200])
snb.ConfusionMatrixDisplay.from_estimator(model, X[1200:], y[1200:])""",
    "TreeNB": f"""
{WINES}
snb.TreeDisplay.from_estimator(snb.TreeNB(transform=snb.Bins(4)).fit(X, y))""",
    "StackedNB": f"""
{TUMOURS}
model = snb.StackedNB(["gaussian", "gamma"]).fit(X[::2] + 0.001, y[::2])
snb.ReliabilityDisplay.from_estimator(model, X[1::2] + 0.001, y[1::2])""",
    "OutputCodeNB": f"""
{DIGITS}
model = snb.OutputCodeNB("bernoulli", code_size=6, binarize=7).fit(X[:1200], y[:1200])
snb.ConfusionMatrixDisplay.from_estimator(model, X[1200:], y[1200:])""",
    "HierarchyNB": f"""
{IRISES}
kind = y.map({{0: "setosa", 1: "versicolor", 2: "virginica"}})
model = snb.HierarchyNB({{"versicolor": "large", "virginica": "large"}}, "gaussian").fit(X, kind)
snb.TellingFeaturesDisplay.from_estimator(model)""",
    "LinearDiscriminantAnalysis": f"""
{WINES}
model = snb.LinearDiscriminantAnalysis().fit(X[::2], y[::2])
snb.ConfusionMatrixDisplay.from_estimator(model, X[1::2], y[1::2], normalize=None)""",
    "QuadraticDiscriminantAnalysis": f"""
{TUMOURS}
model = snb.QuadraticDiscriminantAnalysis(reg_param=0.1).fit(X[::2], y[::2])
snb.RocDisplay.from_estimator(model, X[1::2], y[1::2])""",
    "SoftmaxRegression": f"""
{TUMOURS}
model = snb.SoftmaxRegression(standardize=True).fit(X, y)
snb.TellingFeaturesDisplay.from_estimator(model)""",
    "SoftmaxRegressionCV": f"""
{DIGITS}
model = snb.SoftmaxRegressionCV([0.1, 10.0, 1000.0], folds=3, max_passes=30, tol=0.01, scoring="accuracy").fit(X, y)
snb.ScoreDisplay.from_estimator(model)""",
    "MarginClassifier": f"""
{DIGITS}
model = snb.MarginClassifier().fit(X, y)
snb.TellingFeaturesDisplay.from_estimator(model, [0, 1, 2, 3], image_shape=(8, 8))""",
    "MarginClassifierCV": f"""
{TUMOURS}
model = snb.MarginClassifierCV([0.1, 1.0, 10.0, 100.0], standardize=True).fit(X, y)
snb.ScoreDisplay.from_estimator(model, "l2")""",
    "LeastSquaresClassifier": f"""
{TUMOURS}
model = snb.LeastSquaresClassifier(10.0, standardize=True).fit(X, y)
snb.TellingFeaturesDisplay.from_estimator(model)""",
    "LeastSquaresClassifierCV": f"""
{DIGITS}
model = snb.LeastSquaresClassifierCV(solver="products", scoring="accuracy").fit(X, y)
snb.ScoreDisplay.from_estimator(model)""",
    "CrammerSingerSVM": f"""
{DIGITS}
model = snb.CrammerSingerSVM(normalize="l2").fit(X[:1200], y[:1200])
snb.ConfusionMatrixDisplay.from_estimator(model, X[1200:], y[1200:])""",
    "CrammerSingerSVMCV": f"""
{DIGITS}
model = snb.CrammerSingerSVMCV(normalize="l2", folds=3).fit(X, y)
snb.ScoreDisplay.from_estimator(model)""",
    "GeneralizedNB": f"""
{TUMOURS}
model = snb.GeneralizedNB().fit(X[::2], y[::2])
snb.ReliabilityDisplay.from_estimator(model, X[1::2], y[1::2])""",
    "AdditiveClassifier": f"""
{TUMOURS}
model = snb.AdditiveClassifier(interactions=0).fit(X, y)
snb.AdditiveDisplay.from_estimator(model, list(model.terms_["name"][:3]))""",
    "LabelSpace": f"""
{LABELS}
model = snb.LabelSpace(3).fit(X[:700], Y[:700])
snb.RocDisplay.from_estimator(model, X[700:], Y[700:])""",
    "LabelSpaceCV": f"""
{LABELS}
model = snb.LabelSpaceCV([1, 2, 3, 4, 5], 10.0).fit(X, Y)
snb.ScoreDisplay.from_estimator(model, "n_components")""",
    "Ridge": f"""
{PATIENTS}
path = snb.ElasticNetCV(l1_ratio=0.0, n_alphas=20).fit(X, y)  # Ridge for 20 values of alpha
snb.RegressionPathDisplay.from_estimator(path)""",
    "Lasso": f"""
{PATIENTS}
path = snb.ElasticNetCV(l1_ratio=1.0, n_alphas=30).fit(X, y)  # Lasso for 30 values of alpha
snb.RegressionPathDisplay.from_estimator(path)""",
    "ElasticNet": f"""
{PATIENTS}
path = snb.ElasticNetCV(l1_ratio=0.5, n_alphas=30).fit(X, y)  # ElasticNet for 30 values of alpha
snb.RegressionPathDisplay.from_estimator(path)""",
    "ElasticNetCV": f"""
{PATIENTS}
model = snb.ElasticNetCV(l1_ratio=[0.1, 0.5, 0.9, 1.0], n_alphas=30, rule="one_se").fit(X, y)
snb.RegressionPathDisplay.from_estimator(model)""",
    "ForwardRegression": f"""
import pandas as pd
{PATIENTS}
model = snb.ForwardRegression().fit(X, y)
errors = pd.Series(model.mse_path_.mean(axis=1))
axes = errors.plot(marker="o", xlabel="columns in use", ylabel="mean squared error of held-out rows")
axes.axvline(model.n_nonzero_coefs_, linestyle=":")  # the number that was chosen""",
    "AdditiveRegressor": f"""
{PATIENTS}
model = snb.AdditiveRegressor(interactions=0).fit(X, y)
snb.AdditiveDisplay.from_estimator(model, list(model.terms_["name"][:3]))""",
    "FeatureSelector": f"""
{WINES}
selector = snb.FeatureSelector("sfs", k="auto", family="gaussian").fit(X, y)
snb.SelectionDisplay.from_estimator(selector)""",
    "ForwardSelection": f"""
{TUMOURS}
search = snb.ForwardSelection(candidates=12)
selector = snb.FeatureSelector(search, k="auto", family="gaussian").fit(X, y)
snb.SelectionDisplay.from_estimator(selector)""",
    "IncrementalSelection": f"""
{TUMOURS}
selector = snb.FeatureSelector(snb.IncrementalSelection(), k="auto", family="gaussian").fit(X, y)
snb.SelectionDisplay.from_estimator(selector)""",
    "BackwardElimination": f"""
{WINES}
selector = snb.FeatureSelector(snb.BackwardElimination(), k="auto", family="gaussian").fit(X, y)
snb.SelectionDisplay.from_estimator(selector)""",
    "ExhaustiveSearch": f"""
{WINES}
search = snb.ExhaustiveSearch(candidates=8)
selector = snb.FeatureSelector(search, k="auto", family="gaussian").fit(X, y)
snb.SelectionDisplay.from_estimator(selector)""",
    "FCBF": f"""
import pandas as pd
{WINES}
selector = snb.FeatureSelector(snb.FCBF(), k="auto", values="bins", n_bins=8).fit(X, y)
scores = pd.Series(selector.scores_, X.columns)
kept = ["#0072B2" if chosen else "0.78" for chosen in selector.get_support()]
scores.plot.barh(color=kept, xlabel="symmetrical uncertainty (grey: redundant)").invert_yaxis()""",
    "ReliefF": f"""
import pandas as pd
{WINES}
selector = snb.FeatureSelector(snb.ReliefF()).fit(X, y)
pd.Series(selector.scores_, X.columns).sort_values().plot.barh(xlabel="weight by Relief-F")""",
    "TreeFeatures": f"""
import pandas as pd
{TUMOURS}
selector = snb.FeatureSelector(snb.TreeFeatures(depth=2), k="auto").fit(X, y)
pd.Series(selector.scores_, X.columns)[selector.get_support()].sort_values().plot.barh()""",
    "FeatureRanking": f"""
import pandas as pd
{WINES}
ranking = snb.rank_features(snb.scan(X, y, moments=["sum", "sum_sq"]), "f_classif")
pd.Series(ranking.scores, X.columns).sort_values().plot.barh(xlabel="F statistic")""",
    "Search": f"""
{WINES}
snb.search(X, y, show=False).plot(n_best=8)""",
    "Evaluation": f"""
{DIGITS}
model = snb.LinearNB("poisson").fit(X[:1200], y[:1200])
snb.RocDisplay.from_evaluation(model.evaluate(X[1200:], y[1200:]))""",
    "ModelComparison": f"""
{DIGITS}
families = ["poisson", "multinomial", "bernoulli", "geometric"]
models = {{family: snb.LinearNB(family).fit(X[:900], y[:900]) for family in families}}
snb.compare_models(models, X[900:], y[900:], metrics="brier").plot()""",
    "PredictionErrorDisplay": f"""
{PATIENTS}
model = snb.Ridge(0.01).fit(X[::2], y[::2])
snb.PredictionErrorDisplay.from_estimator(model, X[1::2], y[1::2])""",
    "DecileDisplay": f"""
{PATIENTS}
model = snb.Ridge(0.01).fit(X[::2], y[::2])
snb.DecileDisplay.from_estimator(model, X[1::2], y[1::2])""",
    "SlicesDisplay": f"""
import pandas as pd
{DIGITS}
model = snb.LinearNB("poisson").fit(X[:900], y[:900])
slices = {{"ink": pd.qcut(X[900:].sum(axis=1), 5, precision=0).astype(str), "digit": y[900:].astype(str)}}
snb.SlicesDisplay.from_evaluation(model.evaluate(X[900:], y[900:], by=slices))""",
}

OF_DISPLAYS = {  # which picture stands on the page of a display
    "AdditiveDisplay": "AdditiveClassifier",
    "RegressionPathDisplay": "ElasticNetCV",
    "RegularizationPathDisplay": "LinearNB",
    "ScoreDisplay": "LinearNBCV",
    "RocDisplay": "Evaluation",
    "SearchDisplay": "Search",
    "SelectionDisplay": "FeatureSelector",
    "ReliabilityDisplay": "GaussianNB",
    "ConfusionMatrixDisplay": "MultinomialNB",
    "DifferencesDisplay": "ModelComparison",
    "TellingFeaturesDisplay": "SoftmaxRegression",
    "TreeDisplay": "TreeNB",
}
GENERALIZED = {"Poisson": "", "Gamma": "", "Tweedie": "power=1.5, "}
CODE |= {
    f"{family}Regressor": f"""
import pandas as pd
{PATIENTS}
model = snb.{family}Regressor({power}alpha=0.0, standardize=True).fit(X, y)
weights = pd.Series(model.coef_, list(X.columns))  # of the logarithm of the mean
axes = weights.plot.barh(xlabel="weight")"""
    for family, power in GENERALIZED.items()
}
CODE |= {
    f"{family}RegressorCV": f"""
import pandas as pd
{PATIENTS}
model = snb.{family}RegressorCV({power}n_alphas=8).fit(X, y)
deviances = pd.Series(model.deviance_path_.mean(axis=1), model.alphas_)
axes = deviances.plot(marker="o", logx=True, xlabel="alpha", ylabel="mean deviance of held-out rows")
axes.axvline(model.alpha_, linestyle=":")  # the penalty that was chosen"""
    for family, power in GENERALIZED.items()
}
CODE |= {display: CODE[of] for display, of in OF_DISPLAYS.items()}


def picture(name):
    """The picture of that name as HTML: what is to be seen, the drawing, and its legend."""
    drawing = drawn(lambda _: SimpleNamespace(figure_=figure_of(CODE[name])), name)
    pyplot.close("all")
    sketch = re.sub(r' [dxy]="[^"]*"', lambda places: LONG_NUMBER.sub(r"\1\2", places[0]), drawing.svg)
    sketch = sketch.replace("#1f77b4", "var(--c1)")  # the blue of pandas
    sketch = sketch.replace(
        "<svg ", f'<svg role="img" aria-label="{escape(drawing.finding or "What the code draws")}" ', 1
    )
    lines = "".join(map(entry, drawing.legend))
    legend = f'<ul class="legend" aria-hidden="true">{lines}</ul>' if lines else ""
    caption = f"<figcaption>{escape(drawing.finding, quote=False)}</figcaption>" if drawing.finding else ""
    return f'<figure class="picture">{caption}{sketch}{legend}</figure>\n'


def figure_of(code):
    """The figure that the last expression draws."""
    *before, last = ast.parse(code).body
    names = {}
    exec("import streamnb as snb", names)
    exec(compile(ast.Module(before, []), "<picture>", "exec"), names)
    shown = eval(compile(ast.Expression(last.value), "<picture>", "eval"), names)
    if hasattr(shown, "figure_"):
        return shown.figure_
    figure = pyplot.gcf()  # of pandas
    figure.set_layout_engine("compressed")
    return figure


def entry(one):
    """A line of a legend: a stroke in its colour, and its text."""
    line = f'<line y1="4" x2="28" y2="4" stroke="{one.colour}" stroke-width="3" stroke-dasharray="{one.dashes}"/>'
    stroke = f'<svg width="28" height="8" aria-hidden="true">{line}</svg>' if one.colour else ""
    return f"<li>{stroke}{escape(one.text)}</li>"


def write(folder, names=CODE):
    """Write pictures as files of HTML."""
    matplotlib.use("agg")
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / f"{name}.html").write_text(picture(name))


if __name__ == "__main__":
    write(sys.argv[1], sys.argv[2:] or CODE)
