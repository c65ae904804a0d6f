"""The site: `make docs` builds it, every warning is an error."""

from __future__ import annotations

import sys
from pathlib import Path

import manyview

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "manyview"
author = "The manyview developers"
copyright = author
release = version = manyview.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
    "constants",
    "mathml",
    "methods",
    "tables",
]
exclude_patterns = ["_build"]
templates_path = ["_templates"]
default_role = "code"
nitpicky = True
nitpick_ignore_regex = [("py:.*", r"(collections|numpy|scipy|sklearn)\..*")]  # names of others
myst_enable_extensions = ["dollarmath", "deflist", "colon_fence"]
myst_heading_anchors = 3
html_math_renderer = "mathml"

# Parameters, with their types, are described by the docstrings.
autodoc_typehints = "none"
autosummary_ignore_module_all = False
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples/gallery",
    "gallery_dirs": "gallery",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 10_000,
    "write_computation_times": False,  # a page that needs scripts from elsewhere
    "within_subsection_order": "gallery.ByQuestion",
}

html_theme = "furo"
html_title = "manyview"
html_static_path = ["_static"]
html_css_files = ["manyview.css"]
html_copy_source = False
