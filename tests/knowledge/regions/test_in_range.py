"""Points of a region in the range of the data, or of its end near the data."""

import numpy as np
import pytest

from priorsvm import Polyhedron, PriorSVC, Region, Rule
from priorsvm.errors import FarFromData
from priorsvm.knowledge.regions.in_range import candidates, near_end
from priorsvm.knowledge.regions.on_rows import Pool, points_on_rows
from priorsvm.knowledge.regions.sets import LevelSet, PolyhedronSet
from priorsvm.validation import make_task

pd = pytest.importorskip("pandas")


SYMPTOMS = [f"s{k}" for k in range(10)]


def numbers(n=60, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n, 3)), columns=list("abc"))
    return X, (X.a + X.b + rng.normal(size=n) > 0).astype(int).to_numpy()


def patients(n=60, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "age": rng.integers(20, 80, n).astype(float),
            "smoker": rng.random(n) < 0.5,
            "bmi": rng.normal(27, 4, n),
            "sex": rng.choice(["f", "m"], n),
        }
    )
    for name in SYMPTOMS:
        X[name] = rng.choice([0.0, 1.0], n)
    return X, np.resize([0, 1], n)


def points_of(block, X, y):
    """The points of a block, one table for each alternative."""
    sample = make_task(PriorSVC(), X, y, None, {}).samples[0]
    pool = Pool.of(sample, None)
    requirements = block.row_requirements(sample)
    names = sample.encoding.encoded_names if sample.encoding is not None else X.columns
    return [
        pd.DataFrame(points_on_rows(r.region, pool, len(requirements)), columns=names) for r in requirements
    ]


# The near end


def test_the_near_end_of_a_half_space():
    """Twice the deviation takes four times the share of the way."""
    region = PolyhedronSet(np.array([[-1.0, -1.0, 0.0]]), np.array([-20.0]))
    low, high = np.full(3, -1.0), np.full(3, 1.0)
    distance, part = near_end(region, low, high, np.array([2.0, 1.0, 1.0]))
    np.testing.assert_allclose(part.box, [[15.4, 4.6, -1.0], [15.4, 4.6, 1.0]], atol=1e-3)
    assert distance == pytest.approx(np.hypot(14.4 / 2, 3.6), rel=1e-5)


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_units_do_not_change_the_near_end(unit):
    region = PolyhedronSet(np.array([[1.0, 2.0], [0.0, -1.0]]), unit * np.array([-30.0, 4.0]))
    distance, part = near_end(region, unit * np.array([0.0, -3.0]), unit * np.ones(2), unit * np.ones(2))
    assert distance == pytest.approx(np.hypot(22.0, 1.0), rel=1e-5)
    np.testing.assert_allclose(part.box, unit * np.array([[-22.0, -4.0], [-22.0, -4.0]]), atol=1e-3 * unit)


@pytest.mark.parametrize(
    "block",
    [
        Rule("a + b > 20", 1, mu=1),
        Rule("a = b + 20", 1, mu=1),
        Rule("a + b >= 20 and c > 1", 1, mu=1),
        Polyhedron([[-1, -1, 0]], [-20], 1, mu=1),
    ],
    ids=str,
)
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_a_region_beyond_the_data_is_applied_at_its_near_end(block, kernel):
    X, y = numbers()
    with pytest.warns(FarFromData):
        model = PriorSVC(block, kernel=kernel).fit(X, y)
    assert np.isfinite(model.decision_function(X)).all()
    (points,) = points_of(block, X, y)
    assert len(points) >= 50
    gap = points.a - points.b if "=" in str(block) and "b + 20" in str(block) else points.a + points.b
    np.testing.assert_allclose(gap, 20, atol=1e-3)
    if "c > 1" in str(block):
        assert points.c.between(1, X.c.max() + 1e-9).all()
    assert points.a.between(10, 15).all()


def test_a_level_set_beyond_the_data_keeps_its_bounds():
    region = LevelSet(lambda X: 5 - X[:, :1], np.array([4.0, -1.0]), np.array([8.0, 1.0]))
    points = candidates(region, np.zeros(2), np.ones(2), np.ones(2), {})
    assert len(points) == 0  # the near end of the bounds is 4
    region = LevelSet(lambda X: 3 - X[:, :1], np.array([4.0, -1.0]), np.array([8.0, 1.0]))
    points = candidates(region, np.zeros(2), np.ones(2), np.ones(2), {})
    assert (points[:, 0] == 4.0).all()


# Columns of two values


def test_points_of_a_level_set_take_one_of_two_values():
    """x0 x1 >= 0.5 with x1 in {0, 1}: x1 is 1, and the points stay inside."""
    low, high = np.zeros(2), np.ones(2)
    region = LevelSet(lambda X: 0.5 - X[:, :1] * X[:, 1:], low, high)
    points = candidates(region, low, high, np.ones(2), {1: np.array([0.0, 1.0])})
    assert len(points) > 10
    assert (points[:, 1] == 1.0).all()
    assert (points[:, 0] >= 0.5).all()


def test_a_level_set_without_such_values_keeps_its_points():
    """x1 = 0.5 has no point with x1 in {0, 1}."""
    low, high = np.zeros(2), np.ones(2)
    region = LevelSet(lambda X: np.abs(X[:, 1:] - 0.5) - 0.1, low, high)
    points = candidates(region, low, high, np.ones(2), {1: np.array([0.0, 1.0])})
    assert len(points) > 10
    assert (np.abs(points[:, 1] - 0.5) <= 0.1 + 1e-9).all()


