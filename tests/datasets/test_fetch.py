"""Named datasets: lookup, checksums, downloads, messages. No network: files and a server on this machine."""

import hashlib
import re
import socket
import threading
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
import scipy.io

from manyview.datasets import catalogue, data_folder, dataset_info, fetch, fetch_dataset, list_datasets
from manyview.exceptions import DatasetError

ON_DISK = [info for info in list_datasets() if info.sha256]
WITHOUT_CHECKSUM = [info for info in list_datasets() if not info.sha256]


@pytest.fixture
def payload(tmp_path):
    """A file in the form of MSRC-v5, with other numbers."""
    rng = np.random.default_rng(0)
    cell = np.empty((5, 1), dtype=object)
    for i, width in enumerate(dataset_info("MSRC-v5").n_features):
        cell[i, 0] = rng.random((210, width))
    path = tmp_path / "elsewhere" / "some.mat"
    path.parent.mkdir()
    scipy.io.savemat(path, {"X": cell, "y": np.repeat(np.arange(1, 8), 30)[:, None]})
    return path


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch):
    """Keep requests to this machine on this machine."""
    monkeypatch.setenv("no_proxy", "*")


@pytest.fixture
def home(tmp_path, monkeypatch):
    """An empty data folder that the environment points to."""
    folder = tmp_path / "home"
    monkeypatch.setenv("MANYVIEW_DATA", str(folder))
    return folder


@pytest.fixture
def known(payload, monkeypatch):
    """MSRC-v5, as if its checksum were that of the payload."""
    digest = hashlib.sha256(payload.read_bytes()).hexdigest()
    info = replace(dataset_info("MSRC-v5"), sha256=digest)
    monkeypatch.setitem(catalogue.DATASETS, "MSRC-v5", info)
    return info


