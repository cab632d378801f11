"""The trivial controller on kopf, in the two ways that kopf offers; run by `kopf run`, in kopf's own environment.

WINDLASS_BENCH_KOPF=create: a handler of creation, which is what kopf's documentation begins with. kopf keeps its own
state in an annotation, a second write to every object.

WINDLASS_BENCH_KOPF=event: a handler of every watch event, which keeps no state: nothing is retried or resumed.
"""

# mypy: ignore-errors
# kopf is no dependency: this file runs in an environment of its own.

import os
from datetime import UTC, datetime
from typing import Any

import kopf

GROUP, VERSION, PLURAL = "bench.windlass.dev", "v1", "widgets"


@kopf.on.login()
def login(**kwargs: Any) -> Any:
    return kopf.login_with_kubeconfig(**kwargs)


@kopf.on.startup()
def configure(settings: Any, **_: Any) -> None:
    settings.posting.enabled = False  # no Events, which the others do not send either
    settings.scanning.disabled = True


def status(generation: int) -> dict[str, Any]:
    ready = {
        "type": "Ready",
        "status": "True",
        "reason": "Assembled",
        "message": "all parts are in place",
        "observedGeneration": generation,
        "lastTransitionTime": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
    }
    return {"phase": "Ready", "observedGeneration": generation, "conditions": [ready]}


if os.environ["WINDLASS_BENCH_KOPF"] == "create":

    @kopf.on.create(GROUP, VERSION, PLURAL)
    def created(meta: Any, patch: Any, **_: Any) -> None:
        patch.status.update(status(meta["generation"]))

else:

    @kopf.on.event(GROUP, VERSION, PLURAL)
    def seen(event: Any, body: Any, patch: Any, **_: Any) -> None:
        generation = body["metadata"]["generation"]
        if event["type"] != "DELETED" and body.get("status", {}).get("observedGeneration") != generation:
            patch.status.update(status(generation))
