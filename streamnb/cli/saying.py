"""Words for people, on stderr; quick to import."""

import time
from typing import Any

import click

EVERY = 60.0  # seconds between lines of a progress bar without a terminal


def say(message: str) -> None:
    """Print a message to stderr, apart from the data."""
    click.echo(message, err=True)


class BarLines:
    """stderr without a terminal: prints a progress bar as one line a minute, and its last state."""

    def __init__(self, file: Any):
        self._file, self._bar, self._printed = file, "", -EVERY

    def write(self, text: str) -> int:
        if text.startswith("\r"):
            self._bar = text.strip()
            if time.monotonic() - self._printed >= EVERY:
                self._print_bar()
        elif text.strip():
            self._print_bar()  # its last state
            self._file.write(text)
        elif not self._bar:  # else this ends a bar, and another may follow at once
            self._file.write(text)
        return len(text)

    def _print_bar(self) -> None:
        if self._bar:
            self._file.write(f"{self._bar}\n")
            self._file.flush()  # so that a log shows it at once
            self._bar, self._printed = "", time.monotonic()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)
