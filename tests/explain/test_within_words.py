"""Texts state the part of the space that ``within`` leaves of a block."""

import numpy as np
import pandas as pd
import pytest

from priorsvm import Box, Monotone, MonotonicityHint, Polyhedron, PriorSVC, Rule
from priorsvm.errors import Infeasible

LIMITS = "within bp 150 to 168"


def clinic(words):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.uniform(20, 78, 80).round(), "bp": rng.uniform(90, 168, 80).round()})
    y = np.where(X.age / 20 + X.bp / 40 + rng.normal(size=80) > 6, "risk", "ok")
    if words:
        X["sex"] = rng.choice(["m", "f"], 80)
    return X, y


@pytest.mark.parametrize("hard", [True, False])
@pytest.mark.parametrize("words", [True, False])
def test_a_rule_states_its_limits_in_every_text(words, hard):
    X, y = clinic(words)
    rule = Rule("age >= 60", label="risk", hard=hard, mu=2.0, within={"bp": (150, 168)})
    model = PriorSVC(rule).fit(X, y)
    asked = model.verify()["rule"].asked
    assert LIMITS in asked if words else "bp from 150 to 168" in asked
    clause = f"where age >= 60, {LIMITS}, the class is 'risk'"
    assert clause in model.methods_text()
    assert model.formulation().blocks[0][1].startswith(clause)


def test_the_proof_of_a_rule_ends_at_its_limits_and_at_the_data():
    X, y = clinic(words=True)
    model = PriorSVC(Rule("age >= 60", label="risk", hard=True, within={"bp": (150, 168)})).fit(X, y)
    found = model.verify()["rule"]
    assert found.holds
    assert found.proven
    assert found.asked == f"score of 'risk' >= 1 where age >= 60, {LIMITS} and the range of the data"
    below = pd.DataFrame({"age": [60.0], "bp": [93.0], "sex": ["m"]})  # in the rule, beyond the limits
    assert model.decision_function(below)[0] < 1


@pytest.mark.parametrize(
    ("within", "end"), [("data", ", within the range of the data"), (None, "where age >= 60")]
)
def test_open_sides_that_end_at_the_data_are_stated(within, end):
    X, y = clinic(words=True)
    model = PriorSVC(Rule("age >= 60", label="risk", hard=True, within=within)).fit(X, y)
    assert model.verify()["rule"].asked.endswith(end)
    closed = "with open sides closed at the range of the data" in model.methods_text()
    assert closed == (within is not None)


def test_a_conflict_states_the_limits_of_its_rules():
    X, y = clinic(words=False)
    risk = Rule("age >= 60", label="risk", hard=True, within={"bp": (150, 168)}).named("a")
    well = Rule("age >= 50", label="ok", hard=True, within={1: (155, None)}).named("b")
    with pytest.raises(Infeasible) as caught:
        PriorSVC(risk + well).fit(X, y)
    assert f"('age >= 60' {LIMITS} is 'risk')" in str(caught.value)
    assert "('age >= 50' within x1 from 155 is 'ok')" in str(caught.value)


def test_other_blocks_state_their_limits():
    X, y = clinic(words=False)
    limits = {"bp": (150, 168)}
    blocks = [
        Box({"age": (60, None)}, label="risk", hard=True, within=limits),
        Polyhedron([[-1.0, 0.0]], [-60.0], label="risk", hard=True, within=limits),
        Monotone({"age": 1}, label="risk", hard=True, within=limits),
    ]
    for block in blocks:
        model = PriorSVC(block).fit(X, y)
        assert "150" in next(iter(model.verify().checks)).verdict.asked
        assert "150" in model.methods_text()
        assert LIMITS in block.words()


@pytest.mark.parametrize("block", [Monotone, MonotonicityHint])
def test_columns_of_an_array_are_named_in_texts(block):
    X, y = clinic(words=False)
    model = PriorSVC(block({"x0": 1, 1: -1}, label="risk")).fit(X.to_numpy(), y)
    [check] = model.verify().checks
    assert check.verdict.asked.startswith("score of 'risk' to rise as x0 rises, x1 falls")
