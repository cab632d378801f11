"""What holds for the tests of Machine sync."""

import pytest

# They assert on behalf of tests, and a failure in them is to show its values as one in a test does.
pytest.register_assert_rewrite(
    "tests.unit.machine_sync.moves",
    "tests.unit.machine_sync.properties",
    "tests.unit.machine_sync.machine.migration_cases",
)
