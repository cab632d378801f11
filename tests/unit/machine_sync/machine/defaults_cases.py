"""Mirrors of each platform that a provider adds defaults to."""

import pytest

from windlass.machine_sync.platforms import AWS, OPENSTACK, Platform
from windlass.model import MemoryApi

from .aws_cases import on_aws
from .cases import MAPI_MACHINE, Tree, changed

VOLUMES = [{"ebs": {"volumeSize": 100}}, {"deviceName": "/dev/sdb", "ebs": {"volumeSize": 10}}]
NETWORKS = [{"subnets": [{"filter": {"name": "nodes"}}]}]
CASES = [
    pytest.param(
        AWS,
        {**on_aws(), "machine_api": changed(on_aws()["machine_api"], spec__providerSpec__value__blockDevices=VOLUMES)},
        id="AWS",
    ),
    pytest.param(
        OPENSTACK,
        {
            "machine_api": changed(MAPI_MACHINE, spec__providerSpec__value__networks=NETWORKS),
            "cluster_api": None,
            "infra_machine": None,
        },
        id="OpenStack",
    ),
]
LOOKS = 3


def only(api: MemoryApi, platform: Platform) -> Tree:
    (infra,) = api.listing(platform.infra_machine)
    return infra.tree()
