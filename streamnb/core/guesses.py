"""Names and keywords of scikit-learn and pandas that this library spells otherwise, and what to type instead."""

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])

_PATHS = "pass the path itself to fit, snb.search or snb.table"
_TEXTS = "use snb.text('rows.jsonl', 'field of the text', y='field of the label'), or the transformer snb.HashedText"
_COLUMNS = "pass the data frame or path itself: snb.table encodes strings and missing values"
_METRICS = "use model.evaluate(X, y), or snb.evaluate(y, predictions)"
_FOLDS = "use snb.search(X, y) or an estimator such as snb.SoftmaxRegressionCV; scikit-learn's function takes them, too"
_SAVE = "use model.save(path)"

NAMES = {
    "LogisticRegression": "use snb.SoftmaxRegression(l2=1/C)",
    "LogisticRegressionCV": "use snb.SoftmaxRegressionCV()",
    "LinearSVC": "use snb.MarginClassifier(l2=1/C)",
    "SGDClassifier": "use snb.SoftmaxRegression or snb.MarginClassifier",
    "RidgeClassifier": "use snb.LeastSquaresClassifier(l2=alpha)",
    "LinearRegression": "use snb.Ridge(alpha=0)",
    "RidgeCV": "use snb.Ridge(alpha='evidence')",
    "LassoCV": "use snb.ElasticNetCV(l1_ratio=1.0)",
    "StandardScaler": "use standardize=True of an estimator, or scikit-learn's in a pipeline",
    "OneHotEncoder": _COLUMNS,
    "OrdinalEncoder": _COLUMNS,
    "SimpleImputer": _COLUMNS,
    "CountVectorizer": _TEXTS,
    "TfidfVectorizer": _TEXTS,
    "read_parquet": _PATHS,
    "read_csv": _PATHS,
    "read_json": _PATHS,
    "train_test_split": "use scikit-learn's with a data frame; snb.search judges models on held-out rows itself",
    "cross_val_score": _FOLDS,
    "cross_validate": _FOLDS,
    "GridSearchCV": _FOLDS,
    "classification_report": _METRICS,
    "accuracy_score": _METRICS,
    "roc_auc_score": _METRICS,
    "save": _SAVE,
    "dump": _SAVE,
}

# Of each keyword what to type instead, by the parameter that the call must have; "" is for all others.
_KEYWORDS = {
    "C": {"l2": "use l2=1/C", "penalty": "use penalty="},
    "Cs": {"l2": "use l2=[..] with the values of 1/C"},
    "alpha": {"l2": "use l2=", "smoothing": "use smoothing=", "alphas": "use alphas="},
    "penalty": {"l1": "use l1= and l2=", "l2": "use l2="},
    "cv": {"folds": "use folds="},
    "max_iter": {"max_passes": "use max_passes="},
    "target": {"y": "use y="},
    "label": {"y": "use y="},
    "labels": {"y": "use y="},
    "n_jobs": {"n_threads": "use n_threads=", "": "use n_threads= of fit"},
    "verbose": {"progress": "use progress=True", "": "use progress=True of fit"},
    "random_state": {"seed": "use seed=", "": "leave it out, as every run gives the same result"},
}


def hint(name: str) -> str:
    """What to type for a name that the package lacks, after ': '; empty if unknown."""
    return f": {NAMES[name]}" if name in NAMES else ""


def explain_keywords(owner: type) -> None:
    """Have the constructor and `fit` of a class say what to type for scikit-learn's keywords that they lack."""
    for name in ("__init__", "fit"):
        if name in vars(owner):
            setattr(owner, name, with_hints(vars(owner)[name]))


def with_hints(function: Function) -> Function:
    """The function, with a TypeError that says what to type for such a keyword."""

    @wraps(function)
    def checked(self: Any, *args: Any, **given: Any) -> Any:
        for name in sorted(given.keys() & _KEYWORDS.keys()):
            known = signature(function).parameters
            instead = next((text for other, text in _KEYWORDS[name].items() if other in known or not other), None)
            if name not in known and instead is not None:
                raise TypeError(
                    f"{type(self).__name__}.{function.__name__}() got an unexpected keyword argument {name!r}: "
                    f"{instead}"
                )
        return function(self, *args, **given)

    return checked  # type: ignore[return-value]
