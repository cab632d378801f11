"""What a report is made from: objects of a cluster or of files, or the reason why they are not known."""

from collections.abc import Mapping
from typing import TypeAlias, TypeVar

from msgspec import Struct, field

from windlass.api.config import ClusterOperator, ClusterVersion
from windlass.api.core import Node, Pod
from windlass.api.machineconfiguration import MachineConfigNode, MachineConfigPool
from windlass.api.machineosconfig import MachineOSBuild
from windlass.api.policy import PodDisruptionBudget
from windlass.update_status.record import Record
from windlass.update_status.report import Informed

T = TypeVar("T")


class Unknown(Struct, frozen=True):
    """A source that could not be read. `reason` is a text for users: `nodes is forbidden: ...`."""

    reason: str


Known: TypeAlias = T | Unknown


class AlertLabels(Struct, frozen=True):
    """`name`: of the ClusterOperator, `poddisruptionbudget`: of the budget that an alert is about."""

    alertname: str = ""
    namespace: str = ""
    severity: str = ""
    name: str = ""
    poddisruptionbudget: str = ""


class AlertAnnotations(Struct, frozen=True):
    summary: str = ""
    description: str = ""
    message: str = ""
    runbook_url: str = ""


class Alert(Struct, rename="camel", frozen=True):
    """One of Prometheus' `GET /api/v1/alerts`. `state` is pending or firing."""

    labels: AlertLabels = AlertLabels()
    annotations: AlertAnnotations = AlertAnnotations()
    state: str = ""
    active_at: str | None = None


class Workload(Struct, frozen=True, kw_only=True):
    """What can hold a drain. It is read only for nodes that drain for long.

    nodes    the nodes that it was read for
    pods     those on these nodes, and those of budgets that allow no eviction
    budgets  of all namespaces
    """

    nodes: tuple[str, ...] = ()
    pods: Known[tuple[Pod, ...]] = ()
    budgets: Known[tuple[PodDisruptionBudget, ...]] = ()


class Sources(Struct, frozen=True, kw_only=True):
    """All that a report depends on, apart from the time.

    operators        in the order of their list
    versions         the releases of MachineConfigs by name; without those that name none
    gaps             objects that could not be read, each with the reason: `MachineConfig rendered-x: not found`
    operator_image   the image that the Machine Config Operator runs, "" if it has no such container
    alerts_trouble   the line that says why alerts are missing, "" if none are
    progress         MachineConfigNodes by name, where they are served
    builds           MachineOSBuilds, where they are served
    workload         what can hold drains
    records          of this update and of earlier ones, as far as there are any
    informed         what informers of others told
    """

    cluster_version: ClusterVersion
    operators: tuple[ClusterOperator, ...]
    pools: Known[tuple[MachineConfigPool, ...]] = ()
    nodes: Known[tuple[Node, ...]] = ()
    versions: Mapping[str, str] = field(default_factory=dict)
    operator_image: Known[str] = ""
    alerts: tuple[Alert, ...] = ()
    alerts_trouble: str = ""
    progress: Mapping[str, MachineConfigNode] = field(default_factory=dict)
    builds: tuple[MachineOSBuild, ...] = ()
    workload: Workload = Workload()
    records: tuple[Record, ...] = ()
    informed: tuple[Informed, ...] = ()
    gaps: tuple[str, ...] = ()

    @property
    def nodes_known(self) -> bool:
        """Whether pools and nodes could be read: without them a report has none, as if all were updated."""
        return not isinstance(self.pools, Unknown) and not isinstance(self.nodes, Unknown)
