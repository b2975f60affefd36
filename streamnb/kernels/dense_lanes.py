"""Vectorised sums of x and x^2 over neighbouring columns of dense rows, the inner loops of `dense_sums`."""

from functools import partial
from typing import Any

import numpy as np
from numba import intp, types
from numba.core.cgutils import alloca_once_value, for_range_slice, get_or_insert_function, int32_t, ir
from numba.extending import intrinsic

from streamnb.kernels.compiler import flags
from streamnb.kernels.lanes import LANES, ask_for, item_at, lanes_at, spread

AHEAD = 4 * LANES  # columns to prefetch ahead, two cache lines
_FLOATS, _INTEGERS = ir.VectorType(ir.DoubleType(), LANES), ir.VectorType(int32_t, LANES)
_SUM, _SQUARES = 0, 4  # rows of sums: of x, its rounding errors, and so on, then the same for x^2


def _taken(builder: Any, skip: Any) -> Any:
    """A mask of the lanes from `skip` on."""
    numbers = ir.Constant(ir.VectorType(skip.type, LANES), [*range(LANES)])
    return builder.icmp_signed(">=", numbers, spread(builder, skip))


def _plus_product(builder: Any, x: Any, y: Any, total: Any) -> Any:
    """total + x * y in float64, where the product alone is exact."""
    shape = ir.FunctionType(_FLOATS, [_FLOATS] * 3)
    return builder.call(get_or_insert_function(builder.module, shape, f"llvm.fmuladd.v{LANES}f64"), [x, y, total])


def _any(builder: Any, lanes: Any) -> Any:
    some = builder.bitcast(lanes, ir.IntType(LANES))
    return builder.icmp_unsigned("!=", some, some.type(0))


def _grow(builder: Any, x: Any, total: Any) -> Any:
    """Add x to a larger sum; return the rounding error, which costs nothing where it is not used."""
    before = builder.load(total)
    after = builder.fadd(before, x)
    builder.store(after, total)
    return builder.fsub(x, builder.fsub(after, before))


def _grow_by_square(builder: Any, x: Any, total: Any) -> Any:
    """The same for x^2."""
    before = builder.load(total)
    after = _plus_product(builder, x, x, before)
    builder.store(after, total)
    return _plus_product(builder, x, x, builder.fneg(builder.fsub(after, before)))


