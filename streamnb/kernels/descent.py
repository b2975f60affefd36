"""Losses of rows, their gradients in the scores, and sums of both that do not depend on the order of rows.

A number below 2^e is rounded to a grid by adding 3 * 2^e and subtracting it again. The results are multiples of
2^(e - 51), which add up without rounding as long as the sum is below 2^(e + 2). A weight of 0 leaves a row out.
"""

import math

from streamnb.kernels.compiler import kernel, part


@kernel
def below_largest(scores, codes, below, own):
    # below[i, k] = scores[i, k] - max_l scores[i, l], and own[i, 0] the same for the class of the row
    for i in range(scores.shape[0]):
        top = scores[i, 0]
        for k in range(scores.shape[1]):
            top = max(top, scores[i, k])
        for k in range(scores.shape[1]):
            below[i, k] = scores[i, k] - top
        own[i, 0] = below[i, codes[i]]


@kernel
def softmax_rows(residual, codes, losses):
    # from exp(s_ik), and s_ik of the class of the row: residual[i, k] = p_ik - [k = codes[i]], losses[i, 0] = -ln p of
    # that class
    for i in range(residual.shape[0]):
        total = 0.0
        for k in range(residual.shape[1]):
            total += residual[i, k]
        for k in range(residual.shape[1]):
            residual[i, k] /= total
        residual[i, codes[i]] -= 1.0
        losses[i, 0] = math.log(total) - losses[i, 0]


@kernel
def squared_hinge_rows(scores, own, residual, losses):
    # losses[i, r] = max(0, 1 - s)^2, s the score on the side of own (0 or 1), and residual its derivative in the score
    for i in range(scores.shape[0]):
        for r in range(scores.shape[1]):
            short = max(1.0 - (scores[i, r] if own[i, r] else -scores[i, r]), 0.0)
            residual[i, r] = -2.0 * short if own[i, r] else 2.0 * short
            losses[i, r] = short * short


@kernel
def add_losses(losses, weight, top, total, largest):
    # total[g] += sum_i weight[i] * losses[i, g], capped at 2 * top (a power of two): capped sums do not depend on the
    # order either; largest[g] is the largest loss of a row
    grid = 3.0 * top
    for i in range(losses.shape[0]):
        if weight[i] > 0.0:
            for g in range(losses.shape[1]):
                loss = losses[i, g] if losses[i, g] < math.inf else math.inf  # also for NaN
                largest[g] = max(largest[g], loss)
                term = min(weight[i] * loss, top)
                total[g] = min(total[g] + ((term + grid) - grid), 2.0 * top)


@kernel
def weigh(residual, weight):
    # residual[i, r] *= weight[i], and 0 where the weight is 0
    for i in range(residual.shape[0]):
        for r in range(residual.shape[1]):
            residual[i, r] = weight[i] * residual[i, r] if weight[i] > 0.0 else 0.0


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
def add_products_dense(values, residual, grid, total):
    # the same for dense rows
    for i in range(residual.shape[0]):
        if has_any(residual[i]):
            for j in range(values.shape[1]):
                x, m = float(values[i, j]), grid[j]
                for r in range(residual.shape[1] if x != 0.0 else 0):
                    total[j, r] += (x * residual[i, r] + m) - m


@kernel
def add_intercepts(residual, grid, total):
    # total[r] += sum_i residual[i, r]: the same for a feature that is 1 in every row
    for i in range(residual.shape[0]):
        for r in range(residual.shape[1]):
            total[r] += (residual[i, r] + grid) - grid


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
