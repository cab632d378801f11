"""The label by which Cluster API finds the Machines of a MachineSet.

Source: `format.MustFormatValue` of `sigs.k8s.io/cluster-api`.
"""

import base64
import re

from windlass.machine_sync.conversion.template_name import fnv1a

_LABEL_VALUE = re.compile(r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?")
_LONGEST = 63


def set_name_label(name: str) -> str:
    """The label's value for the MachineSet `name`: the name, or a hash where it cannot be a label's value.

    >>> set_name_label("worker-a")
    'worker-a'
    >>> len(set_name_label("w" * 64))
    13
    """
    if len(name) <= _LONGEST and _LABEL_VALUE.fullmatch(name):
        return name
    digest = fnv1a(name.encode()).to_bytes(4, "big")
    return f"hash_{base64.urlsafe_b64encode(digest).decode().rstrip('=')}_z"
