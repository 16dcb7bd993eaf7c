"""Arguments, blocks and rows that the joint model refuses."""

import re

import numpy as np
import pytest
from scipy.sparse import csr_array

from priorsvm import (
    Box,
    FeatureDeletion,
    FeatureScaling,
    FromFunction,
    InvariantLoss,
    MissingValues,
    MonotonicityHint,
    PriorSVC,
    Shift,
    Trajectories,
    UncertainSamples,
    VirtualSamples,
)
from priorsvm.errors import InvalidInput, InvalidType, MissingCapability

MOVES = Shift([[0.3, 0.1, 0.0], [0.0, 0.2, 0.2]], steps=5)
STAYS = FromFunction(lambda X, theta: X, thetas=[0.0])


def joint(prior=None, **parameters):
    return PriorSVC(prior, multi_class="joint", **parameters)


# -------------------------------------------------------------------------------- refusals

OTHERS = {
    "uncertain_samples": UncertainSamples(0.1),
    "trajectories": Trajectories(Shift([0.1, 0.0, 0.0]), degree=1),
    "box": Box({0: (0.0, 1.0)}, 1, holds="everywhere"),
    "monotonicity_hint": MonotonicityHint({0: 1}, label=1),
    "missing_values": MissingValues(),
}


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"norm": "l1"}, "norm='l2'"),
        ({"loss": "squared_hinge"}, "loss='hinge'"),
        ({"n_centres": 5, "kernel": "rbf"}, "n_centres=None"),
        ({"preselect": True}, "preselect=False"),
        ({"solver": "CLARABEL"}, "solver='auto'"),
        ({"solver": ["COLUMNS", "CLARABEL"]}, "solver='auto'"),
        ({"solver_options": {"max_iter": 5}}, "without solver_options"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_parameters_that_are_refused(parameters, message, draw):
    X, y = draw()
    with pytest.raises(InvalidInput, match=re.escape(message)) as refused:
        joint(**parameters).fit(X, y)
    assert "multi_class='joint'" in str(refused.value)


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("beside", [None, InvariantLoss(MOVES)], ids=["alone", "beside"])
def test_other_blocks_are_refused_by_name(name, beside, draw):
    X, y = draw()
    block = OTHERS[name]
    with pytest.raises(MissingCapability, match=f"'{name}'.*multi_class='joint'.*multi_class='ovr'"):
        joint(block if beside is None else beside + block).fit(X, y)


def test_other_blocks_of_weight_zero_are_not_there(draw):
    X, y = draw()
    silent = joint(0 * VirtualSamples(MOVES) + 0 * OTHERS["box"] + InvariantLoss(MOVES)).fit(X, y)
    assert silent.objective_ == pytest.approx(joint(InvariantLoss(MOVES)).fit(X, y).objective_, rel=1e-12)


def test_two_losses_are_refused(draw):
    X, y = draw()
    with pytest.raises(MissingCapability, match=r"'second'.*one InvariantLoss"):
        joint(InvariantLoss(MOVES) + InvariantLoss(STAYS).named("second")).fit(X, y)


@pytest.mark.parametrize("method", ["all", "closed"])
def test_methods_that_are_refused(method, draw):
    X, y = draw()
    transform = FeatureDeletion(1) if method == "closed" else MOVES
    with pytest.raises(
        InvalidInput, match=f"'invariant_loss'.*column generation and passes only, not '{method}'"
    ):
        joint(InvariantLoss(transform, method=method)).fit(X, y)


def test_moves_in_between_are_refused(draw):
    X, y = draw()
    with pytest.raises(InvalidInput, match=r"'invariant_loss'.*continuous=True"):
        joint(InvariantLoss(MOVES, continuous=True)).fit(X, y)


def test_confusion_is_for_the_joint_model(draw):
    X, y = draw()
    with pytest.raises(InvalidInput, match=r"'invariant_loss'.*confusion requires multi_class='joint'"):
        PriorSVC(InvariantLoss(MOVES, confusion={(0, 1): 2.0})).fit(X, y)


@pytest.mark.parametrize(
    ("confusion", "message"),
    [
        ([(0, 1, 2.0)], "must be a dict"),
        ({0: 2.0}, "the key 0"),
        ({(0, 1, 2): 2.0}, "the key (0, 1, 2)"),
        ({(0, 7): 2.0}, "the key (0, 7). A key is a pair of two different classes of [0, 1, 2]"),
        ({(0, 1): 0.0}, "of (0, 1) must be a positive number, got 0.0"),
        ({(0, 1): -1.0}, "got -1.0"),
        ({(0, 1): np.inf}, "got inf"),
        ({(0, 1): np.nan}, "got nan"),
        ({(0, 1): "much"}, "got 'much'"),
        ({(0, 1): True}, "got True"),
    ],
)
def test_confusion_that_makes_no_sense(confusion, message, draw):
    X, y = draw()
    with pytest.raises(InvalidInput, match=re.escape(message)) as refused:
        joint(InvariantLoss(MOVES, confusion=confusion)).fit(X, y)
    assert "confusion" in str(refused.value)
    assert "'invariant_loss'" in str(refused.value)


def test_a_class_is_not_confused_with_itself(draw):
    X, y = draw()
    with pytest.raises(InvalidInput, match="confusion"):
        joint(InvariantLoss(MOVES, confusion={(0, 0): 2.0})).fit(X, y)


def test_what_kinds_of_rows_are_refused(draw):
    X, y = draw()
    with pytest.raises(InvalidType, match="'invariant_loss' does not accept sparse X"):
        joint(InvariantLoss(MOVES)).fit(csr_array(X), y)
    with pytest.raises(InvalidType, match="sparse X requires a linear model"):
        joint(kernel="rbf").fit(csr_array(X), y)
    with pytest.raises(MissingCapability, match=r"FeatureScaling has a continuous range of factors"):
        joint(InvariantLoss(FeatureScaling(1)), kernel="rbf").fit(X, y)
    with pytest.raises(InvalidInput, match="multi_class must be one of 'ovr', 'ovo', 'joint', got 'all'"):
        PriorSVC(multi_class="all").fit(X, y)
