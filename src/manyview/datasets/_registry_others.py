"""The named datasets that are not in the TBGL paper, and what they share with those that are. Data only."""

from __future__ import annotations

from manyview.datasets.info import DatasetInfo

COLLECTION = "a file of this name is in the GitHub repository ChuanbinZhang/Multi-view-datasets"
REUTERS_CITATION = (
    "Amini, Usunier, Goutte: Learning from multiple partially observed views - an application to "
    "multilingual text categorization. NIPS 2009."
)
REUTERS_ORIGIN = (
    "the Reuters RCV1/RCV2 Multilingual, Multiview Text Categorization Test collection, "
    "dataset 259 of the UCI Machine Learning Repository"
)
REUTERS_VIEWS = (
    ("english", 21531),
    ("french", 24892),
    ("german", 34251),
    ("italian", 15506),
    ("spanish", 11547),
)
_BBC_CITATION = (
    "Greene, Cunningham: Practical solutions to the problem of diagonal dominance in kernel document "
    "clustering. ICML 2006."
)
_BBC_ORIGIN = f"the synthetic multi-view text datasets at mlg.ucd.ie/datasets/segment.html; {COLLECTION}"

OTHERS = (
    DatasetInfo(
        name="ORL",
        description="Ten photographs each of 40 faces.",
        n_samples=400,
        n_classes=40,
        views=(("view0", 512), ("view1", 59), ("view2", 864), ("view3", 254)),
        file_name="ORL.mat",
        origin="features computed from the ORL face database (AT&T Laboratories Cambridge)",
        citation="Samaria, Harter: Parameterisation of a stochastic model for face identification. 1994.",
        sha256="1ec6bc9c24ab158cf1680a002d33f436ce63e933600350cea80b119e4f8b6525",
        sorted_by_class=True,
        note="The file does not name its features, so the views have numbers.",
    ),
    DatasetInfo(
        name="3Sources",
        description="Stories that three news services reported, as word counts.",
        n_samples=169,
        n_classes=6,
        views=(("bbc", 3560), ("guardian", 3631), ("reuters", 3068)),
        file_name="3Sources.mat",
        origin=f"the 3Sources collection at mlg.ucd.ie/datasets/3sources.html; {COLLECTION}",
        citation=(
            "Greene, Cunningham: A matrix factorization approach for integrating multiple data views. ECML PKDD 2009."
        ),
        sha256="8a94f0e554c5782bc87561314f1bad8ca206910125734f4dbe2492956528c9ae",
        sorted_by_class=False,
    ),
    DatasetInfo(
        name="BBCSport",
        description="Sports news, each article cut into two segments of text.",
        n_samples=544,
        n_classes=5,
        views=(("segment1", 3183), ("segment2", 3203)),
        file_name="BBCSport.mat",
        origin=_BBC_ORIGIN,
        citation=_BBC_CITATION,
        sha256="98dbf2c405c132cc7e6558fd5da904626e7069915c510392e71baeaf4925d708",
        sorted_by_class=True,
        note="Has duplicate rows.",
    ),
    DatasetInfo(
        name="BBC4view",
        description="News, each article cut into four segments of text; sparse.",
        n_samples=685,
        n_classes=5,
        views=(("segment1", 4659), ("segment2", 4633), ("segment3", 4665), ("segment4", 4684)),
        file_name="BBC4view.mat",
        origin=_BBC_ORIGIN,
        citation=_BBC_CITATION,
        sha256="d126e551266aa0e8c6883b29a6468b3c09739c2ef61dde2df3b78179f42080bd",
        sorted_by_class=True,
    ),
    DatasetInfo(
        name="Reuters600",
        description="A sample of Reuters, a hundred documents of each class; sparse.",
        n_samples=600,
        n_classes=6,
        views=REUTERS_VIEWS,
        file_name="Reuters600.mat",
        origin=REUTERS_ORIGIN,
        citation=REUTERS_CITATION,
        sha256="9697e1869131985105d3b7318abb0c62482f7db9d90980d00c67643271dd61ab",
        sorted_by_class=False,
    ),
    DatasetInfo(
        name="Reuters-1200",
        description="A sample of Reuters, two hundred documents a class, 2,000 words a language; dense.",
        n_samples=1200,
        n_classes=6,
        views=(("english", 2000), ("french", 2000), ("german", 2000), ("spanish", 2000), ("italian", 2000)),
        file_name="Reuters-1200.mat",
        origin=f"{REUTERS_ORIGIN}; {COLLECTION}",
        citation=REUTERS_CITATION,
        sha256="cf549b72a66d7418a639a940899993c052bab9ec868fd493451cf85cd0d81d14",
        sorted_by_class=True,
        note="The order of the languages is the one that the collection of files states.",
    ),
    DatasetInfo(
        name="100Leaves",
        description="Sixteen leaves each of a hundred plant species.",
        n_samples=1600,
        n_classes=100,
        views=(("margin", 64), ("shape", 64), ("texture", 64)),
        file_name="100Leaves.mat",
        origin=(f"One-hundred plant species leaves, dataset 241 of the UCI Machine Learning Repository; {COLLECTION}"),
        citation=(
            "Mallah, Cope, Orwell: Plant leaf classification using probabilistic integration of shape, "
            "texture and margin features. 2013."
        ),
        sha256="4af6d9f6588a720df763580d273dc08014476ac5f64570b0bada8b63b9952f45",
        sorted_by_class=True,
        note="The names of the views follow from their values: two histograms, and outlines between them.",
    ),
    DatasetInfo(
        name="Scene_15",
        description="Photographs of 15 kinds of scenes, indoors and outdoors.",
        n_samples=4485,
        n_classes=15,
        views=(("view0", 20), ("view1", 59), ("view2", 40)),
        file_name="Scene_15.mat",
        origin="features computed from the fifteen scene categories",
        citation="Lazebnik, Schmid, Ponce: Beyond bags of features. CVPR 2006.",
        sha256="ec33b5e1f53eea04ccacc8b7bdfc6091ed490b04214eb41fd83c05a0a173221f",
        sorted_by_class=True,
        note="The literature disagrees on which features these are (GIST, PHOG, LBP), hence the numbers.",
    ),
    DatasetInfo(
        name="WebKB",
        description="Web pages of universities, courses against the rest: links to the page, and its text.",
        n_samples=1051,
        n_classes=2,
        views=(("anchor", 1840), ("content", 3000)),
        file_name="WebKB.mat",
        origin=f"the WebKB course pages; {COLLECTION}",
        citation="Blum, Mitchell: Combining labeled and unlabeled data with co-training. COLT 1998.",
        sha256="a1a3e7c50dac79ade224d556e1ff371a190fbb56c174eadfe05bad74bcec52ea",
        sorted_by_class=True,
    ),
)
