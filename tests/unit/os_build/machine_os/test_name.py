"""Names of MachineOSBuilds are those that the Machine Config Operator gives: its own vector, and what counts."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tests.explore import examples
from tests.unit.os_build.machine_os.samples import CONFIG, machine_os_config, pool, rendered
from windlass.os_build.constants import RELEASE
from windlass.os_build.machine_os.name import CONTROLLER, build_name, written
from windlass.os_build.request import Problem


def named(**changes: Any) -> str | Problem:
    config, of, merged = changes.get("config", {}), changes.get("pool", {}), changes.get("rendered", {})
    return build_name(
        machine_os_config(**config), pool(**of), rendered(**{"osImageURL": "r.example.com/os:1", **merged})
    )


def test_the_name_is_that_of_the_operators_own_vector() -> None:
    """B18. The images of the vector are what they are."""
    repository = "registry.hostname.com/org/repo"
    config = machine_os_config(
        containerFile=[], renderedImagePushSecret={"name": ""}, renderedImagePushSpec=f"{repository}:latest"
    )
    merged = rendered(
        annotations={RELEASE: "release-version", CONTROLLER: "any"},
        osImageURL=f"{repository}@sha256 string = 220a60ecd4a3c32c282622a625a54db9ba0ff55b5ba9c29c7064a2bc358b6a3e",
        baseOSExtensionsContainerImage=(
            f"{repository}@sha256 string = 5fb4ba1a651bae8057ec6b5cdafc93fa7e0b7d944d6f02a4b751de4e15464def"
        ),
    )
    assert build_name(config, pool(config=""), merged) == "worker-699e6be74658adcb3ff2b48f32cd1584"


SAME: dict[str, dict[str, Any]] = {
    "paused": {"pool": {"paused": True}},
    "labels-of-the-pool": {"pool": {"annotations": {"a": "b"}, "labels": {"c": "d"}}},
    "status": {"config": {"status": {"observedGeneration": 3}}},
    "files": {"rendered": {"config": {"storage": {"files": [{"path": "/etc/a"}]}}}},
}
OTHER: dict[str, dict[str, Any]] = {
    "no-containerfile-and-an-empty-one": {"config": {"containerFile": []}},
    "containerfile": {"config": {"containerFile": [{"containerfileArch": "NoArch", "content": "FROM configs\n"}]}},
    "target": {"config": {"renderedImagePushSpec": "registry.example.com/other:latest"}},
    "tag": {"config": {"renderedImagePushSpec": "registry.example.com:5000/org/os:other"}},
    "push-secret": {"config": {"renderedImagePushSecret": {"name": "other"}}},
    "pull-secret": {"config": {"baseImagePullSecret": {"name": "pull"}}},
    "rendered-config": {"pool": {"config": "rendered-worker-2"}},
    "order-of-sources": {"pool": {"source": ("b", "a")}},
    "os-image": {"rendered": {"osImageURL": "r.example.com/os:2"}},
    "extensions-image": {"rendered": {"baseOSExtensionsContainerImage": "r.example.com/extensions:1"}},
    "release": {"rendered": {"annotations": {RELEASE: "4.20.1", CONTROLLER: "v1"}}},
}


@pytest.mark.parametrize("changes", SAME.values(), ids=SAME)
def test_what_does_not_count_leaves_the_name(changes: dict[str, Any]) -> None:
    assert named(**changes) == named()


def test_whatever_counts_gives_another_name_each() -> None:
    names = [named(), *(named(**changes) for changes in OTHER.values()), named(pool={"source": ("a", "b")})]
    assert all(isinstance(name, str) and name.startswith("worker-") for name in names)
    assert len({*names}) == len(names)


WRONG: dict[str, tuple[dict[str, Any], str, str]] = {
    "pool-of-another": (
        {"pool": {"name": "infra"}},
        "PoolMismatch",
        "MachineOSConfig worker is for MachineConfigPool worker, not for infra: correct spec.machineConfigPool.name",
    ),
    "not-rendered": (
        {"rendered": {"name": "50-worker"}},
        "NotRendered",
        "MachineConfig 50-worker is not a rendered one: its name begins with rendered-",
    ),
    "no-release": (
        {"rendered": {"annotations": {CONTROLLER: "v1"}}},
        "NotRendered",
        f"MachineConfig {CONFIG} has no annotation {RELEASE}: the Machine Config Operator sets it when it renders; "
        "delete the MachineConfig, and it is rendered again",
    ),
    "empty-version": (
        {"rendered": {"annotations": {RELEASE: "4.20.0", CONTROLLER: ""}}},
        "NotRendered",
        f"MachineConfig {CONFIG} has no annotation {CONTROLLER}: the Machine Config Operator sets it when it renders; "
        "delete the MachineConfig, and it is rendered again",
    ),
}


@pytest.mark.parametrize(("changes", "reason", "text"), WRONG.values(), ids=WRONG)
def test_without_a_name_it_is_said_why(changes: dict[str, Any], reason: str, text: str) -> None:
    assert named(**changes) == Problem(reason, text)


TABLE = Path(__file__).parents[3] / "data" / "os_build" / "go_yaml" / "table.jsonl"
ROWS = [json.loads(line) for line in TABLE.read_text(encoding="utf-8").splitlines()]
TEXTS = st.text(
    st.characters(exclude_categories=("Cs", "Cc"), include_characters="\n\t", exclude_characters="\u2028\u2029")
)


def test_the_table_has_rows_of_all_sorts() -> None:
    assert len(ROWS) > 150
    assert {one for row in ROWS for one in ('"', "'", "|-", "|+", "|2", "- ") if one in row["yaml"]} == {
        '"', "'", "|-", "|+", "|2", "- ",
    }  # fmt: skip


@pytest.mark.parametrize("row", ROWS, ids=lambda row: json.dumps(row["document"])[:60])
def test_a_document_is_written_as_the_library_writes_it(row: dict[str, Any]) -> None:
    assert written(row["document"]).decode() == row["yaml"]


@given(TEXTS)
@examples(300)
def test_any_text_reads_back_as_itself(text: str) -> None:
    tree = {"next": "x", "text": text}
    assert yaml.load(written(tree), Loader=yaml.BaseLoader) == tree


def test_the_order_of_keys_does_not_matter() -> None:
    assert written({"b": "1", "a": {"d": None, "c": []}}) == written({"a": {"c": [], "d": None}, "b": "1"})
