r"""From blocks to one labelled convex problem :math:`J_{SVM} + \sum_k w_k J_{PK,k}` with live weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._utils.arrays import Array
from .._utils.cache import Cache, equal
from .._utils.checks import check_nonnegative
from ..errors import CoverTooCoarse, InvalidInput, InvalidType, MissingCapability
from ..function.decision import Atoms, Decision, FactorMap, Fitted, KernelMap, LinearMap, ValueMap
from ..knowledge.base import Context, Knowledge, Terms
from ..prior import Member
from ..sample import Sample
from ..spec import Spec
from .diagnose import unit_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    import cvxpy as cp

    from ..kernels.base import Kernel


LIVE_ROWS = 2000


class Term(NamedTuple):
    """One penalty of one block: parameter x expression."""

    block: str
    name: str
    parameter: cp.Parameter
    expression: cp.Expression


@contextmanager
def naming(name: str) -> Iterator[None]:
    """Whatever goes wrong inside says which block it was."""
    try:
        yield
    except Exception as error:
        named = f"'{name}'" in str(error)
        if isinstance(error, (InvalidInput, InvalidType, MissingCapability, CoverTooCoarse)) and not named:
            error.args = (f"block '{name}': {error}",)
        elif not named:
            error.add_note(f"This happened in block '{name}'.")
        raise


def prepare(members: Sequence[Member], sample: Sample, states: Mapping[str, Any]) -> Sample:
    """Let every block add or reweight rows: first those that reweight, then those that add."""
    for name, block, weight in sorted(members, key=lambda member: member.block.adds_rows):
        if weight > 0:
            with naming(name):
                sample = sample.changed_by(name, block.prepare(sample, states.get(name)), weight)
    return sample


class Compiled:
    """The assembled problem and the names of its parts.

    Attributes
    ----------
    problem : cvxpy.Problem
    f : Decision
    active : rows of the sample that have a positive cost, in the order of ``slack``.
    terms : the blocks' penalties.
    constraints : label -> constraint, ``svm.margin`` first; the definitions of f's values are not among them.
    """

    function_latex = r"f(x) = {0}^\top {1} + b"
    margin_latex = r"y_i f(x_i) \ge \rho_i - \xi_i,\; \xi_i \ge 0 \text{ for all rows, added ones too}"

    def __init__(
        self,
        spec: Spec,
        members: Sequence[Member],
        states: Mapping[str, Any],
        sample: Sample,
        maps: Cache | None = None,
    ):
        import cvxpy as cp

        self.spec = spec
        self.sample = sample
        self.states = dict(states)
        self.members = [member for member in members if member.weight > 0]
        self.f = self._function(maps or Cache())
        self.active = np.flatnonzero(sample.cost > 0)
        self.slack = cp.Variable(len(self.active), nonneg=True, name="xi")
        # Costs stay live up to a size: CVXPY holds a dense matrix of slacks x cost parameters.
        self.live_costs = len(self.active) <= LIVE_ROWS
        self.costs = cp.Parameter(len(self.active) if self.live_costs else (), nonneg=True, name="costs")
        y = sample.y[self.active]
        margin = sample.margin[self.active]
        self.values = self.f(sample.X[self.active])
        self.constraints: dict[str, cp.Constraint] = {
            "svm.margin": cp.multiply(y, self.values) >= margin - self.slack
        }
        penalised = self.slack if spec.loss == "hinge" else cp.square(self.slack)
        self.loss = (
            self.costs @ penalised if self.live_costs else self.costs * (sample.cost[self.active] @ penalised)
        )
        self.terms: list[Term] = []
        for member in self.members:
            with naming(member.name):
                self._add(member)
        for label, constraint in self.constraints.items():
            constraint.set_label(label)
        for label, constraint in self.f.definitions.items():
            constraint.set_label(f"f.{label}")
        objective = self.f.regulariser + self.loss
        for term in self.terms:
            objective = objective + term.parameter * term.expression
        self.problem = cp.Problem(
            cp.Minimize(objective), [*self.constraints.values(), *self.f.definitions.values()]
        )
        self.set_weights(spec, members, states, sample)

    @cached_property
    def lean(self) -> cp.Problem:
        """The problem without what is dense: nothing defines values or products, nor penalises f's norm.

        Slacks have no costs either, which as parameters would take CVXPY longer than all the rest.
        """
        import cvxpy as cp

        objective = cp.Constant(0.0)
        without = self.f.without_products
        if self.spec.norm == "l1":
            objective = objective + self.f.regulariser
        for term in self.terms:
            objective = objective + term.parameter * without(term.expression)
        return cp.Problem(cp.Minimize(objective), [without(c) for c in self.constraints.values()])

    def _function(self, maps: Cache) -> Decision:
        """f; maps made before are reused when their centres are the same."""
        spec = self.spec
        sample = self.sample
        if spec.kernel is None:
            return Decision(LinearMap(sample.X.shape[1], spec.scale), spec.norm)
        if spec.norm == "l1":
            none = np.empty((0, sample.X.shape[1]))
            centres = l1_centres(spec, sample)
            at = none
            along = none
        else:
            centres, at, along = self._expansion(spec.kernel)
            centres = centres[np.sort(np.unique(centres, axis=0, return_index=True)[1])]
        key = (spec.norm, spec.kernel, spec.scale and vars(spec.scale), spec.n_centres, centres, at, along)
        return Decision(maps.get(key, lambda: _kernel_map(spec, centres, at, along)), spec.norm)

    def _expansion(self, kernel: Kernel) -> tuple[Array, Array, Array]:
        """What a kernel machine with the 2-norm expands over: points, and points with directions."""
        sample = self.sample
        d = self.sample.X.shape[1]
        parts = [sample.X[sample.cost > 0]]
        at = np.empty((0, d))
        along = np.empty((0, d))
        for name, block, _ in self.members:
            with naming(name):
                state = self.states.get(name)
                parts.append(_as_points("centres", block.centres(sample, state), d))
                if type(block).slopes is not Knowledge.slopes:
                    kernel._require("slope_slope")
                    Z, V = (_as_points("slopes", part, d) for part in block.slopes(sample, state))
                    at = np.vstack([at, Z])
                    along = np.vstack([along, V])
        return np.vstack(parts), at, along

    def _add(self, member: Member) -> None:
        import cvxpy as cp

        name, block, _ = member
        missing = sorted(block.requires - self.f.has)
        if missing:
            raise MissingCapability(_lacks(missing, self.f))
        terms = block.build(self.f, self.context(name))
        if not isinstance(terms, Terms):
            raise InvalidType(f"build must return Terms(penalties, constraints), got {type(terms).__name__}.")
        for part, what in (
            ("penalties", "parameter name to expression"),
            ("constraints", "label to constraint"),
        ):
            given = getattr(terms, part)
            if not isinstance(given, Mapping):
                raise InvalidType(f"{part} must be a dict of {what}, got {type(given).__name__}.")
        for key, expression in terms.penalties.items():
            if not isinstance(expression, cp.Expression) or not expression.is_scalar():
                raise InvalidType(f"penalty '{key}' must be a scalar cvxpy expression.")
            if not hasattr(block, key):
                raise InvalidInput(f"penalty '{key}' has no parameter of that name to weigh it.")
            if not expression.is_convex():
                raise InvalidInput(f"penalty '{key}' is not convex: {_short(expression)}")
            if expression.parameters():
                raise InvalidInput(
                    f"penalty '{key}' must be free of cvxpy Parameters: the assembler weighs it."
                )
            self.terms.append(Term(name, key, cp.Parameter(nonneg=True, name=f"{name}.{key}"), expression))
        for label, constraint in terms.constraints.items():
            if not isinstance(constraint, cp.Constraint):
                raise InvalidType(
                    f"constraint '{label}' is a {type(constraint).__name__}, not a cvxpy constraint."
                )
            if not constraint.is_dcp():
                raise InvalidInput(f"constraint '{label}' is not convex: {_short(constraint)}")
            self.constraints[f"{name}.{label}"] = constraint

    def context(self, name: str, support: Array | None = None) -> Context:
        """What block ``name`` sees."""
        training = self.active < self.sample.n_train
        return Context(
            name,
            self.sample,
            self.states.get(name),
            self.slack[np.flatnonzero(training)] if training.any() else None,
            self.active[training],
            support,
            self.spec.tol,
        )

    def set_weights(
        self, spec: Spec, members: Sequence[Member], states: Mapping[str, Any], sample: Sample
    ) -> None:
        """Put C, costs, hyper-parameters and outer weights into the problem's parameters."""
        blocks = {member.name: member for member in members}
        self.states = dict(states)
        self.spec = spec
        C = spec.C
        self.sample = sample
        self.members = [blocks[member.name] for member in self.members]
        self.costs.value = C * sample.cost[self.active] if self.live_costs else C
        for term in self.terms:
            member = blocks[term.block]
            with naming(member.name):
                value = getattr(member.block, term.name)
                check_nonnegative(**{term.name: value})
                term.parameter.value = member.weight * float(value)

    def accepts(self, members: Sequence[Member], states: Mapping[str, Any], sample: Sample) -> bool:
        """Whether the problem for these can be had from this one by new weights alone."""
        now = {member.name: member.block for member in self.members}
        then = {member.name: member.block for member in members if member.weight > 0}
        weights = {name: {term.name for term in self.terms if term.block == name} for name in now}
        return (
            list(now) == list(then)
            and all(then[k].only_rows or _alike(now[k], then[k], weights[k]) for k in now)
            and all(then[k].only_rows or equal(states.get(k), self.states.get(k)) for k in now)
            and self.sample.same_rows(sample)
            and (self.live_costs or np.array_equal(self.sample.cost, sample.cost))
        )

    def jacobians(self) -> dict[int, Any]:
        """What the residuals need of the constraints that hold the rows, without asking cvxpy for it."""
        import cvxpy as cp

        known = self.f.jacobians()
        if isinstance(self.values, cp.Variable):
            y = self.sample.y[self.active]
            margin = {self.slack: lambda m: -m, self.values: lambda m: -y * m}
            known[self.constraints["svm.margin"].id] = margin
        cost = self.cost_of_slack
        slope = cost if self.spec.loss == "hinge" else 2.0 * cost * self.slack.value
        rest = sum((t.parameter * t.expression for t in self.terms), cp.Constant(0.0)) if self.terms else None
        known[id(self.problem.objective)] = (
            {**self.f.regulariser_slope(), self.slack: lambda m: slope},
            rest,
        )
        return known

    @property
    def cost_of_slack(self) -> Array:
        """What each slack, or its square, is multiplied by in the objective."""
        return np.asarray(self.spec.C * self.sample.cost[self.active])

    def units(self) -> tuple[float, dict[cp.Variable, float]]:
        """What residuals are relative to where costs are small: gaps, and the slope along the slack."""
        cost = self.cost_of_slack
        return unit_of(cost, self.sample.y[self.active]), {self.slack: float(cost.max())}

    def penalties(self) -> dict[tuple[str, str], float]:
        """Block and name of each penalty -> what it adds to the objective."""
        return {(t.block, t.name): float(t.parameter.value * t.expression.value) for t in self.terms}

    def duals(self) -> dict[str, Any]:
        """Label -> dual value, as cvxpy has it."""
        return {label: constraint.dual_value for label, constraint in self.constraints.items()}

    def fitted(self) -> Fitted:
        return self.f.fitted()


