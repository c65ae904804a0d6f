"""
Embeddings: pictures, captions, and typical samples
===================================================

Neural networks turn pictures and texts into vectors. Cluster the vectors of several networks together, then look at
typical and doubtful samples, because the numbers of an embedding mean nothing to a reader. The pictures are
scikit-learn's digits. Captions and both encoders are generated here: they stand for the models that you would use.
"""

# %%
# Two encoders
# ------------
#
# The image encoder is a network with one hidden layer and random weights. The captions describe the shape of a digit
# and are often vague or wrong; their encoder adds up a random vector for each word. Both return vectors of length 1.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits

from manyview import GraphEnsemble, Views, clustering_scores, describe

random = np.random.default_rng(0)
digits = load_digits()
chosen = random.permutation(len(digits.target))[:800]  # also shuffles the rows
pictures, written = digits.images[chosen], digits.target[chosen]

SHAPES = {
    0: "loop oval closed round",
    1: "stroke vertical thin straight",
    2: "hook base curved swan",
    3: "bumps two right open",
    4: "cross fork angular open",
    5: "hook belly flag curved",
    6: "loop low tail round",
    7: "roof slanted stroke angular",
    8: "loop two waist closed",
    9: "loop high tail closed",
}


def caption(digit):
    """Draw four words, one in four of them from the caption of another digit."""
    about = np.where(random.random(4) < 0.25, random.integers(10, size=4), digit)
    return " ".join(random.choice(SHAPES[other].split()) for other in about)


def unit(vectors):
    """Divide every row by its length."""
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


captions = [caption(digit) for digit in written]
hidden = np.maximum(pictures.reshape(-1, 64) @ random.normal(size=(64, 512)) / 64, 0)
word_vectors = {word: random.normal(size=96) for shapes in SHAPES.values() for word in shapes.split()}
vectors = {
    "picture": unit(hidden @ random.normal(size=(512, 256))),
    "caption": unit(np.array([sum(word_vectors[word] for word in text.split()) for text in captions])),
}
views = Views(
    list(vectors.values()), names=tuple(vectors), sample_ids=[f"image {i}" for i in range(800)], labels=written
)
print(views)
print(f"a caption of a {written[0]}: {captions[0]!r}")

# %%
# Both together, and one at a time
# --------------------------------
#
# The digits that were written are for scoring only.

model = GraphEnsemble(n_clusters=10, random_state=0).fit(views)
accuracy = {"both, GraphEnsemble": clustering_scores(written, model.labels_)["acc"]}
tables = {**vectors, "side by side": np.hstack(list(vectors.values()))}
for name, table in tables.items():
    found = KMeans(10, n_init=10, random_state=0).fit_predict(table)
    accuracy[f"{name}, k-means"] = clustering_scores(written, found)["acc"]
for name, value in accuracy.items():
    print(f"{name:22s} rows shuffled: ACC {value:.3f}")

# %%
# Typical and doubtful samples
# ----------------------------
#
# ``describe`` finds them; in a report and in a notebook, ``pictures=`` and ``texts=`` show them beside each cluster. p
# values for single numbers of an embedding would be of no use, so they are left out.

n_shown = 6
about = describe(views, model, texts=captions, p_values=False, n_samples=n_shown)
row_of = {name: row for row, name in enumerate(views.sample_ids)}
figure, axes = plt.subplots(10, 2, figsize=(6.4, 6.6), layout="constrained")
for cluster, (left, right) in enumerate(axes):
    own = about.typical[about.typical["cluster"] == cluster]
    for ax, role in ((left, "typical"), (right, "doubtful")):
        shown = [row_of[name] for name in own.loc[own["role"] == role, "sample"][:n_shown]]
        strip = np.hstack([np.pad(pictures[row], 1) for row in shown])
        ax.imshow(np.pad(strip, ((0, 0), (0, 10 * n_shown - strip.shape[1]))), cmap="gray_r")
        ax.set(xticks=[], yticks=[])
        ax.spines[:].set_visible(False)
    left.set_ylabel(f"cluster {cluster}", rotation=0, ha="right", va="center")
axes[0, 0].set_title("typical")
_ = axes[0, 1].set_title("doubtful")

# %%
# The captions of the typical samples of three clusters say the same in words:

for cluster in range(3):
    own = about.typical[(about.typical["cluster"] == cluster) & (about.typical["role"] == "typical")]
    print(f"cluster {cluster}: {'; '.join(captions[row_of[name]] for name in own['sample'][:3])}")
