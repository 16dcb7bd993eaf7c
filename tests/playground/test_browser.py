"""The playground in a real browser: mouse, keyboard and clipboard, through the DevTools of Chromium."""

import json
import threading

import numpy as np
import pytest

from priorsvm.playground.presets import all_presets
from priorsvm.playground.server import PlaygroundServer

from .browser import CHROMIUM, Browser

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium, which is not installed (package chromium)"),
]
BORDER = "document.querySelectorAll('.pp-plane path[stroke-width=\"3\"]')[0].getAttribute('d')"
SHIFT = 8


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    opened = Browser(tmp_path_factory.mktemp("chromium"))
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def server():
    with PlaygroundServer(lesson=6) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield running
        running.shutdown()


@pytest.fixture
def page(browser, server):
    """The playground with the preset of lesson 6, at 1280 × 900, and a check of the console at the end."""
    browser.look()
    browser.problems.clear()
    browser.requests.clear()
    browser.open("about:blank")
    browser.open(server.url)
    browser.wait("document.querySelector('.pp')?.getAttribute('aria-busy') == 'false'")
    yield browser
    assert browser.problems == []
    assert all(address.startswith((server.url, "about:", "data:")) for address in browser.requests)


def place(page, x0, x1):
    """Return where a point of the plane is in the window."""
    return page.run(
        "(() => { const m = document.querySelector('.pp-plane').getScreenCTM();"
        f"return [m.a * {x0} + m.e, m.d * {-x1} + m.f]; }})()"
    )


def settled(page, action):
    """Do something, and wait until the answer to it is shown."""
    before = page.run("Number(document.querySelector('.pp').dataset.answers)")
    action()
    page.wait(
        f"(root => root.dataset.answers > {before} && root.getAttribute('aria-busy') == 'false')"
        "(document.querySelector('.pp'))"
    )


def labels(page, kind):
    """Return the labels for screen readers of all points, or of all rules."""
    return page.run(
        f"[...document.querySelectorAll('[aria-roledescription={kind}]')]"
        ".map(item => item.getAttribute('aria-label'))"
    )


def press(page, key, modifiers=0):
    return lambda: page.press(key, modifiers=modifiers)


def choose(page, selector):
    """Click the middle of an element."""
    x, y = page.run(
        f"(() => {{ const box = document.querySelector({json.dumps(selector)});"
        "box.scrollIntoView({block: 'nearest'});"
        "const r = box.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; })()"
    )
    page.click(x, y)


def test_the_page_shows_points_rules_terms_formulas_and_code(page):
    assert page.run("document.title") == "priorsvm playground"
    assert len(labels(page, "point")) == 18
    assert labels(page, "rule")[0].startswith("Rule box_1 of class 1, triangle, hard, centre 0.2, -2.4")
    assert "f = " in labels(page, "point")[0]
    assert page.run(BORDER).startswith("M")
    assert page.run("document.querySelectorAll('.pp tbody tr').length") >= 3
    assert page.run("document.querySelectorAll('.pp math').length") > 5
    assert "Box(" in page.run("document.querySelector('.pp pre').textContent")
    assert page.run("document.querySelector('.pp-error').textContent") == ""
    presets = page.run("[...document.querySelector('select[aria-label=Lesson]').options].map(o => o.text)")
    assert presets == [f"{preset['lesson']}. {preset['title']}" for preset in all_presets()]


