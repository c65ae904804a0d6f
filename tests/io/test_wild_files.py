"""Files as they are found: each is read right, or refused with what to do about it.

The bytes are those that R, Excel, pandas, GEO, 10x, MATLAB and people write. A case says what must come out: the
values, ids and names of the columns, or a fragment of the error.
"""

from __future__ import annotations

import gzip
import io
import warnings
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
import scipy.io
import scipy.sparse as sp

from manyview import check_views, read_views
from manyview.exceptions import FileFormatError, OrientationWarning, ViewsError

NAN = float("nan")
Content = bytes | dict[str, bytes]


@dataclass(frozen=True)
class Case:
    """A file (or several in a folder), and what it holds or why it is refused."""

    name: str
    content: Content | Callable[[], Content]
    values: Any = None
    ids: str | None = "a b"
    names: str | None = "x y"
    refused: str = ""
    options: dict[str, Any] = field(default_factory=dict)
    noted: str = ""
    views: tuple[str, ...] = ()
    needs: str = ""
    in_fit: bool = False
    """Whether it is read, and refused by a fit."""


TWO = [[1.5, 2], [3, 4.25]]


def text(*lines: str, end: str = "\n", encoding: str = "utf-8") -> bytes:
    return "".join(line + end for line in lines).encode(encoding)


def npz(**arrays: Any) -> bytes:
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def parquet(frame: pandas.DataFrame, **options: Any) -> bytes:
    file = io.BytesIO()
    frame.to_parquet(file, **options)
    return file.getvalue()


def matlab(**variables: Any) -> bytes:
    file = io.BytesIO()
    scipy.io.savemat(file, variables)
    return file.getvalue()


def hdf5(write: Callable[[Any], None], user: bytes = b"") -> bytes:
    h5py = pytest.importorskip("h5py")
    file = io.BytesIO()
    with h5py.File(file, "w", userblock_size=512 if user else 0) as root:
        write(root)
    content = file.getvalue()
    return user.ljust(512, b"\0") + content[512:] if user else content


def matlab73() -> bytes:
    def write(root: Any) -> None:
        item = root.create_dataset("X", data=np.array(TWO).T)  # MATLAB stores columns first
        item.attrs["MATLAB_class"] = np.bytes_("double")

    return hdf5(write, b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(124) + b"\x00\x02IM")


def put_frame(group: Any, name: str, index: list[str], **columns: Any) -> None:
    """Store a data frame as anndata does."""
    frame = group.create_group(name)
    frame.attrs["encoding-type"], frame.attrs["_index"] = "dataframe", "_index"
    frame.attrs["column-order"] = np.array(list(columns), dtype=object) if columns else np.array([], dtype="S1")
    frame["_index"] = index
    for key, values in columns.items():
        if isinstance(values, list) and isinstance(values[0], str):  # strings are stored as categories
            kinds = sorted(set(values))
            own = frame.create_group(key)
            own.attrs["encoding-type"] = "categorical"
            own["categories"], own["codes"] = kinds, np.array([kinds.index(one) for one in values], dtype=np.int8)
        else:
            frame[key] = values


def put_modality(group: Any, values: Any, ids: str, names: str, **obs: Any) -> None:
    if sp.issparse(values):
        csr = sp.csr_array(values)
        own = group.create_group("X")
        own.attrs["encoding-type"], own.attrs["shape"] = "csr_matrix", np.array(csr.shape)
        own["data"], own["indices"], own["indptr"] = csr.data, csr.indices, csr.indptr
    else:
        group["X"] = np.array(values)
    put_frame(group, "obs", ids.split(), **obs)
    put_frame(group, "var", names.split())


def h5ad(values: Any = TWO, ids: str = "a b", **obs: Any) -> bytes:
    return hdf5(lambda root: put_modality(root, values, ids, "x y", **obs))


def h5ad_with_more() -> bytes:
    def write(root: Any) -> None:
        put_modality(root, [[9.0, 9], [9, 9]], "a b", "x y")
        root.create_group("layers")["counts"] = np.array(TWO)
        root.create_group("obsm")["X_pca"] = np.array([[1.0, 2, 3], [4, 5, 6]])

    return hdf5(write)


def h5mu(second: str = "a b") -> bytes:
    def write(root: Any) -> None:
        mod = root.create_group("mod")
        mod.attrs["mod-order"] = np.array(["rna", "adt"], dtype=object)
        put_modality(mod.create_group("adt"), np.array([[7.0], [8.0]]), second, "CD3")
        put_modality(mod.create_group("rna"), sp.csr_array(np.array(TWO)), "a b", "x y")
        put_frame(root, "obs", ["a", "b"], age=[30, 40])

    return hdf5(write, b"MuData (format-version=0.1.0;creator=muon;creator-version=0.2.0)")


