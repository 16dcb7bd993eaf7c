"""Random rules: each is parsed, or refused with a caret, in a short time."""

import time
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from priorsvm import PriorSVC, Rule
from priorsvm.errors import BadRule
from priorsvm.knowledge.regions import rule_text
from priorsvm.knowledge.regions.parsed_rule import ParsedRule, Table
from priorsvm.knowledge.regions.rule_conditions import MAX_ALTERNATIVES, MAX_CONDITIONS
from priorsvm.knowledge.regions.rule_sums import MAX_FACTORS
from priorsvm.knowledge.regions.rule_tokens import MAX_DEPTH, MAX_LENGTH
from tests.fuzz.fuzzing import tries

COLUMNS = ["age", "bmi", "body mass", "größe", "and", "x_1"]
TABLE = Table.of_numbers(COLUMNS)
ROWS = np.random.default_rng(0).normal(size=(7, len(COLUMNS)))
WORDS = [
    *("age", "bmi", "`body mass`", "größe", "`and`", "x_1", "agee", "`", "'a'", '"b', "\u0301", "\x00"),
    *(
        "<",
        "<=",
        ">",
        ">=",
        "=",
        "==",
        "!=",
        "≤",
        "≠",
        "<>",
        "=>",
        "+",
        "-",
        "*",
        "/",
        "**",
        "(",
        ")",
        "[",
        "]",
    ),
    *("and", "or", "not", "between", "in", "is", "is not", "missing", "at least", "more than", "or equal to"),
    *(
        "0",
        "1",
        "-2.5",
        "1e5",
        "1e308",
        "1e400",
        ".5",
        "5.",
        "1_000",
        "90%",
        "101%",
        "1..2",
        ",",
        ";",
        "^",
        "true",
    ),
]
SOUP = st.lists(st.sampled_from(WORDS), min_size=1, max_size=30).map(" ".join)
NUMBERS = st.sampled_from(["0", "1", "2.5", "1e3", ".25"])
NAMES = st.sampled_from(["age", "bmi", "`body mass`", "größe", "`and`", "x_1"])
SUMS = st.recursive(
    NAMES | NUMBERS,
    lambda part: (
        st.tuples(part, st.sampled_from(["+", "-", "*", "/"]), part).map(" ".join)
        | part.map("({})".format)
        | part.map("-{}".format)
    ),
    max_leaves=6,
)
COMPARED = st.tuples(SUMS, st.sampled_from(["<", "<=", ">", ">=", "=", "!=", "at least", "is below"]), SUMS)
CONDITIONS = COMPARED.map(" ".join) | st.tuples(NAMES, NUMBERS, NUMBERS).map(
    lambda parts: "{} between {} and {}".format(*parts)
)
GRAMMAR = st.recursive(
    CONDITIONS,
    lambda part: (
        st.tuples(part, st.sampled_from(["and", "or"]), part).map(" ".join)
        | part.map("({})".format)
        | part.map("not ({})".format)
    ),
    max_leaves=8,
)


def holds(rule):
    """Return a mask of the rows for which all conditions of an alternative hold."""
    gaps = np.zeros(ROWS.shape, bool)
    return np.any([np.all([c.holds(ROWS, gaps) for c in each], axis=0) for each in rule.alternatives], axis=0)


def parsed(text):
    """Return the rule, or the error, after checks of both."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            rule = rule_text.parse(text, TABLE)
        except BadRule as error:
            message = str(error)
            assert "must be a text" in message or message.splitlines()[-1].strip() == "^"
            return error
        inside = holds(rule)
    assert inside.shape == (len(ROWS),)
    assert inside.dtype == bool
    return rule


@tries(300)
@given(SOUP)
def test_words_in_any_order(text):
    parsed(text)


@tries(200)
@given(st.text(max_size=60))
def test_any_text(text):
    parsed(text)


@tries(200)
@given(GRAMMAR)
def test_rules_of_the_grammar(text):
    found = parsed(text)
    allowed = "depends on no column|divisor is zero|too large"
    assert isinstance(found, ParsedRule) or any(word in str(found) for word in allowed.split("|"))


@tries(100)
@given(GRAMMAR)
def test_a_negation_is_the_opposite(text):
    rule = parsed(text)
    opposite = parsed(f"not ({text})")
    assert isinstance(rule, ParsedRule) == isinstance(opposite, ParsedRule)
    if not isinstance(rule, ParsedRule) or "/" in text:  # a quotient by zero satisfies neither
        return
    np.testing.assert_array_equal(holds(rule), ~holds(opposite))


LONG = {
    "characters": ("age > 1 and " * 20_000 + "age > 1", f"at most {MAX_LENGTH} characters"),
    "alternatives": (
        " and ".join(["(age > 1 or bmi > 1)"] * 12),
        f"more than {MAX_ALTERNATIVES} alternatives: use several rules",
    ),
    "comparisons": (" or ".join(["age > 1"] * (MAX_CONDITIONS + 1)), f"at most {MAX_CONDITIONS} comparisons"),
    "brackets": ("(" * 200 + "age" + ")" * 200 + " > 1", f"at most {MAX_DEPTH} deep"),
    "factors": ("*".join(["age"] * (MAX_FACTORS + 2)) + " > 1", f"at most {MAX_FACTORS} products"),
}


@pytest.mark.parametrize("name", LONG)
def test_long_rules_are_refused_with_the_limit(name):
    text, limit = LONG[name]
    start = time.process_time()
    with pytest.raises(BadRule, match=limit):
        PriorSVC(Rule(text.replace("age", "x0").replace("bmi", "x1"), 1)).fit(ROWS[:, :2], np.arange(7) % 2)
    assert time.process_time() - start < 5.0


@pytest.mark.parametrize(
    "unit", ["a_1", "é", "1_0", "''", "``", "not ", "-", "((", "1e", "is ", "more than ", "a b ", "%", "= "]
)
def test_the_time_is_linear_in_the_length(unit):
    start = time.process_time()
    with pytest.raises(BadRule):
        rule_text.parse(unit * (60_000 // len(unit)), TABLE)
    assert time.process_time() - start < 2.0  # a quadratic search takes minutes
