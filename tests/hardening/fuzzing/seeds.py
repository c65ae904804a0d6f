"""Whole files of every format that the package reads, small, for others to spoil.

A seed is what a reader is given: the content of each file by its name, most often of one.
"""

from __future__ import annotations

import gzip
import io
import os
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import h5py
import numpy as np
import pandas
import scipy.io
import scipy.sparse as sp
import zarr

Seed = dict[str, bytes]

_RNG = np.random.default_rng(0)
VIEWS = [_RNG.random((6, 4)), _RNG.integers(0, 9, (6, 5)).astype(np.uint8), _RNG.random((6, 3)).astype(np.float32)]
SPARSE = sp.random(6, 7, density=0.4, random_state=0, format="csc")
LABELS = np.array([2, 1, 1, 3, 3, 2])
NAMES = ["cat", "dog", "dog", "emu", "emu", "cat"]
REAL_ROWS = 12


def all_seeds() -> dict[str, list[Seed]]:
    """Seeds of every format, by its name."""
    return {name: list(make()) for name, make in MAKERS.items()}


def _written(name: str, write: Callable[[Path], Any]) -> Seed:
    """What a function writes that is given a path: a file, or a folder with files."""
    with TemporaryDirectory() as folder:
        write(Path(folder, name))
        files = sorted(path for path in Path(folder).rglob("*") if path.is_file())
        return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def _cell(items: list[Any]) -> np.ndarray:
    cell = np.empty((1, len(items)), dtype=object)
    cell[0, :] = items
    return cell


def _real(name: str) -> dict[str, Any]:
    """The first rows of a benchmark file, where there is one."""
    path = Path(os.environ.get("MANYVIEW_DATA", ""), name)
    if "MANYVIEW_DATA" not in os.environ or not path.is_file():
        return {}
    loaded = scipy.io.loadmat(path)
    return {
        "X": _cell([view[:REAL_ROWS, :40] for view in loaded["X"].ravel()]),
        "Y": np.asarray(loaded.get("Y", loaded.get("y", np.ones((REAL_ROWS, 1)))))[:REAL_ROWS],
    }


def _mat5(compress: bool) -> Iterator[Seed]:
    contents: list[dict[str, Any]] = [
        {"X": _cell([*VIEWS, SPARSE]), "y": LABELS, "note": "hello"},
        {"X1": VIEWS[0], "X2": SPARSE > 0.3, "gt": _cell(NAMES)},
        {"fea": VIEWS[0] + 1j * VIEWS[0], "info": {"deep": {"deeper": VIEWS[1]}}, "gnd": np.eye(3)[[0, 1, 2, 0, 1, 2]]},
        {"data": _cell([VIEWS[0].T, _cell([VIEWS[1]])]), "class": "abcdef"},
    ]
    contents += [found for name in ("MSRC-v5.mat", "3Sources.mat") if (found := _real(name))]
    for content in contents:
        yield _written("data.mat", lambda path, c=content: scipy.io.savemat(path, c, do_compression=compress))


def _mat4() -> Iterator[Seed]:
    for content in ({"X1": VIEWS[0], "X2": VIEWS[2], "y": LABELS}, {"X": SPARSE}, {"fea": VIEWS[0], "t": "hello"}):
        yield _written("data.mat", lambda path, c=content: scipy.io.savemat(path, c, format="4"))


def _put(file: Any, place: Any, key: str, value: Any) -> Any:
    """Store a value the way MATLAB 7.3 lays it out: lists are cells."""
    if isinstance(value, list):
        items = [_put(file, file["#refs#"], f"{key}_{i}", item) for i, item in enumerate(value)]
        item = place.create_dataset(key, (len(items), 1), dtype=h5py.ref_dtype)
        for i, target in enumerate(items):
            item[i, 0] = target.ref
        item.attrs["MATLAB_class"] = np.bytes_("cell")
    elif sp.issparse(value):
        item = place.create_group(key)
        item.attrs["MATLAB_class"], item.attrs["MATLAB_sparse"] = np.bytes_("double"), np.uint64(value.shape[0])
        item["data"], item["ir"] = value.data, value.indices.astype(np.uint64)
        item["jc"] = value.indptr.astype(np.uint64)
    elif isinstance(value, str):
        item = place.create_dataset(key, data=np.array([[ord(c)] for c in value], dtype=np.uint16))
        item.attrs["MATLAB_class"] = np.bytes_("char")
    else:
        array = np.atleast_2d(value)
        item = place.create_dataset(key, data=array.T, compression="gzip" if array.size > 10 else None)
        item.attrs["MATLAB_class"] = np.bytes_("double")
    return item


