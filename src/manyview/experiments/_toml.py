"""Tables of a TOML file that know where they stand, so that every complaint names file, table and key."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from typing import Any

from manyview.cluster._registry import FORMER_NAMES
from manyview.exceptions import SpecError

_KINDS = {
    str: "a text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    list: "a list",
    dict: "a table",
}
_MOST_DOTS = 500  # the parser keeps every beginning of a dotted key
_REQUIRED: Any = object()


class Table:
    """A table of a file: keys are taken out of it one by one, and :meth:`finish` complains of those left over.

    Parameters
    ----------
    values : dict
        What the file has there.
    file : str
        Name of the file.
    path : str
        Name of the table; empty for the file as a whole.
    """

    def __init__(self, values: Mapping[str, Any], file: str, path: str = "") -> None:
        self.file, self.path = file, path
        self._values = dict(values)
        self._known: list[str] = []

    def take(self, key: str, kind: type, default: Any = _REQUIRED) -> Any:
        """Return the value of a key, which must be of this kind; a whole number is a number, too."""
        self._known.append(key)
        if key not in self._values:
            if default is _REQUIRED:
                raise self.error(key, f"expected {_KINDS[kind]}, got nothing.")
            return default
        value = self._values.pop(key)
        fits = isinstance(value, (int, float) if kind is float else kind)
        if not fits or (isinstance(value, bool) and kind is not bool):
            raise self.error(key, f"expected {_KINDS[kind]}, got {value!r}.")
        return value

    def choice(self, key: str, choices: Iterable[str], default: Any = _REQUIRED) -> Any:
        """Return a text that must be one of these."""
        value = self.take(key, str, default)
        if value is not default:
            self.check_choice(key, value, choices)
        return value

    def choices(self, key: str, choices: Iterable[str] | None, default: Any = _REQUIRED) -> Any:
        """Return one or some texts, each once, as a tuple; of these, if `choices` are given."""
        if isinstance(self._values.get(key), str):
            return (self.take(key, str),) if choices is None else (self.choice(key, choices),)
        values = self.take(key, list, default)
        if values is default:
            return default
        if not values or not all(isinstance(value, str) for value in values):
            raise self.error(key, f"expected a list of texts, got {values!r}.")
        for value in values:
            if values.count(value) > 1:
                raise self.error(key, f"has {value!r} more than once.")
            if choices is not None:
                self.check_choice(key, value, choices)
        return tuple(values)

    def check_choice(self, key: str, value: str, choices: Iterable[str]) -> None:
        """Complain if the value of a key is none of these."""
        known = list(choices)
        if value not in known:
            raise self.error(key, f"expected one of {', '.join(known)}; got {value!r}.{_hint(value, known)}")

    def numbers(self, key: str) -> tuple[float, ...]:
        """Return a list of different numbers."""
        values = self.take(key, list)
        numbers = [value for value in values if isinstance(value, (int, float)) and not isinstance(value, bool)]
        if not values or len(numbers) < len(values) or len(set(values)) < len(values):
            raise self.error(key, f"expected a list of different numbers, got {values!r}.")
        return tuple(values)

    def table(self, key: str) -> Table:
        """Return the table of this name, empty if there is none."""
        return Table(self.take(key, dict, {}), self.file, self._under(key))

    def tables(self, key: str) -> Iterator[tuple[str, Table]]:
        """Go over the tables in the table of this name."""
        outer = self.table(key)
        for name in list(outer._values):
            yield name, Table(outer.take(name, dict), self.file, outer._under(name))

    def list_of_tables(self, key: str) -> list[Table]:
        """Return the tables written as ``[[key]]``; each is called by its ``name``, or by its number."""
        found = []
        for number, values in enumerate(self.take(key, list, []), start=1):
            if not isinstance(values, dict):
                raise self.error(key, f"expected tables, [[{key}]], got {values!r}.")
            found.append(Table(values, self.file, f"{self._under(key)} {values.get('name', number)!r}"))
        return found

    def items(self) -> dict[str, Any]:
        """Take all keys that are left."""
        left, self._values = self._values, {}
        return left

    def finish(self) -> None:
        """Complain of a key that nobody has taken."""
        for key in self._values:
            raise self.error(key, f"no such key; there are {', '.join(self._known)}.{_hint(key, self._known)}")

    def error(self, key: str, text: str) -> SpecError:
        """Return a complaint about a key."""
        where = f"[{self.path}] " if self.path else ""
        return SpecError(f"{self.file}: {where}{key}: {text}")

    def _under(self, key: str) -> str:
        return f"{self.path}.{key}" if self.path else key


def parse(text: str, file: str) -> Table:
    """Return a TOML file as a table."""
    if any(line.count(".") > _MOST_DOTS for line in text.splitlines()):
        raise SpecError(f"{file}: not a TOML file: a line with more than {_MOST_DOTS} dots.")
    try:
        return Table(tomllib.loads(text), file)
    except (ValueError, RecursionError) as error:  # also of numbers and nesting that Python refuses
        raise SpecError(f"{file}: not a TOML file: {error}") from error


def _hint(value: str, known: list[str]) -> str:
    if FORMER_NAMES.get(value) in known:
        return f" It is called {FORMER_NAMES[value]} now."
    close = get_close_matches(value, known, n=1)
    return f" Did you mean {close[0]!r}?" if close else ""