@pytest.fixture
def server(payload):
    """A server on this machine: /good, /cut (half of what it announces), /moved (to ftp), else 404."""
    content = payload.read_bytes()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            status = {"/good": 200, "/cut": 200, "/moved": 302}.get(self.path, 404)
            self.send_response(status)
            if status == 302:
                self.send_header("Location", "ftp://127.0.0.1/file")
            body = content if status == 200 else b""
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body[: len(body) // 2] if self.path == "/cut" else body)

        def log_message(self, *arguments):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        thread = threading.Thread(target=http.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{http.server_port}"
        http.shutdown()
        thread.join()


def contents(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def test_download_from_a_server_then_from_the_cache(home, known, server):
    views = fetch_dataset("MSRC-v5", url=f"{server}/good")
    assert views.names == ("cm", "hog", "gist", "lbp", "cent")
    assert (views.n_samples, len(set(views.labels))) == (210, 7)
    assert contents(home) == ["MSRC-v5.mat"]
    again = fetch_dataset("msrc_v5", url=f"{server}/not-asked-any-more")
    np.testing.assert_array_equal(again["cm"], views["cm"])


def test_download_from_a_file_address(home, known, payload):
    assert fetch_dataset("MSRC-v5", url=payload.as_uri()).n_samples == 210
    assert payload.exists()


def test_the_registry_can_know_the_address(home, known, server, monkeypatch):
    monkeypatch.setitem(catalogue.DATASETS, "MSRC-v5", replace(known, url=f"{server}/good"))
    assert fetch_dataset("MSRC-v5").n_samples == 210


def test_a_wrong_checksum_leaves_nothing_behind(home, server):
    with pytest.raises(DatasetError, match=r"MSRC-v5: .*has SHA-256 \w{64}, expected 3b3adfad.*not kept"):
        fetch_dataset("MSRC-v5", url=f"{server}/good")
    assert contents(home) == []


@pytest.mark.parametrize("verify", [True, False])
def test_half_a_file_leaves_nothing_behind(home, known, server, verify):
    with pytest.raises(DatasetError, match=r"/cut could not be downloaded.*(ended after|IncompleteRead)"):
        fetch_dataset("MSRC-v5", url=f"{server}/cut", verify=verify)
    assert contents(home) == []


@pytest.mark.parametrize(("page", "text"), [("nothing", "404"), ("moved", "302|ftp")])
def test_a_server_without_the_file(home, known, server, page, text):
    with pytest.raises(DatasetError, match=text) as caught:
        fetch_dataset("MSRC-v5", url=f"{server}/{page}")
    assert str(home) in str(caught.value)
    assert "The data come from the Microsoft Research Cambridge" in str(caught.value)
    assert contents(home) == []


def test_no_server_at_all(home, known):
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))  # taken, but nobody listens
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/file"
        with pytest.raises(DatasetError, match=f"MSRC-v5: {re.escape(url)} could not be downloaded"):
            fetch_dataset("MSRC-v5", url=url, timeout=2)
    assert contents(home) == []


@pytest.mark.parametrize("url", ["ftp://host/file", "data:text/plain,x", "just/a/path", ""])
def test_other_schemes_are_refused(home, url):
    with pytest.raises(ValueError, match=r"url: expected an address that begins with https, http, file"):
        fetch_dataset("MSRC-v5", url=url)


def test_missing_without_an_address_says_what_to_do(home):
    with pytest.raises(DatasetError) as caught:
        fetch_dataset("MSRC-v5")
    text = str(caught.value)
    for part in (
        f"MSRC-v5: {home / 'MSRC-v5.mat'} does not exist",
        "no fixed address is known",
        "GitHub repository",
        f"Put the file into {home} as MSRC-v5.mat (SHA-256 3b3adfad",
        "data_home= or MANYVIEW_DATA",
        "url=",
    ):
        assert part in text


def test_download_can_be_forbidden(home, known, payload):
    with pytest.raises(DatasetError, match="download_if_missing is False"):
        fetch_dataset("MSRC-v5", url=payload.as_uri(), download_if_missing=False)
    assert contents(home) == []


def test_a_wrong_file_in_the_cache_is_named_with_both_checksums(home, payload):
    home.mkdir()
    (home / "MSRC-v5.mat").write_bytes(payload.read_bytes())
    found = hashlib.sha256(payload.read_bytes()).hexdigest()
    with pytest.raises(DatasetError, match=rf"SHA-256 {found}, expected 3b3adfad\w{{56}}; .*verify=False"):
        fetch_dataset("MSRC-v5")
    assert fetch_dataset("MSRC-v5", verify=False).names[0] == "cm"
    assert fetch_dataset("MSRC-v5", sha256=found.upper()).names[0] == "cm"
    assert contents(home) == ["MSRC-v5.mat"]


@pytest.mark.parametrize("info", WITHOUT_CHECKSUM, ids=lambda info: info.name)
def test_unknown_checksum_needs_one_for_a_download(home, server, info):
    with pytest.raises(DatasetError, match=rf"{info.name}: no checksum is known.*sha256="):
        fetch_dataset(info.name, url=f"{server}/good")
    with pytest.raises(DatasetError, match=r"checksum is not known to us.*url= and sha256="):
        fetch_dataset(info.name)


def test_another_dataset_under_this_name(home, payload):
    home.mkdir()
    (home / "Caltech101-20.mat").write_bytes(payload.read_bytes())
    with pytest.raises(DatasetError, match="Caltech101-20: expected 2386 samples in 6 views, got 210 in 5"):
        fetch_dataset("Caltech101-20")
    assert fetch_dataset("Caltech101-20", verify=False).n_views == 5


def test_another_edition_is_read_with_a_warning(home, known, payload, monkeypatch):
    monkeypatch.setitem(catalogue.DATASETS, "MSRC-v5", replace(known, views=(("cm", 25), *known.views[1:])))
    with pytest.warns(UserWarning, match=r"MSRC-v5: expected \(25, 576.*got \(24, 576.*another edition"):
        assert fetch_dataset("MSRC-v5", url=payload.as_uri()).names[0] == "cm"


def test_a_folder_that_cannot_be_made(tmp_path, known, payload):
    (tmp_path / "file").write_text("")
    with pytest.raises(DatasetError, match="cannot make the folder"):
        fetch_dataset("MSRC-v5", url=payload.as_uri(), data_home=tmp_path / "file" / "below")


def test_where_files_are_looked_for(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("MANYVIEW_DATA", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert data_folder() == tmp_path / ".cache" / "manyview"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert data_folder() == tmp_path / ".cache" / "manyview"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert data_folder() == tmp_path / "xdg" / "manyview"
    monkeypatch.setenv("MANYVIEW_DATA", "")
    assert data_folder() == tmp_path / "xdg" / "manyview"
    monkeypatch.setenv("MANYVIEW_DATA", "~/data")
    assert data_folder() == tmp_path / "data"
    assert data_folder("~/mine") == tmp_path / "mine"


def test_data_home_goes_before_the_environment(home, known, payload, tmp_path):
    fetch_dataset("MSRC-v5", url=payload.as_uri(), data_home=tmp_path / "mine")
    assert contents(tmp_path / "mine") == ["MSRC-v5.mat"]
    assert contents(home) == []


def test_unknown_names_and_bad_checksums():
    with pytest.raises(ValueError, match=r"no dataset called 'MSCR-v5'; there are .*mean 'MSRC-v5'\?"):
        fetch_dataset("MSCR-v5")
    with pytest.raises(ValueError, match="sha256: expected 64 hexadecimal digits, got 'abc'"):
        fetch_dataset("MSRC-v5", sha256="abc")


def test_the_registry_is_consistent():
    infos = list_datasets()
    assert [info.name for info in infos if info.in_paper] == [info.name for info in infos[:6]]
    assert len({info.file_name for info in infos}) == len(infos)
    assert len({fetch._key(info.name) for info in infos}) == len(infos)
    for info in infos:
        assert info.sha256 is None or len(info.sha256) == 64
        assert len(set(info.view_names)) == len(info.views)
        assert all(name == name.lower() for name in info.view_names)
        assert info.origin
        assert info.citation
        assert (info.sha256 is None) == (info.sorted_by_class is None)


@pytest.mark.parametrize("info", ON_DISK, ids=lambda info: info.name)
def test_real_files_are_as_described(data_file, info, recwarn):
    path = data_file(info.file_name)
    views = fetch_dataset(info.name, data_home=path.parent)
    assert views.n_samples == info.n_samples
    assert views.n_features == info.n_features
    assert len(np.unique(views.labels)) == info.n_classes
    assert bool((np.diff(views.labels.astype(int)) >= 0).all()) == info.sorted_by_class
    assert not [warning for warning in recwarn if warning.category is UserWarning]
