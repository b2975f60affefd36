"""Statistics solved and judged under any options: refused, or the weights and scores by definition."""

import warnings

import numpy as np

import streamnb as snb
from tests.support.hostile import REFUSALS, outcome
from tests.support.reference import FAMILIES, Problem, plain

NUMBERS = [0.5, 0.0, 1.0, 3, 1e9, 1e-300, 1e300, -1.0, np.nan, np.inf, None, "1", [0.1, 1.0], [], [np.nan], True]
PENALTIES = {
    "none": lambda choices: None,
    "L1": lambda choices: snb.L1(choices.pick(NUMBERS), choices.pick([None, "score", "curvature"])),
    "L2": lambda choices: snb.L2(choices.pick(NUMBERS)),
    "TopK": lambda choices: snb.TopK(choices.pick([1, 2, 0, 5, -1, 1.5, None]), choices.pick(["weight", "score", ""])),
    "Decorrelation": lambda choices: snb.Decorrelation(choices.pick(NUMBERS), choices.pick([None, "curvature"])),
    "L1 + L2": lambda choices: snb.L1(choices.pick(NUMBERS)) + snb.L2(choices.pick(NUMBERS)),
    "L1 + Decorrelation": lambda choices: snb.L1(choices.pick(NUMBERS)) + snb.Decorrelation(choices.pick(NUMBERS)),
    "word": lambda choices: choices.pick(["L1", 3, [snb.L1(1.0)]]),
}
BY_NAME = ["poisson", "gaussian", "bernoulli", "multinomial"]
FAMILY_MAKERS = [snb.Binomial, snb.NegativeBinomial, snb.Gamma, snb.Geometric, snb.Laplace, snb.InverseGaussian]
PRIORS = [None, "uniform", [0.5, 0.5], [0.2, 0.3, 0.5], [1, 2, 3], [0, 1], [], "other", np.nan]


def family(choices):
    if choices.number(2) == 0:
        return choices.pick(BY_NAME)
    make = choices.pick(FAMILY_MAKERS)
    return make(choices.pick(NUMBERS)) if choices.number(2) else make()


def judged(choices, y, scores):
    """What `evaluate` says is what counting says."""
    with_weight = choices.pick([None, np.array([choices.pick([1, 0, 2]) for _ in y], float)])
    evaluation = outcome(lambda: snb.evaluate(y, scores=scores, sample_weight=with_weight))
    if evaluation is None or len(np.unique(y)) != 2 or scores.ndim != 1:
        return
    w = np.ones(len(y)) if with_weight is None else with_weight
    pairs = np.outer(w * (y == y.max()), w * (y == y.min()))
    higher = np.greater.outer(scores, scores) + 0.5 * np.equal.outer(scores, scores)
    if pairs.sum():
        assert np.isclose(evaluation.roc_auc(), (pairs * higher).sum() / pairs.sum(), rtol=1e-12)


def one(choices):
    n_rows, n_classes = 4 + choices.number(4), 2 + choices.number(3)
    x = np.array([[choices.pick([0, 1, 2, 3, 0.5, 7]) for _ in range(3)] for _ in range(n_rows)], float)
    y = np.array([choices.number(n_classes) for _ in range(n_rows)])
    y[:n_classes] = np.arange(n_classes)
    kinds = {"scheme": ["joint", "ovr", "ovo", "reference", "one"], "estimate": ["posterior_mean", "map", "mle", ""]}
    options = {name: choices.pick(values) for name, values in kinds.items()}
    options["reference"] = choices.pick([None, 0, 5, "a"])
    options["smoothing"] = choices.pick([1.0, *NUMBERS, snb.BetaPrior(1.0, 2.0), snb.GammaPrior(1.0, 2.0)])
    options["priors"] = choices.pick(PRIORS)
    options["idf"] = choices.pick([False, True, None])
    try:
        kind, penalty = family(choices), PENALTIES[choices.pick(list(PENALTIES))](choices)
    except REFUSALS:
        return
    path = solved(x, y, kind, penalty, options)
    if path is None:
        return
    model = path[choices.number(len(path))]
    scores = outcome(lambda: model.decision_function(x))
    assert scores is None or np.isin(model.predict(x), y).all()
    as_defined(path[0], x, y, kind, penalty, options)
    if scores is not None:
        judged(choices, y, scores)


def solved(x, y, kind, penalty, options):
    """The path with every model of it computed, or None where it is refused."""

    def run():
        path = snb.solve(snb.scan(x, y), kind, penalty, **options)
        for model in path:
            assert not np.isnan(model.coef_).any() and not np.isnan(model.intercept_).any()
        return path

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return run()
    except REFUSALS:
        return None


def as_defined(model, x, y, kind, penalty, options):
    """Weights without a penalty are those of the reference, where it knows the model."""
    known = isinstance(kind, str) and (kind in FAMILIES or kind == "multinomial") and penalty is None
    ordinary = options["scheme"] in ("joint", "ovr") and options["estimate"] == "posterior_mean" and not options["idf"]
    smoothing = options["smoothing"]
    if not known or not ordinary or not isinstance(smoothing, float) or not 0.1 <= smoothing <= 10:
        return
    priors = options["priors"]
    if isinstance(priors, list) and 0 in priors:  # the reference has no logarithm of 0
        return
    coef, intercept = plain(Problem(x, y, kind, smoothing=smoothing, priors=priors), options["scheme"])
    np.testing.assert_allclose(model.coef_, coef, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(model.intercept_, intercept, rtol=1e-9, atol=1e-9)
