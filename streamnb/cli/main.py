"""The command group and its exit codes: 0, 1 for bad data, 2 for wrong use, 3 for drift, 75 when asked to stop."""

import sys
import warnings
from collections.abc import Sequence
from typing import Any

import click

from streamnb.cli.saying import BarLines, say
from streamnb.core.messages import DataError, nearest
from streamnb.passes import stopping

DATA, USE = 1, 2
MEANT = {  # words of others
    "--target": ["--y"],
    "--label": ["--y"],
    "--output": ["-o"],
    "train": ["fit"],
    "explain": ["inspect"],
    "info": ["inspect"],
    "show": ["inspect"],
}


COMMANDS = {  # the first word of the module of each, which is imported when it is called, and what the list says of it
    "describe": ("read", "Take a first look at rows: classes, types, missing values, ranges, and what is odd."),
    "convert": ("read", "Write rows of any kind into a Zarr store, the format that is read fastest."),
    "plan": ("read", "Show what a scan would read and how much memory it would take, before any row is read."),
    "fit": ("fit", "Fit a model and save it."),
    "search": ("fit", "Compare many models on the same folds, print the table, and save the best."),
    "schema": ("sharing", "Make the schema by which sites scan: classes, columns, sums and folds."),
    "scan": ("sharing", "Sum the rows of one site by a schema."),
    "merge": ("sharing", "Add what sites left: schemas, sums of scans, or answers to a round."),
    "read": ("sharing", "Read the rows of one site for what a round asks."),
    "step": ("sharing", "Go on from a round with the answers of all sites."),
    "predict": ("predict", "Labels of rows, and probabilities or scores."),
    "select": ("read", "Write the rows of a corpus that models choose, with their score beside them."),
    "evaluate": ("read", "Judge a model on rows whose labels are known."),
    "report": ("read", "Write one page of HTML that shows a model, judged on rows with known labels."),
    "drift": ("read", "Compare new rows with those that a model has learned from."),
    "inspect": ("read", "Show a model, and the features that matter most for its classes."),
    "export": ("read", "Write a model for other programs: .onnx or .json, or .snb without its statistics."),
    "warm": ("read", "Compile the usual kernels once, for a container image, and say where they are kept."),
}


def module_of(command: str) -> Any:
    """The module of a command, which is imported now."""
    match COMMANDS[command][0]:
        case "fit":
            from streamnb.cli import fit_commands

            return fit_commands
        case "read":
            from streamnb.cli import read_commands

            return read_commands
        case "sharing":
            from streamnb.cli import sharing_commands

            return sharing_commands
    from streamnb.cli import predict_command

    return predict_command


class _Commands(click.Group):
    """A group that imports a command when it is called, and suggests the nearest for a mistyped one."""

    def get_command(self, ctx: click.Context | None, cmd_name: str) -> Any:
        if cmd_name not in COMMANDS:
            return None
        return getattr(module_of(cmd_name), cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, said) for name, (_, said) in COMMANDS.items()])

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        if args and args[0] not in COMMANDS:
            (meant,) = MEANT.get(args[0], args[:1])
            ctx.fail(f"No such command {args[0]!r}: {nearest(meant, self.list_commands(ctx))}")
        return super().resolve_command(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(package_name="streamnb")
def commands() -> None:
    """Linear Bayes models of data of any size, from one reading.

    DATA is the path or URL of what `fit` of the library reads: a Zarr store, an .h5ad or svmlight file, a table, or
    texts.
    Data goes to stdout or into -o FILE, words go to stderr.
    """


def main() -> int:
    """Run the command of this process and return its exit code."""
    warnings.showwarning = _say_warning
    if not sys.stderr.isatty():
        sys.stderr = BarLines(sys.stderr)
    return status(sys.argv[1:])


def _say_warning(
    message: Warning | str, category: Any, filename: str, lineno: int, file: Any = None, line: Any = None
) -> None:
    """Print a warning without its source line, which means nothing to a user of the command line."""
    from streamnb.cli.given import in_options

    say(f"Warning: {in_options(str(message), commands.get_command(None, ''.join(sys.argv[1:2])))[0]}")


def status(arguments: Sequence[str]) -> int:
    """Run a command, print its error if there is one, and return the exit code."""
    try:
        ended = commands(list(arguments), prog_name="streamnb", standalone_mode=False)
        sys.stdout.flush()  # here, where a full disk is an error
        return ended or 0  # what a command exits with
    except click.ClickException as error:
        if isinstance(error, click.NoSuchOption):
            error.possibilities = MEANT.get(error.option_name, error.possibilities)  # type: ignore[misc]
        error.show()
        return USE
    except (ValueError, TypeError, OSError, MemoryError, ImportError, AttributeError) as error:
        stopping.check()  # an import, for example, can turn `Stopped` into another error
        from streamnb.cli.given import in_options  # much to import

        message, of_use = in_options(str(error), commands.get_command(None, arguments[0]))
        say(f"Error: {message}")
        of_use = of_use and isinstance(error, ValueError | TypeError) and not isinstance(error, DataError)
        return USE if of_use else DATA
