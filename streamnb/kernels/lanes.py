"""LLVM intrinsics: vectors, prefetching, fused multiply-add."""

from functools import partial
from typing import Any

import numpy as np
from numba import intp, types
from numba.core.cgutils import alloca_once_value, for_range_slice, get_item_pointer, get_or_insert_function, int32_t, ir
from numba.extending import intrinsic

from streamnb.kernels.compiler import flags

LANES = 8  # numbers of 8 bytes in one vector register, or in a few
SINGLES = 16  # numbers of 4 bytes
AHEAD = 8  # values of a row to prefetch ahead


def _prefetch(typing_context: Any, table: Any, row: Any, column: Any) -> Any:
    """Prefetch table[row, column], in C order; any index is safe, and a 1-D table is one row.

    A writable table is prefetched for writing, which takes the cache line from other processors.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = signature.args[0]
        item = item_at(context, builder, kind, arguments[0], arguments[-kind.ndim :])
        ask_for(builder, item, kind.mutable)
        return context.get_dummy_value()

    return types.void(table, intp, intp), generate


def ask_for(builder: Any, item: Any, to_write: bool = False) -> None:
    """Prefetch the cache line of an item."""
    keep_close, data = int32_t(3), int32_t(1)
    shape = ir.FunctionType(ir.VoidType(), [item.type, int32_t, int32_t, int32_t])
    ask = builder.module.declare_intrinsic("llvm.prefetch", [item.type], shape)
    builder.call(ask, [item, int32_t(int(to_write)), keep_close, data])


def _no_prefetch(table: Any, row: Any, column: Any) -> None:
    """Interpreted kernels do not prefetch."""


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


def item_at(context: Any, builder: Any, kind: Any, array: Any, place: list) -> Any:
    values = context.make_array(kind)(context, builder, array)
    return get_item_pointer(context, builder, kind, values, place, wraparound=False)


def number_at(context: Any, builder: Any, kind: Any, array: Any, p: Any, wanted: Any) -> Any:
    """Load array[p] and convert it to a dtype."""
    return context.cast(builder, builder.load(item_at(context, builder, kind, array, [p])), kind.dtype, wanted)


def lanes_at(context: Any, builder: Any, kind: Any, array: Any, place: list, lanes: int = LANES) -> Any:
    """A pointer to a vector of neighbouring items of an array in C order."""
    item = item_at(context, builder, kind, array, place)
    return builder.bitcast(item, ir.VectorType(item.type.pointee, lanes).as_pointer())


def spread(builder: Any, value: Any, lanes: int = LANES) -> Any:
    """A vector with the value in every lane."""
    first = builder.insert_element(ir.Constant(ir.VectorType(value.type, lanes), ir.Undefined), value, int32_t(0))
    return builder.shuffle_vector(first, first, ir.Constant(ir.VectorType(int32_t, lanes), [0] * lanes))


def _add_lanes(typing_context: Any, out: Any, row: Any, column: Any, x: Any, table: Any, j: Any) -> Any:
    """out[row, column + l] += x * table[j, l], l < LANES, all at once.

    Both are 2-D float64 in C order, with at least LANES columns from the first one on.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        out, row, column, x, table, j = arguments
        into = lanes_at(context, builder, signature.args[0], out, [row, column])
        weights = lanes_at(context, builder, signature.args[4], table, [j, j.type(0)])
        product = builder.fmul(spread(builder, x), builder.load(weights, align=8))
        builder.store(builder.fadd(builder.load(into, align=8), product), into, align=8)
        return context.get_dummy_value()

    return types.void(out, intp, intp, types.float64, table, intp), generate


def _add_one_by_one(out: Any, row: Any, column: Any, x: Any, table: Any, j: Any) -> None:
    """The same for interpreted kernels."""
    first = int(column)  # a two-byte integer might overflow
    out[row, first : first + LANES] += x * table[j, :LANES]


