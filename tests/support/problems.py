"""Random classification problems, and the package's answer to them."""

import numpy as np
from hypothesis import strategies as st

import streamnb as snb
from tests.support.reference import Problem

WEIGHTS = [0.25, 0.5, 1.0, 2.0]  # sums of weighted small integers are exact

FAMILIES = ["gaussian", "poisson", "bernoulli", "multinomial"]
SEPARABLE = FAMILIES[:3]
SCHEMES = [("joint", 2), ("joint", 3), ("joint", 5), ("ovr", 3), ("ovr", 4)]
PENALTIES = {
    "l1": {"l1": 0.7},
    "strong l1": {"l1": 4.0},
    "score": {"l1": 0.9, "scale": "score"},
    "l2": {"l2": 0.5},
    "l1 + l2": {"l1": 0.4, "l2": 0.3},
    "score + l2": {"l1": 0.5, "scale": "score", "l2": 2.0},
}


def rows_by_family(counts, positive):
    """Rows that each family takes."""
    shares = positive / positive.sum(axis=1, keepdims=True)
    of_counts = ["poisson", "bernoulli", "multinomial", "geometric", snb.NegativeBinomial(2.0), snb.Binomial(30)]
    of_positive = ["gamma", "inverse_gaussian", snb.Gamma(dispersion="ml"), snb.InverseGaussian(dispersion="ml")]
    return {
        "gaussian": positive - 2.0,
        **dict.fromkeys(of_counts, counts),
        **dict.fromkeys([*of_positive, snb.Laplace(1.0), snb.ChiSquared()], positive),
        **dict.fromkeys([snb.Dirichlet(), snb.Beta()], shares),
        snb.Mixed({"gaussian": [0, 3], "poisson": ...}): counts,
    }


def random_problem(family, n_classes, seed, *, n_rows=40, **options):
    """Unbalanced classes, weighted rows; feature 0 is never seen, feature 1 in the last class alone."""
    rng = np.random.default_rng([seed, n_classes, FAMILIES.index(family)])
    size = 0.6 ** np.arange(n_classes)
    drawn = rng.choice(n_classes, n_rows - 2 * n_classes, p=size / size.sum())
    y = np.concatenate([np.repeat(np.arange(n_classes), 2), drawn])
    rate = rng.gamma(1.0, 1.0, (n_classes, 6))
    rate[:, 0] = 0.0
    rate[:-1, 1] = 0.0
    rate[-1, 1] = 2.0
    x = rng.poisson(rate[y]).astype(float)
    if family == "gaussian":
        x = np.where(rate[y] > 0, 2.0 * x + rng.normal(size=x.shape), 0.0)
    return Problem(x, y, family, weight=rng.choice(WEIGHTS, n_rows), **options)


@st.composite
def small_problems(draw, family, max_classes=4):
    """A few rows of small integers; columns may be empty, classes may hold a single row."""
    n_classes = draw(st.integers(2, max_classes))
    n_rows, n = draw(st.integers(n_classes, 9)), draw(st.integers(1, 4))
    values = st.integers(-3, 3) if family == "gaussian" else st.sampled_from([0, 0, 0, 1, 1, 2, 5])
    more = draw(st.lists(st.integers(0, n_classes - 1), min_size=n_rows - n_classes, max_size=n_rows - n_classes))
    return Problem(
        draw(st.lists(st.lists(values, min_size=n, max_size=n), min_size=n_rows, max_size=n_rows)),
        [*range(n_classes), *more],
        family,
        weight=draw(st.lists(st.sampled_from(WEIGHTS), min_size=n_rows, max_size=n_rows)),
        smoothing=draw(st.sampled_from([0.25, 1.0, 3.0])),
        priors=draw(st.sampled_from([None, "uniform"])),
        binarize=draw(st.sampled_from([0.0, 1.0])),
    )


def scanned(problem, **options):
    return snb.scan(
        np.array(problem.rows),
        np.array(problem.y),
        sample_weight=np.array(problem.weight),
        transform=problem.transform,
        normalize=problem.normalize,
        binarize=problem.binarize,
        **options,
    )


def solved(problem, scheme="joint", penalty=None, **options):
    stats = scanned(problem, **options)
    return snb.solve(stats, problem.family, penalty, scheme=scheme, smoothing=problem.smoothing, priors=problem.priors)


def penalty_of(l1=0.0, l2=0.0, scale=None):
    """The package's penalty for the keywords of `reference.penalised`."""
    parts = ([snb.L1(l1, scale)] if l1 else []) + ([snb.L2(l2)] if l2 else [])
    return parts[0] + parts[1] if len(parts) == 2 else parts[0]


def compositions(seed=0, n_rows=90, n_classes=3, size=4):
    """Rows of positive shares that sum to 1, each class with its own Dirichlet distribution."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n_rows)
    alpha = rng.uniform(0.4, 6.0, (n_classes, size))
    return np.array([rng.dirichlet(alpha[k]) for k in y]), y


class WaitingTime(snb.Family):  # saved by the name of its class, which no other test may take
    """Exponential waiting times, dispersion 1: all that a new family has to say."""

    name = "waiting time"
    lowest = 0.0

    def link(self, m):
        return -1.0 / m

    def variance(self, m):
        return m * m

    def cumulant(self, m):
        return np.log(m)