def tenx(matrix: Any, types: str = "Gene Expression", zipped: bool = True, prefix: str = "") -> dict[str, bytes]:
    """A folder as Cell Ranger writes it: features in rows, cells in columns."""
    file = io.BytesIO()
    scipy.io.mmwrite(file, sp.coo_array(matrix), field="real")
    features = [f"ENSG{i}\tG{i}\t{kind.strip()}" for i, kind in enumerate(types.split(","))]
    files = {
        "matrix.mtx": file.getvalue(),
        "barcodes.tsv": b"AAAC-1\nAAAG-1\n",
        ("features.tsv" if zipped else "genes.tsv"): text(*features),
    }
    if zipped:
        files = {f"{name}.gz": gzip.compress(content, mtime=0) for name, content in files.items()}
    return {prefix + name: content for name, content in files.items()}


def tenx_h5() -> bytes:
    def write(root: Any) -> None:
        csc = sp.csc_array(np.array([[1, 0], [0, 2], [3, 4]]))
        group = root.create_group("matrix")
        group["data"], group["indices"], group["indptr"] = csc.data, csc.indices, csc.indptr
        group["shape"], group["barcodes"] = np.array([3, 2]), np.array([b"AAAC-1", b"AAAG-1"])
        features = group.create_group("features")
        features["id"], features["name"] = np.array([b"E1", b"E2", b"E3"]), np.array([b"x", b"y", b"z"])
        features["feature_type"] = np.array([b"Gene Expression"] * 3)

    return hdf5(write)


def xlsx(*sheets: tuple[str, list[list[Any]]]) -> bytes:
    """A workbook by hand: numbers, inline texts, errors (#...), and nothing else."""

    def cell(row: int, column: int, value: Any) -> str:
        at = f"{chr(ord('A') + column)}{row}"
        if isinstance(value, str) and value.startswith("#"):
            return f'<c r="{at}" t="e"><v>{value}</v></c>'
        if isinstance(value, str):
            return f'<c r="{at}" t="inlineStr"><is><t xml:space="preserve">{value}</t></is></c>'
        return (
            f'<c r="{at}" t="b"><v>{int(value)}</v></c>'
            if isinstance(value, bool)
            else f'<c r="{at}"><v>{value}</v></c>'
        )

    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006/"
    kind = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    names = "".join(f'<sheet name="{n}" sheetId="{i}" r:id="rId{i}"/>' for i, (n, _) in enumerate(sheets, 1))
    links = "".join(
        f'<Relationship Id="rId{i}" Type="{office}/worksheet" Target="worksheets/sheet{i}.xml"/>'
        for i in range(1, len(sheets) + 1)
    )
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{package}content-types"><Default Extension="rels" '
        'ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Override '
        'PartName="/xl/workbook.xml" '
        f'ContentType="{kind}.sheet.main+xml"/>'
        + "".join(
            f'<Override PartName="/xl/worksheets/sheet{i}.xml" ContentType="{kind}.worksheet+xml"/>'
            for i in range(1, len(sheets) + 1)
        )
        + "</Types>",
        "_rels/.rels": f'<Relationships xmlns="{package}relationships"><Relationship Id="rId1" '
        f'Type="{office}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{main}" xmlns:r="{office}"><sheets>{names}</sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{package}relationships">{links}</Relationships>',
    }
    for i, (_, rows) in enumerate(sheets, 1):
        cells = "".join(
            f'<row r="{r}">{"".join(cell(r, c, v) for c, v in enumerate(row) if v is not None)}</row>'
            for r, row in enumerate(rows, 1)
        )
        parts[f"xl/worksheets/sheet{i}.xml"] = f'<worksheet xmlns="{main}"><sheetData>{cells}</sheetData></worksheet>'
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, f'<?xml version="1.0" encoding="UTF-8"?>\n{content}')
    return file.getvalue()


