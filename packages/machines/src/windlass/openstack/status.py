"""The conditions of servers, machines, clusters and pools on OpenStack: one vocabulary, one rule for each.

| condition | True | False or Unknown |
|---|---|---|
| `Ready` | everything that the object stands for exists | what is in the way, also during deletion |
| `Progressing` | we go on by ourselves: what comes next, and when it is tried again | at rest, or a person has to act |
| `Paused` | nothing is done, because the Cluster or an annotation says so | |
| `Deleting` | the step of the deletion | it is not being deleted |
| `OpenStackAuthenticationSucceeded` | the cloud accepts the credentials | who has to correct what |
| `InstanceReady` | the server is ACTIVE | why not |
| `FloatingAddressFromPoolReady` | the server has its floating IP from a pool | why not |
| `OpenstackFloatingIPPoolReadyCondition` | the pool can give floating IPs | why not |
| `NetworkReady`, `RouterReady`, `SecurityGroupsReady`, `APIEndpointReady` | of a cluster | why not |
| `BastionReady` | of a cluster: the bastion is there, or none is wanted | why not |

Every condition of an object is there after the first visit, before the cloud is asked: Unknown, `NotYetObserved`.

    write(found, first_visit(INSTANCE, awaited="Waiting for the Cluster"), parts=INSTANCE_PARTS, now=now)
    trouble = trouble_of(failure, doing="create port worker-0-0")
    write(found, (trouble.condition, trouble.progress(due(...))), parts=INSTANCE_PARTS, now=now)

How failures are reported, and when a request that failed is sent again, is in `windlass.openstack.trouble`.
Reasons are those of the OpenStack provider of Cluster API where it has one for the situation.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

from windlass.api.meta import Condition
from windlass.kube.conditions import FALSE, TRUE, condition, find, put, status_of
from windlass.kube.control.plan import Merge, target
from windlass.kube.control.seen import Present
from windlass.kube.shorten import shortened

READY: Final = "Ready"
PROGRESSING: Final = "Progressing"
PAUSED: Final = "Paused"
DELETING: Final = "Deleting"
AUTHENTICATED: Final = "OpenStackAuthenticationSucceeded"
INSTANCE_READY: Final = "InstanceReady"
NETWORK_READY: Final = "NetworkReady"
ROUTER_READY: Final = "RouterReady"
SECURITY_GROUPS_READY: Final = "SecurityGroupsReady"
ENDPOINT_READY: Final = "APIEndpointReady"
BASTION_READY: Final = "BastionReady"
FLOATING_READY: Final = "FloatingAddressFromPoolReady"
POOL_READY: Final = "OpenstackFloatingIPPoolReadyCondition"

INSTANCE_PARTS: Final = (AUTHENTICATED, INSTANCE_READY)
"""What `Ready` of an OpenStackServer or OpenStackMachine is made from."""
INSTANCE: Final = (READY, *INSTANCE_PARTS, PROGRESSING, DELETING, PAUSED)
"""The conditions of an OpenStackServer and of an OpenStackMachine."""
CLUSTER_PARTS: Final = (AUTHENTICATED, NETWORK_READY, ROUTER_READY, SECURITY_GROUPS_READY, ENDPOINT_READY)
"""What a cluster needs to be provisioned."""
CLUSTER: Final = (READY, *CLUSTER_PARTS, BASTION_READY, PROGRESSING, DELETING, PAUSED)
POOL_PARTS: Final = (AUTHENTICATED, POOL_READY)
POOL: Final = (READY, *POOL_PARTS, PROGRESSING, DELETING, PAUSED)

MESSAGE_LIMIT: Final = 32_768
"""The length of a condition's message that Kubernetes accepts."""


