"""Examples of what sites share: a task, a source, and what merges, for examples_of_contracts and examples_of_totals."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

import streamnb as snb
from streamnb.passes.passes import StatisticTask
from streamnb.rows.opening import opened
from streamnb.rows.source import Source
from streamnb.scanning.rounds import Site, SiteSums
from streamnb.scanning.schema import LabelCounts, LearnedSchema, SiteRows
from tests.support.examples_of_problems import every
from tests.support.examples_of_raw_rows import kinds_of_columns

N = 40
COUNTS, CODES = np.random.default_rng(0).poisson(1.0, (N, 5)).astype(float), np.arange(N) % 3


def counted_table() -> tuple[snb.PassTask, Source]:
    counts, rows = kinds_of_columns()
    return StatisticTask(LabelCounts(counts)), rows.with_columns(CODES, None)


SCANS: dict[type, dict[str, Callable[[], tuple[snb.PassTask, Source]]]] = {
    LabelCounts: every(lambda: (StatisticTask(LabelCounts()), opened(COUNTS, CODES)), table=counted_table)
}


def site_rows(X: Any, y: Any, weight: Any) -> Callable[[Any], SiteRows]:
    return lambda _: SiteRows(opened(X, y, weight), snb.schema(X, y))


def table_of_site(seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    tree, age = rng.choice(["ash", "birch", "cedar"], 12), rng.integers(0, 9, 12)
    return pd.DataFrame({"tree": tree, "age": age + seed, "cut": ["no", "yes"] * 6})


def schema_of(seed: int) -> snb.Schema:
    return snb.schema(table_of_site(seed), "cut", bins=3)


def sums_of(seed: int) -> SiteSums:
    return schema_of(9).scan(table_of_site(seed), site=f"site {seed}")


MERGED_SHARED: dict[type, dict[str, Callable[[int], Any]]] = {
    LearnedSchema: every(lambda seed: schema_of(seed).learned),
    snb.Schema: every(schema_of),
    Site: every(lambda seed: sums_of(seed).sites[f"site {seed}"]),
    SiteSums: every(sums_of),
}
