"""Pages that must keep up with the code: reasons, Events, alerts, dependencies, flags, platforms, and links."""

import ast
import inspect
import re
import tomllib
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from types import ModuleType
from typing import Any, get_args, get_type_hints

import click
import pytest

from tests.house import ROOT, SOURCES, source
from windlass.api import update, update_insights, update_record
from windlass.capability.conventions.options import cluster_options, program_options
from windlass.cli.capabilities import CAPABILITIES
from windlass.cli.run import command as run
from windlass.machine_sync import machine, machine_set
from windlass.machine_sync.constants import BOOKKEEPING
from windlass.machine_sync.machine import reasons as of_machines
from windlass.machine_sync.machine_set import reasons as of_sets
from windlass.machine_sync.mirroring.migration import AUTHORITY_CHANGED
from windlass.machine_sync.platforms import Platform
from windlass.openstack import metrics as openstack_metrics
from windlass.openstack.cloud import metrics as cloud_metrics
from windlass.openstack.status import CLUSTER, FLOATING_READY, INSTANCE, POOL
from windlass.openstack.status import Reason as OpenStackReason
from windlass.os_build import counters as build_counters
from windlass.os_build import metrics as build_metrics
from windlass.os_build.builder import Cause, Obstacle
from windlass.os_build.constants import RESULT
from windlass.os_build.pool.beginning import REFUSED
from windlass.os_build.pool.conditions import VECTOR
from windlass.update_status import history
from windlass.update_status import metrics as update_metrics
from windlass.update_status.controller import events
from windlass.update_status.document import informed, limits
from windlass.update_status.informers import answers, churn, cleaning, fetching
from windlass.update_status.informers import decide as informers
from windlass.update_status.informers.admission import Reason as InformerReason
from windlass.update_status.report import Impact

DOCS = ROOT / "docs"
READMES = sorted((*(ROOT / "packages").glob("*/README.md"), *(ROOT / "examples").glob("*/README.md")))
PAGES = [ROOT / "CONTRIBUTING.md", ROOT / "README.md", *READMES, *sorted(DOCS.rglob("*.md"))]
TOY = ROOT / "tests" / "unit" / "machine_sync" / "conversion" / "test_new_platform.py"


def rows(page: Path, heading: str) -> list[str]:
    """First cells of the table rows in the section under `heading`."""
    text = page.read_text(encoding="utf-8").partition(f"\n{heading}\n")[2]
    level = heading.split()[0]
    section = re.split(rf"^#{{1,{len(level)}}} ", text, flags=re.MULTILINE)[0]
    return [cell for line in section.splitlines() if line.startswith("| `") for cell in [line.split("|")[1].strip()]]


def emitted() -> Iterator[str]:
    """Reasons of Events: what is passed as `reason` to `Emit(...)`."""
    for file in source("machine_sync").rglob("*.py"):
        for call in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "Emit":
                (reason,) = [keyword.value for keyword in call.keywords if keyword.arg == "reason"]
                yield from (
                    part.value
                    for part in ast.walk(reason)
                    if isinstance(part, ast.Constant) and isinstance(part.value, str)
                )


def of_both(reasons: type[StrEnum]) -> set[str]:
    """The reasons as pages write them, with the one that moving authority gives to Machines and MachineSets."""
    return {f"`{reason}`" for reason in (*reasons, AUTHORITY_CHANGED.reason)}


@pytest.mark.parametrize(
    ("heading", "reasons"), [("### Of Machines", of_machines.Reason), ("### Of MachineSets", of_sets.Reason)]
)
def test_the_runbook_has_a_remedy_for_every_reason(heading: str, reasons: type[StrEnum]) -> None:
    page = DOCS / "runbook.md"
    assert sorted([*rows(page, "### Of both"), *rows(page, heading)]) == sorted(of_both(reasons))


def test_the_runbook_has_a_remedy_for_every_reason_on_openstack() -> None:
    cells = rows(DOCS / "runbook.md", "### Reasons of OpenStack objects")
    assert sorted(re.findall(r"`(\w+)`", " ".join(cells))) == sorted(OpenStackReason)


def test_the_page_of_openstack_has_every_condition_and_metric() -> None:
    page = DOCS / "openstack.md"
    conditions = set(re.findall(r"`(\w+)`", " ".join(rows(page, "## Conditions"))))
    assert conditions == {*INSTANCE, *CLUSTER, *POOL, FLOATING_READY}
    metrics = f"{openstack_metrics.__doc__}{cloud_metrics.__doc__}"
    assert rows(page, "## Metrics") == re.findall(r"^\| (`\w+`) \|", metrics, re.MULTILINE)


