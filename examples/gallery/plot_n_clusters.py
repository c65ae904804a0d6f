"""
How many clusters: a sure answer, an unsure one, none
=====================================================

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

from manyview import GraphEnsemble, Views, suggest_n_clusters
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
# The score of each number. A sure answer has one peak far above all others. ``plot.n_clusters(suggestion)`` draws
# everything that was measured for one of them.

figure, ax = plt.subplots(figsize=(6, 4.2), layout="constrained")
for (name, suggestion), style in zip(suggestions.items(), ("o-", "s--", "^:"), strict=True):
    score = suggestion.curve["score"]
    title = f"{name}: {'sure' if suggestion.sure else 'unsure'}"
    ax.plot(suggestion.curve["n_clusters"], score, style, linewidth=2.2, markersize=6, label=title)
ax.set(xlabel="number of clusters", ylabel="score", ylim=(0, None))
ax.spines[["top", "right"]].set_visible(False)
_ = ax.legend(frameon=False)

# %%
# Use it
# ------
#
# ``n_clusters="auto"`` does the same within a fit, and warns if the answer is unsure. On the command line it is
# ``-k auto``.

model = GraphEnsemble(n_clusters="auto", k_range=range(2, 13), random_state=0).fit(clear)
print(f"{model.n_clusters_} clusters of {np.bincount(model.labels_)} samples")
