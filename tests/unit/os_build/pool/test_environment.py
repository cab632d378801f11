"""The environment that a build is ordered in: from the ControllerConfig, the options, and what there is to lend."""

import base64
from pathlib import Path
from typing import Any

import pytest

from tests.unit.os_build.certificates import encoded, pem
from tests.unit.os_build.world import World, claimed, config_map, machine_config, secret
from windlass.api.core import ConfigMap, Secret
from windlass.api.machineconfiguration import GROUP, ControllerConfig, Proxy
from windlass.kube.verbs import PatchType
from windlass.os_build.backends.job import JobBackend
from windlass.os_build.builder import Order
from windlass.os_build.constants import BUILDER_CONFIG, IMAGE_INPUTS, NAMESPACE
from windlass.os_build.environment import BUNDLE, Environment, Lent
from windlass.os_build.placement import Placement

PROXY = {"httpProxy": "http://p:1", "httpsProxy": "http://p:2", "noProxy": ".svc"}
MIRRORS = {"path": "/etc/containers/registries.conf", "contents": {"source": "data:,mirrors"}}


def controller_config(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": "ControllerConfig",
        "metadata": {"name": "machine-config-controller"},
        "spec": spec,
    }


def only_order(world: World) -> Order:
    [order] = [world.builders.orders[name] for name in world.builders.builds]
    return order


async def test_a_build_without_any_of_it_has_an_empty_environment_and_its_old_name() -> None:
    world = World()
    world.add_pool()
    await world.settle()
    order = only_order(world)
    assert order.environment == Environment()
    assert order.name == "build-worker-54f6a9d3a5bf2c3bd8a3cfd17b9b1e2e" or order.name.startswith("build-worker-")
    assert BUNDLE not in order.context.files


async def test_a_build_gets_mirrors_proxy_trust_and_what_there_is_to_lend() -> None:
    world = World()
    world.api.load(
        controller_config(proxy=PROXY, additionalTrustBundle=encoded(pem("corporate"))),
        secret("etc-pki-entitlement-worker", {}),
        secret("etc-pki-rpm-gpg", {}),
        config_map("etc-yum-repos-d", **{"satellite.repo": "[satellite]"}),
        secret("etc-pki-entitlement-master", {}),
    )
    world.add_pool()
    config = {"ignition": {"version": "3.4.0"}, "storage": {"files": [MIRRORS]}}
    world.api.load(machine_config("rendered-worker-2", config=config))
    await world.patch_pool({"spec": {"configuration": {"name": "rendered-worker-2"}}})
    await world.settle()
    order = only_order(world)
    assert order.environment.containers == {"registries.conf": b"mirrors"}
    assert order.environment.egress.proxy == Proxy(http_proxy="http://p:1", https_proxy="http://p:2", no_proxy=".svc")
    assert order.environment.lent == (
        Lent("/etc/pki/entitlement", "Secret", "etc-pki-entitlement-worker"),
        Lent("/etc/yum.repos.d", "ConfigMap", "etc-yum-repos-d"),
        Lent("/etc/pki/rpm-gpg", "Secret", "etc-pki-rpm-gpg"),
    )
    assert order.context.files[BUNDLE].decode() == pem("corporate")
    assert f"COPY {BUNDLE} /etc/pki/ca-trust/source/anchors/{BUNDLE}\n" in order.context.containerfile
    assert [probe.egress for probe in world.process.registries.probes] == [order.environment.egress]


@pytest.mark.parametrize(
    ("change", "another"),
    [
        pytest.param({"proxy": PROXY}, False, id="a proxy: the image is the same"),
        pytest.param(
            {"imageRegistryBundleData": [{"file": "r", "data": encoded(pem("r"))}]}, False, id="a CA of a registry"
        ),
        pytest.param({"additionalTrustBundle": encoded(pem("new"))}, True, id="a trust bundle: it is in the image"),
    ],
)
async def test_only_what_gets_into_the_image_makes_another_build(change: dict[str, Any], another: bool) -> None:
    world = World()
    world.api.load(controller_config())
    world.add_pool()
    await world.settle()
    [build] = world.builders.builds
    world.builders.succeed(build)
    await world.settle()
    before = world.annotations()[IMAGE_INPUTS]
    await world.api.patch(ControllerConfig, "machine-config-controller", {"spec": change}, type=PatchType.MERGE)
    await world.settle()
    assert len(world.builders.begun) == (2 if another else 1)
    assert world.annotations()[IMAGE_INPUTS] == before
    assert (world.says()[0] == "BuildPending") is another


async def test_a_trust_bundle_that_is_none_is_told_on_the_pool_with_its_field() -> None:
    world = World()
    world.api.load(controller_config(additionalTrustBundle=encoded("nothing")))
    world.add_pool()
    await world.settle()
    condition, reason, message = world.says()
    assert (condition, reason) == ("BuildFailed", "EnvironmentInvalid")
    assert "spec.additionalTrustBundle: it holds no certificate in PEM: correct the ConfigMap" in message
    assert not world.builders.builds
    correct = {"spec": {"additionalTrustBundle": encoded(pem("a"))}}
    await world.api.patch(ControllerConfig, "machine-config-controller", correct, type=PatchType.MERGE)
    await world.settle()
    assert world.says()[0] == "BuildPending"


