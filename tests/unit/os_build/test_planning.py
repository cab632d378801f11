"""`windlass plan os-build -f FILE`: which builder would start, and why none would."""

import base64
import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.unit.os_build.world import TARGET, config_map, machine_config, pool, secret
from windlass.api.machineconfiguration import GROUP
from windlass.cli import main
from windlass.os_build.constants import BUILDER_CONFIG, IMAGE, IMAGE_INPUTS, LAYERING, RESULT

PASSWORD = "aHVudGVyMjpodW50ZXIy"
DATA = {"baseImagePullSecretName": "pull", "finalImagePushSecretName": "push", "finalImagePullspec": TARGET}
SAYS = "merge MachineConfigPool"
EVENT = "event Warning {} on MachineConfigPool"
BUILDERS = config_map(BUILDER_CONFIG, **DATA)
RENDERED = "rendered-worker-1"


def objects(*others: dict[str, Any], **metadata: Any) -> list[dict[str, Any]]:
    """A pool with its rendered MachineConfig and both Secrets, and `others`."""
    auths = {"auths": {"registry.example.com": {"auth": PASSWORD}}}
    secrets = secret("pull", auths), secret("push", auths)
    return [pool("worker", RENDERED, **metadata), machine_config(RENDERED), *secrets, *others]


class Planned:
    """The exit code and the plan of the pool `worker`; `whole` is all that was printed."""

    def __init__(self, code: int, whole: str) -> None:
        self.code = code
        self.whole = whole
        self.items: list[dict[str, Any]] = json.loads(whole)["items"]
        self.actions: list[dict[str, Any]] = self.items[0].get("actions", []) if self.items else []

    @property
    def kinds(self) -> list[str]:
        return [f"{each['verb']} {each['target']['kind']}" for each in self.actions]

    @property
    def builds(self) -> set[str]:
        """The identities of the builds that would start."""
        return {value for path, value in self.fields.items() if path.endswith("build-inputs")}

    @property
    def fields(self) -> dict[str, Any]:
        return {change["path"]: change["after"] for each in self.actions for change in each["diff"]}


@pytest.fixture
def plan(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> Any:
    def run(given: list[dict[str, Any]], *options: str) -> Planned:
        file = tmp_path / "given.json"
        file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": given}))
        code = main(["plan", "os-build", "-f", str(file), "-o", "json", *options])
        return Planned(code, capfd.readouterr().out)

    return run


@pytest.mark.parametrize(
    ("data", "options", "kinds"),
    [
        pytest.param({}, [], ["create ConfigMap", "create Build"], id="default"),
        pytest.param({"imageBuilderType": "Job"}, [], ["create ConfigMap", "create Job"], id="Job"),
        pytest.param(
            {"imageBuilderType": "local"}, ["--local-builds", "builds"], ["start build MachineConfigPool"], id="local"
        ),
        pytest.param(
            {"imageBuilderType": "local"}, [], [SAYS, EVENT.format("NoBuilder")], id="local, without a folder"
        ),
        pytest.param({"finalImagePullspec": "os"}, [], [SAYS, EVENT.format("ConfigurationInvalid")], id="no target"),
    ],
)
def test_the_builder_that_would_start_is_shown_and_no_secret(
    plan: Any, data: dict[str, str], options: list[str], kinds: list[str]
) -> None:
    planned = plan(objects(config_map(BUILDER_CONFIG, **{**DATA, **data})), *options)
    assert (planned.code, planned.kinds) == (3, kinds)
    assert PASSWORD not in planned.whole
    assert base64.b64decode(PASSWORD).decode() not in planned.whole


def test_files_of_a_build_are_shown_by_size_and_the_containerfile_whole(plan: Any) -> None:
    fields = plan(objects(BUILDERS)).fields
    assert re.fullmatch(r"\(\d+ bytes\)", fields["binaryData.machineconfig.json.gz"])
    assert "FROM registry.example.com/base/os@sha256:" in fields["spec.source.dockerfile"]


def test_on_a_model_the_build_that_was_started_is_awaited(plan: Any) -> None:
    [item] = plan(objects(BUILDERS), "--rounds").items
    says = [change["after"] for action in item["rounds"][-1]["actions"] for change in action["diff"]]
    assert any("is about to begin" in str(each) for each in says)


def test_a_pool_that_has_its_image_or_none_of_ours_needs_nothing(plan: Any) -> None:
    [record] = plan(objects(BUILDERS)).builds
    built = {LAYERING: "", IMAGE: f"{TARGET}@sha256:{'1' * 64}", IMAGE_INPUTS: record}
    assert plan(objects(BUILDERS, annotations=built)).kinds == [SAYS]
    assert plan(objects(BUILDERS, annotations={})).code == 0


def test_opting_out_takes_the_result_away(plan: Any) -> None:
    planned = plan(objects(BUILDERS, annotations=dict.fromkeys(RESULT, "old")))
    assert planned.kinds == [SAYS]
    assert planned.fields == dict.fromkeys(f"metadata.annotations.{each}" for each in RESULT)


def test_a_machine_os_config_is_planned_only_if_it_is_served(plan: Any) -> None:
    config = {
        "apiVersion": f"{GROUP}/v1",
        "kind": "MachineOSConfig",
        "metadata": {"name": "worker"},
        "spec": {
            "machineConfigPool": {"name": "worker"},
            "imageBuilder": {"imageBuilderType": "Job"},
            "baseImagePullSecret": {"name": "pull"},
            "renderedImagePushSecret": {"name": "push"},
            "renderedImagePushSpec": f"{TARGET}:latest",
        },
    }
    assert plan(objects(BUILDERS, config)).kinds == []
    served = plan(objects(BUILDERS, config), "--machine-os-configs")
    assert served.kinds == ["create MachineOSBuild", "merge MachineOSConfig"]
