"""Blocks for rows of some classes, against problems written out with CVXPY and scikit-learn."""

import cvxpy as cp
import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.svm import SVC

from priorsvm import (
    RBF,
    FeatureDeletion,
    FeatureScaling,
    FromFunction,
    InvarianceHint,
    InvariantLoss,
    PriorSVC,
    Shift,
    Trajectories,
    UncertainSamples,
    VirtualSamples,
    VirtualSupportVectors,
    load,
    plot,
    save,
)
from priorsvm.errors import InvalidInput, InvalidType
from priorsvm.knowledge.by_class import OfClasses
from priorsvm.prior import as_prior

C = 2.0
RIGHT = Shift([0.6, 0.0])
UP = Shift([0.0, 0.9], steps=5)


@pytest.fixture(scope="module")
def data():
    X, y = make_blobs(36, centers=[[0, 0], [2.2, 0.5]], cluster_std=0.8, random_state=3)
    return X, np.array(["ham", "spam"])[y]


@pytest.fixture(scope="module")
def three():
    X, y = make_blobs(36, centers=[[0, 0], [2.5, 0.5], [1, 2.5]], cluster_std=0.6, random_state=5)
    return X, y + 4


def signs(y):
    return np.where(y == "spam", 1.0, -1.0)


def turn(X, angle):
    return X @ np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])


TURNS = FromFunction(turn, thetas=[-0.3, 0.3])


def worst_over(X, y, orbits, C=C):
    """Return the objective of the largest hinge loss over a list of points for each row."""
    w = cp.Variable(X.shape[1])
    b = cp.Variable()
    xi = cp.Variable(len(X), nonneg=True)
    margins = [y[i] * (points @ w + b) >= 1 - xi[i] for i, points in enumerate(orbits)]
    problem = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(w) + C * cp.sum(xi)), margins)
    problem.solve(solver="CLARABEL")
    return problem.value, w.value, b.value


# ---------------------------------------------------------------------- rows


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize(
    ("block", "moves"),
    [
        (VirtualSamples(RIGHT, classes="spam"), {"spam": RIGHT}),
        (VirtualSamples(RIGHT, classes=["ham"]), {"ham": RIGHT}),
        (VirtualSamples({"spam": RIGHT, "ham": UP}), {"spam": RIGHT, "ham": UP}),
        (VirtualSamples({"ham": UP}, cost=0.3), {"ham": UP}),
    ],
)
def test_virtual_samples_are_rows_added_by_hand(data, block, moves, kernel):
    X, y = data
    rows, labels, weights = [X], [y], [np.ones(len(y))]
    for label, transform in moves.items():
        copies = transform.orbit(X[y == label])[:, 1:].reshape(-1, 2)
        rows.append(copies)
        labels.append(np.full(len(copies), label))
        weights.append(np.full(len(copies), block.cost))
    expected = SVC(C=C, kernel=kernel, gamma=0.5, tol=1e-10)
    expected.fit(np.vstack(rows), np.concatenate(labels), sample_weight=np.concatenate(weights))
    given = "linear" if kernel == "linear" else RBF(gamma=0.5)
    model = PriorSVC(block, C=C, kernel=given).fit(X, y)
    np.testing.assert_allclose(
        model.decision_function(X), expected.decision_function(X), atol=1e-6, rtol=1e-6
    )


def test_support_vectors_of_one_class_have_copies(data):
    X, y = data
    model = PriorSVC(VirtualSupportVectors({"spam": UP}), C=C).fit(X, y)
    first = PriorSVC(C=C).fit(X, y).support_
    spam = first[y[first] == "spam"]
    copies = UP.orbit(X[spam])[:, 1:].reshape(-1, 2)
    expected = SVC(C=C, kernel="linear", tol=1e-6).fit(
        np.vstack([X[first], copies]), np.concatenate([y[first], np.full(len(copies), "spam")])
    )
    np.testing.assert_allclose(model.coef_, expected.coef_, atol=1e-4)
    assert model.verify()["virtual_support_vectors"].checked == len(copies)


# ---------------------------------------------------------------------- the invariant loss


