"""Modules import each other in one direction: imports inside functions count too, those for types alone do not."""

from graphlib import CycleError, TopologicalSorter

import grimp
import pytest


def circle(imports: dict[str, set[str]]) -> list[str]:
    """Modules each of which imports the one before it, the last of which is the first; none if there is no circle."""
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        found: list[str] = error.args[1]
        return found
    return []


def test_no_modules_import_each_other_in_a_circle() -> None:
    graph = grimp.build_graph("windlass", exclude_type_checking_imports=True, cache_dir=None)
    imports = {each: graph.find_modules_directly_imported_by(each) for each in graph.modules}
    assert len(imports) > 700
    assert circle(imports) == []


@pytest.mark.parametrize(
    ("imports", "found"), [({"a": {"b", "c"}, "b": {"c"}}, []), ({"a": {"b"}, "b": {"a"}}, ["a", "b", "a"])]
)
def test_a_circle_is_found(imports: dict[str, set[str]], found: list[str]) -> None:
    assert circle(imports) == found
