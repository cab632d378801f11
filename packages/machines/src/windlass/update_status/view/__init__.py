"""The view of the web page that shows how an update goes: what it publishes (`update`), and its scripts (`static`).

| module | what it does |
|---|---|
| `parts` | makes the document from a report and records |
| `following` | follows what a controller keeps; `troubles` says why that is old or lacks something |
| `own_reading` | reads the cluster with the rights of whoever looks, where no controller keeps anything |
"""
