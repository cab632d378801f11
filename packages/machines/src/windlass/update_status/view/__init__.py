"""The view of the web page that shows how an update goes: what it publishes (`update`), and its scripts (`static`).

`troubles` says why the document is old or lacks something.
"""
