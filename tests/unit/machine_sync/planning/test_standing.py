"""Platform and feature gate, before anything is planned."""

import pytest

from windlass.api import config
from windlass.capability.planning import ClusterListing
from windlass.kube.errors import Forbidden, Status
from windlass.machine_sync.planning import NoPlatform, standing_of
from windlass.machine_sync.platforms import OPENSTACK
from windlass.model import MemoryApi


async def test_a_feature_gate_that_may_not_be_read_does_not_hinder_planning() -> None:
    api = MemoryApi(config.Infrastructure, config.FeatureGate, config.ClusterVersion)
    status = {"platformStatus": {"type": "OpenStack"}}
    identity = {"apiVersion": "config.openshift.io/v1", "kind": "Infrastructure"}
    api.load({**identity, "metadata": {"name": "cluster"}, "status": status})
    api.fail_next("get", config.FeatureGate, Forbidden(Status("Failure", "no", "Forbidden", 403)))

    standing = await standing_of(ClusterListing(api))

    assert (standing.platform, standing.gate, standing.idle) == (OPENSTACK, None, "")


async def test_without_an_infrastructure_there_is_no_platform() -> None:
    with pytest.raises(NoPlatform, match="Infrastructure cluster does not exist"):
        await standing_of(ClusterListing(MemoryApi(config.Infrastructure)))
