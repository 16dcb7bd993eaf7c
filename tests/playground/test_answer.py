"""The answer to a state: equal to the copied code, complete, and clear about errors."""

import json
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from sklearn.svm import SVC

from priorsvm.errors import InvalidInput
from priorsvm.playground.answer import answer, fitted, shape_points
from priorsvm.playground.fields import FIELDS, MOST_POINTS, MOST_SHAPES, Choice
from priorsvm.playground.formula import mathml
from priorsvm.playground.presets import all_presets, start
from priorsvm.playground.recipe import recipe
from priorsvm.playground.state import check_state, default_state

POINTS = [[-1.5, 0.3, 0], [-1.0, -1.2, 0], [-0.2, 0.4, 0], [0.4, -0.3, 1], [1.2, 1.0, 1], [1.6, -0.4, 1]]
BOX = {"kind": "box", "label": 1, "form": "hard", "centre": [0.5, -2.0], "half": [0.8, 0.5]}
ELLIPSE = {"kind": "ellipse", "label": 0, "form": "rows", "centre": [-1.0, 2.0], "half": [0.9, 0.6]}
PRESETS = {preset["lesson"]: preset for preset in all_presets()}

# Settings that together use every option of every control.
SETTINGS = {
    "plain": {},
    "C": {"C": 30.0},
    "poly2": {"kernel": "poly2"},
    "poly3": {"kernel": "poly3", "gamma": 0.2},
    "squared": {"loss": "squared_hinge"},
    "l1": {"norm": "l1", "kernel": "rbf"},
    **{f"solver {name}": {"solver": name} for name in ("LIBSVM", "ROWS", "SCHUR", "CLARABEL", "SCS")},
    "solver HIGHS": {"solver": "HIGHS", "norm": "l1"},
    "box": {"shapes": [BOX]},
    "soft box": {"shapes": [{**BOX, "form": "everywhere"}], "mu": 2.0},
    "ellipse": {"shapes": [ELLIPSE]},
    "box and ellipse on a kernel": {"shapes": [BOX, ELLIPSE], "kernel": "rbf"},
    "costs": {"costs": 4.0},
    **{
        f"order {order} {block}": {"order": order, "order_block": block}
        for order, block in (("x0 up", "soft"), ("x0 down", "hint"), ("x1 up", "hard"), ("x1 down", "soft"))
    },
    "odd": {"odd": "soft"},
    "odd, hard": {"odd": "hard"},
    "errors": {"errors": 0.3},
    **{
        f"{change} {block}": {"change": change, "change_block": block, "size": 0.4}
        for change, block in (
            ("x0", "VirtualSamples"),
            ("x1", "InvariantLoss"),
            ("turn", "Trajectories"),
            ("turn", "InvarianceHint"),
            ("x0", "TangentPenalty"),
        )
    },
    "invariant kernel": {"change": "turn", "change_block": "kernel", "kernel": "haar"},
}
GRID = np.array(np.meshgrid(np.linspace(-4, 4, 9), np.linspace(-4, 4, 9))).reshape(2, -1).T


def run(code, capsys):
    """Return the model of copied code, which is run as a user would."""
    names = {}
    exec(code, names)
    assert "objective" in capsys.readouterr().out  # the report
    return names["model"]


@pytest.mark.parametrize("name", SETTINGS)
def test_the_code_gives_the_model_that_is_shown(name, capsys):
    state = default_state(points=POINTS, **SETTINGS[name])
    shown = answer(state)
    assert shown["error"] is None
    model = run(shown["code"], capsys)
    ours = fitted(recipe(state))[0]
    assert np.array_equal(ours.decision_function(GRID), model.decision_function(GRID))
    assert [row["f"] for row in shown["rows"]] == pytest.approx(
        model.decision_function(np.array(POINTS)[:, :2]), abs=1e-12
    )
    assert shown["objective"] == model.objective_
    if state["kernel"] == "linear":
        assert np.array_equal(ours.coef_, model.coef_)


