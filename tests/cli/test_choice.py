from __future__ import annotations

import pytest
import typer

from manyview.cli._choice import DEFAULT_METHOD, Choice, find_method, parse_n_clusters, parse_settings, slug
from manyview.cluster import TBGL, GraphEnsemble, available_methods


@pytest.mark.parametrize("method", available_methods(), ids=lambda method: method.name)
def test_every_method_is_found_under_its_names(method):
    for name in (slug(method.name), method.name, method.name.upper(), slug(method.name).replace("-", "_")):
        assert find_method(name) is method or find_method(name) == method


def test_the_default_is_the_first_of_the_registry():
    assert slug(available_methods()[0].name) == DEFAULT_METHOD


def test_an_unknown_method_brings_similar_ones():
    with pytest.raises(
        typer.BadParameter, match=r"no method 'tblg'\. Did you mean .*tbgl.*There are graph-ensemble, tb"
    ):
        find_method("tblg")


@pytest.mark.parametrize("name", ["invariant-tbgl", "InvariantTBGL"])
def test_a_former_name_says_what_became_of_it(name):
    with pytest.raises(typer.BadParameter, match=rf"'{name}' is called graph-ensemble now"):
        find_method(name)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1", 1),
        ("07", 7),
        (" 3", 3),
        ("auto", "auto"),
        ("AUTO", "auto"),
        ("2:60", range(2, 61)),
        ("2 : 6", range(2, 7)),
        ("3:3", range(3, 4)),
    ],
)
def test_number_of_clusters(text, number):
    assert parse_n_clusters(text, may_choose=True) == number


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("60:2", r"expected a range from a lower to a higher number, got '60:2'\. Did you mean 2:60\?"),
        ("1:5", "expected a range from 2 or more on, got '1:5'"),
        ("2:", "expected a whole number from 1 on, a range to choose from such as 2:60, or auto, got '2:'"),
        (":5", "such as 2:60, or auto, got ':5'"),
        ("2:6:8", "got '2:6:8'"),
        ("abc", "got 'abc'"),
        ("-2:5", "got '-2:5'"),
        ("2-60", r"got '2-60'\. Did you mean 2:60\?"),
        ("2..60", r"got '2..60'\. Did you mean 2:60\?"),
    ],
)
def test_no_range_of_numbers(text, message):
    with pytest.raises(typer.BadParameter, match=message):
        parse_n_clusters(text, may_choose=True)


@pytest.mark.parametrize("text", ["0", "-1", "abc", "2.5", "", "1e3", "auto", "2:6"])
def test_no_number_of_clusters(text):
    with pytest.raises(typer.BadParameter, match="expected a whole number from 1 on, got "):
        parse_n_clusters(text)


def test_settings_are_read_as_json_or_text():
    given = ["p=0.5", "max-iter=7", "anchors=random", "n_anchors=[1, 2]", "scaling=a=b"]
    assert parse_settings(given, find_method("tbgl")) == {
        "p": 0.5,
        "max_iter": 7,
        "anchors": "random",
        "n_anchors": [1, 2],
        "scaling": "a=b",
    }


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("p", "expected NAME=VALUE, got 'p'"),
        ("nose_weight=1", "TBGL has no parameter 'nose_weight' to set. Did you mean noise_weight"),
        ("k_range=[2, 3]", "TBGL has no parameter 'k_range' to set"),
        ("n_clusters=3", "TBGL has no parameter 'n_clusters' to set"),
    ],
)
def test_settings_that_cannot_be(setting, message):
    with pytest.raises(typer.BadParameter, match=message):
        parse_settings([setting], find_method("tbgl"))


def test_an_estimator_as_chosen():
    model = Choice("tbgl", ["p=0.5"], seed=3, jobs=1).estimator(4)
    assert isinstance(model, TBGL)
    assert (model.n_clusters, model.p, model.random_state, model.n_jobs) == (4, 0.5, 3, 1)
    assert isinstance(Choice().estimator(2), GraphEnsemble)


def test_words_ask_for_the_same():
    words = Choice("tbgl", ["p=0.5", "tol=1"], seed=3, jobs=1).words
    assert words == ["--method", "tbgl", "--set", "p=0.5", "--set", "tol=1", "--seed", "3", "--jobs", "1"]
