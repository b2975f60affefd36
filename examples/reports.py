"""Pages of HTML that show a model: of delayed flights, of handwritten digits, and of what sentences are about.

    python examples/reports.py [folder [flights]]

Needs pip install streamnb[report,tables]. Without a folder the pages go to a temporary one,
which is printed.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_digits

import streamnb as snb

TRAIN, TEST = slice(1500), slice(1500, None)  # sentences
WORDS = {  # what sentences of a subject are made of, here and there with words of another
    "weather": "rain wind cloud storm sunny cold warm forecast degrees snow",
    "sports": "goal match team coach season win league player cup stadium",
    "markets": "shares bank price trade profit market stocks euro growth rates",
}


def main(folder=None, n_flights=12_000):
    folder = Path(tempfile.mkdtemp() if folder is None else folder)
    folder.mkdir(parents=True, exist_ok=True)
    table = flights(int(n_flights))
    train, test, later = (table[len(table) * at // 4 : len(table) * end // 4] for at, end in ((0, 2), (2, 3), (3, 4)))
    later = later.assign(wind=later["wind"] + 6.0)  # a season with more wind
    model = snb.AdditiveClassifier(interactions=2).fit(train, "delayed")
    page = folder / "flights.html"
    snb.report(model, test, "delayed", page, by=["carrier", "hour"], against=later, force=True)

    X, y = load_digits(return_X_y=True)
    X = pd.DataFrame(X, columns=[f"row {row}, column {column}" for row in range(8) for column in range(8)])
    model = snb.SoftmaxRegressionCV(folds=3).fit(X[:1200], y[:1200])
    snb.report(model, X[1200:], y[1200:], folder / "digits.html", force=True)

    sentences, subject = texts()
    train, test = (snb.text(sentences[some], y=subject[some], vocabulary=words()) for some in (TRAIN, TEST))
    candidates = {"families": ["multinomial", "bernoulli"], "penalties": [None, snb.L1(scale="score")]}
    found = snb.search(train, **candidates, folds=3, show=False)
    found.report(folder / "subjects.html", test, force=True)
    for name in ("flights", "digits", "subjects"):
        print(f"{folder / name}.html: {(folder / f'{name}.html').stat().st_size / 1e3:,.0f} kB")


def flights(n, seed=0):
    """Flights whose delays depend on the hour, the wind and the carrier, which matters most in the evening."""
    rng = np.random.default_rng(seed)
    hour, wind = rng.integers(5, 24, n), rng.gamma(3.0, 4.0, n).round(1)
    carrier = rng.choice(["Aero", "Bluejet", "Condor", "Delfin"], n, p=[0.4, 0.3, 0.2, 0.1])
    odds = -5.4 + 0.2 * (hour - 5) + 0.16 * wind + 1.6 * (carrier == "Bluejet") * (hour > 16)
    frame = pd.DataFrame({"carrier": carrier, "hour": hour, "wind": wind})
    frame["distance"] = rng.choice([220, 480, 950, 1400, 2600], n) + rng.integers(-30, 30, n)
    frame["seats"] = np.where(rng.random(n) < 0.12, np.nan, rng.choice([76, 140, 189, 290], n))
    delayed = rng.random(n) < 1.0 / (1.0 + np.exp(-odds - rng.normal(0.0, 0.6, n) * (1 + (carrier == "Delfin"))))
    return frame.assign(delayed=np.where(delayed, "yes", "no"))


def texts(n=2500, seed=0):
    """Sentences of eight words, of which about half are of their subject."""
    rng = np.random.default_rng(seed)
    every = words()
    subject = rng.choice([*WORDS], n)
    pick = [rng.choice(WORDS[one].split(), 8) for one in subject]
    sentences = [" ".join(np.where(rng.random(8) < 0.35, own, rng.choice(every, 8))) for own in pick]
    return np.array(sentences), subject


def words():
    """Every word of the sentences."""
    return " ".join(WORDS.values()).split()


if __name__ == "__main__":
    main(*sys.argv[1:])
