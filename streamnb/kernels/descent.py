"""Losses of rows, their gradients in the scores, and sums of both that do not depend on the order of rows.

A number below 2^e is rounded to a grid by adding 3 * 2^e and subtracting it again. The results are multiples of
2^(e - 51), which add up without rounding as long as the sum is below 2^(e + 2). A weight of 0 leaves a row out.

The optimisers' vector arithmetic on tables of weights makes each operation in one pass. Steps in the duals of rows, one
row after another, are for the softmax loss with an L2 penalty: the dual of a row are the probabilities p of its
classes; weights are sum_i w_i x_i (e_i - p_i)' / l2, where e_i has 1 at the class of row i (H.-F. Yu, F.-L. Huang and
C.-J. Lin, Dual coordinate descent methods for logistic regression and maximum entropy models, Machine Learning 85
(2011)).
"""

import math

import numpy as np

from streamnb.kernels.columns import sum_products
from streamnb.kernels.compiler import kernel, part
from streamnb.kernels.exact import exp_less_one, exponential, logarithm
from streamnb.kernels.lanes import SINGLES, prefetch

LOWEST = -700.0  # no exponential is needed below


@kernel
def softmax_rows(scores, codes, residual, flat, losses):
    # residual[i, k] = p_ik - [k = codes[i]], losses[i, 0] = -ln p of that class; `flat` are all residuals in one row
    for i in range(len(scores)):
        top = scores[i, 0]
        for k in range(scores.shape[1]):
            top = max(top, scores[i, k])
        for k in range(scores.shape[1]):
            residual[i, k] = scores[i, k] - top
        losses[i, 0] = residual[i, codes[i]]
    for p in range(len(flat)):  # vectorised, unlike a loop over a few classes
        flat[p] = exponential(LOWEST if flat[p] < LOWEST else flat[p])  # a NaN stays one
    for i in range(len(scores)):
        total = 0.0
        for k in range(scores.shape[1]):
            total += residual[i, k]
        for k in range(scores.shape[1]):
            residual[i, k] /= total
        residual[i, codes[i]] -= 1.0
        losses[i, 0] = math.log(total) - losses[i, 0]


@kernel
def logistic_rows(scores, own, residual, losses):
    # losses[i, r] = ln(1 + exp(-s)), s the score on the side of own (0 or 1), and residual its derivative in the score
    given, of_class, slopes, values = scores.reshape(-1), own.reshape(-1), residual.reshape(-1), losses.reshape(-1)
    for i in range(len(given)):
        side = given[i] if of_class[i] else -given[i]
        e = exponential(LOWEST if -abs(side) < LOWEST else -abs(side))
        total = 1.0 + e
        wrong = np.divide(1.0 if side <= 0.0 else e, total)  # the probability of the other side
        slopes[i] = -wrong if of_class[i] else wrong
        values[i] = (0.0 if side > 0.0 else -side) + (logarithm(total) + np.divide(e - (total - 1.0), total))


@kernel
def squared_hinge_rows(scores, own, residual, losses):
    # losses[i, r] = max(0, 1 - s)^2, s the score on the side of own (0 or 1), and residual its derivative in the score
    for i in range(scores.shape[0]):
        for r in range(scores.shape[1]):
            short = max(1.0 - (scores[i, r] if own[i, r] else -scores[i, r]), 0.0)
            residual[i, r] = -2.0 * short if own[i, r] else 2.0 * short
            losses[i, r] = short * short


@kernel
def exponential_rows(scores, sign, factor, slope, constant, losses, slopes):
    # losses[i, r] = constant[i] + factor[i] exp(t) - slope[i] t, t = sign * scores[i, r], and slopes[i, r] its
    # derivative in the score
    given, flat = scores.reshape(-1), slopes.reshape(-1)
    for p in range(len(flat)):  # vectorised, unlike a loop over a few models
        t = sign * given[p]
        flat[p] = exponential(LOWEST if t < LOWEST else -LOWEST if t > -LOWEST else t)  # a NaN stays one
    for i in range(len(factor)):
        for r in range(slopes.shape[1]):
            rising = factor[i] * slopes[i, r]
            losses[i, r] = constant[i] + (rising - slope[i] * (sign * scores[i, r]))
            slopes[i, r] = sign * (rising - slope[i])