def write_mat73(path: Path, content: dict[str, Any], more: Callable[[Any], Any] = lambda file: None) -> None:
    """Write a v7.3 file; ``more`` may do anything to it before it is closed."""
    with h5py.File(path, "w", userblock_size=512) as file:
        file.create_group("#refs#")
        for key, value in content.items():
            _put(file, file, key, value)
        more(file)
    with path.open("r+b") as stream:
        stream.write(b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(124) + b"\x00\x02IM")


def _mat73() -> Iterator[Seed]:
    for content in (
        {"X": [*VIEWS, SPARSE], "y": LABELS[:, None], "note": "hello"},
        {"X1": VIEWS[0], "X2": SPARSE, "gt": ["cat", "dog", "dog", "emu", "emu", "cat"]},
    ):
        yield _written("data.mat", lambda path, c=content: write_mat73(path, c))


def npy(array: np.ndarray, **options: Any) -> bytes:
    """An array as ``.npy``."""
    file = io.BytesIO()
    np.lib.format.write_array(file, array, **options)
    return file.getvalue()


def _npy() -> Iterator[Seed]:
    for view in (*VIEWS, np.asfortranarray(VIEWS[0]), VIEWS[0].astype(">f8"), VIEWS[1] > 4):
        yield {"data.npy": npy(view)}
    yield {"data.npy": npy(VIEWS[0], version=(2, 0))}


def _npz() -> Iterator[Seed]:
    for save in (np.savez, np.savez_compressed):
        yield _written("data.npz", lambda path, save=save: save(path, a=VIEWS[0], b=VIEWS[1], y=LABELS))
        yield _written("data.npz", lambda path, save=save: save(path, colour=VIEWS[2], label=np.array(NAMES), x=3))
    for form in ("csr", "csc", "coo", "dia", "bsr"):
        yield _written("data.npz", lambda path, form=form: sp.save_npz(path, SPARSE.asformat(form)))


def _frame() -> pandas.DataFrame:
    frame = pandas.DataFrame(VIEWS[0].round(3), columns=["a", "b", "c", "d"])
    frame.insert(0, "id", [f"s{i}" for i in range(6)])
    frame["label"] = NAMES
    return frame


def _text(separator: str, ending: str) -> Iterator[Seed]:
    frame, name = _frame(), f"data{ending}"
    for some in (frame, frame.drop(columns=["id", "label"]), frame[["id", "a"]]):
        yield {name: some.to_csv(sep=separator, index=False).encode()}
    yield {name: frame.to_csv(sep=separator, quoting=1, lineterminator="\r\n").encode("utf-8-sig")}
    yield {name: f'id{separator}"a ""b""\nc"\nä{separator}1e5\n"ö\n"{separator}-.5\n'.encode()}


def _parquet() -> Iterator[Seed]:
    frame = _frame()
    numbers = frame.drop(columns=["id", "label"])
    gaps = pandas.DataFrame({"a": pandas.array([1, None, 3, 4, 5, 6], dtype="Int64"), "b": VIEWS[2][:, 0]})
    for some, options in (
        (frame, {}),
        (numbers, {"compression": "gzip", "row_group_size": 2}),
        (gaps, {"compression": None}),
        (frame.set_index("id"), {"compression": "zstd", "use_dictionary": False}),
        (pandas.DataFrame({"k": np.ones(6), "w": pandas.Categorical(NAMES)}), {}),
        (pandas.DataFrame({"id": NAMES, "embedding": [*VIEWS[0][:5].tolist(), None]}), {}),
    ):
        yield {"data.parquet": some.to_parquet(**options)}


