"""Waiting for Dask workers without hanging: failures raise errors that name them, within a bounded time."""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from manyview.exceptions import EngineError

# Seconds between two checks of the state of the cluster. Most rounds finish before the first.
_POLL = 1.0

_SMALLER = (
    "Make the blocks smaller (fewer rows per chunk), give each worker more memory (memory_limit of the cluster), "
    "or add workers"
)


def collect(client: Any, futures: Sequence[Any], patience: float, stop: threading.Event | None = None) -> list:
    """Return the results of the futures, in their order.

    Parameters
    ----------
    client : distributed.Client
    futures : sequence of distributed.Future
        Released at the end, also if the wait is interrupted, so that no worker continues on them.
    patience : float
        Seconds that the cluster may stay in a state without progress.
    stop : threading.Event, optional
        Ends the wait when it is set.

    Raises
    ------
    EngineError
        If the results cannot be computed. Errors of the called functions are raised unchanged.
    """
    check_connected(client)
    waiting = _in_loop(client, lambda: client.gather(futures, asynchronous=True))
    try:
        _watch(client, futures, waiting, patience, stop)
        return waiting.result()
    except EngineError:
        raise
    except (Exception, concurrent.futures.CancelledError) as error:
        raise _explained(client, futures, error) from error
    finally:
        waiting.cancel()
        for future in futures:
            future.release()


def check_connected(client: Any) -> None:
    """Raise an error if the client has lost its scheduler."""
    if client.status != "running":
        raise EngineError(
            f"The Dask client is not connected to its scheduler any more (status: {client.status}). What the workers "
            "held is lost: start a cluster and a Client, and fit again."
        )


def workers(client: Any, timeout: float) -> dict[str, dict[str, Any]]:
    """Return the scheduler's description of each worker; raise an error if it does not answer in time."""
    check_connected(client)
    asked = _in_loop(client, lambda: client.scheduler.identity(n_workers=-1))
    try:
        return asked.result(timeout)["workers"]
    except (TimeoutError, OSError) as error:
        raise EngineError(
            f"The Dask scheduler does not answer ({str(error) or 'no answer'}). Check that it runs and that the "
            "network to it is up, then fit again."
        ) from error
    finally:
        asked.cancel()


def _in_loop(client: Any, call: Callable[[], Any]) -> concurrent.futures.Future:
    async def wait() -> Any:
        return await call()

    return asyncio.run_coroutine_threadsafe(wait(), client.loop.asyncio_loop)


def _watch(
    client: Any,
    futures: Sequence[Any],
    waiting: concurrent.futures.Future,
    patience: float,
    stop: threading.Event | None,
) -> None:
    """Return when the wait is over; raise an error if nothing was computed for too long and the reason is known."""
    n_done, last_progress = 0, time.monotonic()
    while not concurrent.futures.wait([waiting], timeout=_POLL).done:
        if stop is not None and stop.is_set():
            raise EngineError("Given up, because another task has failed.")
        check_connected(client)
        trouble, before = _trouble(client), n_done
        n_done = sum(future.done() for future in futures)
        if trouble is None or n_done > before:
            last_progress = time.monotonic()
        elif time.monotonic() - last_progress > patience:
            raise EngineError(f"Nothing got done for {patience:g} seconds. {trouble}")


def _trouble(client: Any) -> str | None:
    """Return why the cluster may make no progress, or None."""
    try:
        found = workers(client, timeout=_POLL)
    except EngineError as error:
        return str(error)
    if not found:
        return "The Dask cluster has no workers. Start some (cluster.scale(2), or dask worker), then fit again."
    paused = sum(worker["status"] == "paused" for worker in found.values())
    if paused:
        return f"{paused} of {len(found)} Dask workers are paused because their memory is full. {_SMALLER}."
    if not any(worker["status"] == "running" for worker in found.values()):
        return f"None of the {len(found)} Dask workers accepts work. Start others, then fit again."
    return None


def _explained(client: Any, futures: Sequence[Any], error: BaseException) -> BaseException:
    """Return the error to raise: that of a function unchanged, that of the cluster with an explanation."""
    from distributed.scheduler import KilledWorker

    if isinstance(error, KilledWorker):
        return EngineError(
            f"A Dask worker died while it worked on a block, {error.allowed_failures + 1} times in a row. Most often a "
            f"block needs more memory than a worker has. {_SMALLER}. The logs of the workers may say more."
        )
    if isinstance(error, MemoryError):
        return EngineError(f"A Dask worker ran out of memory ({error}). {_SMALLER}.")
    if any(future.status == "error" for future in futures):
        return error
    check_connected(client)
    return EngineError(
        f"The work was lost on its way ({str(error) or type(error).__name__}). The connection to the Dask scheduler "
        "broke, the cluster was restarted, or data was lost that cannot be computed again: fit again."
    )
