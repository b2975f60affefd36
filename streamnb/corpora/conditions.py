"""Conditions over scores, such as "en > .65 and (good > .3 or 'very good' > .1)"."""

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

COMPARED = {ast.Gt: np.greater, ast.GtE: np.greater_equal, ast.Lt: np.less, ast.LtE: np.less_equal}
JOINED = {ast.And: np.logical_and, ast.Or: np.logical_or}


@dataclass(frozen=True)
class Condition:
    """A condition as it was written; `names` are those of the labels whose scores it compares."""

    text: str

    def __post_init__(self) -> None:
        if not isinstance(self.text, str):
            raise TypeError(f"where={self.text!r} should be a condition such as 'good > 0.3'")
        try:
            self.holds(dict.fromkeys(self.names, np.zeros(0)))
        except RecursionError as error:
            raise self._wrong("it is nested too deeply") from error

    @property
    def _tree(self) -> Any:
        try:
            return ast.parse(self.text.strip(), mode="eval").body
        except SyntaxError as error:
            raise self._wrong(f"it cannot be read ({error.msg})") from error

    @property
    def names(self) -> tuple[str, ...]:
        """The labels, in the order in which they are named."""
        sides = [side for one in ast.walk(self._tree) if isinstance(one, ast.Compare) for side in self._sides(one)]
        return tuple(dict.fromkeys(name for side in sides if (name := _name(side)) is not None))

    def holds(self, scores: Mapping[str, np.ndarray]) -> np.ndarray:
        """The rows for which it holds, given the scores of each label."""
        return np.asarray(self._evaluated(self._tree, scores))

    def _evaluated(self, node: Any, scores: Mapping[str, np.ndarray]) -> Any:
        if isinstance(node, ast.BoolOp):
            return reduce(JOINED[type(node.op)], [self._evaluated(one, scores) for one in node.values])
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return np.logical_not(self._evaluated(node.operand, scores))
        if isinstance(node, ast.Compare) and all(type(one) in COMPARED for one in node.ops):
            sides = [self._side(one, scores) for one in self._sides(node)]
            pairs = zip(node.ops, sides, sides[1:], strict=False)
            return reduce(np.logical_and, [COMPARED[type(how)](left, right) for how, left, right in pairs])
        raise self._wrong(f"{ast.unparse(node)!r} is no comparison")

    def _sides(self, node: ast.Compare) -> list[Any]:
        return [node.left, *node.comparators]

    def _side(self, node: Any, scores: Mapping[str, np.ndarray]) -> Any:
        name = _name(node)
        if name is not None:
            return scores[name]
        sign = -1.0 if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) else 1.0
        value = node.operand if isinstance(node, ast.UnaryOp) else node
        if isinstance(value, ast.Constant) and isinstance(value.value, int | float):
            return sign * value.value
        raise self._wrong(f"{ast.unparse(node)!r} is neither a label nor a number")

    def _wrong(self, why: str) -> ValueError:
        return ValueError(
            f"where={self.text!r}: {why}; it should compare labels with numbers, such as \"en > 0.65 and 'good' > 0.3\""
        )


def _name(node: Any) -> str | None:
    """The label that a name, a quoted string, or a model and a name such as `quality.good` stand for."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Constant) and isinstance(node.value, str | bool):
        return str(node.value)
    if isinstance(node, ast.Attribute) and (model := _name(node.value)) is not None:
        return f"{model}.{node.attr}"
    return None
