"""The Machine API's type for PowerVS: PowerVSMachineProviderConfig.

Source: `github.com/openshift/api/machine/v1` (`machine.openshift.io/v1`). It is never a separate object, only
`spec.providerSpec.value` of a Machine.
"""

from msgspec import Struct, field

from windlass.api.integers import Int32
from windlass.api.meta import LocalReference, ObjectMeta, always


class PowerVSResource(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """A PowerVS resource by ID, name or regular expression; `type` (ID, Name, RegEx) says which."""

    type: str = ""
    id: str | None = None
    name: str | None = None
    regex: str | None = None


class LoadBalancer(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    name: str = always(str)
    type: str = always(str)


class PowerVSMachineProviderConfig(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """`processors` is a number, or a string such as `"0.5"`; memory is in GiB."""

    kind: str = ""
    api_version: str = ""
    metadata: ObjectMeta = always(ObjectMeta)
    user_data_secret: LocalReference | None = None
    credentials_secret: LocalReference | None = None
    service_instance: PowerVSResource = always(PowerVSResource)
    image: PowerVSResource = always(PowerVSResource)
    network: PowerVSResource = always(PowerVSResource)
    key_pair_name: str = always(str)
    system_type: str = ""
    processor_type: str = ""
    processors: Int32 | str = always(int)
    memory_gib: Int32 = field(default=0, name="memoryGiB")
    load_balancers: list[LoadBalancer] = field(default_factory=list)
