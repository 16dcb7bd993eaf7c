"""Objectives, routes and expansions of fitted models, as recorded numbers.

Use public names only, so that the tests remain valid when modules move. A changed number means a changed
optimisation problem, a changed route, or a changed span of f. ``python tests/test_pinned_objectives.py``
prints the present numbers, of all cases or of the names given to it.
"""

import sys
from typing import Any, NamedTuple

import numpy as np
import pytest

from priorsvm import (
    RBF,
    Box,
    ClassCosts,
    Ellipsoid,
    FeatureDeletion,
    FeatureScaling,
    FromFunction,
    InvarianceHint,
    InvariantLoss,
    MissingValues,
    Monotone,
    MonotonicityHint,
    OddnessHint,
    Polyhedron,
    Polynomial,
    PriorSVC,
    Region,
    Rotation,
    RowPermutations,
    Rule,
    SampleCosts,
    Shift,
    TangentPenalty,
    Trajectories,
    Transductive,
    Translation,
    UncertainSamples,
    UnlabeledSamples,
    VirtualSamples,
    VirtualSupportVectors,
)


class Pin(NamedTuple):
    """Recorded facts of one fitted model.

    objective : ``objective_``, one number per class if there are several models.
    solver : ``solver_``. It changes if ``solver="auto"`` takes another route.
    rel : relative tolerance of the objective.
    rounds : ``n_rounds_``.
    centres : number of ``centres_``; None for linear models and where rounding changes the number.
    slopes : number of points in ``slopes_``.
    """

    objective: Any
    solver: Any
    rel: float = 1e-9
    rounds: Any = 1
    centres: int | None = None
    slopes: int = 0


