"""How the program ends: exceptions become one line on stderr and an exit code, and so do signals."""

from __future__ import annotations

import ast
import gc
import os
import re
import shlex
import signal
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import typer
from typer.core import TyperGroup

from manyview._utils.text import one_line

BAD_INPUT = 2
INTERNAL = 1
STOPPED = 130
"""As shells report a program that Ctrl-C has ended. After another signal, the program ends with the code of that."""

# Arguments of Python that errors name, as in "pass views_key=" or "no such column (id_column)", and that are options
# here.
_ARGUMENTS = (
    "views_key|labels_key|id_column|label_column|labels|metadata|names|header|view_sizes|join|match_ids|transpose"
    "|drop|only|one_hot|impute|decimal|encoding|skip_columns"
)
_KEYWORD = re.compile(rf"\b({_ARGUMENTS})=(?:'([^']*)'|\"([^\"]*)\"|(True|False)\b|(?!\w))")
_NAMED = re.compile(rf"\(({_ARGUMENTS})\)")
_DROPPED = re.compile(r"\bdrop=(\[[^\[\]]*\])")
_SCALING = re.compile(r"\bscaling=(\{[^{}]*\})")

_GO_ON = "--impute median"  # an error that recommends it shows the whole command

# The base class of all errors about arguments. Its module depends on the version of typer.
UsageError: Any = typer.BadParameter.__base__

_UNTOUCHED = (signal.SIG_DFL, signal.default_int_handler)  # other handlers are left alone, such as that of nohup
# Functions in which Python prints an exception and goes on: finalisers, and what LLVM calls while it compiles a kernel.
_IGNORING = {"__del__", "_raw_object_cache_notify", "_raw_object_cache_getbuffer"}
_RETRY_AFTER = 0.02  # seconds
_QUIET = 5.0  # seconds after a signal in which others are ignored, so that they do not interrupt the clean-up


