"""``.npz`` and ``.npy``."""

from __future__ import annotations

import zipfile

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from manyview.exceptions import FileFormatError
from manyview.io import read_views


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_npz_keeps_order_names_and_types(tmp_path, same, views, labels, save):
    save(tmp_path / "a.npz", zebra=views[0], ant=views[1], y=labels, note=np.array("text"), scale=np.ones(3))
    found = read_views(tmp_path / "a.npz")
    assert found.names == ("zebra", "ant")
    assert all(same(a, b) for a, b in zip(found.arrays, views[:2], strict=True))
    np.testing.assert_array_equal(found.labels, labels)


def test_npz_of_one_view_or_chosen_views(tmp_path, views, labels):
    np.savez(tmp_path / "a.npz", X=views[0], centres=np.ones((2, 7)), label=labels[:, None])
    with pytest.raises(FileFormatError, match=r"a\.npz: label holds 6 labels, but the views have shapes"):
        read_views(tmp_path / "a.npz")
    assert repr(read_views(tmp_path / "a.npz", views_key="X")) == "Views(6 samples; X: 4; 3 classes)"


def test_npz_features_by_samples(tmp_path, views, labels):
    np.savez(tmp_path / "a.npz", a=views[0].T, b=views[1].T, y=labels)
    assert read_views(tmp_path / "a.npz").n_features == (4, 5)


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "bsr", "dia"])
def test_sparse_npz(tmp_path, same, kind):
    matrix = sp.random_array((6, 6), density=0.4, rng=0).asformat(kind)
    sp.save_npz(tmp_path / "words.npz", matrix)
    found = read_views(tmp_path / "words.npz")
    assert found.names == ("words",)
    assert isinstance(found.arrays[0], sp.csr_array)
    assert same(found.arrays[0], matrix)


@pytest.mark.parametrize("order", ["C", "F"])
def test_npy(tmp_path, same, views, order):
    np.save(tmp_path / "hog.npy", np.asarray(views[2], order=order))
    found = read_views(tmp_path / "hog.npy")
    assert found.names == ("hog",)
    assert same(found.arrays[0], views[2])


def test_npy_that_is_no_vector_of_classes(tmp_path, views):
    np.save(tmp_path / "a.npy", views[0])
    np.save(tmp_path / "classes.npy", views[0])
    with pytest.raises(FileFormatError, match=r"classes\.npy: expected labels, .* found shape \(6, 4\) of"):
        read_views(tmp_path / "a.npy", labels=tmp_path / "classes.npy")


def test_other_files_in_an_npz_are_described(tmp_path, views):
    np.savez(tmp_path / "a.npz", X=views[0])
    with zipfile.ZipFile(tmp_path / "a.npz", "a") as archive:
        archive.writestr("readme.txt", "about X")
    assert read_views(tmp_path / "a.npz").names == ("X",)
    with pytest.raises(FileFormatError, match=r"readme\.txt \(not an array\)"):
        read_views(tmp_path / "a.npz", views_key="readme.txt")


def test_npz_with_nothing_in_it(tmp_path):
    np.savez(tmp_path / "a.npz")
    with pytest.raises(FileFormatError, match=r"a\.npz: found no views. It holds nothing\."):
        read_views(tmp_path / "a.npz")


def test_real_npz(data_file):
    found = read_views(data_file("MNIST63k.npz"))
    assert (found.n_samples, found.n_features, found.names) == (63000, (784,), ("X",))
    assert found.arrays[0].dtype == np.uint8
    assert len(np.unique(found.labels)) == 10


def test_max_bytes(tmp_path):
    np.savez_compressed(tmp_path / "a.npz", X=np.zeros((1000, 1000)))
    with pytest.raises(FileFormatError, match=r"a\.npz: would take 8,000,\d+ bytes .* max_bytes=1,000,000"):
        read_views(tmp_path / "a.npz", max_bytes=10**6)


@settings(
    max_examples=80,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    derandomize=True,
)
@given(kind=st.sampled_from(["a.npz", "b.npz", "c.npy"]), share=st.floats(0, 1, exclude_max=True))
def test_a_file_cut_anywhere_is_an_error(tmp_path, views, labels, kind, share):
    np.savez(tmp_path / "a.npz", X=views[0], y=labels)
    np.savez_compressed(tmp_path / "b.npz", X=views[0], y=labels)
    np.save(tmp_path / "c.npy", views[0])
    content = (tmp_path / kind).read_bytes()
    cut = tmp_path / f"cut{kind}"
    cut.write_bytes(content[: int(share * len(content))])
    with pytest.raises(FileFormatError, match=f"cut{kind}"):
        read_views(cut)


@pytest.mark.parametrize(("descr", "shape"), [("<U0", "(1099511627776,)"), ("|S0", "(6, 6)"), ("<f8", "(-1, -4)")])
def test_sizes_that_no_array_has(tmp_path, descr, shape):
    """Texts without length take no bytes however many there are, and two negative sides have a product like others."""
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}}}\n".encode()
    data = bytes(32) if descr == "<f8" else b""
    path = tmp_path / "odd.npy"
    path.write_bytes(b"\x93NUMPY\x02\x00" + len(header).to_bytes(4, "little") + header + data)
    with pytest.raises(FileFormatError, match=r"odd\.npy: the header announces shape .* which is not a valid array"):
        read_views(path)


@pytest.mark.parametrize("order", ["<", ">"])
def test_characters_that_do_not_exist(tmp_path, order):
    np.save(tmp_path / "views.npy", np.eye(3))
    codes = np.array([97, 98, 0x110000], dtype=f"{order}u4")
    np.save(tmp_path / "y.npy", codes.view(f"{order}U1"))
    with pytest.raises(FileFormatError, match=r"y\.npy: holds texts with the character 0x110000, which does not exist"):
        read_views(tmp_path / "views.npy", labels=tmp_path / "y.npy")
