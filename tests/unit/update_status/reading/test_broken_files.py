"""Whatever stands in the files, there is a report or a Problem, and never another error."""

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from windlass.update_status.assessment import Problem, assess
from windlass.update_status.reading.mock import read_mock
from windlass.update_status.text import Details, render
from windlass.update_status.text.wide import render_wide

Place = tuple[str | int, ...]

MC = "machineconfiguration.openshift.io"
EARLY, LATE = "2024-02-27T15:00:00Z", "2024-02-27T15:30:00.5-01:00"


def _object(api_version: str, kind: str, name: str, **rest: Any) -> dict[str, Any]:
    metadata = {"name": name, "labels": {"role": name}, "annotations": rest.pop("annotations", {})}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **rest}


def _conditions(**statuses: str) -> list[dict[str, Any]]:
    return [
        {"type": kind, "status": status, "lastTransitionTime": EARLY, "reason": "R", "message": "m"}
        for kind, status in statuses.items()
    ]


def _listed(item: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "List", "items": [item]}


HISTORY = [
    {"state": "Partial", "startedTime": EARLY, "completionTime": None, "version": "4.15.1", "image": "b"},
    {"state": "Completed", "startedTime": EARLY, "completionTime": LATE, "version": "4.15.0", "image": "a"},
    {"state": "Completed", "startedTime": EARLY, "completionTime": LATE, "version": "4.14.9", "image": "c"},
]
FILES: dict[str, Any] = {
    "x-cv.yaml": _object(
        "config.openshift.io/v1",
        "ClusterVersion",
        "version",
        status={
            "desired": {"version": "4.15.1", "image": "b"},
            "history": HISTORY,
            "conditions": _conditions(Progressing="True", Failing="False"),
        },
    ),
    "x-co.yaml": _listed(
        _object(
            "config.openshift.io/v1",
            "ClusterOperator",
            "machine-config",
            annotations={"include.release.openshift.io/x": "true"},
            status={
                "conditions": _conditions(Available="True", Progressing="True", Degraded="True"),
                "versions": [{"name": "operator", "version": "4.15.0"}, {"name": "operator-image", "version": "i"}],
            },
        )
    ),
    "x-mcp.yaml": _listed(
        _object(
            f"{MC}/v1",
            "MachineConfigPool",
            "master",
            spec={
                "paused": False,
                "configuration": {"name": "rendered-b"},
                "nodeSelector": {
                    "matchLabels": {"role": "master"},
                    "matchExpressions": [{"key": "role", "operator": "In", "values": ["master"]}],
                },
            },
        )
    ),
    "x-mc.yaml": _listed(
        _object(f"{MC}/v1", "MachineConfig", "rendered-a", annotations={f"{MC}/release-image-version": "4.15.0"})
    ),
    "x-node.yaml": _listed(
        _object(
            "v1",
            "Node",
            "master",
            annotations={
                f"{MC}/{name}": value
                for name, value in {
                    "currentConfig": "rendered-a",
                    "desiredConfig": "rendered-b",
                    "state": "Working",
                    "desiredDrain": "drain-b",
                    "lastAppliedDrain": "uncordon-a",
                }.items()
            },
            spec={"unschedulable": True},
            status={"conditions": _conditions(Ready="False", DiskPressure="Unknown")},
        )
    ),
    "x-mco-deployment.yaml": _object(
        "apps/v1",
        "Deployment",
        "machine-config-operator",
        spec={"template": {"spec": {"containers": [{"name": "machine-config-operator", "image": "i"}]}}},
    ),
    "x-alerts.json": {
        "data": {
            "alerts": [
                {
                    "labels": {"alertname": "A", "severity": "critical", "namespace": "n"},
                    "annotations": {"summary": "s", "description": "d"},
                    "state": "firing",
                    "activeAt": LATE,
                }
            ]
        }
    },
}


def _places(tree: Any, at: Place = ()) -> Iterator[Place]:
    yield at
    pairs = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in pairs:
        yield from _places(value, (*at, key))


PLACES = [(file, place) for file, tree in FILES.items() for place in _places(tree)]
WRONG: st.SearchStrategy[Any] = st.sampled_from(
    [None, True, 0, -1.5, 10**30, "", "x", "yes", EARLY, "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z", [], {}, [None]]
)


def _with(tree: Any, place: Place, value: Any) -> Any:
    if not place:
        return value
    changed = copy.copy(tree)
    changed[place[0]] = _with(tree[place[0]], place[1:], value)
    return changed


def _shown(folder: Path) -> str:
    reading = read_mock(str(folder / "x-cv.yaml"), wall=0)
    report = assess(reading.sources, now=reading.now, wall=reading.wall)
    return render(report, now=reading.now, details=Details.ALL) + render_wide(report, now=reading.now)


def _write(folder: Path, files: dict[str, Any]) -> None:
    for name, tree in files.items():
        (folder / name).write_text(json.dumps(tree))


def test_the_files_as_they_are_make_a_report(tmp_path: Path) -> None:
    _write(tmp_path, FILES)

    said = _shown(tmp_path)

    assert "4.15.1 (from 4.15.0)" in said
    assert "Draining" in said
    assert "Alert is firing: s" in said


@given(broken=st.sampled_from(PLACES), wrong=WRONG)
@settings(deadline=None)
def test_any_value_in_any_place_is_a_report_or_a_problem(
    tmp_path_factory: Any, broken: tuple[str, Place], wrong: Any
) -> None:
    folder = tmp_path_factory.mktemp("broken")
    file, place = broken
    _write(folder, {**FILES, file: _with(FILES[file], place, wrong)})

    try:
        assert _shown(folder)
    except Problem as problem:
        assert str(problem)  # noqa: PT017
