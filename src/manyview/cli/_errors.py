"""From exceptions to one line on stderr and an exit code."""

from __future__ import annotations

import ast
import gc
import os
import re
import shlex
import sys
import traceback
import warnings
from collections.abc import Callable
from typing import Any

import typer
from typer.core import TyperGroup

from manyview._utils.text import one_line
from manyview.cli._signals import Stop, stopped_by_signals

BAD_INPUT = 2
INTERNAL = 1
STOPPED = 130
"""As a shell reports a program that Ctrl-C ended; after another signal, the program ends with the code of that."""

# Arguments of Python that errors name, as in "pass views_key=" or "no such column (id_column)", and that are options
# here.
_ARGUMENTS = "views_key|labels_key|id_column|label_column|labels|names|header|view_sizes|join|match_ids|transpose"
_KEYWORD = re.compile(rf"\b({_ARGUMENTS})=(?:'([^']*)'|\"([^\"]*)\"|(True|False)\b|(?!\w))")
_NAMED = re.compile(rf"\(({_ARGUMENTS})\)")
_SCALING = re.compile(r"\bscaling=(\{[^{}]*\})")

# The base of all that is wrong with the arguments. Its module depends on the version of typer, its place does not.
UsageError: Any = typer.BadParameter.__base__


class Program(TyperGroup):
    """The outermost group of commands: whatever happens below ends as an exit code, and never as a bare traceback."""

    debug = False

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments; ``--transpose`` may come without a file, which the parser of options does not know."""
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
        """Run the program, and leave it with the exit code that fits."""
        inner = {**options, "standalone_mode": False}
        if not options.get("standalone_mode", True):
            return super().main(*args, **inner)
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):  # a terminal that knows no "±" gets an escape, not an error
                stream.reconfigure(errors="backslashreplace")
        run = super().main
        with stopped_by_signals() as stop:
            code = self._exit_code(lambda: run(*args, **inner), stop)
        # After a KeyboardInterrupt in an exec, such as that of a dataclass that is being imported, `python -m` ends by
        # SIGINT whatever the exit code, though it was caught. Another exec makes it forget.
        exec("")
        gc.freeze()  # Python would look through all of scikit-learn and numba for garbage before it ends: half a second
        sys.exit(code)

    def _exit_code(self, run: Callable[[], Any], stop: Stop) -> int:
        try:
            code = run()
            sys.stdout.flush()
        except (KeyboardInterrupt, typer.Abort):
            say("stopped.")
            return stop.exit_code or STOPPED
        except BrokenPipeError:
            _leave_pipe()
            return INTERNAL
        except Exception as error:
            if self.debug:
                traceback.print_exc()
            if stop.exit_code:  # a module that is stopped while it is imported often says something else
                say("stopped.")
                return stop.exit_code
            say(describe(error))
            return BAD_INPUT if is_bad_input(error) else INTERNAL
        return stop.exit_code or (code if isinstance(code, int) else 0)


def say(text: str) -> None:
    """Print one line on stderr, as everything that is no result."""
    print(f"manyview: {one_line(text)}", file=sys.stderr)


def is_bad_input(error: BaseException) -> bool:
    """Tell whether the user can put it right: wrong arguments, files that are not there, values that we refuse.

    A ``ValueError`` or ``MemoryError`` is meant for the user if our own code raised it, or if scikit-learn did when it
    checked a parameter; from elsewhere it is a mistake of ours.
    """
    if isinstance(error, (UsageError, OSError)) or type(error).__module__ == "manyview.exceptions":
        return True
    place = _raised_by(error)
    return isinstance(error, (ValueError, MemoryError)) and (
        place.partition(".")[0] == "manyview" or place == "sklearn.utils._param_validation"
    )


def describe(error: BaseException) -> str:
    """Say what is wrong, and what to do."""
    if isinstance(error, UsageError):
        context = getattr(error, "ctx", None)
        hint = f" See: {context.command_path} --help" if context else ""
        return f"{error.format_message()}{hint}"
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename is not None else error.strerror
    if is_bad_input(error):
        return in_options(str(error))
    what = f"{type(error).__name__}: {error}"
    return f"internal error, not your mistake: {what}. MANYVIEW_DEBUG=1 shows where; please report it with that text."


def in_options(text: str) -> str:
    """A text of the library that recommends arguments of Python, recommending options instead.

    Examples
    --------
    >>> in_options("Pass id_column=, or join='inner'; header=False says so.")
    'Pass --id, or --join inner; --no-header says so.'
    >>> in_options("Pass id_column='mouse no' if it is the id, id_column=False if not.")
    "Pass --id 'mouse no' if it is the id, --no-id if not."
    >>> in_options("Name it: labels='my table.csv:COLUMN'.")
    "Name it: --labels 'my table.csv:COLUMN'."
    >>> in_options("expected one column 'patient' (id_column).")
    "expected one column 'patient' (--id)."
    >>> in_options("If so, pass scaling={'a b': 'max'}.")
    "If so, pass --scale 'a b=max'."
    >>> in_options("scaling={nothing} is no dict.")
    'scaling={nothing} is no dict.'
    """
    text = _SCALING.sub(_as_scales, text)
    return _NAMED.sub(lambda found: f"(--{_option(found[1])})", _KEYWORD.sub(_as_option, text))


def _as_scales(found: re.Match[str]) -> str:
    """The options for scalings that a text recommends for some views; the text itself if it is no dict of Python."""
    try:
        scaling = ast.literal_eval(found[1])
    except (SyntaxError, ValueError):
        return found[0]
    return " ".join(f"--scale {shlex.quote(f'{view}={name}')}" for view, name in dict(scaling).items())


def _as_option(found: re.Match[str]) -> str:
    """The option for an argument that a text recommends, with its value if it has one."""
    name, value, other, switch = found.groups()
    value = other if value is None else value
    return f"--{'no-' if switch == 'False' else ''}{_option(name)}" + (
        "" if value is None else f" {shlex.quote(value)}"
    )


def _option(argument: str) -> str:
    return "id" if argument == "id_column" else argument.replace("_", "-")


def _raised_by(error: BaseException) -> str:
    """Name the module whose code raised ``error``."""
    place = error.__traceback__
    if place is None:
        return ""
    while place.tb_next is not None:
        place = place.tb_next
    return str(place.tb_frame.f_globals.get("__name__", ""))


def _leave_pipe() -> None:
    """Nobody reads on, as in ``manyview ... | head``: keep Python from complaining about it when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
