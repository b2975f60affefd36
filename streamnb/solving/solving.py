"""Solves for the models of a penalty grid from statistics, without data."""

from __future__ import annotations

from typing import Any

from streamnb.core import arguments, messages
from streamnb.core.memory import check_memory_limit
from streamnb.problem.penalties import Penalty
from streamnb.problem.sides import OVERLAPS, Unlabelled
from streamnb.solving.weight_paths import WeightPath, weight_path
from streamnb.stats.class_stats import ClassStats


def solve(
    stats: ClassStats,
    family: Any = "poisson",
    penalty: Penalty | None = None,
    *,
    scheme: str = "joint",
    reference: Any = None,
    overlap: str = "refuse",
    smoothing: Any = 1.0,
    priors: Any = None,
    idf: bool = False,
    estimate: str = "posterior_mean",
    feature_weight: Any = None,
    memory_limit: Any = None,
    n_threads: int | None = None,
) -> WeightPath:
    """Solve for regularised weights at every point of the penalty's grid; reads no data.

    Parameters
    ----------
    stats : ClassStats
        Statistics from `scan`; not modified.
    family : {"gaussian", "poisson", "bernoulli", "multinomial"}, Family or Mixed
    penalty : None, L1, L2, TopK, Decorrelation, Separable, Custom or a sum of them
        L1 without taus chooses its grid from the statistics.
    scheme : {"joint", "ovr", "ovo", "reference"}
        All classes against their pooled model, each against the rest, every pair, or each against one named class.
        Two classes are one problem under any scheme. Each label of an indicator is set against the rest, or under
        "reference" against a named label, using only the rows of the two (Shishkova 2016, 6.1): w_u = W(S_u, N_u; S_r,
        N_r), intercept ln(N_u / N_r), prior and dispersion from these rows.
    reference : label, or snb.UNLABELLED, optional
        The named class or label; for an indicator it may also be the rows without any label.
    overlap : {"refuse", "keep"}
        For an indicator: rows that have both a label and the reference raise an error that counts them, or count on
        both sides.
    smoothing : float, "evidence", "empirical_bayes", "auto", or a prior
        The prior of the features in each class (and in the rest). A number s: Bernoulli Beta(s, s); multinomial
        alpha = s; Gaussian none; else s pseudo-rows at the mean of all rows. "evidence": the s under which the rows
        are most probable (type-II maximum likelihood), one for all features. "empirical_bayes" and "auto" as in
        `LinearNB`. BetaPrior, DirichletPrior, GammaPrior and NormalInverseGamma may have a row for each class.
    priors : None, "uniform", (K,) or DirichletPrior
        Class probabilities; None: shares of the weight. Under a Dirichlet prior they are estimated like the features.
    idf : bool
        Multiply feature j by ln((1 + N) / (1 + df_j)) + 1, df_j the weight of the rows where it is not 0.
    estimate : {"posterior_mean", "map", "mle"}
        The mean of the posterior, its mode, or maximum likelihood, which ignores `smoothing`. The mode is available
        for families with a conjugate prior: Bernoulli, Binomial, multinomial, Poisson, where a number s means the
        same prior (pseudo-rows at m are Gamma(s m, s), or Beta(s m, s (k - m)) for Binomial; 0 none), and Gaussian.
    feature_weight : (n_features,), optional
        Weighted naive Bayes (Lee et al. 2011): factors of at least 0, by which the weight of each feature and its part
        of the intercepts are multiplied. 0 leaves a feature out, and 2 counts it like a copied column, except that a
        copy would change multinomial probabilities. ``rank_features(stats, by="kullback_leibler").scores`` are factors
        by divergence.
    memory_limit : int or str, optional
        Bytes that the weights of a model from sparse tables may take, such as "4GB"; half of the free memory by
        default. Larger weights are computed when predictions need them.
    n_threads : int, optional
        Threads that compute weights; the number of cores by default. It does not change a bit of the weights.

    Returns
    -------
    WeightPath
        A lazy sequence: each model is computed when it is accessed.

    Raises
    ------
    ValueError, TypeError
        An argument is invalid, or the statistics lack a moment that the family needs.

    Examples
    --------
    >>> import streamnb as snb
    >>> X, y = [[2, 0], [3, 1], [0, 4], [1, 5]], ["cat", "cat", "dog", "dog"]
    >>> stats = snb.scan(X, y)
    >>> path = snb.solve(stats, "poisson", snb.L1([0.0, 1.0, 9.0]))
    >>> path.n_features.tolist(), path[0].predict([[3, 0]]).tolist()
    ([2, 2, 0], ['cat'])
    """
    arguments.one_of("overlap", overlap, OVERLAPS)
    path = weight_path(
        stats,
        family,
        penalty,
        n_threads=n_threads,
        scheme=scheme,
        reference=reference,
        estimate=estimate,
        overlap=overlap,
        smoothing=smoothing,
        priors=priors,
        idf=idf,
        feature_weight=feature_weight,
        memory_limit=check_memory_limit(memory_limit),
    )
    if isinstance(reference, Unlabelled) and stats.unlabelled is not None and not stats.unlabelled.total_weight:
        messages.warn("every row bears a label: there are none for reference=snb.UNLABELLED, and all weights are zero")
    if (stats.weight == 0).any():
        messages.warn_absent(stats.classes[stats.weight == 0])
    return path