class Program(TyperGroup):
    """The outermost group of commands: whatever happens below ends as an exit code, and never as a bare traceback."""

    debug = False

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments; ``--transpose`` may come without a file, which typer does not support."""
        pairs = zip(args, [*args[1:], "-"], strict=False)
        words = ["--transpose=*" if word == "--transpose" and after[:1] == "-" else word for word, after in pairs]
        return super().parse_args(ctx, words)

    def invoke(self, ctx: Any) -> Any:
        """Note whether tracebacks are wanted, then run the command; warnings are one line, like errors."""
        self.debug = bool(ctx.params.get("debug"))
        try:
            with warnings.catch_warnings():
                warnings.showwarning = lambda message, *_: say(f"warning: {message}")
                return super().invoke(ctx)
        except KeyboardInterrupt:
            say("stopped.")
            raise typer.Exit(STOPPED) from None

    def main(self, *args: Any, **options: Any) -> Any:
        """Run the program, and exit with the code that fits."""
        inner = {**options, "standalone_mode": False}
        if not options.get("standalone_mode", True):
            return super().main(*args, **inner)
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):  # a terminal that cannot show "±" gets an escape, not an error
                stream.reconfigure(errors="backslashreplace")
        run = super().main
        with stopped_by_signals() as stop:
            code = self._exit_code(lambda: run(*args, **inner), stop)
        gc.freeze()  # at exit, Python would search scikit-learn and numba for garbage: half a second
        sys.exit(code)

    def _exit_code(self, run: Callable[[], Any], stop: Stop) -> int:
        try:
            code = run()
            sys.stdout.flush()
        except (KeyboardInterrupt, typer.Abort):
            say("stopped.")
            return stop.exit_code or STOPPED
        except BrokenPipeError:  # the reader has left, as in "manyview ... | head"
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python would complain when it ends
            return INTERNAL
        except Exception as error:
            if self.debug:
                traceback.print_exc()
            if stop.exit_code:  # a module that is stopped while it is imported often raises another error
                say("stopped.")
                return stop.exit_code
            say(describe(error))
            return BAD_INPUT if is_bad_input(error) else INTERNAL
        return stop.exit_code or (code if isinstance(code, int) else 0)


class Stopped(KeyboardInterrupt):
    """A signal has ended the program.

    A class of its own, because after a plain ``KeyboardInterrupt`` in an ``exec``, such as that of a dataclass that is
    being imported, ``python -m`` kills itself with SIGINT, though the exception was caught.
    """


class Stop:
    """State of the signal handlers.

    Attributes
    ----------
    exit_code : int or None
        128 plus the number of the first signal, as shells report it; None as long as there was none.
    """

    def __init__(self) -> None:
        self.exit_code: int | None = None
        self._last = -_QUIET

    def handle(self, number: int, frame: Any) -> None:
        """Raise :class:`Stopped`, whatever the signal, so that all of them clean up as Ctrl-C does."""
        if _is_ignored_in(frame):
            threading.Timer(_RETRY_AFTER, _send_again, [number]).start()
            return
        now = time.monotonic()
        self.exit_code = self.exit_code or 128 + number
        if now - self._last >= _QUIET:
            self._last = now
            raise Stopped


def _is_ignored_in(frame: Any) -> bool:
    """Return whether Python would print an exception that is raised here, and go on."""
    while frame is not None and frame.f_code.co_name not in _IGNORING:
        frame = frame.f_back
    return frame is not None


def _send_again(number: int) -> None:
    """Send a signal to the main thread: sent to another thread, it would not wake the main thread from waiting."""
    if hasattr(signal, "pthread_kill"):
        signal.pthread_kill(threading.main_thread().ident or 0, number)
    else:  # Windows
        signal.raise_signal(number)


@contextmanager
def stopped_by_signals() -> Iterator[Stop]:
    """Let Ctrl-C, SIGTERM and the closing of the terminal end the block; only in the main thread."""
    stop = Stop()
    is_main = threading.current_thread() is threading.main_thread()
    names = ("SIGINT", "SIGTERM", "SIGHUP") if is_main else ()
    numbers = [getattr(signal, name) for name in names if hasattr(signal, name)]  # Windows has no SIGHUP
    before = {number: signal.getsignal(number) for number in numbers if signal.getsignal(number) in _UNTOUCHED}
    try:
        for number in before:
            signal.signal(number, stop.handle)
        yield stop
    finally:
        for number, handler in before.items():
            # a program that was stopped is about to end: more signals must not change its exit code
            signal.signal(number, signal.SIG_IGN if stop.exit_code else handler)


def say(text: str) -> None:
    """Print one line on stderr, for everything that is not a result."""
    print(f"manyview: {one_line(text)}", file=sys.stderr)


def is_bad_input(error: BaseException) -> bool:
    """Return whether the user can correct it: wrong arguments, files that do not exist, values that we refuse.

    A ``ValueError`` or ``MemoryError`` is meant for the user if our own code raised it, or if scikit-learn did when it
    checked a parameter; from elsewhere it is a mistake of ours.
    """
    if isinstance(error, (UsageError, OSError)) or type(error).__module__ == "manyview.exceptions":
        return True
    module = _raised_by(error)
    return isinstance(error, (ValueError, MemoryError)) and (
        module.partition(".")[0] == "manyview" or module == "sklearn.utils._param_validation"
    )


def _raised_by(error: BaseException) -> str:
    """Return the name of the module whose code raised ``error``."""
    frames = list(traceback.walk_tb(error.__traceback__))
    return str(frames[-1][0].f_globals.get("__name__", "")) if frames else ""


def describe(error: BaseException) -> str:
    """Return what is wrong, and what to do."""
    if isinstance(error, UsageError):
        context = getattr(error, "ctx", None)
        hint = f" See: {context.command_path} --help" if context else ""
        return f"{error.format_message()}{_what_is_missing(error)}{hint}"
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename is not None else error.strerror
    if is_bad_input(error):
        text = in_options(str(error))
        return f"{text} Go on with: {shlex.join(['manyview', *sys.argv[1:]])} {_GO_ON}" if _GO_ON in text else text
    what = f"{type(error).__name__}: {error}"
    return f"internal error, not your mistake: {what}. MANYVIEW_DEBUG=1 shows where; please report it with that text."


def _what_is_missing(error: Any) -> str:
    """Return what to give for the option -k if it is missing; it is the one that commands ask for."""
    option: Any = getattr(error, "param", None)
    if type(error).__name__ != "MissingParameter" or "-k" not in getattr(option, "opts", ()):
        return ""
    return f" Give the number of clusters, as in -k 4{', or -k auto' if 'auto' in str(option.metavar) else ''}."


def in_options(text: str) -> str:
    """Replace arguments of Python that a text of the library recommends by options.

    Examples
    --------
    >>> in_options("Pass id_column=, or join='inner'; header=False says so.")
    'Pass --id, or --join inner; --no-header says so.'
    >>> in_options("Pass id_column='mouse no' if it is the id, id_column=False if not.")
    "Pass --id 'mouse no' if it is the id, --no-id if not."
    >>> in_options("Leave it out with skip_columns=, or keep it with skip_columns=[].")
    'Leave it out with --drop, or keep it with --no-id.'
    >>> in_options("Name it: labels='my table.csv:COLUMN'.")
    "Name it: --labels 'my table.csv:COLUMN'."
    >>> in_options("expected one column 'patient' (id_column).")
    "expected one column 'patient' (--id)."
    >>> in_options("If so, pass scaling={'a b': 'max'}.")
    "If so, pass --scale 'a b=max'."
    >>> in_options("scaling={nothing} is no dict.")
    'scaling={nothing} is no dict.'
    >>> in_options("Leave them out with drop=['batch', 'seen by'].")
    "Leave them out with --drop batch --drop 'seen by'."
    """
    text = _SCALING.sub(_as_scales, _DROPPED.sub(_as_drops, text.replace("skip_columns=[]", "id_column=False")))
    return _NAMED.sub(lambda found: f"(--{_option(found[1])})", _KEYWORD.sub(_as_option, text))


def _as_scales(found: re.Match[str]) -> str:
    """Return the options for a dict of scalings; the text itself if it is not a dict of Python."""
    try:
        scaling = ast.literal_eval(found[1])
    except (SyntaxError, ValueError):
        return found[0]
    return " ".join(f"--scale {shlex.quote(f'{view}={name}')}" for view, name in dict(scaling).items())


def _as_drops(found: re.Match[str]) -> str:
    """Return an option for each column of a list; the text itself if it is not a list of Python."""
    try:
        return " ".join(f"--drop {shlex.quote(str(column))}" for column in ast.literal_eval(found[1]))
    except (SyntaxError, ValueError):
        return found[0]


def _as_option(found: re.Match[str]) -> str:
    """Return the option for an argument, with its value if it has one."""
    name, value, other, switch = found.groups()
    value = other if value is None else value
    option = f"--{'no-' if switch == 'False' else ''}{_option(name)}"
    return option if value is None else f"{option} {shlex.quote(value)}"


def _option(argument: str) -> str:
    return {"id_column": "id", "skip_columns": "drop"}.get(argument, argument.replace("_", "-"))
