"""What there is to know of a platform: its types, and what differs in keeping its machines in sync."""

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from windlass.api import capi, mapi
from windlass.api.config import Infrastructure
from windlass.api.meta import KubernetesObject
from windlass.machine_sync.conversion.machine import Converted
from windlass.machine_sync.conversion.machine_to_cluster_api import ConvertedToClusterAPI


def _fits_any_cluster(machine: mapi.Machine, infra_cluster: Any) -> tuple[str, ...]:
    return ()


class Platform(Struct, frozen=True, kw_only=True):
    """One platform.

    `name` is the type in `Infrastructure.status.platformStatus`. Functions, by what they are given:

    * `to_machine_api(machine, infra machine, infra cluster)`, `to_cluster_api(machine, infrastructure)`: convert one
      Machine; MachineSets are converted with their help.
    * `cluster_errors(machine, infra cluster)`: why a Machine of the Machine API does not fit the infrastructure
      cluster, None for one that is not there; conversion does not look at it.
    * `canonical_provider_spec(tree)`: brings a provider spec, a plain JSON tree, into the form in which two that mean
      the same are equal.

    `infra_leftovers` are the fields of an infra machine's spec that say something although conversion does not: paths
    that the provider or a user fills in (value None), or that the API server does, with the value of the default. They
    make no difference between an infra machine and what conversion gives. `infra_reports_pause`: the provider says in a
    `Paused` condition of the infra machine that it leaves it alone. `infra_mutable` are the fields of its spec that the
    provider lets one change.
    """

    name: str
    infra_machine: type[KubernetesObject]
    infra_template: type[KubernetesObject]
    infra_cluster: type[KubernetesObject]
    provider_spec: type[Struct]
    provider_status: type[Struct] | None = None
    to_machine_api: Callable[[capi.Machine | None, Any, Any], Converted]
    to_cluster_api: Callable[[mapi.Machine | None, Infrastructure | None], ConvertedToClusterAPI]
    canonical_provider_spec: Callable[[Any], Any]
    infra_leftovers: Mapping[str, Any] = {}
    infra_mutable: frozenset[str] = frozenset()
    infra_reports_pause: bool = True
    cluster_errors: Callable[[mapi.Machine, Any], tuple[str, ...]] = _fits_any_cluster
