"""A model in a Dask graph: the rows of many files are scored on the workers of a cluster; a task loads the model.

python dask_scoring.py model.snb 'rows/*.parquet' scored                # pip install streamnb[distributed,tables]
"""

import sys

import dask
import dask.dataframe as dd
from distributed import Client

import streamnb as snb


def score(rows, model, names):
    """The rows of a partition with the probability of each class beside them."""
    return rows.assign(**dict(zip(names, model.predict_proba(rows).T)))


def main(path, files, out):
    """Score Parquet files by the model of a path that the workers see, and write rows and probabilities as Parquet."""
    rows = dd.read_parquet(files)
    names = [f"p_{label}" for label in snb.load(path).classes_.tolist()]
    meta = rows._meta.assign(**dict.fromkeys(names, 0.0))
    rows.map_partitions(score, dask.delayed(snb.load)(path), names, meta=meta).to_parquet(out)


if __name__ == "__main__":
    with Client(n_workers=2, threads_per_worker=1) as client:  # or Client("tcp://scheduler:8786")
        main(*sys.argv[1:])
