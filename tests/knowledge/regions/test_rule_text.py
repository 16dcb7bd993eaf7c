"""Rules in words: their inequalities, and messages about texts that are not rules."""

import pickle
import random
import warnings
from fractions import Fraction
from operator import add, eq, ge, le, mul, sub, truediv

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from priorsvm import PriorSVC, Rule
from priorsvm.errors import InvalidInput
from priorsvm.knowledge.regions.parsed_rule import Table
from priorsvm.knowledge.regions.rule_conditions import MAX_ALTERNATIVES, MAX_CONDITIONS
from priorsvm.knowledge.regions.rule_text import BadRule, parse, parse_rule
from priorsvm.knowledge.regions.rule_tokens import MAX_DEPTH

# The inequalities of the first table are about a and b, those of the second about these.
ODD = ["blood pressure", "class", "größe", "体重", "2nd", "OR", "வயது"]

GOOD = [
    # One comparison
    ("a < 1", [([[1, 0]], [1])]),
    ("a <= 1", [([[1, 0]], [1])]),
    ("a ≤ 1", [([[1, 0]], [1])]),
    ("a > 1", [([[-1, 0]], [-1])]),
    ("a >= 1", [([[-1, 0]], [-1])]),
    ("a≥1", [([[-1, 0]], [-1])]),
    ("a = 1", [([[1, 0], [-1, 0]], [1, -1])]),
    ("a == 1", [([[1, 0], [-1, 0]], [1, -1])]),
    ("1 <= a", [([[-1, 0]], [-1])]),
    ("a <= b", [([[1, -1]], [0])]),
    ("a > 0", [([[-1, 0]], [0])]),
    # In words
    *(
        (f"a {words} 60", [([[-1, 0]], [-60])])
        for words in ("over", "above", "at least", "is above", "AT LEAST")
    ),
    *((f"a {words} 60", [([[-1, 0]], [-60])]) for words in ("more than", "is greater than", "higher than")),
    *((f"a {words} 60", [([[1, 0]], [60])]) for words in ("under", "below", "at most", "is less than")),
    *((f"a {words} 60", [([[1, 0], [-1, 0]], [60, -60])]) for words in ("equals", "is equal to")),
    ("a greater than or equal to 1 and b under 2", [([[-1, 0], [0, 1]], [-1, 2])]),
    ("a greater than 1 or b less than or equal to 2", [([[-1, 0]], [-1]), ([[0, 1]], [2])]),
    ("a is between 1 and 2", [([[-1, 0], [1, 0]], [-1, 2])]),
    ("(a over 1 or b over 2) and a under 3", [([[-1, 0], [1, 0]], [-1, 3]), ([[0, -1], [1, 0]], [-2, 3])]),
    # Numbers
    ("a < 10_000", [([[1, 0]], [10000])]),
    ("a < 1.5e3", [([[1, 0]], [1500])]),
    ("a < 2E-2", [([[1, 0]], [0.02])]),
    ("a < 1e+2", [([[1, 0]], [100])]),
    ("a < .5", [([[1, 0]], [0.5])]),
    ("a < 5.", [([[1, 0]], [5])]),
    ("a < 007", [([[1, 0]], [7])]),
    ("a < -2", [([[1, 0]], [-2])]),
    ("a < −2", [([[1, 0]], [-2])]),
    ("a<-+-2", [([[1, 0]], [2])]),
    # Sums
    ("-a < 1", [([[-1, 0]], [1])]),
    ("b / 2 + a >= 80", [([[-1, -0.5]], [-80])]),
    ("2*(a - b) > 3", [([[-2, 2]], [-3])]),
    ("a * 3 - 1 < b + a", [([[2, -1]], [1])]),
    ("-(a + 2*b)/4 <= -(1 - 3)", [([[-0.25, -0.5]], [2])]),
    ("(a) > ((1))", [([[-1, 0]], [-1])]),
    ("2 * -a < 6 / 3 / 2", [([[-2, 0]], [1])]),
    ("a - 1 - 2 < 8 / 2 * 2", [([[1, 0]], [11])]),
    ("(a - a + 2) * b < 1", [([[0, 2]], [1])]),
    # Chains
    ("20 <= a < 40", [([[-1, 0], [1, 0]], [-20, 40])]),
    ("1 > a > b > -1", [([[1, 0], [-1, 1], [0, -1]], [1, 0, 1])]),
    ("a = b = 2", [([[1, -1], [-1, 1], [0, 1], [0, -1]], [0, 0, 2, -2])]),
    ("a < 1 > b", [([[1, 0], [0, 1]], [1, 1])]),
    # Between
    ("a between 1 and 2", [([[-1, 0], [1, 0]], [-1, 2])]),
    ("a + b between 2*a and 3 - b", [([[1, -1], [1, 2]], [0, 3])]),
    ("(a) BETWEEN (1) And ((2))", [([[-1, 0], [1, 0]], [-1, 2])]),
    ("(a between 1 and 2)", [([[-1, 0], [1, 0]], [-1, 2])]),
    (
        "b < 0 and a between 1 and 2 and b > -3",
        [([[0, 1], [-1, 0], [1, 0], [0, -1]], [0, -1, 2, 3])],
    ),
    ("a between 1 and 2 or b between 3 and 4", [([[-1, 0], [1, 0]], [-1, 2]), ([[0, -1], [0, 1]], [-3, 4])]),
    ("2 between a and b", [([[1, 0], [0, -1]], [2, -2])]),
    # Logic
    ("a < 1 AND b < 2", [([[1, 0], [0, 1]], [1, 2])]),
    ("a < 1 Or b < 2", [([[1, 0]], [1]), ([[0, 1]], [2])]),
    ("a < 1 or a < 2 and b < 3", [([[1, 0]], [1]), ([[1, 0], [0, 1]], [2, 3])]),
    ("(a < 1 or a < 2) and b < 3", [([[1, 0], [0, 1]], [1, 3]), ([[1, 0], [0, 1]], [2, 3])]),
    (
        "(a < 1 or a < 2) and (b < 3 or b < 4)",
        [([[1, 0], [0, 1]], [x, y]) for x in (1, 2) for y in (3, 4)],
    ),
    ("((a + 1) < 2)", [([[1, 0]], [1])]),
    ("(a + 1) * 2 < 2 and (b < 1)", [([[2, 0], [0, 1]], [0, 1])]),
    # Negation, and lists
    ("not a > 1", [([[1, 0]], [1])]),
    ("not not a > 1", [([[-1, 0]], [-1])]),
    ("a > 1 and NOT (b > 2)", [([[-1, 0], [0, 1]], [-1, 2])]),
    ("not (a > 1 and b > 2)", [([[1, 0]], [1]), ([[0, 1]], [2])]),
    ("not (a > 1 or b > 2)", [([[1, 0], [0, 1]], [1, 2])]),
    ("not a > 1 and b > 2", [([[1, 0], [0, -1]], [1, -2])]),
    ("a not between 1 and 2", [([[1, 0]], [1]), ([[-1, 0]], [-2])]),
    ("a in (1, 2)", [([[1, 0], [-1, 0]], [1, -1]), ([[1, 0], [-1, 0]], [2, -2])]),
    ("not a != 3", [([[1, 0], [-1, 0]], [3, -3])]),
    ("a = True", [([[1, 0], [-1, 0]], [1, -1])]),
    ("False = a", [([[-1, 0], [1, 0]], [0, 0])]),
    # Layout and spelling
    ("  a<1 and b<2 ", [([[1, 0], [0, 1]], [1, 2])]),
    ("a < 1\n  and b\t<\r\n2\n", [([[1, 0], [0, 1]], [1, 2])]),
    ("(a<1)and(b<2)or(a>3)", [([[1, 0], [0, 1]], [1, 2]), ([[-1, 0]], [-3])]),
    ("`a` < 1 and`b`<2", [([[1, 0], [0, 1]], [1, 2])]),
]

