"""What pages tell people to type: Windlass from a checkout, an image before the first apply, true counts."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.pages import DOCS, PAGES, ROOT, typed
from windlass.cli.capabilities import CAPABILITIES, capability
from windlass.machine_sync.demo.story import STORY

WITH_TEXT = {".md", ".py", ".toml", ".yaml", ".js", ".html", ".svg", ""}
BARE = re.compile(
    r"""(?x)
    \b (?: pip3? | pipx | uv | uvx | uv\ pip | uv\ tool | poetry | pdm ) \b (?! \s uninstall)  # an installer,
    [^\n`|;&#]*?                                                                        # then
    [ '"] windlass (?: \[ [a-z,]+ \] )? (?: [=<>~!@]=? [\w.]+ )? (?= ['"`\s,)] | $ )     # the bare name of a package
    | (?<! [\w./~-] ) windlass \[ [a-z,]+ \] (?! \s* @ )                                 # an extra by that name
    """
)
"""A package of this name on PyPI is somebody else's program."""


def texts() -> Iterator[Path]:
    """What people read or run: pages, messages, examples, manifests, the build."""
    for place in ("docs", "examples", "deploy", "bench", "packages", ".ci", "tools"):
        yield from (file for file in (ROOT / place).rglob("*") if file.is_file() and file.suffix in WITH_TEXT)
    yield from (file for file in ROOT.iterdir() if file.is_file() and file.suffix in WITH_TEXT)


@pytest.mark.parametrize(
    "text",
    [
        "pip install windlass",
        "python3 -m pip install -U windlass",
        "pip3 install 'windlass[testing]'",
        "uv tool install windlass            # or",
        "uvx windlass status",
        "pipx install windlass",
        "uv pip install windlass==0.1.0",
        "uv add --dev 'windlass[testing]'",
        'dev = ["windlass[testing]"]',
        "which `windlass[testing]` brings",
    ],
)
def test_the_package_of_somebody_else_is_recognized(text: str) -> None:
    assert BARE.search(text)


@pytest.mark.parametrize(
    "text",
    [
        "uv tool install .",
        "pip install './windlass[testing]'",
        "pip uninstall windlass",
        "windlass status",
        "uv run windlass status",
    ],
)
def test_installing_from_a_checkout_is_not_mistaken_for_it(text: str) -> None:
    assert not BARE.search(text.replace("uv run windlass", "run windlass"))


def test_nothing_installs_the_package_of_somebody_else() -> None:
    found = [
        f"{file.relative_to(ROOT)}: {match[0].strip()}"
        for file in texts()
        for match in BARE.finditer(file.read_text(encoding="utf-8"))
    ]
    assert not found, "Windlass is not on PyPI: install it from a checkout"


OF_UV = re.compile(r"\buv (?:tool|pip) install [^\n`]*\./packages/[^\n`]*(?:\n[^\n`]+)*")


def test_uv_copies_what_it_installs_from_a_checkout() -> None:
    """Otherwise it links the other packages of the workspace to the checkout, and the program ends with that folder."""
    found = {
        f"{file.relative_to(ROOT)}: {match[0]}": match[0]
        for file in texts()
        for match in OF_UV.finditer(file.read_text(encoding="utf-8"))
    }
    assert {name.partition(":")[0] for name in found} >= {"README.md", "docs/install.md"}
    assert [name for name, command in found.items() if "--no-sources" not in command] == []


SET_IMAGE = re.compile(r"\(cd deploy/(?P<name>[\w-]+)/base && kustomize edit set image |for base in deploy/\*/base; ")
SHOWN = {"README.md", "install.md"}
"""Pages that show how the image is set; others refer to it."""
WITHOUT = {"demo.md", "runbook.md"}
"""No Pod runs in the demo; the runbook is about clusters that have an image."""


def applied() -> Iterator[tuple[str, str, str]]:
    """Page, folder, and what stands before it, of each command in a block that starts Pods."""
    for page in PAGES:
        for one in typed(page):
            match = re.match(r"kubectl apply -k deploy/([\w-]+)(/[\w-]+)?$", one.command)
            if match and one.block and match[2] != "/crds" and page.name not in WITHOUT:
                yield page.name, match[1], one.before


def test_an_image_is_set_before_the_first_apply() -> None:
    """The image that the folders name is nowhere."""
    found = [*applied()]
    assert {page for page, _, _ in found} > SHOWN
    for page, name, before in found:
        set_so_far = {match["name"] or name for match in SET_IMAGE.finditer(before)}
        assert name in set_so_far if page in SHOWN else "(install.md#" in before, f"{page}: deploy/{name}"


def test_the_first_paragraph_of_the_readme_names_every_capability_and_what_it_writes() -> None:
    first = (ROOT / "README.md").read_text(encoding="utf-8").split("\n\n")[1]
    told = [re.search(rf"(?<![\w-]){name} [^:]+: it writes ", " ".join(first.split())) for name in CAPABILITIES]
    assert all(told), [*zip(CAPABILITIES, told, strict=True)]


IN_WORDS = ["none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]


def test_pages_count_the_kinds_of_each_capability() -> None:
    count = {name: len(capability(name).install(home="any").owned) for name in CAPABILITIES}
    said = " ".join((DOCS / "cli.md").read_text(encoding="utf-8").split())
    assert f"openstack has {IN_WORDS[count['openstack']]}, update-status {IN_WORDS[count['update-status']]}," in said
    assert [name for name in CAPABILITIES if not count[name]] == ["machine-sync", "os-build"]
    installed = " ".join((DOCS / "install.md").read_text(encoding="utf-8").split())
    assert "OpenStackCluster, OpenStackMachine, their templates" in installed
    for name in CAPABILITIES:
        for owned in capability(name).install(home="any").owned:
            resource = owned.kind.RESOURCE
            assert {resource.kind.removesuffix("Template"), resource.plural} & {*re.findall(r"\w+", installed)}


def test_the_readme_counts_the_capabilities_and_the_steps_of_the_demo() -> None:
    said = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    assert f"Windlass is {IN_WORDS[len(CAPABILITIES)]} capabilities" in said
    assert f"All {len(STORY)} steps, and what is real in them" in said
    assert f"of the {len(STORY)} steps of make demo" in said


def test_the_proposal_counts_kinds_and_alerts() -> None:
    said = " ".join((DOCS / "proposals" / "update-status.md").read_text(encoding="utf-8").split())
    rules = ROOT / "deploy" / "update-status" / "components" / "alerts" / "prometheus-rule.yaml"
    groups = yaml.safe_load(rules.read_text(encoding="utf-8"))["spec"]["groups"]
    assert f"applies {IN_WORDS[len(capability('update-status').install(home='any').owned)]} CRDs" in said
    assert f"{IN_WORDS[sum(len(group['rules']) for group in groups)]} alerts" in said
