"""The bundled digits: five views that are honest functions of the images."""

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.metrics import normalized_mutual_info_score

from manyview import check_views
from manyview.datasets import digits as module
from manyview.datasets import load_digits_views

WIDTHS = {"pixels": 64, "gradients": 72, "fourier": 24, "profiles": 46, "moments": 25}


@pytest.fixture(scope="module")
def views():
    return load_digits_views()


@pytest.fixture(scope="module")
def images():
    return load_digits().images


def test_shapes_names_and_order(views):
    assert dict(zip(views.names, views.n_features, strict=True)) == WIDTHS
    assert views.n_samples == 1797
    np.testing.assert_array_equal(views.labels, load_digits().target)
    np.testing.assert_array_equal(views["pixels"], load_digits().data)


def test_clean_for_estimators_and_the_same_every_time(views):
    assert check_views(views).n_features == views.n_features
    for first, second in zip(views.arrays, load_digits_views().arrays, strict=True):
        assert first.dtype == np.float64
        np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("name", WIDTHS)
def test_each_view_alone_says_much_about_the_digit(views, name):
    found = KMeans(10, n_init=1, random_state=0).fit_predict(views[name])
    assert normalized_mutual_info_score(views.labels, found) > 0.4


def test_no_view_is_a_linear_copy_of_its_own_columns(views):
    fourier = views["fourier"]
    correlation = np.corrcoef(fourier, rowvar=False) - np.eye(fourier.shape[1])
    assert np.abs(correlation).max() < 0.999


def test_fourier_ignores_circular_shifts(images):
    shifted = np.roll(images, (2, -3), axis=(1, 2))
    np.testing.assert_allclose(module.fourier(shifted), module.fourier(images), atol=1e-9)


def test_zernike_magnitudes_ignore_quarter_turns(images):
    turned = np.rot90(images, axes=(1, 2))
    np.testing.assert_allclose(module._zernike_magnitudes(turned), module._zernike_magnitudes(images), atol=1e-9)


@pytest.mark.parametrize(("n", "m", "at_half"), [(0, 0, 1.0), (2, 0, -0.5), (3, 1, -0.625), (4, 0, -0.125)])
def test_zernike_polynomials_in_closed_form(n, m, at_half):
    radial = module._zernike_radial(np.array([0.5, 1.0]), n, m)
    np.testing.assert_allclose(radial, [at_half, 1.0], atol=1e-12)


def test_profiles_add_up_to_the_ink(images):
    profiles = module.profiles(images)
    for part in np.split(profiles, [8, 16, 31], axis=1):
        np.testing.assert_allclose(part.sum(axis=1), images.sum(axis=(1, 2)))


def test_gradients_point_where_the_brightness_grows():
    ramp = np.tile(np.arange(8.0), (8, 1))[None]  # brighter to the right
    cells = module.gradients(ramp).reshape(3, 3, 8)
    assert cells[1, 1].argmax() == 0
    assert cells[1, 1, 0] == pytest.approx(16.0)  # 16 pixels of slope 1, all of it in one direction
    assert module.gradients(np.swapaxes(ramp, 1, 2)).reshape(3, 3, 8)[1, 1].argmax() == 2
