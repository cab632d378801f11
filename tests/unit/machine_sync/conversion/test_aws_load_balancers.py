"""Load balancers of control-plane machines: when a Machine may be moved to Cluster API."""

from typing import Any

import pytest

from windlass.api import capa, mapi
from windlass.api.config import Infrastructure, InfrastructureStatus, PlatformStatus
from windlass.api.meta import ObjectMeta
from windlass.machine_sync.conversion import to_cluster_api

P = "spec.providerSpec.value.loadBalancers"
INT = {"name": "int", "type": "network"}
EXT = {"name": "ext", "type": "classic"}
INT_JSON = '[{"name":"int","type":"network"}]'


def machine(*balancers: dict[str, str], role: str = "master") -> mapi.Machine:
    value = {"ami": {"id": "ami-1"}, "loadBalancers": list(balancers)}
    labels = {"machine.openshift.io/cluster-api-machine-role": role}
    return mapi.Machine(
        metadata=ObjectMeta(labels=labels), spec=mapi.MachineSpec(provider_spec=mapi.ProviderSpec(value=value))
    )


def cluster(primary: tuple[str, str] | None, secondary: tuple[str | None, str] | None = None) -> capa.AWSCluster:
    def balancer(given: tuple[str | None, str] | None) -> capa.LoadBalancer | None:
        return None if given is None else capa.LoadBalancer(name=given[0], load_balancer_type=given[1])

    spec: Any = {
        "control_plane_load_balancer": balancer(primary),
        "secondary_control_plane_load_balancer": balancer(secondary),
    }
    return capa.AWSCluster(spec=capa.AWSClusterSpec(**spec))


def errors_of(machine: mapi.Machine, cluster: capa.AWSCluster | None, *, platform: str = "AWS") -> tuple[str, ...]:
    return to_cluster_api(machine, on(platform), infra_cluster=cluster).errors


def on(platform: str) -> Infrastructure:
    status = InfrastructureStatus(infrastructure_name="c", platform_status=PlatformStatus(type=platform))
    return Infrastructure(status=status)


def test_a_machine_with_the_load_balancers_of_its_cluster_may_be_moved() -> None:
    assert errors_of(machine(INT), cluster(("int", "nlb"))) == ()
    assert errors_of(machine(EXT, INT), cluster(("int", "nlb"), ("ext", "elb"))) == ()
    assert errors_of(machine(EXT), cluster(("ext", "classic"))) == ()


def test_a_worker_has_none() -> None:
    assert errors_of(machine(role="worker"), None) == ()
    assert errors_of(machine(INT, role="worker"), cluster(("int", "nlb"))) == (
        f"{P}: Invalid value: {INT_JSON}: loadBalancers are not supported for non-control plane machines",
    )


@pytest.mark.parametrize(
    ("given", "detail"),
    [
        (None, "no control plane load balancer configured on AWSCluster"),
        (cluster(None), "no control plane load balancer configured on AWSCluster"),
        (cluster(("", "nlb")), "no control plane load balancer configured on AWSCluster"),
        (cluster(("int", "alb")), "failed to convert control plane load balancer: unsupported load balancer type"),
        (
            cluster(("int", "nlb"), (None, "nlb")),
            "secondary control plane load balancer name is not configured on AWSCluster",
        ),
        (
            cluster(("int", "nlb"), ("ext", "")),
            "failed to convert secondary control plane load balancer: unsupported load balancer type",
        ),
    ],
)
def test_a_cluster_whose_load_balancers_cannot_be_compared_is_an_error(
    given: capa.AWSCluster | None, detail: str
) -> None:
    assert errors_of(machine(INT), given) == (f"{P}: Invalid value: {INT_JSON}: {detail}",)


def test_others_than_the_clusters_are_errors_and_so_are_missing_ones() -> None:
    assert errors_of(machine(INT, {"name": "x", "type": "network"}), cluster(("int", "elb"), ("b", "nlb"))) == (
        f'{P}[0].type: Invalid value: "network": load balancer "int" must be of type "classic" to match AWSCluster',
        f'{P}[1].name: Invalid value: "x": unexpected load balancer "x" defined on machine',
        f'{P}: Invalid value: [{{"name":"int","type":"network"}},{{"name":"x","type":"network"}}]: '
        'must include load balancer named "b"',
    )


def test_several_missing_ones_are_sorted_by_name() -> None:
    errors = errors_of(machine(), cluster(("z", "nlb"), ("a", "nlb")))
    assert [error.rpartition(" ")[2] for error in errors] == ['"a"', '"z"']


def test_errors_of_load_balancers_come_first() -> None:
    lost = mapi.Machine(
        metadata=machine().metadata,
        spec=mapi.MachineSpec(provider_spec=mapi.ProviderSpec(value={"deviceIndex": 1, "loadBalancers": [INT]})),
    )
    errors = errors_of(lost, None)
    assert [error.partition(":")[0].rpartition(".")[2] for error in errors] == ["loadBalancers", "ami", "deviceIndex"]


def test_without_a_word_about_the_cluster_they_are_not_looked_at() -> None:
    assert to_cluster_api(machine(INT), on("AWS")).errors == ()


def test_other_platforms_have_no_such_check() -> None:
    assert errors_of(machine(role="master"), None, platform="OpenStack") == ()


def test_a_provider_spec_that_cannot_be_read_has_that_error_alone() -> None:
    broken = mapi.Machine(spec=mapi.MachineSpec(provider_spec=mapi.ProviderSpec(value=[])))
    (error,) = errors_of(broken, cluster(("int", "nlb")))
    assert "error unmarshalling providerSpec" in error
