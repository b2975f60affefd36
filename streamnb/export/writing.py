"""Writes models to files of other programs; a table says which model goes into which format."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from streamnb.core import persistence
from streamnb.core.stored_files import replacing
from streamnb.export.as_json import json_bytes
from streamnb.export.as_onnx import onnx_bytes
from streamnb.export.regressions import RegressionWeights, json_of, onnx_of
from streamnb.models.portable import PortableModel

FORMATS: dict[str, dict[type, Callable[[Any], bytes]]] = {
    ".onnx": {PortableModel: onnx_bytes, RegressionWeights: onnx_of},
    ".json": {PortableModel: json_bytes, RegressionWeights: json_of},
}


def write(path: Any, portable: Callable[[], PortableModel | RegressionWeights]) -> None:
    """Write a model in the format that the ending of a path or URL names; if that fails, nothing is written.

    `portable` returns the model, once the path is known to be right.
    """
    file = persistence.check_place("path", path)
    ending = Path(file).suffix
    if ending not in FORMATS:
        raise ValueError(f"path={str(file)!r} should end with one of {', '.join(FORMATS)}")
    model = portable()
    written = FORMATS[ending][type(model)](model)
    with replacing(file) as out:
        out.write(written)
