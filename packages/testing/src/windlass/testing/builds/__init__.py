"""Actors that build images where a cluster would: they write what OpenShift or a kubelet would write.

| module | plays | for |
|---|---|---|
| `pods` | the kubelet | Pods of Jobs; their Jobs are the business of the real job controller |
| `openshift` | OpenShift's build controller | Builds |
| `playing` | | how both work by themselves |
| `buildah` | the builders of both, with the kubelet's volumes | real images |

Each can be driven step by step, or play by itself with a function that does the work: one that gives a scripted
outcome, or one that really builds. They are not the real controllers, and must never run on a cluster that people use.
"""
