"""Clusters and resources from which the tables of the cluster's parts are made."""

from typing import Any, Final
from uuid import uuid4

import msgspec

from windlass.api.capo_cluster import OpenStackClusterSpec
from windlass.openstack.cloud.marks import described, mark_for
from windlass.openstack.cloud.requests import CloudRequest, Intent
from windlass.openstack.cluster.part import Ours, Part

Tree = dict[str, Any]

OURS: Final = Ours(project="k", intent=Intent("m"), cluster="ns-one")
NAME: Final = "k8s-clusterapi-cluster-ns-one"
MARKED: Final[Tree] = {"name": NAME, "description": described("Created by Windlass for cluster ns-one", "m")}
PROVIDERS: Final[Tree] = {"name": NAME, "description": "Created by cluster-api-provider-openstack cluster ns-one"}
FOREIGN: Final[Tree] = {"name": NAME, "description": described("", mark_for(str(uuid4()), "u", "cluster/team-b/two"))}
TAGGED: Final = Ours(
    project="k", intent=Intent("m"), cluster="ns-one", tags=("a", "b"), extensions=frozenset({"standard-attr-tag"})
)


def spec(**fields: Any) -> OpenStackClusterSpec:
    return msgspec.convert(fields, OpenStackClusterSpec)


def sent(part: Part) -> list[str]:
    """The requests, as a reader sees them."""
    return [said(each) for each in part.requests]


def said(request: CloudRequest) -> str:
    return f"{request.http.method} {request.http.path}"


def bodies(part: Part) -> list[Any]:
    """What the requests say below their envelope."""
    return [next(iter(each.http.body.values())) for each in part.requests if each.http.body]
