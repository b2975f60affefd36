"""Names that users expect and do not find: of scikit-learn and pandas, and attributes that some objects lack."""

from collections.abc import Callable, Mapping
from functools import update_wrapper, wraps
from inspect import signature
from typing import TYPE_CHECKING, Any, TypeVar
from warnings import warn

if TYPE_CHECKING:
    attribute = property  # whose return type is known to type checkers
else:

    class attribute(property):
        """A property that does not exist (`hasattr` is False) where it cannot be computed."""

        def __get__(self, instance, owner=None):
            try:
                return super().__get__(instance, owner)
            except CAUSES as cause:
                raise missing(cause) from cause


Function = TypeVar("Function", bound=Callable[..., Any])
_PATHS = "pass the path itself to fit, snb.search or snb.table"
_TEXTS = "use snb.text('rows.jsonl', 'field of the text', y='field of the label'), or the transformer snb.HashedText"
_COLUMNS = "pass the data frame or path itself: snb.table encodes strings and missing values"
_METRICS = "use model.evaluate(X, y), or snb.evaluate(y, predictions)"
_FOLDS = "use snb.search(X, y) or an estimator such as snb.SoftmaxRegressionCV; scikit-learn's function takes them, too"
_SAVE = "use model.save(path)"
_SPLIT = "use snb.train_test_split(X, y, test_size=0.2), of rows of any kind"
_LOOK = "use snb.describe(X, y); snb.search(X, y).report(path) is a page of what a model makes of the columns"
_ROC = "use snb.RocDisplay.from_estimator(model, X, y), or scikit-learn's display"
_THRESHOLD = "use model.set_threshold(model.evaluate(X, y).threshold(label, precision=0.9))"
_INTERVALS = (
    "use model.predict(X, interval=0.9), after model.calibrate(X_held_out, y_held_out) where the fit had no folds; of "
    "a skewed y, use snb.GammaRegressorCV, or predict the logarithm by sklearn.compose.TransformedTargetRegressor"
)
_TREES = "use snb.AdditiveClassifier()"
NAMES = {
    "LogisticRegression": "use snb.SoftmaxRegression(l2=1/C)",
    "LogisticRegressionCV": "use snb.SoftmaxRegressionCV()",
    "LinearSVC": "use snb.MarginClassifier(l2=1/C)",
    "SGDClassifier": "use snb.SoftmaxRegression or snb.MarginClassifier",
    "RidgeClassifier": "use snb.LeastSquaresClassifier(l2=alpha)",
    "DecisionTreeClassifier": _TREES,
    "RandomForestClassifier": _TREES,
    "HistGradientBoostingClassifier": _TREES,
    "LinearRegression": "use snb.Ridge(alpha=0)",
    "RidgeCV": "use snb.Ridge(alpha='evidence')",
    "LassoCV": "use snb.ElasticNetCV(l1_ratio=1.0)",
    "SelectKBest": "use snb.FeatureSelector(by, k)",
    "CalibratedClassifierCV": "probabilities are calibrated by calibration= of an estimator",
    "KBinsDiscretizer": "use snb.Bins",
    "StandardScaler": "use standardize=True of an estimator, or scikit-learn's in a pipeline",
    "OneHotEncoder": _COLUMNS,
    "OrdinalEncoder": _COLUMNS,
    "SimpleImputer": _COLUMNS,
    "CountVectorizer": _TEXTS,
    "TfidfVectorizer": _TEXTS,
    "read_parquet": _PATHS,
    "read_csv": _PATHS,
    "read_json": _PATHS,
    "split": _SPLIT,
    "profile": _LOOK,
    "summary": _LOOK,
    "cross_val_score": _FOLDS,
    "cross_validate": _FOLDS,
    "GridSearchCV": _FOLDS,
    "RandomizedSearchCV": _FOLDS,
    "classification_report": _METRICS,
    "accuracy_score": _METRICS,
    "roc_auc_score": _METRICS,
    "f1_score": _METRICS,
    "log_loss": _METRICS,
    "confusion_matrix": _METRICS,
    "roc_curve": _METRICS,
    "precision_recall_curve": _METRICS,
    "RocCurveDisplay": _ROC,
    "plot_roc_curve": _ROC,
    "plot_confusion_matrix": "use snb.ConfusionMatrixDisplay.from_estimator(model, X, y)",
    "plot_importance": "use snb.TellingFeaturesDisplay.from_estimator(model), or snb.AdditiveDisplay",
    "FixedThresholdClassifier": _THRESHOLD,
    "TunedThresholdClassifierCV": _THRESHOLD,
    "QuantileRegressor": _INTERVALS,
    "TransformedTargetRegressor": _INTERVALS,
    "fit": "use snb.search(X, y), or fit of an estimator such as snb.AdditiveClassifier()",
    "save": _SAVE,
    "dump": _SAVE,
}
_DROP = {"": "use X=snb.table(X, y, drop=['name of the column']), without y"}
# Of each keyword what to type instead, by the parameter that the call must have; "" is for all others.
_KEYWORDS = {
    "C": {"l2": "use l2=1/C", "penalty": "use penalty="},
    "Cs": {"l2": "use l2=[..] with the values of 1/C"},
    "alpha": {"l2": "use l2=", "smoothing": "use smoothing=", "alphas": "use alphas="},
    "penalty": {"l1": "use l1= and l2=", "l2": "use l2="},
    "cv": {"folds": "use folds="},
    "n_iter": {"budget": "use budget="},
    **{name: {"budget": "use budget=, such as '10m'"} for name in ("time_limit", "timeout", "max_time")},
    "estimator": {"models": "use models="},
    "max_iter": {"max_passes": "use max_passes="},
    "target": {"y": "use y="},
    "label": {"y": "use y="},
    "labels": {"y": "use y="},
    "weight": {"sample_weight": "use sample_weight="},
    "weights": {"sample_weight": "use sample_weight="},
    "text": {"sample_weight": "use X=snb.table(X, y, text=['name of the column']), without y"},
    "drop": _DROP,
    "exclude": _DROP,
    "ignore": _DROP,
    "ngram_range": {"words": "use words=(1, 2), or chars=(1, 4) with words=None"},
    "stop_words": {"words": "leave it out: idf=True of an estimator gives frequent words less weight"},
    "models": {"families": "use snb.search(X, y, models=[..]), or snb.compare_models(models, X, y) of fitted ones"},
    "probability": {"class_": "use threshold=np.log(p / (1 - p)), as scores are log-odds"},
    "positive": {"class_": "use class_="},
    "precision": {"class_": _THRESHOLD},
    "recall": {"class_": _THRESHOLD},
    "test_size": {"": _SPLIT},
    "train_size": {"test_size": "use test_size=, the share of the other part"},
    "shuffle": {"test_size": "leave it out, as test rows are drawn at random; for the last rows, cut X and y"},
    "return_std": {"": _INTERVALS},
    "n_jobs": {"n_threads": "use n_threads=", "": "use n_threads= of fit"},
    "verbose": {"progress": "use progress=True", "": "use progress=True of fit"},
    "class_weight": {"": "use sample_weight= of fit, such as compute_sample_weight('balanced', y) of sklearn.utils"},
    "warm_start": {
        "start": "use start=, a fitted model",
        "": "leave it out: each fit starts anew, and partial_fit adds rows where there is one",
    },
    "offset": {
        "": "PoissonRegressor, GammaRegressor, TweedieRegressor, their CV forms and AdditiveRegressor take it; with "
        "least squares, fit y - offset"
    },
    "exposure": {"offset": "use offset=np.log(exposure), or rates y / exposure with sample_weight=exposure"},
    "random_state": {"seed": "use seed=", "": "leave it out, as every run gives the same result"},
}
# Attributes of a search.
OF_SEARCH = {
    "best_estimator_": "use best_",
    "best_params_": "use best_.get_params()",
    **dict.fromkeys(("cv_results_", "leaderboard_"), "use results_"),
    **{name: f"use best_.{name}" for name in ("predict", "predict_proba", "decision_function", "score", "evaluate")},
}
# Attributes of an evaluation.
OF_EVALUATION = {
    **dict.fromkeys(("auc", "auc_score", "roc_auc_score"), "use roc_auc()"),
    **dict.fromkeys(("f1", "f1_score"), "use f_score()"),
    **dict.fromkeys(("pr_auc", "average_precision_score"), "use average_precision()"),
    "best_threshold": "use threshold(label, recall=0.9), or precision=, share= or cost=",
    "mcc": "use matthews_corrcoef()",
    **dict.fromkeys(("to_dict", "to_frame"), "use summary(), or report() for each class"),
    "plot": "use snb.RocDisplay.from_evaluation, ReliabilityDisplay or ConfusionMatrixDisplay",
}
_IMPORTANCE = "sklearn.inspection.permutation_importance(model, X, y) for the columns of a table"
_PAGE = "use snb.report(model, X, y, path), a page of HTML"
_PICTURES = {
    "terms_": "use snb.AdditiveDisplay.from_estimator(model)",
    "top_features": "use snb.TellingFeaturesDisplay.from_estimator(model)",
    "": _PAGE,
}
# Attributes of a model: of each what to type instead, by the attribute that the model must have; "" is for all others.
_READS = "its weights follow from reading all rows several times"
_FORGETS = f"{_READS}; fit without these rows, or take"
OF_MODELS = {
    "partial_fit": {
        "predict_log_proba": f"{_READS}; LinearNB learns from rows as they come",
        "": f"{_READS}; Ridge learns from rows as they come",
    },
    "forget": {"predict_log_proba": f"{_FORGETS} LinearNB, which forgets", "": f"{_FORGETS} Ridge, which forgets"},
    "refit": {"": f"{_READS}; fit again"},
    "update": {"partial_fit": "use partial_fit", "": f"{_READS}; LinearNB and Ridge learn from rows as they come"},
    **{name: {"": _PAGE} for name in ("describe", "report", "summary")},
    **{name: {"set_threshold": _THRESHOLD} for name in ("best_threshold", "threshold", "tune_threshold")},
    "plot": _PICTURES,
    "plot_importance": _PICTURES,
    "load": {"": "use snb.load(path)"},
    "shap_values": {
        "contributions": "use contributions(X), which add up to the score with intercept_",
        "explain": "use explain(row), whose contributions add up to the score",
    },
    "predict_interval": {"predict_proba": "predict_proba tells how sure it is", "": _INTERVALS},
    "feature_importances_": {
        "terms_": "use terms_['importance']",
        "top_features": f"use top_features() or coef_ for the weights, and {_IMPORTANCE}",
        "": f"use coef_ for the weights, and {_IMPORTANCE}",
    },
}


