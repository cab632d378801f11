"""Faults on demand, and the log of requests: a client of what stands in front of each service (`front` in `site`)."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypedDict, Unpack
from urllib.parse import urlencode

from windlass.testing.plane.rest import Rest

_FAULTS, _REQUESTS = "/__dev__/faults", "/__dev__/requests"

Sender = Literal["client", "service"]
"""`service`: another service sent the request, with its own token beside that of its client."""


class Rule(TypedDict, total=False):
    """Selects requests, and says how they fail.

    method, path, user_agent
                 of the request; the latter two are regular expressions that are searched. The path has the query
    project      id of the project whose token the request has, or in which a login is asked for
    sender       leave out those of the other sort
    skip, count  let that many pass first; hit that many at most
    delay        seconds to wait; alone, the service answers afterwards
    status, headers, body
                 the answer instead of the service's
    drop         close the connection without an answer
    after        let the service do its work first, and lose its answer
    """

    method: str
    path: str
    user_agent: str
    project: str
    sender: Sender
    skip: int
    count: int
    delay: float
    status: int
    headers: Mapping[str, str]
    body: Any
    drop: bool
    after: bool


@dataclass(frozen=True)
class Request:
    """A request that a service has answered: `time` is when it came, in seconds since 1970.

    `project` is the id of the project of its token; `fault` says whether a rule has hit it; a dropped one has status 0.
    """

    service: str
    time: float
    method: str
    path: str
    query: str
    user_agent: str
    project: str | None
    sender: Sender
    status: int
    seconds: float
    fault: bool


class Fault:
    """A rule that is in force."""

    def __init__(self, front: Rest, ident: str) -> None:
        self._front = front
        self._query = urlencode({"id": ident})

    @property
    def hits(self) -> int:
        """How many requests it has hit."""
        [rule] = self._front.request("GET", f"{_FAULTS}?{self._query}")
        hits: int = rule["hits"]
        return hits

    def clear(self) -> None:
        """Remove the rule."""
        self._front.request("DELETE", f"{_FAULTS}?{self._query}")


class Fronts:
    """What stands in front of the services. A subclass says where they are."""

    @property
    def urls(self) -> Mapping[str, str]:
        raise NotImplementedError

    @property
    def ca_file(self) -> Path | None:
        raise NotImplementedError

    @cached_property
    def _fronts(self) -> dict[str, Rest]:
        return {service: Rest(url, ca_file=self.ca_file) for service, url in self.urls.items()}

    def fault(self, service: str, **rule: Unpack[Rule]) -> Fault:
        """Put a rule into force: `cloud.fault("neutron", method="POST", path="/ports$", status=429, count=2)`.

        It hits requests of all projects unless it names one; `project.fault` does. A restart of the service forgets it.
        """
        front = self._fronts[service]
        return Fault(front, front.request("POST", _FAULTS, rule)["id"])

    def faults(self, service: str) -> list[dict[str, Any]]:
        """The rules of a service, with `id`, `seen` (requests that match) and `hits`."""
        rules: list[dict[str, Any]] = self._fronts[service].request("GET", _FAULTS)
        return rules

    def clear_faults(self, service: str | None = None, *, project: str | None = None) -> None:
        """Remove all rules, or those of one service or one project."""
        query = f"?{urlencode({'project': project})}" if project else ""
        for front in self._fronts.values() if service is None else [self._fronts[service]]:
            front.request("DELETE", f"{_FAULTS}{query}")

    def requests(
        self,
        service: str | None = None,
        *,
        project: str | None = None,
        user_agent: str | None = None,
        sender: Sender | None = None,
        method: str | None = None,
        path: str | None = None,
    ) -> list[Request]:
        """The requests to one service or to all, oldest first, of those that have all that is asked for.

        `user_agent` and `path` are regular expressions, as in rules. Each service keeps the last 50,000, until it is
        restarted.
        """
        query = f"?{urlencode({'project': project})}" if project else ""
        names = {field.name for field in fields(Request)}
        found = [
            Request(service=name, **{key: value for key, value in entry.items() if key in names})
            for name in ([service] if service else self._fronts)
            for entry in self._fronts[name].request("GET", f"{_REQUESTS}{query}")
        ]
        wanted = (
            request
            for request in found
            if sender in (None, request.sender)
            and method in (None, request.method)
            and re.search(user_agent or "", request.user_agent)
            and re.search(path or "", f"{request.path}?{request.query}" if request.query else request.path)
        )
        return sorted(wanted, key=lambda request: request.time)
