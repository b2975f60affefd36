"""Least squares with penalties, from sums of products of features and targets."""
