"""Sufficient statistics: immutable values that merge and subtract."""
