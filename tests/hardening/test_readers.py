"""Spoilt files of every format: a few of those that `fuzz_readers.py` makes, in each run of the suite."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("fuzz_readers.py")
FAST = "mat4,mat5,mat73,npy,csv,mtx,wild,h5ad,h5mu,tenx,store,spec"


def fuzz(*words):
    return subprocess.run([sys.executable, SCRIPT, "--quiet", *words], capture_output=True, text=True, timeout=600)


def counts(output):
    """Inputs, read, refused and failed, of all formats together."""
    line = next(line for line in output.splitlines() if line.startswith("all "))
    return [int(word.replace(",", "")) for word in line.split()[1:5]]


def test_spoilt_files_are_read_or_refused():
    done = fuzz("--inputs", "400", "--light", "--formats", FAST)
    assert done.returncode == 0, done.stdout + done.stderr
    n_inputs, n_read, n_refused, n_failed = counts(done.stdout)
    assert (n_inputs, n_read + n_refused, n_failed) == (400, 400, 0)
    assert min(n_read, n_refused) > 20


@pytest.mark.slow
def test_every_attack_and_many_spoilt_files():
    done = fuzz("--inputs", "5000", "--seed", "1")
    assert done.returncode == 0, done.stdout + done.stderr


MISBEHAVIOUR = {
    "undocumented: KeyError": "raise KeyError('x')",
    "memory: ": "kept = bytearray(10**8); kept[::4096] = bytes(len(kept[::4096]))",
    "code: pickle.find_class": "import pickle; pickle.loads(b'cposix\\ngetpid\\n(tR.')",
    "left behind": "open(str(path) + '.tmp', 'w').close()",
    "wrote: open": "open('/dev/null', 'w').close()",
    "text: does not name the file": "raise FileFormatError('bad')",
    "text: not printable": "raise Loud(f'{path}: \\x1b[2J')",
    "left open": "os.open(path, os.O_RDONLY)",
    "crash: exit code -6": "os.abort()",
}
READER = """
import itertools, os
from manyview.exceptions import FileFormatError

class Loud(FileFormatError):
    __str__ = Exception.__str__

def read(path, numbers=itertools.count()):
    exec(CODE[next(numbers)])
"""


def test_a_reader_that_misbehaves_is_found(tmp_path):
    """The program can fail: it is given a reader that does what it must not, each time something else."""
    reader = tmp_path / "reader.py"
    reader.write_text(f"CODE = {list(MISBEHAVIOUR.values())!r}\n{READER}")
    words = ("--inputs", str(len(MISBEHAVIOUR)), "--light", "--formats", "npy", "--reader", str(reader))
    done = fuzz(*words)
    assert done.returncode == 1, done.stdout + done.stderr
    told = [line.split(": ", 1)[1] for line in done.stdout.splitlines() if line.startswith("npy:")]
    for text, found in zip(MISBEHAVIOUR, told, strict=True):
        assert found.startswith(text)
