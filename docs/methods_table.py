"""The table of methods in docs/methods.md, from what the methods say of themselves.

python docs/methods_table.py
"""

from __future__ import annotations

from manyview.cluster import available_methods


def table() -> str:
    """One line per method, in Markdown."""
    lines = [
        "| class | what it does | works on | memory | k-means | order of the rows matters | reference |",
        "|---|---|---|---|---|---|---|",
    ]
    for method in available_methods():
        facts = method.facts
        kmeans = "yes" if facts.uses_kmeans else "no"
        order = "**yes**" if facts.order_dependent else "no"
        cells = [f"`{method.name}`", facts.title, facts.input_kind, facts.memory, kmeans, order, facts.reference]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())
