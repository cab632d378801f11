"""What nodes need to take only signed images from a repository. Pure.

| form | what it is |
|---|---|
| `clusterimagepolicy` | an object of OpenShift: the Machine Config Operator writes the files on nodes |
| `policy.json` | the entry of `/etc/containers/policy.json`, in a whole file that accepts everything else |
| `registries.d` | a file for `/etc/containers/registries.d`, without which no signature is looked for in the registry |
| `machineconfig` | a MachineConfig with both files |
| `keyless` | commands for signatures without a key; not tested here |
"""

import base64
import json
from typing import Any, Final

import yaml

from windlass.os_build.pullspec import Target

FORMS: Final = ("clusterimagepolicy", "policy.json", "registries.d", "machineconfig", "keyless")
_ACCEPT: Final = [{"type": "insecureAcceptAnything"}]


def policy(repository: Target, public: str) -> dict[str, Any]:
    """policy.json: images of the repository must be signed by the key with this public part, in PEM."""
    demand = {
        "type": "sigstoreSigned",
        "keyData": base64.b64encode(public.encode()).decode(),
        "signedIdentity": {"type": "matchRepository"},
    }
    return {
        "default": _ACCEPT,
        "transports": {"docker": {str(repository): [demand]}, "docker-daemon": {"": _ACCEPT}},
    }


def registries_d(repository: Target) -> dict[str, Any]:
    """The file that has signatures looked for beside the image."""
    return {"docker": {str(repository): {"use-sigstore-attachments": True}}}


def cluster_image_policy(repository: Target, public: str) -> dict[str, Any]:
    """The same as an object of OpenShift (4.20; with v1alpha1 where that is served alone)."""
    root = {"policyType": "PublicKey", "publicKey": {"keyData": base64.b64encode(public.encode()).decode()}}
    return {
        "apiVersion": "config.openshift.io/v1",
        "kind": "ClusterImagePolicy",
        "metadata": {"name": "machine-os-images"},
        "spec": {
            "scopes": [str(repository)],
            "policy": {"rootOfTrust": root, "signedIdentity": {"matchPolicy": "MatchRepository"}},
        },
    }


def machine_config(repository: Target, public: str, *, pool: str) -> dict[str, Any]:
    """Both files for the nodes of a pool. The MachineConfig replaces the policy.json of the nodes."""
    files = {
        "/etc/containers/policy.json": json.dumps(policy(repository, public), indent=2),
        "/etc/containers/registries.d/machine-os-images.yaml": yaml.safe_dump(registries_d(repository)),
    }
    return {
        "apiVersion": "machineconfiguration.openshift.io/v1",
        "kind": "MachineConfig",
        "metadata": {
            "name": f"99-{pool}-signed-machine-os-images",
            "labels": {"machineconfiguration.openshift.io/role": pool},
        },
        "spec": {
            "config": {
                "ignition": {"version": "3.4.0"},
                "storage": {
                    "files": [
                        {
                            "path": path,
                            "mode": 0o644,
                            "overwrite": True,
                            "contents": {"source": f"data:;base64,{base64.b64encode(text.encode()).decode()}"},
                        }
                        for path, text in files.items()
                    ]
                },
            }
        },
    }


def keyless(repository: Target) -> str:
    """How a person signs without a key."""
    return (
        "# Not tested by this project: it needs an identity provider, Fulcio and Rekor.\n"
        f"cosign sign --yes {repository}@sha256:DIGEST\n"
        "cosign verify --certificate-identity IDENTITY --certificate-oidc-issuer ISSUER "
        f"{repository}@sha256:DIGEST\n"
    )


def printed(form: str, repository: Target, public: str, *, pool: str) -> str:
    """The text of one of `FORMS`."""
    match form:
        case "policy.json":
            return json.dumps(policy(repository, public), indent=2) + "\n"
        case "registries.d":
            return str(yaml.safe_dump(registries_d(repository), sort_keys=False))
        case "machineconfig":
            return str(yaml.safe_dump(machine_config(repository, public, pool=pool), sort_keys=False))
        case "keyless":
            return keyless(repository)
    return str(yaml.safe_dump(cluster_image_policy(repository, public), sort_keys=False))
