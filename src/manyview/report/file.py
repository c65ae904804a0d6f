"""A report that has been written: its path, and in a notebook the page itself."""

from __future__ import annotations

import gzip
import os
from base64 import b64encode
from html import escape
from pathlib import Path

from manyview._utils.html import block, paragraph

_HEIGHT = 720  # pixels: the first screen of the page, with its map
_UNPACK = """<!doctype html><meta charset="utf-8"><script>
const packed = Uint8Array.from(atob("%s"), character => character.charCodeAt(0));
const page = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
new Response(page).text().then(text => { document.open(); document.write(text); document.close(); });
</script>"""


class Report(os.PathLike[str]):
    """A report in a file, as :func:`manyview.report.write_report` returns it; a path wherever one is expected.

    In a notebook the page is shown in the output of the cell, where it works like the file itself. It becomes a part of
    the notebook, in 2 to 3 MB; end the line with a semicolon to leave it out.

    Parameters
    ----------
    path : str or path
        The file.

    Attributes
    ----------
    path : pathlib.Path
        The file.

    Examples
    --------
    >>> from manyview.report import Report
    >>> report = Report("report.html")
    >>> report
    Report('report.html')
    >>> print(report)
    report.html
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    def __fspath__(self) -> str:
        return str(self.path)

    def __str__(self) -> str:
        return str(self.path)

    def __repr__(self) -> str:
        return f"Report({str(self.path)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Report) and self.path == other.path

    def __hash__(self) -> int:
        return hash(self.path)

    def _repr_html_(self) -> str:
        try:
            page = self.path.read_bytes()
        except OSError as error:
            return block([paragraph(f"The report cannot be shown: {error}")])
        # Compressed, because it becomes a part of the notebook; most of a page is the library that draws its figures.
        packed = b64encode(gzip.compress(page, mtime=0)).decode("ascii")
        # Sandboxed: its scripts work, but cannot reach the notebook around it.
        frame = f'<iframe srcdoc="{escape(_UNPACK % packed)}" sandbox="allow-scripts allow-downloads allow-popups" '
        style = f'style="width: 100%; height: {_HEIGHT}px; border: 1px solid #8888; border-radius: 4px"'
        return block([paragraph(self), f'{frame}{style} title="Report"></iframe>'])
