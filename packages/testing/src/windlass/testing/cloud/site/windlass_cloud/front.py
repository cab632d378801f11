"""WSGI middleware in front of a service: a log of its requests, and faults on demand.

    GET     /__dev__/requests     the last requests
    GET     /__dev__/faults       the rules, each with the number of requests that it has hit
    POST    /__dev__/faults       add a rule; the answer is the rule with its id
    DELETE  /__dev__/faults       remove rules

`project` in the query selects rules or requests of that project; `id` selects one rule. Bodies are JSON.

A rule matches a request by `method`, `path` and `user_agent` (regular expressions that are searched), `project` (an id)
and `sender`: `service` if another service sent it on behalf of its own client, else `client`. Of the requests that
match, `skip` pass first, and `count` at most are hit. A hit waits `delay` seconds. Then it is answered with `status`,
`headers` and `body`, or its connection is closed without an answer (`drop`); with neither, the service answers. With
`after`, the service does its work first.
"""

import collections
import itertools
import json
import re
import socket
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import parse_qs

from .callers import Callers

PREFIX = "/__dev__/"
SOCKET = "windlass.socket"
"""The connection of a request, which the server puts into its environment."""

_KEPT = 50_000
_INJECTED = {"error": {"code": 0, "title": "Injected fault", "message": "Injected fault"}}

Environ = dict[str, Any]
Start = Callable[..., Any]
Rule = dict[str, Any]


class Front:
    """The middleware around `application`."""

    def __init__(self, application: Any, callers: Callers) -> None:
        self._application = application
        self._callers = callers
        self._lock = threading.Lock()
        self._rules: list[Rule] = []
        self._ids = itertools.count(1)
        self._log: collections.deque[dict[str, Any]] = collections.deque(maxlen=_KEPT)

    def __call__(self, environ: Environ, start: Start) -> Iterable[bytes]:
        if environ["PATH_INFO"].startswith(PREFIX):
            return self._control(environ, start)
        began = time.time()
        entry = {
            "time": began,
            "method": environ["REQUEST_METHOD"],
            "path": environ["PATH_INFO"],
            "query": environ.get("QUERY_STRING", ""),
            "user_agent": environ.get("HTTP_USER_AGENT", ""),
            "project": self._callers.project(environ),
            "sender": "service" if "HTTP_X_SERVICE_TOKEN" in environ else "client",
            "fault": False,
        }

        def finish(status: int) -> None:
            with self._lock:
                self._log.append(entry | {"status": status, "seconds": round(time.time() - began, 4)})

        def logged(status: str, headers: list[tuple[str, str]], *problem: Any) -> Any:
            finish(int(status.split()[0]))
            return start(status, headers, *problem)

        if (rule := self._hit_by(entry)) is None:
            return self._serve(environ, logged)
        entry["fault"] = True
        time.sleep(rule.get("delay", 0))
        if not rule.get("drop") and "status" not in rule:
            return self._serve(environ, logged)
        if rule.get("after"):
            for _ in self._serve(environ, lambda *_: None):
                pass
        if rule.get("drop"):
            finish(0)
            environ[SOCKET].shutdown(socket.SHUT_RDWR)
            return []
        return _injected(rule, logged)

    def _serve(self, environ: Environ, start: Start) -> Iterable[bytes]:
        if not self._callers.is_login(environ):
            answer: Iterable[bytes] = self._application(environ, start)
            return answer
        tokens: list[str] = []

        def seen(status: str, headers: list[tuple[str, str]], *problem: Any) -> Any:
            tokens.extend(value for name, value in headers if name.lower() == "x-subject-token")
            return start(status, headers, *problem)

        body = b"".join(self._application(environ, seen))
        if tokens and (project := json.loads(body)["token"].get("project")) is not None:
            self._callers.remember(tokens[0], project["id"])
        return [body]

    def _hit_by(self, entry: dict[str, Any]) -> Rule | None:
        with self._lock:
            for rule in self._rules:
                if not _matches(rule, entry):
                    continue
                rule["seen"] += 1
                if rule["seen"] > rule.get("skip", 0) and rule["hits"] < rule.get("count", float("inf")):
                    rule["hits"] += 1
                    return rule
        return None

    def _control(self, environ: Environ, start: Start) -> Iterable[bytes]:
        query = {name: values[0] for name, values in parse_qs(environ.get("QUERY_STRING", "")).items()}
        with self._lock:
            match environ["REQUEST_METHOD"], environ["PATH_INFO"].removeprefix(PREFIX):
                case "GET", "requests":
                    return _json(start, [entry for entry in self._log if _selected(entry, query)])
                case "GET", "faults":
                    return _json(start, [rule for rule in self._rules if _selected(rule, query)])
                case "DELETE", "faults":
                    self._rules = [rule for rule in self._rules if not _selected(rule, query)]
                    return _json(start, self._rules)
                case "POST", "faults":
                    body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
                    rule = json.loads(body) | {"id": str(next(self._ids)), "seen": 0, "hits": 0}
                    self._rules.append(rule)
                    return _json(start, rule)
        return _json(start, {"message": f"{PREFIX} has requests and faults"}, "404 Not Found")


def _matches(rule: Rule, entry: dict[str, Any]) -> bool:
    target = f"{entry['path']}?{entry['query']}" if entry["query"] else entry["path"]
    return (
        all(rule.get(name) in (None, entry[name]) for name in ("method", "project", "sender"))
        and re.search(rule.get("path", ""), target) is not None
        and re.search(rule.get("user_agent", ""), entry["user_agent"]) is not None
    )


def _selected(thing: dict[str, Any], query: dict[str, str]) -> bool:
    return all(thing.get(name) == value for name, value in query.items())


def _injected(rule: Rule, start: Start) -> list[bytes]:
    body = rule.get("body", {"error": {**_INJECTED["error"], "code": rule["status"]}})
    content = (body if isinstance(body, str) else json.dumps(body)).encode()
    headers = {"Content-Type": "application/json", **rule.get("headers", {}), "Content-Length": str(len(content))}
    start(f"{rule['status']} Injected", list(headers.items()))
    return [content]


def _json(start: Start, value: Any, status: str = "200 OK") -> list[bytes]:
    content = json.dumps(value).encode() + b"\n"
    start(status, [("Content-Type", "application/json"), ("Content-Length", str(len(content)))])
    return [content]
