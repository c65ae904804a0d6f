from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from manyview._utils import machine


@pytest.fixture
def system(tmp_path, monkeypatch):
    """A machine with 8 GiB available, no container."""
    monkeypatch.setattr(machine, "_MEMINFO", tmp_path / "meminfo")
    monkeypatch.setattr(machine, "_CONTAINER", tmp_path)
    (tmp_path / "meminfo").write_text("MemTotal: 16777216 kB\nMemAvailable: 8388608 kB\n")
    return tmp_path


def test_what_the_system_calls_available(system):
    assert machine.available_memory() == 8 * 2**30


def test_a_container_may_use_less(system):
    (system / "memory.max").write_text(str(4 * 2**30))
    (system / "memory.current").write_text(str(3 * 2**30))
    (system / "memory.stat").write_text(f"anon 5\ninactive_file {2 * 2**30}\n")
    assert machine.available_memory() == 3 * 2**30  # the file cache is given back


def test_a_container_without_a_limit(system):
    (system / "memory.max").write_text("max\n")
    assert machine.available_memory() == 8 * 2**30


@pytest.mark.parametrize("content", [None, "", "MemAvailable: many kB\n"], ids=["no file", "empty", "not a number"])
def test_a_system_that_does_not_tell(system, content):
    (system / "meminfo").unlink() if content is None else (system / "meminfo").write_text(content)
    assert machine.available_memory() == machine.physical_memory()


def test_the_real_machine():
    assert 2**20 < machine.available_memory() <= machine.physical_memory()


def test_too_much_is_refused_with_figures_and_advice(system):
    machine.check_memory("MVGL", 7 * 2**30, "9 samples", "Use less.")
    message = r"MVGL needs about 9\.5 GiB for 30000 samples; 8\.0 GiB are available\. Use GraphEnsemble\."
    with pytest.raises(MemoryError, match=message):
        machine.check_memory("MVGL", 9.5 * 2**30, "30000 samples", "Use GraphEnsemble.")


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="the system does not tell the peak of a process")
def test_the_peak_of_this_process_can_begin_anew():
    block = np.ones(2**25)
    after = machine.peak_memory()
    assert after >= block.nbytes
    del block
    machine.reset_peak()
    assert machine.peak_memory() < after
    assert machine.resident_memory() <= machine.peak_memory()
    assert machine.resident_memory(os.getpid()) > 2**20


def test_a_process_that_the_system_does_not_tell_of(tmp_path, monkeypatch):
    monkeypatch.setattr(machine, "_PROCESSES", tmp_path)
    machine.reset_peak()
    assert machine.peak_memory() is None
    assert machine.resident_memory(123) is None
