"""Hard knowledge that contradicts itself: found exactly where it does, and named no wider than it is."""

import itertools
import re
import warnings
from dataclasses import replace

import cvxpy as cp
import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linprog
from scipy.spatial import ConvexHull

from priorsvm import (
    RBF,
    Box,
    Ellipsoid,
    InvarianceHint,
    InvariantLoss,
    Knowledge,
    Monotone,
    NegativeDistance,
    OddnessHint,
    OnRowSlack,
    Polyhedron,
    Polynomial,
    PriorSVC,
    Region,
    Rule,
    Shift,
    Terms,
    UncertainSamples,
)
from priorsvm.errors import CollapsedModel, Infeasible, MissingCapability
from priorsvm.validation import make_task

NAMES = ("age", "dose", "mass")


def corners_of(low, high):
    return np.array(list(itertools.product(*zip(low, high, strict=True))))


def can_all_hold(sets):
    """Whether some (w, b) has s (w'x + b) >= 1 at all corners x of every (corners, s): a linear programme."""
    rows = np.vstack([-s * np.column_stack([corners, np.ones(len(corners))]) for corners, s in sets])
    answer = linprog(np.zeros(rows.shape[1]), A_ub=rows, b_ub=-np.ones(len(rows)), bounds=(None, None))
    assert answer.status in (0, 2)
    return answer.status == 0


def named_in(message):
    """The blocks a message blames, in their quotes."""
    blamed = message.partition("These conflict: ")[2].partition(" (removing")[0]
    return re.findall(r"(?:^|\) and )'([a-z][a-z0-9_]*)'", blamed)


class Uncomputed(RBF):
    """Fails if a kernel matrix is computed, which every solve requires."""

    def _matrix(self, A, B):
        pytest.fail("a kernel matrix was computed")


def block_of(corners, sign, kind, rng):
    """A block that speaks of the hull of some corners, and the corners it really speaks of."""
    low, high = corners.min(axis=0), corners.max(axis=0)
    d = len(low)
    if kind == "polyhedron" and len(corners) > d > 1:
        hull = ConvexHull(corners)
        return Polyhedron(hull.equations[:, :-1], -hull.equations[:, -1], int(sign > 0), hard=True), corners
    if kind == "rule":
        text = " and ".join(
            f"{n} between {a!r} and {b!r}"
            for n, a, b in zip(NAMES, low.tolist(), high.tolist(), strict=False)
        )
        return Rule(text, int(sign > 0), hard=True), corners_of(low, high)
    return Box({j: (low[j], high[j]) for j in range(d)}, int(sign > 0), hard=True), corners_of(low, high)


def consistent(rng, d):
    """Sets on the right sides of a known plane, with room."""
    w, b = rng.normal(size=d), rng.normal()
    w *= 2 / np.linalg.norm(w)
    sets = []
    for _ in range(rng.integers(2, 6)):
        kind = rng.choice(["box", "polyhedron", "rule"])
        sign = rng.choice([-1, 1])
        corners = rng.normal(size=d) + 0.3 * rng.normal(size=(d + 2, d))
        if kind != "polyhedron":
            corners = corners_of(corners.min(axis=0), corners.max(axis=0))
        lack = 1.2 - (sign * (corners @ w + b)).min()
        if lack > 0:
            corners = corners + sign * lack * w / (w @ w)
        sets.append((corners, sign, kind))
    return sets


def contradictory(rng, d):
    """Opposite sets whose hulls meet, and some others that do no harm on their own."""
    how = rng.choice(["overlap", "radon"])
    middle = rng.normal(size=d)
    if how == "overlap":
        cloud = middle + 0.4 * rng.normal(size=(2, d + 3, d))
        cloud -= cloud.mean(axis=1, keepdims=True) - middle  # both hulls hold the middle
        kinds = rng.choice(["box", "polyhedron", "rule"], size=2)
        sets = [(cloud[0], 1, kinds[0]), (cloud[1], -1, kinds[1])]
    else:  # d + 2 points always fall into two groups whose hulls meet
        points = rng.normal(size=(d + 2, d))
        dependence = np.linalg.svd(np.column_stack([points, np.ones(d + 2)]).T)[2][-1]
        sets = [(p[None], 1 if c > 0 else -1, "box") for p, c in zip(points, dependence, strict=True)]
    extra = [
        (rng.normal(size=(1, d)) + 0.05 * rng.normal(size=(d + 2, d)), rng.choice([-1, 1]), "polyhedron")
    ]
    sets += extra * int(rng.integers(2))
    order = rng.permutation(len(sets))
    return [sets[i] for i in order]


def fitted(sets, rng, **parameters):
    d = sets[0][0].shape[1]
    prior, spoken = None, {}
    for k, (corners, sign, kind) in enumerate(sets):
        block, really = block_of(np.asarray(corners), sign, kind, rng)
        name = f"rule_{chr(97 + k)}"
        spoken[name] = (really, sign)
        prior = block.named(name) if prior is None else prior + block.named(name)
    X = pd.DataFrame(rng.normal(size=(12, d)), columns=NAMES[:d])
    y = np.arange(12) % 2
    try:
        return PriorSVC(prior, **parameters).fit(X, y), spoken
    except Infeasible as error:
        return error, spoken


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::priorsvm.errors.CollapsedModel")  # rules of one class leave a constant
@pytest.mark.parametrize("norm", ["l2", "l1"])
@pytest.mark.parametrize("seed", range(5))
def test_consistent_rules_fit(seed, norm):
    rng = np.random.default_rng([seed, 1])
    for _ in range(10):
        model, spoken = fitted(consistent(rng, int(rng.integers(1, 4))), rng, norm=norm)
        assert can_all_hold(list(spoken.values()))
        assert isinstance(model, PriorSVC), model
        for corners, sign in spoken.values():
            assert (sign * (corners @ model.coef_[0] + model.intercept_[0])).min() > 1 - 1e-5


@pytest.mark.slow
@pytest.mark.parametrize("norm", ["l2", "l1"])
@pytest.mark.parametrize("seed", range(5))
def test_contradictions_are_named_and_minimal(seed, norm):
    rng = np.random.default_rng([seed, 2])
    for _ in range(10):
        error, spoken = fitted(contradictory(rng, int(rng.integers(1, 4))), rng, norm=norm)
        assert not can_all_hold(list(spoken.values()))
        assert isinstance(error, Infeasible)
        named = named_in(str(error))
        assert named, str(error)
        assert len(set(named)) == len(named)
        assert set(named) <= set(spoken)
        assert not can_all_hold([spoken[name] for name in named])
        for name in named:
            rest = [spoken[other] for other in named if other != name]
            assert not rest or can_all_hold(rest), (name, named)
        assert "hard=False" in str(error)


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(4)
    X = pd.DataFrame(rng.normal(size=(20, 2)), columns=["age", "dose"])
    return X, np.where(X["age"] + 0.3 * rng.normal(size=20) > 0, "ill", "well")


