"""Commands for machines that exist in two APIs.

| module | command |
|---|---|
| `machines` | `windlass machines`: both sides of every machine and MachineSet |
| `migrate` | `windlass migrate`: move authority from one API to the other |
| `release` | `windlass release`: remove what Machine sync has put on objects, before an uninstall |

They share `selection` and `names` (the objects that a command line names), `sides` (the two APIs and their namespaces)
and `actors` (whether Machine sync or OpenShift's operator works on this cluster).
"""
