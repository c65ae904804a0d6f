"""The method that a command fits: its name, its parameters and the number of clusters, as typed by a user."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import TYPE_CHECKING, Annotated, Any

import typer

from manyview._utils.scalings import SCALINGS
from manyview.cli import _completion as completion

if TYPE_CHECKING:
    from manyview.cluster import Method

AUTO = "auto"
DEFAULT_METHOD = "graph-ensemble"  # the first of the registry, which is not imported for help texts
# A range with its colon, or as it may be typed by mistake.
_RANGE = re.compile(r"(\d+)\s*(:|-|,|\.\.+|to)\s*(\d+)")

Clusters = Annotated[str, typer.Option("-k", "--clusters", metavar="K", help="Number of clusters.", show_default=False)]
ClustersOrRange = Annotated[
    str,
    typer.Option(
        "-k",
        "--clusters",
        metavar="K|LOW:HIGH|auto",
        help="Number of clusters, or a range to choose from, such as 2:60; auto chooses from a range that depends on "
        "the number of samples.",
        show_default=False,
        autocompletion=completion.clusters,
    ),
]

_SCALE_HELP = "\n\n".join(
    [
        "How to scale the features of all views, or of one view. May be repeated for other views. Default: that of "
        "the method, see: manyview methods NAME.",
        *(f"{name}: {line}" for name, line in SCALINGS.items()),
    ]
)


@dataclass(frozen=True)
class Choice:
    """Which method to fit, and how: the options of every command that fits one."""

    method: Annotated[
        str,
        typer.Option(
            "--method",
            "-m",
            metavar="NAME",
            help="Method to fit; see: manyview methods.",
            autocompletion=completion.methods,
        ),
    ] = DEFAULT_METHOD
    settings: Annotated[
        list[str],
        typer.Option(
            "--set", metavar="NAME=VALUE", help="A parameter of the method. May be repeated.", show_default=False
        ),
    ] = field(default_factory=list)
    scales: Annotated[
        list[str],
        typer.Option(
            "--scale",
            metavar="NAME|VIEW=NAME",
            help=_SCALE_HELP,
            show_default=False,
            autocompletion=completion.scales,
        ),
    ] = field(default_factory=list)
    seed: Annotated[int, typer.Option("--seed", min=0, help="Random seed.")] = 0
    jobs: Annotated[
        int | None, typer.Option("--jobs", "-j", min=1, metavar="N", help="Number of threads. Default: all cores.")
    ] = None

    def estimator(self, n_clusters: int | str | range) -> Any:
        """Return the estimator, not fitted."""
        from manyview.cluster._registry import make_estimator

        parameters = self.parameters
        if isinstance(n_clusters, range):
            n_clusters, parameters = AUTO, {"k_range": n_clusters} | parameters
        return make_estimator(find_method(self.method), n_clusters, self.seed, self.jobs, parameters)

    @property
    def parameters(self) -> dict[str, Any]:
        """Parameters of the method that ``--set`` and ``--scale`` give."""
        method = find_method(self.method)
        found = parse_settings(self.settings, method)
        if not self.scales:
            return found
        if "scaling" in found:
            raise typer.BadParameter(
                "--scale and --set scaling=... set the same parameter. Give one of them.", param_hint="--scale"
            )
        return found | {"scaling": parse_scales(self.scales, method)}

    def check_scales(self, names: Sequence[str]) -> None:
        """Raise an error if ``--scale`` names a view that does not exist."""
        scaling = self.parameters["scaling"] if self.scales else {}
        unknown = [name for name in scaling if name not in names] if isinstance(scaling, dict) else []
        if unknown:
            raise typer.BadParameter(
                f"there is no view {unknown[0]!r}. The views are {', '.join(names)}.", param_hint="--scale"
            )

    @property
    def takes_auto(self) -> bool:
        """Whether the method chooses the number of clusters itself, with ``n_clusters="auto"``."""
        rules = find_method(self.method).estimator._parameter_constraints["n_clusters"]
        return any(rule.is_satisfied_by(AUTO) for rule in rules)

    @property
    def words(self) -> list[str]:
        """The words of the command line with the same options."""
        words = ["--method", self.method] + [word for setting in self.settings for word in ("--set", setting)]
        words += [word for scale in self.scales for word in ("--scale", scale)]
        return words + ["--seed", str(self.seed)] + ([] if self.jobs is None else ["--jobs", str(self.jobs)])


def slug(name: str) -> str:
    """Return the name of a method on the command line.

    Examples
    --------
    >>> [slug(name) for name in ("GraphEnsemble", "CoTrainingSpectral", "SwMC", "TBGL")]
    ['graph-ensemble', 'co-training-spectral', 'swmc', 'tbgl']
    """
    return re.sub(r"(?<=[a-z])(?=[A-Z][a-z])|(?<=[a-z]{2})(?=[A-Z])", "-", name).lower()


def find_method(name: str, hint: str = "--method") -> Method:
    """Return the method with this name; ``hint`` is the option or argument that names it in errors.

    Capitals, hyphens and underscores do not matter.
    """
    from manyview.cluster._registry import FORMER_NAMES, HOMES, get_method

    methods = {slug(known): known for known in HOMES}
    plain = {_plain(known): known for known in methods}
    if _plain(name) in plain:
        return get_method(methods[plain[_plain(name)]])
    if ":" in name:
        raise typer.BadParameter(
            f"{name!r} is a method of your own. manyview compare, audit and experiments take these; this command takes "
            "only those that manyview methods lists.",
            param_hint=hint,
        )
    former = {_plain(old): slug(new) for old, new in FORMER_NAMES.items()}
    if _plain(name) in former:
        raise typer.BadParameter(f"{name!r} is called {former[_plain(name)]} now.", param_hint=hint)
    close = get_close_matches(_plain(name), plain, n=3, cutoff=0.75)
    meant = f" Did you mean {' or '.join(plain[one] for one in close)}?" if close else ""
    if "." in name:  # mine.Mine, or mine.py
        meant = " A method of your own is written as module:Name or file.py:Name, such as mine:Mine."
    raise typer.BadParameter(f"there is no method {name!r}.{meant} There are {', '.join(methods)}.", param_hint=hint)


def _plain(name: str) -> str:
    return re.sub(r"[-_\s]", "", name).lower()


def parse_n_clusters(text: str, *, may_choose: bool = False) -> int | str | range:
    """Return the number of clusters; with ``may_choose`` also "auto", or the range from ``LOW:HIGH``."""
    text = text.strip()
    pair = _RANGE.fullmatch(text)
    if may_choose and text.lower() == AUTO:
        return AUTO
    if may_choose and pair and pair[2] == ":":
        low, high = int(pair[1]), int(pair[3])
        if low > high:
            raise typer.BadParameter(
                f"expected a range from a lower to a higher number, got {text!r}. Did you mean {high}:{low}?",
                param_hint="-k",
            )
        if low < 2:
            raise typer.BadParameter(f"expected a range from 2 or more on, got {text!r}.", param_hint="-k")
        return range(low, high + 1)
    if not text.isdecimal() or int(text) < 1:
        expected, hint = "a whole number from 1 on", ""
        if may_choose:
            expected += ", a range to choose from such as 2:60, or auto"
            hint = f" Did you mean {pair[1]}:{pair[3]}?" if pair else ""
        elif pair or text.lower() == AUTO:
            hint = f" To find one: manyview cluster -k {text}."
        raise typer.BadParameter(f"expected {expected}, got {text!r}.{hint}", param_hint="-k")
    return int(text)


def as_typed(n_clusters: int | str | range) -> str:
    """Return the value to type after ``-k``.

    Examples
    --------
    >>> [as_typed(n_clusters) for n_clusters in (3, "auto", range(2, 61))]
    ['3', 'auto', '2:60']
    """
    return f"{n_clusters.start}:{n_clusters.stop - 1}" if isinstance(n_clusters, range) else str(n_clusters)


def parse_settings(settings: Iterable[str], method: Method | None) -> dict[str, Any]:
    """Return parameters from ``NAME=VALUE``; a value that is not JSON is text. None: those of a user's own method."""
    from manyview.cluster._registry import settable

    known = [] if method is None else settable(method)
    found: dict[str, Any] = {}
    for setting in settings:
        name, equals, value = setting.partition("=")
        name = name.strip().replace("-", "_")
        if not equals:
            raise typer.BadParameter(f"expected NAME=VALUE, got {setting!r}.", param_hint="--set")
        if method is not None and name not in known:
            close = get_close_matches(name, known, n=2)
            meant = f" Did you mean {' or '.join(close)}?" if close else ""
            raise typer.BadParameter(
                f"{method.name} has no parameter {name!r} to set.{meant} It has {', '.join(known)}.", param_hint="--set"
            )
        try:
            found[name] = json.loads(value)
        except ValueError:
            found[name] = value
    return found


