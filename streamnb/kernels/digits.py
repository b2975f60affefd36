"""Fast parsing of bytes: up to eight digits, or 32 letters, at a time."""

from typing import Any

import numpy as np
from numba import types
from numba.core.cgutils import get_or_insert_function, int32_t, ir
from numba.extending import intrinsic

from streamnb.kernels.compiler import brick, flags

_WORD, _LETTER = ir.IntType(64), ir.IntType(8)
LOW32 = 0xFFFFFFFF
STRIDE, COPIED = 32, 16  # bytes examined, and copied, at once


def _place(typing_context: Any, text: Any) -> Any:
    """The address of a text, which kernels pass on instead of the array to avoid reference counting."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ptrtoint(context.make_array(signature.args[0])(context, builder, arguments[0]).data, _WORD)

    return types.int64(text), generate


def _letter(typing_context: Any, text: Any, p: Any) -> Any:
    """text[p] as a number; `text` is an address, and p is not negative."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        byte = builder.load(builder.inttoptr(builder.add(*arguments), _LETTER.as_pointer()))
        return builder.zext(byte, _WORD)

    return types.int64(types.int64, types.int64), generate


def _plain_letter(text: Any, p: int) -> int:
    """The same for interpreted kernels."""
    return int(text[p])


def _find(typing_context: Any, text: Any, begin: Any, stop: Any, byte: Any) -> Any:
    """The first position of a byte in text[begin:stop], or `stop`; uses memchr of the C library."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        text, begin, stop, byte = arguments
        pointer, int32 = _LETTER.as_pointer(), ir.IntType(32)
        shape = ir.FunctionType(pointer, [pointer, int32, _WORD])
        memchr = get_or_insert_function(builder.module, shape, "memchr")
        first = builder.inttoptr(builder.add(text, begin), pointer)
        found = builder.ptrtoint(
            builder.call(memchr, [first, builder.trunc(byte, int32), builder.sub(stop, begin)]), _WORD
        )
        return builder.select(builder.icmp_unsigned("==", found, _WORD(0)), stop, builder.sub(found, text))

    number = types.int64
    return number(number, number, number, number), generate


def _plain_find(text: Any, begin: int, stop: int, byte: int) -> int:
    """The same for interpreted kernels."""
    found = text[begin:stop].tobytes().find(byte)
    return stop if found < 0 else begin + found


def _digits(typing_context: Any, text: Any, p: Any) -> Any:
    """The number of digits from text[p] on, at most 8, and their value; 8 bytes from p on must be readable.

    The eight bytes are one word, whose lowest byte is the first letter (all platforms of numba are little-endian).
    Digits are shifted to its upper end and added up in pairs, fours and eights (Lemire 2018).
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        eight = builder.load(builder.inttoptr(builder.add(*arguments), _WORD.as_pointer()), align=1)
        above, below = builder.add(eight, _WORD(0x4646464646464646)), builder.sub(eight, _WORD(0x3030303030303030))
        others = builder.and_(builder.or_(above, below), _WORD(0x8080808080808080))  # only the lowest mark is reliable
        shape = ir.FunctionType(_WORD, [_WORD, ir.IntType(1)])
        count = builder.module.declare_intrinsic("llvm.cttz", [_WORD], shape)
        n = builder.lshr(builder.call(count, [others, ir.IntType(1)(0)]), _WORD(3))
        bits, word = builder.shl(n, _WORD(3)), builder.xor(eight, _WORD(0x3030303030303030))
        half = builder.lshr(builder.sub(_WORD(64), bits), _WORD(1))  # shifted twice, since a shift by 64 is undefined
        word = builder.shl(builder.shl(word, half), half)
        for factor, width, mask in (
            (10, 8, 0x00FF00FF00FF00FF),
            (100, 16, 0x0000FFFF0000FFFF),
            (10000, 32, 0xFFFFFFFF),
        ):
            word = builder.add(builder.mul(word, _WORD(factor)), builder.lshr(word, _WORD(width)))
            word = builder.and_(word, _WORD(mask))
        return context.make_tuple(builder, signature.return_type, [n, word])

    return types.UniTuple(types.int64, 2)(types.int64, types.int64), generate


def _digits_one_by_one(text: Any, p: int) -> tuple[int, int]:
    """The same for interpreted kernels."""
    n, number = 0, 0
    while n < 8 and 48 <= text[p + n] <= 57:
        number = 10 * number + int(text[p + n]) - 48
        n += 1
    return n, number


