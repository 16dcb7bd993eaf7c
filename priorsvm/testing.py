"""Laws of blocks: properties that every block has, checked for blocks of your own too."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, clone

from ._utils.arrays import Array
from ._utils.cache import equal
from ._utils.checks import described
from .errors import (
    Infeasible,
    InvalidInput,
    InvalidType,
    MissingCapability,
    PriorSVMError,
    SolverFailed,
    Unbounded,
)
from .estimator import PriorSVC
from .knowledge.base import Knowledge, Terms
from .knowledge.checks import check_acts
from .knowledge.traits import AutoWeight, Iterative, OnRowSlack
from .prior import as_prior
from .problem.assemble import Compiled, prepare
from .problem.residuals import residuals
from .sample import Sample
from .solve.classes import classes_of
from .solve.loop import refined
from .solve.model import BinaryModel
from .solve.solvers import able
from .spec import Spec
from .validation import make_task

if TYPE_CHECKING:
    import cvxpy as cp


class LawBroken(PriorSVMError, AssertionError):
    """A block violates a law of all blocks."""


def check_knowledge(
    block: Knowledge, X: Any = None, y: Any = None, kernels: tuple[Any, ...] = ("linear", "rbf"), **fit: Any
) -> list[str]:
    """Check a block against every law that applies to it.

    Parameters
    ----------
    block : Knowledge
        The block.
    X : array-like of shape (n, d) or None, default=None
        Rows that the block can be fitted on. None means 40 rows of 3 columns in two classes. Rows may have
        NaN if the block completes them; a model without the block then does not exist, and is not compared.
    y : array-like of shape (n,) or None, default=None
        Labels of the rows.
    kernels : tuple of str or Kernel, default=("linear", "rbf")
        Kernels of the models to check. Leave a kernel out if the block does not support it.
    **fit : array-like of shape (n, ...)
        Row parameters, as in :meth:`PriorSVC.fit`.

    Returns
    -------
    list of str
        The laws that were checked.

    Raises
    ------
    LawBroken
        The message names the law, the block and the model.

    See Also
    --------
    Knowledge : Base of all blocks.

    Examples
    --------
    >>> from priorsvm import ClassCosts, check_knowledge
    >>> "weight 0 disables the block" in check_knowledge(ClassCosts({1: 2.0}))
    True
    """
    if not isinstance(block, Knowledge):
        raise InvalidType(f"block must be a Knowledge object such as ClassCosts(), got {described(block)}.")
    if not isinstance(kernels, (tuple, list)):
        raise InvalidType(f"kernels must be a tuple of kernels or names, got {described(kernels)}.")
    if X is not None and np.ndim(X) < 2:
        raise InvalidInput(f"X must have one row for each sample, got the shape {np.shape(X)}.")
    if X is None:
        rng = np.random.default_rng(0)
        X = rng.normal(size=(40, 3))
        y = (X[:, 0] + 0.5 * X[:, 1] ** 2 + 0.4 * rng.normal(size=40) > 0.4).astype(int)
    checker = _Checker(block, np.array(X, float), np.array(y), fit)
    checker.check_does_something()
    checker.check_constructor_and_copies()
    for kernel in kernels:
        checker.choose_weight(block, kernel)
        checker.check_unsolved(kernel)
        model = checker.check_solved(kernel, lp="linear" not in kernels or kernel == "linear")
        values_only = not any(binary.problem.f.used for binary in model._models)
        if kernel == "linear" and len(kernels) > 1 and values_only:
            checker.check_linear_kernel(model)
    return checker.passed


class _Checker:
    def __init__(self, block: Knowledge, X: Array, y: Array, fit: dict[str, Any]):
        self.block = block
        self.X = X
        self.y = y
        self.rows = fit
        self.name = as_prior(block).names[0]
        self.exact = not isinstance(block, Iterative) or block.exact
        self.data = X.copy(), y.copy()
        self.complete = ~np.isnan(X).any(axis=1)
        self.passed: list[str] = []

    def law(self, name: str, holds: bool, detail: Callable[[], str] | str = "") -> None:
        if not holds:
            text = detail() if callable(detail) else detail
            raise LawBroken(f"block '{self.name}' breaks the law '{name}'. {text}")
        if name not in self.passed:
            self.passed.append(name)

    def fit(self, prior: Any, law: str = "the problem can be solved", **parameters: Any) -> PriorSVC:
        """Return a fitted model; raise LawBroken with ``law`` if no solver succeeds."""
        rows = self.rows if prior is not None else {}
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # no law is about local optima or max_rounds
                model = PriorSVC(prior, **parameters).fit(self.X, self.y, **rows)
        except (Infeasible, SolverFailed, Unbounded) as error:
            text = f"block '{self.name}' breaks the law '{law}'. {parameters}: {error}"
            raise LawBroken(text) from error
        self.law(law, True)
        return model

    # ------------------------------------------------------------------ without a solver

    def check_does_something(self) -> None:
        law = "a block does something"
        try:
            check_acts(self.name, self.block)
        except InvalidInput as error:
            raise LawBroken(f"block '{self.name}' breaks the law '{law}'. {error}") from error
        self.law(law, True)

    def check_constructor_and_copies(self) -> None:
        law = "the constructor stores its arguments and does nothing else"
        names = self.block.get_params(deep=False)
        # Objects without any method: a constructor can only store them.
        arguments = {name: object() for name in names}
        try:
            empty = type(self.block)(**arguments)
        except Exception as error:
            raise LawBroken(f"block '{self.name}' breaks the law '{law}'. {error!r}") from error
        changed = [name for name in names if getattr(empty, name, None) is not arguments[name]]
        self.law(law, not changed, f"It changes {changed}.")
        extra = sorted(vars(empty).keys() - names.keys())
        self.law(law, not extra, f"It also makes {extra}.")
        for how, copied in (("clone", clone), ("pickle", lambda b: pickle.loads(pickle.dumps(b)))):
            law = "clone and pickle keep the parameters"
            try:
                copy = copied(self.block)
            except Exception as error:
                raise LawBroken(f"block '{self.name}' breaks the law '{law}'. {how}: {error!r}") from error
            self.law(law, _same(vars(copy), vars(self.block)), how)
        self.given = vars(copy)
        self.before = self.given
        self.law("repr names the class", type(self.block).__name__ in repr(self.block))

    def choose_weight(self, block: Knowledge, kernel: Any) -> None:
        """Use the standard weight of ``mu="auto"`` from here on, because laws compare equal weights."""
        if not isinstance(block, AutoWeight) or block.mu != "auto":
            return
        model = self.fit(block, "mu='auto' can be chosen", kernel=kernel)
        self.law("fit leaves the block as it was", _same(vars(block), self.given))
        linear = model._models[0].problem.f.linear
        mu = block.standard_weight(len(self.y), 1) if block.needs_weight(linear) else 1.0
        self.block = clone(block).set_params(mu=mu)
        self.before = vars(clone(self.block))

    def check_unsolved(self, kernel: Any) -> None:
        task = make_task(PriorSVC(self.block, kernel=kernel), self.X, self.y, None, self.rows)
        for training in task.samples:
            [member] = task.prior
            states = {self.name: member.block.start(training)}
            self.check_prepare(training, member.block, states[self.name])
            sample = prepare([member], training, states)
            self.check_build(task.spec, sample, member.block, states)
            self.check_labels(task.spec, training, member.block)
            compiled = Compiled(task.spec, [member], states, sample)
            known = {constraint.label for constraint in compiled.problem.constraints}
            missing = set(compiled.constraints) - known
            self.law("every constraint is in the problem", not missing, str(missing))
            self.law("the problem is DPP", compiled.problem.is_dcp(dpp=True))

    def check_prepare(self, training: Sample, block: Knowledge, state: Any) -> None:
        n = len(training)
        before = _arrays(training)
        after, again = (_arrays(block.prepare(training, state)) for _ in range(2))
        self.law("prepare leaves the rows it is given as they are", _same(_arrays(training), before))
        parts = ("y", "source") if block.prepares == "moves" else ("X", "y", "source")
        kept = all(_same(after[key][:n], before[key]) for key in parts)
        self.law("prepare only adds and reweights rows", kept)
        added = len(after["y"]) > n
        self.law("prepares names what prepare does", not added or block.prepares == "adds")
        self.law("prepare is deterministic", _same(after, again))

    def check_build(self, spec: Spec, sample: Sample, block: Knowledge, states: dict[str, Any]) -> None:
        import cvxpy as cp

        plain = Compiled(spec, [], states, sample)
        try:
            terms = block.build(plain.f, plain.building(self.name))
        except MissingCapability:
            return  # the fit raises it again
        self.law("build returns Terms", isinstance(terms, Terms), f"It returned {type(terms).__name__}.")
        for name, penalty in terms.penalties.items():
            scalar = isinstance(penalty, cp.Expression) and penalty.is_scalar()
            self.law("penalties are scalar expressions", scalar, name)
            self.law("penalties are named after parameters", name in block.get_params(deep=False), name)
            self.law("penalties are free of cvxpy parameters", not penalty.parameters(), name)
            self.law("penalties are convex", penalty.is_convex(), name)
        for name, constraint in terms.constraints.items():
            convex = isinstance(constraint, cp.Constraint) and constraint.is_dcp()
            self.law("constraints are convex", convex, name)
        self.check_weights_apart(plain, block, terms)
        rows = [*terms.constraints.values(), *plain.tie.definitions.values(), *plain.constraints.values()]
        for name, penalty in terms.penalties.items():
            low = _infimum(penalty, rows)
            self.law("penalties are nonnegative", low > -1e-6, f"{name} can be {low:g}.")

    def check_labels(self, spec: Spec, training: Sample, block: Knowledge) -> None:
        """Check that a formula is the formula of one constraint, if the block has a soft and a hard form."""
        if "hard" not in block.get_params(deep=False):
            return
        forms = []
        for hard in (False, True):
            form = clone(block).set_params(hard=hard)
            try:
                form.validate(training)
                state = form.start(training)
                plain = Compiled(spec, [], {self.name: state}, form.prepare(training, state))
                constraints = form.build(plain.f, plain.building(self.name)).constraints
            except PriorSVMError:
                return  # the block has only one form with these parameters
            latex = form.formulas.latex
            forms.append({(label, latex.get(label)): len(c.variables()) for label, c in constraints.items()})
        soft, rigid = forms
        shared = [key for key in soft.keys() & rigid.keys() if soft[key] != rigid[key]]
        both = sorted(label for label, formula in shared if formula is not None)
        self.law(
            "soft and hard constraints have formulas of their own",
            not both,
            f"Give {both} another label in the soft form, with its own formula.",
        )

    def check_weights_apart(self, plain: Compiled, block: Knowledge, terms: Terms) -> None:
        """Check that a penalty does not contain the parameter that weights it, which would count twice."""
        for name in terms.penalties:
            value = getattr(block, name)
            other = clone(block).set_params(**{name: 2.0 * value + 1.0})
            again = other.build(plain.f, plain.building(self.name)).penalties[name]
            same = _constants(again) == _constants(terms.penalties[name])
            self.law(
                "the assembler weighs penalties, not the block", same, f"Leave {name} out of its penalty."
            )

    # ------------------------------------------------------------------ with a solver

    def check_solved(self, kernel: Any, lp: bool) -> PriorSVC:
        model = self.fit(self.block, kernel=kernel, solver="CLARABEL")
        self.law("fit leaves the block as it was", _same(vars(self.block), self.before))
        self.law("fit leaves the data as they were", _same((self.X, self.y), self.data))
        for binary in model._models:
            self.check_solution(kernel, binary)
        self.check_formulas(kernel, model)
        self.check_other_solvers(kernel, model, lp)
        if not isinstance(self.block, OnRowSlack) and self.complete.all():
            self.check_outer_weight(kernel, model)
        if self.exact:
            self.check_order_of_rows(kernel, model)
            self.check_paths(kernel, model)
        return model

    def check_solution(self, kernel: Any, binary: BinaryModel) -> None:
        compiled = binary.problem
        found = residuals(compiled.problem)
        self.law("the answer satisfies KKT", found.worst < 1e-4, lambda: f"{kernel}: {found}")
        stated = float(compiled.problem.value)
        self.law(
            "contributions sum to the objective",
            _close(binary.objective, stated),
            lambda: f"{kernel}: contributions {binary.objective}, objective {stated}",
        )
        if isinstance(self.block, Iterative):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                changed = refined(binary, binary.members, binary.sample, binary.states)
            self.law("refinement ends in a fixed point", not changed)

    def check_formulas(self, kernel: Any, model: PriorSVC) -> None:
        """Check that ``formulas`` of the block match its terms in this model."""
        law = "formulation() can be written"
        try:
            model.formulation()
        except PriorSVMError as error:
            raise LawBroken(f"block '{self.name}' breaks the law '{law}'. {kernel}: {error}") from error
        self.law(law, True)

    def check_equal_objectives(self, law: str, models: tuple[PriorSVC, PriorSVC], where: str) -> None:
        first, second = ([binary.objective for binary in model._models] for model in models)
        equal_objectives = all(_close(a, b) for a, b in zip(first, second, strict=True))
        self.law(law, equal_objectives, f"{where}: {first}, {second}")

    def check_other_solvers(self, kernel: Any, model: PriorSVC, lp: bool) -> None:
        """Check that HiGHS on an LP and PIQP on a QP reach the objective of Clarabel."""
        kind = classes_of(model._models[0].problem)[self.name]
        if kind in ("LP", "QP") and "PIQP" in able("QP"):
            law = "CLARABEL and PIQP agree"
            other = self.fit(self.block, law, kernel=kernel, solver="PIQP")
            self.check_equal_objectives(law, (model, other), str(kernel))
        if kind == "LP" and lp:
            law = "CLARABEL and HIGHS agree"
            clarabel = self.fit(self.block, law, kernel=kernel, norm="l1", solver="CLARABEL")
            highs = self.fit(self.block, law, kernel=kernel, norm="l1", solver="HIGHS")
            self.check_equal_objectives(law, (clarabel, highs), str(kernel))

    def check_order_of_rows(self, kernel: Any, model: PriorSVC) -> None:
        order = np.random.default_rng(0).permutation(len(self.y))
        rows = {key: np.asarray(value)[order] for key, value in self.rows.items()}
        permuted = _Checker(self.block, self.X[order], self.y[order], rows)
        given = [getattr(self.block, p) for p in self.block.row_params]
        if any(np.shape(v)[:1] == (len(self.y),) for v in given if isinstance(v, (list, tuple, np.ndarray))):
            return  # arrays in the constructor are in the order of the rows
        law = "the order of the rows has no effect"
        again = permuted.fit(self.block, law, kernel=kernel, solver="CLARABEL")
        self.check_equal_objectives(law, (model, again), str(kernel))

    def check_paths(self, kernel: Any, model: PriorSVC) -> None:
        """Check that a weight is only the factor of its penalty: a path changes the factor alone."""
        law = "a path over a weight is the same as separate fits"
        for name in sorted({term.name for m in model._models for term in m.problem.terms}):
            value = 3.0 * float(getattr(self.block, name)) + 0.5
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                path = PriorSVC(self.block, kernel=kernel, solver="CLARABEL").fit_path(
                    self.X, self.y, {f"{self.name}__{name}": [getattr(self.block, name), value]}, **self.rows
                )
            alone = self.fit(
                clone(self.block).set_params(**{name: value}), law, kernel=kernel, solver="CLARABEL"
            )
            self.check_equal_objectives(law, (path[-1], alone), f"{kernel}, {name}")

    def check_outer_weight(self, kernel: Any, model: PriorSVC) -> None:
        plain = self.fit(None, kernel=kernel, solver="CLARABEL").decision_function(self.X)
        absent = self.fit(0 * self.block, kernel=kernel, solver="CLARABEL").decision_function(self.X)
        self.law(
            "weight 0 disables the block",
            np.allclose(plain, absent, atol=1e-4),
            lambda: f"{kernel}: f differs by {np.abs(plain - absent).max():.1e} from the plain model",
        )
        weights = _weights(model._models)
        adds = any(block == self.name for binary in model._models for block, _ in binary.contributions())
        if not self.exact or not adds or len(weights) == 1:
            return
        sizes = []
        for weight in weights:
            weighted = model
            if weight != 1:
                weighted = self.fit(weight * self.block, kernel=kernel, solver="CLARABEL")
            sizes.append([_penalty(binary, self.name) / weight for binary in weighted._models])
        for course in np.transpose(sizes):
            falling = all(b <= a + 1e-4 * (1 + abs(a)) for a, b in pairwise(course))
            self.law("violation does not grow with the weight", falling, f"{kernel}: {course}")

    def check_linear_kernel(self, linear: PriorSVC) -> None:
        try:
            kernel = self.fit(self.block, kernel=lambda A, B: A @ B.T, solver="CLARABEL")
        except MissingCapability:  # derivatives are required, even if these parameters need none
            return
        pairs = zip(linear._models, kernel._models, strict=True)
        if not all(equal(a.states, b.states) for a, b in pairs):
            return  # the requirements of the block differ between linear and kernel models
        a = linear.decision_function(self.X[self.complete])
        b = kernel.decision_function(self.X[self.complete])
        self.law(
            "the linear model is the kernel model with a linear kernel",
            np.allclose(a, b, atol=1e-3),
            lambda: f"f differs by {np.abs(a - b).max():.1e}",
        )


def _close(a: float, b: float) -> bool:
    return abs(a - b) <= 1e-4 * (1 + abs(b))


def _constants(expression: Any) -> list[tuple[Any, ...]]:
    """Return shape and content of all constants in an expression, in order."""
    return [(np.shape(c.value), np.asarray(c.value, float).tobytes()) for c in expression.constants()]


def _infimum(penalty: cp.Expression, constraints: list[cp.Constraint]) -> float:
    """Return the lowest value of a penalty over all f."""
    import cvxpy as cp

    if penalty.is_nonneg():
        return 0.0
    problem = cp.Problem(cp.Minimize(penalty), constraints)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        problem.solve(solver="CLARABEL")
    return float(problem.value)


def _penalty(binary: BinaryModel, name: str) -> float:
    """Return the contribution of a block to the objective."""
    return sum(value for (block, _), value in binary.contributions().items() if block == name)


def _weights(binaries: list[BinaryModel]) -> tuple[float, ...]:
    """Return outer weights to check: 1 alone if the block changes margins, up to 1 if it lowers costs."""
    changes = [(binary.training, binary.sample) for binary in binaries]
    if any(not np.array_equal(a.margin[: len(b)], b.margin) for b, a in changes):
        return (1.0,)
    return (0.1, 0.5, 1.0) if any((a.cost[: len(b)] < b.cost).any() for b, a in changes) else (0.1, 1.0, 10.0)


def _arrays(sample: Sample) -> dict[str, Array]:
    return {key: np.array(getattr(sample, key)) for key in ("X", "y", "cost", "margin", "source")}


def _same(a: Any, b: Any) -> bool:
    """Return whether two parameters have equal content, down to the entries of their arrays."""
    if a is b:
        return True
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return (
            type(a) is type(b) and a.dtype == b.dtype and np.array_equal(a, b, equal_nan=a.dtype.kind in "fc")
        )
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(_same(a[key], b[key]) for key in a)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(_same(u, v) for u, v in zip(a, b, strict=True))
    kind: Any = type(a)
    if isinstance(a, BaseEstimator) or (kind.__eq__ is object.__eq__ and hasattr(a, "__dict__")):
        return _same(vars(a), vars(b))
    if hasattr(a, "equals"):  # a DataFrame or a Series
        return bool(a.equals(b))
    return bool(a == b)