def os_build_reasons() -> Iterator[str]:
    """Reasons of conditions: causes of failures, what is passed to `Problem(...)` and `BuildCondition(...)`, answers
    of registries."""
    yield from Cause
    yield from Obstacle
    yield from REFUSED.values()
    package = source("os_build")
    for file in package.rglob("*.py"):
        if file.relative_to(package).parts[0] in ("cli", "demo"):
            continue
        for call in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if (
                isinstance(call, ast.Call)
                and isinstance(call.func, ast.Name)
                and call.func.id in ("Problem", "BuildCondition")
            ):
                reason = call.args[1 if call.func.id == "BuildCondition" else 0]
                if isinstance(reason, ast.Constant) and isinstance(reason.value, str):
                    yield reason.value


def test_the_runbook_has_a_remedy_for_every_reason_of_image_builds() -> None:
    cells = rows(DOCS / "runbook.md", "### Reasons of image builds")
    assert sorted(re.findall(r"`(\w+)`", " ".join(cells))) == sorted({*map(str, os_build_reasons())})


def test_the_page_of_os_builds_has_every_condition_metric_and_annotation() -> None:
    page = DOCS / "os-build.md"
    assert set(re.findall(r"`(\w+)`", " ".join(rows(page, "## Conditions")))) == {*VECTOR}
    documented = f"{build_metrics.__doc__}{build_counters.__doc__}"
    assert sorted(rows(page, "## Metrics")) == sorted(re.findall(r"^\| (`\w+`) \|", documented, re.MULTILINE))
    assert rows(page, "### The result") == [f"`{name}`" for name in RESULT]


def test_the_page_has_every_reason() -> None:
    cells = rows(DOCS / "machine-sync.md", "## Condition and Events")
    listed = [reason for cell in cells for reason in re.findall(r"`[A-Z]\w+`", cell)]
    statuses = {"`True`", "`False`", "`Unknown`"}
    assert set(listed) - statuses == of_both(of_machines.Reason) | of_both(of_sets.Reason)
    assert len(listed) == len(set(listed))


def test_the_page_has_every_annotation_that_is_kept_on_mirrors() -> None:
    listed = rows(DOCS / "machine-sync.md", "### Annotations that we keep")
    assert listed == [f"`{annotation}`" for annotation in BOOKKEEPING]


@pytest.mark.parametrize("controller", [machine, machine_set], ids=lambda module: module.__name__)
def test_its_docstring_lists_every_module_of_a_controller(controller: ModuleType) -> None:
    assert controller.__doc__
    assert controller.__file__
    there = {file.stem for file in Path(controller.__file__).parent.glob("*.py")} - {"__init__"}
    listed = set(re.findall(r"^\| `(\w+)`", controller.__doc__, re.MULTILINE))
    assert listed <= there


def test_the_runbook_has_every_event() -> None:
    reasons = set(emitted())
    assert reasons
    assert set(rows(DOCS / "runbook.md", "## Events")) == {f"`{reason}`" for reason in reasons}


def test_the_runbook_has_every_event_of_updates() -> None:
    assert events.__doc__
    reasons = re.findall(r"^\| `(\w+)` \|", events.__doc__, re.MULTILINE)
    called = {
        argument.value
        for call in ast.walk(ast.parse(inspect.getsource(events)))
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "event"
        for argument in call.args[1:2]
        if isinstance(argument, ast.Constant)
    }
    assert set(reasons) == called
    cells = rows(DOCS / "runbook.md", "### Events of updates")
    assert sorted(re.findall(r"`(\w+)`", " ".join(cells))) == sorted(reasons)


def test_every_dependency_has_its_line() -> None:
    def names(requirements: list[str]) -> set[str]:
        found = {re.split("[><=~! ;[]", requirement)[0] for requirement in requirements}
        return {f"`{name}`" for name in found if not name.startswith("windlass-")}

    def read(folder: Path) -> dict[str, Any]:
        return tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))

    kube, testing, machines = (read(ROOT / "packages" / each) for each in ("kube", "testing", "machines"))
    page, extra = DOCS / "dependencies.md", testing["project"]["optional-dependencies"]["pytest"]
    assert set(rows(page, "## `windlass-kube`")) == names(kube["project"]["dependencies"])
    extras = machines["project"]["optional-dependencies"]
    of_machines = [*machines["project"]["dependencies"], *extras["openstack"], *extras["signing"]]
    assert set(rows(page, "## `windlass-machines`")) == names(of_machines)
    assert set(rows(page, "## Extra `pytest` of `windlass-testing`")) == names(extra)
    development = names(read(ROOT)["dependency-groups"]["dev"]) | names(kube["build-system"]["requires"])
    assert set(rows(page, "## To build and to develop")) == development - names(extra)


