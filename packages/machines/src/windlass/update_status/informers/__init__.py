"""Asks informers, programs of others that tell of an update: a controller with a key for each UpdateInformer.

| module | what it does |
|---|---|
| `admission` | which informers are asked, and at what address |
| `declare`, `snapshot`, `questions`, `decide` | the controller: when one is asked, and what its status says |
| `feed` | sends questions, keeps what was answered, logs what was refused |
| `fetching` | one question over HTTPS |
| `answers` | what is taken of an answer; `cleaning` makes texts safe, `churn` bounds new uids |
| `heard` | what of the answers counts, for how long |
| `settings` | what the command line says |
"""
