"""What every capability of Windlass stands on, between the controller runtime and the capabilities themselves.

| room | holds |
|---|---|
| `together` | several requests at once |
"""