@pytest.mark.filterwarnings("ignore::priorsvm.errors.CollapsedModel")
def test_softening_any_named_block_restores_the_fit(frame):
    X, y = frame
    prior = (
        Rule("age >= 0.5 and dose >= 0", "ill", hard=True).named("old")
        + Rule("age <= -1", "well", hard=True).named("young")
        + Rule("dose between 0 and 1 and age >= 0", "well", hard=True).named("mild")
    )
    with pytest.raises(Infeasible) as caught:
        PriorSVC(prior).fit(X, y)
    message = str(caught.value)
    assert set(named_in(message)) == {"old", "mild"}
    assert "'age >= 0.5 and dose >= 0' is 'ill'" in message
    assert "removing any one restores feasibility" in message
    for name in ("old", "mild"):
        PriorSVC(
            prior.__sklearn_clone__().set_params(**{f"{name}__hard": False, f"{name}__holds": "everywhere"})
        ).fit(X, y)
    with pytest.raises(Infeasible):
        PriorSVC(prior.__sklearn_clone__().set_params(young__hard=False, young__holds="everywhere")).fit(X, y)


def test_one_block_can_contradict_itself(frame):
    X, y = frame
    block = Box([{"age": (0, 1)}, {"age": (0.5, 2)}], label=["ill", "well"], hard=True)
    for kernel in ("linear", RBF(0.5)):
        with pytest.raises(Infeasible, match=r"'box'.*removing it restores"):
            PriorSVC(block, kernel=kernel).fit(X, y)


def test_a_rule_against_the_sign_of_a_weight(frame):
    X, y = frame
    prior = Monotone({"age": -1}, hard=True, label="ill").named("falls") + Box(
        [{"age": (1, 2), "dose": (0, 0)}, {"age": (-2, -1), "dose": (0, 0)}], ["ill", "well"], hard=True
    )
    with pytest.raises(Infeasible) as caught:
        PriorSVC(prior).fit(X, y)
    assert set(named_in(str(caught.value))) == {"falls", "box"}
    assert "use a kernel" not in str(caught.value)


# ---------------------------------------------------------------------- kernel models


BLOCKS = {
    "box": lambda x, label: Box({"age": (x - 1, x + 1), "dose": (-1, 1)}, label, hard=True),
    "disc": lambda x, label: Ellipsoid([x, 0.0], 1.0, label, hard=True),
    "diamond": lambda x, label: Polyhedron(
        [[1, 1], [1, -1], [-1, 1], [-1, -1]], [1 + x, 1 + x, 1 - x, 1 - x], label, hard=True
    ),
    "rule": lambda x, label: Rule(
        f"age between {x - 1} and {x + 1} and dose between -1 and 1", label, hard=True
    ),
    "region": lambda x, label: Region(
        lambda X: (X[:, 0] - x) ** 2 + X[:, 1] ** 2 - 1,
        None,
        label,
        hard=True,
        within={0: (x - 1, x + 1), 1: (-1, 1)},
    ),
}


def test_a_solve_computes_a_kernel_matrix(frame):
    with pytest.raises(pytest.fail.Exception, match="a kernel matrix was computed"):
        PriorSVC(BLOCKS["box"](0.0, "ill"), kernel=Uncomputed(0.5)).fit(*frame)


@pytest.mark.parametrize("one", BLOCKS)
@pytest.mark.parametrize("other", BLOCKS)
def test_opposite_regions_that_meet_are_refused_before_solving(frame, one, other):
    X, y = frame
    prior = BLOCKS[one](0.0, "ill").named("first") + BLOCKS[other](1.8, "well").named("second")
    with pytest.raises(Infeasible) as caught:
        PriorSVC(prior, kernel=Uncomputed(0.5)).fit(X, y)
    message = str(caught.value)
    assert named_in(message) == ["first", "second"]
    if one == "rule":
        assert "'age between -1.0 and 1.0 and dose between -1 and 1' is 'ill'" in message
    point = np.array([float(v.split()[-1]) for v in re.search(r"the point \((.*)\)", message)[1].split(", ")])
    assert -1.001 <= point[0] - 1.8 <= 1.001
    assert -1.001 <= point[0] <= 1.001


@pytest.mark.slow
@pytest.mark.parametrize("pair", [("box", "disc"), ("diamond", "rule"), ("disc", "region")])
def test_opposite_regions_that_do_not_meet_fit(frame, pair):
    X, y = frame
    prior = BLOCKS[pair[0]](0.0, "well").named("first") + BLOCKS[pair[1]](2.6, "ill").named("second")
    model = PriorSVC(prior, kernel=RBF(0.5)).fit(X, y)
    values = model.decision_function(pd.DataFrame([[0.0, 0.0], [2.6, 0.0]], columns=["age", "dose"]))
    assert values[0] > 1 - 1e-3  # "well" is classes_[1]
    assert values[1] < -1 + 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("how", ["soft", "weight", "same class"])
def test_only_hard_opposite_regions_of_some_weight_are_opposed(frame, how):
    X, y = frame
    first, second = BLOCKS["box"](0.0, "ill"), BLOCKS["box"](0.5, "ill" if how == "same class" else "well")
    if how == "soft":
        second.set_params(hard=False, holds="everywhere")
    prior = first.named("first") + (0 if how == "weight" else 1) * second.named("second")
    assert isinstance(PriorSVC(prior, kernel=RBF(0.5)).fit(X, y), PriorSVC)


@pytest.mark.slow
def test_a_region_that_asks_little_is_no_contradiction(frame):
    """f >= 1 on the box and -f >= -2 on the disc agree."""
    X, y = frame
    lax = Region(
        lambda X: (X**2).sum(axis=1) - 1, None, "ill", h=-2.0, hard=True, within={0: (-1, 1), 1: (-1, 1)}
    )
    model = PriorSVC(Box({0: (-0.2, 0.2), 1: (-0.2, 0.2)}, "well", hard=True) + lax, kernel=RBF(0.5)).fit(
        X, y
    )
    value = model.decision_function(pd.DataFrame([[0.0, 0.0]], columns=["age", "dose"]))[0]
    assert 1 - 1e-3 < value < 2 + 1e-3


