"""Products of one column's values with rows of numbers, the inner loops of column-wise kernels."""

from functools import partial
from typing import Any

from numba import types
from numba.core.cgutils import alloca_once_value, for_range_slice
from numba.extending import intrinsic

from streamnb.kernels.compiler import brick, flags
from streamnb.kernels.lanes import LANES, item_at, lanes_at, spread

WIDE = 2 * LANES  # columns of a table at a time


def _vectors(context: Any, builder: Any, column: Any, n: int) -> tuple[list, Any]:
    """The offsets of the vectors that cover n columns, and a function to locate one in an array."""
    size = min(n, LANES)
    firsts = [builder.add(column, column.type(begin)) for begin in range(0, n, size)]
    return firsts, partial(lanes_at, context, builder, lanes=size)


def _entry(context: Any, builder: Any, kinds: Any, values: Any, rows: Any, p: Any, n: int) -> tuple[Any, Any]:
    """values[p], broadcast to a vector, and rows[p]."""
    x = builder.load(item_at(context, builder, kinds[0], values, [p]))
    i = builder.load(item_at(context, builder, kinds[1], rows, [p]))
    return spread(builder, x, min(n, LANES)), context.cast(builder, i, kinds[1].dtype, types.intp)


def _add_down(
    typing_context: Any,
    out: Any,
    column: Any,
    values: Any,
    rows: Any,
    first: Any,
    stop: Any,
    table: Any,
    j: Any,
    n: Any,
) -> Any:
    """out[rows[p], column + l] += values[p] * table[j, column + l], p from first to stop, l < n.

    All are float64 but rows; n, 2, 4 or a multiple of LANES, is a compile-time constant.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        out, column, values, rows, first, stop, table, j, _ = arguments
        kinds, n = signature.args, signature.args[8].literal_value
        firsts, place = _vectors(context, builder, column, n)
        weights = [builder.load(place(kinds[6], table, [j, begin]), align=8) for begin in firsts]
        with for_range_slice(builder, first, stop, first.type(1)) as (p, _):
            x, i = _entry(context, builder, kinds[2:4], values, rows, p, n)
            for begin, weight in zip(firsts, weights, strict=True):
                into = place(kinds[0], out, [i, begin])
                builder.store(builder.fadd(builder.load(into, align=8), builder.fmul(x, weight)), into, align=8)
        return context.get_dummy_value()

    number = types.intp
    return types.void(out, number, values, rows, number, number, table, number, n), generate


def _add_down_one_by_one(
    out: Any, column: Any, values: Any, rows: Any, first: Any, stop: Any, table: Any, j: Any, n: Any
) -> None:
    """The same for interpreted kernels."""
    some = slice(column, column + n)
    for p in range(first, stop):
        out[rows[p], some] += values[p] * table[j, some]


def _sum_down(
    typing_context: Any, out: Any, j: Any, column: Any, values: Any, rows: Any, first: Any, stop: Any, table: Any,
    grid: Any, n: Any,
) -> Any:  # fmt: skip
    """out[j, column + l] += (values[p] * table[rows[p], column + l] + m) - m, p from first to stop, l < n.

    m is grid[j], or grid[j, column + l]. Other arguments as for `_add_down`, where n may also be 1; sums stay in
    registers.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        out, j, column, values, rows, first, stop, table, grid, _ = arguments
        kinds, n = signature.args, signature.args[9].literal_value
        firsts, place = _vectors(context, builder, column, n)
        into = [place(kinds[0], out, [j, begin]) for begin in firsts]
        sums = [alloca_once_value(builder, builder.load(spot, align=8)) for spot in into]
        if kinds[8].ndim == 1:
            of_row = builder.load(item_at(context, builder, kinds[8], grid, [j]))
            steps = [spread(builder, of_row, min(n, LANES))] * len(firsts)
        else:
            steps = [builder.load(place(kinds[8], grid, [j, begin]), align=8) for begin in firsts]
        with for_range_slice(builder, first, stop, first.type(1)) as (p, _):
            x, i = _entry(context, builder, kinds[3:5], values, rows, p, n)
            for begin, total, step in zip(firsts, sums, steps, strict=True):
                product = builder.fmul(x, builder.load(place(kinds[7], table, [i, begin]), align=8))
                term = builder.fsub(builder.fadd(product, step), step)
                builder.store(builder.fadd(builder.load(total), term), total)
        for spot, total in zip(into, sums, strict=True):
            builder.store(builder.load(total), spot, align=8)
        return context.get_dummy_value()

    number = types.intp
    return types.void(out, number, number, values, rows, number, number, table, grid, n), generate


def _sum_down_one_by_one(
    out: Any, j: Any, column: Any, values: Any, rows: Any, first: Any, stop: Any, table: Any, grid: Any, n: Any
) -> None:
    """The same for interpreted kernels."""
    some = slice(column, column + n)
    m = grid[j] if grid.ndim == 1 else grid[j, some]
    for p in range(first, stop):
        out[j, some] += (values[p] * table[rows[p], some] + m) - m


add_down: Any = _add_down_one_by_one if flags.DISABLE_JIT else intrinsic(prefer_literal=True)(_add_down)
sum_down: Any = _sum_down_one_by_one if flags.DISABLE_JIT else intrinsic(prefer_literal=True)(_sum_down)


@brick
def sum_products(values, rows, first, stop, residual, grid, total, j):
    # total[j, r] += sum_p values[p] * residual[rows[p], r], p from first to stop, each product rounded on its grid
    column, width = 0, total.shape[1]
    for _ in range(width // WIDE):
        sum_down(total, j, column, values, rows, first, stop, residual, grid, WIDE)
        column += WIDE
    if width - column >= LANES:
        sum_down(total, j, column, values, rows, first, stop, residual, grid, LANES)
        column += LANES
    if width - column >= 4:
        sum_down(total, j, column, values, rows, first, stop, residual, grid, 4)
        column += 4
    if width - column >= 2:
        sum_down(total, j, column, values, rows, first, stop, residual, grid, 2)
        column += 2
    if width > column:
        sum_down(total, j, column, values, rows, first, stop, residual, grid, 1)
