"""Lists what the steps of a build added to its base image, as SPDX 2.3, and attaches that to the image. Off by default.

| module | what it holds |
|---|---|
| `document` | the document of an image: pure |
| `attach` | looks for it in the registry, and stores it if it is missing |
| `carrier` | system "contents" of plans, and the memory of what was attached |

The document names files by their checksums, never by their contents.
"""
