"""Pages that must keep up with the code: the runbook, dependencies, flags, and links between pages."""

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from windlass.cli.conventions import options
from windlass.cli.run import machine_sync
from windlass.machine_sync.machine.synchronized import Reason

ROOT = Path(__file__).parents[3]
DOCS = ROOT / "docs"
NAMES = ("architecture", "dependencies", "install", "machine-sync", "runbook")
PAGES = [ROOT / "CONTRIBUTING.md", *(DOCS / f"{name}.md" for name in NAMES)]


def rows(page: Path, heading: str) -> list[str]:
    """First cells of the table rows in the section under `heading`."""
    text = page.read_text(encoding="utf-8").partition(f"\n{heading}\n")[2]
    level = heading.split()[0]
    section = re.split(rf"^#{{1,{len(level)}}} ", text, flags=re.MULTILINE)[0]
    return [cell for line in section.splitlines() if line.startswith("| `") for cell in [line.split("|")[1].strip()]]


def emitted() -> Iterator[str]:
    """Reasons of Events: what is passed as `reason` to `Emit(...)`."""
    for file in (ROOT / "src" / "windlass" / "machine_sync").rglob("*.py"):
        for call in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "Emit":
                (reason,) = [keyword.value for keyword in call.keywords if keyword.arg == "reason"]
                yield from (
                    part.value
                    for part in ast.walk(reason)
                    if isinstance(part, ast.Constant) and isinstance(part.value, str)
                )


def test_the_runbook_has_a_remedy_for_every_reason() -> None:
    assert sorted(rows(DOCS / "runbook.md", "## Reasons of Synchronized")) == sorted(f"`{reason}`" for reason in Reason)


def test_the_runbook_has_every_event() -> None:
    reasons = set(emitted())
    assert reasons
    assert set(rows(DOCS / "runbook.md", "## Events")) == {f"`{reason}`" for reason in reasons}


def test_every_dependency_has_its_line() -> None:
    tree = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))

    def names(requirements: list[str]) -> set[str]:
        return {f"`{re.split('[><=~! ;[]', requirement)[0]}`" for requirement in requirements}

    page = DOCS / "dependencies.md"
    extra = names(tree["project"]["optional-dependencies"]["testing"])
    assert set(rows(page, "## At run time")) == names(tree["project"]["dependencies"])
    assert set(rows(page, "## Extra `testing`")) == extra
    development = names(tree["dependency-groups"]["dev"]) | names(tree["build-system"]["requires"])
    assert set(rows(page, "## To build and to develop")) == development - extra


def test_the_page_has_every_flag_with_its_default() -> None:
    common = {name for option in options() for name in option.opts}
    flags: dict[str, click.Option] = {}
    for option in machine_sync.params:
        assert isinstance(option, click.Option)
        if not common & set(option.opts):
            flags |= dict.fromkeys((*option.opts, *option.secondary_opts), option)
    table = (DOCS / "machine-sync.md").read_text(encoding="utf-8").partition("\n## Flags\n")[2].partition("\n## ")[0]
    lines = [line for line in table.splitlines() if line.startswith("| `--")]
    assert {name for line in lines for name in re.findall(r"`(--[a-z-]+)`", line.split("|")[1])} == set(flags)
    for line in lines:
        name = re.findall(r"`(--[a-z-]+)`", line)[0]
        if isinstance(flags[name].default, str):
            assert line.split("|")[2].strip() == flags[name].default


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
