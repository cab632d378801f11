"""Signs images with a key, as nodes with a policy of type sigstoreSigned demand it. Off by default.

| module | what it holds |
|---|---|
| `key` | reads a private key from a Secret; signs, verifies |
| `payload` | what is signed, and the manifest that holds the signature: pure |
| `attach` | looks for the signature in the registry, and makes and stores it if it is missing |
| `carrier` | system "signatures" of plans, and the memory of what was signed |
| `trust` | what nodes need to demand signatures: policy.json, registries.d, ClusterImagePolicy; pure |

A signature is an image of its own beside the signed one, with the tag `sha256-<digest>.sig`: the form of cosign and of
containers/image. It needs the extra `signing` of this distribution.
"""
