"""Reads the files of `--mock-clusterversion`: one for each kind, with names that follow from that of the first.

The file of the ClusterVersion is `NAME-cv.yaml`; `-co`, `-mcp`, `-mc` and `-node.yaml` must be there, `-alerts.json`
and `-mco-deployment.yaml` may be. A file is YAML, of which only the first document counts, or JSON. `oc` reads
the same files.
"""

from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import yaml
from msgspec import structs

from windlass.api.apps import Deployment
from windlass.api.config import ClusterOperator, ClusterVersion
from windlass.api.core import Node
from windlass.api.machineconfiguration import MachineConfig, MachineConfigPool
from windlass.api.meta import K
from windlass.capability.documents.yaml_dialect import as_json, load_all
from windlass.kube.foreign import Malformed, read_json
from windlass.update_status.assessment import Problem
from windlass.update_status.reading import NO_CLUSTER_VERSION, Reading
from windlass.update_status.reading.alerts import read_alerts
from windlass.update_status.reading.building import Read, image_of, sources_of
from windlass.update_status.reading.clock import last_transition
from windlass.update_status.reading.objects import decode
from windlass.update_status.sources import Alert
from windlass.update_status.times import Moment

SUFFIX: Final = "-cv.yaml"


def read_mock(path: str, *, wall: Moment) -> Reading:
    """The sources in the files beside `path`, as of their last transition. Raises Problem."""
    versions = _read(path, ClusterVersion)
    operators = _read(_sibling(path, "-co.yaml"), ClusterOperator)
    pools = _read(_sibling(path, "-mcp.yaml"), MachineConfigPool)
    configs = _read(_sibling(path, "-mc.yaml"), MachineConfig)
    nodes = _read(_sibling(path, "-node.yaml"), Node)
    if not versions:
        raise Problem(NO_CLUSTER_VERSION)
    alerts, trouble = _alerts(_sibling(path, "-alerts.json"))
    deployment = _sibling(path, "-mco-deployment.yaml")
    deployments = _read(deployment, Deployment) if Path(deployment).exists() else ()
    sources = sources_of(
        versions[0],
        Read(operators),
        pools=Read(pools),
        nodes=Read(nodes),
        configs=Read(configs),
        image=image_of(deployments[0]) if deployments else "",
        steps=Read(),
        builds=Read(),
    )
    sources = structs.replace(sources, alerts=alerts, alerts_trouble=trouble)
    return Reading(sources=sources, now=last_transition(sources), wall=wall)


def _sibling(path: str, suffix: str) -> str:
    return path.replace(SUFFIX, suffix, 1)


def _alerts(path: str) -> tuple[tuple[Alert, ...], str]:
    return read_alerts(_content(path)) if Path(path).exists() else ((), "")


def _read(path: str, kind: type[K]) -> tuple[K, ...]:
    """The objects in a file: one, or those of a list. Raises Problem."""
    tree = _first_document(path)
    resource = kind.RESOURCE
    said = (tree.get("apiVersion"), tree.get("kind")) if isinstance(tree, dict) else None
    if said == (resource.api_version, resource.kind):
        return (decode(tree, kind, source=path),)
    if said == (resource.api_version, f"{resource.kind}List"):
        return tuple(decode(item, kind, source=path) for item in _items(tree, path))
    if said != ("v1", "List"):
        raise Problem(f"{path}: expected {_names(kind)}, found {_shown(tree)}")
    items = _items(tree, path)
    for item in items:
        if not isinstance(item, dict) or (item.get("apiVersion"), item.get("kind")) != _identity(kind):
            raise Problem(f"{path}: expected a list of {_names(kind)}, found {_shown(item)} in it")
    return tuple(decode(item, kind, source=path) for item in items)


def _items(tree: dict[str, Any], path: str) -> list[Any]:
    items = tree.get("items")
    if items is not None and not isinstance(items, list):
        raise Problem(f"{path}: {tree['kind']}: items: expected a list, found {_shown(items)}")
    return items or []


def _first_document(path: str) -> Any:
    content = _content(path)
    if content.lstrip().startswith(b"{"):
        with suppress(Malformed):
            return read_json(content)
    try:
        text = content.decode()
        return as_json(next((tree for _, tree in load_all(text)), None))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = f":{mark.line + 1}" if mark else ""
        raise Problem(f"{path}{line}: invalid YAML: {error.problem or error.context}") from None
    except (yaml.YAMLError, ValueError) as error:
        raise Problem(f"{path}: invalid YAML: {error}") from None


def _content(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        # As Go says it.
        raise Problem(f"open {path}: {(error.strerror or str(error)).lower()}") from None


def _identity(kind: type[K]) -> tuple[str, str]:
    return kind.RESOURCE.api_version, kind.RESOURCE.kind


def _names(kind: type[K]) -> str:
    return f"{kind.RESOURCE.kind} ({kind.RESOURCE.api_version})"


def _shown(tree: Any) -> str:
    if isinstance(tree, dict):
        return f"{tree.get('kind') or 'no kind'} ({tree.get('apiVersion') or 'no apiVersion'})"
    return "nothing" if tree is None else f"a {type(tree).__name__}"
