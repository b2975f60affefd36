"""Searches for a model: candidates of all kinds on the same folds, and the best one fitted."""
