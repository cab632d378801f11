"""What may be asked of informers, programs of others that tell of an update, and what is taken of their answers.

| module | what it does |
|---|---|
| `admission` | which informers are asked, and at what address |
| `fetching` | one question over HTTPS |
| `answers` | what is taken of an answer; `cleaning` makes texts safe, `churn` bounds new uids |
"""
