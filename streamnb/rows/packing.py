"""Blocks of rows as bytes for scratch files: each array in the narrowest type that holds exactly its values."""

import io
import pickle
from dataclasses import replace
from typing import Any

import numpy as np

from streamnb.rows.block import Block

OF_INTEGERS = np.uint8, np.int8, np.uint16, np.int16, np.uint32, np.int32
OF_FLOATS = np.uint8, np.uint16, np.float32


def packed(block: Block) -> list[memoryview]:
    """The block as buffers: a header first, then one for each array."""
    file, arrays = io.BytesIO(), list[pickle.PickleBuffer]()
    _Pickler(file, protocol=5, buffer_callback=arrays.append).dump(block)
    return [file.getbuffer(), *(array.raw() for array in arrays)]


def unpacked(parts: list[memoryview]) -> Block:
    """The block, whose arrays have the types and values that they had; they lie in the buffers where they can."""
    block: Block = pickle.loads(parts[0], buffers=parts[1:])
    return replace(block, kept=True)


class _Pickler(pickle.Pickler):
    """Packs arrays of numbers in the narrowest type, and those of one value as that value."""

    def reducer_override(self, value: Any) -> Any:
        if type(value) is not np.ndarray or value.dtype.kind not in "iuf" or value.size < 2:
            return NotImplemented
        value = np.ascontiguousarray(value)
        bits = value.view(f"u{value.itemsize}").reshape(-1)
        if bits[0] == bits[-1] and (bits == bits[0]).all():
            return _repeated, (value.reshape(-1)[:1], value.shape)
        for dtype in OF_FLOATS if value.dtype.kind == "f" else OF_INTEGERS:
            if np.dtype(dtype).itemsize < value.itemsize and (narrow := _narrowed(value, bits, dtype)) is not None:
                return _widened, (narrow, value.dtype.str)
        return NotImplemented


def _narrowed(value: np.ndarray, bits: np.ndarray, dtype: Any) -> np.ndarray | None:
    """The array in another type; None if a bit of any value would be lost, such as the sign of -0.0."""
    with np.errstate(all="ignore"):
        if (value[..., :1].astype(dtype) != value[..., :1]).any():  # before the whole is converted
            return None
        narrow = value.astype(dtype)
        again = narrow.astype(value.dtype).view(bits.dtype).reshape(-1)
    return narrow if np.array_equal(again, bits) else None


def _widened(narrow: np.ndarray, dtype: str) -> np.ndarray:
    return narrow.astype(dtype)


def _repeated(value: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    return np.full(shape, value[0], value.dtype)
