"""The command that writes a page that shows a model: report."""

from typing import Any

import click

from streamnb.cli.given import ROWS, model_of, names_of, new_file, rows_of
from streamnb.cli.output import say
from streamnb.passes.dask_workers import connected
from streamnb.reporting.report import RowsToJudge, write_report
from streamnb.searching.search_result import Search


@click.command()
@click.argument("model")
@click.argument("data", required=False)
@ROWS
@click.option("-o", "out", default="report.html", show_default=True, help="The page.")
@click.option("--interval", type=float, default=0.95, show_default=True, help="Confidence of intervals.")
@click.option("--groups", help="Column or array of groups whose rows are not independent, for intervals.")
@click.option("--by", help="Columns by whose values rows are sliced, split at commas: hospital,age.")
@click.option("--against", help="A second set of rows, to show what differs from DATA.")
@click.option("--client", help="Address of a Dask scheduler whose workers read.")
@click.option("--force", is_flag=True, help="Replace a file that is there.")
def report(model: str, data: str | None, out: str, **settings: Any) -> None:
    """Write one page of HTML that shows a model, judged on rows whose labels are known.

    Without DATA the page shows the model alone.

    Example: streamnb report m.snb test.parquet --y late --by city -o report.html
    """
    path = new_file(out, settings["force"])
    found = model_of(model, Search)
    given = RowsToJudge(interval=settings["interval"])
    if data is not None:
        X, per_row = rows_of(data, settings, settings["y"], groups=settings["groups"])
        against = None if settings["against"] is None else rows_of(settings["against"], settings, settings["y"])[0]
        by = names_of(settings["by"]) or None
        given = RowsToJudge(X=X, interval=settings["interval"], by=by, against=against, **per_row)
    with connected(settings["client"]):
        if isinstance(found, Search):
            found.report(path, **vars(given), force=settings["force"])
        else:
            write_report(found, given, path, force=settings["force"], file=model)
    assert path is not None
    say(f"{out}: {path.stat().st_size:,} bytes")
