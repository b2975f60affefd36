"""The file format: a zip of typed JSON and .npy files under one checksum. Nothing is pickled or executed.

`_to_state` returns an object's parts (a dict of plain values, arrays and registered objects), and `_from_state` makes
the object from them; its class is looked up by name among the registered ones. Members are never compressed, and each
is referred to once, so that loading takes memory in proportion to the file. From version 2 on, the comment of the zip
is the SHA-256 of all bytes before it. `_from_state` trusts nothing: it refuses parts of other names, types, dtypes and
shapes than a class declares, by the fields of a dataclass that inherits from `Parameters` or as arguments of `parts`.

`described` and `shown` give values as text, by which a pass, its rows and its parameters are recognised in another
process.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import sys
import zipfile
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import Field, fields, is_dataclass
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from types import NoneType, UnionType
from typing import IO, Annotated, Any, Literal, Self, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

from streamnb.core.messages import DataError
from streamnb.core.stored_files import downloaded, is_url, replacing

FORMAT_VERSION = 2
_HEADER = "streamnb.json"
_SEAL = 64  # bytes of the hexadecimal checksum
_CHUNK = 1 << 20
_registry: dict[str, Any] = {}
_kinds_of = cache(partial(get_type_hints, include_extras=True))  # evaluating annotations takes longer than reading
# Modules with classes that are saved, imported when a file names one that is not registered yet; those that load fast
# have a module of their own.
HOMES = (
    "additive.classifier",
    "additive.regressor",
    "encoding.opening",
    "encoding.sequences",
    "encoding.table_encoding",
    "encoding.text",
    "estimators.categorical_nb",
    "estimators.category_counters",
    "estimators.class_sets",
    "estimators.crammer_singer",
    "estimators.discriminant_analysis",
    "estimators.drop_ins",
    "estimators.linear_nb_cv",
    "estimators.selector",
    "estimators.stacked_nb",
    "estimators.trained_models",
    "estimators.transformers",
    "estimators.tree_nb",
    "problem.mixed",
    "problem.families",
    "estimators.chosen",
    "estimators.generalized",
    "estimators.penalised",
    "searching.comparing",
    "searching.search_result",
    "scanning.rounds",
    "scanning.schema",
)
_LIGHT, _EXPORTS = "models.portable", "streamnb.models.writing"
_OF_LIGHT = {"PortableModel", "PortableRegression", "RowStep", "Indicators", "ColumnSums"}
C = TypeVar("C", bound=type)
T = TypeVar("T")


class Parameters:
    """Saves a dataclass by its fields, another object by its constructor's parameters, attributes of the same names.

    The annotation of a field is its type in files, too, and that of an array may have a dtype and dimensions:
    ``Annotated[np.ndarray, "f8[n_classes, 2]"]``. Dimensions of one name have one length in the whole object, `_` has
    any. A field that older files lack has a default; ``field(metadata={"saved_as": ..})`` has another name in files.
    """

    __slots__ = ()

    def _to_state(self) -> dict[str, Any]:
        if not is_dataclass(self):
            return vars(self)
        return {_name_in_files(part): getattr(self, part.name) for part in fields(self)}

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> Self:
        if is_dataclass(cls):  # constructors of other classes check their parameters
            names = {_name_in_files(part): part.name for part in fields(cls)}
            known(cls, state, *names)
            state = {names[name]: value for name, value in state.items()}
            kinds, lengths = _kinds_of(cls), dict[str, int]()
            state = {name: part(state, name, kinds[name], lengths) for name in names.values() if name in state}
        self = cls(**state)
        self._check_loaded()
        return self

    def _check_loaded(self) -> None:
        """Raise a ValueError if the loaded fields, which are of their types, do not fit together."""


class InPlace(Parameters):
    """Saved as its state alone: the annotation of the field that holds it says its class."""

    __slots__ = ()


def _name_in_files(part: Field[Any]) -> str:
    return part.metadata.get("saved_as", part.name)


def register(cls: C) -> C:
    """Register a class that can be saved: it has `_to_state` and `_from_state`."""
    _registry[cls.__name__] = cls
    return cls


def restored(cls: type[T], state: Mapping[str, Any]) -> T:
    """The object of a class with this state."""
    return cls._from_state(state)  # type: ignore[attr-defined]


def registered(value: Any) -> bool:
    """True for an object whose class is registered, so that `load` can restore it."""
    return type(value) in _registry.values()


class Unmade:
    """An object of a file whose class is imported on use only; its parts are attributes, as they are saved."""

    def __init__(self, name: str, state: Any):
        self.name, self.state = name, state

    def __getattr__(self, part: str) -> Any:
        parts = vars(self).get("state", {})  # nothing is there yet when it is unpickled
        if part not in parts:
            raise AttributeError(f"an unmade object has no part {part!r}")
        return parts[part]

    def made(self) -> Any:
        """The object; an error says what is wrong with the file."""
        return restored(registered_class(self.name), _made(self.state))


def _made(value: Any) -> Any:
    if isinstance(value, Unmade):
        return value.made()
    if isinstance(value, dict):
        return {key: _made(part) for key, part in value.items()}
    return type(value)(map(_made, value)) if isinstance(value, list | tuple) else value


def class_name(value: Any) -> str:
    """The name of the class of an object, made or not."""
    return value.name if isinstance(value, Unmade) else type(value).__name__


def array(name: str, value: Any, dtypes: Any, shape: tuple[int | None, ...]) -> np.ndarray:
    """Return a loaded array if it has one of these dtypes and this shape; None stands for any length."""
    fits = isinstance(value, np.ndarray) and value.dtype.isnative and value.dtype in (np.dtype(d) for d in dtypes)
    if not fits or value.ndim != len(shape) or any(n not in (None, m) for n, m in zip(shape, value.shape, strict=True)):
        given = f"{value.dtype} {value.shape}" if isinstance(value, np.ndarray) else type(value).__name__
        raise ValueError(f"{name} is {given}; it should be an array of shape {shape} and dtype {' or '.join(dtypes)}")
    return value


def part(state: Mapping[str, Any], name: str, kind: Any, lengths: dict[str, int] | None = None) -> Any:
    """Return a part of a loaded state if it is of a type, or an array of a form; `lengths` are of its dimensions."""
    value, kind = state[name], Annotated[np.ndarray, kind] if isinstance(kind, str) else kind
    if get_origin(kind) is Annotated and not isinstance(kind.__metadata__[0], str):
        kind = kind.__origin__  # the rest says how it merges
    for each in get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,):
        if isinstance(each, type) and issubclass(each, InPlace) and not isinstance(value, each | None):
            value = each._from_state(value)
        elif isinstance(value, list) and get_origin(each) is tuple and get_args(each)[-1] is ...:
            value = tuple(value)
        elif get_origin(each) is Annotated and (each is kind or isinstance(value, np.ndarray)):
            _check_form(name, value, each.__metadata__[0], {} if lengths is None else lengths)
    if not is_a(kind, value):
        raise ValueError(f"{name} is {value!r:.100}; it should be {getattr(kind, '__name__', kind)}")
    return value


def _check_form(name: str, value: Any, form: str, lengths: dict[str, int]) -> None:
    """Refuse an array of another form than this, such as "f8[n_rows, 2]"; adds the `lengths` of new dimensions."""
    dtype, *dimensions = form.replace("[", ", ").rstrip("]").split(", ")
    for dimension, length in zip(dimensions, getattr(value, "shape", ()), strict=False):
        lengths.setdefault(dimension, int(dimension) if dimension.isdigit() else length)
    shape = tuple(None if dimension == "_" else lengths.get(dimension) for dimension in dimensions)
    array(name, value, [dtype or str(getattr(value, "dtype", "any"))], shape)


def parts(cls: type, state: dict[str, Any], **kinds: Any) -> list[Any]:
    """Return all parts of a loaded state, each of its kind as in `part`, in the order of `kinds`."""
    state, lengths = known(cls, state, *kinds), dict[str, int]()
    return [part(state, name, kind, lengths) for name, kind in kinds.items()]


def pieces(name: str, joined: np.ndarray, lengths: np.ndarray) -> list[np.ndarray]:
    """Return the arrays that were joined in one, from their lengths."""
    if (lengths < 0).any() or lengths.sum() != len(joined):
        raise ValueError(f"{name} should say how many values each has, {len(joined)} in all")
    return np.split(joined, np.cumsum(lengths)[:-1]) if len(lengths) else []


def known(cls: type, state: dict[str, Any], *names: str) -> dict[str, Any]:
    """Return a loaded state if it has no other keys than these; a misspelt key would count as absent."""
    strange = state.keys() - {*names}
    if strange:
        raise ValueError(f"{cls.__name__} has no {min(map(str, strange))!r}")
    return state


def is_a(hint: Any, value: Any) -> bool:
    """Whether a loaded value, with its elements, is of a type; a sequence is a list or a tuple here."""
    kind, inner = get_origin(hint) or hint, get_args(hint)
    if kind is Any:
        return True
    if kind is Annotated:
        return is_a(inner[0], value)
    if kind in (Union, UnionType):
        return any(is_a(one, value) for one in inner)
    if kind is Literal:
        return isinstance(value, str) and value in inner
    if kind in (bool, int, str, float, NoneType):
        return type(value) is kind or (kind is float and type(value) is int)
    if kind is tuple and inner[-1] is not ...:
        return isinstance(value, tuple) and len(value) == len(inner) and all(map(is_a, inner, value))
    if kind in (list, tuple, Sequence):
        return isinstance(value, list | tuple) and all(is_a(inner[0], one) for one in value)
    if kind in (dict, Mapping):
        return isinstance(value, dict) and all(is_a(inner[0], k) and is_a(inner[1], v) for k, v in value.items())
    return isinstance(value, kind)


# ---- writing ---------------------------------------------------------------------------------------------------------


def check_path(name: str, given: Any) -> Path:
    """Return the path of a file that was given as the argument `name`."""
    path = check_place(name, given)
    if isinstance(path, str):
        raise ValueError(f"{name}={path!r} should be the path of a file on this machine, not a URL")
    return path


def check_place(name: str, given: Any) -> Path | str:
    """Return the path of a file, or its URL as a str, that was given as the argument `name`."""
    if not isinstance(given, (str, os.PathLike)):
        raise TypeError(f"{name}={given!r} should be the path of a file, a str or a pathlib.Path")
    given = os.fspath(given).removeprefix("file://")
    if is_url(given):
        return given
    path = Path(given)
    if not path.name:
        raise ValueError(f"{name}={os.fspath(given)!r} should be the path of a file, such as 'rows.snb'")
    return path


def save(path: Any, value: Any, light: Any = None) -> None:
    """Write a registered object to one file; an old file is replaced only once the new one is complete and stored.

    `light` is a smaller object for those who need no more of the file; `load_light` reads it alone.
    """
    with replacing(check_place("path", path)) as file:
        _write(file, value, light)


def _write(file: IO[bytes], value: Any, light: Any = None) -> None:
    header: dict[str, Any] = {"format": "streamnb", "version": FORMAT_VERSION}
    if light is not None:
        inner = io.BytesIO()
        _write(inner, light)
        header["light"] = b64encode(inner.getvalue()).decode()  # no member, which earlier versions would refuse
    with zipfile.ZipFile(file, "w") as archive:
        header["content"] = _encoded(value, partial(_written, archive))
        archive.writestr(_HEADER, json.dumps(header))
        archive.comment = bytes(_SEAL)  # the last bytes of the file
    seal = _digest(file)
    file.seek(-_SEAL, os.SEEK_END)
    file.write(seal)


def digest(value: Any) -> str:
    """A fingerprint of 16 hexadecimal digits of any value that can be saved, from the content of its file."""
    return hashlib.sha256(json.dumps(_encoded(value, _fingerprint)).encode()).hexdigest()[:16]


def _digest(file: IO[bytes]) -> bytes:
    """The checksum of all bytes of a file except the checksum at its end."""
    left, digest = file.seek(0, os.SEEK_END) - _SEAL, hashlib.sha256()
    file.seek(0)
    while left > 0 and (part := file.read(min(_CHUNK, left))):
        digest.update(part)
        left -= len(part)
    return digest.hexdigest().encode()


def _home(cls: type) -> tuple[str, str]:
    """Where a class is defined; a class defined there again, as in a notebook, replaces it."""
    return cls.__module__, cls.__qualname__


def _encoded(value: Any, store: Callable[[np.ndarray], str]) -> Any:
    """The value as JSON; `store` keeps an array and returns the text that stands for it."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return {"float": value.hex()}
    if isinstance(value, np.generic):
        return _encoded(value.item(), store)
    if isinstance(value, np.ndarray):
        return {"array": store(value.astype(str) if value.dtype.kind == "O" else value)}
    encoded = partial(_encoded, store=store)
    if isinstance(value, (list, tuple)):
        return {type(value).__name__: list(map(encoded, value))}
    if isinstance(value, Mapping):
        pairs = zip(map(encoded, value), map(encoded, value.values()), strict=True)
        return {"dict": list(map(list, pairs))}
    if isinstance(value, InPlace):
        return _encoded(value._to_state(), store)
    name = type(value).__name__
    if (registered := _registry.get(name)) is None:
        raise TypeError(f"{value!r} cannot be saved: {name} is not a plain value, an array or a part of streamnb")
    if _home(registered) != _home(type(value)):
        raise TypeError(f"{value!r} cannot be saved: a class of another module is named {name} too; rename one of them")
    return {"object": name, "state": _encoded(value._to_state(), store)}