def test_the_settings_above_use_every_option():
    for field in FIELDS:
        used = {SETTINGS[name].get(field.name, field.default) for name in SETTINGS}
        assert len(used) > 1, field.name
        if isinstance(field, Choice):
            assert used == set(field.options), field.name


@pytest.mark.parametrize("lesson", PRESETS)
def test_a_preset_is_answered_and_its_code_runs(lesson, capsys):
    state = PRESETS[lesson]["state"]
    check_state(state)
    shown = answer(state)
    json.dumps(shown, allow_nan=False)
    if lesson == 8:
        assert "'box_1'" in shown["error"]
        assert "'ellipse_2'" in shown["error"]
        return
    assert shown["error"] is None
    model = run(shown["code"], capsys)
    X = np.array(state["points"])[:, :2]
    assert [row["f"] for row in shown["rows"]] == pytest.approx(model.decision_function(X), abs=1e-12)


def test_prices_slacks_and_the_border_are_those_of_the_plain_svm():
    shown = answer(default_state(points=POINTS, C=2.0))
    X, y = np.array(POINTS)[:, :2], np.array(POINTS)[:, 2]
    peer = SVC(C=2.0, kernel="linear", tol=1e-10).fit(X, y)
    prices = np.zeros(len(X))
    prices[peer.support_] = np.abs(peer.dual_coef_[0])
    assert [row["price"] for row in shown["rows"]] == pytest.approx(prices, abs=1e-5)
    slack = np.maximum(0, 1 - (2 * y - 1) * peer.decision_function(X))
    assert [row["slack"] for row in shown["rows"]] == pytest.approx(slack, abs=1e-5)
    for level, lines in shown["lines"].items():
        for line in lines:
            places = np.reshape(line, (-1, 2))
            assert np.abs(peer.decision_function(places) - float(level)).max() < 0.01
    assert sum(term["contribution"] for term in shown["terms"]) == pytest.approx(shown["objective"])


@pytest.mark.parametrize(
    "settings",
    [
        {"shapes": [ELLIPSE]},
        {"shapes": [ELLIPSE], "kernel": "rbf"},
        {"order": "x0 up", "order_block": "soft", "kernel": "rbf"},
    ],
)
def test_unlabelled_points_count_for_soft_rules_at_rows(settings, capsys):
    free = [[-0.9, 1.8, None], [0.1, 2.1, None]]
    points = [free[0], *POINTS, free[1]]
    state = default_state(points=points, **settings)
    check_state(state)
    shown = answer(state)
    assert shown["error"] is None
    model = run(shown["code"], capsys)
    assert shown["code"].count("unlabeled=X_unlabeled") == 1
    values = model.decision_function(np.array([point[:2] for point in points]))
    assert [row["f"] for row in shown["rows"]] == pytest.approx(values, abs=1e-12)
    assert [set(row) for row in (shown["rows"][0], shown["rows"][-1])] == [{"f"}, {"f"}]
    alone = answer({**state, "points": POINTS})
    assert "unlabel" not in alone["code"]
    assert alone["objective"] != shown["objective"]
    plain = answer(default_state(points=points))
    assert plain["objective"] == answer(default_state(points=POINTS))["objective"]


def test_areas_are_on_their_side_and_cover_the_window():
    shown = answer(default_state(points=POINTS, kernel="rbf"))
    total = 0.0
    for rings in shown["areas"]:
        for ring in rings:
            a, b = np.reshape(ring, (-1, 2)).T
            total += 0.5 * float(a @ np.roll(b, -1) - b @ np.roll(a, -1))  # holes have the other orientation
    assert abs(total) == pytest.approx(64.0, rel=1e-3)


def test_a_foot_is_where_the_slack_ends():
    shown = answer(default_state(points=POINTS, C=0.3))
    model = fitted(recipe(default_state(points=POINTS, C=0.3)))[0]
    feet = [
        (row["foot"], point[2]) for row, point in zip(shown["rows"], POINTS, strict=True) if "foot" in row
    ]
    assert feet
    for foot, label in feet:
        assert model.decision_function([foot])[0] == pytest.approx(2 * label - 1, abs=0.01)


