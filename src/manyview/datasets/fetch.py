"""Named datasets: finding the file, downloading it, comparing its checksum, naming its views."""

from __future__ import annotations

import os
import re
import shutil
from dataclasses import replace
from difflib import get_close_matches
from hashlib import file_digest
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

from manyview._utils.files import user_cache, whole_file
from manyview.datasets.catalogue import DATASETS, DatasetInfo
from manyview.exceptions import DatasetError, warn_user
from manyview.io import read_views
from manyview.views import Views

_SCHEMES = ("https", "http", "file")
_CHUNK_BYTES = 2**20


def list_datasets() -> tuple[DatasetInfo, ...]:
    """Return the facts about each named dataset, the six of the TBGL paper first.

    Returns
    -------
    tuple of DatasetInfo
        Size, views, file, origin, checksum. The file of a listed dataset need not exist on this machine.

    Examples
    --------
    >>> from manyview.datasets import list_datasets
    >>> [info.name for info in list_datasets() if info.in_paper]
    ['MSRC-v5', 'Handwritten4', 'Mnist4', 'Caltech101-20', 'NUS-WIDE', 'Reuters']
    """
    return tuple(DATASETS.values())


def dataset_info(name: str) -> DatasetInfo:
    """Return the facts about one dataset.

    Parameters
    ----------
    name : str
        Upper and lower case, hyphens and underscores make no difference.

    Examples
    --------
    >>> from manyview.datasets import dataset_info
    >>> dataset_info("msrc_v5").views
    (('cm', 24), ('hog', 576), ('gist', 512), ('lbp', 256), ('cent', 254))
    """
    keys = {_key(known): info for known, info in DATASETS.items()}
    if _key(name) not in keys:
        close = get_close_matches(_key(name), keys, n=1)
        hint = f" Did you mean {keys[close[0]].name!r}?" if close else ""
        raise ValueError(f"name: no dataset called {name!r}; there are {', '.join(DATASETS)}.{hint}")
    return keys[_key(name)]


def data_folder(data_home: str | os.PathLike[str] | None = None) -> Path:
    """Return the folder of the dataset files, where downloads are stored.

    Parameters
    ----------
    data_home : path, optional
        A folder that takes precedence over all others.

    Returns
    -------
    Path
        `data_home`; else the environment variable ``MANYVIEW_DATA``; else ``manyview`` in the user's cache
        folder (``XDG_CACHE_HOME``, or ``~/.cache``). It need not exist.
    """
    if data_home is not None:
        return Path(data_home).expanduser()
    if chosen := os.environ.get("MANYVIEW_DATA"):
        return Path(chosen).expanduser()
    return user_cache()


def fetch_dataset(
    name: str,
    *,
    data_home: str | os.PathLike[str] | None = None,
    download_if_missing: bool = True,
    url: str | None = None,
    sha256: str | None = None,
    verify: bool = True,
    timeout: float = 30.0,
) -> Views:
    """Read a benchmark dataset by name.

    The file is expected in :func:`data_folder`. If it does not exist and an address is known or given, it is downloaded
    there. It gets its name only after its checksum was compared, so that an incomplete or wrong file never appears.

    Parameters
    ----------
    name : str
        One of :func:`list_datasets`.
    data_home : path, optional
        Folder of the files; see :func:`data_folder` for the default.
    download_if_missing : bool, default=True
        Whether to download a file that does not exist.
    url : str, optional
        Where to download from (``https://``, ``http://`` or ``file://``). Most of these files have no fixed address, so
        pass the one where you found the file. Ignored if the file already exists.
    sha256 : str, optional
        Checksum that the file must have, instead of the known one. Needed for downloading a dataset whose checksum is
        not known.
    verify : bool, default=True
        Whether to check checksum and size. ``False`` reads the file as it is.
    timeout : float, default=30.0
        Seconds to wait for an answer of the server.

    Returns
    -------
    Views
        In the order of the file, which for most of these is sorted by class: shuffle
        (:meth:`~manyview.Views.shuffled`) before scoring a method that depends on the order.

    Raises
    ------
    DatasetError
        If the file does not exist and cannot be downloaded, or is the wrong one. The message names the expected path,
        the origin of the data, and what to do.
    """
    info = dataset_info(name)
    path = data_folder(data_home) / info.file_name
    expected = _checksum(sha256) or info.sha256
    if not verify:
        expected = None
    if url is not None and urlsplit(url).scheme.lower() not in _SCHEMES:
        raise ValueError(f"url: expected an address that begins with {', '.join(_SCHEMES)}, got {url!r}.")
    if path.is_file():
        if expected is not None and (found := _sha256(path)) != expected:
            raise DatasetError(
                f"{info.name}: {path} has SHA-256 {found}, expected {expected}; it is damaged or another "
                "edition. Remove it, or pass verify=False to read it as it is."
            )
    else:
        _get(info, path, url or info.url, expected, allowed=download_if_missing, verify=verify, timeout=timeout)
    return _as_described(read_views(path), info, path, verify)


