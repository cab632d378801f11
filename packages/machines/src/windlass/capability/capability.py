"""Declares a capability as a value: all that the frame (program, run, plan, manifests, web, demo) knows about it.

A capability has its `CAPABILITY` in its module `capability`, and `windlass.cli.capabilities` has an entry for it. That
module must not import anything slow: it is loaded to print help. What is slow is imported by the functions, or named
as a module.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import click

from windlass.capability.conventions.settings import Settings

if TYPE_CHECKING:
    from windlass.capability.installation import Installation
    from windlass.capability.planning import Name
    from windlass.model.schema import Rules

Decorate = Callable[[Any], Any]
"""Adds options to a command's function."""


def _none(function: Any) -> Any:
    return function


def _plain_names(words: Sequence[str]) -> "list[Name]":
    from windlass.capability.planning import Name

    return [Name(word) for word in words]


def _nothing(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    return []


def _agrees(settings: Settings, **own: Any) -> None:
    return None


@dataclass(frozen=True, kw_only=True)
class Capability:
    """See the module.

    install          the capability as it is installed, given `home` and the values of its own options
    options          those options, of every command
    manifest_options more of them, of `windlass manifests` alone
    plan_options     more of them, of `windlass plan NAME` alone
    view_options     those of its view, of `windlass web`
    run, plan        what the command does, for its help
    home             the default namespace of its ServiceAccount and Lease
    elected, workers help of `--leader-elect` and `--workers`
    rules            those of its kinds, for a model on which plans are carried out
    names            reads NAMEs; raises UsageError
    completes        offers NAMEs
    check            raises UsageError if the common options and its own do not go together
    deployed         files of `deploy` that `windlass manifests` makes, with its arguments
    demo             the package that has its `DEMO`, a `windlass.demo.performance.Demo`; empty: it has none
    view             the module that has its `VIEW`, a `windlass.web.view.Offer`; empty: it has none
    shows_files      its view can show files, too
    """

    install: "Callable[..., Installation]"
    run: str
    plan: str
    home: str = "windlass-system"
    options: Decorate = _none
    manifest_options: Decorate = _none
    plan_options: Decorate = _none
    view_options: Decorate = _none
    elected: str = "Work only while holding the Lease, so that several replicas may run."
    workers: str = "Keys that a controller reconciles at the same time."
    rules: "Callable[[], Iterable[Rules]]" = tuple
    names: "Callable[[Sequence[str]], list[Name]]" = _plain_names
    completes: Callable[[click.Context, click.Parameter, str], list[str]] = _nothing
    check: Callable[..., None] = _agrees
    deployed: Mapping[str, Sequence[str]] = field(default_factory=dict)
    demo: str = ""
    view: str = ""
    shows_files: bool = False

    def own(self, values: dict[str, Any], *, manifests: bool = False) -> dict[str, Any]:
        """Those of a command's `values` that belong to its own options."""
        more = self.manifest_options if manifests else self.plan_options
        return {**given(self.options, values), **given(more, values)}


def given(decorate: Decorate, values: dict[str, Any]) -> dict[str, Any]:
    """Those of a command's `values` that belong to the options that a decorator adds."""
    names = {parameter.name for parameter in parameters(decorate)}
    return {name: value for name, value in values.items() if name in names}


def parameters(decorate: Decorate) -> list[click.Parameter]:
    """The options that a decorator adds."""

    def nothing() -> None: ...

    decorated = decorate(nothing)
    found: list[click.Parameter] = getattr(decorated, "__click_params__", [])
    return found[::-1]
