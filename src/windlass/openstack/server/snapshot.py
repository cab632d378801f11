"""What a decision about an OpenStackServer may look at."""

from collections.abc import Mapping

from msgspec import Struct

from windlass.api.capi import Cluster
from windlass.api.capo_server import OpenStackServer
from windlass.kube.control.plan import Outcome
from windlass.kube.control.seen import Seen
from windlass.openstack.cloud.failures import CloudFailure
from windlass.openstack.cloud.inventory import Inventory, Weather
from windlass.openstack.cloud.query import Query
from windlass.openstack.cloud.resources import Resource
from windlass.openstack.identity.find import IdentityTrouble


class Cloud(Struct, frozen=True, kw_only=True):
    """What the cloud says about the server.

    `inventory` None: not looked for, because nothing can exist yet. `answers` is empty unless something has to be
    resolved. `extensions` are those of Neutron, by alias.
    """

    project: str
    region: str
    services: frozenset[str]
    weather: Weather
    inventory: Inventory | CloudFailure | None = None
    answers: Mapping[Query, "tuple[Resource, ...] | CloudFailure"] = {}
    extensions: frozenset[str] | CloudFailure = frozenset()


class UserData(Struct, frozen=True):
    """The bootstrap data, base64. `trouble` says why there is none."""

    text: str = ""
    trouble: str = ""


class Snapshot(Struct, frozen=True, kw_only=True):
    """`cluster` None: the server belongs to none. `cloud` is why there is no access to it, or None while nothing has to
    be asked. `fresh_mark`: a new mark, in case the server has none. `user_data` None: it is not needed now.
    """

    server: Seen[OpenStackServer]
    cluster: Seen[Cluster] | None
    cloud: Cloud | IdentityTrouble | CloudFailure | None
    fresh_mark: str
    user_data: UserData | None = None
    last: Outcome = Outcome()