# Tolerances. The digits vary with the BLAS kernels, with the order of the rows, and with the solver.
# 1e-9, the default: other BLAS kernels and another order of the rows change the objective by less than 1e-11,
# SCHUR in place of CLARABEL by less than 1e-10. Nystroem models draw other centres for another order.
# 1e-8: badly conditioned spans, where these differences reach 4e-10, and guaranteed methods.
# 1e-6: cuts. Their search ends by a tolerance, and its last points depend on rounding.
# Other versions of Clarabel, HiGHS or scikit-learn may change the digits after the ninth.
# Monotone: f expands over the slopes instead of the points. The larger span lowered its objectives, by up to
# 0.2 %.
PINS = {
    "rbf_monotone_cuts_soft": Pin(29.2491272606, rel=1e-06, solver="ROWS", rounds=6, centres=11, slopes=6),
    "rbf_monotone_cuts_hard": Pin(36.2102397221, rel=1e-06, solver="ROWS", rounds=6, centres=12, slopes=3),
    "rbf_monotone_points_soft": Pin(28.69560838201, solver="ROWS", centres=12, slopes=6),
    "rbf_monotone_points_hard": Pin(29.47330214331, solver="ROWS", centres=11, slopes=9),
    "rbf_monotone_grid_clarabel": Pin(30.22906590988, rel=1e-08, solver="CLARABEL", slopes=182),
    "rbf_monotone_guaranteed_soft": Pin(
        13.13157392142, rel=1e-08, solver="CLARABEL", rounds=4, centres=30, slopes=10
    ),
    "rbf_monotone_guaranteed_hard": Pin(
        13.18732568507, rel=1e-08, solver="CLARABEL", rounds=5, centres=30, slopes=10
    ),
    "rbf_monotone_standard": Pin(11.74071067524, solver="ROWS", centres=17, slopes=14),
    "rbf_monotone_many": Pin(158.1964908518, rel=1e-08, solver="ROWS", centres=38, slopes=9),
    "polynomial_monotone": Pin(7.4243537831, rel=1e-06, solver="ROWS", rounds=5, centres=11, slopes=1),
    "l1_monotone": Pin(34.64585413988, solver="HIGHS", centres=8),
    "nystroem_monotone": Pin(41.3837154628, solver="CLARABEL", centres=12),
    "linear_monotone_hard": Pin(20.47450902601, solver="ROWS"),
    "linear_monotone_soft": Pin(20.03594875464, solver="ROWS"),
    "rbf_monotonicity_hint_soft": Pin(26.947258076, solver="ROWS", centres=32),
    "rbf_monotonicity_hint_hard": Pin(30.525933103, solver="ROWS", centres=22),
    "rbf_monotonicity_hint_many": Pin(156.147524355, solver="ROWS", centres=53),
    "nystroem_monotonicity_hint": Pin(38.36250253414, solver="CLARABEL", centres=12),
    "rbf_invariance_hint_soft": Pin(30.28934463581, solver="ROWS", centres=90),
    "rbf_invariance_hint_hard": Pin(36.55879074642, solver="ROWS", centres=60),
    "rbf_invariance_hint_many": Pin(158.2537600125, solver="ROWS", centres=360),
    "l1_invariance_hint": Pin(39.28608250006, solver="CLARABEL", centres=30),
    "linear_invariance_hint_soft": Pin(24.4115001411, solver="ROWS"),
    "linear_invariance_hint_hard": Pin(20.474509026, solver="ROWS"),
    "nystroem_invariance_hint": Pin(35.05981183319, solver="CLARABEL", centres=12),
    "rbf_oddness_hint_soft": Pin(43.20111849474, solver="ROWS", centres=60),
    "rbf_oddness_hint_hard": Pin(65.2683160055, solver="ROWS", centres=60),
    "linear_oddness_hint_standard": Pin(28.5666990596, solver="ROWS"),
    "rbf_tangent_penalty": Pin(28.57567289492, solver="ROWS", centres=12, slopes=30),
    "linear_tangent_penalty": Pin(25.69390623672, solver="ROWS"),
    "l1_tangent_penalty": Pin(38.29437467137, solver="CLARABEL", centres=30),
    "nystroem_tangent_penalty": Pin(40.95769002433, solver="CLARABEL", centres=5, slopes=7),
    "linear_uncertain_samples": Pin(32.98223456102, solver="CLARABEL"),
    "linear_uncertain_samples_one_column": Pin(29.85357973126, solver="CLARABEL"),
    "rbf_uncertain_samples": Pin(43.47876622236, solver="CONES", centres=30),
    "rbf_uncertain_samples_guarantee": Pin(43.42032676659, solver="CLARABEL", centres=30),
    "nystroem_uncertain_samples": Pin(45.9287716146, solver="CLARABEL", centres=12),
    "l1_uncertain_samples": Pin(47.42228925129, solver="CLARABEL", centres=30),
    "linear_missing_values": Pin(20.77895045218, solver="CLARABEL"),
    "rbf_missing_values": Pin(9.467016792695, solver="CONES", centres=30),
    "linear_trajectories": Pin(30.75927673911, solver="CLARABEL"),
    "linear_trajectories_degree_4": Pin(8.636348957773, solver="CLARABEL"),
    "linear_trajectories_images": Pin(46.77453515658, solver="CLARABEL"),
    "rbf_trajectories": Pin(30.39922560733, solver="CLARABEL"),
    "rbf_trajectories_degree_2": Pin(16.57092202198, solver="CLARABEL", centres=72),
    "rbf_invariant_loss": Pin(84.8727708704, solver="COLUMNS", rounds=6, centres=62),
    "rbf_invariant_loss_clarabel": Pin(84.87277087209, solver="CLARABEL", rounds=6, centres=66),
    "rbf_invariant_loss_slack": Pin(88.84449074404, solver="COLUMNS", rounds=5),
    "rbf_invariant_loss_continuous": Pin(66.88558060375, solver="COLUMNS", rounds=3, centres=19),
    "rbf_invariant_loss_joint": Pin(39.94130556789, solver="COLUMNS", rounds=4, centres=19),
    "linear_invariant_loss": Pin(30.75927673908, solver="CLARABEL"),
    "linear_invariant_loss_deletion": Pin(35.16801182404, solver="CLARABEL"),
    "linear_invariant_loss_scaling": Pin(22.24363586949, solver="CLARABEL"),
    "linear_rule": Pin(33.79500000001, solver="ROWS"),
    "linear_rule_hard": Pin(26.15225509913, solver="ROWS"),
    "linear_box": Pin(25.17503555649, solver="ROWS"),
    "linear_polyhedron": Pin(25.17503555565, solver="CLARABEL"),
    "linear_ellipsoid": Pin(26.57358661213, solver="CLARABEL"),
    "linear_region": Pin(31.23313294828, solver="CLARABEL"),
    "l1_rule": Pin(50.79081175688, solver="HIGHS", centres=7),
    "rbf_rule_cuts": Pin(44.1069744135, rel=1e-06, solver="ROWS", rounds=4, centres=16),
    "rbf_box_cuts_hard": Pin(58.66222984009, rel=1e-06, solver="ROWS", rounds=5, centres=17),
    "rbf_box_points": Pin(39.79096100722, solver="ROWS", centres=15),
    "rbf_box_guaranteed": Pin(24.95276792431, rel=1e-08, solver="CLARABEL", rounds=2, centres=41),
    "rbf_polyhedron_guaranteed": Pin(17.1076642346, rel=1e-08, solver="CLARABEL", rounds=3, centres=40),
    "rbf_polyhedron_kernelised": Pin(39.96072756872, solver="CLARABEL"),
    "rbf_ellipsoid_cuts": Pin(34.6508344698, rel=1e-06, solver="ROWS", rounds=3, centres=12),
    "rbf_region_array": Pin(37.89578019208, solver="CLARABEL", centres=36),
    "rbf_region_points": Pin(44.53285574608, solver="CLARABEL", centres=55),
    "nystroem_box": Pin(35.7212778562, solver="CLARABEL", centres=12),
    "rbf_box_many": Pin(162.2234982788, solver="ROWS", centres=41),
    "rbf_plain": Pin(26.64242133665, solver="LIBSVM", centres=11),
    "linear_class_costs": Pin(32.57115127, solver="LIBSVM"),
    "l1_class_costs": Pin(38.03820557496, solver="CENTRES", centres=6),
    "nystroem_class_costs": Pin(49.06070860662, solver="CLARABEL", centres=12),
    "rbf_sample_costs_margins": Pin(40.79564385784, solver="NORMAL", centres=13),
    "rbf_sample_costs_many": Pin(111.1414325113, solver="ROWS", centres=68),
    "rbf_unlabeled_samples": Pin(33.25911076857, solver="LIBSVM", centres=15),
    "rbf_transductive": Pin(28.87037137515, solver="LIBSVM", rounds=20, centres=14),
    "rbf_virtual_samples": Pin(63.17354839334, solver="LIBSVM", centres=26),
    "linear_virtual_samples": Pin(128.7971015852, solver="LIBSVM"),
    "rbf_virtual_support_vectors": Pin(77.47030818389, solver="LIBSVM", rounds=2, centres=22),
    "linear_row_permutations": Pin(0.4377421261135, solver="LIBSVM", rounds=4),
    "linear_squared_hinge": Pin(21.41308614046, solver="NORMAL"),
    "rbf_squared_hinge_box": Pin(31.54236776319, solver="ROWS", centres=19),
    "rbf_squared_hinge_many": Pin(177.2295172927, solver="ROWS", centres=360),
    "linear_three_classes": Pin(
        [13.90388108202, 25.99880963099, 30.24885865596],
        solver=["ROWS", "ROWS", "ROWS"],
        rounds=[1, 1, 1],
    ),
    "rbf_three_classes": Pin(
        [26.50894625616, 19.3970271282, 29.49380709185],
        solver=["ROWS", "ROWS", "ROWS"],
        rounds=[1, 1, 1],
        centres=58,
    ),
    "rbf_joint": Pin(11.53038464881, solver="COLUMNS", rounds=3, centres=21),
    "rbf_monotone_and_box": Pin(29.43232507692, rel=1e-08, solver="ROWS", centres=13, slopes=11),
    "rbf_slopes_and_hints": Pin(48.95138186631, solver="ROWS", slopes=30),
    "rbf_uncertain_and_monotone": Pin(39.66786367737, solver="CLARABEL", centres=30, slopes=37),
    "rbf_tangent_and_monotone": Pin(30.2210701834, rel=1e-08, solver="ROWS", centres=11, slopes=40),
    "linear_everything": Pin(60.47417782199, rel=1e-08, solver="CLARABEL"),
    "linear_l1_several": Pin(35.07027576566, solver="HIGHS"),
    "rbf_uncertain_samples_many": Pin(173.1294160442, solver="CONES", centres=117),
    "rbf_monotone_box_many": Pin(159.7757959339, rel=1e-08, solver="ROWS", centres=39, slopes=8),
    "l1_rule_many": Pin(178.7228696711, solver="HIGHS", centres=12),
    "linear_virtual_samples_many": Pin(243.1779871858, solver="NORMAL"),
    "linear_invariance_hint_many": Pin(84.35023873082, solver="ROWS"),
}


