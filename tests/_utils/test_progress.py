"""Progress bars."""

import io
import sys

import pytest

from priorsvm._utils import progress as module
from priorsvm._utils.progress import progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def shown(monkeypatch, verbose, stream):
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stderr", stream)
        assert list(progress(verbose, range(3), desc="rounds", mininterval=0)) == [0, 1, 2]
    return "rounds" in stream.getvalue()


@pytest.mark.parametrize("stream", [Terminal, io.StringIO])
def test_a_requested_bar_is_shown_at_once(monkeypatch, stream):
    assert shown(monkeypatch, 1, stream())


def test_quick_work_shows_no_bar(monkeypatch):
    assert not shown(monkeypatch, 0, Terminal())


def test_long_work_shows_a_bar_on_a_terminal_only(monkeypatch):
    monkeypatch.setattr(module, "DELAY", 1e-9)
    assert shown(monkeypatch, 0, Terminal())
    assert not shown(monkeypatch, 0, io.StringIO())
