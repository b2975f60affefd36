"""How users call streamnb, for type checkers: `make lint` has mypy read this file, which nobody runs."""

from pathlib import Path

import numpy as np

import streamnb as snb

X, y = np.eye(3), ["cat", "dog", "owl"]

model: snb.LinearNB = snb.LinearNB("poisson", snb.L1(1.0) + snb.L2(0.5)).fit(X, y, sample_weight=[1, 2, 3])
model = model.partial_fit(np.ones((1, 3)), np.array(["cat"])).refit(family=snb.Gaussian())
accuracy: float = model.score([[1, 0, 0]], ["cat"])
model.fit(Path("counts.zarr"), "y", memory_limit="4GB")
model.fit(chunk for chunk in [(X, y)])
model.fit(lambda: iter([(X, y)]))
model.fit(snb.table("flights.parquet", "late"))

stats: snb.ClassStats = snb.scan(X, y) + snb.scan(X, y)
path: snb.WeightPath = snb.solve(stats, "poisson", snb.TopK(2))
linear: snb.LinearModel = path[0]
judged: snb.Evaluation = (
    snb.evaluate(y, linear.predict(X)) + snb.evaluate(model, X, y) + model.evaluate("test.csv", "y")
)
found: snb.Search = snb.search(X, y, families=["poisson"], scoring="accuracy")
best: float = snb.LinearNBCV(folds=3).fit(X, y).best_score_

# What a type checker finds, which would be errors at run time, too: `warn_unused_ignores` sees to it that it does.
model.fit(None)  # type: ignore[arg-type]
model.fit(X, y, memory_limit=[1])  # type: ignore[arg-type]
model.fit(X, y, n_threads="2")  # type: ignore[arg-type]
snb.scan(X, y, moments=["sum"], fold=3)  # type: ignore[call-arg]
snb.LinearNb()  # type: ignore[attr-defined]
