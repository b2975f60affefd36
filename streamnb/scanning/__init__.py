"""Scans of rows of any kind: class statistics, first looks, plans, and rows at sites that share sums alone."""
