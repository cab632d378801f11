"""The controller runtime, from one request to a process that leads. It knows nothing about machines.

| layer | what it is | stands on |
|---|---|---|
| `process` | a process: leading, draining, probes, logs, metrics over HTTP | all below |
| `control` | observe, decide, apply: controllers, plans, the queue, workers | `cache`, `client` |
| `cache` | a local copy of the API server's objects | `client` |
| `client` | typed verbs, watches, retries | `config` |
| `config` | the address of the API server, and our credentials | |

`nesting`, `yaml_reader` with `yaml_composer`, and `pem` read what others wrote, within limits; `logger`, `labels`,
`shorten` (long texts) and `version` (ours) are small tools.

All layers use the modules beside them: `object` (one object of a kind), `verbs` (the requests on it), `errors` (how a
request fails), `conditions`, `clock`, `backoff`. `crd` makes CustomResourceDefinitions of types,
`folders` says where files of a user are kept.
"""
