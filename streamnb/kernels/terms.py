"""Additive terms of rows that are kept as the number of one column for each term, for many models side by side.

A table has a row of numbers for each column, and one of zeros for terms that a row lacks. Its lanes are models, or
classes of models, so many that they fill vectors. Each lane has the same bits whatever lanes are beside it.
"""

import numpy as np

from streamnb.kernels.compiler import kernel, part
from streamnb.kernels.exact import exp_less_one, logarithm
from streamnb.kernels.lanes import LANES, put, spread, take

LOWEST = -690.0  # exponents below, whose powers are about 0


@kernel
def score_terms(places, table, out):
    # out[i, r] += sum over terms t of table[places[t, i], r]
    width = out.shape[1]
    for r in range(0, width - width % LANES, LANES):
        score_lanes(places, table, out, r, LANES)
    for r in range(width - width % LANES, width):
        score_lanes(places, table, out, r, 1)


@part
def score_lanes(places, table, out, r, n_lanes):
    n_terms, n_rows = places.shape
    for t in range(0, n_terms - 3, 4):  # four terms for each time that scores are loaded
        for i in range(n_rows):
            scores = take(out, i, r, n_lanes) + take(table, places[t, i], r, n_lanes)
            scores = scores + take(table, places[t + 1, i], r, n_lanes) + take(table, places[t + 2, i], r, n_lanes)
            put(out, i, r, scores + take(table, places[t + 3, i], r, n_lanes))
    for t in range(n_terms - n_terms % 4, n_terms):
        for i in range(n_rows):
            put(out, i, r, take(out, i, r, n_lanes) + take(table, places[t, i], r, n_lanes))


@kernel
def add_terms(places, values, total):
    # total[places[t, i], r] += values[i, r]
    width = total.shape[1]
    for r in range(0, width - width % LANES, LANES):
        add_lanes(places, values, total, r, LANES)
    for r in range(width - width % LANES, width):
        add_lanes(places, values, total, r, 1)


@part
def add_lanes(places, values, total, r, n_lanes):
    n_terms, n_rows = places.shape
    for t in range(0, n_terms - 3, 4):
        for i in range(n_rows):
            a, b, c, d = places[t, i], places[t + 1, i], places[t + 2, i], places[t + 3, i]
            of_row = take(values, i, r, n_lanes)
            put(total, a, r, take(total, a, r, n_lanes) + of_row)
            put(total, b, r, take(total, b, r, n_lanes) + of_row)
            put(total, c, r, take(total, c, r, n_lanes) + of_row)
            put(total, d, r, take(total, d, r, n_lanes) + of_row)
    for t in range(n_terms - n_terms % 4, n_terms):
        for i in range(n_rows):
            put(total, places[t, i], r, take(total, places[t, i], r, n_lanes) + take(values, i, r, n_lanes))


@kernel
def sum_terms(places, values, grid, total):
    # total[places[t, i], r] += values[i, r], rounded on the grid of its column: sums are exact in any order
    for t in range(len(places)):
        for i in range(places.shape[1]):
            c = places[t, i]
            for r in range(values.shape[1]):
                total[c, r] += (values[i, r] + grid[c, r]) - grid[c, r]


@kernel
def logistic_lanes(scores, step, length, own, weight, fold, without, slopes, logs, losses):
    # slopes of the logistic losses at scores + length * step, and their sums by lane, over the rows of other folds than
    # `without`; logs is as large as slopes
    n_lanes = scores.shape[1]
    for i in range(len(scores)):
        for r in range(n_lanes):
            slopes[i, r] = scores[i, r] + length[r] * step[i, r]
    flat, log = slopes.reshape(-1), logs.reshape(-1)
    for p in range(len(flat)):
        z = flat[p]
        less = exp_less_one(max(-abs(z), LOWEST))  # e^-abs(z) - 1
        log[p] = logarithm(2.0 + less) + max(z, 0.0)
        small = np.divide(1.0 + less, 2.0 + less)
        flat[p] = small if z < 0.0 else 1.0 - small
    for i in range(len(scores)):
        y = float(own[i])
        for r in range(n_lanes):
            w = 0.0 if fold[i] == without[r] else weight[i]
            losses[r] += w * (logs[i, r] - y * (scores[i, r] + length[r] * step[i, r]))
            slopes[i, r] = w * (slopes[i, r] - y)


@kernel
def softmax_lanes(scores, step, length, own, weight, fold, without, slopes, n_classes, losses):
    # the same of softmax, whose models have a lane for each class; losses are in the first of them
    for i in range(len(scores)):
        for r in range(scores.shape[1]):
            slopes[i, r] = scores[i, r] + length[r] * step[i, r]
        for first in range(0, scores.shape[1] - n_classes + 1, n_classes):
            top = slopes[i, first]
            for r in range(first, first + n_classes):
                top = max(top, slopes[i, r])
            for r in range(first, first + n_classes):
                slopes[i, r] = max(slopes[i, r] - top, LOWEST)
    flat = slopes.reshape(-1)
    for p in range(len(flat)):
        flat[p] = 1.0 + exp_less_one(flat[p])
    for i in range(len(scores)):
        for first in range(0, scores.shape[1] - n_classes + 1, n_classes):
            total = 0.0
            for r in range(first, first + n_classes):
                total += slopes[i, r]
            w = 0.0 if fold[i] == without[first] else weight[i]
            per_total = np.divide(1.0, total)
            losses[first] -= w * logarithm(slopes[i, first + own[i]] * per_total)
            for r in range(first, first + n_classes):
                slopes[i, r] = w * (slopes[i, r] * per_total)
            slopes[i, first + own[i]] -= w
        for r in range(scores.shape[1] - scores.shape[1] % n_classes, scores.shape[1]):  # lanes of no model
            slopes[i, r] = 0.0


