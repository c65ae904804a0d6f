"""Data to try things on: bundled, generated, and the benchmark files of the multi-view literature by name.

:func:`load_digits_views` and :func:`make_multiview` need no file and no network. :func:`fetch_dataset` reads
a benchmark file from the cache folder, checks that it is the right one, and names its views;
:func:`list_datasets` says which there are. :func:`load_mnist_views` makes views of the images of MNIST.
:func:`drop_views` takes views away from samples of any of them.
"""

from manyview.datasets.digits import load_digits_views
from manyview.datasets.fetch import data_folder, dataset_info, fetch_dataset, list_datasets
from manyview.datasets.generated import make_multiview
from manyview.datasets.info import DatasetInfo, PublishedPreset
from manyview.datasets.missing import drop_views
from manyview.datasets.mnist import load_mnist_views

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
