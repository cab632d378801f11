"""What `-o` accepts, and what it prints for programs."""

import json
from typing import Any

import click
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from tests.explore import examples
from windlass.capability.conventions import output
from windlass.capability.documents import yaml_dialect

TREE = {"name": "größe", "tags": []}


@click.command()
@output.forms("table", "json")
def command(form: str) -> None:
    click.echo(form)


@pytest.mark.parametrize(
    ("arguments", "form"), [([], "table"), (["-o", "json"], "json"), (["--output=table"], "table")]
)
def test_the_first_form_is_the_default(arguments: list[str], form: str) -> None:
    assert CliRunner().invoke(command, arguments).output == f"{form}\n"


def test_another_form_is_refused_with_those_that_there_are() -> None:
    refused = CliRunner().invoke(command, ["-o", "yaml"])

    assert refused.exit_code == 2
    assert "'table', 'json'" in refused.stderr


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ("json", '{\n  "name": "größe",\n  "tags": []\n}\n'),
        ("yaml", "name: größe\ntags: []\n"),
    ],
)
def test_a_document_ends_with_its_last_line(form: str, text: str) -> None:
    assert output.document(form, TREE) == text


def test_a_list_is_one_object_with_items() -> None:
    assert output.items("yaml", [TREE, TREE]).count("- name: größe") == 2
    assert output.items("yaml", iter([TREE])) == "items:\n- name: größe\n  tags: []"
    assert output.items("json", []) == '{\n  "items": []\n}'


def test_a_watch_prints_a_line_of_json_or_a_yaml_document_after_a_separator() -> None:
    assert output.one_of_many("json", TREE) == '{"name": "größe", "tags": []}'
    assert output.one_of_many("yaml", TREE) == "---\nname: größe\ntags: []"


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ("json", '{\n  "said": "\\u001b[31m\\r\\u009b\\u202e\\ud83d"\n}\n'),
        ("yaml", 'said: "\\e[31m\\r\\x9B\\U0000202E"\n'),
    ],
)
def test_what_a_terminal_would_obey_is_escaped(form: str, text: str) -> None:
    half = "\ud83d" if form == "json" else ""  # YAML has none
    assert output.document(form, {"said": f"\x1b[31m\r\x9b\u202e{half}"}) == text


texts = st.text()
trees = st.recursive(texts, lambda one: st.lists(one, max_size=3) | st.dictionaries(texts, one, max_size=3))


@given(trees)
@examples()
def test_whatever_is_printed_is_printable_and_read_back_the_same(tree: Any) -> None:
    as_json, as_yaml = output.document("json", tree), output.document("yaml", tree)
    assert all(line.isprintable() for text in (as_json, as_yaml) for line in text.split("\n"))
    assert json.loads(as_json) == tree
    assert [found for _, found in yaml_dialect.load_all(as_yaml)] == [tree]
