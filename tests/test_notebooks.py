"""Every lesson runs from top to bottom, and the checks of its exercises reject wrong answers.

A lesson is run once. Its pages and notebooks are written below docs: see `make docs`. With PRIORSVM_WHEEL
lessons are run by a Python that has the wheel of priorsvm and nothing of the repository: `make lessons`.
"""

import ast
import os
import re
import subprocess
import sys
import venv
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

import priorsvm

jupytext = pytest.importorskip("jupytext")
nbclient = pytest.importorskip("nbclient")
jupyter_client = pytest.importorskip("jupyter_client")
pytest.importorskip("ipykernel")

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
SECONDS = 300
MOST_MINUTES = 25
MOST_LINES = 25

# A kernel draws into the notebook unless it is told otherwise, and the tests are: see conftest.py.
INLINE = {**os.environ, "MPLBACKEND": "module://matplotlib_inline.backend_inline"}

# Before and after a lesson: files of the repository that it opens, without the library and packages.
WATCH = f"""
import os as _os, sys as _sys
_opened = []
def _watch(event, args):
    if event == "open" and isinstance(args[0], str):
        path = _os.path.abspath(args[0])
        own = path.startswith({str(ROOT)!r}) and "-packages/" not in path
        if own and not path.startswith((_sys.prefix, {str(ROOT / "priorsvm")!r})):
            _opened.append(path)
_sys.addaudithook(_watch)
"""
WATCHED = """
import priorsvm as _library
assert not _opened, _opened
print(_library.__file__)
"""

# Kernels are copies of a process that has imported what most lessons import.
SERVER = """
import os, select, signal, socket, sys
os.environ["JPY_PARENT_PID"] = str(os.getpid())  # a kernel ends with this process
import cvxpy, ipykernel.ipkernel, ipykernel.kernelapp, matplotlib.figure, pandas
import sklearn.datasets, sklearn.model_selection, sklearn.svm
from priorsvm import *
server = socket.socket(socket.AF_UNIX)
server.bind(sys.argv[1])
server.listen()
print("ready", flush=True)
kernels = {}
while True:
    ready = select.select([server, sys.stdin, *kernels], [], [], 0.2 if kernels else None)[0]
    if sys.stdin in ready:
        break
    for link, kernel in list(kernels.items()):
        if link in ready:
            os.kill(kernel, signal.SIGKILL)
        if os.waitpid(kernel, 0 if link in ready else os.WNOHANG)[0]:
            del kernels[link]
            link.close()
    if server in ready:
        link, _ = server.accept()
        connection, folder = link.recv(10_000).decode().split("\\0")
        kernel = os.fork()
        if kernel:
            kernels[link] = kernel
            continue
        for open_socket in (server, link, *kernels):
            open_socket.close()
        os.chdir(folder)
        ipykernel.kernelapp.launch_new_instance(argv=["-f", connection])
        os._exit(0)
"""
# What Jupyter starts and ends instead of a kernel.
LINK = """
import os, socket, sys
link = socket.socket(socket.AF_UNIX)
link.connect(sys.argv[1])
link.sendall("\\0".join([sys.argv[2], os.getcwd()]).encode())
link.recv(1)
"""


def load(name):
    spec = spec_from_file_location(name, DOCS / f"{name}.py")
    module = module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


lessons = load("lessons")
SOURCES = sorted(lessons.SOURCES.glob("*.py"))
each_lesson = pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)