class Reason(StrEnum):
    """Reasons of conditions. Those above the line are the provider's."""

    READY = "Ready"
    AUTHENTICATION_FAILED = "OpenStackAuthenticationFailed"
    WAITING_FOR_CLUSTER = "WaitingForClusterInfrastructure"
    WAITING_FOR_BOOTSTRAP_DATA = "WaitingForBootstrapData"
    INVALID_MACHINE_SPEC = "InvalidMachineSpec"
    DEPENDENCY_FAILED = "DependencyFailed"
    PORT_CREATE_FAILED = "PortCreateFailed"
    INSTANCE_CREATE_FAILED = "InstanceCreateFailed"
    INSTANCE_NOT_READY = "InstanceNotReady"
    INSTANCE_NOT_FOUND = "InstanceNotFound"
    INSTANCE_STATE_ERROR = "InstanceStateError"
    INSTANCE_DELETED = "InstanceDeleted"
    INSTANCE_DELETE_FAILED = "InstanceDeleteFailed"
    OPENSTACK_ERROR = "OpenStackError"
    NETWORK_CREATE_FAILED = "NetworkCreateFailed"
    SUBNET_CREATE_FAILED = "SubnetCreateFailed"
    ROUTER_CREATE_FAILED = "RouterCreateFailed"
    SECURITY_GROUP_CREATE_FAILED = "SecurityGroupCreateFailed"
    API_ENDPOINT_CONFIG_FAILED = "APIEndpointConfigFailed"
    LOAD_BALANCER_MEMBER_ERROR = "LoadBalancerMemberError"
    WAITING_FOR_IPAM_PROVIDER = "WaitingForIPAMProvider"
    FLOATING_IP_ERROR = "FloatingIPError"
    UNABLE_TO_FIND_FLOATING_IP_NETWORK = "UnableToFindFloatingIPNetwork"
    MAX_IPS_REACHED = "MaxIPsReached"
    UNABLE_TO_FIND_NETWORK = "UnableToFindNetwork"
    # ------------------------------------------------------------------
    NOT_YET_OBSERVED = "NotYetObserved"
    MULTIPLE_ISSUES = "MultipleIssues"
    QUOTA_EXCEEDED = "QuotaExceeded"
    PROGRESSING = "Progressing"
    SUCCESS = "Success"
    TRANSIENT_ERROR = "TransientError"
    INVALID_CONFIGURATION = "InvalidConfiguration"
    OWNED_BY_ANOTHER = "OwnedByAnother"
    UNRECOVERABLE_ERROR = "UnrecoverableError"
    WRITE_REFUSED = "WriteRefused"
    PAUSED = "Paused"
    NOT_PAUSED = "NotPaused"
    PAUSING = "Pausing"
    NOT_DELETING = "NotDeleting"
    WAITING_FOR_MACHINES = "WaitingForMachines"
    LEAVING_ENDPOINT = "LeavingAPIEndpoint"
    DELETING_SERVER = "DeletingServer"
    DELETING_PORTS = "DeletingPorts"
    DELETING_VOLUMES = "DeletingVolumes"
    DELETING_BASTION = "DeletingBastion"
    DELETING_LOAD_BALANCER = "DeletingLoadBalancer"
    DELETING_NETWORK = "DeletingNetwork"
    DELETING_SECURITY_GROUPS = "DeletingSecurityGroups"
    WAITING_FOR_ADDRESSES = "WaitingForIPAddresses"
    DELETING_FLOATING_IPS = "DeletingFloatingIPs"


RESTS: Final = condition(PAUSED, True, Reason.PAUSED, "Nothing is done while the Cluster or this object is paused")
NOT_PAUSED: Final = condition(PAUSED, False, Reason.NOT_PAUSED, "")
AUTHENTIC: Final = condition(AUTHENTICATED, True, Reason.READY)
NOT_DELETING: Final = condition(DELETING, False, Reason.NOT_DELETING, "")


def progressing(what: str) -> Condition:
    """We go on by ourselves."""
    return condition(PROGRESSING, True, Reason.PROGRESSING, what)


def dead_end(reason: str, message: str, *, remedy: str = "") -> tuple[Condition, Condition]:
    """`InstanceReady` and `Progressing` of a server that stays as it is until a person acts."""
    text = f"{message}. {remedy}" if remedy else message
    stop = condition(PROGRESSING, False, Reason.UNRECOVERABLE_ERROR, text)
    return condition(INSTANCE_READY, False, reason, message), stop


