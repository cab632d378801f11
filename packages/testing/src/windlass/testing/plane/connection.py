"""The address and tokens of a running plane, as a value that can be passed to another process."""

import base64
import json
import os
import re
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import yaml

ADMIN = "admin"
"""The user that may do everything (group `system:masters`)."""


@dataclass(frozen=True)
class Connection:
    """The address of a plane's API server, and its credentials.

    `tokens` maps user names to bearer tokens; `directory` holds `logs/`, `kubeconfigs/` and `pki/`.
    `controller_manager` says whether kube-controller-manager runs.
    """

    url: str
    ca_file: Path
    tokens: Mapping[str, str]
    directory: Path
    controller_manager: bool = True

    @property
    def logs(self) -> Path:
        """The folder with a log for each process, and `audit.log`."""
        return self.directory / "logs"

    def write_kubeconfig(self, user: str, *, token: str) -> Path:
        """Write `kubeconfigs/<user>.yaml` for `token`, whole or not at all, readable by us alone; returns its path."""
        folder = self.directory / "kubeconfigs"
        folder.mkdir(exist_ok=True)
        descriptor, name = tempfile.mkstemp(dir=folder, prefix=".incoming-")
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            yaml.safe_dump(self._kubeconfig(user, token), file, sort_keys=False)
        path = folder / f"{re.sub('[^a-zA-Z0-9.-]', '-', user)}.yaml"
        return Path(name).rename(path)

    def _kubeconfig(self, user: str, token: str) -> dict[str, object]:
        authority = base64.b64encode(self.ca_file.read_bytes()).decode()
        cluster = {"server": self.url, "certificate-authority-data": authority}
        return {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "windlass", "cluster": cluster}],
            "users": [{"name": user, "user": {"token": token}}],
            "contexts": [{"name": "windlass", "context": {"cluster": "windlass", "user": user}}],
            "current-context": "windlass",
        }

    def to_json(self) -> str:
        """This connection as text for another process on the same machine."""
        return json.dumps(asdict(self) | {"ca_file": str(self.ca_file), "directory": str(self.directory)})

    @classmethod
    def from_json(cls, text: str) -> "Connection":
        """The inverse of `to_json`."""
        content = json.loads(text)
        paths = {name: Path(content[name]) for name in ("ca_file", "directory")}
        return cls(**(content | paths))
