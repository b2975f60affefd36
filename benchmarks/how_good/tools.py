"""What is compared: for each tool how a model is fitted to rows, and which kinds of rows it is for."""

import importlib.metadata
from collections.abc import Callable
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.model_selection import GridSearchCV, StratifiedShuffleSplit
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

import streamnb as snb
from benchmarks.how_good.others import Boosted, CategoriesAsText, FastText
from benchmarks.how_good.sets import DENSE, SPARSE, TABLE, Rows, scaling

FAMILIES = {TABLE: "auto", DENSE: "gaussian", SPARSE: "multinomial"}
L2 = 10.0, 1.0, 0.1, 0.01  # 1 / C of logistic regression
FEW_ROWS = 5_000  # that are divided into five folds to tune scikit-learn's models; of more a third is held out
WIDE = 200  # columns, of which there are fewer candidates of a covariance
OF_WIDE = [(a, g) for a in (0.2, 0.5, 1.0) for g in (1e-3, 1e-2, 0.1)]
FAST_TEXT = "fasttext fasttext-wheel fasttext-numpy2-wheel fasttext-numpy2"
EVERY = TABLE, DENSE, SPARSE


class Tool(NamedTuple):
    packages: str  # names under which it may be installed
    kinds: tuple[str, ...]
    fitted: Callable[[Rows], Any]  # a classifier with predict and predict_proba
    about: str

    @property
    def version(self) -> str | None:
        """None where it is not installed."""
        found = (importlib.metadata.distributions(name=name) for name in self.packages.split())
        return next((one.version for one in chain.from_iterable(found)), None)


def searched(rows):
    found = snb.search(rows.X, rows.y, show=False, progress=False)
    found.best_.chosen = found.ranked[0].name
    return found.best_


def naive_bayes(rows):
    return snb.LinearNB(FAMILIES[rows.kind]).fit(rows.X, rows.y)


def naive_bayes_cv(rows):
    words = {"transform": "log1p", "idf": True, "normalize": "l2"} if is_counts(rows) else {}
    penalty = snb.L1(n_taus=5)
    return snb.LinearNBCV(FAMILIES[rows.kind], penalty, calibration="auto", **words).fit(rows.X, rows.y)


def additive(rows):
    return snb.AdditiveClassifier().fit(rows.X, rows.y)


def covariances(rows):
    wide = rows.X.shape[1] > WIDE
    family = snb.Gaussian(covariance="full", shrinkage=OF_WIDE if wide else "auto", maps="auto")
    return snb.LinearNBCV(family, scoring="accuracy_and_roc_auc", folds=3 if wide else 5).fit(rows.X, rows.y)


def linear(make):
    """A linear model of ours, on the features that logistic regression gets; of a table it makes columns by itself."""

    def fitted(rows):
        model = make() if rows.kind == TABLE else make_pipeline(scaling(rows.X), make())
        return model.fit(rows.X, rows.y)

    return fitted


def is_counts(rows):
    return rows.kind == SPARSE and rows.X.max() > 1


def logistic(rows):
    if rows.kind == TABLE:
        numbers = make_pipeline(SimpleImputer(), StandardScaler()), make_column_selector(dtype_include=np.number)
        names = OneHotEncoder(handle_unknown="ignore", min_frequency=3), make_column_selector(dtype_exclude=np.number)
        model = LogisticRegressionCV(Cs=np.logspace(-3, 3, 7), cv=5, max_iter=500, scoring="neg_log_loss")
        missing = FunctionTransformer(lambda frame: frame.fillna(np.nan))  # None, too
        return make_pipeline(missing, make_column_transformer(numbers, names), model).fit(rows.X, rows.y)
    model = make_pipeline(scaling(rows.X), LogisticRegression(max_iter=200))
    return tuned(model, {"logisticregression__C": [1 / l2 for l2 in L2]}, rows)


def quadratic(rows):
    model = make_pipeline(scaling(rows.X), QuadraticDiscriminantAnalysis())
    return tuned(model, {"quadraticdiscriminantanalysis__reg_param": [0.0, 0.01, 0.1, 0.5]}, rows)


