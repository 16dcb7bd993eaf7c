"""The choice of mu="auto" by cross-validation."""

import hashlib
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import priorsvm
from priorsvm import RBF, Box, MissingValues, Monotone, PriorSVC, Rule, SampleCosts, weights
from priorsvm.errors import AgainstData, Infeasible, SwitchedOff
from priorsvm.knowledge.regions.against import outbid_at
from priorsvm.solve.weighted import Weighted
from priorsvm.training import train
from priorsvm.validation import make_task

pytestmark = pytest.mark.filterwarnings("ignore::priorsvm.errors.AgainstData")

FACTORS = [1.0, 0.3, 3.0, 0.0]
RULE = "x0 >= 0.8"


def table(n=40, seed=0):
    """Return rows of two overlapping classes in three columns."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = (X[:, 0] + 0.7 * X[:, 1] + 0.8 * rng.normal(size=n) > 0).astype(int)
    return X, y


def chosen(model, position=0):
    return model._models[0].members[position].block.chosen_weight


def own_folds(X, y, k=5, repeat=0):
    """Return the fold of each row: round the classes in turn, each in the order of digests of its rows."""
    key = {"digest_size": 8, "salt": bytes([repeat])}
    digests = np.array([hashlib.blake2b(row.tobytes(), **key).hexdigest() for row in X + 0.0])
    fold = np.zeros(len(y), int)
    place = 0
    for label in np.unique(y):
        for i in sorted(np.flatnonzero(y == label), key=lambda i: digests[i]):
            fold[i] = place % k
            place += 1
    return fold


def own_auc(y, f, classes, weight=None):
    """Return the area of values of f, which are ties if they agree to nine decimals."""
    f = f.round(9)
    if f.ndim == 1:
        return roc_auc_score(y, f, sample_weight=weight)
    return np.mean([roc_auc_score(y == c, f[:, j]) for j, c in enumerate(classes)])


def own_values(fit, X, y, k, repeat):
    """Return f at each row, from the model fitted without the fold of the row."""
    fold = own_folds(X, y, k, repeat)
    values = {}
    for test in range(k):
        f = fit(fold != test).decision_function(X[fold == test])
        values |= dict(zip(np.flatnonzero(fold == test), f, strict=True))
    return np.array([values[i] for i in range(len(y))])


def own_scores(block, X, y, kappa, k=5, weight=None, repeats=None, **parameters):
    """Return the AUC of the values of f in k folds for each factor, with mu = factor * kappa(rows)."""
    counted = len(y) if weight is None else np.count_nonzero(weight)
    repeats = repeats or max(1, min(4, 80 // counted))
    scores = {}
    for factor in FACTORS:

        def fit(train, factor=factor):
            given = None if weight is None else weight[train]
            mu = factor * kappa(train.sum())
            return PriorSVC(clone(block).set_params(mu=mu), **parameters).fit(X[train], y[train], given)

        values = [own_values(fit, X, y, k, repeat) for repeat in range(repeats)]
        scores[factor] = np.mean([own_auc(y, f, np.unique(y), weight) for f in values])
    return scores


def region_weight(n):
    return min(5.0, n / 4, n)


def own_share(y, area):
    """Return the share of the guess: the mean variance of an AUC over classes against the rest."""
    both_up = area / (2 - area)
    both_down = 2 * area**2 / (1 + area)
    found = []
    for label in np.unique(y)[len(np.unique(y)) == 2 :]:
        up = np.sum(y == label)
        down = np.sum(y != label)
        parts = [area * (1 - area), (up - 1) * (both_up - area**2), (down - 1) * (both_down - area**2)]
        found.append(sum(parts) / (up * down))
    return np.mean(found) / (np.mean(found) + 0.01)


def assert_chosen(found, scores, mu, y=None, alone=None):
    """Compare with the scores, and with the AUC of the rules alone if it is given."""
    assert found.scores == pytest.approx(scores, abs=1e-9)
    assert found.alone == (None if alone is None else pytest.approx(alone, abs=1e-12))
    shrunken = scores
    if alone is not None:
        r = own_share(y, np.mean(list(scores.values())))
        assert found.share == pytest.approx(r, rel=1e-9)
        guess = {0.0: 0.5, 0.3: 0.5 + 0.3 * (alone - 0.45), 1.0: alone + 0.05, 3.0: alone + 0.05}
        shrunken = {a: (1 - r) * scores[a] + r * guess[a] for a in FACTORS}
    assert found.shrunken == pytest.approx(shrunken, abs=1e-9)
    best = max(shrunken.values())
    assert found.factor == next(a for a in FACTORS if shrunken[a] >= best - 1e-12)
    assert found.mu == pytest.approx(found.factor * mu)


# ---------------------------------------------------------------------- the choice


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("label", [0, 1])
def test_the_factor_is_the_best_of_a_cross_validation(seed, label):
    X, y = table(seed=seed)
    block = Rule(RULE, label)
    model = PriorSVC(block, C=2.0).fit(X, y)
    alone = roc_auc_score(y, (2 * label - 1) * (X[:, 0] >= 0.8))
    assert_chosen(chosen(model), own_scores(block, X, y, region_weight, C=2.0), 5.0, y, alone)
    fixed = PriorSVC(Rule(RULE, label, mu=chosen(model).mu), C=2.0).fit(X, y)
    assert model.objective_ == pytest.approx(fixed.objective_, rel=1e-9)
    assert block.mu == "auto"


@pytest.mark.slow
def test_a_kernel_model_and_pairs_of_rows():
    X, y = table(30)
    block = Monotone({0: 1})
    model = PriorSVC(block, kernel=RBF(0.5), C=3.0).fit(X, y)
    assert_chosen(
        chosen(model), own_scores(block, X, y, lambda n: 30.0, repeats=1, kernel=RBF(0.5), C=3.0), 30.0
    )


def test_reversed_rules_are_given_up():
    X, y = table(60, seed=4)
    assert chosen(PriorSVC(Rule("x0 >= 0.3", 0)).fit(X, y)).factor == 0.0


def test_a_constant_f_has_an_area_of_one_half():
    """The rows of a heavy reversed rule leave w = 0 up to rounding, and rounding has no order of rows."""
    X, y = table()
    model = PriorSVC(Rule(RULE, 0, mu=15.0), C=2.0).fit(X, y)
    assert np.ptp(model.decision_function(X)) < 1e-9
    assert weights._auc(y, model.decision_function(X), model.classes_, np.ones(40)) == 0.5


def test_equal_scores_mean_the_standard_weight():
    """The classes are separable in every fold, with every factor."""
    X = np.concatenate([np.linspace(-1, -0.5, 12), np.linspace(0.5, 1, 12)])[:, None]
    y = (X[:, 0] > 0).astype(int)
    found = chosen(PriorSVC(Rule("x0 >= 0.8", 1)).fit(X, y))
    assert set(found.scores.values()) == {1.0}
    assert found.factor == 1.0


@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
@pytest.mark.parametrize("seed", range(2))
def test_more_than_two_classes_have_one_factor_by_the_mean_area(seed, multi_class):
    rng = np.random.default_rng(seed)
    y = np.repeat(["a", "b", "c"], [12, 15, 18])
    X = rng.normal(size=(45, 2)) + np.repeat([[0.0, 0.0], [1.5, 0.0], [0.0, 1.5]], [12, 15, 18], axis=0)
    block = Rule("x0 >= 2", "b")
    model = PriorSVC(block, multi_class=multi_class).fit(X, y)
    scores = own_scores(block, X, y, region_weight, multi_class=multi_class)
    inside = X[:, 0] >= 2
    found = chosen(model)
    if multi_class == "ovr":
        alone = [roc_auc_score(y == c, inside if c == "b" else ~inside) for c in "abc"]
        assert_chosen(found, scores, 5.0, y, np.mean(alone))
    else:  # the pair of a and c has no rule
        pairs = [roc_auc_score((y == "b")[y != other], inside[y != other]) for other in "ca"]
        assert found.scores == pytest.approx(scores, abs=1e-9)
        assert found.alone == pytest.approx(np.mean(pairs))
    assert len({binary.members[0].block.mu for binary in model._models}) == 1


def test_sample_weights_count_in_folds_and_areas():
    X, y = table(50, seed=3)
    weight = np.random.default_rng(1).uniform(0.2, 3.0, size=50)
    block = Rule(RULE, 1)
    model = PriorSVC(block).fit(X, y, weight)
    scores = own_scores(block, X, y, region_weight, weight=weight)
    alone = roc_auc_score(y, X[:, 0] >= 0.8, sample_weight=weight)
    assert_chosen(chosen(model), scores, 5.0, y, alone)


def test_rows_of_weight_zero_are_in_no_fold():
    X, y = table(50, seed=5)
    weight = np.where(np.arange(50) % 4 == 0, 0.0, 1.0)
    kept = weight > 0
    with_zeros = PriorSVC(Rule(RULE, 1)).fit(X, y, weight)
    alone = PriorSVC(Rule(RULE, 1)).fit(X[kept], y[kept])
    assert chosen(with_zeros).scores == pytest.approx(chosen(alone).scores)


@pytest.mark.parametrize("where", ["constructor", "fit"])
def test_row_parameters_are_cut_to_the_folds(where):
    X, y = table(40, seed=6)
    costs = np.random.default_rng(2).uniform(0.1, 4.0, size=40)
    rule = Rule(RULE, 1)
    if where == "constructor":
        model = PriorSVC(SampleCosts(costs) + rule).fit(X, y)
    else:
        model = PriorSVC(SampleCosts() + rule).fit(X, y, sample_costs__costs=costs)
    for factor, score in chosen(model, 1).scores.items():

        def fit(train, factor=factor):
            prior = SampleCosts(costs[train]) + Rule(RULE, 1, mu=factor * 5.0)
            return PriorSVC(prior).fit(X[train], y[train])

        areas = [own_auc(y, own_values(fit, X, y, 5, repeat), [0, 1]) for repeat in range(2)]
        assert score == pytest.approx(np.mean(areas), abs=1e-9)


def test_data_frames_and_lists_are_cut_too():
    pd = pytest.importorskip("pandas")
    X, y = table()
    array = PriorSVC(Rule(RULE, 1)).fit(X, y)
    frame = PriorSVC(Rule(RULE, 1)).fit(pd.DataFrame(X, columns=["x0", "x1", "x2"]), pd.Series(y))
    lists = PriorSVC(Rule(RULE, 1)).fit(X.tolist(), y.tolist())
    assert chosen(array) == chosen(frame) == chosen(lists)


def test_a_fold_that_is_infeasible_counts_one_half(monkeypatch):
    X, y = table(50)
    folds = own_folds(X, y)

    def refuse_one_fold(model, task, *arguments, **keywords):
        rows = task.samples[0].X_train
        if not (rows[:, None] == X[folds == 2]).all(axis=2).any():
            raise Infeasible("no f satisfies it")
        return train(model, task, *arguments, **keywords)

    monkeypatch.setattr("priorsvm.weights.train", refuse_one_fold)
    found = chosen(PriorSVC(Rule(RULE, 1)).fit(X, y)).scores
    monkeypatch.undo()
    for factor in FACTORS:
        f = np.zeros(len(y))
        for k in (0, 1, 3, 4):
            model = PriorSVC(Rule(RULE, 1, mu=factor * 5.0)).fit(X[folds != k], y[folds != k])
            f[folds == k] = model.decision_function(X[folds == k])
        area = own_auc(y[folds != 2], f[folds != 2], [0, 1])
        assert found[factor] == pytest.approx(0.8 * area + 0.2 * 0.5, abs=1e-9)


# ---------------------------------------------------------------------- without a cross-validation


@pytest.mark.filterwarnings("ignore::priorsvm.errors.CollapsedModel")
@pytest.mark.parametrize(("few", "folds"), [(1, 0), (2, 2), (3, 3), (9, 5)])
def test_there_are_as_many_folds_as_rows_of_the_smallest_class(few, folds):
    X, y = table(40)
    keep = np.r_[np.flatnonzero(y == 0), np.flatnonzero(y == 1)[:few]]
    model = PriorSVC(Rule(RULE, 1)).fit(X[keep], y[keep])
    found = chosen(model)
    if folds == 0:
        assert found.scores == {}
        assert found.factor == 1.0
        assert found.mu == region_weight(len(keep))
    else:
        expected = own_scores(Rule(RULE, 1), X[keep], y[keep], region_weight, k=folds)
        assert found.scores == pytest.approx(expected, abs=1e-9)


def test_many_rows_have_the_standard_weight():
    X, y = table(1001)
    found = chosen(PriorSVC(Rule(RULE, 1)).fit(X, y))
    assert found == weights.ChosenWeight(5.0, 1.0, {}, own=found.own)
    assert chosen(PriorSVC(Rule(RULE, 1)).fit(X[:60], y[:60])).scores


@pytest.mark.parametrize(("n", "mu"), [(8, 2.0), (12, 3.0), (40, 5.0)])
def test_the_standard_weight_of_one_rule(n, mu):
    X, y = table(n)
    found = chosen(PriorSVC(Rule(RULE, 1)).fit(X, y))
    assert found.mu == pytest.approx(found.factor * mu)


def test_many_rules_share_the_rows():
    X, y = table(40)
    rules = sum([Rule(f"x0 >= {0.01 * k}", 1).named(f"rule_{k}") for k in range(1, 20)], Rule(RULE, 1))
    model = PriorSVC(rules).fit(X, y)
    mus = {member.block.mu for member in model._models[0].members}
    assert mus == {chosen(model).factor * 40 / 20}


def test_which_blocks_count_and_which_get_a_weight():
    """Blocks that are hard, everywhere or of weight 0 do not count; a given mu counts and stays."""
    X, y = table(12)
    prior = (
        Rule(RULE, 1)
        + Rule("x1 >= 1", 1, mu=2.0).named("given")
        + Box({0: (0.5, 0.6), 1: (0.5, 0.6)}, 1, hard=True).named("hard")
        + Rule("x2 >= 0.5", 1, holds="everywhere").named("everywhere")
        + 0 * Rule("x1 >= 0", 0).named("absent")
    )
    model = PriorSVC(prior).fit(X, y)
    block = {member.name: member.block for member in model._models[0].members}
    assert block["rule"].mu == pytest.approx(chosen(model).factor * min(5, 12 / 4, 12 / 2))
    assert block["given"].mu == 2.0
    assert block["everywhere"].mu == 1.0
    assert block["given"].chosen_weight is None
    assert block["everywhere"].chosen_weight is None


def test_outer_weights_multiply_the_chosen_weight():
    X, y = table(40, seed=1)
    model = PriorSVC(2 * Rule(RULE, 1)).fit(X, y)
    same = PriorSVC(Rule(RULE, 1, mu=2 * chosen(model).mu)).fit(X, y)
    assert model.objective_ == pytest.approx(same.objective_, rel=1e-9)


# ---------------------------------------------------------------------- where it is seen


@pytest.mark.slow
def test_the_choice_is_in_the_findings_and_in_files(tmp_path):
    pytest.importorskip("skops")
    X, y = table()
    model = PriorSVC(Rule(RULE, 1) + Monotone({1: 1}), kernel=RBF(0.3)).fit(X, y)
    assert model.findings_["rule"].weight == chosen(model)
    assert "cross-validated AUC" in str(model.findings_["rule"])
    priorsvm.save(model, tmp_path / "model.skops")
    again = priorsvm.load(tmp_path / "model.skops")
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    assert chosen(again) == chosen(model)
    assert chosen(again, 1) == chosen(model, 1)
    assert again.findings_["rule"] == model.findings_["rule"]
    assert again.objective_ == model.objective_
    assert str(again.verify()) == str(model.verify())
    assert again.prior["rule"].mu == "auto"
    assert clone(again).fit(X, y).objective_ == pytest.approx(model.objective_, rel=1e-6)


def test_a_path_chooses_for_each_combination():
    X, y = table(40, seed=2)
    rule = Rule(RULE, 1)
    costs = [0.01, 10.0]
    path = PriorSVC(rule).fit_path(X, y, {"C": costs})
    for C, member in zip(costs, path, strict=True):
        alone = PriorSVC(rule, C=C).fit(X, y)
        assert chosen(member) == chosen(alone)
        np.testing.assert_allclose(member.decision_function(X), alone.decision_function(X), atol=2e-3)


@pytest.mark.parametrize(("n", "repeats"), [(10, 4), (20, 4), (30, 2), (40, 2), (41, 1), (200, 1)])
def test_folds_of_few_rows_are_drawn_again(n, repeats):
    X, y = table(n)
    model = PriorSVC(Rule(RULE, 1))
    task = make_task(model, X, y, None, {})
    assert weights._repeats(task) == repeats
    drawn = {tuple(map(tuple, weights._folds(task, repeat))) for repeat in range(repeats)}
    assert len(drawn) == repeats


def test_folds_of_expensive_models_are_drawn_once():
    X, y = table(20)
    rule = Rule(RULE, 1)
    for model in (
        PriorSVC(rule, norm="l1"),
        PriorSVC(rule + Monotone({1: 1}), kernel="rbf"),
        PriorSVC(rule + Rule("x1 >= 1", 1, holds="everywhere").named("everywhere")),
    ):
        assert weights._repeats(make_task(model, X, y, None, {})) == 1


def test_fits_are_deterministic():
    X, y = table()
    one, other = (chosen(PriorSVC(Rule(RULE, 1), kernel="rbf").fit(X, y)) for _ in range(2))
    assert one == other


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_folds_compute_neither_findings_nor_warnings(kernel, monkeypatch):
    X, y = table(30)
    calls = []
    for name in ("findings", "cautions"):
        method = getattr(Rule, name)

        def counted(self, f, view, name=name, method=method):
            calls.append(name)
            return method(self, f, view)

        monkeypatch.setattr(Rule, name, counted)
    PriorSVC(Rule(RULE, 1), kernel=kernel).fit(X, y)
    assert sorted(calls) == ["cautions", "findings"]


def test_folds_end_their_rounds_early(monkeypatch):
    """A hard block everywhere keeps its promise in the final fit, and AUC of the folds need no promise."""
    X, y = table(30)
    rounds = []

    def counted(*arguments, **keywords):
        binaries = train(*arguments, **keywords)
        rounds.append(len(binaries[0].history))
        return binaries

    monkeypatch.setattr(weights, "train", counted)
    hard = Box({0: (1.0, 2.0), 1: (-2.0, 1.0)}, 1, hard=True)
    model = PriorSVC(Rule(RULE, 1) + hard, kernel="rbf").fit(X, y)
    assert len(rounds) == 5 * len(FACTORS)
    assert max(rounds) < model.n_rounds_
    assert model.verify()["box"].holds


def test_the_factors_of_a_fold_share_the_kernel_matrix(monkeypatch):
    """One matrix of rows and points, and one of the rows alone for factor 0, in each of five folds."""
    X, y = table(50)
    calls = []
    whole = Weighted._gram

    def counted(self):
        calls.append(len(self))
        return whole(self)

    monkeypatch.setattr(Weighted, "_gram", counted)
    PriorSVC(Rule(RULE, 1), kernel="rbf").fit(X, y)
    assert calls == [90, 40] * 5


@pytest.mark.slow
def test_the_variance_of_an_auc_is_that_of_exponential_scores():
    """Hanley and McNeil's variance is exact for exponential scores."""
    rng = np.random.default_rng(0)
    y = np.r_[np.zeros(12, int), np.ones(8, int)]
    scale = np.where(y == 1, 3.0, 1.0)  # AUC 3 / 4
    scores = rng.exponential(scale, (4000, len(y)))
    areas = np.mean(scores[:, y == 1, None] > scores[:, None, y == 0], axis=(1, 2))
    task = make_task(PriorSVC(), rng.normal(size=(20, 1)), y, None, {})
    assert np.mean(areas) == pytest.approx(0.75, abs=0.01)
    assert weights._variance(task, 0.75) == pytest.approx(np.var(areas), rel=0.06)
    assert weights._variance(task, 1.0) == 0