def plane(n=30):
    """Return rows of two overlapping classes in two columns; column 0 raises the score, with exceptions."""
    rng = np.random.default_rng(10)
    X = np.round(rng.uniform(-1, 1, size=(n, 2)), 2)
    y = (X[:, 0] + 0.6 * np.sin(4 * X[:, 1]) + 0.5 * rng.normal(size=n) > 0.1).astype(int)
    return X, y


def many():
    """Return 120 rows, for routes that are chosen from 100 rows on."""
    return plane(120)


def gaps():
    """Return rows in three columns with missing entries."""
    X, y = plane()
    X = np.column_stack([X, np.round(X[:, 0] - 0.5 * X[:, 1], 1)])
    X[np.random.default_rng(11).random(X.shape) < 0.15] = np.nan
    return X, y


def three():
    """Return rows of three classes in two columns."""
    rng = np.random.default_rng(12)
    y = np.repeat(["a", "b", "c"], [8, 10, 12])
    middle = np.repeat([[0.0, 0.0], [1.5, 0.5], [0.5, 1.5]], [8, 10, 12], axis=0)
    return np.round(middle + 0.7 * rng.normal(size=(30, 2)), 2), y


def images():
    """Return noisy images of four by four pixels: vertical bars and horizontal bars."""
    rng = np.random.default_rng(13)
    y = np.arange(20) % 2
    X = 0.5 * rng.random((20, 4, 4))
    for i in range(20):
        bar = rng.integers(4)
        if y[i]:
            X[i, :, bar] += 0.4
        else:
            X[i, bar, :] += 0.4
    return np.round(X.reshape(20, 16), 2), y


