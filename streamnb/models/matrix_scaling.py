"""Matrix scaling: probabilities of each class from the scores of all classes (Guo et al. 2017)."""

from dataclasses import replace

import numpy as np
import scipy.sparse as sp
from scipy.optimize import minimize

from streamnb.core import blas
from streamnb.models.linear import LinearModel
from streamnb.problem.schemes import Joint, OneVsRest

RIDGE = 5.0  # prior of how far the matrix is from a single factor, for scores of mean size 1: precision of a normal
MOST_STEPS = 200
TOLERANCE = 1e-7  # relative decrease of the loss at which steps stop


def can_mix(model: LinearModel) -> bool:
    """Whether scores of one class may depend on those of others: three classes or more, with dense weights."""
    one_of_many = isinstance(model.scheme, Joint | OneVsRest) and len(model.classes_) > 2
    return one_of_many and type(model) is LinearModel and not sp.issparse(model.weights)


def mixed(model: LinearModel, matrix: np.ndarray, biases: np.ndarray) -> LinearModel:
    """Return the model with scores ``s @ matrix + biases``, whose softmax are its probabilities."""
    second = None if model.second is None else model.second @ matrix
    with blas.one_thread():
        weights, intercept = model.weights @ matrix, model.intercept_ @ matrix + biases
    return replace(model, weights=weights, intercept_=intercept, second=second, scheme=Joint())


def fit_matrix(
    scores: np.ndarray, targets: np.ndarray, weight: np.ndarray, factor: float, biases: np.ndarray, bias_ridge: float
) -> tuple[np.ndarray, np.ndarray]:
    """Fit a matrix A, (K, K), and biases b, (K,), to minimise log loss of softmax(scores A + b).

    ``min -sum_i w_i sum_k targets_ik ln softmax_k(s_i A + b) + (RIDGE m^2 |A - t I|^2 + bias_ridge |b|^2) / 2``, with m
    the mean absolute score, by L-BFGS from t I and b, the `factor` and the `biases` of `fit_softmax`.
    """
    n_classes = scores.shape[1]
    centred = scores - scores.mean(axis=1, keepdims=True)
    size = max(float(np.average(np.abs(centred).mean(axis=1), weights=weight)), np.finfo(np.float64).tiny)
    unit = centred / size

    def at(theta: np.ndarray) -> tuple[float, np.ndarray]:
        apart, bias = theta[:-n_classes].reshape(n_classes, n_classes), theta[-n_classes:]
        z = unit @ apart + bias
        z += factor * centred
        z -= z.max(axis=1, keepdims=True)
        own = np.einsum("nk,nk->n", targets, z)
        np.exp(z, out=z)
        total = z.sum(axis=1)
        loss = np.einsum("n,n->", weight, np.log(total) - own)
        loss += 0.5 * (RIDGE * np.einsum("jk,jk->", apart, apart) + bias_ridge * np.einsum("k,k->", bias, bias))
        z /= total[:, None]
        z -= targets
        z *= weight[:, None]
        return float(loss), np.append(unit.T @ z + RIDGE * apart, z.sum(axis=0) + bias_ridge * bias)

    start = np.append(np.zeros(n_classes**2), biases)
    with blas.one_thread():
        found = minimize(at, start, jac=True, method="L-BFGS-B", options={"maxiter": MOST_STEPS, "ftol": TOLERANCE})
    apart, bias = found.x[:-n_classes].reshape(n_classes, n_classes), found.x[-n_classes:]
    matrix = apart / size + factor * np.eye(n_classes)
    return matrix - matrix.mean(axis=0), bias  # scores need not be centred: the same number in all adds nothing
