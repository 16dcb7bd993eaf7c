"""Colours, texts and public names of all plot functions."""

import subprocess
import sys

import matplotlib.pyplot as plt
import pytest

import priorsvm
from priorsvm import PriorSVC, plot
from priorsvm.plot.style import COLOURS, MARKERS, cycled

pytestmark = pytest.mark.filterwarnings("error")


def test_many_classes_have_different_pairs_of_colour_and_marker():
    looks = {(cycled(COLOURS, k), cycled(MARKERS, k)) for k in range(50)}
    assert len(looks) == 50


@pytest.mark.parametrize("label", ["earns > $10 or < $5", r"$\foo$", "", "_hidden"])
def test_names_of_classes_are_shown_literally(label):
    model = PriorSVC().fit([[0.0, 1.0], [1.0, 0.0], [2.0, 1.0]], ["b", "b", label])
    ax = plot.decision(model)
    # Drawing an invalid formula raises an error.
    ax.figure.canvas.draw()
    texts = ax.get_legend().get_texts()
    assert any(text.get_text().strip("\u200b'") == label for text in texts)
    assert not any(text.get_parse_math() for text in texts)


def test_an_error_leaves_no_figure_behind():
    model = PriorSVC().fit([[0.0, 1.0], [1.0, 0.0], [2.0, 1.0]], [0, 0, 1])
    before = plt.get_fignums()
    with pytest.raises(ValueError, match="nowhere"):
        plot.decision(model, legend="nowhere")
    assert plt.get_fignums() == before


@pytest.mark.slow
def test_importing_plot_does_not_import_matplotlib():

    code = "import sys, priorsvm; priorsvm.plot.decision; print('matplotlib' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "False"


def test_all_functions_are_public():
    assert priorsvm.plot is plot
    assert "plot" in dir(priorsvm)
    for name in plot.__all__:
        assert getattr(plot, name).__name__ == name
        assert ">>>" in getattr(plot, name).__doc__