GOOD_NAMES = [
    ("`blood pressure` > 1", 0),
    ("class > 1", 1),
    ("`class` > 1", 1),
    ("größe > 1", 2),
    ("gro\u0308ße > 1", 2),
    ("体重>1", 3),
    ("`2nd` > 1", 4),
    ("`OR` > 1", 5),
    ("வயது > 1", 6),
]

# ¦ stands before the spot the caret has to point at.
BAD = [
    # What a closed region cannot be
    ("a ¦!= 3", "closed region"),
    ("a ¦≠ 3", "closed region"),
    ("b > 1 and (a ¦<> 3)", "closed region"),
    ("not a ¦= 3", "closed region"),
    ("a not ¦in (1, 2)", "closed region"),
    ("a ¦is missing", "a region has no missing values, or use holds='rows'"),
    ("a ¦is 3", "'is' cannot be used: write '='"),
    ("a ¦is not above 3", "'is' cannot be used"),
    ("a ¦at the least 3", "a comparison"),
    ("¦over 60", "a number or a column is missing here"),
    ("a > ¦10__000", "'10__000' is not a number"),
    # What is not linear
    ("a¦*b > 1", "linear in the columns: add a column that contains the product"),
    ("(a + 1) ¦* (2 - a) > 1", "add a column that contains the product"),
    ("a ¦** 2 > 1", "linear in the columns: add a column that contains the power"),
    ("2¦^a > 1", "'^' cannot be used: write a power as a ** 2"),
    ("a¦//2 > 1", "'//' cannot be used: write '/'"),
    ("1 / ¦a > 1", "linear in the columns: divide by numbers only"),
    ("¦log(a) > 1", "functions such as 'log' cannot be used"),
    ("a > 1 and ¦`log`(a) > 1", "functions such as 'log' cannot be used"),
    # What is not a number
    ("a / ¦0 > 1", "divisor is zero"),
    ("a / ¦(2 - 2) > 1", "divisor is zero"),
    ("a > ¦1e999", "number is too large"),
    ("1e60 ¦* 1e60 * a > 1", "number is too large"),
    ("a > ¦1e101", "numbers up to 1e+100"),
    ("9e99 * a ¦+ 9e99 * a > 1", "number is too large"),
    ("9e99 * a ¦> -9e99 * a", "number is too large"),
    ("a > ¦nan", "no column 'nan'"),
    ("a > ¦inf", "no column 'inf'"),
    ("a = ¦'x'", "this column contains numbers"),
    ('¦"a b" = 1', "write column names in backticks"),
    ("a = ¦'x", "this quote is not closed"),
    ("¦2a > 3", "'2a' is not a number (write a product as 2 * a, and no units)"),
    ("a > 3 ¦mmol/l", "is expected here (numbers have the unit of the column: leave units out)"),
    ("(a > 3 ¦years) or b > 2", "closing bracket is expected here (numbers have the unit of the column"),
    ("a == ¦missing", "a missing value is written as: a is missing"),
    ("a > ¦0x10", "'0x10' is not a number"),
    ("a > ¦1.2.3", "'1.2.3' is not a number"),
    ("a > 1¦,5", "a comma cannot be used: write a decimal point in numbers"),
    ("a > ¦1e and b > 2", "'1e' is not a number"),
    # Columns
    ("¦agee > 1", "no column 'agee' (did you mean age?)"),
    ("a > 1 or ¦AGE > 1", "no column 'AGE' (did you mean age?)"),
    ("¦`blod pressure` > 1", "no column 'blod pressure' (did you mean `blood pressure`?)"),
    ("a > 1 and ¦blood pressure > 3", "the column `blood pressure` must be in backticks"),
    ("¦xyz > 1", "no column 'xyz' (the columns are a, b, age, `blood pressure`, `OR`, `2nd`, twin, twin)"),
    ("¦OR > 1", "the column `OR` must be in backticks"),
    ("a > 1 and ¦2nd > 1", "the column `2nd` must be in backticks"),
    ("¦`` > 1", "no column ''"),
    ("a > 1 and ¦twin > 1", "2 columns are named 'twin'"),
    ("¦lambda x: x > 1", "no column 'lambda'"),
    # Something is missing
    ("a > 1 and¦", "a number or a column is missing"),
    ("a > 1 and¦  \n ", "a number or a column is missing"),
    ("a >¦", "a number or a column is missing"),
    ("¦> 3", "a number or a column is missing"),
    ("a + ¦> 2", "a number or a column is missing"),
    ("a > 1 or ¦or b > 1", "a number or a column is missing"),
    ("¦and a > 1", "a number or a column is missing"),
    ("¦*a > 1", "a number or a column is missing"),
    ("a > (¦)", "a number or a column is missing"),
    ("a ==¦= 3", "a number or a column is missing"),
    ("a +¦= 3", "a number or a column is missing"),
    ("a >¦> 3", "a number or a column is missing"),
    ("a¦", "a comparison by <, <=, >, >=, = or 'between' is missing"),
    ("a + 2 * b¦", "a comparison by <"),
    ("a ¦and b > 1", "a comparison by <"),
    ("a ¦3", "a comparison by <"),
    ("(a ¦or b) > 1", "a comparison by <"),
    ("(a) ¦and b > 1", "a comparison by <"),
    ("a > 1 ¦b > 2", "the comparison is complete: 'and' or 'or' is expected"),
    ("a > 1 ¦2", "'and' or 'or' is expected"),
    ("a > 1 ¦(b > 2)", "'and' or 'or' is expected"),
    ("(a > 1) ¦+ 2 > 3", "'and' or 'or' is expected"),
    ("(a > 1 ¦b > 2)", "'and', 'or' or a closing bracket is expected"),
    ("2 + ¦(a > 1) > 1", "a number or a column is expected here, not a condition"),
    ("2 * (a ¦b) > 1", "a closing bracket, or a sign such as +, is expected"),
    ("3 ¦> 2", "depends on no column"),
    ("0 ¦< 20 < a", "depends on no column"),
    ("b > 1 and 2*a ¦< a + a", "depends on no column"),
    ("3 ¦between 1 and 2", "depends on no column"),
    # Between
    ("a between 1¦", "'between' requires a second end"),
    ("a between 1 ¦or b > 2", "'between' requires a second end"),
    ("a between 1 and¦", "a number or a column is missing"),
    ("a between¦", "a number or a column is missing"),
    ("¦between 1 and 2", "a number or a column is missing"),
    ("a between 1 and 2 ¦between 3 and 4", "'and' or 'or' is expected"),
    ("1 < a ¦between 2 and 3", "'and' or 'or' is expected"),
    ("a between 1 and b ¦> 2", "'and' or 'or' is expected"),
    ("a between ¦(1 and 2)", "not a condition"),
    ("a between 1 and 2 and ¦c between 1 and 2", "no column 'c'"),
    # Brackets and backticks
    ("¦(a > 1", "bracket is not closed"),
    ("(a > ¦(1 + b", "bracket is not closed"),
    ("a > 1¦)", "bracket has no opening bracket"),
    ("a > 1 and ¦`b > 2", "backtick is not closed"),
    ("`a` > 1 and ¦`", "backtick is not closed"),
    # Signs of other languages
    ("a ¦:= 3", "':=' cannot be used"),
    ("(a ¦:= 3) > 1", "':=' cannot be used"),
    ("a > 1¦; b > 2", "semicolon cannot be used"),
    ("a > 1 ¦&& b > 2", "'&&' cannot be used: write 'and'"),
    ("(a > 1) ¦| (b > 2)", "'|' cannot be used: write 'or'"),
    ("a ¦=> 3", "'=>' cannot be used: write '>='"),
    ("a¦.b > 1", "'.' cannot be used"),
    ("a¦[0] > 1", "'[' cannot be used"),
    ("a > 1 ¦# so", "'#' cannot be used"),
    ("a > 1¦\0", r"'\x00' cannot be used"),
    ("a > 1\n¦\0", r"'\x00' cannot be used"),
    # The line concerned
    ("a > 1 and\n  ¦c > 2 and\nb > 3", "no column 'c'"),
    ("a > 1\r\nand b¦\r\n", "a comparison by <"),
    ("a\t>\t1\tand ¦c > 1", "no column 'c'"),
]
BAD_COLUMNS = ["a", "b", "age", "blood pressure", "OR", "2nd", "twin", "twin"]


