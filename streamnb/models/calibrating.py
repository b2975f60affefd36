"""Calibrates the probabilities of a linear model on rows that it has not learned from."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import isotonic_regression, minimize

from streamnb.core import memory, row_checks, threads
from streamnb.core.messages import warn
from streamnb.models.decision_rule import Curves, Knots, is_softmax
from streamnb.models.linear import LinearModel
from streamnb.models.on_demand import UnheldModel
from streamnb.models.quadratic import CovarianceModel, QuadraticModel
from streamnb.problem.schemes import Joint, LabelReference, OneVsRest, Scheme, TwoClasses
from streamnb.rows.boundary import as_chunk, checked
from streamnb.rows.source import Source
from streamnb.stats.class_stats import ClassStats
from streamnb.stats.grouping import LabelCodes, positions
from streamnb.stats.row_sample import SampledRows

RIDGE = 1e-2  # prior of the factor of a score of mean size, and of a bias alone: normal, mean 0, standard deviation 10
BIAS_RIDGE = 2.0  # prior of the biases of a softmax: one standard deviation doubles the odds of a class
METHODS = ("sigmoid", "isotonic", "matrix")
AUTO = "auto"  # "sigmoid" or "matrix", by the log loss of rows that they were not fitted to, or none if that is best
ALONE = 1 << 17  # products at once, few enough that BLAS uses one thread
MOST_STEPS = 100
CONVERGED = 1e-12  # relative decrease of the loss at which Newton steps stop
MATRIX_RIDGE = (
    5.0  # prior of how far a matrix is from a single factor, for scores of mean size 1: precision of a normal
)
MATRIX_STEPS = 200
MATRIX_CONVERGED = 1e-7  # relative decrease of the loss at which its steps stop


@dataclass(frozen=True, eq=False)
class Scored:
    """Rows to calibrate on.

    Attributes
    ----------
    margins : (n, R), -inf for a class without rows in the fit
    targets : (n, K), 1 for the class or labels of a row
    weight : (n,)
    """

    margins: np.ndarray
    targets: np.ndarray
    weight: np.ndarray


def calibrated(model: LinearModel, rows: Source, method: str = "sigmoid") -> LinearModel:
    """Return the model with its probabilities calibrated on these rows."""
    check_calibrated(model)
    row_checks.check_labels_of_model(rows.label_names, model.classes_)
    model = replace(model, curves=None)
    scored = _scored(model, rows)
    made = fitted_to(model, scored, method)
    _warn_of_labels(model, scored)
    return made


def fitted_to(model: LinearModel, scored: Scored, method: str) -> LinearModel:
    """Return the model with scores that minimise log loss on these rows, or with curves ("isotonic")."""
    _check_rows(model, scored)
    if method == "isotonic":
        return replace(model, curves=_curves(model.scheme, scored))
    if method == "matrix":
        if not can_mix(model):
            raise ValueError(
                "'matrix' mixes the scores of three classes or more, by scheme='joint' or 'ovr' and dense weights; "
                "use 'sigmoid'"
            )
        return mixed(model, *matrix_and_biases(scored))
    return _scaled(model, *factors_and_biases(model.scheme, scored))


def factors_and_biases(scheme: Scheme, scored: Scored) -> tuple[np.ndarray, np.ndarray]:
    """Return the factor and the bias of each row of weights, (R,) each, that minimise log loss on these rows.

    The scores of a softmax (joint, reference) share one factor, the inverse of a temperature, and have a bias each;
    other rows of weights have a factor and a bias each. All of this is linear, so the model stays linear.
    """
    if not is_softmax(scheme):
        factors, biases = np.array([fit_platt(*rows) for rows in _rows_of_weights(scheme, scored)]).T
        return factors, biases
    margins, targets, weight = _known_rows(scheme, scored)
    scores = scheme.class_scores(margins)
    known, bias = _have_scores(scores), np.zeros(scores.shape[1])
    factor, bias[known] = fit_softmax(scores[:, known], _softened(targets[:, known], weight), weight)
    if scheme.reference is not None:
        bias = np.delete(bias - bias[scheme.reference], scheme.reference)
    return np.full(margins.shape[1], factor), bias


def matrix_and_biases(scored: Scored) -> tuple[np.ndarray, np.ndarray]:
    """Return the matrix (K, K) by which scores of all classes are multiplied, and biases, that minimise log loss."""
    margins, targets, weight = _known_rows(Joint(), scored)
    known, n_classes = _have_scores(margins), margins.shape[1]
    margins, targets = margins[:, known], _softened(targets[:, known], weight)
    matrix, biases = np.zeros((n_classes, n_classes)), np.zeros(n_classes)
    own = fit_matrix(margins, targets, weight, *fit_softmax(margins, targets, weight), BIAS_RIDGE)
    matrix[np.ix_(known, known)], biases[known] = own
    return matrix, biases


def _curves(scheme: Scheme, scored: Scored) -> Curves:
    """Return a rising curve for each class of a softmax, else for each row of weights."""
    if not is_softmax(scheme):
        return Curves([fit_isotonic(*rows) for rows in _rows_of_weights(scheme, scored)])
    margins, targets, weight = _known_rows(scheme, scored)
    ranking = scheme.ranking(margins)
    each = zip(ranking.T, targets.T, np.isfinite(ranking).T, strict=True)
    return Curves([fit_isotonic(score[known], target[known], weight[known]) for score, target, known in each])


def _rows_of_weights(scheme: Scheme, scored: Scored) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Yield, for each row of weights, the margins of the rows it sets apart, 1 for its own group, and their weights."""
    bears = np.column_stack([scored.targets, ~scored.targets.any(axis=1)])
    if isinstance(scheme, TwoClasses | LabelReference):
        own, against = (bears[:, group] > 0.0 for group in scheme.groups(slice(None)))
    else:
        own, against = scored.targets > 0.0, scored.targets == 0.0
    informative = own != against  # rows in both groups or in neither are not informative
    for r, margin in enumerate(scored.margins.T):
        usable = informative[:, r] & np.isfinite(margin)
        yield margin[usable], own[usable, r].astype(np.float64), scored.weight[usable]


