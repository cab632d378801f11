"""Builds really, with the buildah of this machine, what Pods of Jobs and Builds ask for.

    buildah = Buildah(client, folder, insecure=[registry.host])
    await PlayedPods(client, namespace="builds").play(buildah.run_pod)
    await PlayedBuilds(client, namespace="builds").play(buildah.run_build)

It needs root or subordinate user IDs (`tools/install-builder`). A Pod's script runs here, outside any container: its
volumes are folders, and the mount paths among its arguments and the values of its environment become those folders.
Volumes below its home folder are copies in the home folder of the run: programs do not follow a link to a folder where
they read a mount. A Build's volumes are mounted for its RUN steps. A PersistentVolumeClaim is one folder for all Pods,
and a container that has it read-only cannot write there, if this process is root.

A Pod, or a Build, that asks for Nodes of an architecture is built as on such a Node: base images are those for it. RUN
runs here all the same, so programs of a base image must be those of this machine.
"""

import asyncio
import base64
import itertools
import os
import shutil
import signal
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from windlass.api.build import Build, BuildVolume
from windlass.api.core import ConfigMap, Pod, Secret
from windlass.kube.errors import NotFound
from windlass.kube.object import Object
from windlass.kube.verbs import Api
from windlass.testing.builds.openshift import Built, PlayedBuilds, contents
from windlass.testing.builds.pods import Ended

ARCHITECTURE: Final = "kubernetes.io/arch"
"""The label of Nodes."""
_MESSAGE: Final = "/dev/termination-log"
_SNIPPET: Final = 5
"""Lines of a log that OpenShift puts into the status of a failed Build."""
_GRACE_SECONDS: Final = 2.0


class Buildah:
    """Each build has a folder of its own below `folder`, with its own storage. `insecure`: registries without TLS."""

    def __init__(self, api: Api, folder: Path, *, insecure: Sequence[str] = ()) -> None:
        self._api = api
        self._folder = folder
        self._numbers = itertools.count(1)
        self._insecure = insecure

    async def run_pod(self, pod: Object[Pod]) -> Ended:
        """Run the commands of the Pod's containers: those before the one that builds, then that."""
        home = self._home(pod.name)
        spec = pod.tree()["spec"]
        places = await mounted(self._api, pod, home / "volumes", claims=self._folder / "claims")
        architecture = (spec.get("nodeSelector") or {}).get(ARCHITECTURE, "")
        for container in (*spec.get("initContainers", ()), *spec["containers"]):
            ended = await self._run_container(container, home, places, architecture=architecture)
            if ended.exit_code:
                break
        return ended

    async def _run_container(
        self, container: Mapping[str, Any], home: Path, volumes: Mapping[str, Path], *, architecture: str
    ) -> Ended:
        message = home / "message"
        message.write_text("")
        mounts = container["volumeMounts"]
        places = {**{each["mountPath"]: volumes[each["name"]] for each in mounts}, _MESSAGE: message}
        variables = {each["name"]: each["value"] for each in container["env"]}
        for path, folder in places.items():
            copy = home / path[len(variables.get("HOME", "")) + 1 :]
            if path.startswith(f"{variables.get('HOME', '')}/") and any(folder.iterdir()) and not copy.exists():
                shutil.copytree(folder, copy, symlinks=True)
        given = {name: _placed(value, places) for name, value in variables.items()}
        command = [_placed(each, places) for each in container["command"]]
        protected = [volumes[each["name"]] for each in mounts if each.get("readOnly")]
        code, log = await self._run(_read_only(protected, command), home, given, architecture=architecture)
        return Ended(exit_code=code, message=message.read_text() or log[-2048:])

    async def run_build(self, build: Object[Build]) -> Built:
        """Build and push what a Build asks for."""
        home, namespace = self._home(build.name), build.namespace or ""
        spec = build.decode().spec
        docker, output = spec.strategy.docker_strategy, spec.output
        assert docker is not None
        assert docker.pull_secret is not None
        assert output.to is not None
        assert output.push_secret is not None
        context = home / "context"
        for name, content in (await PlayedBuilds(self._api, namespace=namespace).context(build)).items():
            _written(context / name, content)
        pull = await self._authfile(docker.pull_secret.name, namespace, home / "pull.json")
        push = await self._authfile(output.push_secret.name, namespace, home / "push.json")
        lent = await self._volumes(docker.volumes, namespace, home / "lent")
        labels = [f"--label={label.name}={label.value}" for label in output.image_labels]
        bud = [
            "bud",
            "--isolation=chroot",
            "--layers=false",
            f"--authfile={pull}",
            *labels,
            *lent,
            f"--tag={output.to.name}",
        ]
        selector = build.tree()["spec"].get("nodeSelector") or {}
        command = ["buildah", *bud, f"--file={context}/Dockerfile", str(context)]
        code, log = await self._run(command, home, architecture=selector.get(ARCHITECTURE, ""))
        if code:
            return Built(reason="DockerBuildFailed", message="Docker build strategy has failed.", log=_end(log))
        digest = home / "digest"
        code, log = await self._run(
            ["buildah", "push", f"--authfile={push}", f"--digestfile={digest}", output.to.name], home
        )
        if code:
            text = "Failed to push the image to the registry."
            return Built(reason="PushImageToRegistryFailed", message=text, log=_end(log))
        return Built(digest=digest.read_text())

    async def _volumes(self, volumes: Iterable[BuildVolume], namespace: str, into: Path) -> list[str]:
        """The options that mount a Build's volumes; OpenShift mounts them read-only."""
        options = []
        for volume in volumes:
            folder = into / volume.name
            folder.mkdir(parents=True)
            source = {"secret": volume.source.secret, "configMap": volume.source.config_map}
            given = {kind: found for kind, found in source.items() if found is not None}
            for name, content in (await _files(self._api, given, namespace)).items():
                _written(folder / name, content)
            options += [f"--volume={folder}:{mount.destination_path}:ro" for mount in volume.mounts]
        return options

    def _home(self, name: str) -> Path:
        """A new folder with its own storage and its list of registries."""
        home = self._folder / f"{next(self._numbers)}-{name}"
        home.mkdir(parents=True)
        storage = f'[storage]\ndriver = "vfs"\ngraphroot = "{home}/storage"\nrunroot = "{home}/run"\n'
        (home / "storage.conf").write_text(storage)
        registries = [f'[[registry]]\nlocation = "{host}"\ninsecure = true\n' for host in self._insecure]
        (home / "registries.conf").write_text("".join(registries))
        return home

    async def _authfile(self, secret: str, namespace: str, file: Path) -> Path:
        files = await secret_files(self._api, secret, namespace)
        return _written(file, files[".dockerconfigjson"])

    async def _run(
        self,
        command: Sequence[str],
        home: Path,
        environment: Mapping[str, str] | None = None,
        *,
        architecture: str = "",
    ) -> tuple[int, str]:
        """The exit code, and the log. If it is cancelled, it kills all processes of the command."""
        path = os.environ["PATH"]
        if architecture:
            path = f"{_as_on(architecture, home / 'programs')}:{path}"
        settings = {
            "CONTAINERS_STORAGE_CONF": str(home / "storage.conf"),
            "CONTAINERS_REGISTRIES_CONF": str(home / "registries.conf"),
            "TMPDIR": str(home),
        }
        process = await asyncio.create_subprocess_exec(
            *command,
            env={"PATH": path, **(environment or {}), "HOME": str(home), **settings},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            log, _ = await process.communicate()
        except asyncio.CancelledError:
            await _kill(process)
            raise
        return process.returncode or 0, log.decode(errors="replace")


def _as_on(architecture: str, folder: Path) -> Path:
    """A folder with a buildah that builds as on a machine of this architecture."""
    program = _written(
        folder / "buildah",
        f"""#!/bin/sh
left=$#
while [ "$left" -gt 0 ]; do
    argument=$1 left=$((left - 1))
    shift
    set -- "$@" "$argument"
    [ "$argument" != bud ] || set -- "$@" --arch {architecture}
done
exec {shutil.which("buildah")} "$@"
""".encode(),
    )
    program.chmod(0o755)
    return folder


def _written(file: Path, content: bytes) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)
    return file


