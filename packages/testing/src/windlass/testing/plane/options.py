"""The options that make one plane different from another, as keyword arguments or as a dictionary."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from windlass.testing.plane.access import Document


class PlaneOptions(TypedDict, total=False):
    """What `ControlPlane`, `BlockingControlPlane` and `PlanePool.plane` take.

    `BlockingControlPlane` says what each means.
    """

    crds: "Sequence[Path | Document]"
    controller_manager: bool
    admission_plugins: Sequence[str]
    feature_gates: Mapping[str, bool]
    users: Mapping[str, Sequence[str]]
    apiserver_flags: Sequence[str]
