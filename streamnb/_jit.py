"""The one door to numba: every flag of the kernels, and where they are kept once compiled."""

import hashlib
import os
import pickle
import platform
import uuid
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from numba import __version__ as numba_version
from numba import config, njit, types
from numba.core.caching import NullCache
from numba.core.cgutils import get_item_pointer, int32_t, ir
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps
from numba.extending import intrinsic
from numba.misc.appdirs import user_cache_dir

flags: Any = config  # which numba fills while it is imported
_USERS = Path(user_cache_dir())
_DEFAULT = _USERS if _USERS.is_absolute() else os.path.expanduser("~/.cache")  # XDG: other paths count as not given
FOLDER = Path(os.path.abspath(flags.CACHE_DIR) if flags.CACHE_DIR else _DEFAULT, "streamnb")
LANES = 8  # numbers in a vector of the processor, or in a few
_INLINED = [Path(__file__), *sorted(Path(__file__).with_name("kernels").glob("*.py"))]  # kernels call each other


def kernel(func: Callable) -> Any:
    """Compile on first call: nopython, GIL released, serial; kept on disk where that is possible."""
    if flags.DISABLE_JIT:
        return func
    compiled: Any = njit(nogil=True)(func)
    if func.__closure__ is None and FOLDER.is_absolute():  # a user without a home has none
        compiled._cache = _DiskCache(func)
    return compiled


class _DiskCache(NullCache):
    """The compiled forms of a kernel, each in a file whose name tells all that it depends on.

    A file appears whole or not at all, and any two writers of one name write the same: processes that compile at the
    same moment do not disturb each other. (numba's own cache numbers its files and lists them in an index: of two
    writers one leaves a list that leads to the other's machine code.) Where nothing can be read or written, the
    kernel is compiled in each process.
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
            part = path.with_suffix(f".{uuid.uuid4().hex}")
            part.write_bytes(_digest(payload) + payload)
            os.replace(part, path)
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
    return b"".join(_digest(path.read_bytes()) for path in (file, *_INLINED))


def _prefetch(typing_context: Any, table: Any, row: Any, column: Any) -> Any:
    """Ask for table[row, column], 2-D and in C order, to be in the cache soon, to be written; any index will do."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = signature.args[0]
        array = context.make_array(kind)(context, builder, arguments[0])
        item = get_item_pointer(context, builder, kind, array, arguments[1:], wraparound=False)
        to_write, keep_close, data = int32_t(1), int32_t(3), int32_t(1)
        shape = ir.FunctionType(ir.VoidType(), [item.type, int32_t, int32_t, int32_t])
        ask = builder.module.declare_intrinsic("llvm.prefetch", [item.type], shape)
        builder.call(ask, [item, to_write, keep_close, data])
        return context.get_dummy_value()

    return types.void(table, types.intp, types.intp), generate


def _no_prefetch(table: Any, row: Any, column: Any) -> None:
    """Interpreted kernels do without."""


def _product_error(typing_context: Any, a: Any, b: Any, p: Any) -> Any:
    """Return a * b - p in float64, exact where p is the rounded a * b."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        a, b, p = arguments
        fused = builder.module.declare_intrinsic("llvm.fma", [p.type], ir.FunctionType(p.type, [p.type] * 3))
        return builder.call(fused, [a, b, builder.fneg(p)])

    return types.float64(types.float64, types.float64, types.float64), generate


def _split_product_error(a: float, b: float, p: float) -> float:
    """The same of interpreted kernels, from both factors in halves (Dekker 1971)."""
    splitter = 134217729.0  # 2^27 + 1
    t = splitter * a
    a_hi = t - (t - a)
    a_lo = a - a_hi
    t = splitter * b
    b_hi = t - (t - b)
    b_lo = b - b_hi
    return ((a_hi * b_hi - p) + a_hi * b_lo + a_lo * b_hi) + a_lo * b_lo


def _add_lanes(
    typing_context: Any, out: Any, row: Any, column: Any, skip: Any, x: Any, table: Any, j: Any, r: Any
) -> Any:
    """out[row, column + l] += x * table[j, r + l], skip <= l < LANES, all at once.

    Both are 2-D float64 in C order and have LANES columns from there on. Left to itself the compiler takes the lanes of
    a fixed number one by one.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        out, row, column, skip, x, table, j, r = arguments
        lanes, numbers = ir.VectorType(x.type, LANES), ir.VectorType(skip.type, LANES)

        def pointer(kind: Any, array: Any, place: Any) -> Any:
            values = context.make_array(kind)(context, builder, array)
            item = get_item_pointer(context, builder, kind, values, place, wraparound=False)
            return builder.bitcast(item, lanes.as_pointer())

        def spread(value: Any, kind: Any) -> Any:
            first = builder.insert_element(ir.Constant(kind, ir.Undefined), value, int32_t(0))
            return builder.shuffle_vector(first, first, ir.Constant(ir.VectorType(int32_t, LANES), [0] * LANES))

        taken = builder.icmp_signed(">=", ir.Constant(numbers, [*range(LANES)]), spread(skip, numbers))
        factor = builder.select(taken, spread(x, lanes), ir.Constant(lanes, [0.0] * LANES))
        into, weights = pointer(signature.args[0], out, [row, column]), pointer(signature.args[5], table, [j, r])
        product = builder.fmul(factor, builder.load(weights, align=8))
        builder.store(builder.fadd(builder.load(into, align=8), product), into, align=8)
        return context.get_dummy_value()

    number = types.intp
    return types.void(out, number, number, number, types.float64, table, number, number), generate


def _add_one_by_one(out: Any, row: Any, column: Any, skip: Any, x: Any, table: Any, j: Any, r: Any) -> None:
    """The same of interpreted kernels."""
    out[row, column + skip : column + LANES] += x * table[j, r + skip : r + LANES]


prefetch: Any = _no_prefetch if flags.DISABLE_JIT else intrinsic(_prefetch)
product_error: Any = _split_product_error if flags.DISABLE_JIT else intrinsic(_product_error)
add_lanes: Any = _add_one_by_one if flags.DISABLE_JIT else intrinsic(_add_lanes)
