"""Checks what is given for each row: labels, label indicators, targets, weights and scores."""

import math
import numbers
from datetime import date, timedelta
from decimal import Decimal
from typing import Any, NoReturn

import numpy as np
import scipy.sparse as sp

from streamnb.core import messages
from streamnb.core.arguments import as_array
from streamnb.core.csr import sound_csr
from streamnb.core.frames import plain_column

LARGEST = 1e100  # a larger value or weight could take a weighted sum of squares out of float64
# ---- labels ----------------------------------------------------------------------------------------------------------

MANY_LABELS = 10_000
MANY_NUMBERS, FEW_ROWS = 50, 10  # so many whole numbers, with so few rows each on average, look like targets
NO_LABELS = "requires y to be passed, but the target y is None"  # begins the message for rows without labels
FOR_NUMBERS = (
    "to predict numbers, use snb.search(X, y, task='regression'), which compares models=[..], snb.ElasticNetCV or "
    "snb.Ridge; snb.schema takes the task, too"
)
KINDS = {"b": "bools", "i": "numbers", "u": "numbers", "f": "numbers", "U": "strings"}
FEW_VALUES, MANY_ROWS = 5, 50  # so few distinct whole numbers in so many rows look like classes


class ContinuousLabels(ValueError):
    """Labels are numbers with fractions, or missing."""


def check_weights(weights: Any, first_row: int = 0, name: str = "sample_weight") -> np.ndarray:
    """Return sample weights as a 1-D array of finite, non-negative float64; `first_row` as in `check_labels`."""
    w = as_array(name, weights)
    if w.dtype.kind not in "buif":
        raise TypeError(f"{name} has dtype {w.dtype}; it should hold numbers")
    if np.ma.is_masked(weights):
        raise ValueError(f"{name} has masked entries; fill them, or drop those rows")
    if w.ndim != 1:
        raise ValueError(f"{name} has shape {w.shape}; Sample weights must be 1D array or scalar")
    w = w.astype(np.float64, copy=False)
    bad = np.flatnonzero(~((w >= 0) & (w <= LARGEST)))
    if bad.size:
        raise ValueError(
            f"{name} has {w[bad[0]]} at row {first_row + bad[0]}; weights should be finite and not negative "
            "(to take rows away use `forget` or subtract their statistics)"
        )
    return w


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


def check_scores(scores: Any, n_rows: int, n_columns: int, name: str = "ranking", first_row: int = 0) -> np.ndarray:
    """Return scores as float64 (n_rows, n_columns); one column may be 1-D."""
    given, scores = scores, as_array(name, scores)
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
    if scores.size and np.isnan(scores.min()):  # min propagates a NaN, and needs no array of flags
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


def check_min_size(n_rows: int, n_features: int, why: str = "X is empty") -> None:
    """Refuse empty input, in scikit-learn's words."""
    for count, what in ((n_rows, "sample"), (n_features, "feature")):
        if count == 0:
            raise ValueError(
                f"Found array with 0 {what}(s) (shape=({n_rows}, {n_features})) while a minimum of 1 is required. {why}"
            )


def check_n_features(given: int | None, expected: int, who: str = "the data before") -> None:
    """Refuse rows with another number of features; None where it is not known before they are read."""
    if given is not None and given != expected:
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
    other = "" if who.startswith("transform") else ", or use family='gaussian'"
    raise ValueError(
        f"Negative values in data passed to {who}: row {row}, column {column} is {value}; "
        f"values should be at least 0 (shift or clip them{other})"
    )


def raise_outside(value: float, row: int, column: int, who: str, end: float, what: str = "X") -> NoReturn:
    """Report a value beyond one end of the domain of a family."""
    inside, beyond, way = ("most", "below", math.inf) if value > end else ("least", "above", -math.inf)
    outside = math.nextafter(end, way)
    is_open = outside.is_integer() and not float(end).is_integer()  # the domain leaves out a whole number beside it
    limit = f"{beyond} {outside:g}" if is_open else f"of at {inside} {end:g}"
    raise ValueError(f"{what} has {value} at row {row}, column {column}; {who} takes values {limit}")


