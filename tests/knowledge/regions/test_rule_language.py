"""The language of rules: texts against pandas, places of errors, and the time to parse."""

import operator
import time

import numpy as np
import pytest

from priorsvm import Box, MissingValues, PriorSVC, Region, Rule
from priorsvm.errors import BadRule, FarFromData, InvalidInput
from priorsvm.knowledge.regions.groups import MAX_COMBINATIONS, on_values
from priorsvm.knowledge.regions.on_rows import Pool, points_on_rows
from priorsvm.knowledge.regions.requirement import Requirement
from priorsvm.knowledge.regions.row_set import RowSet
from priorsvm.knowledge.regions.rule_text import parse_rule
from priorsvm.knowledge.regions.rule_tokens import MAX_LENGTH
from priorsvm.knowledge.regions.sets import BoxSet, PolyhedronSet
from priorsvm.validation import make_task

pd = pytest.importorskip("pandas")


def table(n=200, seed=0):
    """Rows with whole numbers, so that many lie exactly on limits."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.integers(30, 80, n).astype(float),
            "sex": rng.choice(["female", "male"], n),
            "weight": rng.integers(50, 110, n).astype(float),
            "height": rng.choice([1.5, 1.6, 1.75, 1.8], n),
            "chest pain": pd.Categorical(
                rng.choice(["typical", "atypical", "none"], n), ["typical", "atypical", "none", "other"]
            ),
            "grade": pd.Categorical(rng.integers(1, 4, n)),
            "smoker": rng.random(n) < 0.3,
            "größe": rng.integers(0, 5, n).astype(float),
        }
    )
    frame.loc[rng.choice(n, n // 10, replace=False), "sex"] = None
    return frame, np.where(rng.random(n) < 0.5, "ill", "well")


FRAME, LABELS = table()

# A text, and the same condition in pandas.
GOOD = [
    ("sex == 'female'", lambda X: X.sex == "female"),
    ("sex = 'female'", lambda X: X.sex == "female"),
    ('sex == "male"', lambda X: X.sex == "male"),
    ("'male' == sex", lambda X: X.sex == "male"),
    ("sex equals 'male'", lambda X: X.sex == "male"),
    ("`sex` == 'male'", lambda X: X.sex == "male"),
    ("sex != 'female'", lambda X: X.sex != "female"),
    ("sex ≠ 'female'", lambda X: X.sex != "female"),
    ("sex <> 'female'", lambda X: X.sex != "female"),
    ("not sex == 'female'", lambda X: ~(X.sex == "female")),
    ("not sex != 'female'", lambda X: X.sex == "female"),
    ("not not sex == 'female'", lambda X: X.sex == "female"),
    ("sex in ('female', 'male')", lambda X: X.sex.isin(["female", "male"])),
    ("sex in ['female']", lambda X: X.sex.isin(["female"])),
    ("sex in ('female',)", lambda X: X.sex.isin(["female"])),
    ("sex not in ('female')", lambda X: ~X.sex.isin(["female"])),
    ("`chest pain` in ('typical', 'none')", lambda X: X["chest pain"].isin(["typical", "none"])),
    ("`chest pain` NOT IN ('typical', 'none')", lambda X: ~X["chest pain"].isin(["typical", "none"])),
    ("`chest pain` == 'other'", lambda X: X["chest pain"] == "other"),
    (
        "`chest pain` != 'typical' and `chest pain` != 'none'",
        lambda X: (X["chest pain"] != "typical") & (X["chest pain"] != "none"),
    ),
    (
        "`chest pain` in ('typical', 'none') and `chest pain` in ('none', 'other')",
        lambda X: X["chest pain"] == "none",
    ),
    ("grade == 2", lambda X: X.grade == 2),
    ("grade in (1, 3)", lambda X: X.grade.isin([1, 3])),
    ("grade != 3", lambda X: X.grade != 3),
    ("smoker == true", lambda X: X.smoker),
    ("smoker = False", lambda X: ~X.smoker),
    ("smoker == 1", lambda X: X.smoker),
    ("not smoker == 1", lambda X: ~X.smoker),
    ("sex is missing", lambda X: X.sex.isna()),
    ("sex IS NOT MISSING", lambda X: X.sex.notna()),
    ("not sex is missing", lambda X: X.sex.notna()),
    ("age is not missing and age > 50", lambda X: X.age > 50),
    ("sex == 'female' and age > 50", lambda X: (X.sex == "female") & (X.age > 50)),
    ("sex == 'female' or age > 70", lambda X: (X.sex == "female") | (X.age > 70)),
    ("not (sex == 'female' and age > 50)", lambda X: ~((X.sex == "female") & (X.age > 50))),
    ("not (sex == 'female' or age > 50)", lambda X: ~((X.sex == "female") | (X.age > 50))),
    ("not sex == 'female' and age > 50", lambda X: ~(X.sex == "female") & (X.age > 50)),
    (
        "not (age > 50 and not (sex == 'male' or weight < 70))",
        lambda X: ~((X.age > 50) & ~((X.sex == "male") | (X.weight < 70))),
    ),
    (
        "not (age > 50 and weight < 80) and age > 50",
        lambda X: (X.age > 50) & (X.weight >= 80),
    ),
    (
        "(age < 40 or age >= 60) and (age < 50 or weight > 80)",
        lambda X: ((X.age < 40) | (X.age >= 60)) & ((X.age < 50) | (X.weight > 80)),
    ),
    (
        "(sex == 'female' or age > 60) and (sex == 'male' or weight > 80)",
        lambda X: ((X.sex == "female") | (X.age > 60)) & ((X.sex == "male") | (X.weight > 80)),
    ),
    ("50 <= age < 60", lambda X: (X.age >= 50) & (X.age < 60)),
    ("50 < age <= 60", lambda X: (X.age > 50) & (X.age <= 60)),
    ("60 > age >= 50", lambda X: (X.age >= 50) & (X.age < 60)),
    ("40 <= age < weight < 90", lambda X: (X.age >= 40) & (X.age < X.weight) & (X.weight < 90)),
    ("not 50 <= age < 60", lambda X: ~((X.age >= 50) & (X.age < 60))),
    ("age between 50 and 60", lambda X: X.age.between(50, 60)),
    ("age not between 50 and 60", lambda X: ~X.age.between(50, 60)),
    ("age in (50, 55, 60)", lambda X: X.age.isin([50, 55, 60])),
    ("age not in (50, 55, 60)", lambda X: ~X.age.isin([50, 55, 60])),
    ("age != 50", lambda X: X.age != 50),
    ("50 < age != 60", lambda X: (X.age > 50) & (X.age != 60)),
    ("age is above 50", lambda X: X.age > 50),
    ("age at least 50", lambda X: X.age >= 50),
    ("not age at least 50", lambda X: X.age < 50),
    ("age > 90%", lambda X: X.age > X.age.quantile(0.9)),
    ("age <= 12.5%", lambda X: X.age <= X.age.quantile(0.125)),
    ("25% <= age < 75 %", lambda X: (X.age >= X.age.quantile(0.25)) & (X.age < X.age.quantile(0.75))),
    (
        "weight between 20% and 80%",
        lambda X: X.weight.between(X.weight.quantile(0.2), X.weight.quantile(0.8)),
    ),
    ("weight / height ** 2 > 30", lambda X: X.weight / X.height**2 > 30),
    (
        "22 <= weight / height ** 2 < 27.3",
        lambda X: (X.weight / X.height**2).between(22, 27.3, inclusive="left"),
    ),
    ("not weight / height ** 2 > 30", lambda X: X.weight / X.height**2 <= 30),
    ("age * weight >= 4000", lambda X: X.age * X.weight >= 4000),
    ("2 * age * weight / 3 - weight > 2000", lambda X: 2 * X.age * X.weight / 3 - X.weight > 2000),
    ("-age * weight < -4000", lambda X: -X.age * X.weight < -4000),
    ("age / größe > 20", lambda X: (X["größe"] != 0) & (X.age / X["größe"] > 20)),
    ("not age / größe > 20", lambda X: (X["größe"] != 0) & (X.age / X["größe"] <= 20)),
    ("1 / größe >= 0.5", lambda X: X["größe"].between(1, 2)),
    ("1 / größe != 0.5", lambda X: (X["größe"] != 0) & (X["größe"] != 2)),
    ("not 1 / größe = 0.5", lambda X: (X["größe"] != 0) & (X["größe"] != 2)),
    ("größe / größe != 2", lambda X: X["größe"] > 0),
    ("größe / größe = 1", lambda X: X["größe"] > 0),
    ("1 / (1 / größe) < 2", lambda X: X["größe"] == 1),
    ("größe ** -1 != 3", lambda X: X["größe"] > 0),
    ("(größe - 2) ** 0.5 < 1", lambda X: X["größe"] == 2),
    ("not (größe - 2) ** 0.5 < 1", lambda X: X["größe"] > 2),
    ("(größe - 2) ** 0.5 != 0", lambda X: X["größe"] > 2),
    ("größe ** -1 = 0.25", lambda X: X["größe"] == 4),
    ("(age - 50) ** 2 < 25", lambda X: (X.age - 50) ** 2 < 25),
    ("age ** 0.5 > 7", lambda X: X.age**0.5 > 7),
    ("weight - age * height != 0", lambda X: X.weight - X.age * X.height != 0),
    (
        "(weight / height ** 2 > 30 or sex == 'male') and not age < 40%",
        lambda X: ((X.weight / X.height**2 > 30) | (X.sex == "male")) & ~(X.age < X.age.quantile(0.4)),
    ),
]


@pytest.fixture(scope="module")
def sample():
    return make_task(PriorSVC(), FRAME, LABELS, None, {}).samples[0]


@pytest.mark.parametrize(("text", "condition"), GOOD, ids=[text for text, _ in GOOD])
def test_a_text_means_what_pandas_computes(sample, text, condition):
    requirements = Rule(text, "ill").row_requirements(sample)
    inside = np.any([r.region.contains(sample.X) for r in requirements], axis=0)
    with np.errstate(all="ignore"):
        expected = condition(FRAME).to_numpy(dtype=bool, na_value=False)
    np.testing.assert_array_equal(inside, expected)


def test_there_are_sixty_texts_of_each_kind():
    assert len(GOOD) >= 60
    assert len(BAD) >= 60


# ¦ stands before the spot the caret has to point at.
BAD = [
    ("sex = 'female' or 'male'¦", "A list of values is written as: a in (1, 2)"),
    ("age = 50 or 60¦", "A list of values is written as: a in (1, 2)"),
    ("sex ¦not missing", "A missing value is written as: a is missing, a is not missing"),
    ("age > ¦median", "no column 'median' (the median is written as 50%)"),
    ("age¦.isna()", "write conditions such as a is missing, or a between 1 and 2"),
    ("¦pain = 'none'", "no column 'pain' (did you mean `chest pain`?)"),
    ("¦grosse > 2", "no column 'grosse' (did you mean größe?)"),
    ("¦sexx == 'female'", "no column 'sexx' (did you mean sex?)"),
    ("age == ¦nan", "no column 'nan' (a missing value is written as: a is missing)"),
    ("sex == ¦female", "no column 'female' (a value is written in quotes: 'female')"),
    ("sex == ¦'femal'", "no training row has 'femal' in column 'sex' (did you mean 'female'?)"),
    ("sex != ¦'x'", "no training row has 'x' in column 'sex' (the values are 'female', 'male')"),
    ("sex in ('female', ¦'males')", "did you mean 'male'?"),
    ("grade ¦== 7", "no training row has '7' in column 'grade' (the values are 1, 2, 3)"),
    ("grade == ¦'2'", "no training row has '2' in column 'grade'"),
    ("sex ¦== 1", "no training row has '1' in column 'sex'"),
    ("sex ¦> 'female'", "column 'sex' has categories: use ==, != or 'in'"),
    ("'a' ¦<= sex", "column 'sex' has categories: use ==, != or 'in'"),
    ("sex ¦between 'female' and 'male'", "column 'sex' has categories: use ==, != or 'in'"),
    ("sex ¦at least 'male'", "column 'sex' has categories"),
    ("sex == ¦grade", "compare it with one of its values"),
    ("sex ¦== age", "compare it with one of its values"),
    ("sex == ¦50%", "compare it with one of its values"),
    ("2 * ¦sex == 3", "without arithmetic"),
    ("age + ¦`chest pain` > 3", "without arithmetic"),
    ("(¦sex) == 'male'", "without arithmetic"),
    ("sex ¦+ 1 == 'male'", "a comparison by <"),
    ("age == ¦'female'", "this column contains numbers"),
    ("age in (50, ¦'x')", "this column contains numbers"),
    ("¦'age' > 3", "write the column in backticks, `age`"),
    ("¦'x' == 'x'", "a text can only be compared with a column"),
    ("2 * ¦'x' == age", "a text can only be compared with a column"),
    ("age + ¦'x' > 3", "a text can only be compared with a column"),
    ("sex == ¦'female", "this quote is not closed"),
    ('sex == ¦"female', "this quote is not closed"),
    ("sex¦", "a comparison by <"),
    ("sex == 'female' ¦age > 3", "'and' or 'or' is expected"),
    ("sex ¦'female'", "a comparison by <"),
    ("not¦", "a number or a column is missing"),
    ("age > 3 and not¦", "a number or a column is missing"),
    ("age ¦not > 3", "a comparison by <"),
    ("age > 3 ¦not age > 4", "'and' or 'or' is expected"),
    ("sex ¦is 'female'", "'is' cannot be used"),
    ("sex ¦is not 'female'", "'is' cannot be used"),
    ("sex ¦is missin", "'is' cannot be used"),
    ("age + weight ¦is missing", "write the column alone"),
    ("2 * age ¦is not missing", "write the column alone"),
    ("3 ¦is missing", "write the column alone"),
    ("sex is missing ¦== 1", "'and' or 'or' is expected"),
    ("sex ¦in 'female', 'male'", "'in' requires a list in brackets"),
    ("sex ¦in", "'in' requires a list in brackets"),
    ("sex in (¦)", "a number or a column is missing"),
    ("sex in ('female' ¦'male')", "a comma or ')' is expected"),
    ("sex in ('female'¦; 'male')", "semicolon cannot be used"),
    ("sex in ['female'¦)", "this bracket has no opening bracket"),
    ("sex in ['female'¦", "a comma or ']' is expected"),
    ("sex in ¦('female'", "bracket is not closed"),
    ("age in (1, 2) ¦> 3", "'and' or 'or' is expected"),
    ("¦in (1, 2)", "'in' requires a list"),
    ("3 ¦in (1, 2)", "depends on no column"),
    ("age > ¦101%", "a quantile is at most 100%"),
    ("2 * age > ¦90%", "a percentage is a quantile of one column"),
    ("age + 3 > ¦90%", "a percentage is a quantile of one column"),
    ("age > 2 * ¦90%", "a percentage is a quantile of one column"),
    ("age > 90% ¦+ 2", "'and' or 'or' is expected"),
    ("age / weight > ¦90%", "a percentage is a quantile of one column"),
    ("¦10% < 90%", "a percentage is a quantile of one column"),
    ("age > 90 % ¦3", "'and' or 'or' is expected"),
    ("age > ¦%", "'%' cannot be used here"),
    ("age ** ¦weight > 3", "an exponent must be a number"),
    ("age ** ¦> 3", "a number or a column is missing"),
    ("age ** 2 ¦** 2 > 3", "a comparison by <"),
    ("age ¦^ 2 > 3", "write a power as a ** 2"),
    ("weight / ¦0 > 3", "this divisor is zero"),
    ("weight / height ** 2 / ¦0 > 3", "this divisor is zero"),
    ("age ¦// 2 > 3", "'//' cannot be used"),
    ("weight / ¦(height ** 2", "bracket is not closed"),
    ("0 ¦!= 1", "depends on no column"),
    ("¦log(age) > 3", "functions such as 'log' cannot be used"),
    ("weight / ¦heigth ** 2 > 30", "no column 'heigth' (did you mean height?)"),
]

# Without a meaning everywhere.
ONLY_ROWS = [
    ("weight ¦* height > 3", "a column that contains the product, or use holds='rows'"),
    ("weight / ¦height > 3", "divide by numbers only, or use holds='rows'"),
    ("weight + age ¦** 2 > 3", "a column that contains the power, or use holds='rows'"),
    ("sex == 'male' and age ¦!= 3", "closed region"),
    ("not (sex == 'male' and age ¦= 3)", "closed region"),
    ("age ¦is missing", "a region has no missing values, or use holds='rows'"),
]


@pytest.mark.parametrize(("text", "words"), BAD + ONLY_ROWS)
def test_a_wrong_text_points_at_the_spot(sample, text, words):
    before, after = text.split("¦")
    rule = Rule(before + after, "ill", hard=(text, words) in ONLY_ROWS)
    with pytest.raises(BadRule) as caught:
        rule.validate(sample)
    reason, line, caret = str(caught.value).split("\n")
    assert words in reason
    assert line == f"  {before}{after}"
    assert caret == " " * (len(before) + 2) + "^"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("sex == 'female' and sex == 'male'", "contradict each other"),
        ("`chest pain` in ('typical') and `chest pain` in ('none')", "contradict each other"),
        ("grade not in (1, 2, 3)", "excludes every value of 'grade' in the training rows"),
        ("not sex in ('female', 'male') and sex is not missing", "contradict each other"),
        ("age > 50 and age < 50", "contradict each other"),
        ("age > 50 and age <= 50", "contradict each other"),
        ("age > 50 and age = 50", "contradict each other"),
        ("2 * age > 100 and age <= 50", "contradict each other"),
        ("not age > 50 and not age <= 50", "contradict each other"),
        ("age + weight > 50 and weight + age <= 50", "contradict each other"),
        ("age > weight and weight > größe and größe > age", "contradict each other"),
        ("age > 60 or age > 50 and age < 50", "no row can satisfy 'age > 50 and age < 50' in"),
        ("weight * height < -5", "no row satisfies the rule"),
    ],
)
def test_a_rule_that_no_row_satisfies(text, words):
    with pytest.raises(BadRule, match=words) as caught:
        PriorSVC(Rule(text, "ill", mu=1)).fit(FRAME, LABELS)
    assert text in str(caught.value)


@pytest.mark.parametrize("within", ["data", {"age": (35, 70)}])
@pytest.mark.parametrize("holds", ["rows", "everywhere"])
def test_impossible_alternatives_that_nobody_wrote_are_left_out(sample, holds, within):
    """Brackets and ``not`` give them: the rule is the rule without them."""
    texts = "not (age > 60 and weight < 80) and age > 60", "weight >= 80 and age > 60"
    rules = [Rule(text, "ill", holds=holds, within=within) for text in texts]
    if holds == "rows":
        found = [rule.row_requirements(sample) for rule in rules]
    else:
        found = [rule.requirements(sample) for rule in rules]
    (one,), (other,) = found
    inside = one.region.contains(sample.X)
    assert 0 < inside.sum() < len(sample.X)
    np.testing.assert_array_equal(inside, other.region.contains(sample.X))
    with pytest.raises(BadRule, match=r"no row can satisfy 'not \(age > 50 or age <= 50\)': "):
        Rule("not (age > 50 or age <= 50)", "ill").row_requirements(sample)


def test_verify_counts_a_row_in_several_alternatives_once():
    model = PriorSVC(Rule("age > 60 or weight > 80", "well", mu=1), scale="standard").fit(FRAME, LABELS)
    inside = (FRAME.age > 60) | (FRAME.weight > 80)
    wrong = inside & (model.predict(FRAME) == "ill")
    for rows in (slice(None), slice(50)):
        found = model.verify(FRAME[rows])["rule"]
        assert (found.checked, found.violated) == (inside[rows].sum(), wrong[rows].sum())
    assert str(model.verify()) == str(model.verify(FRAME))


# Time


def seconds(text, columns=("a",)):
    start = time.process_time()
    try:
        parse_rule(text, columns)
    except BadRule as error:
        return time.process_time() - start, str(error)
    return time.process_time() - start, ""


@pytest.mark.parametrize("piece", ["a > 1 and ", "ß", "(", "'", "a + ", "not ", "1_0"])
def test_a_million_characters_are_refused_at_once(piece):
    used, message = seconds((piece * 10**6)[: 10**6])
    assert used < 0.1
    assert f"a rule has at most {MAX_LENGTH} characters" in message
    assert message.endswith("^")


@pytest.mark.parametrize("letter", ["é", "ß", "体", "க"])
def test_names_beyond_ascii_take_no_time(letter):
    name = letter * 30
    assert seconds(f"{name} > 1", [name])[0] < 0.05
    assert seconds(f"{name} > 1", [f"{name}-"])[0] < 0.05
    assert seconds(f"{name}! > 1", [name])[0] < 0.05
    assert seconds(f"{name} 1", [f"{name} b"])[0] < 0.05


@pytest.mark.slow
@pytest.mark.parametrize("piece", ["a < 1 and ", "a + ", "- ", "not ", "is ", "a * ", "`é` "])
def test_the_time_is_linear_in_the_length(piece):
    short = min(seconds(piece * 1000 + "a < 1")[0] for _ in range(3))
    long = min(seconds(piece * 8000 + "a < 1")[0] for _ in range(3))
    assert long < 24 * short + 0.05


# Points


def pool_of(sample):
    return Pool.of(sample, None)


def test_points_satisfy_the_rule_and_have_whole_groups(sample):
    groups = sample.encoding.groups
    for text, _ in GOOD:
        for requirement in Rule(text, "ill").row_requirements(sample):
            region = requirement.region
            points = points_on_rows(region, pool_of(sample))
            closed = region.closed() if isinstance(region, RowSet) else region
            assert closed.contains(points).all(), text
            for group in groups:
                np.testing.assert_array_equal(points[:, group.members].sum(axis=1), 1.0)
                assert np.isin(points[:, group.members], (0.0, 1.0)).all()


def test_points_of_a_value_without_rows(sample):
    (requirement,) = Rule("`chest pain` == 'other'", "ill").row_requirements(sample)
    points = points_on_rows(requirement.region, pool_of(sample))
    group = next(g for g in sample.encoding.groups if g.values[0] == "typical")
    np.testing.assert_array_equal(points[:, group.members], np.tile([0, 0, 0, 1], (len(points), 1)))
    # The remaining columns stay as they are.
    others = np.setdiff1d(np.arange(sample.X.shape[1]), group.members)
    rows = {row.tobytes() for row in np.ascontiguousarray(sample.X[:, others])}
    assert all(row.tobytes() in rows for row in np.ascontiguousarray(points[:, others]))


def test_points_of_sums_and_of_a_value_without_rows(sample):
    text = "`chest pain` == 'other' and weight - age > 60"
    (requirement,) = Rule(text, "ill").row_requirements(sample)
    points = points_on_rows(requirement.region, pool_of(sample))
    assert len(points) >= 50
    assert requirement.region.closed().contains(points).all()
    B, d = requirement.region.inequalities
    assert (points @ B.T <= d + 1e-9).all()
    assert len(B) == 1 + 4


def test_a_function_on_rows_sets_whole_groups(sample):
    block = Region(lambda X: 60 - X[:, 0], None, "ill", within="data")
    (requirement,) = block.row_requirements(sample)
    points = points_on_rows(requirement.region, pool_of(sample))
    assert (points[:, 0] >= 60 - 1e-9).all()
    for group in sample.encoding.groups:
        np.testing.assert_array_equal(points[:, group.members].sum(axis=1), 1.0)


def test_points_do_not_depend_on_the_order_of_rows():
    order = np.random.default_rng(5).permutation(len(FRAME))
    texts = ["sex == 'male' and weight / height ** 2 > 30", "not (sex == 'female' or age > 50)"]
    for text in texts:
        found = []
        for rows in (np.arange(len(FRAME)), order):
            task = make_task(PriorSVC(), FRAME.iloc[rows], LABELS[rows], None, {})
            (requirement,) = Rule(text, "ill").row_requirements(task.samples[0])
            found.append(points_on_rows(requirement.region, pool_of(task.samples[0])))
        np.testing.assert_allclose(*[np.array(sorted(map(tuple, points))) for points in found], atol=1e-9)


def test_values_are_drawn_evenly(sample):
    (requirement,) = Rule("`chest pain` in ('typical', 'other') and age > 75", "ill").row_requirements(sample)
    points = points_on_rows(requirement.region, pool_of(sample))
    group = next(g for g in sample.encoding.groups if g.values[0] == "typical")
    shares = points[:, group.members].mean(axis=0)
    assert shares[1] == shares[2] == 0
    assert 0.3 < shares[3] < 0.7


def test_rows_with_gaps_are_the_rows_of_a_rule_about_missing_values():
    X = FRAME.copy()
    missing = np.random.default_rng(1).choice(len(X), 30, replace=False)
    X.loc[missing, "weight"] = np.nan
    task = make_task(PriorSVC(MissingValues()), X, LABELS, None, {})
    sample = task.samples[0]
    (requirement,) = Rule("weight is missing", "ill").row_requirements(sample)
    inside = requirement.region.contains(sample.X)
    np.testing.assert_array_equal(np.flatnonzero(inside), np.sort(missing))
    points = points_on_rows(requirement.region, pool_of(sample))
    assert requirement.region.contains(points).all()
    (requirement,) = Rule("weight is missing and age > 60", "ill").row_requirements(sample)
    points = points_on_rows(requirement.region, pool_of(sample))
    age = sample.column("age")
    assert (points[:, age] >= 60).all()
    (both,) = Rule("weight is not missing and sex == 'male'", "ill").row_requirements(sample)
    expected = X.weight.notna() & (X.sex == "male")
    np.testing.assert_array_equal(both.region.contains(sample.X), expected.to_numpy(bool))
    # Quantiles are those of the observed values.
    (upper,) = Rule("weight > 50%", "ill").row_requirements(sample)
    assert -upper.region.hull.inequalities[1][0] == X.weight.quantile(0.5)
    model = PriorSVC(MissingValues() + Rule("weight is missing", "ill", mu=5)).fit(X, LABELS)
    assert model.findings_["rule"].rows == 30
    assert model.verify(X)


# Everywhere


def test_a_hard_rule_of_a_linear_model_covers_every_value_and_nothing_else():
    rule = Rule("sex == 'male' and age >= 60", "ill", hard=True)
    model = PriorSVC(rule, scale="standard").fit(FRAME, LABELS)
    sign = 1 if model.classes_[1] == "ill" else -1
    w = dict(zip(model.encoded_names_, sign * model.coef_[0], strict=True))
    numbers = ["age", "weight", "height", "smoker", "größe"]
    least = sign * model.intercept_[0] + w["sex=male"]
    for name in numbers:
        low = 60.0 if name == "age" else float(FRAME[name].min())
        least += min(w[name] * low, w[name] * float(FRAME[name].max()))
    least += min(w[f"chest pain={v}"] for v in ("typical", "atypical", "none", "other"))
    least += min(w[f"grade={v}"] for v in (1, 2, 3))
    assert least == pytest.approx(1.0, abs=1e-5)  # active, so nothing beyond the values is covered
    assert model.verify().holds


@pytest.mark.slow
def test_a_hard_rule_of_a_kernel_model_has_a_region_for_each_combination():
    X = FRAME[["age", "sex", "grade"]]
    rule = Rule("sex != 'female' and grade in (1, 2) and age >= 60", "ill", hard=True)
    model = PriorSVC(rule, kernel="rbf", scale="standard").fit(X, LABELS)
    assert len(model._models[0].states["rule"].requirements) == 4
    grid = pd.DataFrame(
        [(a, s, g) for a in np.linspace(60, 79, 40) for s in ("male", None) for g in (1, 2)],
        columns=X.columns,
    )
    sign = 1 if model.classes_[1] == "ill" else -1
    assert (sign * model.decision_function(grid)).min() > 1 - 1e-3


def regions_of(block, kernel="linear", X=FRAME):
    task = make_task(PriorSVC(kernel=kernel), X, LABELS, None, {})
    return block.everywhere(task.samples[0]), task.samples[0]


def test_regions_have_one_value_of_each_column():
    requirements, sample = regions_of(Rule("sex == 'male'", "ill", hard=True))
    (region,) = [r.region for r in requirements]
    assert isinstance(region, PolyhedronSet)
    assert region.contains(sample.X)[FRAME.sex.to_numpy() == "male"].all()
    group = sample.encoding.groups[0]
    both = sample.X[:1].copy()
    both[:, group.members] = 1.0
    assert not region.contains(both).any()
    requirements, sample = regions_of(
        Box({"sex=male": (1, 1)}, "ill", hard=True), "rbf", FRAME[["age", "sex"]]
    )
    assert [type(r.region) for r in requirements] == [BoxSet]


@pytest.mark.parametrize(
    ("block", "kernel", "words"),
    [
        (Rule("age > 60", "ill", hard=True), "rbf", f"combinations.*kernel model allows {MAX_COMBINATIONS}"),
        (
            Box({"sex=male": (0, 0), "sex=female": (0, 0), "sex=missing": (0, 0)}, "ill", hard=True),
            "linear",
            "no value",
        ),
        (
            Region(lambda X: X[:, 0] - 60, np.ones((2, 15)), "ill", hard=True),
            "linear",
            "requires a Rule, a Box or a Polyhedron",
        ),
        (Box({"sex": (0, 1)}, "ill"), "linear", r"column 'sex' has categories.*sex=female, sex=male"),
        (Box({1: (0, 1)}, "ill"), "linear", "column 'sex' has categories"),
        (Box({"sexx": (0, 1)}, "ill"), "linear", "no column 'sexx'.*Did you mean 'sex'"),
        (Box({9: (0, 1)}, "ill"), "linear", "an index from 0 to 7"),
    ],
)
def test_refusals(block, kernel, words):
    X = FRAME.assign(more=np.tile(list("abcdefgh"), 25)) if "combinations" in words else FRAME
    with pytest.raises(InvalidInput, match=f"(?s){words}"):
        PriorSVC(block, kernel=kernel).fit(X, LABELS)


def test_a_polyhedron_without_rows_of_whole_groups_is_refused(sample):
    B = np.zeros((1, sample.X.shape[1]))
    B[0, sample.encoding.groups[0].members] = 1.0
    region = PolyhedronSet(B, np.array([0.5]))
    with pytest.raises(InvalidInput, match="no row with one value of each column"):
        on_values([Requirement(region, 1.0)], sample)
    with pytest.raises(BadRule, match="no row satisfies the rule"):
        points_on_rows(region, pool_of(sample))


def test_boxes_on_rows_set_whole_groups(sample):
    block = Box({"sex=male": (1, 1), "age": (70, None)}, "ill")
    (requirement,) = block.row_requirements(sample)
    points = points_on_rows(requirement.region, pool_of(sample))
    members = sample.encoding.groups[0].members
    np.testing.assert_array_equal(points[:, members], np.tile([0, 1, 0], (len(points), 1)))


def test_columns_of_groups_do_not_follow(sample):
    pool = pool_of(sample)
    mask = pool.in_group()
    assert mask.sum() == 3 + 4 + 3
    assert not pool.follows[mask].any()
    assert pool.follows.any()


def test_verify_checks_a_rule_without_a_meaning_everywhere_at_rows():
    model = PriorSVC(Rule("weight / height ** 2 > 30", "ill", mu=5)).fit(FRAME, LABELS)
    text = str(model.verify(everywhere=True))
    assert "checked at rows only: a rule is linear in the columns" in text
    assert "at rows" in text


# Exact comparisons


def rows_of(text, frame):
    """The rows for which a rule holds."""
    sample = make_task(PriorSVC(), frame, np.resize(["ill", "well"], len(frame)), None, {}).samples[0]
    return np.any([r.region.contains(sample.X) for r in Rule(text, "ill").row_requirements(sample)], axis=0)


SIGNS = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@pytest.mark.parametrize("sign", SIGNS)
@pytest.mark.parametrize(("offset", "step"), [(1.7e9, 1.0), (0.0, 1e-11), (-3e15, 1.0), (0.1, 1e-16)])
def test_a_column_and_a_number_are_compared_exactly(sign, offset, step):
    t = offset + step * np.arange(40)
    frame = pd.DataFrame({"t": t, "u": t[::-1]})
    expected = SIGNS[sign](t, t[10])
    np.testing.assert_array_equal(rows_of(f"t {sign} {float(t[10])!r}", frame), expected)
    np.testing.assert_array_equal(rows_of(f"{float(t[10])!r} {sign} t", frame), SIGNS[sign](t[10], t))
    np.testing.assert_array_equal(rows_of(f"t {sign} u", frame), SIGNS[sign](t, t[::-1]))
    # Beside a sum, too.
    text = f"t {sign} {float(t[10])!r} and 2 * t + u / 3 >= -1e17"
    np.testing.assert_array_equal(rows_of(text, frame), expected)


def test_sums_and_products_are_compared_up_to_rounding():
    frame = pd.DataFrame({"a": [0.1, 0.1, 0.1000001], "b": [0.2, 0.2000001, 0.2], "t": 1.7e9 + np.arange(3)})
    for text in ("a + b = 0.3", "a + b <= 0.3", "not a + b > 0.3"):
        assert rows_of(text, frame).tolist() == [True, False, False], text
    assert rows_of("3 * a <= 0.3", frame).tolist() == [True, True, False]
    assert rows_of("not 3 * a > 0.3", frame).tolist() == [True, True, False]
    assert rows_of("a * b / 0.02 = 1", frame).tolist() == [True, False, False]
    assert rows_of("t + t >= 3400000002", frame).tolist() == [False, True, True]
    assert rows_of("t + a > 1700000000.5", frame).tolist() == [False, True, True]


def test_the_findings_count_the_rows_of_an_exact_comparison():
    X = pd.DataFrame({"t": 1.7e9 + np.arange(60), "c": np.linspace(0, 1e-9, 60)})
    y = np.resize([0, 1], 60)
    blocks = [
        Rule("t == 1700000010", 1, mu=1),
        Rule("t > 1700000010", 1, mu=1),
        Box({"t": (1700000010, 1700000010)}, 1, mu=1),
        Rule("c >= 5e-10", 1, mu=1),
        Box({"c": (5e-10, None)}, 1, mu=1),
        Region(lambda X: 5e-10 - X[:, 1], None, 1, mu=1, within="data"),
    ]
    counts = [PriorSVC(block).fit(X, y).findings_.popitem()[1].rows for block in blocks]
    assert counts == [1, 49, 1, 30, 30, 30]


# Values, gaps and size


def test_a_quote_inside_a_value_is_doubled():
    both = 'it\'s "x"'
    frame = pd.DataFrame({"s": [both, "c'd", "e"] * 4, "a": np.arange(12.0)})
    expected = (frame.s == both).to_numpy()
    np.testing.assert_array_equal(rows_of("s == 'it''s \"x\"'", frame), expected)
    np.testing.assert_array_equal(rows_of('s == "it\'s ""x"""', frame), expected)
    np.testing.assert_array_equal(rows_of("s in ('c''d', 'e')", frame), ~expected)
    with pytest.raises(BadRule, match=r"the values are \"c'd\", 'e', 'it''s \"x\"'"):
        rows_of("s == 'zzzzzz'", frame)


