"""Compilation of kernels with numba, with a cache on disk where a folder for it can be written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba


def njit(*, cache: bool, **options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Compile as ``numba.njit`` does, without a cache where there is no folder for one.

    ``numba.njit(cache=True)`` raises an error if neither the folder of the package nor a home folder can be written to.
    Every process then compiles on its own.
    """

    def compile_lazily(function: Callable[..., Any]) -> Any:
        try:
            return numba.njit(cache=cache, **options)(function)
        except RuntimeError as error:
            if "no locator available" not in str(error):
                raise
            return numba.njit(**options)(function)

    return compile_lazily
