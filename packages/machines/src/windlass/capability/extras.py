"""What only some commands need is an extra of the distribution: a command says which one is absent."""

from importlib.util import find_spec
from typing import Final

_MODULES: Final = {"windlass.testing": "demo", "openstack": "openstack", "keystoneauth1": "openstack"}
"""What the extras bring, and the name of the extra."""
_PACKAGES: Final = {"demo": ("kube", "testing"), "openstack": ("kube",)}
"""The folders below packages/ that an extra needs beside machines."""


def require(module: str) -> None:
    """Raises ModuleNotFoundError if `module` is absent: before work begins that would import it later."""
    if find_spec(module) is None:
        raise ModuleNotFoundError(f"No module named {module!r}", name=module)


def remedy(error: ModuleNotFoundError) -> str | None:
    """The text for users if an extra brings the module that is absent."""
    extra = next((extra for module, extra in _MODULES.items() if f"{error.name}.".startswith(f"{module}.")), None)
    if extra is None:
        return None
    # Without --no-sources, uv would link the other packages to the checkout instead of copying them.
    others = " ".join(f"--with ./packages/{folder}" for folder in _PACKAGES[extra])
    command = f"uv tool install --reinstall --no-sources {others} './packages/machines[{extra}]'"
    return (
        f"{error.name} is not installed: it comes with the extra {extra!r} of windlass-machines. "
        f"In a checkout of Windlass, run `{command}`"
    )