def _sum_both_lanes(
    typing_context: Any,
    values: Any,
    rows: Any,
    first: Any,
    stop: Any,
    column: Any,
    skip: Any,
    least: Any,
    sums: Any,
    deep: Any,
) -> Any:
    """Add x = values[rows[p], column + l] and x^2, p from first to stop, skip <= l < LANES, as `_add_both_lanes` does.

    Sums stay in registers, with a fixed number of rounding errors: none for x, or one if `deep` (0 or 1, a compile-time
    constant), and one more for x^2. A nonzero value of at most least[deep, column + l] would need more: then return
    True and leave `sums` unchanged.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        values, rows, first, stop, column, skip, least, sums, _ = arguments
        kinds, place, depth = signature.args, partial(lanes_at, context, builder), deep.literal_value
        parts = [*range(_SUM, _SUM + 1 + depth), *range(_SQUARES, _SQUARES + 2 + depth)]
        into = [place(kinds[7], sums, [column.type(part), column]) for part in parts]
        before = [builder.load(part, align=8) for part in into]
        totals = [alloca_once_value(builder, part) for part in before]
        ones = ir.Constant(_INTEGERS, [-1] * LANES)
        magnitude, lowest = ir.Constant(_INTEGERS, [2**31 - 1] * LANES), alloca_once_value(builder, ones)
        shape = ir.FunctionType(_INTEGERS, [_INTEGERS] * 2)
        smaller = get_or_insert_function(builder.module, shape, f"llvm.umin.v{LANES}i32")

        with for_range_slice(builder, first, stop, first.type(1)) as (p, _):
            row = builder.load(item_at(context, builder, kinds[1], rows, [p]))
            further = [row, builder.add(column, column.type(AHEAD))]
            ask_for(builder, item_at(context, builder, kinds[0], values, further))
            stored = builder.load(place(kinds[0], values, [row, column]), align=4)
            size = builder.and_(builder.bitcast(stored, _INTEGERS), magnitude)  # in the order of absolute values
            size = builder.add(size, ones)  # minus one, so that zeros come last
            builder.store(builder.call(smaller, [builder.load(lowest), size]), lowest)
            x = builder.fpext(stored, _FLOATS)
            lost, lost_of_square = _grow(builder, x, totals[0]), _grow_by_square(builder, x, totals[1 + depth])
            for total in totals[1 : 1 + depth]:
                lost = _grow(builder, lost, total)
            for total in totals[2 + depth :]:
                lost_of_square = _grow(builder, lost_of_square, total)
        taken = _taken(builder, skip)
        limit = builder.load(place(kinds[6], least, [column.type(depth), column]), align=4)
        small = builder.icmp_unsigned("<", builder.load(lowest), builder.bitcast(limit, _INTEGERS))
        found = _any(builder, builder.and_(taken, small))
        with builder.if_then(builder.not_(found), likely=True):
            for part, old, new in zip(into, before, totals, strict=True):
                builder.store(builder.select(taken, builder.load(new), old), part, align=8)
        return found

    return types.boolean(values, rows, intp, intp, intp, intp, least, sums, deep), generate


def _sum_both_one_by_one(
    values: Any, rows: Any, first: Any, stop: Any, column: Any, skip: Any, least: Any, sums: Any, deep: Any
) -> bool:
    """The same for interpreted kernels."""
    lanes = slice(column + skip, column + LANES)
    x = values[rows[first:stop], lanes]
    if ((x != 0.0) & (np.abs(x) <= least[deep, lanes])).any():
        return True
    for row in rows[first:stop]:
        _add_both_one_by_one(values, row, column, skip, sums)
    return False


def _add_both_lanes(typing_context: Any, values: Any, row: Any, column: Any, skip: Any, sums: Any) -> Any:
    """Add x = values[row, column + l] and x^2, skip <= l < LANES, to sums that are larger, all at once.

    `values` are float32, so that x^2 is exact in float64. Rows 0 to 7 of `sums`, float64, are the sums of x, their
    rounding errors, the errors of these, and so on, and the same for x^2. Adding to the larger number gives the error
    exactly (FastTwoSum, Dekker 1971). As `dense_sums` starts the sums, x^2 has a second error only where x has one.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        values, row, column, skip, sums = arguments
        place, zeros = partial(lanes_at, context, builder), ir.Constant(_FLOATS, [0.0] * LANES)
        stored = builder.load(place(signature.args[0], values, [row, column]), align=4)
        x = builder.select(_taken(builder, skip), builder.fpext(stored, _FLOATS), zeros)

        def add(term: Any, part: int, larger: bool = True) -> Any:
            """Add a term, or x^2 (None), to a sum, which may be known to be larger; return the rounding error."""
            into = place(signature.args[4], sums, [column.type(part), column])
            before = builder.load(into, align=8)
            after = _plus_product(builder, x, x, before) if term is None else builder.fadd(before, term)
            builder.store(after, into, align=8)
            gained = builder.fsub(after, before)
            back = builder.fneg(gained)
            lost = _plus_product(builder, x, x, back) if term is None else builder.fsub(term, gained)
            return lost if larger else builder.fadd(builder.fsub(before, builder.fsub(after, gained)), lost)

        lost, lost_twice = add(x, _SUM), add(add(None, _SQUARES), _SQUARES + 1)
        with builder.if_then(_any(builder, builder.fcmp_unordered("!=", lost, zeros)), likely=False):
            for rest, part in ((add(lost, _SUM + 1), _SUM + 2), (lost_twice, _SQUARES + 2)):
                add(add(rest, part, larger=False), part + 1)
        return context.get_dummy_value()

    return types.void(values, intp, intp, intp, sums), generate


def _add_both_one_by_one(values: Any, row: Any, column: Any, skip: Any, sums: Any) -> None:
    """The same for interpreted kernels."""
    lanes = slice(column + skip, column + LANES)
    x = values[row, lanes].astype("f8")
    for first, term in ((_SUM, x), (_SQUARES, x * x)):
        for part in range(first, first + 4):
            before = sums[part, lanes].copy()
            sums[part, lanes] += term
            gained = sums[part, lanes] - before
            term = (before - (sums[part, lanes] - gained)) + (term - gained)


sum_both_lanes: Any = _sum_both_one_by_one if flags.DISABLE_JIT else intrinsic(prefer_literal=True)(_sum_both_lanes)
add_both_lanes: Any = _add_both_one_by_one if flags.DISABLE_JIT else intrinsic(_add_both_lanes)
