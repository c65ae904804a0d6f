"""MATLAB files of all versions: layouts found in the wild, and real files."""

from __future__ import annotations

import struct
import zlib

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from manyview.exceptions import FileFormatError
from manyview.io import read_views

# name, samples, classes, features
BENCHMARKS = [
    ("MSRC-v5", 210, 7, (24, 576, 512, 256, 254)),
    ("Handwritten4", 2000, 10, (76, 216, 47, 6)),
    ("Mnist4", 4000, 4, (30, 9, 30)),
    ("ORL", 400, 40, (512, 59, 864, 254)),
    ("3Sources", 169, 6, (3560, 3631, 3068)),
    ("BBCSport", 544, 5, (3183, 3203)),
    ("BBC4view", 685, 5, (4659, 4633, 4665, 4684)),
    ("Reuters600", 600, 6, (21531, 24892, 34251, 15506, 11547)),
    ("100Leaves", 1600, 100, (64, 64, 64)),
    ("Scene_15", 4485, 15, (20, 59, 40)),
    ("WebKB", 1051, 2, (1840, 3000)),
    ("Reuters-1200", 1200, 6, (2000,) * 5),
]


@pytest.mark.parametrize(
    ("name", "n_samples", "n_classes", "n_features"), BENCHMARKS, ids=[row[0] for row in BENCHMARKS]
)
def test_benchmark_file(benchmark_file, same, name, n_samples, n_classes, n_features):
    path = benchmark_file(f"{name}.mat")
    found = read_views(path)
    assert (found.n_samples, found.n_features) == (n_samples, n_features)
    assert len(np.unique(found.labels)) == n_classes
    assert found.names == tuple(f"view{i}" for i in range(len(n_features)))
    expected = scipy.io.loadmat(path)["X"].ravel()  # an independent reader
    assert all(same(a, b) for a, b in zip(found.arrays, expected, strict=True))


@pytest.mark.parametrize("compress", [False, True])
@pytest.mark.parametrize("shape", [(1, 3), (3, 1)])
@pytest.mark.parametrize(("views_key", "labels_key"), [("X", "Y"), ("data", "truelabel"), ("fea", "gnd"), ("Z", "GT")])
def test_cell(save_mat, cell, same, views, labels, compress, shape, views_key, labels_key):
    path = save_mat(compress=compress, **{views_key: cell(views, shape), labels_key: labels, "note": "hello"})
    found = read_views(path)
    assert found.names == ("view0", "view1", "view2")
    assert all(same(a, b) for a, b in zip(found.arrays, views, strict=True))
    np.testing.assert_array_equal(found.labels, labels)


@pytest.mark.parametrize("row", [True, False])
def test_cell_v73(save_mat73, same, views, labels, row):
    path = save_mat73(row=row, X=views, Y=labels[:, None].astype(float), note="hello", info={"a": views[0]}, none=None)
    found = read_views(path)
    assert all(same(a, b) for a, b in zip(found.arrays, views, strict=True))
    np.testing.assert_array_equal(found.labels, labels)
    assert found.labels.dtype == np.int64


@pytest.mark.parametrize("version", ["5", "7.3"])
def test_sparse_stays_sparse(save_mat, save_mat73, cell, same, version):
    matrices = [sp.random(6, d, density=0.4, random_state=d, format="csc") for d in (5, 8)]
    matrices.append(sp.csc_array((6, 3)))  # no entries at all
    path = save_mat(X=cell(matrices)) if version == "5" else save_mat73(X=matrices)
    found = read_views(path)
    assert all(isinstance(a, sp.csr_array) and same(a, b) for a, b in zip(found.arrays, matrices, strict=True))


@pytest.mark.parametrize("version", ["5", "7.3"])
def test_features_by_samples_are_transposed(save_mat, save_mat73, cell, same, labels, version):
    rng = np.random.default_rng(1)
    stored = [
        rng.random((4, 6)),
        sp.random(9, 6, density=0.5, random_state=0, format="csc"),
        rng.random((6, 6)),
    ]
    path = save_mat(X=cell(stored), y=labels) if version == "5" else save_mat73(X=stored, y=labels[None, :])
    found = read_views(path)
    assert found.n_features == (4, 9, 6)
    assert same(found.arrays[0], stored[0].T)
    assert same(found.arrays[1], stored[1].T)
    assert same(found.arrays[2], stored[2])  # both ways round fit: as it is