def test_a_dragged_box_changes_the_border_and_the_copied_code_gives_it(page, server, capsys):
    before = page.run(BORDER)
    settled(page, lambda: page.drag(place(page, 0.2, -2.4), place(page, -0.6, -3.0)))
    assert "centre -0.6, -3," in labels(page, "rule")[0]
    assert page.run(BORDER) != before
    page.send(
        "Browser.grantPermissions",
        origin=server.url.rstrip("/").rpartition("/")[0],
        permissions=["clipboardReadWrite", "clipboardSanitizedWrite"],
    )
    page.send("Page.bringToFront")
    page.run(
        "[...document.querySelectorAll('.pp button')].find(b => b.textContent == 'Copy code').id = 'copy'"
    )
    choose(page, "#copy")
    page.wait("document.querySelector('#copy').textContent == 'Copied'")
    code = page.run("navigator.clipboard.readText()")
    assert code == page.run("document.querySelector('.pp pre').textContent")
    names = {}
    exec(code, names)
    capsys.readouterr()
    model = names["model"]
    assert model.prior["box_1"].bounds == {0: (-1.9, 0.7), 1: (-3.7, -2.3)}
    # The border that is drawn is f = 0 of the copied code: two points of a line give the same direction.
    numbers = page.run(f"{BORDER}.match(/-?[\\d.]+/g).map(Number)")
    drawn = np.reshape(numbers, (-1, 2)) * [1, -1]
    assert np.abs(model.decision_function(drawn)).max() < 0.01
    shown = page.run(
        "(async () => { const r = await fetch('answer', {method: 'POST', body: JSON.stringify("
        f"{json.dumps(state_of(code, names))})}}); return r.json(); }})()"
    )
    assert [row["f"] for row in shown["rows"]] == pytest.approx(model.decision_function(names["X"]), abs=1e-9)
    direction = (drawn[-1] - drawn[0]) / np.linalg.norm(drawn[-1] - drawn[0])
    assert abs(direction @ model.coef_[0]) / np.linalg.norm(model.coef_) < 1e-3


def state_of(code, names):
    """Return the state that a copied code of lesson 6 came from."""
    state = dict(next(preset["state"] for preset in all_presets() if preset["lesson"] == 6))
    points = [[*map(float, x), int(k)] for x, k in zip(names["X"], names["y"], strict=True)]
    assert points == state["points"]
    return state | {"shapes": [{**state["shapes"][0], "centre": [-0.6, -3.0]}]}


def test_a_corner_of_a_box_resizes_it(page):
    settled(page, lambda: page.drag(place(page, 0.2, -2.4), place(page, 0.2, -2.6)))
    settled(page, lambda: page.drag(place(page, 1.5, -1.9), place(page, 2.5, -1.5)))
    assert "centre 0.7, -2.4, half-widths 1.8, 0.9" in labels(page, "rule")[0]


def test_a_point_is_added_dragged_and_taken_back(page):
    settled(page, lambda: page.click(*place(page, -3.0, 3.0)))
    assert len(labels(page, "point")) == 19
    assert labels(page, "point")[-1].startswith("Row 18, class 0, circle, at -3, 3;")
    settled(page, lambda: page.drag(place(page, -3.0, 3.0), place(page, 3.0, 3.0)))
    assert labels(page, "point")[-1].startswith("Row 18, class 0, circle, at 3, 3;")
    settled(page, lambda: page.press("z", modifiers=2))
    settled(page, lambda: page.press("z", modifiers=2))
    assert len(labels(page, "point")) == 18


def test_an_unlabelled_point_counts_for_a_soft_rule_at_rows(page):
    code = "document.querySelector('.pp pre').textContent"
    page.run("document.querySelector('.pp-plane [aria-roledescription=rule]').focus()")
    settled(page, press(page, "h"))
    settled(page, press(page, "h"))
    assert ", rows, " in labels(page, "rule")[0]
    border = page.run(BORDER)
    choose(page, "fieldset label:has(input[value=unlabelled])")
    settled(page, lambda: page.click(*place(page, 0.4, -2.6)))
    assert labels(page, "point")[-1].startswith("Point, unlabelled, square, at 0.4, -2.6; f = ")
    assert "unlabeled=X_unlabeled" in page.run(code)
    assert page.run(BORDER) != border
    settled(page, press(page, "c"))
    assert labels(page, "point")[-1].startswith("Row 18, class 0, circle, at 0.4, -2.6")
    assert "unlabeled" not in page.run(code)


