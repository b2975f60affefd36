"""The search for a model: everything that is to be compared, on the same folds, in as few reads as may be."""
