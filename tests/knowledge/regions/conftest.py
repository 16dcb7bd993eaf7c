"""Data and regions shared by the tests of region blocks."""

import numpy as np
import pytest

from priorsvm import Box, Ellipsoid, Polyhedron

LOW = np.array([-1.0, -0.2])
HIGH = np.array([-0.3, 0.6])
CENTRE = np.array([-0.6, 0.1])
MATRIX = np.array([[0.4, 0.2], [-0.1, 0.3]])
TRIANGLE = np.array([[-1.0, -0.5], [0.2, -0.2], [-0.6, 0.7]])


@pytest.fixture(scope="session")
def plane():
    """Return 20 rows in the plane, and their classes."""
    rng = np.random.default_rng(2)
    X = rng.uniform(-2, 2, size=(20, 2))
    y = (X[:, 0] + np.sin(2 * X[:, 1]) > 0).astype(int)
    return X, y


@pytest.fixture(scope="session")
def few():
    """Return 24 rows in the plane, and their classes."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(24, 2))
    return X, (X[:, 0] + 0.5 * X[:, 1] ** 2 + 0.4 * rng.normal(size=24) > 0.4).astype(int)


class Shape:
    """A region of the plane as a block, and a grid of its points computed without the library."""

    def __init__(self, name):
        self.name = name

    @property
    def block_name(self):
        return {"box": "box", "triangle": "polyhedron", "ellipsoid": "ellipsoid"}[self.name]

    def block(self, label, **parameters):
        if self.name == "box":
            return Box({j: (LOW[j], HIGH[j]) for j in (0, 1)}, label, **parameters, holds="everywhere")
        if self.name == "triangle":
            return Polyhedron(*inequalities(TRIANGLE), label, **parameters, holds="everywhere")
        return Ellipsoid(CENTRE, MATRIX, label, **parameters, holds="everywhere")

    def points(self, n=161):
        if self.name == "box":
            return lattice(LOW, HIGH, n)
        u, v = lattice([0, 0], [1, 1], n).T
        if self.name == "triangle":
            corner, first, second = TRIANGLE
            keep = u + v <= 1 + 1e-12
            return corner + np.outer(u[keep], first - corner) + np.outer(v[keep], second - corner)
        angle = 2 * np.pi * v
        return CENTRE + np.column_stack([u * np.cos(angle), u * np.sin(angle)]) @ MATRIX.T


def inequalities(corners):
    """Return B and d of ``Bx <= d`` for a triangle."""
    middle = corners.mean(axis=0)
    rows = []
    for p, q in zip(corners, np.roll(corners, -1, axis=0), strict=True):
        normal = np.array([q[1] - p[1], p[0] - q[0]])
        rows.append(normal if normal @ (middle - p) < 0 else -normal)
    return np.array(rows), np.sum(np.array(rows) * corners, axis=1)


def lattice(low, high, n=101):
    axes = [np.linspace(a, b, n) for a, b in zip(low, high, strict=True)]
    return np.array(np.meshgrid(*axes)).reshape(len(low), -1).T


@pytest.fixture(params=["box", "triangle", "ellipsoid"])
def shape(request):
    """Return each shape in turn."""
    return Shape(request.param)


@pytest.fixture
def square():
    """Return the box."""
    return Shape("box")


@pytest.fixture
def triangle():
    """Return the triangle."""
    return Shape("triangle")
