"""The input of a decision about an OpenStackCluster, and facts that follow from the objects alone."""

from collections.abc import Mapping
from datetime import datetime

from msgspec import Struct

from windlass.api.capi import Cluster
from windlass.api.capo_cluster import OpenStackCluster
from windlass.api.meta import ObjectMeta
from windlass.kube.control.plan import Outcome
from windlass.kube.control.seen import Present, Seen
from windlass.openstack.cloud.failures import CloudFailure
from windlass.openstack.cloud.query import Query
from windlass.openstack.cloud.resources import Resource
from windlass.openstack.constants import CLUSTER_LABEL, MANAGED_BY_ANNOTATION
from windlass.openstack.identity.find import IdentityTrouble
from windlass.openstack.objects import owner_name

Answers = Mapping[Query, "tuple[Resource, ...] | CloudFailure"]


class Cloud(Struct, frozen=True):
    """What the cloud answered, and when it was asked."""

    answers: Answers
    asked: datetime


class Snapshot(Struct, frozen=True, kw_only=True):
    """`cluster` None: no Cluster owns it. `machines`: those of the Cluster, only looked for while it is being deleted.

    `cloud` is why there is no access to it, or None while nothing has to be asked.
    """

    infra: Seen[OpenStackCluster]
    cluster: Seen[Cluster] | None = None
    cluster_name: str = ""
    machines: tuple[str, ...] = ()
    cloud: Cloud | IdentityTrouble | CloudFailure | None = None
    last: Outcome = Outcome()


def cluster_of(meta: ObjectMeta) -> str:
    """The name of the Cluster that owns the object, or of its label; empty if there is none."""
    return owner_name(meta, Cluster) or meta.labels.get(CLUSTER_LABEL, "")


def is_external(found: Present[OpenStackCluster]) -> bool:
    """Somebody else manages it."""
    return MANAGED_BY_ANNOTATION in found.metadata.annotations
