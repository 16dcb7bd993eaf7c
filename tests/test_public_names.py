"""Every public name says what it is, what it takes and what it does, with an example that runs."""

import doctest
import inspect
import re
from importlib import import_module

import pytest

import priorsvm
from priorsvm import Kernel, Knowledge, PriorSVC, Transform
from priorsvm.errors import PriorSVMError, PriorSVMWarning
from priorsvm.explain.formulation import Formulation
from priorsvm.explain.report import Report

# What the results that a fitted model hands out are made of.
RESULTS = (
    "priorsvm.explain.row",
    "priorsvm.explain.stability",
    "priorsvm.explain.table",
    "priorsvm.explain.verify",
)
# Checks for blocks of users.
CHECKS = "priorsvm.knowledge.checks"
HANDED_OUT = (Formulation, Report)


def public_names():
    """Full name -> class or function, of all that ``import priorsvm`` offers."""
    modules = [
        "priorsvm",
        *(f"priorsvm.{name}" for name in sorted(priorsvm._MODULES.values())),
        CHECKS,
        *RESULTS,
    ]
    found = {}
    for module in map(import_module, modules):
        listed = getattr(module, "__all__", None)
        for name in listed or [n for n, v in vars(module).items() if _defined_in(v, module)]:
            value = getattr(module, name)
            if inspect.isclass(value) or inspect.isfunction(value):
                found[f"{value.__module__}.{value.__qualname__}"] = value
    return {**found, **{f"{value.__module__}.{value.__qualname__}": value for value in HANDED_OUT}}


def _defined_in(value, module):
    own = getattr(value, "__module__", None) == module.__name__
    return own and not value.__name__.startswith("_")


def is_error(value):
    return inspect.isclass(value) and issubclass(value, (PriorSVMError, PriorSVMWarning))


# Their examples are run below, where the data sets are.
LOADERS = ("load_usps", pytest.param("load_mnist", marks=pytest.mark.slow))

NAMES = {name: value for name, value in public_names().items() if not is_error(value)}


def described(text):
    """The names that the section Parameters, or Attributes, of a docstring has an entry for."""
    lines = inspect.cleandoc(text).splitlines()
    names = set()
    for heading in ("Parameters", "Attributes"):
        if heading in lines:
            section = lines[lines.index(heading) + 2 :]
            end = next((i for i, line in enumerate(section) if set(line) == {"-"}), len(section) + 1) - 1
            entries = [line.split(" : ")[0] for line in section[:end] if re.match(r"\S", line)]
            names |= {name.strip(" *") for entry in entries for name in entry.split(",")}
    return names


def taken(function):
    """The names of what a class or a function is given."""
    return [name for name in inspect.signature(function).parameters if name != "self"]


def examples(text):
    return doctest.DocTestParser().get_examples(text)


def test_there_are_names_to_look_at():
    assert len(NAMES) > 70
    for known in (
        "estimator.PriorSVC",
        "io.persist.save",
        "kernels.algebra.Sum",
        "knowledge.checks.check_points",
    ):
        assert f"priorsvm.{known}" in NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_public_name_is_explained(name):
    value = NAMES[name]
    text = vars(value)["__doc__"] if inspect.isclass(value) else value.__doc__
    assert text, f"{name} has no docstring of its own"
    first = inspect.cleandoc(text).splitlines()[0]
    assert first.endswith((".", ":")), f"{name} does not begin with a sentence: {first!r}"
    missing = [parameter for parameter in taken(value) if parameter not in described(text)]
    assert not missing, f"{name} does not say what {', '.join(missing)} is"


@pytest.mark.parametrize("name", NAMES)
def test_a_public_name_is_shown_at_work(name):
    found = examples(NAMES[name].__doc__)
    assert found, f"{name} has no example"
    used = NAMES[name].__name__
    skipped = any(doctest.SKIP in example.options for example in found)
    assert skipped == (used in ("load_usps", "load_mnist")), f"{name} skips an example"
    inside = vars(NAMES[name]) if inspect.isclass(NAMES[name]) else {}
    assert found[-1].want or found[-1].exc_msg, f"the example of {name} ends without an answer"
    assert inside or any(used in example.source for example in found), f"{name} does not stand in its example"


