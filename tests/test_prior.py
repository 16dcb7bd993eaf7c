"""Prior: what `a + 0.5 * b` makes."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone

from priorsvm import (
    ClassCosts,
    InvarianceHint,
    Knowledge,
    OddnessHint,
    OnRowSlack,
    Prior,
    PriorSVC,
    Rule,
    SampleCosts,
    Shift,
    VirtualSamples,
)
from priorsvm.errors import InvalidInput, InvalidType, NameClash
from priorsvm.prior import as_prior


class SharesSlack(OnRowSlack, Knowledge):
    pass


class HasWeight(Knowledge):
    def __init__(self, weight=1.0):
        self.weight = weight


def costs(k=2.0):
    return ClassCosts({1: k})


def listed(prior):
    """Names, weights and representations: all there is to a prior."""
    return [(name, weight, repr(block)) for name, block, weight in prior]


# Sums


def test_a_sum_is_flat():
    a, b, c, d = costs(), OddnessHint(), VirtualSamples(Shift([1.0])), SampleCosts()
    for total in ((a + b) + (c + d), ((a + b) + c) + d, a + (b + (c + d)), sum([a, b, c, d])):
        assert isinstance(total, Prior)
        assert total.names == ["class_costs", "oddness_hint", "virtual_samples", "sample_costs"]
        assert all(isinstance(block, Knowledge) for _, block, _ in total)
        assert len(total) == 4


def test_a_sum_is_a_copy():
    hint = InvarianceHint(Shift([1.0]))
    for total in (hint + hint, sum([hint, hint]), hint.named("a") + hint.named("b"), sum([hint + hint])):
        (_, first), (_, second) = total.blocks
        assert first is not second
        first.mu = 7.0
        first.transform.steps = 9
        assert (hint.mu, second.mu) == (1.0, 1.0)
        assert (hint.transform.steps, second.transform.steps) == (3, 3)


def test_a_sum_of_one_and_a_product_are_copies_too():
    hint = InvarianceHint(Shift([1.0]))
    for prior in (sum([hint]), 0.5 * hint, hint * 2, sum([hint.named("invariance_hint")])):
        prior["invariance_hint"].set_params(mu=7.0, transform__steps=9)
        assert (hint.mu, hint.transform.steps) == (1.0, 3)


def test_adding_leaves_the_terms_as_they_were():
    left, right = costs() + 0.5 * OddnessHint(), OddnessHint().named("odd")
    before = listed(left), listed(right)
    left + right, right + left, 3 * left
    assert (listed(left), listed(right)) == before


def test_arrays_are_not_copied():
    values = np.ones(3)
    assert (SampleCosts(values) + costs())["sample_costs"].costs is values


# Names


def test_default_names_count_from_left_to_right():
    assert (costs(1) + costs(2) + costs(3)).names == ["class_costs", "class_costs_2", "class_costs_3"]
    assert sum([costs(1), OddnessHint(), costs(2)]).names == ["class_costs", "oddness_hint", "class_costs_2"]
    total = costs(1) + costs(2) + costs(3)
    assert [block.costs[1] for _, block, _ in total] == [1, 2, 3]


def test_existing_names_never_change():
    left, right = costs(1) + costs(2), costs(3) + costs(4).named("mine")
    assert (left + right).names == ["class_costs", "class_costs_2", "class_costs_3", "mine"]
    assert (right + left).names == ["class_costs", "mine", "class_costs_3", "class_costs_2"]
    taken = costs(1) + costs(2).named("class_costs_2") + costs(3)
    assert taken.names == ["class_costs", "class_costs_2", "class_costs_3"]


def test_named():
    prior = costs().named("rare")
    assert prior.names == ["rare"]
    assert prior["rare"].costs == {1: 2.0}
    assert (costs() + prior).names == ["class_costs", "rare"]


def test_an_explicit_clash_is_an_error():
    with pytest.raises(NameClash, match=r"two blocks are called 'rare'. Rename one with block.named"):
        costs().named("rare") + OddnessHint().named("rare")
    # Even a default name of another class is explicit here.
    with pytest.raises(NameClash, match="'class_costs'"):
        costs() + OddnessHint().named("class_costs")


def test_items_by_name():
    prior = costs() + OddnessHint(mu=3.0)
    assert prior["oddness_hint"].mu == 3.0
    with pytest.raises(KeyError, match=r"no block 'odd'; the blocks are \['class_costs', 'oddness_hint'\]"):
        prior["odd"]


# Weights


def test_weights_scale_every_term():
    assert [member.weight for member in 0.5 * (costs() + 4 * OddnessHint())] == [0.5, 2.0]
    assert [member.weight for member in (costs() + OddnessHint()) * 3] == [3.0, 3.0]
    assert (0.5 * costs()).weights == {"class_costs": 0.5}
    assert (2 * (0.5 * costs())).weights is None
    assert [m.weight for m in 0 * costs() + OddnessHint()] == [0.0, 1.0]


def test_weights_follow_a_renamed_block():
    total = 0.5 * costs(1) + 0.25 * costs(2)
    assert total.weights == {"class_costs": 0.5, "class_costs_2": 0.25}


@pytest.mark.parametrize("weight", [np.float64(0.5), np.float32(0.5), np.int64(2)])
@pytest.mark.parametrize("thing", [costs(), costs() + OddnessHint()], ids=["block", "prior"])
def test_numpy_numbers_are_numbers(weight, thing):
    for product in (weight * thing, thing * weight):
        assert isinstance(product, Prior)
        assert all(member.weight == weight for member in product)


@pytest.mark.parametrize("weight", [-1.0, float("nan"), float("inf"), pytest.param(10**400, id="huge")])
def test_bad_weights_are_refused_at_once(weight):
    with pytest.raises(
        InvalidInput, match=r"weight of class_costs \+ oddness_hint must be a nonnegative number"
    ):
        weight * (costs() + OddnessHint())


@pytest.mark.parametrize("other", [True, "2", None, [1.0], OddnessHint()])
def test_only_numbers_weigh(other):
    with pytest.raises(TypeError, match=r"unsupported operand|can't multiply"):
        other * costs()


@pytest.mark.parametrize("other", [1, "block", None, OddnessHint, [costs()]])
def test_only_blocks_are_added(other):
    with pytest.raises(TypeError):
        costs() + other
    with pytest.raises(TypeError):
        other + costs()
    with pytest.raises(TypeError):
        (costs() + OddnessHint()) + other


# Validation


@pytest.mark.parametrize(
    ("prior", "error", "message"),
    [
        (Prior(costs()), InvalidType, r"takes a list of \(name, block\), got ClassCosts"),
        (Prior([costs()]), InvalidType, r"takes \(name, block\) pairs, got ClassCosts"),
        (Prior([("a", costs(), 1.0)]), InvalidType, r"takes \(name, block\) pairs"),
        (Prior([(1, costs())]), InvalidType, r"takes \(name, block\) pairs"),
        (Prior([("a", "b")]), InvalidType, "block 'a' must be a Knowledge block, got str"),
        (Prior([("a", ClassCosts)]), InvalidType, r"got the class ClassCosts: write ClassCosts\(\.\.\.\)"),
        (Prior([("a", costs()), ("a", OddnessHint())]), NameClash, "two blocks are called 'a'"),
        (Prior([("a", costs())], {"b": 1.0}), InvalidInput, r"weights name 'b', but the blocks are \['a'\]"),
        (
            Prior([("a", costs())], {"a": -1.0}),
            InvalidInput,
            "weight of block 'a' must be a nonnegative number",
        ),
        (
            Prior([("a", costs())], {"a": None}),
            InvalidInput,
            "weight of block 'a' must be a nonnegative number",
        ),
        (
            Prior([("a", costs())], {"a": True}),
            InvalidInput,
            "weight of block 'a' must be a nonnegative number",
        ),
        (Prior([("a", costs())], [1.0]), InvalidType, r"takes a dict of name to weight, got \[1\.0\]"),
        (HasWeight().named("a"), InvalidInput, "'a' has a parameter called 'weight', .* outer weight"),
        (
            0.5 * SharesSlack(),
            InvalidInput,
            "'shares_slack' uses the slack of the training rows, which an outer weight",
        ),
    ],
)
def test_validate(prior, error, message):
    with pytest.raises(error, match=message):
        prior.validate()


@pytest.mark.parametrize(
    "name", ["", "Big", "two__under", "_first", "last_", "1st", "with space", "é", "a-b", "a\n"]
)
def test_names_that_are_not_allowed(name):
    with pytest.raises(
        InvalidInput, match="is not allowed: use lower-case letters, digits and single underscores"
    ):
        Prior([(name, costs())]).validate()
    with pytest.raises(InvalidInput, match="is not allowed"):  # at once, where it was written
        costs().named(name)


def test_a_name_is_a_text():
    with pytest.raises(InvalidType, match="a block name must be a str, got 3"):
        costs().named(3)


@pytest.mark.parametrize("name", ["svm", "blocks", "weights"])
def test_reserved_names(name):
    with pytest.raises(InvalidInput, match=f"block name '{name}' is reserved"):
        Prior([(name, costs())]).validate()
    with pytest.raises(InvalidInput, match="is reserved"):
        costs().named(name)


@pytest.mark.parametrize("name", ["a", "a1", "tumour_2", "x_1_b"])
def test_names_that_are_allowed(name):
    assert Prior([(name, costs())]).validate().names == [name]


def test_constructor_stores_untouched():
    blocks, weights = [("a", costs())], {"a": 2.0}
    prior = Prior(blocks, weights)
    assert prior.blocks is blocks
    assert prior.weights is weights


def test_as_prior():
    assert as_prior(None).names == []
    assert as_prior(costs()).names == ["class_costs"]
    prior = costs() + OddnessHint()
    assert as_prior(prior) is prior
    with pytest.raises(InvalidType, match="prior must be a block or a sum of blocks, got str"):
        as_prior("balanced")
    with pytest.raises(InvalidType, match=r"got the class ClassCosts: write ClassCosts\(\.\.\.\)"):
        as_prior(ClassCosts)


# Parameters


def test_parameters_by_name():
    prior = InvarianceHint(Shift([1.0]), mu=2.0).named("turn") + 0.5 * OddnessHint()
    params = prior.get_params()
    assert params["turn__mu"] == 2.0
    assert params["turn__transform__steps"] == 3
    assert (params["turn__weight"], params["oddness_hint__weight"]) == (1.0, 0.5)
    assert params["turn"] is prior["turn"]
    assert prior.get_params(deep=False).keys() == {"blocks", "weights"}
    assert all(getattr(prior, k) is v for k, v in prior.get_params(deep=False).items())


def test_parameters_are_set_by_name():
    prior = InvarianceHint(Shift([1.0])).named("turn") + 0.5 * OddnessHint()
    returned = prior.set_params(
        turn__mu=4.0, turn__transform__steps=5, turn__weight=3.0, oddness_hint__hard=True
    )
    assert returned is prior
    assert (prior["turn"].mu, prior["turn"].transform.steps) == (4.0, 5)
    assert prior.weights == {"oddness_hint": 0.5, "turn": 3.0}
    assert prior["oddness_hint"].hard is True


def test_blocks_are_replaced_before_what_is_set_inside_them():
    prior = OddnessHint(mu=1.0) + costs()
    prior.set_params(oddness_hint__mu=9.0, oddness_hint=OddnessHint(mu=2.0, hard=True))
    assert (prior["oddness_hint"].mu, prior["oddness_hint"].hard) == (9.0, True)
    assert prior.names == ["oddness_hint", "class_costs"]
    prior.set_params(blocks=[("odd", OddnessHint())], odd__mu=4.0)
    assert prior["odd"].mu == 4.0


def test_every_parameter_survives_getting_and_setting():
    prior = 0.5 * (InvarianceHint(Shift([1.0]), mu=2.0).named("turn") + OddnessHint())
    again = clone(prior).set_params(**prior.get_params())
    assert listed(again) == listed(prior)


def test_unknown_parameters_are_named():
    with pytest.raises(
        InvalidInput, match=r"no block 'odd' to set 'odd__mu'; the blocks are \['oddness_hint'\]"
    ):
        sum([OddnessHint()]).set_params(odd__mu=1.0)
    with pytest.raises(ValueError, match="OddnessHint has no parameter 'nu'"):
        sum([OddnessHint()]).set_params(oddness_hint__nu=1.0)


def test_parameters_through_the_estimator():
    bare = PriorSVC(OddnessHint(mu=3.0))
    assert bare.get_params()["prior__mu"] == 3.0
    model = PriorSVC(OddnessHint(mu=3.0).named("odd") + costs())
    assert model.get_params()["prior__odd__mu"] == 3.0
    model.set_params(prior__odd__mu=5.0, prior__odd__weight=0.5)
    assert (model.prior["odd"].mu, model.prior.weights) == (5.0, {"odd": 0.5})


def test_a_parameter_without_its_block_is_told_its_whole_name():
    named, both = OddnessHint().named("rich"), OddnessHint().named("rich") + OddnessHint().named("poor")
    with pytest.raises(InvalidInput, match=r"no block 'mu'.* Write prior__rich__mu\.$"):
        PriorSVC(named).set_params(prior__mu=3.0)
    with pytest.raises(InvalidInput, match=r" Write prior__rich__mu or prior__poor__mu\.$"):
        PriorSVC(both).set_params(prior__mu=3.0)


# Blocks that do nothing


class Biuld(Knowledge):
    "Has centres, so it was meant to ask something of f."

    def biuld(self, f, view):
        raise AssertionError("nobody calls it")


class Idle(Knowledge):
    "Has nothing that could be a typo."


@pytest.mark.parametrize(
    ("block", "told"),
    [
        (Biuld(), r"block 'biuld' \(Biuld\) has no effect: .* It has 'biuld'. Did you mean 'build'\?$"),
        (Biuld().named("mine") + OddnessHint(), r"block 'mine' \(Biuld\) has no effect"),
        (0 * Idle(), r"block 'idle' \(Idle\) has no effect: define build, prepare, predict or complete\.$"),
    ],
)
def test_a_block_without_a_method_that_acts_is_refused(block, told):
    with pytest.raises(InvalidInput, match=told):
        PriorSVC(block).fit([[0.0], [1.0]], [0, 1])


# Copies


def test_clone_and_pickle():
    prior = 0.5 * InvarianceHint(Shift([1.0]), mu=2.0).named("turn") + OddnessHint()
    for twin in (clone(prior), pickle.loads(pickle.dumps(prior))):
        assert listed(twin) == listed(prior)
        twin.set_params(turn__mu=9.0, turn__weight=9.0)
        assert (prior["turn"].mu, prior.weights) == (2.0, {"turn": 0.5})
    assert clone(Prior([])).blocks == []


@pytest.mark.parametrize(
    "prior",
    [
        ClassCosts("balanced") + 0.5 * OddnessHint(mu=2.0),
        costs(1) + costs(2) + costs(3),
        costs(1) + (costs(2) + costs(3)),
        0.1234567891 * OddnessHint().named("odd") + 1e-9 * OddnessHint(hard=True),
        3 * InvarianceHint(Shift([0.0, 1.0]), mu=0.1) + 0 * costs(),
        Prior([]),
        Prior([("class_costs_2", costs()), ("class_costs", costs(3))]),
    ],
    ids=repr,
)
def test_repr_evaluates_to_an_equal_prior(prior):
    assert listed(as_prior(eval(repr(prior)))) == listed(prior)


def test_a_model_prints_its_prior_as_a_sum_and_a_long_one_line_by_line():
    short = Rule("a > 1", label=1) + ClassCosts("balanced")
    assert repr(PriorSVC(short, kernel="rbf")) == (
        "PriorSVC(kernel='rbf',\n         prior=Rule(label=1, text='a > 1') + ClassCosts(costs='balanced'))"
    )
    long = short + 0.5 * OddnessHint(mu=3.0).named("odd")
    lines = repr(PriorSVC(long, kernel="rbf")).splitlines()
    assert [line.strip() for line in lines[1:]] == [
        "prior=(Rule(label=1, text='a > 1')",
        "+ ClassCosts(costs='balanced')",
        "+ 0.5 * OddnessHint(mu=3.0).named('odd')))",
    ]
    assert len({line.index(word) for line, word in zip(lines[1:], ["Rule", "+", "+"], strict=True)}) == 1
    assert listed(as_prior(eval(repr(long)))) == listed(long)
