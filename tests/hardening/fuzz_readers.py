"""Spoil files of every format that the package reads, and read them.

    python tests/hardening/fuzz_readers.py --inputs 100000 --seed 0

Every input is read in a process of its own group. It may be read, or refused with a documented error that names the
file. All else is a failure: a crash, a hang, memory beyond ten times the file, code that is run, another error, a file
that is written or left open. ``--only mat5:17`` reads one input again, and shows what happens.
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import os
import resource
import runpy
import select
import shutil
import signal
import subprocess
import sys
import threading
import time
import zipfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import IO, Any

sys.path.insert(0, str(Path(__file__).parent))

from fuzzing import attacks, mutations, seeds, watch

Files = dict[str, bytes]
FORMATS = tuple(seeds.MAKERS)
HANG = 10.0
_ADDRESS_SPACE = 8 * 2**30  # what a process may take beyond what it has when it begins
_SLOW = ("spec", "store", "zarr", "shards", "folder")
_LARGE = 2**20  # smaller files say nothing about a ratio


# What is read ------------------------------------------------------------------------------------------------------


def _read_views(folder: Path, files: Files) -> Any:
    import manyview

    size = sum(map(len, files.values()))
    # The limit that a caller can set. The default is the memory of the machine: zeros deflate by a factor of 1,000.
    limit = {"max_bytes": 10 * size + 2**20}
    first = next(iter(files))
    if first.startswith("labels"):
        return manyview.read_views(folder / "views.npy", labels=folder / first, **limit)
    return manyview.read_views(folder / Path(first).parts[0], **limit)


def _open_views(folder: Path, files: Files) -> Any:
    import manyview

    return manyview.open_views({"view": folder / Path(next(iter(files))).parts[0]})


def _load_model(folder: Path, files: Files) -> Any:
    import manyview

    return manyview.load(folder / "data.model")


def _read_store(folder: Path, files: Files) -> Any:
    from manyview.experiments import Store

    with Store(folder / "data.db") as store:
        store.datasets()
        store.runs()
        keys = [key for key, _, _ in store.starts()]
        return store.results(keys)


def _load_spec(folder: Path, files: Files) -> Any:
    from manyview.experiments import load_spec

    return load_spec(folder / "data.toml")


_READ: dict[str, Callable[[Path, Files], Any]] = {
    "shards": _open_views,
    "zarr": _open_views,
    "model": _load_model,
    "store": _read_store,
    "spec": _load_spec,
}


# The inputs --------------------------------------------------------------------------------------------------------


class Inputs:
    """All inputs of a run: number ``i`` of a format is the same whenever it is asked for."""

    def __init__(self, seed: int, folder: Path) -> None:
        """Read the seeds and attacks that :meth:`prepare` has written to a folder."""
        self.seed = seed
        self.seeds: dict[str, list[Files]] = {}
        self.attacks: defaultdict[str, list[Files]] = defaultdict(list)
        with zipfile.ZipFile(folder / "sources.zip") as archive:
            for member in archive.namelist():
                kind, name, number, key = member.split("|")
                files = (self.seeds if kind == "seed" else self.attacks).setdefault(name, [])
                files += [{} for _ in range(1 + int(number) - len(files))]
                files[int(number)][key] = archive.read(member)

    @staticmethod
    def prepare(folder: Path, formats: tuple[str, ...], light: bool = False) -> None:
        """Write the seeds and, unless it shall be light, the attacks to a folder; the latter take some seconds."""
        attacks.write_outside(folder / "outside.h5")
        target = attacks.Target(str(folder / "marker"), str(folder / "outside.h5"))
        with zipfile.ZipFile(folder / "sources.zip", "w") as archive:
            for name in formats:
                for kind, made in (
                    ("seed", seeds.MAKERS[name]()),
                    ("attack", () if light else attacks.MAKERS[name](target)),
                ):
                    for number, files in enumerate(made):
                        for key, content in files.items():
                            archive.writestr(f"{kind}|{name}|{number}|{key}", content)

    def make(self, name: str, number: int) -> Files:
        """First the attacks as they are, then seeds and small attacks with changes."""
        rng, hostile, whole = Random(f"{self.seed} {name} {number}"), self.attacks[name], self.seeds[name]
        if number < len(hostile) + len(whole):
            return (hostile + whole)[number]
        small = [files for files in hostile if sum(map(len, files.values())) < 20_000]
        source = rng.choice(small if small and rng.random() < 0.15 else whole)
        chosen = rng.choice(list(source)) if rng.random() < 0.3 else next(iter(source))
        others = [files[key] for files in whole for key in files]
        changed = mutations.inside(chosen, source[chosen], rng, others) if rng.random() < 0.5 else None
        if changed is None:
            changed = mutations.mutated(source[chosen], rng, others)
        return {**source, chosen: changed}


# The process that reads --------------------------------------------------------------------------------------------


def work(seed: int, formats: tuple[str, ...], folder: Path, reader: str | None) -> None:
    """Read inputs as they are asked for on stdin; answer each with a line of JSON."""
    if reader is not None:
        own = runpy.run_path(reader)["read"]
        _READ.update(dict.fromkeys(FORMATS, lambda place, files: own(place / Path(next(iter(files))).parts[0])))
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    faulthandler.enable()
    inputs = Inputs(seed, folder)
    with TemporaryDirectory(dir=folder) as place:
        os.environ["TMPDIR"] = place
        watcher = watch.Watch(Path(place), folder / "marker")
        _serve(inputs, formats, reader is None, watcher, Path(place), answers)


def _serve(
    inputs: Inputs, formats: tuple[str, ...], warm_up: bool, watcher: watch.Watch, place: Path, answers: IO[str]
) -> None:
    for name in formats:  # what is imported or compiled at the first reading is no property of a file
        for files in inputs.seeds[name] if warm_up else ():
            _judge(name, files, watcher, place)
    limit = _address_space() + _ADDRESS_SPACE
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    answers.write("ready\n")
    answers.flush()
    for line in sys.stdin:
        name, number = line.split()
        files = inputs.make(name, int(number))
        faulthandler.dump_traceback_later(HANG - 1)
        begin = time.perf_counter()
        ending, wrong, taken = _judge(name, files, watcher, place)
        seconds = time.perf_counter() - begin
        faulthandler.cancel_dump_traceback_later()
        size = sum(map(len, files.values()))
        answers.write(json.dumps([ending, wrong, seconds, taken, size]) + "\n")
        answers.flush()


def _judge(name: str, files: Files, watcher: watch.Watch, folder: Path) -> tuple[str, list[str], int]:
    _write(files, folder)
    read = _READ.get(name, _read_views)
    named = sorted({part for key in files for part in (Path(key).name, Path(key).parts[0])})
    try:
        size = sum(map(len, files.values()))
        return watch.judged(lambda: read(folder, files), watcher, named, size, attacks.OUTSIDE)
    finally:
        _clean(folder)


def _write(files: Files, folder: Path) -> None:
    for key, content in files.items():
        path = folder / key
        if path.parent != folder:
            path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def _clean(folder: Path) -> None:
    for path in folder.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def _address_space() -> int:
    return int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")


# The process that asks ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Options:
    """What was asked for on the command line."""

    n_inputs: int
    light: bool
    seed: int
    formats: tuple[str, ...]
    n_jobs: int
    reader: str | None


@dataclass
class Tally:
    """What became of the inputs of one format."""

    endings: Counter[str] = field(default_factory=Counter)
    failures: list[tuple[int, str]] = field(default_factory=list)
    slowest: float = 0.0
    most: int = 0
    ratio: float = 0.0

    def add(self, number: int, ending: str, wrong: list[str], seconds: float, taken: int, size: int) -> None:
        """Count an input."""
        self.endings["failed" if wrong else ending] += 1
        self.failures += [(number, text) for text in wrong]
        self.slowest, self.most = max(self.slowest, seconds), max(self.most, taken)
        if size >= _LARGE:
            self.ratio = max(self.ratio, taken / size)


class Worker:
    """A process that reads, started again when it has ended."""

    def __init__(self, options: Options, folder: Path, number: int) -> None:
        self.options, self.folder = options, folder
        self.log_file = folder / f"log{number}"
        self.start()

    def start(self) -> None:
        """Start it, and wait until it is ready."""
        self.log: IO[bytes] = self.log_file.open("wb")
        command = [sys.executable, __file__, "--work", str(self.folder), "--seed", str(self.options.seed)]
        reader = [] if self.options.reader is None else ["--reader", self.options.reader]
        self.process = subprocess.Popen(
            [*command, "--formats", ",".join(self.options.formats), *reader],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log,
            start_new_session=True,
        )
        if self._answer(600) != b"ready\n":
            raise SystemExit(f"the process that reads did not start:\n{self.last_words()}")

    def _answer(self, seconds: float) -> bytes | None:
        assert self.process.stdout is not None
        ready, _, _ = select.select([self.process.stdout], [], [], seconds)
        return self.process.stdout.readline() if ready else None

    def ask(self, name: str, number: int) -> list[Any]:
        """Have an input read: how it ended, what is wrong, seconds, bytes of memory, bytes of the files."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{name} {number}\n".encode())
        self.process.stdin.flush()
        answer = self._answer(HANG + 2)
        if answer:
            return list(json.loads(answer))
        wrong = "hang" if answer is None else f"crash: exit code {self.end()}"
        words = self.last_words()
        self.end()
        self.start()
        return ["ended", [f"{wrong}\n{words}"], HANG if answer is None else 0.0, 0, 0]

    def last_words(self) -> str:
        """The end of what it has written to stderr."""
        return self.log_file.read_text(errors="replace")[-3000:]

    def end(self) -> int:
        """End the process and its group; return its exit code."""
        with_code = self.process.poll()
        if with_code is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        code = self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.log):
            if stream is not None:
                stream.close()
        return code