def expected_attribute(model: object, name: str) -> Any:
    """An attribute that a model lacks, for its `__getattr__`.

    Raises
    ------
    AttributeError
        Says what to type instead; or as ever, or once more what a property of this name has raised.
    """
    for other, instead in OF_MODELS.get(name, {}).items():
        if not other or hasattr(type(model), other):
            raise AttributeError(f"{type(model).__name__} has no {name!r}: {instead}")
    return object.__getattribute__(model, name)


def renamed_best(model: Any) -> Any:
    """`best_params_` of a model, for the name that it had before 0.4; warns of it."""
    params = model.best_params_
    warn("best_ is named best_params_ now; best_ of a search is a model", FutureWarning, 2)
    return params


def hint(name: str, instead: Mapping[str, str] = NAMES) -> str:
    """What to type for a name that the package, or an object, lacks, after ': '; empty if unknown."""
    return f": {instead[name]}" if name in instead else ""


def explain_keywords(owner: type) -> None:
    """Have the constructor and `fit` of a class say what to type for scikit-learn's keywords that they lack."""
    for name in ("__init__", "fit"):
        if name in vars(owner):
            setattr(owner, name, with_hints(vars(owner)[name]))


def with_hints(function: Function) -> Function:
    """The function, with a TypeError that says what to type for such a keyword."""

    @wraps(function)
    def checked(*args: Any, **given: Any) -> Any:
        for name in sorted(given.keys() & _KEYWORDS.keys()):
            known = signature(function).parameters
            instead = next((text for other, text in _KEYWORDS[name].items() if other in known or not other), None)
            if name not in known and instead is not None:
                owner = f"{type(args[0]).__name__}." if "self" in known else ""
                raise TypeError(f"{owner}{function.__name__}() got an unexpected keyword argument {name!r}: {instead}")
        return function(*args, **given)

    return checked  # type: ignore[return-value]


CAUSES = (ValueError, TypeError, MemoryError)
# Of each cause an error that is both, and an attribute of this module, so that it can be pickled.
BOTH = {cause: type(f"Attribute{cause.__name__}", (AttributeError, cause), {}) for cause in CAUSES}
AttributeValueError, AttributeTypeError, AttributeMemoryError = BOTH.values()


def missing(cause: Exception) -> AttributeError:
    """An AttributeError with the message and, where possible, the type of the cause."""
    if isinstance(cause, AttributeError):
        return cause
    return next(both for base, both in BOTH.items() if isinstance(cause, base))(str(cause))


class available_if:
    """Decorates a method that exists only where `condition(object)` is true, so that `hasattr` works."""

    def __init__(self, condition: Callable[[Any], bool]):
        self._condition = condition

    def __call__(self, method: Callable) -> Any:
        self._method = method
        update_wrapper(self, method)
        return self

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None:
            return self._method
        if not self._condition(instance):
            raise AttributeError(f"This {type(instance).__name__!r} has no attribute {self._name!r}")
        return self._method.__get__(instance, owner)
