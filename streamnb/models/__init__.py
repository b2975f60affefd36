"""Models: weights that score rows, and what other programs read of them: JSON, ONNX, SQL, Python."""
