"""The tables of the guide and of the command are made from the registry."""

from pathlib import Path

from priorsvm.solve import solvers, tables
from priorsvm.solve.auto import chosen_for
from priorsvm.solve.further import PACKAGES
from priorsvm.solve.registry import further_routes, registry

PAGE = Path(__file__).parents[2] / "docs/solver_tables.md"


def test_the_page_has_the_tables_of_the_registry():
    page = PAGE.read_text(encoding="utf-8")
    for name, table in tables.markdown().items():
        current = f"<!-- table: {name} -->\n{table}\n<!-- end -->"
        assert current in page, "Run python docs/tables.py, which writes docs/solver_tables.md."
    assert tables.updated(page) == page


def test_a_table_is_written_between_its_marks_only():
    page = "Before.\n<!-- table: auto -->\nold\n<!-- end -->\nAfter.\n"
    updated = tables.updated(page)
    assert updated.startswith("Before.\n<!-- table: auto -->\n| problem | route |")
    assert updated.endswith("|\n<!-- end -->\nAfter.\n")
    assert "old" not in updated


def test_every_route_is_in_the_table_of_routes():
    first_cells = [line.split(" | ")[0].strip("| ") for line in tables.markdown()["routes"].splitlines()]
    assert first_cells[2:] == list(registry())


def test_the_tables_of_the_page_do_not_depend_on_what_is_installed(monkeypatch):
    before = tables.markdown()
    monkeypatch.setattr(solvers, "available", frozenset)
    monkeypatch.setattr(solvers, "installed", lambda: ("CLARABEL",))
    assert tables.markdown() == before


def test_every_further_solver_with_a_package_is_on_the_page():
    names = {name for name, route in further_routes().items() if route.package}
    assert names == set(PACKAGES) & set(further_routes())
    assert set(PACKAGES) <= set(further_routes())


def test_every_choice_of_auto_is_a_route():
    assert set(chosen_for()) <= set(registry())
