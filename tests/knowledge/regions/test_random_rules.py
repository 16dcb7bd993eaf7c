"""Random texts of rules against their truth on a table, computed while the text is drawn."""

import random
from fractions import Fraction

import numpy as np
import pytest

from priorsvm import MissingValues, PriorSVC, Rule
from priorsvm.errors import BadRule
from priorsvm.validation import make_task

pd = pytest.importorskip("pandas")

ROWS = 40
NUMBERS = ["`Größe (cm)`", "a", "`p/q [%]`", "dose"]
SIGNS = {
    "<": lambda x, y: x < y,
    "<=": lambda x, y: x <= y,
    ">": lambda x, y: x > y,
    ">=": lambda x, y: x >= y,
    "=": lambda x, y: x == y,
    "!=": lambda x, y: x != y,
}


def table(seed):
    """Return a table with gaps, and its sample."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({name.strip("`"): rng.integers(-2, 6, ROWS).astype(float) for name in NUMBERS})
    frame["sex"] = rng.choice(["f", "m", "it's"], ROWS)
    frame["grade"] = pd.Categorical(rng.integers(1, 4, ROWS))
    frame.loc[rng.choice(ROWS, 8, replace=False), "dose"] = np.nan
    frame.loc[rng.choice(ROWS, 6, replace=False), "sex"] = None
    task = make_task(PriorSVC(MissingValues()), frame, np.resize(["ill", "well"], ROWS), None, {})
    return frame, task.samples[0]


class Sentence:
    """Draw texts with two masks: the rows for which a text holds, and the rows for which its negation holds.

    A comparison with an undefined value is neither true nor false. Numbers are fractions, so no comparison
    depends on rounding.
    """

    def __init__(self, seed):
        self.draw = random.Random(seed)
        self.frame, self.sample = table(seed)
        places = self.sample.encoding.places
        self.values = {
            name: [Fraction(v) for v in self.sample.X_train[:, places[j]]] for j, name in enumerate(NUMBERS)
        }

    def either(self, depth):
        parts = [self.both(depth) for _ in range(self.draw.choice([1, 1, 2, 3]))]
        text = " or ".join(part[0] for part in parts)
        return text, np.any([p[1] for p in parts], axis=0), np.all([p[2] for p in parts], axis=0)

    def both(self, depth):
        parts = [self.condition(depth) for _ in range(self.draw.choice([1, 1, 2]))]
        text = " and ".join(part[0] for part in parts)
        return text, np.all([p[1] for p in parts], axis=0), np.any([p[2] for p in parts], axis=0)

    def condition(self, depth):
        if depth and self.draw.random() < 0.5:
            text, true, false = self.either(depth - 1)
            text = f"({text})"
        else:
            kinds = [self.chain, self.chain, self.value, self.gap, self.quantile, self.members]
            text, true, false = self.draw.choice(kinds)()
        for _ in range(self.draw.choice([0, 0, 1, 2])):
            text, true, false = f"not {text}", false, true
        return text, true, false

    def compared(self, left, sign, right):
        known = np.array([x is not None and y is not None for x, y in zip(left, right, strict=True)])
        pairs = zip(left, right, known, strict=True)
        true = np.array([bool(is_known and SIGNS[sign](x, y)) for x, y, is_known in pairs])
        return true, known & ~true

    def chain(self):
        """Return a comparison of a sum with one number, or with a number on both sides."""
        text, values = self.sum()
        sign, number = self.draw.choice(list(SIGNS)), self.draw.choice([-1, 0, 1, 2.5])
        true, false = self.compared(values, sign, [Fraction(number)] * ROWS)
        if self.draw.random() < 0.5:
            return f"{text} {sign} {number}", true, false
        left, low = self.draw.choice(list(SIGNS)), self.draw.choice([-2, 0, 2])
        holds, fails = self.compared([Fraction(low)] * ROWS, left, values)
        return f"{low} {left} {text} {sign} {number}", true & holds, false | fails

    def sum(self):
        first, second = self.draw.sample(NUMBERS, 2)
        x, y = self.values[first], self.values[second]
        pairs = list(zip(x, y, strict=True))
        return self.draw.choice(
            [
                (first, x),
                (f"{first} + 2 * {second}", [a + 2 * b for a, b in pairs]),
                (f"-{first} * {second}", [-a * b for a, b in pairs]),
                (f"{first} / {second}", [a / b if b else None for a, b in pairs]),
                (f"({first} - {second}) ** 2", [(a - b) ** 2 for a, b in pairs]),
            ]
        )

    def value(self):
        sign = self.draw.choice(["=", "!="])
        column, value, text = self.draw.choice(
            [("sex", "f", "sex {} 'f'"), ("sex", "it's", "sex {} 'it''s'"), ("grade", 2, "grade {} 2")]
        )
        true = np.array(self.frame[column] == value, bool)
        return text.format(sign), *((true, ~true) if sign == "=" else (~true, true))

    def members(self):
        text, true = self.draw.choice(
            [
                ("sex in ('f', \"it's\")", self.frame.sex.isin(["f", "it's"])),
                ("grade in (1, 3)", self.frame.grade.isin([1, 3])),
                ("a in (0, 1, 5)", self.frame.a.isin([0, 1, 5])),
            ]
        )
        true = true.to_numpy()
        if self.draw.random() < 0.5:
            return text.replace(" in ", " not in "), ~true, true
        return text, true, ~true

    def gap(self):
        column = self.draw.choice(["dose", "sex"])
        missing = self.frame[column].isna().to_numpy()
        return self.draw.choice(
            [(f"{column} is missing", missing, ~missing), (f"{column} is not missing", ~missing, missing)]
        )

    def quantile(self):
        """Return a comparison with a quantile of the given values."""
        name = self.draw.choice(NUMBERS)
        share = self.draw.choice([10, 25, 50, 80])
        given = sorted(map(Fraction, self.frame[name.strip("`")].dropna()))
        place = Fraction(share, 100) * (len(given) - 1)
        low = int(place)
        limit = given[low] + (given[low + 1] - given[low]) * (place - low)
        sign = self.draw.choice(["<", "<=", ">", ">="])
        return f"{name} {sign} {share}%", *self.compared(self.values[name], sign, [limit] * ROWS)


@pytest.mark.parametrize("seed", range(4))
def test_a_random_text_holds_for_the_rows_for_which_it_is_true(seed):
    sentence = Sentence(seed)
    checked = 0
    for _ in range(150):
        text, true, false = sentence.either(sentence.draw.choice([0, 1, 1, 2]))
        assert not (true & false).any()
        try:
            requirements = Rule(text, "ill").row_requirements(sentence.sample)
        except BadRule as error:  # an impossible condition, or too many alternatives
            message = str(error)
            assert "no row can satisfy" in message or "alternatives" in message, message
            if message.startswith(f"no row can satisfy {text!r}: "):
                assert not true.any(), text
            continue
        inside = [r.region.contains(sentence.sample.X_train) for r in requirements]
        np.testing.assert_array_equal(np.any([np.zeros(ROWS, bool), *inside], axis=0), true, err_msg=text)
        checked += 1
    assert checked > 120
