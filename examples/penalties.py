"""What does a penalty do to naive Bayes on 60 handwritten digits? Features left and held-out accuracy, from one scan.

    python examples/penalties.py

Penalties choose features (L1, TopK), shrink weights (L2, one of one's own), pull classes apart (Decorrelation), and
add up. Under L1 the whole path is known beforehand: a feature leaves at its breakpoint.
"""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import streamnb as snb


def saturating(w):
    """r'(w) of r(w) = -ln cosh w: like L2 near 0, like L1 far from it."""
    return -np.tanh(w)


PENALTIES = {
    "none": None,
    "L1": snb.L1([3.0, 10.0, 30.0]),
    "L1 of z-scores": snb.L1([1.0, 3.0, 5.0], scale="score"),
    "L2": snb.L2([10.0, 30.0, 100.0]),
    "TopK": snb.TopK([32, 8]),
    "Decorrelation": snb.Decorrelation([0.1, 0.3], scale="curvature"),
    "Separable": snb.Separable(saturating, [5.0, 15.0]),
    "L1 + L2": snb.L1(5.0) + snb.L2([10.0, 30.0]),
}


def main():
    X, y = load_digits(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, train_size=60, stratify=y, random_state=0)
    stats = snb.scan(X, y)
    print(f"{'penalty':<16} {'tau':<8} features  of each class  sum |w|  accuracy")
    for name, penalty in PENALTIES.items():
        path = snb.solve(stats, "gaussian", penalty)  # reads no data
        for point, model, n, per_class in zip(path.grid, path, path.n_features, path.n_features_per_class):
            taus, size = ", ".join(f"{tau:g}" for tau in point.values()), np.abs(model.coef_).sum()
            accuracy = model.score(X_test, y_test)
            print(f"{name:<16} {taus:<8} {n:8d} {per_class.mean():14.1f} {size:8.1f} {accuracy:9.3f}")

    breaks = np.sort(snb.solve(stats, "gaussian").breakpoints())
    print(f"\nL1: the first features leave at {breaks[breaks > 0][:3].round(2)}, the last one at {breaks[-1]:.2f}.")
    for wanted in (48, 32, 16):
        tau = snb.tau_for(stats, "gaussian", n_features=wanted)  # the smallest that leaves so many
        model = snb.solve(stats, "gaussian", snb.L1(tau))[0]
        print(f"tau = {tau:5.2f} leaves {wanted} features; accuracy {model.score(X_test, y_test):.3f}")


if __name__ == "__main__":
    main()