def _bytes_at(builder: Any, text: Any, p: Any, n: int) -> Any:
    """A pointer to n bytes as a vector."""
    return builder.inttoptr(builder.add(text, p), ir.VectorType(_LETTER, n).as_pointer())


def _between(builder: Any, x: Any, first: int, last: int) -> Any:
    """A mask of the bytes of a vector from `first` to `last`."""
    count = x.type.count
    begin, width = (ir.Constant(x.type, [number] * count) for number in (first, last - first))
    return builder.icmp_unsigned("<=", builder.sub(x, begin), width)


def _word_bits(typing_context: Any, text: Any, p: Any) -> Any:
    """Bit masks over text[p + j], j < STRIDE: ASCII letters of words, and bytes that are not ASCII."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        x = builder.load(_bytes_at(builder, arguments[0], arguments[1], STRIDE), align=1)
        inside = _between(builder, x, 95, 95)  # the underscore
        for first, last in (b"az", b"AZ", b"09"):
            inside = builder.or_(inside, _between(builder, x, first, last))
        both = (builder.bitcast(which, ir.IntType(STRIDE)) for which in (inside, _between(builder, x, 128, 255)))
        return context.make_tuple(builder, signature.return_type, [builder.zext(bits, _WORD) for bits in both])

    return types.UniTuple(types.int64, 2)(types.int64, types.int64), generate


def _plain_word_bits(text: Any, p: int) -> tuple[int, int]:
    """The same for interpreted kernels."""
    letters = text[p : p + STRIDE].tobytes()
    inside = (letters[j : j + 1].isalnum() or letters[j] == 95 for j in range(STRIDE))
    return sum(bit << j for j, bit in enumerate(inside)), sum((c >> 7) << j for j, c in enumerate(letters))


def _copy_letters(typing_context: Any, text: Any, p: Any, line: Any, at: Any, lower: Any) -> Any:
    """line[at : at + COPIED] = text[p : p + COPIED], with `lower` added to A to Z; both are addresses."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        text, p, line, at, lower = arguments
        x = builder.load(_bytes_at(builder, text, p, COPIED), align=1)
        added = builder.insert_element(ir.Constant(x.type, ir.Undefined), builder.trunc(lower, _LETTER), int32_t(0))
        added = builder.shuffle_vector(added, added, ir.Constant(ir.VectorType(int32_t, COPIED), [0] * COPIED))
        zeros = ir.Constant(x.type, [0] * COPIED)
        x = builder.add(x, builder.select(_between(builder, x, *b"AZ"), added, zeros))
        builder.store(x, _bytes_at(builder, line, at, COPIED), align=1)
        return context.get_dummy_value()

    number = types.int64
    return types.void(number, number, number, number, number), generate


def _plain_copy_letters(text: Any, p: int, line: Any, at: int, lower: int) -> None:
    """The same for interpreted kernels."""
    x = text[p : p + COPIED]
    line[at : at + COPIED] = x + ((x >= 65) & (x <= 90)).astype(x.dtype) * x.dtype.type(lower)


@brick
def lowest_bit(word):
    """The position of the lowest set bit of a nonzero number, as the exponent of that bit as a float64."""
    return (np.float64(word & -word).view(np.int64) >> 52) - 1023


@brick
def rotated(number, n):
    """The low 32 bits of a number, rotated left by n."""
    low = number & LOW32
    return (low << n | low >> (32 - n)) & LOW32


@brick
def four_bytes(line, at):
    """The bytes line[at : at + 4] as a little-endian number.

    LLVM reads all at once, since unsigned indices cannot be negative.
    """
    number = 0
    for j in range(4):
        number |= int(line[np.uintp(at + j)]) << (8 * j)
    return number


def _itself(text: Any) -> Any:
    """The same of interpreted kernels: the text."""
    return text


place: Any = _itself if flags.DISABLE_JIT else intrinsic(_place)
find: Any = _plain_find if flags.DISABLE_JIT else intrinsic(_find)
letter: Any = _plain_letter if flags.DISABLE_JIT else intrinsic(_letter)
digits: Any = _digits_one_by_one if flags.DISABLE_JIT else intrinsic(_digits)
word_bits: Any = _plain_word_bits if flags.DISABLE_JIT else intrinsic(_word_bits)
copy_letters: Any = _plain_copy_letters if flags.DISABLE_JIT else intrinsic(_copy_letters)
