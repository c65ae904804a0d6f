"""From folders of parquet shards to shards of labels: seconds, peak memory, and how often every row is read.

    python benchmarks/shards.py                            2,000,000 samples in three views of 32 features, float32
    python benchmarks/shards.py --samples 500000 1000000   sizes to compare

Ways: the arrays in memory; `manyview cluster a/ b/ c/ --id item -k 10` in a process of its own; and open_views, fit,
write_labels and write_report with two Dask workers, of which one is killed on the way in another run. Every way is a
process of its own, and its kernels are compiled before. Rows are in random order. The labels of all ways are compared.

Reads are counted in `manyview.io._shards.read_block`: rows read, divided by the rows of all views, for every step.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

N_VIEWS, N_FEATURES, N_CLUSTERS, SHARD_ROWS = 3, 32, 10, 100_000
NAMES = [f"view{v}" for v in range(N_VIEWS)]
READS = "MANYVIEW_COUNT_READS"  # a file that every process appends its reads to


def write_shards(folder: Path, n_samples: int) -> np.ndarray:
    """Write clear clusters as parquet shards with ids, a folder per view; return the classes."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    labels = rng.integers(0, N_CLUSTERS, n_samples)
    for name in NAMES:
        (folder / name).mkdir(parents=True)
        centres = rng.standard_normal((N_CLUSTERS, N_FEATURES), dtype=np.float32)
        for part, start in enumerate(range(0, n_samples, SHARD_ROWS)):
            own = labels[start : start + SHARD_ROWS]
            values = centres[own] + np.float32(0.3) * rng.standard_normal((len(own), N_FEATURES), dtype=np.float32)
            table = {"item": np.arange(start, start + len(own))} | {f"f{j}": values[:, j] for j in range(N_FEATURES)}
            pq.write_table(pa.table(table), folder / name / f"part-{part}.parquet", row_group_size=32768)
    return labels


def count_reads() -> None:
    """Write the number of rows of every read to a file, with the step of the fit that reads."""
    from manyview.engines import LocalRows
    from manyview.io import _open, _shards
    from manyview.views import fingerprint, on_disk

    read, each = _shards.read_block, LocalRows._each

    def counted(block: Any) -> np.ndarray:
        with open(os.environ[READS], "a") as file:
            file.write(f"{STEP['now']} {sum(span.stop - span.start for span in block.spans)}\n")
        return read(block)

    def steps(self: Any, function: Any, small: Any) -> Any:
        STEP["now"] = STEPS.get(function.__name__, function.__name__)
        yield from each(self, function, small)

    def named(step: str, function: Any) -> Any:
        def run(*arguments: Any) -> Any:
            STEP["now"] = step
            return function(*arguments)

        return run

    _shards.read_block = _open.read_block = counted
    LocalRows._each = steps
    fingerprint._chunk_digests = named("checksum", fingerprint._chunk_digests)
    on_disk.load_samples = named("report", on_disk.load_samples)


STEP = {"now": "blocks"}
STEPS = {"_look": "hash", "_pick": "draw", "_find_candidates": "second draw", "_assign": "assign"}


def passes(file: Path, n_samples: int) -> dict[str, float]:
    """Return the rows read in every step, as a multiple of the rows of all views."""
    counts: Counter[str] = Counter()
    for line in file.read_text().splitlines() if file.exists() else ():
        step, rows = line.rsplit(" ", 1)
        counts[step] += int(rows)
    return {step: round(rows / n_samples / N_VIEWS, 3) for step, rows in counts.items()}


def warm_up() -> None:
    """Compile or load the kernels, in memory and in blocks."""
    from manyview import GraphEnsemble

    rng = np.random.default_rng(1)
    few = [rng.standard_normal((2000, N_FEATURES)).astype(np.float32) for _ in NAMES]
    GraphEnsemble(N_CLUSTERS, random_state=0, learn_on=600).fit(few)


def peak() -> float:
    return max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)) / 1e6


def in_memory(folder: Path, out: Path) -> dict[str, Any]:
    """Read the shards to arrays, and fit these; only the fit is measured."""
    from manyview import GraphEnsemble, open_views

    views = open_views({name: folder / name for name in NAMES}, skip_columns=["item"])
    arrays = [array.compute() for array in views.arrays]
    warm_up()
    start = time.perf_counter()
    model = GraphEnsemble(N_CLUSTERS, random_state=0).fit(arrays)
    seconds = time.perf_counter() - start
    np.save(out / "labels.npy", model.labels_)
    return {"seconds": seconds}


