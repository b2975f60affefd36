"""Every check of what a user passes, and the message when it fails: argument, what was given, what would be right."""

import math
import numbers
import warnings
from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

import numpy as np
import scipy.sparse as sp

from streamnb._sparse import sound_csr

LARGEST = 1e100  # a larger value or weight could take a weighted sum of squares out of float64


class DataError(ValueError):
    """Data that cannot be read: the message names the array and the chunk."""


class StreamnbWarning(UserWarning):
    """The answer stands, but the user would want to know something about it."""


def one_of(name: str, value: Any, allowed: Iterable[Any]) -> Any:
    """Return `value` if it is one of `allowed`, else raise with the list."""
    allowed = list(allowed)
    if any(value is a or (isinstance(value, str) and value == a) for a in allowed):
        return value
    raise ValueError(f"{name}={value!r} is unknown; it should be one of {', '.join(map(repr, allowed))}")


def family_name(family: Any, names: Iterable[str]) -> str:
    """Return `family` if it is the name of a family without parameters."""
    if isinstance(family, type):
        raise TypeError(f"family={family.__name__} is a class; give an object: {family.__name__}()")
    if not isinstance(family, str):
        raise TypeError(f"family={family!r} should be a name, such as 'poisson', or an object, such as snb.Binomial(k)")
    objects = {"binomial": "snb.Binomial(k)", "negative_binomial": "snb.NegativeBinomial(r)"}
    if family in objects:
        raise ValueError(f"family={family!r} needs its parameter; give an object: {objects[family]}")
    return str(one_of("family", family, names))


def finite_number(name: str, value: Any, *, minimum: float = -math.inf) -> float:
    """Return `value` as a finite float not below `minimum`."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (numbers.Real, np.number)):
        raise TypeError(f"{name}={value!r} should be a number")
    if not math.isfinite(value) or value < minimum:
        bound = "" if minimum == -math.inf else f" and at least {minimum:g}"
        raise ValueError(f"{name}={value!r} should be finite{bound}")
    return float(value)


def positive_integer(name: str, value: Any, minimum: int = 1) -> int:
    """Return `value` as an int of at least `minimum`."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (numbers.Integral, np.integer)):
        raise TypeError(f"{name}={value!r} should be a whole number")
    if value < minimum:
        raise ValueError(f"{name}={value!r} should be at least {minimum}")
    return int(value)


