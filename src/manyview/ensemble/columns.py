"""The columns that rows carry through a fit, declared once, and the units in which they are summed exactly.

Rows (:class:`manyview.engines.rows.Rows`) hold columns under names. Every name that our method uses is declared here,
with type, shape, the modules that write it and those that read it; ``tests/ensemble/test_columns.py`` compares the
declarations with the source and with what real fits keep.

Letters: n rows of a block, V different views, L neighbours listed per view, K clusters, K' clusters of one member.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

# Largest exponent: powers of two beyond it would overflow.
_LARGEST_EXPONENT = 1000


@dataclass(frozen=True)
class Column:
    """Declaration of a column, or of several: one for each view, member or number of clusters.

    Parameters
    ----------
    name : str
        Name of the column in rows; with braces, one column for each argument of :meth:`of`.
    dtype, shape : str
        Type and shape in one block.
    written_by, read_by : tuple of str
        Modules of this package.
    """

    name: str
    dtype: str
    shape: str
    written_by: tuple[str, ...]
    read_by: tuple[str, ...]

    def of(self, *which: object) -> str:
        """Return the name of one of several columns.

        >>> NEAREST.of(2), MEMBER_LABELS.of("local", 5)
        ('nearest anchors in list 2', 'labels of local member 5')
        """
        return self.name.format(*which)


# The samples as they are given, and what is computed from them before learning.
VIEWS = Column("views", "Views", "(n,)", ("samples", "dask", "predict", "rare"), ("samples", "predict", "rare"))
ROWS = Column(
    "rows",
    "range",
    "(n,)",
    ("samples", "dask", "predict", "fit", "rare"),
    ("samples", "predict", "fit", "graph", "rare"),
)
HASHES = Column("hashes", "uint64", "(n, views)", ("samples",), ("samples",))
PATTERNS = Column("patterns of missing views", "bool", "(patterns, views)", ("samples",), ("samples",))

# Neighbour lists, one per view and then those of views side by side: the nearest anchors of each row, -1 where the
# views are missing, and squared distances.
NEAREST = Column("nearest anchors in list {}", "int32", "(n, L)", ("anchors", "fit"), ("members", "anchors", "rare"))
DISTANCE = Column("distances in list {}", "float32", "(n, L)", ("anchors", "fit"), ("members", "anchors", "rare"))
# Rows in whose lists a member found fewer anchors of its own than it needs.
TOO_SHORT = Column("lists that are too short", "bool", "(n,)", ("predict",), ("members", "predict"))

# One member of the ensemble: its edges, if there are few rows, and its embedding are dropped once its labels are kept.
EDGE_ANCHORS = Column("anchors of {} member {}", "int32", "(n, edges)", ("members",), ("members",))
EDGE_WEIGHTS = Column("weights of {} member {}", "float64", "(n, edges)", ("members",), ("members",))
MEMBER_EMBEDDING = Column("embedding of {} member {}", "float64", "(n, K')", ("members",), ("members",))
MEMBER_LABELS = Column("labels of {} member {}", "int32", "(n,)", ("members",), ("consensus",))

# The consensus is computed in two spaces, and the better labels are kept.
CONSENSUS = Column("consensus vectors", "float64", "(n, K)", ("consensus",), ("consensus",))
DIRECTIONS = Column("consensus vectors of length 1", "float64", "(n, K)", ("consensus",), ("consensus",))
FAMILY_LABELS = Column("labels by {} graphs", "int32", "(n,)", ("fit",), ("fit",))
LABELS_BY = Column("labels by {}", "int32", "(n,)", ("consensus",), ("consensus",))
EARLIER_LABELS = Column("labels of the batch before", "int32", "(n,)", ("fit",), ("fit",))

# Results of a fit.
LABELS = Column(
    "labels", "int32 or int64", "(n,)", ("consensus", "predict", "fit", "graph"), ("consensus", "graph", "fit")
)
EMBEDDING = Column("embedding", "float32 or float64", "(n, K)", ("consensus", "predict", "fit"), ("fit",))
CONFIDENCE = Column("confidence", "float32 or float64", "(n,)", ("consensus", "predict", "fit"), ("fit", "predict"))
GRAPH = Column("graph", "csr_array of float32 or float64", "(n, anchors)", ("fit", "graph"), ("fit", "graph"))

# The number of clusters: every member is cut into several.
VECTORS = Column("vectors of {} member {}", "float64", "(n, vectors)", ("gaps",), ("gaps",))
CUT_VECTORS = Column("{} vectors of {} member {}", "float64", "(n, K)", ("gaps",), ("gaps",))
CUT = Column("{} clusters of {} member {}", "int32", "(n,)", ("gaps",), ("gaps",))


def units_in_one(bound: float) -> float:
    """Return how many units, a power of two, make 1.0, for exact sums of absolute values that add up to ``bound``.

    Floating point additions round, so a sum depends on the order of its addends and on how rows are cut into blocks.
    Integers below 2⁵³ are added without rounding. So every addend is first rounded to a multiple of a common unit, and
    the numbers of units are summed, as doubles; the result is divided once at the end.

    The unit is the smallest power of two that is not less than ``bound / 2⁵²``. N addends that are rounded by at most
    one unit each add up to at most ``2⁵² + N`` units, below 2⁵³ in every partial sum as long as N < 2⁵².

    The rounding error of an addend is at most a unit: in sums of n numbers of at most 1, such as degrees of anchors and
    sums of unit vectors, that is 2⁻³² = 2.3e-10 for n = 10⁶, and 2⁻²² = 2.4e-7 for n = 10⁹. So is that of a mean over
    rows. The units of Gram matrices do not depend on n: with three views, 2⁻⁴⁸ = 3.6e-15, and 2⁻⁴⁷ if views are
    missing.

    >>> units_in_one(1.0) == 2.0**52, units_in_one(1_000_000) == 2.0**32
    (True, True)
    """
    mantissa, exponent = np.frexp(bound)  # bound = mantissa * 2**exponent with 0.5 <= mantissa < 1
    exponent -= mantissa == 0.5
    return float(np.ldexp(1.0, min(52 - int(exponent), _LARGEST_EXPONENT)))
