"""The capacity of a machine, as Cluster API's autoscaler reads it from `status.capacity` of a template.

| resource | from |
|---|---|
| `cpu` | the vCPUs of the flavor |
| `memory` | its RAM |
| `ephemeral-storage` | its ephemeral disk |
| `storage` | the root volume of the template, else the disk of the flavor |

What is 0 is left out: the flavor does not say it. Source: `openstackmachinetemplate_controller.go` of Cluster API's
OpenStack provider.
"""

from typing import Final

from windlass.openstack.cloud.resources import Flavor

_UNITS: Final = ("Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_KI: Final = 1024


def capacity_of(flavor: Flavor, *, root_volume: int = 0) -> dict[str, str]:
    """Quantities by resource name. `root_volume` in GiB; 0: the machine has none."""
    numbers = {
        "memory": flavor.ram * _KI**2,
        "ephemeral-storage": flavor.ephemeral * _KI**3,
        "storage": (root_volume or flavor.disk) * _KI**3,
    }
    cpu = {"cpu": str(flavor.vcpus)} if flavor.vcpus > 0 else {}
    return cpu | {name: quantity(number) for name, number in numbers.items() if number > 0}


def quantity(number: int) -> str:
    """Bytes in the canonical form of Kubernetes: with the largest binary unit that leaves no fraction."""
    unit = ""
    for larger in _UNITS:
        if number % _KI:
            break
        number, unit = number // _KI, larger
    return f"{number}{unit}"
