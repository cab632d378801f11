"""The builder backends, one module each (`windlass.os_build.builder` says what they do).

| module | a build is | where |
|---|---|---|
| `openshift` | a Build of OpenShift, without BuildConfig and ImageStream | in the cluster |
| `job` | a Job whose Pod runs buildah | in the cluster |
| `local` | a child process that runs buildah | on this machine |

`every` has all of them, in the order in which a pool that names none gets one. `owned` is what the backends in the
cluster share: an object and a ConfigMap that belong to the pool. `openshift` and
`job_state` read how a build is going; `job_build.sh` is what a Job's Pod runs.
"""
