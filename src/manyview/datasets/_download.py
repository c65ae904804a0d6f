"""Downloading a file so that either the right file arrives, or nothing does."""

from __future__ import annotations

import hashlib
from http.client import HTTPException
from pathlib import Path
from typing import Any, BinaryIO
from urllib import request
from urllib.parse import urlsplit

from manyview._utils.files import whole_file
from manyview.exceptions import DatasetError

SCHEMES = ("https", "http", "file")
"""What an address may begin with."""

_CHUNK = 1 << 20


def sha256_of(path: Path) -> str:
    """Checksum of a file, as 64 hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def download(url: str, target: Path, *, sha256: str | None, timeout: float) -> None:
    """Put the file behind `url` at `target`.

    Nobody ever sees half a file, or one whose checksum is wrong.

    Parameters
    ----------
    url : str
        Beginning with https, http or file.
    target : Path
        Where the file belongs; its folder is made if there is none.
    sha256 : str, optional
        Expected checksum. ``None`` leaves it unchecked.
    timeout : float
        Seconds to wait for the other side before giving up.

    Raises
    ------
    DatasetError
        The text says what went wrong.
    """
    check_scheme(url)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DatasetError(f"cannot make the folder {target.parent}: {error}") from error
    try:
        with _opener().open(url, timeout=timeout) as source, whole_file(target) as file:
            found = _copy(source, file)
            if sha256 is not None and found != sha256:
                raise DatasetError(f"{url} has SHA-256 {found}, expected {sha256}, so it was not kept.")
    except DatasetError:
        raise
    except (OSError, HTTPException, ValueError) as error:
        raise DatasetError(f"{url} could not be downloaded to {target.parent}: {error}") from error


def check_scheme(url: str) -> None:
    """Refuse addresses that are not plain downloads."""
    scheme = urlsplit(url).scheme.lower()
    if scheme not in SCHEMES:
        raise ValueError(f"url: expected an address that begins with {', '.join(SCHEMES)}, got {url!r}.")


def _opener() -> request.OpenerDirector:
    """Open addresses of the allowed schemes only; a redirection cannot reach others either."""
    opener = request.OpenerDirector()
    for handler in (
        request.ProxyHandler,
        request.HTTPHandler,
        request.HTTPSHandler,
        request.FileHandler,
        request.HTTPRedirectHandler,
        request.HTTPDefaultErrorHandler,
        request.HTTPErrorProcessor,
        request.UnknownHandler,
    ):
        opener.add_handler(handler())
    return opener


def _copy(source: Any, file: BinaryIO) -> str:
    """Copy in pieces, return the checksum; fewer bytes than announced are an error."""
    digest, size = hashlib.sha256(), 0
    while chunk := source.read(_CHUNK):
        digest.update(chunk)
        file.write(chunk)
        size += len(chunk)
    announced = source.headers.get("Content-Length")
    if announced is not None and size != int(announced):
        raise OSError(f"the transfer ended after {size} of {announced} bytes")
    return digest.hexdigest()
