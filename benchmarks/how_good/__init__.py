"""How good is it? Every tool on sets of rows that anyone can fetch: the pages that say so are made from what it stores.

`python -m benchmarks.how_good FOLDER` measures what is missing, each tool on each set in a process of its own with one
thread, keeps it in results.json, and puts the tables into docs/how_good.md; it goes on where it was stopped.
`--tools search --again` measures one tool anew, `--page` only makes the page. Kernels should be compiled before
(`streamnb warm`), and nothing else should run.

FOLDER has sets.json, which describes each set, and its rows: NAME.parquet, a table, or NAME.npz with X, or data,
indices, indptr and shape of CSR rows, and y. What "held_out" is true of takes no part in training.
"""
