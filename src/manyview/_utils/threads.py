"""Linear algebra in one thread, also where several threads of this process ask for it at the same time."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache

from threadpoolctl import LibController, ThreadpoolController

_lock = threading.Lock()
_inside: set[object] = set()
_before: dict[str, tuple[LibController, int]] = {}  # by file, what is to be given back when the last one has left


@contextmanager
def one_thread() -> Iterator[None]:
    """Hold BLAS and OpenMP to one thread each, and give them back when nobody is inside any more.

    With more threads they add up in another order; with one, a result has the same bits however many cores there are.
    OpenMP has a limit for each thread. That of most BLAS libraries is one for the whole process, so those that are
    inside at the same time share it: the first sets it, the last one restores it.

    Examples
    --------
    >>> from threadpoolctl import threadpool_info
    >>> import numpy
    >>> from manyview._utils.threads import one_thread
    >>> with one_thread():
    ...     {library["num_threads"] for library in threadpool_info()}
    {1}
    """
    me, own = object(), []
    try:  # around all of it: Ctrl-C may come at any moment
        with _lock:
            _inside.add(me)
            for library in _libraries(len(sys.modules)):
                n_threads = library.num_threads
                if n_threads is None:  # it does not tell, and cannot be told
                    continue
                if _is_of_each_thread(library):
                    own.append((library, n_threads))
                else:
                    _before.setdefault(library.filepath, (library, n_threads))
                _set_threads(library, 1)
        yield
    finally:
        for library, n_threads in own:
            _set_threads(library, n_threads)
        with _lock:
            _inside.discard(me)
            while _before and not _inside:
                _set_threads(*_before.popitem()[1])


@lru_cache(maxsize=1)
def _libraries(n_modules: int) -> list[LibController]:
    """What is loaded now. Libraries come with modules, and the search for them takes long."""
    return ThreadpoolController().lib_controllers


def _is_of_each_thread(library: LibController) -> bool:
    return "openmp" in (library.user_api, getattr(library, "threading_layer", None))


def _set_threads(library: LibController, n_threads: int) -> None:
    # Later versions of threadpoolctl let only one thread change OpenBLAS, until it says that it is done. Here it may
    # be one that sets the limit and another that restores it.
    free = getattr(library, "clear_controlling_thread", lambda force: None)
    free(force=True)
    library.set_num_threads(n_threads)
    free(force=True)


def _forget_other_threads() -> None:
    """In a child process there is only the thread that forked. What is to be given back stays as it is."""
    global _lock
    _lock = threading.Lock()
    _inside.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_other_threads)
