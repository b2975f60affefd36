"""Models: weights that score rows."""
