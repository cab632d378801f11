"""What other systems send is read in few places, which this file lists, and in time in proportion to its length.

A new place fails a test here. Read JSON with `windlass.kube.foreign` and YAML with `windlass.kube.yaml_reader`; a place
that cannot is added to the list with the reason. Every pattern of the program is attacked, whatever it is used for.
"""

import ast
import re
import time
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, Final

import pytest
from msgspec import Struct

from tests.house import SOURCES
from windlass.kube import nesting
from windlass.kube.client.refusal import refusal
from windlass.kube.foreign import one_line
from windlass.kube.process import logs
from windlass.openstack.cloud.classify import classify
from windlass.openstack.cloud.session import Reply
from windlass.openstack.cloud.wire import Http
from windlass.os_build import failure
from windlass.os_build.backends.local.buildah import images_of
from windlass.os_build.failure import explain
from windlass.os_build.inputs.lint import lint_user_part
from windlass.os_build.inputs.machine_config import Unit
from windlass.os_build.inputs.units import unit_nodes

GET: Final = Http("compute", "GET", "/servers")

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

OWN: Final = {
    r"//.*@": "the URL of a proxy in the user's own kubeconfig",
    r"(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h)": "durations that were written here",
    r"(\d+(?:\.\d*)?|\.\d+)(ms|us|h|m|s)": "durations on the user's command line",
    "(?P<absent>": "selectors of controllers, in the model",
}
"""What is in the patterns that may take quadratic time, and what they read."""


def named(function: ast.expr) -> str:
    """`module.function`; `ast.unparse` would take seconds for all."""
    if isinstance(function, ast.Attribute):
        return f"{named(function.value)}.{function.attr}"
    return function.id if isinstance(function, ast.Name) else ""


def decodes(call: ast.Call) -> bool:
    name = named(call.func)
    json = r"json\.loads?|msgspec\.(json|yaml|msgpack)\.(decode|Decoder)|decoding\.decoder?|.*\.json"
    return bool(re.fullmatch(rf"{json}|yaml\.(\w+_)?load(_all)?|\w*Loader", name))


def reads_to_the_end(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr == "read" and not (call.args or call.keywords)


@cache
def modules() -> tuple[tuple[str, ast.Module], ...]:
    """All modules of the program but those of `windlass.testing`, which reads what tests start."""
    files = ((path.relative_to(root / "windlass").as_posix(), path) for root in SOURCES for path in root.rglob("*.py"))
    return tuple((name, ast.parse(path.read_text())) for name, path in sorted(files) if not name.startswith("testing/"))


@cache
def calls() -> tuple[tuple[str, ast.Call], ...]:
    return tuple((file, one) for file, tree in modules() for one in ast.walk(tree) if isinstance(one, ast.Call))


@pytest.mark.parametrize(("what", "known"), [(decodes, DECODES), (reads_to_the_end, BODIES)])
def test_every_place_that_reads_foreign_input_is_listed(
    what: Callable[[ast.Call], bool], known: dict[str, str]
) -> None:
    assert {file for file, call in calls() if what(call)} == {*known}


@pytest.mark.parametrize("body", [b'{"kind":"Status","x":' + b"[" * 60_000, b'{"kind":"Status","message":"\xff"}'])
def test_an_answer_of_a_proxy_that_is_no_json_is_a_refusal(body: bytes) -> None:
    assert refusal(502, {}, body, request="GET /").status.code == 502


class Used(Struct, frozen=True):
    """A pattern; `whole`: it is only compared with the beginning or all of a text, and not looked for in it."""

    text: str | bytes
    flags: int
    whole: bool


def patterns() -> Iterator[Used]:
    """Every pattern that is written down as one text."""
    for file, tree in modules():
        for one in ast.walk(tree):
            if isinstance(one, ast.Assign | ast.AnnAssign) and one.value is not None:
                target = one.targets[0] if isinstance(one, ast.Assign) else one.target
                name = named(target)
                how = {one.value.attr} if isinstance(one.value, ast.Attribute) else uses(name, file)
                yield from (
                    used(call, how)
                    for call in ast.walk(one.value)
                    if isinstance(call, ast.Call) and named(call.func) == "re.compile" and is_text(call.args[0])
                )
            elif isinstance(one, ast.Call) and is_direct(one) and is_text(one.args[0]):
                yield used(one, {named(one.func).removeprefix("re.")})
    for pattern in (failure._FULL, failure._UNTRUSTED, failure._DENIED, failure._GONE, failure._AWAY):
        yield Used(pattern.pattern, pattern.flags & ~re.UNICODE, whole=False)


def used(call: ast.Call, how: set[str]) -> Used:
    flags = " ".join(ast.unparse(one) for one in (*call.args[1:], *(one.value for one in call.keywords)))
    return Used(
        ast.literal_eval(call.args[0]),
        sum(getattr(re, name) for name in re.findall(r"\bre\.([A-Z]+)\b", flags)),
        whole=bool(how) and how <= {"match", "fullmatch"},
    )


def uses(name: str, file: str) -> set[str]:
    """The methods of the pattern `name` that are called, elsewhere too if the name is public."""
    return {method for where, owner, method in methods() if owner == name and (where == file or name[0] != "_")}


@cache
def methods() -> frozenset[tuple[str, str, str]]:
    """Module, name and method of all calls of the form `NAME.method(...)`."""
    return frozenset(
        (file, call.func.value.id, call.func.attr)
        for file, call in calls()
        if isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Name)
    )


