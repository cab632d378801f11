"""What Cluster API's own provider brings: the templates of its quick start, and its Go types as a judge."""

import base64
import json
import os
import re
import subprocess
from collections.abc import Iterable, Mapping
from typing import Any

import yaml

from windlass.testing.binaries import CLUSTER_API_OPENSTACK_TYPES, obtain

Tree = dict[str, Any]

_VARIABLE = re.compile(r"\$\{(\w+)\}")


def quick_start(file: str, variables: Mapping[str, str]) -> list[Tree]:
    """The objects of a template, as `clusterctl generate cluster` fills it in. Raises KeyError for a variable that is
    not given."""
    folder = obtain([CLUSTER_API_OPENSTACK_TYPES]).crds[CLUSTER_API_OPENSTACK_TYPES.name]
    text = (folder / file).read_text(encoding="utf-8")
    return list(yaml.safe_load_all(_VARIABLE.sub(lambda found: variables[found[1]], text)))


def of_credentials(clouds_yaml: str) -> dict[str, str]:
    """The variables that the provider's script makes of a clouds.yaml whose cloud names no CA."""
    return {
        "OPENSTACK_CLOUD": next(iter(yaml.safe_load(clouds_yaml)["clouds"])),
        "OPENSTACK_CLOUD_YAML_B64": base64.b64encode(clouds_yaml.encode()).decode(),
        "OPENSTACK_CLOUD_CACERT_B64": base64.b64encode(b"\n").decode(),
    }


def refused(objects: Iterable[Tree]) -> dict[str, str]:
    """What the provider's types say of objects that they cannot decode, by kind and name; empty: they decode all."""
    program = obtain([CLUSTER_API_OPENSTACK_TYPES]).program("openstack-types")
    objects = list(objects)
    given = "\n".join(map(json.dumps, objects))
    done = subprocess.run([os.fspath(program)], input=given, capture_output=True, text=True, check=True)
    lines = [line.partition("\t")[2] for line in done.stdout.splitlines()]
    assert len(lines) == len(objects), done.stderr
    names = [f"{each['kind']}/{each['metadata']['name']}" for each in objects]
    return {name: said for name, said in zip(names, lines, strict=True) if said}
