import socket

from windlass.testing.plane import ports


def test_ports_differ_and_can_be_listened_on() -> None:
    found = ports.free_ports(7)
    assert len(set(found)) == 7
    for port in found:
        with socket.create_server(("127.0.0.1", port)):
            pass


def test_a_port_with_a_listener_is_not_free() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert not ports._is_free(taken.getsockname()[1])
