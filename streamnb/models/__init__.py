"""Weights become scores of rows."""
