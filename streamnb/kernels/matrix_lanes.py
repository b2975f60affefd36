"""Row operations on LANES matrices at once, float64 in C order with lanes last: the inner loops of `tridiagonal`."""

from functools import partial
from typing import Any

from numba import intp, types
from numba.core.cgutils import for_range_slice
from numba.extending import intrinsic

from streamnb.kernels.compiler import flags
from streamnb.kernels.form_lanes import plus_product, vector_of, zero_sum
from streamnb.kernels.lanes import LANES, lanes_at


def _fold_lanes(typing_context: Any, a: Any, i: Any, first: Any, v: Any, w: Any, new: Any, p: Any) -> Any:
    """a[i, j] -= v[i] w[j] + w[i] v[j], first <= j < i; then p[i] = sum of a[i, j] new[j], p[j] += a[i, j] new[i]."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        a, i, first, v, w, new, p = arguments
        kinds, zero, step = signature.args, first.type(0), first.type(1)

        def place(array: Any, at: list) -> Any:
            return lanes_at(context, builder, kinds[arguments.index(array)], array, at)

        def line(array: Any, at: Any) -> Any:
            return builder.load(place(array, [at, zero]), align=8)

        less_v, less_w, of_i = builder.fneg(line(v, i)), builder.fneg(line(w, i)), line(new, i)
        total = zero_sum(builder, vector_of(context, types.float64, 8 * LANES))
        with for_range_slice(builder, first, i, step) as (j, _):
            cell = place(a, [i, j, zero])
            x = plus_product(builder, builder.load(cell, align=8), less_v, line(w, j))
            x = plus_product(builder, x, less_w, line(v, j))
            builder.store(x, cell, align=8)
            builder.store(plus_product(builder, builder.load(total), x, line(new, j)), total)
            builder.store(plus_product(builder, line(p, j), x, of_i), place(p, [j, zero]), align=8)
        builder.store(builder.load(total), place(p, [i, zero]), align=8)
        return context.get_dummy_value()

    return types.void(a, intp, intp, v, w, new, p), generate


def _fold_one_by_one(a: Any, i: Any, first: Any, v: Any, w: Any, new: Any, p: Any) -> None:
    """The same for interpreted kernels."""
    some = slice(first, i)
    a[i, some] -= v[i] * w[some] + w[i] * v[some]
    p[i] = (a[i, some] * new[some]).sum(axis=0)
    p[some] += a[i, some] * new[i]


def _mirror_lanes(typing_context: Any, q: Any, a: Any, c: Any, h: Any) -> Any:
    """q[j] -= h[c] (sum of q[j] a[c, j]) a[c, j], c < j."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        q, a, c, h = arguments
        kinds, zero, step = signature.args, c.type(0), c.type(1)
        place = partial(lanes_at, context, builder)
        first, stop = (
            builder.add(c, step),
            builder.extract_value(context.make_array(kinds[0])(context, builder, q).shape, 0),
        )
        total = zero_sum(builder, vector_of(context, types.float64, 8 * LANES))
        with for_range_slice(builder, first, stop, step) as (j, _):
            x, v = (
                builder.load(at, align=8) for at in (place(kinds[0], q, [j, zero]), place(kinds[1], a, [c, j, zero]))
            )
            builder.store(plus_product(builder, builder.load(total), x, v), total)
        factor = builder.fneg(builder.fmul(builder.load(total), builder.load(place(kinds[3], h, [c, zero]), align=8)))
        with for_range_slice(builder, first, stop, step) as (j, _):
            at, v = place(kinds[0], q, [j, zero]), builder.load(place(kinds[1], a, [c, j, zero]), align=8)
            builder.store(plus_product(builder, builder.load(at, align=8), factor, v), at, align=8)
        return context.get_dummy_value()

    return types.void(q, a, intp, h), generate


def _mirror_one_by_one(q: Any, a: Any, c: Any, h: Any) -> None:
    """The same for interpreted kernels."""
    v = a[c, c + 1 :]
    q[c + 1 :] -= h[c] * (q[c + 1 :] * v).sum(axis=0) * v


fold_lanes: Any = _fold_one_by_one if flags.DISABLE_JIT else intrinsic(_fold_lanes)
mirror_lanes: Any = _mirror_one_by_one if flags.DISABLE_JIT else intrinsic(_mirror_lanes)
