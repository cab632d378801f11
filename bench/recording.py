"""Makes a script from the audit log of one run of Windlass; the script sends the same request bodies elsewhere."""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec
from msgspec import Struct

from bench.arena import Arena
from bench.replay import VERSION, Script, Step
from bench.requests import Request

_METHODS = {"create": "POST", "patch": "PATCH"}
_CONTENT_TYPES = {"create": "application/json", "patch": "application/merge-patch+json"}
_VERSION = re.compile(r'("resourceVersion":")\d+(")')


class Recording(Struct, frozen=True):
    """What was sent: per object (of its name, whatever its kind) the writes in order."""

    chains: list[list[Step]]

    @classmethod
    def of(cls, requests: Iterable[Request]) -> "Recording":
        """The successful writes among `requests`, but those of Leases. They must have been recorded with their bodies.

        ValueError if one was sent that this module cannot repeat.
        """
        chains: dict[str, list[Request]] = {}
        for request in requests:
            if request.is_write and request.succeeded and not request.is_of_lease:
                chains.setdefault(request.object_ref.name, []).append(request)
        for chain in chains.values():
            chain.sort(key=lambda request: request.received)
        return cls([[_step(request) for request in chain] for _, chain in sorted(chains.items())])

    @property
    def writes(self) -> int:
        return sum(map(len, self.chains))

    def script(self, arena: Arena, replaced: Mapping[str, str], *, path: Path) -> Path:
        """Write the script for other namespaces: `replaced` maps what was recorded (names, uids) to what is there."""
        connection = arena.plane.connection
        text = msgspec.json.encode(
            Script(
                server=connection.url,
                ca_file=str(connection.ca_file),
                token=connection.tokens["raw"],
                lists=sorted({step.of.rpartition("/")[0] for chain in self.chains for step in chain}),
                chains=self.chains,
            )
        ).decode()
        for before, after in replaced.items():
            text = text.replace(before, after)
        path.write_text(text, encoding="utf-8")
        return path


def _step(request: Request) -> Step:
    if request.verb not in _METHODS:
        raise ValueError(f"{request.verb} {request.request_uri}: only creates and merge patches can be sent again")
    path = request.request_uri.partition("?")[0]
    of = f"{path}/{request.object_ref.name}" if request.verb == "create" else path
    body = bytes(request.request_object).decode()
    if request.verb == "patch":
        body = _VERSION.sub(rf"\g<1>{VERSION}\g<2>", body, count=1)
    return Step(
        method=_METHODS[request.verb],
        path=request.request_uri,
        content_type=_CONTENT_TYPES[request.verb],
        body=body,
        of=of.removesuffix("/status"),
    )