def test_no_rows_inside_leave_the_standard_weight_in_doubt():
    """The guess prefers the factor 1 if neither the folds nor the rows inside contradict."""
    found = weights.ChosenWeight(1.0, 1.0, {1.0: 0.7, 0.3: 0.7, 3.0: 0.7, 0.0: 0.71}, 5, 4, 0.5, 0.5)
    assert max(FACTORS, key=found.shrunken.get) == 1.0
    against = weights.ChosenWeight(1.0, 1.0, found.scores, 5, 4, 0.4, 0.5)
    assert max(FACTORS, key=against.shrunken.get) == 0.0
    sure = weights.ChosenWeight(1.0, 1.0, found.scores, 5, 4, 0.5, 0.01)
    assert max(FACTORS, key=sure.shrunken.get) == 0.0


def test_blocks_without_classes_of_rows_have_no_guess():
    X, y = table(30)
    found = chosen(PriorSVC(Monotone({0: 1}), kernel=RBF(0.5)).fit(X, y))
    assert found.alone is None
    assert found.shrunken == found.scores
    assert "rules alone" not in str(found)


def test_completed_values_do_not_count_as_evidence_of_the_rules():
    X, y = table(40)
    X[:5, 0] = np.nan
    X[5:8, 2] = np.nan
    model = PriorSVC(MissingValues(confidence=0.5) + Rule("x0 >= 0.5", 1)).fit(X, y)
    inside = X[:, 0] >= 0.5
    assert chosen(model, 1).alone == pytest.approx(roc_auc_score(y, inside))
    found = model.findings_["rule"]
    assert found.rows == inside.sum()
    completed = model._models[0].training.X_train[:5, 0] >= 0.5
    assert found.completed == completed.sum() > 0
    assert f"{completed.sum()} more by completed values" in str(found)


