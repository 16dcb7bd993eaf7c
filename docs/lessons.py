"""The course: each lesson is one source, made into a page, two notebooks and a page of solutions.

A source is a script of jupytext in the percent format. Tags of its cells state what a product contains:

========  =====================================  ==================================
tag       cell                                   contained in
========  =====================================  ==================================
exercise  text of one exercise                   all
answer    skeleton of an answer                  page, exercises
solution  a solution                             notebook and page of solutions
check     assertions about the answer            all; collapsed on pages
wrong     a wrong answer that the check rejects  none; for the test
claims    assertions about the whole lesson      all but the page of solutions
========  =====================================  ==================================

A cell that draws begins with a comment `# alt: ...`, which may have several lines. It says what the picture
shows, and becomes the alternative text of the picture: no product contains it as code.

In the exercises a check first refuses an answer that is still `...`, and an answer of another form than the
comment of the skeleton states, such as `# your answer: two numbers`. `hide-input` collapses a code cell.
`slide` and `no-slide` change what the slides of a lecture show: see `docs/slides.py`. Cells without these
tags are part of the page and of both notebooks.
"""

import ast
import json
import re
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import jupytext

DOCS = Path(__file__).parent
SOURCES = DOCS.parent / "notebooks"

# Letter → title and numbers of the lessons.
PARTS = {
    "A": ("The problem", range(1, 5)),
    "B": ("Rules", range(5, 9)),
    "C": ("Invariances", range(9, 13)),
    "D": ("Uncertain data", range(13, 16)),
    "E": ("Kernels that carry knowledge", range(16, 19)),
    "F": ("Practice", range(19, 25)),
}

# Lessons that no lesson of the core needs, and that a first course leaves out.
FURTHER = frozenset({12, 15, 17, 18, 23, 24})

# Product → tags of the cells that it leaves out.
LEFT_OUT = {
    "page": {"solution", "wrong"},
    "ex": {"solution", "wrong"},
    "sol": {"answer", "wrong"},
    "solutions": {"answer", "wrong", "claims"},
}

# "lesson 3", "lessons 03, 04 and 16"
LESSON_NUMBERS = re.compile(r"\b[Ll]essons? \d\d?(?:(?:, | and )\d\d?)*\b")

# First lines of a cell that draws.
ALT = re.compile(r"\A# alt: (.+(?:\n# .+)*)\n*")

# The line of the page of the course that is replaced by parts and lessons.
MAP = "<!-- parts and lessons -->"

# Run before a solution, in a copy of the names: the check has to reject each wrong answer.
TRIAL = """
_names = dict(globals())
exec({wrong!r}, _names)
try:
    exec({check!r}, _names)
except AssertionError as _error:
    if not str(_error):
        raise RuntimeError({exercise!r} + ": a check has no hint") from None
else:
    raise RuntimeError({exercise!r} + ": the check accepts wrong answer {number}")
del _names
"""

# First lines of a check in the notebook of exercises.
REMINDER = 'assert {name} is not ..., "Replace the ... of {name} by your answer, and run that cell."\n'

# Form of an answer in the comment of its skeleton, and the lines of a check that require it.
FORM = re.compile(
    r"^(\w+) = \.\.\.  # your answer: "
    r"(a (?:whole )?number|degrees|(\w+) (?:numbers|weights|coefficients))",
    re.MULTILINE,
)
ONE = 'assert np.ndim({name}) == 0 and np.asarray({name}).dtype.kind in "fiu", "{name} must be a number."\n'
SEVERAL = (
    'assert np.shape({name}) == ({count},), "{name} must be {form}, in one list or array."\n'
    "{name} = np.asarray({name}, dtype=float)\n"
)
COUNTS = {"two": 2, "three": 3, "four": 4}


@dataclass
class Exercise:
    """The cells of one exercise, by tag; ``given`` is code without a tag before the answer."""

    text: Any
    given: list[Any] = field(default_factory=list)
    answer: list[Any] = field(default_factory=list)
    solution: list[Any] = field(default_factory=list)
    check: list[Any] = field(default_factory=list)
    wrong: list[Any] = field(default_factory=list)

    @property
    def title(self) -> str:
        return self.text.source.splitlines()[0].lstrip("# ")

    @property
    def cells(self) -> list[Any]:
        return [self.text, *self.given, *self.answer, *self.solution, *self.check, *self.wrong]

    @property
    def reminders(self) -> str:
        """Assertions that fail for each name that is still `...` or has another form, as code."""
        statements = [node for cell in self.answer for node in ast.parse(cell.source).body]
        unanswered = [node for node in statements if isinstance(node, ast.Assign) and has_gap(node.value)]
        names = [name.id for node in unanswered for name in ast.walk(node) if is_stored(name)]
        forms = [found for cell in self.answer for found in FORM.findall(cell.source)]
        lines = [REMINDER.format(name=name) for name in names]
        for name, form, count in forms:
            line = SEVERAL if count else ONE
            lines.append(line.format(name=name, form=form, count=COUNTS.get(count, count)))
        return "".join(lines)


