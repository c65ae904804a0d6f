"""Checks of the data, and of how much a clustering depends on row order, seed and each single view.

:func:`inspect_views` describes views before a fit. Every audit fits clones of an estimator, changes one thing at a
time, and compares the groups. Known classes are not needed; where views have them, the accuracy of every run is
reported too.
"""

from manyview.audit.inspect import Inspection, LabelInspection, ViewInspection, inspect_views
from manyview.audit.result import AuditResult
from manyview.audit.stability import audit_order, audit_seeds, audit_views

__all__ = [
    "AuditResult",
    "Inspection",
    "LabelInspection",
    "ViewInspection",
    "audit_order",
    "audit_seeds",
    "audit_views",
    "inspect_views",
]
