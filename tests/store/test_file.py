"""The file: whole or not at all, no byte changed unnoticed, and nothing in it is trusted."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import pickle
import stat
import tracemalloc
import zipfile

import joblib
import numpy as np
import pytest

from manyview._version import __version__
from manyview.exceptions import ModelFileError
from manyview.store import _file, read_file, write_file

TREE = {"name": "é", "list": [1, None, 2.5]}
ARRAYS = [
    np.arange(6.0).reshape(2, 3),
    np.asfortranarray(np.arange(6, dtype=">i4").reshape(2, 3)),
    np.arange(20)[::3],
    np.array(7, np.uint8),
    np.empty((0, 3)),
    np.array(["ab", "ü"]),
    np.array([True, False]),
]


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "model.manyview"
    write_file(path, TREE, ARRAYS)
    return path


def sealed(*pieces: bytes, first: str = "manyview-model format 2, written by manyview 9.9, {} bytes follow\n") -> bytes:
    """A file with the right length and checksum, whatever is in it."""
    body = b"".join(pieces)
    whole = first.format(len(body) + 65).encode() + body
    return whole + hashlib.sha256(whole).hexdigest().encode() + b"\n"


def header(arrays: object, content: object = None) -> bytes:
    return json.dumps({"arrays": arrays, "content": content}).encode() + b"\n"


def test_a_tree_and_arrays_come_back(path):
    tree, arrays = read_file(str(path))
    assert tree == TREE
    for found, array in zip(arrays, ARRAYS, strict=True):
        assert (found.dtype, found.shape) == (array.dtype, array.shape)
        assert found.tobytes() == array.tobytes()
        assert found.flags.writeable
        assert found.flags.owndata or found.base is None
    assert arrays[1].flags.f_contiguous


def test_the_file_is_what_its_documentation_says(path):
    first, second, rest = path.read_bytes().split(b"\n", 2)
    follow = len(second) + 1 + len(rest)
    assert first.decode() == f"manyview-model format 2, written by manyview {__version__}, {follow} bytes follow"
    assert json.loads(second)["content"] == TREE
    assert json.loads(second)["arrays"][:2] == [["<f8", [2, 3], "C"], [">i4", [2, 3], "F"]]
    assert rest.startswith(ARRAYS[0].tobytes() + ARRAYS[1].tobytes("F") + ARRAYS[2].tobytes())
    whole = path.read_bytes()
    assert whole[-65:].decode() == hashlib.sha256(whole[:-65]).hexdigest() + "\n"


def test_the_same_content_gives_the_same_bytes(path, tmp_path):
    write_file(tmp_path / "again", *read_file(path))
    assert (tmp_path / "again").read_bytes() == path.read_bytes()


@pytest.mark.parametrize("flip", [0x01, 0x20])
def test_every_changed_byte_is_noticed(path, flip):
    whole = path.read_bytes()
    for place in range(len(whole)):
        changed = bytearray(whole)
        changed[place] ^= flip
        path.write_bytes(changed)
        with pytest.raises(ModelFileError, match=r"model\.manyview: (is (damaged|cut short|something)|was written)"):
            read_file(path)


def test_every_shorter_and_longer_file_is_noticed(path):
    whole = path.read_bytes()
    for length in range(1, len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(ModelFileError, match=r"model\.manyview: is cut short: .*Get the file again"):
            read_file(path)
    path.write_bytes(whole + b"\n")
    with pytest.raises(ModelFileError, match=r"is damaged: it announces ([\d,]+) bytes and has"):
        read_file(path)


@pytest.mark.parametrize("number", [3, 10, 999999999])
def test_a_later_format_asks_for_a_newer_manyview(path, number):
    path.write_bytes(f"manyview-model format {number}, written by manyview 3.1.4, in another way\n\x00".encode())
    text = (
        rf"model\.manyview: was written by manyview 3\.1\.4 in format {number}; this is manyview {__version__}, "
        r"which reads up to format 2\. Update manyview\."
    )
    with pytest.raises(ModelFileError, match=text.replace("+", r"\+")):
        read_file(path)


def zip_with(name: str, content: bytes = b"x") -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr(name, content)
    return stream.getvalue()


def joblib_bytes() -> bytes:
    stream = io.BytesIO()
    joblib.dump({"a": np.arange(3)}, stream)
    return stream.getvalue()


def npy_bytes() -> bytes:
    stream = io.BytesIO()
    np.save(stream, np.array([None, "x"], dtype=object), allow_pickle=True)
    return stream.getvalue()


class Bomb:
    """A pickle that writes a file, were it ever unpickled."""

    def __reduce__(self):
        return os.mkdir, ("bomb",)


FOREIGN = {
    "pickle": (pickle.dumps(Bomb()), "is a pickle, or a joblib file, which is one, not a model file"),
    "pickle of protocol 2": (pickle.dumps(Bomb(), protocol=2), "is a pickle, or a joblib file"),
    "pickle of protocol 0": (pickle.dumps(Bomb(), protocol=0), "is something that begins with b'cp?o"),
    "joblib": (joblib_bytes(), "is a pickle, or a joblib file"),
    "compressed": (gzip.compress(pickle.dumps(Bomb())), "is a compressed file, not a model file"),
    "zip with a pickle": (zip_with("model.pkl", pickle.dumps(Bomb())), "is a zip archive, not a model file"),
    "zip with a name that leads up": (zip_with("../../bomb"), "is a zip archive, not a model file"),
    "zip with an absolute name": (zip_with("/tmp/bomb"), "is a zip archive, not a model file"),
    "array of objects": (npy_bytes(), "is a NumPy array, not a model file"),
    "text": (b"name,value\n", "is something that begins with b'name,value"),
    "zeros": (bytes(1000), "is something that begins with"),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_other_files_are_refused_and_never_opened_further(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    content, text = FOREIGN[name]
    (tmp_path / "other").write_bytes(content)
    with pytest.raises(ModelFileError, match=f"^other: {text}") as caught:
        read_file("other")
    caught.match(r"is written by model\.save\(path\), or by .* --save\. Others are never unpacked or unpickled")
    assert os.listdir(tmp_path) == ["other"]


def test_nothing_and_folders_are_refused(tmp_path):
    (tmp_path / "empty").touch()
    with pytest.raises(ModelFileError, match="empty: is empty"):
        read_file(tmp_path / "empty")
    with pytest.raises(ModelFileError, match="is a folder or a device, not a model file"):
        read_file(tmp_path)
    os.mkfifo(tmp_path / "pipe")  # which would wait for a writer forever
    with pytest.raises(ModelFileError, match="pipe: is a folder or a device, not a model file"):
        read_file(tmp_path / "pipe")
    with pytest.raises(FileNotFoundError, match="absent"):
        read_file(tmp_path / "absent")


BOMB = pickle.dumps(Bomb())
HUGE = 2**50
SEALED = {
    "pickle as JSON": (sealed(BOMB), "its second line is not the JSON of a model file"),
    "no content": (sealed(b'{"arrays": []}\n'), "its second line is not the JSON of a model file: 'content'"),
    "a list": (sealed(b"[]\n"), "its second line is not the JSON of a model file"),
    "deep": (sealed(b"[" * 100_000 + b"\n"), "its second line is not the JSON of a model file"),
    "objects": (sealed(header([["|O", [1], "C"]]), BOMB), r"an array of dtype '\|O'.* would have to be unpickled"),
    "object": (sealed(header([["O", [], "C"]]), BOMB), "an array of dtype 'O'"),
    "records": (sealed(header([["i4,O", [1], "C"]]), BOMB), "an array of dtype 'i4,O'"),
    "dtype as a list": (sealed(header([[[["a", "O"]], [1], "C"]]), BOMB), "an array of dtype "),
    "no array": (sealed(header([3])), "'3' does not describe an array"),
    "name instead of an array": (sealed(header(["../../x"])), r"'\.\./\.\./x' does not describe an array"),
    "negative": (sealed(header([["<f8", [-1, -8], "C"]]), bytes(64)), r"an array of shape \[-1, -8\]"),
    "not whole": (sealed(header([["<f8", [1.0], "C"]]), bytes(8)), r"an array of shape \[1\.0\]"),
    "order": (sealed(header([["<f8", [1], "K"]]), bytes(8)), "in order 'K'"),
    "huge": (sealed(header([["<f8", [HUGE], "C"]]), bytes(8)), "announces arrays of 9,007,199,254,740,992 bytes"),
    "huge text": (sealed(header([["<U99999999", [9], "C"]])), "announces arrays of 3,599,999,964 bytes, but has 0"),
    "text too long": (sealed(header([["<U999999999", [9], "C"]])), "an array of dtype '<U999999999'"),
    "huge beside nothing": (sealed(header([["<f8", [0, HUGE, HUGE], "C"]])), "an array of shape"),
    "many dimensions": (sealed(header([["<f8", [1] * 99, "C"]]), bytes(8)), "an array of shape"),
    "bytes left over": (sealed(header([["<f8", [1], "C"]]), bytes(9)), "announces arrays of 8 bytes, but has 9"),
    "no line end": (sealed(header([])[:-1]), "its second line is not the JSON of a model file"),
    "format 0": (
        sealed(header([]), first="manyview-model format 0, written by manyview 1.0, {} bytes follow\n"),
        "is damaged: its first line is b'manyview-model format 0",
    ),
    "no digest": (b"manyview-model format 2, written by manyview 1, 3 bytes follow\nabc", "is damaged: it announces 3"),
}  # fmt: skip


@pytest.mark.parametrize("name", SEALED)
def test_a_right_checksum_makes_nothing_trusted(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    content, text = SEALED[name]
    (tmp_path / "file").write_bytes(content)
    tracemalloc.start()
    try:
        with pytest.raises(ModelFileError, match=f"^file: .*{text}"):
            read_file("file")
        assert tracemalloc.get_traced_memory()[1] < 20_000_000
    finally:
        tracemalloc.stop()
    assert os.listdir(tmp_path) == ["file"]


def test_sealed_files_are_read_if_they_are_right(tmp_path):
    (tmp_path / "file").write_bytes(sealed(header([["<f8", [1], "C"]], "x"), bytes(8)))
    assert read_file(tmp_path / "file") == ("x", [np.zeros(1)])


def fail(*args: object) -> None:
    raise OSError("no space left")


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_write_that_fails_leaves_all_as_it_was(path, monkeypatch, step):
    before = path.read_bytes()
    monkeypatch.setattr(_file.os, step, fail)
    with pytest.raises(OSError, match="no space left"):
        write_file(path, "new", [])
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]


def test_a_write_that_is_interrupted_leaves_all_as_it_was(path, monkeypatch):
    def interrupt(array):
        raise KeyboardInterrupt

    before = path.read_bytes()
    monkeypatch.setattr(_file, "as_buffer", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_file(path, "new", ARRAYS)
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]


def test_the_bytes_are_on_the_disk_before_they_replace_the_file(path, monkeypatch):
    steps = []
    fsync, replace = os.fsync, os.replace
    monkeypatch.setattr(_file.os, "fsync", lambda number: (steps.append("fsync"), fsync(number)))
    monkeypatch.setattr(_file.os, "replace", lambda a, b: (steps.append((a.parent, b)), replace(a, b)))
    write_file(path, "new", [])
    assert steps == ["fsync", (path.resolve().parent, path.resolve())]
    assert read_file(path) == ("new", [])


def test_a_link_stays_a_link_and_a_private_file_private(path, tmp_path):
    path.chmod(0o600)
    link = tmp_path / "link"
    link.symlink_to(path)
    write_file(link, "new", [])
    assert link.is_symlink()
    assert read_file(path) == ("new", [])
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_places_that_no_file_can_be_at_are_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"x: the folder .*absent does not exist; make it first"):
        write_file(tmp_path / "absent" / "x", "new", [])
    with pytest.raises(FileExistsError, match="is a folder or a device; give the name of a file"):
        write_file(tmp_path, "new", [])
    assert os.listdir(tmp_path) == []
