"""Arithmetic of descent on tables of weights, each in one reading of what it takes."""

from streamnb.kernels.compiler import kernel


@kernel
def scale_balanced(scale, gradient, out):
    # out[j, r] = scale[j, r] * (gradient[j, r] - a), a such that every row of out adds up to 0
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
def add_multiple(out, factor, term):
    # out[i] += factor * term[i]
    for i in range(len(out)):
        out[i] += factor * term[i]
