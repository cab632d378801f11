"""The view of the web page that shows the images of pools, and its script (`static`).

| module | what it holds |
|---|---|
| `document` | the parts of the view, and its line on the first page; pure |
| `pools` | the view: what is followed, who may see it, one pool in full |
"""
