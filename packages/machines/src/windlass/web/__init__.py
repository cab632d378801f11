"""The web page: what capabilities show to people in a browser, live.

A capability shows a `View`. Its source publishes a document on a `Board`: a flat map of parts, of which only those that
changed go to each open page. The frame below knows no capability; each has a package `view` of its own.

    API server ──watch──> View.source ──publish──> Board ──server-sent events──> static/NAME.js ──> the page
                                                              ^
                                      access: who may see this view, asked again while the page is open

| module | what it holds |
|---|---|
| `board` | the document of a view, and what changed since a page last heard of it |
| `view` | a view as a value |
| `overview` | the first page: what each view says of itself in a line |
| `following` | follows the objects of a view, and publishes its document |
| `running` | whether the controller of a view runs, by its Leases |
| `described` | one object in full, with the rights of whoever asks |
| `brief` | what a view says of itself on the first page |
| `access` | who may see what: a secret link on one's own machine, tokens and sessions in a cluster |
| `personal` | readings with the rights of whoever looks, where a view has no controller to rely on |
| `assets` | the files of the page, from the package |
| `streams` | documents and server-sent events |
| `app` | all of it as a web application; what each answer tells the browser to forbid |
| `service` | the process |
| `rights` | the rights of that process, as manifests |

`static` has the page: modules of JavaScript as the browser runs them, one style sheet, no build step.
"""
