"""The behaviour that all commands share.

| module | what it holds |
|---|---|
| `settings`, `options` | the options that every command accepts, before or after its name |
| `verbs` | a command that has verbs of its own |
| `connection` | makes a client of the API server from the options |
| `exit_codes` | the table of exit codes |
| `complaints` | errors and warnings: one line each, with a remedy |
| `output` | `-o`: its forms, and documents for programs |
| `watch` | the pause between two looks of `--watch`, text in place |
| `table`, `ages` | rows as columns, times as ages |
| `plan_as_text`, `plan_as_json` | plans of controllers, for people and for programs |
| `terminal` | whether a person reads the output; questions and colour |
| `candidates` | shell completion of values |

Data goes to standard output, everything else to standard error. If the reader closes the pipe, nothing is reported.
"""
