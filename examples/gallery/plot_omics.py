"""
Patients: missing measurements, unknown number of groups
========================================================

Tumours are measured in several ways, not all of them for every patient, in different units and laboratories. Here 300
such patients are simulated: noisy measurements of mRNA, miRNA and protein for four subtypes. We go from raw tables to
groups, check whether these are stable, save the model, and predict the groups of later patients.
"""

# %%
# The measurements
# ----------------
#
# The tables are smaller than real ones, with the same difficulties: expression is log-normal with a few hundred
# relevant genes among many others; miRNA are counts with many zeros; protein has a different scale. mRNA comes from two
# laboratories with different offsets, and which one is not recorded. Some measurements are missing.

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
# Each table has rows for the patients that were measured only, and ``Views.from_frames`` joins them on their index. The
# last 60 patients are set aside for prediction. Expression is transformed to a logarithmic scale, as usual. Everything
# else is left to ``scaling="auto"``.

measured = {
    "mRNA": np.log2(frames["mRNA"]),  # measured for all patients
    "miRNA": frames["miRNA"][random.random(n) > 0.25],
    "protein": frames["protein"][random.random(n) > 0.35],
}
first, later = patients[:240], patients[240:]
views = Views.from_frames({name: frame[frame.index.isin(first)] for name, frame in measured.items()})
truth = pd.Series(subtype, index=patients)  # for scoring in the end
print(views)

# %%
# Which measurements are present: a line per patient, white where a measurement is missing.

figure, ax = plt.subplots(figsize=(9, 1.6), layout="constrained")
ax.imshow(views.present.T, aspect="auto", cmap="Blues", vmin=0, vmax=1.4, interpolation="nearest")
ax.set(yticks=range(3), yticklabels=views.names, xlabel="patients")
_ = ax.set_title(f"{1 - views.present.mean():.0%} of all measurements are missing")

# %%
# How many groups?
# ----------------
#
# The suggestion says whether it is sure. If not, it names other candidates, which are worth a look, too. Here we
# continue with its best guess.

suggestion = suggest_n_clusters(views, range(2, 9), random_state=0)
print(suggestion)
figure, ax = plt.subplots(figsize=(6, 3.4), layout="constrained")
_ = plot.n_clusters(suggestion, ax=ax)

# %%
# Fit
# ---
#
# Each patient is assigned by the measurements that are present. For comparison, a common alternative: missing values
# imputed with means, features standardised, k-means on all of them side by side.

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
print(f"k-means on imputed values, rows in random order: ACC {k_means_accuracy:.3f}")
print(f"scaling that was chosen: {model.scaling_}")
full = views.present.all(axis=1)
print(f"mean confidence with all three measurements {model.confidence_[full].mean():.3f}, with missing ones ", end="")
print(f"{model.confidence_[~full].mean():.3f}")

figure, ax = plt.subplots(figsize=(5.6, 4), layout="constrained")
plot.embedding(model, views, ax=ax).set_title("patients (pale: less sure)")
figure, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
plot.view_weights(model, ax=axes[0]).set_title("weights of the views")
_ = plot.graph(model, ax=axes[1]).set_title("learned graph")
# sphinx_gallery_thumbnail_number = 3

# %%
# Is the result stable?
# ---------------------
#
# First the order of the rows, which must not matter. Then each kind of measurement is left out in turn, for the
# patients with all three only, as others would have too few measurements left.

by_order = audit_order(GraphEnsemble(suggestion.n_clusters, random_state=0), views, n_shuffles=2)
print(by_order.verdict, end="\n\n")
by_view = audit_views(GraphEnsemble(suggestion.n_clusters, random_state=0), views.take(full))
print(by_view.verdict)
figure, ax = plt.subplots(figsize=(6, 2.6), layout="constrained")
_ = plot.audit(by_view, ax=ax)

# %%
# So the result does not depend on a single measurement. If it did, the verdict would name it.
#
# Predict later patients
# ----------------------
#
# The model is saved to a file, without pickle, and loaded again. The 60 patients who were set aside are assigned to the
# learned groups; the groups of the others do not change.

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
# The later patients with the lowest confidence are worth a second look:

print(placed.sort_values("confidence").head(3))
