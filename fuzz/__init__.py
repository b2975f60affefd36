"""Coverage-guided fuzzing: what a user may pass is made of bytes, and each use is refused in clear words or right.

Each harness is a function `one(choices)` in a module of its own; `python -m fuzz` runs them.
"""
