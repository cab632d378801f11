"""The counters of builds over the life of a pool, as Prometheus reads them."""

from collections.abc import Callable
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import CollectorRegistry

from tests.unit.os_build.fake import DIGEST
from tests.unit.os_build.world import Process, World, claimed, machine_config
from windlass.api.machineconfiguration import MachineConfigPool
from windlass.api.machineosconfig import MachineOSConfig
from windlass.kube.control.metrics import exposition
from windlass.os_build.builder import Cause
from windlass.os_build.constants import LAYERING
from windlass.os_build.counters import BuildCounters
from windlass.os_build.metrics import BuildFigures
from windlass.os_build.registry.answers import Found

UPSTREAM = {
    "ocl_build_state": ("gauge", {"pool", "state"}),
    "ocl_build_duration_seconds": ("histogram", {"pool", "state"}),
    "ocl_build_start_timestamp_seconds": ("gauge", {"pool"}),
    "ocl_build_end_timestamp_seconds": ("gauge", {"pool", "state"}),
    "ocl_build_total": ("counter", {"pool", "state"}),
    "ocl_build_job_state": ("gauge", {"pool", "state"}),
    "ocl_config_change_total": ("counter", {"pool"}),
    "ocl_build_retries_total": ("counter", {"pool"}),
    "ocl_layered_nodes_count": ("gauge", {"pool"}),
    "ocl_image_push_state": ("gauge", {"pool", "state"}),
    "ocl_image_push_total": ("counter", {"pool", "state"}),
    "ocl_rollout_updated_nodes": ("gauge", {"pool"}),
    "ocl_rollout_total_nodes": ("gauge", {"pool"}),
    "ocl_build_queue_duration_seconds": ("histogram", {"pool"}),
    "ocl_image_push_duration_seconds": ("histogram", {"pool", "state"}),
    "ocl_active_builds": ("gauge", {"pool"}),
    "mco_mosc_count": ("gauge", set()),
}
"""Type and labels by name, in the Machine Config Operator's builder of August 2026."""
BUCKETS = {
    "ocl_build_duration_seconds": [60, 180, 300, 600, 900, 1200, 1800, 2400, 3000, 3600],
    "ocl_build_queue_duration_seconds": [5, 15, 30, 60, 120, 300, 600],
    "ocl_image_push_duration_seconds": [10, 30, 60, 120, 180, 300, 600],
}


class Scrape:
    """What a scrape shows. `sample` is 0 for what is not there."""

    def __init__(self, world: World) -> None:
        registry = CollectorRegistry()
        registry.register(BuildFigures(world.api.listing, present=lambda: world.now().timestamp()))
        registry.register(world.counters)
        self.families = {each.name: each for each in text_string_to_metric_families(exposition(registry).decode())}
        self._samples = {
            (sample.name, tuple(sorted(sample.labels.items()))): sample.value
            for family in self.families.values()
            for sample in family.samples
        }

    def sample(self, name: str, **labels: str) -> float:
        return self._samples.get((name, tuple(sorted(labels.items()))), 0.0)

    def has(self, name: str, **labels: str) -> bool:
        return (name, tuple(sorted(labels.items()))) in self._samples


def opted_in() -> World:
    world = World()
    world.add_pool()
    return world


@pytest.fixture(params=[opted_in, claimed], ids=["opted-in", "claimed"])
def world(request: pytest.FixtureRequest) -> World:
    made: Callable[[], World] = request.param
    return made()


def builder(world: World) -> str:
    """The builder that is not over."""
    [name] = [each.name for each in world.builders.builds.values() if not each.is_over]
    return name


async def ran(world: World, *, waits: float = 20, takes: float = 100) -> str:
    """Let the builder begin after a while and run for a while; its name."""
    await world.settle()
    world.pass_time(waits)
    name = builder(world)
    world.builders.run(name)
    await world.settle()
    world.pass_time(takes)
    return name


