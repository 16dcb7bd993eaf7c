"""Progress bars."""

import io
import sys

import pytest

from priorsvm._utils.progress import progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def shown(monkeypatch, verbose, stream, **bar):
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stderr", stream)
        assert list(progress(verbose, range(3), desc="rounds", mininterval=0, **bar)) == [0, 1, 2]
    return "rounds" in stream.getvalue()


@pytest.mark.parametrize("stream", [Terminal, io.StringIO])
def test_a_requested_bar_is_shown_at_once(monkeypatch, stream):
    assert shown(monkeypatch, 1, stream())


def test_quick_work_shows_no_bar(monkeypatch):
    assert not shown(monkeypatch, 0, Terminal())


def test_long_work_shows_a_bar_on_a_terminal_only(monkeypatch):
    assert shown(monkeypatch, 0, Terminal(), delay=1e-9)
    assert not shown(monkeypatch, 0, io.StringIO(), delay=1e-9)
