"""The pictures of docs/architecture.md, from the imports of the package and from the trace of a fit.

    python docs/architecture.py walk     the files that one fit visits, and the record types that it creates
    python docs/architecture.py draw     write docs/architecture-layers.svg and docs/architecture-walk.svg
    python docs/architecture.py check    exit code 1 if these pictures are not up to date

The walk is that of a reader who follows `GraphEnsemble(3, random_state=0).fit([X1, X2])` and reads each function when
it is called for the first time. A file is visited when a named function in it is entered. It is returned to when, after
functions of other files, another function in it is entered for the first time. Compiled kernels, comprehensions,
lambdas and generated methods are no visits. Calls in loops count once: how often a loop runs is not part of the walk.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import sys
import threading
import warnings
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, is_dataclass
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from statistics import fmean
from types import FrameType
from typing import Any

import numpy as np

import manyview
from manyview import GraphEnsemble

DOCS = Path(__file__).resolve().parent
PACKAGE = Path(manyview.__file__).resolve().parent
NAME = PACKAGE.name
SHARED = "_utils"  # its modules are parts of their own: what has no better home has no common layer
DRAW = "python docs/architecture.py draw"

# The fits that are traced: rows of the data, and parameters that differ from GraphEnsemble(3, random_state=0).
FITS: dict[str, tuple[int, dict[str, Any]]] = {
    "in memory": (120, {}),
    "in blocks": (300, {"learn_on": 100}),
    'n_clusters="auto"': (120, {"n_clusters": "auto"}),
}

Graph = dict[str, set[str]]


def main() -> None:
    """Run the command that is named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("walk", help="print the files that one fit visits, and the record types that it creates")
    commands.add_parser("draw", help="write the pictures")
    commands.add_parser("check", help="exit code 1 if the pictures are not up to date")
    command = parser.parse_args().command
    if command == "walk":
        print_walk()
    elif command == "draw":
        for file, picture in drawings().items():
            file.write_text(picture, encoding="utf-8", newline="\n")
            print(file)
    else:
        sys.exit(check())


def drawings() -> dict[Path, str]:
    """Return the pictures by file."""
    parts = imports_of_parts()
    return {
        DOCS / "architecture-layers.svg": draw_layers(parts),
        DOCS / "architecture-walk.svg": draw_walk(walk(trace("in memory").functions())),
    }


def check() -> str | None:
    """Return which pictures are not up to date and what to do, or None if all are."""
    stale = [
        file.name
        for file, picture in drawings().items()
        if not file.exists() or file.read_text(encoding="utf-8") != picture
    ]
    return f"Not up to date: {' and '.join(stale)}. Run: {DRAW}" if stale else None


# The walk of one fit


@dataclass(frozen=True)
class Visit:
    """A file of the package that a walk visits: the first function entered there, and how often it is returned to."""

    file: str
    function: str
    n_returns: int


@dataclass
class Trace:
    """The functions of the package that a fit enters, as pairs of file and name, and the record types it creates."""

    calls: list[tuple[str, str]]
    records: set[type]

    def functions(self) -> list[tuple[str, str]]:
        """Return each function once, in the order of first calls."""
        return list(dict.fromkeys(self.calls))


def trace(name: str) -> Trace:
    """Trace one of FITS, from the call of `fit` to its return."""
    n_samples, options = FITS[name]
    views = blobs(n_samples)
    found = Trace([], set())

    def on_event(frame: FrameType, event: str, _: Any) -> None:
        if event != "call":
            return
        record = created_record(frame)
        if record is not None:
            found.records.add(record)
        file = file_of(frame)
        if file is not None:
            found.calls.append((file, frame.f_code.co_qualname.rpartition("<locals>.")[2]))

    model = GraphEnsemble(**{"n_clusters": 3, "random_state": 0, "n_jobs": 1, **options})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(views)  # modules are imported and kernels compiled before the trace
        before = sys.getprofile(), threading.getprofile()
        threading.setprofile(on_event)
        sys.setprofile(on_event)
        try:
            model.fit(views)
        finally:
            sys.setprofile(before[0])
            threading.setprofile(before[1])
    return found


