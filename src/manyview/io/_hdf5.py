"""HDF5 files: links to other files are not followed, and announced sizes are compared with stored ones."""

from __future__ import annotations

import mmap
import re
import struct
import zlib
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import scipy.sparse as sp

from manyview.exceptions import FileFormatError
from manyview.io._common import DEFLATE_RATIO, check_size, checked_csr

_HEAP = b"GCOL\x01\0\0\0"  # a global heap collection, version 1
_HEAP_HEADER, _OBJECT_HEADER = struct.Struct("<8sQ"), struct.Struct("<HHIQ")
# The type of texts of any length as attributes have it: a variable-length string of single bytes.
_TEXT_TYPE = re.compile(rb"\x19\x01.\0\x10\0\0\0\x10\0\0\0\x01\0\0\0\0\0\x08\0", re.DOTALL)
_LOOKED_AT = 64  # bytes after a type in which the first descriptor of a text begins
_MAX_CHUNK = 2**30  # bytes


def _walk_heaps(path: Path) -> Iterator[tuple[int, int]]:
    """Yield the position of each global heap and the size of its largest object; raise an error on a damaged one.

    HDF5 1.14 walks a heap without end where the free space at its end has the size 0.
    """
    with path.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content:
        start = content.find(_HEAP)
        while start >= 0:
            largest, at = 0, start + _HEAP_HEADER.size
            end = start + (_HEAP_HEADER.unpack_from(content, start)[1] if at <= len(content) else 0)
            if not at < end <= len(content):
                raise FileFormatError(f"{path}: the heap of texts at byte {start:,} is damaged or cut short.")
            while at + _OBJECT_HEADER.size <= end:
                index, _, _, size = _OBJECT_HEADER.unpack_from(content, at)
                step = size if index == 0 else _OBJECT_HEADER.size + (size + 7) // 8 * 8
                if step < _OBJECT_HEADER.size or at + step > end:
                    raise FileFormatError(f"{path}: the heap of texts at byte {start:,} is damaged at byte {at:,}.")
                largest, at = max(largest, size if index else 0), at + step
            yield start, largest
            start = content.find(_HEAP, end)


