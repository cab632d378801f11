"""The view of the web page that shows machines on OpenStack, and its script (`static`).

| module | what it holds |
|---|---|
| `standing` | how an object is doing, by its conditions: a table; pure |
| `rows` | what is kept of an object; pure |
| `document` | the parts of the view, and its line on the first page; pure |
| `clouds` | the view: what is followed, who may see it, one object in full |
"""
