"""A cluster is handed from the operator's real builder to Windlass and back, and nothing is built twice.

Its controllers wait five seconds before each of their steps, so all that they are to do is begun as early as it can be.
"""

from collections.abc import Iterator

import pytest

from tests.api.os_build.machine_os.claimed import push
from tests.api.os_build.machine_os.operator import Builders, auths
from tests.explore import EXPLORING
from tests.waiting import wait_until
from windlass.api.core import Node
from windlass.api.machineconfiguration import GROUP, MachineConfigPool
from windlass.api.machineosconfig import MachineOSBuild
from windlass.os_build.machine_os.conditions import State
from windlass.testing import crds
from windlass.testing.plane.pool import PlanePool
from windlass.testing.registry import Registry
from windlass.testing.updates import Pool
from windlass.testing.updates.os_builder import OsBuilder

pytestmark = [pytest.mark.plane, pytest.mark.registry]

NAME = "hand-over"
THEIRS, OURS, BROKEN, LATER = "worker", "infra", "edge", "gpu"
"""Pools: which builder first builds for them, and one whose Containerfile is wrong."""
FIRST, SECOND = (f"sha256:{digits * 32}" for digits in ("ab", "cd"))


@pytest.fixture
def builders(
    windlass_planes: PlanePool, registry: Registry, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Builders]:
    folder = tmp_path_factory.mktemp(NAME)
    plane = windlass_planes.plane(NAME, crds=crds.documents(*crds.UPDATES)).blocking
    pools = [Pool(name=name, nodes=0) for name in ("master", THEIRS, OURS, BROKEN, LATER)]
    real = OsBuilder(plane, pools=pools, folder=folder, auths=auths(registry))
    builders = Builders(plane, real, {}, registry=registry, folder=folder)
    try:
        real.install()
        real.start()
        builders.install_ours()
        builders.rendered |= {pool.name: real.wait_rendered(pool.name) for pool in pools}
        yield builders
        assert builders.refused() == []
    finally:
        builders.close()
        real.close()
        windlass_planes.stop(NAME)


def degraded(builders: Builders, pool: str) -> tuple[str, str]:
    found = builders.tree(MachineConfigPool, pool).get("status", {}).get("conditions", [])
    [said] = [(one["status"], one["reason"]) for one in found if one["type"] == "ImageBuildDegraded"] or [("", "")]
    return said


@pytest.mark.skipif(
    not EXPLORING,
    reason="the operator's builder gives up when the garbage collector removes its objects first: make explore",
)
def test_what_one_builder_has_built_the_other_does_not_build_again(builders: Builders) -> None:
    node = builders.make_node(OURS)
    builders.real.start_builder()
    builders.ask(THEIRS)
    job = builders.until_their_job(THEIRS)
    builders.start_ours()
    built = builders.until_state(THEIRS, State.BUILDING)
    builders.succeed(job, FIRST, of=built.metadata.name)
    builders.until_current(THEIRS, FIRST)
    assert not builders.holder.startswith("windlass_"), "we wait while the operator's builder leads"

    builders.real.stop_builder()
    builders.until_ours_leads()
    builders.ask(BROKEN, containerfile="RUNN true")
    builders.ask(OURS)
    ours = builders.until_our_job(OURS)
    assert set(builders.jobs()) - {job} == {ours}
    builders.succeed(ours, SECOND, of="")
    by_us = builders.until_current(OURS, SECOND)
    failed = builders.until_state(BROKEN, State.FAILED)
    assert builders.until_current(THEIRS, FIRST).metadata.uid == built.metadata.uid

    builders.stop_ours()
    assert builders.holder == ""
    builders.real.start_builder()
    builders.ask(LATER)
    image = f"{GROUP}/desiredImage"
    wait_until(
        f"{node} is to get our image, see {builders.real.controller.log}",
        lambda: builders.get(Node, node).metadata.annotations.get(image) == by_us.status.digested_image_push_spec,
    )
    assert builders.get(Node, node).metadata.annotations[f"{GROUP}/desiredConfig"] == by_us.spec.machine_config.name
    last = builders.until_their_job(LATER)
    assert builders.until_current(OURS, SECOND).metadata.uid == by_us.metadata.uid
    assert builders.until_current(THEIRS, FIRST).metadata.uid == built.metadata.uid
    assert builders.until_state(BROKEN, State.FAILED).metadata.uid == failed.metadata.uid
    assert set(builders.jobs()) - {job} == {last}
    assert degraded(builders, OURS) == ("False", "BuildSuccess")
    assert degraded(builders, BROKEN) == ("True", "BuildFailed")


@pytest.mark.skipif(not EXPLORING, reason="takes two minutes: make explore")
def test_a_hand_over_in_mid_build_leaves_one_builder_and_who_does_not_lead_builds_nothing(
    builders: Builders, registry: Registry
) -> None:
    builders.real.start_builder()
    builders.ask(THEIRS)
    theirs = builders.until_their_job(THEIRS)
    begun = builders.until_state(THEIRS, State.BUILDING)
    builders.real.stop_builder()
    builders.start_ours()
    ours = builders.until_our_job(THEIRS)
    wait_until("the operator's Job goes with its build", lambda: theirs not in builders.jobs())
    first = push(registry, f"{THEIRS}/os", "first")
    builders.succeed(ours, first, of="")
    built = builders.until_current(THEIRS, first)
    assert built.metadata.name == begun.metadata.name
    assert built.metadata.uid != begun.metadata.uid

    builders.real.start_builder()
    before = builders.rendered[THEIRS]
    builders.real.configure("60-motd", pool=THEIRS, files={"/etc/motd": "hello\n"})
    motd = builders.real.wait_rendered(THEIRS, after=before)
    wait_until("files alone take the image", lambda: builders.configs(THEIRS).get(motd) is State.SUCCEEDED)
    assert builders.jobs() == {}
    builders.real.configure("60-kernel", pool=THEIRS, kernelArguments=["quiet"])
    kernel = builders.real.wait_rendered(THEIRS, after=motd)
    second = builders.until_our_job(THEIRS)
    assert set(builders.jobs()) == {second}
    builders.succeed(second, SECOND, of="")
    wait_until("a kernel argument is built", lambda: builders.configs(THEIRS).get(kernel) is State.SUCCEEDED)
    wait_until("our Job goes", lambda: not builders.jobs())

    builders.ask(OURS)
    waits = builders.until_our_job(OURS)
    builders.until_state(OURS, State.BUILDING)
    built_by_us = {one.metadata.uid for one in builders.all(MachineOSBuild)}
    builders.stop_ours()
    builders.ask(LATER)
    last = builders.until_their_job(LATER)
    assert set(builders.jobs()) == {waits, last}
    builders.succeed(waits, FIRST, of="")
    builders.real.stop_builder()
    builders.start_ours()
    builders.until_current(OURS, FIRST)
    assert built_by_us < {one.metadata.uid for one in builders.all(MachineOSBuild)}