def test_a_cover_that_is_too_coarse_is_no_conflict(frame):
    """Regions 0.1 apart: a contradiction of cells, not of the knowledge."""
    from priorsvm.errors import CoverTooCoarse

    X, y = frame
    prior = Box({0: (-1, 0), 1: (-1, 1)}, "well", hard=True, method="guaranteed", max_cells=2).named(
        "left"
    ) + Box({0: (0.1, 1), 1: (-1, 1)}, "ill", hard=True, method="guaranteed", max_cells=2).named("right")
    with pytest.raises(CoverTooCoarse, match=r"'(left|right)'.*max_cells"):
        PriorSVC(prior, kernel=RBF(2.0)).fit(X, y)


# ---------------------------------------------------------------------- contradictions for every f


@pytest.fixture(scope="module")
def wine():
    from sklearn.datasets import load_wine

    table = load_wine(as_frame=True)
    return table.data, np.array(["barolo", "grignolino", "barbera"])[table.target]


STRONG = Rule("alcohol >= 14", "grignolino", hard=True).named("strong")
LIGHT = Rule("alcohol <= 12", "barolo", hard=True).named("light")
RISES = Monotone({"alcohol": +1}, label="barolo", hard=True).named("rises")


@pytest.mark.parametrize("norm", ["l2", "l1"])
def test_a_score_that_must_not_fall_and_has_to_is_refused_before_any_model_is_fitted(wine, norm):
    with pytest.raises(Infeasible) as caught:
        PriorSVC(STRONG + LIGHT + RISES, kernel=Uncomputed(0.1), scale="standard", norm=norm).fit(*wine)
    message = str(caught.value)
    assert named_in(message) == ["strong", "light", "rises"]
    assert "No score of 'barolo' against the other classes" in message
    assert (
        "With f the score of 'barolo', 'light' requires f >= 1 at (alcohol 12), and 'strong' requires f <= "
        "-1 at (alcohol 14), with all other columns equal. 'rises' forbids f to decrease from the first "
        "point to the second." in message
    )


def test_a_linear_model_says_where_too_and_that_its_list_is_short(wine):
    X, y = wine
    two = y != "barbera"
    with pytest.raises(Infeasible, match=r"removing any one restores.*\(alcohol 12\)") as caught:
        PriorSVC(STRONG + LIGHT + RISES, scale="standard").fit(X[two], y[two])
    assert named_in(str(caught.value)) == ["strong", "light", "rises"]
    assert PriorSVC().fit(X[two], y[two]).classes_[1] == "grignolino"  # and yet the user spoke of the other
    assert (
        "With f the score of 'barolo', 'light' requires f >= 1 at (alcohol 12), and 'strong' requires f <= "
        "-1 at (alcohol 14), with all other columns equal. 'rises' forbids f to decrease from the first "
        "point to the second." in str(caught.value)
    )


@pytest.mark.parametrize("shape", ["disc", "diamond", "region", "box"])
def test_the_way_along_which_f_must_not_fall_joins_regions_of_every_kind(frame, shape):
    X, y = frame
    prior = BLOCKS[shape](-1.5, "ill") + BLOCKS[shape](1.5, "well").named("other")
    wide = {"age": (-3, 3), "dose": (-3, 3)}
    rises = Monotone({"age": +1}, label="ill", hard=True, within=wide)
    idle = Monotone({"dose": +1}, label="ill", hard=True, within=wide).named("idle")
    with pytest.raises(Infeasible) as caught:
        PriorSVC(prior + idle + rises, kernel=Uncomputed(0.5)).fit(X, y)
    assert "'monotone' forbids f to decrease" in str(caught.value)
    assert "'idle'" not in str(caught.value)


@pytest.mark.parametrize(
    "monotone",
    [
        Monotone({"age": -1}, label="ill", hard=True),  # the other way
        Monotone({"age": +1}, label="ill", holds="everywhere"),  # soft
        Monotone({"dose": +1}, label="ill", hard=True),  # another column
        Monotone({"age": +1}, label="ill", hard=True, within={"age": (-3, 0)}),  # ends before the other
        Monotone({"age": +1}, label="ill", hard=True, method="points"),  # at some points only
    ],
    ids=str,
)
def test_what_f_can_do_is_not_refused(frame, monotone):
    from priorsvm.solve.loop import refuse_conflicts

    X, y = frame
    prior = BLOCKS["box"](-1.5, "ill") + BLOCKS["box"](1.5, "well").named("other") + monotone
    task = make_task(PriorSVC(prior, kernel=RBF(0.5)), X, y, None, {})
    refuse_conflicts(task.spec, list(task.prior), task.samples[0])


@pytest.mark.parametrize("norm", ["l2", "l1"])
def test_regions_and_hints_that_speak_of_the_same_points(frame, norm):
    X, y = frame
    left, right = BLOCKS["box"](-1.0, "ill").named("left"), BLOCKS["box"](1.5, "well").named("right")
    hint, odd = InvarianceHint(Shift([2.5, 0.0]), hard=True), OddnessHint(hard=True)
    with pytest.raises(Infeasible) as caught:
        PriorSVC(left + right + hint, kernel=Uncomputed(0.5), norm=norm).fit(X, y)
    assert named_in(str(caught.value)) == ["left", "right", "invariance_hint"]
    assert "(removing" not in str(caught.value)  # whether the set is minimal was not tested
    both = BLOCKS["box"](1.0, "well").named("mirror") + odd + BLOCKS["box"](-1.0, "well").named("image")
    with pytest.raises(Infeasible, match=r"'mirror'.*'oddness_hint'.*'image'"):
        PriorSVC(both, kernel=Uncomputed(0.5), norm=norm).fit(X, y)