class Hdf5File:
    """One open file, which counts the bytes that are read from it."""

    def __init__(self, h5py: ModuleType, file: Any, path: Path, max_bytes: int) -> None:
        self.h5py, self.file, self.path = h5py, file, path
        self.max_bytes = max_bytes
        self.taken = 0

    def is_here(self, group: Any, key: str) -> bool:
        """Return whether the item is stored in this file; soft and external links may lead to others."""
        return isinstance(group.get(key, getlink=True), self.h5py.HardLink)

    def is_group(self, item: Any) -> bool:
        """Return whether an item is a group, which holds other items."""
        return isinstance(item, self.h5py.Group)

    def item(self, group: Any, key: str) -> Any:
        """Return an item of a group, which must be stored in this file; ``a/b`` is one of a group in it."""
        for part in key.split("/"):
            if not self.is_group(group) or part not in group:
                raise FileFormatError(f"{self.path}: has no {key!r} in {getattr(group, 'name', '')!r}.")
            if not self.is_here(group, part):
                raise FileFormatError(f"{self.path}: {part!r} is a link, which may lead to another file.")
            group = group[part]
        return group

    def group(self, parent: Any, key: str) -> Any:
        """Return an item that must be a group: h5py reads a dataset row by row where its keys are asked for."""
        found = self.item(parent, key)
        if not self.is_group(found):
            raise FileFormatError(f"{self.path}: expected a group in {found.name}, found an array.")
        return found

    def attribute(self, item: Any, name: str, default: Any) -> Any:
        """Return an attribute of numbers or texts. HDF5 crashes on some damaged types, which are refused first."""
        if name not in item.attrs:
            return default
        types = self.h5py.h5t
        known = types.TypeStringID, types.TypeIntegerID, types.TypeFloatID
        if not isinstance(item.attrs.get_id(name).get_type(), known):
            raise FileFormatError(f"{self.path}: the attribute {name!r} of {item.name} is neither text nor number.")
        return item.attrs[name]

    def stored(self, dataset: Any) -> np.ndarray:
        """Return the values of a dataset, after checking that the file can hold as many as it announces."""
        if self.is_group(dataset):
            raise FileFormatError(f"{self.path}: expected numbers or texts in {dataset.name}, found a group.")
        if dataset.is_virtual or dataset.external:
            raise FileFormatError(f"{self.path}: {dataset.name} is stored in another file, which is not read.")
        if self.h5py.check_vlen_dtype(dataset.dtype) not in (None, str, bytes):
            raise FileFormatError(f"{self.path}: {dataset.name} holds lists of different lengths, which are not read.")
        n_bytes = dataset.size * dataset.dtype.itemsize
        if n_bytes > dataset.id.get_storage_size() * DEFLATE_RATIO:
            raise FileFormatError(
                f"{self.path}: {dataset.name} announces shape {dataset.shape}, {n_bytes:,} bytes, "
                "more than the file can hold."
            )
        self.taken += n_bytes
        check_size(self.path, self.taken, self.max_bytes)
        if self.h5py.check_string_dtype(dataset.dtype) is not None:
            self._check_lengths(dataset)
        return np.asarray(dataset[()])

    def texts(self, dataset: Any) -> list[str]:
        """Return the texts of a dataset of one dimension."""
        values = self.stored(dataset)
        if values.ndim != 1:
            raise FileFormatError(f"{self.path}: expected a list of names in {dataset.name}, found {values.shape}.")
        return [one.decode() if isinstance(one, bytes) else str(one) for one in values.tolist()]

    def _check_lengths(self, dataset: Any) -> None:
        """Compare the announced lengths of texts with what is stored: HDF5 allocates them first."""
        if dataset.dtype.kind != "O":
            return
        n_bytes, largest = 0, max(self._heaps.values(), default=0)
        for block in self._descriptors(dataset):
            lengths = np.frombuffer(block[: len(block) // 16 * 16], dtype="<u4")[::4].astype(np.int64)
            n_bytes += int(lengths.sum())
            if lengths.max(initial=0) > largest:
                raise FileFormatError(f"{self.path}: {dataset.name} announces a text of {lengths.max():,} bytes.")
        check_size(self.path, n_bytes, self.max_bytes)

    def _descriptors(self, dataset: Any) -> Iterator[bytes]:
        """Yield the stored descriptors of texts, 16 bytes each: length, address of the heap, index in it."""
        offset = dataset.id.get_offset()
        with self.path.open("rb") as stream:
            if offset is not None:
                stream.seek(offset)
                yield stream.read(16 * dataset.size)
            elif dataset.chunks is not None and dataset.compression in (None, "gzip") and not dataset.shuffle:
                for number in range(dataset.id.get_num_chunks()):
                    info = dataset.id.get_chunk_info(number)
                    stream.seek(info.byte_offset)
                    block = stream.read(min(info.size, _MAX_CHUNK))
                    largest = 16 * int(np.prod(dataset.chunks))
                    yield zlib.decompressobj().decompress(block, largest) if dataset.compression else block

    @cached_property
    def _heaps(self) -> dict[int, int]:
        """The size of the largest object in each heap of texts, by its position in the file."""
        return dict(_walk_heaps(self.path))

    def check_heaps(self) -> None:
        """Refuse a file with a damaged heap of texts, on which HDF5 does not return; names and attributes are there."""
        if self.file.id.get_create_plist().get_sizes() != (8, 8):
            raise FileFormatError(f"{self.path}: has addresses of other sizes than 8 bytes, which are not read.")
        with self.path.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content:
            for found in _TEXT_TYPE.finditer(content):
                self._check_attribute(content, found.end())

    def _check_attribute(self, content: Any, start: int) -> None:
        """Compare the lengths of texts, whose descriptors follow their type in an attribute, with what is stored."""
        at, stop = start, start + _LOOKED_AT
        while at < stop and at + 16 <= len(content):
            length, address = struct.unpack_from("<IQ", content, at)
            largest = self._heaps.get(address + self.file.userblock_size)
            if largest is not None and length > largest:
                raise FileFormatError(f"{self.path}: an attribute announces a text of {length:,} bytes.")
            at, stop = (at + 1, stop) if largest is None else (at + 16, at + 17)  # the next of a list

    def compressed(self, group: Any, shape: tuple[int, ...], by_rows: bool) -> sp.csr_array:
        """Return the sparse matrix in ``data``, ``indices`` and ``indptr`` of a group."""
        data, indices, indptr = (self.stored(self.item(group, key)).ravel() for key in ("data", "indices", "indptr"))
        kind = sp.csr_array if by_rows else sp.csc_array
        if (
            len(shape) != 2
            or data.dtype.kind not in "biuf"
            or indices.dtype.kind not in "iu"
            or indptr.dtype.kind not in "iu"
        ):
            raise FileFormatError(f"{self.path}: {group.name} is no sparse matrix of numbers.")
        if len(indptr) != shape[0 if by_rows else 1] + 1:
            raise FileFormatError(f"{self.path}: {group.name} announces shape {shape}, but has {len(indptr)} pointers.")
        return checked_csr(kind((data, indices, indptr), shape=shape), self.path, self.max_bytes)
