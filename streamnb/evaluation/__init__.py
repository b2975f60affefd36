"""Metrics of scores and true labels."""
