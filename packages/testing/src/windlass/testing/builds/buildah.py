"""Builds really, with the buildah of this machine, what Pods of Jobs and Builds ask for.

    buildah = Buildah(client, folder, insecure=[registry.host])
    await PlayedPods(client, namespace="builds").play(buildah.run_pod)
    await PlayedBuilds(client, namespace="builds").play(buildah.run_build)

It needs root or subordinate user IDs (`tools/install-builder`). A Pod's script runs here, outside any container: its
volumes are folders, and the mount paths among its arguments and the values of its environment become those folders.
"""

import asyncio
import itertools
import os
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from windlass.api.build import Build
from windlass.api.core import Pod
from windlass.kube.object import Object
from windlass.kube.verbs import Api
from windlass.testing.builds.openshift import Built, PlayedBuilds
from windlass.testing.builds.pods import Ended
from windlass.testing.builds.volumes import mounted, secret_files

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
        """Run the command of the Pod's one container."""
        home = self._home(pod.name)
        message = home / "message"
        message.touch()
        places = {**await mounted(self._api, pod, home / "volumes"), _MESSAGE: message}
        [container] = pod.tree()["spec"]["containers"]
        given = {each["name"]: _placed(each["value"], places) for each in container["env"]}
        command = [_placed(each, places) for each in container["command"]]
        code, log = await self._run(command, home, given)
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
        labels = [f"--label={label.name}={label.value}" for label in output.image_labels]
        bud = ["bud", "--isolation=chroot", "--layers=false", f"--authfile={pull}", *labels, f"--tag={output.to.name}"]
        code, log = await self._run(["buildah", *bud, f"--file={context}/Dockerfile", str(context)], home)
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
        self, command: Sequence[str], home: Path, environment: Mapping[str, str] | None = None
    ) -> tuple[int, str]:
        """The exit code, and the log. If it is cancelled, it kills all processes of the command."""
        settings = {
            "CONTAINERS_STORAGE_CONF": str(home / "storage.conf"),
            "CONTAINERS_REGISTRIES_CONF": str(home / "registries.conf"),
            "TMPDIR": str(home),
        }
        process = await asyncio.create_subprocess_exec(
            *command,
            env={"PATH": os.environ["PATH"], **(environment or {}), "HOME": str(home), **settings},
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


def _end(log: str) -> str:
    return "\n".join(log.strip().splitlines()[-_SNIPPET:])
