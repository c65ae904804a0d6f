"""``open_views``: large views from shards, read block by block where they are needed."""

from __future__ import annotations

import json
import pickle

import dask
import dask.array as da
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zarr

from manyview import Views, check_views, open_views, read_views
from manyview._utils.imports import require
from manyview.cluster import CLR
from manyview.exceptions import FileFormatError, MissingDependencyError, ViewsError
from manyview.io import _open, _shards

RNG = np.random.default_rng(0)
WIDE = RNG.normal(size=(100, 5)).astype(np.float32)
WHOLE = RNG.integers(-9, 9, size=(100, 3))


@pytest.fixture(autouse=True)
def _one_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


def save_npy(path, values):
    np.save(path, values)


def save_npy_by_columns(path, values):
    np.save(path, np.asfortranarray(values))


def save_parquet(path, values):
    table = pa.table({f"c{j}": column for j, column in enumerate(values.T)})
    pq.write_table(table, path, row_group_size=7)


def save_zarr(path, values, zarr_format=3):
    array = zarr.create_array(path, shape=values.shape, chunks=(6, 1000), dtype=values.dtype, zarr_format=zarr_format)
    array[:] = values


def save_old_zarr(path, values):
    save_zarr(path, values, zarr_format=2)


SAVE = [
    pytest.param(save_npy, ".npy", id="npy"),
    pytest.param(save_npy_by_columns, ".npy", id="npy by columns"),
    pytest.param(save_parquet, ".parquet", id="parquet"),
    pytest.param(save_zarr, ".zarr", id="zarr"),
    pytest.param(save_old_zarr, ".zarr", id="zarr v2"),
]


def save_shards(folder, name, values, save=save_npy, extension=".npy", at=(30, 31, 80)):
    for i, part in enumerate(np.split(values, at)):
        save(folder / f"{name}-{i}{extension}", part)
    return folder / f"{name}-*{extension}"


def same(found, expected):
    loaded = found.compute()
    return loaded.dtype == found.dtype == expected.dtype and np.array_equal(loaded, expected)


# Round trips


@pytest.mark.parametrize("block_rows", [4, 17, 100, 1000])
@pytest.mark.parametrize(("save", "extension"), SAVE)
def test_every_format_in_one_file_and_in_shards(tmp_path, save, extension, block_rows):
    save(tmp_path / f"whole{extension}", WHOLE)
    pattern = save_shards(tmp_path, "wide", WIDE, save, extension)
    found = open_views({"wide": str(pattern), "whole": tmp_path / f"whole{extension}"}, block_rows=block_rows)
    assert repr(found) == "Views(100 samples; wide: 5, whole: 3)"
    assert same(found["wide"], WIDE)
    assert same(found["whole"], WHOLE)
    rows = tuple(min(block_rows, 100 - start) for start in range(0, 100, block_rows))
    assert found["wide"].chunks == (rows, (5,))
    assert found["whole"].chunks == (rows, (3,))


@pytest.mark.parametrize("dtype", [np.float64, np.float16, np.uint8, np.int32, bool])
@pytest.mark.parametrize(("save", "extension"), SAVE)
def test_types_are_kept(tmp_path, save, extension, dtype):
    save(tmp_path / f"a{extension}", (WHOLE > 0).astype(dtype))
    assert same(open_views({"a": tmp_path / f"a{extension}"})["a"], (WHOLE > 0).astype(dtype))


def test_a_folder_of_shards_in_natural_order(tmp_path):
    for i in range(12):
        np.save(tmp_path / f"part-{i}.npy", np.full((2, 1), i))
    (tmp_path / "README.txt").write_text("not data")
    (tmp_path / ".part-99.npy").write_bytes(b"hidden")
    np.testing.assert_array_equal(open_views({"a": tmp_path})["a"].compute().ravel(), np.arange(12).repeat(2))
    np.testing.assert_array_equal(
        open_views({"a": f"{tmp_path}/part-?*.npy"})["a"].compute().ravel(), np.arange(12).repeat(2)
    )


def test_a_sequence_keeps_its_order(tmp_path):
    for i in range(3):
        np.save(tmp_path / f"{i}.npy", np.full((1, 1), i))
    found = open_views({"a": [tmp_path / "2.npy", str(tmp_path / "0.npy"), tmp_path / "1.npy"]})["a"]
    np.testing.assert_array_equal(found.compute().ravel(), [2, 0, 1])


def test_a_shard_may_be_empty(tmp_path):
    for save, extension in (save_npy, ".npy"), (save_parquet, ".parquet"):
        pattern = save_shards(tmp_path, "a", WIDE, save, extension, at=(0, 40, 40, 100))
        for block_rows in (3, 13):
            assert same(open_views({"a": pattern}, block_rows=block_rows)["a"], WIDE)