def test_a_warning_against_a_rule_counts_given_values_only():
    X, y = table(40)
    X[:5, 0] = np.nan
    with pytest.warns(AgainstData, match=r"of another class, where \d+% are expected"):
        model = PriorSVC(MissingValues(confidence=0.5) + Rule("x0 >= 0.5", 0, mu=2.0)).fit(X, y)
    assert "more by completed values" in str(model.findings_["rule"])


def test_rules_that_are_switched_off_warn_once():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(60, 2))
    y = (X[:, 0] + 0.8 * rng.normal(size=60) > 0).astype(int)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = PriorSVC(Rule("x0 > 0.5", 0) + Rule("x0 < -0.5", 1).named("low"), C=0.1).fit(X, y)
    found = model.findings_["rule"]
    assert found.weight.mu == 0
    assert "switched off, mu = 0 rows" in str(found)
    assert str(model.explain([1.0, 0.0]).rules[0]).endswith("The prediction disagrees. Its weight is 0.")
    off = [str(warning.message) for warning in caught if warning.category is SwitchedOff]
    assert len(off) == 1
    assert off[0].startswith(
        "switched off 'rule', 'low': mu='auto' chose the weight 0: AUC after shrinkage 0."
    )
    decided = found.weight.shrunken
    assert max(decided, key=decided.get) == 0
    assert all(f"{score:.3f} with {factor:g}" in off[0] for factor, score in decided.items())
    assert "; cross-validated AUC 0." in off[0]
    assert found.warnings[-1] == off[0].removeprefix("switched off 'rule', 'low': ")
    assert {warning.category for warning in caught} == {AgainstData, SwitchedOff}


