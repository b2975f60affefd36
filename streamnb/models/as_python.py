"""Writes a model as a file of plain Python, which predicts a record without any library."""

from typing import Any

from streamnb.models.portable import PortableModel
from streamnb.models.score_tables import ScoreTables
from streamnb.rows.table_columns import INSTANT, WEEKDAYS

HEAD = '''"""A model of {what}, written by streamnb. Needs Python 3.9 or newer, and no library.

`{function}` takes a record: a dict with {columns}. None and NaN are missing values.
"""

import math
'''

CODES = '''

def code_of_number(x, edges):
    """How many of the rising edges are below x; one more than there are edges if x is missing."""
    if x is None:
        return len(edges) + 1
    first, last = 0, len(edges)
    while first < last:
        middle = (first + last) // 2
        if x <= edges[middle]:
            last = middle
        else:
            first = middle + 1
    return first


def value_of(record, column):
    """A value of a record, or None if it is missing."""
    if not hasattr(record, "keys"):
        raise TypeError(f"record={record!r} should be a dict of values by column")
    if column not in record:
        raise ValueError(f"record has no {column!r}; give None for a value that is not known")
    value = record[column]
    return None if value is None or value != value else value


def number_of(record, column):
    """A finite number, or None if it is missing."""
    x = value_of(record, column)
    if x is None:
        return None
    if isinstance(x, str):
        raise TypeError(f"{column!r} is {x!r}, and should be a number")
    if math.isinf(x):
        raise ValueError(f"{column!r} is infinite; make it finite, or None")
    return float(x)


def text_of(value):
    """A category as text: equal numbers are one category, whatever their type."""
    if value is None:
        return None
    if isinstance(value, str):
        text = value
        if text in ("true", "True", "TRUE", "false", "False", "FALSE"):
            return "1" if text.lower() == "true" else "0"
        whole, point, rest = text.partition(".")
        digits = whole[1:] if whole[:1] == "-" else whole
        canonical = digits.isdigit() and digits.isascii() and len(digits) <= 16 and (digits == "0" or digits[0] != "0")
        return str(int(whole)) if point and rest and not rest.strip("0") and canonical else text
    if isinstance(value, (bool, int)):
        return str(int(value))
    if isinstance(value, float) and value == int(value) and abs(value) <= 2**53:
        return str(int(value))
    return str(value)


def part_of_date(value, part, column):
    """A part of a date or datetime, or of one in ISO format."""
    if value is None:
        return None
    if hasattr(value, "year"):
        year, month, day, hour = value.year, value.month, value.day, getattr(value, "hour", 0)
    else:
        try:
            text = str(value)
            year, month, day = int(text[:4]), int(text[5:7]), int(text[8:10])
            hour = int(text[11:13]) if len(text) > 12 else 0
        except ValueError:
            raise ValueError(f"{column!r} is {value!r}, and should be a date such as '2024-03-01'") from None
    if part != "weekday":
        return str({"year": year, "month": month, "hour": hour}[part])
    shifted, years = (month + 9) % 12, year - (month < 3)  # days since 1 March of the year 0, a Wednesday
    days = 365 * years + years // 4 - years // 100 + years // 400 + (153 * shifted + 2) // 5 + day - 1
    return WEEKDAYS[(days + 2) % 7]


def codes_of(record):
    """The code of each feature."""
    codes = []
    for feature, (kind, columns, known, part) in enumerate(FEATURES):
        if kind == "number":
            codes.append(code_of_number(number_of(record, columns[0]), known))
            continue
        known = CODES[feature]
        values = [value_of(record, name) for name in columns]
        texts = [text_of(v) if part is None else part_of_date(v, part, name) for v, name in zip(values, columns)]
        text = None if None in texts else "\\x1f".join(texts)
        codes.append(len(known) + 1 if text is None else known.get(text, len(known)))
    return codes


def scores_of(record):
    """The score of each class or target."""
    codes, totals = codes_of(record), list(INTERCEPT)
    found = [table[codes[feature]] for feature, table in TABLES]
    for first, second, of_first, of_second, table in PAIRS:
        found.append(table[of_first[codes[first]]][of_second[codes[second]]])
    for column, median, functions, weights in NUMBERS:
        x = number_of(record, column)
        x = median if x is None else x
        if x is None:
            raise ValueError(f"{column!r} is missing, and was in no row of the fit")
        for do, value in functions:
            x = FUNCTIONS[do](x, value)
        found.append([weight * x for weight in weights])
    for scores in found:
        if scores is None:
            raise ValueError("a number is missing, and was in no row of the fit")
        totals = [total + score for total, score in zip(totals, scores)]
    return totals


CODES = [{value: code for code, value in enumerate(known)} for _, _, known, _ in FEATURES]
FUNCTIONS = {
    "binary": lambda x, value: 1.0 if x != 0.0 else 0.0,
    "log1p": lambda x, value: math.log1p(x),
    "sqrt": lambda x, value: math.sqrt(x),
    "log": lambda x, value: math.log(x),
    "distance": lambda x, value: abs(x - value),
}
'''

