"""Spoiling files: blindly, byte by byte, and beneath what protects their content (compression, checksums)."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import re
import sqlite3
import struct
import zipfile
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

Mutation = Callable[[bytearray, Random, Sequence[bytes]], None]

_BYTES = (0, 1, 0x0A, 0x0D, 0x20, 0x22, 0x2C, 0x30, 0x39, 0x7F, 0x80, 0xFE, 0xFF)
_NUMBERS = (0, 1, 0x7F, 0xFF, 0x7FFF, 0xFFFF, 2**24, 2**31 - 1, 2**31, 2**32 - 1, 2**33, 2**62, 2**63 - 1, 2**64 - 1)
_TEXTS = (
    *(str(number).encode() for number in (-1, 0, 2**31 - 1, 2**32, 2**63 - 1, 2**63, 10**30)),
    *(b"nan", b"inf", b"-inf", b"1e400", b"1e-400", b"1e", b"0x10", b"1_0", b"null", b"true", b"[]", b"{}", b'""'),
    *(b'"', b"'", b",", b"\t", b"\n", b"\r", b"\r\n", b"\0", b"%", b"#", b"\xef\xbb\xbf", b"\xff\xfe", b"\x1b[2J"),
    *("ä".encode(), "\u202e".encode(), b"\xed\xa0\x80", b"../../etc/passwd", b"|O", b"<M8[ns]", b"V8"),
)


def mutated(content: bytes, rng: Random, others: Sequence[bytes]) -> bytes:
    """Change a file in one place, or in a few. ``others`` are files to take pieces from."""
    changed = bytearray(content)
    for _ in range(min(8, 1 + int(rng.expovariate(0.7)))):
        rng.choice(_MUTATIONS)(changed, rng, others)
    return bytes(changed)


def _place(content: bytearray, rng: Random) -> int:
    """Somewhere; more often near the ends, where the headers are."""
    if not content:
        return 0
    kind = rng.random()
    if kind < 0.3:
        return rng.randrange(min(len(content), 256))
    if kind < 0.4:
        return len(content) - 1 - rng.randrange(min(len(content), 256))
    return rng.randrange(len(content))


def _piece(content: bytes | bytearray, rng: Random) -> tuple[int, int]:
    start = rng.randrange(len(content) + 1)
    return start, min(len(content), start + int(rng.expovariate(1 / 30)) + 1)


def _flip(content: bytearray, rng: Random, _: object) -> None:
    if content:
        content[_place(content, rng)] ^= 1 << rng.randrange(8)


def _set_byte(content: bytearray, rng: Random, _: object) -> None:
    if content:
        content[_place(content, rng)] = rng.choice(_BYTES) if rng.random() < 0.7 else rng.randrange(256)


def _set_number(content: bytearray, rng: Random, _: object) -> None:
    form = rng.choice(("<H", ">H", "<I", ">I", "<Q", ">Q"))
    size, at = struct.calcsize(form), _place(content, rng)
    if rng.random() < 0.5:  # fields are most often aligned
        at -= at % size
    content[at : at + size] = struct.pack(form, rng.choice(_NUMBERS) % 256**size)


def _insert_text(content: bytearray, rng: Random, _: object) -> None:
    at = _place(content, rng)
    content[at:at] = rng.choice(_TEXTS)


def _replace_digits(content: bytearray, rng: Random, _: object) -> None:
    """A number that is written as text becomes another."""
    found = list(re.finditer(rb"\d+", bytes(content[:4096])))
    if found:
        start, stop = rng.choice(found).span()
        content[start:stop] = rng.choice(_TEXTS[:13])


def _delete(content: bytearray, rng: Random, _: object) -> None:
    start, stop = _piece(content, rng)
    del content[start:stop]


def _duplicate(content: bytearray, rng: Random, _: object) -> None:
    start, stop = _piece(content, rng)
    content[start:start] = content[start:stop] * rng.choice((1, 1, 2, 50))


def _swap(content: bytearray, rng: Random, _: object) -> None:
    start, stop = _piece(content, rng)
    piece = content[start:stop]
    del content[start:stop]
    at = _place(content, rng)
    content[at:at] = piece


def _truncate(content: bytearray, rng: Random, _: object) -> None:
    del content[rng.randrange(len(content) + 1) :]


def _splice(content: bytearray, rng: Random, others: Sequence[bytes]) -> None:
    other = rng.choice(others)
    start, stop = (rng.randrange(len(other) + 1), len(other)) if rng.random() < 0.5 else _piece(other, rng)
    at = _place(content, rng)
    content[at : len(content) if rng.random() < 0.3 else at] = other[start:stop]


_MUTATIONS: tuple[Mutation, ...] = (
    *(_flip, _flip, _set_byte, _set_byte, _set_number, _set_number, _insert_text),
    *(_replace_digits, _delete, _duplicate, _swap, _truncate, _splice),
)


# Beneath compression and checksums ---------------------------------------------------------------------------------


def inside(name: str, content: bytes, rng: Random, others: Sequence[bytes]) -> bytes | None:
    """Change what is inside a container and close it again, as a whole one; None for other formats."""
    for ending, change in _INSIDE.items():
        if name.endswith(ending):
            try:
                return change(content, rng, others)
            except (
                ValueError,
                TypeError,
                LookupError,
                OSError,
                EOFError,
                struct.error,
                zlib.error,
                zipfile.BadZipFile,
            ):
                return None
    return None


def _in_zip(content: bytes, rng: Random, others: Sequence[bytes]) -> bytes:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = [(name, archive.read(name)) for name in archive.namelist()]
    chosen, closed = rng.randrange(len(members)), io.BytesIO()
    with zipfile.ZipFile(closed, "w", rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))) as archive:
        for i, (name, data) in enumerate(members):
            archive.writestr(name, mutated(data, rng, [data]) if i == chosen else data)
    return closed.getvalue()


def _in_gzip(content: bytes, rng: Random, others: Sequence[bytes]) -> bytes:
    return gzip.compress(mutated(gzip.decompress(content), rng, [gzip.decompress(content)]), 1, mtime=0)


def _in_mat5(content: bytes, rng: Random, others: Sequence[bytes]) -> bytes:
    """Change one variable: inflated, or with the length around it put right."""
    if not content.startswith(b"MATLAB 5"):
        raise ValueError("another version")
    elements, at = [], 128
    while at < len(content):
        kind, size = struct.unpack_from("<II", content, at)
        elements.append((kind, content[at + 8 : at + 8 + size]))
        at += 8 + size
    chosen = rng.randrange(len(elements))
    kind, data = elements[chosen]
    plain = zlib.decompress(data) if kind == 15 else struct.pack("<II", kind, len(data)) + data
    changed = mutated(plain, rng, [plain])
    if rng.random() < 0.5 and len(changed) >= 8:  # the length of the matrix itself put right, too
        changed = changed[:4] + struct.pack("<I", len(changed) - 8) + changed[8:]
    pack = zlib.compress(changed, 1) if kind == 15 or rng.random() < 0.3 else None
    elements[chosen] = (15, pack) if pack is not None else (struct.unpack_from("<I", changed)[0], changed[8:])
    return content[:128] + b"".join(struct.pack("<II", kind, len(data)) + data for kind, data in elements)


def _in_model(content: bytes, rng: Random, others: Sequence[bytes]) -> bytes:
    """Change the JSON or the arrays; the length and the checksum are right again."""
    _, header, rest = content.split(b"\n", 2)
    arrays = rest[:-65]
    if rng.random() < 0.8:
        header = mutated(header, rng, [other.split(b"\n", 2)[1] for other in others]).replace(b"\n", b" ")
    else:
        arrays = mutated(arrays, rng, [arrays])
    return sealed_model(header, arrays)


def sealed_model(header: bytes, arrays: bytes) -> bytes:
    """A model file of this content, whatever it is, with the right length and checksum."""
    body = header + b"\n" + arrays
    whole = b"manyview-model format 2, written by manyview 0.1.0, %d bytes follow\n" % (len(body) + 65) + body
    return whole + hashlib.sha256(whole).hexdigest().encode() + b"\n"


def _in_store(content: bytes, rng: Random, others: Sequence[bytes]) -> bytes:
    """Change one value of a table: text, or an array beneath its compression."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "store.db")
        path.write_bytes(content)
        connection = sqlite3.connect(path, isolation_level=None)
        try:
            connection.execute("PRAGMA journal_mode = DELETE")
            table, column = rng.choice(
                (
                    *(("runs", "facts"), ("datasets", "views"), ("datasets", "classes"), ("datasets", "fingerprint")),
                    *(("cells", "labels"), ("cells", "status"), ("cells", "reason"), ("cells", "seconds")),
                    *(("pictures", "picture"), ("pictures", "name"), ("cells", "key"), ("datasets", "sorted_by_class")),
                )
            )
            (value,) = connection.execute(f"SELECT {column} FROM {table}").fetchone()
            if isinstance(value, bytes):
                plain = zlib.decompress(value)
                changed = mutated(plain, rng, [plain])
                value = zlib.compress(changed) if rng.random() < 0.8 else mutated(value, rng, [value])
            elif isinstance(value, str):
                value = mutated(value.encode(), rng, [value.encode()]).decode("utf-8", "replace")
            else:
                value = rng.choice((0, -1, 2**63 - 1))
            connection.execute("PRAGMA foreign_keys = OFF")
            connection.execute(f"UPDATE {table} SET {column} = ?", [value])
        except sqlite3.Error as error:
            raise ValueError(error) from error
        finally:
            connection.close()
        return path.read_bytes()


def _in_json(content: bytes, rng: Random, others: Sequence[bytes]) -> bytes:
    """Replace one value of a JSON document by another, of any kind."""
    document = json.loads(content)
    holder, key = document, rng.choice(list(document))
    while isinstance(holder[key], dict | list) and holder[key] and rng.random() < 0.7:
        holder = holder[key]
        key = rng.choice(list(holder)) if isinstance(holder, dict) else rng.randrange(len(holder))
    values = (
        None,
        True,
        0,
        1,
        -1,
        2**31,
        2**62,
        2**64,
        1.5,
        "",
        "x",
        "|O",
        "<f8",
        "float64",
        [],
        [1, 2],
        [2**40, 2**20],
        {},
    )
    if rng.random() < 0.15:
        del holder[key]
    else:
        holder[key] = rng.choice(values)
    return json.dumps(document).encode()


_INSIDE = {
    ".npz": _in_zip,
    ".xlsx": _in_zip,
    ".gz": _in_gzip,
    ".mat": _in_mat5,
    ".model": _in_model,
    ".db": _in_store,
    "zarr.json": _in_json,
    ".zarray": _in_json,
}