@pytest.mark.parametrize("options", [{}, {"method": "columns"}, {"method": "all"}])
@pytest.mark.parametrize(
    ("arguments", "moves"),
    [
        ({"transform": RIGHT, "classes": "spam"}, {"spam": RIGHT}),
        ({"transform": {"spam": RIGHT, "ham": UP}}, {"spam": RIGHT, "ham": UP}),
        ({"transform": {"ham": RIGHT @ UP}}, {"ham": RIGHT @ UP}),
    ],
)
def test_the_invariant_loss_written_out(data, arguments, moves, options):
    X, y = data
    orbits = [
        moves[label].orbit(x[None])[0] if label in moves else x[None] for x, label in zip(X, y, strict=True)
    ]
    value, w, _ = worst_over(X, signs(y), orbits)
    model = PriorSVC(InvariantLoss(**arguments, **options), C=C, tol=1e-8).fit(X, y)
    assert model.objective_ == pytest.approx(value, rel=1e-6)
    np.testing.assert_allclose(model.coef_[0], w, atol=1e-4)
    assert model.verify().holds
    found = model.findings_["invariant_loss"]
    moved = found.thetas.any(axis=1)
    assert set(y[found.rows[moved]]) <= set(moves)


def test_columns_of_a_kernel_model_are_all_members(data):
    X, y = data
    block = InvariantLoss({"spam": RIGHT, "ham": UP}, cost=0.6)
    columns = PriorSVC(block, C=C, kernel="rbf", tol=1e-8).fit(X, y)
    everything = clone(columns).set_params(solver="CLARABEL")
    everything.prior.set_params(method="all")
    everything.fit(X, y)
    assert columns.solver_ == "COLUMNS"
    assert columns.objective_ == pytest.approx(everything.objective_, rel=1e-6)
    alone = InvariantLoss(RIGHT, cost=0.6, classes="spam") + InvariantLoss(UP, cost=0.6, classes="ham")
    apart = PriorSVC(alone, C=C, kernel="rbf", tol=1e-8).fit(X, y)
    assert apart.objective_ == pytest.approx(everything.objective_, rel=1e-6)


def test_a_cost_is_a_function_of_the_parameters_of_its_own_transform(data):
    X, y = data
    seen = set()

    def cost(thetas):
        seen.add(thetas.shape[1])
        return 1.0 - 0.5 * np.abs(thetas).max(axis=1)

    both = {"spam": RIGHT @ UP, "ham": UP}
    model = PriorSVC(InvariantLoss(both, cost=cost), C=C, tol=1e-8).fit(X, y)
    assert seen == {1, 2}
    number = PriorSVC(InvariantLoss(both, cost=0.5), C=C, tol=1e-8).fit(X, y)
    assert model.objective_ == pytest.approx(number.objective_, rel=1e-7)


def test_transformations_between_members_of_one_class():
    angle = np.array([np.cos(0.4), np.sin(0.4)])  # the worst angle is between 0 and 0.8
    X, y = make_blobs(36, centers=[3.4 * angle, [2.0, 0.0]], cluster_std=0.3, random_state=3)
    y = np.array(["ham", "spam"])[y]
    fine = FromFunction(turn, thetas=np.linspace(-0.8, 0.8, 401)[np.arange(401) != 200])
    coarse = FromFunction(turn, thetas=[-0.8, 0.8])
    exact = PriorSVC(InvariantLoss(fine, classes="spam"), C=C).fit(X, y)
    model = PriorSVC(InvariantLoss(coarse, classes="spam", continuous=True), C=C).fit(X, y)
    by_class = PriorSVC(InvariantLoss({"spam": coarse}, continuous=True), C=C).fit(X, y)
    assert model.objective_ == pytest.approx(exact.objective_, rel=1e-3)
    assert by_class.objective_ == pytest.approx(model.objective_, rel=1e-8)
    assert model.verify().holds
    ends_only = PriorSVC(InvariantLoss(coarse, classes="spam"), C=C).fit(X, y)
    assert ends_only.objective_ < 0.98 * model.objective_


