"""Logarithms and exponentials as plain arithmetic, beside those of a library."""

import numpy as np

from streamnb.kernels.compiler import kernel
from streamnb.kernels.exact import exp_less_one, logarithm

RNG = np.random.default_rng(0)


@kernel
def logarithms(x, out):
    for i in range(len(x)):
        out[i] = logarithm(x[i])


@kernel
def exponentials(x, out):
    for i in range(len(x)):
        out[i] = exp_less_one(x[i])


def same_digits(kernel, of_library, x):
    found = np.empty_like(x)
    kernel(x, found)
    wanted = of_library(x)
    return np.abs(found - wanted) <= 3 * np.spacing(np.abs(wanted))


def test_logarithms_have_all_digits_next_to_one_too():
    x = np.concatenate([10.0 ** RNG.uniform(-307, 308, 300), 1.0 + RNG.normal(size=300) * 10.0 ** RNG.uniform(-15, -1)])
    assert same_digits(logarithms, np.log, np.append(x, [1.0, 0.5, 2.0, np.sqrt(0.5), np.sqrt(2.0)])).all()


def test_exponentials_less_one_have_all_digits_next_to_zero_too():
    x = RNG.normal(size=300) * 10.0 ** RNG.uniform(-300, 2, 300)
    assert same_digits(
        exponentials, np.expm1, np.append(x, [0.0, 700.0, -700.0, np.log(2.0), -0.5 * np.log(2.0)])
    ).all()
