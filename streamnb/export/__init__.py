"""Models that leave the package: JSON, ONNX, and estimators of scikit-learn."""
