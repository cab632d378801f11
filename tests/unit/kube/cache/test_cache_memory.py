"""What objects of 3 KB cost to hold: little more than their bytes. 6,000 of them are to fit into 30 MB."""

import gc
import json
import tracemalloc
from typing import Any

from windlass.kube.cache.store import Store
from windlass.kube.object import NamespacedName, Object
from windlass.testing.scripted import Widget

COUNT = 1_000


def sent(number: int) -> bytes:
    """As the API server sends it: 3 KB of content and as much of managedFields."""
    managed: dict[str, Any] = {"f:spec": {f"f:field-{index}": {} for index in range(150)}}
    tree = {
        "apiVersion": "example.com/v1",
        "kind": "Widget",
        "metadata": {
            "name": f"worker-{number}",
            "namespace": "openshift-machine-api",
            "uid": f"5a1c60b2-0000-4000-8000-{number:012}",
            "resourceVersion": str(100_000 + number),
            "managedFields": [{"manager": "somebody", "operation": "Update", "fieldsV1": managed}],
        },
        "spec": {f"field-{index}": 1_000_000_000_000 + index for index in range(100)},
    }
    return json.dumps(tree, separators=(",", ":")).encode()


def test_a_thousand_objects_stay_below_5_megabytes() -> None:
    lines = [sent(number) for number in range(COUNT)]
    assert 5_000 < len(lines[0]) < 8_000
    store: Store[Widget] = Store()
    store.add_index("name", lambda item: [item.name])
    gc.collect()
    tracemalloc.start()
    try:
        objects: dict[NamespacedName, Object[Widget]] = {}
        for line in lines:
            parsed = Object.parse(Widget, line)
            objects[parsed.key] = parsed
        store.replace(objects, "200000")
        del objects, line, parsed
        gc.collect()
        held, _ = tracemalloc.get_traced_memory()
        for number, line in enumerate(lines):  # the same objects, listed again
            again = Object.parse(Widget, line)
            if number % 2:
                store.put(again)
        store.replace({(o := Object.parse(Widget, line)).key: o for line in lines}, "300000")
        del line, again, o
        gc.collect()
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    content = sum(len(item.raw) for item in store.items())
    assert 2_500 * COUNT < content < 3_500 * COUNT
    assert held < 5e6, f"{held / 1e6:.1f} MB, of which {content / 1e6:.1f} MB are the objects' bytes"
    assert after < held + 0.3e6, "what did not change is not held twice"
