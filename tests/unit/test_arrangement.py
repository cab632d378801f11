"""How tests are arranged: what several of them need is in a module of its own."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]


def imported(file: Path) -> Iterator[str]:
    """The last names of the modules that a file imports from, and of what it imports from packages."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            yield (node.module or "").rpartition(".")[2]
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name.rpartition(".")[2] for alias in node.names)


@pytest.mark.slow
def test_no_module_imports_a_module_of_tests() -> None:
    """It would bring along fixtures and, with other import modes, the tests themselves."""
    modules = {file.stem for file in TESTS.rglob("test_*.py")}
    found = {
        str(file.relative_to(TESTS)): wrong
        for file in sorted(TESTS.rglob("*.py"))
        if (wrong := sorted({*imported(file)} & modules))
    }
    assert found == {}


def test_no_module_needs_pytest_xdist() -> None:
    """Its marker is unknown without it, and says nothing to `--dist loadfile`."""
    marker = ".".join(("mark", "xdist_group"))
    assert [str(file) for file in sorted(TESTS.rglob("*.py")) if marker in file.read_text(encoding="utf-8")] == []