def _have_scores(scores: np.ndarray) -> np.ndarray:
    """Return which classes have a score in any row, (K,); the others are without rows in the fit, and stay so."""
    return np.isfinite(scores).any(axis=0)


def _known_rows(scheme: Scheme, scored: Scored) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return margins, targets and weights of rows whose class has a score.

    Classes that a fold lacks get the lowest score of a row, those without a score in any row keep -inf.
    """
    finite = np.isfinite(scored.margins)
    lowest = np.where(finite, scored.margins, np.inf).min(axis=1, keepdims=True)
    margins = np.where(finite | ~_have_scores(scored.margins), scored.margins, lowest)
    known = ~((scored.targets > 0.0) & ~np.isfinite(scheme.class_scores(scored.margins))).any(axis=1)
    return margins[known], scored.targets[known], scored.weight[known]


def _softened(targets: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return targets (N + 1) / (N + 2) of the class of a row, and the rest for the others, as Platt's of two classes.

    Even where scores separate all N rows, about one of N + 2 further rows may be of another class.
    """
    rest = 1.0 / (float(np.einsum("n->", weight)) + 2.0)
    return np.where(targets > 0.0, 1.0 - rest, rest / (targets.shape[1] - 1))


def row_losses(scheme: Scheme, scored: Scored) -> np.ndarray:
    """Return the log loss of each row, over all labels where there are several, (n,)."""
    logs, targets = scheme.log_proba(scored.margins), scored.targets > 0.0
    if scheme.multilabel:
        with np.errstate(divide="ignore"):
            return -np.where(targets, logs, np.log(-np.expm1(logs))).sum(axis=1)
    return -logs[targets]