@pytest.mark.parametrize("n", [60, 1100])
def test_one_rule_has_its_own_area(n):
    """With more than 1000 rows there is no validation, and the area is there as well."""
    X, y = table(n, seed=1)
    found = chosen(PriorSVC(Rule("x0 > 0.5", 1)).fit(X, y))
    inside = X[:, 0] > 0.5
    assert found.own == pytest.approx(0.5 + (inside[y == 1].mean() - inside[y == 0].mean()) / 2)
    assert "AUC of this rule alone" not in str(found) or n > 1000


def test_a_rule_that_is_switched_off_warns_although_f_keeps_it():
    """The rule is right but its rows are not needed: f without it has the same class there."""
    X, y = table(200, seed=1)
    y = (X[:, 0] + 0.1 * X[:, 1] > 0).astype(int)
    rule = Rule("x0 > 1 or x1 > 1.5", 1)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = PriorSVC(rule).fit(X, y)
    assert chosen(model).factor == 0
    assert SwitchedOff in {warning.category for warning in caught}


def test_the_text_of_an_outbid_rule():
    assert "outbid it at 80%" in outbid_at(8, 10, "places", "'a > 1' is 1", None).text
    low = weights.ChosenWeight(1.5, 0.3, {0.3: 0.8, 1.0: 0.7})
    assert "mu='auto' chose 1.5 rows" in outbid_at(8, 10, "places", "'a > 1' is 1", low).text
    assert outbid_at(5, 10, "places", "'a > 1' is 1", low) is None


