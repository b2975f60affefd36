"""Encodes raw rows (tables, texts, categories) as numeric columns."""
