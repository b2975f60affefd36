"""Runs a task over the rows in one pass, in threads or on a Dask cluster."""
