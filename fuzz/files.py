"""Saved files changed under a checksum that is right: refused, or an object that can be used and saved again."""

import contextlib
import io
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import streamnb as snb
from fuzz.choices import change_json, change_numbers, move_json
from streamnb.core.persistence import save
from tests.support.saved import members_of, sealed
from tests.support.saved_kinds import KINDS, answers

REALS = [np.nan, np.inf, -np.inf, 1e308, -1e308, 1e200, -1.0, 0.0, 1e-310]
ARRAYS = [np.ravel, np.atleast_3d, lambda a: a[:-1], lambda a: a[..., :-1], np.float32, np.int64, np.transpose]


def change_array(choices, content):
    """An array with a number in it replaced, or all of them, or of another shape or dtype."""
    if choices.number(6) == 5:
        return change_reals(choices, content)
    if choices.number(4):
        head = content.index(b"\n") + 1  # of the description, which a change of bytes would only make unreadable
        return content[:head] + change_numbers(choices, content[head:])
    into = io.BytesIO()
    with contextlib.suppress(ValueError, IndexError):  # no such change of this array
        array = choices.pick(ARRAYS)(np.load(io.BytesIO(content)))
        np.save(into, array)
    return into.getvalue() or content


def change_reals(choices, content):
    """An array of floats with one of them replaced, or all."""
    with contextlib.suppress(ValueError):  # damaged before
        array = np.load(io.BytesIO(content))
        if array.dtype.kind == "f" and array.size:
            at = choices.number(array.size)
            array.reshape(-1)[slice(at, at + 1) if choices.number(2) else slice(None)] = choices.pick(REALS)
            np.save(into := io.BytesIO(), array)
            return into.getvalue()
    return content


def one(choices):
    members = dict(members_of(choices.pick(list(KINDS))))
    for _ in range(choices.number(4)):
        name = choices.pick(sorted(members, reverse=True))  # the JSON first
        members[name] = (change_array if name.endswith(".npy") else change_json)(choices, members[name])
    if choices.number(2):
        members["streamnb.json"] = move_json(choices, members["streamnb.json"])
    with TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = sealed(Path(folder, "changed.snb"), members.items())
        with contextlib.suppress(snb.DataError, MemoryError):
            value = snb.load(path)
            with contextlib.suppress(ValueError, MemoryError):  # in words, such as of a column that X lacks
                said = answers(value)
                save(path, value)
                assert repr(answers(snb.load(path))) == repr(said)