def test_a_hint_that_joins_no_points_of_the_regions_is_no_conflict(frame):
    from priorsvm.solve.loop import refuse_conflicts

    X, y = frame
    prior = BLOCKS["box"](-1.0, "ill") + BLOCKS["box"](1.5, "well").named("right")
    prior = prior + InvarianceHint(Shift([0.0, 2.5]), hard=True)
    task = make_task(PriorSVC(prior, kernel=RBF(0.5)), X, y, None, {})
    refuse_conflicts(task.spec, list(task.prior), task.samples[0])


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_regions_that_only_touch_are_said_to(frame, kernel):
    X, y = frame
    note = r"They meet at their borders only, which belong to both \(< and > mean <= and >=\): leave a gap"
    for above, below in (("age > 0.1", "age < 0.1"), ("age + dose > 0.1", "age + dose < 0.1")):
        with pytest.raises(Infeasible, match=note):
            PriorSVC(Rule(above, "ill", hard=True) + Rule(below, "well", hard=True), kernel=kernel).fit(X, y)
    with pytest.raises(Infeasible) as caught:
        PriorSVC(
            Rule("age > 0.1", "ill", hard=True) + Rule("age < 0.2", "well", hard=True), kernel=kernel
        ).fit(X, y)
    assert "borders" not in str(caught.value)


# ---------------------------------------------------------------------- what no norm in reach can do


class At(Knowledge):
    """The signs of f at points."""

    def __init__(self, points, signs, hard=True):
        self.points, self.signs, self.hard = points, signs, hard

    def build(self, f, view):
        return Terms(constraints={"at": cp.multiply(self.signs, f(self.points)) >= 1})


@pytest.mark.parametrize("norm", ["l2", "l1"])
def test_what_only_an_absurd_norm_could_do_is_named_and_not_called_impossible(frame, norm):
    X, y = frame
    places = np.column_stack([np.linspace(0.0, 0.02, 12), np.zeros(12)])
    up, down = At(places[::2], np.ones(6)).named("up"), At(places[1::2], -np.ones(6)).named("down")
    free = Rule("age >= 1", "ill", hard=True).named("free")
    with pytest.raises(Infeasible) as caught:
        PriorSVC(up + free + down, kernel="rbf", norm=norm).fit(X, y)
    message = str(caught.value)
    assert re.search(r"with a norm below \S+, .* together: 'up' and 'down'\. Every such f misses", message)
    assert "No decision function satisfies every" not in message


@pytest.mark.parametrize(
    ("norm", "step"), [("l2", 1e-6), ("l2", 1e-5), ("l2", 2e-5), ("l1", 1e-6), ("l1", 3e-6)]
)
def test_least_violation_within_a_norm_is_what_numpy_finds(frame, norm, step):
    """Of +1 at a and -1 at b, the best f of norm R misses 1 - R |k_a - k_b| / 2.

    With the 1-norm, this difference is the largest one of all rows, which are the centres.
    """
    from priorsvm.problem import conflicts
    from priorsvm.problem.assemble import Compiled
    from priorsvm.solve.feasibility import least

    X, y = frame
    points = np.array([[0.0, 0.0], [step, 0.0]])
    prior = At(points[:1], np.ones(1)).named("one") + At(points[1:], -np.ones(1)).named("two")
    task = make_task(PriorSVC(prior, kernel=RBF(0.5), norm=norm), X, y, None, {})
    compiled = Compiled(task.spec, list(task.prior), {}, task.samples[0])
    kernel = RBF(0.5)
    apart = np.sqrt(2 - 2 * kernel(points[:1], points[1:])[0, 0])
    if norm == "l1":
        apart = np.abs(np.diff(kernel(X.to_numpy(), points), axis=1)).max()
    limit = conflicts._largest_norm(compiled)
    expected = 1 - limit * apart / 2
    assert 0.1 < expected < 0.99
    bounds = []

    def remembered(problem, reach):
        bounds.append(least(problem, reach))
        return bounds[-1]

    message = str(conflicts.beyond_reach(compiled, remembered))
    assert bounds[0] == pytest.approx(expected, abs=2e-3)
    assert bounds[0] <= expected + 1e-4
    assert float(re.search(r"by (\S+) or more", message)[1]) == np.floor(100 * bounds[0]) / 100


@pytest.mark.slow
@pytest.mark.parametrize("start", range(0, 60, 20))
def test_a_composition_that_fits_is_never_called_a_conflict(start):
    """Every check is made of random models that were fitted: none of them may object to what was done."""
    from benchmarks.compositions import composition
    from priorsvm.errors import PriorSVMError
    from priorsvm.problem import conflicts
    from priorsvm.solve.feasibility import is_infeasible, least
    from priorsvm.solve.loop import refuse_conflicts

    checked = 0
    for seed in range(start, start + 20):
        model, X, y = composition(seed)
        model.set_params(max_rounds=5)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                model.fit(X, y)
            except PriorSVMError:
                continue
        for binary in model._models:
            hard = [m for m in binary.members if getattr(m.block, "hard", False) and m.weight > 0]
            if hard:
                refuse_conflicts(binary.spec, binary.members, binary.training)
                assert conflicts.conflict_error(binary.problem, is_infeasible, least) is None, seed
                checked += 1
    assert checked >= 1


def test_rules_without_a_common_point_that_no_line_keeps_say_why():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (20, 2))
    y = np.where(X[:, 0] * X[:, 1] > 0, 1, -1)
    low, high = (-0.8, -0.5), (0.5, 0.8)
    same, other = (
        Box([{0: a, 1: b} for a, b in places], label=label, hard=True).named(name)
        for name, label, places in (
            ("same", 1, [(low, low), (high, high)]),
            ("other", -1, [(low, high), (high, low)]),
        )
    )
    with pytest.raises(Infeasible, match=r"'same'.*'other'.* no common point, .* use a kernel\.$"):
        PriorSVC(same + other).fit(X, y)
    PriorSVC(same + other, kernel="rbf").fit(X, y)


def test_where_a_point_is_common_no_kernel_is_recommended():
    X, y = [[0.0, 0.0], [1.0, 1.0]], [0, 1]
    ill, well = (
        Box({0: (0.2, 0.8)}, label=k, hard=True).named(name) for k, name in enumerate(("well", "ill"))
    )
    with pytest.raises(Infeasible) as caught:
        PriorSVC(ill + well).fit(X, y)
    assert "Both apply to the point" in str(caught.value)
    assert "use a kernel" not in str(caught.value)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_a_common_point_is_found_before_any_of_many_models_is_fitted(kernel):
    X = pd.DataFrame({"age": np.arange(12.0), "dose": np.tile([0.0, 1.0, 2.0], 4)})
    old = Rule("age >= 5", label="c", hard=True).named("old")
    young = Rule("age <= 6", label="b", hard=True).named("young")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", CollapsedModel)
        with pytest.raises(Infeasible, match=r"'old'.*'young'.*Both apply to the point"):
            PriorSVC(old + young, kernel=kernel, scale="standard").fit(X, np.repeat(["a", "b", "c"], 4))
    assert not [w for w in caught if w.category is CollapsedModel]


