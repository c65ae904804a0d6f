"""Print a constraints file with the lowest versions that pyproject.toml allows: ``numpy>=2.0`` becomes ``numpy==2.0``.

Covers the dependencies, all extras and the build backend. ``make test-lowest`` runs the suite with them.
"""

import re
import tomllib
from pathlib import Path

PROJECT = tomllib.loads((Path(__file__).resolve().parents[1] / "pyproject.toml").read_text(encoding="utf-8"))


def requirements() -> list[str]:
    """Return all requirements but those on extras of the project itself."""
    listed = [*PROJECT["build-system"]["requires"], *PROJECT["project"]["dependencies"]]
    for extra in PROJECT["project"]["optional-dependencies"].values():
        listed += extra
    return [line for line in listed if not line.startswith(f"{PROJECT['project']['name']}[")]


def lowest(requirement: str) -> str:
    """Return the constraint that pins a requirement to its lower bound."""
    found = re.fullmatch(r"([\w.-]+)(?:\[[\w,]+\])?>=([\w.]+)", requirement.replace(" ", ""))
    if found is None:
        raise SystemExit(f"pyproject.toml: {requirement!r} has no lower bound of the form name>=version")
    return f"{found[1]}=={found[2]}"


if __name__ == "__main__":
    print("\n".join(sorted({lowest(requirement) for requirement in requirements()})))
