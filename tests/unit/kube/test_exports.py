"""The short names of `windlass.kube`: the same for type checkers and at run time, and imported when they are used."""

import ast
import subprocess
import sys

import pytest

import windlass.kube
from tests.house import source


def for_type_checkers() -> dict[str, str]:
    tree = ast.parse(source("kube/__init__.py").read_text(encoding="utf-8"))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    return {
        name.asname: f"{node.module}".removeprefix("windlass.kube.")
        for node in imports
        for name in node.names
        if name.asname
    }


def test_type_checkers_and_programs_find_each_name_in_the_same_module() -> None:
    assert for_type_checkers() == windlass.kube._MODULES


@pytest.mark.parametrize("name", windlass.kube._MODULES)
def test_each_name_is_there(name: str) -> None:
    assert hasattr(windlass.kube, name)
    assert name in dir(windlass.kube)


def test_a_misspelt_name_is_an_error() -> None:
    with pytest.raises(ImportError, match="cannot import name 'Controler'"):
        exec("from windlass.kube import Controler")


def test_the_package_alone_imports_none_of_the_modules() -> None:
    look = "import sys, windlass.kube; print([name for name in sys.modules if name.startswith('windlass.kube.')])"
    said = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True)
    assert said.stdout == "[]\n"