def blobs(n_samples: int) -> list[np.ndarray]:
    """Return two views of three clusters that can be told apart."""
    rng = np.random.default_rng(0)
    labels = np.arange(n_samples) % 3
    return [4 * np.eye(3, width)[labels] + rng.normal(size=(n_samples, width)) for width in (5, 4)]


def file_of(frame: FrameType) -> str | None:
    """Return the file of a named function of the package, relative to the package; None for other frames."""
    code = frame.f_code
    is_function = code.co_flags & inspect.CO_OPTIMIZED  # bodies of modules and classes are not
    if not is_function or code.co_name.startswith("<"):
        return None
    path = Path(code.co_filename)
    return path.relative_to(PACKAGE).as_posix() if path.is_relative_to(PACKAGE) else None


def created_record(frame: FrameType) -> type | None:
    """Return the dataclass or named tuple of the package that a frame makes an instance of, if it does."""
    code = frame.f_code
    if not code.co_argcount or code.co_name not in ("__init__", "__new__", "_make", "<lambda>"):
        return None
    first = frame.f_locals.get(code.co_varnames[0])
    made = type(first) if code.co_name == "__init__" else first
    if not isinstance(made, type) or made.__module__.partition(".")[0] != NAME:
        return None
    # The constructor of a named tuple is a lambda; only there is a class the first argument.
    is_record = is_dataclass(made) if code.co_name == "__init__" else hasattr(made, "_fields")
    return made if is_record else None


def walk(functions: Iterable[tuple[str, str]]) -> list[Visit]:
    """Return the files of functions in the order of first visits."""
    first: dict[str, str] = {}
    n_returns: dict[str, int] = {}
    here = None
    for file, function in functions:
        if file not in first:
            first[file], n_returns[file] = function, 0
        elif file != here:
            n_returns[file] += 1
        here = file
    return [Visit(file, function, n_returns[file]) for file, function in first.items()]


def print_walk() -> None:
    """Print the walk of a fit in memory, and the record types that fits of all sorts create."""
    traces = {name: trace(name) for name in FITS}
    in_memory = traces["in memory"]
    visits = walk(in_memory.functions())
    wide = [max(len(text) for text in column) for column in zip(*((v.file, v.function) for v in visits), strict=True)]
    for number, visit in enumerate(visits, 1):
        told = counted(visit.n_returns, "return")
        print(f"{number:3}  {visit.file:{wide[0]}}  {visit.function:{wide[1]}}  {told}")
    print(f"{len(visits)} files, {counted(sum(visit.n_returns for visit in visits), 'return')}")
    every = sum(visit.n_returns for visit in walk(in_memory.calls))
    print(f"({counted(every, 'return')} if every call counts, also those in loops)")

    print("\nrecord types: dataclasses and named tuples of which a fit creates an instance")
    by_module: dict[str, list[str]] = defaultdict(list)
    for record in sorted(set().union(*(t.records for t in traces.values())), key=lambda record: record.__qualname__):
        where = [name for name, t in traces.items() if record in t.records]
        told = "" if len(where) == len(traces) else f" ({', '.join(where)})"
        by_module[record.__module__].append(record.__qualname__ + told)
    for module, names in sorted(by_module.items()):
        print(f"  {module}: {', '.join(names)}")
    for name, t in traces.items():
        print(f"{len(t.records)} record types {name}")
    print(f"{len(in_memory.records | traces['in blocks'].records)} record types in memory and in blocks together")


def counted(number: int, noun: str) -> str:
    """Return a number and its noun."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


# The layers


def imports_of_parts() -> Graph:
    """Return what each part of the package imports from other parts, also where it does so late or for types only.

    Parts are packages and modules at the root; the modules of _utils are parts of their own. The front door,
    __init__.py, is none: it imports what a user asks for, when it is asked for.
    """
    found: Graph = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        part = part_of(".".join((NAME, *path.relative_to(PACKAGE).with_suffix("").parts)))
        if part is not None:
            others = {other for name in imports(path) if (other := part_of(name))}
            found.setdefault(part, set()).update(others - {part})
    return found


def imports(path: Path) -> set[str]:
    """Return the full names of all that a file imports."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def part_of(name: str) -> str | None:
    """Return the part that a full name belongs to, if it does: "manyview.io._read.read_views" is in "io"."""
    package, *parts = name.split(".")
    depth = 2 if parts[:1] == [SHARED] else 1
    path = PACKAGE.joinpath(*parts[:depth])
    if package != NAME or len(parts) < depth or path.name == "__init__":
        return None
    return ".".join(parts[:depth]) if path.is_dir() or path.with_suffix(".py").exists() else None


