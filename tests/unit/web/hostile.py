"""Texts that try to be more than texts, in every place of a document where a cluster can put one."""

from typing import Any

HOSTILE = (
    "<script>window.harm = 1</script>",
    "<img src=x onerror='window.harm = 2'>",
    '"><svg onload=window.harm=3>',
    "javascript:window.harm=4",
    "{{constructor.constructor('window.harm=5')()}}",
    "</title><style>*{display:none}</style>",
    "w" * 400,
)
TURNING = "\u202egnihtyreve si lla\u2066 \x1b[2J\x07"
LINKS = (
    "javascript:window.harm=6",
    "data:text/html,<script>window.harm=7</script>",
    "http://evil.example/plain",
    "https://evil.example/runbook\u202e",
    "//evil.example/relative",
    "https://",
)


def hostile_document() -> dict[str, Any]:
    """A document of the update, of such texts."""
    moment = "2026-11-22T23:34:28Z"
    document: dict[str, Any] = {
        "troubles": [TURNING, *HOSTILE],
        "update": {
            "updating": True,
            "controlPlane": {
                "assessment": HOSTILE[0],
                "completion": 50.0,
                "versions": {"target": HOSTILE[1], "previous": HOSTILE[2], "incomplete": True, "multiArch": True},
                "progressing": {"status": "True", "message": HOSTILE[3] + TURNING},
                "started": moment,
                "completed": None,
                "estimate": 10,
                "expected": 20,
            },
            "headline": {"text": HOSTILE[0], "why": HOSTILE[1], "tone": HOSTILE[2]},
            "unassignedNodes": [HOSTILE[4]],
            "alerts": HOSTILE[5],
            "gaps": [*HOSTILE],
        },
        "history": [
            {"name": HOSTILE[0], "target": HOSTILE[1], "state": HOSTILE[2], "started": HOSTILE[3]},
            {"name": "b", "target": TURNING, "state": "Completed", "started": moment},
        ],
        "record": {"name": "a", "target": "b", "state": "Progressing", "started": moment},
    }
    for number, text in enumerate((*HOSTILE, TURNING)):
        document[f"operator/{text}"] = {
            "name": text,
            "state": HOSTILE[number % len(HOSTILE)],
            "health": "Degraded",
            "since": HOSTILE[0],
            "healthReason": text,
            "healthMessage": text * 3,
        }
        document[f"took/operator/{text}"] = {"name": text, "started": moment}
        document[f"pool/{text}"] = {"name": text, "assessment": text, "place": number, "summary": {"total": 1}}
        document[f"node/{text}"] = {
            "name": text,
            "pool": text,
            "phase": text,
            "assessment": "Degraded",
            "step": text,
            "version": text,
            "whyDegraded": text,
            "degradedSince": moment,
        }
        document[f"insight/{number}"] = {
            "level": "Error",
            "impact": text,
            "summary": text,
            "reason": text,
            "description": text,
            "reference": LINKS[number % len(LINKS)],
            "started": moment,
            "pool": text,
            "informer": text,
            "claimed": True,
            "resources": [{"group": text, "resource": text, "namespace": text, "name": text}],
            "place": number,
        }
        reference = {"group": text, "resource": text, "namespace": text, "name": text + "?"}
        document[f"cause/{number}"] = {
            "level": text,
            "summary": text,
            "description": text,
            "remedy": text,
            "started": text,
            "about": [reference],
            "affected": [reference],
            "place": number,
        }
    return document