def whole_number(name: str, value: Any) -> int:
    """Return `value` as an int of at least 0."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (numbers.Integral, np.integer)):
        raise TypeError(f"{name}={value!r} should be a whole number")
    if not 0 <= int(value) < 2**63:
        raise ValueError(f"{name}={value!r} should be at least 0 and fit into 64 bits")
    return int(value)


def numbers_for_features(name: str, value: Any) -> Any:
    """Return a finite float, or a 1-D array of such with one for each feature."""
    if np.ndim(value) == 0:
        return finite_number(name, value)
    given = np.asarray(value)
    if given.dtype.kind not in "iuf":
        raise TypeError(f"{name} has dtype {given.dtype}; it should be a number, or one number for each feature")
    if given.ndim != 1 or not given.size:
        raise ValueError(f"{name} has shape {given.shape}; it should be a number, or an array of shape (n_features,)")
    given = given.astype(np.float64)
    if not np.isfinite(given).all():
        at = int(np.argmin(np.isfinite(given)))
        raise ValueError(f"{name}[{at}]={given[at]} should be finite")
    return given


def positive_numbers(name: str, value: Any) -> Any:
    """Return a float above 0, or a 1-D array of such with one for each feature."""
    given = numbers_for_features(name, value)
    at = int(np.argmin(given))
    least = given[at] if np.ndim(given) else given
    if not least > 0.0:
        where = f"{name}[{at}]" if np.ndim(given) else name
        raise ValueError(f"{where}={least} should be greater than 0")
    return given


def tau_grid(name: str, tau: Any) -> np.ndarray:
    """Return one tau or a grid of them as an ascending float array without repeats."""
    if np.ndim(tau) == 0:
        return np.array([finite_number(name, tau, minimum=0.0)])
    taus = [finite_number(f"{name}[{i}]", t, minimum=0.0) for i, t in enumerate(tau)]
    if not taus:
        raise ValueError(f"{name} is an empty grid; give at least one number")
    return np.unique(taus)


# ---- labels ----------------------------------------------------------------------------------------------------------

_KINDS = {"b": "bools", "i": "numbers", "u": "numbers", "f": "numbers", "U": "strings"}


def label_kind(labels: np.ndarray) -> str:
    """What sort of labels these are: "bools", "numbers" or "strings"."""
    return _KINDS[labels.dtype.kind]


def check_labels(y: Any, name: str = "y", first_row: int = 0) -> np.ndarray:
    """Return labels as a 1-D array of bools, numbers or fixed-width strings; a missing label is an error.

    `first_row` is the number of the first of them, for messages.
    """
    if y is None:
        raise ValueError(
            f"requires y to be passed, but the target y is None: give {name}, one label a row, "
            "or an iterator of (X, y) chunks (of a list: iter(chunks))"
        )
    labels = _without_missing(y, name, first_row)
    if labels.ndim == 2 and labels.shape[1] == 1 and name == "y":
        from sklearn.utils.validation import column_or_1d

        labels = column_or_1d(labels, warn=True)  # scikit-learn's warning
    if labels.ndim != 1:
        raise ValueError(f"{name} should be a 1d array, got an array of shape {labels.shape} instead.")
    if labels.dtype.kind == "O":
        labels = _from_objects(labels, name)
    elif labels.dtype.kind in "TS":
        labels = labels.astype(str)
    if labels.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: {name} should hold ints, strings or bools")
    if labels.dtype.kind not in _KINDS:
        raise TypeError(f"{name} has dtype {labels.dtype}; labels should be ints, strings or bools")
    if labels.dtype == np.uint64:
        if labels.size and labels.max() >= 2**63:
            raise ValueError(f"{name} has the label {labels.max()}; numbers should be below 2**63, or give strings")
        labels = labels.astype(np.int64)
    if labels.dtype.kind == "f":
        _check_float_labels(labels, name, first_row)
    return labels


def _without_missing(y: Any, name: str, first_row: int) -> np.ndarray:
    cure = "drop those rows, or give them a label of their own (-1 is an ordinary label)"
    if isinstance(y, np.ma.MaskedArray):
        if y.dtype.names is None and np.ma.is_masked(y):  # masks of records are records
            raise ValueError(f"{name} has masked labels; {cure}")
        y = y.data
    if hasattr(y, "isna"):  # pandas: categorical codes of -1, NA, NaT
        missing = np.flatnonzero(np.asarray(y.isna()))
        if missing.size:
            raise ValueError(f"{name} has a missing label at row {first_row + missing[0]} (NaN or None); {cure}")
    # NumPy would turn a list of strings and a NaN, or a number, into strings
    labels = np.array(y, dtype=object) if isinstance(y, (list, tuple)) else np.asarray(y)
    labels = labels.astype(object) if labels.dtype.kind == "T" else labels
    if labels.dtype.kind == "O" and labels.ndim == 1 and not {*map(type, labels)} <= {str, int, bool}:
        row = next((i for i, v in enumerate(labels) if _is_missing(v)), None)
        if row is not None:
            raise ValueError(f"{name} has a missing label at row {first_row + row} ({labels[row]}); {cure}")
    if labels.dtype.kind == "f" and np.isnan(labels).any():
        row = first_row + np.flatnonzero(np.isnan(labels))[0]
        raise ValueError(f"Input {name} contains NaN, a missing label, at row {row}; {cure}")
    return labels


def _is_missing(label: Any) -> bool:
    try:
        return label is None or bool(label != label)
    except TypeError:  # pandas.NA is neither equal to itself nor not
        return True


def _from_objects(labels: np.ndarray, name: str) -> np.ndarray:
    kinds = {type(v) for v in labels}
    for kind, dtype in ((str, str), ((bool, np.bool_), bool)):
        if all(issubclass(k, kind) for k in kinds):
            return labels.astype(dtype)
    if all(issubclass(k, (numbers.Real, np.number)) for k in kinds) and not any(issubclass(k, bool) for k in kinds):
        if all(issubclass(k, numbers.Integral) for k in kinds) and max(labels) >= 2**63:  # floats in NumPy
            raise ValueError(f"{name} has the label {max(labels)}; numbers should be below 2**63, or give strings")
        return np.array(labels.tolist())
    names = ", ".join(sorted(k.__name__ for k in kinds))
    raise TypeError(
        f"Unknown label type: {name} holds objects of type {names}; "
        "labels should be all ints, all strings or all bools (argument must be a string or a real number)"
    )


def _check_float_labels(labels: np.ndarray, name: str, first_row: int) -> None:
    bad = np.flatnonzero(~np.isfinite(labels) | (labels != np.floor(labels)))
    if bad.size:
        raise ValueError(
            f"Unknown label type: continuous. {name} holds {labels[bad[0]]} at row {first_row + bad[0]}; labels should "
            "be ints, strings or bools: a classifier cannot be trained on a continuous target"
        )


def check_y(y: Any, first_row: int = 0) -> np.ndarray | sp.csr_array:
    """Return labels as `check_labels` does, or an indicator of labels as `check_indicator` does."""
    if sp.issparse(y):
        return check_indicator(y, first_row=first_row)
    if not isinstance(y, np.ndarray) and isinstance(y, (list, tuple)) and len(y) and np.ndim(y[0]) == 1:
        try:
            y = np.array(y)
        except ValueError as error:
            raise ValueError(
                "y has rows of several lengths; for rows with several labels give a 2-D indicator of 0 and 1 (n_rows, "
                "n_labels), as sklearn.preprocessing.MultiLabelBinarizer makes it"
            ) from error
    shape: tuple[int, ...] = getattr(y, "shape", ())
    check: Any = check_indicator if len(shape) == 2 and shape[1] > 1 else check_labels
    return check(y, first_row=first_row)


def check_indicator(y: Any, n_labels: int | None = None, name: str = "y", first_row: int = 0) -> sp.csr_array:
    """Return a 0/1 indicator (n_rows, n_labels), dense or sparse, as canonical CSR of uint8 without explicit zeros."""
    given, y = y, y if sp.issparse(y) else np.asarray(y)
    if y.ndim != 2 or (n_labels is not None and y.shape[1] != n_labels):
        raise ValueError(
            f"{name} has shape {y.shape}; multi-label rows should be an indicator of shape (n_rows, {n_labels})"
        )
    if y.dtype.kind not in "buifO":
        raise TypeError(f"{name} is 2-D with dtype {y.dtype}; an indicator of labels should hold 0 and 1")
    if np.ma.is_masked(given):
        raise ValueError(f"{name} is a masked array with masked entries; fill them (with 0 or 1), or drop those rows")
    y = sound_csr(y, name) if sp.issparse(y) else y  # the user's stays as it is
    indicator = sp.csr_array(y if y.dtype.kind != "O" else y.astype(np.float64))
    if not indicator.has_canonical_format or (indicator.data == 0).any():
        indicator.sum_duplicates()
        indicator.eliminate_zeros()
    wrong = np.flatnonzero(indicator.data != 1)
    if wrong.size:
        row = int(np.searchsorted(indicator.indptr, wrong[0], side="right")) - 1
        raise ValueError(
            f"{name} has {indicator.data[wrong[0]]} at row {first_row + row}, column {indicator.indices[wrong[0]]}; "
            "a 2-D indicator of labels should hold 0 and 1 alone: 1 where the row has the label"
        )
    indicator.data = indicator.data.astype(np.uint8)  # one dtype for the kernels
    return indicator


def check_classes(classes: Any) -> np.ndarray | None:
    """Return the closed set of labels as listed, or None where it is open."""
    if classes is None:
        return None
    labels = check_labels(classes, "classes")
    if labels.size == 0:
        raise ValueError("classes is empty; list every label that y may hold, or leave it out")
    if np.unique(labels).size < labels.size:
        raise ValueError("classes lists a label twice; each should stand once")
    return labels


def check_class_weight(class_weight: Any, classes: np.ndarray) -> Any:
    """Return None, "balanced", or a weight for each label that is named."""
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
    """What the weight (K,) of each class is multiplied by, (K,); "balanced" makes the classes weigh the same."""
    if class_weight == "balanced":
        seen = weight > 0
        return np.where(seen, weight.sum() / (np.count_nonzero(seen) * np.where(seen, weight, 1.0)), 1.0)
    return np.array([class_weight.get(label, 1.0) for label in classes.tolist()])


def check_weights(weights: Any, first_row: int = 0) -> np.ndarray:
    """Return sample weights as finite, non-negative float64, 1-D; `first_row` as in `check_labels`."""
    w = np.asarray(weights)
    if w.dtype.kind not in "buif":
        raise TypeError(f"sample_weight has dtype {w.dtype}; it should hold numbers")
    if np.ma.is_masked(weights):
        raise ValueError("sample_weight has masked entries; fill them, or drop those rows")
    if w.ndim != 1:
        raise ValueError(f"sample_weight has shape {w.shape}; Sample weights must be 1D array or scalar")
    w = w.astype(np.float64, copy=False)
    bad = np.flatnonzero(~((w >= 0) & (w <= LARGEST)))
    if bad.size:
        raise ValueError(
            f"sample_weight has {w[bad[0]]} at row {first_row + bad[0]}; weights should be finite and not negative "
            "(to take rows away use `forget` or subtract their statistics)"
        )
    return w


def check_out(out: Any, n_rows: int | None, width: int | None, dtype: np.dtype) -> None:
    """Refuse an `out` that cannot hold the whole answer as it is; `n_rows` is None where it is not known yet."""
    if not hasattr(out, "shape") or not hasattr(out, "dtype"):
        raise TypeError(f"out={out!r} should be an array that takes slices of rows: NumPy, or an open zarr.Array")
    shape = tuple(out.shape)
    wanted = (n_rows if n_rows is not None else (shape or (0,))[0], *(() if width is None else (width,)))
    if shape != wanted:
        raise ValueError(f"out has shape {shape}; the answer has shape {wanted}")
    if out.dtype.kind not in "OT" and not np.can_cast(dtype, out.dtype, "safe"):
        raise ValueError(f"out has dtype {out.dtype}, which cannot hold an answer of dtype {dtype}")


def check_total_weight(total: float) -> None:
    """Refuse weights that are all zero."""
    if not total > 0:
        raise ValueError("sample_weight sums to zero; at least one row should have a positive weight")


def check_lengths(n_rows: int, n_labels: int, name: str = "y", of: str = "X") -> None:
    """Refuse labels or weights of another length than the rows."""
    if n_rows != n_labels:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: [{n_rows}, {n_labels}]; "
            f"{name} should have one entry for each row of {of}"
        )


def check_priors(priors: Any, classes: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Return class priors (K,): shares of the weight, uniform, or as given in the order of `classes`."""
    if priors is None:
        return shares
    if isinstance(priors, str):
        one_of("priors", priors, [None, "uniform", "an array of shape (n_classes,)"])
        return np.where(shares > 0, 1.0 / np.count_nonzero(shares > 0), 0.0)
    given = _given_priors(priors, classes)
    if not math.isclose(given.sum(), 1.0, rel_tol=1e-9):
        raise ValueError(f"priors sum to {given.sum():g}; The sum of the priors should be 1")
    return given


