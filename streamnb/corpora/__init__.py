"""Whole corpora: predictions and selected rows, written in parts."""