def test_labels_turn_only_the_views_that_lie_the_other_way(save_mat, cell, labels):
    rng = np.random.default_rng(1)
    path = save_mat(X=cell([rng.random((6, 4)), rng.random((5, 6))]), gt=labels)
    assert read_views(path).n_features == (4, 5)


def test_without_labels_the_common_side_tells(save_mat, cell):
    rng = np.random.default_rng(1)
    assert read_views(save_mat("r.mat", X=cell([rng.random((7, 4)), rng.random((7, 5))]))).n_features == (
        4,
        5,
    )
    assert read_views(save_mat("c.mat", X=cell([rng.random((4, 7)), rng.random((5, 7))]))).n_features == (
        4,
        5,
    )
    assert read_views(save_mat("one.mat", X=rng.random((4, 7)))).n_samples == 4


@pytest.mark.parametrize("stem", ["X", "view", "hog_"])
def test_numbered_variables_come_in_the_order_of_their_numbers(save_mat, stem):
    arrays = {f"{stem}{number}": np.full((5, number), float(number)) for number in (10, 2, 1)}
    found = read_views(save_mat(**arrays, y=np.arange(5)))
    assert found.names == (f"{stem}1", f"{stem}2", f"{stem}10")
    assert found.n_features == (1, 2, 10)


def test_one_matrix_is_one_view(save_mat, views, labels):
    found = read_views(save_mat(fea=views[0], gnd=labels))
    assert found.names == ("fea",)
    assert found.labels is not None


def test_version_4(tmp_path, views, labels):
    path = tmp_path / "old.mat"
    scipy.io.savemat(path, {"X1": views[0], "X2": views[2].astype(float), "y": labels}, format="4")
    assert repr(read_views(path)) == "Views(6 samples; X1: 4, X2: 3; 3 classes)"


def test_version_4_sparse(tmp_path, same):
    matrix = sp.random(6, 5, density=0.4, random_state=0, format="csc")
    scipy.io.savemat(tmp_path / "old.mat", {"X": matrix}, format="4")
    found = read_views(tmp_path / "old.mat").arrays[0]
    assert isinstance(found, sp.csr_array)
    assert same(found, matrix)


def test_plain_hdf5_without_matlab_attributes(tmp_path, views):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "plain.mat", "w") as file:
        file["X1"], file["X2"] = views[0].T, views[2].T
    assert read_views(tmp_path / "plain.mat").n_features == (4, 3)


def test_logical_and_complex_keep_their_kind(save_mat, save_mat73, cell):
    yes = np.eye(4, 3) > 0
    assert read_views(save_mat("a.mat", X=cell([yes]))).arrays[0].dtype == bool
    assert read_views(save_mat73("b.mat", X=[yes])).arrays[0].dtype == bool
    assert read_views(save_mat("c.mat", X=cell([yes + 1j]))).arrays[0].dtype == np.complex128


def test_struct_object_and_nested_cell_are_only_described(save_mat, cell, views):
    path = save_mat(X=cell(views), info={"a": 1}, nested=cell([cell([1, 2])]), function="x")
    assert read_views(path).n_views == 3
    with pytest.raises(FileFormatError, match=r"info \(struct\)"):
        read_views(path, views_key="info")


def test_names_and_keys(save_mat, cell, views, labels):
    path = save_mat(X=cell(views), data=cell(views[:2]), y=labels, other=labels[::-1].copy())
    found = read_views(path, views_key="data", labels_key="other", names=["colour", "shape"])
    assert found.names == ("colour", "shape")
    np.testing.assert_array_equal(found.labels, labels[::-1])
    path = save_mat("two.mat", hog=views[0], gist=views[1], y=labels)
    assert read_views(path, views_key=["gist", "hog"]).names == ("gist", "hog")


def test_result_is_writable_and_in_native_order(save_mat, cell, views):
    for array in read_views(save_mat(X=cell(views))).arrays:
        assert array.flags.writeable
        assert array.dtype.isnative


def test_max_bytes_counts_what_unfolds(save_mat):
    path = save_mat(X=np.zeros((1000, 1000)), compress=True)
    assert path.stat().st_size < 20_000
    assert read_views(path, max_bytes=9_000_000).n_samples == 1000
    with pytest.raises(FileFormatError, match=r"data\.mat: would take .* max_bytes=1,000,000"):
        read_views(path, max_bytes=1_000_000)


