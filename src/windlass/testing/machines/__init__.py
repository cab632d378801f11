"""What tests and the demo need to play machines: CRDs, simulators, and the Machine API's own controllers.

| module | what it holds |
|---|---|
| `crds` | the CRDs of Cluster API, its providers and OpenShift's machines, ready to apply |
| `simulators` | small stand-ins for absent actors: infrastructure providers, the Machine API, kubelets |
| `machine_api` | the Machine API's own controllers and webhooks, over a cloud that is played |

The rest of `windlass.testing` imports none of it, and serves controllers of anything.
"""