def _sum_lanes(
    typing_context: Any,
    out: Any,
    column: Any,
    last: Any,
    data: Any,
    indices: Any,
    first: Any,
    stop: Any,
    table: Any,
    n: Any,
) -> Any:
    """out[0, c + l] = sum of data[p] * table[indices[p], c + l], p from first to stop, l < LANES, of n numbers c.

    These are column, column + LANES, .., and `last` as the n-th, which may overlap. Arguments as for `_add_lanes`; sums
    stay in registers, and n is a compile-time constant.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        out, column, last, data, indices, first, stop, table, _ = arguments
        kinds, before_last = signature.args, range(n.literal_value - 1)
        firsts = [*(builder.add(column, column.type(LANES * b)) for b in before_last), last]
        place = partial(lanes_at, context, builder)
        number = partial(number_at, context, builder)
        zero = ir.Constant(ir.VectorType(ir.DoubleType(), LANES), [0.0] * LANES)
        sums = [alloca_once_value(builder, zero) for _ in firsts]
        with for_range_slice(builder, first, stop, first.type(1)) as (p, _):
            x, j = number(kinds[3], data, p, types.float64), number(kinds[4], indices, p, intp)
            factor = spread(builder, x)
            for total, begin in zip(sums, firsts, strict=True):
                weights = builder.load(place(kinds[7], table, [j, begin]), align=8)
                builder.store(builder.fadd(builder.load(total), builder.fmul(factor, weights)), total)
        for total, begin in zip(sums, firsts, strict=True):
            builder.store(builder.load(total), place(kinds[0], out, [column.type(0), begin]), align=8)
        return context.get_dummy_value()

    return types.void(out, intp, intp, data, indices, intp, intp, table, n), generate


def _sum_one_by_one(
    out: Any, column: Any, last: Any, data: Any, indices: Any, first: Any, stop: Any, table: Any, n: Any
) -> None:
    """The same for interpreted kernels."""
    for begin in [*range(column, column + (n - 1) * LANES, LANES), last]:
        columns = slice(begin, begin + LANES)
        out[0, columns] = 0.0
        for p in range(first, stop):
            out[0, columns] += float(data[p]) * table[indices[p], columns]


def _score_rows(
    typing_context: Any, values: Any, begin: Any, first: Any, stop: Any, column: Any, out: Any, r: Any
) -> Any:
    """out[begin + i, r] += sum of values[begin + i, j] * column[1 + j - first], j from first to stop, i < LANES.

    Four columns at a time: products along each row, which are transposed, so that each sum is in the order of columns.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        values, begin, first, stop, column, out, r = arguments
        kinds, one, place = signature.args, first.type(1), partial(item_at, context, builder)
        rows = [builder.add(begin, begin.type(i)) for i in range(LANES)]
        into = [place(kinds[5], out, [row, r]) for row in rows]
        quads = [range(half, half + 4) for half in range(0, LANES, 4)]
        sums = [alloca_once_value(builder, gathered(builder, [builder.load(into[i]) for i in quad])) for quad in quads]

        def weight_of(j: Any) -> Any:
            return builder.add(builder.sub(j, first), one)

        def products(row: Any, j: Any, weights: Any) -> Any:
            four = builder.load(lanes_at(context, builder, kinds[0], values, [row, j], 4), align=1)
            return builder.fmul(as_doubles(builder, four, kinds[0].dtype), weights)

        rest = builder.sub(stop, builder.srem(builder.sub(stop, first), one.type(4)))
        with for_range_slice(builder, first, rest, one.type(4)) as (j, _):
            weights = builder.load(lanes_at(context, builder, kinds[4], column, [weight_of(j)], 4), align=8)
            for quad, total in zip(quads, sums, strict=True):
                for of_column in transposed(builder, [products(rows[i], j, weights) for i in quad]):
                    builder.store(builder.fadd(builder.load(total), of_column), total)
        with for_range_slice(builder, rest, stop, one) as (j, _):
            weight = spread(builder, builder.load(place(kinds[4], column, [weight_of(j)])), 4)
            for quad, total in zip(quads, sums, strict=True):
                four = gathered(builder, [builder.load(place(kinds[0], values, [rows[i], j])) for i in quad])
                product = builder.fmul(as_doubles(builder, four, kinds[0].dtype), weight)
                builder.store(builder.fadd(builder.load(total), product), total)
        for quad, total in zip(quads, sums, strict=True):
            for lane, i in enumerate(quad):
                builder.store(builder.extract_element(builder.load(total), int32_t(lane)), into[i])
        return context.get_dummy_value()

    return types.void(values, intp, intp, intp, column, out, intp), generate