def code_cells(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def is_ellipsis(node):
    return isinstance(node, ast.Constant) and node.value is ...


def names_set(code, marked=lambda node: True):
    """The names that a cell defines, in statements that contain a marked node."""
    statements = [node for node in ast.parse(code).body if any(map(marked, ast.walk(node)))]
    nodes = [node for statement in statements for node in ast.walk(statement)]
    stored = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    return stored | {node.name for node in nodes if isinstance(node, (ast.FunctionDef, ast.ClassDef))}


def write(notebook, path):
    """Write a notebook, whole or not at all."""
    path.parent.mkdir(exist_ok=True, parents=True)
    unfinished = path.with_name(f".{path.stem}.{os.getpid()}")
    unfinished.write_text(jupytext.writes(notebook, fmt="ipynb"), encoding="utf-8")
    unfinished.replace(path)


def test_the_lessons_are_numbered():
    numbers = [lesson.number for lesson in lessons.lessons().values()]
    assert numbers == [number for _, numbers in lessons.PARTS.values() for number in numbers]


@each_lesson
def test_opens_with_a_question_and_ends_in_assertions(source):
    notebook = lessons.read(source)
    assert notebook.cells[0].cell_type == "markdown"
    title, *_ = notebook.cells[0].source.splitlines()
    assert title.startswith("# ")
    assert title.endswith("?")
    last = code_cells(notebook)[-1]
    assert any(line.startswith(("assert ", "np.testing.assert_")) for line in last.source.splitlines())
    headings = [line for cell in notebook.cells for line in cell.source.splitlines() if line.startswith("#")]
    assert "claims" in lessons.tags(last)
    assert "## Exercises" in headings
    assert "**Next**" in notebook.cells[-1].source


@each_lesson
def test_a_lesson_states_objectives_needs_time_and_theorem(source):
    lesson = lessons.lessons()[source.stem]
    assert 2 <= len(lesson.learn) <= 4
    assert 5 <= lesson.minutes <= MOST_MINUTES
    assert lesson.needs
    assert len(lesson.theorem.split()) >= 4


@each_lesson
def test_an_exercise_has_an_answer_a_solution_a_check_and_a_wrong_answer(source):
    found = lessons.exercises(lessons.read(source))
    assert 2 <= len(found) <= 4
    for number, exercise in enumerate(found, 1):
        assert exercise.title.startswith(f"Exercise {number}: ")
        assert exercise.text.cell_type == "markdown"
        asked = set().union(*(names_set(cell.source, is_ellipsis) for cell in exercise.answer))
        solved = set().union(
            *(names_set(cell.source) for cell in exercise.solution if cell.cell_type == "code")
        )
        assert asked, exercise.title
        assert asked <= solved, f"{exercise.title}: the solution does not define {asked - solved}"
        assert "assert" in "".join(cell.source for cell in exercise.check), exercise.title
        assert exercise.wrong, exercise.title
        for cell in exercise.wrong:
            assert asked <= names_set(cell.source), exercise.title


@each_lesson
def test_the_exercises_contain_no_solution_and_the_claims_need_no_answer(source):
    notebook = lessons.read(source)
    kept = [cell.source for cell in lessons.product(notebook, "ex").cells]
    hidden = [cell for exercise in lessons.exercises(notebook) for cell in exercise.solution + exercise.wrong]
    assert not [cell.source for cell in hidden if cell.source in kept]
    claims = next(cell.source for cell in code_cells(notebook) if "claims" in lessons.tags(cell))
    used = {node.id for node in ast.walk(ast.parse(claims)) if isinstance(node, ast.Name)}
    answers = [cell.source for exercise in lessons.exercises(notebook) for cell in exercise.answer]
    assert not used & set().union(*(names_set(answer, is_ellipsis) for answer in answers))
    shown = [cell.source for cell in code_cells(notebook) if "claims" not in lessons.tags(cell)]
    assert not [source for source in shown if len(source.split("\n")) > MOST_LINES]


@each_lesson
def test_uses_public_names_only(source):
    modules = {"priorsvm", *(f"priorsvm.{name}" for name in priorsvm._MODULES)}
    for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module.startswith("priorsvm"):
            assert node.module in modules
            if node.module == "priorsvm":
                assert {alias.name for alias in node.names} <= set(dir(priorsvm))


@pytest.fixture(scope="session")
def python(tmp_path_factory):
    """The Python that runs lessons: this one, or one that has the wheel and shares all other packages."""
    if "PRIORSVM_WHEEL" not in os.environ:
        return Path(sys.executable)
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True, timeout=120)
    [wheel] = folder.glob("*.whl")
    venv.create(folder / "venv", with_pip=False, symlinks=True)
    [packages] = (folder / "venv").glob("lib/python*/site-packages")
    shared = [path for path in sys.path if path.endswith("-packages")]
    (packages / "shared.pth").write_text("\n".join(shared), encoding="utf-8")
    made = folder / "venv" / "bin" / "python"
    install = [made, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--ignore-installed"]
    subprocess.run([*install, str(wheel)], check=True, capture_output=True, timeout=120)
    return made


@pytest.fixture(scope="session")
def kernel_command(python, tmp_path_factory):
    """The command that starts a kernel."""
    address = tmp_path_factory.mktemp("kernels") / "s"
    command = [python, "-P", "-c", SERVER, address]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=INLINE
    ) as server:
        assert server.stdout.readline() == "ready\n"
        yield [sys.executable, "-S", "-E", "-c", LINK, str(address), "{connection_file}"]
        server.stdin.close()


def run(notebook, folder, kernel_command):
    """Run a notebook in a folder; return it, and the file of the library that it imported."""
    running = lessons.with_cells(notebook, [*notebook.cells])
    cell = code_cells(notebook)[0]
    for source, place in ((WATCH, 0), (WATCHED, len(running.cells) + 1)):
        running.cells.insert(place, type(cell)({**cell, "id": f"watch-{place}", "source": source}))
    manager = jupyter_client.AsyncKernelManager(kernel_name="python3")
    manager.kernel_spec.argv[:] = kernel_command
    client = nbclient.NotebookClient(
        running,
        km=manager,
        timeout=SECONDS,
        resources={"metadata": {"path": str(folder)}},
        shutdown_kernel="immediate",
    )
    client.execute(env=INLINE, cleanup_kc=True)
    library = Path(running.cells[-1].outputs[0]["text"].strip())
    return lessons.with_cells(running, running.cells[1:-1]), library