def parse_scales(scales: Sequence[str], method: Method) -> str | dict[str, str]:
    """Return the scaling of all views from ``NAME``, or a dict of scalings by view from ``VIEW=NAME``.

    The name of a view may contain "=", that of a scaling does not.
    """
    rules, known = method.estimator._parameter_constraints.get("scaling"), scalings_of(method)
    if rules is None:
        raise typer.BadParameter(f"{method.name} does not scale views. Leave --scale out.", param_hint="--scale")
    found: dict[str, str] = {}
    for scale in scales:
        view, equals, name = scale.rpartition("=")
        _check_scaling(name, list(known), scale)
        if equals and dict not in rules:
            raise typer.BadParameter(
                f"{method.name} scales all views in the same way: expected a scaling for all, such as --scale {name}, "
                f"got {scale!r}. One for each view: --method {' or '.join(_methods_that_scale_each_view())}.",
                param_hint="--scale",
            )
        if not equals and len(scales) > 1:
            raise typer.BadParameter(
                f"expected one scaling for all views, or VIEW=NAME for each view with a scaling of its own, got "
                f"{', '.join(map(repr, scales))}.",
                param_hint="--scale",
            )
        if view in found:
            raise typer.BadParameter(f"the view {view!r} is given twice.", param_hint="--scale")
        if not equals:
            return name
        found[view] = name
    return found


def scalings_of(method: Method) -> dict[str, str]:
    """Return the scalings of a method, with a line on each."""
    rules = method.estimator._parameter_constraints.get("scaling", [])
    known = {AUTO: "chosen for each view by its values"} | SCALINGS
    return {name: line for name, line in known.items() if any(name in getattr(rule, "options", ()) for rule in rules)}


def _methods_that_scale_each_view() -> list[str]:
    from manyview.cluster import available_methods

    constraints = {method.name: method.estimator._parameter_constraints for method in available_methods()}
    return [slug(name) for name, rules in constraints.items() if dict in rules.get("scaling", [])]


def _check_scaling(name: str, known: Sequence[str], scale: str) -> None:
    if name not in known:
        close = get_close_matches(name, known, n=2)
        meant = f" Did you mean {' or '.join(close)}?" if close else ""
        raise typer.BadParameter(
            f"there is no scaling {name!r} in {scale!r}.{meant} There are {', '.join(known)}.", param_hint="--scale"
        )
