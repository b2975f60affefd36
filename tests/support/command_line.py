"""Commands run in this process, on files of texts and stores that are made here."""

import json

import numpy as np

import streamnb as snb
from streamnb.cli.main import status

WORDS = {"perl": ["regex", "cpan", "scalar"], "python": ["numpy", "pip", "indent"], "ruby": ["gem", "rails", "block"]}
LABELS = np.array(list(WORDS))[np.arange(90) % 3]


def ran(capsys, *arguments):
    """How it ended, stdout and stderr."""
    capsys.readouterr()
    ended = status(list(map(str, arguments)))
    said = capsys.readouterr()
    return ended, said.out, said.err


def texts(folder):
    """A file of JSON lines, with labels in "section"."""
    rng, path = np.random.default_rng(0), folder / "texts.jsonl"
    bodies = [" ".join(rng.choice([*WORDS[label], "code", "file"], 6)) for label in LABELS]
    rows = [{"body": body, "section": label} for body, label in zip(bodies, LABELS.tolist(), strict=True)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def store(folder):
    """A store of counts, with labels in "y"."""
    rng, path = np.random.default_rng(0), folder / "counts.zarr"
    X = rng.poisson(np.where(np.arange(6) // 2 == (np.arange(90) % 3)[:, None], 3.0, 0.5))
    snb.convert(X, path, LABELS)
    return path
