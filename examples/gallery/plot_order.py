"""
Order audit: does the order of the rows matter?
===============================================

The samples are a set: their order in the file is arbitrary, and clusters must not depend on it. Some published methods
do depend on it, and benchmark files are sorted by class, so they look better than they are. ``audit_order`` finds out
for any method. The data are scikit-learn's digits, sorted by class as benchmark files are.
"""

# %%
# A sorted file
# -------------
#
# Zeros first, then ones, and so on.

import warnings

import matplotlib.pyplot as plt
import numpy as np

from manyview import TBGL, GraphEnsemble, OrderDependenceWarning
from manyview.audit import audit_order
from manyview.cluster import ETLMSC, SMSC
from manyview.datasets import load_digits_views

views = load_digits_views().take(slice(200))
views = views.take(np.argsort(views.labels, kind="stable"))
print(views)

# %%
# Audit
# -----
#
# Each method is fitted on the rows as given and on shuffled rows, with the same seed. ``TBGL`` takes a Fourier
# transform along the rows and warns of it; here we want to see the effect.

methods = [GraphEnsemble(10, random_state=0), SMSC(10, random_state=0), TBGL(10), ETLMSC(10, random_state=0)]
audits = {}
with warnings.catch_warnings():
    warnings.simplefilter("ignore", OrderDependenceWarning)
    for method in methods:
        audits[type(method).__name__] = audit_order(method, views, n_shuffles=3)
for name, audit in audits.items():
    print(f"{name}: {'passed' if audit.passed else 'failed'}")

# %%
# The verdict of one that fails:

print(audits["TBGL"])

# %%
# Accuracy in both orders
# -----------------------
#
# Grey is what a benchmark table would show, blue is what users get whose files are not sorted by the answer.

figure, ax = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
place = np.arange(len(audits))
in_file = [audit.accuracy[0] for audit in audits.values()]
shuffled = [np.mean(audit.accuracy[1:]) for audit in audits.values()]
ax.bar(place - 0.2, in_file, width=0.38, color="#b8b8b8", label="rows sorted by class")
ax.bar(place + 0.2, shuffled, width=0.38, color="#4269d0", label="rows shuffled")
ax.set_xticks(place, list(audits))
ax.set(ylabel="accuracy", ylim=(0, 1))
ax.spines[["top", "right"]].set_visible(False)
_ = ax.legend(frameon=False, ncols=2, loc="upper center", bbox_to_anchor=(0.5, 1.14))
for name, before, after in zip(audits, in_file, shuffled, strict=True):
    print(f"{name:14s} ACC {before:.3f} with the rows sorted by class, {after:.3f} with the rows shuffled")

# %%
# A method of your own can be audited the same way, in Python or with ``manyview audit FILES --method mine:Mine``.
