"""`windlass os-build`: the builds of OS images.

| module | verb, or what it holds |
|---|---|
| `list`, `describe`, `rebuild`, `prune` | the pools of a cluster |
| `render`, `build` | images from files, without a cluster |
| `trust` | the files and objects of nodes that demand signatures |
| `given`, `from_files` | the options that name those files; reads them |
| `look`, `names` | reads a cluster as the controller does; completes names of pools |
| `show`, `page`, `rebuilding` | rows; the page of one pool; asks for builds and waits for them |
| `pruning` | removes images by the rule of the controller |
| `building` | the build on this machine |
"""

from windlass.capability.conventions.verbs import Verb, Verbs

VERBS = {
    "list": Verb("Show how the images of pools are doing."),
    "describe": Verb("Show everything about the image of one pool."),
    "rebuild": Verb("Build the images of pools again, from the same inputs."),
    "prune": Verb("Remove images from the registry that nothing uses any more."),
    "trust": Verb("Print what nodes need to take only signed images.", offline=True),
    "render": Verb("Print the Containerfile of a pool, or write all files of its build.", offline=True),
    "build": Verb("Build the image of a pool on this machine and push it, without a cluster.", offline=True),
}
"""The verbs; the module of the verb's name in this package has a click command named `command`."""

command = Verbs(
    "os-build",
    VERBS,
    package=__name__,
    help="""Show and start builds of OS images.

    `windlass run os-build` is the controller that builds them.""",
)