# ---------------------------------------------------------------------- parts of the checks and messages


def checked(prior, X, y, **parameters):
    """Run the checks before a solve, which raise Infeasible."""
    from priorsvm.solve.loop import refuse_conflicts

    task = make_task(PriorSVC(prior, **parameters), X, y, None, {})
    refuse_conflicts(task.spec, list(task.prior), task.samples[0])


@pytest.mark.parametrize(("h", "conflicts"), [(-2.0, False), (-1.0, False), (-0.9, True)])
def test_opposite_regions_conflict_if_their_thresholds_do(frame, h, conflicts):
    """f >= 1 and -f >= h agree at f = 1 for h of at most -1."""
    X, y = frame
    lax = BLOCKS["region"](0.0, "ill").set_params(h=h)
    if conflicts:
        with pytest.raises(Infeasible, match="Both apply to the point"):
            checked(BLOCKS["box"](0.0, "well") + lax, X, y, kernel=RBF(0.5))
    else:
        checked(BLOCKS["box"](0.0, "well") + lax, X, y, kernel=RBF(0.5))


@pytest.mark.parametrize("columns", [8, 9])
def test_a_point_of_many_columns_is_cut_after_eight(columns):
    X = np.random.default_rng(0).normal(size=(10, columns))
    box = dict.fromkeys(range(columns), (0.0, 1.0))
    prior = Box(box, 1, hard=True).named("one") + Box(box, 0, hard=True).named("two")
    with pytest.raises(Infeasible) as caught:
        checked(prior, X, np.arange(10) % 2)
    values = re.search(r"the point \((.*?)\)", str(caught.value))[1].split(", ")
    assert len(values) == columns
    assert np.isfinite([float(value) for value in values[:8]]).all()
    assert (values[-1] == "...") == (columns == 9)
    assert str(caught.value).count("Soften one with hard=False, or make it narrower.") == 1


def test_only_the_slopes_that_a_path_needs_are_named(frame):
    """f may not fall with age nor with dose: the way from low to high needs both, and no third one."""
    X, y = frame
    wide = {"age": (-3, 3), "dose": (-3, 3)}
    low = Box({"age": (-2, -1), "dose": (-2, -1)}, "ill", hard=True).named("low")
    high = Box({"age": (1, 2), "dose": (1, 2)}, "well", hard=True).named("high")
    slopes = [
        Monotone({column: sign}, label=label, hard=True, within=wide).named(name)
        for name, column, sign, label in (
            ("idle", "dose", -1, "ill"),
            ("age", "age", +1, "ill"),
            ("dose", "dose", -1, "well"),
        )
    ]
    for order in itertools.permutations(slopes):
        with pytest.raises(Infeasible) as caught:
            checked(low + high + order[0] + order[1] + order[2], X, y, kernel=RBF(0.5))
        message = str(caught.value)
        assert set(named_in(message)) == {"low", "high", "age", "dose"}
        assert "(removing" not in message
        start, end = re.search(r"at (\(.*?\)), and .* at (\(.*?\)), with", message).groups()
        assert start.count("age") == start.count("dose") == end.count("age") == 1


@pytest.mark.parametrize(
    ("made", "value", "expected"),
    [
        (lambda x: x == 1, 3.0, 2.0),
        (lambda x: x == 1, 0.0, 1.0),
        (lambda x: x <= 1, 3.0, 2.0),
        (lambda x: x >= 1, -2.0, 3.0),
        (lambda x: cp.NonNeg(x - 1), -2.0, 3.0),
        (lambda x: cp.NonPos(x - 1), 3.0, 2.0),
        (lambda x: cp.Zero(x - 1), 3.0, 2.0),
        (lambda x: cp.SOC(x, cp.hstack([3.0, 4.0])), 4.0, 1.0),
        (lambda x: cp.SOC(cp.hstack([x]), cp.Constant([[3.0], [4.0]]).T, axis=0), 4.0, 1.0),
    ],
)
def test_the_violation_of_each_kind_of_constraint(made, value, expected):
    from priorsvm.problem.conflicts import _relaxed_by

    x = cp.Variable()
    t = cp.Variable(nonneg=True)
    least = cp.Problem(cp.Minimize(t), [x == value, *_relaxed_by(made(x), t)]).solve(solver="CLARABEL")
    assert least == pytest.approx(expected, abs=1e-6)


def test_other_constraints_are_not_relaxed():
    from priorsvm.problem.conflicts import _relaxed_by

    constraint = cp.Variable((2, 2), symmetric=True) >> 0
    assert _relaxed_by(constraint, cp.Variable()) == [constraint]


def test_one_block_out_of_reach_is_named_alone(frame):
    """Its violation is that of the block itself, also if it is removed last."""
    X, y = frame
    places = np.column_stack([np.linspace(0.0, 0.02, 12), np.zeros(12)])
    wild = At(places, np.tile([1.0, -1.0], 6)).named("wild")
    free = Rule("age >= 1", "ill", hard=True).named("free")
    with pytest.raises(Infeasible, match=r"this hard constraint: 'wild'\. Every such f misses it by"):
        PriorSVC(free + wild, kernel="rbf").fit(X, y)


@pytest.mark.parametrize("norm", ["l2", "l1"])
def test_nothing_is_out_of_reach_without_hard_blocks(frame, norm):
    from priorsvm.problem.assemble import Compiled
    from priorsvm.problem.conflicts import beyond_reach
    from priorsvm.solve.feasibility import least

    task = make_task(PriorSVC(OddnessHint(), kernel=RBF(0.5), norm=norm), *frame, None, {})
    assert beyond_reach(Compiled(task.spec, [], {}, task.samples[0]), least) is None


def test_the_norm_is_that_of_f_if_its_values_at_rows_are_the_variables(frame, monkeypatch):
    """A function of norm R misses 1 - R |k_a - k_b| / 2 at two rows, here with R = 0.5."""
    from priorsvm.function.maps import ValueMap
    from priorsvm.problem import conflicts
    from priorsvm.problem.assemble import Compiled
    from priorsvm.solve.feasibility import least

    X, y = frame
    rows = X.to_numpy()[:2]
    prior = At(rows[:1], np.ones(1)).named("one") + At(rows[1:], -np.ones(1)).named("two")
    task = make_task(PriorSVC(prior, kernel=RBF(20.0)), X, y, None, {})
    compiled = Compiled(task.spec, list(task.prior), {}, task.samples[0])
    assert isinstance(compiled.tie.features, ValueMap)
    monkeypatch.setattr(conflicts, "_largest_norm", lambda compiled: 0.5)
    apart = np.sqrt(2 - 2 * RBF(20.0)(rows[:1], rows[1:])[0, 0])
    message = str(conflicts.beyond_reach(compiled, least))
    assert float(re.search(r"by (\S+) or more", message)[1]) == np.floor(100 * (1 - 0.25 * apart)) / 100
    assert "'one' and 'two'" in message


