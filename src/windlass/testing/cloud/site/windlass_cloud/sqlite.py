"""Lets many threads write one SQLite file; imported before oslo.db makes an engine.

oslo.db begins a deferred transaction for each session. One that reads first and writes later fails at once when another
connection wrote in between. Here BEGIN waits for the first statement that writes, and is BEGIN IMMEDIATE then, which
waits for its turn. Reads outside a write transaction see the latest committed data.

oslo.db also opens the file anew for each session. Here connections are pooled.
"""

from typing import Any

import sqlalchemy
from sqlalchemy import event, pool
from sqlalchemy.engine import Engine

_READS = ("SELECT", "PRAGMA", "WITH", "EXPLAIN")
_create_engine = sqlalchemy.create_engine


def create_engine(url: Any, **arguments: Any) -> Engine:
    """SQLAlchemy's, with a real pool in place of oslo.db's NullPool."""
    if arguments.get("poolclass") is pool.NullPool:
        arguments.update(
            poolclass=pool.QueuePool, pool_size=20, max_overflow=40, pool_timeout=60, pool_recycle=-1
        )  # fmt: skip
        arguments.setdefault("connect_args", {})["check_same_thread"] = False
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
            cursor.execute("BEGIN IMMEDIATE")
    return statement, parameters
