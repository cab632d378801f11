"""coordination.k8s.io/v1: the Lease that leader election uses. Source: `k8s.io/api/coordination/v1`."""

from typing import ClassVar

from msgspec import Struct

from windlass.api.meta import ObjectMeta, Resource, always


class LeaseSpec(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """Times are MicroTime strings: RFC 3339 in UTC with six decimals, `2026-11-21T16:20:00.000000Z`."""

    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    acquire_time: str | None = None
    renew_time: str | None = None
    lease_transitions: int | None = None


class Lease(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """The leader, and how long it leads unless it renews the Lease."""

    RESOURCE: ClassVar[Resource] = Resource(group="coordination.k8s.io", version="v1", kind="Lease", plural="leases")

    metadata: ObjectMeta = always(ObjectMeta)
    spec: LeaseSpec = always(LeaseSpec)