def gathered(builder: Any, items: list) -> Any:
    """A vector of these items."""
    vector = ir.Constant(ir.VectorType(items[0].type, len(items)), ir.Undefined)
    for lane, item in enumerate(items):
        vector = builder.insert_element(vector, item, int32_t(lane))
    return vector


def as_doubles(builder: Any, vector: Any, dtype: Any) -> Any:
    """A vector as float64, given the type of its items."""
    doubles = ir.VectorType(ir.DoubleType(), vector.type.count)
    if isinstance(dtype, types.Float):
        return vector if dtype == types.float64 else builder.fpext(vector, doubles)
    signed = isinstance(dtype, types.Integer) and dtype.signed
    return builder.sitofp(vector, doubles) if signed else builder.uitofp(vector, doubles)


def transposed(builder: Any, rows: list) -> list:
    """The columns of four vectors of four lanes."""
    index = partial(ir.Constant, ir.VectorType(int32_t, 4))
    a, b, c, d = rows
    low, high = index([0, 4, 2, 6]), index([1, 5, 3, 7])
    pairs = [(builder.shuffle_vector(a, b, way), builder.shuffle_vector(c, d, way)) for way in (low, high)]
    first, last = index([0, 1, 4, 5]), index([2, 3, 6, 7])
    return [builder.shuffle_vector(*pairs[k % 2], (first, last)[k // 2]) for k in range(4)]


def _score_one_by_one(values: Any, begin: Any, first: Any, stop: Any, column: Any, out: Any, r: Any) -> None:
    """The same for interpreted kernels."""
    rows = slice(begin, begin + LANES)
    for j in range(first, stop):
        out[rows, r] += values[rows, j].astype(np.float64) * column[1 + j - first]


def _fill_lanes(typing_context: Any, out: Any, begin: Any, value: Any, step: Any) -> Any:
    """out[begin + l] = value + step * l, l < LANES, all at once; step is a compile-time 0, or 1 for integers."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        out, begin, value, _ = arguments
        into, lanes = lanes_at(context, builder, signature.args[0], out, [begin]), spread(builder, value)
        if step.literal_value:
            lanes = builder.add(lanes, ir.Constant(lanes.type, [*range(LANES)]))
        builder.store(lanes, into, align=4)
        return context.get_dummy_value()

    return types.void(out, intp, out.dtype, step), generate


def _fill_one_by_one(out: Any, begin: Any, value: Any, step: Any) -> None:
    """The same for interpreted kernels."""
    for lane in range(LANES):
        out[begin + lane] = value + step * lane


_SINGLE = ir.VectorType(ir.FloatType(), SINGLES)


def _absolute(builder: Any, x: Any) -> Any:
    """Absolute values of SINGLES lanes."""
    shape, name = ir.FunctionType(_SINGLE, [_SINGLE]), f"llvm.fabs.v{SINGLES}f32"
    return builder.call(get_or_insert_function(builder.module, shape, name), [x])


def _plus_product(builder: Any, total: Any, x: Any, y: Any) -> Any:
    """total + x * y of SINGLES lanes, rounded once or twice, depending on the processor."""
    shape, name = ir.FunctionType(_SINGLE, [_SINGLE] * 3), f"llvm.fmuladd.v{SINGLES}f32"
    return builder.call(get_or_insert_function(builder.module, shape, name), [x, y, total])


def _screen_lanes(
    typing_context: Any, out: Any, column: Any, data: Any, indices: Any, first: Any, stop: Any, table: Any
) -> Any:
    """As `_sum_lanes` in float32: out[0, ..] are the sums, out[1, ..] those of absolute values; l < SINGLES.

    Each sum is split into two alternating ones to hide latency, as many as fit into registers. Summing more columns at
    a time is not faster: several rounds with prefetching load the lines of the table sooner.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        out, column, data, indices, first, stop, table = arguments
        kinds, one = signature.args, first.type(1)
        place = partial(lanes_at, context, builder, lanes=SINGLES)
        number = partial(number_at, context, builder)
        zero, latest = ir.Constant(_SINGLE, [0.0] * SINGLES), builder.sub(stop, one)
        turns = [[alloca_once_value(builder, zero) for _ in range(2)] for _ in range(2)]

        def add(p: Any, total: Any, size: Any) -> None:
            ahead = builder.add(p, p.type(AHEAD))
            coming = builder.select(builder.icmp_signed("<", ahead, latest), ahead, latest)
            ask_for(
                builder, item_at(context, builder, kinds[6], table, [number(kinds[3], indices, coming, intp), column])
            )
            x, j = number(kinds[2], data, p, types.float32), number(kinds[3], indices, p, intp)
            factor, weights = spread(builder, x, SINGLES), builder.load(place(kinds[6], table, [j, column]), align=4)
            builder.store(_plus_product(builder, builder.load(total), factor, weights), total)
            positive = _absolute(builder, factor), _absolute(builder, weights)
            builder.store(_plus_product(builder, builder.load(size), *positive), size)

        rest = builder.sub(stop, builder.srem(builder.sub(stop, first), one.type(2)))
        with for_range_slice(builder, first, rest, one.type(2)) as (p, _):
            add(p, *turns[0])
            add(builder.add(p, one), *turns[1])
        with for_range_slice(builder, rest, stop, one) as (p, _):
            add(p, *turns[0])
        for row in range(2):
            total = builder.fadd(*(builder.load(sums[row]) for sums in turns))
            builder.store(total, place(kinds[0], out, [column.type(row), column]), align=4)
        return context.get_dummy_value()

    return types.void(out, intp, data, indices, intp, intp, table), generate


def _screen_one_by_one(out: Any, column: Any, data: Any, indices: Any, first: Any, stop: Any, table: Any) -> None:
    """The same for interpreted kernels."""
    columns = slice(column, column + SINGLES)
    out[:, columns] = 0.0
    for p in range(first, stop):
        product = np.float32(data[p]) * table[indices[p], columns]
        out[0, columns] += product
        out[1, columns] += np.abs(product)


def _add_singles(typing_context: Any, out: Any, row: Any, table: Any, j: Any) -> Any:
    """out[row, l] += table[j, l], l < 2 * SINGLES, all float32."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        out, row, table, j = arguments
        for half in (j.type(0), j.type(SINGLES)):
            into = lanes_at(context, builder, signature.args[0], out, [row, half], SINGLES)
            values = builder.load(lanes_at(context, builder, signature.args[2], table, [j, half], SINGLES), align=4)
            builder.store(builder.fadd(builder.load(into, align=4), values), into, align=4)
        return context.get_dummy_value()

    return types.void(out, intp, table, intp), generate


def _add_singles_one_by_one(out: Any, row: Any, table: Any, j: Any) -> None:
    """The same for interpreted kernels."""
    out[row] += table[j]


def _screen_unit(typing_context: Any, out: Any, column: Any, x: Any, table: Any, j: Any) -> Any:
    """out[0, column + l] += x * table[j, l] and out[1, ..] their absolute values, l < SINGLES, all float32."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        out, column, x, table, j = arguments
        place = partial(lanes_at, context, builder, lanes=SINGLES)
        factor = spread(builder, x, SINGLES)
        weights = builder.load(place(signature.args[3], table, [j, j.type(0)]), align=4)
        parts = (factor, weights), (_absolute(builder, factor), _absolute(builder, weights))
        for row, part in enumerate(parts):
            into = place(signature.args[0], out, [column.type(row), column])
            builder.store(_plus_product(builder, builder.load(into, align=4), *part), into, align=4)
        return context.get_dummy_value()

    return types.void(out, intp, types.float32, table, intp), generate


def _screen_unit_one_by_one(out: Any, column: Any, x: Any, table: Any, j: Any) -> None:
    """The same for interpreted kernels."""
    first, product = int(column), x * table[j, :SINGLES]
    out[0, first : first + SINGLES] += product
    out[1, first : first + SINGLES] += np.abs(product)


def _screen_top(
    typing_context: Any, sums: Any, places: Any, column: Any, start: Any, point: Any, share: Any, out: Any, row: Any
) -> Any:
    """out[row, point + l] = the first k where s = start[k, point + l] + sums[0, c + l] is largest, l < SINGLES.

    c is places[k] + column, and sums[1, c + l] the sum of absolute values. Return whether some s is so close to the
    largest that rounding may have changed their order: each is off by at most share * sums[1, c + l] + 2^-22 *
    abs(start).
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        sums, places, column, start, point, share, out, row = arguments
        kinds, zero = signature.args, column.type(0)
        n_classes = builder.extract_value(context.make_array(kinds[1])(context, builder, places).shape, 0)
        place = partial(lanes_at, context, builder, lanes=SINGLES)
        share = spread(builder, share, SINGLES)
        of_start = ir.Constant(_SINGLE, [2.0**-22] * SINGLES)

        def of_class(k: Any) -> tuple[Any, Any]:
            c = builder.add(builder.load(item_at(context, builder, kinds[1], places, [k])), column)
            begin = builder.load(place(kinds[3], start, [k, point]), align=4)
            total, size = (builder.load(place(kinds[0], sums, [zero.type(r), c]), align=4) for r in range(2))
            slack = builder.fmul(of_start, _absolute(builder, begin))
            return builder.fadd(begin, total), _plus_product(builder, slack, share, size)

        score, slack = of_class(zero)
        number = context.get_data_type(kinds[6].dtype)
        highest, lowest_of_it = (alloca_once_value(builder, v) for v in (score, builder.fsub(score, slack)))
        most_of_it = alloca_once_value(builder, builder.fadd(score, slack))
        most_of_others = alloca_once_value(builder, ir.Constant(_SINGLE, [-np.inf] * SINGLES))
        top = alloca_once_value(builder, ir.Constant(ir.VectorType(number, SINGLES), [0] * SINGLES))
        with for_range_slice(builder, column.type(1), n_classes, column.type(1)) as (k, _):
            score, slack = of_class(k)
            most, before = builder.fadd(score, slack), builder.load(highest)
            higher = builder.fcmp_ordered(">", score, before)
            other = builder.select(higher, builder.load(most_of_it), most)
            others = builder.load(most_of_others)
            more = builder.fcmp_ordered(">", other, others)
            builder.store(builder.select(more, other, others), most_of_others)
            builder.store(builder.select(higher, score, before), highest)
            builder.store(builder.select(higher, most, builder.load(most_of_it)), most_of_it)
            lowest = builder.select(higher, builder.fsub(score, slack), builder.load(lowest_of_it))
            builder.store(lowest, lowest_of_it)
            this = spread(builder, builder.trunc(k, number), SINGLES)
            builder.store(builder.select(higher, this, builder.load(top)), top)
        builder.store(builder.load(top), place(kinds[6], out, [row, point]), align=4)
        close = builder.fcmp_unordered("<", builder.load(lowest_of_it), builder.load(most_of_others))
        mask = ir.IntType(SINGLES)
        return builder.icmp_unsigned("!=", builder.bitcast(close, mask), mask(0))

    return types.boolean(sums, places, intp, start, intp, types.float32, out, intp), generate


def _screen_top_one_by_one(
    sums: Any, places: Any, column: Any, start: Any, point: Any, share: Any, out: Any, row: Any
) -> bool:
    """The same for interpreted kernels."""
    lanes = np.arange(SINGLES)
    total, size = sums[:, places[:, None] + column + lanes]
    begin = start[:, point + lanes]
    score, slack = begin + total, share * size + np.float32(2.0**-22) * np.abs(begin)
    top = out[row, point + lanes] = score.argmax(axis=0)
    others = score + slack
    others[top, lanes] = -np.inf
    return bool(((score - slack)[top, lanes] < others.max(axis=0)).any())


prefetch: Any = _no_prefetch if flags.DISABLE_JIT else intrinsic(_prefetch)
product_error: Any = _split_product_error if flags.DISABLE_JIT else intrinsic(_product_error)
add_lanes: Any = _add_one_by_one if flags.DISABLE_JIT else intrinsic(_add_lanes)
sum_lanes: Any = _sum_one_by_one if flags.DISABLE_JIT else intrinsic(prefer_literal=True)(_sum_lanes)
score_rows: Any = _score_one_by_one if flags.DISABLE_JIT else intrinsic(_score_rows)
fill_lanes: Any = _fill_one_by_one if flags.DISABLE_JIT else intrinsic(prefer_literal=True)(_fill_lanes)
screen_lanes: Any = _screen_one_by_one if flags.DISABLE_JIT else intrinsic(_screen_lanes)
add_singles: Any = _add_singles_one_by_one if flags.DISABLE_JIT else intrinsic(_add_singles)
screen_unit: Any = _screen_unit_one_by_one if flags.DISABLE_JIT else intrinsic(_screen_unit)
screen_top: Any = _screen_top_one_by_one if flags.DISABLE_JIT else intrinsic(_screen_top)