SHEET = [["id", "x", "y"], ["a", 1.5, 2], ["b", 3, 4.25]]
GEO = text(
    '!Series_title\t"Something, measured"',
    '!Series_sample_id\t"GSM101 GSM102"',
    "",
    '!Sample_title\t"first"\t"second"',
    "!series_matrix_table_begin",
    '"ID_REF"\t"GSM101"\t"GSM102"',
    '"1007_s_at"\t1.5\t3',
    '"1053_at"\t2\t4.25',
    '"117_at"\t5\t6',
    "!series_matrix_table_end",
)
GCT = text("#1.2", "2\t2", "Name\tDescription\tS1\tS2", "x\tna\t1.5\t3", "y\tna\t2\t4.25")
# As cmapPy and LINCS write it: symbols and counts of features beside, doses and cells of samples below the names.
GCT3 = text(
    "#1.3",
    "2\t2\t2\t2",
    "id\tsymbol\tpeople\tS1\tS2",
    "cell\t-666\t-666\tMCF7\tA549",
    "dose\tna\tna\t0.5\t10",
    "x\tTP53\t126,329\t1.5\t3",
    "y\tBRCA1\t1,5\t2\t4.25",
)
GCT3_NOTE = "t.gct: left out 2 column(s) that describe features and 2 line(s) that describe samples"
GENES = {"ids": "GSM101 GSM102", "names": "1007_s_at 1053_at 117_at", "values": [[1.5, 2, 5], [3, 4.25, 6]]}

