"""Vectors of numbers in kernels, and what else Python does not say to LLVM: prefetching, products with one rounding.

``take`` reads neighbouring numbers of an array in C order, ``put`` writes them, and +, - and * are of each lane, or of
all lanes and a number of the same dtype. In interpreted kernels a vector is an array of NumPy.
"""

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import intp, types
from numba.core.cgutils import get_item_pointer, get_or_insert_function, int32_t, ir
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import intrinsic, lower_builtin, models, register_model

from streamnb.kernels.compiler import flags

LANES = 8  # numbers of 8 bytes in one vector register, or in a few
SINGLES = 16  # numbers of 4 bytes


class Lanes(types.Type):
    """The type of a vector."""

    def __init__(self, dtype: Any, count: int):
        self.dtype, self.count = dtype, count
        super().__init__(name=f"Lanes({dtype}, {count})")


@register_model(Lanes)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Lanes):
        super().__init__(manager, kind, ir.VectorType(manager.lookup(kind.dtype).get_value_type(), kind.count))


class _EachLane(AbstractTemplate):
    def generic(self, args: Any, kws: Any) -> Any:
        vector = next((arg for arg in args if isinstance(arg, Lanes)), None)
        if vector is not None and all(arg in (vector, vector.dtype) for arg in args):
            return signature(vector, *args)
        return None


def _each_lane(build: str) -> Callable:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return getattr(builder, build)(*(_wide(builder, arg, signature.return_type.count) for arg in arguments))

    return generate


for _operator, _build in ((operator.add, "fadd"), (operator.sub, "fsub"), (operator.mul, "fmul")):
    infer_global(_operator)(type("_EachLane", (_EachLane,), {"key": _operator}))
    for _kinds in ((Lanes, Lanes), (Lanes, types.Float), (types.Float, Lanes)):
        lower_builtin(_operator, *_kinds)(_each_lane(_build))


def _wide(builder: Any, value: Any, count: int) -> Any:
    """A vector as it is, or a number in every lane."""
    if isinstance(value.type, ir.VectorType):
        return value
    first = builder.insert_element(ir.Constant(ir.VectorType(value.type, count), ir.Undefined), value, int32_t(0))
    return builder.shuffle_vector(first, first, ir.Constant(ir.VectorType(int32_t, count), [0] * count))


def _item(context: Any, builder: Any, kind: Any, array: Any, place: Any) -> Any:
    """A pointer to an item; a 1-D array is one row."""
    values = context.make_array(kind)(context, builder, array)
    return get_item_pointer(context, builder, kind, values, place[-kind.ndim :], wraparound=False)


def _call(builder: Any, name: str, *arguments: Any) -> Any:
    """Call LLVM's function of this name for numbers or vectors of one type."""
    kind = arguments[0].type
    lanes, number = (f"v{kind.count}", kind.element) if isinstance(kind, ir.VectorType) else ("", kind)
    full_name = f"{name}.{lanes}{number.intrinsic_name}"
    shape = ir.FunctionType(kind, [kind] * len(arguments))
    return builder.call(get_or_insert_function(builder.module, shape, full_name), arguments)


