"""Servers that are no clouds, for tests: each takes a connection and then does something else than answer."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from windlass.openstack.cloud.credentials import Credentials

Behaviour = Callable[[socket.socket, threading.Event], None]


def _read(peer: socket.socket) -> None:
    peer.recv(65536)


def silent(peer: socket.socket, end: threading.Event) -> None:
    end.wait(20)


def trickling_header(peer: socket.socket, end: threading.Event) -> None:
    _read(peer)
    peer.sendall(b"HTTP/1.1 200 OK\r\nX-A: ")
    while not end.wait(0.02):
        peer.sendall(b"a")


def trickling_body(peer: socket.socket, end: threading.Event) -> None:
    _read(peer)
    peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n")
    while not end.wait(0.02):
        peer.sendall(b" ")


def endless_continue(peer: socket.socket, end: threading.Event) -> None:
    _read(peer)
    while not end.wait(0.005):
        peer.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")


def endless_body(peer: socket.socket, end: threading.Event) -> None:
    _read(peer)
    peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n")
    while not end.is_set():
        peer.sendall(b" " * 2**16)


def endless_chunks(peer: socket.socket, end: threading.Event) -> None:
    _read(peer)
    peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n")
    while not end.is_set():
        peer.sendall(b"10000\r\n" + b" " * 2**16 + b"\r\n")


def banner(peer: socket.socket, end: threading.Event) -> None:
    peer.sendall(b"SSH-2.0-secret_banner\r\n")
    end.wait(0.2)


def compressed(peer: socket.socket, end: threading.Event) -> None:
    _read(peer)
    peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc")
    end.wait(0.2)


def angle_brackets(peer: socket.socket, end: threading.Event) -> None:
    """An error page that is nothing but beginnings of tags."""
    _answer(peer, "404 Not Found", "text/html", b"<" * 200_000)


def deep_json(peer: socket.socket, end: threading.Event) -> None:
    """A token that nests deeper than a decoder may follow."""
    _answer(peer, "201 Created", "application/json", b'{"token":' + b"[" * 100_000 + b"]" * 100_000 + b"}")


def _answer(peer: socket.socket, status: str, kind: str, body: bytes) -> None:
    _read(peer)
    head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    peer.sendall(head.encode() + body)


@contextmanager
def hostile(behave: Behaviour, address: str = "127.0.0.1") -> Iterator[str]:
    """Serve `behave`, a thread for each connection; yields host and port."""
    end = threading.Event()
    listener = socket.create_server((address, 0), backlog=200)

    def attend(peer: socket.socket) -> None:
        with peer, suppress(OSError):
            behave(peer, end)

    def accept() -> None:
        with suppress(OSError):
            while True:
                peer, _ = listener.accept()
                threading.Thread(target=attend, args=(peer,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield f"{address}:{listener.getsockname()[1]}"
    finally:
        end.set()
        listener.close()


def keystone_at(url: str, tenant: str = "evil", **entry: Any) -> Credentials:
    auth = {"auth_url": url, "username": "u", "password": "p", "project_name": "p", "user_domain_id": "default"}
    cloud = {"auth": {**auth, "project_domain_id": "default"}, **entry}
    return Credentials(cloud, "c", "", "", f"Secret {tenant}/cloud", tenant)
