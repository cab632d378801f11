"""The interface to one project in one region of one cloud, as controllers and `create_instance` observe it."""

from collections.abc import Hashable, Iterable, Mapping
from typing import Protocol, TypeVar

from msgspec import Struct

from windlass.openstack.cloud.credentials import Credentials
from windlass.openstack.cloud.failures import CloudFailure
from windlass.openstack.cloud.inventory import Inventory, Recorded, Weather
from windlass.openstack.cloud.query import Query
from windlass.openstack.cloud.resources import Resource

Key = TypeVar("Key", bound=Hashable)


NONE = Recorded()


class Quota(Struct, frozen=True):
    """`limit` and `used` of one resource of a project; `limit` -1: none."""

    resource: str
    limit: int
    used: int


class Project(Protocol):
    """One project in one region. Methods raise `CloudFailure`, and wait for nothing but their own request."""

    @property
    def key(self) -> str:
        """A digest of everything that decides which cloud, project and user this is; for requests and maps."""
        ...

    @property
    def region(self) -> str: ...

    @property
    def services(self) -> frozenset[str]: ...

    async def find(self, queries: Iterable[Query]) -> Mapping[Query, "tuple[Resource, ...] | CloudFailure"]:
        """The answer to each query, asked at the same time. Lists of images and flavors are kept for five minutes,
        those of extensions and zones for an hour, the rest are asked each time."""
        ...

    async def look(
        self, mark: str, recorded: Recorded = NONE, *, services: Iterable[str] = (), fresh: bool = False
    ) -> Inventory:
        """What there is of an owner. From memory if nothing can have happened without us: the mark was `born` here, or
        was looked for and no outcome has been unknown since; states of servers and ports are then those of the last
        poll. `services`: where to look beside compute and network (`block-storage`). `fresh`: ask in any case."""
        ...

    def weather(self, mark: str) -> Weather:
        """What stands in the way of requests for this owner. Reads memory only."""
        ...

    async def quotas(self) -> tuple[Quota, ...]:
        """Limits and use: servers, cores, RAM, ports, volumes, gigabytes."""
        ...


class Clouds(Protocol):
    """All projects of a process. It is the carrier of `windlass.openstack.cloud.requests`, and a source of keys."""

    async def project(self, credentials: Credentials) -> Project:
        """The project of these credentials; a token is asked for if there is none. Raises `CloudFailure`."""
        ...

    def born(self, mark: str) -> str:
        """Remember that this process made up `mark` just now, so nothing can have it; returns it."""
        ...

    def follow(self, key: Hashable, project: Project, mark: str, recorded: Recorded = NONE) -> None:
        """Wake `key` when servers or ports with the mark, or recorded ones, differ from what `look` last returned."""
        ...

    def forget(self, key: Hashable, mark: str) -> None:
        """The owner is gone."""
        ...
