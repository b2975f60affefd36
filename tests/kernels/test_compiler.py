"""The door to numba: what a kernel may do, and when its compiled forms are kept on disk; within one process."""

import io
import math
import sys
from pathlib import Path

import pytest
from numba.core import event

from streamnb.kernels import compiler


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Kernels are compiled, also where those of the package are interpreted, and kept here."""
    monkeypatch.setattr(compiler.flags, "DISABLE_JIT", 0)
    monkeypatch.setattr(compiler, "FOLDER", tmp_path / "kept")
    return tmp_path / "kept"


def lost(a, b):
    return (a + b) - a


def counts(kernel):
    return sum(kernel.stats.cache_hits.values()), sum(kernel.stats.cache_misses.values())


def test_what_is_interpreted_is_the_function_itself(monkeypatch):
    monkeypatch.setattr(compiler.flags, "DISABLE_JIT", 1)
    assert compiler.kernel(lost) is lost
    assert compiler.part(lost) is compiler.brick(lost) is lost


def test_additions_are_done_as_written(folder):
    assert compiler.kernel(lost)(1e16, 1.0) == lost(1e16, 1.0) == 0.0
    assert math.isnan(compiler.kernel(lost)(math.inf, 1.0))


@pytest.mark.parametrize("made", [compiler.kernel, compiler.part, compiler.brick])
def test_no_kernel_holds_the_lock_of_python_nor_takes_threads_of_its_own(made, folder):
    options = made(lost).targetoptions
    assert options["nogil"] and not options.get("parallel") and not options.get("fastmath")


@pytest.mark.parametrize("made", [compiler.part, compiler.brick])
def test_parts_are_compiled_into_kernels_alone_until_python_calls_them(made, folder):
    first, second = made(lost), made(lambda a, b: a * b)
    assert compiler.kernel(lambda a, b: first(a, b) + second(a, b))(3.0, 4.0) == 16.0
    assert not first.overloads and not second.overloads and not folder.exists()
    assert (first(3.0, 4.0), second(3.0, 4.0)) == (4.0, 12.0)
    assert any(folder.iterdir())


def test_each_compiled_form_is_kept_in_a_file_and_comes_from_there(folder):
    first = compiler.kernel(lost)
    assert (first(1.0, 2.0), first(1, 2)) == (2.0, 2)
    assert counts(first) == (0, 2)
    files = {path: path.read_bytes() for path in folder.iterdir()}
    assert len(files) == 2 and {path.suffix for path in files} == {".nbc"}
    second = compiler.kernel(lost)
    assert (second(1.0, 2.0), second(1, 2)) == (2.0, 2)
    assert counts(second) == (2, 0)
    assert {path: path.read_bytes() for path in folder.iterdir()} == files


@pytest.mark.parametrize(
    "damaged", [lambda content: content[:-1], lambda content: b"", lambda content: b"\0" + content]
)
def test_a_damaged_file_is_compiled_anew(damaged, folder):
    compiler.kernel(lost)(1.0, 2.0)
    (path,) = folder.iterdir()
    sound = path.read_bytes()
    path.write_bytes(damaged(sound))
    again = compiler.kernel(lost)
    assert again(1.0, 2.0) == 2.0 and counts(again) == (0, 1)
    third = compiler.kernel(lost)
    assert third(1.0, 2.0) == 2.0 and counts(third) == (1, 0)
    assert list(folder.iterdir()) == [path]


def test_where_nothing_can_be_kept_it_is_compiled_each_time(folder):
    folder.touch()  # a file, which holds no files
    for _ in range(2):
        kernel = compiler.kernel(lost)
        assert kernel(1.0, 2.0) == 2.0 and counts(kernel) == (0, 1)
    assert folder.read_bytes() == b""


def test_a_function_that_closes_over_values_is_not_kept(folder):
    """Its file would not tell which values these were."""
    for step in (1.0, 2.0):
        assert compiler.kernel(closing_over(step))(1.0) == 1.0 + step
    assert not folder.exists()


def closing_over(step):
    return lambda x: x + step


def test_a_kept_kernel_depends_on_its_file_and_on_those_it_imports_from(tmp_path):
    before = []
    for text in ("", "from streamnb.kernels.table_sums import index_of\n", "from streamnb.kernels.roots import x\n"):
        (path := tmp_path / f"{len(text)}.py").write_text(text)
        before.append(compiler._sources(path))
    digests = [compiler._digest(path.read_bytes()) for path in sorted(Path(compiler.__file__).parent.glob("*.py"))]
    reached = [{k for k, digest in enumerate(digests) if digest in whole} for whole in before]
    assert reached[0] == set() and reached[0] < reached[1] < reached[2] < set(range(len(digests)))


def test_without_a_home_nothing_is_kept(tmp_path, monkeypatch, folder):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(compiler, "FOLDER", folder.relative_to(tmp_path))
    assert compiler.kernel(lost)(1.0, 2.0) == 2.0
    assert not folder.exists()


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def compiling(folder, monkeypatch):
    """What is counted and said of kernels that are compiled in this test, with no patience at all."""
    event.unregister("numba:compile", compiler.compiling)
    counting, real = compiler.Compiling(), compiler.compiling
    monkeypatch.setattr(compiler, "compiling", counting)
    monkeypatch.setattr(compiler, "PATIENCE", 0.0)
    event.register("numba:compile", counting)
    yield counting
    event.unregister("numba:compile", counting)
    event.register("numba:compile", real)


def test_a_terminal_is_told_once_that_kernels_are_compiled(compiling, monkeypatch):
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    kernel = compiler.kernel(lost)
    kernel(1.0, 2.0), kernel(1, 2)
    assert terminal.getvalue() == "\r\x1b[Kcompiling kernels, once on this machine\n"
    assert compiling.n_forms == 2 and compiling.seconds > 0.0


def test_a_notebook_is_told_once_that_kernels_are_compiled(compiling, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setitem(sys.modules, "ipykernel", sys)
        patched.setattr(sys, "stderr", cell := io.StringIO())
        kernel = compiler.kernel(lost)
        kernel(1.0, 2.0), kernel(1, 2)
    assert cell.getvalue() == "compiling kernels, once on this machine\n"


def test_kernels_from_the_disk_are_not_counted(compiling, monkeypatch):
    compiler.kernel(lost)(1.0, 2.0)
    compiling.said = False
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    compiler.kernel(lost)(1.0, 2.0)
    assert compiling.n_forms == 1 and not terminal.getvalue()


@pytest.mark.parametrize("stderr", [io.StringIO(), None])
def test_no_file_is_told(stderr, compiling, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(sys, "stderr", stderr)
        compiler.kernel(lost)(1.0, 2.0)
    assert compiling.n_forms == 1 and not (stderr and stderr.getvalue())


def test_a_terminal_is_told_why_kernels_are_not_kept(compiling, folder, monkeypatch):
    folder.touch()
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    monkeypatch.setattr(compiler, "PATIENCE", 1e9)
    kernel = compiler.kernel(lost)
    kernel(1.0, 2.0)
    monkeypatch.setattr(compiler, "PATIENCE", 0.0)
    kernel(1, 2)
    assert f"again in each process: they cannot be kept in '{folder}' (File exists)" in terminal.getvalue()
    assert "set NUMBA_CACHE_DIR" in terminal.getvalue()


def test_a_folder_is_refused_before_anything_is_compiled_in_vain(folder, monkeypatch):
    compiler.check_folder()
    assert list(folder.iterdir()) == []
    folder.rmdir()
    folder.touch()
    with pytest.raises(OSError, match=r"would be lost: they cannot be kept in .* set NUMBA_CACHE_DIR"):
        compiler.check_folder()
    monkeypatch.setattr(compiler, "FOLDER", Path("relative"))
    with pytest.raises(OSError, match="there is no home folder"):
        compiler.check_folder()
