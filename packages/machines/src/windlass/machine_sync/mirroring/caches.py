"""What the caches say, as answers to the questions of decisions; a snapshot holds them (`looking`)."""

from typing import Any

from windlass.api.meta import KubernetesObject
from windlass.kube.control.question import Cached, Indexed, Question
from windlass.kube.control.seen import IndexedReader, Reader, seen
from windlass.machine_sync.constants import Namespaces
from windlass.machine_sync.mirroring.looking import home


async def cached(
    reader: Reader, namespaces: Namespaces, *objects: tuple[type[KubernetesObject], str]
) -> dict[Question[Any], Any]:
    """The objects as the caches have them, by the question that is answered so."""
    questions = [Cached(kind, name, home(kind, namespaces)) for kind, name in objects]
    return {one: await reader.see(one.kind, one.name, namespace=one.namespace) for one in questions}


def cached_by(reader: IndexedReader, kind: type[KubernetesObject], index: str, value: str) -> dict[Question[Any], Any]:
    """The cached objects for which `index` gives `value`, by the question that is answered so."""
    return {Indexed(kind, index, value): tuple(seen(one) for one in reader.known(kind, index, value))}