@pytest.mark.parametrize("capability", CAPABILITIES)
def test_the_page_has_every_flag_with_its_default(capability: str) -> None:
    common = {name for option in (*cluster_options(), *program_options()) for name in option.opts}
    command = run.get_command(click.Context(run), capability)
    assert command is not None
    flags: dict[str, click.Option] = {}
    for option in command.params:
        assert isinstance(option, click.Option)
        if not common & set(option.opts):
            flags |= dict.fromkeys((*option.opts, *option.secondary_opts), option)
    page = (DOCS / f"{capability}.md").read_text(encoding="utf-8")
    table = page.partition("\n## Flags\n")[2].partition("\n## ")[0]
    lines = [line for line in table.splitlines() if line.startswith("| `--")]
    assert {name for line in lines for name in re.findall(r"`(--[a-z-]+)`", line.split("|")[1])} == set(flags)
    for line in lines:
        name = re.findall(r"`(--[a-z-]+)`", line)[0]
        if isinstance(flags[name].default, str):
            assert line.split("|")[2].strip() == (flags[name].default or "none")


def test_the_page_of_updates_has_every_metric_event_and_reason() -> None:
    page = DOCS / "update-status.md"

    def documented(module: ModuleType) -> list[str]:
        assert module.__doc__
        return re.findall(r"^\| (`\w+`) \|", module.__doc__, re.MULTILINE)

    assert rows(page, "## Metrics") == documented(update_metrics)
    assert re.findall(r"`\w+`", " ".join(rows(page, "## Events"))) == documented(events)
    text = page.read_text(encoding="utf-8").partition("\n### Conditions\n")[2].partition("\n### ")[0]
    hints = get_type_hints(update.OwnCondition)
    named = {*get_args(hints["type"]), *get_args(hints["reason"])}
    assert {
        word for line in text.splitlines() if line.startswith("|") for word in re.findall(r"`(\w+)`", line)
    } == named


def test_the_page_and_the_runbook_have_every_reason_and_event_of_informers() -> None:
    for page, heading in (("informers.md", "### Conditions"), ("runbook.md", "### Reasons of informers")):
        listed = re.findall(r"`(\w+)`", " ".join(rows(DOCS / page, heading)))
        assert [one for one in listed if one in set(InformerReason)] == [*InformerReason]
    reasons = re.findall(
        r"`(\w+)`", " ".join(re.findall(r"^ +\| (`.+?`) \|", str(informers._events.__doc__), re.MULTILINE))
    )
    assert re.findall(r"`(\w+)`", " ".join(rows(DOCS / "informers.md", "### Events"))) == reasons
    runbook = (DOCS / "runbook.md").read_text(encoding="utf-8")
    assert all(f"`{reason}`" in runbook for reason in reasons)


def test_the_page_of_informers_has_the_limits_and_the_types_of_insights() -> None:
    page = " ".join((DOCS / "informers.md").read_text(encoding="utf-8").split())
    for said in (
        f"| {informed.MOST} informers |",
        f"| {answers.MOST_INSIGHTS} insights of one informer |",
        f"| {churn.MOST_NEW} new uids of one informer in ten minutes |",
        f"{fetching.LARGEST // 1024} KiB of an answer, {fetching.LONGEST_HEADER // 1024} KiB of a header, "
        f"{answers.DEEPEST} levels",
        f"{answers.MOST_SUMMARY} characters of a summary, {answers.MOST_DESCRIPTION:,} of a description",
        f"{update_insights.MOST_RESOURCES} resources, {cleaning.MOST_LINK} characters of a link",
        f"{informed.MOST_BYTES // 1024} KiB of all informers",
        ", ".join(f"`{impact}`" for impact in Impact if impact is not Impact.UNKNOWN),
        ", ".join(f"`{prefix}`" for prefix in answers.BUILT_IN[:-1]) + f" or `{answers.BUILT_IN[-1]}`",
    ):
        assert said in page


def test_the_page_of_updates_has_the_limits_of_object_and_records() -> None:
    page = " ".join((DOCS / "update-status.md").read_text(encoding="utf-8").split())
    for said in (
        f"{update.MOST_IN_CONTROL_PLANE} insights per informer in the control plane, {update.MOST_IN_POOL:,} in a pool",
        f"{limits.MOST_BYTES // 1024} KiB of insights and texts",
        f"{informed.MOST} informers of others, {informed.MOST_BYTES // 1024} KiB in all",
        f"{update.MOST_POOLS} pools",
        f"{update.MOST_GAPS} gaps, {update.MOST_UNASSIGNED} nodes without a pool",
        f"{update_insights.MOST_MESSAGE:,} characters of a message, {update_insights.MOST_NODE_MESSAGE} of the message",
        f"The newest {history.KEPT} are kept, {history.LARGEST // 1024} KiB in all",
        f"at most {update_record.MOST_NODES:,} nodes and {update_record.MOST_TROUBLES} insights",
    ):
        assert said in page