CASES = {
    # R
    "write.csv": Case("t.csv", text('"","x","y"', '"a",1.5,2', '"b",3,4.25'), TWO),
    "write.csv, row.names=FALSE": Case("t.csv", text('"x","y"', "1.5,2", "3,4.25"), TWO, ids=None),
    "write.csv of counted rows": Case("t.csv", text('"","x","y"', '"1",1.5,2', '"2",3,4.25'), TWO, ids="1 2"),
    "write.csv2": Case("t.csv", text('"";"x";"y"', '"a";1,5;2', '"b";3;4,25'), TWO),
    "write.table": Case("t.txt", text('"x" "y"', '"a" 1.5 2', '"b" 3 4.25'), TWO),
    "write.table, sep='\\t'": Case("t.tsv", text('"x"\t"y"', '"a"\t1.5\t2', '"b"\t3\t4.25'), TWO),
    "write.table, quote=FALSE": Case("t.tsv", text("x\ty", "a\t1.5\t2", "b\t3\t4.25"), TWO),
    "write.table of one column": Case("t.txt", text('"x"', '"a" 1.5', '"b" 3'), [[1.5], [3]], names="x"),
    "write.table, col.names=NA": Case("t.tsv", text('""\t"x"\t"y"', '"a"\t1.5\t2', '"b"\t3\t4.25'), TWO),
    "write.table with NA, NaN": Case(
        "t.txt", text('"x" "y"', '"a" NA 2', '"b" 3 NaN', '"c" 1 1'), [[NAN, 2], [3, NAN], [1, 1]], ids="a b c"
    ),
    "write.table with Inf": Case(
        "t.txt", text('"x" "y"', '"a" -Inf 2', '"b" 3 4'), refused=r"infinity .*sample 'a'.*'x'", in_fit=True
    ),
    "write.csv of logicals": Case("t.csv", text('"","x","y"', '"a",TRUE,2', '"b",FALSE,4'), [[1, 2], [0, 4]]),
    "write.csv of logicals with NA": Case(
        "t.csv", text('"","x","y"', '"a",TRUE,2', '"b",NA,4', '"c",FALSE,1'), [[1, 2], [NAN, 4], [0, 1]], ids="a b c"
    ),
    "write.csv of a factor": Case(
        "t.csv",
        text('"","x","batch"', '"a",1,"one"', '"b",2,"two"', '"c",3,"one"', '"d",4,"two"'),
        refused=r"'batch' \(the first has 'one' for sample 'a'\)\. Leave it out with drop='batch', encode it",
    ),
    "saveRDS": Case("t.rds", b"\x1f\x8b\x08\x00", refused=r"In R: write\.csv\(x, 'x\.csv'\), or arrow::write_parquet"),
    "save": Case("t.RData", b"RDX3\nX\n", refused=r"In R: write\.csv"),
    # Excel and other spreadsheets
    "CSV UTF-8": Case("t.csv", text("id,x,y", "a,1.5,2", "b,3,4.25", end="\r\n", encoding="utf-8-sig"), TWO),
    "CSV with semicolons": Case(
        "t.csv", text("id;x;y", "a;1,5;2", "b;3;4,25", end="\r\n", encoding="utf-8-sig"), TWO
    ),
    "CSV with points and semicolons": Case("t.csv", text("id;x;y", "a;1.5;2", "b;3;4.25"), TWO),
    "CSV in cp1252": Case(
        "t.csv", text("id;größe", "a;1,5", "b;3", encoding="cp1252"), refused=r"0xf6 in .*größe.*encoding='cp1252'"
    ),
    "CSV in cp1252, said": Case(
        "t.csv",
        text("id;größe", "a;1,5", "b;3", encoding="cp1252"),
        [[1.5], [3]],
        names="größe",
        options={"encoding": "cp1252"},
    ),
    "Unicode text": Case("t.txt", text("id\tx\ty", "a\t1,5\t2", "b\t3\t4,25", end="\r\n", encoding="utf-16"), TWO),
    "UTF-16 without a mark": Case(
        "t.csv", text("id,x", "a,1", encoding="utf-16-le"), refused=r"Save it as UTF-8, or pass encoding="
    ),
    "sep=; in the first line": Case("t.csv", text("sep=;", "id;x;y", "a;1,5;2", "b;3;4,25"), TWO),
    "title above the table": Case(
        "t.csv", text("Table S1. Everything,,", ",,", "id,x,y", "a,1.5,2", "b,3,4.25"), TWO, noted="skipped 2 lines"
    ),
    "title without separators": Case(
        "t.csv", text("Table S1", "", "id,x,y", "a,1.5,2", "b,3,4.25"), TWO, noted="skipped 2 lines"
    ),
    "empty rows below": Case("t.csv", text("id,x,y", "a,1.5,2", "b,3,4.25", ",,", ",,"), TWO),
    "empty columns beside": Case("t.csv", text("id,x,y,,", "a,1.5,2,,", "b,3,4.25,,"), TWO),
    "errors of formulas": Case(
        "t.csv", text("id,x,y", "a,#DIV/0!,2", "b,3,#N/A", "c,1,1"), [[NAN, 2], [3, NAN], [1, 1]], ids="a b c"
    ),
    "thousands": Case("t.csv", text("id,x,y", 'a,"1,234.5",2', 'b,"12",4'), [[1234.5, 2], [12, 4]]),
    "thousands in groups": Case("t.csv", text("id,x,y", 'a,"1,234,567",2', 'b,"12",4'), [[1234567, 2], [12, 4]]),
    "thousands or a decimal comma": Case(
        "t.csv",
        text("id,x", 'a,"1,234"', 'b,"5,678"'),
        refused=r"'x' holds '1,234', which could be 1234 or 1\.234\. Pass decimal=','",
    ),
    "thousands, said": Case(
        "t.csv", text("id,x", 'a,"1,234"', 'b,"5,678"'), [[1234], [5678]], names="x", options={"decimal": "."}
    ),
    "decimal commas, said": Case(
        "t.csv", text("id,x", 'a,"1,234"', 'b,"5,678"'), [[1.234], [5.678]], names="x", options={"decimal": ","}
    ),
    "German thousands": Case("t.csv", text("id;x;y", "a;1.234,5;2", "b;3;4,25"), [[1234.5, 2], [3, 4.25]]),
    "German thousands alone": Case(
        "t.csv", text("id;x", "a;1.234", "b;987"), refused=r"could be 1234 or 1\.234\. Pass decimal=','"
    ),
    "French thousands": Case("t.csv", text("id;x;y", "a;1 234,5;2", "b;3;4,25"), [[1234.5, 2], [3, 4.25]]),
    "narrow spaces": Case("t.csv", text("id;x;y", "a;1\u202f234,5;2", "b;3;4,25"), [[1234.5, 2], [3, 4.25]]),
    "Swiss thousands": Case("t.csv", text("id,x,y", "a,1'234.5,2", "b,3,4.25"), [[1234.5, 2], [3, 4.25]]),
    "commas and points": Case(
        "t.csv", text("id;x;y", "a;1,5;2.5", "b;3,5;4.5"), refused=r"'x' .*'1,5'.*'y' with points \(such as 2\.5\)"
    ),
    "percents": Case("t.csv", text("id,x,y", "a,12%,2", "b,3.5 %,4"), [[0.12, 2], [0.035, 4]]),
    "percents and numbers": Case("t.csv", text("id,x", "a,12%", "b,0.5"), refused=r"'x' \(the first has"),
    "minus signs of typesetters": Case("t.csv", text("id,x,y", "a,−1.5,2", "b,3,−4"), [[-1.5, 2], [3, -4]]),
    "dates": Case(
        "t.csv",
        text("id,x,visit", "a,1,2021-03-04", "b,2,2021-03-04", "c,3,2021-05-06"),
        refused=r"'visit' \(the first has '2021-03-04' for sample 'a'\)\. Leave it out with drop='visit'",
    ),
    "dates, left out": Case(
        "t.csv",
        text("id,x,visit", "a,1,2021-03-04", "b,2,2021-03-04"),
        [[1], [2]],
        names="x",
        options={"drop": "vis*"},
        noted="left out 1 column: 'visit'",
    ),
    "below the limit of detection": Case(
        "t.csv",
        text("id,x", "a,1", "b,<0.1", "c,3"),
        refused=r"the first has '<0\.1' for sample 'b'\); 1 of its 3 cells are no numbers\. Correct these cells",
    ),
    "workbook": Case("t.xlsx", lambda: xlsx(("Sheet1", SHEET)), TWO, needs="openpyxl"),
    "workbook with titles": Case(
        "t.xlsx", lambda: xlsx(("Data", [["Table S1"], [], *SHEET])), TWO, noted="skipped 2 rows", needs="openpyxl"
    ),
    "workbook with an empty sheet": Case("t.xlsx", lambda: xlsx(("A", SHEET), ("B", [])), TWO, needs="openpyxl"),
    "workbook with two sheets": Case(
        "t.xlsx",
        lambda: xlsx(("RNA", SHEET), ("Protein", SHEET)),
        refused=r"has 2 sheets: 'RNA', 'Protein'\. Name one as '.*t\.xlsx:RNA'",
        needs="openpyxl",
    ),
    "workbook with errors, texts of numbers": Case(
        "t.xlsx",
        lambda: xlsx(("Data", [["id", "x", "y"], ["a", "#N/A", "1,5"], ["b", 3, "2,25"], ["c", 4, "-"]])),
        [[NAN, 1.5], [3, 2.25], [4, NAN]],
        ids="a b c",
        needs="openpyxl",
    ),
    "workbook with numbers beside the table": Case(
        "t.xlsx",
        lambda: xlsx(("Data", [["id", "x"], ["a", 1], ["b", 2, None, 7]])),
        refused=r"column C has values, but no name|column D has values, but no name",
        needs="openpyxl",
    ),
    "old workbook": Case("t.xls", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", refused=r"Save it as \.xlsx"),
    # pandas and NumPy
    "to_csv": Case("t.csv", text(",x,y", "a,1.5,2.0", "b,3.0,4.25"), TWO),
    "to_csv of counted rows": Case("t.csv", text(",x,y", "0,1.5,2.0", "1,3.0,4.25"), TWO, ids="0 1"),
    "to_csv, compressed": Case("t.csv.gz", gzip.compress(text(",x,y", "a,1.5,2", "b,3,4.25"), mtime=0), TWO),
    "to_parquet": Case("t.parquet", lambda: parquet(pandas.DataFrame(TWO, ["a", "b"], ["x", "y"])), TWO),
    "to_parquet of vectors": Case(
        "t.parquet",
        lambda: parquet(pandas.DataFrame({"id": ["a", "b"], "embedding": [[1.5, 2.0], [3.0, 4.25]]})),
        TWO,
        names="embedding_0 embedding_1",
    ),
    "to_parquet of unlike vectors": Case(
        "t.parquet",
        lambda: parquet(pandas.DataFrame({"id": ["a", "b"], "embedding": [[1.5, 2.0], [3.0]]})),
        refused=r"'embedding' holds lists of different lengths, such as 2 and 1",
    ),
    "to_pickle": Case("t.pkl", b"\x80\x04.", refused=r"a pickle can run any code\. Save arrays as \.npz"),
    "savez": Case("t.npz", npz(x=np.array(TWO)), TWO, ids=None, names=None),
    # newlines, quotes, separators
    "newlines of Windows": Case("t.csv", text("id,x,y", "a,1.5,2", "b,3,4.25", end="\r\n"), TWO),
    "newlines of old Macs": Case("t.csv", text("id,x,y", "a,1.5,2", "b,3,4.25", end="\r"), TWO),
    "no newline at the end": Case("t.csv", b"id,x,y\na,1.5,2\nb,3,4.25", TWO),
    "newlines in quotes": Case("t.csv", text('id,"x\nlong",y', "a,1.5,2", "b,3,4.25"), TWO, names="x\nlong y"),
    "separators in quotes": Case("t.csv", text('id,"x, long",y', '"a",1.5,2', "b,3,4.25"), TWO, names="x,\u00a0long y"),
    "separators at the ends": Case("t.csv", text("id,x,y,", "a,1.5,2,", "b,3,4.25,"), TWO),
    "separators at the ends of rows only": Case("t.csv", text("id,x,y", "a,1.5,2,", "b,3,4.25,"), TWO),
    "tabs in a .csv": Case("t.csv", text("id\tx\ty", "a\t1.5\t2", "b\t3\t4.25"), TWO),
    "commas in a .tsv": Case("t.tsv", text("id,x,y", "a,1.5,2", "b,3,4.25"), TWO),
    "columns aligned with spaces": Case("t.txt", text("id    x    y", "a   1.5    2", "b     3 4.25"), TWO),
    "comments": Case(
        "t.csv", text("# made by a, program", "# today", "id,x,y", "a,1.5,2", "b,3,4.25"), TWO, noted="skipped 2 lines"
    ),
    "names in a comment": Case("t.tsv", text("# from biom", "#OTU ID\tx\ty", "a\t1.5\t2", "b\t3\t4.25"), TWO),
    "comments between rows": Case(
        "t.csv", text("id,x,y", "a,1.5,2", "# pause", "b,3,4.25"), refused=r"line 3 has 1 fields, the first line has 3"
    ),
    "a name too few": Case("t.csv", text("x,y", "5,1.5,2", "7,3,4.25"), refused="line 2 has 3 fields, the first"),
    "write.table of counted rows": Case("t.txt", text('"x" "y"', '"1" 1.5 2', '"2" 3 4.25'), TWO, ids="1 2"),
    "a line that is cut off": Case("t.csv", text("id,x,y", "a,1.5,2", "b,3"), refused=r"line 3 has 2 fields"),
    "numbers only": Case("t.csv", text("1.5,2", "3,4.25"), refused=r"names of columns or a sample\. Pass header="),
    "numbers only with decimal commas": Case(
        "t.csv", text("a;1,5;2,5", "b;3,0;4,25"), refused=r"could be names of columns or a sample\. Pass header="
    ),
    # missing values
    "marks for missing values": Case(
        "t.csv",
        text("id,x,y", "a,-,1", "b,?,2", "c,n/a,3", "d,null,4", "e,.,5", "f,,6", "g,None,7", "h,8,8"),
        [[NAN, k] for k in range(1, 8)] + [[8, 8]],
        ids="a b c d e f g h",
    ),
    "missing values in a fit": Case(
        "t.csv",
        text("id,x,y", "a,1,-", "b,2,5", "c,3,7"),
        refused=r"t\.csv: .*NaN, first at row 0 \(sample 'a'\), column 1 \('y'\).*impute='median'",
        in_fit=True,
    ),
    "missing values, imputed": Case(
        "t.csv",
        text("id,x,y", "a,1,-", "b,2,5", "c,3,7"),
        [[1, 6], [2, 5], [3, 7]],
        ids="a b c",
        options={"impute": "median"},
        noted="imputed 1 missing cell by the median of the column: t 1",
    ),
    "a column without values": Case(
        "t.csv",
        text("id,x,y", "a,1,", "b,2,"),
        refused=r"1 column\(s\) have no value at all.*'y'\. Leave them out with drop='y'",
        options={"impute": "mean"},
    ),
    "names twice": Case("t.csv", text("id,x,x", "a,1.5,2", "b,3,4.25"), TWO, names="x x.1", noted="numbered as 'x.1'"),
    # biology
    "GEO series matrix": Case("GSE1_series_matrix.txt", GEO, **GENES),
    "GEO series matrix, compressed": Case("GSE1_series_matrix.txt.gz", gzip.compress(GEO, mtime=0), **GENES),
    "GEO family file": Case("GSE1.txt", text("^SERIES = GSE1", "!Series = x"), refused="download .*_series_matrix"),
    "GCT": Case("t.gct", GCT, TWO, ids="S1 S2"),
    "GCT, compressed": Case("t.gct.gz", gzip.compress(GCT, mtime=0), TWO, ids="S1 S2"),
    "GCT, called .txt": Case("t.txt", GCT, TWO, ids="S1 S2"),
    "GCT, truncated": Case(
        "t.gct", GCT[: GCT.index(b"y\t")], refused=r"announces 2 features of 2 samples .* has 1 of 2\. .*truncated"
    ),
    "GCT 1.3": Case("t.gct", GCT3, TWO, ids="S1 S2", noted=GCT3_NOTE),
    "GCT 1.3, compressed": Case(
        "t.gct.gz", gzip.compress(GCT3, mtime=0), TWO, ids="S1 S2", noted="left out 2 column(s)"
    ),
    "GCT 1.3 without annotations": Case(
        "t.gct", text("#1.3", "2\t2\t0\t0", "id\t101\t102", "x\t1.5\t3", "y\t2\t4.25"), TWO, ids="101 102"
    ),
    "GCT 1.3 with a short line": Case(
        "t.gct", GCT3.replace(b"\t4.25", b""), refused=r"line 7 has 4 fields, the first line has 5"
    ),
    "GCT 1.3 with another number of samples": Case(
        "t.gct", GCT3.replace(b"2\t2\t2\t2", b"2\t3\t2\t2"), refused="announces 2 features of 3 samples .* has 2 of 2"
    ),
    "GCT 1.3 without its numbers": Case(
        "t.gct", text("#1.3", "id\tS1\tS2", "x\t1\t2"), refused=r"expected 4 numbers in the second line of a GCT file"
    ),
    "GCT 1.3 with too few lines": Case(
        "t.gct", text("#1.3", "2\t2\t0\t9", "id\tS1\tS2", "x\t1\t2", "y\t1\t2"), refused="no samples, only names"
    ),
    "10x folder": Case(
        "cells/", tenx([[1, 0], [0, 2], [3, 4]], "Gene Expression," * 2 + "Gene Expression"), [[1, 0, 3], [0, 2, 4]],
        ids="AAAC-1 AAAG-1", names="G0 G1 G2",
    ),
    "10x folder of Cell Ranger 2": Case(
        "cells/", tenx([[1, 0], [2, 3]], "Gene Expression,Gene Expression", zipped=False), [[1, 2], [0, 3]],
        ids="AAAC-1 AAAG-1", names="G0 G1",
    ),
    "10x folder with two types": Case(
        "cells/", tenx([[1, 0], [0, 2], [3, 4]], "Gene Expression,Gene Expression,Antibody Capture"), [[1, 0], [0, 2]],
        ids="AAAC-1 AAAG-1", names="G0 G1", views=("Gene Expression", "Antibody Capture"),
    ),
    "10x files with a prefix": Case(
        "cells/", tenx([[1, 0], [2, 3]], "Gene Expression,Gene Expression", prefix="GSM1_"), [[1, 2], [0, 3]],
        ids="AAAC-1 AAAG-1", names="G0 G1", views=("GSM1_matrix",),
    ),
    "10x matrix with too few barcodes": Case(
        "cells/", {**tenx([[1, 0], [2, 3]], "G,G", zipped=False), "barcodes.tsv": b"AAAC-1\n"},
        refused=r"2 cells and 2 features, but 1 barcodes",
    ),
    "10x HDF5": Case("cells.h5", tenx_h5, [[1, 0, 3], [0, 2, 4]], ids="AAAC-1 AAAG-1", names="x y z", needs="h5py"),
    "another HDF5": Case(
        "t.h5", lambda: hdf5(lambda root: root.create_dataset("x", data=np.ones(3))), refused="matrix of 10x",
        needs="h5py",
    ),
    "h5ad": Case("t.h5ad", h5ad, TWO, needs="h5py"),
    "h5ad, sparse": Case("t.h5ad", lambda: h5ad(sp.csr_array(np.array(TWO))), TWO, needs="h5py"),
    "h5ad with a layer": Case("t.h5ad", h5ad_with_more, TWO, options={"views_key": "layers/counts"}, views=("counts",),
                              needs="h5py"),
    "h5ad with what it has not": Case(
        "t.h5ad", h5ad_with_more, refused=r"no matrix 'scaled'.*'X', 'layers/counts', 'obsm/X_pca'\. Pass views_key=",
        options={"views_key": "scaled"}, needs="h5py",
    ),
    "h5ad with names twice": Case("t.h5ad", lambda: h5ad(ids="a a"), refused="'a' in obs_names", needs="h5py"),
    "h5mu": Case("t.h5mu", h5mu, TWO, views=("rna", "adt"), needs="h5py"),
    "h5mu with other samples": Case(
        "t.h5mu", lambda: h5mu("a c"), refused=r"t\.h5mu:adt: 1 of the 2 ids in .*h5mu:rna are missing.*join='outer'",
        needs="h5py",
    ),
    # MATLAB
    "save -v6": Case("t.mat", lambda: matlab(X=np.array(TWO), y=[[1], [2]]), TWO, ids=None, names=None),
    "save -v7.3": Case("t.mat", matlab73, TWO, ids=None, names=None, needs="h5py"),
    "writematrix": Case("t.txt", text("1.5,2", "3,4.25"), TWO, ids=None, names="0 1", options={"header": False}),
}  # fmt: skip


def written(folder: Path, case: Case) -> Path:
    content = case.content() if callable(case.content) else case.content
    path = folder / case.name.rstrip("/")
    if isinstance(content, bytes):
        path.write_bytes(content)
        return path
    path.mkdir()
    for name, part in content.items():
        (path / name).write_bytes(part)
    return path


def test_there_are_enough_of_them():
    assert len(CASES) >= 60


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_it_is_read_right_or_refused_with_the_remedy(tmp_path, case):
    if case.needs:
        pytest.importorskip(case.needs)
    path = written(tmp_path, case)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OrientationWarning)
        if case.refused:
            with pytest.raises(ViewsError if case.in_fit else FileFormatError, match=case.refused):
                check_views(read_views(path, **case.options))
            return
        views = read_views(path, **case.options)
    assert case.views in ((), views.names)
    first = views.arrays[0].toarray() if sp.issparse(views.arrays[0]) else views.arrays[0]
    np.testing.assert_allclose(first, np.array(case.values, dtype=float), rtol=1e-12)
    assert (None if views.sample_ids is None else views.sample_ids.tolist()) == (case.ids and case.ids.split())
    names = case.names and [name.replace("\u00a0", " ") for name in case.names.split(" ")]
    assert (views.feature_names[0] and list(views.feature_names[0])) == names
    notes = "; ".join(views.reading.notes)
    assert case.noted in notes if case.noted else not notes or case.name.startswith("t.tsv")


