"""Checks the load balancers of control-plane machines: they must be those of the AWSCluster.

Cluster API registers a control-plane machine with the load balancers of its AWSCluster and ignores those of the
Machine. So a Machine may move only if it lists exactly the cluster's load balancers, by name and type.
"""

from typing import Final

from windlass.api import capa, mapi, mapi_aws
from windlass.machine_sync.conversion.field_errors import FieldError, invalid, invalid_json
from windlass.machine_sync.conversion.metadata import is_control_plane
from windlass.machine_sync.conversion.provider_spec import PATH

TYPES: Final = {"classic": "classic", "elb": "classic", "nlb": "network"}
"""Types of the Machine API by those of Cluster API; others, and no type, have no counterpart."""

_PATH: Final = f"{PATH}.loadBalancers"


def load_balancer_errors(
    machine: mapi.Machine, config: mapi_aws.AWSMachineProviderConfig, cluster: capa.AWSCluster | None
) -> list[FieldError]:
    """The errors of the load balancers in this provider spec of `machine`; empty if the Machine can move.

    `cluster` is None if it does not exist. Load balancers of a worker are not checked here: conversion refuses them.
    """
    if not is_control_plane(machine):
        return []
    listed = config.load_balancers
    expected = _expected(listed, cluster)
    return [expected] if isinstance(expected, FieldError) else _differences(listed, expected)


def _expected(listed: list[mapi_aws.LoadBalancer], cluster: capa.AWSCluster | None) -> dict[str, str] | FieldError:
    """The types of the cluster's load balancers by name, or an error."""
    spec = cluster.spec if cluster is not None else capa.AWSClusterSpec()
    primary, secondary = spec.control_plane_load_balancer, spec.secondary_control_plane_load_balancer
    if primary is None or not primary.name:
        return invalid_json(_PATH, listed or None, "no control plane load balancer configured on AWSCluster")
    kind = TYPES.get(primary.load_balancer_type)
    if kind is None:
        detail = "failed to convert control plane load balancer: unsupported load balancer type"
        return invalid_json(_PATH, listed or None, detail)
    expected = {primary.name: kind}
    if secondary is None:
        return expected
    if not secondary.name:
        return invalid_json(
            _PATH, listed or None, "secondary control plane load balancer name is not configured on AWSCluster"
        )
    kind = TYPES.get(secondary.load_balancer_type)
    if kind is None:
        detail = "failed to convert secondary control plane load balancer: unsupported load balancer type"
        return invalid_json(_PATH, listed or None, detail)
    return {**expected, secondary.name: kind}


def _differences(listed: list[mapi_aws.LoadBalancer], expected: dict[str, str]) -> list[FieldError]:
    errors: list[FieldError] = []
    for index, one in enumerate(listed):
        kind = expected.get(one.name)
        if kind is None:
            detail = f'unexpected load balancer "{one.name}" defined on machine'
            errors.append(invalid(f"{_PATH}[{index}].name", one.name, detail))
        elif one.type != kind:
            detail = f'load balancer "{one.name}" must be of type "{kind}" to match AWSCluster'
            errors.append(invalid_json(f"{_PATH}[{index}].type", one.type, detail))
    names = {one.name for one in listed}
    missing = sorted(expected.keys() - names)
    return errors + [
        invalid_json(_PATH, listed or None, f'must include load balancer named "{name}"') for name in missing
    ]
