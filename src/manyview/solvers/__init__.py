"""Solvers: state, one update per block of variables, run. They know nothing of estimators."""