def _kernel_map(spec: Spec, centres: Array, at: Array, along: Array) -> KernelMap:
    assert spec.kernel is not None
    kernel = spec.kernel.double
    if spec.norm == "l2":
        factor = FactorMap(kernel, Atoms.both(centres, at, along), spec.scale, spec.n_centres)
        plain = spec.n_centres is None and len(at) == 0
        return ValueMap(factor) if plain and ValueMap.suits(factor) else factor
    return KernelMap(kernel, centres, spec.scale)


def l1_centres(spec: Spec, sample: Sample) -> Array:
    """The centres of a 1-norm machine: its optimum depends on them, so blocks add none."""
    centres = sample.X_train[sample.cost[: sample.n_train] > 0]
    if spec.n_centres is not None and spec.n_centres < len(centres):
        centres = centres[np.linspace(0, len(centres) - 1, spec.n_centres).round().astype(int)]
    return centres


def _alike(a: Knowledge, b: Knowledge, weights: set[str]) -> bool:
    """Whether two blocks differ in nothing but the parameters that weigh their penalties."""
    A, B = ({k: v for k, v in vars(block).items() if k not in weights} for block in (a, b))
    return type(a) is type(b) and equal(A, B)


def _as_points(what: str, given: Any, n_features: int) -> Array:
    points = np.asarray([] if given is None else given, float)
    if points.size == 0:
        return np.empty((0, n_features))
    if points.ndim != 2 or points.shape[1] != n_features:
        raise InvalidInput(f"{what} has shape {points.shape}, expected (n, {n_features}).")
    if not np.isfinite(points).all():
        raise InvalidInput(f"{what} contains NaN or infinity.")
    return points


def _short(expression: Any) -> str:
    text = str(expression)
    return text if len(text) <= 80 else text[:77] + "..."


def _lacks(missing: list[str], f: Decision) -> str:
    machines = {
        "coef": "use kernel='linear'",
        "kernel": "use a kernel other than 'linear'",
        "slope": "use a linear machine or a kernel with derivatives, such as RBF or Polynomial",
    }
    features = f.features
    kind = "a linear machine" if isinstance(features, LinearMap) else f"a machine with {features.kernel!r}"
    wants = [f"f.{m}, which {kind} does not have: {machines.get(m, 'no machine has it')}" for m in missing]
    return f"it needs {'; '.join(wants)}."
