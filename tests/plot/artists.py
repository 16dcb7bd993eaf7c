"""Find what a figure contains."""

import numpy as np

# The colours of the first two classes.
BLUE = "#0072b2"
VERMILION = "#d55e00"


def lines_of(ax, width):
    """Return the points of all contour lines of a width."""
    found = [
        c
        for c in ax.collections
        if type(c).__name__ == "QuadContourSet" and not c.filled and c.get_linewidth()[0] == width
    ]
    return np.vstack([path.vertices for c in found for path in c.get_paths() if len(path.vertices)])


def labelled(ax, label):
    """Return the only artist with a label."""
    [found] = [a for a in [*ax.collections, *ax.lines, *ax.patches] if a.get_label() == label]
    return found


def places(ax, label):
    """Return the points of the only artist with a label."""
    artist = labelled(ax, label)
    return np.asarray(artist.get_offsets() if hasattr(artist, "get_offsets") else artist.get_xydata())


def regions(ax):
    """Return the outlines of regions, and their hatches."""
    outlines = [patch for patch in ax.patches if patch.get_linewidth() > 0]
    hatches = [patch.get_hatch() for patch in ax.patches if patch.get_linewidth() == 0]
    return outlines, hatches


def legend(ax):
    """Return the texts of the legend."""
    return [text.get_text() for text in ax.get_legend().get_texts()]


def same_points(found, expected, tol=1e-9):
    """Assert that two sets of points are equal, in any order."""
    found = np.asarray(found)
    expected = np.asarray(expected)
    distance = np.linalg.norm(found[:, None] - expected[None], axis=2)
    assert distance.min(axis=1).max() <= tol
    assert distance.min(axis=0).max() <= tol


def turned(X, angle):
    """Return rows of the plane rotated about the origin."""
    return X @ [[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]]