class Level(Knowledge):
    """A slope of f at a point, and no value of f."""

    hard = True

    def build(self, f, view):
        return Terms(constraints={"level": f.slope(np.zeros((1, 2)), np.array([[1.0, 0.0]])) == 0})


def test_a_block_on_slopes_alone_is_no_conflict_with_regions(frame):
    checked(BLOCKS["box"](0.0, "ill") + Level(), *frame, kernel=RBF(0.5))
    checked(BLOCKS["box"](0.0, "ill") + At(np.zeros((0, 2)), np.ones(0)), *frame, kernel=RBF(0.5))


@pytest.mark.parametrize("norm", ["l2", "l1"])
def test_the_largest_norm_is_in_units_of_the_kernel(frame, norm):
    """A kernel 100 times as large reaches the same values with a norm that is smaller by 10, or by 100."""
    from priorsvm.problem.assemble import Compiled
    from priorsvm.problem.conflicts import _largest_norm

    limits = []
    for kernel in (RBF(0.5), 100.0 * RBF(0.5), 0.01 * RBF(0.5)):
        task = make_task(PriorSVC(OddnessHint(), kernel=kernel, norm=norm), *frame, None, {})
        limits.append(_largest_norm(Compiled(task.spec, [], {}, task.samples[0])))
    assert limits[0] / limits[1] == pytest.approx(10.0 if norm == "l2" else 100.0)
    assert limits[2] / limits[0] == pytest.approx(10.0 if norm == "l2" else 100.0)
    assert limits[0] == pytest.approx(1e6 if norm == "l1" else limits[0])


def test_a_search_for_conflicts_restores_the_values(frame):
    from priorsvm.problem.conflicts import conflict_error
    from priorsvm.solve.feasibility import is_infeasible, least

    model = PriorSVC(At([[0.0, 0.0]], np.ones(1)), kernel=RBF(0.5), solver="CLARABEL").fit(*frame)
    [binary] = model._models
    before = [v.value.copy() for v in binary.problem.problem.variables()]
    assert conflict_error(binary.problem, is_infeasible, least) is None
    after = [v.value for v in binary.problem.problem.variables()]
    assert before
    for a, b in zip(before, after, strict=True):
        np.testing.assert_array_equal(a, b)


def test_columns_of_an_array_are_named_by_their_numbers():
    X = np.random.default_rng(0).normal(size=(20, 2))
    low = Box({0: (-2, -1), 1: (0, 1)}, 1, hard=True).named("low")
    high = Box({0: (1, 2), 1: (0, 1)}, 0, hard=True).named("high")
    rises = Monotone({0: 1}, label=1, hard=True, within={0: (-3, 3), 1: (-3, 3)})
    with pytest.raises(Infeasible, match=r"at \(column 0 -?\d\S*\), and 'high' requires .* at \(column 0 \d"):
        checked(low + high + rises, X, np.arange(20) % 2, kernel=RBF(0.5))
    other = Box({0: (-2, -1), 1: (0, 1)}, 0, hard=True).named("other")
    with pytest.raises(Infeasible, match=r"the point \(-?\d[^c]*\)"):
        checked(low + other, X, np.arange(20) % 2, kernel=RBF(0.5))


@pytest.mark.parametrize(
    ("named", "words"), [(True, r"\(i 0\.5, k b, \.\.\.\)"), (False, r"\(column 8 0\.5, \.\.\.\)")]
)
def test_of_many_columns_the_point_has_those_that_the_regions_limit(named, words):
    X = pd.DataFrame(np.random.default_rng(0).uniform(-1, 1, size=(20, 9)), columns=list("abcdefghi"))
    y = np.arange(20) % 2
    high = Box({8: (0.5, 0.9)}, 1, hard=True).named("high")
    other = Box({8: (0.4, 0.5)}, 0, hard=True).named("other")
    if named:
        X = X.assign(k=np.where(y, "a", "b"))
        high = Rule("i >= 0.5", 1, hard=True).named("high")
        other = Rule("i <= 0.5 and k == 'b'", 0, hard=True).named("other")
    with pytest.raises(Infeasible, match=rf"Both apply to the point {words}"):
        PriorSVC(high + other).fit(X if named else X.to_numpy(), y)


def test_a_slope_that_no_path_needs_does_not_change_the_points_of_the_message(frame):
    X, y = frame
    prior = BLOCKS["disc"](-1.5, "ill").named("low") + BLOCKS["disc"](1.5, "well").named("high")
    rises = Monotone({"age": +1}, label="ill", hard=True, within={"age": (-3, 3), "dose": (-3, 3)})
    idle = Monotone({"dose": +1}, label="ill", hard=True, within={"age": (-3, 3), "dose": (-0.1, 0.1)})
    messages = []
    for slopes in (rises.named("rises"), idle.named("idle") + rises.named("rises")):
        with pytest.raises(Infeasible) as caught:
            checked(prior + slopes, X, y, kernel=RBF(0.5))
        messages.append(str(caught.value))
    assert messages[0] == messages[1]


class Unbuilt(At):
    """A block whose terms must not be built."""

    def build(self, f, view):
        pytest.fail("the block was built")


class Bounded(Knowledge):
    """A penalty on a value of f."""

    hard = True

    def build(self, f, view):
        return Terms({"mu": cp.sum(cp.abs(f(np.zeros((1, 2)))))})


def contradictions(prior, X, y, infeasible):
    """Run the check of regions and other blocks with a solver of its own."""
    from priorsvm.problem.conflicts import refuse_contradictions
    from priorsvm.solve.loop import first_states

    task = make_task(PriorSVC(prior, kernel=RBF(0.5)), X, y, None, {})
    members, sample = list(task.prior), task.samples[0]
    refuse_contradictions(task.spec, members, first_states(members, sample), sample, infeasible)


def unasked(*problem):
    pytest.fail("a solver was called")