@pytest.mark.filterwarnings("ignore::priorsvm.errors.PriorSVMWarning")
def test_the_area_of_each_rule_alone_shows_a_reversed_rule():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = (X[:, 0] + X[:, 1] + 0.5 * rng.normal(size=60) > 0).astype(int)
    texts = {"a": "x0 >= 0.5", "b": "x1 >= 0.5", "c": "x1 <= -0.5"}
    prior = sum((Rule(texts[k], 1).named(k) for k in "bc"), Rule(texts["a"], 1).named("a"))
    found = PriorSVC(prior).fit(X, y).findings_
    for name, inside in (("a", X[:, 0] >= 0.5), ("b", X[:, 1] >= 0.5), ("c", X[:, 1] <= -0.5)):
        own = found[name].weight.own
        assert own == pytest.approx(roc_auc_score(y, inside))
        assert f"AUC of this rule alone {own:.3f}" in str(found[name])
    assert found["c"].weight.own < 0.5 < min(found["a"].weight.own, found["b"].weight.own)
    alone = PriorSVC(Rule("x0 >= 0.5", 1)).fit(X, y).findings_["rule"]
    assert alone.weight.own == alone.weight.alone
    three = PriorSVC(prior).fit(X, y + (X[:, 2] > 0.8)).findings_[1]["a"]
    assert 0.0 < three.weight.own < 1.0


