"""The laws every block obeys, for blocks of your own too."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.base import clone

from .assemble import Compiled
from .diagnose import residuals
from .errors import PriorSVMError
from .estimator import PriorSVC
from .knowledge.base import Knowledge
from .prior import as_prior
from .sample import Array
from .solve.machine import Machine
from .solve.solvers import able, classes_of


class LawBroken(PriorSVMError, AssertionError):
    """A block does not do what every block has to do."""


def check_knowledge(
    block: Knowledge, X: Any = None, y: Any = None, kernels: tuple[Any, ...] = ("linear", "rbf"), **fit: Any
) -> list[str]:
    """Check a block against every law that applies to it.

    Parameters
    ----------
    block : Knowledge
    X, y : training data the block can be fitted on; 40 rows of 3 columns in two classes by default
    kernels : the machines to check it in; leave one out if the block does not work there
    **fit : row parameters, as ``fit`` takes them

    Returns
    -------
    list of str
        The laws that were checked.

    Raises
    ------
    LawBroken
        Naming the law, the block and the machine.

    Examples
    --------
    >>> from priorsvm import ClassCosts, check_knowledge
    >>> "weight 0 is absent" in check_knowledge(ClassCosts({1: 2.0}))
    True
    """
    if X is None:
        rng = np.random.default_rng(0)
        X = rng.normal(size=(40, 3))
        y = (X[:, 0] + 0.5 * X[:, 1] ** 2 + 0.4 * rng.normal(size=40) > 0.4).astype(int)
    checker = _Checker(block, np.asarray(X, float), np.asarray(y), fit)
    checker.constructor_and_copies()
    for kernel in kernels:
        checker.machine(kernel)
    if "linear" in kernels and "kernel" not in block.requires and "coef" not in block.requires:
        checker.linear_equals_callable()
    return checker.passed


class _Checker:
    def __init__(self, block: Knowledge, X: Array, y: Array, fit: dict[str, Any]):
        self.block, self.X, self.y, self.rows = block, X, y, fit
        self.name = as_prior(block).names[0]
        self.passed: list[str] = []

    def law(self, name: str, holds: bool, detail: Callable[[], str] | str = "") -> None:
        if not holds:
            text = detail() if callable(detail) else detail
            raise LawBroken(f"block '{self.name}' breaks the law '{name}'. {text}")
        if name not in self.passed:
            self.passed.append(name)

    def fit(self, prior: Any, **parameters: Any) -> PriorSVC:
        rows = self.rows if prior is not None else {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # local optima and max_rounds are no matter of law
            return PriorSVC(prior, **parameters).fit(self.X, self.y, **rows)

    # ------------------------------------------------------------------ without a solver

    def constructor_and_copies(self) -> None:
        block, params = self.block, self.block.get_params(deep=False)
        rebuilt = type(block)(**params)
        stored = all(getattr(rebuilt, key) is value for key, value in params.items())
        self.law(
            "the constructor stores its arguments and does nothing else",
            stored and vars(rebuilt).keys() == params.keys(),
        )
        copies = [clone(block), pickle.loads(pickle.dumps(block))]
        self.law("clone and pickle keep the parameters", all(repr(c) == repr(block) for c in copies))
        self.law("repr names the class", type(block).__name__ in repr(block))

    # ------------------------------------------------------------------ one machine

    def machine(self, kernel: Any) -> None:
        before = repr(self.block)
        model = self.fit(self.block, kernel=kernel, solver="CLARABEL")
        self.law("fit leaves the block as it was", repr(self.block) == before)
        machine: Machine = model._machines[0]
        compiled = machine.problem
        self.terms_are_lawful(compiled)
        found = residuals(compiled.problem)
        self.law("the answer satisfies KKT", found.worst < 1e-4, lambda: f"{kernel}: {found}")
        solved = float(compiled.problem.value)
        self.law(
            "contributions sum to the objective",
            abs(model.objective_ - solved) <= 1e-4 * (1 + abs(solved)),
            lambda: f"{kernel}: contributions {model.objective_}, objective {solved}",
        )
        slack = machine.slack(machine.sample)[compiled.active]
        self.law(
            "slacks are those of f",
            np.allclose(slack, compiled.slack.value, atol=1e-3),
            lambda: f"{kernel}: largest difference {np.abs(slack - compiled.slack.value).max():.1e}",
        )
        self.ends_in_fixed_point(machine)
        self.other_solver_agrees(kernel, solved, compiled)
        if not self.block.shares_slack:
            self.weight_means_weight(kernel)

    def terms_are_lawful(self, compiled: Compiled) -> None:
        rng = np.random.default_rng(0)
        saved = [(v, v.value) for v in compiled.problem.variables()]
        for variable, _ in saved:
            values = rng.normal(size=variable.shape)
            variable.value = np.abs(values) if variable.attributes["nonneg"] else values
        for term in compiled.terms:
            self.law("penalties are convex", term.expression.is_convex())
            self.law("penalties are nonnegative", float(term.expression.value) >= -1e-9, term.name)
        for variable, value in saved:
            variable.value = value
        known = {constraint.label for constraint in compiled.problem.constraints}
        missing = set(compiled.constraints) - known
        self.law("every constraint is in the problem", not missing, str(missing))
        self.law("the problem is DPP", compiled.problem.is_dcp(dpp=True))

    def ends_in_fixed_point(self, machine: Machine) -> None:
        if self.block.iterative:
            from .solve.machine import _refined

            left = _refined(machine, machine.members, machine.sample, machine.states)
            self.law("refinement ends in a fixed point", not left)

    def other_solver_agrees(self, kernel: Any, solved: float, compiled: Compiled) -> None:
        """HiGHS on the LP machine, PIQP on the QP machine: neither must see another problem than Clarabel."""
        own = classes_of(compiled)[self.name]
        if own in ("LP", "QP") and "PIQP" in able("QP"):
            other = self.fit(self.block, kernel=kernel, solver="PIQP").objective_
            self.law(
                "CLARABEL and PIQP agree",
                abs(other - solved) <= 1e-4 * (1 + abs(solved)),
                f"{kernel}: {other}, {solved}",
            )
        if own == "LP":
            values = [
                self.fit(self.block, kernel=kernel, norm="l1", solver=s).objective_
                for s in ("CLARABEL", "HIGHS")
            ]
            self.law(
                "CLARABEL and HIGHS agree",
                abs(values[0] - values[1]) <= 1e-4 * (1 + abs(values[0])),
                f"{kernel}: {values}",
            )

    def weight_means_weight(self, kernel: Any) -> None:
        plain = self.fit(None, kernel=kernel, solver="CLARABEL").decision_function(self.X)
        absent = self.fit(0 * self.block, kernel=kernel, solver="CLARABEL").decision_function(self.X)
        self.law(
            "weight 0 is absent",
            np.allclose(plain, absent, atol=1e-4),
            lambda: f"{kernel}: f differs by {np.abs(plain - absent).max():.1e} from the plain machine",
        )
        sizes = []
        for weight in (0.1, 1.0, 10.0):
            model = self.fit(weight * self.block, kernel=kernel, solver="CLARABEL")
            terms = model._machines[0].problem.terms
            sizes.append(sum(float(t.parameter.value * t.expression.value) / weight for t in terms))
        falling = all(b <= a + 1e-4 * (1 + abs(a)) for a, b in pairwise(sizes))
        self.law("violation does not grow with the weight", falling, lambda: f"{kernel}: {sizes}")

    def linear_equals_callable(self) -> None:
        linear = self.fit(self.block, kernel="linear", solver="CLARABEL")
        kernel = self.fit(self.block, kernel=lambda A, B: A @ B.T, solver="CLARABEL")
        a, b = linear.decision_function(self.X), kernel.decision_function(self.X)
        self.law(
            "the linear machine is the kernel machine with a linear kernel",
            np.allclose(a, b, atol=1e-3),
            lambda: f"f differs by {np.abs(a - b).max():.1e}",
        )
