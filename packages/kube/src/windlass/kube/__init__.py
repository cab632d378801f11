"""The controller runtime, from one request to a process that leads. It knows nothing about machines.

| layer | what it is | stands on |
|---|---|---|
| `process` | a process: leading, draining, probes, logs, metrics over HTTP | all below |
| `control` | observe, decide, apply: controllers, plans, the queue, workers | `cache`, `client` |
| `cache` | a local copy of the API server's objects | `client` |
| `client` | typed verbs, watches, retries | `config` |
| `config` | the address of the API server, and our credentials | |

`foreign`, `nesting`, `yaml_reader` with `yaml_composer`, and `pem` read what others wrote, within limits; `logger`,
`labels`, `shorten` (long texts) and `version` (ours) are small tools.

All layers use the modules beside them: `object` (one object of a kind), `verbs` (the requests on it), `errors` (how a
request fails), `conditions`, `clock`, `backoff`. `crd` makes CustomResourceDefinitions of types,
`folders` says where files of a user are kept.

What a controller needs is here by short names: `from windlass.kube import Controller, Plan, Watch, run`. The page
"Write a controller" (docs/controllers.md) uses them. A name imports its module when it is first used, so commands
start without the others.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from windlass.kube.backoff import Constant as Constant
    from windlass.kube.backoff import Exponential as Exponential
    from windlass.kube.client import Client as Client
    from windlass.kube.config import ClusterConfig as ClusterConfig
    from windlass.kube.control.asking import Answerer as Answerer
    from windlass.kube.control.asking import ObjectAnswerer as ObjectAnswerer
    from windlass.kube.control.controller import Controller as Controller
    from windlass.kube.control.controller import Watch as Watch
    from windlass.kube.control.executor import Executor as Executor
    from windlass.kube.control.pace import Pace as Pace
    from windlass.kube.control.permissions import Declared as Declared
    from windlass.kube.control.permissions import Permission as Permission
    from windlass.kube.control.permissions import asks as asks
    from windlass.kube.control.permissions import calls as calls
    from windlass.kube.control.permissions import emits_events as emits_events
    from windlass.kube.control.permissions import evicts_pods as evicts_pods
    from windlass.kube.control.permissions import reads as reads
    from windlass.kube.control.permissions import requests_tokens as requests_tokens
    from windlass.kube.control.permissions import rules as rules
    from windlass.kube.control.permissions import writes as writes
    from windlass.kube.control.plan import AddFinalizer as AddFinalizer
    from windlass.kube.control.plan import Call as Call
    from windlass.kube.control.plan import Create as Create
    from windlass.kube.control.plan import Delete as Delete
    from windlass.kube.control.plan import Done as Done
    from windlass.kube.control.plan import Emit as Emit
    from windlass.kube.control.plan import Evict as Evict
    from windlass.kube.control.plan import Merge as Merge
    from windlass.kube.control.plan import MergeItems as MergeItems
    from windlass.kube.control.plan import Outcome as Outcome
    from windlass.kube.control.plan import Plan as Plan
    from windlass.kube.control.plan import RemoveFinalizers as RemoveFinalizers
    from windlass.kube.control.plan import Request as Request
    from windlass.kube.control.plan import RequestToken as RequestToken
    from windlass.kube.control.plan import RequeueAfter as RequeueAfter
    from windlass.kube.control.plan import Result as Result
    from windlass.kube.control.plan import Retry as Retry
    from windlass.kube.control.plan import Target as Target
    from windlass.kube.control.plan import WaitFor as WaitFor
    from windlass.kube.control.plan import target as target
    from windlass.kube.control.plan import target_of as target_of
    from windlass.kube.control.question import KUBERNETES as KUBERNETES
    from windlass.kube.control.question import Answers as Answers
    from windlass.kube.control.question import Asking as Asking
    from windlass.kube.control.question import Confirmed as Confirmed
    from windlass.kube.control.question import Live as Live
    from windlass.kube.control.question import Question as Question
    from windlass.kube.control.rounds import reconcile as reconcile
    from windlass.kube.control.seen import Absent as Absent
    from windlass.kube.control.seen import IndexedReader as IndexedReader
    from windlass.kube.control.seen import NotServedKind as NotServedKind
    from windlass.kube.control.seen import Present as Present
    from windlass.kube.control.seen import Reader as Reader
    from windlass.kube.control.seen import Seen as Seen
    from windlass.kube.control.seen import Unreadable as Unreadable
    from windlass.kube.control.seen import seen as seen
    from windlass.kube.control.source import Every as Every
    from windlass.kube.control.source import Mailbox as Mailbox
    from windlass.kube.control.source import owned_by as owned_by
    from windlass.kube.control.source import spec_differs as spec_differs
    from windlass.kube.errors import ApiError as ApiError
    from windlass.kube.errors import ConfigError as ConfigError
    from windlass.kube.errors import Failure as Failure
    from windlass.kube.errors import KubeError as KubeError
    from windlass.kube.errors import NotFound as NotFound
    from windlass.kube.logger import Logger as Logger
    from windlass.kube.object import NamespacedName as NamespacedName
    from windlass.kube.object import Object as Object
    from windlass.kube.process.guard import guard_permissions as guard_permissions
    from windlass.kube.process.lease import LeaseTimes as LeaseTimes
    from windlass.kube.process.lease import lease_permissions as lease_permissions
    from windlass.kube.process.run import Address as Address
    from windlass.kube.process.run import Names as Names
    from windlass.kube.process.run import ProcessSettings as ProcessSettings
    from windlass.kube.process.run import run as run
    from windlass.kube.process.serving import TlsFiles as TlsFiles
    from windlass.kube.verbs import PatchType as PatchType

_HOMES: Final = {
    "backoff": (
        "Constant",
        "Exponential",
    ),
    "client": ("Client",),
    "config": ("ClusterConfig",),
    "control.asking": (
        "Answerer",
        "ObjectAnswerer",
    ),
    "control.controller": (
        "Controller",
        "Watch",
    ),
    "control.executor": ("Executor",),
    "control.pace": ("Pace",),
    "control.permissions": (
        "Declared",
        "Permission",
        "asks",
        "calls",
        "emits_events",
        "evicts_pods",
        "reads",
        "requests_tokens",
        "rules",
        "writes",
    ),
    "control.plan": (
        "AddFinalizer",
        "Call",
        "Create",
        "Delete",
        "Done",
        "Emit",
        "Evict",
        "Merge",
        "MergeItems",
        "Outcome",
        "Plan",
        "RemoveFinalizers",
        "Request",
        "RequestToken",
        "RequeueAfter",
        "Result",
        "Retry",
        "Target",
        "WaitFor",
        "target",
        "target_of",
    ),
    "control.question": (
        "KUBERNETES",
        "Answers",
        "Asking",
        "Confirmed",
        "Live",
        "Question",
    ),
    "control.rounds": ("reconcile",),
    "control.seen": (
        "Absent",
        "IndexedReader",
        "NotServedKind",
        "Present",
        "Reader",
        "Seen",
        "Unreadable",
        "seen",
    ),
    "control.source": (
        "Every",
        "Mailbox",
        "owned_by",
        "spec_differs",
    ),
    "errors": (
        "ApiError",
        "ConfigError",
        "Failure",
        "KubeError",
        "NotFound",
    ),
    "logger": ("Logger",),
    "object": (
        "NamespacedName",
        "Object",
    ),
    "process.guard": ("guard_permissions",),
    "process.lease": (
        "LeaseTimes",
        "lease_permissions",
    ),
    "process.run": (
        "Address",
        "Names",
        "ProcessSettings",
        "run",
    ),
    "process.serving": ("TlsFiles",),
    "verbs": ("PatchType",),
}
"""The module of each name; the imports above say the same to type checkers."""
_MODULES: Final = {name: module for module, names in _HOMES.items() for name in names}

if not TYPE_CHECKING:  # else every misspelt name would have the type Any

    def __getattr__(name: str) -> Any:
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
        return value

    def __dir__() -> list[str]:
        return sorted({*globals(), *_MODULES})
