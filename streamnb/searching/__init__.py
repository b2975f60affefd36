"""Searches for a model: judges candidates of all kinds on the same folds and fits the best one."""
