"""A project of its own for a test: a user, quota, a private network, faults, requests, and what it leaves behind."""

import secrets
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any, Unpack, cast

from openstack.connection import Connection as Sdk

from windlass.testing.cloud import clouds, leftovers
from windlass.testing.cloud.faults import Fault, Request, Rule, Sender
from windlass.testing.cloud.leftovers import KINDS, Leftover
from windlass.testing.plane.waiting import wait_for

if TYPE_CHECKING:
    from openstack.identity.v3._proxy import Proxy as Identity

    from windlass.testing.cloud.access import CloudAccess

ENTRY = "openstack"
"""The name of the cloud in a project's clouds.yaml, as OpenShift expects it."""

CIDR = "10.6.0.0/16"
"""Of the private network."""

_ROLES = ("member", "load-balancer_member")
_SETTLE_SECONDS = 60.0
"""How long something that is being deleted at the end of a test may take to be gone."""

_NETWORK_QUOTAS = {
    "floatingip", "network", "port", "router", "security_group", "security_group_rule", "subnet", "trunk",
}  # fmt: skip
_VOLUME_QUOTAS = {"backups", "gigabytes", "snapshots", "volumes"}


class Project:
    """A project with one user, who is a member, and a private network with a subnet.

    id, name       of the project; `user` and `password` are of its user
    network_id, subnet_id
                   the private network of CIDR, without DHCP ports
    """

    def __init__(self, cloud: "CloudAccess", *, quota: Mapping[str, int] | None = None) -> None:
        """Make it. `quota` has names of Nova (`instances`, `cores`), Neutron (`port`) and Cinder (`volumes`)."""
        self._cloud = cloud
        self._tolerated: set[str] = set()
        self.name = self.user = f"test-{secrets.token_hex(4)}"
        self.password = secrets.token_hex(8)
        identity = self._identity
        self.id: str = identity.create_project(name=self.name, domain_id="default").id
        user = identity.create_user(
            name=self.user, password=self.password, domain_id="default", default_project_id=self.id
        )
        self._user_id: str = user.id
        for role in _ROLES:
            identity.assign_project_role_to_user(self.id, user, cloud.role(role))
        self.set_quota(**(quota or {}))
        network = self.sdk.network
        self.network_id: str = network.create_network(name=self.name).id
        self.subnet_id: str = network.create_subnet(
            name=self.name, network_id=self.network_id, ip_version=4, cidr=CIDR
        ).id

    @cached_property
    def sdk(self) -> Sdk:
        """A connection of openstacksdk as the project's user."""
        return self.connect()

    def connect(self, *, user_agent: str | None = None) -> Sdk:
        """Another connection, with its own token."""
        return clouds.connect(self.cloud, user_agent=user_agent)

    @property
    def cloud(self) -> dict[str, Any]:
        """The entry of clouds.yaml with the user's password."""
        auth = clouds.password(self.user, self.name) | {"password": self.password}
        return clouds.entry(self._cloud.urls["keystone"], self._cloud.ca_file, **auth)

    @property
    def clouds_yaml(self) -> str:
        """The text of clouds.yaml, with `cloud` as ENTRY."""
        return clouds.text({ENTRY: self.cloud})

    def application_credential(self, *, seconds: float | None = None) -> dict[str, Any]:
        """An entry of clouds.yaml with a new application credential, which is valid for `seconds`, as are its tokens.

        It ends with the project's user.
        """
        end = None if seconds is None else f"{datetime.now(UTC) + timedelta(seconds=seconds):%Y-%m-%dT%H:%M:%S.%f}"
        made = cast("Identity", self.sdk.identity).create_application_credential(
            user=self._user_id, name=secrets.token_hex(4), expires_at=end
        )
        auth = {"application_credential_id": made.id, "application_credential_secret": made.secret}
        return clouds.entry(self._cloud.urls["keystone"], self._cloud.ca_file, **auth)

    def set_quota(self, **limits: int) -> None:
        """Change limits: those of Nova (`instances`, `cores`, `ram`), Neutron (`port`) and Cinder (`volumes`)."""
        admin = self._cloud.admin
        network = {name: limit for name, limit in limits.items() if name in _NETWORK_QUOTAS}
        volume = {name: limit for name, limit in limits.items() if name in _VOLUME_QUOTAS}
        compute = {name: limit for name, limit in limits.items() if name not in network and name not in volume}
        if network:
            admin.network.update_quota(self.id, **network)
        if volume:
            admin.block_storage.update_quota_set(self.id, **volume)
        if compute:
            admin.compute.update_quota_set(self.id, user=None, **compute)

    def fault(self, service: str, *, from_services: bool = False, **rule: Unpack[Rule]) -> Fault:
        """Put a rule into force that hits requests of this project only, until the project is deleted.

        `from_services`: it hits the requests of services on behalf of this project (Nova makes ports), not its own.
        """
        rule.setdefault("sender", "service" if from_services else "client")
        rule["project"] = self.id
        return self._cloud.fault(service, **rule)

    def clear_faults(self) -> None:
        """Remove the rules of this project."""
        self._cloud.clear_faults(project=self.id)

    def requests(
        self,
        service: str | None = None,
        *,
        method: str | None = None,
        path: str | None = None,
        user_agent: str | None = None,
        from_services: bool = False,
    ) -> list[Request]:
        """The project's own requests, oldest first; `from_services`: those of services on its behalf instead."""
        sender: Sender = "service" if from_services else "client"
        return self._cloud.requests(
            service, project=self.id, method=method, path=path, user_agent=user_agent, sender=sender
        )

    def may_leave(self, *kinds: str) -> None:
        """Do not complain of leftovers of these kinds: `server`, `port`, `volume`, ...; without kinds, of none."""
        self._tolerated |= set(kinds or KINDS)

    def leftovers(self) -> list[Leftover]:
        """What the project has beyond what it was made with and `may_leave`; waits for what is being deleted."""
        kinds = [kind for kind in KINDS if kind not in self._tolerated]
        found: list[Leftover] = []

        def settled() -> bool | None:
            found[:] = leftovers.find(self._cloud.admin, self.id, kinds=kinds, but=self.network_id)
            return not any(leftover.going for leftover in found) or None

        wait_for(settled, seconds=_SETTLE_SECONDS)
        return found

    def delete(self) -> None:
        """Delete the project with all its resources."""
        self.clear_faults()
        leftovers.delete(self._cloud.admin, self.id)
        self._identity.delete_user(self._user_id)
        self._identity.delete_project(self.id)

    @property
    def _identity(self) -> "Identity":
        return cast("Identity", self._cloud.admin.identity)
