"""Benchmarks that asv runs; its configuration is beside this folder."""