def as_lists(rule):
    return [(part.B.tolist(), part.d.tolist()) for part in rule]


def fault(text, columns=("a", "b")):
    """Return the message about a bad text: the reason, the line, the position of the caret."""
    with pytest.raises(BadRule) as caught:
        parse_rule(text, columns)
    reason, line, caret = str(caught.value).split("\n")
    assert reason.endswith(":")
    assert line[:2] == caret[:2] == "  "
    assert caret.strip() == "^"
    return reason[:-1], line[2:], caret.index("^") - 2


@pytest.mark.parametrize(("text", "meaning"), GOOD)
def test_good(text, meaning):
    rule = parse_rule(text, ["a", "b"])
    assert as_lists(rule) == meaning
    for part in rule:
        assert part.B.dtype == part.d.dtype == float
        assert not np.signbit(part.B[part.B == 0]).any()
        assert not np.signbit(part.d[part.d == 0]).any()


@pytest.mark.parametrize(("text", "column"), GOOD_NAMES)
def test_good_names(text, column):
    (rule,) = parse_rule(text, ODD)
    np.testing.assert_array_equal(rule.B, -np.eye(len(ODD))[[column]])


def test_words_of_columns_stay_words_of_columns():
    columns = ["over", "time", "limit", "hours at work"]
    (rule,) = parse_rule("over > 3 and time under limit", columns)
    np.testing.assert_array_equal(rule.B, [[-1, 0, 0, 0], [0, 1, -1, 0]])
    for text in ("time over limit > 3", "time at least 3"):  # a column may be meant
        with pytest.raises(BadRule, match="comparison"):
            parse_rule(text, columns)