def text(seed=0):
    rng = np.random.default_rng(seed)
    y = np.array(["ham", "spam"])[np.arange(40) % 2]
    rates = np.where((y == "spam")[:, None], [3, 2, 0.3, 0.5, 1], [0.5, 0.4, 2, 2, 1])
    return rng.poisson(rates).astype(float), y


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("method", ["closed", "columns"])
def test_only_spam_is_tampered_with(sparse, method):
    X, y = text()
    deletions = np.array([np.ones(5), *(1 - np.eye(5))])
    orbits = [deletions * x if label == "spam" else x[None] for x, label in zip(X, y, strict=True)]
    value, w, _ = worst_over(X, signs(y), orbits)
    block = InvariantLoss(FeatureDeletion(k=1), classes="spam", method=method)
    model = PriorSVC(block, C=C, tol=1e-8).fit(csr_array(X) if sparse else X, y)
    assert model.objective_ == pytest.approx(value, rel=1e-6)
    np.testing.assert_allclose(model.coef_[0], w, atol=1e-3)
    assert model.verify().holds


@pytest.mark.parametrize("method", ["closed", "columns"])
def test_scalings_differ_between_classes(method):
    X, y = text()
    moves = {"spam": FeatureDeletion(k=1), "ham": FeatureScaling(k=1, low=0.5, high=3.0)}
    factors = {"spam": [0.0], "ham": [0.5, 3.0]}
    orbits = []
    for x, label in zip(X, y, strict=True):
        scaled = [np.where(np.arange(5) == j, factor, 1) * x for j in range(5) for factor in factors[label]]
        orbits.append(np.array([x, *scaled]))
    value, _, _ = worst_over(X, signs(y), orbits)
    model = PriorSVC(InvariantLoss(moves, method=method), C=C, tol=1e-8).fit(csr_array(X), y)
    assert model.objective_ == pytest.approx(value, rel=1e-6)


def test_pegasos_respects_classes():
    X, y = text()
    block = InvariantLoss(FeatureDeletion(k=1), classes="spam")
    exact = PriorSVC(block, C=0.05).fit(csr_array(X), y).objective_
    block = clone(block).set_params(method="pegasos")
    model = PriorSVC(block, C=0.05, tol=0.01, max_rounds=2000).fit(csr_array(X), y)
    assert model.solver_ == "PEGASOS"
    assert exact * (1 - 1e-6) <= model.objective_ <= 1.01 * exact
    everywhere = PriorSVC(InvariantLoss(FeatureDeletion(k=1)), C=0.05).fit(X, y).objective_
    assert everywhere > 1.05 * exact
    listed = PriorSVC(
        InvariantLoss({"spam": Shift([1.0, 0, 0, 0, 0])}, method="pegasos"), C=0.05, tol=0.01, max_rounds=2000
    ).fit(X, y)
    expected = PriorSVC(InvariantLoss({"spam": Shift([1.0, 0, 0, 0, 0])}), C=0.05).fit(X, y)
    assert listed.objective_ == pytest.approx(expected.objective_, rel=0.011)
    listed.formulation()


@pytest.mark.parametrize("transform", [{4: RIGHT, 6: UP}, {5: FeatureDeletion(k=1)}])
def test_the_joint_model_written_out(three, transform):
    X, y = three
    classes = np.unique(y)
    deletions = np.array([[1, 1], [0, 1], [1, 0]])
    W = cp.Variable((3, 2))
    xi = cp.Variable(len(X), nonneg=True)
    margins = []
    for i, (x, label) in enumerate(zip(X, y, strict=True)):
        points = x[None]
        if label in transform:
            scaled = isinstance(transform[label], FeatureDeletion)
            points = deletions * x if scaled else transform[label].orbit(x[None])[0]
        true = int(np.searchsorted(classes, label))
        margins += [points @ (W[true] - W[k]) >= 1 - xi[i] for k in range(3) if k != true]
    problem = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(W) + C * cp.sum(xi)), margins)
    problem.solve(solver="CLARABEL")
    model = PriorSVC(InvariantLoss(transform), C=C, multi_class="joint", tol=1e-8).fit(X, y)
    assert model.objective_ == pytest.approx(problem.value, rel=1e-6)
    assert model.verify().holds


