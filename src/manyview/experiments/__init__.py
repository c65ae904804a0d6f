"""The paper's evaluation as declared specs, a runner that can be stopped at any moment, and a store."""

from manyview.experiments._spec import available_specs, load_spec

__all__ = ["available_specs", "load_spec"]
