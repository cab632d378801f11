"""What can go wrong with a request to a cloud, as faults of the model."""

from typing import Any

FAULTS: dict[str, dict[str, Any]] = {
    "the answer is lost": {"after": True, "drop": True},
    "the connection is closed": {"drop": True},
    "503 after it was done": {"after": True, "status": 503},
    "503 before it was done": {"status": 503},
    "502": {"status": 502},
    "500": {"status": 500},
    "too slow, and done": {"after": True, "slow": True},
    "too slow, and not done": {"slow": True},
    "429 with Retry-After": {"status": 429, "headers": {"retry-after": "30"}},
    "413 with Retry-After": {"status": 413, "headers": {"retry-after": "5"}},
    "409": {"status": 409, "body": b'{"NeutronError": {"message": "busy"}}'},
}

OF_CREATION: dict[str, dict[str, Any]] = {
    **FAULTS,
    "429": {"status": 429},
    "a quota is used up": {"status": 403, "body": b'{"x": {"message": "Quota exceeded for resources: [\'x\']."}}'},
}
"""With those that only a request that creates something meets."""
