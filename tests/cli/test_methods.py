from __future__ import annotations

import inspect

import pytest

from manyview.cli._choice import parse_settings, slug
from manyview.cli.methods import parameter_texts
from manyview.cluster import available_methods

METHODS = {slug(method.name): method for method in available_methods()}


def test_all_methods_are_listed_in_one_table(call):
    result = call("methods", COLUMNS="160")
    assert (result.exit_code, result.stderr) == (0, "")
    lines = {line.split()[0]: line for line in result.stdout.splitlines() if line.strip()}
    assert set(METHODS) <= set(lines)
    assert [word for word in lines["tbgl"].split() if word in ("n·m", "yes", "no")] == ["n·m", "yes", "no"]
    assert "Xia et al., IEEE TPAMI 2023" in lines["tbgl"]


def test_one_method_shows_what_can_be_set(call):
    result = call("methods", "Graph_Ensemble", COLUMNS="160")
    assert (result.exit_code, result.stderr) == (0, "")
    lines = {line.split()[0]: line.split(maxsplit=2)[1:] for line in result.stdout.splitlines() if line.strip()}
    assert lines["n_members"] == ["48", lines["n_members"][1]]
    assert lines["n_members"][1].strip() == "Graphs in the ensemble."
    assert "n_clusters" not in lines
    assert "n_clusters with -k" in result.stdout
    assert "``" not in result.stdout


def test_json_has_everything_and_is_valid(call, valid):
    result = call("methods", "--json")
    assert result.stderr == ""
    found = {one["name"]: one for one in valid("methods", result.stdout)}
    assert list(found) == list(METHODS)
    for name, method in METHODS.items():
        assert found[name]["class"] == method.name
        assert found[name]["order_dependent"] == method.facts.order_dependent
        names = [parameter["name"] for parameter in found[name]["parameters"]]
        assert names == list(inspect.signature(method.estimator).parameters)
        assert all(parameter["description"] for parameter in found[name]["parameters"])
        assert all("default" not in parameter["type"] for parameter in found[name]["parameters"])


def test_json_of_one_method_is_a_list_of_one(call, valid):
    (one,) = valid("methods", call("methods", "sfmc", "--json").stdout)
    assert one["name"] == "sfmc"


@pytest.mark.parametrize("name", METHODS)
def test_what_is_said_to_be_settable_can_be_set(call, valid, name):
    (found,) = valid("methods", call("methods", name, "--json").stdout)
    settable = [one for one in found["parameters"] if one["option"] == "--set"]
    settings = [f"{one['name']}={one['default']}" for one in settable]
    assert list(parse_settings(settings, METHODS[name])) == [one["name"] for one in settable]
    assert {one["name"]: one["option"] for one in found["parameters"]}["n_clusters"] == "-k"


def test_an_unknown_method_is_one_line(call):
    result = call("methods", "tgbl")
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (2, "", 1)
    assert "Invalid value for NAME: there is no method 'tgbl'. Did you mean tbgl" in result.stderr


def test_docstrings_are_taken_apart():
    text = """First line.

    Parameters
    ----------
    p, q : float, default=0.5
        The exponent of :func:`manyview.fit`.

        Another paragraph with ``code``.
    name : {"a", "b"}
        One of two.

    Returns
    -------
    x : int
        Not a parameter.
    """
    exponent = ("float, default=0.5", "The exponent of manyview.fit. Another paragraph with code.")
    assert parameter_texts(text) == {"p": exponent, "q": exponent, "name": ('{"a", "b"}', "One of two.")}
    assert parameter_texts("Nothing.") == {}
