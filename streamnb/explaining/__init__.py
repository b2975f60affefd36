"""Models in words and numbers."""
