"""
How many clusters: a sure answer, an unsure one, and none at all
================================================================

``suggest_n_clusters`` says how many clusters there are, and whether it is sure. Three cases: generated clusters that
are clear, scikit-learn's digits, whose classes overlap, and a generated cloud without clusters. Nothing is downloaded.
"""

# %%
# Clear clusters
# --------------
#
# Five clusters in three views. The answer is sure, and says why.

import matplotlib.pyplot as plt
import numpy as np

from manyview import GraphEnsemble, Views, plot, suggest_n_clusters
from manyview.datasets import load_digits_views, make_multiview

clear = make_multiview(300, 5, noise=0.1, random_state=0)
suggestions = {"five clear clusters": suggest_n_clusters(clear, range(2, 13), random_state=0)}
print(suggestions["five clear clusters"])

# %%
# Digits
# ------
#
# 500 images of ten digits. Some digits have two shapes, and some are hard to tell apart, so several numbers are
# plausible. An unsure answer names them all.

digits = load_digits_views().take(slice(500)).shuffled(0)
suggestions["digits"] = suggest_n_clusters(digits, range(2, 16), random_state=0)
print(suggestions["digits"])

# %%
# No clusters
# -----------
#
# One Gaussian cloud, seen in two views. Every method finds clusters here if it is asked to; the suggestion is not sure
# of any number.

random = np.random.default_rng(0)
position = random.normal(size=(300, 6))
cloud = Views([position @ random.normal(size=(6, 10)) + 0.3 * random.normal(size=(300, 10)) for _ in range(2)])
suggestions["one cloud"] = suggest_n_clusters(cloud, range(2, 13), random_state=0)
print(suggestions["one cloud"])

# %%
# The evidence
# ------------
#
# The score of each number; the suggested number is marked. A sure answer has one peak far above all others.

figure, axes = plt.subplots(1, 3, figsize=(12, 3.8), layout="constrained")
for ax, (name, suggestion) in zip(axes, suggestions.items(), strict=True):
    plot.n_clusters(suggestion, keys=["score"], ax=ax)
    ax.set_title(f"{name}: {'sure' if suggestion.sure else 'unsure'}")

# %%
# Use it
# ------
#
# ``n_clusters="auto"`` does the same within a fit, and warns if the answer is unsure. On the command line it is
# ``-k auto``.

model = GraphEnsemble(n_clusters="auto", k_range=range(2, 13), random_state=0).fit(clear)
print(f"{model.n_clusters_} clusters of {np.bincount(model.labels_)} samples")

# sphinx_gallery_thumbnail_number = -1
