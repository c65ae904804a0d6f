"""Solvers, one file per method: state, one update per block of variables, ``run``. They do not import estimators."""