def matrices():
    """Return flattened matrices of three rows and two columns, with rows in random order."""
    rng = np.random.default_rng(14)
    middle = rng.normal(size=(3, 2))
    change = rng.normal(size=(3, 2))
    y = np.arange(24) % 2
    Z = 2 * middle + np.where(y, 0.5, -0.5)[:, None, None] * change + 0.4 * rng.normal(size=(24, 3, 2))
    mixed = np.array([rng.permutation(z) for z in Z])
    return np.round(mixed.reshape(24, 6), 2), y


def turned(X, degrees):
    """Rotate rows of two columns about the origin."""
    angle = np.radians(degrees)
    return X @ [[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]]


def mirrored(X, theta):
    """Change the sign of column 1."""
    return X * [1.0, 1.0 - 2.0 * theta]


def disc(X):
    """Return a function that is at most 0 in a disc."""
    return (X[:, 0] - 0.4) ** 2 + (X[:, 1] + 0.3) ** 2 - 0.06


KERNEL = RBF(2.0)
TIGHT = {"solver": "CLARABEL", "tol": 1e-9}
STEP = Shift([0.15, 0.0])
SWING = FromFunction(turned, [-15.0, 15.0])
MIRROR = FromFunction(mirrored, [1.0])
TURN = Rotation((4, 4), degrees=15)
MOVE = Translation((4, 4))
SIDES = np.vstack([np.eye(2), -np.eye(2)])
LIMITS = np.array([0.5, 0.0, -0.1, 0.4])
RULE = "x0 between 0.1 and 0.5 and x1 between -0.4 and 0 or x0 >= 0.8"
SQUARE = {0: (0.1, 0.5), 1: (-0.4, 0.0)}
DISC = np.array([[0.4, -0.3], [0.5, -0.2], [0.3, -0.4], [0.55, -0.35], [0.4, -0.1], [0.9, 0.1]])
NEW = np.array([[0.1, 0.2], [0.8, -0.1], [-0.6, 0.4], [0.9, 0.9], [-0.3, -0.8]])


def linear(prior=None, **settings):
    """Return a linear model."""
    return PriorSVC(prior, **{"C": 2.0, **settings})


def rbf(prior=None, **settings):
    """Return an RBF model."""
    return PriorSVC(prior, **{"C": 5.0, "kernel": KERNEL, **settings})


def l1(prior=None, **settings):
    """Return an RBF model with the 1-norm."""
    return PriorSVC(prior, **{"C": 5.0, "kernel": KERNEL, "norm": "l1", **settings})


def nystroem(prior=None, **settings):
    """Return an RBF model that is restricted to twelve centres."""
    return PriorSVC(prior, **{"C": 5.0, "kernel": KERNEL, "n_centres": 12, "random_state": 0, **settings})


def rises(**settings):
    """Return Monotone in column 0 on a part of the plane."""
    return Monotone({0: 1}, within={0: (-0.9, 0.9), 1: (-0.9, 0.9)}, **settings)


