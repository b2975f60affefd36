"""The only door to numba: kernels and their parts, compiler flags, the on-disk cache, what is said of compiling."""

import copy
import gc
import hashlib
import operator
import os
import pickle
import platform
import re
import sys
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryFile
from time import perf_counter
from typing import Any

from numba import __version__ as numba_version
from numba import config, njit
from numba.core import event, typed_passes, types, typing, untyped_passes
from numba.core.caching import NullCache
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, CompileResult, Flags
from numba.core.compiler_machinery import PassManager
from numba.core.cpu import CPUContext
from numba.core.serialize import dumps
from numba.cpython.builtins import do_minmax
from numba.misc.appdirs import user_cache_dir

from streamnb.core.stored_files import replacing

flags: Any = config  # filled by numba on import
_USERS = Path(user_cache_dir())
_DEFAULT = _USERS if _USERS.is_absolute() else os.path.expanduser("~/.cache")  # XDG: relative paths are ignored
PATIENCE = 2.0  # seconds of compiling, after which it is said why nothing is seen yet
FOLDER = Path(os.path.abspath(flags.CACHE_DIR) if flags.CACHE_DIR else _DEFAULT, "streamnb")


def kernel(func: Callable, **options: Any) -> Any:
    """Compile on first call: nopython, GIL released, serial; cached on disk where possible.

    Kernels that call it have it compiled into them. Machine code of its own and a wrapper for Python, which nobody
    calls there, would take a quarter of the time of compiling.
    """
    if flags.DISABLE_JIT:
        return func
    compiled: Any = njit(**_OPTIONS)(func)
    if func.__closure__ is None and FOLDER.is_absolute():  # relative for a user without a home
        compiled._cache = _DiskCache(func)
    inside = cache(partial(_inside_kernels, func, options))
    compiled.get_call_template = lambda args, kws: inside().get_call_template(args, kws)
    compiled.get_overload = lambda signature: inside().get_overload(signature)
    return compiled


part = kernel  # which kernels call, not Python


def brick(func: Callable) -> Any:
    """Inline a part into the kernels that call it: for functions called once a row, where a call costs 20 sums."""
    return part(func, forceinline=True)


def _inside_kernels(func: Callable, options: Any) -> Any:
    compiled: Any = njit(no_cpython_wrapper=True, **_OPTIONS, **options)(func)
    compiled.add_overload = partial(_add_part, compiled)
    return compiled


def _add_part(dispatcher: Any, result: CompileResult) -> None:
    """Keep a compiled part for kernels to link; numba tells them apart by their entry points, which parts have not."""
    result = result._replace(entry_point=result.library)
    dispatcher.targetctx.insert_user_function(result.library, result.fndesc, [result.library])
    dispatcher.overloads[tuple(result.signature.args)] = result


class _KernelLibrary(JITCodeLibrary):
    """The code of a kernel, which is optimised once, together with the parts that it calls."""

    def _optimize_functions(self, module: Any) -> None:
        module.data_layout = str(self.codegen.target_data)


class _PartLibrary(_KernelLibrary):
    """The code of a part, ready to be linked into kernels."""

    def _optimize_final_module(self) -> None: ...

    def _finalize_final_module(self) -> None:
        self._finalized = True


class _TypingContext(typing.Context):
    """Remembers the types of `a + b` and the like: else all that numba knows of `+` is tried each time it occurs."""

    known: dict[tuple, Any]

    def _resolve_user_function_type(self, func: Any, args: tuple, kws: Any, literals: Any = None) -> Any:
        if kws or not isinstance(func, types.Function | _BuiltIn):
            return super()._resolve_user_function_type(func, args, kws, literals)
        if _comparison(func, args):
            one, other = map(types.unliteral, args)  # type: ignore[attr-defined]
            return typing.signature(self.unify_types(one, other), one, other)
        if (func, args) not in self.known:
            self.known[func, args] = super()._resolve_user_function_type(func, args, kws, literals)
        return self.known[func, args]