@pytest.mark.parametrize(("text", "words"), BAD)
def test_bad(text, words):
    before, after = text.split("¦")
    reason, line, caret = fault(before + after, BAD_COLUMNS)
    assert words in reason
    assert caret == len(before.split("\n")[-1])
    start, end = before.split("\n")[-1], after.split("\n")[0]
    assert line.rstrip() == (start + end).replace("\t", " ").replace("\0", "\ufffd").rstrip()


@pytest.mark.parametrize("text", ["", "  \n", None, 3, b"a > 1", ["a > 1"]])
def test_no_text(text):
    with pytest.raises(BadRule, match="a rule must be a text such as 'age >= 50 and bmi >= 30', got"):
        parse_rule(text, ["a"])


def test_a_bad_rule_is_an_invalid_input():
    with pytest.raises(InvalidInput) as caught:
        parse_rule("a != 1", ["a"])
    again = pickle.loads(pickle.dumps(caught.value))
    assert isinstance(again, BadRule)
    assert str(again) == str(caught.value)


@pytest.mark.parametrize(
    ("before", "width"),
    [("体重 > 1 and ", 13), ("`体重` > 1 and ", 15), ("e\u0302 > 1 and ", 10), ("कु > 1 and ", 10)],
)
def test_the_caret_counts_places_on_the_screen(before, width):
    columns = ["体重", "ê", "कु"]
    assert fault(before + "xyz > 1", columns)[2] == width


