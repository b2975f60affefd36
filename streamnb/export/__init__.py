"""Exports models: JSON, ONNX, and scikit-learn estimators."""