def test_relative_paths_hold_in_another_working_directory(tmp_path, monkeypatch):
    np.save(tmp_path / "a.npy", WIDE)
    monkeypatch.chdir(tmp_path)
    found = open_views({"a": "a.npy"})["a"]
    monkeypatch.chdir(tmp_path.parent)
    assert same(found, WIDE)


def test_an_array_inside_a_zarr_group(tmp_path):
    group = zarr.create_group(tmp_path / "all.zarr")
    group.create_array("colour", data=WIDE)
    assert same(open_views({"a": tmp_path / "all.zarr" / "colour"})["a"], WIDE)
    with pytest.raises(
        FileFormatError, match=r"all\.zarr: is a zarr group, which holds 'colour'. Give the path of one"
    ):
        open_views({"a": tmp_path / "all.zarr"})


@pytest.mark.parametrize("n_columns", [2**64, 2**60])
def test_a_zarr_array_that_no_machine_can_address(tmp_path, n_columns):
    save_zarr(tmp_path / "a.zarr", WIDE)
    described = json.loads((tmp_path / "a.zarr" / "zarr.json").read_text())
    described["shape"] = [6, n_columns]
    (tmp_path / "a.zarr" / "zarr.json").write_text(json.dumps(described))
    with pytest.raises(FileFormatError, match=rf"a\.zarr: announces an array of shape \(6, {n_columns}\)"):
        open_views({"a": tmp_path / "a.zarr"})


def test_parquet_columns_get_their_common_type(tmp_path):
    frame = pd.DataFrame(
        {"a": np.arange(3, dtype=np.int16), "b": np.ones(3, dtype=np.float32), "c": [True, False, True]}
    )
    frame.to_parquet(tmp_path / "a.parquet")
    found = open_views({"a": tmp_path / "a.parquet"})["a"]
    assert same(found, np.array([[0, 1, 1], [1, 1, 0], [2, 1, 1]], dtype=np.float32))


@pytest.mark.parametrize("write_statistics", [True, False])
def test_gaps_in_parquet_become_nan_in_all_shards(tmp_path, write_statistics):
    columns = {"a": pa.array([1, None, 3]), "b": pa.array([True, False, None]), "c": pa.array([0.5, None, 1.5])}
    pq.write_table(pa.table(columns), tmp_path / "a-1.parquet", write_statistics=write_statistics)
    pq.write_table(pa.table(columns).slice(0, 1), tmp_path / "a-0.parquet", write_statistics=write_statistics)
    found = open_views({"a": tmp_path / "a-*.parquet"})["a"]
    assert found.dtype == np.float64
    expected = [[1, 1, 0.5], [1, 1, 0.5], [np.nan, 0, np.nan], [3, np.nan, 1.5]]
    np.testing.assert_array_equal(found.compute(), expected)


def test_gaps_leave_float32_as_it_is(tmp_path):
    pq.write_table(pa.table({"a": pa.array([0.5, None], type=pa.float32())}), tmp_path / "a.parquet")
    assert same(open_views({"a": tmp_path / "a.parquet"})["a"].astype(np.float32)[:1], np.array([[0.5]], np.float32))
    assert open_views({"a": tmp_path / "a.parquet"})["a"].dtype == np.float32


def test_columns_can_be_left_out(tmp_path):
    frame = pd.DataFrame({"id": list("abc"), "x": [1, 2, 3], "tags": [[1], [2], [3]], "z": [4, 5, 6]})
    frame.to_parquet(tmp_path / "a.parquet")
    np.save(tmp_path / "b.npy", np.eye(3))
    found = open_views({"a": tmp_path / "a.parquet", "b": tmp_path / "b.npy"}, skip_columns=["id", "tags"])
    assert same(found["a"], np.array([[1, 4], [2, 5], [3, 6]]))


@pytest.mark.parametrize("kind", ["list", "large list", "fixed size"])
def test_vectors_in_a_column_become_columns(tmp_path, kind):
    """Embeddings, as pandas and Spark write them; several row groups and shards, and blocks across them."""
    values = np.arange(60, dtype=np.float32).reshape(20, 3)
    types = {"list": pa.list_(pa.float32()), "large list": pa.large_list(pa.float32())}
    column = pa.array(values.tolist(), type=types.get(kind, pa.list_(pa.float32(), 3)))
    table = pa.table({"item": [f"i{row}" for row in range(20)], "embedding": column, "weight": np.arange(20.0)})
    for part in range(2):
        rows = table.slice(10 * part, 10)
        pq.write_table(rows, tmp_path / f"a-{part}.parquet", row_group_size=4)
    for block_rows in (3, 7, 20):
        views = open_views({"a": tmp_path / "a-*.parquet"}, id_column="item", block_rows=block_rows)
        assert views.feature_names == (("weight", "embedding_0", "embedding_1", "embedding_2"),)
        assert same(views["a"], np.column_stack([np.arange(20.0), values]))
        assert views.sample_ids.tolist() == table["item"].to_pylist()
    table.drop_columns("weight").to_pandas().to_parquet(tmp_path / "whole.parquet")
    alone = open_views({"a": tmp_path / "whole.parquet"}, id_column="item")
    assert same(alone["a"], values)
    read = read_views(tmp_path / "whole.parquet")
    assert (read.feature_names, read.arrays[0].tolist()) == (alone.feature_names, values.tolist())
    pq.write_table(table, tmp_path / "all.parquet")
    assert read_views(tmp_path / "all.parquet").feature_names == views.feature_names