def test_a_long_line_is_cut():
    reason, line, caret = fault("a + " * 100 + "xyz > " + "b + " * 100 + "1")
    assert "no column 'xyz'" in reason
    assert line[caret:].startswith("xyz > b")
    assert line[0] == line[-1] == "…"
    assert len(line) < 130
    assert len(fault("x" * 10000 + "> 1")[0]) < 200
    assert len(fault("9" * 10000 + "x > 1")[0]) < 200


def test_many_columns_are_not_all_listed():
    assert fault("xyz > 1", [f"c{i}" for i in range(99)])[0].endswith("c8, c9, …)")


def test_columns_of_any_kind():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"a": [1.0], "b": [2.0]})
    for columns in (frame.columns, np.array(["a", "b"], dtype=object), ("a", "b")):
        assert as_lists(parse_rule("b < 1", columns)) == [([[0, 1]], [1])]
    assert "no column 'a'" in fault("a > 1", [])[0]


def test_a_column_named_twice_is_no_matter_to_others():
    assert as_lists(parse_rule("a < 1", ["b", "a", "b"])) == [([[0, 1, 0]], [1])]
    # One letter, spelled in two ways
    assert "2 columns are named" in fault("é < 1", ["\u00e9", "e\u0301"])[0]


def test_the_longest_column_without_backticks_is_meant():
    columns = ["blood pressure", "blood pressure, left", "1", "b-"]
    assert "the column `blood pressure, left` must" in fault("blood pressure, left > 1", columns)[0]
    assert "'1.2.3' is not a number" in fault("`b-` > 1.2.3", columns)[0]


# Size


@pytest.mark.slow
def test_brackets_have_a_depth():
    deep = "(" * MAX_DEPTH + "a" + ")" * MAX_DEPTH
    assert as_lists(parse_rule(f"{deep} < 1", ["a"])) == [([[1]], [1])]
    assert as_lists(parse_rule(deep.replace("a", "a < 1"), ["a"])) == [([[1]], [1])]
    for text in (f"({deep}) < 1", "(" * 100_000 + "a"):
        reason, _, caret = fault(text)
        assert f"nested at most {MAX_DEPTH} deep" in reason
        assert caret == MAX_DEPTH


