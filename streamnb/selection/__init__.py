"""Judges models of folds, and ranks features."""
