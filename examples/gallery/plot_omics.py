"""
Patients: three kinds of measurements, gaps, and an unknown number of groups
============================================================================

Tumours are measured in several ways, not all of them for every patient, in different units and laboratories. Here 300
such patients are made up: mRNA, miRNA and protein of four subtypes, of which each measurement gives a blurred picture.
Then we go from raw tables to groups, ask whether they hold, keep the model, and place patients who come later.
"""

# %%
# The measurements
# ----------------
#
# Sizes and troubles are those of real data, if smaller: expression is log-normal with a few hundred genes that matter
# among many that do not; miRNA are counts with many zeros; protein is on a scale of its own. mRNA comes from two
# laboratories with an offset of their own, and nobody has noted which. Patients lack measurements.

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.cluster import KMeans
from sklearn.preprocessing import StandardScaler

import manyview
from manyview import GraphEnsemble, Views, clustering_scores, plot, suggest_n_clusters
from manyview.audit import audit_order, audit_views

random = np.random.default_rng(1)
n = 300
subtype = random.permutation(np.repeat(np.arange(4), [90, 80, 70, 60]))
patients = [f"P{i:03d}" for i in range(n)]


def programme(n_features, n_active, strength):
    """Mean profile of each subtype: some features go up or down."""
    profiles = np.zeros((4, n_features))
    for profile in profiles:
        profile[random.choice(n_features, n_active, replace=False)] = random.normal(0, strength, n_active)
    return profiles


mrna = programme(1000, 80, 0.85)[subtype] + random.normal(0, 1.0, (n, 1000))
mrna += random.integers(0, 2, n)[:, None] * random.normal(0, 0.2, 1000)  # the laboratory
rates = np.exp(random.normal(-1.2, 1.0, 300) + programme(300, 60, 0.6)[subtype])
mirna = random.poisson(rates * random.lognormal(0, 0.4, n)[:, None])  # depth differs from patient to patient
protein = 50 + 12 * (programme(120, 30, 0.7)[subtype] + random.normal(0, 1.0, (n, 120)))

frames = {
    "mRNA": pd.DataFrame(np.exp2(mrna + 6), index=patients),
    "miRNA": pd.DataFrame(mirna, index=patients),
    "protein": pd.DataFrame(protein, index=patients),
}
for name, frame in frames.items():
    print(f"{name:8s} {frame.shape}, from {frame.to_numpy().min():.3g} to {frame.to_numpy().max():.3g}")

# %%
# Not everyone has everything: each table has rows for the patients that were measured, and ``Views.from_frames`` joins
# them on their index. The last 60 patients are put aside; they come later. Expression is brought to a logarithmic
# scale, as always. Everything else is left to ``scaling="auto"``.

measured = {
    "mRNA": np.log2(frames["mRNA"]),  # everyone has this one
    "miRNA": frames["miRNA"][random.random(n) > 0.25],
    "protein": frames["protein"][random.random(n) > 0.35],
}
first, later = patients[:240], patients[240:]
views = Views.from_frames({name: frame[frame.index.isin(first)] for name, frame in measured.items()})
truth = pd.Series(subtype, index=patients)  # for scoring in the end
print(views)

# %%
# Who has what: a line per patient, white where a measurement is missing.

figure, ax = plt.subplots(figsize=(9, 1.6), layout="constrained")
ax.imshow(views.present.T, aspect="auto", cmap="Blues", vmin=0, vmax=1.4, interpolation="nearest")
ax.set(yticks=range(3), yticklabels=views.names, xlabel="patients")
ax.set_title(f"{1 - views.present.mean():.0%} of all measurements are missing")

# %%
# How many groups?
# ----------------
#
# The suggestion says whether it is sure. Where it is not, it names the other candidates, and it is worth to look at
# those, too; here we go on with its best guess.

suggestion = suggest_n_clusters(views, range(2, 9), random_state=0)
print(suggestion)
figure, ax = plt.subplots(figsize=(6, 3.4), layout="constrained")
_ = plot.n_clusters(suggestion, ax=ax)

# %%
# Fit
# ---
#
# Each patient is placed by the measurements that there are. For comparison, what is often done: gaps filled with means,
# features standardised, k-means on all of them side by side.

model = GraphEnsemble(n_clusters=suggestion.n_clusters, random_state=0).fit(views)
scores = clustering_scores(truth[views.sample_ids], model.labels_)
print(f"rows in random order: ACC {scores['acc']:.3f}, ARI {scores['ari']:.3f}")
filled = [
    np.where(has[:, None], view, view[has].mean(axis=0))
    for view, has in zip(views.arrays, views.present.T, strict=True)
]
table = StandardScaler().fit_transform(np.hstack(filled))
k_means = KMeans(suggestion.n_clusters, n_init=10, random_state=0).fit_predict(table)
k_means_accuracy = clustering_scores(truth[views.sample_ids], k_means)["acc"]
print(f"k-means on filled gaps, rows in random order: ACC {k_means_accuracy:.3f}")
print(f"scaling that was chosen: {model.scaling_}")
full = views.present.all(axis=1)
print(f"mean confidence with all three measurements {model.confidence_[full].mean():.3f}, with gaps ", end="")
print(f"{model.confidence_[~full].mean():.3f}")

figure, axes = plt.subplots(1, 3, figsize=(13, 4.2), layout="constrained")
plot.embedding(model, ax=axes[0]).set_title("patients (pale: less sure)")
plot.view_weights(model, ax=axes[1]).set_title("weights of the views")
_ = plot.graph(model, ax=axes[2]).set_title("learned graph")

# %%
# Does it hold?
# -------------
#
# First the order of the rows, which must not matter. Then each kind of measurement is left out in turn. Only patients
# with all three can be asked that, as the others would be left with too little.

by_order = audit_order(GraphEnsemble(suggestion.n_clusters, random_state=0), views, n_shuffles=2)
print(by_order.verdict, end="\n\n")
by_view = audit_views(GraphEnsemble(suggestion.n_clusters, random_state=0), views.take(full))
print(by_view.verdict)
figure, ax = plt.subplots(figsize=(6, 2.6), layout="constrained")
_ = plot.audit(by_view, ax=ax)

# %%
# So no measurement decides alone. If one did, the verdict would name it, and that is good to know before a paper is
# written.
#
# Patients who come later
# -----------------------
#
# The model goes into a file, without pickle, and comes back. The 60 patients who were put aside are placed one by one
# with what was learned; none of the others changes its group.

with tempfile.TemporaryDirectory() as folder:
    file = Path(folder) / "tumours.manyview"
    model.save(file)
    loaded = manyview.load(file)
    print(f"{file.name}: {file.stat().st_size / 1e6:.1f} MB")

new = Views.from_frames({name: frame[frame.index.isin(later)] for name, frame in measured.items()})
placed = pd.DataFrame(
    {"group": loaded.predict(new), "confidence": loaded.predict_confidence(new)}, index=new.sample_ids
)
print(placed.head())
new_accuracy = clustering_scores(truth[new.sample_ids], placed["group"])["acc"]
print(f"{len(placed)} later patients, rows in random order: ACC {new_accuracy:.3f}")

# %%
# Confidence tells whom to look at again: the later patients that the ensemble is least sure of.

print(placed.sort_values("confidence").head(3))
