"""Fits as generators of passes: what is asked of the rows, and one driver that asks it."""
