"""Trains models that need several reads of the rows: losses, and descent from the start that one scan provides."""
