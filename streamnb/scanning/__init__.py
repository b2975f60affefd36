"""Scans rows of any kind into class statistics."""