def test_max_bytes_counts_all_values_of_v73(save_mat73):
    path = save_mat73(X=[np.zeros((100, 50)), np.zeros((100, 75))])
    taken = 8 * (100 * 50 + 100 * 75) + 2 * 8  # and two references
    assert read_views(path, max_bytes=taken).n_samples == 100
    with pytest.raises(FileFormatError, match=rf"data\.mat: would take {taken:,} bytes .* max_bytes={taken - 1:,}"):
        read_views(path, max_bytes=taken - 1)


def test_external_link_is_not_followed(tmp_path, views):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "secret.mat", "w") as file:
        file["X"] = views[0]
    with h5py.File(tmp_path / "link.mat", "w") as file:
        file["X"] = h5py.ExternalLink(str(tmp_path / "secret.mat"), "X")
    with pytest.raises(FileFormatError, match=r"link\.mat: found no views. It holds X \(link\)"):
        read_views(tmp_path / "link.mat")


@pytest.mark.parametrize("member", ["data", "ir", "jc"])
def test_external_link_in_a_sparse_matrix_is_not_followed(save_mat73, member):
    h5py = pytest.importorskip("h5py")
    path = save_mat73(X=sp.random(6, 5, density=0.4, random_state=0, format="csc"))
    with h5py.File(path, "r+") as file:
        del file["X"][member]
        file["X"][member] = h5py.ExternalLink("secret.mat", "X")
    with pytest.raises(FileFormatError, match=r"found no views. It holds X \(link\)"):
        read_views(path)


def test_values_in_another_file_are_not_read(tmp_path, views):
    h5py = pytest.importorskip("h5py")
    (tmp_path / "secret.bin").write_bytes(views[0].tobytes())
    with h5py.File(tmp_path / "outside.mat", "w") as file:
        file.create_dataset("X", (6, 4), "f8", external=[("secret.bin", 0, 6 * 4 * 8)])
    with pytest.raises(FileFormatError, match=r"outside\.mat: /X is stored in another file, which is not read"):
        read_views(tmp_path / "outside.mat")


def test_v73_sparse_logical(save_mat73):
    h5py = pytest.importorskip("h5py")
    matrix = sp.random(6, 5, density=0.4, random_state=0, format="csc")
    path = save_mat73(X=matrix)
    with h5py.File(path, "r+") as file:
        file["X"].attrs["MATLAB_class"] = np.bytes_("logical")
    found = read_views(path).arrays[0]
    assert found.dtype == bool
    np.testing.assert_array_equal(found.toarray(), matrix.toarray() != 0)


def test_v73_what_only_matlab_can_decode_is_described(save_mat73, views):
    h5py = pytest.importorskip("h5py")
    path = save_mat73(X=views, names=np.ones((1, 6)))
    with h5py.File(path, "r+") as file:
        file["names"].attrs["MATLAB_object_decode"] = np.int32(3)
        file["names"].attrs["MATLAB_class"] = np.bytes_("string")
        file["text"] = "in HDF5's own way"
    assert read_views(path).n_views == 3
    with pytest.raises(FileFormatError, match=r"names \(string\)"):
        read_views(path, views_key="names")
    with pytest.raises(FileFormatError, match=r"text \(object\)"):
        read_views(path, views_key="text")


def _element(order, kind, content):
    return struct.pack(order + "II", kind, len(content)) + content + bytes(-len(content) % 8)


def _variable(order, flags, shape, name, *contents):
    """A variable of a v5 file, byte by byte, for what savemat does not write."""
    parts = [
        _element(order, 6, struct.pack(order + "II", flags, 0)),
        _element(order, 5, struct.pack(f"{order}{len(shape)}i", *shape)),
        _element(order, 1, name.encode()),
        *(_element(order, kind, content) for kind, content in contents),
    ]
    return _element(order, 14, b"".join(parts))


@pytest.fixture
def write_v5(tmp_path):
    def write(*variables, order="<"):
        mark = b"IM" if order == "<" else b"MI"
        head = b"MATLAB 5.0 MAT-file".ljust(124) + struct.pack(order + "H", 0x100) + mark
        (tmp_path / "raw.mat").write_bytes(head + b"".join(variables))
        return tmp_path / "raw.mat"

    return write


