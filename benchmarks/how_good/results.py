"""What was measured, kept in a file."""

import json
import os
import platform
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.how_good.sets import Rows

KEPT = Path(__file__).parent / "results.json"


class Results(NamedTuple):
    """`rows` is the limit of rows to learn from; `sets` what is known of each, `found` what each tool came to on it."""

    rows: int | None
    sets: dict[str, dict[str, Any]]
    found: dict[str, dict[str, dict[str, Any]]]

    @classmethod
    def read(cls, path: Path, rows: int | None = None) -> "Results":
        if not path.exists():
            return cls(rows, {}, {})
        kept = cls(**json.loads(path.read_text()))
        if kept.rows != rows:
            raise SystemExit(f"{path} has results of rows={kept.rows}, not {rows}: name another file for --results")
        return kept

    def write(self, path: Path) -> None:
        """All of it or nothing, so that it may be stopped at any time; a line for each tool and set."""
        found = {name: lines(of_set) for name, of_set in self.found.items()}
        parts = {"rows": json.dumps(self.rows), "sets": lines(self.sets), "found": in_lines(found)}
        beside = path.with_suffix(".new")
        beside.write_text(in_lines(parts) + "\n")
        os.replace(beside, path)


def lines(values: dict[str, Any]) -> str:
    return in_lines({name: json.dumps(value) for name, value in values.items()})


def in_lines(texts: dict[str, str]) -> str:
    return "{\n" + ",\n".join(f"{json.dumps(name)}: {text}" for name, text in texts.items()) + "\n}"


def size(rows: Rows) -> dict[str, Any]:
    n_classes = len({*rows.y.tolist()})
    return {
        "kind": rows.kind,
        "n_rows": len(rows.y),
        "n_held_out": len(rows.y_new),
        "n_columns": rows.X.shape[1],
        "n_classes": n_classes,
    }


def machine() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next(line.partition(": ")[2] for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        model = platform.processor()
    return f"{os.cpu_count()} cores, {model}, Python {platform.python_version()}"
