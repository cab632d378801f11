"""What a MachineOSConfig asks for, as the request that builds of annotated pools are made from."""

from typing import Any

import pytest

from tests.unit.os_build.machine_os.samples import CONFIG, machine_os_config, pool
from windlass.os_build.machine_os.request import requested
from windlass.os_build.pullspec import Target
from windlass.os_build.request import BackendName, Problem, Request


def containerfiles(**by_architecture: str) -> dict[str, Any]:
    entries = [{"containerfileArch": arch, "content": content} for arch, content in by_architecture.items()]
    return {"containerFile": entries}


ASKED = Request(
    pool="worker",
    config=CONFIG,
    target=Target("registry.example.com:5000", "org/os"),
    pull_secret="global-pull-secret-copy",
    push_secret="push",
    backend=BackendName.JOB,
    claimed_by="worker",
)
GOOD: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "the-clusters-pull-secret": ({}, {}),
    "own-pull-secret": ({"baseImagePullSecret": {"name": "pull"}}, {"pull_secret": "pull"}),
    "no-namespace": ({"renderedImagePushSpec": "r.example.com/os:1"}, {"target": Target("r.example.com", "os")}),
    "address-and-port": (
        {"renderedImagePushSpec": "127.0.0.1:5000/a/b:1"},
        {"target": Target("127.0.0.1:5000", "a/b")},
    ),
    "service": (
        {"renderedImagePushSpec": "image-registry.openshift-image-registry.svc:5000/ns/os:latest"},
        {"target": Target("image-registry.openshift-image-registry.svc:5000", "ns/os")},
    ),
    "no-containerfile": ({"containerFile": []}, {}),
    "containerfile": (containerfiles(NoArch="FROM configs\n"), {"containerfile": "FROM configs\n"}),
    "architecture-left-out": ({"containerFile": [{"content": "RUN a\n"}]}, {"containerfile": "RUN a\n"}),
    "for-all-wins": (containerfiles(AMD64="RUN a\n", NoArch="RUN b\n"), {"containerfile": "RUN b\n"}),
    "for-the-builders": (containerfiles(ARM64="RUN a\n", AMD64="RUN b\n"), {"containerfile": "RUN b\n"}),
}


@pytest.mark.parametrize(("spec", "expected"), GOOD.values(), ids=GOOD)
def test_a_machine_os_config_is_a_request(spec: dict[str, Any], expected: dict[str, Any]) -> None:
    wanted = {field: getattr(ASKED, field) for field in ASKED.__struct_fields__} | expected
    assert requested(machine_os_config(**spec), pool(), architecture="amd64") == Request(**wanted)


DEEP = (
    "MachineOSConfig worker: spec.renderedImagePushSpec is {!r}, and the API takes no digest of {} into its status: "
    "push to host[:port]/namespace/name or host[:port]/name, with a host that has a dot and a namespace without one"
)
BAD: dict[str, tuple[dict[str, Any], str]] = {
    "two-namespaces": (
        {"renderedImagePushSpec": "r.example.com/a/b/c:1"},
        DEEP.format("r.example.com/a/b/c:1", "r.example.com/a/b/c"),
    ),
    "a-dot-in-the-namespace": (
        {"renderedImagePushSpec": "r.example.com/a.b/c:1"},
        DEEP.format("r.example.com/a.b/c:1", "r.example.com/a.b/c"),
    ),
    "a-host-without-a-dot": (
        {"renderedImagePushSpec": "localhost:5000/os:1"},
        DEEP.format("localhost:5000/os:1", "localhost:5000/os"),
    ),
    "upper-case": (
        {"renderedImagePushSpec": "r.example.com/Org/os:1"},
        "MachineOSConfig worker: spec.renderedImagePushSpec: 'r.example.com/Org/os:1': 'Org' is no part of a "
        "repository's name (lower-case letters, digits, and '.', '_' or '-' between them): write it as "
        "host[:port]/org/repo, for example registry.example.com/machines/os",
    ),
    "other-architectures": (
        containerfiles(S390X="RUN a\n", ARM64="RUN b\n"),
        "MachineOSConfig worker: spec.containerFile has entries for ARM64, S390X, and images are built on amd64: add "
        "an entry with containerfileArch AMD64 or NoArch",
    ),
    "no-push-secret": (
        {"renderedImagePushSecret": {"name": ""}},
        "MachineOSConfig worker: spec.renderedImagePushSecret.name is empty: name a Secret in namespace "
        "openshift-machine-config-operator",
    ),
    "another-builder": (
        {"imageBuilder": {"imageBuilderType": "PodImageBuilder"}},
        "MachineOSConfig worker: spec.imageBuilder.imageBuilderType is 'PodImageBuilder': write Job",
    ),
}


@pytest.mark.parametrize(("spec", "text"), BAD.values(), ids=BAD)
def test_what_cannot_be_built_is_refused_at_once(spec: dict[str, Any], text: str) -> None:
    answer = requested(machine_os_config(**spec), pool(), architecture="amd64")
    assert answer == Problem("ConfigurationInvalid", text)


@pytest.mark.parametrize("config", ["", "50-worker"])
def test_a_pool_without_a_rendered_machine_config_waits_for_one(config: str) -> None:
    answer = requested(machine_os_config(), pool(config=config), architecture="amd64")
    assert isinstance(answer, Problem)
    assert answer.reason == "NotRendered"
