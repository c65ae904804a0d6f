"""A step of long work, as it is reported and drawn."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Step:
    """State of some work.

    Parameters
    ----------
    what : str
        The work, such as "GraphEnsemble".
    done : int
        Steps that are done.
    total : int
        Maximum number of steps.
    unit : str
        What the steps are: "passes", "starts", "views", "members", "samples", "fits".
    objective : float, optional
        Current value of the objective.
    measure : str
        Name of the objective.
    """

    what: str
    done: int
    total: int
    unit: str
    objective: float | None = None
    measure: str = "objective"
