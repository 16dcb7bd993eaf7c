"""Hard rules about values of categories that no training row has."""

import numpy as np
import pytest

from priorsvm import Monotone, PriorSVC, Rule

pd = pytest.importorskip("pandas")

VALUES = ["t", "m", "n"]


def table(n=60):
    """Return rows of three numbers and a column whose value 'm' does not occur."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(n, 3)), columns=list("abc"))
    y = (X.a + X.b + rng.normal(size=n) > 0).astype(int).to_numpy()
    return X.assign(k=pd.Categorical(np.resize(["t", "n"], n), VALUES)), y


def in_region(X, count=2000):
    """Return rows with the value 'm' in the range of the data, of which a is at least 0.5."""
    numbers = X[list("abc")]
    rng = np.random.default_rng(1)
    rows = pd.DataFrame(rng.uniform(numbers.min(), numbers.max(), (count, 3)), columns=list("abc"))
    rows["a"] = rng.uniform(0.5, numbers.a.max(), count)
    return rows.assign(k=pd.Categorical(["m"] * count, VALUES))


@pytest.mark.slow
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize(
    "text", ["k in ('t', 'm') and a >= 0.5", "k != 'n' and a >= 0.5", "a >= 0.5", "a - b >= 0.5 and k != 'n'"]
)
def test_a_hard_rule_holds_at_a_value_without_rows(text, kernel):
    X, y = table()
    model = PriorSVC(Rule(text, label=1, hard=True), kernel=kernel).fit(X, y)
    rows = in_region(X)
    if "b" in text:
        rows = rows[rows.a - rows.b >= 0.5]
    assert model.decision_function(rows).min() >= 1 - 1e-3
    assert model.verify()["rule"].holds


def test_monotone_everywhere_has_a_region_for_a_value_without_rows():
    X, y = table()
    model = PriorSVC(Monotone({"a": 1}, hard=True), kernel="rbf").fit(X[["a", "k"]], y)
    regions = [requirement.region for requirement in model._models[0].states["monotone"].requirements]
    assert sorted(tuple(region.low[1:]) for region in regions) == [(0, 0, 1), (0, 1, 0), (1, 0, 0)]


def test_a_free_column_with_a_value_without_rows_is_not_named():
    X, y = table()
    found = PriorSVC(Rule("a >= 0.5", label=1, mu=1.0, holds="everywhere")).fit(X, y).verify()["rule"]
    assert "k" not in found.asked.split("where")[0]
