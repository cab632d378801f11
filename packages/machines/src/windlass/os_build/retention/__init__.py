"""Removes images from the registry that this cluster built and nothing uses any more. Off by default.

    record (pool, MachineOSBuild) ──┐
    objects of the cluster ── use ──┼── rule ──> a Verdict for each image ──> removed from the registry, then forgotten
    repository ── contents ─────────┘

| module | what it holds |
|---|---|
| `record` | the images that this cluster built, as its own objects say |
| `use` | which objects of the cluster name an image: pure |
| `contents` | what the registry holds: reads and removes |
| `rule` | which images go: a table; pure |
| `decide`, `controller` | the controller of that, after each build and every few hours |

A record alone removes nothing: an image goes only if its own labels say that this cluster built it for this pool. So a
record that was restored from another cluster, or that somebody wrote, does no harm.
"""