def test_v5_big_endian(write_v5, views):
    values = views[0].ravel(order="F").astype(">f8").tobytes()
    found = read_views(write_v5(_variable(">", 6, (6, 4), "X", (9, values)), order=">"))
    np.testing.assert_array_equal(found.arrays[0], views[0])
    assert found.arrays[0].dtype.isnative


def test_v5_sparse_logical_is_one_byte_each_whatever_its_type_says(write_v5):
    rows, starts = struct.pack("<3i", 0, 2, 1), struct.pack("<3i", 0, 2, 3)
    variable = _variable("<", 5 | 0x200, (3, 2), "X", (5, rows), (5, starts), (9, b"\1\1\1"))
    found = read_views(write_v5(variable)).arrays[0]
    assert found.dtype == bool
    np.testing.assert_array_equal(found.toarray(), [[1, 0], [0, 1], [1, 0]])


@pytest.mark.parametrize(
    "contents",
    [
        [(9, bytes(8 * 5))],
        [(77, bytes(8 * 6))],
        [(9, bytes(8 * 6 + 3))],
        [],
    ],
    ids=["too few values", "unknown type", "broken value", "no values"],
)
def test_v5_damaged_variable(write_v5, contents):
    with pytest.raises(FileFormatError, match=r"raw\.mat: cannot be read as a MATLAB file"):
        read_views(write_v5(_variable("<", 6, (3, 2), "X", *contents)))


def test_v5_sparse_with_decreasing_column_starts(write_v5):
    starts = struct.pack("<3i", 0, 2, 0)  # no entries in the end: SciPy's own check passes this
    variable = _variable("<", 5, (3, 2), "X", (5, b""), (5, starts), (9, b""))
    with pytest.raises(FileFormatError, match=r"raw\.mat: .*index pointers must not decrease"):
        read_views(write_v5(variable))


def test_v5_text_whose_letters_take_two_places_is_described(write_v5):
    letters = "aé".encode()  # utf-8: three bytes, announced as three letters
    numbers = _variable("<", 6, (3, 2), "X", (9, bytes(48)))
    path = write_v5(numbers, _variable("<", 4, (1, 3), "note", (16, letters)))
    assert read_views(path).names == ("X",)
    with pytest.raises(FileFormatError, match=r"note \(char\)"):
        read_views(path, views_key="note")


def test_v5_negative_shape(write_v5):
    with pytest.raises(FileFormatError, match=r"raw\.mat: .*negative shape \(-3, -2\)"):
        read_views(write_v5(_variable("<", 6, (-3, -2), "X", (9, bytes(48)))))


def test_v5_compressed_variable_cut_short(write_v5):
    packed = zlib.compress(_variable("<", 6, (3, 2), "X", (9, bytes(48))))[:-6]
    with pytest.raises(FileFormatError, match=r"raw\.mat: .*a compressed variable is cut short"):
        read_views(write_v5(struct.pack("<II", 15, len(packed)) + packed))


def test_v5_variables_without_a_name_are_left_out(write_v5):
    hidden = _variable("<", 6, (3, 2), "", (9, bytes(48)))
    assert read_views(write_v5(hidden, _variable("<", 6, (3, 2), "X", (9, bytes(48))), hidden)).names == ("X",)


def test_v5_what_only_matlab_can_decode_is_described(write_v5):
    """A string or a table has no shape: its name comes first, then those of the system and of its class."""
    texts = [_element("<", 1, text) for text in (b"words", b"MCOS", b"string")]
    parts = [_element("<", 6, struct.pack("<II", 17, 0)), *texts]
    path = write_v5(_element("<", 14, b"".join(parts)), _variable("<", 6, (3, 2), "X", (9, bytes(48))))
    assert read_views(path).names == ("X",)
    with pytest.raises(FileFormatError, match=r"words \(object\)"):
        read_views(path, views_key="words")


def test_v5_empty_place_in_a_cell(write_v5):
    # MATLAB stores cell(1, 2) without anything in its places
    path = write_v5(
        _variable("<", 6, (3, 2), "data", (9, bytes(48))), _variable("<", 1, (1, 2), "X", (14, b""), (14, b""))
    )
    with pytest.raises(FileFormatError, match=r"X cell \(1, 2\) of \(0, 0\) and \(0, 0\)"):
        read_views(path, views_key="X")


