"""Questions about what exists in a project, by id or by filter. They are values: a resolution names all it needs first.

Query("image", filters=(("name", "rhcos"),))
Query("subnet", id="8f3c...")
"""

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from windlass.openstack.cloud.failures import CloudFailure
from windlass.openstack.cloud.resources import Resource

Kind: TypeAlias = Literal[
    "image",
    "flavor",
    "network",
    "subnet",
    "router",
    "security group",
    "server group",
    "zone",
    "extension",
    "keypair",
    "floating ip",
    "load balancer provider",
    "load balancer flavor",
]


class Query(Struct, frozen=True, order=True):
    """All resources of `kind` with this `id`, or that match `filters` (in the service's own names, exactly).

    `own`: only resources of the project itself, without resources shared with the project.
    """

    kind: Kind
    id: str = ""
    filters: tuple[tuple[str, str], ...] = ()
    own: bool = False

    def __str__(self) -> str:
        by = f"ID {self.id}" if self.id else ", ".join(f"{name} {value}" for name, value in self.filters) or "any"
        return f"{self.kind} ({by})"


EXTENSIONS: Final = Query("extension")
Answers: TypeAlias = Mapping[Query, tuple[Resource, ...] | CloudFailure]
"""What a project has for each question, or why that is not known."""