async def _kill(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        os.killpg(process.pid, signal.SIGTERM)
        try:
            await asyncio.wait_for(process.wait(), _GRACE_SECONDS)
        except TimeoutError:
            os.killpg(process.pid, signal.SIGKILL)
            await process.wait()


def _placed(text: str, places: Mapping[str, Any]) -> str:
    """`text`, with a folder of this machine in place of a mount path."""
    for path, folder in places.items():
        if text == path or text.startswith(f"{path}/"):
            return f"{folder}{text[len(path) :]}"
    return text


def _read_only(folders: Sequence[Path], command: Sequence[str]) -> Sequence[str]:
    """The command, which sees these folders read-only."""
    if not folders or os.geteuid() != 0:
        return command
    mounts = [f"mount --bind '{each}' '{each}' && mount -o remount,ro,bind '{each}'" for each in folders]
    return ["unshare", "--mount", "sh", "-c", f'{" && ".join(mounts)} && exec "$@"', "sh", *command]


def _end(log: str) -> str:
    return "\n".join(log.strip().splitlines()[-_SNIPPET:])


# Mounts the volumes of a Pod in a folder of this machine, so that its script can be run here.
#
#     folders = await mounted(client, pod, tmp_path, claims=tmp_path / "claims")
#     folders["context"]           # the ConfigMap's keys as files
#
# ConfigMaps, Secrets, projections of both, empty folders, and claims; what is optional and missing stays empty.


async def mounted(api: Api, pod: Object[Pod], into: Path, *, claims: Path) -> dict[str, Path]:
    """A folder for each volume of the Pod; those of claims are below `claims`. Raises NotFound for what is missing."""
    folders: dict[str, Path] = {}
    for volume in pod.tree()["spec"]["volumes"]:
        claim = volume.get("persistentVolumeClaim")
        folder = folders[volume["name"]] = claims / claim["claimName"] if claim else into / volume["name"]
        folder.mkdir(parents=True, exist_ok=True)
        for source in _sources(volume):
            for name, content in (await _files(api, source, pod.namespace or "")).items():
                _written(folder / name, content)
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
