"""SIGTERM and SIGINT at chosen moments of a process: it ends soon, by its own status, and leaves nothing half written.

A process sends itself the signal, from a hook of Python's own: when a module is imported or a file takes its place,
from a thread while the main one is in C, or when Python is taken down.
"""

import os
from pathlib import Path

import pytest

import streamnb as snb
from tests.support.command_line import store
from tests.support.processes import python

pytestmark = pytest.mark.process

ROOT = Path(__file__).parents[2]
HOOK = """
import hashlib, os, signal, sys, threading, time

def send():
    os.kill(os.getpid(), signal.{name})

def when(event, about, do):
    moments = []
    def heard(called, args):
        if called == event and not moments and about in str(args[0]):
            moments.append(called)
            do()
    sys.addaudithook(heard)

def twice():
    try:
        send()
    finally:
        send()

def swallowed():
    try:
        send()
        for _ in range(10):
            pass
    except BaseException:
        raise ImportError("of something else")

def in_c():
    sys.modules["streamnb.cli.start"].PATIENCE = 0.1
    threading.Thread(target=lambda: (time.sleep(0.2), send()), daemon=True).start()
    hashlib.pbkdf2_hmac("sha256", b"", b"", 10**9)  # minutes, in which no other code of this thread runs

def beside_a_thread():
    threading.Thread(target=lambda: (time.sleep(20), open("joined", "w"))).start()
    send()

class Late:
    __del__ = lambda self: send()

{moment}
"""


def ended(folder, name, moment, *command):
    """A command that is sent the signal of that name at a moment."""
    (folder / "hook").mkdir()
    (folder / "hook" / "sitecustomize.py").write_text(HOOK.format(name=name, moment=moment))
    environment = {**os.environ, "PYTHONPATH": f"{folder / 'hook'}{os.pathsep}{ROOT}"}
    return python("-m", "streamnb", *command, cwd=folder, env=environment)


def names(folder):
    return sorted(path.name for path in folder.iterdir() if path.name != "hook")


def test_imports_end_at_once(tmp_path):
    moment = "when('import', 'streamnb.cli.main', send); when('import', 'numpy', lambda: open('went on', 'w'))"
    process = ended(tmp_path, "SIGINT", moment, "--version")
    assert process.returncode == 130 and names(tmp_path) == []
    assert "nothing is half written" in process.stderr and process.stderr.count("\n") == 1


def test_a_command_ends_and_what_it_was_to_replace_stays(tmp_path):
    rows = store(tmp_path)
    other = tmp_path / "other.zarr"
    other.mkdir()
    process = ended(tmp_path, "SIGTERM", "when('os.rename', 'other.zarr', twice)", "convert", rows, other, "--force")
    assert process.returncode == 75, process.stderr
    assert process.stderr.count("\n") == 1 and "nothing is half written" in process.stderr
    assert names(tmp_path) == [rows.name, other.name] and not any(other.iterdir())


def test_an_import_may_make_an_error_of_the_end(tmp_path):
    process = ended(tmp_path, "SIGINT", "when('import', 'streamnb.rows.in_arrays', swallowed)", "plan", store(tmp_path))
    assert process.returncode == 130 and process.stderr.count("\n") == 1, process.stderr


def test_what_cannot_be_interrupted_has_little_time(tmp_path):
    rows = store(tmp_path)
    process = ended(tmp_path, "SIGTERM", "when('import', 'streamnb.rows.in_arrays', in_c)", "plan", rows)
    assert process.returncode == 75 and process.stderr.count("\n") == 1, process.stderr


def test_threads_are_not_waited_for(tmp_path):
    rows = store(tmp_path)
    process = ended(tmp_path, "SIGINT", "when('import', 'streamnb.rows.in_arrays', beside_a_thread)", "plan", rows)
    assert process.returncode == 130 and names(tmp_path) == [rows.name], process.stderr


def test_what_is_done_is_done_when_python_is_taken_down(tmp_path):
    process = ended(tmp_path, "SIGTERM", "import atexit; atexit.register(send); late = Late()", "--version")
    assert process.returncode == 0 and process.stderr == "" and snb.__version__ in process.stdout


def test_a_signal_that_is_ignored_stays_so(tmp_path):
    """As nohup and shells that start a job in the background have it."""
    moment = "signal.signal(signal.SIGINT, signal.SIG_IGN); when('import', 'streamnb.cli.main', send)"
    process = ended(tmp_path, "SIGINT", moment, "--version")
    assert process.returncode == 0 and process.stderr == ""