def raise_negatives(n: int, who: str) -> NoReturn:
    """Report that scanned rows held values below the domain of a family."""
    raise ValueError(
        f"Negative values in data passed to {who}: the scanned rows held {n}; "
        "values should be at least 0 (shift or clip them, or use family='gaussian')"
    )


def check_same_rows(n_rows: int, n_before: int) -> None:
    """Refuse more or fewer rows than there were in the first scan."""
    if n_rows != n_before:
        raise ValueError(
            f"X gave {n_rows} rows in the second scan and {n_before} in the first; a callable should return a fresh "
            "iterator of the same rows each time"
        )


def label_kind(labels: np.ndarray) -> str:
    """The kind of labels: "bools", "numbers" or "strings"."""
    return KINDS[labels.dtype.kind]


def plain(label: Any) -> Any:
    """A label as a plain Python object."""
    return label.item() if isinstance(label, np.generic) else label


def check_labels(y: Any, name: str = "y", first_row: int = 0) -> np.ndarray:
    """Return labels as a 1-D array of bools, numbers or fixed-width strings; a missing label is an error.

    `first_row` is the row number of the first label, for messages.
    """
    if y is None:
        raise ValueError(
            f"{NO_LABELS}: give {name}, one label a row, "
            "the name of a column beside X, or an iterator of (X, y) chunks (of a list: iter(chunks))"
        )
    labels = _without_missing(y, name, first_row)
    if labels.ndim == 2 and labels.shape[1] == 1 and name == "y":
        from sklearn.utils.validation import column_or_1d

        labels = column_or_1d(labels, warn=True)  # scikit-learn's warning
    if labels.ndim != 1:
        raise ValueError(f"{name} should be a 1d array, got an array of shape {labels.shape} instead.")
    if labels.dtype.kind == "O":
        labels = _from_objects(labels, name, first_row)
    elif labels.dtype.kind == "S":
        labels = _decoded(labels, name, first_row)
    elif labels.dtype.kind == "T":
        labels = labels.astype(str)
    if labels.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: {name} should hold ints, strings or bools")
    if labels.dtype.kind not in KINDS:
        raise TypeError(f"{name} has dtype {labels.dtype}; labels should be ints, strings or bools")
    if labels.dtype == np.uint64:
        if labels.size and labels.max() >= 2**63:
            raise _too_large(name, labels.max())
        labels = labels.astype(np.int64)
    if labels.dtype.kind == "f":
        _check_float_labels(labels, name, first_row)
    return labels


def _without_missing(y: Any, name: str, first_row: int) -> np.ndarray:
    cure = "drop those rows, or give them a label of their own (-1 is an ordinary label)"
    if isinstance(y, np.ma.MaskedArray):
        if y.dtype.names is None and np.ma.is_masked(y):  # the mask of a record is a record
            raise ValueError(f"{name} has masked labels; {cure}")
        y = y.data
    if hasattr(y, "isna"):  # pandas: categorical codes of -1, NA, NaT
        y = plain_column(y) if hasattr(y, "dtype") else y
        missing = np.flatnonzero(np.asarray(y.isna()))
        if missing.size:
            raise ValueError(f"{name} has a missing label at row {first_row + missing[0]} (NaN or None); {cure}")
    # NumPy would turn a list of strings and a NaN, or a number, into strings
    labels = np.array(y, dtype=object) if isinstance(y, (list, tuple)) else as_array(name, y)
    labels = labels.astype(object) if labels.dtype.kind == "T" else labels
    if labels.dtype.kind == "O" and labels.ndim == 1 and not set(map(type, labels)) <= {str, int, bool}:
        row = next((i for i, v in enumerate(labels) if is_missing(v)), None)
        if row is not None:
            raise ValueError(f"{name} has a missing label at row {first_row + row} ({labels[row]}); {cure}")
    if labels.dtype.kind == "f" and np.isnan(labels).any():
        row = first_row + np.flatnonzero(np.isnan(labels))[0]
        raise ValueError(f"Input {name} contains NaN, a missing label, at row {row}; {cure}")
    return labels


