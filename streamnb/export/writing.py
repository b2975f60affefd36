"""Writes models to files of other programs; a table says which model goes into which format."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from streamnb.core import persistence
from streamnb.core.replacing import replacing
from streamnb.export.as_json import json_bytes
from streamnb.export.as_onnx import onnx_bytes
from streamnb.export.regressions import RegressionWeights, json_of, onnx_of
from streamnb.models.portable import PortableModel

FORMATS: dict[type, dict[str, Callable[[Any], bytes]]] = {
    PortableModel: {".onnx": onnx_bytes, ".json": json_bytes},
    RegressionWeights: {".onnx": onnx_of, ".json": json_of},
}


def write(path: Any, model: PortableModel | RegressionWeights) -> None:
    """Write a model in the format that the ending of a path or URL names; if that fails, nothing is written."""
    file, formats = persistence.check_place("path", path), FORMATS[type(model)]
    ending = Path(file).suffix
    if ending not in formats:
        raise ValueError(f"path={str(file)!r} should end with one of {', '.join(formats)}")
    written = formats[ending](model)
    with replacing(file) as out:
        out.write(written)