@pytest.mark.parametrize("statistics", [True, False])
def test_vectors_with_gaps(tmp_path, statistics):
    for i, rows in enumerate(([[1, 2], None], [None, [3, None]], [None, None])):
        table = pa.table({"v": pa.array(rows, type=pa.list_(pa.int8()))})
        pq.write_table(table, tmp_path / f"a-{i}.parquet", write_statistics=statistics)
    found = open_views({"a": [tmp_path / "a-0.parquet", tmp_path / "a-1.parquet"]})["a"]
    nan = np.nan
    np.testing.assert_array_equal(found.compute(), [[1, 2], [nan, nan], [nan, nan], [3, nan]])
    assert found.dtype == np.float64
    with pytest.raises(FileFormatError, match=r"a-2\.parquet: column 'v' has no value in any row.*skip_columns="):
        open_views({"a": tmp_path / "a-*.parquet"})
    pq.write_table(pa.table({"v": pa.array([[1, 2]], type=pa.list_(pa.int8()))}), tmp_path / "b.parquet")
    assert open_views({"b": tmp_path / "b.parquet"})["b"].dtype == np.int8


def test_vectors_of_other_lengths(tmp_path):
    for name, rows in {"a-0": [[1.0, 2.0]] * 5, "a-1": [[1.0, 2.0], [1.0]], "b": [[1.0]], "c": [[]]}.items():
        pq.write_table(pa.table({"v": pa.array(rows, type=pa.list_(pa.float64()))}), tmp_path / f"{name}.parquet")
    views = open_views({"a": tmp_path / "a-*.parquet"})
    with pytest.raises(FileFormatError, match=r"a-1\.parquet: column 'v' holds lists of different lengths, .* 2 and 1"):
        views["a"].compute()
    with pytest.raises(FileFormatError, match=r"b\.parquet: expected 2 columns of float64 like .*a-0.* found 1 column"):
        open_views({"a": [tmp_path / "a-0.parquet", tmp_path / "b.parquet"]})
    with pytest.raises(FileFormatError, match=r"c\.parquet: column 'v' holds lists .*empty ones only"):
        open_views({"a": tmp_path / "c.parquet"})
    pq.write_table(pa.table({"v": pa.array([np.zeros(2**20 + 1)])}), tmp_path / "d.parquet")
    with pytest.raises(
        FileFormatError, match=r"d\.parquet: announces 1,048,577 values in 1 rows; vectors of more than"
    ):
        open_views({"a": tmp_path / "d.parquet"})


# Blocks


@pytest.mark.parametrize("values", [np.arange(50), np.random.default_rng(0).permutation(900)[:50]])
def test_a_first_column_of_ids_is_no_feature_whatever_its_name(tmp_path, values):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"item": values, "f": np.linspace(0, 1, 50)}), path)
    with pytest.raises(FileFormatError, match=r"'item' has another whole number in every row: ids.*id_column="):
        open_views({"a": path})
    assert open_views({"a": path}, id_column="item")["a"].shape == (50, 1)
    assert open_views({"a": path}, skip_columns=["item"])["a"].shape == (50, 1)
    assert open_views({"a": path}, skip_columns=[])["a"].shape == (50, 2)


def test_a_first_column_of_counts_is_a_feature(tmp_path):
    rng = np.random.default_rng(0)
    pq.write_table(pa.table({"f": rng.permutation(50), "g": rng.integers(0, 9, 50)}), tmp_path / "a.parquet")
    assert open_views({"a": tmp_path / "a.parquet"})["a"].shape == (50, 2)
    pq.write_table(pa.table({"f": rng.integers(0, 9, 50), "g": rng.random(50)}), tmp_path / "b.parquet")
    assert open_views({"b": tmp_path / "b.parquet"})["b"].shape == (50, 2)


def test_default_blocks_end_where_row_groups_end(tmp_path, monkeypatch):
    monkeypatch.setattr(_open, "_BLOCK_BYTES", 2**16)  # 8192 rows of 8 bytes
    table = pa.table({"f": np.arange(20_000.0)})
    for part in range(2):
        pq.write_table(table[10_000 * part :][:10_000], tmp_path / f"a-{part}.parquet", row_group_size=3000)
    found = open_views({"a": str(tmp_path / "a-*.parquet")})["a"]
    assert found.chunks[0] == (6000, 7000, 7000)  # of groups with 3000, 3000, 3000, 1000, twice
    np.testing.assert_array_equal(found.compute()[:, 0], np.arange(20_000.0))
    assert _open._edges([5, 20, 1, 1, 8], 10) == [0, 5, 25, 35]


