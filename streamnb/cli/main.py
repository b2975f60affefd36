"""The command group and its exit codes: 0, 1 for bad data, 2 for wrong use, 75 when asked to stop."""

import sys
import warnings
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

import click

from streamnb.cli import fit_commands, read_commands, sharing_commands
from streamnb.cli.given import in_options
from streamnb.cli.output import BarLines, say
from streamnb.core.messages import DataError
from streamnb.passes import stopping

DATA, USE = 1, 2
COMMANDS = (
    read_commands.convert,
    read_commands.plan,
    fit_commands.fit,
    fit_commands.search,
    sharing_commands.schema,
    sharing_commands.scan,
    sharing_commands.merge,
    sharing_commands.read,
    sharing_commands.step,
    read_commands.predict,
    read_commands.select,
    read_commands.evaluate,
    read_commands.report,
    read_commands.inspect,
    read_commands.export,
    read_commands.warm,
)


class _Commands(click.Group):
    """A group that suggests the nearest command for a mistyped one."""

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        if args and self.get_command(ctx, args[0]) is None:
            near = get_close_matches(args[0], self.list_commands(ctx), 1)
            meant = f" Did you mean {near[0]!r}?" if near else f" There are {', '.join(self.list_commands(ctx))}."
            ctx.fail(f"No such command {args[0]!r}.{meant}")
        return super().resolve_command(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(package_name="streamnb")
def commands() -> None:
    """Linear Bayes models of data of any size, from one reading.

    DATA is the path or URL of what `fit` of the library reads: a Zarr store, an .h5ad or svmlight file, a table, or
    texts.
    Data goes to stdout or into -o FILE, words go to stderr.
    """


for command in COMMANDS:
    commands.add_command(command)


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
    say(f"Warning: {message}")


def status(arguments: Sequence[str]) -> int:
    """Run a command, print its error if there is one, and return the exit code."""
    try:
        commands(list(arguments), prog_name="streamnb", standalone_mode=False)
        sys.stdout.flush()  # here, where a full disk is an error
        return 0
    except click.ClickException as error:
        error.show()
        return USE
    except (ValueError, TypeError, OSError, MemoryError, ImportError, AttributeError) as error:
        stopping.check()  # an import, for example, can turn `Stopped` into another error
        message, of_use = in_options(str(error), commands.commands.get(arguments[0]))
        say(f"Error: {message}")
        return (
            USE if of_use and isinstance(error, ValueError | TypeError) and not isinstance(error, DataError) else DATA
        )
