"""The command line: ``manyview``, or ``python -m manyview``.

Commands are thin: they read arguments, call the library and print. Results go to stdout, progress and errors to stderr.
Exit codes are 0 for done, 2 for bad input or usage, 1 for an error in manyview itself, 130 after Ctrl-C and 143 after
SIGTERM. ``manyview audit --fail`` also has 3, for an answer that does not hold.

Nothing that computes is imported before a command needs it, so that help and mistakes are answered at once.
"""

from manyview.cli._app import app, main

__all__ = ["app", "main"]