async def test_a_machine_os_config_gets_the_same_under_the_operators_name() -> None:
    plain, world = claimed(), claimed()
    world.api.load(
        controller_config(proxy=PROXY, additionalTrustBundle=encoded(pem("corporate"))),
        secret("etc-pki-entitlement", {}),
        config_map(BUILDER_CONFIG, builderLimits="memory=8Gi"),
    )
    for each in (plain, world):
        await each.settle()
    order = only_order(world)
    assert order.environment.lent == (Lent("/etc/pki/entitlement", "Secret", "etc-pki-entitlement"),)
    assert order.request.placement == Placement(limits=(("memory", "8Gi"),))
    assert order.context.files[BUNDLE].decode() == pem("corporate")
    assert order.tag == only_order(plain).tag, "the operator's name has no trust bundle in it"


@pytest.mark.parametrize("world", [World, claimed], ids=["pool", "MachineOSConfig"])
async def test_a_key_about_builder_pods_that_is_wrong_starts_nothing(world: Any) -> None:
    world = world()
    if world.machine_os_configs:
        world.api.load(config_map(BUILDER_CONFIG, builderLimits="memory"))
    else:
        key = {"data": {"builderLimits": "memory"}}
        await world.api.patch(ConfigMap, BUILDER_CONFIG, key, type=PatchType.MERGE, namespace=NAMESPACE)
        world.add_pool()
    await world.settle()
    assert not world.builders.builds


async def test_certificates_of_registries_are_read_again_for_each_build(tmp_path: Path) -> None:
    world = World()
    world.registry_ca = tmp_path / "ca.crt"
    world.restart()
    world.registry_ca.write_text(pem("old"))
    world.add_pool()
    await world.settle()
    assert only_order(world).environment.egress.authorities == pem("old")
    world.registry_ca.write_text(pem("new"))
    world.builders.lose(only_order(world).name)
    world.pass_time(60)
    await world.settle()
    world.pass_time(60)
    await world.settle()
    assert only_order(world).environment.egress.authorities == pem("new")
    assert len({*world.builders.begun}) == 1, "it is the same build"
    world.registry_ca.unlink()
    await world.settle()
    assert world.says()[1] == "EnvironmentInvalid"
    assert "--registry-ca" in world.says()[2]


async def test_a_builder_that_cannot_refer_to_objects_gets_their_files() -> None:
    world = World()
    world.refers = False
    world.restart()
    world.api.load(
        {**secret("etc-pki-entitlement", {}), "data": {"1.pem": base64.b64encode(b"certificate").decode()}},
        config_map("etc-yum-repos-d", **{"a.repo": "[a]"}),
    )
    world.add_pool()
    await world.settle()
    order = only_order(world)
    assert {at: dict(files.content) for at, files in order.lent_files.items()} == {
        "/etc/pki/entitlement": {"1.pem": b"certificate"},
        "/etc/yum.repos.d": {"a.repo": b"[a]"},
    }
    assert "certificate" not in repr(order)


def test_a_job_refers_to_objects_so_nothing_of_them_is_read() -> None:
    assert JobBackend.mounts_secrets


async def building() -> tuple[World, str]:
    """A build that runs, of a builder that cannot read Secrets."""
    world = World()
    world.refers = False
    world.restart()
    world.add_pool()
    await world.settle()
    [name] = world.builders.builds
    world.builders.run(name)
    return world, name


async def test_a_builder_that_cannot_read_secrets_gets_those_that_are_renewed_while_it_builds() -> None:
    world, name = await building()
    await world.settle()
    before = world.builders.builds[name].secrets
    await world.api.patch(
        Secret, "push", {"metadata": {"labels": {"a": "b"}}}, type=PatchType.MERGE, namespace=NAMESPACE
    )
    await world.settle()
    assert world.builders.builds[name].secrets != before
    assert world.builders.begun == [name], "it is the same build, and goes on"
    # One that reads them itself is left alone.
    world.refers = True
    world.restart()
    await world.api.patch(
        Secret, "push", {"metadata": {"labels": {"a": "c"}}}, type=PatchType.MERGE, namespace=NAMESPACE
    )
    renewed = world.builders.builds[name].secrets
    await world.settle()
    assert world.builders.builds[name].secrets == renewed


async def test_a_secret_that_is_broken_while_a_build_runs_does_not_end_it() -> None:
    world, name = await building()
    await world.api.patch(
        Secret, "push", {"data": {".dockerconfigjson": "eA=="}}, type=PatchType.MERGE, namespace=NAMESPACE
    )
    await world.settle()
    assert world.says()[0] == "Building"
    assert world.builders.begun == [name]
