"""The thesis's own problem: several illnesses at a time, each against the healthy, from electrocardiograms.

    python examples/thesis_ecg.py PATH [--length 50 100] [--order 3] [--points 20] [--folds 5] [--out build/ecg]

PATH is a folder of PhysioNet records, such as those of the MIT-BIH Arrhythmia Database (pip install streamnb[ecg]), or
an .npz file of their beats; examples/ecg_records.py has the arrays. Beats become letters, letters words of three, and
the rows are counts of these words in windows, labelled by what they show; nobody is both trained on and judged.

For each length of windows: how many bear each label (table 1 of the thesis); AUC against the healthy and features kept
of each label, for three families under five penalties, the mean over the labels last (tables 2 to 4), from two scans.
The number of features is chosen by procedure 7.1, tau by the best AUC. For the first length: AUC by the number of
features and by tau, on rows that the models saw and on others (figures 1 to 4; pip install streamnb[plot]).
"""

import argparse
import sys
from pathlib import Path

import numpy as np
from ecg_records import HEALTHY, encode, read_beats

import streamnb as snb

FAMILIES = {"poisson": "Poisson", "gaussian": "normal", "bernoulli": "Bernoulli"}  # of tables 2, 3 and 4
RULES = {"plain": "best", "L0": "per_split", "L1": "best", "L0 + MR": "per_split", "L1 + MR": "best"}
MOST_POINTS = 216  # of the figures: every number of trigrams
RHOS = 0.05, 0.1, 0.2, 0.4  # of decorrelation (MR), in units of the curvature


def main():
    options = parse_options()
    try:
        beats = read_beats(options.path)
        every = {length: encode(beats, length, options.order) for length in options.length}
    except (ValueError, ImportError) as error:
        sys.exit(f"thesis_ecg.py: {error}")
    options.out.mkdir(parents=True, exist_ok=True)
    compared = {length: compare(options, length, windows) for length, windows in every.items()}
    draw(options, every[options.length[0]])
    if len(compared) > 1:
        print_lengths(compared)


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("path", help="folder of PhysioNet records, or .npz file of beats")
    parser.add_argument("--length", type=int, nargs="+", default=[100], help="letters of a window (default 100)")
    parser.add_argument("--order", type=int, default=3, help="letters of a word (default %(default)s)")
    parser.add_argument("--points", type=int, default=20, help="taus and numbers of features (default %(default)s)")
    parser.add_argument("--folds", type=int, default=5, help="folds, by person (default %(default)s)")
    parser.add_argument("--out", type=Path, default=Path("build/ecg"), help="folder for tables and figures")
    return parser.parse_args()


def asked(options):
    """What every table and figure asks: each label against the healthy, judged on other persons."""
    return {"scheme": "reference", "reference": HEALTHY, "scoring": "roc_auc_reference", "folds": options.folds}


# ---- tables ----------------------------------------------------------------------------------------------------------


def compare(options, length, windows):
    """Print tables 1 to 4, and write the last three as text and CSV."""
    print(f"Windows of {length} letters\n")
    print_labels(windows)
    numbers = np.unique(np.geomspace(1, windows.X.shape[1], options.points).round().astype(int)).tolist()
    l0, l1 = snb.TopK(numbers), snb.L1(n_taus=options.points)
    apart = snb.Decorrelation(RHOS, scale="curvature")
    comparison = snb.compare(
        windows.X,
        windows.Y,
        classes=windows.labels,
        groups=windows.person,
        families=list(FAMILIES),
        penalties={"plain": None, "L0": l0, "L1": l1, "L0 + MR": l0 + apart, "L1 + MR": l1 + apart},
        rule=RULES,
        overall="mean_of_classes",
        show=False,
        **asked(options),
    )
    print(f"\n{comparison}\n\n{comparison.report_.rows:,} rows read in two scans")
    files = [options.out / f"tables_{length}.{ending}" for ending in ("txt", "csv")]
    files[0].write_text(f"{comparison}\n")
    comparison.to_frame().to_csv(files[1], index=False)
    print(f"Wrote {files[0]} and {files[1]}\n")
    return comparison


def print_labels(windows):
    """Table 1: how many windows, of how many persons, bear each label."""
    print(f"{'label':<16} windows  persons")
    for label, has in zip(windows.labels, windows.Y.T == 1):
        print(f"{label:<16} {has.sum():7,d}  {len({*windows.person[has]}):7,d}")
    print(f"{'all':<16} {len(windows.person):7,d}  {len({*windows.person}):7,d}")


def print_lengths(compared):
    """The last rows of the tables, for windows of all lengths."""
    print(f"\nMean over the labels{'':<6}" + "".join(f"{name:>16}" for name in RULES))
    for family in FAMILIES:
        for length, comparison in compared.items():
            f = comparison.families.index(family)
            cells = zip(comparison.scores[f, :, -1], comparison.n_features[f, :, -1])
            print(f"{family:<12}{length:>8} letters" + "".join(f"{score:10.4f} ({kept:3.0f})" for score, kept in cells))


# ---- figures ---------------------------------------------------------------------------------------------------------


def draw(options, windows):
    """Figures 1 to 4: for each family the two labels of most persons by number of features; Poisson by tau."""
    n_persons = [len({*windows.person[has == 1]}) for has in windows.Y.T[1:]]
    shown = [windows.labels[1 + at] for at in np.argsort(n_persons)[:-3:-1]]
    n_features = windows.X.shape[1]
    every = snb.TopK(np.linspace(1, n_features, min(n_features, MOST_POINTS)).round().astype(int).tolist())
    for number, (family, name) in enumerate(FAMILIES.items(), 1):
        model = fitted(options, windows, family, every, "per_split")
        pictures = [(model, "n_features", label, f"{label}, {name}") for label in shown]
        save(options, f"figure_{number}", pictures)
    apart = snb.Decorrelation(np.geomspace(0.01, 0.5, options.points), scale="curvature")
    pictures = [
        (fitted(options, windows, "poisson", penalty, "best"), kind, shown[0], f"{shown[0]}, {name}")
        for penalty, kind, name in ((snb.L1(n_taus=options.points), "l1", "L1"), (apart, "decorrelation", "MR"))
    ]
    save(options, "figure_4", pictures)


def fitted(options, windows, family, penalty, rule):
    """Every point of the grid judged on rows that the models saw, and on others."""
    model = snb.LinearNBCV(family, penalty, rule=rule, return_train_score=True, **asked(options))
    return model.fit(windows.X, windows.Y, classes=windows.labels, groups=windows.person)


def save(options, name, pictures):
    """Pictures side by side, as a PNG file."""
    from matplotlib.figure import Figure

    figure = Figure((8.0 * len(pictures), 4.8), layout="constrained")
    for part, (model, against, label, title) in zip(figure.subfigures(1, len(pictures)), pictures):
        ax = part.subplots()
        snb.ScoreDisplay.from_estimator(model, against, class_=label, train=True, ax=ax)
        ax.set_title(title)
    figure.savefig(options.out / f"{name}.png", dpi=120)
    print(f"Wrote {options.out / name}.png")


if __name__ == "__main__":
    main()
