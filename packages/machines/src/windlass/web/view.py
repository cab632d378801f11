"""Declares a view as a value: what one capability shows on the page.

The page loads the view's script `NAME.js`, which draws the parts that the source publishes. Five parts are the frame's:

| part | what |
|---|---|
| `troubles` | a list of texts that say why the document is old or lacks something |
| `stale` | a text that is there while nobody keeps the document up to date |
| `elsewhere` | a text that is there while the source has nothing to rely on |
| `runs` | whether the controller runs (`windlass.web.running.Alive`), for the first page |
| `brief` | the line of the first page, and what needs somebody (`windlass.web.brief`) |
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from windlass.kube.control.permissions import Declaration
from windlass.kube.process.guard import Attributes
from windlass.web.board import Board

if TYPE_CHECKING:
    from windlass.kube.client import Client

TROUBLES: Final = "troubles"
"""The key of the part with troubles."""
STALE: Final = "stale"
"""The key of the part that says why the document is not current."""
ELSEWHERE: Final = "elsewhere"
"""The key of the part that says why the document is not relied on: who may, is shown what `View.personal` reads."""
RUNS: Final = "runs"
"""The key of the part that says whether the controller runs."""
BRIEF: Final = "brief"
"""The key of the part for the first page."""


class Refused(Exception):
    """The request cannot be answered. `status` is that of HTTP; the text is for people."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


class Personal(Struct, frozen=True, kw_only=True):
    """What is read with the rights of whoever looks (`windlass.web.personal`).

    rule     what somebody must be allowed to do to see it: all of these
    differs  the rights by which what is read differs
    source   reads with a client of somebody who looks, and publishes, until it is cancelled; it survives all failures
             of the API server
    """

    rule: tuple[Attributes, ...]
    differs: tuple[Attributes, ...]
    source: "Callable[[Client, Board], Awaitable[None]]"


class View(Struct, frozen=True, kw_only=True):
    """See the module.

    name      in URLs, and of its script: `update-status`
    title     in the navigation
    scripts   the package whose folder `static` has them
    rule      what somebody must be allowed to do to see it: all of these
    source    publishes the document until it is cancelled; it survives all failures of the API server
    details   more about one thing, with the rights of whoever asks: from a client of theirs and the query of the URL.
              Raises Refused and KubeErrors
    needs     the rights of this process, for `source`
    clock     the time that the page goes by: that of the cluster
    personal  what is read with the rights of whoever looks, while the source has nothing to rely on
    """

    name: str
    title: str
    scripts: str = ""
    rule: tuple[Attributes, ...]
    source: "Callable[[Board], Awaitable[None]]"
    details: "Callable[[Client, Mapping[str, str]], Awaitable[Any]] | None" = None
    needs: tuple[Declaration, ...] = ()
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    personal: Personal | None = None


class Offer(Struct, frozen=True, kw_only=True):
    """The view that a capability offers to the page.

    live      the view of a cluster, from a client, the namespace that the user named (empty: none), and the values of
              the capability's options for its view
    needs     the rights of this process for it, with the usual options
    recorded  the view of files and folders (`-`: standard input), if there is one; raises ClickException if they cannot
              be read
    """

    live: "Callable[..., View]"
    needs: Callable[[], tuple[Declaration, ...]]
    recorded: Callable[[Sequence[str]], View] | None = None