def test_a_row_that_has_its_own_margin_has_no_foot():
    shown = answer(default_state(points=POINTS, errors=0.5))
    own = [(2 * label - 1) * row["f"] for row, (_, _, label) in zip(shown["rows"], POINTS, strict=True)]
    beyond = [row for row, margin in zip(shown["rows"], own, strict=True) if margin > 1]
    assert any(row["slack"] > 0 for row in beyond)  # the slack of its worst place
    assert not any("foot" in row for row in beyond)


def test_a_rule_changes_the_border_and_holds():
    plain = answer(default_state(points=POINTS))
    told = answer(default_state(points=POINTS, shapes=[BOX]))
    assert plain["lines"] != told["lines"]
    [rule] = told["shapes"]
    assert rule["holds"]
    assert rule["worst"] == pytest.approx(1.0, abs=1e-3)
    assert rule["price"] > 0
    weak = answer(default_state(points=POINTS, shapes=[{**BOX, "form": "everywhere"}], mu=0.01))
    assert not weak["shapes"][0]["holds"]


def test_points_of_shapes_have_corners_and_stay_inside():
    box = shape_points(BOX)
    for s0, s1 in ((-1, -1), (-1, 1), (1, -1), (1, 1)):
        assert np.abs(box - [0.5 + 0.8 * s0, -2.0 + 0.5 * s1]).max(axis=1).min() < 1e-12
    assert (np.abs((box - BOX["centre"]) / BOX["half"]) <= 1 + 1e-12).all()
    ellipse = (shape_points(ELLIPSE) - ELLIPSE["centre"]) / ELLIPSE["half"]
    assert np.linalg.norm(ellipse, axis=1).max() == pytest.approx(1.0)


def test_a_draft_has_fewer_points_and_the_same_code():
    state = default_state(points=POINTS, shapes=[BOX], kernel="rbf")
    draft = answer({**state, "draft": True})
    settled = answer(state)
    assert draft["draft"]
    assert not settled["draft"]
    assert draft["code"] == settled["code"]
    assert "method" not in settled["code"]
    assert draft["objective"] <= settled["objective"] * (1 + 1e-6)  # it requires less
    assert not answer({**state, "kernel": "linear", "draft": True})["draft"]
    curves = default_state(points=POINTS, kernel="rbf", change="turn", change_block="Trajectories")
    assert recipe({**curves, "draft": True}).blocks[0].options == {"degree": 2}
    assert recipe(curves).blocks[0].options == {}


def test_rows_of_blocks_curves_and_active_places_are_shown():
    copies = answer(default_state(points=POINTS, change="x0", size=1.0))
    assert len(copies["added"]) == 4 * len(POINTS)
    assert len(copies["curves"]) == len(POINTS)
    errors = answer(default_state(points=POINTS, errors=0.2))
    circle = np.reshape(errors["curves"][0]["path"], (-1, 2)) - POINTS[0][:2]
    assert np.linalg.norm(circle, axis=1) == pytest.approx(0.2 * 1.28155, abs=2e-3)
    assert errors["active"]
    assert sum(row["price"] > 0 for row in errors["rows"]) >= 2


def test_warnings_are_texts():
    preset = PRESETS[19]["state"]
    assert any(note.startswith("AgainstData: ") for note in answer(preset)["notes"])


def test_errors_of_the_library_are_texts():
    other = {**BOX, "label": 0}
    shown = answer(default_state(points=POINTS, shapes=[BOX, other]))
    assert shown["error"].startswith("Infeasible: ")
    assert "'box_1'" in shown["error"]
    assert "'box_2'" in shown["error"]
    assert "PriorSVC(prior" in shown["code"]
    unsuited = answer(default_state(points=POINTS, shapes=[BOX], solver="LIBSVM"))
    assert unsuited["error"].startswith("SolverUnsuited: ")
    assert "each class needs at least one point" in answer(default_state(points=POINTS[:2]))["error"]
    assert "each class needs at least one point" in answer(default_state())["error"]