def test_only_hard_blocks_other_than_regions_are_built_to_find_contradictions(frame):
    checked(BLOCKS["box"](0.0, "ill") + Unbuilt([[0.0, 0.0]], np.ones(1), hard=False), *frame, kernel=RBF())
    contradictions(BLOCKS["box"](0.0, "ill"), *frame, unasked)
    contradictions(BLOCKS["box"](0.0, "ill") + Bounded(), *frame, unasked)


def test_a_block_without_constraints_hides_no_contradiction(frame):
    at = At(np.zeros((1, 2)), np.ones(1)).named("at")
    with pytest.raises(Infeasible, match=r"These conflict: 'box'.* and 'at'"):
        checked(BLOCKS["box"](0.0, "ill") + Bounded() + at, *frame, kernel=RBF(0.5))


class Negative(OnRowSlack, Knowledge):
    """A row's slack below zero, which is impossible."""

    hard = True
    bounds_slack = True

    def build(self, f, view):
        return Terms(constraints={"slack": view.slack[:1] - 0.0 * f(np.zeros((1, 2))) <= -1.0})


def test_the_slack_of_a_row_is_not_negative(frame):
    with pytest.raises(Infeasible, match="These conflict: 'negative'"):
        checked(BLOCKS["box"](0.0, "ill") + Negative(), *frame, kernel=RBF(0.5))


class Fixed(Knowledge):
    """The value of f at the origin, in a block that cannot be softened."""

    def __init__(self, value=-1.0):
        self.value = value

    def build(self, f, view):
        return Terms(constraints={"at": f(np.zeros((1, 2))) == self.value})


def test_the_message_recommends_to_soften_if_one_block_can_be_softened(frame):
    X, y = frame
    with pytest.raises(Infeasible, match=r"'fixed'\. Soften one with hard=False, or make it narrower\.$"):
        checked(BLOCKS["box"](0.0, "well") + Fixed(), X, y, kernel=RBF(0.5))
    with pytest.raises(Infeasible, match=r"'fixed' and 'other' .*\. Leave one out, or require less\.$"):
        PriorSVC(Fixed() + Fixed(2.0).named("other")).fit(X, y)


def out_of_reach(prior, X, y, least, **parameters):
    """Return the error of blocks out of reach, or None."""
    from priorsvm.problem.assemble import Compiled
    from priorsvm.problem.conflicts import beyond_reach
    from priorsvm.solve.loop import first_states

    task = make_task(PriorSVC(prior, **{"kernel": RBF(0.5), **parameters}), X, y, None, {})
    members, sample = list(task.prior), task.samples[0]
    states = first_states(members, sample)
    return beyond_reach(Compiled(task.spec, members, states, sample), least)


def wild(step, name):
    """Opposite signs of f at two points."""
    return At([[0.0, 0.0], [step, 0.0]], np.array([1.0, -1.0])).named(name)


def test_the_violation_is_that_of_the_named_blocks(frame):
    """The block with the larger violation is removed, because the other one is out of reach by itself."""
    from priorsvm.solve.feasibility import least

    bounds = []

    def remembered(problem, reach):
        bounds.append(least(problem, reach))
        return bounds[-1]

    message = str(out_of_reach(wild(1e-6, "near") + wild(1.5e-5, "far"), *frame, remembered))
    assert "this hard constraint: 'far'." in message
    assert bounds[0] - bounds[1] > 0.1
    assert float(re.search(r"by (\S+) or more", message)[1]) == np.floor(100 * bounds[1]) / 100


def test_a_violation_of_one_hundredth_is_within_reach(frame):
    from priorsvm.problem.conflicts import MISSED

    assert MISSED == 0.01
    assert out_of_reach(wild(1e-6, "near"), *frame, lambda problem, reach: MISSED) is None
    assert out_of_reach(wild(1e-6, "near"), *frame, lambda problem, reach: 1.01 * MISSED) is not None


@pytest.mark.parametrize("soft", [InvariantLoss(Shift([0.1, 0.0])), UncertainSamples(0.1)], ids=repr)
def test_blocks_that_the_slack_of_rows_softens_are_never_out_of_reach(frame, soft):
    from priorsvm.solve.feasibility import least

    assert out_of_reach(soft, *frame, unasked) is None
    assert "this hard constraint: 'near'." in str(out_of_reach(wild(1e-6, "near") + soft, *frame, least))


def test_a_kernel_is_recommended_for_polyhedra_of_any_method():
    X = np.random.default_rng(0).uniform(-1, 1, (20, 2))
    y = np.where(X[:, 0] * X[:, 1] > 0, 1, -1)
    faces = np.vstack([np.eye(2), -np.eye(2)])
    centres = {1: [(0.6, 0.6), (-0.6, -0.6)], -1: [(0.6, -0.6), (-0.6, 0.6)]}
    prior = None
    for label, places in centres.items():
        for k, centre in enumerate(places):
            block = Polyhedron(
                faces, faces @ np.array(centre) + 0.1, label, method="kernelised", hard=True
            ).named(f"at{label + 1}{k}")
            prior = block if prior is None else prior + block
    with pytest.raises(Infeasible, match=r"no common point, .* use a kernel\.$"):
        PriorSVC(prior).fit(X, y)


def test_of_few_columns_the_point_has_all():
    X = np.random.default_rng(0).uniform(-1, 1, size=(20, 3))
    high = Box({2: (0.5, 0.9)}, 1, hard=True).named("high")
    other = Box({2: (0.4, 0.5)}, 0, hard=True).named("other")
    with pytest.raises(Infeasible, match=r"Both apply to the point \(\S+, \S+, 0\.5\)"):
        checked(high + other, X, np.arange(20) % 2)


class Gentle(Monotone):
    """A direction along which f may fall, but not steeply."""

    def claims(self, state, linear):
        return [replace(requirement, h=-5.0) for requirement in super().claims(state, linear)]


def test_a_direction_along_which_f_may_fall_forbids_no_path(frame):
    X, y = frame
    wide = {"age": (-3, 3), "dose": (-3, 3)}
    prior = BLOCKS["box"](-1.5, "ill") + BLOCKS["box"](1.5, "well").named("other")
    with pytest.raises(Infeasible, match="'monotone' forbids f to decrease"):
        checked(prior + Monotone({"age": +1}, label="ill", hard=True, within=wide), X, y, kernel=RBF(0.5))
    checked(prior + Gentle({"age": +1}, label="ill", hard=True, within=wide), X, y, kernel=RBF(0.5))