def test_long_texts():
    assert as_lists(parse_rule("-" * 10_001 + "a < 1", ["a"])) == [([[-1]], [1])]
    assert as_lists(parse_rule("a + " * 3000 + "a < 1", ["a"])) == [([[3001]], [1])]
    (rule,) = parse_rule("a < 1 and " * 3000 + "a < 2", ["a"])
    assert rule.B.shape == (3001, 1)


def test_alternatives_have_a_number():
    def either(k):
        return " and ".join(["(a < 1 or b < 1)"] * k)

    assert len(parse_rule(either(9), ["a", "b"])) == 512
    assert len(parse_rule(" or ".join(["a < 1"] * MAX_ALTERNATIVES), ["a"])) == MAX_ALTERNATIVES
    place = len(either(9) + " and ")
    for text in (either(10), either(2000), f"{either(9)} and ({either(9)})"):
        reason, line, caret = fault(text)
        assert f"more than {MAX_ALTERNATIVES} alternatives" in reason
        assert line[caret:][:6] == text[place:][:6]
    assert "more than" in fault(" or ".join(["a < 1"] * (MAX_ALTERNATIVES + 1)))[0]


def test_comparisons_have_a_number():
    (whole,) = parse_rule(" and ".join(["a < 1"] * MAX_CONDITIONS), ["a"])
    assert len(whole.d) >= 1
    reason, _, caret = fault(" and ".join(["a < 1"] * (MAX_CONDITIONS + 1)))
    assert f"at most {MAX_CONDITIONS} comparisons" in reason
    assert caret >= 0


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("b > 1 and a", "such as 'a == True' or 'a >= 1'"),
        (
            "a == 'x'",
            "this column contains numbers: compare it with a number, and write column names in back",
        ),
        ("a + b == 'x'", "a text can only be compared with a column: write column names in backticks"),
        ("'x' is missing", "'missing' is for one column"),
        ("a + b is missing", "'missing' is for one column"),
        ("b > 1 and a missing", "A missing value is written as: a is missing, a is not missing"),
        ("b > 1 and a Missing", "A missing value is written as: a is missing, a is not missing"),
    ],
)
def test_advice_names_the_sides_of_a_comparison(text, words):
    assert words in fault(text)[0]


def test_a_sum_without_a_comparison_has_no_example():
    assert fault("b > 1 and a + b")[0].endswith("'between' is missing here")


def test_a_quantile_requires_training_rows():
    assert fault("a > 90%") == ("a quantile requires training rows: write a number", "a > 90%", 4)


def test_a_column_named_not_negates_nothing():
    assert "is missing here" in fault("a `not` in (1, 2)", ["a", "not"])[0]
    assert len(parse_rule("a not between 1 and 2 or `not` > 3", ["a", "not"])) == 3


@pytest.mark.parametrize("text", ["1e308 * 10 * a > 1", "2 ** 5000 * a > 1"])
def test_a_number_that_overflows_is_refused_without_a_warning(text):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "this number is too large" in fault(text)[0]


# Any rule: numbers are whole or divided by powers of two, so that all sums below are exact and closed
# comparisons can be told apart from open ones on the boundary.

COLUMNS = ["a", "b", "blood pressure"]
numbers = st.sampled_from(["0", "1", "2", "3", "0.5", "1.25", "1e1", "25E-2", "4."])
sums = st.recursive(
    st.tuples(st.just("number"), numbers) | st.tuples(st.just("column"), st.integers(0, 2)),
    lambda inner: (
        st.tuples(st.sampled_from("+-"), inner, inner)
        | st.tuples(st.just("*"), st.tuples(st.just("number"), numbers), inner)
        | st.tuples(st.just("*"), inner, st.tuples(st.just("number"), numbers))
        | st.tuples(st.just("/"), inner, st.tuples(st.just("number"), st.sampled_from(["2", "0.5", "4"])))
        | st.tuples(st.just("minus"), inner)
    ),
    max_leaves=4,
)


def value(node, row):
    """The value of a sum at a row."""
    kind, *parts = node
    if kind == "number":
        return Fraction(parts[0])
    if kind == "column":
        return row[parts[0]]
    x = [value(part, row) for part in parts]
    if kind == "minus":
        return -x[0]
    return {"+": add, "-": sub, "*": mul, "/": truediv}[kind](*x)


