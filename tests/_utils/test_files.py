from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

import pytest

from manyview._utils import files
from manyview._utils.files import whole_file, write_folder, write_whole


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


def test_a_function_writes_and_a_link_stays_a_link(tmp_path):
    target, link = tmp_path / "target.bin", tmp_path / "link.bin"
    link.symlink_to(target)
    write_whole(link, lambda file: file.write(b"\x00\x01"))
    assert link.is_symlink()
    assert target.read_bytes() == b"\x00\x01"


def test_what_fails_inside_leaves_the_old_file(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")

    def fail_in_the_middle():
        with whole_file(path) as file:
            file.write(b"new")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail_in_the_middle()
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_a_new_file_keeps_the_permissions_of_the_old_one(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    path.chmod(0o604)
    write_whole(path, "new")
    assert path.stat().st_mode & 0o777 == 0o604


def test_a_folder_is_made_and_filled(tmp_path):
    folder = tmp_path / "new" / "inner"
    write_folder(folder, {"a.txt": "text", "b.bin": b"\xff", "c.txt": lambda file: file.write(b"written")})
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == {
        "a.txt": b"text",
        "b.bin": b"\xff",
        "c.txt": b"written",
    }


def full_disk(file):
    file.write(b"some")
    raise OSError(28, "No space left on device")


def test_of_several_files_all_or_none(tmp_path):
    folder = tmp_path / "out"
    with pytest.raises(OSError, match=r"cannot be written: No space left on device: '.*out/b\.txt'"):
        write_folder(folder, {"a.txt": "new", "b.txt": full_disk})
    assert not folder.exists()
    folder.mkdir()
    (folder / "a.txt").write_text("old")
    (folder / "mine.txt").write_text("mine")
    with pytest.raises(OSError, match="No space left"):
        write_folder(folder, {"a.txt": "new", "b.txt": full_disk})
    assert {path.name: path.read_text() for path in folder.iterdir()} == {"a.txt": "old", "mine.txt": "mine"}


def test_a_disk_that_is_full_when_the_last_bytes_arrive(tmp_path, monkeypatch):
    (tmp_path / "a.txt").write_text("old")
    monkeypatch.setattr(os, "fsync", lambda number: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(OSError, match="No space left"):
        write_folder(tmp_path, {"a.txt": "new"})
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"a.txt": "old"}


def test_a_file_in_place_of_the_folder(tmp_path):
    (tmp_path / "out").write_text("a file")
    with pytest.raises(FileExistsError, match=r"cannot be written: File exists: '.*out'"):
        write_folder(tmp_path / "out", {"a.txt": "new"})


def interrupt_at(monkeypatch, name, n_th, number=signal.SIGINT):
    """Send a signal when a function of ``os`` has been called so often."""
    original, calls = getattr(os, name), []

    def call(*args, **options):
        result = original(*args, **options)
        calls.append(args)
        if len(calls) == n_th:
            signal.raise_signal(number)
        return result

    monkeypatch.setattr(os, name, call)


def test_ctrl_c_between_two_names_waits_for_the_last(tmp_path, monkeypatch):
    for name in ("a", "b", "c"):
        (tmp_path / name).write_text("old")
    interrupt_at(monkeypatch, "replace", 1)
    with pytest.raises(KeyboardInterrupt):
        write_folder(tmp_path, {"a": "new", "b": "new"}, outdated=lambda: ["a", "c"])
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"a": "new", "b": "new"}
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_ctrl_c_as_soon_as_a_file_is_made_leaves_nothing(tmp_path, monkeypatch):
    def opened(*args):
        file = open(*args)  # noqa: SIM115
        signal.raise_signal(signal.SIGINT)
        return file

    monkeypatch.setattr(files, "open", opened, raising=False)
    for write in (lambda: write_whole(tmp_path / "a", "x"), lambda: write_folder(tmp_path / "b", {"a": "x"})):
        with pytest.raises(KeyboardInterrupt):
            write()
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(files.fcntl is None, reason="needs locks of POSIX")
def test_another_writer_waits(tmp_path):
    order = []

    def write():
        write_folder(tmp_path, {"a": "second"}, outdated=lambda: order.append("second") or ())

    with files._locked(tmp_path):  # locks are of open files, so a thread waits like a process
        thread = threading.Thread(target=write)
        thread.start()
        thread.join(0.2)
        order.append("first")
    thread.join(60)
    assert order == ["first", "second"]
    assert (tmp_path / "a").read_text() == "second"


def test_a_folder_without_locks_is_written_to(tmp_path, monkeypatch):
    def refuse(place, operation):
        raise OSError(95, "Operation not supported")

    if files.fcntl is not None:
        monkeypatch.setattr(files.fcntl, "flock", refuse)
    write_folder(tmp_path, {"a": "x"})
    assert (tmp_path / "a").read_text() == "x"
