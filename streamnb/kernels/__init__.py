"""Loops over plain arrays, nothing else: no checks (the boundary made its input true) and no allocation."""
