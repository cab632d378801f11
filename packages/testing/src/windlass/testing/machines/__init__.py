"""What tests and the demo need to play machines: simulators, and the real controllers of both APIs.

| module | what it holds |
|---|---|
| `cluster_api` | Cluster API's core manager |
| `simulators` | small stand-ins for absent actors: infrastructure providers, the Machine API, kubelets |
| `machine_api` | the Machine API's own controllers and webhooks, over a cloud that is played |

The rest of `windlass.testing` imports none of it, and serves controllers of anything.
"""