def test_many_columns_of_two_values_are_sampled():
    """At least 8 of 10 columns are 1: 56 of 1024 combinations."""
    region = PolyhedronSet(-np.ones((1, 10)), np.array([-8.0]))
    values = {j: np.array([0.0, 1.0]) for j in range(10)}
    points = candidates(region, np.zeros(10), np.ones(10), np.ones(10), values)
    assert len(np.unique(points, axis=0)) >= 8
    assert np.isin(points, [0.0, 1.0]).all()
    assert (points.sum(axis=1) >= 8).all()


def test_no_combination_of_values_in_a_polyhedron():
    """0.4 <= x0 <= 0.6 has no point with x0 in {0, 1}: the polyhedron counts."""
    region = PolyhedronSet(np.array([[1.0, 0.0], [-1.0, 0.0]]), np.array([0.6, -0.4]))
    points = candidates(region, np.zeros(2), np.ones(2), np.ones(2), {0: np.array([0.0, 1.0])})
    assert len(points) > 0
    assert ((points[:, 0] >= 0.4 - 1e-9) & (points[:, 0] <= 0.6 + 1e-9)).all()


def test_the_combination_nearest_to_the_data_is_used():
    """x0 + 2 x1 = 10 beyond the data: x1 = 1 needs less of x0 than x1 = 0."""
    region = PolyhedronSet(np.array([[1.0, 2.0], [-1.0, -2.0]]), np.array([10.0, -10.0]))
    points = candidates(region, np.zeros(2), np.ones(2), np.ones(2), {1: np.array([0.0, 1.0])})
    np.testing.assert_allclose(points, np.tile([8.0, 1.0], (len(points), 1)), atol=1e-4)


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("smoker != true and age < 50", lambda X: (X.smoker == 0) & (X.age <= 50)),
        ("smoker < 1", lambda X: X.smoker == 0),
        ("smoker > 0 and bmi > 30", lambda X: (X.smoker == 1) & (X.bmi >= 30)),
        ("smoker ** 2 < 1", lambda X: X.smoker == 0),
        ("age + 20 * smoker > 80", lambda X: X.age + 20 * X.smoker >= 80 - 1e-6),
        ("age + 20 * smoker = 80", lambda X: np.isclose(X.age + 20 * X.smoker, 80)),
        ("age + 20 * smoker > 300", lambda X: np.isclose(X.age + 20 * X.smoker, 300, atol=1e-2)),
        ("age * smoker > 70", lambda X: X.age * X.smoker >= 70),
        ("age * smoker > 60 and sex == 'm'", lambda X: (X.age * X.smoker >= 60) & (X["sex=m"] == 1)),
        ("age + 20 * smoker > 80 and sex == 'm'", lambda X: X.age + 20 * X.smoker >= 80 - 1e-6),
        pytest.param(
            " + ".join(f"s{k}" for k in range(10)) + " >= 8",
            lambda X: X.filter(regex="^s[0-9]").sum(axis=1) >= 8,
            marks=pytest.mark.slow,
        ),
        ("s0 + s1 + s2 >= 2", lambda X: X.s0 + X.s1 + X.s2 >= 2),
        ("s0 + s1 + s2 + age / 100 >= 3", lambda X: X.s0 + X.s1 + X.s2 + X.age / 100 >= 3 - 1e-6),
    ],
)
def test_a_column_of_two_values_takes_one_of_them(text, holds):
    X, y = patients()
    (points,) = points_of(Rule(text, 1, mu=1), X, y)
    assert len(points) >= 50
    named = [c for c in points.columns if c in text]
    for column in {"smoker", *named} - {"age", "bmi"}:
        assert points[column].isin([0.0, 1.0]).all(), column
    assert holds(points).all()


def test_a_function_keeps_columns_of_two_values():
    X, y = patients()
    block = Region(lambda X: 60 - X[:, 0] - 10 * X[:, 1], None, 1, mu=1, within="data")
    (points,) = points_of(block, X, y)
    assert points.smoker.isin([0.0, 1.0]).all()
    assert (points.age + 10 * points.smoker >= 60 - 1e-6).all()


def test_two_rows_do_not_make_columns_of_two_values():
    X = pd.DataFrame({"a": [0.0, 1.0], "b": [0.0, 1.0]})
    (points,) = points_of(Rule("a >= 0.5", 1, mu=1), X, [0, 1])
    assert len(np.unique(points.a)) > 10


# Alternatives


def test_up_to_six_alternatives_have_all_points():
    X, y = patients()
    for count in (1, 2, 6):
        text = f"age in ({', '.join(str(30 + k) for k in range(count))})"
        assert [len(points) for points in points_of(Rule(text, 1, mu=1), X, y)] == [50] * count


@pytest.mark.parametrize("count", [7, 40, 160, 900])
def test_many_alternatives_share_the_points_of_six(count):
    X, y = patients()
    text = f"age in ({', '.join(str(20 + k) for k in range(count))})"
    found = points_of(Rule(text, 1, mu=1), X, y)
    assert len(found) == count
    assert min(map(len, found)) >= 2
    assert sum(map(len, found)) <= max(300, 2 * count)
    for k, points in enumerate(found):
        assert (points.age == 20 + k).all()