def _written(archive: zipfile.ZipFile, array: np.ndarray) -> str:
    """The name of a new member that holds the array."""
    name = f"{len(archive.infolist())}.npy"
    with archive.open(name, "w", force_zip64=True) as member:
        np.lib.format.write_array(member, np.ascontiguousarray(array).reshape(array.shape), allow_pickle=False)
    return name


def _fingerprint(array: np.ndarray) -> str:
    array = np.ascontiguousarray(array)
    return f"{array.dtype.str} {array.shape} {hashlib.sha256(array.reshape(-1).view(np.uint8).data).hexdigest()}"


# ---- reading ---------------------------------------------------------------------------------------------------------


def load(path: Any, expected: type | None = None) -> Any:
    """Read what `save` wrote, at a path or URL.

    Raises
    ------
    DataError
        The file is damaged, of a newer version, or holds something other than `expected`.

    Examples
    --------
    >>> import streamnb as snb
    >>> snb.LinearNB().fit([[2, 0], [0, 3]], ["cat", "dog"]).save("model.snb")
    >>> snb.load("model.snb").predict([[1, 0]]).tolist()
    ['cat']
    """
    value = _opened(path, _read)
    if expected is not None and not isinstance(value, expected):
        raise DataError(f"{path} holds a {type(value).__name__}, not a {expected.__name__}; load it with snb.load")
    return value


