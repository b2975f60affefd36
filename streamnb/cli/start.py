"""Where the process of the command line begins and ends: it hears signals before anything that takes time is imported.

SIGINT and SIGTERM end what is under way by an exception, so that it clears away what is half written, and imports,
which have written nothing, on the spot. A pass that has a checkpoint keeps what is done first when SIGTERM comes. What
cannot be interrupted, such as a long call of C, or does not let the exception through, has a few seconds.
"""

import os
import signal
import sys
import time
from contextlib import suppress
from select import select
from threading import Thread
from typing import Any, NoReturn

from streamnb.passes import stopping

PATIENCE = 5.0  # seconds until a process ends that was asked to, whatever it does
FAULT = 1
STATUS = {signal.SIGTERM: 75, signal.SIGINT: 130}  # 75 is EX_TEMPFAIL of sysexits.h: start it again, and it goes on
WORDS = {
    signal.SIGTERM: "stopped as asked, nothing is half written; with --checkpoint the same command goes on from here",
    signal.SIGINT: "interrupted; nothing is half written",
}


class _Signals:
    """How far the process is, and so what a signal does."""

    def __init__(self) -> None:
        self.imported = self.raised = self.over = False
        self.number: int | None = None  # of the last that came
        heard, wakes = os.pipe()
        os.set_blocking(wakes, False)
        signal.set_wakeup_fd(wakes, warn_on_full_buffer=False)
        for number in STATUS:
            if signal.getsignal(number) is not signal.SIG_IGN:  # as nohup and shells that start a job behind have it
                signal.signal(number, self._hear)
        Thread(target=_end_in_time, args=(heard,), daemon=True).start()

    def _hear(self, number: int, frame: Any) -> None:
        first, self.number = self.number is None, number
        if not self.imported:
            _leave(number)
        if first:  # once alone: the next may come while this has a lock
            stopping.asked.set()
        waits = first and number == signal.SIGTERM and stopping.keeping.is_set()
        if not (waits or self.raised or self.over):
            self.raised = True
            raise stopping.Stopped


def main() -> None:
    """Run the command of this process, and leave with its status."""
    signals = _Signals()
    sys.unraisablehook = _unraisable
    try:
        status = _status(signals)
        signals.over = True
    except stopping.Stopped:
        number = signal.Signals(signals.number or signal.SIGTERM)
        with suppress(OSError):
            print(WORDS[number], file=sys.stderr)
        status = STATUS[number]
    os._exit(status)  # for whoever is heard while Python is taken down gets another status


def _status(signals: _Signals) -> int:
    from streamnb.cli.main import main as run

    signals.imported = True
    try:
        return run()
    except stopping.Stopped:
        signals.raised = True  # where a pass ended by itself
        raise
    except SystemExit as ended:  # of click, when nobody reads what is written
        return int(ended.code or 0)
    except Exception:
        stopping.check()
        sys.excepthook(*sys.exc_info())
        return FAULT


def _end_in_time(heard: int) -> None:
    """Wait for a signal, in a thread that hears it while the main one is in C, and for the end of the process."""
    number = os.read(heard, 1)[0]
    while number == signal.SIGTERM and stopping.keeping.is_set() and not select([heard], [], [], 0.1)[0]:
        pass  # until what is done is kept, or a second signal comes
    time.sleep(PATIENCE)
    _leave(number)


def _leave(number: int) -> NoReturn:
    with suppress(OSError):
        if select([], [2], [], 0)[1]:  # else nobody reads, and to write would take for ever
            os.write(2, f"{WORDS[signal.Signals(number)]}\n".encode())
    os._exit(STATUS[signal.Signals(number)])


def _unraisable(lost: Any) -> None:
    """Say nothing of an end in a place that lets no exception through: the next check or the time will end it."""
    if not isinstance(lost.exc_value, stopping.Stopped):
        sys.__unraisablehook__(lost)
