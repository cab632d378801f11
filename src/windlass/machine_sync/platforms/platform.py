"""What there is to know of a platform: its types, and what differs in keeping its machines in sync."""

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import UNSET, Struct, UnsetType

from windlass.api import capi, mapi
from windlass.api.config import Infrastructure
from windlass.api.meta import KubernetesObject
from windlass.kube.control.merge import same
from windlass.machine_sync.conversion.field_errors import FieldError
from windlass.machine_sync.conversion.machine import Converted, ProviderPart, machine_api_machine
from windlass.machine_sync.conversion.machine_to_cluster_api import (
    ConvertedToClusterAPI,
    InfraPart,
    cluster_api_machine,
)
from windlass.machine_sync.conversion.provider_spec import provider_spec
from windlass.machine_sync.conversion.unmarshal import GoNames


def _fits_any_cluster(machine: mapi.Machine, config: Any, infra_cluster: Any) -> list[FieldError]:
    return []


def _as_it_is(tree: Any) -> Any:
    return tree


class Platform(Struct, frozen=True, kw_only=True):
    """One platform.

    `name` is the type in `Infrastructure.status.platformStatus`; `go_names` are for the errors of a provider spec that
    cannot be read. Functions are pure and never raise. By what they are given:

    * `provider_part(machine, infra machine, infra cluster)`: what the platform contributes to a Machine of the Machine
      API.
    * `infra_part(machine, provider spec, infrastructure)`: what it contributes to one of Cluster API.
    * `cluster_errors(machine, provider spec, infra cluster)`: why a Machine of the Machine API does not fit the
      infrastructure cluster, None for one that is not there.
    * `canonical_provider_spec(tree)`: brings a provider spec, a plain JSON tree, into the form in which two that mean
      the same are equal.

    `infra_leftovers` are the fields of an infra machine's spec that say something although conversion does not: paths
    that the provider or a user fills in (value None), or that the API server does, with the value of the default. They
    make no difference between an infra machine and what conversion gives. `infra_reports_pause`: the provider says in a
    `Paused` condition of the infra machine that it leaves it alone. `infra_mutable` are the fields of its spec that the
    provider lets one change.

    `provider_spec_leftovers` are the fields of a provider spec that conversion may not know. Where it leaves them
    empty, a mirror keeps its own.
    """

    name: str
    infra_machine: type[KubernetesObject]
    infra_template: type[KubernetesObject]
    infra_cluster: type[KubernetesObject]
    provider_spec: type[Struct]
    provider_status: type[Struct] | None = None
    go_names: GoNames
    provider_part: Callable[[capi.Machine, Any, Any], ProviderPart]
    infra_part: Callable[[mapi.Machine, Any, Infrastructure | None], InfraPart]
    cluster_errors: Callable[[mapi.Machine, Any, Any], list[FieldError]] = _fits_any_cluster
    canonical_provider_spec: Callable[[Any], Any] = _as_it_is
    provider_spec_leftovers: tuple[str, ...] = ()
    infra_leftovers: Mapping[str, Any] = {}
    infra_mutable: frozenset[str] = frozenset()
    infra_reports_pause: bool = True

    def to_machine_api(self, machine: capi.Machine | None, infra_machine: Any, infra_cluster: Any) -> Converted:
        """The Machine of the Machine API; pure, and never raises. None stands for an object that is not there."""
        if machine is None or infra_machine is None or infra_cluster is None:
            infra, cluster = self.infra_machine.RESOURCE.kind, self.infra_cluster.RESOURCE.kind
            return Converted(errors=(f"provided Machine, {infra} and {cluster} can not be nil",))
        return machine_api_machine(machine, self.provider_part(machine, infra_machine, infra_cluster))

    def to_cluster_api(
        self,
        machine: mapi.Machine | None,
        infrastructure: Infrastructure | None,
        *,
        infra_cluster: Any | UnsetType = UNSET,
    ) -> ConvertedToClusterAPI:
        """The Machine of Cluster API and its infra machine; pure, and never raises. None is what is not there.

        If `infra_cluster` is given, even as None, the Machine must fit it too.
        """
        if machine is None:
            return ConvertedToClusterAPI(errors=("provided Machine can not be nil",))
        config, read = provider_spec(machine.spec.provider_spec.value, self.provider_spec, self.go_names)
        if config is None:
            return ConvertedToClusterAPI(errors=tuple(map(str, read)))
        return cluster_api_machine(
            machine,
            self.infra_part(machine, config, infrastructure),
            kind=self.infra_machine,
            infrastructure=infrastructure,
            unfit=() if infra_cluster is UNSET else self.cluster_errors(machine, config, infra_cluster),
            unknown=read,
        )

    def mirrored_provider_spec(self, observed: Any, converted: Any) -> Any:
        """The `providerSpec` of a mirror, as plain JSON trees.

        The observed one if it means the same, else the converted one whole, but for `provider_spec_leftovers`.
        """
        desired = converted or {}
        if not isinstance(observed, Mapping):
            return desired
        there, value = observed.get("value"), desired.get("value")
        for path in self.provider_spec_leftovers:
            value = _with_leftover(value, there, path.split("."))
        if self._same_provider_spec(there, value):
            return observed
        return {**desired, "value": value} if value is not None else desired

    def _same_provider_spec(self, left: Any, right: Any) -> bool:
        """Most that mean the same are written alike too."""
        return same(left, right) or same(self.canonical_provider_spec(left), self.canonical_provider_spec(right))


def _with_leftover(made: Any, there: Any, path: list[str]) -> Any:
    """`made`, with the field at `path` from `there` if it has none."""
    key, *rest = path
    if not isinstance(made, Mapping) or not isinstance(there, Mapping) or not there.get(key):
        return made
    if rest:
        return {**made, key: _with_leftover(made.get(key) or {}, there[key], rest)}
    return made if made.get(key) else {**made, key: there[key]}
