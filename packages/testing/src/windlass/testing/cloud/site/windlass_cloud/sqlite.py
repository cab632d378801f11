"""Lets many threads write one SQLite file; imported before oslo.db makes an engine.

oslo.db begins a deferred transaction for each session. One that reads first and writes later fails at once when another
connection wrote in between. Here BEGIN waits for the first statement that writes, and is BEGIN IMMEDIATE then, which
waits for its turn. Reads outside a write transaction see the latest committed data.

The turns of one process are in the order of asking: SQLite lets those who wait sleep and try again, and one of many can
try in vain for half a minute.

oslo.db also opens the file anew for each session. Here connections are pooled.
"""

import sqlite3
from collections import defaultdict, deque
from threading import Lock
from typing import Any

import sqlalchemy
from sqlalchemy import event, pool
from sqlalchemy.engine import Engine

_READS = ("SELECT", "PRAGMA", "WITH", "EXPLAIN")
_create_engine = sqlalchemy.create_engine


class Turns:
    """A lock for those who ask first."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._taken = False
        self._waiting: deque[Lock] = deque()

    def take(self) -> None:
        mine = Lock()
        with self._lock:
            if self._taken:
                mine.acquire()
                self._waiting.append(mine)
            self._taken = True
        mine.acquire()

    def give(self) -> None:
        with self._lock:
            self._taken = bool(self._waiting)
            if self._waiting:
                self._waiting.popleft().release()


class Connection(sqlite3.Connection):
    """Has a turn from `begin` to the end of the transaction."""

    def __init__(self, database: Any, *arguments: Any, **options: Any) -> None:
        super().__init__(database, *arguments, **options)
        self._turns = _turns[str(database)]
        self._has_turn = False

    def begin(self) -> None:
        if not self._has_turn:
            self._turns.take()
            self._has_turn = True
        try:
            self.execute("BEGIN IMMEDIATE")
        except BaseException:
            self._end()
            raise

    def commit(self) -> None:
        try:
            super().commit()
        finally:
            if not self.in_transaction:
                self._end()

    def rollback(self) -> None:
        try:
            super().rollback()
        finally:
            self._end()

    def close(self) -> None:
        try:
            super().close()
        finally:
            self._end()

    def _end(self) -> None:
        if self._has_turn:
            self._has_turn = False
            self._turns.give()


_turns: defaultdict[str, Turns] = defaultdict(Turns)


def create_engine(url: Any, **arguments: Any) -> Engine:
    """SQLAlchemy's, with a real pool in place of oslo.db's NullPool."""
    if arguments.get("poolclass") is pool.NullPool:
        arguments.update(
            poolclass=pool.QueuePool, pool_size=20, max_overflow=40, pool_timeout=60, pool_recycle=-1
        )  # fmt: skip
        arguments.setdefault("connect_args", {}).update(check_same_thread=False, factory=Connection)
    return _create_engine(url, **arguments)


sqlalchemy.create_engine = create_engine


@event.listens_for(Engine, "connect")
def _connect(connection: Any, _: Any) -> None:
    if type(connection).__module__.split(".")[0] == "sqlite3":
        connection.execute("PRAGMA busy_timeout = 60000")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA cache_size = -8000")


@event.listens_for(Engine, "before_cursor_execute", retval=True)
def _execute(connection: Any, cursor: Any, statement: str, parameters: Any, *_: Any) -> tuple[str, Any]:
    if connection.dialect.name == "sqlite":
        word = statement.lstrip()[:9].split(None, 1)[0].upper()
        if word == "BEGIN":
            return "SELECT 1", ()
        if word not in _READS and not cursor.connection.in_transaction:
            cursor.connection.begin()
    return statement, parameters
