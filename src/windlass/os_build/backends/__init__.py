"""The builder backends, one module each (`windlass.os_build.builder` says what they do).

| module | a build is | where |
|---|---|---|
| `openshift` | a Build of OpenShift, without BuildConfig and ImageStream | in the cluster |
| `job` | a Job whose Pod runs buildah | in the cluster |
| `local` | a child process that runs buildah | on this machine |
"""