def fit_softmax(
    scores: np.ndarray, targets: np.ndarray, weight: np.ndarray, bias_ridge: float = BIAS_RIDGE
) -> tuple[float, np.ndarray]:
    """Fit a factor t >= 0 and biases b, (K,), that sum to 0, to minimise log loss of softmax(t scores + b).

    ``min -sum_i w_i sum_k targets_ik ln softmax_k(t s_i + b) + (RIDGE t^2 mean|s|^2 + bias_ridge |b|^2) / 2``, Guo et
    al. 2017, "On calibration of modern neural networks", by Newton's method, with ridges that keep all finite. Scores
    that rank the classes in reverse get t = 0, which leaves the shares of the classes.
    """
    if not weight.any():  # as where no class of a row was known to the model that scored it: scores stay as they are
        return 1.0, np.zeros(scores.shape[1])
    scores, scale = _centred(scores, weight)
    ridge = np.append(RIDGE, np.full(scores.shape[1], bias_ridge))
    theta = _newton(scores / scale, targets, weight, ridge)
    if theta[0] < 0.0:
        theta = _newton(np.zeros_like(scores), targets, weight, ridge)
    return float(theta[0] / scale), theta[1:]


def _centred(scores: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, float]:
    """Scores about the mean of each row, and their weighted mean size."""
    centred = scores - scores.mean(axis=1, keepdims=True)
    size = float(np.average(np.abs(centred).mean(axis=1), weights=weight))
    return centred, max(size, np.finfo(np.float64).tiny)


def fit_platt(margin: np.ndarray, target: np.ndarray, weight: np.ndarray) -> tuple[float, float]:
    """Fit factor and bias of a margin so that its sigmoid is the probability of `target` (Platt 1999).

    The smoothed targets (N+ + 1) / (N+ + 2) and 1 / (N- + 2) keep separable groups from probabilities 0 and 1.
    A margin without rows stays as it is.
    """
    if not len(margin):
        return 1.0, 0.0
    smoothed = platt_targets(target, weight)
    both = np.column_stack([np.zeros_like(margin), margin]), np.column_stack([1.0 - smoothed, smoothed])
    factor, bias = fit_softmax(*both, weight, bias_ridge=RIDGE)
    return factor, bias[1] - bias[0]


