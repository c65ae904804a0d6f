"""MNIST in three views: from a small file of the same form."""

from __future__ import annotations

import numpy as np
import pytest

from manyview.datasets import load_mnist_views
from manyview.datasets.digits import fourier, gradients
from manyview.exceptions import DatasetError


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    images = rng.integers(0, 255, (12, 784)).astype(np.uint8)
    np.savez(tmp_path / "MNIST63k.npz", X=images, y=rng.integers(0, 10, 12).astype(np.uint8))
    return tmp_path


def test_views(folder, monkeypatch):
    monkeypatch.setattr("manyview.datasets.digits._BATCH_IMAGES", 5)
    views = load_mnist_views(folder)
    file = np.load(folder / "MNIST63k.npz")
    assert dict(zip(views.names, views.n_features, strict=True)) == {"pixels": 784, "gradients": 128, "fourier": 60}
    assert {view.dtype for view in views.arrays} == {np.dtype(np.float32)}
    np.testing.assert_array_equal(views.labels, file["y"])
    np.testing.assert_array_equal(views["pixels"], file["X"])
    images = file["X"].reshape(-1, 28, 28).astype(float)
    np.testing.assert_allclose(views["gradients"], gradients(images, 8, 7, 7), rtol=1e-4, atol=1e-2)
    np.testing.assert_allclose(views["fourier"], fourier(images, 5), rtol=1e-4, atol=1e-2)


def test_folder_of_the_environment(folder, monkeypatch):
    monkeypatch.setenv("MANYVIEW_DATA", str(folder))
    assert load_mnist_views().n_samples == 12


def test_absent_file(tmp_path):
    with pytest.raises(DatasetError, match=r"MNIST63k: .*\.npz does not exist\. Make MNIST63k\.npz .*data_home="):
        load_mnist_views(tmp_path)
