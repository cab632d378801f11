"""The backend that builds with buildah on this machine.

    StartBuild ── carrier ──> Builds ── a slot ──> process ── _keeper ──> buildah build, buildah push
                                │
                                └── DIR/builds/NAME/outcome.json: the builder object of a build that is over

| module | what it holds |
|---|---|
| `buildah` | its command lines, as values: pure |
| `requests` | what is asked of this backend |
| `_keeper` | a program that runs the commands of a build, and ends them when its owner is gone |
| `process` | runs commands under a keeper: their output, their deadlines |
| `records` | the folder of each build, and what is left there when it is over |
| `builds` | the queue, the builds, their ends; stores of images, one for each build at a time |
| `carrier` | carries requests to `builds` |
| `backend` | all of it as a `Backend` |

A build lives as long as this process. What had no end then is forgotten, and whoever asks for it begins it again.
"""