CLASSES = '''

def sigmoid(score):
    small = math.exp(-abs(score))
    return (1.0 if score > 0.0 else small) / (1.0 + small)


def predict_proba(record):
    """The probability of each class."""
    scores = scores_of(record)
    if PROBABILITIES is None:
        raise ValueError("the model has no probabilities")
    if PROBABILITIES == "softmax":
        highest = max(scores)
        shares = [math.exp(score - highest) for score in scores]
    else:
        shares = [sigmoid(score) for score in scores]
    if REFERENCE is not None:
        shares[REFERENCE] = sigmoid(-max(score for k, score in enumerate(scores) if k != REFERENCE))
    total = sum(shares) if PROBABILITIES in ("softmax", "ovr") else 1.0
    return {label: share / total for label, share in zip(CLASSES, shares)}


def predict(record):
    """The class of the highest score; a list of labels if rows have several."""
    scores = scores_of(record)
    if MULTILABEL:
        return [label for label, score in zip(CLASSES, scores) if score > 0.0]
    return CLASSES[scores.index(max(scores))]
'''

TARGETS = '''

def predict(record):
    """The prediction; a list for several targets."""
    scores = scores_of(record)
    return scores[0] if len(scores) == 1 else scores
'''


def python_of_classifier(model: PortableModel, tables: ScoreTables) -> bytes:
    """The file as bytes.

    Raises
    ------
    ValueError
        A column is of instants in a time zone, which needs a library.
    """
    constants = {
        "CLASSES": model.classes_.tolist(),
        "PROBABILITIES": model.probabilities,
        "MULTILABEL": model.multilabel,
        "REFERENCE": model.reference,
    }
    return _file(f"{len(model.classes_)} classes", "predict_proba", tables, constants, CLASSES)


def python_of_regression(tables: ScoreTables, link: str) -> bytes:
    """The file as bytes."""
    end = (
        TARGETS
        if link == "identity"
        else TARGETS.replace("scores_of(record)", "list(map(math.exp, scores_of(record)))")
    )
    return _file("numbers", "predict", tables, {}, end)


def _file(what: str, function: str, tables: ScoreTables, constants: dict[str, Any], end: str) -> bytes:
    zoned = [name for name, kind in tables.kinds.items() if kind == INSTANT]
    if zoned:
        raise ValueError(
            f"column {zoned[0]!r} has a time zone, which plain Python does not know; save(path, stats=False) keeps the "
            "model"
        )
    constants |= {"WEEKDAYS": WEEKDAYS} | {name.upper(): part for name, part in tables.plain().items()}
    columns = ", ".join(map(repr, tables.names)).replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    head = HEAD.replace("{what}", what).replace("{function}", function).replace("{columns}", columns)
    lines = "".join(f"{name} = {value!r}\n" for name, value in constants.items())
    return f"{head}\n{lines}{CODES}{end}".encode()
