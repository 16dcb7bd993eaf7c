r"""Assembly of blocks into one convex problem :math:`J_{SVM} + \sum_k w_k J_{PK,k}` with variable weights.

Weights are parameters of CVXPY, and labels are constants. One parameter per label multiplies the compile time
by ten at 10 000 rows. Beyond ``PARAMETER_ROWS`` the costs are constants too, because CVXPY would store 3.2
GB at 20 000 rows. With ``C=inf`` the slack is a constant of zeros, so interior-point methods keep an
interior.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._utils.arrays import Array
from .._utils.cache import Cache, equal
from .._utils.checks import check_nonnegative
from ..errors import InvalidInput, InvalidType
from ..function.fitted import Fitted
from ..function.symbolic import Decision
from ..function.tie import Tie, feature_map
from ..knowledge.base import Knowledge, Terms
from ..knowledge.traits import OnRowSlack
from ..knowledge.views import Building
from ..prior import Member, live
from ..sample import Sample
from ..spec import Spec
from .naming import naming
from .residuals import unit_of

if TYPE_CHECKING:
    import cvxpy as cp


# Up to this many rows the costs are parameters. CVXPY stores a dense matrix of slacks x cost parameters.
PARAMETER_ROWS = 2000


class Term(NamedTuple):
    """A penalty of a block: parameter times expression."""

    block: str
    name: str
    parameter: cp.Parameter
    expression: cp.Expression


def prepare(members: Sequence[Member], sample: Sample, states: Mapping[str, Any]) -> Sample:
    """Return the rows after the ``prepare`` of every block: blocks that add rows come last."""
    for name, block, weight in sorted(live(members), key=lambda member: member.block.prepares == "adds"):
        with naming(name):
            sample = sample.changed_by(name, block.prepare(sample, states.get(name)), weight)
    return sample


class Compiled:
    """The assembled problem and the names of its parts.

    Blocks build on values and slopes of f, which are plain variables. Reading :attr:`problem` connects them
    to coefficients, which factors the kernel matrix of a kernel model.

    Attributes
    ----------
    f : Decision
        The decision function, with all values and slopes that blocks evaluated.
    active : array of int
        Rows of the sample that are part of the loss, in the order of ``slack``.
    facts : Sample or None
        The rows that blocks build on, if the rows of ``sample`` stand for their loss; None for ``sample``.
    terms : list of Term
        Penalties of the blocks.
    constraints : dict of str to cvxpy.Constraint
        Label -> constraint, ``svm.margin`` first. The equations of the tie are not included.
    uses : dict of str to set of str
        Block -> parts of f that it uses besides values: ``"slope"``, ``"coef"``, ``"bias"``, ``"kernel"``,
        ``"length"``.
    memo : dict
        Results that a route keeps for the next solve of this problem with other weights.
    """

    function_latex = r"f(x) = {0}^\top {1} + b"
    soft_margin = r"y_i f(x_i) \ge \rho_i - \xi_i,\; \xi_i \ge 0 \text{ for all rows, added ones too}"
    hard_margin = r"y_i f(x_i) \ge \rho_i,\; \xi_i = 0 \text{ for all rows, added ones too}"

    def __init__(
        self,
        spec: Spec,
        members: Sequence[Member],
        states: Mapping[str, Any],
        sample: Sample,
        maps: Cache | None = None,
        facts: Sample | None = None,
        most_points: int | None = None,
    ):
        import cvxpy as cp

        self.spec = spec
        self.sample = sample
        self.states = dict(states)
        self.members = live(members)
        self.memo: dict[str, Any] = {}
        self._apart: dict[str, bool] = {}
        self._maps = maps or Cache()
        self.f = Decision(spec, sample.X.shape[1])
        self.active = sample.counted_rows
        self.slack: Any = cp.Variable(len(self.active), nonneg=True, name="xi")
        if spec.hard:
            self.slack = cp.Constant(np.zeros(len(self.active)))
        self.slack.decision = self.f
        self.f.slack = self.slack
        self.facts = facts
        self.f.rows = self.active if facts is None else np.full(len(self.active), -1)
        self.has_row_costs = len(self.active) <= PARAMETER_ROWS
        self.costs = cp.Parameter(len(self.active) if self.has_row_costs else (), nonneg=True, name="costs")
        y = sample.y[self.active]
        margin = sample.margin[self.active]
        self.values = self.f(sample.X[self.active])
        self.constraints: dict[str, cp.Constraint] = {
            "svm.margin": cp.multiply(y, self.values) >= margin - self.slack
        }
        self.f._most_points = most_points
        self.terms: list[Term] = []
        self.uses: dict[str, set[str]] = {}
        for member in self.members:
            with naming(member.name):
                self._add(member)
        self.constraints["svm.margin"].set_label("svm.margin")
        self.set_weights(spec, members, states, sample)

    @property
    def margin_latex(self) -> str:
        """LaTeX of the margins."""
        return self.hard_margin if self.spec.hard else self.soft_margin

    def extend(self, member: Member) -> None:
        """Add the terms of one more block to the problem built so far.

        Raises
        ------
        InvalidInput, InvalidType
            If its terms are not convex; the problem is not changed then.
        """
        with naming(member.name):
            self._add(member)
        self.members = [*self.members, member]
        self.states = {**self.states, member.name: None}
        self.retie()
        self.set_weights(self.spec, self.members, self.states, self.sample)

    def retie(self) -> None:
        """Drop everything derived from the terms and from what f was evaluated at."""
        self.memo.clear()
        for derived in ("tie", "problem", "untied", "lean"):
            vars(self).pop(derived, None)

    @property
    def is_tied(self) -> bool:
        """Whether :attr:`tie` exists and connects everything that f was evaluated at."""
        tie = vars(self).get("tie")
        return tie is not None and len(tie.parts) == len(self.f.evaluations)

    @cached_property
    def tie(self) -> Tie:
        """The equations between the values of f and its coefficients."""
        rows = l1_centres(self.spec, self.sample) if self.spec.norm == "l1" else None
        tie = Tie(self.f, feature_map(self.f, rows, self._maps))
        for label, constraint in tie.definitions.items():
            constraint.set_label(f"f.{label}")
        return tie

    @cached_property
    def problem(self) -> cp.Problem:
        """The whole problem, for solvers of CVXPY."""
        import cvxpy as cp

        objective = self.tie.regulariser + self.untied.objective.expr
        return cp.Problem(
            cp.Minimize(objective), [*self.constraints.values(), *self.tie.definitions.values()]
        )

    @cached_property
    def untied(self) -> cp.Problem:
        """Loss, penalties and constraints on values of f that no coefficients connect."""
        import cvxpy as cp

        objective = self.loss
        for term in self.terms:
            objective = objective + term.parameter * term.expression
        return cp.Problem(cp.Minimize(objective), list(self.constraints.values()))

    @cached_property
    def loss(self) -> cp.Expression:
        """The loss of the rows: C times costs times slacks or squared slacks."""
        import cvxpy as cp

        if self.spec.hard:
            return cp.Constant(0.0)
        penalised = self.slack if self.spec.loss == "hinge" else cp.square(self.slack)
        if self.has_row_costs:
            return self.costs @ penalised
        return self.costs * (self.sample.cost[self.active] @ penalised)

    @cached_property
    def lean(self) -> cp.Problem:
        """The problem without its dense parts and without the costs of slacks.

        A route adds the equations of the tie, products with c, the squared norm of f and the costs to the
        compiled data, as matrices. With the costs as parameters, CVXPY would take more than twice the time.
        """
        import cvxpy as cp

        replaced = self.f.products.replaced
        objective = cp.Constant(0.0)
        if self.spec.norm == "l1":
            objective = objective + self.tie.regulariser
        for term in self.terms:
            objective = objective + term.parameter * replaced(term.expression)
        return cp.Problem(cp.Minimize(objective), [replaced(c) for c in self.constraints.values()])

    def _add(self, member: Member) -> None:
        """Add the penalties and constraints of a block."""
        import cvxpy as cp

        name, block, _ = member
        used = self.f.used
        self.f.used = set()
        try:
            terms = block.build(self.f, self.building(name))
            uses = self.f.used
        finally:
            self.f.used = used | self.f.used
        check_terms(block, terms)
        if not (self.spec.hard or isinstance(block, OnRowSlack)) and _uses(terms, self.slack):
            kind = type(block).__name__
            raise InvalidInput(
                f"build uses view.slack, but {kind} does not derive from OnRowSlack. Write "
                f"class {kind}(OnRowSlack, Knowledge)."
            )
        self.uses[name] = uses
        for key, expression in terms.penalties.items():
            self.terms.append(Term(name, key, cp.Parameter(nonneg=True, name=f"{name}.{key}"), expression))
        for label, constraint in terms.constraints.items():
            self.constraints[f"{name}.{label}"] = constraint
            constraint.set_label(f"{name}.{label}")

    def building(self, name: str) -> Building:
        """Return the view of block ``name`` on the problem."""
        import cvxpy as cp

        if self.facts is not None:
            return Building(name, self.facts, self.states.get(name), self.facts.counted_training, self.slack)
        training = np.flatnonzero(self.active < self.sample.n_train)
        slack = self.slack[training] if len(training) else cp.Constant(np.empty(0))
        return Building(name, self.sample, self.states.get(name), self.active[training], slack)

    def set_weights(
        self, spec: Spec, members: Sequence[Member], states: Mapping[str, Any], sample: Sample
    ) -> None:
        """Set the parameters of the problem: C, costs, hyper-parameters and outer weights."""
        blocks = {member.name: member for member in members}
        self.states = dict(states)
        self.spec = spec
        self.sample = sample
        self.members = [blocks[member.name] for member in self.members]
        if not spec.hard:
            self.costs.value = spec.C * sample.cost[self.active] if self.has_row_costs else spec.C
        for term in self.terms:
            member = blocks[term.block]
            with naming(member.name):
                value = getattr(member.block, term.name)
                check_nonnegative(**{term.name: value})
                unit = spec.C if term.name in member.block.counts_rows else 1.0
                term.parameter.value = unit * member.weight * float(value)
        self._set_values = {name: parameter.value for name, parameter in self._parameters().items()}

    def _parameters(self) -> dict[str, cp.Parameter]:
        """Return the parameters of the problem by the name of what they depend on."""
        named = {f"{term.block}__{term.name}": term.parameter for term in self.terms}
        return named if self.spec.hard else {"C": self.costs, **named}

    def require_own_parameters(self) -> None:
        """Raise InvalidInput if a parameter has another value than the one set, or none."""
        for name, parameter in self._parameters().items():
            if not np.array_equal(parameter.value, self._set_values[name]):
                raise InvalidInput(
                    f"the parameter '{parameter.name()}' was changed directly, and the model has another "
                    f"value. Use set({name}=...)."
                )
        for parameter in self.untied.parameters():
            if parameter.value is None:
                raise InvalidInput(f"the parameter '{parameter.name()}' has no value.")

    def accepts(self, members: Sequence[Member], states: Mapping[str, Any], sample: Sample) -> bool:
        """Return whether the problem of other blocks and rows differs from this one in weights alone."""
        present = {member.name: member.block for member in self.members}
        other = {member.name: member.block for member in live(members)}
        weights = {name: {term.name for term in self.terms if term.block == name} for name in present}
        return (
            list(present) == list(other)
            and all(other[k].only_rows or _alike(present[k], other[k], weights[k]) for k in present)
            and all(other[k].only_rows or equal(states.get(k), self.states.get(k)) for k in present)
            and self.sample.same_rows(sample)
            and (self.has_row_costs or np.array_equal(self.sample.cost, sample.cost))
            and all(self._weights_apart(k, present[k], other[k]) for k in present if weights[k])
        )

    def _weights_apart(self, name: str, block: Knowledge, other: Knowledge) -> bool:
        """Return whether a block with other weights builds the same terms; the first other value decides."""
        if equal(vars(block), vars(other)):
            return True
        if name not in self._apart:
            self._apart[name] = equal(self._content(name, block), self._content(name, other))
        return self._apart[name]

    def _content(self, name: str, block: Knowledge) -> list[Any]:
        """Return labels and numbers of the terms of a block, and where it evaluates f."""
        f = Decision(self.spec, self.f.n_features)
        f.slack = self.f.slack
        f.rows = self.f.rows
        terms = block.build(f, self.building(name))
        parts = [*terms.penalties.items(), *terms.constraints.items()]
        numbers = [(label, [constant.value for constant in part.constants()]) for label, part in parts]
        at = [(evaluation.atoms.points, evaluation.atoms.directions) for evaluation in f.evaluations]
        return [numbers, at, [matrix for _, matrix in f.products.parts]]

    def jacobians(self) -> dict[int, Any]:
        """Return the known gradients of :attr:`problem`, which CVXPY would derive slowly."""
        known = {**self.tie.jacobians(), **self.margin_jacobian()}
        known[id(self.problem.objective)] = self.gradient(self.tie.regulariser_slope())
        return known

    def products(self) -> tuple[Any, Any]:
        """Return the dense products of the problem, as :func:`.residuals.residuals` takes them."""
        return self.f.products.replaced, self.tie.product_jacobians(self.f)

    def margin_jacobian(self) -> dict[int, Any]:
        """Return the map from the dual variables of the margins to their part of the gradient."""
        import cvxpy as cp

        if not isinstance(self.values, cp.Variable):
            return {}
        y = self.sample.y[self.active]
        margin = {self.values: lambda m: -y * m}
        if not self.spec.hard:
            margin[self.slack] = lambda m: -m
        return {self.constraints["svm.margin"].id: margin}

    def gradient(self, regulariser: Mapping[cp.Variable, Any]) -> tuple[dict[cp.Variable, Any], Any]:
        """Return the gradient of the regulariser and the loss, and the penalties as an expression or None."""
        import cvxpy as cp

        penalties = None
        if self.terms:
            penalties = sum((t.parameter * t.expression for t in self.terms), cp.Constant(0.0))
        if self.spec.hard:
            return dict(regulariser), penalties
        cost = self.cost_of_slack
        slope = cost if self.spec.loss == "hinge" else 2.0 * cost * self.slack.value
        return {**regulariser, self.slack: lambda m: slope}, penalties

    @property
    def cost_of_slack(self) -> Array:
        """The factor of each slack, or of its square, in the objective."""
        return np.asarray(self.spec.C * self.sample.cost[self.active])

    @property
    def may_be_infeasible(self) -> bool:
        """Whether the margins are hard, or a block is."""
        return self.spec.hard or any(member.block.may_forbid for member in self.members)

    def units(self) -> tuple[float, dict[cp.Variable, float]]:
        """Return the unit of gaps, and the unit of the gradient along the slack, for small costs."""
        cost = self.cost_of_slack
        units = {} if self.spec.hard else {self.slack: float(cost.max())}
        return unit_of(cost, self.sample.y[self.active]), units

    def penalties(self) -> dict[tuple[str, str], float]:
        """Return the contribution of each penalty to the objective, by block and name."""
        return {(t.block, t.name): float(t.parameter.value * t.expression.value) for t in self.terms}

    def duals(self) -> dict[str, Any]:
        """Return the dual variables by label of the constraint, with the signs of CVXPY."""
        return {label: constraint.dual_value for label, constraint in self.constraints.items()}

    def fitted(self) -> Fitted:
        """Return the solved f as arrays."""
        return self.tie.fitted()


def l1_centres(spec: Spec, sample: Sample) -> Array:
    """Return the centres of a 1-norm model: training rows only, as its optimum depends on its centres."""
    centres = sample.X[sample.counted_training]
    if spec.n_centres is not None and spec.n_centres < len(centres):
        centres = centres[np.linspace(0, len(centres) - 1, spec.n_centres).round().astype(int)]
    return centres


def _alike(a: Knowledge, b: Knowledge, weights: set[str]) -> bool:
    """Return whether two blocks are equal except for the parameters that weight their penalties."""
    first, second = ({k: v for k, v in vars(block).items() if k not in weights} for block in (a, b))
    return type(a) is type(b) and equal(first, second)


def _uses(terms: Terms, variable: cp.Variable) -> bool:
    """Return whether a variable is part of the terms."""
    parts = [*terms.penalties.values(), *terms.constraints.values()]
    return any(variable.id == other.id for part in parts for other in part.variables())


def _short(expression: Any) -> str:
    text = str(expression)
    return text if len(text) <= 80 else text[:77] + "..."


def check_terms(block: Knowledge, terms: Any) -> None:
    """Raise InvalidInput or InvalidType unless ``build`` returned convex terms with their names."""
    import cvxpy as cp

    if not isinstance(terms, Terms):
        raise InvalidType(f"build must return Terms(penalties, constraints), got {type(terms).__name__}.")
    parts = {"penalties": "parameter name to expression", "constraints": "label to constraint"}
    for part, content in parts.items():
        given = getattr(terms, part)
        if not isinstance(given, Mapping):
            raise InvalidType(f"{part} must be a dict of {content}, got {type(given).__name__}.")
    for key, expression in terms.penalties.items():
        if not isinstance(expression, cp.Expression) or not expression.is_scalar():
            raise InvalidType(f"penalty '{key}' must be a scalar cvxpy expression.")
        if not hasattr(block, key):
            raise InvalidInput(f"penalty '{key}' requires a parameter of the block called '{key}'.")
        if not expression.is_convex():
            raise InvalidInput(f"penalty '{key}' is not convex: {_short(expression)}")
        if expression.parameters():
            raise InvalidInput(
                f"penalty '{key}' must be free of cvxpy Parameters: the assembler multiplies it by its "
                "weight."
            )
    for label, constraint in terms.constraints.items():
        if not isinstance(constraint, cp.Constraint):
            raise InvalidType(
                f"constraint '{label}' is a {type(constraint).__name__}, not a cvxpy constraint."
            )
        if not constraint.is_dcp():
            raise InvalidInput(f"constraint '{label}' is not convex: {_short(constraint)}")
