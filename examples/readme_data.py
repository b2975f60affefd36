"""Writes the three inputs of README into the working directory: a table, a folder of JSON lines, a Zarr store.

The table has the measurements of 569 tumours and the store 1,797 handwritten digits, both from scikit-learn. The texts
are made up: tickets of a help desk, in which most words say nothing about the topic.
"""

import json
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits

import streamnb as snb

TOPICS = {
    "billing": "invoice charge refund card price paid",
    "login": "password account email locked reset code",
    "shipping": "parcel courier address arrived broken tracking",
}
COMMON = [
    "please",
    "help",
    "my",
    "order",
    "since",
    "yesterday",
    "again",
    "thanks",
    "the",
    "a",
    "and",
    "it",
    "is",
    "was",
    "not",
]


def main():
    tumours = load_breast_cancer(as_frame=True).frame.rename(columns={"target": "benign"})
    tumours["hospital"] = np.resize(["north", "south", "west"], len(tumours))
    tumours[:400].to_parquet("train.parquet")
    tumours[400:].to_parquet("test.parquet")

    rng = np.random.default_rng(0)
    for folder, n_files in (("tickets", 4), ("new", 1)):
        Path(folder).mkdir(exist_ok=True)
        for number in range(n_files):
            with open(f"{folder}/{number}.jsonl", "w") as file:
                for _ in range(500):
                    topic = str(rng.choice(list(TOPICS)))
                    words = [*rng.choice(TOPICS[topic].split(), rng.integers(0, 3)), *rng.choice(COMMON, 8)]
                    file.write(json.dumps({"text": " ".join(rng.permutation(words)), "topic": topic}) + "\n")

    pixels, digit = load_digits(return_X_y=True)
    pieces = ((pixels[first : first + 300], digit[first : first + 300]) for first in range(0, 1797, 300))
    snb.write_csr("digits.zarr", pieces, n_features=64)


if __name__ == "__main__":
    main()
