"""Write the tables of docs/solver_tables.md anew from the registry of routes: python docs/tables.py."""

from pathlib import Path

from priorsvm.solve.tables import updated

PAGE = Path(__file__).parent / "solver_tables.md"

if __name__ == "__main__":
    PAGE.write_text(updated(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
