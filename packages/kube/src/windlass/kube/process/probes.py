"""HTTP probes that check what the process depends on, not only that it answers.

    from windlass.kube.process.probes import probe_routes
    from windlass.kube.process.serving import serve

    app = web.Application()
    app.add_routes(probe_routes(ready=process.report_ready, live=process.report_live))
    async with serve(app, host="0.0.0.0", port=8081):
        await process.run()

A *report* is a function that returns every check with the reason why it fails (empty: it does not). Checks may appear
and disappear with their caches. A report must not wait.

| path | answer |
|---|---|
| `/healthz`, `/livez` | 200 `ok` while the process need not be restarted, else 503 |
| `/readyz` | 200 `ok` while everything it depends on works, else 503 |
| `.../<check>` | that check alone; 404 if there is none |
| `?verbose` | every check on a line, also when all is well |
| `?exclude=<check>` | without it; may be repeated |

The lines have the format of the API server's own probes, plus the reason:

    [+]controllers ok
    [-]cache/machines.cluster.x-k8s.io failed: nothing heard for 90 s: watching
    readyz check failed
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias

from aiohttp import web

Report: TypeAlias = Callable[[], Mapping[str, str]]
"""The name of each check, and why it fails (empty: it does not)."""


def probe_routes(*, ready: Report, live: Report) -> list[web.RouteDef]:
    """The routes `/healthz`, `/livez` and `/readyz`."""
    routes = []
    for name, report in (("healthz", live), ("livez", live), ("readyz", ready)):
        handler = _handler(name, report)
        routes += [web.get(f"/{name}", handler), web.get(f"/{name}/{{check:.+}}", handler)]
    return routes


def answer(name: str, report: Mapping[str, str], *, verbose: bool = False) -> tuple[int, str]:
    """Status and text for the probe `name`."""
    failed = any(report.values())
    if not failed and not verbose:
        return 200, "ok"
    lines = [f"[-]{check} failed: {why}" if why else f"[+]{check} ok" for check, why in report.items()]
    lines.append(f"{name} check {'failed' if failed else 'passed'}")
    return (503 if failed else 200), "\n".join(lines) + "\n"


def _handler(name: str, report: Report) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    async def handle(request: web.Request) -> web.StreamResponse:
        checks = dict(report())
        only = request.match_info.get("check")
        if only is not None:
            if only not in checks:
                there = ", ".join(checks) or "none"
                return web.Response(status=404, text=f"no check {only!r}; there is: {there}\n")
            checks = {only: checks[only]}
        for excluded in request.query.getall("exclude", []):
            checks.pop(excluded, None)
        status, text = answer(name, checks, verbose="verbose" in request.query)
        return web.Response(status=status, text=text, headers={"Cache-Control": "no-store"})

    return handle