def _wild() -> Iterator[Seed]:
    """Texts as R, Excel, GEO and others write them."""
    rows = "".join(f'"s{i}" {a} {b}\n' for i, (a, b) in enumerate(VIEWS[0][:, :2].round(3)))
    yield {"data.txt": f'"x" "y"\n{rows}'.encode()}
    comma = "".join(f"s{i};{a:.2f};{i or chr(45)}\n" for i, a in enumerate(VIEWS[0][:, 0])).replace(".", ",")
    yield {"data.csv": f"Table 1;;\n;;\nid;x;y\n{comma};;\n".encode("utf-8-sig")}
    yield {"data.txt": f"id\tx\ty\r\n{comma.replace(';', chr(9))}".encode("utf-16")}
    yield {"data.csv": b'sep=;\nid;x\na;"1.234,5"\nb;12%\n'}
    yield {"data.csv": b"# made up\n# id, x\nid,x,x\na,1 234,#N/A\nb,5'678,?\n"}
    genes = "".join(f'"{10 + i}_at"\t{a}\t{b}\n' for i, (a, b) in enumerate(VIEWS[0][:, :2].round(3)))
    geo = f'!Series_title\t"x"\n\n!series_matrix_table_begin\n"ID_REF"\t"GSM1"\t"GSM2"\n{genes}'
    yield {"data.txt": f"{geo}!series_matrix_table_end\n".encode()}
    yield {"data.txt.gz": gzip.compress(f"{geo}!series_matrix_table_end\n".encode(), mtime=0)}
    yield {"data.gct": b"#1.2\n2\t2\nName\tDescription\tS1\tS2\nx\tna\t1.5\t3\ny\tna\t2\t4.25\n"}
    yield {"data.gct": b"#1.3\n2\t2\t1\t1\nid\tsymbol\tS1\tS2\ndose\tna\t5\t10\nx\tA\t1.5\t3\ny\tB\t2\t4.25\n"}


def _xlsx() -> Iterator[Seed]:
    import openpyxl

    rows = [["id", "x", "y"], *([f"s{i}", float(a), "-" if i == 2 else i] for i, a in enumerate(VIEWS[0][:, 0]))]
    for sheets in ({"A": rows}, {"A": [["Title"], [], *rows], "B": []}, {"A": rows, "B": rows}):
        workbook = openpyxl.Workbook()
        workbook.remove(workbook.active)
        for name, cells in sheets.items():
            sheet = workbook.create_sheet(name)
            for row in cells:
                sheet.append(row)
        yield _written("data.xlsx", workbook.save)


def put_modality(group: Any, values: Any, n_samples: int = 6) -> None:
    """Store a matrix and its names as anndata does."""
    if sp.issparse(values):
        own = group.create_group("X")
        own.attrs["encoding-type"], own.attrs["shape"] = f"{values.format}_matrix", np.array(values.shape)
        own["data"], own["indices"], own["indptr"] = values.data, values.indices, values.indptr
    else:
        group["X"] = values
    for axis, length in (("obs", n_samples), ("var", values.shape[1])):
        frame = group.create_group(axis)
        frame.attrs["encoding-type"], frame.attrs["_index"] = "dataframe", "_index"
        frame["_index"] = [f"{axis}{i}" for i in range(length)]
        frame.attrs["column-order"] = np.array(["kind", "n"], dtype=object)
        frame["n"] = np.arange(length)
        kind = frame.create_group("kind")
        kind.attrs["encoding-type"] = "categorical"
        kind["categories"], kind["codes"] = ["cat", "dog"], (np.arange(length) % 3 - 1).astype(np.int8)


def write_h5(path: Path, change: Callable[[Any], Any]) -> None:
    """Write an HDF5 file; ``change`` is given its root."""
    with h5py.File(path, "w") as file:
        change(file)