@kernel
def add_losses(losses, slopes, weight, tops, total, largest):
    # total[m, g] += sum_i weight[i, m] * losses[i, m, g] of each model, capped at 2 * tops[m] (a power of two): capped
    # sums do not depend on the order either; largest[m, g] is the largest loss of a row. slopes[i, m, r] *= weight[i,
    # m], and 0 where the weight is 0
    for i in range(losses.shape[0]):
        for m in range(losses.shape[1]):
            w, top = weight[i, m], tops[m]
            for g in range(losses.shape[2] if w > 0.0 else 0):
                loss = losses[i, m, g] if losses[i, m, g] < math.inf else math.inf  # also for NaN
                largest[m, g] = max(largest[m, g], loss)
                total[m, g] = min(total[m, g] + ((min(w * loss, top) + 3.0 * top) - 3.0 * top), 2.0 * top)
            for r in range(slopes.shape[2]):
                slopes[i, m, r] = w * slopes[i, m, r] if w > 0.0 else 0.0


@kernel
def weigh_folds(losses, slopes, weight, splits, folds, top, total):
    # total[splits[i], r] += weight[i] * losses[i, r], capped at top, a power of two; slopes[i, r] *= weight[i], and 0
    # for rows of the fold that model r leaves out
    grid = 3.0 * top
    for i in range(losses.shape[0]):
        fold, w = splits[i], weight[i]
        for r in range(losses.shape[1] if w > 0.0 else 0):
            loss = max(losses[i, r], 0.0) if losses[i, r] < math.inf else math.inf  # also for NaN
            total[fold, r] += (min(w * loss, top) + grid) - grid
        for r in range(losses.shape[1]):
            slopes[i, r] = w * slopes[i, r] if w > 0.0 and folds[r] != fold else 0.0


@kernel
def add_products_csr(data, indices, indptr, residual, grid, total):
    # total[j, r] += sum_i x[i, j] * residual[i, r], each product rounded on the grid of its feature
    start = indptr[0]
    single = residual.shape[1] == 1
    for i in range(residual.shape[0]):
        first, stop = indptr[i] - start, indptr[i + 1] - start
        if single:  # without an inner loop
            slope = residual[i, 0]
            for p in range(first, stop if slope != 0.0 else first):
                j = indices[p]
                total[j, 0] += (float(data[p]) * slope + grid[j]) - grid[j]
        elif has_any(residual[i]):
            for p in range(first, stop):
                j = indices[p]
                x, m = float(data[p]), grid[j]
                for r in range(residual.shape[1]):
                    total[j, r] += (x * residual[i, r] + m) - m


@kernel
def add_products_few(values, residual, grid, total):
    # total[r, j] += sum_i x[i, j] * residual[i, r], each product rounded on the grid of its feature: of dense rows and
    # few models, whose inner loop goes along the columns of a row
    for i in range(residual.shape[0]):
        for r in range(residual.shape[1]):
            slope = residual[i, r]
            for j in range(values.shape[1] if slope != 0.0 else 0):
                total[r, j] += (values[i, j] * slope + grid[j]) - grid[j]


@kernel
def add_products_dense(values, residual, grid, column, numbers, total):
    # the same for dense rows and many models, whose sums stay in registers; the grid is that of a feature, or of each
    # model, too. `column` and `numbers`, which count from 0, are scratch for a tile of rows
    for first in range(0, len(values), len(column)):
        rows = values[first : first + len(column)]
        slopes = residual[first : first + len(column)]
        for j in range(values.shape[1]):
            for i in range(len(rows)):
                column[i] = rows[i, j]
            sum_products(column, numbers, 0, len(rows), slopes, grid, total, j)


@kernel
def add_intercepts(residual, grid, total):
    # total[r] += sum_i residual[i, r]: the same for a feature that is 1 in every row
    for i in range(residual.shape[0]):
        for r in range(residual.shape[1]):
            total[r] += (residual[i, r] + grid[r]) - grid[r]


@kernel
def add_pairs_csr(data, indices, indptr, unit, curvature, grid, values, total):
    # total[j, k] += sum_i x[i, j] * x[i, k] * curvature[i] for k <= j, x in units of columns and rounded on one grid;
    # the last column is 1 in every row. `values` is scratch for a row
    for i in range(len(curvature)):
        first, n_stored = indptr[i] - indptr[0], indptr[i + 1] - indptr[i]
        for p in range(n_stored if curvature[i] != 0.0 else 0):
            values[p] = float(data[first + p]) * unit[indices[first + p]]
        values[n_stored] = 1.0
        for p in range(n_stored + 1 if curvature[i] != 0.0 else 0):
            j = indices[first + p] if p < n_stored else len(total) - 1
            x, products = values[p] * curvature[i], total[j]
            for q in range(p):
                products[indices[first + q]] += (x * values[q] + grid) - grid
            products[j] += (x * values[p] + grid) - grid


