"""Example data: bundled, generated, and the benchmark files of the multi-view literature by name.

:func:`load_digits_views` and :func:`make_multiview` need no file and no network. :func:`fetch_dataset` reads a
benchmark file from the cache folder, compares its checksum, and names its views; :func:`list_datasets` lists them.
:func:`load_mnist_views` computes views of the images of MNIST. :func:`drop_views` removes views of samples at random.
"""

from manyview.datasets.catalogue import DatasetInfo, PublishedPreset
from manyview.datasets.digits import load_digits_views, load_mnist_views
from manyview.datasets.fetch import data_folder, dataset_info, fetch_dataset, list_datasets
from manyview.datasets.generated import drop_views, make_multiview

__all__ = [
    "DatasetInfo",
    "PublishedPreset",
    "data_folder",
    "dataset_info",
    "drop_views",
    "fetch_dataset",
    "list_datasets",
    "load_digits_views",
    "load_mnist_views",
    "make_multiview",
]
