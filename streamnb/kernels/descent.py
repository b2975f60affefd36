"""Losses of rows, their gradients in the scores, and sums of both that do not depend on the order of rows.

A number below 2^e is rounded to a grid by adding 3 * 2^e and subtracting it again. The results are multiples of
2^(e - 51), which add up without rounding as long as the sum is below 2^(e + 2). A weight of 0 leaves a row out.
"""

import math

import numpy as np

from streamnb.kernels.columns import sum_products
from streamnb.kernels.compiler import kernel, part
from streamnb.kernels.elementary import exponential, logarithm

LOWEST = -700.0  # no exponential is needed below


@kernel
def softmax_rows(scores, codes, residual, losses):
    # residual[i, k] = p_ik - [k = codes[i]], losses[i, 0] = -ln p of that class
    for i in range(len(scores)):
        top = scores[i, 0]
        for k in range(scores.shape[1]):
            top = max(top, scores[i, k])
        for k in range(scores.shape[1]):
            residual[i, k] = scores[i, k] - top
        losses[i, 0] = residual[i, codes[i]]
    flat = residual.reshape(-1)
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
def add_losses(losses, weight, tops, total, largest):
    # total[m, g] += sum_i weight[i, m] * losses[i, m, g] of each model, capped at 2 * tops[m] (a power of two): capped
    # sums do not depend on the order either; largest[m, g] is the largest loss of a row
    for i in range(losses.shape[0]):
        for m in range(losses.shape[1]):
            w, top = weight[i, m], tops[m]
            for g in range(losses.shape[2] if w > 0.0 else 0):
                loss = losses[i, m, g] if losses[i, m, g] < math.inf else math.inf  # also for NaN
                largest[m, g] = max(largest[m, g], loss)
                total[m, g] = min(total[m, g] + ((min(w * loss, top) + 3.0 * top) - 3.0 * top), 2.0 * top)


@kernel
def weigh(residual, weight):
    # residual[i, m, r] *= weight[i, m], and 0 where the weight is 0
    for i in range(residual.shape[0]):
        for m in range(residual.shape[1]):
            w = weight[i, m]
            for r in range(residual.shape[2]):
                residual[i, m, r] = w * residual[i, m, r] if w > 0.0 else 0.0


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
            slopes[i, r] = w * slopes[i, r] if folds[r] != fold else 0.0
        for r in range(losses.shape[1] if not w > 0.0 else 0):
            slopes[i, r] = 0.0


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
def add_pairs_csr(data, indices, indptr, unit, curvature, grid, total):
    # total[j, k, g] += sum_i x[i, j] * x[i, k] * curvature[i, g] for k <= j, x in units of columns and rounded on one
    # grid; the last column is 1 in every row
    start, last = indptr[0], total.shape[0] - 1
    for i in range(curvature.shape[0]):
        first, stop = indptr[i] - start, indptr[i + 1] - start
        for p in range(first, stop + 1 if has_any(curvature[i]) else first):
            j, x = (indices[p], float(data[p]) * unit[indices[p]]) if p < stop else (last, 1.0)
            for q in range(first, p):
                k = indices[q]
                product = x * (float(data[q]) * unit[k])
                for g in range(curvature.shape[1]):
                    total[j, k, g] += (product * curvature[i, g] + grid) - grid
            for g in range(curvature.shape[1]):
                total[j, j, g] += (x * x * curvature[i, g] + grid) - grid


@kernel
def add_pairs_dense(values, curvature, grid, total):
    # total[j, k] += sum_i x[i, j] * x[i, k] * curvature[i] for k <= j, each product rounded on one grid
    for i in range(values.shape[0]):
        for j in range(values.shape[1]):
            x = values[i, j] * curvature[i]
            for k in range(j + 1 if x != 0.0 else 0):
                total[j, k] += (x * values[i, k] + grid) - grid


@part
def has_any(row):
    found = 0
    for r in range(len(row)):
        found += row[r] != 0.0
    return found > 0