async def test_a_build_that_succeeds(world: World) -> None:
    name = await ran(world)
    scrape = Scrape(world)
    assert scrape.sample("ocl_build_job_state", pool="worker", state="active") == 1
    assert scrape.sample("ocl_image_push_state", pool="worker", state="pushing") == 1
    assert scrape.sample("ocl_active_builds", pool="worker") == 1
    assert scrape.sample("ocl_build_queue_duration_seconds_count", pool="worker") == 1
    assert scrape.sample("ocl_build_queue_duration_seconds_sum", pool="worker") == 20
    world.builders.succeed(name)
    await world.settle()
    scrape = Scrape(world)
    assert scrape.sample("ocl_build_total", pool="worker", state="succeeded") == 1
    assert scrape.sample("ocl_image_push_total", pool="worker", state="succeeded") == 1
    assert scrape.sample("ocl_image_push_duration_seconds_sum", pool="worker", state="succeeded") == 100
    took = scrape.sample("ocl_build_duration_seconds_sum", pool="worker", state="succeeded")
    assert took == (120 if world.machine_os_configs else 100), "from the creation of the MachineOSBuild, or the builder"
    assert scrape.sample("ocl_build_job_state", pool="worker", state="succeeded") == 1
    assert scrape.sample("ocl_build_job_state", pool="worker", state="active") == 0
    assert scrape.sample("ocl_image_push_state", pool="worker", state="succeeded") == 1
    await world.settle()
    assert Scrape(world).sample("ocl_build_total", pool="worker", state="succeeded") == 1, "once"


async def test_names_types_labels_and_buckets_are_those_of_the_operator(world: World) -> None:
    world.add_pool("infra", annotations={})
    world.builders.succeed(await ran(world))
    await world.settle()
    await renders(world, "rendered-worker-2", kernelArguments=["quiet"])
    name = await ran(world)
    scrapes = [Scrape(world)]
    world.builders.fail(name, Cause.UNREACHABLE)
    await world.settle()
    world.pass_time(30)
    world.builders.fail(await ran(world), Cause.STEP)
    await world.settle()
    scrapes.append(Scrape(world))
    of_claims = {"ocl_layered_nodes_count", "ocl_rollout_updated_nodes", "ocl_rollout_total_nodes"}
    for name, (type_, labels) in UPSTREAM.items():
        families = [scrape.families[name.removesuffix("_total")] for scrape in scrapes]
        assert {family.type for family in families} == {type_}, name
        samples = [sample for family in families for sample in family.samples]
        assert samples or (name in of_claims and not world.machine_os_configs), name
        for sample in samples:
            assert set(sample.labels) - {"le"} == labels, name
            assert sample.labels.get("pool") != "infra", "a pool that asks for no image has no figures"
        if name in BUCKETS:
            bounds = {float(sample.labels["le"]) for sample in samples if sample.name.endswith("_bucket")}
            assert bounds == {*map(float, BUCKETS[name]), float("inf")}
    others = set(scrapes[0].families) - {name.removesuffix("_total") for name in UPSTREAM}
    assert others == {"windlass_os_build_waiting_seconds"}


async def renders(world: World, name: str, **spec: Any) -> None:
    world.api.load(machine_config(name, **spec))
    await world.patch_pool({"spec": {"configuration": {"name": name}}})


async def test_a_build_that_fails_after_an_attempt_that_is_made_again(world: World) -> None:
    world.builders.fail(await ran(world), Cause.UNREACHABLE)
    await world.settle()
    assert Scrape(world).sample("ocl_build_total", pool="worker", state="failed") == 0
    world.pass_time(30)
    world.builders.fail(await ran(world), Cause.STEP)
    await world.settle()
    scrape = Scrape(world)
    assert scrape.sample("ocl_build_retries_total", pool="worker") == 1
    assert scrape.sample("ocl_build_total", pool="worker", state="failed") == 1
    assert scrape.sample("ocl_build_duration_seconds_count", pool="worker", state="failed") == 1
    assert scrape.sample("ocl_build_queue_duration_seconds_count", pool="worker") == 1
    assert scrape.sample("ocl_image_push_total", pool="worker", state="failed") == 0, "no push was begun"
    assert scrape.sample("ocl_build_job_state", pool="worker", state="failed") == 1