def test_a_click_in_a_rule_adds_a_point_and_a_drag_draws_an_ellipse(page):
    settled(page, lambda: page.click(*place(page, 0.2, -2.4)))
    assert len(labels(page, "point")) == 19
    choose(page, "fieldset label:has(input[value='1'])")
    choose(page, "fieldset label:has(input[value=ellipse])")
    settled(page, lambda: page.drag(place(page, 1.0, 2.0), place(page, 3.0, 3.0)))
    assert labels(page, "rule")[1].startswith(
        "Rule ellipse_2 of class 1, triangle, hard, centre 2, 2.5, half-widths 1, 0.5"
    )


def test_the_keyboard_moves_points_and_rules(page):
    page.run("document.querySelector('.pp-plane [aria-roledescription=point]').focus()")
    before = labels(page, "point")[0]
    border = page.run(BORDER)
    settled(page, press(page, "ArrowRight", SHIFT))
    after = labels(page, "point")[0]
    moved = [float(text.split("at ")[1].split(",")[0]) for text in (before, after)]
    assert moved[1] - moved[0] == pytest.approx(0.5)
    for _ in range(5):
        settled(page, press(page, "ArrowRight", SHIFT))
    assert page.run(BORDER) != border
    settled(page, press(page, "c"))
    assert "class 1, triangle" in labels(page, "point")[0]
    page.press("Tab", modifiers=SHIFT)  # back from the first point to the rule
    assert page.run("document.activeElement.getAttribute('aria-roledescription')") == "rule"
    settled(page, press(page, "ArrowUp"))
    assert "centre 0.2, -2.3" in labels(page, "rule")[0]
    settled(page, press(page, "ArrowLeft", SHIFT))
    assert "half-widths 1.2, 0.7" in labels(page, "rule")[0]
    settled(page, press(page, "h"))
    assert ", everywhere, " in labels(page, "rule")[0]
    settled(page, press(page, "Delete"))
    assert labels(page, "rule") == []


def test_every_control_can_be_reached_with_tab(page):
    page.run("document.querySelector('select[aria-label=Lesson]').focus()")
    seen = []
    for _ in range(60):
        seen.append(
            page.run(
                "(item => item.getAttribute('aria-roledescription') || item.id.split('-')[1]"
                " || item.value || item.textContent)(document.activeElement)"
            )
        )
        page.press("Tab")
    for name in ("0", "point", "Add", "rule", "C", "kernel", "mu", "errors", "change", "Copy code"):
        assert name in seen, name
    assert seen.count("point") >= 18
    assert seen[3:6] == ["Add", "rule", "point"]  # the plane itself is no stop


def test_a_slider_and_a_choice_change_the_model(page):
    border = page.run(BORDER)
    page.run("document.querySelector('input[id$=\"-C\"]').focus()")
    settled(page, press(page, "Home"))
    assert "C=0.01" in page.run("document.querySelector('.pp pre').textContent")
    assert page.run(BORDER) != border
    settled(
        page,
        lambda: page.run(
            "(() => { const k = document.querySelector('select[id$=\"-kernel\"]'); k.value = 'rbf';"
            "k.dispatchEvent(new Event('change')); })()"
        ),
    )
    assert "RBF(0.5)" in page.run("document.querySelector('.pp pre').textContent")
    assert page.run("!document.querySelector('[id$=\"-gamma\"]').closest('.pp-field').hidden")


