"""Additive models: curves of features and surfaces of pairs, chosen on folds of a sample and trained on all rows."""