def first_visit(types: Iterable[str], *, awaited: str) -> tuple[Condition, ...]:
    """Conditions of facts not observed yet. `awaited` is a sentence: what we wait for first."""
    return tuple(condition(each, None, Reason.NOT_YET_OBSERVED, awaited) for each in types)


def unvisited(found: Present[Any], types: Iterable[str]) -> list[str]:
    """The conditions that are missing, or lack their reason, as those of older providers do."""
    there = _conditions(found)
    return [each for each in types if not ((old := find(there, each)) and old.get("reason"))]


def ready(conditions: Sequence[Any], parts: Sequence[str]) -> Condition:
    """`Ready`, from the `parts` among `conditions`.

    An object that is being deleted is not ready. Otherwise False beats Unknown beats True. What the API server refuses
    to write gives reason and message; else the one part that is not True does; several are listed, without those that
    nobody has observed yet. `Paused` does not count: a paused server still runs.
    """
    going = find(conditions, DELETING)
    if going is not None and status_of(conditions, DELETING) == TRUE:
        return condition(READY, False, _text(going, "reason"), _text(going, "message"))
    missing = [part for part in parts if status_of(conditions, part) != TRUE]
    if not missing:
        return condition(READY, True, Reason.READY)
    verdict = False if any(status_of(conditions, part) == FALSE for part in missing) else None
    stopped = find(conditions, PROGRESSING)
    if stopped is not None and _text(stopped, "reason") == Reason.WRITE_REFUSED:  # whatever else is awaited
        return condition(READY, verdict, Reason.WRITE_REFUSED, _text(stopped, "message"))
    causes = [(part, find(conditions, part)) for part in missing]
    seen = [(part, cause) for part, cause in causes if cause and _text(cause, "reason") != Reason.NOT_YET_OBSERVED]
    causes = seen or causes
    if len(causes) == 1 and (only := causes[0][1]) is not None:
        return condition(READY, verdict, _text(only, "reason"), _text(only, "message"))
    reasons = {_text(cause, "reason") if cause else Reason.NOT_YET_OBSERVED for _, cause in causes}
    if reasons == {Reason.NOT_YET_OBSERVED}:
        said = next((_text(cause, "message") for _, cause in causes if cause), "")
        return condition(READY, verdict, Reason.NOT_YET_OBSERVED, said)
    lines = (f"* {part}: {_text(cause, 'message') if cause else 'not observed yet'}" for part, cause in causes)
    return condition(READY, verdict, Reason.MULTIPLE_ISSUES, "\n".join(lines))


def write(
    found: Present[Any],
    new: Iterable[Condition],
    *,
    parts: Sequence[str],
    now: datetime,
    fields: Mapping[str, Any] | None = None,
    why: str = "",
) -> Merge:
    """The one status write: `fields` of the status (None removes one), the conditions `new`, and `Ready`.

    Other conditions stay, except those without a reason, which older versions of the provider left.
    """
    observed: dict[str, Any] = dict(found.tree.get("status") or {})
    generation = found.metadata.generation
    conditions = [each for each in _conditions(found) if each.get("reason")]
    for each in new:
        if each.type != READY:
            conditions = put(conditions, _said(each, generation), now=now)
    summary = _said(ready(conditions, parts), generation)
    if find(conditions, READY) is None:  # before the others, as people expect it
        conditions = [*put([], summary, now=now), *conditions]
    else:
        conditions = put(conditions, summary, now=now)
    return Merge(
        target=target(found),
        part="status",
        observed={"status": observed},
        desired={"status": {**observed, **(fields or {}), "conditions": conditions}},
        why=why or f"{READY}={summary['status']} {summary['reason']}",
    )


def _said(one: Condition, generation: int) -> dict[str, Any]:
    return {
        "type": one.type,
        "status": one.status,
        **({"observedGeneration": generation} if generation else {}),
        "reason": str(one.reason),
        "message": shortened(one.message, MESSAGE_LIMIT),
    }


def _conditions(found: Present[Any]) -> list[dict[str, Any]]:
    conditions = (found.tree.get("status") or {}).get("conditions") or []
    return [dict(each) for each in conditions]


def _text(one: Any, name: str) -> str:
    return str((one.get(name) if isinstance(one, Mapping) else getattr(one, name)) or "")
