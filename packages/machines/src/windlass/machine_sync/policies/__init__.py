"""Admission policies: what the API server refuses so that two APIs can share machines.

    from windlass.machine_sync import policies

    for document in policies.documents():
        print(yaml.safe_dump(document))          # what `windlass manifests policies` prints

They protect what OpenShift's own ValidatingAdmissionPolicies protect, with the same messages, so that runbooks work; in
addition OpenStack, and migration of MachineSets.

| module | forbids |
|---|---|
| `mirrors` | changes of the object that is not authoritative |
| `bookkeeping` | changes of the annotations in which Machine sync keeps records |
| `creation` | creation of a second active copy of a machine by hand |
| `transition` | moves of authority in a state in which they would fail |
| `unsupported` | fields of mirrored objects that the Machine API cannot express (`inexpressible`, `samples`) |
| `authority` | nothing: conditions about authority; `windlass.capability.manifests` has `policy` and `cel` |

**Cost.** A policy may have other objects as parameters, and the API server then evaluates it once for each of them:
OpenShift's policies have all Machines of the other API as parameters, on every update. Our rules on UPDATE have no
parameters. The facts that they need are on the object: authority in status or in an annotation, mirrored labels in
another annotation, the state of the other API's infrastructure in status.phase. A new object has no such facts, so
rules on CREATE have the objects of the other API as parameters. No label exempts an object: its author chooses it.

**Names** are OpenShift's with the prefix `windlass-`. OpenShift's operator installs its own policies and reverts
changes to them: under the same names, both programs would overwrite each other without end.
"""

from collections.abc import Iterable

from windlass.capability.manifests import Manifest
from windlass.capability.manifests.policy import Policy
from windlass.capability.manifests.rights import ServiceAccount
from windlass.machine_sync.constants import Namespaces
from windlass.machine_sync.platform_list import SERVED
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

    `service_account`, under which Machine sync acts, is exempt everywhere. The controllers of both APIs are exempt
    where OpenShift exempts them, and so are the users `exempt`: providers with their own accounts. KeyError for a
    platform that does not exist.
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
        *bookkeeping.policies(namespaces, infra_machines=infra_machines, exempt=ours, exempt_holders=controllers),
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
    """The policies, each followed by its binding. The arguments are those of `policies`."""
    chosen = policies(namespaces=namespaces, service_account=service_account, platforms=platforms, exempt=exempt)
    return [document for policy in chosen for document in policy.documents()]