def test_the_default_block_has_about_32_megabytes_in_steps_of_8192_rows(tmp_path):
    for name, n_columns in ("a", 512), ("b", 1500):
        np.lib.format.open_memmap(tmp_path / f"{name}.npy", "w+", np.float32, (20000, n_columns))
    assert open_views({"a": tmp_path / "a.npy"})["a"].chunks[0] == (16384, 3616)
    both = open_views({"a": tmp_path / "a.npy", "b": tmp_path / "b.npy"})
    assert both["a"].chunks[0] == both["b"].chunks[0] == (8192, 8192, 3616)


@pytest.mark.parametrize(("save", "extension", "piece"), [(save_parquet, ".parquet", 7), (save_zarr, ".zarr", 6)])
def test_a_piece_larger_than_a_block_is_read_once(tmp_path, monkeypatch, save, extension, piece):
    save(tmp_path / f"a{extension}", WIDE)
    read = []
    monkeypatch.setattr("manyview.io._open.read_block", lambda block: read.append(block) or _shards.read_block(block))
    found = open_views({"a": tmp_path / f"a{extension}"}, block_rows=2)["a"]
    assert found.chunks[0] == (2,) * 50
    assert same(found, WIDE)
    spans = sorted((span.start, span.stop) for block in read for span in block.spans)
    assert spans == [(start, min(start + piece, 100)) for start in range(0, 100, piece)]


@pytest.mark.parametrize("batch_rows", [1, 3, 1000])
def test_batches_of_parquet_are_put_together(tmp_path, monkeypatch, batch_rows):
    monkeypatch.setattr(_shards, "_BATCH_ROWS", batch_rows)
    save_parquet(tmp_path / "a.parquet", WIDE)
    for block_rows in (1, 5, 9, 40):
        assert same(open_views({"a": tmp_path / "a.parquet"}, block_rows=block_rows)["a"], WIDE)


def test_a_block_reads_no_other_row_group(tmp_path, monkeypatch):
    save_parquet(tmp_path / "a.parquet", WIDE)
    read = []
    original = pq.ParquetFile.iter_batches

    def spy(self, *args, row_groups, **how):
        read.append(list(row_groups))
        return original(self, *args, row_groups=row_groups, **how)

    monkeypatch.setattr(pq.ParquetFile, "iter_batches", spy)
    found = open_views({"a": tmp_path / "a.parquet"}, block_rows=14)["a"]
    np.testing.assert_array_equal(found.blocks[1].compute(), WIDE[14:28])
    assert read == [[2, 3]]


# Laziness


@pytest.mark.parametrize(("save", "extension"), SAVE)
def test_nothing_is_read_before_it_is_asked_for(tmp_path, monkeypatch, save, extension):
    pattern = save_shards(tmp_path, "a", WIDE, save, extension)

    def forbidden(*_):
        raise AssertionError("a block was read")

    monkeypatch.setattr("manyview.io._open.read_block", forbidden)
    found = open_views({"a": pattern}, block_rows=8)
    assert repr(found.take(slice(3, 50))) == "Views(47 samples; a: 5)"
    with pytest.raises(AssertionError, match="a block was read"):
        found["a"].compute()


def test_a_file_that_is_gone_is_an_error_of_its_blocks_only(tmp_path):
    found = open_views({"a": save_shards(tmp_path, "a", WIDE)}, block_rows=10)["a"]
    (tmp_path / "a-3.npy").unlink()
    np.testing.assert_array_equal(found[:80].compute(), WIDE[:80])
    with pytest.raises(
        FileNotFoundError, match=r"a-3\.npy: no such file on .*, though .* Every Dask worker needs the files"
    ):
        found[75:85].compute()


def test_a_file_that_has_changed_is_an_error(tmp_path):
    np.save(tmp_path / "a.npy", WIDE)
    found = open_views({"a": tmp_path / "a.npy"})["a"]
    np.save(tmp_path / "a.npy", WIDE[:50])
    with pytest.raises(FileFormatError, match=r"a\.npy: has changed .* \(from 2,128 to 1,128 bytes\). Open them again"):
        found.compute()


def test_equal_files_have_equal_names_until_they_change(tmp_path):
    np.save(tmp_path / "a.npy", WIDE)
    first = open_views({"a": tmp_path / "a.npy"})["a"]
    assert open_views({"a": tmp_path / "a.npy"})["a"].name == first.name
    np.save(tmp_path / "a.npy", WIDE + 1)
    assert open_views({"a": tmp_path / "a.npy"})["a"].name != first.name


