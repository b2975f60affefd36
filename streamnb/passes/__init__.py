"""Fits as generators of passes, and what answers a pass: threads or a Dask cluster, with checkpoints."""
