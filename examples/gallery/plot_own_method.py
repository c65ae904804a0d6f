"""
Your own method in a comparison
===============================

Write a class or a function, and run it beside the methods of this package: on the same data, with shuffled rows,
several seeds, and limits of time and memory, each fit in a process of its own. The data are generated: clusters in
three views, and the same with four more views that are noise.
"""

# %%
# The method
# ----------
#
# A function of the views, the number of clusters and a seed that returns labels is enough. This one is k-means on the
# views side by side, each reduced to a few principal components of unit variance. It is in a file, so that the
# processes can import it.

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from manyview import experiments
from manyview.datasets import make_multiview

folder = tempfile.TemporaryDirectory()
here = Path(folder.name)
_ = (here / "mine.py").write_text('''
import numpy as np
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA


def whitened(views, k, seed, n_components=4):
    """K-means on the first principal components of each view, each of variance 1."""
    parts = [PCA(n_components, whiten=True, random_state=seed).fit_transform(view) for view in views]
    return KMeans(k, n_init=10, random_state=seed).fit_predict(np.hstack(parts))
''')

# %%
# The data
# --------
#
# Two datasets, one of them with noise views, as tables with a column of ids. The classes are for scoring only. The
# noise was chosen among five levels as one at which the methods differ: this shows how to compare, not which is better.

for name, n_noise_views in (("clean", 0), ("noisy", 4)):
    made = make_multiview(240, 4, n_noise_views=n_noise_views, n_features=20, noise=0.4, random_state=1)
    (here / name).mkdir()
    ids = pd.Index([f"s{i}" for i in range(240)], name="sample")
    for view, array in zip(made.names, made.arrays, strict=True):
        pd.DataFrame(array, ids).add_prefix("x").to_csv(here / name / f"{view}.csv")
    pd.DataFrame({"class": made.labels}, ids).to_csv(here / f"{name}-classes.csv")

# %%
# What to run
# -----------
#
# A spec lists methods, datasets, orders of the rows and seeds. Code that a spec names runs only on request, as a spec
# may come from somebody else.

_ = (here / "comparison.toml").write_text("""
kind = "table"
title = "Whitened k-means beside others"
methods = ["GraphEnsemble", "ConcatKMeans"]
protocols = ["shuffled"]
seeds = 2
scores = ["acc", "nmi"]
row = [{ name = "mine", estimator = "mine:whitened", parameters = { n_components = 3 } }]

[[dataset]]
name = "clean"
read = ["clean/view0.csv", "clean/view1.csv", "clean/view2.csv"]
id = "sample"
labels = "clean-classes.csv:class"

[[dataset]]
name = "noisy"
read = ["noisy/view0.csv", "noisy/view1.csv", "noisy/view2.csv",
        "noisy/noise0.csv", "noisy/noise1.csv", "noisy/noise2.csv", "noisy/noise3.csv"]
id = "sample"
labels = "noisy-classes.csv:class"
""")
spec = experiments.load_spec(here / "comparison.toml")
with experiments.Store(here / "comparison.sqlite", create=True) as store:
    outcome = experiments.run(spec, store, workers=1, run_code=True)
print(outcome)

# %%
# Results
# -------
#
# One row per fit. On the command line: ``manyview experiments run comparison.toml --run-code``, then ``show`` and
# ``report``. A fit that is in the store is not repeated, unless the code has changed.

fits = experiments.results(here / "comparison.sqlite", spec)
table = fits.pivot_table(index="row", columns="dataset", values="acc").round(3)
print(table.to_string())
print("ACC, rows shuffled, mean of 2 runs")

figure, ax = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
place = np.arange(len(table))
for offset, name in ((-0.2, "clean"), (0.2, "noisy")):
    ax.bar(place + offset, table[name], width=0.38, label=f"{name} views")
ax.set_xticks(place, table.index)
ax.set(ylabel="accuracy, rows shuffled", ylim=(0, 1))
ax.spines[["top", "right"]].set_visible(False)
_ = ax.legend(frameon=False, ncols=2, loc="upper center", bbox_to_anchor=(0.5, 1.14))
folder.cleanup()
