"""Progress bars."""

import io
import subprocess
import sys
from importlib.util import find_spec

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


# A notebook, as old and new versions of tqdm recognise it.
IN_A_NOTEBOOK = """
import sys, types
sys.modules["ipykernel.zmqshell"] = types.ModuleType("zmqshell")
shell = types.SimpleNamespace(config={"IPKernelApp": {}})
sys.modules.setdefault("IPython", types.ModuleType("IPython")).get_ipython = lambda: shell
"""
REPORT = """
import tqdm.notebook
from priorsvm._utils.progress import _tqdm
print(issubclass(_tqdm(), tqdm.notebook.tqdm_notebook))
"""


def in_a_fresh_python(code):
    """Return what the code prints; warnings are printed too."""
    command = [sys.executable, "-W", "always::UserWarning", "-W", "always::Warning:tqdm", "-c", code]
    run = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    return run.stdout.strip() + run.stderr


def test_a_terminal_has_plain_bars():
    assert in_a_fresh_python(REPORT) == "False"


def test_a_notebook_without_widgets_has_plain_bars_and_no_warning():
    assert in_a_fresh_python(IN_A_NOTEBOOK + 'sys.modules["ipywidgets"] = None' + REPORT) == "False"


@pytest.mark.skipif(find_spec("ipywidgets") is None, reason="ipywidgets is not installed")
def test_a_notebook_has_bars_as_widgets():
    assert in_a_fresh_python("import IPython, ipywidgets" + IN_A_NOTEBOOK + REPORT) == "True"