@pytest.mark.data
@pytest.mark.parametrize("name", LOADERS)
def test_the_examples_of_the_loaders_run(name):
    text = getattr(priorsvm, name).__doc__.replace("# doctest: +SKIP", "")
    test = doctest.DocTestParser().get_doctest(text, {}, name, None, 0)
    failed, tried = doctest.DocTestRunner().run(test)
    assert (failed, tried) == (0, 3)


@pytest.mark.parametrize(
    "name",
    [
        name
        for name, value in NAMES.items()
        if (inspect.isclass(value) and issubclass(value, (Knowledge, Kernel, Transform)))
        or name.rpartition(".")[2] in ("PriorSVC", "Prior")
    ],
)
def test_blocks_kernels_and_transforms_have_a_formula(name):
    text = NAMES[name].__doc__
    assert ".. math::" in text or ":math:`" in text, f"{name} has no formula"


@pytest.mark.parametrize("name", [name for name, value in NAMES.items() if inspect.isclass(value)])
def test_public_methods_are_explained(name):
    kind = NAMES[name]
    for member, value in vars(kind).items():
        plain = value.fget if isinstance(value, property) else getattr(value, "__func__", value)
        if not member.startswith("_") and inspect.isfunction(plain):
            assert inspect.getdoc(getattr(kind, member)), f"{name}.{member} has no docstring"


# The library's own methods of the estimator, those of its base classes included.
METHODS = {
    name: value
    for name, value in inspect.getmembers(PriorSVC, inspect.isfunction)
    if not name.startswith("_") and value.__module__.startswith("priorsvm.")
}


def test_there_are_methods_to_look_at():
    assert {
        "explain",
        "fit",
        "fit_path",
        "formulation",
        "methods_text",
        "predict",
        "set_params",
        "verify",
    } <= METHODS.keys()


@pytest.mark.parametrize("method", METHODS)
def test_methods_of_the_estimator_say_what_they_take_and_show_it(method):
    function = METHODS[method]
    if method.startswith("set_") and method.endswith("_request"):
        return  # scikit-learn's
    missing = [name for name in taken(function) if name not in described(function.__doc__)]
    assert not missing, f"PriorSVC.{method} does not say what {', '.join(missing)} is"
    assert examples(function.__doc__), f"PriorSVC.{method} has no example"
    assert "Returns\n" in function.__doc__, f"PriorSVC.{method} does not say what it returns"


def test_every_attribute_of_a_fitted_model_is_listed():
    linear, kernel = (PriorSVC(kernel=k).fit([[0.0], [2.0]], [0, 1]) for k in ("linear", "rbf"))
    shown = {name for name in (*dir(linear), *dir(kernel)) if name[0] != "_" and name[-1] == "_"}
    assert {"coef_", "centres_", "dual_coef_", "slopes_", "kernel_", "report_"} <= shown
    assert shown <= described(PriorSVC.__doc__)
    assert "problem" in described(PriorSVC.__doc__)


def test_errors_say_when_they_are_raised():
    errors = [value for value in public_names().values() if is_error(value)]
    assert len(errors) > 20
    for error in errors:
        assert vars(error)["__doc__"], error


def test_the_reading_of_docstrings():
    text = """Title.

    Parameters
    ----------
    X, y, **rows : as in ``fit``
        More of it, words : and so on.
    mu : float

    Examples
    --------
    nothing : is a parameter here
    """
    assert described(text) == {"X", "y", "rows", "mu"}
    assert described("Nothing.") == set()
    assert described("T.\n\n    Attributes\n    ----------\n    a : b") == {"a"}