@pytest.mark.parametrize(("save", "extension"), SAVE)
def test_a_task_is_tiny_and_can_be_sent(tmp_path, save, extension):
    values = RNG.normal(size=(48, 500))
    pattern = save_shards(tmp_path, "a", values, save, extension, at=range(6, 48, 6))
    found = open_views({"a": pattern}, block_rows=12)["a"]
    graph = dict(found.__dask_graph__())
    assert len(graph) == 4
    for task in graph.values():
        assert len(pickle.dumps(task)) < 1000 + 2 * len(str(tmp_path))
    assert same(pickle.loads(pickle.dumps(found)), values)  # noqa: S301


# Views that hold Dask arrays or memory maps


def test_views_keep_dask_arrays_and_take_rows_lazily():
    views = Views([da.from_array(WIDE, chunks=(30, -1)), da.from_array(WHOLE, chunks=(30, 1))], labels=np.arange(100))
    for rows in slice(20, 70), np.array([5, 3, 99]), np.arange(100) % 3 == 0:
        taken = views.take(rows)
        assert all(isinstance(array, da.Array) for array in taken.arrays)
        np.testing.assert_array_equal(taken.arrays[1].compute(), WHOLE[rows])
        np.testing.assert_array_equal(taken.labels, np.arange(100)[rows])


def test_unknown_sizes_of_chunks_are_an_error():
    array = da.from_array(WIDE, chunks=30)
    with pytest.raises(ViewsError, match=r"views\['view1'\]: the sizes of .* not known. Call compute_chunk_sizes\(\)"):
        Views([array, array[array[:, 0] > 0]])


@pytest.mark.parametrize("as_dask", [True, False])
def test_check_views_loads_values(tmp_path, as_dask):
    np.save(tmp_path / "a.npy", WIDE)
    np.save(tmp_path / "b.npy", WHOLE)
    found = open_views({"a": tmp_path / "a.npy", "b": tmp_path / "b.npy"}, block_rows=9, as_dask=as_dask)
    assert all(isinstance(array, da.Array if as_dask else np.memmap) for array in found.arrays)
    for views in found, list(found.arrays), dict(found.items()):
        checked = check_views(views)
        assert all(type(array) is np.ndarray and array.dtype == np.float64 for array in checked.arrays)
        np.testing.assert_array_equal(checked.arrays[0], WIDE)
        np.testing.assert_array_equal(checked.arrays[1], WHOLE)
    np.testing.assert_array_equal(check_views(found.arrays[0], view_sizes=[2, 3]).arrays[1], WIDE[:, 2:])
    with pytest.raises(ViewsError, match=r"views: expected several views, got one array of shape \(100, 5\)"):
        check_views(found.arrays[0])


def test_text_and_gaps_in_dask_arrays_are_told():
    gaps = WIDE.copy()
    gaps[7, 1] = np.nan
    with pytest.raises(ViewsError, match=r"views\['view0'\]: contains NaN, first at row 7, column 1"):
        check_views([da.from_array(gaps, chunks=30)])
    with pytest.raises(ViewsError, match=r"views\['view0'\]: expected numbers, got dtype <U1, such as \['a'\]"):
        check_views([da.from_array(np.array([["a"], ["b"]]), chunks=1)])


@pytest.mark.parametrize("as_dask", [True, False])
def test_an_estimator_gives_the_same_from_files_as_from_memory(tmp_path, as_dask):
    views = [
        centre + RNG.normal(size=(40, 4))
        for centre in (5 * np.eye(4)[np.arange(40) % 2], 3 * np.eye(4)[np.arange(40) % 2])
    ]
    for name, view in zip("ab", views, strict=True):
        np.save(tmp_path / f"{name}.npy", view)
    found = open_views({"a": tmp_path / "a.npy", "b": tmp_path / "b.npy"}, block_rows=9, as_dask=as_dask)
    np.testing.assert_array_equal(CLR(2).fit_predict(found), CLR(2).fit_predict(views))


# Labels


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("y.txt", "2\n0\n1\n\n"),
        ("y.csv", "2\n0\n1\n"),
        ("y.csv", "kind\n2\n0\n1\n"),
        ("y.csv", "7\n2\n0\n1\n"),
        ("y.tsv", "id\tlabel\ns1\t2\ns2\t0\ns3\t1\n"),
    ],
)
def test_labels_from_text(tmp_path, name, content):
    np.save(tmp_path / "a.npy", np.eye(3))
    (tmp_path / name).write_text(content)
    labels = open_views({"a": tmp_path / "a.npy"}, labels=tmp_path / name).labels
    assert labels.dtype.kind == "i"
    np.testing.assert_array_equal(labels, [2, 0, 1])


def test_labels_from_npy_or_memory(tmp_path):
    np.save(tmp_path / "a.npy", np.eye(3))
    np.save(tmp_path / "y.npy", [2, 0, 1])
    np.testing.assert_array_equal(
        open_views({"a": tmp_path / "a.npy"}, labels=str(tmp_path / "y.npy")).labels, [2, 0, 1]
    )
    np.testing.assert_array_equal(open_views({"a": tmp_path / "a.npy"}, labels=list("xyx")).labels, list("xyx"))
    with pytest.raises(ViewsError, match=r"labels: expected one value per sample, shape \(3,\), got \(2,\)"):
        open_views({"a": tmp_path / "a.npy"}, labels=[0, 1])
    (tmp_path / "y.mat").touch()
    with pytest.raises(
        FileFormatError, match=r"y\.mat: cannot be read by its extension. Expected one of \.npy, \.parquet"
    ):
        open_views({"a": tmp_path / "a.npy"}, labels=tmp_path / "y.mat")