@dataclass(frozen=True)
class Lesson:
    """What the first cell of a lesson states."""

    stem: str
    title: str
    learn: tuple[str, ...]
    needs: str
    minutes: int
    theorem: str

    @property
    def number(self) -> int:
        return int(self.stem[:2])

    @property
    def kind(self) -> str:
        """Whether it belongs to the core of the course."""
        return "further" if self.number in FURTHER else "core"

    @property
    def part(self) -> str:
        """Letter of its part."""
        return next(letter for letter, (_, numbers) in PARTS.items() if self.number in numbers)


def has_gap(value: ast.AST) -> bool:
    """Return whether an expression contains `...`."""
    return any(isinstance(node, ast.Constant) and node.value is ... for node in ast.walk(value))


def is_stored(node: ast.AST) -> bool:
    """Return whether a node is a name that gets a value."""
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)


def tags(cell: Any) -> set[str]:
    """Return the tags of a cell."""
    return set(cell.metadata.get("tags", ()))


def read(path: Path) -> Any:
    """Return the notebook of a source, with the same names of cells each time."""
    notebook = jupytext.read(path)
    for number, cell in enumerate(notebook.cells):
        cell["id"] = f"cell-{number}"
        alt = ALT.match(cell.source) if cell.cell_type == "code" else None
        if alt:
            cell["source"] = cell.source[alt.end() :]
            cell.metadata["mystnb"] = {"image": {"alt": alt[1].replace("\n# ", " ")}}
    return notebook


@cache
def lessons() -> dict[str, Lesson]:
    """Return the lessons of the course, by name of the source."""
    paths = sorted(SOURCES.glob("*.py"))
    return {path.stem: describe(path.stem, read(path).cells[0].source) for path in paths}


def describe(stem: str, text: str) -> Lesson:
    """Return what the first cell of a lesson states; raise ValueError if a part is missing."""
    patterns = {
        "title": r"\A# ([^\n]+\?)\n",
        "learn": r"^\*\*You learn\*\*:?\s*(.+?)\s*^\*\*You need\*\*",
        "needs": r"^\*\*You need\*\*:?\s*(.+?)\s*^\*\*Time\*\*",
        "minutes": r"^\*\*Time\*\*:?\s*(\d+) minutes",
        "theorem": r"^\*\*Theorem\*\*:?\s*(.+?)\s*(?:\n\n|\Z)",
    }
    found = {part: re.search(pattern, text, re.DOTALL | re.MULTILINE) for part, pattern in patterns.items()}
    missing = [part for part, match in found.items() if match is None]
    if missing:
        raise ValueError(f"{stem}: the first cell does not state: {', '.join(missing)}")
    parts = {part: match[1].strip() for part, match in found.items() if match is not None}
    objectives = re.split(r"^[-*] ", parts["learn"], flags=re.MULTILINE)
    return Lesson(
        stem=stem,
        title=parts["title"],
        learn=tuple(" ".join(objective.split()) for objective in objectives if objective.strip()),
        needs=" ".join(parts["needs"].split()).rstrip("."),
        minutes=int(parts["minutes"]),
        theorem=" ".join(parts["theorem"].split()).rstrip("."),
    )


def exercises(notebook: Any) -> list[Exercise]:
    """Return the exercises of a lesson.

    Code without a tag may be between the text and the answer. After the answer an exercise ends at the
    first cell without a tag of exercises.
    """
    found: list[Exercise] = []
    inside = False
    for cell in notebook.cells:
        kinds = tags(cell) & {"exercise", "answer", "solution", "check", "wrong"}
        if len(kinds) > 1:
            raise ValueError(f"a cell has several tags of exercises: {sorted(kinds)}")
        kind = next(iter(kinds), None)
        if kind == "exercise":
            found.append(Exercise(cell))
        elif kind is not None and inside:
            getattr(found[-1], kind).append(cell)
        elif kind is not None:
            raise ValueError(f"a cell with the tag {kind!r} is outside of an exercise: {cell.source[:60]!r}")
        elif inside and cell.cell_type == "code" and not found[-1].answer:
            found[-1].given.append(cell)
        else:
            inside = False
        inside = inside or kind == "exercise"
    return found


