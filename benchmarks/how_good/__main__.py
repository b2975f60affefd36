"""Measures what is missing, and makes the pages."""

import argparse
from pathlib import Path

from benchmarks import how_good
from benchmarks.how_good import measuring, pages, sets
from benchmarks.how_good.results import KEPT, Results, machine, size
from benchmarks.how_good.tools import TOOLS

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "docs" / "how_good.md"]


def measure(options, results: Results) -> None:
    described = sets.described(options.folder)
    for tool_name in options.tools or TOOLS:
        tool = TOOLS[tool_name]
        if tool.version is None:
            print(f"{tool_name} is not installed", flush=True)
            continue
        for name in options.sets or described:
            found = results.found.setdefault(name, {})
            if name not in results.sets:
                results.sets[name] = described[name] | size(sets.read(options.folder, name, options.rows))
            if results.sets[name]["kind"] not in tool.kinds or (tool_name in found and not options.again):
                continue
            found[tool_name] = measuring.in_a_process(options.folder, name, tool_name, options.rows, options.limit)
            found[tool_name]["machine"] = machine()
            results.write(options.results)
            print(name, tool_name, *pages.told(found[tool_name]), flush=True)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(how_good.__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path, nargs="?", help="has sets.json and the rows")
    parser.add_argument("--sets", nargs="+", metavar="SET", help="all unless given")
    parser.add_argument(
        "--tools", nargs="+", choices=TOOLS, metavar="TOOL", help=f"all unless given: {', '.join(TOOLS)}"
    )
    parser.add_argument("--again", action="store_true", help="also what was measured before")
    parser.add_argument("--rows", type=int, help="at most so many to learn from")
    parser.add_argument(
        "--limit", type=float, default=3600.0, help="seconds that a tool may take (default %(default)g)"
    )
    parser.add_argument("--results", type=Path, default=KEPT, help="the file that keeps them (default %(default)s)")
    parser.add_argument("--page", action="store_true", help="only make the pages of what is kept")
    parser.add_argument("--out", type=Path, nargs="+", default=PAGES, help="the pages (default: docs/how_good.md)")
    options = parser.parse_args(arguments)
    if lacking := [str(page) for page in options.out if not page.exists()]:
        parser.error(f"there is no page {', '.join(lacking)}: a page has comments between which its tables are put")
    results = Results.read(options.results, options.rows)
    if not options.page:
        if options.folder is None:
            parser.error("a folder of sets is needed, unless --page is given")
        measure(options, results)
    for page in options.out:
        page.write_text(pages.filled(page.read_text(), results))


if __name__ == "__main__":
    main()