# Errors


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"views": ["a.npy"]}, TypeError, r"views: expected a mapping of names to paths.* got \['a\.npy'\]"),
        ({"views": {}}, TypeError, r"at least one view, got \{\}"),
        (
            {"views": {"a": []}},
            TypeError,
            r"views\['a'\]: expected a path, a pattern, a folder or a sequence .* got \[\]",
        ),
        ({"views": {"a": 3}}, TypeError, r"views\['a'\]: expected a path, .* got 3"),
        (
            {"views": {"a": "a.npy"}, "block_rows": 0},
            ValueError,
            "block_rows: expected an integer of at least 1, got 0",
        ),
        (
            {"views": {"a": "a.npy"}, "skip_columns": "id"},
            TypeError,
            "skip_columns: expected a sequence of names, got the",
        ),
    ],
)
def test_bad_arguments(arguments, error, message):
    with pytest.raises(error, match=message):
        open_views(**arguments)


def test_files_that_are_not_there(tmp_path):
    np.save(tmp_path / "colour.npy", WIDE)
    with pytest.raises(FileNotFoundError, match=r"views\['a'\]: no file matches the pattern '.*/none-\*\.npy'"):
        open_views({"a": f"{tmp_path}/none-*.npy"})
    with pytest.raises(FileNotFoundError, match=r"color\.npy: no such file. Did you mean colour\.npy\?"):
        open_views({"a": tmp_path / "color.npy"})
    (tmp_path / "empty").mkdir()
    with pytest.raises(
        FileFormatError, match=r"empty: no shards of views\['a'\] in this folder. Expected \.npy, \.parquet or"
    ):
        open_views({"a": tmp_path / "empty"})


def test_formats_that_are_not_known_or_mixed(tmp_path):
    np.save(tmp_path / "a-0.npy", WIDE)
    save_parquet(tmp_path / "a-1.parquet", WIDE)
    with pytest.raises(
        FileFormatError, match=r"views\['a'\]: expected shards of one format, found .*a-1\.parquet and .*a-0"
    ):
        open_views({"a": tmp_path / "a-*"})
    (tmp_path / "b.csv").write_text("1,2\n")
    with pytest.raises(
        FileFormatError, match=r"b\.csv: cannot be opened by its name. Expected \.npy, \.parquet or a zarr"
    ):
        open_views({"a": tmp_path / "b.csv"})


@pytest.mark.parametrize(("save", "extension"), SAVE)
def test_shards_that_differ(tmp_path, save, extension):
    save(tmp_path / f"a-0{extension}", WIDE)
    save(tmp_path / f"a-2{extension}", WIDE[:, :4])
    with pytest.raises(
        FileFormatError, match=r"a-2\..*: expected 5 columns of float32 like .*a-0.*, found 4 columns of float32"
    ):
        open_views({"a": tmp_path / f"a-*{extension}"})
    save(tmp_path / f"b-0{extension}", WIDE)
    save(tmp_path / f"b-1{extension}", WIDE.astype(np.float64))
    with pytest.raises(
        FileFormatError, match=r"b-1\..*: expected 5 columns of float32 like .*b-0.*, found 5 columns of float64"
    ):
        open_views({"a": tmp_path / f"b-*{extension}"})


def test_parquet_shards_with_columns_in_another_order(tmp_path):
    for i, names in enumerate([["x", "y", "z"], ["x", "z", "y"]]):
        pq.write_table(pa.table({name: [1.0] for name in names}), tmp_path / f"a-{i}.parquet")
    with pytest.raises(
        FileFormatError, match=r"a-1\.parquet: expected the columns of .*a-0.* found 'z' in place of 'y'"
    ):
        open_views({"a": tmp_path / "a-*.parquet"})


@pytest.mark.parametrize("shape", [(6,), (6, 2, 2), (6, 0), ()])
def test_arrays_that_are_no_tables(tmp_path, shape):
    np.save(tmp_path / "a.npy", np.ones(shape))
    zarr.save_array(str(tmp_path / "a.zarr"), np.ones(shape)) if 0 not in shape and shape else None
    for path in tmp_path.iterdir():
        with pytest.raises(FileFormatError, match=r"a\.(npy|zarr): expected a 2-D array of numbers .* found shape \("):
            open_views({"a": path})


