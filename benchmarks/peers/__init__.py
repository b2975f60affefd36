"""streamnb beside other tools and beside bare reading: the same arrays, the same number of threads, in one run.

`python -m benchmarks.peers` prints goal, figure and verdict of every row and writes benchmarks/RESULTS.md; `--quick`
takes fewer rows and repeats, `--only stores` measures one part and writes nothing. Tables are allocated and kernels
compiled before the clock starts, the two sides take turns, and the figure is the median of their ratios. What runs in
one thread is timed in its own seconds, so that other work on the machine counts less; what has threads or reads a store
is timed on the wall clock.
"""