def is_missing(label: Any) -> bool:
    """Whether a label is None, NaN, NA or NaT."""
    try:
        return label is None or bool(label != label)
    except TypeError:  # pandas.NA is neither equal to itself nor not
        return True


def _from_objects(labels: np.ndarray, name: str, first_row: int) -> np.ndarray:
    kinds = set(map(type, labels))
    if kinds == {bytes}:
        labels, kinds = _decoded(labels, name, first_row), {str}
    if Decimal in kinds:
        labels = np.array([_plain_number(v) for v in labels], dtype=object)
        kinds = set(map(type, labels))
    if all(issubclass(k, str) for k in kinds):
        _check_no_nulls(labels, name, first_row)
        return labels.astype(str)
    if all(issubclass(k, (bool, np.bool_)) for k in kinds):
        return labels.astype(bool)
    if all(issubclass(k, (numbers.Real, np.number)) for k in kinds) and not any(issubclass(k, bool) for k in kinds):
        if all(issubclass(k, numbers.Integral) for k in kinds) and max(labels) >= 2**63:  # floats in NumPy
            raise _too_large(name, max(labels))
        return np.array(labels.tolist())
    if kinds <= {list, tuple, set, frozenset, np.ndarray}:
        raise lists_of_labels(name)
    names = ", ".join(sorted(k.__name__ for k in kinds))
    raise TypeError(
        f"Unknown label type: {name} holds objects of type {names}; "
        "labels should be all ints, all strings or all bools (argument must be a string or a real number)"
    )


def _decoded(labels: np.ndarray, name: str, first_row: int) -> np.ndarray:
    """Labels of bytes, as HDF5 files hold them, as strings."""
    values, codes = np.unique(labels, return_inverse=True)
    texts = []
    for code, value in enumerate(values.tolist()):
        try:
            texts.append(value.decode())
        except UnicodeDecodeError as error:
            row = first_row + int(np.argmax(codes == code))
            raise ValueError(
                f"{name} has the label {value!r} at row {row}, which is not UTF-8; decode labels to strings"
            ) from error
    return np.array(texts, dtype=object if labels.dtype.kind == "O" else str)[codes]


def _plain_number(value: Any) -> Any:
    """A decimal, as databases return it, as an int where it is whole, else as a float; anything else unchanged."""
    if not isinstance(value, Decimal):
        return value
    return int(value) if value.is_finite() and value == int(value) else float(value)


def _check_no_nulls(labels: np.ndarray, name: str, first_row: int) -> None:
    """Refuse strings that end in a NULL character: NumPy drops it, and two labels could become one."""
    if "\0" not in "".join(labels):
        return
    for row, label in enumerate(labels):
        if label.endswith("\0"):
            raise ValueError(
                f"{name} has the label {label!r} at row {first_row + row}; labels should not end in a NULL character, "
                "which arrays of strings do not keep: strip it, or give other labels"
            )


def _check_float_labels(labels: np.ndarray, name: str, first_row: int) -> None:
    bad = np.flatnonzero(~np.isfinite(labels) | (labels != np.floor(labels)))
    if bad.size:
        raise ContinuousLabels(
            f"Unknown label type: continuous. {name} holds {labels[bad[0]]} at row {first_row + bad[0]}; labels should "
            f"be ints, strings or bools: a classifier cannot be trained on a continuous target; {FOR_NUMBERS}"
        )
    if labels.size and np.abs(labels).max() >= 2**63:  # as files of lines give whole numbers of more digits
        raise _too_large(name, int(labels[np.abs(labels).argmax()]))


def _too_large(name: str, label: Any) -> ValueError:
    return ValueError(f"{name} has the label {label}; numbers should be below 2**63, or give strings")


