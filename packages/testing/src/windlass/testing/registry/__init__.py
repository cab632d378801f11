"""A real registry of container images on loopback, with users, TLS, faults and a log of requests.

    with Registry(auth="bearer", tls=True) as registry:
        registry.host                                           # 127.0.0.1:23456
        registry.auths("pusher")                                # for an authfile, or a Secret
        registry.fault(method="PATCH", cut=True, count=1)       # the next upload breaks off
        ...
        registry.images.file("org/os", "latest", "/etc/motd")   # out of the pushed image
        registry.requests(user="pusher")

The program is the CNCF's own, `distribution`, built on first use. It knows no users: what stands in front of it does.

| module | what it holds |
|---|---|
| `registry` | the process, its users and its certificate: the place to start |
| `front` | who may do what, faults, the log; everything else goes to the program |
| `image` | makes images to push |
| `stored` | the images that were pushed, read from its folder |
"""

from windlass.testing.registry.front import Asked, Auth, Fault, User
from windlass.testing.registry.registry import Registry

__all__ = ["Asked", "Auth", "Fault", "Registry", "User"]
