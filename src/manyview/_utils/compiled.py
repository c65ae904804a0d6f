"""Compiled kernels, kept in a cache where there is room for one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba


def njit(*, cache: bool, **options: Any) -> Callable[[Callable[..., Any]], Any]:
    """``numba.njit``, which refuses to import a module if it finds no folder to keep what it compiles.

    That is so for a package in a folder that cannot be written to, and a user without a home: then every process
    compiles for itself.
    """

    def compile_lazily(function: Callable[..., Any]) -> Any:
        try:
            return numba.njit(cache=cache, **options)(function)
        except RuntimeError as error:
            if "no locator available" not in str(error):
                raise
            return numba.njit(**options)(function)

    return compile_lazily
