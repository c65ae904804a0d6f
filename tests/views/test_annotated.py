"""MuData and AnnData as input. Stand-ins run everywhere, the real ones where they are installed (manyview[omics])."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import manyview
from manyview import GraphEnsemble, Views, check_views
from manyview.exceptions import ViewsError

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::UserWarning")


INSTALLED = find_spec("anndata") is not None and find_spec("mudata") is not None
needs_omics = pytest.mark.skipif(
    not INSTALLED, reason="needs anndata and mudata (manyview[omics]), which ask for pandas < 3; see make test-lowest"
)


@pytest.fixture(params=["stand-in", "real"] if INSTALLED else ["stand-in"])
def omics(request):
    """Functions that make an AnnData and a MuData."""
    if request.param == "real":
        import anndata
        import mudata

        return SimpleNamespace(
            anndata=lambda x, ids, **obsm: anndata.AnnData(x, obs=pd.DataFrame(index=ids), obsm=obsm),
            mudata=mudata.MuData,
        )
    return SimpleNamespace(
        anndata=lambda x, ids, **obsm: SimpleNamespace(X=x, obs_names=pd.Index(ids), obsm=obsm),
        mudata=lambda mod: SimpleNamespace(
            mod=mod, obs_names=pd.Index(dict.fromkeys(id_ for m in mod.values() for id_ in m.obs_names)), obsm={}
        ),
    )


RNA = np.arange(12, dtype=np.float32).reshape(4, 3)
PROTEIN = sp.csr_matrix(np.array([[1.0, 0], [0, 2], [3, 4]]))


@pytest.fixture
def two(omics):
    return {"rna": omics.anndata(RNA, list("abcd")), "protein": omics.anndata(PROTEIN, list("dbe"))}


@needs_omics
def test_real_objects_are_tried(request):
    """Skipped where the tests below have stand-ins only."""
    names = {item.name for item in request.session.items if item.path == request.path}
    assert any(name.endswith("[real]") for name in names)


def check_two(views: Views, order: str) -> None:
    """``two`` in this order of the samples."""
    assert views.names == ("rna", "protein")
    assert views.sample_ids.tolist() == list(order)
    assert views.labels is None
    assert isinstance(views["protein"], sp.csr_array)
    rna = dict(zip("abcd", RNA.tolist(), strict=True))
    protein = dict(zip("dbe", PROTEIN.toarray().tolist(), strict=True))
    assert views["rna"].tolist() == [rna.get(id_, [0, 0, 0]) for id_ in order]
    assert views["protein"].toarray().tolist() == [protein.get(id_, [0, 0]) for id_ in order]
    assert views.present.tolist() == [[id_ in rna, id_ in protein] for id_ in order]


def test_the_modalities_of_a_mudata_are_views(omics, two):
    data = omics.mudata(two)
    check_two(check_views(data), "".join(data.obs_names))


def test_samples_are_in_the_order_of_the_mudata(omics, two):
    data = omics.mudata(two)
    if isinstance(data, SimpleNamespace):
        data.obs_names = pd.Index(list("ebdca"))
    else:
        data = data[list("ebdca")]
    check_two(check_views(data), "ebdca")


def test_a_dict_of_anndata_is_joined_alike(two):
    check_two(check_views(two), "abcde")
    assert check_views(list(two.values())).names == ("view0", "view1")


def test_samples_that_have_a_modality_alone(omics, two):
    """None of the new samples need have a modality."""
    if isinstance(two["rna"], SimpleNamespace):
        few = omics.mudata({"rna": omics.anndata(RNA[:2], list("ac")), "protein": omics.anndata(PROTEIN[:0], [])})
    else:
        few = omics.mudata(two)[["a", "c"]]
    views = check_views(few, may_be_constant=True)
    assert views.n_features == (3, 2)
    assert views.present.tolist() == [[True, False], [True, False]]


def test_entries_in_obsm_of_an_anndata_are_views(omics):
    ids = list("abcd")
    frame = pd.DataFrame({"x": [1, 2, 3, 4], "z": [0, 1, 0, 1]}, index=ids)
    data = omics.anndata(RNA, ids, pca=np.arange(8.0).reshape(4, 2), sites=frame, cube=np.ones((4, 2, 2)))
    views = check_views(data)
    assert views.names == ("pca", "sites")
    assert views.sample_ids.tolist() == ids
    assert views.present is None
    np.testing.assert_array_equal(views["sites"], frame.to_numpy())


def test_one_anndata_with_too_few_entries(omics):
    with pytest.raises(ViewsError, match=r"2-D entries in its obsm; expected at least two, got pca\. .* or a MuData"):
        check_views(omics.anndata(RNA, list("abcd"), pca=RNA))
    with pytest.raises(ViewsError, match="expected at least two, got none"):
        check_views(omics.anndata(RNA, list("abcd")))


def test_an_anndata_beside_something_else(two):
    with pytest.raises(ViewsError, match=r"views\['other'\]: expected an AnnData object like the other .* got ndarray"):
        check_views({**two, "other": np.ones((4, 2))})


def test_an_anndata_without_values(omics):
    empty = omics.anndata(None, list("ab"))
    with pytest.raises(ViewsError, match=r"views\['empty'\]: the AnnData object has no values in X"):
        check_views({"empty": empty})


def test_repeated_ids_name_the_modality(two, omics):
    with pytest.raises(ViewsError, match=r"views\['twice'\]: the id 'a' occurs 2 times"):
        check_views({**two, "twice": omics.anndata(RNA, list("abca"))})


def test_view_sizes_are_not_for_a_mudata(omics, two):
    with pytest.raises(ViewsError, match="view_sizes: only for one 2-D array"):
        check_views(omics.mudata(two), view_sizes=2)


def test_estimators_take_them(omics):
    rng = np.random.default_rng(0)
    ids = [f"cell {i}" for i in range(40)]
    centre = np.repeat([[0.0], [9.0]], 20, axis=0)
    arrays = {"rna": rng.normal(centre, 1, (40, 5)), "protein": rng.normal(centre, 1, (40, 3))}
    labels = GraphEnsemble(2, random_state=0).fit(arrays).labels_
    data = omics.mudata({name: omics.anndata(array, ids) for name, array in arrays.items()})
    np.testing.assert_array_equal(GraphEnsemble(2, random_state=0).fit(data).labels_, labels)


def test_a_mudata_that_is_out_of_date(two):
    ids = pd.Index(list("abcd"))
    with pytest.raises(ViewsError, match=r"1 samples of the modalities are not in obs_names .* 'e'\. Call its"):
        check_views(SimpleNamespace(mod=two, obs_names=ids, obsm={}))


def test_a_mudata_that_shares_variables(two):
    with pytest.raises(ViewsError, match=r"expected a MuData whose modalities share samples \(axis=0\), got axis=1"):
        check_views(SimpleNamespace(mod=two, obs_names=pd.Index(list("abcde")), obsm={}, axis=1))


@pytest.mark.parametrize("method", ["compute", "to_memory"])
def test_what_is_not_in_memory_is_loaded(method):
    later = SimpleNamespace(**{method: lambda: RNA})
    data = SimpleNamespace(X=later, obs_names=pd.Index(list("abcd")), obsm={})
    np.testing.assert_array_equal(check_views({"rna": data})["rna"], RNA)


@needs_omics
@pytest.mark.parametrize("x", [RNA, sp.csr_matrix(RNA)], ids=["dense", "sparse"])
def test_backed_files_are_loaded(tmp_path, x):
    import anndata

    anndata.AnnData(x, obs=pd.DataFrame(index=list("abcd"))).write_h5ad(tmp_path / "a.h5ad")
    backed = anndata.read_h5ad(tmp_path / "a.h5ad", backed="r")
    assert backed.isbacked
    found = check_views({"rna": backed})["rna"]
    backed.file.close()
    np.testing.assert_array_equal(found.toarray() if sp.issparse(found) else found, RNA)
    assert sp.issparse(found) == sp.issparse(x)


def test_neither_is_imported_to_read_them():
    paths = [path for path in Path(manyview.__file__).parent.rglob("*.py") if path.name != "annotated.py"]
    code = "".join(path.read_text(encoding="utf-8") for path in paths)  # only writing them needs the packages
    assert not re.search(r"(import|require\()\W*(anndata|mudata)", code)


@needs_omics
@pytest.mark.parametrize("container", ["MuData", "dict"])
def test_features_are_found_by_their_names(container):
    import anndata
    import mudata

    rng = np.random.default_rng(0)
    groups = np.repeat([0.0, 3.0, 6.0], 20)[:, None]
    cells = [f"cell{i}" for i in range(60)]

    def modality(prefix, width):
        frame = pd.DataFrame(groups + rng.normal(size=(60, width)), cells, [f"{prefix}{j}" for j in range(width)])
        return anndata.AnnData(frame)

    def held(rna, protein):
        parts = {"rna": rna, "protein": protein}
        return mudata.MuData(parts) if container == "MuData" else parts

    rna, protein = modality("ENSG", 6), modality("CD", 4)
    model = GraphEnsemble(3, n_members=4, random_state=0).fit(held(rna, protein))
    assert model.feature_names_in_["rna"] == tuple(f"ENSG{j}" for j in range(6))
    turned = held(rna[:, ::-1].copy(), protein[:, [2, 0, 1, 3]].copy())
    np.testing.assert_array_equal(model.predict(turned), model.labels_)
    with pytest.raises(ViewsError, match=r"views\['rna'\]: its features .* lacks 'ENSG0', 'ENSG1'"):
        model.predict(held(rna[:, 2:].copy(), protein))


@pytest.fixture
def described():
    """Views with gaps, ids, feature names and metadata, a fitted estimator, and what it found."""
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1, 2], 20)
    arrays = [np.eye(3)[truth] * 8 + rng.normal(size=(60, 3)), np.eye(3)[truth][:, :2] * 8 + rng.normal(size=(60, 2))]
    present = np.ones((60, 2), dtype=bool)
    present[[3, 30], 1] = False
    metadata = pd.DataFrame({"age": [None, *range(59)], "site": [None, *(f"s{i % 3}" for i in range(59))]})
    views = Views(
        arrays,
        ("rna", "protein"),
        sample_ids=[f"c{i}" for i in range(60)],
        present=present,
        feature_names=[["TP53", "MYC", "HER2"], ["HER2", "ER"]],
        metadata=metadata.astype({"age": "Int64"}),
    )
    model = GraphEnsemble(3, n_members=8, random_state=0).fit(views)
    return views, model, manyview.describe(views, model, rename={1: "second"}, p_values=False)


@needs_omics
def test_clusters_go_to_anndata_and_back_from_disk(described, tmp_path):
    import anndata

    views, model, description = described
    data = manyview.to_anndata(views, model, description)
    data.write_h5ad(tmp_path / "found.h5ad")
    for found in (data, anndata.read_h5ad(tmp_path / "found.h5ad")):
        assert found.shape == (60, 5)
        assert found.var_names.tolist() == ["rna:TP53", "rna:MYC", "rna:HER2", "protein:HER2", "protein:ER"]
        assert found.obs_names[7] == "c7"
        assert found.obs["cluster"].cat.categories.tolist() == ["cluster 0", "second", "cluster 2"]
        assert found.obs["cluster"].cat.codes.tolist() == model.labels_.tolist()
        np.testing.assert_allclose(found.obs["confidence"], model.confidence_)
        np.testing.assert_allclose(found.obsm["X_manyview"], model.embedding_)
        assert found.obs["age"].isna().tolist() == [True] + [False] * 59
        assert found.obs["site"].isna().tolist() == [True] + [False] * 59
        assert found.obs["site"].tolist()[1:3] == ["s0", "s1"]
        assert found.obs["has protein"].sum() == 58
        assert np.isnan(found.X[3, 3:]).all()
        assert found.uns["markers"]["feature"].tolist() == description.markers["feature"].tolist()


@needs_omics
def test_clusters_go_to_mudata_and_views_come_back(described, tmp_path):
    import mudata

    views, model, description = described
    data = manyview.to_mudata(views, model, description)
    data.write(tmp_path / "found.h5mu")
    found = mudata.read(tmp_path / "found.h5mu")
    assert found["protein"].shape == (58, 2)
    codes = dict(zip(found.obs_names, found.obs["cluster"].cat.codes, strict=True))
    assert [codes[f"c{i}"] for i in range(60)] == model.labels_.tolist()
    back = check_views(found)
    order = [back.sample_ids.tolist().index(id_) for id_ in views.sample_ids]
    for v in range(2):
        has = views.present[:, v]
        np.testing.assert_array_equal(back.arrays[v][order][has], views.arrays[v][has])
    embedding = pd.DataFrame(found.obsm["X_manyview"], index=found.obs_names).loc[views.sample_ids]
    np.testing.assert_allclose(embedding, model.embedding_)


@needs_omics
def test_sparse_views_and_labels_from_elsewhere_go_to_anndata(described):
    views = Views([sp.csr_array(np.eye(4)), np.arange(8.0).reshape(4, 2)])
    data = manyview.to_anndata(views, ["a", "b", None, "a"])
    assert sp.issparse(data.X)
    assert data.obs["cluster"].cat.codes.tolist() == [0, 1, -1, 0]
    assert data.var_names.tolist()[-1] == "view1_1"
    with pytest.raises(ViewsError, match=r"labels: expected one per sample \(4\), got 2"):
        manyview.to_anndata(views, [0, 1])
    with pytest.raises(ViewsError, match="a different id for each sample"):
        manyview.to_anndata(Views([np.eye(2)], sample_ids=["a", "a"]), [0, 1])
    with pytest.raises(ViewsError, match="expected that of these views, which have 4 samples"):
        manyview.to_anndata(views, [0, 1, 0, 1], described[2])


@pytest.mark.skipif(INSTALLED, reason="anndata is installed")
@pytest.mark.parametrize("write", ["to_anndata", "to_mudata"])
def test_what_to_install_is_said(write):
    with pytest.raises(manyview.exceptions.MissingDependencyError, match=r"manyview\[omics\]"):
        getattr(manyview, write)([np.eye(3), np.eye(3)], [0, 1, 1])