@cache
def _remembering(context: Any) -> Any:
    """Return a view of numba's typing context that remembers."""
    view = copy.copy(context)
    view.__class__, view.known = _TypingContext, {}
    return view


def _comparison(func: Any, kinds: tuple) -> Any:
    """Return the comparison of `min` or `max` of two numbers, made in place: numba would compile a function for it."""
    if type(func) is types.Function and len(kinds) == 2 and all(isinstance(kind, types.Number) for kind in kinds):
        return {min: operator.lt, max: operator.gt}.get(func.typing_key)  # type: ignore[call-overload]
    return None


class _TargetContext(CPUContext):
    """Knows at once that arrays are arrays, which numba looks for at each access to one."""

    def get_function(self, fn: Any, sig: Any, _firstcall: bool = True) -> Any:
        if fn == "__array__":  # of what is no array itself: looking for it reads all that numba knows
            raise NotImplementedError
        if comparison := _comparison(fn, sig.args):
            return lambda builder, arguments, loc=None: do_minmax(self, builder, sig.args, arguments, comparison)
        return super().get_function(fn, sig, _firstcall)


class _Flags(Flags):
    """Flags that are told apart quickly, as numba does for each overload of a function that it tries."""

    def values(self) -> dict[str, Any]:
        return {**_DEFAULTS, **self._values}


_DEFAULTS = {name: option.default for name, option in Flags.options.items()}
_BuiltIn = type(len)  # as those of the module operator are
_PASSES = (  # numba's, without those for what no kernel has: closures, contexts, array expressions, inlined overloads,
    # and without the ends of references and notes on types, which no kernel needs
    untyped_passes.TranslateByteCode, untyped_passes.FixupArgs, untyped_passes.IRProcessing,
    untyped_passes.RewriteSemanticConstants, untyped_passes.DeadBranchPrune, untyped_passes.GenericRewrites,
    untyped_passes.ReconstructSSA, typed_passes.NopythonTypeInference, typed_passes.PreLowerStripPhis,
    typed_passes.NativeLowering, typed_passes.NoPythonBackend,
)  # fmt: skip


class _KernelCompiler(Compiler):
    def __init__(
        self, typingctx: Any, targetctx: Any, library: Any, args: Any, return_type: Any, flags: Any, locals: Any
    ):
        super().__init__(_remembering(typingctx), targetctx, library, args, return_type, _Flags(flags), locals)
        self.state.targetctx.__class__ = _TargetContext

    def define_pipelines(self) -> Any:
        state = self.state
        state.flags.no_compile = state.flags.no_cpython_wrapper  # a part
        library = _PartLibrary if state.flags.no_compile else _KernelLibrary
        state.library = library(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        passes = PassManager("kernel")
        for each in _PASSES:
            passes.add_pass(each, each.__name__)
        passes.finalize()
        return [passes]


class Compiling(event.Listener):
    """How many forms of kernels this process has compiled, and how long that took.

    It says so once, on a terminal and in a notebook.

    Attributes
    ----------
    n_forms, seconds : of kernels that are called from Python, with all that is compiled into them
    said : whether it has been said, or is not wanted, because progress is disabled
    failure : OSError, optional
        Why a form could not be kept.
    """

    def __init__(self) -> None:
        self.n_forms, self.seconds, self.said = 0, 0.0, False
        self.failure: OSError | None = None
        self._outer, self._since, self._collects = None, 0.0, False

    def on_start(self, event: Any) -> None:
        kernel = event.data["dispatcher"]
        if self._outer is None and isinstance(kernel._cache, _DiskCache):  # numba compiles one at a time
            self._outer, self._since, self._collects = kernel, perf_counter(), gc.isenabled()
            gc.disable()  # compiling makes many objects and little garbage: to look through them takes a seventh of it

    def on_end(self, event: Any) -> None:
        if event.data["dispatcher"] is self._outer:
            self._outer = None
            if self._collects:
                gc.enable()
            self.n_forms += 1
            self.seconds += perf_counter() - self._since
            if self.seconds >= PATIENCE:
                self._say()

    def _say(self) -> None:
        if self.said:
            return
        again = f"again in each process: {not_kept(self.failure)}" if self.failure else "once on this machine"
        if sys.stderr is not None and sys.stderr.isatty():
            print(f"\r\x1b[Kcompiling kernels, {again}", file=sys.stderr, flush=True)  # in place of a progress bar
        elif "ipykernel" in sys.modules:
            print(f"compiling kernels, {again}", file=sys.stderr, flush=True)
        self.said = True


def not_kept(failure: OSError) -> str:
    """Say why compiled kernels are not kept, and what to do."""
    reason = failure.strerror or failure
    return f"they cannot be kept in {str(FOLDER)!r} ({reason}); set NUMBA_CACHE_DIR to a folder that can be written to"


def check_folder() -> None:
    """Refuse a cache folder that cannot be written to."""
    try:
        if not FOLDER.is_absolute():
            raise OSError("there is no home folder")
        FOLDER.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=FOLDER):
            pass
    except OSError as failure:
        raise OSError(f"compiled kernels would be lost: {not_kept(failure)}") from failure


