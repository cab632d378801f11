"""A whole controller: every ConfigMap with a label is mirrored as a Secret in another namespace.

Owner references cannot cross namespaces, so a finalizer keeps the ConfigMap until its Secret is gone.

    python mirror.py --from settings --to apps
"""

import argparse
import asyncio
from base64 import b64encode
from collections.abc import Sequence
from datetime import datetime
from functools import partial

from windlass.api.core import ConfigMap, Secret
from windlass.kube import (
    KUBERNETES,
    Absent,
    AddFinalizer,
    Address,
    Asking,
    ConfigError,
    Controller,
    Create,
    Delete,
    Emit,
    Live,
    Merge,
    Names,
    NamespacedName,
    ObjectAnswerer,
    Outcome,
    Plan,
    Present,
    ProcessSettings,
    Reader,
    RemoveFinalizers,
    RequeueAfter,
    Seen,
    Target,
    WaitFor,
    Watch,
    config,
    emits_events,
    run,
    target,
    writes,
)

NAME = "mirror"
LABEL = "mirror.example.com/secret"
"""On a ConfigMap: mirror it. On a Secret: it is a mirror, and ours."""
FINALIZER = "mirror.example.com/secret"


class Snapshot(Asking, frozen=True, kw_only=True):
    """What the caches say about one ConfigMap. The Secret is called as the ConfigMap, in the namespace `to`."""

    source: Seen[ConfigMap]
    to: str
    last: Outcome


def decide(seen: Snapshot, *, now: datetime) -> Plan:
    """First the finalizer, then the Secret; and back in the reverse order."""
    source = seen.source
    if not isinstance(source, Present):
        return Plan.nothing("there is no such ConfigMap, or it cannot be read")
    copy = seen.need(Live(Secret, source.metadata.name, seen.to))
    if not isinstance(copy, Present | Absent):
        return Plan.nothing().retry(copy.why)  # what cannot be read may be there: unknown is not absent
    held = tuple(source.metadata.finalizers)
    if source.deleting or LABEL not in source.metadata.labels:
        if isinstance(copy, Present) and LABEL in copy.metadata.labels:
            if copy.deleting:
                return Plan.nothing().then(WaitFor("the deletion of the Secret to end"))
            return Plan.of(Delete(target=target(copy), why="its ConfigMap is no longer to be mirrored"))
        return Plan.of(RemoveFinalizers(target=target(source), observed=held, finalizers=(FINALIZER,)))
    if FINALIZER not in held:
        return Plan.of(AddFinalizer(target=target(source), observed=held, finalizer=FINALIZER))
    if error := seen.last.error:
        return Plan.of(_warning(source, "MirrorRefused", str(error))).retry(error)
    if isinstance(copy, Absent):
        body = {"metadata": {"labels": {LABEL: "yes"}}, "data": _data(source.object)}
        return Plan.of(Create(target=Target(Secret, source.metadata.name, seen.to), body=body))
    if LABEL not in copy.metadata.labels:
        text = f"Secret {seen.to}/{copy.metadata.name} exists and is not a mirror: rename the ConfigMap or the Secret"
        return Plan.of(_warning(source, "NotOurs", text)).then(RequeueAfter(60, "somebody may remove that Secret"))
    return Plan.of(
        Merge(target=target(copy), observed={"data": copy.object.data}, desired={"data": _data(source.object)})
    )


def _data(source: ConfigMap) -> dict[str, str]:
    texts = {key: b64encode(text.encode()).decode() for key, text in source.data.items()}
    return {**texts, **source.binary_data}


def _warning(about: Present[ConfigMap], reason: str, note: str) -> Emit:
    return Emit(target=target(about), type="Warning", reason=reason, note=note, source=NAME)


def mirror(reader: Reader, *, source: str, to: str) -> Controller[NamespacedName, Snapshot]:
    """The controller that mirrors the ConfigMaps of namespace `source` in namespace `to`."""

    async def observe(key: NamespacedName, last: Outcome) -> Snapshot:
        namespace, name = key
        return Snapshot(source=await reader.see(ConfigMap, name, namespace=namespace), to=to, last=last)

    return Controller(
        name=NAME,
        watches=(
            Watch(ConfigMap, lambda each: [each.key], namespace=source, label_selector=LABEL),
            # The content of Secrets is not cached: the decision asks for it.
            Watch(Secret, lambda each: [(source, each.name)], namespace=to, label_selector=LABEL, metadata_only=True),
        ),
        permissions=(
            writes(ConfigMap, "patch", namespace=source),
            writes(Secret, "create", "patch", "delete", namespace=to),
            emits_events(namespace=source),
        ),
        answerers={KUBERNETES: ObjectAnswerer(reader)},
        observe=observe,
        decide=decide,
        workers=4,
    )


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Mirror labelled ConfigMaps as Secrets in another namespace.")
    parser.add_argument("--from", dest="source", required=True, metavar="NAMESPACE")
    parser.add_argument("--to", required=True, metavar="NAMESPACE")
    parser.add_argument("--kubeconfig", help="default: as kubectl finds it; in a pod, its ServiceAccount")
    parser.add_argument("--lease-namespace", default="", help="default: that of the kubeconfig; in a pod, its own")
    parser.add_argument("--host", default="127.0.0.1", help="where probes (8081) and metrics (8443) listen")
    parser.add_argument("--probes", type=int, default=8081, metavar="PORT")
    parser.add_argument("--metrics", type=int, default=8443, metavar="PORT")
    asked = parser.parse_args(argv)
    try:
        asyncio.run(
            run(
                partial(mirror, source=asked.source, to=asked.to),
                config=config.load(kubeconfig=asked.kubeconfig),
                lease=NAME,
                lease_namespace=asked.lease_namespace,
                settings=ProcessSettings(
                    probes=Address(asked.host, asked.probes),
                    metrics=Address(asked.host, asked.metrics),
                ),
                names=Names.of(NAME),
            )
        )
    except ConfigError as error:
        raise SystemExit(f"error: {error}") from error


if __name__ == "__main__":
    main()
