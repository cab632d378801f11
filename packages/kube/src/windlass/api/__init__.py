"""Kubernetes types: one module per API group and version, data only.

Every type is a `msgspec.Struct` that declares the fields Windlass reads or writes. Field order and omission rules are
those of the Go type, so that both encode to the same JSON:

* a field with an ordinary default (`""`, `0`, `None`, an empty list or dict) is left out when it has that value
  (Go: `omitempty`); a pointer is `T | None`, so a pointer to `""` or `0` is kept;
* a field declared with `always(...)` is emitted whatever its value (Go: no `omitempty`, or a struct-typed field).

Decoding ignores fields that a type does not declare. Objects are therefore never written back from these types:
writes are patches against what the API server sent (see `windlass.kube.control.plan`).
"""

import sys

_init: str | None = getattr(sys.modules["windlass"], "__file__", None)
if _init is not None:  # ours has none, as distributions share it: another distribution has written into the same folder
    # An ImportError would end in a traceback through that other program, and neither of the two can run here.
    sys.exit(
        f"error: {_init} is of a distribution named windlass, which shares the files of this program: an AI framework "
        "from PyPI, or this program from before it was called windlass-machines. Run `pip uninstall windlass`, and "
        "install Windlass again from its checkout, or give each an environment"
    )