@kernel
def curvatures(slopes, weight, fold, without, out):
    # second derivatives of the losses in each score, w p (1 - p), from their slopes
    for i in range(len(slopes)):
        per_weight = np.divide(1.0, weight[i])
        for r in range(slopes.shape[1]):
            p = abs(slopes[i, r])
            out[i, r] = 0.0 if fold[i] == without[r] else p * (1.0 - p * per_weight)


@kernel
def curve_logistic(slopes, step, weight, fold, without, out):
    # out[r] += second derivative of the losses along a step of the scores
    for i in range(len(slopes)):
        per_weight = np.divide(1.0, weight[i])
        for r in range(slopes.shape[1]):
            p = abs(slopes[i, r])
            second = 0.0 if fold[i] == without[r] else p * (1.0 - p * per_weight)
            out[r] += second * (step[i, r] * step[i, r])


@kernel
def curve_softmax(slopes, step, own, weight, fold, without, n_classes, out):
    # the same of softmax, in the first lane of each model
    for i in range(len(slopes)):
        w = weight[i]
        for first in range(0, slopes.shape[1] - n_classes + 1, n_classes):
            if fold[i] != without[first]:
                mean, square = w * step[i, first + own[i]], w * step[i, first + own[i]] * step[i, first + own[i]]
                for r in range(first, first + n_classes):
                    mean += slopes[i, r] * step[i, r]
                    square += slopes[i, r] * step[i, r] * step[i, r]
                out[first] += square - np.divide(mean, w) * mean


@kernel
def divide_by_prior(parents, leaves, variance, curvature, shrink):
    # shrink[k] = 1 / (1 + variance of a node about its parent * precision of the nodes below), for `solve_terms`
    shrink[:] = 0.0
    for c in range(len(leaves)):
        for r in range(shrink.shape[1]):
            shrink[leaves[c], r] = curvature[c, r]
    for k in range(len(parents) - 1, -1, -1):
        for r in range(shrink.shape[1]):
            precision = shrink[k, r]
            shrink[k, r] = 1.0 / (1.0 + variance[k, r] * precision)
            if parents[k] >= 0:
                shrink[parents[k], r] += precision * shrink[k, r]


@kernel
def solve_terms(columns, nodes, parents, leaves, variance, shrink, per_row, curvature, gradient, room, step, pull):
    # step = minus the gradient, of terms about their means, over the curvature of each term and its prior alone, where
    # nodes vary about their parents, which come first; pull is what it changes the gradient of the prior by
    width = gradient.shape[1]
    for r in range(0, width - width % LANES, LANES):
        solve_lanes(
            columns, nodes, parents, leaves, variance, shrink, per_row, curvature, gradient, room, step, pull, r, LANES
        )
    for r in range(width - width % LANES, width):
        solve_lanes(
            columns, nodes, parents, leaves, variance, shrink, per_row, curvature, gradient, room, step, pull, r, 1
        )


@part
def solve_lanes(
    columns, nodes, parents, leaves, variance, shrink, per_row, curvature, gradient, room, step, pull, r, n_lanes
):
    none, slope, rows = spread(0.0, n_lanes), take(gradient, len(leaves), r, n_lanes), take(per_row, 0, r, n_lanes)
    mean = none
    for t in range(len(columns) - 1):  # the nodes of one term stay close to the processor
        first = nodes[t]
        for k in range(nodes[t + 1] - first):
            put(room, k, r, none)
        for c in range(columns[t], columns[t + 1]):
            right = take(curvature, c, r, n_lanes) * rows * slope - take(gradient, c, r, n_lanes)
            put(room, leaves[c] - first, r, right)
        for k in range(nodes[t + 1] - 1, first - 1, -1):
            if parents[k] >= 0:
                below = take(room, k - first, r, n_lanes) * take(shrink, k, r, n_lanes)
                put(room, parents[k] - first, r, take(room, parents[k] - first, r, n_lanes) + below)
        for k in range(first, nodes[t + 1]):
            node = take(variance, k, r, n_lanes) * take(room, k - first, r, n_lanes)
            if parents[k] >= 0:
                node = take(room, parents[k] - first, r, n_lanes) + node
            put(room, k - first, r, node * take(shrink, k, r, n_lanes))
        for c in range(columns[t], columns[t + 1]):
            of_column, curved = take(room, leaves[c] - first, r, n_lanes), take(curvature, c, r, n_lanes)
            right = curved * rows * slope - take(gradient, c, r, n_lanes)
            put(step, c, r, of_column)
            put(pull, c, r, right - curved * of_column)
            mean = mean + curved * rows * of_column
    put(step, len(leaves), r, none - slope * rows - mean)
    put(pull, len(leaves), r, none)


@kernel
def add_dots(a, b, out):
    # out[r] += sum_j a[j, r] * b[j, r]
    for j in range(len(a)):
        for r in range(a.shape[1]):
            out[r] += a[j, r] * b[j, r]


@kernel
def move(values, share, change, by):
    # values[j, r] = share[r] * values[j, r] + by[r] * change[j, r]
    for j in range(len(values)):
        for r in range(values.shape[1]):
            values[j, r] = share[r] * values[j, r] + by[r] * change[j, r]
