"""Detects whether a person at a terminal or a program reads the output."""

import select
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import click


def can_ask() -> bool:
    """Whether there is a terminal on which a user can answer a question."""
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()


def need(option: str) -> None:
    """Raises UsageError if there is no terminal on which `option` can be confirmed."""
    if not can_ask():
        raise click.UsageError(f"{option} changes many objects and needs a terminal to ask for confirmation: add --yes")


def agreed(question: str) -> bool:
    """Whether the user answers yes; any other answer is a no. Ctrl-C is a KeyboardInterrupt, in an event loop too."""
    with _interruptible() as interrupted:
        click.echo(f"{question} [y/N]: ", nl=False, err=True)
        select.select([sys.stdin, interrupted], [], [])
        return sys.stdin.readline().strip().lower() in ("y", "yes")


@contextmanager
def _interruptible() -> Iterator[socket.socket]:
    """While the block lasts, Ctrl-C raises, and makes the socket readable.

    Otherwise a Ctrl-C right before a read would be handled only after it, and an event loop would wait for the answer.
    """
    heard, told = socket.socketpair()
    with heard, told:
        told.setblocking(False)
        handler = signal.signal(signal.SIGINT, signal.default_int_handler)
        descriptor = signal.set_wakeup_fd(told.fileno())
        try:
            yield heard
        finally:
            signal.set_wakeup_fd(descriptor)
            signal.signal(signal.SIGINT, handler)


def paint(text: str, colour: str | None, *, on: bool) -> str:
    """`text` in `colour` (a name that click knows) if colours are `on`."""
    return click.style(text, fg=colour) if on and colour else text