class Falls(Knowledge):
    """A value and a negative slope of f at the origin."""

    hard = True

    def __init__(self, step=1.0):
        self.step = step

    def build(self, f, view):
        origin = np.zeros((1, 2))
        slope = f.slope(origin, np.array([[self.step, 0.0]]))
        return Terms(constraints={"value": f(origin) >= 0, "slope": slope <= -1})


def test_directions_at_points_of_other_blocks_are_left_to_the_solver(frame):
    from priorsvm.solve.feasibility import is_infeasible

    X, y = frame
    rises = Monotone({"age": +1}, label="well", hard=True, within={"age": (-3, 3), "dose": (-3, 3)})
    prior = rises + Falls(float(np.ptp(X["age"])))  # both slopes have steps of the same length
    contradictions(prior, X, y, is_infeasible)
    with pytest.raises(Infeasible, match=r"'monotone'.*'falls'"):
        PriorSVC(prior, kernel=RBF(0.5)).fit(X, y)


def largest_norm(kernel, X, y, **parameters):
    """Return the norm beyond which values of f are lost in rounding."""
    from priorsvm.problem.assemble import Compiled
    from priorsvm.problem.conflicts import _largest_norm

    task = make_task(PriorSVC(OddnessHint(), kernel=kernel, **parameters), X, y, None, {})
    return _largest_norm(Compiled(task.spec, [], {}, task.samples[0]))


def test_the_largest_norm_is_in_units_of_the_longest_row(frame):
    """The kernel is x'z, so the length of a row is its norm in the space of features."""
    X, y = frame[0].to_numpy(), frame[1]
    lengths = np.linalg.norm(X, axis=1)
    product = Polynomial(degree=1, gamma=1.0)
    longer = X.copy()
    longer[3] *= 100
    limits = [largest_norm(product, rows, y) for rows in (X, longer)]
    assert limits[0] / limits[1] == pytest.approx(100 * lengths[3] / lengths.max())
    scaled = [largest_norm(product, rows, y, scale="minmax") for rows in (X, 1000 * X)]
    assert scaled[0] == pytest.approx(scaled[1])


def test_the_largest_norm_of_a_kernel_without_positive_values(frame):
    X, y = frame[0].to_numpy(), frame[1]
    kernel = NegativeDistance()
    assert kernel(X, X).max() == 0
    assert largest_norm(kernel, X, y, norm="l1") == pytest.approx(1e6 / np.abs(kernel(X, X)).max())


def test_a_block_without_which_one_hundredth_is_missed_is_named(frame):
    from priorsvm.problem.conflicts import MISSED

    bounds = iter([0.5, MISSED, MISSED])
    error = out_of_reach(wild(1e-6, "near") + wild(1e-6, "far"), *frame, lambda *problem: next(bounds))
    assert "'near' and 'far'" in str(error)


def test_a_conflict_that_may_be_due_to_rounding_is_named_as_such(frame):
    """The solver finds a conflict with the kernel and none without it, and no block is out of reach."""
    from priorsvm.problem.conflicts import conflict_error

    model = PriorSVC(At([[0.0, 0.0]], np.ones(1)), kernel=RBF(0.5), solver="CLARABEL").fit(*frame)
    answers = iter([True, False, False])
    error = conflict_error(model._models[0].problem, lambda problem: next(answers), lambda *problem: 0.0)
    assert str(error).startswith("No decision function satisfies every hard constraint, up to rounding. ")
    assert named_in(str(error)) == ["at"]
    assert not list(answers)


def test_a_path_stays_where_all_its_directions_are_required(frame):
    """f must not fall with the age where the dose is low, nor with the dose where the age is low."""
    X, y = frame
    low = Box({"age": (-2, -1), "dose": (-2, -1)}, "ill", hard=True).named("low")
    high = Box({"age": (1, 2), "dose": (1, 2)}, "well", hard=True).named("high")
    for end, conflicts in ((0, False), (3, True)):
        age = Monotone({"age": +1}, label="ill", hard=True, within={"age": (-3, 3), "dose": (-3, end)})
        dose = Monotone({"dose": +1}, label="ill", hard=True, within={"age": (-3, end), "dose": (-3, 3)})
        prior = low + high + age.named("age") + dose.named("dose")
        if conflicts:
            with pytest.raises(Infeasible, match="'age' and 'dose' forbids f to decrease"):
                checked(prior, X, y, kernel=RBF(0.5))
        else:
            checked(prior, X, y, kernel=RBF(0.5))


class Mirrored(Monotone):
    """A direction, stated for -f and the opposite direction."""

    def claims(self, state, linear):
        requirements = super().claims(state, linear)
        return [replace(r, sign=-r.sign, direction=-r.direction) for r in requirements]


def test_of_several_classes_the_message_names_the_class_of_the_score(wine):
    rises = Mirrored({"alcohol": +1}, label="barolo", hard=True).named("rises")
    with pytest.raises(Infeasible, match=r"With f the score of 'barolo', 'light' requires f >= 1 at"):
        PriorSVC(STRONG + LIGHT + rises, kernel=Uncomputed(0.1), scale="standard").fit(*wine)


class Flat(Knowledge):
    """The coefficients of a linear f."""

    hard = True

    def build(self, f, view):
        return Terms(constraints={"flat": f.coef == 0})


def test_a_block_that_cannot_be_built_is_left_to_the_solver(frame):
    X, y = frame
    prior = BLOCKS["box"](0.0, "ill") + Flat()
    contradictions(prior, X, y, unasked)
    with pytest.raises(MissingCapability, match="'flat'"):
        PriorSVC(prior, kernel=RBF(0.5)).fit(X, y)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_hard_rules_on_rows_name_a_common_row(kernel):
    X = pd.DataFrame({"age": np.arange(20.0), "bmi": np.arange(20.0)[::-1] ** 1.1})
    y = np.where(np.arange(20) % 3 == 0, "ill", "well")
    rules = {"hard": True, "holds": "rows"}
    prior = Rule("age >= 12", "ill", **rules).named("old") + Rule("bmi >= 6", "well", **rules).named("heavy")
    with pytest.raises(Infeasible, match=r"'old' .* and 'heavy'") as caught:
        PriorSVC(prior, kernel=kernel).fit(X, y)
    age, bmi = re.search(r"Both apply to the row \(age (\S+), bmi (\S+)\)", str(caught.value)).groups()
    assert float(age) >= 12
    assert float(bmi) >= 6
    assert ((X.age == float(age)) & (X.bmi.round(4) == round(float(bmi), 4))).any()
