"""What users may pass, as types, and checks of it.

Each message of a check names the argument, what was given and what would be right.
"""

import math
import numbers
from collections.abc import Callable, Iterable, Mapping
from os import PathLike
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike


def one_of(name: str, value: Any, allowed: Iterable[Any]) -> Any:
    """Return `value` if it is one of `allowed`, else raise with the list."""
    allowed = list(allowed)
    for each in allowed:
        if value is each or (isinstance(value, str) and value == each):
            return value
    raise ValueError(f"{name}={value!r} is unknown; it should be one of {', '.join(map(repr, allowed))}")


def family_name(family: Any, names: Iterable[str]) -> str:
    """Return `family` if it is the name of a family without parameters."""
    if isinstance(family, type):
        raise TypeError(f"family={family.__name__} is a class; give an instance: {family.__name__}()")
    if not isinstance(family, str):
        raise TypeError(f"family={family!r} should be a name, such as 'poisson', or an object, such as snb.Binomial(k)")
    objects = {"binomial": "snb.Binomial(k)", "negative_binomial": "snb.NegativeBinomial(r)"}
    if family in objects:
        raise ValueError(f"family={family!r} needs its parameter; give an object: {objects[family]}")
    return str(one_of("family", family, names))


def as_array(name: str, value: Any) -> np.ndarray:
    """Convert `value` to a NumPy array; an error names the argument."""
    try:
        return np.asarray(value)
    except (TypeError, ValueError, RuntimeError) as error:  # rows of several lengths; an __array__ that refuses
        raise ValueError(f"{name} should be an array, or lists of one length: {error}") from error


def finite_number(name: str, value: Any, *, minimum: float = -math.inf) -> float:
    """Return `value` as a finite float not below `minimum`."""
    is_real = isinstance(value, (numbers.Real, np.integer, np.floating))
    if isinstance(value, (bool, np.bool_)) or not is_real:
        given = f"{name} is of type {type(value).__name__}; it" if getattr(value, "shape", ()) else f"{name}={value!r}"
        raise TypeError(f"{given} should be a number")
    try:
        number = float(value)
    except OverflowError as error:
        raise ValueError(f"{name} is a number larger than float64 holds; it should be below 1.8e308") from error
    if not math.isfinite(number) or value < minimum:
        bound = "" if minimum == -math.inf else f" and at least {minimum:g}"
        raise ValueError(f"{name}={value!r} should be finite{bound}")
    return number


def number_above_0(name: str, value: Any, why: str = "") -> float:
    """Return `value` as a finite float above 0; `why` says what 0 would do."""
    number = finite_number(name, value)
    if number <= 0.0:
        raise ValueError(f"{name}={value!r} should be above 0{': ' if why else ''}{why}")
    return number


def each(name: str, given: Any) -> list[tuple[str, Any]]:
    """The entries of a list, or the single value, each with its name for messages."""
    if np.ndim(given) == 0:
        return [(name, given)]
    values = given.tolist() if isinstance(given, np.ndarray) else given
    return [(f"{name}[{i}]", value) for i, value in enumerate(values)]


def share(name: str, value: Any) -> float:
    """Return `value` as a float from 0 to 1."""
    number = finite_number(name, value)
    if not 0.0 <= number <= 1.0:
        raise ValueError(f"{name}={value!r} should be from 0 to 1")
    return number


def positive_integer(name: str, value: Any, minimum: int = 1) -> int:
    """Return `value` as an int of at least `minimum`."""
    _check_whole(name, value)
    if value < minimum:
        raise ValueError(f"{name}={value!r} should be at least {minimum}")
    return int(value)


def whole_number(name: str, value: Any) -> int:
    """Return `value` as an int of at least 0."""
    _check_whole(name, value)
    if not 0 <= int(value) < 2**63:
        raise ValueError(f"{name}={value!r} should be at least 0 and fit into 64 bits")
    return int(value)


def _check_whole(name: str, value: Any) -> None:
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (numbers.Integral, np.integer)):
        raise TypeError(f"{name}={value!r} should be a whole number")


def numbers_for_features(name: str, value: Any, by_class: bool = False) -> Any:
    """Return a finite float, or an array with one for each feature; `by_class` also allows a row for each class."""
    shapes = "(n_features,)" + (" or (n_classes, n_features)" if by_class else "")
    given = as_array(name, value)
    if given.ndim == 0:
        return finite_number(name, value)
    if np.ma.is_masked(value):
        raise ValueError(f"{name} has masked entries; it should have a number for each feature")
    if given.dtype.kind not in "iuf":
        raise TypeError(f"{name} has dtype {given.dtype}; it should be a number, or one number for each feature")
    if not 1 <= given.ndim <= 1 + by_class or not given.size:
        raise ValueError(f"{name} has shape {given.shape}; it should be a number, or an array of shape {shapes}")
    given = given.astype(np.float64)
    if not np.isfinite(given).all():
        raise ValueError(f"{_entry(name, given, np.isfinite(given))} should be finite")
    return given


def positive_numbers(name: str, value: Any, by_class: bool = False) -> Any:
    """Return a float above 0, or an array with one for each feature; `by_class` also allows a row for each class."""
    given = np.asarray(numbers_for_features(name, value, by_class))
    if not (given > 0.0).all():
        raise ValueError(f"{_entry(name, given, given > 0.0)} should be greater than 0")
    return given if given.ndim else float(given)


