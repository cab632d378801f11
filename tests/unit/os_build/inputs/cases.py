"""Rendered MachineConfigs and requests, as the tests of inputs need them."""

import base64
import gzip
import json
from typing import Any

from windlass.os_build.inputs.context import ApplyBy, Context, rendered
from windlass.os_build.pullspec import Target
from windlass.os_build.request import OsImages, Problem, Request

NAME = "rendered-worker-1"
BASE = "quay.io/openshift/os@sha256:" + "a" * 64
EXTENSIONS = "quay.io/openshift/extensions@sha256:" + "b" * 64
REQUEST = Request(
    pool="worker",
    config=NAME,
    target=Target.parse("registry.example.com/org/os"),
    pull_secret="pull",
    push_secret="push",
)


def request(containerfile: str = "", **images: str) -> Request:
    return Request(
        pool=REQUEST.pool,
        config=REQUEST.config,
        target=REQUEST.target,
        pull_secret=REQUEST.pull_secret,
        push_secret=REQUEST.push_secret,
        containerfile=containerfile,
        images=OsImages(**images),
    )


def machine_config(config: Any = None, /, **spec: Any) -> bytes:
    """The JSON of a rendered MachineConfig with this Ignition configuration, as an API server gives it."""
    return json.dumps(
        {
            "apiVersion": "machineconfiguration.openshift.io/v1",
            "kind": "MachineConfig",
            "metadata": {"name": NAME, "uid": "6f1", "resourceVersion": "17", "annotations": {"a": "b"}},
            "spec": {
                "osImageURL": BASE,
                "baseOSExtensionsContainerImage": "",
                "extensions": None,
                "kernelArguments": [],
                "kernelType": "default",
                "fips": False,
                "config": {"ignition": {"version": "3.4.0"}, **(config or {})},
                **spec,
            },
        }
    ).encode()


def with_files(*files: Any) -> bytes:
    return machine_config({"storage": {"files": list(files)}})


def data_url(content: bytes) -> str:
    return "data:;base64," + base64.b64encode(content).decode()


def packed(content: bytes) -> dict[str, Any]:
    return {"compression": "gzip", "source": data_url(gzip.compress(content))}


def context(
    document: bytes, of: Request = REQUEST, *, apply_by: ApplyBy = ApplyBy.TREE, arch: str = "", lint: bool = True
) -> Context:
    made = rendered(of, document, apply_by=apply_by, arch=arch, lint=lint)
    assert isinstance(made, Context), made
    return made


def problem(document: bytes, of: Request = REQUEST, *, apply_by: ApplyBy = ApplyBy.TREE, arch: str = "") -> Problem:
    found = rendered(of, document, apply_by=apply_by, arch=arch)
    assert isinstance(found, Problem), found
    return found
