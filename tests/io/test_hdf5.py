"""HDF5 files that are damaged where HDF5 itself does not notice: heaps of texts, lengths, links."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from manyview.exceptions import FileFormatError
from manyview.io import read_views

h5py = pytest.importorskip("h5py")


@pytest.fixture(params=[None, "gzip"])
def path(tmp_path, request):
    """A file as anndata writes it, its names compressed or not."""
    file = tmp_path / "a.h5ad"
    with h5py.File(file, "w") as root:
        root["X"] = np.arange(6.0).reshape(3, 2)
        for axis, names in (("obs", ["p", "q", "r"]), ("var", ["x", "y"])):
            frame = root.create_group(axis)
            frame.attrs["_index"] = "names"
            frame.attrs["column-order"] = np.array(["first", "second"], dtype=object)
            chunks = {} if request.param is None else {"chunks": (2,), "compression": request.param}
            frame.create_dataset("names", data=names, dtype=h5py.string_dtype(), **chunks)
    return file


def heaps(content: bytes) -> list[tuple[int, int]]:
    """Positions of the heaps of texts, and of the free space in each."""
    found, start = [], content.find(b"GCOL")
    while start >= 0:
        end, at = start + struct.unpack_from("<Q", content, start + 8)[0], start + 16
        while struct.unpack_from("<H", content, at)[0]:
            at += 16 + -(-struct.unpack_from("<Q", content, at + 8)[0] // 8) * 8
        found.append((start, at))
        start = content.find(b"GCOL", end)
    return found


def test_it_is_read(path):
    views = read_views(path)
    assert (views.sample_ids.tolist(), views.feature_names) == (["p", "q", "r"], (("x", "y"),))


@pytest.mark.parametrize("size", [0, 8, 2**40])
def test_a_heap_whose_free_space_has_a_wrong_size(path, size):
    """HDF5 1.14 does not return from reading such a file."""
    content = bytearray(path.read_bytes())
    at = heaps(content)[0][1]
    content[at + 8 : at + 16] = struct.pack("<Q", size)
    path.write_bytes(content)
    with pytest.raises(FileFormatError, match=r"a\.h5ad: the heap of texts at byte [\d,]+ is damaged at byte"):
        read_views(path)


def test_a_heap_that_is_cut_short(path):
    content = bytearray(path.read_bytes())
    start = heaps(content)[0][0]
    content[start + 8 : start + 16] = struct.pack("<Q", 2**40)
    path.write_bytes(content)
    with pytest.raises(FileFormatError, match=r"the heap of texts at byte [\d,]+ is damaged or cut short"):
        read_views(path)


def test_a_text_of_a_length_that_is_not_there(path):
    """HDF5 allocates the announced length before it looks for the text."""
    with h5py.File(path, "r") as root:
        offset = root["obs/names"].id.get_offset()
    if offset is None:
        pytest.skip("the lengths are compressed")
    content = bytearray(path.read_bytes())
    content[offset : offset + 4] = struct.pack("<I", 3 * 10**9)
    path.write_bytes(content)
    with pytest.raises(FileFormatError, match=r"/obs/names announces a text of 3,000,000,000 bytes"):
        read_views(path)


def test_many_texts_that_are_stored_once(path):
    """Descriptors compress well: a small file may announce any number of copies of one text."""
    with h5py.File(path, "r+") as root:
        del root["obs/names"]
        names = np.full(100_000, "n" * 1000, dtype=object)
        root["obs"].create_dataset("names", data=names, dtype=h5py.string_dtype())
    with pytest.raises(FileFormatError, match=r"would take [\d,]+ bytes of memory, more than max_bytes"):
        read_views(path, max_bytes=10_000_000)


def test_names_in_another_file(path, tmp_path):
    with h5py.File(tmp_path / "other.h5", "w") as other:
        other["names"] = ["a", "b", "c"]
    with h5py.File(path, "r+") as root:
        del root["obs/names"]
        root["obs/names"] = h5py.ExternalLink(str(tmp_path / "other.h5"), "names")
    with pytest.raises(FileFormatError, match=r"'names' is a link, which may lead to another file"):
        read_views(path)


@pytest.mark.parametrize("text", ["names", "first", "second"])
def test_an_attribute_of_a_length_that_is_not_there(path, text):
    """Attributes such as the name of the index are texts in a heap, too; so are lists of names."""
    content = bytearray(path.read_bytes())
    heap = heaps(content)[0][0]
    at = content.index(struct.pack("<IQ", len(text), heap))
    content[at : at + 4] = struct.pack("<I", 2**31)
    path.write_bytes(content)
    with pytest.raises(FileFormatError, match=r"an attribute announces a text of 2,147,483,648 bytes"):
        read_views(path)


@pytest.mark.parametrize("length", [3 * 10**9, 2**31])
def test_a_column_with_a_text_of_a_length_that_is_not_there(path, length):
    """Columns of texts and categories about samples are read like names, and checked like them."""
    with h5py.File(path, "r+") as root:
        frame = root["obs"]
        frame.attrs["column-order"] = np.array(["town"], dtype=object)
        town = frame.create_group("town")
        town.attrs["encoding-type"] = "categorical"
        town.create_dataset("categories", data=["Ulm", "Jena"], dtype=h5py.string_dtype())
        town["codes"] = np.array([0, 1, 0])
        offset = town["categories"].id.get_offset()
    assert read_views(path).metadata["town"].tolist() == ["Ulm", "Jena", "Ulm"]
    content = bytearray(path.read_bytes())
    content[offset : offset + 4] = struct.pack("<I", length)
    path.write_bytes(content)
    with pytest.raises(FileFormatError, match=rf"/obs/town/categories announces a text of {length:,} bytes"):
        read_views(path)


@pytest.mark.parametrize("name", ["mod", "mod/rna", "mod/rna/layers", "obs"])
def test_an_array_in_place_of_a_group(tmp_path, name):
    """h5py would read every row to find a key in it: here there are 10^12, none of them stored."""
    file = tmp_path / "a.h5mu"
    with h5py.File(file, "w") as root:
        root.create_dataset(name, shape=(10**12,), chunks=(2**20,), dtype="f4")
        if name not in ("mod", "mod/rna"):
            frame = root.require_group("mod/rna")
            frame["X"] = np.arange(6.0).reshape(3, 2)
            for axis, names in (("obs", ["p", "q", "r"]), ("var", ["x", "y"])):
                frame.create_group(axis).create_dataset("_index", data=names, dtype=h5py.string_dtype())
    with pytest.raises(FileFormatError, match=rf"a\.h5mu: expected a group in /{name}, found an array"):
        read_views(file)