def test_rules_in_conflict_are_named_below_the_plane(page):
    settled(
        page,
        lambda: page.run(
            "(() => { const p = document.querySelector('select[aria-label=Lesson]'); p.selectedIndex = 7;"
            "p.dispatchEvent(new Event('change')); })()"
        ),
    )
    message = page.run("document.querySelector('.pp-error[role=alert]').textContent")
    assert message.startswith("Infeasible: ")
    assert "'box_1'" in message
    assert page.run(
        "document.querySelector('.pp-error').getBoundingClientRect().top"
        " >= document.querySelector('.pp-plane').getBoundingClientRect().bottom"
    )
    first, second = page.run(
        "[...document.querySelectorAll('.pp-plane [data-item^=shapes] text')].map(t => {"
        "const r = t.getBoundingClientRect(); return [r.top, r.bottom]; })"
    )
    assert first[1] < second[0], "one label is below the other"
    assert page.run(BORDER) == ""
    settled(page, lambda: page.drag(place(page, -0.9, -2.0), place(page, -2.9, -2.0)))
    assert page.run("document.querySelector('.pp-error').textContent") == ""
    assert page.run(BORDER).startswith("M")


def test_undo_goes_back_to_the_lesson_before(page):
    lesson = "document.querySelector('select[aria-label=Lesson]')"
    code = page.run("document.querySelector('.pp pre').textContent")
    settled(
        page,
        lambda: page.run(
            f"{lesson}.selectedIndex = 0, {lesson}.dispatchEvent(new Event('change'))",
        ),
    )
    assert page.run("document.querySelector('.pp pre').textContent") != code
    page.run(f"{lesson}.focus()")
    settled(page, lambda: page.press("z", modifiers=2))
    assert page.run("document.querySelector('.pp pre').textContent") == code
    assert page.run(f"{lesson}.selectedIndex") == 5


@pytest.mark.parametrize("width", [1280, 900, 420])
@pytest.mark.parametrize("dark", [False, True])
def test_nothing_is_wider_than_the_window(page, width, dark):
    page.look(width, 800, dark)
    theme = "dark" if dark else "light"
    page.wait(f"document.querySelector('.pp').dataset.theme == '{theme}' && innerWidth == {width}")
    assert page.run("document.documentElement.scrollWidth") <= width
    colours = page.run(
        "[0, 1].map(k => getComputedStyle(document.querySelector('.pp')).getPropertyValue(`--c${k}`))"
    )
    assert colours == (["#56B4E9", "#E69F00"] if dark else ["#0072B2", "#D55E00"])


def test_the_widget_of_a_notebook_is_the_same_front_end(page):
    """Render the module as anywidget does, with a model that answers through the server."""
    found = page.run(
        """(async () => {
          const { default: widget } = await import('./play.js');
          const start = await (await fetch('start')).json();
          let listener = null;
          const model = {
            get: (name) => ({ start })[name],
            on: (name, f) => { if (name === 'msg:custom') listener = f; },
            off: () => { listener = null; },
            send: async ({ number, state }) => {
              const r = await fetch('answer', { method: 'POST', body: JSON.stringify(state) });
              listener({ number, answer: await r.json() });
            },
          };
          const el = document.createElement('div');
          document.body.append(el);
          const end = widget.render({ model, el });
          const root = el.querySelector('.pp');
          const busy = () => root.getAttribute('aria-busy') !== 'false';
          while (busy()) await new Promise((next) => setTimeout(next, 20));
          const seen = root.querySelector('path[stroke-width="3"]').getAttribute('d');
          const ids = root.dataset.id;
          root.querySelector('input[value="1"]').click();
          const first = document.querySelector('.pp input[value="0"]').checked;
          end();
          return [seen, ids, first, listener === null, el.textContent];
        })()"""
    )
    assert found[0] == page.run(BORDER)
    assert found[1] != page.run("document.querySelector('.pp').dataset.id")
    assert found[2:] == [True, True, ""]  # the first playground keeps its choices


def test_drags_are_answered_in_time(page):
    """The figures of a quiet computer are on the page of the playground."""
    times = []
    for k in range(8):
        settled(
            page, lambda k=k: page.drag(place(page, 0.2 + 0.1 * k, -2.4), place(page, 0.3 + 0.1 * k, -2.4))
        )
        times.append(float(page.run("document.querySelector('.pp').dataset.milliseconds")))
    assert np.median(times) < 1000