def load_light(path: Any) -> Any:
    """Read the light object that a file holds, or all of a file without one."""
    return _opened(path, partial(_read, light=True))


def _opened(path: Any, read: Callable[[Any, IO[bytes]], Any]) -> Any:
    place = check_place("path", path)
    with downloaded(place) if isinstance(place, str) else open(place, "rb") as file:
        return read(path, file)


def _read(path: Any, file: IO[bytes], light: bool = False) -> Any:
    """What an open file holds, or the light object in it if there is one."""
    try:
        with zipfile.ZipFile(file) as archive:
            members = _members(archive, file.seek(0, os.SEEK_END))
            header = json.loads(archive.read(members.pop(_HEADER)))
            _check_version(path, header, sealed=bool(archive.comment))
            if header["version"] > 1 and archive.comment != _digest(file):
                raise DataError(f"{path} is damaged: its checksum is wrong; save it again, or take another copy")
            if light and "light" in header:
                return _read(path, io.BytesIO(b64decode(header["light"])))
            return _Reader(archive, members).whole(header["content"])
    except (DataError, MemoryError):
        raise
    except Exception as error:  # damage shows in many ways: zip, checksum, JSON, .npy header, missing keys
        file.seek(0)
        first = file.read(2)
        remedy = "save it again" if first == b"PK" else "give one that save wrote"
        if first.startswith(b"\x80"):
            remedy = "joblib.load or pickle.load reads pickles"
        raise DataError(f"{path} is not a complete streamnb file ({error!r}); {remedy}") from error


