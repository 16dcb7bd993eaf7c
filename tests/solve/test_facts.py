"""What is told of the solvers is what the library goes by."""

import priorsvm
from priorsvm.solve import solvers as table


def test_every_solver_is_there_with_what_it_solves():
    known = priorsvm.solvers()
    assert list(known) == list(table.SOLVERS)
    for name, facts in known.items():
        assert facts.installed == (name in table.installed())
        assert set(facts.solves) == table.SOLVERS[name].solves
        assert (facts.certifies, facts.accuracy) == (
            table.SOLVERS[name].certifies,
            table.SOLVERS[name].accuracy,
        )


def test_those_that_are_installed_and_able_are_those_that_are_taken():
    for problem in table.CLASSES:
        able = [
            name for name, facts in priorsvm.solvers().items() if facts.installed and problem in facts.solves
        ]
        assert able == table.able(problem)


def test_what_pip_calls_a_solver():
    assert priorsvm.solvers()["HIGHS"].package == "highspy"
    assert priorsvm.solvers()["QOCO"].package == "qoco"
