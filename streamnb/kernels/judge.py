"""Decisions of many models on the same rows, and what they come to."""

import numpy as np

from streamnb.kernels.compiler import kernel
from streamnb.kernels.exact import two_sum

FEW = 4  # classes, each of which is looked for


@kernel
def top_class(scores, out):
    # out[i, g] = the first k where scores[i, k, g] is largest
    if scores.shape[2] == 1:
        for i in range(scores.shape[0]):
            best, highest = 0, scores[i, 0, 0]
            for k in range(1, scores.shape[1]):
                higher = scores[i, k, 0] > highest
                best, highest = (k, scores[i, k, 0]) if higher else (best, highest)
            out[i, 0] = best
        return
    top = np.empty(scores.shape[2])
    for i in range(scores.shape[0]):
        top[:] = scores[i, 0]
        out[i] = 0
        for k in range(1, scores.shape[1]):
            for g in range(scores.shape[2]):
                higher = scores[i, k, g] > top[g]
                out[i, g] = k if higher else out[i, g]
                top[g] = scores[i, k, g] if higher else top[g]


@kernel
def below_top(scores, out):
    # out[i, k] = scores[i, k] less the largest of row i, which is taken for 0 where it is infinite
    for i in range(scores.shape[0]):
        top = scores[i, 0]
        for k in range(1, scores.shape[1]):
            top = max(top, scores[i, k])
        if abs(top) == np.inf:
            top = 0.0
        for k in range(scores.shape[1]):
            out[i, k] = scores[i, k] - top


@kernel
def others(mass, top):
    # each number of row i becomes the sum of the others, top[i] the column of the largest, from which the sum of all
    # would cancel and which is 1
    for i in range(mass.shape[0]):
        mass[i, top[i]] = 0.0
        beside = 0.0
        for k in range(mass.shape[1]):
            beside += mass[i, k]
        for k in range(mass.shape[1]):
            mass[i, k] = 1.0 + (beside - mass[i, k])
        mass[i, top[i]] = beside


@kernel
def row_sums(values, out):
    # out[i] = sum of row i
    for i in range(values.shape[0]):
        total = 0.0
        for k in range(values.shape[1]):
            total += values[i, k]
        out[i] = total


@kernel
def count_decisions(labels, weight, decided, hit, predicted, table, right_hi, right_lo):
    # decided[i, g] for g < len(hit): hit[g, k] and predicted[g, k] += weight[i] for the class k that is right, and that
    # was decided; table[g, true, decided] too where there is one; right_hi and right_lo are the sum of the weights that
    # are right for each g, and last of all weights; hit lies class by class
    for i in range(decided.shape[0]):
        k, w = labels[i], weight[i]
        right_hi[-1], error = two_sum(right_hi[-1], w)
        right_lo[-1] += error
        for g in range(len(hit)):
            found = decided[i, g]
            predicted[g, found] += w
            if len(table):
                table[g, k, found] += w
        for g in range(len(hit)):  # by itself, without branches, it takes vectors
            right = w if decided[i, g] == k else 0.0
            hit[g, k] += right
            right_hi[g], error = two_sum(right_hi[g], right)
            right_lo[g] += error


@kernel
def count_rows(labels, decided, hit, predicted):
    # the same of rows that count once each, in whole numbers: hit[k, g] and predicted[k, g]
    few = len(predicted) <= FEW
    for i in range(len(labels)):
        k, of_row = np.int32(labels[i]), decided[i]
        hits = hit[labels[i]]
        for g in range(len(hits)):
            hits[g] += np.int32(of_row[g] == k)
        for c in range(len(predicted) if few else 0):  # without jumps, so that it takes vectors
            of_class = predicted[c]
            for g in range(len(hits)):
                of_class[g] += np.int32(of_row[g] == np.int32(c))
        for g in range(0 if few else len(hits)):
            predicted[of_row[g], g] += np.int32(1)
