"""The command that compiles kernels beforehand: its lines are those of the library, on stderr."""

from streamnb.cli import warm_command
from streamnb.kernels import compiler
from tests.support.command_line import ran


def test_words_go_to_stderr(monkeypatch, capsys):
    monkeypatch.setattr(warm_command, "warming", lambda: iter(["texts: 3 kernels", "/kept holds 3"]))
    assert ran(capsys, "warm") == (0, "", "texts: 3 kernels\n/kept holds 3\n")


def test_a_folder_that_cannot_be_written_to_is_a_fault(monkeypatch, capsys, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setattr(compiler.flags, "DISABLE_JIT", 0)
    monkeypatch.setattr(compiler, "FOLDER", tmp_path / "file" / "streamnb")
    ended, said, words = ran(capsys, "warm")
    assert (ended, said) == (1, "") and "set NUMBA_CACHE_DIR to a folder that can be written to" in words
