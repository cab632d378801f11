"""Which addresses an object of a tenant must not lead a controller to."""

import pytest

from windlass.kube.addresses import refusal

SELF, METADATA, NO_SERVER = "which is this machine", "where clouds keep metadata", "which is no address of a server"


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("127.0.0.1", SELF),
        ("127.8.9.1", SELF),
        ("0.0.0.0", SELF),
        ("::1", SELF),
        ("::", SELF),
        ("::ffff:127.0.0.1", SELF),
        ("169.254.169.254", METADATA),
        ("::ffff:169.254.169.254", METADATA),
        ("64:ff9b::a9fe:a9fe", METADATA),
        ("2002:a9fe:a9fe::1", METADATA),
        ("fe80::1", METADATA),
        ("fe80::1%eth0", METADATA),
        ("100.100.100.200", METADATA),
        ("fd00:ec2::254", METADATA),
        ("224.0.0.1", NO_SERVER),
        ("255.255.255.255", NO_SERVER),
        ("ff02::1", NO_SERVER),
        ("cloud.example.org", "which is no IP address"),
        ("10.0.0.9", "which is the API server's"),
        ("::ffff:10.0.0.9", "which is the API server's"),
    ],
)
def test_it_is_refused(address: str, why: str) -> None:
    assert refusal(address, ["10.0.0.9"]) == why


@pytest.mark.parametrize("address", ["10.0.0.1", "172.30.0.10", "192.168.1.1", "8.8.8.8", "fd00::1", "2001:4860::8888"])
def test_private_and_public_addresses_are_allowed(address: str) -> None:
    assert refusal(address, ["10.0.0.9"]) == ""