@intrinsic(prefer_literal=True)
def _take(typing_context: Any, array: Any, row: Any, column: Any, count: Any) -> Any:
    vector = Lanes(array.dtype, count.literal_value)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        item = _item(context, builder, array, arguments[0], arguments[1:3])
        lanes = builder.bitcast(item, context.get_value_type(vector).as_pointer())
        return builder.load(lanes, align=array.dtype.bitwidth // 8)

    return vector(array, intp, intp, count), generate


@intrinsic
def _put(typing_context: Any, array: Any, row: Any, column: Any, vector: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        item = _item(context, builder, array, arguments[0], arguments[1:3])
        lanes = builder.bitcast(item, arguments[3].type.as_pointer())
        builder.store(arguments[3], lanes, align=array.dtype.bitwidth // 8)
        return context.get_dummy_value()

    return types.void(array, intp, intp, vector), generate


@intrinsic(prefer_literal=True)
def _spread(typing_context: Any, number: Any, count: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _wide(builder, arguments[0], count.literal_value)

    dtype = types.unliteral(number)
    return Lanes(dtype, count.literal_value)(dtype, count), generate


@intrinsic
def _widened(typing_context: Any, vector: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        doubles, dtype = ir.VectorType(ir.DoubleType(), vector.count), vector.dtype
        if dtype == types.float64:
            return arguments[0]
        if isinstance(dtype, types.Float):
            return builder.fpext(arguments[0], doubles)
        signed = isinstance(dtype, types.Integer) and dtype.signed
        return (builder.sitofp if signed else builder.uitofp)(arguments[0], doubles)

    return Lanes(types.float64, vector.count)(vector), generate


@intrinsic
def _absolute(typing_context: Any, vector: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _call(builder, "llvm.fabs", *arguments)

    return vector(vector), generate


@intrinsic
def _plus_product(typing_context: Any, total: Any, x: Any, y: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        total, x, y = (_wide(builder, arg, signature.return_type.count) for arg in arguments)
        return _call(builder, "llvm.fmuladd", x, y, total)

    return total(total, x, y), generate


@intrinsic
def _chosen(typing_context: Any, a: Any, b: Any, more: Any, others: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        a, b, more, others = arguments
        return builder.select(builder.fcmp_ordered(">", a, b), more, others)

    return more(a, b, more, others), generate


@intrinsic
def _any_below(typing_context: Any, a: Any, b: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        below = builder.bitcast(builder.fcmp_unordered("<", *arguments), ir.IntType(a.count))
        return builder.icmp_unsigned("!=", below, below.type(0))

    return types.boolean(a, b), generate


@intrinsic
def _turned(typing_context: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        def shuffled(a: Any, b: Any, *lanes: int) -> Any:
            return builder.shuffle_vector(a, b, ir.Constant(ir.VectorType(int32_t, 4), lanes))

        a, b, c, d = arguments
        even = shuffled(a, b, 0, 4, 2, 6), shuffled(c, d, 0, 4, 2, 6)
        odd = shuffled(a, b, 1, 5, 3, 7), shuffled(c, d, 1, 5, 3, 7)
        columns = [shuffled(*pair, *lanes) for lanes in ((0, 1, 4, 5), (2, 3, 6, 7)) for pair in (even, odd)]
        return context.make_tuple(builder, signature.return_type, columns)

    return types.UniTuple(a, 4)(a, b, c, d), generate


@intrinsic
def _prefetch(typing_context: Any, table: Any, row: Any, column: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        item = _item(context, builder, table, arguments[0], arguments[1:])
        keep_close, data = int32_t(3), int32_t(1)
        shape = ir.FunctionType(ir.VoidType(), [item.type, int32_t, int32_t, int32_t])
        ask = builder.module.declare_intrinsic("llvm.prefetch", [item.type], shape)
        builder.call(ask, [item, int32_t(int(table.mutable)), keep_close, data])
        return context.get_dummy_value()

    return types.void(table, intp, intp), generate


@intrinsic
def _product_error(typing_context: Any, a: Any, b: Any, p: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        a, b, p = arguments
        return _call(builder, "llvm.fma", a, b, builder.fneg(p))

    return types.float64(types.float64, types.float64, types.float64), generate


if flags.DISABLE_JIT:

    def take(array: Any, row: int, column: int, count: int) -> Any:
        """Return array[row, column : column + count], where count is a compile-time constant."""
        of_row = array if array.ndim == 1 else array[row]
        return of_row[int(column) : int(column) + count].copy()

    def put(array: Any, row: int, column: int, vector: Any) -> None:
        """Write a vector to the row of an array, from a column on."""
        of_row = array if array.ndim == 1 else array[row]
        of_row[int(column) : int(column) + len(vector)] = vector

    def spread(number: Any, count: int) -> Any:
        """Return a vector with a number in every lane."""
        return np.full(count, number)

    def widened(vector: Any) -> Any:
        """Return a vector in float64."""
        return vector.astype(np.float64)

    def absolute(vector: Any) -> Any:
        """Return absolute values."""
        return np.abs(vector)

    def plus_product(total: Any, x: Any, y: Any) -> Any:
        """Return total + x * y, rounded once or twice, depending on the processor."""
        return total + x * y

    def chosen(a: Any, b: Any, more: Any, others: Any) -> Any:
        """Return `more` in the lanes where a > b, and `others` elsewhere."""
        return np.where(a > b, more, others)

    def any_below(a: Any, b: Any) -> bool:
        """Return whether some a < b or is NaN."""
        return bool((~(a >= b)).any())

    def turned(a: Any, b: Any, c: Any, d: Any) -> Any:
        """Return the columns of four vectors of four lanes."""
        return tuple(np.stack([a, b, c, d], axis=1))

    def prefetch(table: Any, row: int, column: int) -> None:
        """Prefetch table[row, column], in C order; any index is safe, and a 1-D table is one row.

        A writable table is prefetched for writing, which takes the cache line from other processors.
        """

    def product_error(a: float, b: float, p: float) -> float:
        """Return a * b - p in float64, exact where p is the rounded a * b (here from halves of both, Dekker 1971)."""
        splitter = 134217729.0  # 2^27 + 1
        t = splitter * a
        a_hi = t - (t - a)
        a_lo = a - a_hi
        t = splitter * b
        b_hi = t - (t - b)
        b_lo = b - b_hi
        return ((a_hi * b_hi - p) + a_hi * b_lo + a_lo * b_hi) + a_lo * b_lo

else:
    take, put, spread, widened, absolute = _take, _put, _spread, _widened, _absolute
    plus_product, chosen, any_below, turned = _plus_product, _chosen, _any_below, _turned
    prefetch, product_error = _prefetch, _product_error