GAPS = ["grade is missing", "age is missing", "age > 50 and not grade is not missing"]


@pytest.mark.parametrize("text", GAPS)
@pytest.mark.parametrize("mu", [1, "auto"])
def test_a_soft_rule_about_gaps_without_gaps_adds_no_rows(text, mu):
    with pytest.warns(FarFromData, match=r"no training row has a missing value of '(grade|age)'"):
        model = PriorSVC(Rule(text, "ill", mu=mu)).fit(FRAME, LABELS)
    np.testing.assert_allclose(model.coef_, PriorSVC().fit(FRAME, LABELS).coef_, atol=1e-6)


@pytest.mark.parametrize("text", GAPS)
def test_a_hard_rule_about_gaps_without_gaps_is_refused(text):
    with pytest.raises(BadRule, match=r"no training row has a missing value of '(grade|age)'"):
        PriorSVC(Rule(text, "ill", hard=True, holds="rows")).fit(FRAME, LABELS)


def test_folds_without_gaps_keep_the_other_alternatives():
    X = FRAME.assign(sex=FRAME.sex.fillna("male"))
    with pytest.warns(FarFromData, match="no training row has a missing value of 'sex'"):
        model = PriorSVC(Rule("sex is missing or age > 60", "ill", mu=1)).fit(X, LABELS)
    assert model.findings_["rule"].rows == (X.age > 60).sum()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("*".join(["age"] * 40_000) + " > 1", "at most 1000 products"),
        (" and ".join(["age < 1"] * 16_000), "at most 5000 comparisons"),
        (" < ".join(["age", "weight"] * 8_000), "at most 5000 comparisons"),
        (f"({' or '.join(['age < 1'] * 900)}) and {' and '.join(['age < 1'] * 900)}", "20000 conditions"),
    ],
)
def test_long_texts_are_refused_in_time(sample, text, words):
    start = time.process_time()
    with pytest.raises(BadRule, match=words):
        Rule(text, "ill", mu=1).validate(sample)
    assert time.process_time() - start < 5


