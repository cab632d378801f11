"""What goes wrong between a client and a service."""

import re
from collections.abc import Mapping

from msgspec import Struct


class Fault(Struct, kw_only=True):
    """Hits requests with `method` (empty: any) whose path matches `path`: the first `skip` pass, the next `count`
    do not.

    `status`: the answer, in place of the service's. `drop`: the connection ends without an answer. `slow`: no answer in
    time. `after`: the service has carried out the request before. `service` and `project`: empty for any.
    """

    service: str = ""
    project: str = ""
    method: str = ""
    path: str = ""
    status: int = 0
    headers: Mapping[str, str] = {}
    body: bytes = b""
    drop: bool = False
    slow: bool = False
    after: bool = False
    skip: int = 0
    count: int = 1
    hits: int = 0

    def meets(self, project: str, service: str, method: str, path: str) -> bool:
        """Whether the fault hits this request. Counts the request."""
        fits = (
            (not self.service or self.service == service)
            and (not self.project or self.project == project)
            and (not self.method or self.method == method)
            and re.search(self.path, path) is not None
        )
        if not fits or self.hits >= self.skip + self.count:
            return False
        self.hits += 1
        return self.hits > self.skip
