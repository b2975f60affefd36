"""The only door to numba: compiler flags and the on-disk cache of compiled kernels."""

import hashlib
import os
import pickle
import platform
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from numba import __version__ as numba_version
from numba import config, njit
from numba.core.caching import NullCache
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps
from numba.misc.appdirs import user_cache_dir

from streamnb.core.replacing import replacing

flags: Any = config  # filled by numba on import
_USERS = Path(user_cache_dir())
_DEFAULT = _USERS if _USERS.is_absolute() else os.path.expanduser("~/.cache")  # XDG: relative paths are ignored
FOLDER = Path(os.path.abspath(flags.CACHE_DIR) if flags.CACHE_DIR else _DEFAULT, "streamnb")


def kernel(func: Callable) -> Any:
    """Compile on first call: nopython, GIL released, serial; cached on disk where possible."""
    if flags.DISABLE_JIT:
        return func
    compiled: Any = njit(nogil=True, no_cfunc_wrapper=True)(func)  # never called from C
    if func.__closure__ is None and FOLDER.is_absolute():  # relative for a user without a home
        compiled._cache = _DiskCache(func)
    return compiled


def brick(func: Callable) -> Any:
    """Inline into the kernels that call it: for functions called once a row, where a call costs as much as 20 sums."""
    return func if flags.DISABLE_JIT else njit(nogil=True, forceinline=True, no_cfunc_wrapper=True)(func)


class _DiskCache(NullCache):
    """Compiled versions of a kernel, each in a file whose name is a digest of all that it depends on.

    Files are written atomically, and two writers of one name write the same content, so that concurrent processes do
    not interfere. (numba's own cache numbers its files in an index: with two writers, the index of one may point to the
    machine code of the other.) Where the folder cannot be read or written, each process compiles the kernel.
    """

    def __init__(self, func: Callable):
        self._func = func

    def load_overload(self, signature: Any, context: Any) -> Any:
        context.refresh()
        try:
            content = self._path(signature, context).read_bytes()
        except OSError:
            return None
        digest, payload = content[:16], content[16:]
        if digest != _digest(payload):  # a damaged file
            return None
        return CompileResult._rebuild(context, *pickle.loads(payload))

    def save_overload(self, signature: Any, result: Any) -> None:
        if result.library.has_dynamic_globals:
            return
        payload = dumps(result._reduce())
        try:
            path = self._path(signature, result.target_context)
            path.parent.mkdir(parents=True, exist_ok=True)
            with replacing(path) as file:
                file.write(_digest(payload) + payload)
        except OSError:  # a full disk, or no folder that can be written to
            return

    def _path(self, signature: Any, context: Any) -> Path:
        code, name = self._func.__code__, f"{self._func.__module__}.{self._func.__qualname__}"
        versions = numba_version, platform.python_version(), flags.BOUNDSCHECK, *context.codegen().magic_tuple()
        depends = name, signature, versions, code.co_firstlineno, _sources(Path(code.co_filename))
        return FOLDER / f"{name}-{_digest(repr(depends).encode()).hex()}.nbc"


def _digest(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=16).digest()


@cache
def _sources(file: Path) -> bytes:
    """A digest of a kernel file and of all kernel files that it imports, directly or not."""
    read: dict[Path, bytes] = {}
    left = [file]
    while left:
        if (path := left.pop()) not in read:
            read[path] = path.read_bytes()
            names = re.findall(rb"^from streamnb\.kernels\.(\w+) import", read[path], re.MULTILINE)
            left += [Path(__file__).with_name(f"{name.decode()}.py") for name in names]
    return b"".join(_digest(read[path]) for path in sorted(read))