def _members(archive: zipfile.ZipFile, n_bytes: int) -> dict[str, zipfile.ZipInfo]:
    """The members by name, after checking that all of them together fit into the bytes of the file."""
    members = {member.filename: member for member in archive.infolist()}
    if len(members) < len(archive.infolist()):
        raise ValueError("two members have one name")
    if any(m.compress_type != zipfile.ZIP_STORED or m.file_size != m.compress_size for m in members.values()):
        raise ValueError("a member is compressed")
    if sum(member.file_size for member in members.values()) > n_bytes:
        raise ValueError("its members say that they are larger than the file")
    return members


def _check_version(path: Any, header: Any, sealed: bool) -> None:
    if not isinstance(header, dict) or header.get("format") != "streamnb":
        raise DataError(f"{path} is not a streamnb file")
    version = header.get("version")
    if type(version) is not int or version < 1 or (version == 1 and sealed):
        raise DataError(f"{path} has format version {version!r}, which is not one of streamnb")
    if version > FORMAT_VERSION:
        raise DataError(
            f"{path} has format version {version}; this streamnb reads up to {FORMAT_VERSION}, so upgrade streamnb"
        )


def registered_class(name: str) -> Any:
    """The class that is registered under a name, imported first if necessary."""
    if name not in _registry:
        for home in [_LIGHT] if name in _OF_LIGHT else HOMES:
            import_module(f"streamnb.{home}")
    if name not in _registry:
        raise DataError(f"{name!r} is not a part of streamnb that can be loaded; if it is your own, import its module")
    return _registry[name]


