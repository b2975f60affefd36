"""Shared helpers that know nothing of rows or classes: argument checks, messages, memory, threads, files."""