@pytest.mark.slow
@each_lesson
def test_runs_and_shows_a_picture(source, tmp_path, python, kernel_command):
    notebook = lessons.read(source)
    finished, library = run(lessons.to_run(notebook), tmp_path, kernel_command)
    notebook = lessons.with_outputs(notebook, finished)
    first = [output for cell in code_cells(notebook)[:3] for output in cell.outputs]
    assert any("image/png" in output.get("data", {}) for output in first), "it opens with a picture"
    for cell in code_cells(notebook):
        for output in cell.outputs:
            assert output.get("name") != "stderr", output["text"]
        draws = any("image/png" in output.get("data", {}) for output in cell.outputs)
        alt = cell.metadata.get("mystnb", {}).get("image", {}).get("alt", "")
        assert draws == (len(alt.split()) >= 8), f"# alt: {alt} in {cell.source[:80]}"
    if python != Path(sys.executable):
        assert python.parents[1] in library.parents
        return
    for name, address in lessons.addresses(source.stem).items():
        write(lessons.product(notebook, name), DOCS / address)


SOURCE = """
# %% [markdown]
# # How much is it?
#
# A paragraph. Or two?
#
# **You learn**
#
# - to add,
# - to check
#   what was added.
#
# **You need** lesson 3.
#
# **Time** 20 minutes
#
# **Theorem** Sums do not depend on the order.

# %%
1 + 1

# %% tags=["hide-input"]
# alt: A bar
# of height 4
2 + 2

# %% [markdown]
# ## Exercises

# %% [markdown] tags=["exercise"]
# ### Exercise 1: Add
# What is 1 + 2?

# %% tags=["answer"]
total = ...  # your answer

# %% [markdown] tags=["solution"]
# Count.

# %% tags=["solution"]
total = 3

# %% tags=["check"]
assert total == 3, "Count your fingers."

# %% tags=["wrong"]
total = 12

# %% [markdown]
# ## What this lesson claims, checked

# %% tags=["claims"]
assert total == 3

# %% [markdown]
# **Next** lesson 2.
"""
TEXTS = [
    "1 + 1",
    "2 + 2",
    "total = ...  # your answer",
    "total = 3",
    'assert total == 3, "Count your fingers."',
]
ADD, DRAW, ANSWER, SOLUTION, CHECK = TEXTS
CLAIM = "assert total == 3"
REMINDED = f'assert total is not ..., "Replace the ... of total by your answer, and run that cell."\n{CHECK}'


@pytest.fixture
def example(tmp_path):
    path = tmp_path / "03_sum.py"
    path.write_text(SOURCE.lstrip(), encoding="utf-8")
    return lessons.read(path)


def test_each_product_has_exactly_its_cells(example):
    code = {
        name: [cell.source for cell in code_cells(lessons.product(example, name))]
        for name in lessons.LEFT_OUT
    }
    assert code == {
        "page": [ADD, DRAW, ANSWER, CHECK, CLAIM],
        "ex": [ADD, DRAW, ANSWER, REMINDED, CLAIM],
        "sol": [ADD, DRAW, SOLUTION, CHECK, CLAIM],
        "solutions": [SOLUTION, CHECK],
    }
    hidden = [
        cell.source for cell in code_cells(lessons.product(example, "ex")) if "jupyter" in cell.metadata
    ]
    assert hidden == [DRAW, REMINDED, CLAIM]
    for name in ("page", "ex"):
        assert "Count.\n" not in jupytext.writes(lessons.product(example, name), fmt="ipynb")
    first, second, *_ = lessons.product(example, "solutions").cells
    assert first.source.startswith("# Solutions: How much is it?\n")
    assert second.source.startswith("## Exercise 1: Add")


def test_the_comment_of_a_picture_becomes_its_text(example):
    cell = code_cells(lessons.product(example, "page"))[1]
    assert cell.source == DRAW
    assert cell.metadata["mystnb"] == {
        "code_prompt_show": "Show the code",
        "image": {"alt": "A bar of height 4"},
    }


def test_what_a_lesson_states_is_read(example):
    lesson = lessons.describe("03_sum", example.cells[0].source)
    assert lesson.title == "How much is it?"
    assert lesson.learn == ("to add,", "to check what was added.")
    assert (lesson.number, lesson.part, lesson.minutes) == (3, "A", 20)
    assert (lesson.needs, lesson.theorem) == ("lesson 3", "Sums do not depend on the order")
    with pytest.raises(ValueError, match="03_sum: the first cell does not state: minutes"):
        lessons.describe("03_sum", example.cells[0].source.replace("20 minutes", "an hour"))


