"""Rows in: whatever holds the data becomes checked blocks of rows."""
