"""The promise of docs/policy.md: a deprecated name warns, works as before, and is in the changelog."""

import ast
import inspect
import re
import textwrap
import types
import warnings
from pathlib import Path

import pytest

import priorsvm

ROOT = Path(__file__).parents[1]
CHANGELOG = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
NOTE = re.compile(r"(?m)^( *)\.\. deprecated:: (\d+)\.(\d+)\n((?:\1 +.*\n?|\n)*)")

# Deprecated name, as `deprecated` prints it -> a call of the old name and the equal call of the new one.
EXAMPLES = {}


def public(module):
    """Yield name and object of all public names of a module, of its public modules, and of their classes."""
    for name in module.__all__:
        value = getattr(module, name)
        if inspect.ismodule(value):
            yield from public(value)
            continue
        yield name, value
        if inspect.isclass(value):
            for own, attribute in vars(value).items():
                if not own.startswith("_"):
                    yield f"{name}.{own}", attribute


def deprecated(module):
    """Return name -> (major, minor, text) of all notes; a parameter is `Owner(parameter)`."""
    found = {}
    for name, value in public(module):
        text = inspect.getdoc(value) or "" if callable(value) or isinstance(value, property) else ""
        for note in NOTE.finditer(text + "\n"):
            before = text[: note.start()].splitlines()
            owner = next((line for line in before[::-1] if line and not line.startswith(note[1] or "\n")), "")
            label = f"{name}({owner.strip().partition(' ')[0]})" if note[1] else name
            found[label] = (int(note[2]), int(note[3]), " ".join(note[4].split()))
    return found


def broken_promises(module, changelog, examples):
    """Return a sentence for each promise of the policy that a deprecated name does not keep."""
    broken = []
    for name, (major, minor, text) in deprecated(module).items():
        new = re.search(r"`(\w+)`", text)
        end = re.search(r"(\d+)\.(\d+)", text)
        if new is None or end is None:
            broken.append(
                f"{name}: the note must name the new name and the version in which the old one ends"
            )
            continue
        if int(end[1]) == major and int(end[2]) < minor + 2:
            broken.append(f"{name}: ends before two minor versions")
        if not re.search(rf"(?ms)^### Deprecated$(?:(?!^#).)*`{re.escape(name)}`", changelog):
            broken.append(f"{name}: not in the changelog under Deprecated")
        if name not in examples:
            broken.append(f"{name}: without an example")
            continue
        old_call, new_call = examples[name]
        with warnings.catch_warnings(record=True) as issued:
            warnings.simplefilter("always")
            before = old_call()
        messages = [str(w.message) for w in issued if w.category is FutureWarning]
        if not any(new[1] in message and end[0] in message for message in messages):
            broken.append(f"{name}: without a FutureWarning that names `{new[1]}` and {end[0]}")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            if before != new_call():
                broken.append(f"{name}: works in another way than the new name")
    return broken


def test_deprecated_names_keep_the_policy():
    assert broken_promises(priorsvm, CHANGELOG, EXAMPLES) == []
    assert set(EXAMPLES) == set(deprecated(priorsvm))


def test_no_name_warns_of_its_end_without_a_note():
    kinds = {"FutureWarning", "DeprecationWarning", "PendingDeprecationWarning"}
    for path in (ROOT / "priorsvm").rglob("*.py"):
        source = path.read_text(encoding="utf-8")
        calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
        warned = [call for call in calls if ast.unparse(call.func) in ("warnings.warn", "warn")]
        names = {node.id for call in warned for node in ast.walk(call) if isinstance(node, ast.Name)}
        assert not kinds & names or ".. deprecated::" in source, f"{path.name} warns without a note"


def test_the_page_states_what_is_checked():
    page = (ROOT / "docs" / "policy.md").read_text(encoding="utf-8")
    for words in ("`FutureWarning`", "`deprecated` note", "*Deprecated*", "two minor versions", "one year"):
        assert words in page


# ---------------------------------------------------------------------- a made-up deprecation

KEPT = "### Deprecated\n\n- `old`: use `new`.\n- `new(size)`: use `width`.\n"


def made_up(message="old is new, and ends in 0.5", since="0.3", end="0.5", result=3):
    """Return a module with a deprecated function and a deprecated parameter, and examples of both."""

    def new(width=None, size=None):
        if size is not None:
            warnings.warn("size is width, and ends in 0.5", FutureWarning, stacklevel=2)
        return width or size

    def old():
        if message:
            warnings.warn(message, FutureWarning, stacklevel=2)
        return result

    note = f".. deprecated:: {since}\n    Use `new`. It ends in {end}.\n"
    old.__doc__ = f"Return 3.\n\n{note}\nNotes\n-----\nNone.\n"
    parameter = ".. deprecated:: 0.3\n    Use `width`. It ends in 0.5.\n"
    new.__doc__ = (
        "Return a width.\n\nParameters\n----------\nwidth : int\n    Width.\nsize : int\n    Width.\n\n"
        + textwrap.indent(parameter, "    ")
    )
    module = types.SimpleNamespace(__all__=["new", "old"], new=new, old=old)
    examples = {"old": (old, lambda: new(3)), "new(size)": (lambda: new(size=3), lambda: new(3))}
    return module, examples


def test_a_deprecation_by_the_policy_passes():
    module, examples = made_up()
    assert deprecated(module) == {
        "new(size)": (0, 3, "Use `width`. It ends in 0.5."),
        "old": (0, 3, "Use `new`. It ends in 0.5."),
    }
    assert broken_promises(module, KEPT, examples) == []


@pytest.mark.parametrize(
    ("changes", "changelog", "reason"),
    [
        ({"message": ""}, KEPT, "old: without a FutureWarning that names `new` and 0.5"),
        ({"message": "old will change"}, KEPT, "old: without a FutureWarning that names `new` and 0.5"),
        ({"end": "0.4"}, KEPT, "old: ends before two minor versions"),
        ({"end": "some day"}, KEPT, "old: the note must name the new name"),
        ({"result": 4}, KEPT, "old: works in another way than the new name"),
        ({}, KEPT.replace("`old`", "`other`"), "old: not in the changelog under Deprecated"),
        ({}, KEPT.replace("Deprecated", "Added"), "old: not in the changelog under Deprecated"),
        ({}, KEPT.replace("`new(size)`", "`size`"), "new(size): not in the changelog under Deprecated"),
    ],
)
def test_a_deprecation_against_the_policy_is_found(changes, changelog, reason):
    module, examples = made_up(**changes)
    assert any(sentence.startswith(reason) for sentence in broken_promises(module, changelog, examples))


def test_a_deprecated_name_requires_an_example():
    module, examples = made_up()
    assert broken_promises(module, KEPT, {"old": examples["old"]}) == ["new(size): without an example"]
