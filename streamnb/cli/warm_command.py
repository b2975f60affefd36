"""The command that compiles kernels beforehand: warm."""

import click

from streamnb.cli.output import say
from streamnb.searching.warming import warming


@click.command()
def warm() -> None:
    """Compile the usual kernels once, for a container image, and say where they are kept.

    Example: streamnb warm, in a Dockerfile that sets NUMBA_CACHE_DIR=/opt/kernels
    """
    for line in warming():
        say(line)
