"""The one door to numba: every flag and the cache policy of the kernels."""

import multiprocessing
from collections.abc import Callable
from typing import Any

from numba import config, njit, types
from numba.core.cgutils import get_item_pointer, int32_t, ir
from numba.extending import intrinsic


def _cache_is_safe() -> bool:
    # Workers of one cluster compile at the same moment, and concurrent writers of one cache crash them.
    return "Dask Worker" not in multiprocessing.current_process().name


def kernel(func: Callable) -> Any:
    """Compile on first call: nopython, GIL released, serial; kept on disk where that is safe and possible."""
    try:
        return njit(nogil=True, cache=_cache_is_safe())(func)
    except RuntimeError:  # no folder that numba could write its cache to
        return njit(nogil=True)(func)


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


prefetch: Any = _no_prefetch if getattr(config, "DISABLE_JIT", 0) else intrinsic(_prefetch)
