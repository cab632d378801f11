"""What every command does in the same way.

| module | what it settles |
|---|---|
| `settings`, `options` | the options that every command accepts, before or after its name |
| `verbs` | a command that has verbs of its own |
| `connection` | from the options to a client of the API server |
| `exit_codes` | the table of exit codes |
| `complaints` | errors and warnings: one line each, with a remedy |
| `table`, `ages` | rows as columns, times as ages |
| `plan_as_text`, `plan_as_json` | plans of controllers, for people and for programs |
| `terminal` | whether a person reads the output; questions and colour |
| `candidates` | what the shell offers when somebody presses Tab |

Data goes to standard output, everything else to standard error. A reader that goes away is no error worth a word.
"""