def _h5ad() -> Iterator[Seed]:
    for values in (VIEWS[0], SPARSE, SPARSE.tocsr()):
        yield _written("data.h5ad", lambda path, v=values: write_h5(path, lambda file: put_modality(file, v)))


def _h5mu() -> Iterator[Seed]:
    def write(file: Any) -> None:
        for name, values in (("rna", SPARSE), ("adt", VIEWS[0])):
            put_modality(file.require_group("mod").create_group(name), values)

    yield _written("data.h5mu", lambda path: write_h5(path, write))


def tenx_h5(file: Any) -> None:
    """Fill a file as Cell Ranger does."""
    group = file.create_group("matrix")
    group["data"], group["indices"], group["indptr"] = SPARSE.data, SPARSE.indices, SPARSE.indptr
    group["shape"], group["barcodes"] = np.array(SPARSE.shape), np.array([f"AAC{i}-1".encode() for i in range(7)])
    features = group.create_group("features")
    for key in ("id", "name", "feature_type"):
        features[key] = np.array([f"{key[:2]}{i % (2 if key[0] == 'f' else 9)}".encode() for i in range(6)])


def _tenx() -> Iterator[Seed]:
    yield _written("data.h5", lambda path: write_h5(path, tenx_h5))
    file = io.BytesIO()
    scipy.io.mmwrite(file, SPARSE, precision=4)
    lists = {
        "barcodes": "".join(f"AAC{i}-1\n" for i in range(7)),
        "features": "".join(f"E{i}\tG{i}\tRNA\n" for i in range(6)),
    }
    matrix = {"data/matrix.mtx": file.getvalue()}
    yield {**matrix, **{f"data/{name}.tsv": text.encode() for name, text in lists.items()}}
    yield {
        "data/matrix.mtx.gz": gzip.compress(file.getvalue(), mtime=0),
        **{f"data/{name}.tsv.gz": gzip.compress(text.encode(), mtime=0) for name, text in lists.items()},
    }


def _mtx(zipped: bool) -> Iterator[Seed]:
    dense = VIEWS[0][:4].round(3)
    matrices: list[tuple[Any, dict[str, Any]]] = [
        (SPARSE, {}),
        (dense, {}),
        (VIEWS[1].astype(int), {}),
        (dense + dense.T, {"symmetry": "symmetric"}),
        (dense - dense.T, {"symmetry": "skew-symmetric"}),
        (SPARSE > 0.2, {"field": "pattern"}),
    ]
    for matrix, options in matrices:
        file = io.BytesIO()
        scipy.io.mmwrite(file, matrix, comment="made up", precision=4, **options)
        content = file.getvalue()
        yield {"data.mtx.gz": gzip.compress(content, mtime=0)} if zipped else {"data.mtx": content}


def _folder() -> Iterator[Seed]:
    frame = _frame()
    table = {
        "a.csv": frame[["id", "a", "b"]],
        "b.tsv": frame[["id", "c", "d"]][::-1],
        "labels.csv": frame[["id", "label"]],
    }
    yield {
        f"data/{name}": some.to_csv(index=False, sep="\t" if name.endswith("tsv") else ",").encode()
        for name, some in table.items()
    }
    yield {"data/a.npy": npy(VIEWS[0]), "data/b.npy": npy(VIEWS[1]), "data/y.npy": npy(LABELS)}


def _labels() -> Iterator[Seed]:
    views = {"views.npy": npy(VIEWS[0])}
    yield {"labels.txt": "\n".join(NAMES).encode(), **views}
    yield {"labels.txt": b"1\n2\n2\n1\n3\n3\n", **views}
    yield {"labels.csv": b"id,kind\n" + b"".join(f"s{i},{name}\n".encode() for i, name in enumerate(NAMES)), **views}
    yield {"labels.tsv": b"kind\n1\n1\n2\n2\n3\n3\n", **views}
    yield {"labels.npy": npy(LABELS), **views}
    yield {"labels.npy": npy(np.array(NAMES)), **views}
    yield {"labels.parquet": pandas.DataFrame({"kind": NAMES}).to_parquet(), **views}