def run_code(notebook):
    names = {}
    for cell in code_cells(notebook):
        exec(cell.source, names)
    return names


def test_a_wrong_answer_is_tried_before_the_solution_and_leaves_no_trace(example):
    names = run_code(lessons.to_run(example))
    assert names["total"] == 3
    assert "_names" not in names
    wrong = next(cell for cell in example.cells if "wrong" in lessons.tags(cell))
    wrong["source"] = "total = 1 + 2"
    with pytest.raises(RuntimeError, match="Exercise 1: Add: the check accepts wrong answer 1"):
        run_code(lessons.to_run(example))


def test_a_check_of_the_exercises_names_the_answer_that_is_missing(example):
    answer = next(cell for cell in example.cells if "answer" in lessons.tags(cell))
    answer["source"] = "given, late = 3, 4\ntotal, rest = ..., ...\n\n\ndef add(x):\n    return ..."
    with pytest.raises(AssertionError, match=r"Replace the \.\.\. of total by your answer"):
        run_code(lessons.product(example, "ex"))
    answer["source"] = answer.source.replace("total, rest = ..., ...", "total, rest = 3, ...")
    [exercise] = lessons.exercises(example)
    assert "given" not in exercise.reminders
    assert "add" not in exercise.reminders


def test_a_check_of_the_exercises_refuses_an_answer_of_another_form(example):
    answer = next(cell for cell in example.cells if "answer" in lessons.tags(cell))
    for form, right, wrong in (
        ("a number", ["3", "np.float64(3)"], ["None", "[3]", "'3'"]),
        ("two numbers", ["[1, 2]", "np.ones(2)"], ["None", "1", "[1]"]),
        ("n weights with sum 1", ["[1, 2, 3, 4]"], ["[1, 2]"]),
    ):
        answer["source"] = f"total = ...  # your answer: {form}"
        [exercise] = lessons.exercises(example)
        names = f"import numpy as np\nn = 4\ntotal = {{}}\n{exercise.reminders}"
        for value in right:
            exec(names.format(value))
        for value in wrong:
            with pytest.raises(AssertionError, match=f"total must be {' '.join(form.split()[:2])}"):
                exec(names.format(value))


def test_outputs_belong_to_the_cells_of_the_source(example):
    finished = lessons.to_run(example)
    for cell in code_cells(finished):
        cell["outputs"] = [{"output_type": "stream", "name": "stdout", "text": cell.source}]
    filled = lessons.with_outputs(example, finished)
    shown = {cell.source: [output["text"] for output in cell.outputs] for cell in code_cells(filled)}
    assert shown[ADD] == [ADD]
    assert shown[SOLUTION] == [SOLUTION]
    assert shown[ANSWER] == []
    assert not any(cell.outputs for cell in code_cells(lessons.product(filled, "ex")))


def test_numbers_of_lessons_become_links():
    text = lessons.link_numbers("Lesson 1 has 2 rows. See lessons 01, 02 and 99.")
    first, second = (f"/_notebooks/{stem}.ipynb" for stem in list(lessons.lessons())[:2])
    assert text == f"Lesson [1]({first}) has 2 rows. See lessons [1]({first}), [2]({second}) and 99."


def test_the_core_of_the_course_has_16_to_18_lessons_and_needs_no_other():
    found = lessons.lessons().values()
    core = {lesson.number: lesson for lesson in found if lesson.kind == "core"}
    assert 16 <= len(core) <= 18
    assert set(lessons.PARTS) == {lesson.part for lesson in core.values()}
    for lesson in core.values():
        assert set(map(int, re.findall(r"\d+", lesson.needs))) <= set(core), lesson.title
    minutes = {
        kind: sum(lesson.minutes for lesson in found if lesson.kind == kind) for kind in ("core", "further")
    }
    text = lessons.course_map()
    assert f"The **core** has {len(core)} lessons, {minutes['core']} minutes." in text
    assert f"The {len(found) - len(core)} **further** lessons, {minutes['further']} minutes, are" in text
    kinds = [
        line.rstrip("| ").split("| ")[-1]
        for line in text.splitlines()
        if "_notebooks/" in line and "|" in line
    ]
    assert kinds == [lesson.kind for lesson in found]


def test_the_course_map_has_every_lesson():
    text = lessons.course_map()
    for stem, lesson in lessons.lessons().items():
        assert text.count(f"[{lesson.title}](_notebooks/{stem}.ipynb)") == 1
        assert f"{lesson.number}. {lesson.title} <_notebooks/{stem}>" in text