def _entry(name: str, given: np.ndarray, valid: np.ndarray) -> str:
    """The index and value of the first entry that is not valid."""
    at = np.unravel_index(np.argmin(valid), given.shape)
    return f"{name}{[int(i) for i in at] if at else ''}={given[at]}"


def tau_grid(name: str, tau: Any) -> np.ndarray:
    """Return one tau or a grid of them as an ascending float array without repeats."""
    if as_array(name, tau).ndim == 0:
        return np.array([finite_number(name, tau, minimum=0.0)])
    taus = [finite_number(f"{name}[{i}]", t, minimum=0.0) for i, t in enumerate(tau)]
    if not taus:
        raise ValueError(f"{name} is an empty grid; give at least one number")
    return np.unique(taus)


def check_class_weight(class_weight: Any, classes: np.ndarray) -> Any:
    """Return None, "balanced", or the weight of each label that is listed."""
    if class_weight is None or isinstance(class_weight, str):
        return one_of("class_weight", class_weight, [None, "balanced"])
    if not isinstance(class_weight, Mapping):
        raise TypeError(f"class_weight={class_weight!r} should be None, 'balanced' or a dict {{label: weight}}")
    labels = classes.tolist()
    for label, weight in class_weight.items():
        if label not in labels:
            raise ValueError(f"class_weight has the label {label!r}, which is not a class; those are {labels}")
        finite_number(f"class_weight[{label!r}]", weight, minimum=0.0)
    return {labels[labels.index(label)]: float(weight) for label, weight in class_weight.items()}


def class_factors(class_weight: Any, classes: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Factors (K,) for the weights (K,) of the classes; "balanced" gives all classes the same total weight."""
    if class_weight == "balanced":
        seen = weight > 0
        return np.where(seen, weight.sum() / (np.count_nonzero(seen) * np.where(seen, weight, 1.0)), 1.0)
    return np.array([class_weight.get(label, 1.0) for label in classes.tolist()])


def check_out(out: Any, n_rows: int | None, beside: tuple[int, ...], dtype: np.dtype) -> None:
    """Refuse an `out` that cannot hold all results without loss.

    `n_rows` is None where it is not known yet; `beside` are the lengths of the other axes.
    """
    if not hasattr(out, "shape") or not hasattr(out, "dtype"):
        raise TypeError(f"out={out!r} should be an array that takes slices of rows: NumPy, or an open zarr.Array")
    shape = tuple(out.shape)
    wanted = (n_rows if n_rows is not None else (shape or (0,))[0], *beside)
    if shape != wanted:
        raise ValueError(f"out has shape {shape}; the answer has shape {wanted}")
    if out.dtype.kind not in "OT" and not np.can_cast(dtype, out.dtype, "safe"):
        raise ValueError(f"out has dtype {out.dtype}, which cannot hold an answer of dtype {dtype}")


def check_priors(priors: Any, classes: np.ndarray, shares: np.ndarray, multilabel: bool = False) -> np.ndarray:
    """Return class priors (K,): shares of the weight, uniform, or as given in the order of `classes`.

    Those of labels (`multilabel`) are probabilities of one event each, which need not sum to one; "uniform" is 1 / 2.
    """
    if priors is None:
        return shares
    if isinstance(priors, str):
        one_of("priors", priors, [None, "uniform", f"an array of shape (n_{'labels' if multilabel else 'classes'},)"])
        if multilabel:
            return np.full(len(classes), 0.5)
        return np.where(shares > 0, 1.0 / np.count_nonzero(shares > 0), 0.0)
    try:
        given = np.asarray(priors, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise TypeError(
            f"priors={priors!r} should be None, 'uniform', or numbers in the order of the classes"
        ) from error
    if given.shape != (len(classes),):
        raise ValueError(
            f"priors has shape {given.shape}; Number of priors must match number of classes: {len(classes)}"
        )
    if not np.all(np.isfinite(given)) or (given < 0).any():
        raise ValueError(f"priors={priors!r}; Priors must be non-negative and finite")
    if multilabel and (given > 1).any():
        raise ValueError(f"priors={priors!r}; the probability of a label should be at most 1")
    if not multilabel and not math.isclose(given.sum(), 1.0, rel_tol=1e-9):
        raise ValueError(f"priors sum to {given.sum():g}; The sum of the priors should be 1")
    return given


class Shaped(Protocol):
    """Anything with a shape: sparse, Dask and Zarr arrays, data frames, AnnData."""

    @property
    def shape(self) -> Any: ...


class Opened(Protocol):
    """Rows opened by `snb.table`, `snb.text` and similar functions."""

    n_features: int | None


Path: TypeAlias = str | PathLike[str]
# Each item of an iterable, or of one that a function returns, is a chunk of rows; Zarr groups are iterables, too.
Rows: TypeAlias = ArrayLike | Shaped | Opened | PathLike[str] | Iterable[Any] | Callable[[], Iterable[Any]]
# One value for each row, or the name of the column or array that holds them.
PerRow: TypeAlias = ArrayLike | Shaped | None
Bytes: TypeAlias = int | float | str | None  # such as 10**9 or "1GB"; None for half of the free memory
