"""Pictures of the documentation are what their scripts draw, from what is there."""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

import priorsvm

DRAWINGS = Path(__file__).parents[1] / "docs" / "drawings"


def script(name):
    spec = spec_from_file_location(name, DRAWINGS / f"{name}.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_picture_of_blocks_is_the_one_that_is_drawn():
    hierarchy = script("hierarchy")
    assert hierarchy.PATH.read_text(encoding="utf-8") == hierarchy.drawing()


def test_every_block_is_in_the_picture_of_blocks():
    kinds = script("hierarchy").TREE.values()
    drawn = {leaf for known in kinds for cells in known.values() for cell in cells for leaf in cell}
    exported = {name: getattr(priorsvm, name) for name in priorsvm.__all__}
    blocks = {
        name
        for name, value in exported.items()
        if isinstance(value, type) and issubclass(value, priorsvm.Knowledge)
    }
    missing = blocks - {"Knowledge"} - drawn
    assert not missing, f"Add {', '.join(sorted(missing))} to docs/drawings/hierarchy.py, and run it."
    assert drawn <= set(exported)


@pytest.mark.parametrize("name", ["promoters", "haar", "tangents"])
def test_reproductions_are_drawn_from_their_tables(name):
    figure = getattr(script("reproductions"), name)()
    assert all(len(axes.lines) for axes in figure.axes)
    plt.close(figure)


def test_the_conflict_is_drawn_from_its_page_and_its_way_out_holds(capsys):
    figure = script("conflicts").conflicts()
    assert "These conflict: 'doctor'" in capsys.readouterr().out
    [(x0, x1)] = [line.get_xydata()[0] for line in figure.axes[0].lines]
    assert f"Both apply to the point (glucose {x0:g}, bmi {x1:g})." in script("conflicts").PAGE
    plt.close(figure)


def test_growth_is_drawn_for_every_route_that_was_measured():
    drawing = script("scaling")
    figure = drawing.scaling()
    linear, kernel = figure.axes
    assert len(linear.lines) + len(kernel.lines) == len(drawing.routes(""))
    plt.close(figure)
