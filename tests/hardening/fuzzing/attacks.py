"""Files made to do harm: bombs, pickles, links into other files, sizes that nobody has memory for.

Each attack is what a reader would be given, like a seed. It may say where a pickle leaves its mark if it is ever
loaded, and which file it tries to read through a link.
"""

# ruff: noqa: E501  one attack, one line

from __future__ import annotations

import gzip
import io
import json
import sqlite3
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import h5py
import numpy as np
import pyarrow
import pyarrow.parquet

from . import seeds

Files = dict[str, bytes]
MB = 2**20


@dataclass(frozen=True)
class Target:
    """What an attack aims at: a folder that a pickle would make, and a file outside with numbers of its own."""

    marker: str
    outside: str

    @property
    def pickle(self) -> bytes:
        """Makes the folder when it is loaded."""
        return f"cposix\nmkdir\n(V{self.marker}\ntR.".encode()


def all_attacks(target: Target) -> dict[str, list[Files]]:
    """The attacks on each format."""
    return {name: list(make(target)) for name, make in MAKERS.items()}


# NumPy -------------------------------------------------------------------------------------------------------------


def _npy_file(header: str, data: bytes = b"") -> bytes:
    text = header.encode("latin-1") + b"\n"
    return b"\x93NUMPY\x02\x00" + struct.pack("<I", len(text)) + text + data


def _npy_headers(target: Target) -> Iterator[bytes]:
    def header(descr: object, shape: str, order: object = False) -> str:
        return f"{{'descr': {descr!r}, 'fortran_order': {order}, 'shape': {shape}}}"

    yield _npy_file(header("|O", "(2, 2)"), target.pickle)
    yield _npy_file(header([("a", "|O"), ("b", "<f8")], "(2, 2)"), target.pickle)
    for shape in ("(4294967295, 4294967295)", "(9223372036854775807,)", "(-1, -8)", "(2, 10**30)", "(0, 5)", "()"):
        yield _npy_file(header("<f8", shape), bytes(64))
    yield _npy_file(header("<f8", f"({', '.join(['1'] * 5000)})"), bytes(8))
    yield _npy_file(header("<f8", f"({'9' * 9000}, 1)"), bytes(8))
    for empty in ("<U0", "|S0", "|V0"):  # any number of these takes no bytes
        for shape in ("(1099511627776,)", "(1048576, 1048576)", "(9223372036854775807, 1)", "(6,)"):
            yield _npy_file(header(empty, shape))
    yield _npy_file(header("<f8", "(2, 2)").replace("{", "{" + "(" * 5000), bytes(32))
    yield _npy_file("[" * 9000 + "]" * 9000, bytes(32))
    yield _npy_file(f"__import__('os').mkdir({target.marker!r})", bytes(32))
    yield _npy_file(header(("<f8", (2**31,)), "(2, 2)"), bytes(32))
    yield _npy_file(header("<M8[ns]", "(2, 2)"), bytes(32))
    yield _npy_file(header("<f8", "(True, 4)"), bytes(32))
    yield _npy_file(header("<U1", "(6,)"), b"\xff" * 24)  # no characters
    yield _npy_file(header("<f16", "(2, 2)"), b"\xff" * 64)
    yield _npy_file(header("<c32", "(2, 2)"), b"\xff" * 128)
    yield b"\x93NUMPY\x01\x00\xff\xff"
    yield b"\x93NUMPY\x02\x00\xff\xff\xff\xff{"
    yield b"\x93NUMPY\x03\x00\xff\xff\xff\x7f{"
    yield target.pickle


def _npy(target: Target) -> Iterator[Files]:
    for content in _npy_headers(target):
        yield {"data.npy": content}