def _get(
    info: DatasetInfo,
    path: Path,
    url: str | None,
    expected: str | None,
    *,
    allowed: bool,
    verify: bool,
    timeout: float,
) -> None:
    if not allowed:
        raise DatasetError(f"{info.name}: {path} does not exist, and download_if_missing is False. {_help(info, path)}")
    if url is None:
        raise DatasetError(f"{info.name}: {path} does not exist, and no fixed address is known. {_help(info, path)}")
    if expected is None and verify:
        raise DatasetError(
            f"{info.name}: no checksum is known, so a download could not be checked. Pass sha256= with the "
            f"checksum of the file at {url}, or verify=False to take it unchecked."
        )
    try:
        _download(url, path, expected, timeout)
    except DatasetError as error:
        raise DatasetError(f"{info.name}: {error} {_help(info, path)}") from error


def _download(url: str, target: Path, sha256: str | None, timeout: float) -> None:
    """Store the file at ``url`` as ``target``, complete and with this checksum, or raise a DatasetError."""
    from pooch import HTTPDownloader  # slow to import, and most files are in the cache

    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DatasetError(f"cannot make the folder {target.parent}: {error}") from error
    try:
        # Not pooch.retrieve: its files can be read by their owner only, and it logs advice about its own arguments.
        with whole_file(target) as file:
            if urlsplit(url).scheme.lower() == "file":
                with open(url2pathname(urlsplit(url).path), "rb") as source:
                    shutil.copyfileobj(source, file, _CHUNK_BYTES)
            else:
                # Follows redirections to http and https only. Fewer bytes than announced are an error with urllib3 2 or
                # later; before, only the checksum reveals them.
                HTTPDownloader(timeout=timeout, chunk_size=_CHUNK_BYTES)(url, file, None)
            file.flush()
            if sha256 is not None and (found := _sha256(Path(file.name))) != sha256:
                raise DatasetError(f"{url} has SHA-256 {found}, expected {sha256}, so it was not kept.")
    except DatasetError:
        raise
    except (OSError, ValueError) as error:  # errors of requests are OSErrors
        raise DatasetError(f"{url} could not be downloaded to {target.parent}: {error}") from error


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


def _help(info: DatasetInfo, path: Path) -> str:
    """Return where the file comes from, and where to put it."""
    checksum = f"SHA-256 {info.sha256}" if info.sha256 else "its checksum is not known to us"
    address = "url=" if info.sha256 else "url= and sha256="
    return (
        f"The data come from {info.origin}. Put the file into {path.parent} as {info.file_name} "
        f"({checksum}), name the folder that has it with data_home= or MANYVIEW_DATA, or pass {address}."
    )


def _as_described(views: Views, info: DatasetInfo, path: Path, verify: bool) -> Views:
    """Name the views if the file holds what the catalogue says."""
    if verify and (views.n_samples, views.n_views) != (info.n_samples, len(info.views)):
        raise DatasetError(
            f"{info.name}: expected {info.n_samples} samples in {len(info.views)} views, "
            f"got {views.n_samples} in {views.n_views} from {path}; it is another "
            "dataset. Pass verify=False to read it as it is."
        )
    if views.n_views != len(info.views):
        return views
    if views.n_features != info.n_features:
        warn_user(
            f"{info.name}: expected {info.n_features} features, got {views.n_features} from {path}; this is "
            "another edition, so scores need not compare with published ones.",
            UserWarning,
        )
    return replace(views, names=info.view_names)


def _checksum(sha256: str | None) -> str | None:
    if sha256 is not None and not re.fullmatch(r"[0-9a-fA-F]{64}", sha256):
        raise ValueError(f"sha256: expected 64 hexadecimal digits, got {sha256!r}.")
    return sha256.lower() if sha256 else None


def _key(name: str) -> str:
    return re.sub(r"[^0-9a-z]", "", str(name).lower())