def reachable(graph: Graph) -> Graph:
    """Return what each part imports, directly or through others."""
    found: Graph = {}
    for part in graph:
        todo, seen = [part], set[str]()
        while todo:
            new = graph[todo.pop()] - seen
            seen |= new
            todo.extend(new)
        found[part] = seen
    return found


def cycles(graph: Graph) -> set[frozenset[str]]:
    """Return the groups of parts that import each other in a circle."""
    reach = reachable(graph)
    return {frozenset(other for other in reach[part] if part in reach[other]) for part in graph if part in reach[part]}


def layers(graph: Graph) -> list[list[str]]:
    """Return the parts in layers, the lowest first: each stands above all that it imports, but for cycles."""
    reach = reachable(graph)
    below = {part: {other for other in reach[part] if part not in reach[other]} for part in graph}
    level: dict[str, int] = {}
    for part in sorted(graph, key=lambda part: len(below[part])):
        level[part] = max((level[other] + 1 for other in below[part]), default=0)
    return [sorted(part for part in graph if level[part] == n) for n in range(max(level.values()) + 1)]


def reduced(graph: Graph) -> Graph:
    """Return the graph without imports that go the long way as well, through a third part."""
    reach = reachable(graph)
    return {part: {o for o in graph[part] if not any(o in reach[via] for via in graph[part] - {o})} for part in graph}


# The pictures

_WIDTH = 900
_STYLE = """\
  <style>
    text { font-family: sans-serif; font-size: 14px; fill: #1f2328; }
    .small { font-size: 12px; fill: #59636e; }
    .paper { fill: #ffffff; stroke: #d1d9e0; }
    .box { fill: #f1f4f8; stroke: #6e7781; }
    .line { fill: none; stroke: #8c959f; stroke-width: 1.3; }
    .head { fill: #8c959f; }
    @media (prefers-color-scheme: dark) {
      text { fill: #e6edf3; }
      .small { fill: #9da7b3; }
      .paper { fill: #161b22; stroke: #3d444d; }
      .box { fill: #252c36; stroke: #8b949e; }
      .line { stroke: #7d8590; }
      .head { fill: #7d8590; }
    }
  </style>
  <defs>
    <marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">
      <path class="head" d="M0,0.5 L8,4 L0,7.5 z"/>
    </marker>
  </defs>"""
# Mid-tones, which are seen on light and on dark paper. They come round if there are more packages.
_COLOURS = (
    "#2f81d6",
    "#d9822b",
    "#2da562",
    "#c2489b",
    "#8a63d2",
    "#b3a023",
    "#19a2ad",
    "#d1504a",
    "#8a7363",
    "#7a8594",
)


def svg(title: str, description: str, height: int, lines: Iterable[str]) -> str:
    """Return a picture on paper of its own, so that it can be read on any page."""
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" '
        f'viewBox="0 0 {_WIDTH} {height}" role="img" aria-labelledby="title desc">'
    )
    paper = f'<rect class="paper" x="0.5" y="0.5" width="{_WIDTH - 1}" height="{height - 1}" rx="8"/>'
    about = [f'  <title id="title">{escaped(title)}</title>', f'  <desc id="desc">{escaped(description)}</desc>']
    return "\n".join([head, *about, _STYLE, *(f"  {line}" for line in (paper, *lines)), "</svg>", ""])


