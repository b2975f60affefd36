"""Scores and the truth become values."""