def command_line(folder: Path, out: Path) -> dict[str, Any]:
    """Run `manyview cluster` as it is called, with counted reads."""
    from manyview.cli import main

    warm_up()
    start = time.perf_counter()
    words = ["cluster", *(str(folder / name) for name in NAMES), "--id", "item", "-k", str(N_CLUSTERS)]
    sys.argv = ["manyview", *words, "--out", str(out)]
    try:
        main()
    except SystemExit as end:
        if end.code:
            raise
    timings = json.loads((out / "result.json").read_text())["timings"]
    return {"seconds": time.perf_counter() - start, "timings": timings}


def workers(folder: Path, out: Path, kill: bool = False) -> dict[str, Any]:
    """Fit on two Dask workers, write labels and report."""
    from distributed import Client, LocalCluster

    from manyview import GraphEnsemble, open_views, write_labels
    from manyview.report import write_report

    cluster = LocalCluster(n_workers=2, threads_per_worker=1, memory_limit="4GB", dashboard_address=None)
    with cluster, Client(cluster) as client:
        client.run(count_reads)
        client.run(warm_up)
        pids = client.run(os.getpid)
        start = time.perf_counter()
        if kill:
            threading.Timer(15, os.kill, (min(pids.values()), signal.SIGKILL)).start()
        views = open_views({name: folder / name for name in NAMES}, id_column="item")
        model = GraphEnsemble(N_CLUSTERS, random_state=0).fit(views)
        client.gather(client.compute(model.labels_.sum()))
        fitted = time.perf_counter() - start
        write_labels(model, out / "labels", ids=views)
        labelled = time.perf_counter() - start
        write_report(model, views, out / "report.html")
        seconds = time.perf_counter() - start
        memory = client.run(lambda: __import__("resource").getrusage(0).ru_maxrss / 1e6)
        lost = len(set(pids.values()) - set(client.run(os.getpid).values()))
    timings = {"fit": fitted, "labels": labelled - fitted, "report": seconds - labelled}
    return {"seconds": seconds, "timings": timings, "workers": sorted(memory.values()), "lost": lost}


def killed(folder: Path, out: Path) -> dict[str, Any]:
    return workers(folder, out, kill=True)


WAYS = {"memory": in_memory, "command": command_line, "workers": workers, "killed": killed}


def run_here(way: str, folder: Path, out: Path) -> None:
    """Run one way in this process, and print what was measured as the last line."""
    out.mkdir(exist_ok=True)
    count_reads()
    found = WAYS[way](folder, out)
    print(json.dumps(found | {"peak": peak()}), flush=True)


def labels_in(out: Path) -> np.ndarray:
    import pandas as pd

    if (out / "labels.npy").exists():
        return np.load(out / "labels.npy")
    table = pd.read_parquet(out / "labels")
    if table["sample"].tolist() != list(range(len(table))):
        raise AssertionError("the ids of the shards are not those of the views")
    return table["cluster"].to_numpy()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, nargs="+", default=[2_000_000])
    parser.add_argument("--ways", nargs="+", choices=list(WAYS), default=list(WAYS))
    parser.add_argument("--here", nargs=3, metavar=("WAY", "FOLDER", "OUT"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.here:
        way, folder, out = options.here
        run_here(way, Path(folder), Path(out))
        return
    for n_samples in options.samples:
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            labels = write_shards(folder / "data", n_samples)
            print(f"{n_samples:,} samples, {sum(f.stat().st_size for f in folder.rglob('*.parquet')) / 1e9:.2f} GB")
            first, seconds = None, None
            for way in options.ways:
                reads = folder / f"{way}.reads"
                words = [sys.executable, __file__, "--here", way, str(folder / "data"), str(folder / way)]
                done = subprocess.run(words, env=os.environ | {READS: str(reads)}, capture_output=True, text=True)
                if done.returncode:
                    raise SystemExit(done.stderr)
                found = json.loads(done.stdout.splitlines()[-1])
                own = labels_in(folder / way)
                first = own if first is None else first
                seconds = found["seconds"] if seconds is None else seconds
                accuracy = __import__("manyview").metrics.accuracy(labels, own)
                warned = done.stderr.count("Detected different")
                print(
                    f"{way}: {found['seconds']:.1f} s, {found['seconds'] / seconds:.2f} times the first; "
                    f"peak {found['peak']:.2f} GB; ACC {accuracy:.4f}; same labels: {np.array_equal(own, first)}; "
                    f"reads {passes(reads, n_samples)}; "
                    f"{ {k: v for k, v in found.items() if k not in ('seconds', 'peak')} }; {warned} warnings of keys",
                    flush=True,
                )


if __name__ == "__main__":
    main()
