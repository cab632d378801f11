"""The fields of specs that have another name, place or sense in the other version, as tables, and how to move them.

A tree is moved in place. Every function takes `at`, the path of the tree in its object, and adds to `errors` each field
that the other version cannot say, with its remedy.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final

from msgspec import Struct

OLD: Final = "v1beta1"
NEW: Final = "v1beta2"
ABSENT: Final[Any] = object()

Tree = dict[str, Any]


class Move(Struct, frozen=True):
    """A field of v1beta1, and its path in v1beta2. `inverted`: a boolean that means the opposite there."""

    old: str
    new: str
    inverted: bool = False


CLUSTER: Final = (
    Move("apiServerPort", "apiServer.port"),
    Move("apiServerFixedIP", "apiServer.fixedIP"),
    Move("apiServerFloatingIP", "apiServer.floatingIP"),
    Move("disableAPIServerFloatingIP", "apiServer.enableFloatingIP", inverted=True),
    Move("apiServerLoadBalancer", "apiServer.managedLoadBalancer"),
    Move("disableExternalNetwork", "enableExternalNetwork", inverted=True),
    Move("networkMTU", "managedNetwork.mtu"),
    Move("disablePortSecurity", "managedNetwork.enablePortSecurity", inverted=True),
    Move("externalRouterIPs", "managedRouter.externalIPs"),
)
SECURITY_GROUPS: Final = (Move("allNodesSecurityGroupRules", "clusterNodesSecurityGroupRules"),)
PORT: Final = (Move("disablePortSecurity", "enablePortSecurity", inverted=True),)


def cluster(spec: Tree, target: str, *, at: str, errors: list[str]) -> None:
    """The spec of an OpenStackCluster."""
    move(spec, CLUSTER, target, at=at, errors=errors)
    if isinstance(groups := spec.get("managedSecurityGroups"), dict):
        move(groups, SECURITY_GROUPS, target, at=f"{at}.managedSecurityGroups", errors=errors)
    bastion = spec.get("bastion")
    if isinstance(bastion, dict) and isinstance(bastion.get("spec"), dict):
        machine(bastion["spec"], target, at=f"{at}.bastion.spec", errors=errors)


def machine(spec: Tree, target: str, *, at: str, errors: list[str]) -> None:
    """The spec of an OpenStackMachine."""
    _flavor(spec, target, at=at, errors=errors)
    ports(spec, target, at=at, errors=errors)


def ports(spec: Tree, target: str, *, at: str, errors: list[str]) -> None:
    """The ports of `spec`, or of a resolved spec."""
    for number, port in enumerate(spec.get("ports") or []):
        if isinstance(port, dict):
            move(port, PORT, target, at=f"{at}.ports[{number}]", errors=errors)


def move(tree: Tree, moves: Sequence[Move], target: str, *, at: str, errors: list[str]) -> None:
    """Move what `moves` name to where the version `target` has it."""
    ways = [(one.old, one.new, one.inverted) if target == NEW else (one.new, one.old, one.inverted) for one in moves]
    known = {_head(source) for source, _, _ in ways}
    for foreign in sorted({_head(field) for _, field, _ in ways} - known):
        if foreign in tree:
            errors.append(f"{at}.{foreign}: {_other(target)} has no such field, only {target} has: remove it")
            del tree[foreign]
    found = [(field, _taken(tree, source), inverted, source) for source, field, inverted in ways]
    for head in sorted({_head(source) for source, _, _ in ways if "." in source}):
        _expect_empty(tree, head, target, at=at, errors=errors)
    for field, value, inverted, source in found:
        if value is ABSENT:
            continue
        if inverted and not isinstance(value, bool):
            errors.append(f"{at}.{source}: expected true or false, got {value!r}")
            continue
        _put(tree, field, not value if inverted else value)


def _flavor(spec: Tree, target: str, *, at: str, errors: list[str]) -> None:
    """A name and an ID in v1beta1, of which the ID counts; one of both in v1beta2."""
    if target == NEW:
        name, by_id = spec.pop("flavor", ABSENT), spec.pop("flavorID", ABSENT)
        if by_id is not ABSENT:
            spec["flavor"] = {"id": by_id}
        elif isinstance(name, str):
            spec["flavor"] = {"filter": {"name": name}}
        elif name is ABSENT:
            errors.append(f"{at}.flavor: {NEW} needs a flavor: set flavor or flavorID")
        else:
            errors.append(f"{at}.flavor: expected the name of a flavor, as {OLD} has it, got {name!r}")
        return
    flavor = spec.get("flavor")
    if "flavorID" in spec or not isinstance(flavor, dict):
        errors.append(f"{at}.flavor: expected an object with id or filter, as {NEW} has it, and no flavorID")
        return
    by_id, name = _taken(flavor, "id"), _taken(flavor, "filter.name")
    _expect_empty(flavor, "filter", target, at=f"{at}.flavor", errors=errors)
    _expect_empty(spec, "flavor", target, at=at, errors=errors)
    if (by_id is ABSENT) == (name is ABSENT):
        errors.append(f"{at}.flavor: expected either id or filter.name")
    elif by_id is not ABSENT:
        spec["flavorID"] = by_id
    else:
        spec["flavor"] = name


def _expect_empty(tree: Tree, head: str, target: str, *, at: str, errors: list[str]) -> None:
    """Remove an object whose fields were all taken; what is left of it has no place in `target`."""
    rest = tree.pop(head, None)
    if isinstance(rest, dict):
        errors += [f"{at}.{head}.{field}: {target} has no such field: remove it" for field in rest]
    elif rest is not None:
        errors.append(f"{at}.{head}: expected an object, got {rest!r}")


def _taken(tree: Tree, path: str) -> Any:
    """Remove the field `path` from the tree; ABSENT if it is not there."""
    head, _, rest = path.partition(".")
    if not rest:
        return tree.pop(head, ABSENT)
    inner = tree.get(head)
    return _taken(inner, rest) if isinstance(inner, dict) else ABSENT


def _put(tree: Tree, path: str, value: Any) -> None:
    *heads, last = path.split(".")
    for head in heads:
        tree = tree.setdefault(head, {})
    tree[last] = value


def _head(path: str) -> str:
    return path.partition(".")[0]


def _other(version: str) -> str:
    return OLD if version == NEW else NEW


def lost(before: Any, after: Any, at: str) -> Iterable[str]:
    """The paths of what `before` has and `after` has not, or has otherwise."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key, value in before.items():
            yield from lost(value, after.get(key, ABSENT), f"{at}.{key}")
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for number, (one, other) in enumerate(zip(before, after, strict=True)):
            yield from lost(one, other, f"{at}[{number}]")
    elif type(before) is not type(after) or before != after:
        yield at