@pytest.mark.parametrize("kind", [9, 15], ids=["numbers", "deflated"])
def test_v5_anything_but_a_matrix_is_no_variable(write_v5, kind):
    numbers = _element("<", 9, bytes(48))
    content = numbers if kind == 9 else _element("<", 15, zlib.compress(numbers))
    with pytest.raises(FileFormatError, match=r"raw\.mat: .*expected a variable, found an element of type 9"):
        read_views(write_v5(content))


def test_v5_anything_but_a_matrix_is_not_in_a_cell(write_v5):
    with pytest.raises(FileFormatError, match=r"raw\.mat: .*expected a matrix in a cell, found an element of type 9"):
        read_views(write_v5(_variable("<", 1, (1, 1), "X", (9, bytes(48)))))


def test_v5_variable_twice(write_v5):
    variable = _variable("<", 6, (3, 2), "X", (9, bytes(48)))
    with pytest.raises(FileFormatError, match=r"raw\.mat: holds two variables called 'X'"):
        read_views(write_v5(variable, variable))


@pytest.fixture
def whole_files(save_mat, save_mat73, cell, views, labels):
    """The bytes of one valid file of each kind."""
    some = [*views, sp.random(6, 4, density=0.5, random_state=0, format="csc")]
    paths = [
        save_mat("plain.mat", X=cell(some), y=labels, note="hello"),
        save_mat("deflated.mat", compress=True, X=cell(some), y=labels, note="hello"),
        save_mat73("hdf5.mat", X=some, y=labels[:, None], note="hello"),
    ]
    return {path.name: path.read_bytes() for path in paths}


FUZZ = settings(
    max_examples=120,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    derandomize=True,
)


@FUZZ
@given(kind=st.sampled_from(["plain.mat", "deflated.mat", "hdf5.mat"]), share=st.floats(0, 1, exclude_max=True))
@example(kind="plain.mat", share=0.0)
def test_a_file_cut_anywhere_is_an_error_or_right(tmp_path, whole_files, same, views, labels, kind, share):
    path = tmp_path / "cut.mat"
    path.write_bytes(whole_files[kind][: int(share * len(whole_files[kind]))])
    try:
        found = read_views(path)
    except FileFormatError as error:
        assert "cut.mat" in str(error)  # noqa: PT017
    else:  # cut between two variables, which the format cannot tell from a whole file
        assert all(same(a, b) for a, b in zip(found.arrays, views, strict=False))
        assert found.labels is None or np.array_equal(found.labels, labels)


@FUZZ
@given(
    kind=st.sampled_from(["plain.mat", "deflated.mat"]),
    changes=st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), min_size=1, max_size=4),
)
def test_changed_bytes_are_an_error_or_views(tmp_path, whole_files, kind, changes):
    content = bytearray(whole_files[kind])
    for share, byte in changes:
        content[int(share * len(content))] = byte
    path = tmp_path / "changed.mat"
    path.write_bytes(content)
    try:
        found = read_views(path)
    except FileFormatError as error:
        assert "changed.mat" in str(error)  # noqa: PT017
    else:
        assert all(array.shape[0] == found.n_samples for array in found.arrays)


def test_v4_that_announces_more_than_the_file(tmp_path):
    """Python takes memory for all that a file is asked for, even if it is not there."""
    path = tmp_path / "old.mat"
    path.write_bytes(struct.pack("<5i", 0, 2**31 - 1, 2**10, 0, 2) + b"X\0" + bytes(96))
    with pytest.raises(FileFormatError, match=r"old\.mat: cannot be read as a MATLAB file") as error:
        read_views(path)
    assert not isinstance(error.value.__cause__, MemoryError)


def test_v73_texts_of_any_length_are_no_cell(save_mat73, views):
    h5py = pytest.importorskip("h5py")
    path = save_mat73(X=views[0])
    with h5py.File(path, "r+") as file:
        file["names"] = ["one", "two"]
    assert read_views(path).n_features == (4,)


def test_v5_cell_with_one_long_name(save_mat, cell):
    names = cell(["z" * 60_000] + ["a"] * 5000)
    with pytest.raises(FileFormatError, match=r"data\.mat: .* one of 60,000 characters among 5,001"):
        read_views(save_mat(X=np.ones((5001, 2)), y=names))
