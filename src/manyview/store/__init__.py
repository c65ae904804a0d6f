"""Saving values in one file: a JSON description and plain arrays, with a checksum. Nothing is ever pickled."""

from manyview.store._codec import Codec
from manyview.store._file import read_file, write_file

__all__ = ["Codec", "read_file", "write_file"]