def _zip(members: dict[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file.getvalue()


def _as_npy(array: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, np.asarray(array), allow_pickle=False)
    return file.getvalue()


def _npz(target: Target) -> Iterator[Files]:
    for content in _npy_headers(target):
        yield {"data.npz": _zip({"a.npy": content})}
    zeros = _as_npy(np.zeros((5000, 2000)))
    yield {"data.npz": _zip({"a.npy": zeros})}
    yield {"data.npz": _zip({f"a{i}.npy": _as_npy(np.zeros((500, 500))) for i in range(60)})}
    bomb = bytearray(_zip({"a.npy": zeros}))
    at = bomb.index(b"PK\x01\x02")
    bomb[at + 24 : at + 28] = struct.pack("<I", 100)  # a directory that announces less
    yield {"data.npz": bytes(bomb)}
    bomb[at + 24 : at + 28] = b"\xff\xff\xff\x7f"
    yield {"data.npz": bytes(bomb)}
    one = _as_npy(np.ones((6, 3)))
    for name in ("../../../tmp/x.npy", "/etc/x.npy", "a" * 60000 + ".npy", "\x1b[2J\u202e.npy", ".npy", "a\nb.npy"):
        yield {"data.npz": _zip({name: one, "b.npy": one})}
    yield {"data.npz": _zip({f"v{i}.npy": one for i in range(3000)})}
    yield {"data.npz": _zip({"a.npy": one, "evil.pkl": target.pickle})}
    shape, pointers = _as_npy([6, 3]), _as_npy(np.array([0, 1, 2, 2, 2, 2, 2]))
    parts = {"format.npy": _as_npy(np.array(b"csr")), "shape.npy": shape, "data.npy": _as_npy([1.0, 2.0])}
    for more in (
        {"indices.npy": _as_npy([0, 10**9]), "indptr.npy": pointers},
        {"indices.npy": _as_npy([-5, 1]), "indptr.npy": pointers},
        {"indices.npy": _as_npy([0, 1]), "indptr.npy": _as_npy([0, 2**40, 2, 2, 2, 2, 2])},
        {
            "shape.npy": _as_npy([2**40, 2**40]),
            "format.npy": _as_npy(np.array(b"coo")),
            "row.npy": _as_npy([0, 1]),
            "col.npy": _as_npy([0, 1]),
        },
        {
            "shape.npy": _as_npy([2**31, 2**30]),
            "format.npy": _as_npy(np.array(b"coo")),
            "row.npy": _as_npy([0, 1]),
            "col.npy": _as_npy([0, 1]),
        },
        {
            "shape.npy": _as_npy([2**27, 3]),
            "format.npy": _as_npy(np.array(b"coo")),
            "row.npy": _as_npy([0, 1]),
            "col.npy": _as_npy([0, 1]),
        },
        {
            "format.npy": _as_npy(np.array(b"dia")),
            "data.npy": _as_npy(np.ones((1, 2))),
            "offsets.npy": _as_npy([2**62]),
        },
        {
            "format.npy": _as_npy(np.array(b"dia")),
            "shape.npy": _as_npy([2**26, 2**26]),
            "data.npy": _as_npy(np.ones((1, 2))),
            "offsets.npy": _as_npy([-5]),
        },
        {
            "format.npy": _as_npy(np.array(b"bsr")),
            "data.npy": _as_npy(np.ones((1, 2, 3))),
            "indices.npy": _as_npy([10**6]),
            "indptr.npy": _as_npy([0, 1, 1, 1]),
        },
        {"format.npy": _as_npy(np.array("pickle"))},
        {"format.npy": _as_npy(np.array(7))},
        {"shape.npy": _as_npy([[6, 3]]), "indices.npy": _as_npy([0, 1]), "indptr.npy": pointers},
        {"shape.npy": _as_npy([6.5, np.nan]), "indices.npy": _as_npy([0, 1]), "indptr.npy": pointers},
    ):
        yield {"data.npz": _zip(parts | more)}


# MATLAB ------------------------------------------------------------------------------------------------------------


def _element(kind: int, content: bytes) -> bytes:
    return struct.pack("<II", kind, len(content)) + content + bytes(-len(content) % 8)


def _matrix(kind: int, shape: tuple[int, ...], name: bytes, *contents: bytes, flags: int = 0) -> bytes:
    head = _element(6, struct.pack("<II", kind | flags, 0)) + _element(5, struct.pack(f"<{len(shape)}i", *shape))
    return _element(14, head + _element(1, name) + b"".join(contents))


def _mat5_file(*variables: bytes, compress: bool = False) -> Files:
    head = b"MATLAB 5.0 MAT-file".ljust(124) + b"\x00\x01IM"
    packed = [_zlib_element(variable) for variable in variables] if compress else variables
    return {"data.mat": head + b"".join(packed)}


def _zlib_element(content: bytes) -> bytes:
    packed = zlib.compress(content, 1)
    return struct.pack("<II", 15, len(packed)) + packed


def _mat5_variables() -> Iterator[bytes]:
    numbers = _element(9, bytes(48))
    nested = _matrix(6, (3, 2), b"", numbers)
    for kind in (1, 2):
        deep = nested
        for _ in range(3000):
            deep = _matrix(kind, (1, 1), b"", deep)
        yield _matrix(1, (1, 1), b"X", deep)
    for kind in (2, 3, 16, 17, 18, 255, 0):
        yield _matrix(kind, (1, 1), b"X", _element(1, b"MCOS"), _element(1, b"string"), numbers)
    for shape in ((2**31 - 1, 2**31 - 1), (-1, -6), (2**31 - 1,), (), (0, 2**31 - 1), (1,) * 1000, (6, 0)):
        yield _matrix(6, shape, b"X", numbers)
        yield _matrix(1, shape, b"X", nested)
        yield _matrix(4, shape, b"X", _element(16, b"hello"))
    for rows in (2**31 - 1, 2**27, 2**24):
        yield _matrix(
            5, (rows, 2), b"X", _element(5, bytes(4)), _element(5, struct.pack("<3i", 0, 1, 1)), _element(9, bytes(8))
        )
    yield _matrix(
        5, (3, 2), b"X", _element(5, b"\xff" * 4), _element(5, struct.pack("<3i", 0, 1, 1)), _element(9, bytes(8))
    )
    yield _matrix(
        5, (3, 2), b"X", _element(5, bytes(4)), _element(5, struct.pack("<3i", 0, 2**30, 1)), _element(9, bytes(8))
    )
    yield _matrix(5, (3,), b"X", _element(5, bytes(4)), _element(5, b""), _element(9, bytes(8)))
    yield _matrix(6, (3, 2), b"\x1b]0;title\x07" * 1000, numbers)
    yield _matrix(1, (1, 20000), b"X", *[_element(14, b"")] * 20000)
    long = _matrix(4, (1, 60000), b"", _element(16, b"a" * 60000))
    short = _matrix(4, (1, 1), b"", _element(16, b"a"))
    yield _matrix(1, (1, 20001), b"y", long, *[short] * 20000) + _matrix(6, (20001, 2), b"X", _element(1, bytes(40002)))


def _mat5(target: Target) -> Iterator[Files]:
    for variable in _mat5_variables():
        yield _mat5_file(variable)
    yield _mat5_file(struct.pack("<II", 14, 2**32 - 1))


def _mat5z(target: Target) -> Iterator[Files]:
    for variable in _mat5_variables():
        yield _mat5_file(variable, compress=True)
    yield _mat5_file(_matrix(6, (5000, 2000), b"X", _element(9, bytes(80 * 10**6))), compress=True)
    twice = _zlib_element(_zlib_element(_matrix(6, (3, 2), b"X", _element(9, bytes(48)))))
    yield _mat5_file(twice)
    yield _mat5_file(_zlib_element(bytes(100 * MB)))


def _mat4(target: Target) -> Iterator[Files]:
    for kind in (0, 10, 20, 30, 40, 50, 1, 2, 1000, 4000, 51):
        for rows, columns in ((2**31 - 1, 2**31 - 1), (-1, 6), (0, 0), (2**31 - 1, 1), (2, 2**28), (3, 3), (3, 4)):
            for length in (2, 2**31 - 1, -1, 0):
                yield {"data.mat": struct.pack("<5i", kind, rows, columns, 0, length) + b"X\0" + bytes(96)}
    entries = np.array([[1, 1, 5.0], [2**27, 1, 1.0], [2**27, 3, 0.0]])
    for last in (2**27, 2**31, 2**52, -1, np.nan, 0.5):
        entries[-1, 0] = entries[1, 0] = last
        yield {"data.mat": struct.pack("<5i", 2, 3, 3, 0, 2) + b"X\0" + entries.tobytes(order="F")}


def _mat73(target: Target) -> Iterator[Files]:
    numbers = np.arange(12.0).reshape(3, 4)

    def made(change: Callable[[Any], Any], **options: Any) -> Files:
        with TemporaryDirectory() as folder:
            path = Path(folder, "data.mat")
            with h5py.File(path, "w", **options) as file:
                refs = file.create_group("#refs#")
                refs["a"] = numbers
                change(file)
            return {"data.mat": path.read_bytes()}

    def put(key: str = "X", classed: str | None = None, **options: Any) -> Callable[[Any], Any]:
        def change(file: Any) -> None:
            item = file.create_dataset(key, **options)
            if classed is not None:
                item.attrs["MATLAB_class"] = np.bytes_(classed)

        return change

    huge = {"shape": (2**40, 2**20), "dtype": "f8", "chunks": (1024, 1024)}
    yield made(put(**huge))
    yield made(put(**huge, compression="gzip", fillvalue=1.0))
    yield made(put(data=np.zeros((5000, 2000)), compression="gzip", compression_opts=1))
    yield made(put(shape=(2000, 2000), dtype="f8", chunks=(2000, 2000), compression="gzip"))
    yield made(put(shape=(3, 4), dtype="f8", external=[(target.outside, 0, 96)]))
    yield made(lambda file: file.__setitem__("X", h5py.ExternalLink(target.outside, "X")))
    yield made(lambda file: file.__setitem__("X", h5py.SoftLink("/X")))
    yield made(lambda file: file.__setitem__("X", h5py.SoftLink("/#refs#/a")))

    def virtual(file: Any) -> None:
        layout = h5py.VirtualLayout((3, 4), "f8")
        layout[:] = h5py.VirtualSource(target.outside, "X", (3, 4))
        file.create_virtual_dataset("X", layout)

    yield made(virtual)

    def reference_into_link(file: Any) -> None:
        file["#refs#/b"] = h5py.ExternalLink(target.outside, "X")
        file.create_dataset("X", (1, 2), dtype=h5py.ref_dtype)
        file["X"][0, 0] = file["#refs#/a"].ref

    yield made(reference_into_link)

    def sparse_links(file: Any) -> None:
        group = file.create_group("X")
        group.attrs["MATLAB_sparse"] = np.uint64(3)
        for key in ("data", "ir", "jc"):
            group[key] = h5py.ExternalLink(target.outside, "X")

    yield made(sparse_links)

    def sparse(rows: Any, starts: Any = (0, 1, 1), places: Any = (0,)) -> Callable[[Any], Any]:
        def change(file: Any) -> None:
            group = file.create_group("X")
            group.attrs["MATLAB_sparse"] = rows
            group["data"], group["ir"], group["jc"] = [1.0], np.array(places), np.array(starts)

        return change

    for rows in (2**62, -1, 2**27, 0, 2.5, "many", np.arange(3)):
        yield made(sparse(rows))
    yield made(sparse(3, starts=(0, 2**40, 1)))
    yield made(sparse(3, places=(10**12,)))
    yield made(sparse(3, starts=(0.0, np.nan, 1.0)))
    yield made(sparse(3, starts=()))

    def circle(file: Any) -> None:
        cell = file.create_dataset("X", (1, 3), dtype=h5py.ref_dtype)
        cell[0, 0], cell[0, 1] = cell.ref, file.ref  # and one that leads nowhere
        file["self"] = file["/"]

    yield made(circle)

    def many(file: Any) -> None:
        file["#refs#/big"] = np.zeros((300, 300))
        cell = file.create_dataset("X", (1, 20000), dtype=h5py.ref_dtype, compression="gzip")
        cell[:] = np.full((1, 20000), file["#refs#/big"].ref, dtype=h5py.ref_dtype)

    yield made(many)
    yield made(put(data=["text", "more"]))
    yield made(put(data=np.zeros(3, dtype=[("a", "f8"), ("b", "i4")])))
    yield made(put(data=np.zeros((2, 2), dtype=h5py.enum_dtype({"a": 1}))))
    yield made(put(shape=(2, 2), dtype=h5py.vlen_dtype("f8")))
    yield made(put(data=np.zeros((2, 2), dtype=h5py.opaque_dtype("M8[ns]"))))
    yield made(put(data=np.array(7.0)))
    yield made(put(data=h5py.Empty("f8")))
    yield made(put(shape=(0, 5), dtype="f8"))
    yield made(put(data=np.full((2, 2), 2**31, dtype="u8"), classed="char"))
    yield made(put(data=np.full((2, 2), 0xD800, dtype="u2"), classed="char"))
    yield made(put(data=np.ones((1,) * 32), classed="logical"))
    yield made(put(key="\x1b[2J\u202e" * 200, data=numbers))

    def attribute(value: Any, name: str = "MATLAB_class") -> Callable[[Any], Any]:
        def change(file: Any) -> None:
            file["X"] = numbers
            file["X"].attrs[name] = value

        return change

    for value in (np.arange(5000), h5py.Empty("f8"), "a" * 60000, np.array([b"cell"]), 7):
        yield made(attribute(value))
    yield made(attribute(1, "MATLAB_empty"))
    yield made(put(data=np.zeros((4, 4)), chunks=(2, 2), compression="lzf"))

    def filtered(file: Any) -> None:
        plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        plist.set_chunk((2, 2))
        plist.set_filter(32015, h5py.h5z.FLAG_OPTIONAL, (1, 2, 3))  # somebody's plug-in
        space = h5py.h5s.create_simple((4, 4))
        h5py.h5d.create(file.id, b"X", h5py.h5t.NATIVE_DOUBLE, space, plist)

    yield made(filtered)
    yield made(lambda file: file.__setitem__("X", numbers), libver="latest")
    yield made(lambda file: [file.create_group(f"g{i}") for i in range(2000)])


def _hdf5_changes(target: Target, key: str) -> Iterator[Callable[[Any], Any]]:
    """Changes of the item ``key`` of an HDF5 file: too large, elsewhere, or no matrix."""

    def put(**options: Any) -> Callable[[Any], Any]:
        def change(file: Any) -> None:
            del file[key]
            file.create_dataset(key, **options)

        return change

    def link(to: Any) -> Callable[[Any], Any]:
        def change(file: Any) -> None:
            del file[key]
            file[key] = to

        return change

    yield put(shape=(2**40, 2**20), dtype="f8", chunks=(1024, 1024))
    yield put(shape=(6, 2**20), dtype="f8", chunks=(6, 1024), compression="gzip", fillvalue=1.0)
    yield put(data=np.zeros((5000, 2000)), compression="gzip", compression_opts=1)
    yield put(shape=(3, 4), dtype="f8", external=[(target.outside, 0, 96)])
    yield put(data=np.array(7.0))
    yield put(data=h5py.Empty("f8"))
    yield put(data=["text", "more"])
    yield put(data=np.zeros(3, dtype=[("a", "f8"), ("b", "i4")]))
    yield put(shape=(6, 2), dtype=h5py.vlen_dtype("f8"))
    yield put(data=np.full(6, "a" * 10000, dtype=object), dtype=h5py.string_dtype())
    yield link(h5py.ExternalLink(target.outside, "X"))
    yield link(h5py.SoftLink("/"))

    def virtual(file: Any) -> None:
        layout = h5py.VirtualLayout((3, 4), "f8")
        layout[:] = h5py.VirtualSource(target.outside, "X", (3, 4))
        del file[key]
        file.create_virtual_dataset(key, layout)

    yield virtual

    def gone(file: Any) -> None:
        del file[key]

    yield gone

    def named(file: Any) -> None:
        for name in ("encoding-type", "_index", "shape", "column-order"):
            file[key].attrs[name] = np.arange(5000)

    yield named
    for shape in ((2**62, 2**62), (-1, 3), (6, 2**31), (6,), (0, 0)):
        yield lambda file, shape=shape: file[key].attrs.__setitem__("shape", np.array(shape))


def _spoilt(name: str, fill: Callable[[Any], Any], change: Callable[[Any], Any]) -> Files:
    with TemporaryDirectory() as folder:
        path = Path(folder, name)
        with h5py.File(path, "w") as file:
            fill(file)
            change(file)
        return {name: path.read_bytes()}


def _h5ad(target: Target) -> Iterator[Files]:
    for key in (
        "X",
        "X/data",
        "X/indices",
        "X/indptr",
        "obs",
        "obs/_index",
        "obs/n",
        "obs/kind",
        "obs/kind/codes",
        "var/_index",
    ):
        for change in _hdf5_changes(target, key):
            yield _spoilt("data.h5ad", lambda file: seeds.put_modality(file, seeds.SPARSE.tocsr()), change)


def _h5mu(target: Target) -> Iterator[Files]:
    def fill(file: Any) -> None:
        for name in ("rna", "adt"):
            seeds.put_modality(file.require_group("mod").create_group(name), seeds.VIEWS[0])

    for key in ("mod", "mod/rna", "mod/rna/X", "mod/rna/obs"):
        for change in _hdf5_changes(target, key):
            yield _spoilt("data.h5mu", fill, change)


def _tenx(target: Target) -> Iterator[Files]:
    for key in ("matrix", "matrix/data", "matrix/indptr", "matrix/shape", "matrix/barcodes", "matrix/features/name"):
        for change in _hdf5_changes(target, key):
            yield _spoilt("data.h5", seeds.tenx_h5, change)
    matrix = b"%%MatrixMarket matrix coordinate integer general\n2 2 1\n1 1 1\n"
    for barcodes, features in (
        (b"", b""),
        (b"a\nb\n", b"x\n" * 10**6),
        (b"\xff\n\n", b"x\ty\n" * 2),
        (b"a\na\n", b"x\ty\tz\n" * 2),
    ):
        yield {"data/matrix.mtx": matrix, "data/barcodes.tsv": barcodes, "data/features.tsv": features}


def _xlsx(target: Target) -> Iterator[Files]:
    first = next(iter(seeds.MAKERS["xlsx"]()))["data.xlsx"]
    whole, sheet = seeds.unzipped(first), "xl/worksheets/sheet1.xml"

    start = b'<?xml version="1.0"?>'
    main = b'<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>%s</sheetData></worksheet>'
    cell = b'<row r="%d"><c r="%s%d"><v>1</v></c><c r="B%d"><v>2</v></c></row>'
    rows = [
        b"".join(cell % (i, b"XFD", i, i) for i in range(1, 20000)),
        cell % (1048576, b"A", 1048576, 1048576),
        cell % (10**12, b"A", 10**12, 10**12),
        b'<row r="1"><c r="ZZZZZZZ1"><v>1</v></c></row>',
        b'<row r="1"><c r="A1" t="s"><v>99999999</v></c><c r="B1"><v>1e999</v></c></row>' * 2,
        b'<row r="-5"><c r="A0"><v>nan</v></c><c t="d"><v>2020-13-45</v></c></row>',
        b"<row/>" * 10**6,
        b'<row r="1"><c r="A1" t="inlineStr"><is><t>' + b"x" * 10**6 + b"</t></is></c></row>",
        b'<row r="1"><c r="A1"><f>1/0</f><v>&#x1b;[2J</v></c></row>',
    ]
    for content in rows:
        yield {"data.xlsx": _zip({**whole, sheet: start + main % content})}
    laughs = b"".join(b'<!ENTITY l%d "%s">' % (i + 1, b"&l%d;" % i * 10) for i in range(9))
    for declared in (
        b'<!DOCTYPE x [<!ENTITY l0 "ha">' + laughs + b"]>",
        b'<!DOCTYPE x [<!ENTITY l9 SYSTEM "file://' + target.outside.encode() + b'">]>',
    ):
        body = main % b'<row r="1"><c r="A1" t="inlineStr"><is><t>&l9;</t></is></c></row>'
        yield {"data.xlsx": _zip({**whole, sheet: start + declared + body})}
        yield {"data.xlsx": _zip({**whole, sheet: start + b" " * 10**5 + declared + body})}
    yield {"data.xlsx": _zip({**whole, "xl/media/x.bin": bytes(50 * MB)})}
    for name in whole:
        yield {"data.xlsx": _zip({key: content for key, content in whole.items() if key != name})}
        yield {"data.xlsx": _zip({**whole, name: b""})}
    yield {"data.xlsx": b"PK"}


def _wild(target: Target) -> Iterator[Files]:
    yield {"data.txt": b"!a\n" * 10**5}
    yield {"data.txt": b"!" + b"a" * 10**6 + b"\n!series_matrix_table_begin\n"}
    yield {"data.txt": b"!series_matrix_table_begin\n!series_matrix_table_end\n"}
    yield {"data.txt": b"#a\n" * 10**5}
    yield {"data.csv": b"#a\n" * 50 + b"id,x\na,1\nb,2\n"}
    yield {"data.gct": b"#1.2\n99999999\t99999999\nName\tDescription\tS1\nx\tna\t1\n"}
    yield {"data.gct": b"#1.2\n1\t1\n"}
    yield {"data.gct": b"#1.3\n2\t2\t99999999\t999999999\nid\tS1\tS2\nx\t1\t2\n"}
    yield {"data.gct": b"#1.3\n1\t1\t0\t1\n" + b"x" * 3_000_000}
    yield {"data.csv": b"sep=;\n"}
    yield {"data.csv": b"sep=\0\nid\0x\n"}
    yield {"data.csv": b"\xff\xfe\x00\xd8\x00\xd8i\x00"}
    yield {"data.csv": b"\xfe\xff" + b"\x00," * 10**5}
    yield {"data.csv": "id;x\n".encode("utf-16") * 1000}
    yield {"data.csv": b"id;x\n" + b"a;1,5\n" * 10**5}
    yield {"data.csv": b"id,x\n" + b"".join(b'a%d,"1,234.5"\n' % i for i in range(10**5))}
    yield {"data.csv": b"id,x\n" + b"".join(b"a%d,-\n" % i for i in range(10**5)) + b"z,1\n"}
    yield {"data.csv": b"id,x\na," + b"1 234" * 10**5 + b"\nb,1\n"}
    yield {"data.csv": b"Title\n" * 30 + b"id,x\na,1\n"}
    yield {"data.csv": b"x,y\n" + b"a,1,2\n" * 3 + b"b,1\n"}
    yield {"data.txt.gz": gzip.compress(b"!a\n" * 10**6, 1)}
    yield {"data.txt.gz": gzip.compress(b"!" + b"a" * 10**7, 1)}
    yield {"data.csv.gz": gzip.compress(b"#" + b"a" * 10**7 + b"\nid,x\na,1\n", 1)}


# Tables ------------------------------------------------------------------------------------------------------------


def _texts() -> Iterator[bytes]:
    yield b'"' * 10**6
    yield b'a,b\n"' + b"x" * 10**6
    yield b"a,b\n1," + b"9" * 10**6 + b"\n"
    yield b"a" * 10**6 + b",b\n1,2\n"
    yield b",".join(b"c%d" % i for i in range(5000)) + b"\n" + b",".join([b"1"] * 5000) + b"\n"
    yield b"a,b\n" + b"1,2\n" * 4000 + b"\0,2\n" * 10
    yield b"a,b\n" + b"\n" * 10**5 + b"1,2\n"
    yield b"a,b\n" + b"\r" * 10**5
    yield "a,b\n1,2\n".encode("utf-16")
    yield "a,b\n1,2\n".encode("utf-32")
    yield b"a,b\n\xff\xfe,2\n"
    yield b"\xef\xbb\xbf"
    yield b"\xef\xbb\xbf\xef\xbb\xbfa,b\n1,2\n"
    yield b"\n" * 10**4
    yield b"," * 10**5
    yield b"a,a,a\n1,2,3\n4,5,6\n"
    yield b"id,id\nx,y\nz,w\n"
    yield b"a,b\n1e400,-1e400\n1e-400,nan\n99999999999999999999999,1\n"
    yield b"a,b\ntrue,1+2j\nfalse,0x1F\n"
    yield b"a,b\n2020-01-01,1\n2020-01-02,2\n"
    yield b"a,b\n18446744073709551616,1\n-9223372036854775809,2\n"
    yield b"id,a\n\x1b[2J,1\n\xe2\x80\xae,2\n"
    yield b"id,a\n" + b"".join(b"s%d,1\n" % i for i in range(20000)) + b"z" * 100_000 + b",1\n"
    yield b"a,label\n" + b"1,x\n" * 20000 + b"1," + b"z" * 100_000 + b"\n"
    yield b"a,b\n" + b"1,2\n" * 400_000
    yield b"id,a,b\n" + b"".join(b"sample%d,1,2\n" % i for i in range(100_000))
    yield b"a,b,label\n" + b"1,2,three\n" * 150_000
    yield b"a,b\r1,2\r3,4\r"
    yield b'a,b\n1,"2\n3,4\n'
    yield b"=cmd|'/C calc'!A0,b\n1,2\n3,4\n"


def _long_texts() -> Iterator[bytes]:
    """Short lines, and so many that what is taken for each is more than what any file is allowed."""
    yield b"id,a\n" + b"".join(b"%x,1\n" % i for i in range(750_000))
    yield b"a,b\n" + b",\n" * 3 * 10**6
    yield b"a,label\n" + b"1,x\n" * 1_500_000


def _csv(target: Target) -> Iterator[Files]:
    for text in (*_texts(), *_long_texts()):
        yield {"data.csv": text}


def _tsv(target: Target) -> Iterator[Files]:
    for text in _texts():
        yield {"data.tsv": text.replace(b",", b"\t")}


@cache
def _parquet_tables() -> tuple[bytes, ...]:
    return tuple(_make_parquet_tables())


def _make_parquet_tables() -> Iterator[bytes]:
    def packed(columns: dict[str, Any], schema: Any = None, **options: Any) -> bytes:
        file = io.BytesIO()
        pyarrow.parquet.write_table(pyarrow.table(columns, schema), file, **options)
        return file.getvalue()

    yield packed({"a": np.zeros(10**7)}, compression="zstd")
    long = pyarrow.DictionaryArray.from_arrays(np.zeros(2000, dtype=np.int32), ["z" * 100_000])
    yield packed({"label": long, "a": np.arange(2000)})
    plain = pyarrow.schema([("label", pyarrow.string()), ("a", pyarrow.int64())])
    yield packed({"label": long.cast(pyarrow.string()), "a": np.arange(2000)}, schema=plain)
    yield packed({"id": pyarrow.array([f"s{i}" for i in range(5000)] + ["z" * 10**6]), "a": np.arange(5001)})
    yield packed({"a": pyarrow.array([[1.0] * 3] * 4), "b": np.arange(4)})
    yield packed({"a": pyarrow.array([{"x": 1, "y": {"z": 2}}] * 4), "b": np.arange(4)})
    yield packed({"a": pyarrow.array([b"\xff\xfe"] * 4), "b": np.arange(4)})
    yield packed({"a": pyarrow.array([10**30] * 4, pyarrow.decimal128(38, 0)), "b": np.arange(4)})
    yield packed({"a": pyarrow.array(np.arange(4), pyarrow.timestamp("ns", tz="Nowhere/Town")), "b": np.arange(4)})
    yield packed({"a": pyarrow.array([None] * 4, pyarrow.null()), "b": np.arange(4)})
    yield packed({"\x1b[2J\u202e" * 100: np.arange(4), "b": np.arange(4)})
    yield packed({f"c{i}": np.arange(2) for i in range(1000)})
    yield packed({"a": np.arange(4, dtype=np.float16), "b": np.arange(4, dtype=np.uint64)})
    yield packed({"a": np.zeros(0), "b": np.zeros(0)})
    table = pyarrow.table([np.arange(4), np.arange(4)], names=["a", "a"])
    hostile = [{}, {b"pandas": b"{"}, {b"pandas": b"[]"}, {b"pandas": b"[" * 5000}, {b"ARROW:schema": b"AAAA"}]
    columns = {"index_columns": ["a", "__x"], "columns": [{"name": 7}], "column_indexes": [{}]}
    odd = [
        columns,
        {
            "index_columns": [{"kind": "range", "start": 0, "stop": 2**62, "step": 1}],
            "columns": [],
            "column_indexes": [],
        },
    ]
    for metadata in (*hostile, *({b"pandas": json.dumps(value).encode()} for value in odd)):
        file = io.BytesIO()
        pyarrow.parquet.write_table(table.replace_schema_metadata(metadata), file)
        yield file.getvalue()
    file = io.BytesIO()
    one = pyarrow.table({"a": [1.0, 2.0], "b": [3.0, 4.0]})
    pyarrow.parquet.write_table(one.replace_schema_metadata(hostile[1]), file)
    yield file.getvalue()


def _parquet(target: Target) -> Iterator[Files]:
    for content in _parquet_tables():
        yield {"data.parquet": content}


def _shards(target: Target) -> Iterator[Files]:
    for content in _npy_headers(target):
        yield {"data/part-0.npy": content}
    for content in _parquet_tables():
        yield {"data/part-0.parquet": content}


def _matrix_market() -> Iterator[bytes]:
    head = b"%%MatrixMarket matrix coordinate real general\n"
    for sizes in (
        b"4294967295 4294967295 1",
        b"134217728 3 1",
        b"3 16777215 1",
        b"9999999999999 1 0",
        b"-1 3 1",
        b"1 1 -1",
    ):
        yield head + sizes + b"\n1 1 1.0\n"
    yield head + b"9" * 5000 + b" 3 1\n1 1 1\n"
    yield head + b"%" * 10**6 + b"\n3 3 1\n1 1 1\n"
    yield head + b"%\n" * 10**5 + b"3 3 1\n1 1 1\n"
    yield head + b"3 3 1\n" + b"1" * 10**6 + b"\n"
    yield head + b"3 3 1\n" + b" " * 10**6 + b"\n"
    yield head + b"3 3 1\n" + b"%x\n" * 10**5 + b"1 1 1\n"
    yield head + b"3 3 2\n1 1 nan\n9223372036854775807 1 1\n"
    yield head + b"3 3 1\n1e300 1 1\n"
    yield head + b"3 3 1\nnan 1 1\n"
    yield head + b"3 3 1\n0 1 1\n"
    yield head.replace(b"real", b"integer") + b"3 3 1\n1 1 1e300\n"
    yield head.replace(b"real", b"integer") + b"3 3 1\n1 1 9223372036854775808\n"
    yield head.replace(b"general", b"symmetric") + b"3 3 1\n1 3 1\n"
    yield head + b"1000 1000 100000\n" + b"5 5 1\n" * 100_000
    yield b"%%MatrixMarket matrix array real symmetric\n100000 100000\n1\n"
    yield b"%%MatrixMarket matrix array real skew-symmetric\n1 1\n"
    yield b"%%MatrixMarket matrix array pattern general\n2 2\n1\n1\n1\n1\n"
    yield b"%%MatrixMarket matrix array real general\n300000 1\n" + b"1\n" * 300_000
    yield b"%%MatrixMarket matrix array real skew-symmetric\n20000 20000\n1\n"
    yield head.replace(b"real general", b"pattern symmetric") + b"9 9 1500000\n" + b"2 1\n" * 1_500_000
    yield b"%%MatrixMarket matrix array real symmetric\n2600 2600\n" + b"1\n" * (2600 * 2601 // 2)


def _mtx(target: Target) -> Iterator[Files]:
    for content in _matrix_market():
        yield {"data.mtx": content}


def _mtx_gz(target: Target) -> Iterator[Files]:
    for content in _matrix_market():
        yield {"data.mtx.gz": gzip.compress(content, 1, mtime=0)}
    head = b"%%MatrixMarket matrix coordinate real general\n"
    for bomb in (
        head + b"3 3 1\n" + b" " * 120 * MB,
        head + b"3 3 1\n1 1 1" + b"0" * 120 * MB,
        head + b"%\n" * 10 * MB,
    ):
        yield {"data.mtx.gz": gzip.compress(bomb, 1, mtime=0)}
    yield {"data.mtx.gz": gzip.compress(head + b"3 3 1\n1 1 1\n", mtime=0) + b"\x1f\x8b\x08"}


def _folder(target: Target) -> Iterator[Files]:
    for names in (
        ("a.csv", "labels.csv", "y.csv"),
        ("labels.csv",),
        (".hidden.csv",),
        ("a.xyz",),
        ("\x1b[2J.csv", "b.csv"),
    ):
        yield {f"data/{name}": b"id,a\nx,1\ny,2\n" for name in names}
    yield {"data/a.csv": b"id,a\nx,1\ny,2\n", "data/b.csv": b"id,b\nq,1\nr,2\n"}
    yield {f"data/v{i}.csv": b"a,b\n1,2\n3,4\n" for i in range(300)}


def _labels(target: Target) -> Iterator[Files]:
    views = {"views.npy": _as_npy(np.ones((6, 2)))}
    for content in _npy_headers(target):
        yield {"labels.npy": content, **views}
    for text in _texts():
        yield {"labels.txt": text, **views}
        yield {"labels.csv": text, **views}
    for text in (
        b"a\n" * 50_000 + b"z" * 10**6,
        b"\n" * 10**6,
        b"12\n" * 2 * 10**6,
        "ä\u2028b\x1c\x0bc".encode(),
        b"\xff\xfea\0",
    ):
        yield {"labels.txt": text, **views}
    for content in _parquet_tables():
        yield {"labels.parquet": content, **views}


# Folders and databases ---------------------------------------------------------------------------------------------


def _zarr(target: Target) -> Iterator[Files]:
    second = {"zarr_format": 2, "shape": [6, 3], "chunks": [2, 3], "dtype": "<f8", "fill_value": 0.0}
    second |= {"order": "C", "filters": None, "compressor": None}
    third: dict[str, Any] = {"zarr_format": 3, "node_type": "array", "shape": [6, 3], "data_type": "float64"}
    third |= {"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2, 3]}}, "fill_value": 0.0}
    third |= {"chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}}}
    third |= {"codecs": [{"name": "bytes", "configuration": {"endian": "little"}}], "attributes": {}}
    chunk = np.ones((2, 3)).tobytes()

    def as_second(data: bytes = chunk, **changes: Any) -> Files:
        return {"data.zarr/.zarray": json.dumps(second | changes).encode(), "data.zarr/0.0": data}

    def as_third(data: bytes = chunk, **changes: Any) -> Files:
        return {"data.zarr/zarr.json": json.dumps(third | changes).encode(), "data.zarr/c/0/0": data}

    pickle = {"id": "pickle", "protocol": 5}
    yield as_second(target.pickle, compressor=pickle)
    yield as_second(target.pickle, filters=[pickle])
    yield as_second(target.pickle, filters=[{"id": "zlib", "level": 1}, pickle])
    yield as_second(target.pickle, dtype="|O", filters=[pickle])
    yield as_second(target.pickle, compressor={"id": "json2"}, filters=[pickle, {"id": "vlen-utf8"}])
    own = [{"name": "bytes", "configuration": {"endian": "little"}}]
    yield as_third(target.pickle, codecs=[*own, {"name": "numcodecs.pickle", "configuration": {}}])
    yield as_third(target.pickle, codecs=[{"name": "numcodecs.pickle", "configuration": {}}])
    yield as_third(target.pickle, codecs=[{"name": "numcodecs.pickle", "configuration": {}}, *own])
    yield as_third(codecs=[*own, {"name": "os.system", "configuration": {"command": "true"}}])
    yield as_third(codecs=own * 1000)
    for shape in ([2**62, 3], [2**40, 2**40], [2**33, 3], [-6, 3], [0, 3], [6], [], [6, 3, 1], [10**8, 3]):
        yield as_second(shape=shape)
        yield as_third(shape=shape)
    for chunks in ([0, 3], [-1, 3], [1, 1], [2**62, 2**62], [2], [2.5, 3], [2**31, 3]):
        yield as_second(chunks=chunks)
        yield as_third(chunk_grid={"name": "regular", "configuration": {"chunk_shape": chunks}})
    blosc = {"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1}
    for header in (
        bytes(16),
        b"\x02\x01\x01\x08" + struct.pack("<III", 48, 48, 64) + bytes(48),
        b"\x02\x01\x31\x08" + struct.pack("<III", 2**31 - 1, 2**20, 64) + b"\xff" * 48,
    ):
        yield as_second(header, compressor=blosc)
        yield as_third(
            header,
            codecs=[
                *own,
                {
                    "name": "blosc",
                    "configuration": {"typesize": 8, "cname": "lz4", "clevel": 5, "shuffle": "shuffle", "blocksize": 0},
                },
            ],
        )
    for zstd in (b"\x28\xb5\x2f\xfd\xe0" + b"\xff" * 16, b"\x28\xb5\x2f\xfd\xa0\xff\xff\xff\x7f" + bytes(8)):
        yield as_second(zstd, compressor={"id": "zstd", "level": 1})
        yield as_third(zstd, codecs=[*own, {"name": "zstd", "configuration": {"level": 1, "checksum": False}}])
    for lz4 in (b"\xff\xff\xff\x7f" + bytes(8), b"\xff" * 8):
        yield as_second(lz4, compressor={"id": "lz4", "acceleration": 1})
    yield as_second(filters=[{"id": "delta", "dtype": "|O"}])
    yield as_second(filters=[{"id": "fixedscaleoffset", "offset": 0, "scale": 0, "dtype": "<f8"}])
    yield as_second(dtype="|V8")
    yield as_second(dtype=[["a", "<f8"]])
    yield as_second(fill_value="NaN")
    yield as_second(fill_value="x" * 10**5)
    yield {"data.zarr/.zgroup": b'{"zarr_format": 2}', "data.zarr/a/.zarray": b"{}"}
    yield {"data.zarr/zarr.json": b'{"zarr_format": 3, "node_type": "group"}'}
    yield {"data.zarr/zarr.json": b"[" * 10**5}
    yield {"data.zarr/zarr.json": b'{"a":' * 10**4}
    yield {"data.zarr/.zarray": b"9" * 10**4}
    yield {"data.zarr/x": b""}


def _model(target: Target) -> Iterator[Files]:
    import hashlib

    def sealed(header: bytes, arrays: bytes = b"") -> Files:
        body = header + b"\n" + arrays
        whole = b"manyview-model format 2, written by manyview 0.1.0, %d bytes follow\n" % (len(body) + 65) + body
        return {"data.model": whole + hashlib.sha256(whole).hexdigest().encode() + b"\n"}

    for content in (target.pickle, b"\x80\x05" + target.pickle, _zip({"a": b"b"}), gzip.compress(target.pickle)):
        yield {"data.model": content}
    yield sealed(b"[" * 10**5)
    yield sealed(b'{"a":' * 10**5)
    yield sealed(b"9" * 10**5)
    yield sealed(target.pickle.replace(b"\n", b" "))
    for tree in (
        *({"dict": {"method": "os.system", "parameters": {"dict": {}}}}, {"os.system": "true"}, {"float": "x" * 10**5}),
        *(
            {"csr_array": 1},
            {"RandomState": {}},
            {"tuple": 5},
            {"array": -1},
            {"array": 10**30},
            [],
            None,
            7,
            "x" * 10**5,
        ),
    ):
        yield sealed(json.dumps({"arrays": [], "content": tree}).encode())
    for description in (
        ["|O", [1], "C"],
        ["<f8", [2**62, 4], "C"],
        ["<f8", [0] * 100, "C"],
        ["<U99999999", [0], "C"],
        ["<f8", [0, 2**62, 2**62], "C"],
        7,
        ["<f8", [True], "C"],
        ["<f8", [1], []],
    ):
        yield sealed(
            json.dumps({"arrays": [description], "content": {"array": 0}}).encode(),
            bytes(8) if description == ["<f8", [True], "C"] else b"",
        )


def _store(target: Target) -> Iterator[Files]:
    def made(*statements: str, values: tuple[Any, ...] = ()) -> Files:
        with TemporaryDirectory() as folder:
            path = Path(folder, "data.db")
            connection = sqlite3.connect(path)
            for statement in (f"PRAGMA application_id = {0x6D767870}", "PRAGMA user_version = 1", *statements):
                connection.execute(statement, values if "?" in statement else ())
            connection.commit()
            connection.close()
            return {"data.db": path.read_bytes()}

    tables = (
        "CREATE TABLE runs (id INTEGER PRIMARY KEY, facts TEXT)",
        "CREATE TABLE datasets (name, fingerprint, views, sorted_by_class, classes)",
        "CREATE TABLE cells (key, cell, run, status, reason, seconds, peak_bytes, fingerprint, labels, finished)",
        "CREATE TABLE pictures (key, name, picture)",
        "CREATE TABLE starts (key, run, started)",
    )
    endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT"
    yield made()
    yield made(tables[0])
    yield made(*tables)
    yield made(
        tables[0],
        f"CREATE VIEW datasets AS {endless} x AS name, x AS fingerprint, 1 AS views, 1 AS sorted_by_class, 1 AS classes FROM n",
        *tables[2:],
    )
    yield made(f"CREATE VIEW runs AS {endless} x AS id, '{{}}' AS facts FROM n", *tables[1:])
    yield made(
        "CREATE TABLE runs (id INTEGER PRIMARY KEY, facts AS (hex(zeroblob(90000000))))",
        "INSERT INTO runs (id) VALUES (1)",
        *tables[1:],
    )
    fill = "INSERT INTO datasets VALUES ('a', 'b', ?, 1, ?)"
    bomb = zlib.compress(_as_npy(np.zeros(4 * 10**7)), 1)
    for views, classes in (
        ("[]", bomb),
        ("[]", zlib.compress(target.pickle)),
        ("[]", zlib.compress(_zip({"a.npy": target.pickle}))),
        *(("[]", zlib.compress(content)) for content in _npy_headers(target)),
        ("[" * 10**5, zlib.compress(_as_npy([1, 2]))),
        ("7", zlib.compress(_as_npy([1, 2]))),
        ("[[1, 2, 3]]", zlib.compress(_as_npy([1, 2]))),
        ("[]", b"not packed"),
        ("[]", "text"),
        ("[]", None),
    ):
        yield made(*tables, fill, values=(views, classes))
    for facts in ("[1]", "7", "{", "[" * 10**5, None, b"\xff", "9" * 10**4):
        yield made(*tables, "INSERT INTO runs (facts) VALUES (?)", values=(facts,))


def _spec(target: Target) -> Iterator[Files]:
    part = 'kind = "table"\ntitle = "t"\nseeds = 2\nprotocols = "shuffled"\n'
    data = '[[dataset]]\nname = "a"\nload = "digits"\n'
    row = '[[row]]\nname = "r"\nestimator = "TBGL"\n'
    sources = (
        "a = " + "[" * 5000,
        "a = " + "{a=" * 5000,
        ".".join(["a"] * 5000) + " = 1",
        "[" + ".".join(["a"] * 5000) + "]",
        "seeds = " + "9" * 5000,
        part.replace("2", "9223372036854775807") + data + row,
        part.replace("2", "100000000") + data + row,
        part.replace("2", "-5") + data + row,
        part + data + row.replace('"r"', '"{view:1000000000}"') + "each_view = true\n",
        part
        + data.replace("load", "fetch").replace("digits", "MSRC-v5")
        + row.replace('"r"', '"{view:1000000000}"')
        + "each_view = true\n",
        part
        + data.replace("load", "fetch").replace("digits", "MSRC-v5")
        + row.replace('"r"', '"{0}{x}{"')
        + "each_view = true\n",
        part + data.replace('"a"', '"' + "z" * 10**5 + '"') + row.replace("TBGL", "nonsense"),
        part + data + row.replace("TBGL", "z" * 10**5),
        part + data + row.replace("TBGL", "\\u001b[2J\\u202e"),
        part + data + row + "[row.parameters]\np = nan\n",
        part + data + row + "[row.parameters]\nrandom_state = 1\n",
        part + data + row + '[row.parameters]\nn_anchors = "x"\nnothing = 1979-05-27T07:32:00Z\n',
        part + data + row + "time_limit = inf\n",
        "time_limit = nan\n" + part + data + row,
        part + data.replace('load = "digits"', "generate = {n_samples = 1e400}") + row,
        part + data.replace('load = "digits"', f'read = "{target.outside}"') + row,
        part + data.replace('load = "digits"', 'read = "../../../etc/passwd"\nfirst = -1') + row,
        'title = "t"\nparts = ["data.toml"]\n',
        'title = "t"\nparts = ["../../../../etc/passwd.toml", "paper"]\n',
        'title = "t"\nparts = ["\\u0000.toml"]\n',
        part + "\0",
        "",
    )
    for source in sources:
        yield {"data.toml": source.encode()}
    for content in (
        b"\xff\xfe",
        b"a = '\xed\xa0\x80'",
        "title = 'ä'".encode("latin-1"),
        "a=1".encode("utf-16"),
        b"\xef\xbb\xbfa = 1",
    ):
        yield {"data.toml": content}


MAKERS: dict[str, Callable[[Target], Iterator[Files]]] = {
    "mat4": _mat4,
    "mat5": _mat5,
    "mat5z": _mat5z,
    "mat73": _mat73,
    "npy": _npy,
    "npz": _npz,
    "csv": _csv,
    "tsv": _tsv,
    "parquet": _parquet,
    "mtx": _mtx,
    "mtx.gz": _mtx_gz,
    "wild": _wild,
    "xlsx": _xlsx,
    "h5ad": _h5ad,
    "h5mu": _h5mu,
    "tenx": _tenx,
    "folder": _folder,
    "labels": _labels,
    "shards": _shards,
    "zarr": _zarr,
    "model": _model,
    "store": _store,
    "spec": _spec,
}


def write_outside(path: Path) -> None:
    """A file with numbers that no reader of another file may ever show."""
    with h5py.File(path, "w") as file:
        file["X"] = np.full((3, 4), OUTSIDE)


OUTSIDE = 123456.789