def to_run(notebook: Any) -> Any:
    """Return the notebook with solutions, and with a trial of each wrong answer before the first of them.

    Checks include the lines that the exercises put before them. Trials have no ``id`` of the source, and
    their outputs are not used.
    """
    trials = {}
    reminders = {}
    for exercise in exercises(notebook):
        code = [cell for cell in exercise.solution if cell.cell_type == "code"]
        check = exercise.reminders + "\n".join(cell.source for cell in exercise.check)
        reminders[exercise.check[0].id] = exercise.reminders
        trials[code[0].id] = [
            TRIAL.format(wrong=wrong.source, check=check, exercise=exercise.title, number=number)
            for number, wrong in enumerate(exercise.wrong, 1)
        ]
    cells = []
    for cell in deepcopy(notebook.cells):
        for number, trial in enumerate(trials.get(cell.id, ()), 1):
            cells.append(deepcopy(cell))
            cells[-1].update(id=f"{cell.id}-wrong-{number}", source=trial)
        if not tags(cell) & LEFT_OUT["sol"]:
            cell["source"] = reminders.get(cell.id, "") + cell.source
            cells.append(cell)
    return with_cells(notebook, cells)


def with_outputs(notebook: Any, run: Any) -> Any:
    """Return the notebook with the outputs of the run, and its code cells numbered."""
    outputs = {cell.id: cell.outputs for cell in run.cells if cell.cell_type == "code"}
    cells = deepcopy(notebook.cells)
    count = 0
    for cell in cells:
        if cell.id in outputs:
            count += 1
            cell.update(outputs=outputs[cell.id], execution_count=count)
    return with_cells(notebook, cells)


def with_cells(notebook: Any, cells: list[Any]) -> Any:
    """Return a copy of a notebook with other cells."""
    copy = deepcopy({key: value for key, value in notebook.items() if key != "cells"})
    return type(notebook)(**copy, cells=cells)


def product(notebook: Any, name: str) -> Any:
    """Return the product of a lesson that has run: ``"page"``, ``"ex"``, ``"sol"`` or ``"solutions"``."""
    cells = deepcopy(notebook.cells)
    if name == "solutions":
        cells = solution_cells(notebook)
    cells = [cell for cell in cells if not tags(cell) & LEFT_OUT[name]]
    reminders = {exercise.check[0].id: exercise.reminders for exercise in exercises(notebook)}
    for cell in cells:
        if name == "ex":
            cell["source"] = reminders.get(cell.id, "") + cell.source
        if cell.cell_type == "code":
            collapse(cell, name)
    made = with_cells(notebook, cells)
    if name == "solutions":
        made.metadata["orphan"] = True  # reached from the lesson only
    return made


def collapse(cell: Any, name: str) -> None:
    """Collapse a check, the claims and code for drawing; remove the outputs of exercises."""
    if name == "ex":
        cell.update(outputs=[], execution_count=None)
    marks = tags(cell)
    if "answer" in marks:
        cell.update(outputs=[], execution_count=None)
    if marks & {"check", "claims", "hide-input"}:
        cell.metadata["tags"] = sorted(marks - {"hide-cell"} | {"hide-input"})
        cell.metadata["jupyter"] = {"source_hidden": True}
        shown = {"check": "Show the check", "claims": "Show the assertions"}
        prompts = [text for tag, text in shown.items() if tag in marks]
        shown_as = {"code_prompt_show": (prompts or ["Show the code"])[0]}
        cell.metadata["mystnb"] = cell.metadata.get("mystnb", {}) | shown_as


def solution_cells(notebook: Any) -> list[Any]:
    """Return a title and the cells of all exercises."""
    title = deepcopy(notebook.cells[0])
    question = title.source.splitlines()[0].removeprefix("# ")
    title["source"] = (
        f"# Solutions: {question}\n\n"
        "The code continues the lesson. To run it, download the lesson with solutions."
    )
    cells = [deepcopy(cell) for exercise in exercises(notebook) for cell in exercise.cells]
    for cell in cells:
        if cell.cell_type == "markdown":
            cell["source"] = re.sub("^###", "##", cell.source, flags=re.MULTILINE)
    return [title, *cells]


def addresses(stem: str) -> dict[str, Path]:
    """Return the file of each product of a lesson, below ``docs``."""
    return {
        "page": Path("_notebooks") / f"{stem}.ipynb",
        "solutions": Path("_solutions") / f"{stem}.ipynb",
        "ex": Path("_notebooks/files") / f"{stem}_ex.ipynb",
        "sol": Path("_notebooks/files") / f"{stem}_sol.ipynb",
    }


