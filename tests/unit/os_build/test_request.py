"""What a pool asks for, row by row."""

from typing import Any

import pytest
from msgspec import convert

from tests.unit.os_build.world import pool
from windlass.api.machineconfiguration import MachineConfigPool
from windlass.os_build.constants import LAYERING, REBUILD
from windlass.os_build.pullspec import Target
from windlass.os_build.request import BackendName, Given, OsImages, Problem, Request, opted_in, requested

CONFIG = {
    "baseImagePullSecretName": "pull",
    "finalImagePushSecretName": "push",
    "finalImagePullspec": "registry.hostname.com/org/repo:latest",
}


def worker(config: str = "rendered-worker-1", **metadata: Any) -> MachineConfigPool:
    return convert(pool("worker", config, **metadata), MachineConfigPool)


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        pytest.param({"annotations": {}}, False, id="nothing"),
        pytest.param({"annotations": {LAYERING: ""}}, True, id="annotation"),
        pytest.param({"annotations": {LAYERING: "false"}}, True, id="annotation with any value"),
        pytest.param({"annotations": {}, "labels": {LAYERING: ""}}, True, id="label"),
        pytest.param({"annotations": {}, "labels": {"layering-enabled": ""}}, False, id="another label"),
    ],
)
def test_presence_opts_in(metadata: dict[str, Any], expected: bool) -> None:
    assert opted_in(worker(**metadata)) is expected


def test_a_request_has_everything_that_the_config_maps_say() -> None:
    given = Given(
        config={**CONFIG, "imageBuilderType": "Job"},
        containerfiles={"worker": "FROM configs AS final\nRUN true\n", "infra": "RUN false"},
        os_images={
            "baseOSContainerImage": "base",
            "baseOSExtensionsContainerImage": "extensions",
            "releaseVersion": "4.20.0",
            "osImageURL": "unused",
        },
    )
    assert requested(worker(annotations={LAYERING: "", REBUILD: "1"}), given) == Request(
        pool="worker",
        config="rendered-worker-1",
        target=Target("registry.hostname.com", "org/repo"),
        pull_secret="pull",
        push_secret="push",
        containerfile="FROM configs AS final\nRUN true\n",
        rebuild="1",
        images=OsImages("base", "extensions", "4.20.0"),
        backend=BackendName.JOB,
    )


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("openshift-image-builder", BackendName.OPENSHIFT),
        ("custom-pod-builder", BackendName.JOB),
        ("Job", BackendName.JOB),
        ("local", BackendName.LOCAL),
        ("", None),
    ],
)
def test_the_operators_names_of_builders_are_understood(value: str, expected: BackendName | None) -> None:
    found = requested(worker(), Given(config={**CONFIG, "imageBuilderType": value}))
    assert isinstance(found, Request)
    assert found.backend is expected


def test_the_two_config_maps_are_never_merged() -> None:
    alias = {**CONFIG, "finalImagePullspec": "other.example.com/a/b"}
    assert isinstance(requested(worker(), Given(config=None, config_alias=alias)), Request)
    for config in ({"baseImagePullSecretName": "pull"}, {}):
        found = requested(worker(), Given(config=config, config_alias=alias))
        assert isinstance(found, Problem)
        assert "machine-os-builder-config" in found.text


def without(key: str) -> dict[str, str]:
    return {name: value for name, value in CONFIG.items() if name != key}


@pytest.mark.parametrize(
    ("config", "given", "reason", "text"),
    [
        pytest.param("", CONFIG, "NotRendered", "no rendered MachineConfig", id="nothing rendered yet"),
        pytest.param("99-worker", CONFIG, "NotRendered", "is not a rendered MachineConfig", id="no rendered-"),
        pytest.param("rendered-1", None, "ConfigurationMissing", "does not exist: create it with", id="no map"),
        *(
            pytest.param(
                "rendered-1",
                without(key),
                "ConfigurationInvalid",
                f'missing required key "{key}" in configmap machine-os-builder-config',
                id=f"without {key}",
            )
            for key in CONFIG
        ),
        pytest.param(
            "rendered-1",
            {**CONFIG, "finalImagePushSecretName": " "},
            "ConfigurationInvalid",
            'missing required key "finalImagePushSecretName"',
            id="a blank",
        ),
        pytest.param(
            "rendered-1",
            {**CONFIG, "finalImagePullspec": "org/repo"},
            "ConfigurationInvalid",
            "finalImagePullspec in ConfigMap openshift-machine-config-operator/machine-os-builder-config: ",
            id="target without a host",
        ),
        pytest.param(
            "rendered-1",
            {**CONFIG, "imageBuilderType": "Jobs"},
            "ConfigurationInvalid",
            "is 'Jobs': write one of openshift-image-builder, custom-pod-builder, Job, local",
            id="unknown builder",
        ),
    ],
)
def test_bad_input_names_object_field_and_remedy(
    config: str, given: dict[str, str] | None, reason: str, text: str
) -> None:
    found = requested(worker(config), Given(config=given))
    assert isinstance(found, Problem)
    assert found.reason == reason
    assert text in found.text