@pytest.mark.parametrize(
    ("block", "words"),
    [
        (Box({"grade=1": (1, 1), "grade=2": (1, 1)}, "ill", mu=1), "no value of column 'grade'"),
        (Box({"sex=male": (0.3, 0.6)}, "ill", mu=1), "no value of column 'sex'"),
        (Rule("age > 1e200", "ill", mu=1), r"numbers up to 1e\+100"),
        (Rule("1e-90 * age > 1e80", "ill", mu=1), r"limits beyond 1e\+100"),
        (Box({"age": (1e200, None)}, "ill", mu=1), r"beyond 1e\+100"),
    ],
)
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.filterwarnings("ignore::priorsvm.errors.FarFromData")
def test_regions_without_rows_are_refused_by_name(block, words, kernel):
    with pytest.raises(InvalidInput, match=words):
        PriorSVC(block, kernel=kernel).fit(FRAME, LABELS)


def test_a_column_of_lists_is_refused_by_name():
    with pytest.raises(InvalidInput, match="several values in one cell, in column 'k'"):
        PriorSVC().fit(FRAME.assign(k=[[1, 2]] * len(FRAME)), LABELS)


def test_quantiles_are_shown_as_numbers():
    X = pd.DataFrame({"age": np.arange(41.0), "bmi": np.linspace(20.0, 40.0, 41)})
    y = np.where(X.age > 20, "ill", "well")
    text = "bmi > 90% or 25% <= age <= 50 %"
    shown = "bmi > 90% (= 38) or 25% (= 10) <= age <= 50 % (= 20)"
    model = PriorSVC(Rule(text, "ill", mu=1.0), scale="standard").fit(X, y)
    assert model.findings_["rule"].rule == shown
    row = model.explain(X.iloc[-1])
    latex = shown.replace("%", r"\%").replace(" ", r"\ ")
    texts = [str(model.report_), str(model.verify()), model.methods_text(), str(row)]
    assert all(shown in " ".join(found.split()) for found in texts)
    assert latex.split("or")[0] in model.formulation()._repr_latex_()
    plain = PriorSVC(Rule("bmi > 38", "ill", mu=1.0), scale="standard").fit(X, y)
    assert plain.findings_["rule"].rule == ""
