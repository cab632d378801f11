"""Whether the MachineSets of both APIs select the same Machines.

A selector is immutable on an existing MachineSet, so it cannot follow the authority. It is written when a mirror is
created, and compared from then on. It often differs if a user created the mirror. Everything else is mirrored even so;
but authority does not move, because the other set would not find the machines and would create new ones.

The selectors are compared as the Machine API has them. So Cluster API's own additions (a selector by the set's name if
there was none) make no difference, and neither do the two labels that one role has there.
"""

from windlass.api import capi, mapi
from windlass.api.meta import LabelSelector
from windlass.machine_sync.conversion.metadata import cluster_api_labels, machine_api_labels
from windlass.machine_sync.conversion.selector import selector_text


def difference(machine_api: mapi.MachineSet, cluster_api: capi.MachineSet) -> list[str]:
    """The warning if the selectors differ: one text, or none."""
    one, other = machine_api.spec.selector, cluster_api.spec.selector
    left = machine_api_labels(cluster_api_labels(one.match_labels))[0], _expressions(one)
    right = machine_api_labels(other.match_labels)[0], _expressions(other)
    if left == right:
        return []
    return [
        f'spec.selector of the MachineSets differs: "{selector_text(one)}" in the Machine API, '
        f'"{selector_text(other)}" in Cluster API. It cannot be changed on an existing MachineSet, and authority '
        "cannot move while it differs: recreate the mirror with the selector of the other"
    ]


def _expressions(selector: LabelSelector) -> list[tuple[str, str, tuple[str, ...]]]:
    return sorted((one.key, one.operator, tuple(sorted(one.values))) for one in selector.match_expressions)
