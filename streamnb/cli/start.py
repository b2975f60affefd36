"""The entry point: installs signal handlers before the slow imports.

SIGINT and SIGTERM raise an exception, so that unfinished files are removed; during imports, when nothing is written
yet, they end the process at once. On SIGTERM a pass with a checkpoint first writes it. Code that cannot be interrupted,
such as a long call in C, or that swallows the exception, is ended after a few seconds.
"""

import os
import signal
import socket
import sys
import time
from contextlib import suppress
from select import select
from threading import Thread
from typing import Any, NoReturn

from streamnb.passes import stopping

PATIENCE = 5.0  # seconds from a signal until the process ends, whatever it does
FAULT = 1
STATUS = {signal.SIGTERM: 75, signal.SIGINT: 130}  # 75 is EX_TEMPFAIL of sysexits.h: the same command resumes
WORDS = {
    signal.SIGTERM: "stopped as asked, nothing is half written; the same command goes on from here, with --checkpoint "
    "or where it writes parts",
    signal.SIGINT: "interrupted; nothing is half written",
}


class _Signals:
    """Handles signals according to the state of the process."""

    def __init__(self) -> None:
        self.imported = self.raised = self.finished = False
        self.number: int | None = None  # of the last signal
        read_end, self._write_end = socket.socketpair()  # Windows waits for sockets only, not for pipes
        self._write_end.setblocking(False)
        signal.set_wakeup_fd(self._write_end.fileno(), warn_on_full_buffer=False)
        for number in STATUS:
            if signal.getsignal(number) is not signal.SIG_IGN:  # as under nohup and in background jobs
                signal.signal(number, self._handle)
        Thread(target=_end_in_time, args=(read_end,), daemon=True).start()

    def _handle(self, number: int, frame: Any) -> None:
        first, self.number = self.number is None, number
        if not self.imported:
            _leave(number)
        if first:  # only once: a second signal may come while this one holds a lock
            stopping.requested.set()
        waits = first and number == signal.SIGTERM and stopping.saving.is_set()
        if not (waits or self.raised or self.finished):
            self.raised = True
            raise stopping.Stopped


def main() -> None:
    """Run the command of this process and exit with its code."""
    signals = _Signals()
    sys.unraisablehook = _unraisable
    try:
        status = _status(signals)
        signals.finished = True
    except stopping.Stopped:
        number = signal.Signals(signals.number or signal.SIGTERM)
        with suppress(OSError):
            print(WORDS[number], file=sys.stderr)
        status = STATUS[number]
    os._exit(status)  # a signal during Python's shutdown would change the exit code


def _status(signals: _Signals) -> int:
    from streamnb.cli.main import main as run

    signals.imported = True
    try:
        return run()
    except stopping.Stopped:
        signals.raised = True  # where a pass raised it
        raise
    except SystemExit as ended:  # raised by click when nobody reads the output
        return int(ended.code or 0)
    except Exception:
        stopping.check()
        sys.excepthook(*sys.exc_info())
        return FAULT


def _end_in_time(read_end: socket.socket) -> None:
    """Wait for a signal in a thread of its own, and end the process if the main thread, say in C, does not in time."""
    number = read_end.recv(1)[0]
    while number == signal.SIGTERM and stopping.saving.is_set() and not select([read_end], [], [], 0.1)[0]:
        pass  # until the checkpoint is written, or a second signal comes
    time.sleep(PATIENCE)
    _leave(number)


def _leave(number: int) -> NoReturn:
    with suppress(OSError):
        if select([], [2], [], 0)[1]:  # else nobody reads, and the write would block forever
            os.write(2, f"{WORDS[signal.Signals(number)]}\n".encode())
    os._exit(STATUS[signal.Signals(number)])


def _unraisable(lost: Any) -> None:
    """Ignore `Stopped` where exceptions cannot propagate: the next check, or the deadline, ends the process."""
    if not isinstance(lost.exc_value, stopping.Stopped):
        sys.__unraisablehook__(lost)
