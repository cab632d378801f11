"""Kubernetes' rules for the keys and values of labels.

Source: `k8s.io/apimachinery/pkg/util/validation`.
"""

import re
from typing import Final

_NAME: Final = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_PREFIX: Final = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*")
_LONGEST_PREFIX: Final = 253


def is_key(key: str) -> bool:
    """Whether this is a name, or `prefix/name`."""
    prefix, slash, name = key.rpartition("/")
    if slash and not (len(prefix) <= _LONGEST_PREFIX and _PREFIX.fullmatch(prefix)):
        return False
    return _NAME.fullmatch(name) is not None


def is_value(value: str) -> bool:
    return not value or _NAME.fullmatch(value) is not None