def is_direct(call: ast.Call) -> bool:
    """A function of `re` that looks into a text at once."""
    return bool(re.fullmatch(r"re\.(search|match|fullmatch|split|findall|finditer|subn?)", named(call.func)))


def is_text(one: ast.expr) -> bool:
    return isinstance(one, ast.Constant)


def attacks(pattern: str | bytes) -> Iterator[tuple[str, str]]:
    """What to begin with, and what to repeat: words of the pattern, and signs that many patterns look for."""
    text = pattern.decode() if isinstance(pattern, bytes) else pattern
    words = dict.fromkeys(["a", *re.findall(r"[A-Za-z]{2,}|//|--", re.sub(r"\\[A-Za-z]", " ", text))[:6]])
    signs = "a0-_.:=,;/@<[\"'\\ \t\r\n\x1b"
    for again in dict.fromkeys([*signs, *words, *(word + sign for word in words for sign in signs)]):
        yield "", again
        for word in words:
            yield f"{word} ", again


def seconds(used: Used, attack: tuple[str, str], size: int) -> float:
    """Of CPU, for what is done with a pattern, on a text at whose end it fails."""
    first, again = attack
    text: Any = first + again * (size // len(again)) + "\0"
    text = text.encode() if isinstance(used.text, bytes) else text
    pattern: re.Pattern[Any] = re.compile(used.text, used.flags)
    began = time.process_time()
    pattern.fullmatch(text)
    for _ in () if used.whole else pattern.finditer(text):
        pass
    return time.process_time() - began


def is_quadratic(used: Used, attack: tuple[str, str]) -> bool:
    """8 times the text takes 64 times as long, where it should be 8 times."""
    if seconds(used, attack, 2**12) < 0.002:
        return False
    short, long = (min(seconds(used, attack, size) for _ in range(3)) for size in (2**11, 2**14))
    return long > 24 * short


def slow_for(used: Used) -> tuple[str, str] | None:
    return next((attack for attack in attacks(used.text) if is_quadratic(used, attack)), None)


@pytest.mark.parametrize("text", [r"<[^>]*>", r"\beyJ[\w-]{5,}\.", r"\r*\n", r"@[^/]*\.", r"//.*@"])
def test_the_attacks_find_patterns_that_froze_the_program(text: str) -> None:
    assert slow_for(Used(text, 0, whole=False))


def test_no_pattern_takes_quadratic_time() -> None:
    foreign = {each for each in patterns() if not any(own in str(each.text) for own in OWN)}
    assert {each.text: attack for each in foreign if (attack := slow_for(each))} == {}


INSTALLED: Final = ["[Install]\nWantedBy=a.target\n", "[Install]\nAlso=b@\n"]
READERS: Final[dict[str, tuple[Callable[[str], object], list[str]]]] = {
    "a fault of a cloud": (lambda text: classify(GET, Reply(404, {}, text.encode())), ["<", "[", "quota ", " "]),
    "a pause": (lambda text: classify(GET, Reply(429, {"retry-after": text}, b"")), ["9", "(", "Mon, ", "1 "]),
    "a refusal": (lambda text: refusal(500, {}, text.encode(), request="GET /"), ["<", "[", " "]),
    "an object": (lambda text: nesting.cut(text.encode()), ["[", '"', '\\"']),
    "a log line": (lambda text: logs._clean_text(text), ["eyJ-", "bearer ", "-----BEGIN "]),
    "a log of a build": (
        lambda text: explain(f"Error: {text}", exit_code=1, doing="build"),
        ["\r", "\x1b[", "a:", "\n"],
    ),
    "a Containerfile": (lint_user_part, ["RUN <<A\n", "\\\n", "RUN --a "]),
    "the images of a Containerfile": (images_of, ["\n", "FROM\n", "FROM --a "]),
    "a unit": (lambda text: [*unit_nodes([Unit("a.service", enabled=True, contents=text)])], INSTALLED),
    "text of others": (one_line, ["\x1b", " ", "a"]),
}


@pytest.mark.parametrize(("read", "parts"), READERS.values(), ids=[*READERS])
def test_what_reads_the_text_takes_time_in_proportion_to_it(read: Callable[[str], object], parts: list[str]) -> None:
    def spent(part: str, size: int) -> float:
        began = time.process_time()
        read(part * (size // len(part)))
        return time.process_time() - began

    slow = {part for part in parts if spent(part, 2**18) > max(0.1, 24 * spent(part, 2**15))}
    assert slow == set()
