"""Slips of a newcomer's hand: each is refused by a message that says what was given and what would be right."""

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.datasets import load_digits
from sklearn.metrics import accuracy_score, get_scorer
from sklearn.model_selection import StratifiedKFold

import streamnb as snb

X, y = (part[:300] for part in load_digits(return_X_y=True))
words = np.array(["even", "odd"])[y % 2]
stats = snb.scan(X, y)
judged = snb.evaluate(y, y)
records = np.ma.array([(0, 1)] * 300, mask=[(0, 1)] * 300, dtype="i8,i8")


def fit(family="poisson", penalty=None, *, X=X, y=y, **options):
    return snb.LinearNB(family, penalty, **options).fit(X, y)


def choose(folds=3, **options):
    return snb.LinearNBCV("poisson", folds=folds, **options).fit(X, y)


def stream():
    yield X, y


def choose_from(once):
    return snb.LinearNBCV("poisson", folds=3).fit(lambda: once, keep="no")


class HalfDone(snb.Family):
    """Complete but for its variance, and without a name."""

    def link(self, m):
        return -1.0 / m


REFUSED = {
    "family without its parameter": (lambda: fit("binomial"), r"family='binomial' needs .* snb\.Binomial\(k\)"),
    "family a number": (lambda: fit(3), r"family=3 should be a name"),
    "family for a penalty": (lambda: fit(snb.L1(1.0), "poisson"), r"family=L1\(1.0.* should be a name"),
    "family incomplete": (lambda: fit(HalfDone(), X=X + 1), r"HalfDone\(\) has no variance\(m\); .* defines link"),
    "Mixed the wrong way round": (
        lambda: snb.Mixed({"age": "gaussian"}),
        "columns .* families to their columns.*'age'",
    ),
    "penalty a class": (lambda: fit(penalty=snb.L2), r"penalty=L2 is a class; give an instance, such as snb\.L2"),
    "penalty a name": (lambda: fit(penalty="l2"), r"penalty='l2' is unknown; .* snb\.L1\(3.0\) \+ snb\.L2"),
    "prior a class": (lambda: fit(smoothing=snb.GammaPrior), "smoothing=GammaPrior is a class; give an instance"),
    "derivative of two numbers": (lambda: snb.Separable(lambda w, v: -w, 1.0), "derivative should give one number"),
    "derivative that fails": (
        lambda: snb.Separable(lambda w: -1 / (w - w), 1.0),
        "derivative should .* division by zero",
    ),
    "derivative of text": (lambda: snb.Separable(lambda w: "down", 1.0), "derivative should give one number.*'down'"),
    "X of texts": (lambda: fit(X=["a b", 3], y=[0, 1]), "X: row 1 is 3, of type int; every row should be a string"),
    "X None": (lambda: fit(X=None), "X is of type NoneType"),
    "column of words": (lambda: fit(X=np.stack([y.astype(object), words], 1)), "not numbers, in column 1"),
    "list of a word": (lambda: fit(X=np.array([[1, "a"]] * 2, object), y=[0, 1]), "not numbers, in column 1 "),
    "lists of labels": (lambda: fit(X=X[:3], y=[["a"], ["a", "b"], []]), "y holds a list of.*MultiLabelBinarizer"),
    "other labels later": (lambda: fit().partial_fit(X, words), "two kinds, strings such as 'even' and numbers such"),
    "other labels scored": (lambda: fit().score(X, words), "two kinds, numbers such as 0 and strings such as 'even'"),
    "folds without end": (lambda: choose(10**9), "folds=1000000000 times repeats=1 is more than"),
    "repeats without end": (lambda: choose(2, repeats=10**9), "folds=2 times repeats=1000000000 is more than"),
    "folds beyond the rows": (lambda: choose(301), "folds=301: .* too few of the 300 rows"),
    "folds beyond a stream": (lambda: snb.scan(stream(), folds=301), "folds=301: some have no row, .* of the 300 rows"),
    "folds none": (lambda: choose(0), "folds=0 should be at least 2"),
    "folds a splitter": (lambda: choose(StratifiedKFold(3)), "folds is StratifiedKFold; it should be a number"),
    "folds as splits": (
        lambda: choose(list(StratifiedKFold(3).split(X, y))),
        "folds is a list of splits; it should be",
    ),
    "splits scanned": (lambda: snb.scan(X, y, folds=StratifiedKFold(3)), "folds is StratifiedKFold"),
    "repeats of nothing": (lambda: snb.scan(X, y, repeats=3), "repeats=3 needs folds"),
    "scorer of scikit-learn": (lambda: choose(scoring=get_scorer("accuracy")), "scoring=.* one argument, an snb.Evalu"),
    "metric of scikit-learn": (lambda: choose(scoring=accuracy_score), "scoring='accuracy_score' .* one argument"),
    "function of three": (lambda: choose(scoring=lambda e, X, y: 1.0), "scoring=.* one argument"),
    "multi-label scoring": (lambda: choose(scoring="subset_accuracy"), "not for these rows: subset_accuracy is for"),
    "scoring by samples": (lambda: choose(scoring="f1_samples"), "not for these rows: average='samples' is for multi"),
    "stream read once": (lambda: choose_from(stream()), "0 rows of 0 features in read 2 .* fresh iterator"),
    "interval beyond 1, without residuals": (
        lambda: snb.Ridge().fit(X, y).predict(X, interval=2),
        "interval=2 should be between 0 and 1",
    ),
    "tau of rows": (lambda: snb.tau_for(X, n_features=3), "stats is of type ndarray; it should be ClassStats"),
    "ranking of rows": (lambda: snb.rank_features(X, y), "stats is of type ndarray; it should be ClassStats"),
    "proba unfinished": (lambda: snb.evaluate(y, proba=np.eye(10)[y] / 2), "proba sums to 0.5 at row 0; .* sum to 1"),
    "evaluations of others": (lambda: judged + snb.evaluate(y + 1, y + 1), r"differ in classes: \[0 .* and \[ ?1 "),
    "curve of labels": (lambda: snb.RocDisplay.from_evaluation(y), "evaluation is of type ndarray; .* snb.evaluate"),
    "limit of nothing": (lambda: snb.scan(X, y, memory_limit=""), "memory_limit='' should be a number of bytes"),
    "limit without end": (lambda: snb.plan(X, y, memory_limit=np.inf), "memory_limit=inf should be a number of bytes"),
    "plan of short labels": (lambda: snb.plan(X, y[:5]), "y should have one entry for each row of X"),
    "saved nowhere": (lambda: stats.save(None), "path=None should be the path of a file"),
    "saved without a name": (lambda: stats.save(""), "path='' should be the path of a file"),
    "loaded from a number": (lambda: snb.load(7), "path=7 should be the path of a file"),
    "checkpoint without a name": (lambda: snb.scan(X, y, checkpoint=""), "checkpoint='' should be the path of a file"),
    "moments at once": (lambda: stats.to_scipy(["sum"]), r"lack the moment \['sum'\]"),
    "other columns": (
        lambda: stats + snb.scan(X[:, :3], y),
        "have 64 features, the others 3; scan the same columns of both",
    ),
    "other folds": (lambda: stats + snb.scan(X, y, folds=3), "the folds None, the others .*; scan both with the same"),
    "rows never fitted": (lambda: fit().forget(X[:3] + 99, y[:3]), "rows are taken away that were never added"),
    "records as y": (lambda: fit(y=records), "y has dtype .*; labels should be ints, strings or bools"),
    "records as weights": (lambda: snb.scan(X, y, sample_weight=records), "sample_weight has dtype .* hold numbers"),
    "records as groups": (lambda: snb.scan(X, y, folds=2, groups=records), "groups has dtype"),
    "records as scores": (lambda: snb.evaluate(y, scores=records), "scores has (shape|dtype)"),
    "matrix of labels": (lambda: snb.ConfusionMatrixDisplay.from_evaluation(y), "evaluation is of type ndarray"),
}