def exports() -> Any:
    """The module that writes models for other programs; a model that was loaded has the heavy import on use only."""
    return import_module(_EXPORTS)


class _Reader:
    """Makes objects from the tree and the members; the tree refers to every member exactly once."""

    def __init__(self, archive: zipfile.ZipFile, members: dict[str, zipfile.ZipInfo]):
        self._archive, self._unread = archive, members
        self._kinds: dict[str, Callable[[Any], Any]] = {
            "float": float.fromhex,
            "array": self._array,
            "list": self._list,
            "tuple": lambda parts: tuple(self._list(parts)),
            "dict": lambda pairs: {k: v for k, v in map(self._list, pairs)},
        }

    def whole(self, tree: Any) -> Any:
        """The object that the tree describes; no member may be left over."""
        self._light = isinstance(tree, dict) and tree.get("object") in _OF_LIGHT
        if self._light:
            registered_class(tree["object"])  # registers the classes that come with it
        value = self._decode(tree)
        if self._unread:
            raise ValueError(f"nothing refers to {', '.join(self._unread)}")
        return value

    def _decode(self, node: Any) -> Any:
        if node is None or isinstance(node, (bool, int, str)):
            return node
        if node.keys() == {"object", "state"}:
            name, state = node["object"], self._decode(node["state"])
            if self._light and name not in _registry and name not in _OF_LIGHT:
                return Unmade(name, state)
            return restored(registered_class(name), state)
        ((kind, inner),) = node.items()
        return self._kinds[kind](inner)

    def _list(self, parts: Any) -> list[Any]:
        if not isinstance(parts, list):  # a string could be iterated, too
            raise ValueError(f"{parts!r} stands where a list should")
        return [self._decode(part) for part in parts]

    def _array(self, name: str) -> np.ndarray:
        values = bytearray()
        with self._archive.open(self._unread.pop(name)) as file:  # checks the CRC at the end
            while part := file.read(_CHUNK):
                values += part
        head = io.BytesIO(values[: 1 << 14])
        read = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
        shape, fortran, dtype = read[np.lib.format.read_magic(head)](head)
        if fortran or dtype.kind not in "biufU" or not dtype.itemsize or min(shape, default=0) < 0:
            raise ValueError(f"{name} has dtype {dtype} and shape {shape}, which streamnb does not write")
        return np.frombuffer(values, dtype, offset=head.tell()).reshape(shape)


