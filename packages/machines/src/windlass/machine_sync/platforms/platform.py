"""Describes a platform: its types, and its own rules for keeping machines in sync."""

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import UNSET, Struct, UnsetType

from windlass.api import capi, mapi
from windlass.api.config import Infrastructure
from windlass.api.meta import KubernetesObject
from windlass.kube.control.merge import same
from windlass.machine_sync.conversion.field_errors import FieldError
from windlass.machine_sync.conversion.machine_to_cluster_api import (
    ConvertedToClusterAPI,
    InfraMachinePart,
    cluster_api_machine,
)
from windlass.machine_sync.conversion.machine_to_machine_api import (
    ConvertedToMachineAPI,
    ProviderPart,
    machine_api_machine,
)
from windlass.machine_sync.conversion.provider_spec import provider_spec
from windlass.machine_sync.conversion.unmarshal import GoNames
from windlass.machine_sync.platforms.samples import NO_SAMPLES, Samples


def _fits_any_cluster(machine: mapi.Machine, config: Any, infra_cluster: Any) -> list[FieldError]:
    return []


def _as_it_is(tree: Any) -> Any:
    return tree


class Platform(Struct, frozen=True, kw_only=True):
    """One platform.

    `name` is the type in `Infrastructure.status.platformStatus`; `go_names` are the Go type names for decoding errors.
    The functions are pure and never raise:

    * `provider_part(machine, infra machine, infra cluster, infrastructure)`: the platform's part of a Machine API
      Machine; `infrastructure` None: it is not known.
    * `infra_machine_part(machine, provider spec, infrastructure, infra cluster)`: the platform's part of a Cluster API
      Machine; the infra cluster is None if it is not known.
    * `cluster_errors(machine, provider spec, infra cluster)`: why a Machine API Machine does not fit the infra
      cluster, which is None if it does not exist.
    * `canonical_provider_spec(tree)`: normalizes a provider spec (a plain JSON tree), so that specs with the same
      meaning are equal.
    * `comparable_infra_machine(tree)`: fields of an infra machine's spec without the values that make no difference.

    `infra_machine_leftovers` are fields of an infra machine's spec that are set on the object but not produced by
    conversion. The provider or a user sets them (value None), or the API server sets a default (that default). They are
    ignored when an infra machine is compared with the result of conversion. `infra_machine_reports_pause`: the provider
    reports in a `Paused` condition that it has stopped acting on the infra machine; None: some providers of the kind
    do, and those always keep the condition. `infra_machine_mutable` are the fields of its spec that the provider allows
    to change.

    `conversion` is the version of the conversion to the infra machine. A change that gives another infra machine for
    the same provider spec increases it, so that existing mirrors stay (`mirroring.mirrored_spec`).

    `provider_spec_leftovers` are fields of a provider spec that conversion may not know. Where conversion leaves them
    empty, a mirror keeps its own value.

    `samples` are for the policies: valid values of fields that do not accept any.

    `takes_taints`: Cluster API propagates the taints of Machines on this cluster, and admits them (`mirroring.taints`).
    """

    name: str
    infra_machine: type[KubernetesObject]
    infra_template: type[KubernetesObject]
    infra_cluster: type[KubernetesObject]
    provider_spec: type[Struct]
    provider_status: type[Struct] | None = None
    go_names: GoNames
    provider_part: Callable[[capi.Machine, Any, Any, Infrastructure | None], ProviderPart]
    infra_machine_part: Callable[[mapi.Machine, Any, Infrastructure | None, Any], InfraMachinePart]
    cluster_errors: Callable[[mapi.Machine, Any, Any], list[FieldError]] = _fits_any_cluster
    canonical_provider_spec: Callable[[Any], Any] = _as_it_is
    provider_spec_leftovers: tuple[str, ...] = ()
    infra_machine_leftovers: Mapping[str, Any] = {}
    infra_machine_mutable: frozenset[str] = frozenset()
    comparable_infra_machine: Callable[[Mapping[str, Any]], Mapping[str, Any]] = _as_it_is
    infra_machine_reports_pause: bool | None = True
    takes_taints: bool = False
    conversion: int = 1
    samples: Samples = NO_SAMPLES

    def to_machine_api(
        self,
        machine: capi.Machine | None,
        infra_machine: Any,
        infra_cluster: Any,
        *,
        infrastructure: Infrastructure | None = None,
    ) -> ConvertedToMachineAPI:
        """The Machine of the Machine API; pure, and never raises. None means that the object does not exist.

        Without the `infrastructure`, what depends on it is reported as lost.
        """
        if machine is None or infra_machine is None or infra_cluster is None:
            infra, cluster = self.infra_machine.RESOURCE.kind, self.infra_cluster.RESOURCE.kind
            return ConvertedToMachineAPI(errors=(f"provided Machine, {infra} and {cluster} can not be nil",))
        return machine_api_machine(machine, self.provider_part(machine, infra_machine, infra_cluster, infrastructure))

    def to_cluster_api(
        self,
        machine: mapi.Machine | None,
        infrastructure: Infrastructure | None,
        *,
        infra_cluster: Any | UnsetType = UNSET,
    ) -> ConvertedToClusterAPI:
        """The Machine of Cluster API and its infra machine; pure, and never raises. None means: does not exist.

        If `infra_cluster` is given, even as None, the Machine must fit it too.
        """
        if machine is None:
            return ConvertedToClusterAPI(errors=("provided Machine can not be nil",))
        config, read = provider_spec(machine.spec.provider_spec.value, self.provider_spec, self.go_names)
        if config is None:
            return ConvertedToClusterAPI(errors=tuple(map(str, read)))
        return cluster_api_machine(
            machine,
            self.infra_machine_part(machine, config, infrastructure, None if infra_cluster is UNSET else infra_cluster),
            kind=self.infra_machine,
            infrastructure=infrastructure,
            unfit=() if infra_cluster is UNSET else self.cluster_errors(machine, config, infra_cluster),
            unknown=read,
        )

    def mirrored_provider_spec(self, observed: Any, converted: Any) -> Any:
        """The `providerSpec` of a mirror, as plain JSON trees.

        The observed one if it means the same, else the whole converted one with the observed `provider_spec_leftovers`.
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
        """Whether both mean the same. Most equal ones are also written alike, so plain equality is tried first."""
        return same(left, right) or same(self.canonical_provider_spec(left), self.canonical_provider_spec(right))


def _with_leftover(made: Any, there: Any, path: list[str]) -> Any:
    """`made`; if it lacks the field at `path`, with that field of `there`."""
    key, *rest = path
    if not isinstance(made, Mapping) or not isinstance(there, Mapping) or not there.get(key):
        return made
    if rest:
        return {**made, key: _with_leftover(made.get(key) or {}, there[key], rest)}
    return made if made.get(key) else {**made, key: there[key]}
