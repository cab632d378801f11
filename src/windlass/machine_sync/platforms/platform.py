"""What there is to know of a platform: its types, and what differs in keeping its machines in sync."""

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from windlass.api import capi, mapi
from windlass.api.config import Infrastructure
from windlass.api.meta import KubernetesObject
from windlass.machine_sync.conversion.field_errors import Findings
from windlass.machine_sync.conversion.machine import Converted
from windlass.machine_sync.conversion.machine_to_cluster_api import ConvertedToClusterAPI


def _fits_any_cluster(machine: mapi.Machine, infra_cluster: Any) -> tuple[str, ...]:
    return ()


class Platform(Struct, frozen=True, kw_only=True):
    """One platform.

    `name` is the type in `Infrastructure.status.platformStatus`. Functions, by what they are given:

    * `to_machine_api(machine, infra machine, infra cluster)`, `to_cluster_api(machine, infrastructure)`: convert one
      Machine; MachineSets are converted with their help.
    * `find_losses(infra machine's spec, found)`: notes fields that are set and that `to_machine_api` drops without a
      word.
    * `cluster_errors(machine, infra cluster)`: why a Machine of the Machine API does not fit the infrastructure
      cluster, None for one that is not there; conversion does not look at it.
    * `canonical_provider_spec(tree)`: brings a provider spec, a plain JSON tree, into the form in which two that mean
      the same are equal.
    """

    name: str
    infra_machine: type[KubernetesObject]
    infra_template: type[KubernetesObject]
    infra_cluster: type[KubernetesObject]
    provider_spec: type[Struct]
    provider_status: type[Struct] | None = None
    to_machine_api: Callable[[capi.Machine | None, Any, Any], Converted]
    to_cluster_api: Callable[[mapi.Machine | None, Infrastructure | None], ConvertedToClusterAPI]
    find_losses: Callable[[Any, Findings], None]
    canonical_provider_spec: Callable[[Any], Any]
    cluster_errors: Callable[[mapi.Machine, Any], tuple[str, ...]] = _fits_any_cluster