def test_what_anndata_says_about_samples_is_metadata(tmp_path):
    pytest.importorskip("h5py")
    path = tmp_path / "t.h5ad"
    path.write_bytes(h5ad(batch=["u", "v"], age=[30, 40]))
    views = read_views(path, label_column="batch")
    assert views.metadata.to_dict("list") == {"batch": ["u", "v"], "age": [30, 40]}
    assert views.metadata.index.tolist() == ["a", "b"]
    assert views.labels.tolist() == ["u", "v"]


def test_samples_of_modalities_are_joined(tmp_path):
    pytest.importorskip("h5py")
    path = tmp_path / "t.h5mu"
    path.write_bytes(h5mu("c a"))
    views = read_views(path, join="outer")
    assert views.sample_ids.tolist() == ["a", "b", "c"]
    assert views.present.tolist() == [[True, True], [True, False], [False, True]]
    assert views["adt"].ravel().tolist() == [8, 0, 7]
    assert views.metadata["age"].tolist()[:2] == [30, 40]


@pytest.mark.parametrize("kind", ["h5ad", "h5mu"])
def test_files_that_anndata_wrote(tmp_path, kind):
    """What the packages themselves write, in every way of storing columns."""
    anndata, mudata = pytest.importorskip("anndata"), pytest.importorskip("mudata")
    obs = pandas.DataFrame(
        {
            "batch": pandas.Categorical(["u", None, "u"]),
            "n": [1, 2, 3],
            "ok": [True, False, True],
            "some": pandas.array([1, None, 3], dtype="Int64"),
        },
        index=["a", "b", "c"],
    )
    rna = anndata.AnnData(sp.csc_matrix(np.arange(6.0).reshape(3, 2)), obs, pandas.DataFrame(index=["x", "y"]))
    path = tmp_path / f"t.{kind}"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rna.write_h5ad(path) if kind == "h5ad" else mudata.MuData({"t": rna}).write(path)
    views = read_views(path)
    assert views.names == ("t",)
    assert views.feature_names == (("x", "y"),)
    np.testing.assert_array_equal(views.arrays[0].toarray(), np.arange(6.0).reshape(3, 2))
    found = views.metadata if kind == "h5ad" else views.metadata.rename(columns=lambda name: name.removeprefix("t:"))
    assert found["n"].tolist() == [1, 2, 3]
    assert found["batch"].isna().tolist() == [False, True, False]
    assert found["some"].isna().tolist() == [False, True, False]
    assert found["ok"].tolist() == [True, False, True]


