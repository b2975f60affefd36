"""What a cross-validated classifier of handwritten digits looks like: every picture that streamnb draws, as PNG files.

    python examples/pictures.py [folder]

Needs matplotlib (pip install streamnb[plot]). Without a folder the pictures go to a temporary one, which is printed.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import streamnb as snb

DIGIT = 8  # whose weights are shown


def displays(model, X, y):
    """Name and display of each picture; X, y are held-out rows."""
    pixels = [f"row {j // 8}, column {j % 8}" for j in range(64)]
    yield "path", snb.RegularizationPathDisplay.from_estimator(model, DIGIT, feature_names=pixels)
    yield "scores_by_tau", snb.ScoreDisplay.from_estimator(model)
    yield "scores_by_features", snb.ScoreDisplay.from_estimator(model, "n_features")
    yield "roc", snb.RocDisplay.from_estimator(model, X, y)
    yield "confusion", snb.ConfusionMatrixDisplay.from_estimator(model, X, y)
    yield "telling_pixels", snb.TellingFeaturesDisplay.from_estimator(model, feature_names=pixels)
    yield "pixels_as_images", snb.TellingFeaturesDisplay.from_estimator(model, image_shape=(8, 8))
    yield "telling_one_digit", snb.TellingFeaturesDisplay.from_estimator(model, DIGIT, feature_names=pixels)
    both = snb.L1(np.geomspace(1.0, 50.0, 12), scale="score") + snb.L2([0.0, 100.0, 1000.0])
    two = snb.LinearNBCV("poisson", both, scoring="accuracy", rule="one_se").fit(X, y)
    yield "scores_of_two_penalties", snb.ScoreDisplay.from_estimator(two)
    paths = snb.L1(scale="score") + snb.L2([0.0, 100.0, 1000.0])
    of_both = snb.RegularizationPathDisplay.from_stats(model.stats_, "poisson", paths, DIGIT, feature_names=pixels)
    yield "path_of_two_penalties", of_both


def main(folder=None):
    folder = Path(folder or tempfile.mkdtemp(prefix="streamnb_pictures_"))
    folder.mkdir(parents=True, exist_ok=True)
    X_train, X_test, y_train, y_test = train_test_split(*load_digits(return_X_y=True), random_state=0)
    penalty = snb.L1(np.linspace(0.0, 40.0, 21), scale="score")
    model = snb.LinearNBCV("poisson", penalty, repeats=2, rule="parsimonious").fit(X_train, y_train)
    for name, display in displays(model, X_test, y_test):
        display.figure_.savefig(folder / f"{name}.png", dpi=120)
        print(folder / f"{name}.png")


if __name__ == "__main__":
    main(*sys.argv[1:2])
