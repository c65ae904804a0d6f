"""Nothing grows in a process that fits again and again; ``soak.py`` is the long version."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

SIZE = int(os.environ.get("MANYVIEW_SOAK", "300"))
spec = importlib.util.spec_from_file_location("soak", Path(__file__).with_name("soak.py"))
assert spec is not None
assert spec.loader is not None
soak = importlib.util.module_from_spec(spec)
spec.loader.exec_module(soak)

needs_proc = pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="memory is looked up in /proc")


@pytest.mark.slow
@needs_proc
def test_nothing_grows():
    # in a process of its own: what other tests have left is given back at other times
    done = subprocess.run([sys.executable, soak.__file__, "--fits", str(SIZE)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def looks(memory, **others):
    base = {"open_files": 5, "threads": 1, "left_files": 0}
    return [
        soak.Look(5 * i, memory(5 * i), **{**base, **{name: value(i) for name, value in others.items()}})
        for i in range(100)
    ]


def test_growth_is_seen_and_a_step_is_not_growth():
    assert soak.judge(looks(lambda fits: 10**8)) == []
    assert soak.judge(looks(lambda fits: 10**8 + 10**6 * (fits > 450))) == []
    assert soak.judge(looks(lambda fits: 10**8 + 10_000 * fits)) == [
        "memory grew by 10000 bytes per fit, more than 8192"
    ]
    assert soak.judge(looks(lambda fits: 10**8, threads=lambda i: i)) == ["threads grew from 20 to 99"]


@needs_proc
def test_a_look_counts_what_is_there(tmp_path):
    (tmp_path / "left").write_text("x")
    before = soak.look(1, tmp_path)
    with open(tmp_path / "left", encoding="ascii"):
        after = soak.look(2, tmp_path)
    assert after.open_files == before.open_files + 1
    assert before.left_files == 1
    assert before.memory > 2**20
