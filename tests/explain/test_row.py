"""Numbers in the text of an explanation."""

from dataclasses import replace

import numpy as np
import pytest

from priorsvm import PriorSVC
from priorsvm.explain.row import value_text


@pytest.mark.parametrize("steps", [-3, -1, 0, 1, 3])
def test_the_last_bit_of_a_mean_does_not_decide_a_digit_that_is_shown(steps):
    assert value_text(53.025 + steps * np.spacing(53.025), 4) == "53.02"


def test_a_part_that_is_rounding_is_printed_as_zero():
    found = PriorSVC().fit([[0.0, 1.0], [2.0, 3.0]], [0, 1]).explain([3.0, 1.0])
    for part, text in ((4e-13, "+0"), (-4e-13, "+0"), (4e-5, "+4e-05")):
        small = replace(found, parts=[found.parts[0], replace(found.parts[1], part=part)])
        (line,) = [line.split() for line in str(small).splitlines() if line.startswith(small.parts[1].column)]
        assert line[-1] == text
