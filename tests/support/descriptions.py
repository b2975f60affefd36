"""All that a process says about what the package makes: other processes have to say the same.

`python -m tests.support.descriptions` prints it as JSON: descriptions of tasks and sources, digests of objects of every
kind that is saved, and of exported models.
"""

import hashlib
import json
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from streamnb.core import persistence
from streamnb.models.writing import FORMATS
from streamnb.passes.checkpoint import description
from tests.support import exported
from tests.support.examples_of_contracts import SOURCES, TASKS
from tests.support.saved_kinds import KINDS


def exported_as(model, ending):
    with TemporaryDirectory() as folder:
        path = Path(folder, f"model{ending}")
        model.export(path)
        return hashlib.sha256(path.read_bytes()).hexdigest()


def said():
    """Texts by name."""
    found = {"the order of a set": repr(frozenset("abcdefgh"))}
    for cls, named in TASKS.items():
        for name, example in named.items():
            made = example()
            found[f"{cls.__name__}-{name}"] = description(made.task, made.rows)
    for cls, named in SOURCES.items():
        for name, (make, _) in named.items():
            with TemporaryDirectory() as folder:
                found[f"{cls.__name__}-{name}"] = make(Path(folder)).layout()
    for name, make in KINDS.items():
        if "private" not in name:  # whose noise is never the same
            found[name] = persistence.digest(make())
    for name in exported.MODELS:
        for ending in FORMATS if name not in exported.DIVIDED else {*FORMATS} - {".py"}:
            found[f"{name}{ending}"] = exported_as(exported.fitted(name)[0], ending)
    return found


if __name__ == "__main__":
    time.monotonic = time.perf_counter = time.process_time = lambda: 0.0  # reports of passes hold how long they took
    json.dump(said(), sys.stdout)
