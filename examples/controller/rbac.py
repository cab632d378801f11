"""Prints the ServiceAccount and the rights of the mirror, which follow from what its controller declares.

python rbac.py > deploy/rbac.yaml
"""

from typing import Any

import yaml
from mirror import NAME, mirror

from windlass.kube import guard_permissions, lease_permissions, rules
from windlass.model import MemoryApi
from windlass.model.reader import MemoryReader


def documents(*, source: str, to: str, home: str) -> list[dict[str, Any]]:
    """For a mirror that runs in the namespace `home`. The cluster-wide part lets it check who reads its metrics."""
    controller = mirror(MemoryReader(MemoryApi()), source=source, to=to)
    needed = (*controller.declared, *lease_permissions(NAME, namespace=home), *guard_permissions())
    made: list[dict[str, Any]] = [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": NAME, "namespace": home}}
    ]
    for namespace, allowed in rules(needed).items():
        kind, place = ("Role", {"namespace": namespace}) if namespace else ("ClusterRole", {})
        metadata = {"name": NAME, **place}
        rbac = {"apiVersion": "rbac.authorization.k8s.io/v1", "metadata": metadata}
        made += [
            {**rbac, "kind": kind, "rules": allowed},
            {
                **rbac,
                "kind": f"{kind}Binding",
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": NAME},
                "subjects": [{"kind": "ServiceAccount", "name": NAME, "namespace": home}],
            },
        ]
    return made


def main() -> None:
    print(yaml.safe_dump_all(documents(source="settings", to="apps", home="mirror"), sort_keys=False), end="")


if __name__ == "__main__":
    main()
