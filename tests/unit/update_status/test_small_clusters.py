"""What `oc adm upgrade status` prints of small clusters, byte for byte: one situation each.

Each folder of `tests/data/update_status` has the objects, and the text without and with `--details=all`, or the error.
The texts were printed by oc's own package of January 2025 (ae1bd9e4), to which the changes of its output until April
2026 had been made by hand; that program also prints all recorded cases.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from windlass.api.apps import Deployment
from windlass.api.config import ClusterOperator, ClusterVersion
from windlass.api.core import Node
from windlass.api.machineconfiguration import MachineConfig, MachineConfigPool
from windlass.capability.documents.yaml_dialect import load_all
from windlass.update_status.assessment import Problem, assess
from windlass.update_status.reading.mock import read_mock
from windlass.update_status.text import Details, render
from windlass.update_status.times import moment

CLUSTERS = Path(__file__).parents[2] / "data" / "update_status"
LISTS = {"co": ClusterOperator, "mcp": MachineConfigPool, "mc": MachineConfig, "node": Node}
WALL = moment("2026-01-01T00:00:00Z")


def of_kind(tree: dict[str, Any], kind: Any) -> dict[str, Any]:
    return {"apiVersion": kind.RESOURCE.api_version, "kind": kind.RESOURCE.kind, **tree}


def printed(cluster: Path, files: Path, details: Details) -> str:
    """What we print of a cluster, or the error."""
    [(_, found)] = load_all((cluster / "cluster.yaml").read_text(encoding="utf-8"))
    trees = {
        "cv.yaml": of_kind(found["cv"], ClusterVersion),
        **{
            f"{name}.yaml": {"apiVersion": "v1", "kind": "List", "items": [of_kind(one, kind) for one in found[name]]}
            for name, kind in LISTS.items()
        },
    }
    if "alerts" in found:
        trees["alerts.json"] = found["alerts"]
    if "mco" in found:
        trees["mco-deployment.yaml"] = of_kind(found["mco"], Deployment)
    for suffix, tree in trees.items():
        (files / f"x-{suffix}").write_text(json.dumps(tree), encoding="utf-8")
    try:
        read = read_mock(str(files / "x-cv.yaml"), wall=WALL)
        return render(assess(read.sources, now=read.now, wall=read.wall), now=read.now, details=details)
    except Problem as problem:
        return f"error: {problem}\n"


@pytest.mark.parametrize(
    ("details", "file"), [(Details.NONE, "output"), (Details.ALL, "detailed-output")], ids=["short", "in detail"]
)
@pytest.mark.parametrize("name", sorted(folder.name for folder in CLUSTERS.iterdir()))
def test_the_text_is_what_oc_prints(name: str, details: Details, file: str, tmp_path: Path) -> None:
    error = CLUSTERS / name / "error"
    expected = error if error.exists() else CLUSTERS / name / file
    assert printed(CLUSTERS / name, tmp_path, details) == expected.read_text(encoding="utf-8")