# name -> model and data. The name starts with the kind of the model.
CASES = {
    # Monotone: its slopes have to be in the span of f.
    "rbf_monotone_cuts_soft": (lambda: rbf(rises(mu=0.2, method="cuts"), tol=1e-9), plane),
    "rbf_monotone_cuts_hard": (
        lambda: rbf(rises(hard=True, method="cuts"), kernel=RBF(1.0), tol=1e-9),
        plane,
    ),
    "rbf_monotone_points_soft": (lambda: rbf(rises(mu=0.2, method="points", points=25), tol=1e-9), plane),
    "rbf_monotone_points_hard": (lambda: rbf(rises(hard=True, method="points", points=25), tol=1e-9), plane),
    "rbf_monotone_grid_clarabel": (
        lambda: rbf(rises(hard=True, method="points", points="grid"), **TIGHT),
        plane,
    ),
    "rbf_monotone_guaranteed_soft": (
        lambda: PriorSVC(rises(mu=0.2, method="guaranteed"), kernel=RBF(0.4)),
        plane,
    ),
    "rbf_monotone_guaranteed_hard": (
        lambda: PriorSVC(rises(hard=True, method="guaranteed"), kernel=RBF(0.4)),
        plane,
    ),
    "rbf_monotone_standard": (
        lambda: PriorSVC(
            Monotone({0: 1, 1: 1}, mu=2.0, points=16, method="points"), kernel=RBF(0.5), scale="standard"
        ),
        plane,
    ),
    "rbf_monotone_many": (lambda: rbf(rises(mu=1.0, method="points", points=20)), many),
    "polynomial_monotone": (
        lambda: PriorSVC(rises(hard=True), kernel=Polynomial(3, 1.0, 1.0), tol=1e-9),
        plane,
    ),
    "l1_monotone": (lambda: l1(rises(mu=0.2, method="points", points=25)), plane),
    "nystroem_monotone": (lambda: nystroem(rises(hard=True, method="points", points=25)), plane),
    "linear_monotone_hard": (lambda: linear(Monotone({1: 1}, hard=True)), plane),
    "linear_monotone_soft": (lambda: linear(Monotone({1: 1}, mu=0.15, holds="everywhere")), plane),
    # MonotonicityHint.
    "rbf_monotonicity_hint_soft": (lambda: rbf(MonotonicityHint({0: 1}, mu=20.0, pairs=30), tol=1e-9), plane),
    "rbf_monotonicity_hint_hard": (
        lambda: rbf(MonotonicityHint({0: 1}, hard=True, pairs=30), tol=1e-9),
        plane,
    ),
    "rbf_monotonicity_hint_many": (lambda: rbf(MonotonicityHint({0: 1}, mu=20.0, pairs=30)), many),
    "nystroem_monotonicity_hint": (lambda: nystroem(MonotonicityHint({0: 1}, mu=20.0, pairs=30)), plane),
    # InvarianceHint and OddnessHint.
    "rbf_invariance_hint_soft": (lambda: rbf(InvarianceHint(STEP, mu=30.0)), plane),
    "rbf_invariance_hint_hard": (lambda: rbf(InvarianceHint(MIRROR, hard=True)), plane),
    "rbf_invariance_hint_many": (lambda: rbf(InvarianceHint(STEP, mu=30.0)), many),
    "l1_invariance_hint": (lambda: l1(InvarianceHint(SWING, mu=30.0)), plane),
    "linear_invariance_hint_soft": (lambda: linear(InvarianceHint(SWING, mu=30.0)), plane),
    "linear_invariance_hint_hard": (lambda: linear(InvarianceHint(Shift([0.0, 0.2]), hard=True)), plane),
    "nystroem_invariance_hint": (lambda: nystroem(InvarianceHint(STEP, mu=30.0)), plane),
    "rbf_oddness_hint_soft": (lambda: rbf(OddnessHint(mu=10.0)), plane),
    "rbf_oddness_hint_hard": (lambda: rbf(OddnessHint(hard=True)), plane),
    "linear_oddness_hint_standard": (lambda: linear(OddnessHint(hard=True), scale="standard"), plane),
    # TangentPenalty: f expands over slopes.
    "rbf_tangent_penalty": (lambda: rbf(TangentPenalty(STEP, gamma=1.0)), plane),
    "linear_tangent_penalty": (lambda: linear(TangentPenalty(STEP, gamma=3.0)), plane),
    "l1_tangent_penalty": (lambda: l1(TangentPenalty(STEP, gamma=3.0)), plane),
    "nystroem_tangent_penalty": (lambda: nystroem(TangentPenalty(STEP, gamma=3.0)), plane),
    # Rows with a worst case: UncertainSamples does not add slopes to the expansion of f.
    "linear_uncertain_samples": (
        lambda: linear(UncertainSamples([[0.02, 0.01], [0.01, 0.03]], confidence=0.9)),
        plane,
    ),
    "linear_uncertain_samples_one_column": (lambda: linear(UncertainSamples([0.1, 0.0])), plane),
    "rbf_uncertain_samples": (lambda: rbf(UncertainSamples([0.1, 0.15], confidence=0.8)), plane),
    "rbf_uncertain_samples_guarantee": (
        lambda: PriorSVC(UncertainSamples(0.05, confidence=0.6, guarantee=True), C=5.0, kernel=RBF(0.5)),
        plane,
    ),
    "nystroem_uncertain_samples": (lambda: nystroem(UncertainSamples([0.1, 0.15], confidence=0.8)), plane),
    "l1_uncertain_samples": (lambda: l1(UncertainSamples([0.1, 0.15], confidence=0.8)), plane),
    "linear_missing_values": (lambda: linear(MissingValues()), gaps),
    "rbf_missing_values": (
        lambda: PriorSVC(MissingValues(confidence=0.7), kernel=RBF(0.3), scale="standard"),
        gaps,
    ),
    "linear_trajectories": (lambda: linear(Trajectories(SWING)), plane),
    "linear_trajectories_degree_4": (lambda: linear(Trajectories(SWING, degree=4), C=0.5), plane),
    "linear_trajectories_images": (lambda: linear(Trajectories(TURN), C=5.0), images),
    "rbf_trajectories": (lambda: PriorSVC(Trajectories(SWING), C=2.0, kernel=RBF(0.5)), plane),
    "rbf_trajectories_degree_2": (lambda: PriorSVC(Trajectories(SWING, degree=2), kernel=RBF(0.5)), plane),
    # InvariantLoss, by COLUMNS and by a solver of CVXPY.
    "rbf_invariant_loss": (lambda: rbf(InvariantLoss(MOVE), kernel=RBF(0.3), tol=1e-9), images),
    "rbf_invariant_loss_clarabel": (lambda: rbf(InvariantLoss(MOVE), kernel=RBF(0.3), **TIGHT), images),
    "rbf_invariant_loss_slack": (
        lambda: rbf(InvariantLoss(MOVE, scaling="slack") + ClassCosts({1: 2}), kernel=RBF(0.3), tol=1e-9),
        images,
    ),
    "rbf_invariant_loss_continuous": (
        lambda: rbf(InvariantLoss(SWING, continuous=True), kernel=RBF(0.5)),
        plane,
    ),
    "rbf_invariant_loss_joint": (
        lambda: rbf(InvariantLoss(STEP), kernel=RBF(0.5), multi_class="joint", tol=1e-9),
        three,
    ),
    "linear_invariant_loss": (lambda: linear(InvariantLoss(SWING), tol=1e-9), plane),
    "linear_invariant_loss_deletion": (lambda: linear(InvariantLoss(FeatureDeletion(1)), tol=1e-9), images),
    "linear_invariant_loss_scaling": (
        lambda: linear(InvariantLoss(FeatureScaling(2, 0.8, 1.2)), tol=1e-9),
        images,
    ),
    # Regions.
    "linear_rule": (lambda: linear(Rule(RULE, 0, mu=2.0, holds="everywhere")), plane),
    "linear_rule_hard": (lambda: linear(Rule("x0 >= 0.5 and x1 >= 0", 1, hard=True)), plane),
    "linear_box": (lambda: linear(Box(SQUARE, 0, mu=2.0, holds="everywhere")), plane),
    "linear_polyhedron": (lambda: linear(Polyhedron(SIDES, LIMITS, 0, mu=2.0, holds="everywhere")), plane),
    "linear_ellipsoid": (lambda: linear(Ellipsoid([0.4, -0.3], 0.25, 0, mu=2.0, holds="everywhere")), plane),
    "linear_region": (lambda: linear(Region(disc, DISC, 0, mu=1.0)), plane),
    "l1_rule": (lambda: l1(Rule(RULE, 0, mu=0.8, method="points", points=25)), plane),
    "rbf_rule_cuts": (lambda: rbf(Rule(RULE, 0, mu=0.8, method="cuts"), tol=1e-9), plane),
    "rbf_box_cuts_hard": (
        lambda: rbf(Box({0: (-0.5, 0.5), 1: (-0.9, 0.9)}, 0, hard=True, method="cuts"), tol=1e-9),
        plane,
    ),
    "rbf_box_points": (lambda: rbf(Box(SQUARE, 0, hard=True, method="points", points=25)), plane),
    "rbf_box_guaranteed": (
        lambda: PriorSVC(Box(SQUARE, 0, mu=1.5, method="guaranteed"), C=2.0, kernel=RBF(0.5)),
        plane,
    ),
    "rbf_polyhedron_guaranteed": (
        lambda: PriorSVC(Polyhedron(SIDES, LIMITS, 0, hard=True, method="guaranteed"), kernel=RBF(0.5)),
        plane,
    ),
    "rbf_polyhedron_kernelised": (
        lambda: rbf(Polyhedron(SIDES, LIMITS, 0, mu=0.4, mu_residual=0.2, method="kernelised")),
        plane,
    ),
    "rbf_ellipsoid_cuts": (
        lambda: rbf(Ellipsoid([0.4, -0.3], 0.25, 0, mu=0.8, holds="everywhere"), tol=1e-9),
        plane,
    ),
    "rbf_region_array": (lambda: rbf(Region(disc, DISC, 0, mu=0.4)), plane),
    "rbf_region_points": (
        lambda: rbf(Region(disc, 25, 0, hard=True, method="points", within={0: (0.0, 0.8), 1: (-0.8, 0.2)})),
        plane,
    ),
    "nystroem_box": (lambda: nystroem(Box(SQUARE, 0, mu=0.8, method="points", points=25)), plane),
    "rbf_box_many": (lambda: rbf(Box(SQUARE, 0, mu=0.8, method="points", points=25)), many),
    # Blocks that add or reweight rows.
    "rbf_plain": (lambda: rbf(), plane),
    "linear_class_costs": (lambda: linear(ClassCosts({1: 3.0})), plane),
    "l1_class_costs": (lambda: l1(ClassCosts("balanced")), plane),
    "nystroem_class_costs": (lambda: nystroem(ClassCosts({1: 3.0})), plane),
    "rbf_sample_costs_margins": (
        lambda: rbf(SampleCosts(np.linspace(0.5, 2.0, 30), margins=np.linspace(0.6, 1.4, 30))),
        plane,
    ),
    "rbf_sample_costs_many": (
        lambda: rbf(SampleCosts(margins=np.linspace(0.6, 1.4, 120)), kernel=RBF(20.0)),
        many,
    ),
    "rbf_unlabeled_samples": (lambda: rbf(UnlabeledSamples(NEW, [1, 1, 0, 1, 0], costs=0.5)), plane),
    "rbf_transductive": (lambda: rbf(Transductive(NEW, n_positive={1: 2}, cost=0.5)), plane),
    "rbf_virtual_samples": (lambda: rbf(0.5 * VirtualSamples(SWING)), plane),
    "linear_virtual_samples": (lambda: linear(VirtualSamples(MOVE)), images),
    "rbf_virtual_support_vectors": (lambda: rbf(VirtualSupportVectors(STEP)), plane),
    "linear_row_permutations": (lambda: linear(RowPermutations((3, 2), rho=10.0), C=0.5), matrices),
    # Squared hinge, several classes, several blocks.
    "linear_squared_hinge": (lambda: linear(loss="squared_hinge"), plane),
    "rbf_squared_hinge_box": (
        lambda: rbf(Box(SQUARE, 0, mu=0.8, method="points", points=25), loss="squared_hinge"),
        plane,
    ),
    "rbf_squared_hinge_many": (lambda: rbf(InvarianceHint(STEP, mu=30.0), loss="squared_hinge"), many),
    "linear_three_classes": (
        lambda: linear(
            Rule("x0 >= 1.5 and x1 <= 0.5", "c", mu=1.5, holds="everywhere") + ClassCosts("balanced")
        ),
        three,
    ),
    "rbf_three_classes": (
        lambda: rbf(
            MonotonicityHint({0: 1}, mu=10.0, label="b", pairs=20) + VirtualSamples(STEP), scale="standard"
        ),
        three,
    ),
    "rbf_joint": (lambda: rbf(ClassCosts("balanced"), multi_class="joint", tol=1e-9), three),
    "rbf_monotone_and_box": (
        lambda: rbf(
            rises(mu=0.4, method="points", points=9) + Box(SQUARE, 0, mu=0.8, method="points", points=9),
            kernel=RBF(4.0),
        ),
        plane,
    ),
    "rbf_slopes_and_hints": (
        lambda: rbf(
            TangentPenalty(STEP, gamma=0.5)
            + InvarianceHint(SWING, mu=10.0)
            + OddnessHint(mu=5.0)
            + ClassCosts({1: 2.0})
        ),
        plane,
    ),
    "rbf_uncertain_and_monotone": (
        lambda: rbf(
            UncertainSamples([0.1, 0.15], confidence=0.7) + rises(mu=0.4, method="points", points=25)
        ),
        plane,
    ),
    "rbf_tangent_and_monotone": (
        lambda: rbf(TangentPenalty(STEP, gamma=0.5) + rises(hard=True, method="points", points=25)),
        plane,
    ),
    "linear_everything": (
        lambda: linear(
            ClassCosts("balanced")
            + UncertainSamples([0.1, 0.05])
            + Rule(RULE, 0, mu=1.0, holds="everywhere")
            + 0.5 * VirtualSamples(STEP)
            + MonotonicityHint({0: 1}, mu=5.0, pairs=10)
            + UnlabeledSamples(NEW, [1, 1, 0, 1, 0], costs=0.5),
            scale="standard",
        ),
        plane,
    ),
    "linear_l1_several": (
        lambda: linear(
            Rule(RULE, 0, mu=1.0, holds="everywhere") + Monotone({1: -1}, hard=True) + ClassCosts({1: 2.0}),
            norm="l1",
        ),
        plane,
    ),
    # Larger models, which take other routes.
    "rbf_uncertain_samples_many": (lambda: rbf(UncertainSamples([0.05, 0.1], confidence=0.7)), many),
    "rbf_monotone_box_many": (
        lambda: rbf(
            rises(mu=1.0, method="points", points=64) + Box(SQUARE, 0, method="points", points=64, mu=0.2)
        ),
        many,
    ),
    "l1_rule_many": (lambda: l1(Rule(RULE, 0, mu=0.8, method="points", points=150)), many),
    "linear_virtual_samples_many": (lambda: linear(VirtualSamples(SWING)), many),
    "linear_invariance_hint_many": (lambda: linear(InvarianceHint(SWING, mu=30.0)), many),
}