class _DiskCache(NullCache):
    """Compiled versions of a kernel, each in a file whose name is a digest of all that it depends on.

    Files are written atomically, and two writers of one name write the same content, so that concurrent processes do
    not interfere. (numba's own cache numbers its files in an index: with two writers, the index of one may point to the
    machine code of the other.) Where the folder cannot be read or written, each process compiles the kernel.
    """

    def __init__(self, func: Callable):
        self._func = func

    def load_overload(self, signature: Any, context: Any) -> Any:
        try:
            content = self._path(signature, context).read_bytes()
        except OSError:
            return None
        digest, payload = content[:16], content[16:]
        if digest != _digest(payload):  # a damaged file
            return None
        return CompileResult._rebuild(context, *pickle.loads(payload))

    def save_overload(self, signature: Any, result: Any) -> None:
        if result.library.has_dynamic_globals:
            return
        payload = dumps(result._reduce())
        try:
            path = self._path(signature, result.target_context)
            path.parent.mkdir(parents=True, exist_ok=True)
            with replacing(path) as file:
                file.write(_digest(payload) + payload)
        except OSError as failure:  # a full disk, or no folder that can be written to
            compiling.failure = failure

    def _path(self, signature: Any, context: Any) -> Path:
        code, name = self._func.__code__, f"{self._func.__module__}.{self._func.__qualname__}"
        versions = numba_version, platform.python_version(), flags.BOUNDSCHECK, *context.codegen().magic_tuple()
        depends = name, signature, versions, code.co_firstlineno, _sources(Path(code.co_filename))
        return FOLDER / f"{name}-{_digest(repr(depends).encode()).hex()}.nbc"


def _digest(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=16).digest()


@cache
def _sources(file: Path) -> bytes:
    """A digest of a kernel file and of all kernel files that it imports, directly or not."""
    read: dict[Path, bytes] = {}
    left = [file]
    while left:
        if (path := left.pop()) not in read:
            read[path] = path.read_bytes()
            names = re.findall(rb"^from streamnb\.kernels\.(\w+) import", read[path], re.MULTILINE)
            left += [Path(__file__).with_name(f"{name.decode()}.py") for name in names]
    return b"".join(_digest(read[path]) for path in sorted(read))


# kernels do not allocate: arrays need not be counted; and they are never called from C
_OPTIONS: Any = {"nogil": True, "_nrt": False, "no_cfunc_wrapper": True, "pipeline_class": _KernelCompiler}
compiling = Compiling()
event.register("numba:compile", compiling)