def differ_by_a_column(left, right):
    zero = [Fraction(0)] * 3
    units = [[Fraction(i == j) for i in range(3)] for j in range(3)]
    return len({value(left, row) - value(right, row) for row in (zero, *units)}) > 1


def comparable(node):
    kind, sides, _ = node
    if kind == "between":
        return differ_by_a_column(sides[0], sides[1]) and differ_by_a_column(sides[0], sides[2])
    return all(map(differ_by_a_column, sides, sides[1:]))


signs = st.sampled_from(["<", "<=", "≤", ">", ">=", "≥", "=", "=="])
comparisons = st.one_of(
    st.tuples(st.just("compare"), st.tuples(sums, sums), st.tuples(signs)),
    st.tuples(st.just("compare"), st.tuples(sums, sums, sums), st.tuples(signs, signs)),
    st.tuples(st.just("between"), st.tuples(sums, sums, sums), st.just(())),
).filter(comparable)
rules = st.recursive(
    comparisons,
    lambda inner: st.tuples(st.sampled_from(["and", "or"]), st.lists(inner, min_size=2, max_size=3)),
    max_leaves=6,
)
rows = st.lists(st.tuples(*[st.integers(-8, 8).map(lambda k: Fraction(k, 2))] * 3), min_size=1, max_size=20)


def holds(node, row):
    """Whether a rule holds at a row."""
    kind, parts, *more = node
    if kind == "and":
        return all(holds(part, row) for part in parts)
    if kind == "or":
        return any(holds(part, row) for part in parts)
    x = [value(part, row) for part in parts]
    if kind == "between":
        return x[1] <= x[0] <= x[2]
    closed = {"<": le, "≤": le, ">": ge, "≥": ge, "=": eq}
    return all(closed[sign[0]](p, q) for sign, p, q in zip(more[0], x, x[1:], strict=False))


def spoken(node, level=0, rng=None):
    """A rule or a sum in words, in brackets where it needs them and, given rng, elsewhere too."""
    kind, *parts = node
    if kind == "number":
        own, found = 2, [parts[0]]
    elif kind == "column":
        name = COLUMNS[parts[0]]
        own, found = 2, [f"`{name}`" if " " in name or (rng and rng.random() < 0.3) else name]
    elif kind == "minus":
        own, found = 2, ["-", *spoken(parts[0], 2, rng)]
    elif kind in "+-":
        own, found = 0, [*spoken(parts[0], 0, rng), kind, *spoken(parts[1], 1, rng)]
    elif kind in "*/":
        own, found = 1, [*spoken(parts[0], 1, rng), kind, *spoken(parts[1], 2, rng)]
    elif kind == "between":
        x, low, high = (spoken(side, 0, rng) for side in parts[0])
        own, found = 2, [*x, "between", *low, "and", *high]
    elif kind == "compare":
        own, found = 2, spoken(parts[0][0], 0, rng)
        for sign, side in zip(parts[1], parts[0][1:], strict=True):
            found = [*found, sign, *spoken(side, 0, rng)]
    else:
        own = 0 if kind == "or" else 1
        found = spoken(parts[0][0], own + 1, rng)
        for part in parts[0][1:]:
            found = [*found, kind, *spoken(part, own + 1, rng)]
    if own < level or (rng and rng.random() < 0.2):
        found = ["(", *found, ")"]
    return found


def laid_out(tokens, rng):
    """The tokens with blanks of any kind and length, none where none are needed, and words in any case."""
    text = ""
    for token in tokens:
        if token in ("and", "or", "between"):
            token = rng.choice([token, token.upper(), token.title()])
        apart = text and (text[-1].isalnum() or text[-1] == ".") and (token[0].isalnum() or token[0] == ".")
        text += rng.choice([" ", "  ", "\n", "\t", "\r\n ", "\u00a0", *[""] * (0 if apart else 4)]) + token
    return text


def satisfied(rule, row):
    x = np.array([float(v) for v in row])
    return any(bool(np.all(part.B @ x <= part.d)) for part in rule)


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(rules, rows)
def test_a_rule_means_what_it_says(node, rows):
    rule = parse_rule(" ".join(spoken(node)), COLUMNS)
    for row in rows:
        assert satisfied(rule, row) == holds(node, row)


