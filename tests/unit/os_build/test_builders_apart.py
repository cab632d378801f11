"""What decides about pools knows no builder: a contract keeps the imports apart, this the names."""

import ast

from tests.house import SOURCES

KNOW = ("backends/", "request.py")
"""What makes builders, and what reads their names in the configuration."""


def test_only_backends_and_requests_name_a_builder() -> None:
    (folder,) = (found for sources in SOURCES if (found := sources / "windlass" / "os_build").is_dir())
    named = [
        f"{file.relative_to(folder)}:{node.lineno}: BackendName.{node.attr}: ask the Backend instead"
        for file in sorted(folder.rglob("*.py"))
        if not str(file.relative_to(folder)).startswith(KNOW)
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "BackendName"
    ]
    assert named == []
