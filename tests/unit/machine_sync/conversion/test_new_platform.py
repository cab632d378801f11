"""How much a platform is: a toy one, whole, and everything that works once it is registered.

Types stand here as they would in `windlass.api`, functions as in a folder of `windlass.machine_sync.platforms`.
"""

import json
from typing import Any, ClassVar

import pytest
from msgspec import Struct

from windlass.api import capi, mapi
from windlass.api.config import Infrastructure
from windlass.api.meta import ObjectMeta, Resource, always
from windlass.capability.documents import read
from windlass.machine_sync.conversion.field_errors import Findings, invalid
from windlass.machine_sync.conversion.machine_to_cluster_api import InfraMachinePart
from windlass.machine_sync.conversion.machine_to_machine_api import ProviderPart
from windlass.machine_sync.conversion.provider_spec import PATH
from windlass.machine_sync.conversion.unmarshal import GoNames
from windlass.machine_sync.documents import convert_to_cluster_api, convert_to_machine_api
from windlass.machine_sync.platforms import PLATFORMS, Platform

GROUP = "infrastructure.cluster.x-k8s.io"


class ToyMachineSpec(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    size: str = ""
    colour: str = ""


class ToyMachine(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    RESOURCE: ClassVar[Resource] = Resource(GROUP, "v1", "ToyMachine", "toymachines")

    metadata: ObjectMeta = always(ObjectMeta)
    spec: ToyMachineSpec = always(ToyMachineSpec)


class ToyMachineTemplateResource(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    spec: ToyMachineSpec = always(ToyMachineSpec)


class ToyMachineTemplateSpec(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    template: ToyMachineTemplateResource = always(ToyMachineTemplateResource)


class ToyMachineTemplate(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    RESOURCE: ClassVar[Resource] = Resource(GROUP, "v1", "ToyMachineTemplate", "toymachinetemplates")

    metadata: ObjectMeta = always(ObjectMeta)
    spec: ToyMachineTemplateSpec = always(ToyMachineTemplateSpec)


class ToyCluster(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    RESOURCE: ClassVar[Resource] = Resource(GROUP, "v1", "ToyCluster", "toyclusters")

    metadata: ObjectMeta = always(ObjectMeta)


class ToyProviderSpec(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    kind: str = ""
    size: str = ""


def provider_part(
    machine: capi.Machine, infra: ToyMachine, cluster: ToyCluster, infrastructure: Infrastructure | None
) -> ProviderPart:
    found = Findings()
    if infra.spec.colour:
        found.lose("spec.colour", infra.spec.colour, by="the Machine API")
    spec = ToyProviderSpec(kind="ToyProviderSpec", size=infra.spec.size)
    return ProviderPart(spec=spec, found=found)


def infra_machine_part(
    machine: mapi.Machine, config: ToyProviderSpec, infrastructure: Infrastructure | None, cluster: ToyCluster | None
) -> InfraMachinePart:
    found = Findings()
    if config.size == "huge":
        found.errors.append(invalid(f"{PATH}.size", config.size, "there is no such toy"))
    return InfraMachinePart(spec=ToyMachineSpec(size=config.size), found=found)


TOY = Platform(
    name="Toy",
    infra_machine=ToyMachine,
    infra_template=ToyMachineTemplate,
    infra_cluster=ToyCluster,
    provider_spec=ToyProviderSpec,
    go_names=GoNames(package="v1"),
    provider_part=provider_part,
    infra_machine_part=infra_machine_part,
)


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PLATFORMS, TOY.name, TOY)


def documents(*trees: dict[str, Any]) -> Any:
    return read("toys", "\n".join(map(json.dumps, trees)).encode())


INFRASTRUCTURE = {
    "apiVersion": "config.openshift.io/v1",
    "kind": "Infrastructure",
    "metadata": {"name": "cluster"},
    "status": {"infrastructureName": "c", "platformStatus": {"type": "Toy"}},
}


def test_its_machines_and_sets_go_to_cluster_api() -> None:
    api = {"apiVersion": "machine.openshift.io/v1beta1"}
    machine = {"spec": {"providerSpec": {"value": {"size": "small", "wheels": 4}}}}
    huge = {"spec": {"providerSpec": {"value": {"size": "huge"}}}}
    outcomes = list(
        convert_to_cluster_api(
            documents(
                {**api, "kind": "Machine", "metadata": {"name": "m"}, **machine},
                {**api, "kind": "MachineSet", "metadata": {"name": "ms"}, "spec": {"template": machine}},
                {**api, "kind": "Machine", "metadata": {"name": "h"}, **huge},
                INFRASTRUCTURE,
            )
        )
    )
    assert [outcome.errors for outcome in outcomes] == [
        (),
        (),
        ('spec.providerSpec.value.size: Invalid value: "huge": there is no such toy',),
    ]
    assert {text.partition(":")[0] for text in (*outcomes[0].warnings, *outcomes[1].warnings)} == {f"{PATH}.wheels"}
    assert outcomes[0].results[1].spec == ToyMachineSpec(size="small")
    machine_set, template = outcomes[1].results
    assert template.spec.template.spec == ToyMachineSpec(size="small")
    assert machine_set.spec.template.spec.infrastructure_ref.name == template.metadata.name


def test_its_machines_and_sets_go_to_the_machine_api() -> None:
    api, infra = {"apiVersion": "cluster.x-k8s.io/v1beta2"}, {"apiVersion": f"{GROUP}/v1"}
    machine = {"spec": {"clusterName": "c", "infrastructureRef": {"kind": "ToyMachine", "name": "m"}}}
    made = {"spec": {"clusterName": "c", "infrastructureRef": {"kind": "ToyMachineTemplate", "name": "t"}}}
    toy = {"spec": {"size": "small", "colour": "red"}}
    outcomes = list(
        convert_to_machine_api(
            documents(
                {**api, "kind": "Machine", "metadata": {"name": "m"}, **machine},
                {
                    **api,
                    "kind": "MachineSet",
                    "metadata": {"name": "ms"},
                    "spec": {"clusterName": "c", "template": made},
                },
                {**infra, "kind": "ToyMachine", "metadata": {"name": "m"}, **toy},
                {**infra, "kind": "ToyMachineTemplate", "metadata": {"name": "t"}, "spec": {"template": toy}},
                {**infra, "kind": "ToyCluster", "metadata": {"name": "c"}},
            )
        )
    )
    assert [outcome.errors for outcome in outcomes] == [(), ()]
    assert [outcome.results[0].metadata.name for outcome in outcomes] == ["m", "ms"]
    assert outcomes[0].results[0].spec.provider_spec.value.size == "small"
    assert [text.partition(":")[0] for text in outcomes[1].warnings] == ["spec.colour"]