# ---------------------------------------------------------------------- other blocks


@pytest.mark.parametrize("mu", [0.5, 20.0])
def test_the_invariance_hint_written_out(data, mu):
    X, y = data
    moves = {"spam": RIGHT, "ham": UP}
    for given in ({"spam": RIGHT}, moves):
        w = cp.Variable(2)
        b = cp.Variable()
        hinge = cp.sum(cp.pos(1 - cp.multiply(signs(y), X @ w + b)))
        rows = np.flatnonzero(np.isin(y, list(given)))
        squares = 0
        for i in rows:
            copies = given[y[i]].orbit(X[[i]])[0, 1:]
            squares = squares + cp.sum_squares((copies - X[i]) @ w) / len(copies) / len(rows)
        problem = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(w) + C * hinge + mu * squares))
        problem.solve(solver="CLARABEL")
        model = PriorSVC(InvarianceHint(given, mu=mu), C=C).fit(X, y)
        assert model.objective_ == pytest.approx(problem.value, rel=1e-5)


@pytest.mark.parametrize("confidence", [0.8, 0.95])
def test_uncertain_rows_of_one_class_written_out(data, confidence):
    X, y = data
    deviations = np.array([0.4, 0.2])
    block = UncertainSamples(deviations, confidence=confidence, classes=["ham"])
    model = PriorSVC(block, C=C).fit(X, y)
    w = cp.Variable(2)
    b = cp.Variable()
    loss = block.radius * cp.norm(cp.multiply(deviations, w))
    scores = cp.multiply(signs(y), X @ w + b)
    hinge = cp.sum(cp.pos(1 - scores + (y == "ham").astype(float) * loss))
    problem = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(w) + C * hinge))
    problem.solve(solver="CLARABEL")
    assert model.objective_ == pytest.approx(problem.value, rel=1e-6)
    assert model.verify().holds
    found = model.findings_["uncertain_samples"]
    moved = np.abs(found.points - X[found.rows]).max(axis=1) > 1e-9
    assert moved.any()
    assert set(y[found.rows[moved]]) == {"ham"}


def test_a_covariance_for_each_row_may_be_restricted_too(data):
    X, y = data
    spread = np.random.default_rng(0).uniform(0.1, 0.5, X.shape)
    chosen = PriorSVC(UncertainSamples(spread, classes="ham"), C=C).fit(X, y)
    certain = np.where((y == "ham")[:, None], spread, 0.0)
    expected = PriorSVC(UncertainSamples(certain), C=C).fit(X, y)
    assert chosen.objective_ == pytest.approx(expected.objective_, rel=1e-7)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::priorsvm.errors.CollapsedModel")
@pytest.mark.parametrize("span", ["transform", "line", (-0.2, 0.3)])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_trajectories_of_each_class_are_blocks_of_one_class(data, span, kernel):
    X, y = data
    X = X + np.array([1.0, 0.5])
    wide = FromFunction(turn, thetas=[-0.5, 0.4])
    model = PriorSVC(Trajectories({"spam": TURNS, "ham": wide}, span=span, degree=2), C=C, kernel=kernel)
    alone = Trajectories(TURNS, span=span, degree=2, classes="spam")
    alone = alone + Trajectories(wide, span=span, degree=2, classes="ham")
    expected = PriorSVC(alone, C=C, kernel=kernel).fit(X, y)
    model.fit(X, y)
    assert model.objective_ == pytest.approx(expected.objective_, rel=1e-6)
    assert model.verify().holds == expected.verify().holds
    rows = np.flatnonzero(model.findings_["trajectories"].support)
    assert len(rows)