@pytest.mark.parametrize(("mistake", "message"), REFUSED.values(), ids=REFUSED)
def test_a_mistake_is_named_with_its_cure(mistake, message):
    with pytest.raises((TypeError, ValueError, NotImplementedError), match=f"(?s){message}"):
        mistake()


def test_moment_of_ones_own_family_is_one_that_a_scan_sums():
    with pytest.raises(ValueError, match="moment='cube' is unknown; it should be one of 'sum'"):

        class Cubic(snb.Family):
            moment = "cube"


def test_a_family_names_its_moment_once():
    """`moment` alone makes the scan sum it; the family is then normal in ln x, to which logarithms of rows agree."""

    class LogNormal(snb.Family):
        moment = "log_sum"
        lowest = 1e-300

        def link(self, m):
            return m

        def variance(self, m):
            return np.ones_like(m)

        def cumulant(self, m):
            return m * m / 2.0

    model = fit(LogNormal(), X=X + 1.0, y=words, smoothing=0.0)
    assert model.family.name == "lognormal"
    rows = np.log(X + 1.0)
    likelihoods = [norm(rows[words == c].mean(axis=0)).logpdf(rows).sum(axis=1) for c in model.classes_]
    prior = np.log(np.mean(words == "odd") / np.mean(words == "even"))
    np.testing.assert_allclose(model.decision_function(X + 1.0), likelihoods[1] - likelihoods[0] + prior, atol=1e-9)


def test_probabilities_of_labels_need_not_sum_to_one():
    proba = np.array([[0.9, 0.8], [0.1, 0.2]])
    assert snb.evaluate(np.array([[1, 1], [0, 0]]), proba=proba).brier() == pytest.approx((0.01 + 0.04) / 2)


def test_a_link_of_ones_own_that_falls_is_refused():
    """Its weights would have the wrong signs; the rows that are asked for have features of many means."""

    class Falling(snb.Family):
        def link(self, m):
            return -m

        def variance(self, m):
            return np.ones_like(m)

        def cumulant(self, m):
            return m * m / 2.0

    with pytest.raises(ValueError, match=r"family=Falling\(\) has a link that falls between the means .* should rise"):
        fit(Falling())


def test_rows_of_zeros_are_no_mistake():
    """They hold no shares to look at the link by: scores are the shares of the classes."""
    model = fit("multinomial", X=np.zeros((4, 1)), y=[0, 0, 0, 1])
    np.testing.assert_allclose(model.predict_proba(np.zeros((1, 1))), [[0.75, 0.25]])