@settings(max_examples=60, deadline=None)
@given(rules, st.integers(0, 2**32))
def test_blanks_and_brackets_change_nothing(node, seed):
    rng = random.Random(seed)
    plain = parse_rule(" ".join(spoken(node)), COLUMNS)
    assert as_lists(parse_rule(laid_out(spoken(node, rng=rng), rng), COLUMNS)) == as_lists(plain)


SIGNS = ["<", "<=", ">", ">=", "=", "==", "≤", "≥", "+", "-", "*", "/", "(", ")", "and", "or", "between"]
OTHERS = ["a", "b", "`blood pressure`", "体重", "é", "1", "2.5", "0", "1e999", "2a", "True", "not", "in"]
REFUSED = ["!=", "≠", ":=", "=>", "**", "//", *"`'\".,;:[]{}#\\@&|^~%$", "\n", "\0", "\ud800", "\u200b"]
pieces = st.lists(
    st.sampled_from([*SIGNS, *OTHERS]) | st.sampled_from([*SIGNS, *OTHERS, *REFUSED]), max_size=14
)


@pytest.mark.slow
@settings(max_examples=400, deadline=None)
@given(st.text() | pieces.map(" ".join) | pieces.map("".join))
def test_any_text_is_read_or_refused(text):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            rule = parse_rule(text, [*COLUMNS, "体重"])
        except BadRule as error:
            message = str(error)
            message.encode()
            if text.strip():
                reason, line, caret = message.split("\n")
                assert reason.isprintable()
                assert line.isprintable()
                assert caret.strip() == "^"
        else:
            assert rule
            for part in rule:
                assert part.B.shape == (len(part.d), 4)
                assert np.isfinite(part.B).all()
                assert np.isfinite(part.d).all()
                assert part.B.any(axis=1).all()


def categories(values):
    """Return a table with one column of numbers and one of texts, and labels."""
    rows = pd.DataFrame({"age": np.arange(float(len(values))), "town": values})
    return rows, np.arange(len(values)) % 2


def test_a_quantile_is_at_most_100_percent():
    rows, labels = categories(["a", "b"] * 10)
    model = PriorSVC(Rule("age >= 100%", 1, mu=1.0)).fit(rows, labels)
    assert "(= 19)" in str(model.report_)
    with pytest.raises(BadRule, match="a quantile is at most 100%"):
        PriorSVC(Rule("age >= 100.1%", 1)).fit(rows, labels)


@pytest.mark.parametrize(("number", "dots"), [(10, False), (11, True)])
def test_more_than_ten_values_are_not_listed(number, dots):
    rows, labels = categories([chr(ord("a") + k) * 4 for k in range(number)] * 2)
    with pytest.raises(BadRule, match="no training row has 'somewhere'") as caught:
        PriorSVC(Rule("town == 'somewhere'", 1)).fit(rows, labels)
    assert ("…" in str(caught.value)) == dots
    assert ("jjjj" in str(caught.value), "kkkk" in str(caught.value)) == (True, False)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("town == 'a'", [True, False, False]),
        ("town != 'a'", [False, True, True]),
        ("town in ('a', 'b')", [True, True, False]),
        ("town not in ('a', 'b')", [False, False, True]),
        ("town is missing", [False, False, False]),
        ("town is not missing", [True, True, True]),
    ],
)
def test_a_value_without_training_rows_is_none_of_the_values(text, expected):
    """Rows of town a and b, and of another town, in which both encoded columns are 0."""
    table = Table(["town"], [np.array([0, 1])], {0: ["a", "b"]}, 2)
    [[condition]] = parse(text, table).alternatives
    rows = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    assert condition.holds(rows, np.zeros((3, 2), bool)).tolist() == expected


def test_a_value_with_a_quote_is_written_with_a_doubled_quote():
    rows, labels = categories(["King's Lynn", "Bath"] * 10)
    model = PriorSVC(Rule("town in ('King''s Lynn')", 0, mu=1.0)).fit(rows, labels)
    assert "10 training rows inside" in str(model.findings_["rule"])
    refused = {"=>": "write '>='", "&": "write 'and'", "^": "write a power as", ";": "semicolon"}
    for word, reason in refused.items():
        with pytest.raises(BadRule, match=reason):
            PriorSVC(Rule(f"age {word} 3", 0)).fit(rows, labels)
