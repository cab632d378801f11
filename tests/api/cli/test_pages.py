"""What pages pipe into a cluster: a real API server takes it, and it is of the capability that the command names."""

import os
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.pages import DOCS, ROOT, Typed, typed
from windlass.cli.capabilities import CAPABILITIES
from windlass.testing import ControlPlane
from windlass.testing.plane.access import BlockingAccess

PAGES = [DOCS / "install.md", DOCS / "cli.md", DOCS / "policies.md"]
OURS = "windlass manifests "
INTO_A_CLUSTER = ("| kubectl apply -f -", "| kubectl delete -f -")
TO_A_FILE = " > "
"""Of a folder that is applied."""

OTHERS = ("...", "[", " --write ", " --check ")
"""Of commands that are a usage line, and of those that print no document."""

COMMANDS = [one for page in PAGES for one in typed(page)]
PIPED = [one for one in COMMANDS if one.command.endswith(INTO_A_CLUSTER) and not one.command.startswith("|")]
PRINTED = [
    one
    for one in COMMANDS
    if one.command.startswith(OURS) and one not in PIPED and not any(mark in one.command for mark in OTHERS)
]
PLURALS = {
    "ValidatingAdmissionPolicy": "validatingadmissionpolicies",
    "ValidatingAdmissionPolicyBinding": "validatingadmissionpolicybindings",
}


def run(one: Typed) -> list[dict[str, Any]]:
    """The documents that the command prints, before they go anywhere."""
    command = one.command.partition(" | ")[0].partition(TO_A_FILE)[0]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(shlex.split(command), capture_output=True, text=True, env={**os.environ, "PATH": path})
    assert done.returncode == 0, done.stderr
    if one.comment.startswith("what "):
        assert done.stdout == (ROOT / one.comment.split()[1]).read_text(encoding="utf-8")
    return list(yaml.safe_load_all(done.stdout))


@pytest.fixture
def plane(windlass_module_plane: ControlPlane) -> BlockingAccess:
    return windlass_module_plane.blocking


def make_namespaces(plane: BlockingAccess, documents: Sequence[dict[str, Any]]) -> None:
    """Those of the machines, which pages say must exist."""
    for name in {one["metadata"]["namespace"] for one in documents if "namespace" in one["metadata"]}:
        plane.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})


def kinds_and_names(documents: Sequence[dict[str, Any]]) -> list[tuple[str, str]]:
    return sorted((one["kind"], one["metadata"]["name"]) for one in documents)


def test_pages_pipe_into_a_cluster_only_what_is_checked_here() -> None:
    assert PIPED
    assert [one.command for one in PIPED if not one.command.startswith(OURS)] == []


@pytest.mark.parametrize("one", [*PIPED, *PRINTED], ids=str)
def test_an_api_server_takes_what_a_page_prints_and_it_is_of_one_capability(plane: BlockingAccess, one: Typed) -> None:
    documents = run(one)
    make_namespaces(plane, documents)
    plane.apply(*documents)
    words = one.command.split()
    what, name = words[2], words[3] if len(words) > 3 else ""
    named = {each["metadata"]["name"] for each in documents}
    others = {f"windlass-{other}" for other in CAPABILITIES if other != name}
    assert not [each for each in named for other in others if each.startswith(other)], "of another capability"
    if what == "policies":
        shipped = ROOT / "deploy" / name / "components" / "policies" / "policies.yaml"
        assert kinds_and_names(documents) == kinds_and_names([*yaml.safe_load_all(shipped.read_text(encoding="utf-8"))])
    if "kubectl delete" in one.command:
        for each in documents:
            path = f"/apis/{each['apiVersion']}/{PLURALS[each['kind']]}"
            plane.rest.request("DELETE", f"{path}/{each['metadata']['name']}")
            assert each["metadata"]["name"] not in str(plane.rest.request("GET", path))