def test_sheets_are_views_and_labels(tmp_path):
    pytest.importorskip("openpyxl")
    file = tmp_path / "all.xlsx"
    clinic = [["patient", "stage"], ["b", "II"], ["a", "I"]]
    file.write_bytes(xlsx(("RNA", SHEET), ("Protein", [SHEET[0], *SHEET[:0:-1]]), ("Clinic", clinic)))
    views = read_views([f"{file}:RNA", f"{file}:Protein"], labels=f"{file}:Clinic:stage@patient")
    assert views.names == ("RNA", "Protein")
    np.testing.assert_array_equal(views["Protein"], TWO)
    assert views.labels.tolist() == ["I", "II"]


@pytest.mark.parametrize(
    ("old", "new", "error"),
    [
        ('<row r="2">', '<row r="99999999">', "has more than the 1,048,576 rows of a sheet"),
        ("<worksheet ", '<!DOCTYPE x [<!ENTITY l "ha">]><worksheet ', "declares a document type or is UTF-16"),
    ],
)
def test_workbooks_that_announce_too_much(tmp_path, old, new, error):
    pytest.importorskip("openpyxl")
    path = tmp_path / "t.xlsx"
    with zipfile.ZipFile(io.BytesIO(xlsx(("A", SHEET)))) as whole, zipfile.ZipFile(path, "w") as changed:
        for name in whole.namelist():
            changed.writestr(name, whole.read(name).decode().replace(old, new))
    with pytest.raises(FileFormatError, match=error):
        read_views(path)