def lines(*nodes: ast.stmt, source: list[str]) -> int:
    """How many lines these take that are not empty."""
    return sum(bool(line.strip()) for node in nodes for line in source[node.lineno - 1 : node.end_lineno])


def test_the_page_says_how_many_lines_a_platform_takes() -> None:
    source = TOY.read_text(encoding="utf-8")
    body = ast.parse(source).body
    types = [node for node in body if isinstance(node, ast.ClassDef)]
    conversions = [node for node in body if isinstance(node, ast.FunctionDef) and node.name.endswith("_part")]
    values = [node for node in body if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "TOY"]
    counted = [lines(*nodes, source=source.splitlines()) for nodes in (types, conversions, values)]
    page = " ".join((DOCS / "platforms.md").read_text(encoding="utf-8").split())
    said = "It takes {} lines: {} of types, {} of conversion in both directions, {} to register it."
    assert said.format(sum(counted), *counted) in page


def test_the_page_has_every_field_of_a_platform() -> None:
    cells = " ".join(rows(DOCS / "platforms.md", "## The fields of `Platform`"))
    assert set(re.findall(r"`(\w+)`", cells)) == set(Platform.__struct_fields__)


def anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^a-z0-9 _-]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_somewhere(page: Path) -> None:
    text = re.sub(r"^```.*?^```|^    .*?$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    for target in re.findall(r"\]\(([^)]+)\)", text):
        if target.startswith("https://"):
            continue
        name, _, anchor = target.partition("#")
        to = (page.parent / name).resolve() if name else page
        assert to.exists(), target
        assert not anchor or anchor in anchors(to), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_path_that_is_named_exists(page: Path) -> None:
    for path in re.findall(r"`((?:src|tests|deploy|docs|examples)/[\w./-]+)`", page.read_text(encoding="utf-8")):
        assert (ROOT / path).exists(), path


def test_each_rule_of_what_is_never_done_names_tests_that_exist() -> None:
    rules = (DOCS / "never.md").read_text(encoding="utf-8").partition("\n## The rules\n")[2].partition("\n## ")[0]
    table = [line for line in rules.splitlines() if line.startswith("| ")][1:]
    assert table
    for line in table:
        named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", line)
        assert named, line
        for file, name in named:
            tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
            functions = (each for each in ast.walk(tree) if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef))
            assert name in {each.name for each in functions}, f"{file} has no {name}"


def test_each_defence_names_tests_that_exist() -> None:
    """A table's head names the folder of its tests; other paths are from the root."""
    folder, defended = Path("."), 0
    for line in (DOCS / "security.md").read_text(encoding="utf-8").splitlines():
        if line.startswith("|"):
            if head := re.search(r"test in `([\w/]+)` \|$", line):
                folder = Path(head[1])
            elif folder != Path(".") and not line.startswith("|-"):
                named = re.findall(r"`([\w/]+\.py)`", line.rstrip(" |").rpartition("|")[2])
                defended += bool(named)
                missing = [each for each in named if not any((ROOT / at / each).exists() for at in (folder, "."))]
                assert named, f"names no test: {line}"
                assert not missing, line
        else:
            folder = Path(".")
    assert defended > 15


def expanded(path: str) -> list[str]:
    """`a/{b,c}.py` as a shell reads it."""
    before, brace, rest = path.partition("{")
    inside, _, after = rest.partition("}")
    return [whole for one in inside.split(",") for whole in expanded(f"{before}{one}{after}")] if brace else [path]


def test_what_moved_is_where_the_map_says() -> None:
    table = (DOCS / "architecture.md").read_text(encoding="utf-8").partition("\n## Where things were\n")[2]
    now = " ".join(line.strip("| ").split(" | ")[1] for line in table.splitlines() if line.startswith("| `"))
    paths = (each for path in re.findall(r"`([\w/{},]+/[\w/{},]+\.py)`", now) for each in expanded(path))
    named = [path for path in paths if not path.startswith("C/")]  # C is any capability
    files = [file.as_posix() for sources in SOURCES for file in sources.rglob("*.py")]
    assert len(named) > 20
    assert [each for each in named if not any(file.endswith(f"/{each}") for file in files)] == []
