"""Admission policies: what the API server refuses so that two APIs can share machines.

    from windlass.machine_sync import policies

    for document in policies.documents():
        print(yaml.safe_dump(document))          # what `windlass manifests policies` prints

They protect what OpenShift's own ValidatingAdmissionPolicies protect, and refuse with the same messages, so that
runbooks work; and a little more: OpenStack, and migration of MachineSets.

| module | forbids |
|---|---|
| `mirrors` | to change the side that is not authoritative |
| `bookkeeping` | to change what Machine sync writes down on objects |
| `creation` | to make a second active copy of a machine by hand |
| `transition` | to move authority in a state that does not survive it |
| `unsupported` | to set on mirrored objects what the Machine API cannot express (`inexpressible`, `samples`) |
| `authority` | nothing: conditions about authority; `windlass.capability.manifests` has `policy` and `cel` |

**Cost.** A policy may be given objects of another kind to compare with, and the API server then runs it once for each
of them: OpenShift's take all Machines of the other API, on every update. Here no rule on UPDATE is given anything. What
it must know stands on the object: authority in status or in an annotation, mirrored labels in another, what the
infrastructure of the twin is like in status.phase. Rules on CREATE cannot do so, and are given the twins; the Machines
that a MachineSet makes are left out by a label, which is looked at before.

**Names** are OpenShift's with `windlass-` before them. Its own policies are on the same cluster wherever its operator
is, which writes them back: under the same name the two would overwrite each other without end.
"""

from collections.abc import Iterable

from windlass.capability.manifests import Manifest
from windlass.capability.manifests.policy import Policy
from windlass.capability.manifests.rights import ServiceAccount
from windlass.machine_sync.activation import SERVED
from windlass.machine_sync.constants import Namespaces
from windlass.machine_sync.platforms import PLATFORMS
from windlass.machine_sync.policies import bookkeeping, creation, mirrors, transition, unsupported
from windlass.machine_sync.rbac import DEFAULT_NAMESPACES, DEFAULT_SERVICE_ACCOUNT


def policies(
    *,
    namespaces: Namespaces = DEFAULT_NAMESPACES,
    service_account: ServiceAccount = DEFAULT_SERVICE_ACCOUNT,
    platforms: Iterable[str] = SERVED,
    exempt: Iterable[str] = (),
) -> tuple[Policy, ...]:
    """All policies.

    `service_account` is the one in whose name Machine sync acts, exempt everywhere. The controllers of both APIs are
    exempt where OpenShift exempts them, and so are the users `exempt`: providers with accounts of their own. KeyError
    for a platform that does not exist.
    """
    ours = (service_account.user,)
    controllers = tuple(
        dict.fromkeys(
            (
                *ours,
                ServiceAccount(namespaces.machine_api, "machine-api-controllers").user,
                ServiceAccount(namespaces.cluster_api, "capi-controllers").user,
                *exempt,
            )
        )
    )
    chosen = [PLATFORMS[name] for name in sorted(set(platforms))]
    infra_machines = [platform.infra_machine for platform in chosen]
    return (
        *mirrors.policies(namespaces, exempt=controllers),
        *bookkeeping.policies(namespaces, infra_machines=infra_machines, exempt=ours),
        *creation.policies(namespaces, exempt=ours, exempt_makers=controllers),
        *transition.policies(namespaces, exempt=ours, exempt_movers=controllers),
        *unsupported.policies(namespaces, platforms=chosen, exempt=ours),
    )


def documents(
    *,
    namespaces: Namespaces = DEFAULT_NAMESPACES,
    service_account: ServiceAccount = DEFAULT_SERVICE_ACCOUNT,
    platforms: Iterable[str] = SERVED,
    exempt: Iterable[str] = (),
) -> list[Manifest]:
    """The policies, each followed by its binding; arguments as of `policies`."""
    chosen = policies(namespaces=namespaces, service_account=service_account, platforms=platforms, exempt=exempt)
    return [document for policy in chosen for document in policy.documents()]