def check_repeated(y: Any) -> None:
    """Refuse labels in memory if most rows have one of their own, as identifiers and measured numbers have.

    Warn of whole numbers that look like measured ones.
    """
    y = check_y(y) if isinstance(y, list | tuple) else y
    y = np.asarray(y) if hasattr(y, "to_numpy") else y  # a column of a data frame
    if not isinstance(y, np.ndarray) or y.ndim != 1 or len(y) < MANY_NUMBERS:
        return
    labels = check_labels(y)
    n_labels = len(np.unique(labels))
    if len(y) >= MANY_LABELS and 2 * n_labels > len(y):
        raise ValueError(
            f"y has {n_labels:,} distinct labels in {len(y):,} rows, and folds need several rows of each; give classes "
            f"in place of identifiers; {FOR_NUMBERS}"
        )
    warn_of_measured(labels, n_labels, len(y))


def warn_of_measured(labels: np.ndarray, n_labels: int, n_rows: int) -> None:
    """Warn if labels are whole numbers that look like measured ones."""
    if label_kind(labels) == "numbers" and look_measured(n_labels, n_rows):
        messages.warn(
            f"y has {n_labels:,} distinct whole numbers in {n_rows:,} rows, each of which is a class here; "
            f"{FOR_NUMBERS}"
        )


def look_measured(n_labels: int, n_rows: int) -> bool:
    """Whether so many different whole numbers of so many rows are numbers to predict rather than classes."""
    return n_labels >= MANY_NUMBERS and n_labels * FEW_ROWS > n_rows


def lists_of_labels(name: str) -> ValueError:
    """The error for rows with lists of their labels."""
    return ValueError(
        f"{name} holds a list of labels for each row; give a 2-D indicator of 0 and 1 (n_rows, n_labels), which "
        "sklearn.preprocessing.MultiLabelBinarizer().fit_transform(y) makes of them"
    )


def check_y(y: Any, first_row: int = 0) -> np.ndarray | sp.csr_array:
    """Return labels as `check_labels` does, or an indicator of labels as `check_indicator` does."""
    if sp.issparse(y):
        return check_indicator(y, first_row=first_row)
    if isinstance(y, (list, tuple)) and len(y) and as_array("y", y[0]).ndim == 1:
        try:
            y = np.array(y)
        except ValueError as error:
            raise lists_of_labels("y") from error
        if y.dtype.kind == "U":
            raise lists_of_labels("y")
    shape: tuple[int, ...] = getattr(y, "shape", ())
    check: Any = check_indicator if len(shape) == 2 and shape[1] > 1 else check_labels
    return check(y, first_row=first_row)


def check_indicator(y: Any, n_labels: int | None = None, name: str = "y", first_row: int = 0) -> sp.csr_array:
    """Return a 0/1 indicator (n_rows, n_labels), dense or sparse, as canonical CSR of uint8 without explicit zeros."""
    given, y = y, y if sp.issparse(y) else as_array(name, y)
    if y.ndim != 2 or (n_labels is not None and y.shape[1] != n_labels):
        width = "n_labels" if n_labels is None else n_labels
        raise ValueError(
            f"{name} has shape {y.shape}; multi-label rows should be an indicator of shape (n_rows, {width})"
        )
    if y.dtype.kind not in "buifO":
        raise TypeError(f"{name} is 2-D with dtype {y.dtype}; an indicator of labels should hold 0 and 1")
    if np.ma.is_masked(given):
        raise ValueError(f"{name} is a masked array with masked entries; fill them (with 0 or 1), or drop those rows")
    y = sound_csr(y, name) if sp.issparse(y) else y  # a copy: the user's array is not changed
    indicator = sp.csr_array(y if y.dtype.kind != "O" else _numbers_of(y, name))
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


