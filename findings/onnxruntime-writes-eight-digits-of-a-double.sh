#!/usr/bin/env bash
# ONNX Runtime 1.32.0: the operator Cast from double to string writes eight significant digits, so that different
# numbers become one string, and large ones get an exponent. One would expect digits that give the number back, as in
# Python. It matters here because a category that is a number can be looked up only as a string. Seen: "1.2345679e+09
# 1.2345679e+09". This fails if that changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet onnx==1.23.2 onnxruntime==1.32.0
"$folder/venv/bin/python" - <<'PYTHON'
import numpy as np
import onnxruntime
from onnx import TensorProto, helper

graph = helper.make_graph(
    [helper.make_node("Cast", ["number"], ["text"], to=TensorProto.STRING)],
    "text_of_number",
    [helper.make_tensor_value_info("number", TensorProto.DOUBLE, [None])],
    [helper.make_tensor_value_info("text", TensorProto.STRING, [None])],
)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
(found,) = session.run(None, {"number": np.array([1234567890.0, 1234567891.0])})
print(*found)
assert list(found) == ["1.2345679e+09", "1.2345679e+09"], found
PYTHON
