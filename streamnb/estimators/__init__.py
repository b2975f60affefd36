"""Classifiers, regressions and transformers by the contract of scikit-learn, on top of scans and solvers."""
