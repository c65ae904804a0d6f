"""Files that are written as a whole, or not at all."""

from __future__ import annotations

import os
from pathlib import Path


def write_whole(path: Path, text: str) -> None:
    """Write ``text`` to a temporary name in the same folder, then give it the name ``path``.

    Whoever looks at ``path`` sees the old file, or none, or all of the new one.

    Raises
    ------
    OSError
        Named after ``path``. Nothing of the new file is left.
    """
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        if path.exists() and not path.is_file():  # a pipe, a terminal: there is no name to give
            path.write_text(text, encoding="utf-8", newline="")
            return
        try:
            with open(part, "x", encoding="utf-8", newline="") as file:
                file.write(text)
            os.replace(part, path)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        raise OSError(error.errno, f"cannot be written: {error.strerror}", str(path)) from error