def escaped(text: str) -> str:
    """Return text as it is written in XML."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def label(x: int, y: int, text: str, **attributes: str) -> str:
    """Return an element of text. Underscores in names of attributes stand for hyphens; `kind` is the class."""
    names = {"kind": "class"}
    told = "".join(f' {names.get(key, key.replace("_", "-"))}="{value}"' for key, value in attributes.items())
    return f'<text x="{x}" y="{y}"{told}>{escaped(text)}</text>'


_BOX = 34  # height of a box
_ROW = 92  # from one layer to the next
_MARGIN = 24
_TOP = 24

# What stands in a layer: a part, or the line from higher layers to a part, which is a pair of the part and this layer.
Node = str | tuple[str, int]


def draw_layers(parts: Graph) -> str:
    """Draw the parts as boxes above what they import, with lines where no third part is between them."""
    shared = sorted(part for part in parts if part.startswith(f"{SHARED}."))
    drawn = {part: imported - {*shared} for part, imported in parts.items() if part not in shared}
    rows, links = with_lines(layers(drawn), reduced(drawn))
    rows = uncrossed(rows, links)
    x = positions(rows, links)
    top = {node: _TOP + n * _ROW for n, row in enumerate(rows) for node in row}
    lines = []
    for upper, lower in sorted(links, key=lambda link: (top[link[0]], x[link[0]], x[link[1]])):
        start, end = top[upper] + _BOX, top[lower]
        middle = (start + end) // 2
        path = f"M{x[upper]},{start} C{x[upper]},{middle} {x[lower]},{middle} {x[lower]},{end}"
        head = ' marker-end="url(#head)"' if isinstance(lower, str) else ""
        lines.append(f'<path class="line"{head} d="{path}"/>')
    for row in rows:
        for node in row:
            if isinstance(node, str):
                lines += box(x[node], top[node], width_of(node), node)
            else:
                lines.append(f'<path class="line" d="M{x[node]},{top[node]} v{_BOX}"/>')
    bottom = _TOP + (len(rows) - 1) * _ROW + _BOX + 36
    lines += utilities(bottom, parts, shared)
    return svg(
        "The packages of manyview in layers",
        "Each package stands above those that it imports. A line is an import; where a package also imports what those "
        "below it import, there is no line. "
        + "; ".join(f"{part} imports {', '.join(sorted(drawn[part])) or 'none of them'}" for part in sorted(drawn))
        + ".",
        bottom + 76,
        lines,
    )


def box(middle: int, top: int, width: int, text: str) -> list[str]:
    """Return a box with its text, as elements."""
    frame = f'<rect class="box" x="{middle - width // 2}" y="{top}" width="{width}" height="{_BOX}" rx="6"/>'
    return [frame, label(middle, top + 22, text, text_anchor="middle")]


def utilities(top: int, parts: Graph, shared: list[str]) -> list[str]:
    """Return the box of the modules in _utils, below all others."""
    names = [part.removeprefix(f"{SHARED}.") for part in shared]
    upwards = [
        f"{name} ({', '.join(above)})"
        for name, part in zip(names, shared, strict=True)
        if (above := sorted(parts[part] - {*shared}))
    ]
    note = "may be imported from everywhere" + (f"; with imports from above: {', '.join(upwards)}" if upwards else "")
    return [
        f'<rect class="box" x="{_MARGIN}" y="{top}" width="{_WIDTH - 2 * _MARGIN}" height="52" rx="6" '
        'stroke-dasharray="5 4"/>',
        label(_WIDTH // 2, top + 22, f"{SHARED}: {', '.join(names)}", text_anchor="middle"),
        label(_WIDTH // 2, top + 41, note, kind="small", text_anchor="middle"),
    ]


def width_of(node: Node) -> int:
    """Return the width of a box, or the room of a line."""
    return max(84, 9 * len(node) + 28) if isinstance(node, str) else 14


def with_lines(levels: list[list[str]], graph: Graph) -> tuple[list[list[Node]], set[tuple[Node, Node]]]:
    """Return the layers, the highest first, with the lines that pass through them, and all links between neighbours.

    Lines to one part join where they meet. In a cycle no part is above the other, and there is no line.
    """
    rows: list[list[Node]] = [list(level) for level in reversed(levels)]
    row_of = {part: n for n, row in enumerate(rows) for part in row}
    links: set[tuple[Node, Node]] = set()
    for part in sorted(graph):
        for other in sorted(graph[part]):
            if row_of[part] >= row_of[other]:
                continue
            way: list[Node] = [part, *((other, n) for n in range(row_of[part] + 1, row_of[other])), other]
            links |= set(pairwise(way))
            for n, node in enumerate(way[1:-1], row_of[part] + 1):
                if node not in rows[n]:
                    rows[n].append(node)
    return rows, links


def uncrossed(rows: list[list[Node]], links: set[tuple[Node, Node]]) -> list[list[Node]]:
    """Order each layer by the mean position of its neighbours, down and up, and keep the order that crosses least."""
    best, fewest = rows, crossings(rows, links)
    near = neighbours(links)
    for sweep in range(40):
        rows = [list(row) for row in rows]
        down = sweep % 2 == 0
        for n in range(len(rows)) if down else reversed(range(len(rows))):
            beside = n - 1 if down else n + 1
            if 0 <= beside < len(rows):
                place = {node: m / len(rows[beside]) for m, node in enumerate(rows[beside])}
                own = {node: m / len(rows[n]) for m, node in enumerate(rows[n])}
                rows[n].sort(key=lambda node: fmean([place[o] for o in near[node] if o in place] or [own[node]]))
        rows = swapped(rows, links)
        found = crossings(rows, links)
        if found < fewest:
            best, fewest = rows, found
    return best


def swapped(rows: list[list[Node]], links: set[tuple[Node, Node]]) -> list[list[Node]]:
    """Exchange neighbours in a layer as long as fewer lines cross."""
    fewest = crossings(rows, links)
    better = True
    while better:
        better = False
        for n, row in enumerate(rows):
            for m in range(len(row) - 1):
                tried = [*row[:m], row[m + 1], row[m], *row[m + 2 :]]
                found = crossings([*rows[:n], tried, *rows[n + 1 :]], links)
                if found < fewest:
                    rows = [*rows[:n], tried, *rows[n + 1 :]]
                    row, fewest, better = tried, found, True
    return rows


def crossings(rows: list[list[Node]], links: set[tuple[Node, Node]]) -> int:
    """Return how many pairs of lines cross."""
    place = {node: (n, m) for n, row in enumerate(rows) for m, node in enumerate(row)}
    between: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for upper, lower in links:
        between[place[upper][0]].append((place[upper][1], place[lower][1]))
    return sum(
        (a - c) * (b - d) < 0 for pairs in between.values() for n, (a, b) in enumerate(pairs) for c, d in pairs[:n]
    )


def neighbours(links: set[tuple[Node, Node]]) -> dict[Node, list[Node]]:
    """Return what each node is linked with, above and below."""
    near: dict[Node, list[Node]] = defaultdict(list)
    for upper, lower in sorted(links, key=str):
        near[upper].append(lower)
        near[lower].append(upper)
    return near


def positions(rows: list[list[Node]], links: set[tuple[Node, Node]]) -> dict[Node, int]:
    """Return the middle of each node: near the mean of its neighbours, in the order of its layer, with room between."""
    near = neighbours(links)
    x = {}
    for row in rows:
        for node, offset in zip(row, offsets(row), strict=True):
            x[node] = _WIDTH // 2 + offset - offsets(row)[-1] // 2
    for sweep in range(60):
        for row in rows if sweep % 2 else reversed(rows):
            apart = offsets(row)
            wanted = [
                Fraction(sum(x[other] for other in near[node]), len(near[node])) if near[node] else Fraction(x[node])
                for node in row
            ]
            low = Fraction(_MARGIN + width_of(row[0]) // 2)
            high = Fraction(_WIDTH - _MARGIN - width_of(row[-1]) // 2 - apart[-1])
            free = isotonic([value - offset for value, offset in zip(wanted, apart, strict=True)])
            for node, value, offset in zip(row, free, apart, strict=True):
                x[node] = round(min(max(value, low), high)) + offset
    left = min(middle - width_of(node) // 2 for node, middle in x.items())
    right = max(middle + width_of(node) // 2 for node, middle in x.items())
    return {node: middle + (_WIDTH - left - right) // 2 for node, middle in x.items()}


def offsets(row: list[Node]) -> list[int]:
    """Return how far the middle of each node in a layer is from that of the first, at least."""
    found = [0]
    for left, right in pairwise(row):
        found.append(found[-1] + (width_of(left) + width_of(right)) // 2 + 18)
    return found


def isotonic(values: list[Fraction]) -> list[Fraction]:
    """Return the non-decreasing values that are nearest, by least squares."""
    blocks: list[tuple[Fraction, int]] = []  # mean and size
    for value in values:
        mean, size = value, 1
        while blocks and blocks[-1][0] > mean:
            before, n = blocks.pop()
            mean, size = (before * n + mean * size) / (n + size), n + size
        blocks.append((mean, size))
    return [mean for mean, size in blocks for _ in range(size)]


_LANE = 26  # from one package to the next
_LINE = 30  # from one file to the next
_HEADS = 96  # for the names of the packages, which are turned


def draw_walk(visits: list[Visit]) -> str:
    """Draw the files of a walk from top to bottom, each in the lane of its package."""
    packages = list(dict.fromkeys(package_of(visit) for visit in visits))
    lane = {package: 36 + _LANE * n for n, package in enumerate(packages)}
    colour = {package: _COLOURS[n % len(_COLOURS)] for n, package in enumerate(packages)}
    text = lane[packages[-1]] + 50
    function = text + 34 + 8 * max(len(visit.file) for visit in visits) + 12
    returns = min(function + 7 * max(len(visit.function) for visit in visits) + 84, _WIDTH - _MARGIN)
    bottom = _HEADS + _LINE * len(visits)
    lines = [
        label(text + 34, _HEADS - 14, "file", kind="small"),
        label(function, _HEADS - 14, "first function", kind="small"),
    ]
    lines.append(label(returns, _HEADS - 14, "returns", kind="small", text_anchor="end"))
    for package in packages:
        x = lane[package]
        lines.append(f'<path d="M{x},{_HEADS - 8} V{bottom}" stroke="{colour[package]}" stroke-opacity="0.3"/>')
        lines.append(label(x, _HEADS - 14, package, transform=f"rotate(-50 {x} {_HEADS - 14})", kind="small"))
    lines += steps([(lane[package_of(visit)], _HEADS + 12 + _LINE * n) for n, visit in enumerate(visits)])
    for n, visit in enumerate(visits):
        x, y = lane[package_of(visit)], _HEADS + 12 + _LINE * n
        lines += [
            f'<circle cx="{x}" cy="{y}" r="6" fill="{colour[package_of(visit)]}"/>',
            label(text + 20, y + 5, str(n + 1), kind="small", text_anchor="end"),
            label(text + 34, y + 5, visit.file),
            label(function, y + 5, visit.function, kind="small"),
        ]
        if visit.n_returns:
            lines.append(label(returns, y + 5, str(visit.n_returns), text_anchor="end"))
    total = f"{len(visits)} files, {counted(sum(visit.n_returns for visit in visits), 'return')}"
    lines.append(label(returns, bottom + 20, total, text_anchor="end"))
    return svg(
        "The walk of one fit",
        "The files of the package that GraphEnsemble.fit visits, in the order of first visits, each with the first "
        f"function entered there and how often the walk returns to it: {total}.",
        bottom + 36,
        lines,
    )


def package_of(visit: Visit) -> str:
    """Return the package of a file; a module at the root stands for itself."""
    return visit.file.partition("/")[0].removesuffix(".py")


def steps(points: list[tuple[int, int]]) -> list[str]:
    """Return arrows from each point to the next."""
    found = []
    for (x, y), (to_x, to_y) in pairwise(points):
        start, end = y + 7, to_y - 8
        middle = (start + end) // 2
        curve = f"V{end}" if x == to_x else f"C{x},{middle + 6} {to_x},{middle - 6} {to_x},{end}"
        found.append(f'<path class="line" marker-end="url(#head)" d="M{x},{start} {curve}"/>')
    return found


if __name__ == "__main__":
    main()