def tuned(model, grid, rows):
    folds = 5 if len(rows.y) < FEW_ROWS else StratifiedShuffleSplit(1, test_size=1 / 3, random_state=1)
    return GridSearchCV(model, grid, scoring="neg_log_loss", cv=folds).fit(rows.X, rows.y)


def multinomial(rows):
    return MultinomialNB().fit(rows.X, rows.y)


def gaussian(rows):
    return GaussianNB().fit(rows.X, rows.y)


def lightgbm(rows):
    from lightgbm import LGBMClassifier

    return Boosted(LGBMClassifier(n_jobs=1, verbose=-1)).fit(rows.X, rows.y)


def xgboost(rows):
    from xgboost import XGBClassifier

    return Boosted(XGBClassifier(n_jobs=1, enable_categorical=True)).fit(rows.X, rows.y)


def catboost(rows):
    from catboost import CatBoostClassifier

    model = CatBoostClassifier(thread_count=1, verbose=0, allow_writing_files=False)
    return CategoriesAsText(model).fit(rows.X, rows.y)


def explainable_boosting(rows):
    from interpret.glassbox import ExplainableBoostingClassifier

    return ExplainableBoostingClassifier(interactions=10, n_jobs=1).fit(rows.X, rows.y)


def fast_text(rows):
    return FastText().fit(rows.X, rows.y)


def cv(kind, **words):
    return linear(lambda: kind(**words))


SEARCH = "search"
OURS = {
    SEARCH: Tool("streamnb", EVERY, searched, "`snb.search(X, y)`, all defaults"),
    "AdditiveClassifier": Tool("streamnb", (TABLE, DENSE), additive, "pairs and penalties chosen on folds"),
    "LinearNB": Tool("streamnb", EVERY, naive_bayes, "naive Bayes of one scan: `auto`, Gaussian or multinomial"),
    "LinearNBCV": Tool("streamnb", EVERY, naive_bayes_cv, "L1 chosen on folds, calibrated; counts as tf-idf"),
    "covariances": Tool("streamnb", (DENSE,), covariances, "`LinearNBCV`, Gaussian, shrunk covariances and maps"),
    "SoftmaxRegression": Tool("streamnb", EVERY, linear(snb.SoftmaxRegression), "nothing tuned"),
    "SoftmaxRegressionCV": Tool("streamnb", EVERY, cv(snb.SoftmaxRegressionCV), "defaults: l2 chosen on folds"),
    "LeastSquaresClassifierCV": Tool("streamnb", EVERY, cv(snb.LeastSquaresClassifierCV), "the same, then calibrated"),
    "MarginClassifierCV": Tool("streamnb", EVERY, cv(snb.MarginClassifierCV, scheme="joint"), "the same"),
}
OTHERS = {
    "LogisticRegression": Tool("scikit-learn", EVERY, logistic, "C tuned; columns prepared to suit it"),
    "QuadraticDiscriminantAnalysis": Tool("scikit-learn", (DENSE,), quadratic, "tuned on the same columns"),
    "GaussianNB": Tool("scikit-learn", (DENSE,), gaussian, "defaults"),
    "MultinomialNB": Tool("scikit-learn", (SPARSE,), multinomial, "defaults"),
    "LightGBM": Tool("lightgbm", (TABLE, DENSE), lightgbm, "defaults; told which columns are categories"),
    "XGBoost": Tool("xgboost xgboost-cpu", (TABLE, DENSE), xgboost, "the same"),
    "CatBoost": Tool("catboost", (TABLE, DENSE), catboost, "the same"),
    "ExplainableBoosting": Tool(
        "interpret-core", (TABLE, DENSE), explainable_boosting, "10 interactions, else defaults, in one process"
    ),
    "fastText": Tool(FAST_TEXT, (SPARSE,), fast_text, "25 epochs at a rate of 0.5; columns are words"),
}
TOOLS = OURS | OTHERS
