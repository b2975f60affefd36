"""The container: a zip of typed JSON and .npy files. Nothing is pickled, imported or executed on loading.

An object says what it consists of (`to_state`, a dict of plain values, arrays and registered objects) and is
made anew from that (`from_state`); its class is looked up by name among the registered ones.
"""

import io
import json
import os
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from streamnb._checks import DataError

FORMAT_VERSION = 1
_HEADER = "streamnb.json"
_registry: dict[str, Any] = {}

C = TypeVar("C", bound=type)


class Parameters:
    """Saves an object that is all in its constructor's parameters, kept under their names."""

    def to_state(self) -> dict[str, Any]:
        return vars(self)

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Any:
        return cls(**state)


def register(cls: C) -> C:
    """Make a class known to the container; it has `to_state` and `from_state`."""
    _registry[cls.__name__] = cls
    return cls


def save(path: Any, value: Any) -> None:
    """Write a registered object to one file; an old file is replaced only by a whole new one."""
    path = Path(path)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.unfinished")
    try:
        with zipfile.ZipFile(unfinished, "w") as archive:
            tree = _Writer(archive).encode(value)
            header = {"format": "streamnb", "version": FORMAT_VERSION, "content": tree}
            archive.writestr(_HEADER, json.dumps(header))
        os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)


def load(path: Any, expected: type | None = None) -> Any:
    """Read what `save` wrote.

    Raises
    ------
    DataError
        The file is damaged, of a newer version, or holds something other than `expected`.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            header = json.loads(archive.read(_HEADER))
            _check_version(path, header)
            value = _Reader(archive).decode(header["content"])
    except (DataError, FileNotFoundError, IsADirectoryError, PermissionError):
        raise
    except Exception as error:  # damage shows in many ways: zip, checksum, JSON, .npy header, missing keys
        raise DataError(f"{path} is not a whole streamnb file ({error!r}); save it again") from error
    if expected is not None and not isinstance(value, expected):
        raise DataError(f"{path} holds a {type(value).__name__}, not a {expected.__name__}; load it with snb.load")
    return value


def _check_version(path: Any, header: Any) -> None:
    if not isinstance(header, dict) or header.get("format") != "streamnb":
        raise DataError(f"{path} is not a streamnb file")
    version = header.get("version")
    if not isinstance(version, int) or version < 1:
        raise DataError(f"{path} has format version {version!r}, which is not one of streamnb")
    if version > FORMAT_VERSION:
        raise DataError(
            f"{path} has format version {version}; this streamnb reads up to {FORMAT_VERSION}, so upgrade streamnb"
        )


def _home(cls: type) -> tuple[str, str]:
    """Where a class is defined; one that is defined there once more, as in a notebook, replaces it."""
    return cls.__module__, cls.__qualname__


class _Writer:
    def __init__(self, archive: zipfile.ZipFile):
        self._archive = archive
        self._count = 0

    def encode(self, value: Any) -> Any:
        if value is None or isinstance(value, (bool, int, str)):
            return value
        if isinstance(value, float):
            return {"float": value.hex()}
        if isinstance(value, np.generic):
            return self.encode(value.item())
        if isinstance(value, np.ndarray):
            return {"array": self._store(value)}
        if isinstance(value, (list, tuple)):
            return {type(value).__name__: [self.encode(v) for v in value]}
        if isinstance(value, Mapping):
            return {"dict": [[self.encode(k), self.encode(v)] for k, v in value.items()]}
        name = type(value).__name__
        registered = _registry.get(name)
        if registered is not None and _home(registered) != _home(type(value)):
            raise TypeError(
                f"{value!r} cannot be saved: a class of another module is named {name} too; rename one of them"
            )
        if registered is not None:
            state: Any = value.to_state()
            return {"object": name, "state": self.encode(state)}
        raise TypeError(f"{value!r} cannot be saved: {name} is not a plain value, an array or a part of streamnb")

    def _store(self, array: np.ndarray) -> str:
        name = f"{self._count}.npy"
        self._count += 1
        if array.dtype.kind == "O":
            array = array.astype(str)
        with self._archive.open(name, "w", force_zip64=True) as member:
            np.lib.format.write_array(member, np.ascontiguousarray(array).reshape(array.shape), allow_pickle=False)
        return name


class _Reader:
    def __init__(self, archive: zipfile.ZipFile):
        self._archive = archive

    def decode(self, node: Any) -> Any:
        if not isinstance(node, dict):
            return node
        if "float" in node:
            return float.fromhex(node["float"])
        if "array" in node:
            # read whole first: the zip checks the bytes against their checksum at the end
            return np.lib.format.read_array(io.BytesIO(self._archive.read(node["array"])), allow_pickle=False)
        if "list" in node:
            return [self.decode(v) for v in node["list"]]
        if "tuple" in node:
            return tuple(self.decode(v) for v in node["tuple"])
        if "dict" in node:
            return {self.decode(k): self.decode(v) for k, v in node["dict"]}
        if node["object"] not in _registry:
            raise DataError(f"{node['object']!r} is not a part of streamnb that can be loaded")
        return _registry[node["object"]].from_state(self.decode(node["state"]))