def test_trajectories_of_one_class_have_the_margin_on_a_fine_orbit(data):
    X, y = data
    X = X + np.array([1.0, 0.5])
    angles = np.linspace(-0.3, 0.3, 301)
    orbits = [
        np.array([turn(x, a) for a in angles]) if label == "spam" else x[None]
        for x, label in zip(X, y, strict=True)
    ]
    value, _, _ = worst_over(X, signs(y), orbits)
    model = PriorSVC(Trajectories(TURNS, degree=4, classes="spam"), C=C).fit(X, y)
    assert model.objective_ == pytest.approx(value, rel=2e-4)
    errors = model.findings_["trajectories"].errors
    assert np.isnan(errors[y == "ham"]).all()
    assert (errors[y == "spam"] < 1e-3).all()
    assert model.verify().holds
    taylor = PriorSVC(Trajectories({"spam": TURNS}, degree=4, coefficients="taylor"), C=C).fit(X, y)
    assert taylor.objective_ == pytest.approx(value, rel=2e-3)


def test_coefficients_of_one_class_need_no_transform(data):
    X, y = data
    along = np.stack([X, np.tile([0.5, 0.0], (len(X), 1))], axis=1)
    model = PriorSVC(Trajectories(coefficients=along, span=(-1, 1), classes="spam"), C=C).fit(X, y)
    ends = [
        x + np.array([[-0.5, 0.0], [0.0, 0.0], [0.5, 0.0]]) if label == "spam" else x[None]
        for x, label in zip(X, y, strict=True)
    ]
    value, _, _ = worst_over(X, signs(y), ends)
    assert model.objective_ == pytest.approx(value, rel=1e-6)


# ---------------------------------------------------------------------- identities

BLOCKS = {
    "virtual": lambda **given: VirtualSamples(**given),
    "support": lambda **given: VirtualSupportVectors(**given),
    "loss": lambda **given: InvariantLoss(**given),
    "hint": lambda **given: InvarianceHint(mu=5.0, **given),
    "trajectories": lambda **given: Trajectories(**given),
}


@pytest.mark.slow
@pytest.mark.parametrize("make", BLOCKS.values(), ids=BLOCKS)
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_all_classes_and_equal_transforms_are_the_plain_block(three, make, kernel):
    X, y = three
    plain = PriorSVC(make(transform=RIGHT), C=C, kernel=kernel).fit(X, y)
    for given in (
        {"transform": RIGHT, "classes": [4, 5, 6]},
        {"transform": RIGHT, "classes": {4, 5, 6}},
        {"transform": {4: RIGHT, 5: Shift([0.6, 0.0]), 6: RIGHT}},
    ):
        model = PriorSVC(make(**given), C=C, kernel=kernel).fit(X, y)
        np.testing.assert_allclose(model.objective_, plain.objective_, rtol=1e-6)
        np.testing.assert_allclose(model.decision_function(X), plain.decision_function(X), atol=2e-4)


def test_all_classes_are_uncertain_by_default(three):
    X, y = three
    plain = PriorSVC(UncertainSamples(0.3), C=C).fit(X, y)
    model = PriorSVC(UncertainSamples(0.3, classes=np.array([4, 5, 6])), C=C).fit(X, y)
    np.testing.assert_allclose(model.objective_, plain.objective_, rtol=1e-8)


@pytest.mark.parametrize("make", BLOCKS.values(), ids=BLOCKS)
def test_classes_are_labels_and_not_signs(three, make):
    X, y = three
    names = np.array(["c", "a", "b"])  # the order of the classes changes
    model = PriorSVC(make(transform={4: RIGHT, 6: UP}), C=C).fit(X, y)
    renamed = PriorSVC(make(transform={"c": RIGHT, "b": UP}), C=C).fit(X, names[y - 4])
    np.testing.assert_allclose(
        [model.objective_[k] for k in (1, 2, 0)], [renamed.objective_[k] for k in (0, 1, 2)], rtol=1e-6
    )
    assert (names[model.predict(X) - 4] == renamed.predict(X)).all()


# ---------------------------------------------------------------------- what comes after a fit


