"""Vector arithmetic on tables of weights for the optimisers, each operation in one pass."""

from streamnb.kernels.compiler import kernel


@kernel
def scale_balanced(scale, gradient, out):
    # out[j, r] = scale[j, r] * (gradient[j, r] - a), with a such that each row of out sums to 0
    for j in range(gradient.shape[0]):
        total, whole = 0.0, 0.0
        for r in range(gradient.shape[1]):
            out[j, r] = scale[j, r] * gradient[j, r]
            total += out[j, r]
            whole += scale[j, r]
        mean = total / whole if whole > 0.0 else 0.0
        for r in range(gradient.shape[1]):
            out[j, r] -= scale[j, r] * mean


@kernel
def divide_by_diagonal(spread, curvature, penalty, known, gradient, balanced, out):
    # out[j, r] = (gradient[j, r] - a) / (spread[j] * curvature[r] + penalty[j]), 0 where not known or where that is not
    # positive; a is 0, or if balanced such that each row of out sums to 0
    for j in range(gradient.shape[0]):
        total, whole = 0.0, 0.0
        for r in range(gradient.shape[1]):
            below = spread[j] * curvature[r] + penalty[j]
            inverse = 1.0 / below if known[j, r] and below > 0.0 else 0.0
            out[j, r] = inverse * gradient[j, r]
            total += out[j, r]
            whole += inverse
        mean = total / whole if balanced and whole > 0.0 else 0.0
        for r in range(gradient.shape[1] if mean != 0.0 else 0):
            below = spread[j] * curvature[r] + penalty[j]
            out[j, r] -= mean / below if known[j, r] and below > 0.0 else 0.0


@kernel
def add_multiple(out, factor, term):
    # out[i] += factor * term[i]
    for i in range(len(out)):
        out[i] += factor * term[i]


@kernel
def of_rows(point, factors, means, out):
    # out = point of features times factors, about their means: the last row, intercepts, has what that takes
    last = len(point) - 1
    for r in range(point.shape[1]):
        out[last, r] = 0.0
    for j in range(last):
        for r in range(point.shape[1]):
            out[j, r] = point[j, r] * factors[j]
            out[last, r] += point[j, r] * means[j]
    for r in range(point.shape[1]):
        out[last, r] = point[last, r] - out[last, r]


@kernel
def about_means(gradient, factors, means):
    # in place, the gradient in weights of scaled, centred features from that in weights of rows
    last = len(gradient) - 1
    for j in range(last):
        for r in range(gradient.shape[1]):
            gradient[j, r] = gradient[j, r] * factors[j] - means[j] * gradient[last, r]


@kernel
def lengths(step, roots, out):
    # out[r] = sum_j abs(step[j, r]) * roots[j]
    out[:] = 0.0
    for j in range(len(step)):
        for r in range(step.shape[1]):
            out[r] += abs(step[j, r]) * roots[j]