def test_weights_count_rows_twice_in_the_loss_and_once_in_the_pool():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    y = (X[:, 0] + rng.normal(size=40) > 0).astype(int)
    weight = np.where(np.arange(40) < 15, 2.0, 1.0)
    twice = np.repeat(np.arange(40), weight.astype(int))
    options = {"scale": "standard", "kernel": "rbf"}
    everywhere = Rule("x0 >= 1", 1, holds="everywhere", mu=2.0)
    for prior in (None, everywhere):
        f = PriorSVC(prior, **options).fit(X, y, sample_weight=weight).decision_function(X)
        g = PriorSVC(prior, **options).fit(X[twice], y[twice]).decision_function(X)
        np.testing.assert_allclose(f, g, atol=2e-3)
    rule = Rule("x0 >= 1", 1, mu=2.0)
    weighted = PriorSVC(rule, **options).fit(X, y, sample_weight=weight)
    added = weighted._models[0].sample.X[40:]
    plain = PriorSVC(rule, **options).fit(X, y)._models[0].sample.X[40:]
    np.testing.assert_allclose(added, plain)
    rows = np.vstack([X[twice], added])
    labels = np.concatenate([y[twice], np.ones(len(added), int)])
    costs = np.concatenate([np.ones(len(twice)), np.full(len(added), 2.0 / len(added))])
    scale = StandardScaler().fit(X[twice])
    kernel = RBF(gamma=weighted.kernel_.gamma)
    reference = SVC(kernel="precomputed", C=1.0, tol=1e-10)
    inner = scale.transform(rows)
    reference.fit(kernel(inner, inner), labels, sample_weight=costs)
    g = reference.decision_function(kernel(scale.transform(X), inner))
    np.testing.assert_allclose(weighted.decision_function(X), g, atol=1e-5)