def test_a_conflict_has_a_point_inside_both_rules():
    state = PRESETS[8]["state"]
    shown = answer(state)
    point = np.array(shown["conflict"])
    box, ellipse = (np.abs(point - rule["centre"]) / rule["half"] for rule in state["shapes"])
    assert box.max() <= 1 + 1e-5
    assert np.linalg.norm(ellipse) <= 1 + 1e-5
    assert f"Both apply to the point ({point[0]:.3f}, {point[1]:.4g})" in shown["error"]
    assert answer(default_state(points=POINTS))["conflict"] is None


def test_an_unexpected_error_is_a_text(monkeypatch):
    def broken(described):
        raise ZeroDivisionError("by chance")

    monkeypatch.setattr("priorsvm.playground.answer.fitted", broken)
    shown = answer(default_state(points=POINTS))
    assert shown["error"] == "The model could not be fitted. ZeroDivisionError: by chance"


def test_a_fit_has_a_time_limit(monkeypatch):
    monkeypatch.setattr("priorsvm.playground.recipe.SECONDS", 1e-9)
    shown = answer(default_state(points=POINTS, shapes=[BOX], kernel="rbf"))
    assert "OutOfTime" in (shown["error"] or "") or "ConvergenceWarning" in str(shown["notes"])


def shape(**changes):
    return {"shapes": [{**BOX, **changes}]}


