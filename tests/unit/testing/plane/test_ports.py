import socket
from collections.abc import Iterator

import pytest

from windlass.testing.plane import ports
from windlass.testing.plane.ports import HeldPorts

HOST = "127.0.0.1"


@pytest.fixture
def held() -> Iterator[HeldPorts]:
    held = HeldPorts(1)
    yield held
    held.close()


def listen(address: str, port: int, *options: int) -> socket.socket:
    server = socket.socket()
    try:
        for option in options:
            server.setsockopt(socket.SOL_SOCKET, option, 1)
        server.bind((address, port))
        server.listen()
    except OSError:
        server.close()
        raise
    return server


def test_ports_differ_and_can_be_listened_on() -> None:
    found = ports.free_ports(7)
    assert len(set(found)) == 7
    for port in found:
        with socket.create_server((HOST, port)):
            pass


def test_a_port_with_a_listener_is_not_free() -> None:
    with socket.create_server((HOST, 0)) as taken:
        assert not ports._is_free(taken.getsockname()[1])


@pytest.mark.parametrize("address", [HOST, "0.0.0.0"])
@pytest.mark.parametrize("options", [(), (socket.SO_REUSEADDR,)], ids=["as Python does", "as Go does"])
def test_nobody_else_gets_a_held_port(held: HeldPorts, address: str, options: tuple[int, ...]) -> None:
    (port,) = held.ports
    with pytest.raises(OSError, match="already in use"):
        listen(address, port, *options)
    assert not ports._is_free(port)


def test_a_port_that_is_held_is_not_held_again(held: HeldPorts, monkeypatch: pytest.MonkeyPatch) -> None:
    (port,) = held.ports
    monkeypatch.setattr(ports, "_RANGE", range(port, port + 1))
    with pytest.raises(OSError, match=r"fewer than 1 free loopback ports"):
        HeldPorts(1)


def test_its_server_comes_and_goes_and_connections_are_refused_meanwhile(held: HeldPorts) -> None:
    (port,) = held.ports
    for _ in range(3):
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection((HOST, port), timeout=10)
        with listen(HOST, port, socket.SO_REUSEADDR, socket.SO_REUSEPORT) as server:
            with socket.create_connection((HOST, port), timeout=10) as client, server.accept()[0] as accepted:
                accepted.sendall(b"here")
                assert client.recv(4) == b"here"
            with pytest.raises(OSError, match="already in use"):
                listen(HOST, port, socket.SO_REUSEADDR)


def test_a_released_port_is_free() -> None:
    held = HeldPorts(2)
    first, second = held.ports
    assert first != second
    held.close()
    listen(HOST, first, socket.SO_REUSEADDR).close()
