"""Detects whether a person at a terminal or a program reads the output."""

import select
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import click


def can_ask() -> bool:
    """Whether there is a person who can answer a question."""
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()


def need(option: str) -> None:
    """Raises UsageError if there is nobody who can be asked before `option` is carried out."""
    if not can_ask():
        raise click.UsageError(f"{option} changes many objects and needs a terminal to ask for confirmation: add --yes")


def agreed(question: str) -> bool:
    """Whether the person says yes; anything else is a no. Ctrl-C is a KeyboardInterrupt, in an event loop too."""
    with _interruptible() as interrupted:
        click.echo(f"{question} [y/N]: ", nl=False, err=True)
        select.select([sys.stdin, interrupted], [], [])
        return sys.stdin.readline().strip().lower() in ("y", "yes")


@contextmanager
def _interruptible() -> Iterator[socket.socket]:
    """Ctrl-C raises while this lasts, and makes the socket readable.

    Else one that comes right before a read would be heard after it, and an event loop would wait for the answer.
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
