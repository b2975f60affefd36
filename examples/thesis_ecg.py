"""The thesis's own problem: several illnesses at a time, each against the healthy, from electrocardiograms.

    python examples/thesis_ecg.py PATH [--length 100] [--order 3]

PATH is a folder of PhysioNet records, such as those of the MIT-BIH Arrhythmia Database (pip install streamnb[ecg]), or
an .npz file of their beats; examples/ecg_records.py has the arrays. Beats become letters, letters words of three, and
the rows are counts of these words in windows. The table says what the windows show (table 1 of the thesis).
"""

import argparse
import sys

from ecg_records import encode, read_beats


def main():
    options = parse_options()
    try:
        windows = encode(read_beats(options.path), options.length, options.order)
    except (ValueError, ImportError) as error:
        sys.exit(f"thesis_ecg.py: {error}")
    print_labels(windows)


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("path", help="folder of PhysioNet records, or .npz file of beats")
    parser.add_argument("--length", type=int, default=100, help="letters of a window (default %(default)s)")
    parser.add_argument("--order", type=int, default=3, help="letters of a word (default %(default)s)")
    return parser.parse_args()


def print_labels(windows):
    """Table 1: how many windows, of how many persons, bear each label."""
    print(f"{'label':<16} windows  persons")
    for label, has in zip(windows.labels, windows.Y.T == 1):
        print(f"{label:<16} {has.sum():7,d}  {len({*windows.person[has]}):7,d}")
    print(f"{'all':<16} {len(windows.person):7,d}  {len({*windows.person}):7,d}")


if __name__ == "__main__":
    main()
