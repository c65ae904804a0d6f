from __future__ import annotations

import os
from pathlib import Path

import pytest

from manyview._files import write_whole


def test_writes_what_it_is_given(tmp_path):
    path = tmp_path / "out.csv"
    for text in ("a\r\nß\n", "shorter"):
        write_whole(path, text)
        assert path.read_bytes() == text.encode()
    assert os.listdir(tmp_path) == ["out.csv"]


def test_a_full_disk_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "out.html"
    path.write_text("old")

    def full(source, target):
        raise OSError(28, "No space left on device", source)

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match=r"cannot be written: No space left on device: '.*/out\.html'"):
        write_whole(path, "new")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["out.html"]


def test_text_that_cannot_be_encoded_leaves_nothing(tmp_path):
    with pytest.raises(UnicodeEncodeError):
        write_whole(tmp_path / "out.html", "\udc80")
    assert os.listdir(tmp_path) == []


def test_a_folder_is_refused(tmp_path):
    with pytest.raises(IsADirectoryError, match="cannot be written: Is a directory"):
        write_whole(tmp_path, "text")


@pytest.mark.skipif(not Path(os.devnull).is_char_device(), reason="needs a device file")
def test_a_device_is_written_to_and_not_replaced():
    write_whole(Path(os.devnull), "text")
    assert Path(os.devnull).is_char_device()
