"""Rows of any kind become class statistics."""