BAD = {
    "no object": ([1], "state must be an object"),
    "nothing": (None, "state must be an object"),
    "unknown key": ({"colour": 1}, "unknown key 'colour'"),
    "missing key": ("C", "state has no 'C'"),
    "points no list": ({"points": {"0": 1}}, "points must be a list"),
    "point no list": ({"points": ["abc"]}, r"points[0] must be a list [x0, x1, label], got 'abc'"),
    "short point": ({"points": [[1, 2]]}, "points[0] must be a list [x0, x1, label]"),
    "text in a point": ({"points": [[1, "2", 0]]}, "points[0] must have two numbers"),
    "true in a point": ({"points": [[1, True, 0]]}, "points[0] must have two numbers"),
    "nan": ({"points": [[float("nan"), 2, 0]]}, "points[0] must have numbers from -10 to 10"),
    "far": ({"points": [[0, 11, 0]]}, "points[0] must have numbers from -10 to 10"),
    "huge": ({"points": [[0, 10**400, 0]]}, "points[0] must have numbers from -10 to 10"),
    "label": ({"points": [[0, 1, 2]]}, "points[0]: label must be 0 or 1, got 2"),
    "label true": ({"points": [[0, 1, True]]}, "points[0]: label must be 0 or 1, got True"),
    "many points": ({"points": [[0, 0, 0]] * (MOST_POINTS + 1)}, "201 entries, but at most 200 are allowed"),
    "many shapes": ({"shapes": [BOX] * (MOST_SHAPES + 1)}, "7 entries, but at most 6 are allowed"),
    "shape no object": ({"shapes": [3]}, "shapes[0] must be an object"),
    "shape without a key": ({"shapes": [{"kind": "box"}]}, "shapes[0] has no 'label'"),
    "shape with a key": (shape(colour="red"), "shapes[0] has an unknown key 'colour'"),
    "kind": (shape(kind="star"), "shapes[0]: kind must be one of 'box', 'ellipse', got 'star'"),
    "kind of a wrong type": (shape(kind=["box"]), "shapes[0]: kind must be one of"),
    "form": (shape(form="firm"), "shapes[0]: form must be one of 'hard', 'everywhere', 'rows'"),
    "half": (shape(half=[1, 0]), "shapes[0]: half must contain positive numbers"),
    "centre": (shape(centre=[1]), "shapes[0]: centre must have two numbers"),
    "C": ({"C": 0}, "C must be a number from 0.01 to 1000, got 0"),
    "C text": ({"C": "1"}, "C must be a number from 0.01 to 1000, got '1'"),
    "gamma nan": ({"gamma": float("nan")}, "gamma must be a number from 0.01 to 10"),
    "kernel": ({"kernel": "__import__('os')"}, "kernel must be one of 'linear'"),
    "kernel list": ({"kernel": ["rbf"]}, "kernel must be one of 'linear'"),
    "solver": ({"solver": "MOSEK"}, "solver must be one of 'auto'"),
    "draft": ({"draft": 1}, "draft must be true or false, got 1"),
    "long value": ({"norm": "x" * 10_000}, "..."),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_a_bad_state_is_refused_with_a_clear_text(name):
    change, message = BAD[name]
    state = change
    if isinstance(change, dict):
        state = default_state(**change)
    if isinstance(change, str):
        state = default_state()
        del state[change]
    with pytest.raises(InvalidInput) as raised:
        check_state(state)
    assert message in str(raised.value)
    assert len(str(raised.value)) < 400
    shown = answer(state)
    assert message in shown["error"]
    assert shown["code"] is None


def test_code_contains_nothing_but_numbers_of_the_state():
    # Texts of a state are keys of fixed tables, so they cannot become code.
    state = default_state(points=POINTS, kernel="rbf")
    texts = [key for key, value in state.items() if isinstance(value, str)]
    assert texts
    for key in texts:
        assert answer({**state, key: "1); import os; ("})["code"] is None


def test_the_start_has_controls_presets_and_limits():
    begun = start(1)
    json.dumps(begun, allow_nan=False)
    assert begun["lesson"] == 1
    assert [field["name"] for field in begun["fields"]] == [field.name for field in FIELDS]
    for preset in begun["presets"]:
        assert set(preset["state"]) == set(default_state())
    with pytest.raises(InvalidInput, match=r"lesson must be a number from 1 to [0-9]+, got 99"):
        start(99)


def as_xml(node):
    """Return a tree of Python lists as an XML element."""
    tag, *rest = node
    made = ET.Element(tag)
    for child in rest:
        if isinstance(child, list):
            made.append(as_xml(child))
        elif isinstance(child, dict):
            made.attrib.update(child)
        else:
            made.text = child
    return made


ARGUMENTS = {"mfrac": 2, "msub": 2, "msup": 2, "munder": 2, "mover": 2, "msubsup": 3, "munderover": 3}


@pytest.mark.parametrize("name", SETTINGS)
def test_formulas_are_complete_mathml(name):
    for line in answer(default_state(points=POINTS, **SETTINGS[name]))["formula"]:
        tree = as_xml(line["math"])
        assert "\\" not in ET.tostring(tree, encoding="unicode"), line
        for part in tree.iter():
            if part.tag in ARGUMENTS:
                assert len(part) == ARGUMENTS[part.tag], line
            if part.tag == "mi":
                assert len(part.text) == 1, line  # a longer one is a command that is not in the table
        assert line["text"]


@pytest.mark.parametrize(
    ("latex", "expected"),
    [
        (r"\tfrac12", ["mfrac", ["mn", "1"], ["mn", "2"]]),
        (r"x_{12}^2", ["msubsup", ["mi", "x"], ["mrow", ["mn", "12"]], ["mn", "2"]]),
        (r"x^2_i", ["msubsup", ["mi", "x"], ["mi", "i"], ["mn", "2"]]),
        (r"\tilde\xi_v", ["msub", ["mover", ["mi", "ξ"], ["mo", "~"]], ["mi", "v"]]),
        (r"\text{ for all}", ["mtext", " for all"]),
        (
            r"\sum_{i}^N",
            ["munderover", ["mo", {"largeop": "true"}, "∑"], ["mrow", ["mi", "i"]], ["mi", "N"]],
        ),
    ],
)  # fmt: skip
def test_a_formula_as_mathml(latex, expected):
    assert mathml(latex) == ["mrow", expected]
