"""What Nova's states mean, and the addresses of a server in the order of Machines."""

import pytest

from windlass.api.capi import Address
from windlass.openstack.cloud.resources import Fault, Server, ServerAddress
from windlass.openstack.instance.state import Verdict, addresses, verdict

NO_HOST = Fault(code=500, message="No valid host was found.", details="Not enough hosts.\nTraceback")


@pytest.mark.parametrize(
    ("server", "expected"),
    [
        pytest.param(Server(status="ACTIVE"), Verdict(True, "Ready"), id="active"),
        pytest.param(
            Server(id="s", status="ERROR"),
            Verdict(
                False,
                "InstanceStateError",
                "Instance is in ERROR state: Nova gives no reason for server s",
            ),
            id="error without a fault",
        ),
        pytest.param(
            Server(status="ERROR", fault=NO_HOST),
            Verdict(
                False,
                "InstanceStateError",
                "Instance is in ERROR state: fault 500: No valid host was found. (Not enough hosts.)",
            ),
            id="error with a fault",
        ),
        pytest.param(
            Server(status="ERROR", fault=Fault(message="Boom: disk", details="disk")),
            Verdict(False, "InstanceStateError", "Instance is in ERROR state: fault: Boom: disk"),
            id="details that the message has already",
        ),
        pytest.param(
            Server(id="s", status="DELETED"),
            Verdict(False, "InstanceDeleted", "Server s has been deleted in the cloud"),
            id="deleted",
        ),
        pytest.param(
            Server(id="s", status="SOFT_DELETED"),
            Verdict(
                False, "InstanceDeleted", "Server s has been deleted in the cloud, and can still be restored there"
            ),
            id="deleted softly",
        ),
        pytest.param(
            Server(status=""), Verdict(False, "InstanceNotReady", "Instance is building", building=True), id="posted"
        ),
        pytest.param(
            Server(status="BUILD", task_state="spawning"),
            Verdict(False, "InstanceNotReady", "Instance is building (spawning)", building=True),
            id="building",
        ),
        pytest.param(
            Server(status="SHUTOFF"),
            Verdict(None, "InstanceNotReady", "Instance state is not handled: SHUTOFF"),
            id="shut off",
        ),
    ],
)
def test_a_state_of_nova_means(server: Server, expected: Verdict) -> None:
    assert verdict(server) == expected


def internal(address: str) -> Address:
    return Address(type="InternalIP", address=address)


FIXED4 = ServerAddress(addr="10.0.0.5", type="fixed")
FIXED6 = ServerAddress(addr="fd00::5", version=6, type="fixed")
FLOATING = ServerAddress(addr="203.0.113.9", type="floating")
STORAGE = ServerAddress(addr="192.168.7.1", type="fixed")


@pytest.mark.parametrize(
    ("networks", "expected"),
    [
        pytest.param({"lan": [FIXED4]}, [internal("10.0.0.5")], id="one"),
        pytest.param(
            {"lan": [FIXED4, FLOATING]},
            [internal("10.0.0.5"), Address(type="ExternalIP", address="203.0.113.9")],
            id="fixed and floating",
        ),
        pytest.param({"lan": [FIXED6, FIXED4]}, [internal("10.0.0.5"), internal("fd00::5")], id="IPv4 first"),
        pytest.param(
            {"lan": [FIXED4], "a-storage": [STORAGE]},
            [internal("192.168.7.1"), internal("10.0.0.5")],
            id="several networks by name",
        ),
        pytest.param({"lan": [ServerAddress(addr="1.2.3.4", type="other")]}, [], id="unknown type"),
        pytest.param({}, [], id="none yet"),
    ],
)
def test_addresses_are_ordered_by_network_and_version(
    networks: dict[str, list[ServerAddress]], expected: list[Address]
) -> None:
    server = Server(name="worker-0", addresses=networks)
    assert list(addresses(server)) == [*expected, Address(type="InternalDNS", address="worker-0")]