def check_label_priors(priors: Any, labels: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Return the probability of each label (K,): its share of the weight, one half, or as given."""
    if priors is None:
        return shares
    if isinstance(priors, str):
        one_of("priors", priors, [None, "uniform", "an array of shape (n_labels,)"])
        return np.full(len(labels), 0.5)
    given = _given_priors(priors, labels)
    if (given > 1).any():
        raise ValueError(f"priors={priors!r}; the probability of a label should be at most 1")
    return given


def _given_priors(priors: Any, classes: np.ndarray) -> np.ndarray:
    try:
        given = np.asarray(priors, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"priors={priors!r} should be None, 'uniform', or numbers in the order of the classes"
        ) from error
    if given.shape != (len(classes),):
        raise ValueError(
            f"priors has shape {given.shape}; Number of priors must match number of classes: {len(classes)}"
        )
    if not np.all(np.isfinite(given)) or (given < 0).any():
        raise ValueError(f"priors={priors!r}; Priors must be non-negative and finite")
    return given


# ---- what a model says of rows, and what is true ---------------------------------------------------------------------


def check_class_numbers(codes: Any, n_classes: int, name: str, lowest: int = 0) -> np.ndarray:
    """Return class numbers (n,) in [lowest, n_classes) as int64."""
    codes = np.asarray(codes)
    if codes.ndim != 1 or codes.dtype.kind not in "iub":
        raise TypeError(
            f"{name} has shape {codes.shape} and dtype {codes.dtype}; it should hold one class number (an int) a row; "
            "snb.evaluate takes labels"
        )
    bad = np.flatnonzero((codes < lowest) | (codes >= n_classes))
    if bad.size:
        raise ValueError(
            f"{name} has {codes[bad[0]]} at row {bad[0]}; class numbers should be from {lowest} to {n_classes - 1}"
        )
    return codes.astype(np.int64, copy=False)


def check_scores(scores: Any, n_rows: int, n_columns: int, name: str = "ranking", first_row: int = 0) -> np.ndarray:
    """Return scores as float64 (n_rows, n_columns); one dimension will do for one column."""
    given, scores = scores, np.asarray(scores)
    if scores.dtype.kind not in "buif":
        raise TypeError(f"{name} has dtype {scores.dtype}; it should hold numbers")
    if np.ma.is_masked(given):
        raise ValueError(f"{name} has masked entries; a row without a score cannot be judged: drop those rows")
    if scores.ndim == 1 and n_columns == 1:
        scores = scores[:, None]
    if scores.ndim != 2 or scores.shape[1] != n_columns:
        wanted = "(n_rows,)" if n_columns == 1 else f"(n_rows, {n_columns})"
        raise ValueError(f"{name} has shape {scores.shape}; it should have shape {wanted}, one column a class")
    check_lengths(n_rows, len(scores), name, "the labels")
    scores = np.ascontiguousarray(scores, np.float64)
    if scores.size and np.isnan(scores.min()):  # min hands a NaN on, and needs no table of flags
        row, column = np.argwhere(np.isnan(scores))[0]
        raise ValueError(
            f"{name} contains NaN: row {first_row + row}, column {column}; a row without a score cannot be judged"
        )
    return scores


def check_log_proba(log_proba: Any, n_rows: int, n_columns: int) -> np.ndarray:
    """Return natural logs of probabilities as float64 (n_rows, n_columns)."""
    logs = check_scores(log_proba, n_rows, n_columns, "log_proba")
    if logs.size and logs.max() > 1e-6:
        raise ValueError(f"log_proba has {logs.max():g}; natural logs of probabilities should not be above 0")
    return np.minimum(logs, 0.0)


# ---- values of X -----------------------------------------------------------------------------------------------------


def check_min_size(n_rows: int, n_features: int) -> None:
    """Refuse empty input, in scikit-learn's words."""
    for count, what in ((n_rows, "sample"), (n_features, "feature")):
        if count == 0:
            raise ValueError(
                f"Found array with 0 {what}(s) (shape=({n_rows}, {n_features})) while a minimum of 1 is required. "
                "X is empty: if it is a generator, it can be read once only; pass a callable that returns a fresh one"
            )


def check_n_features(given: int, expected: int, who: str = "the data before") -> None:
    """Refuse rows of another width."""
    if given != expected:
        raise ValueError(f"X has {given} features, but {who} is expecting {expected} features as input.")


def raise_not_finite(value: float, row: int, column: int) -> NoReturn:
    """Report a NaN, infinite or enormous value of X."""
    what = "NaN" if math.isnan(value) else "infinity or a value too large for dtype('float64')"
    raise ValueError(
        f"Input X contains {what}: row {row}, column {column} is {value}. "
        "Replace such values or drop the rows before the scan"
    )


def raise_negative(value: float, row: int, column: int, who: str) -> NoReturn:
    """Report a value below the domain of a family or a transform."""
    other = "" if who.startswith("transform") else ", or take family='gaussian'"
    raise ValueError(
        f"Negative values in data passed to {who}: row {row}, column {column} is {value}; "
        f"values should be at least 0 (shift or clip them{other})"
    )


def raise_too_large(value: float, row: int, column: int, who: str, highest: float, what: str = "X") -> NoReturn:
    """Report a value above the domain of a family."""
    outside = math.nextafter(highest, math.inf)
    limit = f"below {outside:g}" if _is_open(highest, outside) else f"of at most {highest:g}"
    raise ValueError(f"{what} has {value} at row {row}, column {column}; {who} takes values {limit}")


def raise_too_small(value: float, row: int, column: int, who: str, lowest: float, what: str = "X") -> NoReturn:
    """Report a value below the domain of a family that does not start at 0."""
    outside = math.nextafter(lowest, -math.inf)
    limit = f"above {outside:g}" if _is_open(lowest, outside) else f"of at least {lowest:g}"
    raise ValueError(f"{what} has {value} at row {row}, column {column}; {who} takes values {limit}")


def _is_open(end: float, outside: float) -> bool:
    return outside.is_integer() and not float(end).is_integer()  # next to a whole number, which itself is left out


def raise_negatives(n: int, who: str) -> NoReturn:
    """Report that rows scanned earlier held values below the domain of a family."""
    raise ValueError(
        f"Negative values in data passed to {who}: the scanned rows held {n}; "
        "values should be at least 0 (shift or clip them, or take family='gaussian')"
    )


def listed(labels: np.ndarray) -> str:
    """Labels in a message; of thousands the first ones."""
    return f"{labels[:20].tolist()}" + (f" and {len(labels) - 20:,} more" if len(labels) > 20 else "")


def warn_absent(classes: np.ndarray) -> None:
    """Say which listed classes have no weight."""
    warn(f"classes without any weight: {listed(classes)}; they get zero weights and are never predicted")


def warn(message: str) -> None:
    """Tell the user something that does not change the answer."""
    warnings.warn(message, StreamnbWarning, stacklevel=4)
