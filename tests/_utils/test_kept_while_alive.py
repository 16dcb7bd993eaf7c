"""Results that are kept as long as their object exists."""

import gc

from priorsvm._utils.cache import kept_while_alive


def test_results_are_kept_as_long_as_their_object_exists():
    class Rows:
        pass

    calls = []

    @kept_while_alive
    def number(rows):
        calls.append(1)
        return len(calls)

    first = Rows()
    second = Rows()
    assert [number(first), number(first), number(second), number(first)] == [1, 1, 2, 1]
    del first
    gc.collect()
    assert number(second) == 2
    assert number(Rows()) == 3
