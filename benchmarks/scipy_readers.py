"""Whether SciPy's readers still crash on files with one wrong byte, the reason for the readers in ``manyview.io``.

    python benchmarks/scipy_readers.py

Each case writes a small valid file with SciPy, changes one byte, and reads it with ``scipy.io`` in another process. An
error message is what we want (exit code 1); a signal means that the interpreter crashed. When no case crashes any more,
``io/_matlab.py`` (version 5) and ``io/_matrix_market.py`` can give way to SciPy.
"""

from __future__ import annotations

import io
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import scipy
import scipy.io
import scipy.sparse as sp

READ = "import sys, scipy.io; getattr(scipy.io, sys.argv[1])(sys.argv[2])"


def matlab(**variables: object) -> bytes:
    stream = io.BytesIO()
    scipy.io.savemat(stream, variables)
    return stream.getvalue()


def matrix_market(matrix: object) -> bytes:
    stream = io.BytesIO()
    scipy.io.mmwrite(stream, matrix)
    return stream.getvalue()


DENSE, SPARSE = np.eye(2), sp.csc_array(np.eye(3))
CASES = (
    # what is wrong, name of the reader, a valid file, position of the byte, its new value
    ("MATLAB 5, dense: type code of the numbers 9 -> 0", "loadmat", matlab(X=DENSE), 176, 0),
    ("MATLAB 5, sparse: type code of the row indices 5 -> 0", "loadmat", matlab(X=SPARSE), 176, 0),
    ("Matrix Market, sparse: last newline -> 'E'", "mmread", matrix_market(SPARSE), -1, ord("E")),
    ("Matrix Market, dense: '2 3' rows and columns -> '0 3'", "mmread", matrix_market(np.ones((2, 3))), 43, ord("0")),
)


def outcome(reader: str, content: bytes) -> str:
    """Read the content in a process of its own, and say how that process ended."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "file.mat" if reader == "loadmat" else "file.mtx")
        path.write_bytes(content)
        code = subprocess.run([sys.executable, "-c", READ, reader, str(path)], capture_output=True).returncode
    return f"crashed: {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"


def main() -> None:
    print(f"SciPy {scipy.__version__}, NumPy {np.__version__}, Python {sys.version.split()[0]}")
    for name, reader, content, position, value in CASES:
        changed = bytearray(content)
        changed[position] = value
        print(f"{name}: {outcome(reader, bytes(changed))} (unchanged: {outcome(reader, content)})")


if __name__ == "__main__":
    main()