def names_of_labels(y: Any) -> np.ndarray | None:
    """The column names of an indicator that is a data frame; None where there are no names that can be labels."""
    if len(getattr(y, "shape", ())) != 2 or not hasattr(y, "columns"):
        return None
    names = np.asarray(y.columns, dtype=object)
    if len(names) < 2 or len({*names}) < len(names) or not all(isinstance(name, str) and name for name in names):
        return None
    return check_labels(names, "the columns of y")


def check_order(names: np.ndarray | None, labels: np.ndarray) -> None:
    """Refuse columns of y whose names are these labels in another order."""
    if names is not None and not np.array_equal(labels, names) and {*labels.tolist()} == {*names.tolist()}:
        raise ValueError(
            f"y has the columns {messages.listed(names)}, and the labels are {messages.listed(labels)}: give the "
            "columns in that order"
        )


def check_labels_of_model(names: np.ndarray | None, labels: np.ndarray) -> None:
    """Refuse columns of y that are a model's labels in another order; warn where their names are not the labels.

    Labels that are not strings are column numbers, and any columns will do.
    """
    check_order(names, labels)
    if names is not None and labels.dtype.kind in "UO" and not np.array_equal(labels, names):
        messages.warn(
            f"y has the columns {messages.listed(names)}, and the labels of the model are {messages.listed(labels)}: "
            "the columns are taken for these, in that order; rename them if that is right"
        )


def check_kind(y: Any, classes: np.ndarray, multilabel: bool) -> None:
    """Refuse an indicator for a model that was fitted with one label per row, and the reverse."""
    if sp.issparse(y) != multilabel:
        kinds = "an indicator of labels", "one label a row"
        given, wanted = kinds if sp.issparse(y) else kinds[::-1]
        raise ValueError(f"y is {given}; the model was fitted with {wanted}")
    if sp.issparse(y) and y.shape[1] != len(classes):
        raise ValueError(
            f"y has {y.shape[1]} columns; it should have one for each label of the model, in this order: "
            f"{messages.listed(classes)}"
        )


def _numbers_of(y: Any, name: str) -> Any:
    try:
        return y.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise TypeError(f"{name} holds objects that are no 0 or 1 ({error}); an indicator should hold these") from error


def check_classes(classes: Any) -> np.ndarray | None:
    """Return all labels that y may hold, in the given order; None where y alone decides."""
    if classes is None:
        return None
    labels = check_labels(classes, "classes")
    if labels.size == 0:
        raise ValueError("classes is empty; list every label that y may hold, or leave it out")
    if np.unique(labels).size < labels.size:
        raise ValueError("classes lists a label twice; list each once")
    return labels


# ---- numbers of predicted and true classes ---------------------------------------------------------------------------


def check_class_numbers(codes: Any, n_classes: int, name: str, lowest: int = 0) -> np.ndarray:
    """Return class numbers (n,) in [lowest, n_classes) as int64."""
    codes = as_array(name, codes)
    if codes.ndim != 1 or codes.dtype.kind not in "iub":
        raise TypeError(
            f"{name} has shape {codes.shape} and dtype {codes.dtype}; it should hold one class number (an int) a row; "
            "snb.evaluate takes labels"
        )
    codes = codes.copy()  # tables are indexed by them, so nobody may change them after the check
    bad = np.flatnonzero((codes < lowest) | (codes >= n_classes))
    if bad.size:
        raise ValueError(
            f"{name} has {codes[bad[0]]} at row {bad[0]}; class numbers should be from {lowest} to {n_classes - 1}"
        )
    return codes.astype(np.int64, copy=False)


