"""Observing holds no rule, and what asks is pure: read from the source, since both are easy to break by one line."""

import ast
from collections.abc import Iterator
from pathlib import Path

SOURCES = Path(__file__).parents[2] / "packages"
CAPABILITIES = ("machine_sync", "openstack", "os_build", "update_status")
MODULES = [
    path
    for capability in CAPABILITIES
    for path in sorted(SOURCES.glob(f"*/src/windlass/{capability}/**/*.py"))
    if "/cli/" not in str(path) and "/demo/" not in str(path)
]
TREES = {path.relative_to(SOURCES): ast.parse(path.read_text(encoding="utf-8")) for path in MODULES}
_IMPURE = (ast.Try, ast.Await, ast.With, ast.AsyncWith)
RULES = ("decide", "looking", "building", "deleting", "deletion", "situation", "drain", "admission", "step")
"""Modules of rules, by the last part of their names. A controller imports its `decide` to name it, and nothing else."""


def _observes(tree: ast.Module) -> Iterator[ast.AsyncFunctionDef]:
    for node in ast.walk(tree):
        if isinstance(node, ast.AsyncFunctionDef) and node.name == "observe":
            yield node


def _rules_of(tree: ast.Module) -> dict[str, str]:
    """The names that are imported from modules of rules."""
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module]
    return {
        name.asname or name.name: str(node.module)
        for node in imports
        for name in node.names
        if str(node.module).rpartition(".")[2] in RULES and not (name.name.isupper() or name.name.endswith("Snapshot"))
    }


def test_what_observes_reads_caches_alone_and_runs_no_rule() -> None:
    faults = []
    for path, tree in TREES.items():
        rules = _rules_of(tree)
        for observe in _observes(tree):
            asked = {each.arg for node in ast.walk(observe) if isinstance(node, ast.Call) for each in node.keywords}
            if asked & {"live", "confirm"}:
                faults.append(f"{path}: `observe` asks the API server; let the decision ask")
            used = {node.id for node in ast.walk(observe) if isinstance(node, ast.Name)} & set(rules)
            faults += [f"{path}: `observe` runs the rule {name} of {rules[name]}" for name in sorted(used)]
    assert not faults, "\n".join(faults)


def test_a_rule_that_asks_catches_nothing_and_waits_for_nothing() -> None:
    """It ends at each question, and is run again from its beginning."""
    asking, faults = 0, []
    for path, tree in TREES.items():
        for rule in (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)):
            calls = [node.func for node in ast.walk(rule) if isinstance(node, ast.Call)]
            if any(isinstance(each, ast.Attribute) and each.attr in ("need", "need_all") for each in calls):
                asking += 1
                if any(isinstance(node, _IMPURE) for node in ast.walk(rule)):
                    faults.append(f"{path}:{rule.lineno}: {rule.name} asks, and must be pure")
    assert not faults, "\n".join(faults)
    assert asking > 10