async def test_a_push_that_fails(world: World) -> None:
    world.builders.fail(await ran(world), Cause.PUSH_DENIED, pushing=True)
    await world.settle()
    scrape = Scrape(world)
    assert scrape.sample("ocl_image_push_total", pool="worker", state="failed") == 1
    assert scrape.sample("ocl_image_push_duration_seconds_sum", pool="worker", state="failed") == 100
    assert scrape.sample("ocl_image_push_state", pool="worker", state="failed") == 1
    assert scrape.sample("ocl_build_total", pool="worker", state="failed") == 1


async def test_a_builder_that_is_lost(world: World) -> None:
    world.builders.lose(await ran(world))
    await world.settle()
    assert Scrape(world).sample("ocl_build_total", pool="worker", state="interrupted") == 1
    if not world.machine_os_configs:
        assert Scrape(world).sample("ocl_build_state", pool="worker", state="interrupted") == 1


async def test_a_change_of_files_takes_the_image_that_there_is_and_counts_no_build() -> None:
    world = claimed()
    world.builders.succeed(await ran(world))
    await world.settle()
    world.process.registries.found = Found(DIGEST)
    await renders(world, "rendered-worker-2")
    await world.settle()
    scrape = Scrape(world)
    assert scrape.sample("ocl_config_change_total", pool="worker") == 1
    assert scrape.sample("ocl_build_total", pool="worker", state="succeeded") == 1
    assert scrape.sample("ocl_build_state", pool="worker", state="succeeded") == 1


async def test_a_restart_begins_at_zero_and_counts_nothing_twice(world: World) -> None:
    name = await ran(world)
    world.restart()
    await world.settle()
    world.builders.fail(name, Cause.PUSH_DENIED, pushing=True)
    await world.settle()
    assert Scrape(world).sample("ocl_build_total", pool="worker", state="failed") == 1
    world.restart()
    await world.settle()
    scrape = Scrape(world)
    assert scrape.sample("ocl_build_total", pool="worker", state="failed") == 0
    assert scrape.sample("ocl_image_push_total", pool="worker", state="failed") == 0
    assert scrape.sample("ocl_build_job_state", pool="worker", state="failed") == 1


async def test_what_another_process_did_meanwhile_is_not_counted_here(world: World) -> None:
    term, leads = 1, True
    ours, theirs = BuildCounters(term=lambda: term, leads=lambda: leads), BuildCounters()
    hand_over(world, ours)
    name = await ran(world)
    leads = False
    assert not Scrape(world).has("ocl_build_job_state", pool="worker", state="active"), "the other one shows it"
    hand_over(world, theirs)
    await world.settle()
    world.builders.fail(name, Cause.STEP)
    await world.settle()
    assert Scrape(world).sample("ocl_build_total", pool="worker", state="failed") == 1
    term, leads = 2, True
    hand_over(world, ours)
    await world.settle()
    scrape = Scrape(world)
    assert scrape.sample("ocl_build_total", pool="worker", state="failed") == 0
    assert scrape.sample("ocl_build_job_state", pool="worker", state="failed") == 1


def hand_over(world: World, counters: BuildCounters) -> None:
    """The process with these counters leads from now on."""
    world.counters = counters
    world.process = Process(world)


async def test_gauges_go_with_their_pool_and_its_wish(world: World) -> None:
    world.builders.succeed(await ran(world))
    await world.settle()
    assert Scrape(world).has("ocl_image_push_state", pool="worker", state="succeeded")
    if world.machine_os_configs:
        await world.api.delete(MachineOSConfig, "worker")
    else:
        await world.patch_pool({"metadata": {"annotations": {LAYERING: None}}})
    await world.settle()
    assert Scrape(world).sample("mco_mosc_count") == 0
    gone = ("ocl_build_job_state", "ocl_image_push_state", "ocl_build_state")
    assert not [name for name in gone if Scrape(world).families[name].samples]
    assert Scrape(world).sample("ocl_build_total", pool="worker", state="succeeded") == 1


async def test_gauges_go_with_a_pool_that_is_deleted(world: World) -> None:
    await ran(world)
    await world.api.delete(MachineConfigPool, "worker")
    await world.settle("worker")
    gone = ("ocl_build_job_state", "ocl_image_push_state", "ocl_build_state", "ocl_active_builds")
    assert not [name for name in gone if Scrape(world).families[name].samples]
