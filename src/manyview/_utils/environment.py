"""Description of the environment that produced results: versions, machine, commit."""

from __future__ import annotations

import os
import platform
import subprocess
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import manyview
from manyview._utils.machine import physical_memory
from manyview._version import __version__

_PACKAGES = ("numpy", "scipy", "scikit-learn", "numba")


def describe_environment(workers: int) -> dict[str, Any]:
    """Describe versions, machine and number of workers as plain values, without names of machines or people."""
    return {
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "version": __version__,
        "commit": _commit(),
        "python": platform.python_version(),
        "packages": {name: version(name) for name in _PACKAGES},
        "machine": f"{platform.system()} {platform.machine()}, {_processor()}",
        "cores": cores(),
        "memory_bytes": physical_memory(),
        "workers": workers,
    }


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _commit() -> str | None:
    """Return the commit of the source tree, with "+changes" if it has been modified; None if there is none."""
    here = Path(manyview.__file__)
    if _git(here, "ls-files", "--error-unmatch", here.name) is None:  # not in a repository, or not in ours
        return None
    changed = _git(here, "status", "--porcelain", "--untracked-files=no", ".")
    head = _git(here, "rev-parse", "--short=12", "HEAD")
    return head and head + ("+changes" if changed else "")


def _git(file: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "-C", str(file.parent), *arguments], capture_output=True, text=True, check=True, timeout=10
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or "unknown processor"
