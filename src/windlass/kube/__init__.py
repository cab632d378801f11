"""The controller runtime: from one request to a process that leads. It knows nothing of machines.

| room | what it is | stands on |
|---|---|---|
| `process` | a process: leading, draining, probes, logs, metrics over HTTP | all below |
| `control` | observe, decide, apply: controllers, plans, the queue, workers | `cache`, `client` |
| `cache` | objects kept as the API server has them now | `client` |
| `client` | typed verbs, watches, retries | `config` |
| `config` | where the API server is, and who we are | |

The modules beside the rooms are the words that all of them use: `object` (a kind and one object of it), `verbs` (what
can be done to it), `errors` (what may become of that), `conditions`, `clock`, `backoff`.
"""
