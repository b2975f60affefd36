"""Steps in the duals of rows, one row after another, for the softmax loss with an L2 penalty.

The dual of a row are the probabilities p of its classes; weights are sum_i w_i x_i (e_i - p_i)' / l2, where e_i has 1
at the class of row i (H.-F. Yu, F.-L. Huang and C.-J. Lin, Dual coordinate descent methods for logistic regression and
maximum entropy models, Machine Learning 85 (2011)).
"""

from streamnb.kernels.compiler import kernel
from streamnb.kernels.elementary import exp_less_one, logarithm
from streamnb.kernels.lanes import SINGLES, prefetch

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
