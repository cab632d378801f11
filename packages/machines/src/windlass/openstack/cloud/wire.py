"""The interface to a cloud's HTTP: one request, one answer. All above it is the same for a real cloud and a model.

`windlass.openstack.cloud.session` speaks to a real cloud; `windlass.testing.memory_cloud` is a model of one. So answers
are classified and decoded by the same code in all tests.
"""

from collections.abc import Mapping
from typing import Any, Final, Literal, Protocol, TypeAlias

from msgspec import Struct

from windlass.kube.foreign import Malformed

Service: TypeAlias = Literal["compute", "network", "image", "block-storage", "load-balancer"]
"""A service by its type, as the catalog names it."""

Method: TypeAlias = Literal["GET", "POST", "PUT", "DELETE"]


class Http(Struct, frozen=True):
    """A request below the endpoint of `service`: `path` begins with `/`; `query` may repeat a name.

    `microversion`: of Nova (`2.53`) and Cinder (`3.60`); empty: the service's oldest.
    """

    service: Service
    method: Method
    path: str
    query: tuple[tuple[str, str], ...] = ()
    body: Mapping[str, Any] | None = None
    microversion: str = ""


UNREADABLE: Final = (Malformed, ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""The errors of code that reads an answer with other content than was asked for: no JSON, other types or values."""


class Answer(Protocol):
    """`headers` have lower-case names."""

    @property
    def status(self) -> int: ...
    @property
    def headers(self) -> Mapping[str, str]: ...
    @property
    def body(self) -> bytes: ...


class Wire(Protocol):
    """Sends requests of one project.

    `send` returns every answer, whatever its status, and raises a `CloudFailure` if there is none: `Unavailable` if the
    request certainly did not arrive (refused, DNS), `Doubtful` for a write that may have arrived, `Unauthenticated` if
    no token could be had, `Rejected` if the catalog lacks the service or the service the microversion.
    """

    async def send(self, request: Http, /, *, seconds: float, agent: str = "") -> Answer:
        """Send it once. `agent` is put at the end of the User-Agent, and says who asks: the controller that sends a
        write, `poll` for a list of the whole project, `lookup` for other reads, whose answers all share."""
        ...

    async def project_id(self) -> str:
        """The project that the credentials are for."""
        ...

    @property
    def services(self) -> frozenset[str]:
        """The types of the services in the catalog; empty before the first token."""
        ...

    def close(self) -> None:
        """It is not needed any more."""
        ...
