"""Gathers the facts of a model: what it learned from, what it looks at, how it was chosen and made."""

from __future__ import annotations

import inspect
import platform
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from itertools import islice
from typing import Any

import numpy as np

from streamnb.core import persistence
from streamnb.estimators.classifier import Classifier, explained_model, fitted_model
from streamnb.estimators.feature_tables import PER_DEVIATION, class_weights, comparable, unit_of
from streamnb.estimators.regressor import LinearRegressor, deviations_of_columns
from streamnb.models.linear import LinearModel
from streamnb.passes.contract import Report
from streamnb.reporting.drawing import scoring_name, strongest, with_bins_in_words
from streamnb.reporting.facts import Described, FactTable, Share, column_name, number, shown

MOST_FEATURES = 100  # of a model of one row of weights
MOST_CLASSES = 12  # whose features are listed
EACH = 8  # features of each of several classes
FEW_CLASSES = 50  # whose features are ranked to find those that are listed
MOST_POINTS = 10  # of a grid
LONGEST_VALUE = 80  # letters of a parameter


def described(model: Any, y: Any = None, choice: FactTable | None = None, file: str = "model.snb") -> Described:
    """The facts of a fitted model; `choice` is the table of a search, `file` where the model can be loaded from."""
    stats, encoding = getattr(model, "stats_", None), getattr(model, "encoding_", None)
    classes = getattr(model, "classes_", None)
    name = y if isinstance(y, str) else getattr(y, "name", None) or getattr(encoding, "y", None)
    target, kinds = shown(name) if name else "", "numbers" if classes is None else f"{len(classes):,} classes"
    weights, unit = tuple(_weights(model)), _unit(model)
    summary = " ".join((inspect.getdoc(type(model)) or "").split("\n\n")[0].split()).replace("`", "")
    return Described(
        kind=f"{type(model).__name__}: {summary}",
        question=_question(model, classes, target, _made_from(model, encoding)),
        title=f"Predicting {target}" if target else f"A model of {kinds}",
        about=tuple(_about(model, stats, encoding)),
        classes=_shares(stats),
        missing=_missing(model, stats, encoding),
        features=_features(model, weights, unit),
        choice=choice or _grid(model),
        parameters=tuple(_parameters(model)),
        made=tuple(_made(model, stats)),
        load=f"model = snb.load({file!r})",
        weights=weights,
        unit=unit,
    )


def compared(title: str, choice: FactTable, passes: Report) -> Described:
    """The facts of a comparison, which has no model."""
    question = "Candidates were judged on the same rows, which their models had not seen."
    return Described(question, title, made=(*_of_passes(passes), *_of_today()), choice=choice)


# ---- what it is ------------------------------------------------------------------------------------------------------


def _n_columns(model: Any, encoding: Any) -> int:
    columns = getattr(encoding, "columns", None)
    n = len(columns) if isinstance(columns, dict) else getattr(model, "n_features_in_", None)
    return int(getattr(model, "n_features", 0) if n is None else n)


def _made_from(model: Any, encoding: Any) -> str:
    """What the model looks at, as a sentence begins."""
    n_columns = _n_columns(model, encoding)
    if hasattr(encoding, "ngrams"):
        return "From the text of a row"
    if not n_columns:
        return "From a row"
    return f"From {n_columns:,} columns of a row" if n_columns > 1 else "From one column of a row"


def _question(model: Any, classes: Any, target: str, of_what: str) -> str:
    """What the model answers, in a sentence."""
    if classes is None:
        return f"{of_what}, this model predicts a number{f', {target}' if target else ''}."
    labels = [f"“{shown(label)}”" for label in classes.tolist()]
    linear = fitted_model(model) if isinstance(model, Classifier) else model
    if isinstance(linear, LinearModel) and linear.scheme.multilabel:
        return f"{of_what}, this model predicts which of {len(labels):,} labels it has: any number of them."
    what = f"{target}: " if target else ""
    if len(labels) <= 4:
        return f"{of_what}, this model predicts {what or 'its class: '}{', '.join(labels[:-1])} or {labels[-1]}."
    return f"{of_what}, this model predicts {what or 'its class: '}one of {len(labels):,} classes."


# ---- what it learned from --------------------------------------------------------------------------------------------


def _about(model: Any, stats: Any, encoding: Any) -> Iterator[tuple[str, Any]]:
    n_rows = _n_rows(model, stats)
    if n_rows:
        yield "rows learned from", n_rows
    if getattr(model, "classes_", None) is not None:
        yield "classes", len(model.classes_)
    n_columns, made = _n_columns(model, encoding), getattr(model, "n_features_in_", None)
    if n_columns and hasattr(encoding, "ngrams"):
        yield "columns that its words are counted in", n_columns
    elif n_columns:
        yield "columns", n_columns
    if made is not None and made != n_columns:
        yield "columns that the model made of them", int(made)


