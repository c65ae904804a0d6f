"""The named datasets, here those of the TBGL paper. Data only: ``fetch.py`` finds and reads them.

Facts with a checksum were read from the file that has it. The others are what the TBGL paper states,
corrected where the origin contradicts it (see the notes).
"""

from __future__ import annotations

from manyview.datasets._registry_others import COLLECTION, OTHERS, REUTERS_CITATION, REUTERS_ORIGIN, REUTERS_VIEWS
from manyview.datasets.info import DatasetInfo, PublishedPreset

_AUTHORS = "in the GitHub repository xdweixia/TBGL-MVC of the authors of TBGL"

_PAPER = (
    DatasetInfo(
        name="MSRC-v5",
        description="Photographs of 7 kinds of objects, described by five image features.",
        n_samples=210,
        n_classes=7,
        views=(("cm", 24), ("hog", 576), ("gist", 512), ("lbp", 256), ("cent", 254)),
        file_name="MSRC-v5.mat",
        origin=f"the Microsoft Research Cambridge images; {COLLECTION}, and dataset/MSRC.mat {_AUTHORS}",
        citation="Winn, Jojic: LOCUS: learning object classes with unsupervised segmentation. ICCV 2005.",
        sha256="3b3adfad0b4e484cef1c1ecd64ec887ddde9f7655ed638e2fee1f047ae2c9ff0",
        sorted_by_class=True,
        in_paper=True,
        tbgl_preset=PublishedPreset(
            params={},
            paper_acc=0.995,
            paper_nmi=0.989,
            reached_acc=0.995,
            reached_nmi=0.989,
            shuffled_acc=0.645,
            note=(
                "The authors' own parameters. In file order, 48 to 56 passes give ACC 0.776 to 0.995, and ten random "
                "sets of anchors 0.81 to 0.995. sparsity_weight=0 with n_anchors=0.7 gives 0.995."
            ),
        ),
    ),
    DatasetInfo(
        name="Handwritten4",
        description="Digits from Dutch utility maps: Fourier, profile, Zernike and morphological features.",
        n_samples=2000,
        n_classes=10,
        views=(("fou", 76), ("fac", 216), ("zer", 47), ("mor", 6)),
        file_name="Handwritten4.mat",
        origin=(
            "four of the six feature sets of Multiple Features, dataset 72 of the UCI Machine Learning "
            f"Repository; dataset/HW1256.mat {_AUTHORS}"
        ),
        citation="Duin: Multiple Features. UCI Machine Learning Repository.",
        sha256="ad89058c50435e895acaa184017c288186c1a37988979d56619a39ae08f6f207",
        sorted_by_class=True,
        in_paper=True,
        tbgl_preset=PublishedPreset(
            params={"n_anchors": 0.2, "p": 0.6, "noise_weight": 0.002, "max_iter": 80},
            paper_acc=0.995,
            paper_nmi=0.986,
            reached_acc=0.994,
            reached_nmi=0.984,
            shuffled_acc=0.546,
            note=(
                "Found by search with the labels: the paper's p, a twelfth of the noise weight for MSRC-v5, and more "
                "passes (with the parameters for MSRC-v5 ACC is 0.83). Of 25 settings close by, 18 give 0.98 to 0.995 "
                "and 7 give 0.81 to 0.86 (median over 76 to 92 passes); n_anchors=0.15, noise_weight=0.0022, "
                "sparsity_weight=0, max_iter=88 gives 0.995 and 0.988."
            ),
        ),
    ),
    DatasetInfo(
        name="Mnist4",
        description="A thousand images each of the digits 0 to 3, in three low-dimensional projections.",
        n_samples=4000,
        n_classes=4,
        views=(("iso", 30), ("lda", 9), ("npe", 30)),
        file_name="Mnist4.mat",
        origin=f"a subset of MNIST; dataset/mnist4.mat {_AUTHORS}",
        citation=(
            "Deng: The MNIST database of handwritten digit images for machine learning research. "
            "IEEE Signal Processing Magazine 29(6), 2012."
        ),
        sha256="7dbb45040d6ecd41f68f6076efeabe78b466721894dde382b9a258ce10b22502",
        sorted_by_class=True,
        in_paper=True,
        tbgl_preset=PublishedPreset(
            params={"n_anchors": 0.1, "p": 0.7, "noise_weight": 0.001, "sparsity_weight": 0.0, "max_iter": 92},
            paper_acc=0.938,
            paper_nmi=0.855,
            reached_acc=0.937,
            reached_nmi=0.858,
            shuffled_acc=0.251,
            note=(
                "Found by search with the labels; settings close by give ACC 0.934 to 0.937 after 76 passes or more, "
                "one of them 0.277 after 60. Shuffled, it is no better than guessing one of four classes."
            ),
        ),
        note="The view 'lda' (linear discriminant analysis) was computed with the help of the labels.",
    ),
    DatasetInfo(
        name="Caltech101-20",
        description="Photographs of 20 of the 101 categories of Caltech101, described by six image features.",
        n_samples=2386,
        n_classes=20,
        views=(("gabor", 48), ("wm", 40), ("cent", 254), ("hog", 1984), ("gist", 512), ("lbp", 928)),
        file_name="Caltech101-20.mat",
        origin="features computed from a subset of Caltech 101 of the California Institute of Technology",
        citation=(
            "Fei-Fei, Fergus, Perona: Learning generative visual models from few training examples. "
            "Computer Vision and Image Understanding 106(1), 2007."
        ),
        in_paper=True,
    ),
    DatasetInfo(
        name="NUS-WIDE",
        description="Web images of 31 kinds of objects, described by five low-level image features.",
        n_samples=30000,
        n_classes=31,
        views=(("ch", 64), ("cm", 225), ("corr", 144), ("edh", 73), ("wt", 128)),
        file_name="NUS-WIDE.mat",
        origin="NUS-WIDE-OBJECT of the Lab for Media Search (lms.comp.nus.edu.sg), Singapore",
        citation="Chua et al.: NUS-WIDE: a real-world web image database. ACM CIVR 2009.",
        in_paper=True,
        note="Files with one column more in each view (65, 226, 145, 74, 129) exist too.",
    ),
    DatasetInfo(
        name="Reuters",
        description="News in English with machine translations to four languages, one language a view.",
        n_samples=18758,
        n_classes=6,
        views=REUTERS_VIEWS,
        file_name="Reuters.mat",
        origin=REUTERS_ORIGIN,
        citation=REUTERS_CITATION,
        in_paper=True,
        note=(
            "The paper prints 21,513 English words, the collection has 21,531. The collection lists 24,893 "
            "French and 34,279 German words, so columns without any document may have been left out."
        ),
    ),
)

DATASETS: dict[str, DatasetInfo] = {entry.name: entry for entry in (*_PAPER, *OTHERS)}
"""All named datasets, those of the paper first."""