class Saved(Parameters):
    """An object that is saved to one file."""

    __slots__ = ()

    def save(self, path: Any) -> None:
        """Write to one file: typed JSON and .npy in a zip, no pickle; read it with `snb.load`."""
        save(path, self)

    @classmethod
    def load(cls, path: Any) -> Self:
        """Read what `save` wrote."""
        return load(path, cls)


# Arrays are written in full, whatever a user has set for printing.
_WHOLE: dict[str, Any] = {"threshold": sys.maxsize, "precision": 17, "floatmode": "maxprec", "suppress": False}
_WHOLE |= {"linewidth": 75, "sign": "-", "nanstr": "nan", "infstr": "inf", "formatter": None, "legacy": False}


def shown(value: Any) -> str:
    """A value as text, the same in every process; a long value is its beginning and a digest."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    elif isinstance(value, (set, frozenset)):
        value = sorted(value, key=described)
    text = described(value)
    if registered(value):
        return f"{text[:100]}.. ({digest(value)})"
    return text if len(text) <= 200 else f"{text[:100]}.. ({hashlib.sha256(text.encode()).hexdigest()[:16]})"


def described(value: Any) -> str:
    """A value as text, complete and the same in every process.

    It is the `repr` of the value, except that sets are sorted, arrays are not abbreviated, and functions and objects
    whose `repr` would be an address are described by their names and attributes; so are the values inside of them.
    """
    if isinstance(value, np.ndarray):
        with np.printoptions(**_WHOLE):
            return repr(value)
    if isinstance(value, (set, frozenset)):
        return f"{type(value).__name__}({{{', '.join(sorted(map(described, value)))}}})"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{described(key)}: {described(part)}' for key, part in value.items())}}}"
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return _with_attributes(value, zip(value._fields, value, strict=True))
    if isinstance(value, tuple):
        return f"({', '.join(map(described, value))}{',' if len(value) == 1 else ''})"
    if isinstance(value, list):
        return f"[{', '.join(map(described, value))}]"
    if isinstance(value, partial):
        return f"partial({described((value.func, value.args, value.keywords))})"
    if hasattr(value, "__func__"):
        return f"<method {value.__qualname__} of {described(value.__self__)}>"
    if hasattr(value, "__qualname__"):
        return f"<{value.__module__}.{value.__qualname__}>"
    of_class: Any = type(value).__repr__
    if is_dataclass(value) and hasattr(of_class, "__wrapped__"):  # dataclasses wrap what they generate
        return _with_attributes(value, [(f.name, getattr(value, f.name)) for f in fields(value) if f.repr])
    if of_class is object.__repr__:
        return _with_attributes(value, getattr(value, "__dict__", {}).items())
    return repr(value)


def _with_attributes(value: Any, attributes: Iterable[tuple[str, Any]]) -> str:
    return f"{type(value).__qualname__}({', '.join(f'{name}={described(part)}' for name, part in attributes)})"