def test_arrays_without_numbers(tmp_path):
    np.save(tmp_path / "a.npy", np.array([["x", "y"]]))
    with pytest.raises(FileFormatError, match=r"a\.npy: expected a 2-D array of numbers .* of dtype <U1"):
        open_views({"a": tmp_path / "a.npy"})
    np.save(tmp_path / "b.npy", np.array([["x", 1]], dtype=object), allow_pickle=True)
    with pytest.raises(FileFormatError, match=r"b\.npy: holds Python objects, which would have to be unpickled"):
        open_views({"a": tmp_path / "b.npy"})


def test_views_with_different_numbers_of_rows(tmp_path):
    pattern = save_shards(tmp_path, "a", WIDE)
    np.save(tmp_path / "b.npy", WHOLE[:99])
    with pytest.raises(
        ViewsError, match=r"got colour: 100 \(in 4 file\(s\)\), b: 99 \(in 1 file\(s\)\). All views must"
    ):
        open_views({"colour": pattern, "b": tmp_path / "b.npy"})
    np.save(tmp_path / "none.npy", WHOLE[:0])
    with pytest.raises(ViewsError, match="views: expected at least one row, the files have none"):
        open_views({"a": tmp_path / "none.npy"})


def test_parquet_with_text(tmp_path):
    frame = pd.DataFrame({"x": [1, 2], "city": ["Bonn", "Ulm"], "day": pd.to_datetime(["2020-01-01", "2020-01-02"])})
    frame.to_parquet(tmp_path / "a.parquet")
    with pytest.raises(
        FileFormatError, match=r"a\.parquet: expected numbers, but 2 column\(s\) .* 'city', 'day'. Pass skip_col"
    ):
        open_views({"a": tmp_path / "a.parquet"})


@pytest.mark.parametrize("column", ["id", "label", "__index_level_0__"])
def test_numbers_that_may_be_ids_or_classes(tmp_path, column):
    pd.DataFrame({column: [1, 2], "x": [3, 4]}).to_parquet(tmp_path / "a.parquet")
    with pytest.raises(
        FileFormatError, match=rf"a\.parquet: by their names, .* ids or classes, not features: '{column}'"
    ):
        open_views({"a": tmp_path / "a.parquet"})
    assert same(open_views({"a": tmp_path / "a.parquet"}, skip_columns=[])["a"], np.array([[1, 3], [2, 4]]))
    assert same(open_views({"a": tmp_path / "a.parquet"}, skip_columns=[column])["a"], np.array([[3], [4]]))
    with pytest.raises(FileFormatError, match="skip_columns: no file has a column 'idd'"):
        open_views({"a": tmp_path / "a.parquet"}, skip_columns=["idd"])
    with pytest.raises(
        FileFormatError, match=r"a\.parquet: expected columns of numbers, each with its own name, found"
    ):
        open_views({"a": tmp_path / "a.parquet"}, skip_columns=[column, "x"])


@pytest.mark.parametrize(("save", "extension"), [(save_npy, ".npy"), (save_parquet, ".parquet")])
@pytest.mark.parametrize("share", [0, 0.01, 0.5, 0.99])
def test_damaged_files(tmp_path, save, extension, share):
    path = tmp_path / f"a{extension}"
    save(path, WIDE)
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(FileFormatError, match=rf"a\{extension}: (cannot be read as|the header announces)"):
        open_views({"a": path})


def test_damaged_zarr(tmp_path):
    save_zarr(tmp_path / "a.zarr", WIDE)
    found = open_views({"a": tmp_path / "a.zarr"})["a"]
    (tmp_path / "a.zarr" / "c" / "0" / "0").write_bytes(b"not zstd")
    with pytest.raises(FileFormatError, match=r"a\.zarr: cannot be read as zarr; it is damaged"):
        found.compute()
    (tmp_path / "a.zarr" / "zarr.json").write_text("{")
    with pytest.raises(FileFormatError, match=r"a\.zarr: cannot be read as zarr; it is damaged"):
        open_views({"a": tmp_path / "a.zarr"})


def test_memory_maps_are_of_one_npy_each(tmp_path):
    pattern = save_shards(tmp_path, "a", WIDE)
    with pytest.raises(
        ValueError, match=r"as_dask=False: expected one \.npy .* views\['a'\] is in 4 file\(s\) such as .*a-0"
    ):
        open_views({"a": pattern}, as_dask=False)
    save_parquet(tmp_path / "b.parquet", WIDE)
    with pytest.raises(ValueError, match=r"as_dask=False: .* views\['b'\] is in 1 file\(s\) such as .*b\.parquet"):
        open_views({"b": tmp_path / "b.parquet"}, as_dask=False)


def test_without_dask(tmp_path, monkeypatch):
    def absent(module, **how):
        return require(f"no_such_{module}", **how)

    monkeypatch.setattr("manyview.io._open.require", absent)
    np.save(tmp_path / "a.npy", WIDE)
    assert isinstance(open_views({"a": tmp_path / "a.npy"}, as_dask=False)["a"], np.memmap)
    with pytest.raises(
        MissingDependencyError, match=r'Opening views as Dask arrays needs no_such_dask: pip install "manyview\[dask\]"'
    ):
        open_views({"a": tmp_path / "a.npy"})


