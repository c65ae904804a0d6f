"""Compilation of kernels with numba, with a cache on disk where a folder for it can be written.

The cache is in the user's cache folder, and not beside the modules as numba would have it: files there would stay when
the package is uninstalled.

Compilation is what makes the first fit after an installation slow, so kernels are compiled without what is not used.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import numba
from numba.core import event

from manyview._utils.files import user_cache


def njit(*, cache: bool, **options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Compile as ``numba.njit`` does, without a cache where there is no folder for one.

    Kernels are called from Python and from other kernels, so there are no wrappers for calls from C.

    The folder is that of ``NUMBA_CACHE_DIR``, or one of the user. ``numba.njit(cache=True)`` raises an error if neither
    these nor the folder of the package can be written to. Every process then compiles on its own.
    """
    options.setdefault("no_cfunc_wrapper", True)

    def compile_lazily(function: Callable[..., Any]) -> Any:
        try:
            with _in_user_cache():
                return numba.njit(cache=cache, **options)(function)
        except RuntimeError as error:
            if "no locator available" not in str(error):
                raise
            return numba.njit(**options)(function)

    return compile_lazily


@contextmanager
def _in_user_cache() -> Iterator[None]:
    """Let numba keep what is declared in the block in the user's cache folder, unless another one is configured."""
    config: Any = numba.config
    configured = config.CACHE_DIR
    try:
        if not configured:
            with suppress(RuntimeError):  # a user without a home
                config.CACHE_DIR = str(user_cache() / "compiled")
        yield
    finally:
        config.CACHE_DIR = configured


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


class _WithoutGarbageCollection(event.Listener):
    """Stop Python's search for cyclic garbage while a kernel of this package is compiled.

    The compiler makes many objects that live until it ends. Searching all objects of the process again and again, as
    they become more, takes a sixth of the time of compilation. numba compiles one kernel at a time, and kernels within
    others.
    """

    def __init__(self) -> None:
        self._depth = 0
        self._was_enabled = False

    def on_start(self, event: event.Event) -> None:
        if _is_ours(event):
            if self._depth == 0:
                self._was_enabled = gc.isenabled()
                gc.disable()
            self._depth += 1

    def on_end(self, event: event.Event) -> None:
        if _is_ours(event):
            self._depth -= 1
            if self._depth == 0 and self._was_enabled:
                gc.enable()


def _is_ours(event: event.Event) -> bool:
    return event.data["dispatcher"].py_func.__module__.partition(".")[0] == __name__.partition(".")[0]


event.register("numba:compile", _WithoutGarbageCollection())


def cache_folder() -> str | None:
    """Return the folder in which compiled kernels are kept, one of several; None if every process compiles them."""
    return njit(cache=True)(_nothing).stats.cache_path


def _nothing() -> None:
    pass
