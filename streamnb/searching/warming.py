"""Compiles the kernels that a container image should hold, by fitting small models to the usual kinds of rows."""

import warnings
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_digits

from streamnb.additive.classifier import AdditiveClassifier
from streamnb.encoding.text import text
from streamnb.estimators.crammer_singer import CrammerSingerSVM
from streamnb.estimators.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from streamnb.estimators.drop_ins import BernoulliNB, ComplementNB, GaussianNB, MultinomialNB, PoissonNB
from streamnb.estimators.linear_nb import LinearNB
from streamnb.estimators.linear_nb_cv import LinearNBCV
from streamnb.estimators.trained_models import (
    LeastSquaresClassifier,
    LeastSquaresClassifierCV,
    MarginClassifier,
    MarginClassifierCV,
    SoftmaxRegression,
    SoftmaxRegressionCV,
)
from streamnb.estimators.tree_nb import TreeNB
from streamnb.kernels import compiler
from streamnb.searching.searching import search

MODELS = LinearNB, LinearNBCV, SoftmaxRegression, MarginClassifier, LeastSquaresClassifier
CV_MODELS = SoftmaxRegressionCV, MarginClassifierCV, LeastSquaresClassifierCV
BAYES = MultinomialNB, ComplementNB, BernoulliNB, PoissonNB, GaussianNB, TreeNB
FORMS = {
    "dense float64": lambda X: X.astype(np.float64),
    "dense float32": lambda X: X.astype(np.float32),
    "dense uint8": lambda X: X.astype(np.uint8),
    "CSR float64": lambda X: sp.csr_array(X.astype(np.float64)),
    "CSR float32": lambda X: sp.csr_array(X.astype(np.float32)),
}
N_ROWS = 600


def warm() -> Path:
    """Compile the usual kernels and keep them on disk, so that first fits on this machine start at once.

    For container images, and wherever the first user should not have to wait. Small models are fitted on rows that come
    with scikit-learn, and each predicts. Naive Bayes, linear models and ``search`` take dense float64, float32 and
    uint8 rows, CSR rows, texts and, with pyarrow, tables; most CV forms and drop-ins take float64. Less usual models
    and options compile a few more kernels when they are first used. It prints what it did.

    Kernels depend on the processor and on the versions of Python, numba and streamnb: warm the cache on the kind of
    machine, and as the user, that will use it.

    Returns
    -------
    Path
        The folder of the compiled kernels, which ``NUMBA_CACHE_DIR`` or ``XDG_CACHE_HOME`` can name.

    Raises
    ------
    OSError
        The folder cannot be written to.
    ValueError
        ``NUMBA_DISABLE_JIT`` is set, so that nothing is compiled.

    Examples
    --------
    >>> import streamnb as snb
    >>> folder = snb.warm()  # doctest: +SKIP
    dense float64: 61 kernels compiled in 67 s
    dense float32: 7 kernels compiled in 8 s
    ...
    """
    for line in warming():
        print(line, flush=True)
    return compiler.FOLDER


def warming() -> Iterator[str]:
    """Do what `warm` does, and yield what it prints."""
    if compiler.flags.DISABLE_JIT:
        raise ValueError("NUMBA_DISABLE_JIT is set, so that nothing is compiled: unset it to keep compiled kernels")
    compiler.check_folder()
    compiling = compiler.compiling
    compiling.said = True  # each line says more
    for name, fits in _all_fits():
        n_forms, seconds = compiling.n_forms, compiling.seconds
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of so few rows, models need not converge
            fits()
        yield f"{name}: {compiling.n_forms - n_forms} kernels compiled in {compiling.seconds - seconds:.0f} s"
    files = [path.stat().st_size for path in compiler.FOLDER.glob("*.nbc")]
    yield f"{compiler.FOLDER} holds {len(files)} compiled kernels, {sum(files) / 1e6:.1f} MB"


def _all_fits() -> Iterator[tuple[str, Callable]]:
    for name, form in FORMS.items():
        yield name, lambda name=name, form=form: _fit_numbers(form, name in ("dense float64", "CSR float64"))
    yield "texts", _fit_texts
    if find_spec("pyarrow"):
        yield "tables", _fit_table


def _fit_numbers(form: Callable, all_kinds: bool) -> None:
    """Fit models of ten classes and whole numbers, and of two classes and real ones."""
    digits, cancer = load_digits(return_X_y=True), load_breast_cancer(return_X_y=True)
    for X, y in (digits, cancer):
        rows, labels = form(X[:N_ROWS]), y[:N_ROWS]
        for kind in (*MODELS, *(CV_MODELS if all_kinds else ())):
            _fit(kind(), rows, labels)
        search(rows, labels, show=False)
        for kind in BAYES if all_kinds else ():
            _fit(kind(), rows, labels)
        if all_kinds and not sp.issparse(rows):  # many pairs, whose columns are more than a cache holds
            _fit(AdditiveClassifier(40, l2=1.0, pair_factor=1.0, folds=2), rows, labels)
    if all_kinds and not sp.issparse(rows):  # covariances of cancer, as those of digits are singular
        covariances = LinearDiscriminantAnalysis(), QuadraticDiscriminantAnalysis(reg_param=0.1)
        for model in (*covariances, CrammerSingerSVM()):
            _fit(model, rows, labels)


def _fit_texts() -> None:
    words = {"tea": "green tea, black tea and a cup", "wine": "a glass of red wine", "beer": "dark beer and a pint"}
    y = [*words] * 40
    texts = [f"{words[label]} number {i % 7} of {i % 11}" for i, label in enumerate(y)]
    for options in ({"n_features": 2**10}, {"vocabulary": 20, "words": (1, 2)}, {"n_features": 2**18}):
        for kind in MODELS:
            model = kind("multinomial") if kind in (LinearNB, LinearNBCV) else kind()
            _fit(model, text(texts, y=np.array(y), **options), None, texts)


def _fit_table() -> None:
    lines = [f"N{i % 9},{1.5 * i},{i % 24},{i % 2}" for i in range(200)]
    with TemporaryDirectory() as folder:
        path = Path(folder, "flights.csv")
        path.write_text("\n".join(["plane,miles,hour,late", *lines]))
        for kind in MODELS:
            _fit(kind(), path, "late")


def _fit(model: Any, rows: Any, labels: Any, X: Any = None) -> None:
    """Fit a model, and let it predict X, by default the same rows."""
    fitted = model.fit(rows) if labels is None else model.fit(rows, labels)
    X = rows if X is None else X
    for method in ("predict", "predict_proba", "decision_function"):
        if hasattr(fitted, method):
            getattr(fitted, method)(X)
