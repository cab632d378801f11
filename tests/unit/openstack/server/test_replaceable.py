"""Which roots of an earlier version an object replaces by its mark: those of what is its own by name.

A copy in another management cluster has the same root, and cannot see the original.
"""

from typing import Any

import msgspec
import pytest

from tests.unit.asked import answered
from windlass.api.capo_server import OpenStackServer
from windlass.kube.control.question import Asking
from windlass.kube.control.seen import Present
from windlass.model import MemoryApi
from windlass.model.reader import MemoryReader
from windlass.openstack.cloud.inventory import MARK, ServerInventory
from windlass.openstack.cloud.resources import Port, Server
from windlass.openstack.constants import MARK_ANNOTATION
from windlass.openstack.objects import BY_MARK, marked
from windlass.openstack.owners import Owners
from windlass.openstack.ownership import Facts
from windlass.openstack.server.inventory import replaceable

ROOT = "0b5f4c1e-8e5f-4d0c-9b0e-3f0a2a1d7c55"


def server(name: str) -> Server:
    return Server(id=f"s-{name}", name=name, status="ACTIVE", metadata={MARK: ROOT})


def port(name: str) -> Port:
    return Port(id=f"p-{name}", name=name, network_id="n-1", description=f"{MARK}={ROOT}")


@pytest.mark.parametrize(
    ("there", "replaced"),
    [
        pytest.param({"others": (server("web-0"),)}, True, id="a server of its name"),
        pytest.param({"others": (server("other"),)}, False, id="a server of another name"),
        pytest.param({"others": (port("web-0-0"),)}, True, id="a port that is called after it"),
        pytest.param({"others": (port("other-0"),)}, False, id="a port that is called after another one"),
        pytest.param(
            {"servers": (server("adopted"),), "others": (port("of-adopted"),)}, True, id="a port beside its server"
        ),
        pytest.param({"others": (server("web-0"), port("of-adopted"))}, True, id="a port beside a server of its name"),
        pytest.param(
            {"servers": (server("adopted"),), "others": (server("other"),)}, False, id="two servers, and one is its own"
        ),
    ],
)
async def test_a_root_alone_is_replaced_on(there: dict[str, Any], replaced: bool) -> None:
    metadata = {"name": "web-0", "namespace": "team-a", "uid": "u", "annotations": {MARK_ANNOTATION: ROOT}}
    spec = {"identityRef": {"name": "cloud", "cloudName": "c"}, "flavor": "f", "image": {}, "sshKeyName": ""}
    web = Present(msgspec.convert({"metadata": metadata, "spec": spec}, OpenStackServer), b"")
    reader = MemoryReader(MemoryApi(OpenStackServer))
    reader.add_index(OpenStackServer, BY_MARK, marked)

    def rule(seen: Asking) -> tuple[Facts, frozenset[str]]:
        return replaceable(Owners(seen, names=lambda _: False), web, Facts(), ServerInventory(**there))

    _, formers = await answered(rule, reader)
    assert formers == (frozenset({ROOT}) if replaced else frozenset())
