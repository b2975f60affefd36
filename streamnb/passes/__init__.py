"""One pass over the rows: any task, on threads here or on a Dask cluster."""