def check_targets(y: Any, first_row: int = 0) -> np.ndarray:
    """Return targets as finite float64, (n_rows,) or (n_rows, n_targets); `first_row` numbers rows in messages."""
    if y is None:
        raise ValueError(
            f"{NO_LABELS}: give the number to predict for each row, the name of a "
            "column beside X, or an iterator of (X, y) chunks"
        )
    if np.ma.is_masked(y):
        raise ValueError("y has masked entries; drop those rows")
    if sp.issparse(y):
        raise TypeError("y is sparse; give an array of the numbers to predict, (n_rows,) or (n_rows, n_targets)")
    values = as_array("y", y)
    if values.ndim not in (1, 2) or 0 in values.shape[1:]:
        raise ValueError(f"y has shape {values.shape}; it should be (n_rows,), or (n_rows, n_targets) for several")
    if values.dtype.kind == "O":
        values = _of_objects(values, first_row)
    if values.dtype.kind == "c":
        raise ValueError("Complex data not supported: y should hold real numbers")
    if values.dtype.kind in "MmO":
        raise TypeError(
            f"y has dtype {values.dtype}: dates and durations; give numbers, such as (y - y.min()) / "
            "np.timedelta64(1, 'D')"
        )
    if values.dtype.kind not in "iuf":
        raise TypeError(
            f"Unknown label type: y has dtype {values.dtype}; a regression predicts numbers: where text holds "
            "them, use y.astype(float); for classes snb.search, or a classifier such as snb.LinearNB"
        )
    values = values.astype(np.float64, copy=False)
    table = np.atleast_2d(values.T).T
    wrong = np.flatnonzero(~(np.abs(table) <= LARGEST).all(axis=1))
    if wrong.size:
        row = int(wrong[0])
        if np.isfinite(table[row]).all():
            raise ValueError(f"y is {values[row]} at row {first_row + row}, too large to be squared; give other units")
        raise ValueError(
            f"Input y contains NaN or infinity: y is {values[row]} at row {first_row + row}; drop rows without a "
            "target, and of rates those whose exposure is 0"
        )
    return values


def check_offset(offset: Any, first_row: int = 0) -> np.ndarray:
    """Return offsets as float64, (n_rows,); `first_row` numbers rows in messages."""
    values = as_array("offset", offset)
    if values.ndim != 1 or values.dtype.kind not in "buif" or np.ma.is_masked(offset):
        raise ValueError(
            f"offset has shape {values.shape} and dtype {values.dtype}; it should be a number for each row, (n_rows,), "
            "such as the logarithm of an exposure"
        )
    wrong = np.flatnonzero(~np.isfinite(values))
    if wrong.size:
        raise ValueError(
            f"offset has {values[wrong[0]]} at row {first_row + wrong[0]}; it should be finite, such as the logarithm "
            "of an exposure above 0"
        )
    return values.astype(np.float64, copy=False)


def with_offset(y: np.ndarray, offset: Any, first_row: int = 0) -> np.ndarray:
    """Targets and, beside them, their offsets, (n_rows, n_targets + 1)."""
    return np.column_stack([y, check_offset(offset, first_row)])


def _of_objects(values: np.ndarray, first_row: int) -> np.ndarray:
    flat = values.reshape(-1)
    for at, one in enumerate(flat):
        if one is None or str(one) in ("nan", "<NA>", "NaT"):
            row = first_row + at // max(flat.size // len(values), 1)
            raise ValueError(f"Input y contains NaN at row {row}; drop rows without a target")
    kinds = set(map(type, flat))
    if not all(issubclass(kind, (numbers.Real, Decimal)) and not issubclass(kind, bool) for kind in kinds):
        return values if isinstance(flat[0], (date, timedelta)) else values.astype(str)
    return values.astype(np.float64)


def hint_at_classes(y: Any) -> None:
    """Warn where targets in memory are one number, or few whole ones, as classes are."""
    y = np.asarray(y) if isinstance(y, list | tuple) or hasattr(y, "to_numpy") else y
    if not isinstance(y, np.ndarray) or y.ndim != 1 or len(y) < MANY_ROWS or y.dtype.kind not in "iuf":
        return
    values = np.unique(y)
    if len(values) == 1:
        messages.warn(f"y is {values[0]} in every row, so there is nothing to predict")
    elif len(values) <= FEW_VALUES and (values == np.floor(values)).all():
        messages.warn(
            f"y holds the whole numbers {messages.listed(values)} only; if these are classes, use a classifier "
            "such as snb.LinearNB, or snb.search(.., task='classification')"
        )
