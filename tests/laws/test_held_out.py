"""What cross-validation says of a fold is what models fitted without it say, however few rows a class or feature has.

Models of some folds may lack classes and features, and be scored in another way than those of others.
"""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import accuracy_score

import streamnb as snb
from streamnb.problem.penalties import at_point
from tests.support.held_out import agrees, persons

SEEDS, EITHER = st.integers(0, 1 << 32), st.booleans()
SCORINGS = st.sampled_from(["roc_auc", "accuracy", "average_precision", "f1_macro", "neg_log_loss"])
OTHER_SCORINGS = st.sampled_from(["balanced_accuracy", "precision_weighted", "recall_micro"])  # of one label a row
FEW_POINTS = st.sampled_from(
    [
        snb.L1([0.0, 0.5, 4.0]),
        snb.L1(scale="score"),
        snb.L2([0.0, 1.0]),
        snb.TopK([1]),
        snb.L1([0.0, 1.0]) + snb.L2([0.0, 2.0]),
        snb.L1([0.0, 1.0]) + snb.Decorrelation([0.0, 0.05], scale="curvature"),
        snb.Separable(lambda w: -w / (1.0 + abs(w)), [0.0, 3.0]),
    ]
)
OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "smoothing": st.sampled_from([0.3, 1.0]),
        "priors": st.just("uniform"),
        "transform": st.sampled_from(["sqrt", "log1p"]),
        "idf": st.just(True),
    },
)


@pytest.fixture(autouse=True)
def _folds_lack_classes():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", snb.StreamnbWarning)
        warnings.simplefilter("ignore", RuntimeWarning)  # of means over no class
        warnings.simplefilter("ignore", UndefinedMetricWarning)
        yield


def fitted(model, *given, **options):
    """A model, or none where these rows are refused, which is said of them and not of an index or a shape."""
    try:
        return model.fit(*given, n_threads=1, **options)
    except ValueError as error:
        said = (
            "one class only",
            "has no value in any",
            "overlaps other labels",
            "carries no information",
            "sample_weight",
            "is not defined for",
            "needs at least 3 classes",
            "means nothing for family",
        )
        assert any(words in str(error) for words in said), error
        assume(False)


def some_points(grid):
    return np.unique(np.linspace(0, len(grid) - 1, 4).astype(int)).tolist()


@settings(max_examples=12)
@given(seed=SEEDS, multilabel=EITHER, sparse=EITHER, scoring=SCORINGS | OTHER_SCORINGS,
       penalty=FEW_POINTS | st.just("all numbers"), options=OPTIONS,
       scheme=st.sampled_from(["joint", "ovr", "ovo", "reference", "reference"]),
       family=st.sampled_from(["poisson", "bernoulli", "gaussian", "multinomial", "geometric"]),
       rule=st.sampled_from(["best", "per_split"]))  # fmt: skip
@example(5, True, True, "roc_auc", "all numbers", {}, "reference", "poisson", "per_split")
def test_naive_bayes(seed, multilabel, sparse, scoring, penalty, options, scheme, family, rule):
    multilabel = multilabel and scoring not in ("balanced_accuracy", "precision_weighted", "recall_micro")
    rows = persons(seed, multilabel)
    reference = int(rows.classes[-1]) if scheme == "reference" else None
    scheme = "joint" if multilabel and scheme == "ovo" else scheme
    scoring = "roc_auc_reference" if reference is not None else "roc_auc" if scheme == "ovo" else scoring
    if penalty == "all numbers":
        penalty = snb.TopK(range(1, rows.x.shape[1] + 1))
    rule = rule if isinstance(penalty, snb.TopK) and scheme != "ovo" and scoring.startswith("roc_auc") else "best"
    asked = {"scheme": scheme, "reference": reference, **options}
    known = {} if multilabel else {"classes": rows.classes}
    model = snb.LinearNBCV(family, penalty, folds=rows.folds, scoring=scoring, rule=rule, **asked)
    x = sp.csr_array(rows.x) if sparse else rows.x
    results = fitted(model, x, rows.y, rows.weight, **known).cv_results_
    for fold in range(rows.folds.max() + 1):
        held = rows.folds == fold
        for g in some_points(results["params"]):
            plain = snb.LinearNB(family, at_point(penalty, results["params"][g]), **asked)
            fitted(plain, *rows.of(~held), **known)
            score = results[f"split{fold}_test_score"][g]
            assert agrees(score, plain, rows, held, scoring, scheme in ("joint", "reference"), reference)


@pytest.mark.usefixtures("as_in_folds")
@settings(max_examples=8)
@given(seed=SEEDS, multilabel=EITHER, sparse=EITHER, scoring=SCORINGS, idf=EITHER,
       normalize=st.sampled_from([None, "l2"]), class_weight=st.sampled_from([None, "balanced"]),
       name=st.sampled_from(["Softmax", "Margin", "Least squares", "By products", "Label space"]))  # fmt: skip