def fuzz(options: Options, show: Callable[[str], None]) -> dict[str, Tally]:
    """Read inputs; of the formats that take longest fewer than of the others."""
    tallies = {name: Tally() for name in options.formats}
    tasks = iter(_tasks(options))
    lock, begin, done = threading.Lock(), time.monotonic(), Counter[str]()

    def run(worker: Worker) -> None:
        while (task := _next(tasks, lock)) is not None:
            name, number = task
            answer = worker.ask(name, number)
            with lock:
                tallies[name].add(number, *answer)
                done["inputs"] += 1
                for text in answer[1]:
                    show(f"{name}:{number}: {text}")
                if done["inputs"] % 1000 == 0:
                    show(f"{done['inputs']:,} of {options.n_inputs:,} inputs, {time.monotonic() - begin:.0f} s")

    with TemporaryDirectory(prefix="fuzz-") as folder, ThreadPoolExecutor(options.n_jobs) as pool:
        Inputs.prepare(Path(folder), options.formats, options.light)
        workers = [Worker(options, Path(folder), number) for number in range(options.n_jobs)]
        try:
            list(pool.map(run, workers))
        finally:
            for worker in workers:
                worker.end()
    return tallies


def _tasks(options: Options) -> list[tuple[str, int]]:
    """Format and number of every input. All attacks and seeds have the lowest numbers."""
    found: list[tuple[str, int]] = []
    turn = 0
    while len(found) < options.n_inputs:
        for name in options.formats:
            if name not in _SLOW:
                found.append((name, turn))
            elif turn % 4 == 0:
                found.append((name, turn // 4))
        turn += 1
    return found[: options.n_inputs]


def _next(tasks: Iterator[tuple[str, int]], lock: threading.Lock) -> tuple[str, int] | None:
    with lock:
        return next(tasks, None)


def table(tallies: dict[str, Tally]) -> str:
    """One line per format, and one for all."""
    lines = ["format     inputs     read  refused   failed  slowest [s]  memory [MiB]  memory/file (from 1 MiB)"]
    total = Tally()
    for name, tally in tallies.items():
        lines.append(_line(name, tally))
        total.endings += tally.endings
        total.slowest, total.most = max(total.slowest, tally.slowest), max(total.most, tally.most)
        total.ratio = max(total.ratio, tally.ratio)
    return "\n".join([*lines, _line("all", total)])


def _line(name: str, tally: Tally) -> str:
    counts = [tally.endings.total(), *(tally.endings[ending] for ending in ("read", "refused", "failed"))]
    ratio = f"{tally.ratio:.1f}" if tally.ratio else "-"
    return (
        f"{name:8}"
        + "".join(f"{count:9,}" for count in counts)
        + f"{tally.slowest:13.2f}{tally.most / 2**20:14.0f}{ratio:>15}"
    )


def show_one(text: str, seed: int) -> None:
    """Read one input again, in this process, with the traceback of what it raises."""
    name, number = text.split(":")
    with TemporaryDirectory() as folder:
        place = Path(folder)
        Inputs.prepare(place, (name,))
        files = Inputs(seed, place).make(name, int(number))
        for key, content in files.items():
            print(f"{key}: {len(content):,} bytes: {content[:300]!r}")
        _write(files, place)
        print(_READ.get(name, _read_views)(place, files))


def main() -> int:
    """Run the program; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inputs", type=int, default=100_000, help="number of inputs, default 100000")
    parser.add_argument("--seed", type=int, default=0, help="other inputs with another seed, default 0")
    parser.add_argument("--formats", default=",".join(FORMATS), help=f"some of {','.join(FORMATS)}")
    parser.add_argument("--jobs", type=int, default=1, help="processes that read at once, default 1")
    parser.add_argument(
        "--light", action="store_true", help="seeds with changes only, without the files made to do harm"
    )
    parser.add_argument(
        "--reader", metavar="FILE", help="read with the function read(path) of this Python file instead"
    )
    parser.add_argument("--quiet", action="store_true", help="print the table only")
    parser.add_argument("--only", metavar="FORMAT:NUMBER", help="read one input, and show what happens")
    parser.add_argument("--work", help=argparse.SUPPRESS)
    options = parser.parse_args()
    formats = tuple(options.formats.split(","))
    if unknown := set(formats) - set(FORMATS):
        parser.error(f"--formats: there is no {', '.join(sorted(unknown))}")
    if options.work:
        work(options.seed, formats, Path(options.work), options.reader)
        return 0
    if options.only:
        show_one(options.only, options.seed)
        return 0
    quiet = (lambda text: None) if options.quiet else (lambda text: print(text, flush=True))
    asked = Options(options.inputs, options.light, options.seed, formats, options.jobs, options.reader)
    tallies = fuzz(asked, quiet)
    print(table(tallies))
    failures = [(name, *failure) for name, tally in tallies.items() for failure in tally.failures]
    print(f"{len(failures)} failure(s)")
    for name, number, text in failures[:20] if options.quiet else ():
        print(f"{name}:{number}: {text}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
