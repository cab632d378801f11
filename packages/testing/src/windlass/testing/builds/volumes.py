"""Mounts the volumes of a Pod in a folder of this machine, so that its script can be run here.

    folders = await mounted(client, pod, tmp_path)
    folders["/context"]           # the ConfigMap's keys as files

ConfigMaps, Secrets, projections of both, and empty folders; what is optional and missing stays empty.
"""

import base64
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from windlass.api.core import ConfigMap, Pod, Secret
from windlass.kube.errors import NotFound
from windlass.kube.object import Object
from windlass.kube.verbs import Api
from windlass.testing.builds.openshift import contents


async def mounted(api: Api, pod: Object[Pod], into: Path) -> dict[str, Path]:
    """A folder for each mount path of the Pod's one container. Raises NotFound for what is missing."""
    spec, namespace = pod.tree()["spec"], pod.namespace or ""
    [container] = spec["containers"]
    volumes = {volume["name"]: volume for volume in spec["volumes"]}
    folders: dict[str, Path] = {}
    for mount in container["volumeMounts"]:
        folder = folders[mount["mountPath"]] = into / mount["name"]
        folder.mkdir(parents=True)
        for source in _sources(volumes[mount["name"]]):
            for name, content in (await _files(api, source, namespace)).items():
                (folder / name).write_bytes(content)
    return folders


def _sources(volume: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
    """The volume itself, or the sources projected into the volume."""
    return volume["projected"]["sources"] if "projected" in volume else [volume]


async def _files(api: Api, source: Mapping[str, Any], namespace: str) -> dict[str, bytes]:
    if "configMap" in source:
        given, read = source["configMap"], _config_map
    elif "secret" in source:
        given, read = _named(source["secret"]), secret_files
    else:
        return {}
    try:
        found = await read(api, given["name"], namespace)
    except NotFound:
        if not given.get("optional"):
            raise
        return {}
    items = given.get("items")
    return {item["path"]: found[item["key"]] for item in items} if items else found


async def _config_map(api: Api, name: str, namespace: str) -> dict[str, bytes]:
    return dict(contents((await api.get(ConfigMap, name, namespace=namespace)).decode()))


async def secret_files(api: Api, name: str, namespace: str) -> dict[str, bytes]:
    """The keys of a Secret as files."""
    found = (await api.get(Secret, name, namespace=namespace)).decode()
    return {key: base64.b64decode(text) for key, text in found.data.items()}


def _named(secret: Mapping[str, Any]) -> Mapping[str, Any]:
    """A volume calls it `secretName`, a projection `name`."""
    return {**secret, "name": secret.get("secretName", secret.get("name"))}
