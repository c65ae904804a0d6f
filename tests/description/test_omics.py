"""Descriptions of real tumours: textbook markers of breast cancer, and survival with glioblastoma."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from manyview import GraphEnsemble, Views, describe


@pytest.fixture(scope="module")
def breast(data_file):
    """Description of the tumours' clusters, which have the name of the subtype that most of their samples have."""
    frames = {
        name: pd.read_csv(data_file(f"omics/breast/{name}.csv"), index_col=0) for name in ("mrna", "mirna", "protein")
    }
    clinical = pd.read_csv(data_file("omics/breast/clinical.csv"), index_col=0)
    views = Views.from_frames(frames)
    model = GraphEnsemble(3, random_state=0).fit(views)
    counts = pd.crosstab(model.labels_, clinical.loc[views.sample_ids, "subtype"].to_numpy())
    names = counts.idxmax(axis=1).to_dict()
    assert sorted(names.values()) == ["Basal", "Her2", "LumA"]
    return describe(views, model, clinical, rename=names)


def strongest(found, name, view):
    """Direction of the ten strongest markers."""
    rows = found.markers[(found.markers["name"] == name) & (found.markers["view"] == view)]
    assert rows["rank"].tolist() == list(range(1, 11))
    return dict(zip(rows["feature"], rows["direction"], strict=True))


def test_her2_marks_the_tumours_that_are_called_so(breast):
    proteins = strongest(breast, "Her2", "protein")
    assert proteins["HER2"] == "high"
    assert proteins["HER2_pY1248"] == "high"


def test_basal_tumours_have_no_hormone_receptors(breast):
    proteins = strongest(breast, "Basal", "protein")
    assert proteins["ER-alpha"] == "low"
    assert proteins["GATA3"] == "low"
    assert proteins["Cyclin_E1"] == "high"


def test_luminal_tumours_have_hormone_receptors_and_divide_slowly(breast):
    proteins, genes = strongest(breast, "LumA", "protein"), strongest(breast, "LumA", "mrna")
    assert proteins["ER-alpha"] == proteins["GATA3"] == "high"
    assert genes["KDM4B"] == "high"
    assert genes["CCNA2"] == "low"


def test_receptors_are_significant_for_clusters_from_the_other_views(breast):
    rows = breast.markers[(breast.markers["view"] == "protein") & (breast.markers["name"] != "Her2")]
    receptors = rows[rows["feature"].isin(["ER-alpha", "GATA3"])]
    assert len(receptors) == 4
    assert (receptors["p_corrected"] < 1e-4).all()
    assert (receptors["overlap"][receptors["name"] == "Basal"] > 0.8).all()


def test_clusters_that_need_the_proteins_are_named(breast):
    """With other seeds, too, only the basal tumours are found again without the proteins."""
    overlap = breast.markers[breast.markers["view"] == "protein"].groupby("name")["overlap"].first()
    assert overlap["Her2"] < 0.5
    assert overlap["LumA"] < 0.6
    (note,) = (note for note in breast.notes if note.startswith("Learned without protein, these are other clusters"))
    assert f"Her2 ({overlap['Her2']:.2f})" in note


def test_subtypes_go_with_the_clusters(breast):
    row = breast.metadata.set_index("column").loc["subtype"]
    assert row["effect"] > 0.8
    assert row["n_missing"] == 0


def test_survival_with_glioblastoma(data_file):
    frames = {
        name: pd.read_csv(data_file(f"omics/gbm/{name}.tsv.gz"), sep="\t", index_col=0).T
        for name in ("expression", "mirna")
    }
    views = Views.from_frames(frames)
    clinical = pd.read_csv(data_file("omics/gbm/survival.csv"), index_col=0).reindex(views.sample_ids)
    model = GraphEnsemble(3, random_state=0).fit(views)
    found = describe(views, model, clinical, survival=("days", "dead"), p_values=False)
    known = clinical.notna().all(axis=1).to_numpy()
    days, dead = clinical["days"][known].to_numpy(), clinical["dead"][known].to_numpy() == 1
    labels = model.labels_[known]
    gap, covariance = np.zeros(3), np.zeros((3, 3))
    for day in np.unique(days[dead]):
        at_risk = np.array([((days >= day) & (labels == c)).sum() for c in range(3)])
        deaths = np.array([((days == day) & dead & (labels == c)).sum() for c in range(3)])
        n, d, share = at_risk.sum(), deaths.sum(), at_risk / at_risk.sum()
        gap += deaths - d * share
        covariance += d * (n - d) / max(n - 1, 1) * (np.diag(share) - np.outer(share, share))
    statistic = gap[:2] @ np.linalg.solve(covariance[:2, :2], gap[:2])
    assert found.survival_curves.degrees == 2
    np.testing.assert_allclose(found.survival_curves.statistic, statistic, rtol=1e-10)
    np.testing.assert_allclose(found.survival_curves.p, stats.chi2.sf(statistic, 2), rtol=1e-10)
    assert found.survival["n"].sum() == known.sum()
    assert found.survival["events"].sum() == dead.sum()
    for c, curve in found.survival_curves.curves.items():
        own = labels == c
        reference = stats.ecdf(stats.CensoredData.right_censored(days[own], ~dead[own])).sf
        np.testing.assert_allclose(curve.alive(reference.quantiles), reference.probabilities, atol=1e-12)
