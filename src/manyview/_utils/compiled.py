"""Compilation of kernels with numba, with a cache on disk where a folder for it can be written."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numba
from numba.core import event


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


@contextmanager
def compiling(on_start: Callable[[], None], on_end: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Call ``on_start`` before a kernel is compiled within the block, and ``on_end`` after it.

    Neither is called where the kernel is in the cache. Kernels may be compiled within others, and in any thread.
    """

    class Listener(event.Listener):
        def on_start(self, event: event.Event) -> None:
            on_start()

        def on_end(self, event: event.Event) -> None:
            on_end()

    with event.install_listener("numba:compile", Listener()):
        yield


def cache_folder() -> str | None:
    """Return the folder in which compiled kernels are kept, one of several; None if every process compiles them."""
    return njit(cache=True)(_nothing).stats.cache_path


def _nothing() -> None:
    pass