def test_new_rows_are_transformed_by_their_predicted_class(data):
    X, y = data
    model = PriorSVC(InvariantLoss({"spam": RIGHT}), C=C).fit(X, y)
    found = model.verify(X).stability["invariant_loss"]
    scores = model.decision_function(X)
    spam = scores > 0
    orbit = RIGHT.orbit(X[spam])
    lowest = model.decision_function(orbit.reshape(-1, 2)).reshape(len(orbit), -1).min(axis=1)
    np.testing.assert_allclose(found.lead[spam], lowest)
    np.testing.assert_allclose(found.lead[~spam], -scores[~spam])
    np.testing.assert_array_equal(found.kept, np.where(spam, found.lead > 0, True))
    np.testing.assert_array_equal(found.points[~spam], X[~spam])
    sparse = PriorSVC(InvariantLoss(FeatureDeletion(k=1), classes="spam"), C=C).fit(csr_array(X), y)
    found = sparse.verify(csr_array(X)).stability["invariant_loss"]
    moved = np.abs(found.points.toarray() - X).max(axis=1) > 0
    assert moved.any()
    assert set(sparse.predict(csr_array(X[moved]))) == {"spam"}


def test_new_rows_of_a_continuous_loss(three):
    X, y = three
    model = PriorSVC(InvariantLoss({4: TURNS}, continuous=True), C=C).fit(X, y)
    found = model.verify(X).stability["invariant_loss"]
    assert found.tried > 50
    assert found.kept[model.predict(X) != 4].all()


@pytest.mark.filterwarnings("ignore::priorsvm.errors.CollapsedModel")
@pytest.mark.filterwarnings("ignore::priorsvm.errors.Recompiled")
@pytest.mark.parametrize(
    "block",
    [
        VirtualSamples({4: RIGHT, 6: UP}, cost=0.5),
        VirtualSamples(RIGHT, cost=[0.5, 0.7], classes=[4]),
        VirtualSupportVectors(RIGHT, classes=4),
        InvariantLoss({4: RIGHT, 6: UP}),
        InvariantLoss(FeatureDeletion(k=1), classes=np.int64(5)),
        Trajectories({4: RIGHT, 6: UP}),
        InvarianceHint(RIGHT, classes=[4, 5]),
        UncertainSamples(0.3, classes=4),
    ],
    ids=lambda block: type(block).__name__,
)
def test_files_and_copies_keep_classes(three, block, tmp_path):
    X, y = three
    model = PriorSVC(block, C=C).fit(X, y)
    save(model, tmp_path / "model.skops")
    loaded = load(tmp_path / "model.skops")
    [copied] = [member.block for member in loaded._models[0].members]
    assert repr(copied) == repr(block)
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))
    assert str(loaded.verify(X) if hasattr(block, "transform") else loaded.verify()) == str(
        model.verify(X) if hasattr(block, "transform") else model.verify()
    )
    assert repr(clone(block)) == repr(block)
    assert block.get_params()["classes"] is block.classes
    name = as_prior(block).names[0]
    path = PriorSVC(block, C=C).fit_path(X, y, {f"{name}__classes": [4, 5]}) if block.classes == 4 else []
    for one, label in zip(path, (4, 5), strict=False):
        expected = PriorSVC(clone(block).set_params(classes=label), C=C).fit(X, y)
        np.testing.assert_allclose(one.objective_, expected.objective_, rtol=1e-7)


def test_a_block_of_an_earlier_version_applies_to_all_classes():
    block = VirtualSamples(RIGHT)
    del block.classes
    assert block.classes is None
    assert block.applies_to(np.array([0, 1])).all()
    assert clone(block).get_params()["classes"] is None


def test_the_formulation_names_the_classes(three):
    X, y = three
    model = PriorSVC(InvariantLoss(RIGHT, classes=[4, 6]) + VirtualSamples({5: UP}), C=C).fit(X, y)
    written = model.formulation().text()
    assert "(rows of classes 4, 6)" in written
    assert "(rows of class 5)" in written
    plain = PriorSVC(InvariantLoss(RIGHT), C=C).fit(X, y)
    assert "rows of class" not in plain.formulation().text()


