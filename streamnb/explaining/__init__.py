"""Explains models in words and numbers."""
