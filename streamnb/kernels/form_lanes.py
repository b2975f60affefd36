"""Quadratic forms of several rows at once, each in its own vector lane, so that rounding is the same in any batch.

Rows are in tiles (n, lanes), in C order, with TILE_BYTES for each feature.
"""

from functools import partial
from typing import Any

import numpy as np
from numba import intp, types
from numba.core.cgutils import alloca_once_value, for_range_slice, get_or_insert_function, ir
from numba.extending import intrinsic

from streamnb.kernels.compiler import flags
from streamnb.kernels.lanes import item_at, lanes_at, spread

TILE_BYTES = 128
DIRECTIONS = 5  # at once: with half a tile, as many sums as fit into registers


def vector_of(context: Any, dtype: Any, n_bytes: int) -> Any:
    """The vector type of n_bytes of a dtype."""
    return ir.VectorType(context.get_value_type(dtype), n_bytes * 8 // dtype.bitwidth)


def zero_sum(builder: Any, vector: Any) -> Any:
    return alloca_once_value(builder, ir.Constant(vector, [0.0] * vector.count))


def plus_product(builder: Any, total: Any, x: Any, y: Any) -> Any:
    """total + x * y, rounded once or twice, depending on the processor."""
    kind = f"v{total.type.count}f{64 if isinstance(total.type.element, ir.DoubleType) else 32}"
    fused = get_or_insert_function(
        builder.module, ir.FunctionType(total.type, [total.type] * 3), f"llvm.fmuladd.{kind}"
    )
    return builder.call(fused, [x, y, total])


def _turn(typing_context: Any, side: Any, row: Any, tile: Any, column: Any, out: Any) -> Any:
    """out[row + r, column + l] = sum over i of side[row + r, i] * tile[i, column + l], r < DIRECTIONS.

    l runs over half a tile; sums stay in registers.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        side, row, tile, column, out = arguments
        kinds, vector = signature.args, vector_of(context, signature.args[2].dtype, TILE_BYTES // 2)
        place = partial(lanes_at, context, builder, lanes=vector.count)
        n = builder.extract_value(context.make_array(kinds[2])(context, builder, tile).shape, 0)
        rows = [builder.add(row, row.type(r)) for r in range(DIRECTIONS)]
        sums = [zero_sum(builder, vector) for _ in rows]
        with for_range_slice(builder, row.type(0), n, row.type(1)) as (i, _):
            values = builder.load(place(kinds[2], tile, [i, column]), align=4)
            for r, total in zip(rows, sums, strict=True):
                factor = builder.load(item_at(context, builder, kinds[0], side, [r, i]))
                spread_out = spread(builder, factor, vector.count)
                builder.store(plus_product(builder, builder.load(total), spread_out, values), total)
        for r, total in zip(rows, sums, strict=True):
            builder.store(builder.load(total), place(kinds[4], out, [r, column]), align=4)
        return context.get_dummy_value()

    return types.void(side, intp, tile, intp, out), generate


def _turn_one_by_one(side: Any, row: Any, tile: Any, column: Any, out: Any) -> None:
    """The same for interpreted kernels."""
    rows, columns = slice(row, row + DIRECTIONS), slice(column, column + tile.shape[1] // 2)
    out[rows, columns] = side[rows] @ tile[:, columns]


def _square_lanes(typing_context: Any, z: Any, lower: Any, inverse: Any, p: Any, out: Any) -> Any:
    """out[p, l] = sum over j of inverse[p, j] y_j^2, y_j = z[j, l] + lower[p, j] y_(j-1), for all lanes at once."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        z, lower, inverse, p, out = arguments
        kinds, zero, vector = signature.args, p.type(0), vector_of(context, signature.args[0].dtype, TILE_BYTES)
        place = partial(lanes_at, context, builder, lanes=vector.count)
        n = builder.extract_value(context.make_array(kinds[0])(context, builder, z).shape, 0)
        before, total = zero_sum(builder, vector), zero_sum(builder, vector)
        with for_range_slice(builder, zero, n, p.type(1)) as (j, _):
            factor, weight = (
                spread(builder, builder.load(item_at(context, builder, kind, table, [p, j])), vector.count)
                for kind, table in ((kinds[1], lower), (kinds[2], inverse))
            )
            value = builder.load(place(kinds[0], z, [j, zero]), align=4)
            y = plus_product(builder, value, factor, builder.load(before))
            builder.store(y, before)
            builder.store(plus_product(builder, builder.load(total), builder.fmul(y, weight), y), total)
        builder.store(builder.load(total), place(kinds[4], out, [p, zero]), align=4)
        return context.get_dummy_value()

    return types.void(z, lower, inverse, intp, out), generate


def _square_one_by_one(z: Any, lower: Any, inverse: Any, p: Any, out: Any) -> None:
    """The same for interpreted kernels."""
    y = np.zeros_like(z[0])
    out[p] = 0.0
    for of_row, factor, weight in zip(z, lower[p], inverse[p], strict=True):
        y = of_row + factor * y
        out[p] += y * weight * y


def _rank_lanes(
    typing_context: Any, sums: Any, p: Any, sizes: Any, t: Any, bounds: Any, offset: Any, number: Any, best: Any
) -> Any:
    """Class `number` scores s = offset - h, h = sums[p, l]; s may be off by x (b0 + b1 x + b2 h) + b3 h + b4.

    `bounds` are the b, and x is sizes[t, l]. Rows of `best` from 4 p on are the highest possible score, its class, the
    highest possible score of other classes, and the lowest possible score of the best class.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        sums, p, sizes, t, bounds, offset, number, best = arguments
        kinds, zero, vector = signature.args, p.type(0), vector_of(context, types.float32, TILE_BYTES)
        place = partial(lanes_at, context, builder, lanes=vector.count)
        wide = partial(spread, builder, lanes=vector.count)
        b = [wide(builder.extract_value(bounds, i)) for i in range(5)]
        half = builder.load(place(kinds[0], sums, [p, zero]), align=4)
        size = builder.load(place(kinds[2], sizes, [t, zero]), align=4)
        of_size = plus_product(builder, plus_product(builder, b[0], b[1], size), b[2], half)
        off = plus_product(builder, plus_product(builder, b[4], b[3], half), of_size, size)
        score = builder.fsub(wide(offset), half)
        up, down = builder.fadd(score, off), builder.fsub(score, off)
        first = builder.mul(p, p.type(4))
        kept = [place(kinds[7], best, [builder.add(first, p.type(i)), zero]) for i in range(4)]
        most, highest, others, least = (builder.load(row, align=4) for row in kept)
        higher = builder.fcmp_ordered(">", up, most)
        other = builder.select(higher, most, up)
        builder.store(builder.select(higher, up, most), kept[0], align=4)
        builder.store(builder.select(higher, wide(number), highest), kept[1], align=4)
        builder.store(builder.select(builder.fcmp_ordered(">", other, others), other, others), kept[2], align=4)
        builder.store(builder.select(builder.fcmp_ordered(">", down, least), down, least), kept[3], align=4)
        return context.get_dummy_value()

    return types.void(sums, intp, sizes, intp, bounds, types.float32, types.float32, best), generate


def _rank_one_by_one(sums: Any, p: Any, sizes: Any, t: Any, bounds: Any, offset: Any, number: Any, best: Any) -> None:
    """The same for interpreted kernels."""
    b, half, size = bounds, sums[p], sizes[t]
    most, highest, others, least = best[4 * p : 4 * p + 4]
    score, off = offset - half, size * (b[0] + b[1] * size + b[2] * half) + (b[4] + b[3] * half)
    higher = score + off > most
    others[:] = np.maximum(others, np.where(higher, most, score + off))
    least[:] = np.maximum(least, score - off)
    most[:], highest[:] = np.where(higher, score + off, most), np.where(higher, np.float32(number), highest)


turn: Any = _turn_one_by_one if flags.DISABLE_JIT else intrinsic(_turn)
square_lanes: Any = _square_one_by_one if flags.DISABLE_JIT else intrinsic(_square_lanes)
rank_lanes: Any = _rank_one_by_one if flags.DISABLE_JIT else intrinsic(_rank_lanes)