def _n_rows(model: Any, stats: Any) -> int | None:
    """The rows of training, where they are known."""
    if stats is not None and hasattr(stats, "n_rows"):
        return int(stats.n_rows)
    report = getattr(model, "report_", None)
    if report is None or not report.reads or report.rows % report.reads:
        return None
    return int(report.rows // report.reads)


def _shares(stats: Any) -> tuple[tuple[str, float], ...]:
    """The classes and their shares of the training rows, the largest first."""
    if stats is None or not hasattr(stats, "classes") or not stats.total_weight:
        return ()
    share = stats.weight / stats.total_weight
    order = np.argsort(-share, kind="stable")[:MOST_CLASSES]
    return tuple((shown(stats.classes[k]), float(share[k])) for k in order.tolist())


def _missing(model: Any, stats: Any, encoding: Any) -> FactTable | None:
    """Columns with missing values, and the share of the training rows that lack them."""
    shares: list[tuple[str, float]] = []
    if hasattr(model, "terms_"):
        for name in model.terms_["name"]:
            if not isinstance(name, tuple):
                table = model.term(name)
                lacking = table["level"].isna() if "level" in table else table["lower"].isna()
                if lacking.any():
                    shares.append((shown(name), Share(table["count"][lacking].sum() / table["count"].sum())))
    else:
        coded = getattr(encoding, "coded", None)
        moment = next((name for name in ("nonzero", "sum", "above") if name in getattr(stats, "moments", ())), None)
        if coded and moment is not None:
            counts, weight = stats.table(moment).value().sum(axis=0), stats.weight.sum()
            places = {name: place for place, name in enumerate(encoding.column_names.tolist())}
            at = {shown(part.label): places[part.missing()] for part, _ in coded if part.missing() in places}
            shares = [(name, Share(counts[place] / weight)) for name, place in at.items()]
    rows = tuple(sorted(shares, key=lambda row: -row[1])[:MOST_FEATURES])
    return FactTable("Missing values", ("column", "rows without a value"), rows) if rows else None


# ---- what it looks at ------------------------------------------------------------------------------------------------


def _features(model: Any, weights: Any, unit: str) -> FactTable | None:
    """The features or terms that matter most."""
    if hasattr(model, "terms_"):
        terms = model.terms_.head(MOST_FEATURES)
        names = [" and ".join(map(shown, name)) if isinstance(name, tuple) else shown(name) for name in terms["name"]]
        kinds = terms["kind"].map({"main": "one column", "pair": "a pair"})
        rows: Any = tuple(zip(names, kinds, terms["importance"], strict=True))
        of_classes = getattr(model, "classes_", None) is not None
        return FactTable("Terms", ("term", "of", f"mean absolute {'score' if of_classes else 'change'}"), rows)
    if not weights:
        return None
    rows = tuple((label, *one) for label, *lists in weights for one in zip(*lists, strict=True))
    if getattr(model, "classes_", None) is None:
        return FactTable("Features", ("feature", unit), tuple(row[1:] for row in rows))
    note = "" if len(model.classes_) <= MOST_CLASSES else f"Features of {MOST_CLASSES} classes are listed."
    if hasattr(getattr(model, "encoding_", None), "ngrams") and rows[0][1].startswith("column "):
        note = f"Words are counted in numbered columns; snb.text(.., keep_tokens=100_000) keeps their names. {note}"
    return FactTable("Features", ("class", "feature", unit), rows, note)


def _unit(model: Any) -> str:
    """The unit of weights of features, which are compared per standard deviation where that is known."""
    if isinstance(model, LinearRegressor):
        return "weight" if deviations_of_columns(model) is None else PER_DEVIATION
    try:
        return unit_of(explained_model(model))
    except (AttributeError, TypeError):  # a classifier without weights of features, or no model of streamnb
        return "weight"


def _weights(model: Any) -> Iterator[tuple[str, tuple[str, ...], tuple[float, ...]]]:
    """The strongest features of some classes, and their weights; of a regression of one target the class is ""."""
    if hasattr(model, "terms_"):
        return
    classes = getattr(model, "classes_", None)
    if classes is None:
        found = _coefficients(model)
    else:
        found = _strongest(model, MOST_FEATURES if len(classes) == 2 else EACH)
    for label, features, weights in found:
        if classes is not None and len(classes) == 2 and label == classes.tolist()[0]:
            continue  # the opposite of the second
        name = "" if classes is None else shown(label)
        named = (with_bins_in_words(column_name(feature)) for feature in features)
        yield name, tuple(named), tuple(map(float, weights))


def _coefficients(model: Any) -> Iterator[tuple[str, Sequence[Any], Sequence[float]]]:
    coef = np.asarray(getattr(model, "coef_", np.zeros((0, 0))))
    if coef.ndim != 1 or not coef.any():
        return
    deviations = deviations_of_columns(model) if isinstance(model, LinearRegressor) else None
    sizes = coef if deviations is None else coef * deviations
    names = np.asarray(getattr(model, "feature_names_in_", np.arange(len(coef))))
    best = strongest(sizes, MOST_FEATURES)
    yield "", names[best].tolist(), sizes[best].tolist()


def _strongest(model: Any, n: int) -> Iterator[tuple[Any, Sequence[Any], Sequence[float]]]:
    try:
        if isinstance(model, LinearModel) or len(model.classes_) > FEW_CLASSES:
            linear = explained_model(model)
            for label, weights in islice(class_weights(linear), MOST_CLASSES):
                weights = comparable(linear, weights)
                best = strongest(weights, n)
                names = getattr(model, "feature_names_in_", np.arange(len(weights)))
                yield label, names[best].tolist(), weights[best].tolist()
            return
        if hasattr(model, "top_features"):
            for label, table in islice(model.top_features(n).groupby("class", sort=False), MOST_CLASSES):
                yield label, table["feature"].tolist(), table.iloc[:, -1].tolist()  # the column by which it is sorted
    except (TypeError, ValueError):  # scores that are no sums over features have no weights of them
        return


# ---- how it was chosen and made --------------------------------------------------------------------------------------


def _grid(model: Any) -> FactTable | None:
    """The best points of the grid of a CV form."""
    results = getattr(model, "cv_results_", None) or {}
    if "alpha" in results:
        return _path(results, model)
    if "mean_test_score" not in results:
        return None
    means = np.asarray(results["mean_test_score"], np.float64)
    stds = np.asarray(results.get("std_test_score", np.full(len(means), np.nan)), np.float64)
    order = np.argsort(-np.nan_to_num(means, nan=-np.inf), kind="stable")[:MOST_POINTS]
    kinds = [name for name in results if name.startswith("param_")]
    columns = [results[name].tolist() for name in kinds]
    points = results.get("params", [dict(zip(kinds, point, strict=True)) for point in zip(*columns, strict=True)])
    spread = not np.isnan(stds).all()
    rows = tuple((_point(points[i]), *map(float, [means[i], stds[i]][: 1 + spread])) for i in order.tolist())
    n_splits = sum(name.startswith("split") and name.endswith("_test_score") for name in results)
    note = f"{len(means):,} points were judged on {n_splits} folds, on rows that their models had not seen"
    note += f", by {scoring_name(model)}. Chosen: {_point(model.best_params_)}, with {number(model.best_score_)}."
    return FactTable("Penalties", ("point", "mean score", "standard deviation")[: 2 + spread], rows, note)


def _path(results: dict[str, Any], model: Any) -> FactTable:
    """The best strengths of the path of a regression."""
    means, low, high = (-results[f"{end}_test_score"] for end in ("mean", "high", "low"))
    unit = "mean deviance"
    if "l1_ratio" in results:
        unit = "root mean squared error"
        means, low, high = (np.sqrt(np.maximum(ends, 0.0)) for ends in (means, low, high))
    names = [name for name in ("l1_ratio", "alpha") if name in results and len(np.unique(results[name])) > 1]
    rows = tuple(
        (*(float(results[name][i]) for name in names), float(means[i]), f"{number(low[i])} to {number(high[i])}")
        for i in np.argsort(means, kind="stable")[:MOST_POINTS].tolist()
    )
    chosen = ", ".join(f"{name} = {number(getattr(model, f'{name}_'))}" for name in names)
    note = f"{len(means):,} points were judged on folds, on rows that their models had not seen. Chosen: {chosen}."
    return FactTable("Penalties", (*names, unit, "95 % interval"), rows, note)


def _point(point: Any) -> str:
    """A point of a grid as text."""
    if not isinstance(point, dict):
        return shown(point)
    values = [number(one) if isinstance(one, int | float) else shown(one) for one in point.values()]
    return ", ".join(f"{name.removeprefix('param_')} = {one}" for name, one in zip(point, values, strict=True))


def _parameters(model: Any) -> Iterator[tuple[str, str]]:
    """Parameters that differ from their defaults."""
    if not hasattr(model, "get_params"):
        return
    usual = {name: one.default for name, one in inspect.signature(type(model).__init__).parameters.items()}
    for name, value in model.get_params(deep=False).items():
        text = repr(value)
        if text != repr(usual.get(name, inspect.Parameter.empty)):
            yield name, text if len(text) <= LONGEST_VALUE else text[: LONGEST_VALUE - 1] + "…"


def _made(model: Any, stats: Any) -> Iterator[tuple[str, str]]:
    yield from _of_passes(getattr(model, "report_", None))
    if stats is not None and persistence.registered(stats):
        yield "fingerprint of the training rows", persistence.digest(stats)
    for name, value in (getattr(model, "meta_", None) or {}).items():
        yield shown(name), shown(value)
    yield from _of_today()


def _of_passes(report: Report | None) -> Iterator[tuple[str, str]]:
    """How often the rows were read, and how long that took."""
    if report is not None:
        yield "reads of the rows", f"{max(report.reads, 1):,}"
        yield "bytes read", f"{report.bytes:,}"
        yield "seconds of the fit", f"{report.seconds:,.1f}"


def _of_today() -> Iterator[tuple[str, str]]:
    versions = ", ".join(f"{name} {version(name)}" for name in ("streamnb", "numpy", "scikit-learn"))
    yield "versions", f"{versions}, Python {platform.python_version()}"
    yield "written", f"{datetime.now(UTC):%d %B %Y, %H:%M} UTC"