def test_plots_of_one_class(three):
    X, y = three
    model = PriorSVC(Trajectories({4: TURNS}), C=C).fit(X + 2, y)
    ax = plot.support_trajectories(model, class_of_interest=4)
    assert {line.get_label() for line in ax.lines if line.get_label().startswith("row")}
    plot.decision(model)
    pixels = np.repeat(X, 8, axis=1)
    step = np.zeros(16)
    step[3] = 1.0
    for block in (InvariantLoss({4: Shift(step)}), VirtualSamples(Shift(step), classes=4)):
        model = PriorSVC(block, C=C).fit(pixels, y)
        ax = plot.worst_moves(model, shape=(4, 4), count=40)
        assert len(ax.images) == 2 * np.sum(y == 4)
    joint = PriorSVC(InvariantLoss({4: Shift(step)}), C=C, multi_class="joint").fit(pixels, y)
    assert len(plot.worst_moves(joint, shape=(4, 4), count=40).images) == 2 * np.sum(y == 4)


@pytest.mark.parametrize(
    "block",
    [
        VirtualSamples(RIGHT, classes=4),
        VirtualSupportVectors(RIGHT, classes=4),
        InvariantLoss(RIGHT, classes=4),
        InvariantLoss(TURNS, classes=4, continuous=True),
        InvariantLoss(FeatureDeletion(k=1), classes=4),
        InvariantLoss(FeatureDeletion(k=1), classes=4, method="columns"),
        Trajectories(TURNS, classes=4),
        Trajectories(RIGHT @ UP, classes=4),
        UncertainSamples(0.3, classes=4),
    ],
    ids=lambda block: type(block).__name__,
)
def test_rows_without_a_cost_leave_the_plain_model(block):
    # No row of class 4 is a support vector of the model of class 6, so preselect leaves them out.
    X, y = make_blobs(36, centers=[[5, -9], [2.5, 0.5], [1, 3.5]], cluster_std=0.5, random_state=5)
    y = y + 4
    model = PriorSVC(block, C=C, preselect=True).fit(X, y)
    plain = PriorSVC(C=C, preselect=True).fit(X, y)
    assert not plain._models[2].support[y == 4].any()
    assert model.objective_[2] == pytest.approx(plain.objective_[2], rel=1e-6)
    assert model.verify().checks[2].verdict.holds is not False


# ---------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("block", "error", "message"),
    [
        (VirtualSamples(RIGHT, classes="spma"), InvalidInput, "'spma' is not among.*Did you mean 'spam'"),
        (InvariantLoss({"spm": RIGHT}), InvalidInput, "'spm' is not among.*Did you mean 'spam'"),
        (UncertainSamples(0.1, classes=["ham", 3]), InvalidInput, "label 3 is not among the classes"),
        (Trajectories(TURNS, classes=[]), InvalidInput, "classes is empty"),
        (InvarianceHint({}), InvalidInput, "'invariance_hint'.*transform is an empty dict"),
        (InvarianceHint({"spam": 3}), InvalidType, "transform of class 'spam' must be a Transform, got int"),
        (
            VirtualSupportVectors({"spam": RIGHT}, classes="spam"),
            InvalidInput,
            "dict of class to transform, and classes is given too",
        ),
        (
            InvariantLoss({"spam": RIGHT, "ham": FeatureDeletion(k=1)}),
            InvalidInput,
            "mixes FeatureDeletion with transforms that have a finite orbit",
        ),
        (
            Trajectories({"spam": TURNS, "ham": RIGHT @ UP}),
            InvalidInput,
            "the transforms have 1 and 2 parameters",
        ),
        (Trajectories(coefficients=lambda X, y: X[:, None], span="line", classes="x"), InvalidInput, "'x'"),
    ],
)
def test_wrong_classes_are_named(data, block, error, message):
    with pytest.raises(error, match=message):
        PriorSVC(block).fit(*data)


def test_classes_of_any_kind():
    block = OfClasses()
    block.classes = {"b", "a"}
    assert block.chosen_classes == ["a", "b"]
    block.classes = np.array([3, 1])
    assert block.applies_to(np.array([1, 2, 3])).tolist() == [True, False, True]
    assert block.which_rows() == " of classes 3, 1"