def test_models_of_several_reads(seed, multilabel, sparse, scoring, idf, normalize, class_weight, name):
    kind, options = {
        "Softmax": (snb.SoftmaxRegression, {}),
        "Margin": (snb.MarginClassifier, {}),
        "Least squares": (snb.LeastSquaresClassifier, {}),
        "By products": (snb.LeastSquaresClassifier, {"solver": "products"}),
        "Label space": (snb.LabelSpace, {}),
    }[name]
    rows = persons(seed, multilabel or name == "Label space")
    rows.classes = rows.classes if rows.multilabel else np.unique(rows.y)
    scoring = "roc_auc" if scoring == "neg_log_loss" and name != "Softmax" else scoring
    options |= {"idf": idf, "normalize": normalize}
    if not rows.multilabel:
        options["class_weight"] = class_weight
    chosen = getattr(snb, f"{kind.__name__}CV")(
        l2=[0.3, 3.0], folds=rows.folds, scoring=scoring, max_passes=4, **options
    )
    x = sp.csr_array(rows.x) if sparse else rows.x
    results = fitted(chosen, x, rows.y, rows.weight).cv_results_
    for fold in range(rows.folds.max() + 1):
        held = rows.folds == fold
        for g in some_points(results["params"]):
            plain = kind(**results["params"][g], **options).fit(rows.x, rows.y, rows.weights * ~held, n_threads=1)
            score = results[f"split{fold}_test_score"][g]
            assert agrees(score, plain, rows, held, scoring, name == "Softmax")


@pytest.mark.usefixtures("as_in_folds")
@settings(max_examples=6)
@given(seed=SEEDS, sparse=EITHER, scoring=st.sampled_from(["roc_auc", "accuracy"]))
def test_comparisons_and_searches(seed, sparse, scoring):
    """Many candidates on the same rows have the scores of each alone."""
    rows = persons(seed, False)
    x, families = sp.csr_array(rows.x) if sparse else rows.x, ["poisson", "bernoulli"]
    penalties = {"TopK": snb.TopK(range(1, rows.x.shape[1] + 1)), "L1": snb.L1([0.0, 1.0]), "plain": None}
    asked = {"folds": rows.folds, "scoring": scoring, "n_threads": 1}

    def alone(family, penalty, scheme):
        penalty = "none" if penalty is None else penalty
        model = snb.LinearNBCV(family, penalty, folds=rows.folds, scoring=scoring, scheme=scheme)
        return fitted(model, x, rows.y, rows.weight)

    each = {(f, n): alone(f, penalty, "ovr") for f in families for n, penalty in penalties.items()}
    asked |= {"sample_weight": rows.weight, "show": False}
    compared = snb.compare(x, rows.y, families=families, penalties=penalties, scheme="ovr", rule="best", **asked)
    means = [[each[family, name].best_score_ for name in penalties] for family in families]
    np.testing.assert_allclose(compared.scores[:, :, -1], means, atol=1e-9)
    found = snb.search(x, rows.y, families=families, penalties=list(penalties.values()), schemes=["ovr"], **asked)
    best = max(model.best_score_ for model in each.values())
    assert max(one.mean(scoring) for one in found.candidates) == pytest.approx(best, abs=1e-9)


@pytest.mark.usefixtures("as_in_folds")
@settings(max_examples=6)
@given(seed=SEEDS, sparse=EITHER)
def test_wrappers(seed, sparse):
    """A subset is judged by adding up as by models of its features alone."""
    rows = persons(seed, False)
    x, n_features = sp.csr_array(rows.x) if sparse else rows.x, rows.x.shape[1]
    stats, folds = snb.scan(x, rows.y, folds=3), snb.fold_numbers(len(rows.y), 3)
    sample = snb.sample_rows(x, rows.y, stats, rows=None)
    search = snb.ForwardSelection(candidates=n_features, rows=None)
    found = snb.rank_features(stats, search, family="poisson", sample=sample)
    for n in some_points(range(n_features)):
        some = rows.x[:, found.ranking[: n + 1]]
        for fold in range(3):
            held = folds == fold
            plain = fitted(snb.LinearNB("poisson"), some[~held], rows.y[~held], classes=np.unique(rows.y))
            gaps = np.diff(np.sort(np.atleast_2d(plain.decision_function(some[held]).T).T)[:, -2:])
            if np.abs(plain.decision_function(some[held])).min() > 1e-4 and not (gaps < 1e-4).any():
                share = accuracy_score(rows.y[held], plain.predict(some[held]))
                assert found.curve[n, fold] == pytest.approx(share, abs=1e-9)