def test_zarr_that_announces_more_chunks_than_anyone_has(tmp_path):
    zarr.create_array(str(tmp_path / "a.zarr"), shape=(2**50, 3), chunks=(2, 3), dtype="f8")
    with pytest.raises(
        FileFormatError, match=r"a\.zarr: announces 1,125,899,906,842,624 rows in chunks of 2; more than"
    ):
        open_views({"a": tmp_path / "a.zarr"})
    zarr.create_array(str(tmp_path / "b.zarr"), shape=(2**50, 3), chunks=(2**40, 3), dtype="f8")
    with pytest.raises(
        FileFormatError, match=r"b\.zarr: announces .* more than 1,048,576 blocks .* larger block_rows="
    ):
        open_views({"b": tmp_path / "b.zarr"})


# Ids


def save_with_ids(folder, name, ids, column="item", at=(30, 80), group=11):
    (folder / name).mkdir(exist_ok=True)
    values = RNG.normal(size=(len(ids), 3)).astype(np.float32)
    for i, rows in enumerate(np.split(np.arange(len(ids)), at)):
        table = pa.table({column: pa.array([ids[row] for row in rows]), **{f"c{j}": values[rows, j] for j in range(3)}})
        pq.write_table(table, folder / name / f"part-{i}.parquet", row_group_size=group)
    return values


@pytest.mark.parametrize("ids", [[f"item {i}" for i in range(100)], list(range(7, 107))], ids=["texts", "numbers"])
@pytest.mark.parametrize("block_rows", [8, 100])
def test_ids_are_kept(tmp_path, monkeypatch, ids, block_rows):
    monkeypatch.setattr("manyview.io._open._ID_ROWS", 13)  # neither shards nor row groups end there
    colour = save_with_ids(tmp_path, "colour", ids)
    shape = save_with_ids(tmp_path, "shape", ids, column="id", at=(50,), group=50)
    np.save(tmp_path / "rest.npy", WIDE)
    files = {"colour": tmp_path / "colour", "shape": tmp_path / "shape", "rest": tmp_path / "rest.npy"}
    found = open_views(files, id_column=["item", "id"], block_rows=block_rows)
    assert found.sample_ids.tolist() == ids
    assert found.feature_names == (("c0", "c1", "c2"), ("c0", "c1", "c2"), None)
    assert found.reading.matched_by == "position, with the same ids `item`"
    assert same(found["colour"], colour)
    assert same(found["shape"], shape)


@pytest.mark.parametrize("row", [0, 29, 30, 57, 99])
def test_the_first_row_whose_ids_differ_is_named(tmp_path, monkeypatch, row):
    monkeypatch.setattr("manyview.io._open._ID_ROWS", 13)
    ids = [f"item {i}" for i in range(100)]
    save_with_ids(tmp_path, "colour", ids)
    save_with_ids(tmp_path, "shape", [*ids[:row], "another", *ids[row + 1 :]], at=(50,))
    message = rf"views\['shape'\]: its ids differ from those of views\['colour'\], first in row {row}: 'another' and "
    with pytest.raises(ViewsError, match=message + f"'item {row}'.*sort their files"):
        open_views({"colour": tmp_path / "colour", "shape": tmp_path / "shape"}, id_column="item")


def test_texts_and_numbers_are_different_ids(tmp_path):
    save_with_ids(tmp_path, "a", list(range(100)))
    save_with_ids(tmp_path, "b", [str(i) for i in range(100)])
    with pytest.raises(ViewsError, match=r"first in row 0: '0' and (np.int64\()?0"):
        open_views({"a": tmp_path / "a", "b": tmp_path / "b"}, id_column="item")


def test_a_row_without_id_is_named(tmp_path):
    save_with_ids(tmp_path, "a", [None if i == 45 else f"item {i}" for i in range(100)])
    with pytest.raises(FileFormatError, match=r"part-1\.parquet: row 15 has no id: its 'item' is empty"):
        open_views({"a": tmp_path / "a"}, id_column="item")


def test_a_file_without_the_column_is_named(tmp_path):
    save_with_ids(tmp_path, "a", list(range(100)))
    with pytest.raises(
        FileFormatError, match=r"part-0\.parquet: has no column 'sku' with the ids; its columns are 'item'"
    ):
        open_views({"a": tmp_path / "a"}, id_column="sku")
    np.save(tmp_path / "b.npy", WIDE)
    with pytest.raises(FileFormatError, match=r"id_column='item': only parquet files have columns with names"):
        open_views({"b": tmp_path / "b.npy"}, id_column="item")
    with pytest.raises(FileFormatError, match=r"column 'c0' holds float; expected ids: texts or whole numbers"):
        open_views({"a": tmp_path / "a"}, id_column="c0", skip_columns=["item"])
