"""What is in the data, and how much a clustering depends on what should not matter: row order, seed, any single view.

:func:`inspect_views` looks at views before anyone fits. Every audit fits clones of an estimator, changes one thing at a
time, and compares the groups. Known classes are not needed; where views carry them, the accuracy of every run is
reported too.
"""

from manyview.audit.inspect import Inspection, LabelInspection, ViewInspection, inspect_views
from manyview.audit.order import audit_order
from manyview.audit.result import AuditResult
from manyview.audit.seeds import audit_seeds
from manyview.audit.views import audit_views

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
