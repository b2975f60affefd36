"""Decisions of many models on the same rows, and counts of how often they are right."""

import numpy as np

from streamnb.kernels.compiler import kernel
from streamnb.kernels.exact import two_sum

FEW = 4  # classes, up to which each is counted in a loop of its own


@kernel
def top_class(scores, top, out):
    # out[i, g] = the first k where scores[i, k, g] is largest; `top` is scratch for each g
    for i in range(scores.shape[0]):
        for g in range(scores.shape[2]):  # to copy an array whole would compile what puts its shape into an error
            top[g], out[i, g] = scores[i, 0, g], 0
        for k in range(1, scores.shape[1]):
            for g in range(scores.shape[2]):
                higher = scores[i, k, g] > top[g]
                out[i, g] = k if higher else out[i, g]
                top[g] = scores[i, k, g] if higher else top[g]


@kernel
def below_top(scores, out):
    # out[i, k] = scores[i, k] minus the largest score of row i, or minus 0 where that is -inf; 0 for scores of inf
    for i in range(scores.shape[0]):
        top = scores[i, 0]
        for k in range(1, scores.shape[1]):
            top = max(top, scores[i, k])
        if top == -np.inf:
            top = 0.0
        for k in range(scores.shape[1]):
            out[i, k] = 0.0 if scores[i, k] == top else scores[i, k] - top


@kernel
def others(mass, top):
    # replace each number of row i by the sum of the others; top[i] is the column of the largest, which is 1 and would
    # cancel if it were subtracted from the sum of all
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
def count_decisions(labels, weight, decided, hit, predicted, table):
    # from decided[i, g] of each model g: hit[0, k, g] += weight[i] for correct decisions of class k, predicted[0, g, k]
    # += weight[i] for all decisions of class k, and table[0, g, true, decided] if there is a table. Their rounding
    # errors are hit[1], ..
    for i in range(decided.shape[0]):
        k, w = labels[i], weight[i]
        for g in range(predicted.shape[1]):
            found = decided[i, g]
            predicted[0, g, found], error = two_sum(predicted[0, g, found], w)
            predicted[1, g, found] += error
            if table.shape[1]:
                table[0, g, k, found], error = two_sum(table[0, g, k, found], w)
                table[1, g, k, found] += error
        for g in range(predicted.shape[1]):  # a separate loop without branches is vectorised
            right = w if decided[i, g] == k else 0.0
            hit[0, k, g], error = two_sum(hit[0, k, g], right)
            hit[1, k, g] += error


@kernel
def count_rows(labels, decided, hit, predicted):
    # the same for unweighted rows, in whole numbers: hit[k, g] and predicted[k, g]
    few = len(predicted) <= FEW
    for i in range(len(labels)):
        k, of_row = np.int32(labels[i]), decided[i]
        hits = hit[labels[i]]
        for g in range(len(hits)):
            hits[g] += np.int32(of_row[g] == k)
        for c in range(len(predicted) if few else 0):  # without branches, so that it is vectorised
            of_class = predicted[c]
            for g in range(len(hits)):
                of_class[g] += np.int32(of_row[g] == np.int32(c))
        for g in range(0 if few else len(hits)):
            predicted[of_row[g], g] += np.int32(1)
