"""
Texts: short notes in words, character n-grams and a second language
====================================================================

Texts have views, too: the words, the letters they are made of, a translation, the people who wrote them. Here are 320
short customer notes on five topics, made up by the script, so nothing is downloaded. Every note is written in English
with typing errors. Half of the notes also have a German summary.
"""

# %%
# The notes
# ---------
#
# Each topic has words of its own; all share many others. A typing error hides a word from anyone who counts words, but
# hardly changes its letters: ``refnud`` and ``refund`` share their beginning and end.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.feature_extraction.text import TfidfVectorizer

from manyview import GraphEnsemble, Views, clustering_scores, plot, suggest_n_clusters

ENGLISH = {
    "delivery": "parcel courier late tracking doorstep shipped address delivery package arrived driver warehouse",
    "refund": "refund money invoice charged twice card bank payment receipt credit amount bill",
    "login": "password login account locked email reset code username browser verify session website",
    "battery": "battery charger charging cable power overnight drains empty plug screen hot percent",
    "recipe": "dinner recipe oven butter sugar flour bake sauce garlic taste kitchen onion",
}
GERMAN = {
    "delivery": "Paket Kurier verspätet Lieferung Haustür Adresse versandt Fahrer Sendung",
    "refund": "Erstattung Geld Rechnung doppelt Karte Konto Zahlung Beleg Gutschrift",
    "login": "Passwort Anmeldung Konto gesperrt zurücksetzen Code Browser Sitzung",
    "battery": "Akku Ladegerät laden Kabel Strom leer Steckdose heiß Bildschirm",
    "recipe": "Abendessen Rezept Ofen Butter Zucker Mehl backen Soße Knoblauch",
}
COMMON = (
    "the a please hello thanks again still yesterday help order product customer really problem never today need with"
)

random = np.random.default_rng(0)
topics = np.repeat(list(ENGLISH), 64)


def with_typos(word):
    """Exchange two letters of one word in three."""
    if len(word) < 5 or random.random() > 1 / 3:
        return word
    i = random.integers(1, len(word) - 2)
    return word[:i] + word[i + 1] + word[i] + word[i + 2 :]


def write(vocabulary, topic, n_own, n_common):
    """Draw some words of the topic, some that all topics share, and one of another topic."""
    strayed = random.choice([other for other in vocabulary if other != topic])
    words = [
        *random.choice(vocabulary[topic].split(), n_own),
        *random.choice(COMMON.split(), n_common),
        random.choice(vocabulary[strayed].split()),
    ]
    return " ".join(with_typos(word) for word in random.permutation(words))


notes = [write(ENGLISH, topic, 4, 7) for topic in topics]
summaries = [write(GERMAN, topic, 4, 0) if random.random() < 0.5 else "" for topic in topics]
for i in (0, 64, 128):
    print(f"{topics[i]}: {notes[i]!r} | {summaries[i]!r}")

# %%
# Three sparse views
# ------------------
#
# Words, character n-grams of three to five letters, and the German summaries. All are sparse and stay so. A note
# without a summary *lacks* that view, which is not the same as a summary without words: ``present`` says who has what.
# The rows, which were made topic by topic, are shuffled.

by_word = TfidfVectorizer(min_df=2).fit(notes)
by_letter = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 5), min_df=2).fit(notes)
in_german = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 5), min_df=2).fit(summaries)
tables = {
    "words": by_word.transform(notes),
    "letters": by_letter.transform(notes),
    "German": in_german.transform(summaries),
}
has_summary = np.array([summary != "" for summary in summaries])
present = np.column_stack([np.ones_like(has_summary), np.ones_like(has_summary), has_summary])
views = Views(
    list(tables.values()), names=tuple(tables), labels=topics, sample_ids=np.arange(len(notes)), present=present
).shuffled(0)
print(views)

# %%
# How many topics?
# ----------------
#
# Pretend that nobody knows. The suggestion says how sure it is, and why.

suggestion = suggest_n_clusters(views, range(2, 11), random_state=0)
print(suggestion.reason)
figure, ax = plt.subplots(figsize=(6, 3.4), layout="constrained")
_ = plot.n_clusters(suggestion, ax=ax)

# %%
# Fit
# ---
#
# For comparison, k-means on the words and on the letters alone.

model = GraphEnsemble(n_clusters=suggestion.n_clusters, random_state=0).fit(views)
scores = clustering_scores(views.labels, model.labels_)
print(f"three views, rows shuffled: ACC {scores['acc']:.3f}, NMI {scores['nmi']:.3f}")
print(f"scaling that was chosen: {model.scaling_}")
k_means = {}
for name in ("words", "letters"):
    found = KMeans(suggestion.n_clusters, n_init=10, random_state=0).fit_predict(views[name])
    k_means[name] = clustering_scores(views.labels, found)["acc"]
    print(f"k-means, {name}, rows shuffled: ACC {k_means[name]:.3f}")

# %%
# What are the clusters about?
# ----------------------------
#
# The words whose mean weight in a cluster exceeds that in all notes most:

vocabulary = by_word.get_feature_names_out()
words = views["words"]
overall = np.asarray(words.mean(axis=0)).ravel()
top_words = []
for cluster in range(suggestion.n_clusters):
    inside = model.labels_ == cluster
    excess = np.asarray(words[inside].mean(axis=0)).ravel() - overall
    best = np.argsort(-excess)[:8]
    top_words.append(vocabulary[best].tolist())
    print(f"cluster {cluster}, {inside.sum()} notes: {', '.join(top_words[-1])}")

# %%
# Topics against clusters, and the notes in the plane. Colours are clusters; pale notes are those that the ensemble is
# less sure of.

clusters = range(suggestion.n_clusters)
counts = {topic: [int(np.sum(model.labels_[views.labels == topic] == c)) for c in clusters] for topic in ENGLISH}
names = sorted(counts, key=lambda topic: np.argmax(counts[topic]))
table = np.array([counts[topic] for topic in names])
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
left.imshow(table, cmap="Blues")
for (row, column), count in np.ndenumerate(table):
    left.text(column, row, count, ha="center", va="center", color="white" if count > table.max() / 2 else "black")
left.set(
    xticks=clusters, yticks=range(len(names)), yticklabels=names, xlabel="cluster", title="notes by topic and cluster"
)
_ = plot.embedding(model, ax=right).set_title("notes (pale: less sure)")

# %%
# A note that nobody has seen
# ---------------------------
#
# New notes go through the vectorizers that were fitted above, then ``predict`` places them by the views that they have:
# here words and letters, as there is no summary. Misspelt as they are, the letters know them.

new = ["helo, my pasword was lokced and the rest code never arived", "the chager gets hot and the batery is emtpy"]
known = {"words": by_word.transform(new), "letters": by_letter.transform(new)}
placed = model.predict(known)
for text, cluster, sure in zip(new, placed, model.predict_confidence(known), strict=True):
    print(f"{text!r}: cluster {cluster} ({', '.join(top_words[cluster][:3])}), confidence {sure:.2f}")