def link_numbers(text: str) -> str:
    """Return a text in which each number of a lesson is a link, in Markdown."""
    pages = {lesson.number: addresses(lesson.stem)["page"] for lesson in lessons().values()}

    def link(number: re.Match[str]) -> str:
        page = pages.get(int(number[0]))
        return number[0] if page is None else f"[{int(number[0])}](/{page})"

    return LESSON_NUMBERS.sub(lambda words: re.sub(r"\d+", link, words[0]), text)


def downloads(lesson: Lesson) -> str:
    """Return the line of links below the first cell of a lesson, in Markdown."""
    files = addresses(lesson.stem)
    title, _ = PARTS[lesson.part]
    return (
        f"Lesson {lesson.number} of [the course](/notebooks.md), part {lesson.part}: {title}.\n\n"
        f"**Download** {{download}}`exercises </{files['ex']}>` or "
        f"{{download}}`lesson with solutions </{files['sol']}>`, both as notebooks. "
        f"[Read the solutions](/{files['solutions']})\n\n"
        f"**Play** with `priorsvm play --lesson {lesson.number}`, "
        "the preset of this lesson in the [playground](/guide/play.md)."
    )


def way_back(lesson: Lesson) -> str:
    """Return the lines of links below the title of a page of solutions, in Markdown."""
    files = addresses(lesson.stem)
    return (
        f"Lesson {lesson.number}: [](/{files['page']})\n\n"
        f"**Download** {{download}}`lesson with solutions </{files['sol']}>` as a notebook."
    )


def course_map() -> str:
    """Return the parts of the course with their lessons, in Markdown."""
    return "\n\n".join([core_and_further(), *(part for letter in PARTS for part in part_map(letter))])


def core_and_further() -> str:
    """Return what the core is, with numbers and minutes of its lessons, in Markdown."""
    core, further = (
        [lesson for lesson in lessons().values() if lesson.kind == kind] for kind in ("core", "further")
    )
    numbers = [str(lesson.number) for lesson in further]
    return (
        f"The **core** has {len(core)} lessons, {sum(lesson.minutes for lesson in core)} minutes. "
        f"The {len(further)} **further** lessons, {sum(lesson.minutes for lesson in further)} minutes, "
        f"are {', '.join(numbers[:-1])} and {numbers[-1]}. No lesson of the core needs them."
    )


def part_map(letter: str) -> Iterator[str]:
    """Yield heading, table and table of contents of a part."""
    title, _ = PARTS[letter]
    members = [lesson for lesson in lessons().values() if lesson.part == letter]
    yield f"## Part {letter}: {title}"
    slides = f'<a href="slides/part_{letter.lower()}.html">Slides of part {letter}</a>'
    yield f"{len(members)} lessons, {sum(lesson.minutes for lesson in members)} minutes. {slides}"
    rows = [
        f"| {lesson.number} | [{lesson.title}]({addresses(lesson.stem)['page']}) | {lesson.theorem} "
        f"| {link_numbers(lesson.needs)} | {lesson.minutes} | {lesson.kind} |"
        for lesson in members
    ]
    yield "\n".join(["| | question | theorem | you need | minutes | |", "|--:|---|---|---|--:|---|", *rows])
    yield contents(f"{lesson.number}. {lesson.title} <_notebooks/{lesson.stem}>" for lesson in members)


def contents(entries: Any) -> str:
    """Return a hidden table of contents, in Markdown."""
    return "\n".join(["```{toctree}", ":hidden:", ":maxdepth: 1", "", *entries, "```"])


def write_course_map(app: Any, page: str, source: list[str]) -> None:
    """Write parts and lessons into the page of the course, while Sphinx reads it."""
    if page == "notebooks":
        source[0] = source[0].replace(MAP, course_map())
        for path in SOURCES.glob("*.py"):
            app.env.note_dependency(path)


def add_downloads(app: Any, page: str, source: list[str]) -> None:
    """Add links between a lesson, its notebooks and its solutions, while Sphinx reads their pages."""
    folder, _, stem = page.rpartition("/")
    if folder not in ("_notebooks", "_solutions") or stem not in lessons():
        return
    lesson = lessons()[stem]
    notebook = json.loads(source[0])
    text = downloads(lesson) if folder == "_notebooks" else way_back(lesson)
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown":
            cell["source"] = link_numbers("".join(cell["source"]))
    cell = {"cell_type": "markdown", "metadata": {}, "source": text}
    if notebook["nbformat_minor"] >= 5:
        cell["id"] = "downloads"
    notebook["cells"].insert(1, cell)
    source[0] = json.dumps(notebook)