@kernel
def weigh_rows(values, unit, root, grid, out):
    # out[i, j] = root[i] * x[i, j], x in units of columns, rounded on one grid; the last column is 1 in every row
    last = values.shape[1]
    for i in range(values.shape[0]):
        w = root[i]
        for j in range(last):
            out[i, j] = (values[i, j] * unit[j] * w + grid) - grid
        out[i, last] = (w + grid) - grid


@part
def has_any(row):
    found = 0
    for r in range(len(row)):
        found += row[r] != 0.0
    return found > 0


@kernel
def divide_by_diagonal(spread, curvature, penalty, gradient, balanced, out):
    # out[j, r] = (gradient[j, r] - a) / (spread[j] * curvature[r] + penalty[j]), 0 where that is infinite or not
    # positive; a is 0, or if balanced such that each row of out sums to 0
    for j in range(gradient.shape[0]):
        total, whole = 0.0, 0.0
        for r in range(gradient.shape[1]):
            below = spread[j] * curvature[r] + penalty[j]
            inverse = 1.0 / below if below > 0.0 else 0.0
            out[j, r] = inverse * gradient[j, r]
            total += out[j, r]
            whole += inverse
        mean = total / whole if balanced and whole > 0.0 else 0.0
        for r in range(gradient.shape[1] if mean != 0.0 else 0):
            below = spread[j] * curvature[r] + penalty[j]
            out[j, r] -= (1.0 / below if below > 0.0 else 0.0) * mean


@kernel
def add_multiple(out, factor, term):
    # out[i] += factor * term[i]
    for i in range(len(out)):
        out[i] += factor * term[i]


LEAST = 1e-5  # where the search for the probability of a class begins
TINY = 1e-30
FACTOR = 5.0  # the most by which the logarithm of a probability changes at once
STEPS = 12
CLOSE = 1e-3  # a change of all probabilities that ends their search


@kernel
def ascend_rows(values, indices, indptr, order, weight, square, weights, intercepts, duals, scores, new, push, gain):
    # of each row in turn, the best dual while those of others stay: ln p_k + q p_k = s_k + q a_k - mu, with a the dual
    # so far and q = weight[i] (|x|^2 + square); weights and intercepts, whose feature is the root of `square`, follow.
    # weight[i] is divided by l2; gain[0] is a lower bound of what the dual objective gains, times l2
    n_classes, width, last = duals.shape[1], weights.shape[1], len(order) - 1
    for e in range(len(order)):
        i, coming = order[e], order[min(e + 1, last)]
        for t in range(indptr[coming], indptr[coming + 1]):
            for k in range(0, width, SINGLES):
                prefetch(weights, indices[t], k)
        if weight[i] > 0.0:
            q = square
            for k in range(width):
                scores[k] = intercepts[k]
            for t in range(indptr[i], indptr[i + 1]):
                x, j = values[t], indices[t]
                q += float(x) * float(x)
                for k in range(width):
                    scores[k] += x * weights[j, k]
            q *= weight[i]
            for k in range(n_classes):
                new[k] = max(float(duals[i, k]), LEAST)
            for _ in range(STEPS):  # Newton's method for all ln p and mu together
                total, moved, rate = 0.0, 0.0, 0.0
                for k in range(n_classes):
                    p = new[k]
                    share = 1.0 / (1.0 + q * p)
                    push[k] = (float(scores[k]) + q * float(duals[i, k]) - logarithm(p) - q * p) * share
                    total += p
                    moved += p * push[k]
                    rate += p * share
                mu, largest = (total + moved - 1.0) / rate, 0.0
                for k in range(n_classes):
                    p = new[k]
                    change = min(max(push[k] - mu / (1.0 + q * p), -FACTOR), FACTOR)
                    new[k] = max(p * (1.0 + exp_less_one(change)), TINY)
                    largest = max(largest, abs(new[k] - p))
                if largest < CLOSE:
                    break
            total = 0.0
            for k in range(n_classes):
                total += new[k]
            squares = 0.0
            for k in range(n_classes):
                p = new[k] / total
                change = float(duals[i, k]) - p
                squares += change * change
                duals[i, k] = p
                scores[k] = weight[i] * change
                intercepts[k] += square * weight[i] * change
            for k in range(n_classes, width):
                scores[k] = 0.0
            gain[0] += 0.5 * weight[i] * q * squares
            for t in range(indptr[i], indptr[i + 1]):
                x, j = values[t], indices[t]
                for k in range(width):
                    weights[j, k] += x * scores[k]
