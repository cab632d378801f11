"""A server as its owner wants it: by filters (`InstanceSpec`), and with every choice made (`Resolved`).

An OpenStackServer, a bastion, a Machine of the Machine API and a plain call of `create_instance` all become an
`InstanceSpec`. Resolving it gives IDs, which the owner stores before anything is created.
"""

from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct

from windlass.openstack.cloud.query import Query


class FixedAddress(Struct, frozen=True):
    """An address on a subnet: either, or both."""

    subnet: Query | None = None
    address: str = ""


class _Port(Struct, frozen=True, kw_only=True):
    id: str = ""
    description: str = ""
    tags: tuple[str, ...] = ()
    port_security: bool | None = None
    address_pairs: tuple[Mapping[str, str], ...] = ()
    switchdev: bool = False
    trusted: bool = False
    options: Mapping[str, Any] = {}


class PortSpec(_Port, frozen=True, kw_only=True):
    """A port. `network` None: that of its fixed addresses' subnets, else the instance's `network`.

    `groups` None: those of the instance. `port_security` None: as the network has it. `options` are attributes that are
    sent to Neutron unchanged (`admin_state_up`, `mac_address`, `binding:host_id`, ...). `id`: a port that exists and
    belongs to somebody else; it is used as it is, and stays when the server goes.
    """

    suffix: str = ""
    network: Query | None = None
    addresses: tuple[FixedAddress, ...] = ()
    groups: tuple[Query, ...] | None = None
    trunk: bool | None = None


class VolumeSpec(Struct, frozen=True, kw_only=True):
    """A Cinder volume; `size` in GiB. `zone_of_server`: in the availability zone of the server, else in `zone`."""

    name: str
    size: int
    type: str = ""
    zone: str = ""
    zone_of_server: bool = False


class LocalDisk(Struct, frozen=True, kw_only=True):
    """An empty disk on the hypervisor; `size` in GiB."""

    name: str
    size: int


class InstanceSpec(Struct, frozen=True, kw_only=True):
    """`image` and `flavor` are looked up; `network` is the network of ports that name none (with `subnets`).

    `root` None: the image is copied to a disk of the hypervisor. `hints` are additional scheduler hints. `cluster`: for
    the default description of ports.
    """

    name: str
    image: Query
    flavor: Query
    ports: tuple[PortSpec, ...] = (PortSpec(),)
    network: Query | None = None
    subnets: tuple[Query, ...] = ()
    groups: tuple[Query, ...] = ()
    key_name: str = ""
    metadata: Mapping[str, str] = {}
    config_drive: bool = False
    zone: str = ""
    root: VolumeSpec | None = None
    disks: tuple[VolumeSpec | LocalDisk, ...] = ()
    server_group: Query | None = None
    tags: tuple[str, ...] = ()
    trunk: bool = False
    hints: Mapping[str, bool | int | str] = {}
    cluster: str = ""


class ResolvedAddress(Struct, frozen=True):
    subnet_id: str = ""
    address: str = ""


class ResolvedPort(_Port, frozen=True, kw_only=True):
    """A port with every choice made; `tags` are its own and those of the server. `id`: a port of somebody else."""

    name: str = ""
    network_id: str = ""
    addresses: tuple[ResolvedAddress, ...] = ()
    groups: tuple[str, ...] = ()
    trunk: bool = False


class ResolvedVolume(Struct, frozen=True, kw_only=True):
    """A volume by its full name (`worker-0-root`); `tag`: the name of the block device, empty for the root volume."""

    name: str
    size: int
    type: str = ""
    zone: str = ""
    tag: str = ""


class Resolved(Struct, frozen=True, kw_only=True):
    """All choices. Persisted by the owner before the first create; never changes afterwards."""

    image_id: str
    flavor_id: str
    server_group_id: str = ""
    ports: tuple[ResolvedPort, ...] = ()
    volumes: tuple[ResolvedVolume, ...] = ()


class Problem(Struct, frozen=True):
    """Why a field cannot be resolved. `kind`: nothing matches yet (it may come), or the field itself is wrong.

    `field` is the field in the terms of `InstanceSpec` (`ports[0].network`), `message` a sentence with the remedy.
    """

    kind: Literal["Dependency", "Invalid"]
    field: str
    message: str
