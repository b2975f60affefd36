"""The map of all modules, from their docstrings: `python -m tests.support.module_map` prints it."""

import ast
from pathlib import Path

ROOT = Path(__file__).parents[2]
HEAD = """# The map of modules

Every module of the package with the first line of its docstring, in the order of the flow: a folder uses those above
it. `python -m tests.support.module_map` prints it in a checkout. [How streamnb is built](architecture.md) explains how
the folders work together.
"""


def told(path):
    """The first paragraph of a module's docstring, on one line of a table."""
    docstring = ast.get_docstring(ast.parse(path.read_text())) or ""
    return " ".join(docstring.partition("\n\n")[0].split()).replace("|", "\\|")


def made(rooms):
    lines = [HEAD]
    for room in rooms:
        folder = ROOT / "streamnb" / room
        modules = [path for path in sorted(folder.glob("*.py")) if path.stem != "__init__"]
        lines += [f"## `{room}/`", "", told(folder / "__init__.py"), "", "| module | what it is |", "| --- | --- |"]
        lines += [*(f"| `{path.stem}` | {told(path)} |" for path in modules), ""]
    return "\n".join(lines)


if __name__ == "__main__":
    from tests.laws.test_architecture import ROOMS

    print(made(ROOMS))
