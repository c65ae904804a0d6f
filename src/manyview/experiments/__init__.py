"""The paper's evaluation as declared specs, a runner that can be stopped at any moment, and a store."""