def fitted(name):
    """Fit the model of a case."""
    make, data = CASES[name]
    X, y = data()
    return make().fit(X, y)


def expansion(model):
    """Return the number of centres and of slopes; None and 0 for a linear model."""
    if isinstance(model.kernel, str):
        return None, 0
    return len(model.centres_), len(model.slopes_[0])


def test_every_case_is_pinned_tightly():
    """Require recorded numbers for each case, and tolerances of at most 1e-6."""
    new = [name for name in CASES if name not in PINS]
    assert not new, f"Run this file as a script, and add what it prints of {new} to PINS."
    assert list(CASES) == list(PINS)
    assert max(pin.rel for pin in PINS.values()) <= 1e-6


@pytest.mark.filterwarnings("ignore::priorsvm.errors.UnsoundMethod")
@pytest.mark.parametrize("name", CASES)
def test_pinned(name):
    """Compare objective, route, rounds and expansion with the recorded numbers."""
    pin = PINS.get(name)
    assert pin is not None, f"Run this file as a script, and add what it prints of {name!r} to PINS."
    model = fitted(name)
    assert model.objective_ == pytest.approx(pin.objective, rel=pin.rel, abs=0)
    assert np.all(np.asarray(model.solver_) == pin.solver)
    assert np.all(np.asarray(model.n_rounds_) == pin.rounds)
    centres, slopes = expansion(model)
    assert slopes == pin.slopes
    if pin.centres is not None:
        assert centres == pin.centres


def main(names):
    """Print the present number of some or all cases, with its difference from the recorded number."""
    for name in names or CASES:
        model = fitted(name)
        objective = np.asarray(model.objective_)
        pin = PINS.get(name)
        compared = "not in PINS"
        if pin is not None:
            difference = np.max(np.abs(objective - pin.objective) / np.abs(pin.objective))
            compared = f"difference {difference:.0e}"
        centres, slopes = expansion(model)
        print(
            f"{name}: objective {objective!r}, {compared}, {model.solver_}, "
            f"{model.n_rounds_} rounds, {centres} centres, {slopes} slopes"
        )


if __name__ == "__main__":
    main(sys.argv[1:])
