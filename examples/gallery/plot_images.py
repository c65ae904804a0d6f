"""
Images: handwritten digits in five views
========================================

An image can be described in many ways: by its grey values, by the directions of its edges, by its frequencies. Each
description is a *view*, and each misses something. Here 900 handwritten digits are grouped by five views together.
Nothing is downloaded; the digits come with scikit-learn.
"""

# %%
# What a view is
# --------------
#
# Every view is a table with one row per image. The rows of all views belong together: row 17 is the same image
# everywhere. We take half of the images and shuffle them, since the order of rows must not matter. The digits that were
# written are in ``views.labels``. They are for scoring only; no method here sees them.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.preprocessing import StandardScaler

from manyview import GraphEnsemble, clustering_scores, plot
from manyview.datasets import load_digits_views

views = load_digits_views().take(slice(900)).shuffled(0)
print(views)

# %%
# One image in its five views. The last three cannot be turned back into a picture: ``fourier`` ignores where a stroke
# is, ``moments`` how the digit is rotated. This is why they complement the other views.

image = int(np.flatnonzero(views.labels == 3)[0])
figure, axes = plt.subplots(1, 5, figsize=(10, 2.3), layout="constrained", width_ratios=[1, 1.6, 1.6, 1.6, 1.6])
axes[0].imshow(views["pixels"][image].reshape(8, 8), cmap="gray_r")
axes[0].set(xticks=[], yticks=[], title="pixels")
for ax, name in zip(axes[1:], views.names[1:], strict=True):
    ax.bar(np.arange(views[name].shape[1]), views[name][image], width=1.0, color="#4269d0")
    ax.set(xticks=[], yticks=[], title=f"{name}, {views[name].shape[1]} features")

# %%
# Fit
# ---
#
# ``GraphEnsemble`` builds many graphs between images and anchors, cuts each into clusters, and returns their consensus.
# ``random_state`` makes it reproducible.

model = GraphEnsemble(n_clusters=10, random_state=0).fit(views)
scores = clustering_scores(views.labels, model.labels_)
print(f"rows shuffled: ACC {scores['acc']:.3f}, NMI {scores['nmi']:.3f}")

# %%
# For comparison, k-means on each view alone, and on all of them side by side:

compared = {name: StandardScaler().fit_transform(views[name]) for name in views.names}
compared["side by side"] = np.hstack(list(compared.values()))
k_means = {}
for name, table in compared.items():
    found = KMeans(10, n_init=10, random_state=0).fit_predict(table)
    k_means[name] = clustering_scores(views.labels, found)["acc"]
    print(f"k-means, {name:12s} rows shuffled: ACC {k_means[name]:.3f}")

# %%
# The clusters
# ------------
#
# Each row below is a cluster, sorted by confidence from left to right. ``confidence_`` is the share of the ensemble
# that votes for the label of an image. Most mistakes are at the right end, and so are digits that are hard to read.

n_shown = 16
# sphinx_gallery_thumbnail_number = 2
figure, axes = plt.subplots(10, 1, figsize=(7, 5), layout="constrained")
for cluster, ax in enumerate(axes):
    members = np.flatnonzero(model.labels_ == cluster)
    members = members[np.argsort(-model.confidence_[members], kind="stable")]
    shown = members[np.linspace(0, len(members) - 1, n_shown).astype(int)]
    strip = np.hstack([np.pad(views["pixels"][i].reshape(8, 8), 1) for i in shown])
    ax.imshow(strip, cmap="gray_r", aspect="equal")
    ax.set(xticks=[], yticks=[])
    ax.set_ylabel(f"{cluster} ({len(members)})", rotation=0, ha="right", va="center")
    ax.spines[:].set_visible(False)
axes[0].set_title("clusters (images), surest on the left")

# %%
# The labels show whether the confidence is informative. Call the digit that most images of a cluster show the digit of
# the cluster; the share of images that show this digit should grow with confidence.

digit_of = np.array([np.bincount(views.labels[model.labels_ == c]).argmax() for c in range(10)])
right = digit_of[model.labels_] == views.labels
thirds = np.array_split(np.argsort(model.confidence_, kind="stable"), 3)
for name, third in zip(("least", "middle", "most"), thirds, strict=True):
    print(f"{name} sure third: {right[third].mean():.1%} in the cluster of their digit (rows shuffled)")

# %%
# The learned graph and the weights of the views
# ----------------------------------------------
#
# The graph between images and anchors has no edge from one cluster to another: its connected components *are* the
# clusters. A view has a larger weight if the clusters cut fewer edges of its own graph. The last picture is a
# map: images between two clusters resemble both, and pale ones have a low confidence.

figure, axes = plt.subplot_mosaic([["graph", "weights"], ["map", "map"]], figsize=(9, 8), layout="constrained")
plot.graph(model, ax=axes["graph"]).set_title("learned graph")
plot.view_weights(model, ax=axes["weights"]).set_title("weights of the views")
_ = plot.embedding(model, views, ax=axes["map"]).set_title("images (pale: less sure)")

# %%
# Predict new images
# ------------------
#
# The other half of the digits was not part of the fit. ``predict`` assigns them to clusters, also from two views only.

new = load_digits_views().take(slice(900, None))
few = {name: new[name] for name in ("pixels", "moments")}
for what, given in (("all views", new), ("pixels and moments", few)):
    found = clustering_scores(new.labels, model.predict(given))["acc"]
    print(f"{new.n_samples} new images by {what}: ACC {found:.3f} (order of the file, which is not sorted by digit)")
