"""Types are made ready for decoding by one thread at a time: msgspec ends the process when two do it together."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import windlass.kube
import windlass.machine_sync

TOGETHER = """
import sys, threading
from msgspec import Struct
from windlass.kube import decoding

sys.setswitchinterval(1e-6)
for _ in range(100):
    class Inner(Struct):
        name: "str | None" = None
        labels: "dict[str, str] | None" = None

    class Middle(Struct):
        some: "list[Inner] | None" = None
        one: "Inner | None" = None

    class Outer(Struct):
        some: "list[Middle]" = []
        one: "Middle | None" = None

    for name, kind in {"Inner": Inner, "Middle": Middle}.items():
        globals()[name] = kind
    start = threading.Barrier(3)

    def use(call):
        start.wait()
        call()

    threads = [
        threading.Thread(target=use, args=(lambda: decoding.decode(b'{"some":[{"one":{"name":"a"}}]}', Outer),)),
        threading.Thread(target=use, args=(lambda: decoding.convert({"some": [{"name": "a"}]}, Middle),)),
        threading.Thread(target=use, args=(lambda: decoding.decoder(Outer),)),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
print("done")
"""


def test_threads_may_use_a_type_for_the_first_time_together() -> None:
    ended = subprocess.run([sys.executable, "-c", TOGETHER], capture_output=True, text=True, timeout=120, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "done\n", "")


def asks_msgspec_for_a_type(source: str) -> list[str]:
    """The calls in `source` that make msgspec look into a type."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        typed = bool(node.args) or bool(node.keywords)
        match ast.unparse(node.func):
            case "msgspec.json.Decoder" | "json.Decoder" | "Decoder" if typed:
                found.append(ast.unparse(node))
            case "msgspec.convert":
                found.append(ast.unparse(node))
            case "msgspec.json.decode" if any(keyword.arg == "type" for keyword in node.keywords):
                found.append(ast.unparse(node))
    return found


def sources() -> Iterator[Path]:
    """Every module of the runtime and of the capabilities."""
    for package in (Path(windlass.kube.__file__).parents[1], Path(windlass.machine_sync.__file__).parents[1]):
        yield from package.rglob("*.py")


@pytest.mark.parametrize(
    "call",
    ["msgspec.convert(tree, Machine)", "msgspec.json.decode(data, type=Machine)", "msgspec.json.Decoder(Machine)"],
)
def test_a_call_that_asks_msgspec_for_a_type_is_found(call: str) -> None:
    assert asks_msgspec_for_a_type(f"x = {call}") == [call]


@pytest.mark.parametrize("call", ["msgspec.json.decode(data)", "msgspec.json.Decoder()", "decoding.decode(data, A)"])
def test_plain_trees_may_be_decoded_anywhere(call: str) -> None:
    assert asks_msgspec_for_a_type(f"x = {call}") == []


def test_only_one_module_asks_msgspec_for_types() -> None:
    asking = {path.name: calls for path in sources() if (calls := asks_msgspec_for_a_type(path.read_text()))}
    assert list(asking) == ["decoding.py"]