def platt_targets(target: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return (N+ + 1) / (N+ + 2) and 1 / (N- + 2) in place of targets 1 and 0 (Platt 1999)."""
    on, off = (np.einsum("n,n->", weight, side) for side in (target, 1.0 - target))  # BLAS would use other threads
    return np.where(target > 0.0, (on + 1.0) / (on + 2.0), 1.0 / (off + 2.0))


def fit_isotonic(score: np.ndarray, target: np.ndarray, weight: np.ndarray) -> Knots:
    """Fit an isotonic regression of `platt_targets` on a score (Zadrozny and Elkan 2002); 1/2 where there is none."""
    if not len(score):
        return np.zeros(1), np.full(1, 0.5)
    levels, at = np.unique(score, return_inverse=True)
    of_level = np.bincount(at, weight)
    mean = np.bincount(at, weight * platt_targets(target, weight)) / of_level
    fit = isotonic_regression(mean, weights=of_level)
    ends = np.unique(np.concatenate([fit.blocks[:-1], fit.blocks[1:] - 1]))
    return levels[ends], fit.x[ends]


def _newton(scores: np.ndarray, targets: np.ndarray, weight: np.ndarray, ridge: np.ndarray) -> np.ndarray:
    """Minimise the loss over (t, b) from (0, 0), where all probabilities are equal and the loss is nearly quadratic."""
    scores, targets = np.ascontiguousarray(scores.T), np.ascontiguousarray(targets.T)  # sums over long rows are fast

    def at(theta: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the loss and the probabilities (K, n)."""
        z = theta[0] * scores + theta[1:, None]
        z -= z.max(axis=0)
        of_target = np.einsum("kn,kn->n", targets, z)
        np.exp(z, out=z)
        total = z.sum(axis=0)
        loss = np.einsum("n,n->", weight, np.log(total) - of_target) + 0.5 * (ridge @ theta**2)
        return float(loss), z / total

    theta = np.zeros(1 + len(scores))
    now, p = at(theta)
    for _ in range(MOST_STEPS):
        gradient, hessian = _derivatives(theta, p, scores, targets, weight, ridge)
        step = np.linalg.solve(hessian, gradient)
        if gradient @ step <= CONVERGED * now:
            break
        then, p = at(theta - step)
        while then > now and np.abs(step).max() > CONVERGED:
            step = step / 2.0
            then, p = at(theta - step)
        if then >= now:  # the remaining decrease is below rounding error
            break
        theta, now = theta - step, then
    return theta


def _derivatives(
    theta: np.ndarray, p: np.ndarray, scores: np.ndarray, targets: np.ndarray, weight: np.ndarray, ridge: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    residual = (p - targets) * weight
    gradient = np.append(np.einsum("kn,kn->", residual, scores), residual.sum(axis=1)) + ridge * theta
    weighted = p * weight
    by_t = weighted * (scores - np.einsum("kn,kn->n", p, scores))
    hessian = np.diag(ridge)
    hessian[0, 0] += np.einsum("kn,kn->", by_t, scores)
    hessian[0, 1:] = hessian[1:, 0] = by_t.sum(axis=1)
    hessian[1:, 1:] += np.diag(weighted.sum(axis=1)) + weighted.sum() / len(p)  # the sum of all biases stays 0
    step = max(ALONE // len(p) ** 2, 16)
    for rows in (slice(first, first + step) for first in range(0, p.shape[1], step)):
        hessian[1:, 1:] -= weighted[:, rows] @ p[:, rows].T
    return gradient, hessian


def fit_matrix(
    scores: np.ndarray, targets: np.ndarray, weight: np.ndarray, factor: float, biases: np.ndarray, bias_ridge: float
) -> tuple[np.ndarray, np.ndarray]:
    """Fit a matrix A, (K, K), and biases b, (K,), to minimise log loss of softmax(scores A + b).

    ``min -sum_i w_i sum_k targets_ik ln softmax_k(s_i A + b) + (r m^2 |A - t I|^2 + bias_ridge |b|^2) / 2``, with m the
    mean absolute score and r `MATRIX_RIDGE`, by L-BFGS from t I and b, the `factor` and the `biases` of `fit_softmax`.
    """
    n_classes = scores.shape[1]
    if not weight.any():
        return factor * np.eye(n_classes), biases
    centred, size = _centred(scores, weight)
    centred, targets = np.ascontiguousarray(centred.T), np.ascontiguousarray(targets.T)  # as in `_newton`
    unit = centred / size

    def at(theta: np.ndarray) -> tuple[float, np.ndarray]:
        apart, bias = theta[:-n_classes].reshape(n_classes, n_classes), theta[-n_classes:]
        z = apart.T @ unit
        z += factor * centred
        z += bias[:, None]
        z -= z.max(axis=0)
        of_target = np.einsum("kn,kn->n", targets, z)
        np.exp(z, out=z)
        total = z.sum(axis=0)
        loss = np.einsum("n,n->", weight, np.log(total) - of_target)
        loss += 0.5 * (MATRIX_RIDGE * np.einsum("jk,jk->", apart, apart) + bias_ridge * np.einsum("k,k->", bias, bias))
        z /= total
        z -= targets
        z *= weight
        return float(loss), np.append(unit @ z.T + MATRIX_RIDGE * apart, z.sum(axis=1) + bias_ridge * bias)

    start = np.append(np.zeros(n_classes**2), biases)
    with threads.one_thread():
        best = minimize(
            at, start, jac=True, method="L-BFGS-B", options={"maxiter": MATRIX_STEPS, "ftol": MATRIX_CONVERGED}
        )
    apart, bias = best.x[:-n_classes].reshape(n_classes, n_classes), best.x[-n_classes:]
    matrix = apart / size + factor * np.eye(n_classes)
    return matrix - matrix.mean(axis=0), bias  # scores need not be centred: the same number in all adds nothing


def mixed(model: LinearModel, matrix: np.ndarray, biases: np.ndarray) -> LinearModel:
    """Return the model with scores ``s @ matrix + biases``, whose softmax are its probabilities."""
    second = None if model.second is None else model.second @ matrix
    with threads.one_thread():
        known = np.isfinite(model.intercept_)
        weights, intercept = model.weights @ matrix, np.where(known, model.intercept_, 0.0) @ matrix + biases
        intercept = np.where(known, intercept, model.intercept_)
    return replace(model, weights=weights, intercept_=intercept, second=second, scheme=Joint())


def _scaled(model: LinearModel, factors: np.ndarray, biases: np.ndarray) -> LinearModel:
    """Return the model with its margins multiplied by `factors`, (R,), plus `biases`."""
    if isinstance(model, QuadraticModel) or (isinstance(model, CovarianceModel) and model.quadratic):
        made = model.scaled(factors[0], biases)
        return replace(made, intercept_=np.where(np.isfinite(model.intercept_), made.intercept_, model.intercept_))
    sparse, second = sp.issparse(model.weights), model.second
    return replace(
        model,
        weights=sp.csr_array(model.weights @ sp.diags_array(factors)) if sparse else model.weights * factors,
        intercept_=scaled_scores(model.intercept_, factors, biases),
        second=None if second is None else second * factors,
    )


def scaled_scores(scores: np.ndarray, factors: np.ndarray, biases: np.ndarray) -> np.ndarray:
    """Scores multiplied by factors, plus biases; infinite ones stay, even if the factor is 0."""
    return np.where(np.isinf(scores), scores, np.where(np.isinf(scores), 0.0, scores) * factors + biases)


def can_mix(model: LinearModel) -> bool:
    """Whether scores of one class may depend on those of others: three classes or more, with dense weights."""
    one_of_many = isinstance(model.scheme, Joint | OneVsRest) and len(model.classes_) > 2
    return one_of_many and type(model) is LinearModel and not sp.issparse(model.weights)


def check_calibrated(model: LinearModel) -> None:
    """Raise an error for a model whose probabilities cannot be calibrated."""
    if not model.scheme.has_probabilities:
        raise ValueError("scheme='ovo' has no probabilities to calibrate; use 'joint', 'ovr' or 'reference'")
    if isinstance(model, UnheldModel):
        raise MemoryError("calibrate scales the weights, and these are too many to be held; use a sparser penalty")


def _scored(model: LinearModel, rows: Source) -> Scored:
    """Score all rows, in order."""
    if rows.lazy:
        raise TypeError("X is in Dask; thousands of rows are enough to calibrate by: give X.compute() and y.compute()")
    n_bytes, cure = 8.0 * (rows.n_rows or 0) * 6 * len(model.classes_), "use fewer rows: thousands are enough"
    memory.check("scores of the rows to calibrate by", n_bytes, None, cure)
    margins, targets, weights = [], [], []
    for block in rows.blocks():
        chunk, survey = checked(block)
        weight = block.weights
        margins.append(model.margins(chunk, survey)[weight > 0.0])
        targets.append(_targets(model, row_checks.check_y(block.y), chunk.first_row)[weight > 0.0])
        weights.append(weight[weight > 0.0])
    if not margins:
        raise ValueError("X has no rows; to calibrate, give rows of at least 2 classes")
    return Scored(*map(np.concatenate, (margins, targets, weights)))


def _check_rows(model: LinearModel, scored: Scored) -> None:
    """Raise an error if the rows have only one side of a row of weights."""
    row_checks.check_total_weight(scored.weight.sum())
    total = np.einsum("n,nk->k", scored.weight, scored.targets)
    if model.scheme.multilabel:
        if False not in _one_sided(model, scored):
            raise ValueError(
                "y has each label on all rows or on none; to calibrate, give rows with and without a label"
            )
    elif np.count_nonzero(total) < 2:
        seen = model.classes_[total > 0.0].tolist()
        raise ValueError(f"y holds one class only ({seen}); to calibrate, give rows of at least 2 classes")


def _one_sided(model: LinearModel, scored: Scored) -> list[bool | None]:
    """Whether all or none of the rows have the label of each row of weights; None where it has no scores."""
    of_rows = _rows_of_weights(model.scheme, scored)
    return [bool(np.ptp(target) == 0.0) if len(target) else None for _, target, _ in of_rows]


def _warn_of_labels(model: LinearModel, scored: Scored) -> None:
    """Warn of labels that all or none of the rows have, which tell nothing of a label's scores."""
    names = model.scheme.row_names(model.classes_) if model.scheme.multilabel else []
    lacking = [name for name, one in zip(names, _one_sided(model, scored), strict=False) if one]
    if lacking:
        others = f", and {len(lacking) - 1:,} others are so, too" if len(lacking) > 1 else ""
        warn(
            f"y has label {lacking[0]!r} on all rows or on none{others}: it gets about the same probability on every "
            "row; to calibrate it, give rows of both kinds"
        )


def _targets(model: LinearModel, y: Any, first_row: int) -> np.ndarray:
    classes = model.classes_
    if sp.issparse(y) != model.scheme.multilabel:
        raise ValueError("y should be as in fit: one label a row, or an indicator of labels")
    if model.scheme.multilabel:
        if y.shape[1] != len(classes):
            raise ValueError(f"y has {y.shape[1]} columns; the model has {len(classes)} labels")
        return y.toarray().astype(np.float64)
    codes = LabelCodes(classes).codes_of(y)
    if codes is None:
        row = int(np.argmin(positions(classes, y)))
        raise ValueError(f"y has the label {y[row].item()!r} at row {first_row + row}, which the model does not know")
    return (codes[:, None] == np.arange(len(classes))).astype(np.float64)


# ---- by rows that models have not seen -------------------------------------------------------------------------------

LEAST_FOLDS = 5
ENOUGH_ROWS = 500  # of some folds, to choose and to calibrate by
MOST_MIXED = 64  # classes, as the time to fit a matrix grows with their square
Calibrated = Callable[[Scheme, Scored, np.ndarray], np.ndarray]  # margins, calibrated by other rows
PARTS = 5  # of the rows of one fold: calibrated by the others, each tells whether that helps


def check_calibration(method: str | None, scheme: str, n_folds: int) -> None:
    """Raise, before any row is read, where held-out rows cannot calibrate; "auto" then leaves the model as it is."""
    if method is None or method == AUTO:
        return
    if n_folds < LEAST_FOLDS:
        raise ValueError(
            f"calibration={method!r} needs at least {LEAST_FOLDS} folds, not {n_folds}: models of fewer rows "
            "score otherwise than the one of all rows; use folds=5, or calibrate(X, y) on held-out rows"
        )
    if scheme == "ovo":
        raise ValueError(f"calibration={method!r} needs probabilities, which scheme='ovo' lacks; use another scheme")


def check_enough_classes(method: str | None, stats: ClassStats) -> None:
    """Raise, once the classes are known, where there are too few of them for a method."""
    if method == "matrix" and (stats.multilabel or len(stats.classes) < 3):
        what = "rows have several labels" if stats.multilabel else f"there are {len(stats.classes)}"
        raise ValueError(f"calibration='matrix' is for three classes or more, and {what}; use 'sigmoid'")


def calibrated_out_of_fold(
    model: LinearModel, rows: SampledRows, of_rest: Callable[[int], LinearModel], method: str, proper: bool = True
) -> LinearModel:
    """The model of all rows, calibrated by out-of-fold scores; `of_rest` returns the model without a fold.

    "auto" takes what has the lowest log loss of rows calibrated by those of the other folds: "sigmoid", "matrix", or no
    calibration, where scores are `proper` log-odds. Where the rows without some fold have one class only, the same
    model is returned.
    """
    margins = np.empty((len(rows.key), model.scheme.n_rows(len(model.classes_))))
    for fold in np.unique(rows.fold).tolist():
        some = np.flatnonzero(rows.fold == fold)
        margins[some] = of_rest(fold).margins(*as_chunk(rows.X[some], missing=True))
    scored = Scored(margins, rows.labels.toarray().astype(np.float64), rows.weight)
    if method != AUTO:
        return fitted_to(model, scored, method)
    parts = rows.fold if np.ptp(rows.fold) else np.arange(len(rows.fold)) % PARTS
    if not _in_all_folds(model.scheme, scored, parts):
        return model
    best = _least_loss(model, scored, parts, proper)
    return model if best is None else fitted_to(model, scored, best)


def _least_loss(model: LinearModel, scored: Scored, folds: np.ndarray, proper: bool) -> str | None:
    """The method with the lowest log loss of held-out rows; None where it does not help scores that are `proper`."""
    losses = {"sigmoid": _held_out_losses(model.scheme, scored, folds, _by_factors)}
    if can_mix(model) and len(model.classes_) <= MOST_MIXED and np.isfinite(scored.margins).all():
        losses["matrix"] = _held_out_losses(Joint(), scored, folds, _by_matrix)
    best = min(losses, key=lambda method: float(scored.weight @ losses[method]))
    return best if not proper or _helps(model.scheme, scored, losses[best]) else None


def _by_factors(scheme: Scheme, scored: Scored, margins: np.ndarray) -> np.ndarray:
    factors, biases = factors_and_biases(scheme, scored)
    return scaled_scores(margins, factors, biases)


def _by_matrix(_: Scheme, scored: Scored, margins: np.ndarray) -> np.ndarray:
    matrix, biases = matrix_and_biases(scored)
    return margins @ matrix + biases


def _held_out_losses(scheme: Scheme, scored: Scored, folds: np.ndarray, calibrated: Calibrated) -> np.ndarray:
    """The log loss of each row, its margins calibrated by the rows of the other folds."""
    margins = np.empty_like(scored.margins)
    for fold in np.unique(folds).tolist():
        held = folds == fold
        others = Scored(scored.margins[~held], scored.targets[~held], scored.weight[~held])
        margins[held] = calibrated(scheme, others, scored.margins[held])
    return row_losses(scheme, replace(scored, margins=margins))


def _helps(scheme: Scheme, scored: Scored, after: np.ndarray) -> bool:
    """Whether log loss falls, to these losses, by more than the standard error of the difference."""
    before = row_losses(scheme, scored)
    if not np.isfinite(before).all():
        return bool(np.isfinite(after).all())
    gains, weight = before - after, scored.weight / scored.weight.sum()
    mean = weight @ gains
    return bool(mean > np.sqrt(weight**2 @ (gains - mean) ** 2))


def _in_all_folds(scheme: Scheme, scored: Scored, folds: np.ndarray) -> bool:
    """Whether the rows without each of several folds are of two classes, or with and without some label."""
    own = scored.targets > 0.0
    rests = [scored.weight * (folds != fold) for fold in np.unique(folds).tolist()]
    if scheme.multilabel:  # others get one probability for all rows
        both = np.all([(rest @ own > 0.0) & (rest @ ~own > 0.0) for rest in rests], axis=0)
        return len(rests) > 1 and bool(both.any())
    return len(rests) > 1 and all(np.count_nonzero(rest @ own) > 1 for rest in rests)
