"""
Tumours: what is in my clusters?
================================

Labels are where the work begins. ``describe`` says what sets each cluster apart, which samples are typical and which
doubtful, and what else goes with the clusters. The table is the one of 569 breast tumours that comes with scikit-learn:
ten properties of the cell nuclei in an image, each with its mean, its standard error, and its worst value.
"""

# %%
# Three views
# -----------
#
# The properties are of three kinds, which become views. The diagnosis is known as well, and so is the position in the
# table. Both are metadata: they are compared with the clusters and never used to find them.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer

from manyview import GraphEnsemble, clustering_scores, describe, plot

bunch = load_breast_cancer(as_frame=True)
table = bunch.data.rename(index="tumour {}".format)
kinds = {
    "size": ["radius", "perimeter", "area"],
    "shape": ["compactness", "concavity", "concave points", "symmetry", "fractal dimension"],
    "texture": ["texture", "smoothness"],
}
views = {
    kind: table[[name for name in table if any(property in name for property in properties)]]
    for kind, properties in kinds.items()
}
clinical = pd.DataFrame(
    {
        "diagnosis": np.where(bunch.target == 1, "benign", "malignant"),
        "quarter of the table": np.arange(len(table)) * 4 // len(table) + 1,
    },
    index=table.index,
)
print({kind: view.shape for kind, view in views.items()})

# %%
# Two clusters, described
# -----------------------
#
# The number beside a feature is the AUROC: the probability that a tumour of the cluster has a larger value than one
# outside. 1 and 0 tell them apart without exception, 0.5 not at all.

model = GraphEnsemble(n_clusters=2, random_state=0).fit(views)
found = describe(views, model, clinical)
print(found)

# %%
# One cluster has large nuclei with dents ("concave points"), the other one small and smooth ones. So now they get
# names, which then are in all tables and figures.

large = int(found.profiles.set_index("feature").loc["worst radius", list(found.names)].to_numpy().argmax())
found = describe(views, model, clinical, rename={large: "large and dented", 1 - large: "small and smooth"})
figure, ax = plt.subplots(figsize=(7, 5.5), layout="constrained")
_ = plot.markers(found, n_markers=4, ax=ax)

# %%
# Which p values to believe
# -------------------------
#
# Clusters that were found from a feature make that feature look significant, whether or not there is anything to find.
# So the p values of a view come from clusters that were learned without it; ``overlap`` says how far these are the same
# clusters. Texture tells the clusters apart less than size does, but the other two views alone find nearly the same
# clusters, so it belongs to the matter.

best = found.markers[(found.markers["rank"] == 1) & (found.markers["name"] == "large and dented")]
print(best[["view", "feature", "auroc", "difference", "p_corrected", "overlap"]].to_string(index=False))

# %%
# What goes with the clusters
# ---------------------------
#
# The clusters are nearly the diagnosis, which they have not seen. They also go with the position in the table, and that
# has a simple reason: its first half has more malignant tumours. Rows of the metadata are matched to the samples by
# their index.

print(found.metadata[["column", "test", "effect", "p_corrected", "n_missing"]].to_string(index=False))
print(pd.crosstab(clinical["quarter of the table"], clinical["diagnosis"]))
scores = clustering_scores(clinical["diagnosis"], model.labels_)
print(f"rows in the order of the table: ACC {scores['acc']:.3f}, ARI {scores['ari']:.3f}")
figure, ax = plt.subplots(figsize=(6, 2.6), layout="constrained")
_ = plot.metadata(found, "diagnosis", ax=ax)

# %%
# Doubtful tumours
# ----------------
#
# Some tumours lie between the clusters. A pathologist would look at these first: their diagnosis is more often another
# one than that of their cluster.

doubtful = found.typical[found.typical["role"] == "doubtful"].set_index("sample")
print(doubtful[["name", "confidence", "margin"]].join(clinical["diagnosis"]).to_string())
of_cluster = np.where(model.labels_ == large, "malignant", "benign")
differs = clinical["diagnosis"].to_numpy() != of_cluster
unsure = model.confidence_ < np.quantile(model.confidence_, 0.1)
print(
    f"another diagnosis than most of the cluster: {differs[unsure].mean():.0%} of the tenth with the least confidence, "
)
print(f"{differs[~unsure].mean():.1%} of the others")
