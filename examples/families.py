"""What do the values of a feature look like within a class? The same digits under eleven answers, from one scan.

    python examples/families.py

A family is a distribution of each feature given the class. The scan sums what all of them need; after it a family is
tried without reading anything. The last one is not in the library: three functions of the mean make a family.
"""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import streamnb as snb


class CompoundPoisson(snb.Family):
    """Sums of a Poisson number of gamma sizes (Tweedie, power 1.5): often exactly 0, else of any size."""

    name = "compound_poisson"
    lowest = 0.0  # smaller values are refused

    def link(self, m):
        return -2.0 / np.sqrt(m)  # theta = g(m)

    def variance(self, m):
        return m**1.5  # 1 / g'(m)

    def cumulant(self, m):
        return 2.0 * np.sqrt(m)  # c(theta)


FAMILIES = {
    "any number, same variance in all classes": snb.Gaussian(),
    "a distance from the middle grey": snb.Laplace(8.0),
    "dark or not": snb.Bernoulli(),
    "dark parts out of 16": snb.Binomial(16),
    "a count": snb.Poisson(),
    "a count given the ink of the whole picture": snb.Multinomial(),
    "a count that varies more": snb.NegativeBinomial(2.0),
    "a count that varies much more": snb.Geometric(),
    "a positive size": snb.Gamma(),
    "a first passage time": snb.InverseGaussian(),
    "0, or a positive size": CompoundPoisson(),
}


def main():
    X, y = load_digits(return_X_y=True)  # 64 pixels, 0 (white) to 16 (black)
    X, X_test, y, y_test = train_test_split(X, y, random_state=0)
    stats = snb.scan(X, y, moments=["sum", "sum_sq", "above", "deviation"], binarize=7.5, centre=8.0)
    print(f"{'a pixel is':>44}  {'family':<18} held-out accuracy")
    for meaning, family in FAMILIES.items():
        model = snb.solve(stats, family)[0]  # reads no data
        print(f"{meaning:>44}  {family.name:<18} {model.score(X_test, y_test):.3f}")


if __name__ == "__main__":
    main()