def _shards() -> Iterator[Seed]:
    numbers = _frame().drop(columns=["id", "label"])
    yield {f"data/part-{i}.npy": npy(VIEWS[0][2 * i : 2 * i + 2]) for i in range(3)}
    for size in (2, 6):
        yield {f"data/part-{i}.parquet": numbers.to_parquet(row_group_size=size) for i in range(2)}
    vectors = pandas.DataFrame({"embedding": VIEWS[0].tolist()}).to_parquet(row_group_size=4)
    yield {f"data/part-{i}.parquet": vectors for i in range(2)}


def _zarr() -> Iterator[Seed]:
    for version in (2, 3):
        for view, chunks in ((VIEWS[0], (2, 4)), (VIEWS[1], (3, 2))):
            yield _zarr_array(view, chunks, version)
    yield _zarr_array(VIEWS[0], (3, 4), 3, shards=(6, 4))


def _zarr_array(view: np.ndarray, chunks: tuple[int, ...], version: int, **options: Any) -> Seed:
    def write(path: Path) -> None:
        zarr.create_array(str(path), data=view, chunks=chunks, zarr_format=version, **options)

    return _written("data.zarr", write)


def _models() -> Iterator[Seed]:
    import manyview.datasets

    views = manyview.datasets.make_multiview(40, n_clusters=2, random_state=0)
    for name in ("GraphEnsemble", "LMVSC", "RDEKM"):
        model = getattr(manyview.cluster, name)(n_clusters=2, random_state=0).fit(views)
        yield _written("data.model", model.save)


def _stores() -> Iterator[Seed]:
    from manyview.experiments._model import DONE, Cell, CellResult, DatasetFacts
    from manyview.experiments.store import Store

    cell = Cell("made", {"generate": {"n_samples": 6}}, "TBGL", {"p": 0.5}, "shuffled", 0)
    facts = DatasetFacts("made", "f" * 16, 6, (("pixels", 4), ("words", 5)), LABELS, False)

    def write(path: Path) -> None:
        with Store(path, create=True) as store:
            run = store.begin_run({"manyview": "0", "machine": {"cores": 2}})
            store.note_start(cell, run)
            pictures = {"pixels": VIEWS[2], "learned": VIEWS[2]}
            store.add(cell, CellResult(cell.key, DONE, "", LABELS, 1.5, 1000, run=run, pictures=pictures), facts)

    yield _written("data.db", write)


def _specs() -> Iterator[Seed]:
    import manyview.experiments

    folder = Path(manyview.experiments.__file__).with_name("specs")
    for name in ("quick-table", "quick-p", "p-value", "stand-ins", "2com", "result1"):
        yield {"data.toml": (folder / f"{name}.toml").read_bytes()}
    yield {
        "data.toml": b'title = "Mine"\nparts = ["quick-table", "other.toml"]\n',
        "other.toml": (folder / "quick-p.toml").read_bytes(),
    }


def unzipped(content: bytes) -> dict[str, bytes]:
    """The members of a zip archive."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


MAKERS: dict[str, Callable[[], Iterator[Seed]]] = {
    "mat4": _mat4,
    "mat5": lambda: _mat5(compress=False),
    "mat5z": lambda: _mat5(compress=True),
    "mat73": _mat73,
    "npy": _npy,
    "npz": _npz,
    "csv": lambda: _text(",", ".csv"),
    "tsv": lambda: _text("\t", ".tsv"),
    "parquet": _parquet,
    "mtx": lambda: _mtx(zipped=False),
    "mtx.gz": lambda: _mtx(zipped=True),
    "wild": _wild,
    "xlsx": _xlsx,
    "h5ad": _h5ad,
    "h5mu": _h5mu,
    "tenx": _tenx,
    "folder": _folder,
    "labels": _labels,
    "shards": _shards,
    "zarr": _zarr,
    "model": _models,
    "store": _stores,
    "spec": _specs,
}
