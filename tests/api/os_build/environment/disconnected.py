"""A pool of a disconnected cluster, whose build needs each part of its environment; and the same without one part."""

import base64
import json
from typing import Any, Final

from tests.api.os_build.environment.outside import MIRROR, PACKAGES, SOURCE, TARGET, Outside
from windlass.api.machineconfiguration import Proxy
from windlass.kube.control.plan import Target as ObjectTarget
from windlass.os_build.builder import Order
from windlass.os_build.credentials import Auths, Secrets
from windlass.os_build.environment import BUNDLE, Egress, Environment, Files, Lent
from windlass.os_build.identity import build_name, inputs_of
from windlass.os_build.inputs.context import ApplyBy, Context, rendered
from windlass.os_build.pullspec import Target
from windlass.os_build.request import Request

PARTS: Final = ("mirrors", "certificates", "policy", "proxy", "authorities", "bundle", "entitlement", "repositories")
CONFIG: Final = f"rendered-worker-{'1' * 32}"
REPOSITORY: Final = f"[satellite]\nname=satellite\nbaseurl=https://{PACKAGES}/content\n"
STEPS: Final = """\
FROM configs AS final
RUN url=$(sed -n 's/^baseurl=//p' /etc/yum.repos.d/satellite.repo) && \\
    cd /etc/pki/entitlement && curl -sS --fail --cert 1.pem --key 1-key.pem -o /etc/package "$url/package"
"""
_ACCEPT: Final = [{"type": "insecureAcceptAnything"}]


def machine_config(world: Outside, *, without: str = "", mirrors_in: str = "registries.conf") -> bytes:
    """The rendered MachineConfig, with files about registries as the Machine Config Operator writes them."""
    mirror = f'[[registry]]\nprefix = ""\nlocation = "{SOURCE}"\n[[registry.mirror]]\nlocation = "{MIRROR}/os/base"\n'
    accepted = {} if without == "policy" else {SOURCE.rpartition("/")[0]: _ACCEPT}
    files = {
        f"/etc/containers/{mirrors_in}": "" if without == "mirrors" else mirror,
        "/etc/containers/policy.json": json.dumps(
            {"default": [{"type": "reject"}], "transports": {"docker": accepted}}
        ),
    }
    if without != "certificates":
        files[f"/etc/containers/certs.d/{MIRROR}/ca.crt"] = world.mirror_ca
    spec = {
        "osImageURL": world.base,
        "config": {"ignition": {"version": "3.4.0"}, "storage": {"files": [_file(*each) for each in files.items()]}},
    }
    return json.dumps({"metadata": {"name": CONFIG}, "spec": spec}).encode()


def egress(world: Outside, *, without: str = "") -> Egress:
    given: dict[str, Any] = {
        "proxy": Proxy(https_proxy=world.proxy),
        "authorities": world.registry_ca,
        "trust_bundle": world.bundle,
    }
    return Egress(
        **{name: value for name, value in given.items() if name != {"bundle": "trust_bundle"}.get(without, without)}
    )


def lent_files(world: Outside, *, without: str = "") -> dict[str, Files]:
    found = {
        "/etc/pki/entitlement": Files(world.entitlement),
        "/etc/yum.repos.d": Files({"satellite.repo": REPOSITORY.encode()}),
    }
    return {at: files for at, files in found.items() if not (without and at.endswith(_ENDS.get(without, "-")))}


_ENDS: Final = {"entitlement": "entitlement", "repositories": "repos.d"}
LENT: Final = {
    "/etc/pki/entitlement": Lent("/etc/pki/entitlement", "Secret", "etc-pki-entitlement-worker"),
    "/etc/yum.repos.d": Lent("/etc/yum.repos.d", "ConfigMap", "etc-yum-repos-d"),
}


def order(
    world: Outside, pool: ObjectTarget, *, to: str, without: str = "", mirrors_in: str = "registries.conf"
) -> Order:
    """The build of the pool, without this part of its environment."""
    request = Request(
        pool=pool.name,
        config=CONFIG,
        target=Target.parse(f"{TARGET}/{to}"),
        pull_secret="pull",
        push_secret="push",
        containerfile=STEPS,
        egress=egress(world, without=without),
    )
    context = rendered(request, machine_config(world, without=without, mirrors_in=mirrors_in), apply_by=ApplyBy.TREE)
    assert isinstance(context, Context), context
    lent = lent_files(world, without=without)
    inputs = inputs_of(request, applied_by="tree")
    return Order(
        name=build_name(pool.name, inputs),
        inputs=str(inputs),
        attempt=1,
        pool=pool,
        request=request,
        context=context,
        secrets=Secrets(auths(world, "puller"), auths(world, "pusher"), versions="1"),
        environment=Environment(
            egress=request.egress, containers=context.containers, lent=tuple(LENT[at] for at in lent)
        ),
        lent_files=lent,
    )


def auths(world: Outside, user: str) -> Auths:
    """The credentials of this user, at the mirror and at the target."""
    [entry] = world.registry.auths(user)["auths"].values()
    return Auths({}, json.dumps({"auths": {MIRROR: entry, TARGET: entry}}).encode())


def _file(path: str, text: str) -> dict[str, Any]:
    source = "data:;base64," + base64.b64encode(text.encode()).decode()
    return {"path": path, "mode": 0o644, "overwrite": True, "contents": {"source": source}}


__all__ = ["BUNDLE", "LENT", "PARTS", "REPOSITORY", "auths", "egress", "lent_files", "machine_config", "order"]
