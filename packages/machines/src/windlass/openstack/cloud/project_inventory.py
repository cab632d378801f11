"""Everything that a project has of the kinds that Windlass makes, from one list of each."""

from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

from msgspec import Struct

from windlass.openstack.cloud.marks import mark_of
from windlass.openstack.cloud.network_inventory import Balancer
from windlass.openstack.cloud.resources import Markable

R = TypeVar("R")


class ProjectInventory(Struct, frozen=True, kw_only=True):
    """`project` is the key of the project. `resources`: by type and ID; those of other projects are there too if they
    were asked for. `balancers`: the load balancers that have a mark, by ID, with their parts."""

    project: str
    resources: Mapping[type[Any], Mapping[str, Any]]
    balancers: Mapping[str, Balancer] = {}

    def all(self, kind: type[R]) -> Iterator[R]:
        yield from self.resources.get(kind, {}).values()

    def get(self, kind: type[R], which: str) -> R | None:
        return self.resources.get(kind, {}).get(which)

    def marked(self) -> Iterator[tuple[str, Markable]]:
        """All that has the mark of an owner, with the mark."""
        for found in self.resources.values():
            for each in found.values():
                if mark := mark_of(each):
                    yield mark, each
