"""What other systems send is read in few places, which this file lists.

A new place fails a test here. Read JSON with `windlass.kube.foreign` and YAML with `windlass.kube.yaml_reader`; a place
that cannot is added to the list with the reason.
"""

import ast
import re
from collections.abc import Callable
from functools import cache
from typing import Final

import pytest

from tests.house import SOURCES
from windlass.kube.client.refusal import refusal

DECODES: Final = {
    # foreign text
    "kube/foreign.py": "the way to read JSON",
    "kube/decoding.py": "what the others decode with",
    "kube/yaml_reader.py": "the way to read YAML",
    "kube/client/client.py": "the API server; what is too deep is cut",
    "kube/client/reading.py": "the API server; what is too deep is cut",
    "kube/client/refusal.py": "the API server, or a proxy: no error leaves it",
    "kube/client/watch.py": "the API server; what is too deep is cut",
    "kube/object.py": "objects; one that is too deep is unreadable",
    "update_status/informers/answers.py": "informers: its depth is known before it is decoded",
    "update_status/reading/alerts.py": "Thanos: `oc` refuses what JSON does not know, too",
    "capability/documents/reading.py": "files of users and must-gathers, with the line of an error",
    "machine_sync/conversion/unmarshal.py": "provider specs, as Go reads them",
    "os_build/inputs/machine_config.py": "MachineConfigs, which the API server has checked",
    "web/app.py": "requests of the page: the frame limits the body",
    # our own text, of a program of the user, or of the user's own files
    "kube/config/exec_plugin.py": "the plugin that the user's kubeconfig names",
    "model/schema.py": "what was encoded before",
    "update_status/document/validity.py": "what was encoded before",
    "openstack/refused.py": "an object that was read",
    "openstack/versions/__init__.py": "what conversion has written, after a check",
    "openstack/versions/documents.py": "documents that were read",
    "update_status/reading/dump.py": "documents that were read",
    "capability/documents/yaml_dialect.py": "a constant",
    "os_build/backends/local/builds.py": "a file of buildah's own store",
    "os_build/backends/local/records.py": "a file that was written here",
    "demo/stage.py": "the plane of the demo",
}
"""The modules that decode JSON or YAML, and what it is."""

BODIES: Final = {
    "kube/client/transport.py": "the API server",
    "informer.py": "the controller, which has shown its token",
    "kube/process/accepting.py": "a request, whose body aiohttp limits",
    "os_build/backends/local/_keeper.py": "a file of /proc",
    "os_build/backends/local/records.py": "its own method",
}
"""The modules that read something to its end, whatever its length."""


def decodes(call: ast.Call) -> bool:
    name = ast.unparse(call.func)
    json = r"json\.loads?|msgspec\.(json|yaml|msgpack)\.(decode|Decoder)|decoding\.decoder?|.*\.json"
    return bool(re.fullmatch(rf"{json}|yaml\.(\w+_)?load(_all)?|\w*Loader", name))


def reads_to_the_end(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr == "read" and not (call.args or call.keywords)


@cache
def calls() -> tuple[tuple[str, ast.Call], ...]:
    """All calls of the program, with their module; the parts that only tests and demos start are left out."""
    found = []
    for root in SOURCES:
        for path in sorted(root.rglob("*.py")):
            file = path.relative_to(root / "windlass").as_posix()
            if not file.startswith("testing/"):
                found += [(file, one) for one in ast.walk(ast.parse(path.read_text())) if isinstance(one, ast.Call)]
    return tuple(found)


@pytest.mark.parametrize(("what", "known"), [(decodes, DECODES), (reads_to_the_end, BODIES)])
def test_every_place_that_reads_foreign_input_is_listed(
    what: Callable[[ast.Call], bool], known: dict[str, str]
) -> None:
    assert {file for file, call in calls() if what(call)} == {*known}


@pytest.mark.parametrize("body", [b'{"kind":"Status","x":' + b"[" * 60_000, b'{"kind":"Status","message":"\xff"}'])
def test_an_answer_of_a_proxy_that_is_no_json_is_a_refusal(body: bytes) -> None:
    assert refusal(502, {}, body, request="GET /").status.code == 502
