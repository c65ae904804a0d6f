"""``manyview warm-up``: compile once what the first fit would compile."""

from __future__ import annotations

import time
from dataclasses import replace

import typer

from manyview.cli._progress import fit_progress


def warm_up() -> None:
    """Compile the code of the default method and keep it, so that the first fit is as fast as any other.

    Run it once after the installation, or when an image of a container is built. The folder is
    manyview/compiled in the user's cache folder; the environment variable NUMBA_CACHE_DIR names another.
    """
    from manyview._utils.compiled import cache_folder

    start = time.process_time()
    with fit_progress():
        _fit_every_kind()
    took, folder = f"Compiled in {time.process_time() - start:.0f} s", cache_folder()
    if folder is None:
        lost = "but there is no folder to keep it in: set NUMBA_CACHE_DIR to one that can be written to."
        typer.echo(f"manyview: {took}, {lost}", err=True)
        raise typer.Exit(2)
    typer.echo(f"{took}. Kept in {folder} and beside it.")


def _fit_every_kind() -> None:
    """Fit, predict and describe small views that are dense, in single precision, sparse and incomplete."""
    import numpy as np
    import scipy.sparse as sp

    from manyview.cluster import GraphEnsemble
    from manyview.datasets import make_multiview
    from manyview.description import describe
    from manyview.views import Views

    views = make_multiview(150, 3, noise=1.0, random_state=0)
    present = np.ones((150, views.n_views), dtype=bool)
    present[::5, 0] = False
    single = tuple(array.astype(np.float32) for array in views.arrays)
    counts = tuple(sp.csr_array(np.maximum(array, 0.0)) for array in views.arrays)
    for given in (views, Views(single), Views(counts), replace(views, present=present)):
        for learn_on in ("auto", 100):
            model = GraphEnsemble(3, n_members=8, random_state=0, learn_on=learn_on).fit(given)
        model.predict(given)
    describe(views, model.fit(views))
