"""After the first fit, on the digits in five views: new samples, missing views, K, an audit, a file, figures.

    python examples/after_the_fit.py        a few minutes; the figures need matplotlib (pip install '.[plot]')

The rows are shuffled first. All accuracies are for this one shuffle.
"""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure

import manyview
from manyview import GraphEnsemble, plot, suggest_n_clusters
from manyview.audit import audit_views
from manyview.datasets import drop_views, load_digits_views
from manyview.metrics import accuracy

OUTPUT = Path("output")


def main() -> None:
    """Run the example."""
    OUTPUT.mkdir(exist_ok=True)
    views = load_digits_views().shuffled(0)

    known, new = views.take(slice(0, 1400)), views.take(slice(1400, None))
    model = GraphEnsemble(10, random_state=0).fit(known)
    print(f"{known.n_samples} samples fitted: ACC {accuracy(known.labels, model.labels_):.3f}")
    print(f"{new.n_samples} new samples: ACC {accuracy(new.labels, model.predict(new)):.3f}, all views")
    few = {name: new[name] for name in ("pixels", "moments")}
    print(f"{new.n_samples} new samples: ACC {accuracy(new.labels, model.predict(few)):.3f}, two of the views")

    file = OUTPUT / "digits.manyview"
    model.save(file)
    same = (manyview.load(file).predict(new) == model.predict(new)).all()
    print(f"saved to {file}, loaded again: {'the same' if same else 'other'} predictions")

    gaps = drop_views(views, 0.3, random_state=0)
    found = GraphEnsemble(10, random_state=0).fit(gaps).labels_
    print(f"{gaps}: ACC {accuracy(views.labels, found):.3f}")

    suggestion = suggest_n_clusters(views, random_state=0)
    print(f"\n{suggestion}\n")
    audit = audit_views(GraphEnsemble(10, random_state=0), views)
    print(f"{audit}\n")

    figure = Figure(figsize=(18, 10), layout="constrained")
    (a, b, c), (d, e, f) = figure.subplots(2, 3)
    plot.graph(model, ax=a)
    plot.view_weights(model, ax=b)
    plot.convergence(model, ax=c)
    plot.embedding(model, known, ax=d)
    plot.n_clusters(suggestion, ax=e)
    plot.audit(audit, ax=f)
    figure.savefig(OUTPUT / "digits.png")
    print(f"figures in {OUTPUT / 'digits.png'}")


if __name__ == "__main__":
    main()
