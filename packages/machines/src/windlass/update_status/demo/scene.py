"""An immutable snapshot of the cluster and of what Windlass says of it, which the expectations check."""

from typing import Final

from windlass.api.config import ClusterOperator
from windlass.api.core import Node
from windlass.api.machineconfiguration import MachineConfigPool
from windlass.api.update import UPDATE_STATUS, UpdateStatus
from windlass.api.update_record import UpdateRecord
from windlass.demo import scene
from windlass.demo.story import need
from windlass.kube.control.seen import Present
from windlass.testing.updates import Layout, Pool
from windlass.update_status.constants import CURRENT_CONFIG, DESIRED_CONFIG, STATE
from windlass.update_status.document import NothingWritten, read
from windlass.update_status.record import Record, record_of
from windlass.update_status.report import Operator, Phase, Report
from windlass.update_status.times import Moment

LAYOUT: Final = Layout(
    pools=(Pool(name="master", nodes=3), Pool(name="worker", nodes=4, max_unavailable=2), Pool(name="infra", nodes=2))
)
"""The cluster of the story."""


class Scene(scene.Scene, frozen=True, kw_only=True):
    """The objects of the story; `now` is when the scene was looked at."""

    now: Moment = 0

    # what Windlass says

    @property
    def report(self) -> Report | None:
        """What the UpdateStatus says; None until it has been written."""
        found = self.get(UpdateStatus, UPDATE_STATUS)
        if found is None:
            return None
        try:
            return read(found.object.status, now=self.now)
        except NothingWritten:
            return None

    def needs_report(self, *, updating: bool = True) -> Report:
        """What the UpdateStatus says; it has to say whether the cluster is updating."""
        report = need(self.report, "the UpdateStatus has not been written")
        word = "is" if report.updating else "is not"
        need(report.updating == updating, f"the UpdateStatus says that the cluster {word} updating")
        return report

    @property
    def record(self) -> Record | None:
        """The record of the newest update; None before the first."""
        found = (record_of(one.object) for one in self.of(UpdateRecord).values())
        return max(found, key=lambda one: one.started, default=None)

    # what the cluster says

    def operators_at(self, version: str) -> set[str]:
        """The ClusterOperators at version `version`."""
        return {
            name
            for name, one in self.of(ClusterOperator).items()
            if any(item.name == "operator" and item.version == version for item in one.object.status.versions)
        }

    def nodes_of(self, pool: str) -> dict[str, Present[Node]]:
        """The Nodes of a pool, which are named after it."""
        return {name: node for name, node in self.of(Node).items() if name.startswith(f"{pool}-")}

    def updated_nodes(self, pool: str) -> set[str]:
        """The Nodes of a pool that run the MachineConfig which the pool wants, by their annotations."""
        found = self.get(MachineConfigPool, pool)
        wanted = found.tree["spec"]["configuration"]["name"] if found else ""
        at_rest = (wanted, wanted, "Done")
        return {
            name
            for name, node in self.nodes_of(pool).items()
            if tuple(node.metadata.annotations.get(key) for key in (CURRENT_CONFIG, DESIRED_CONFIG, STATE)) == at_rest
        }


def operator_of(report: Report, name: str) -> Operator | None:
    """The operator of this name; None if the report does not have it."""
    return next((one for one in report.control_plane.operators if one.name == name), None)


def phases_of(report: Report, pool: str) -> dict[str, Phase]:
    """The phase of each Node of a pool."""
    return {node.name: node.phase for one in report.pools if one.name == pool for node in one.nodes}
