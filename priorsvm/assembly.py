"""The assembled problem in the user's hands: read, changed, solved by any solver, and a classifier again."""

from __future__ import annotations

import copy
import itertools
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sklearn.base import clone

from ._utils.cache import equal
from ._utils.threads import single_threaded
from .errors import Infeasible, InvalidInput, MissingCapability, NotFitted, UnknownParameter
from .knowledge.own_terms import OwnTerms, OwnTermsOnSlack
from .path import differ_in_weights, with_values
from .prior import Member
from .problem.assemble import prepare
from .problem.by_hand import adopted
from .problem.collapse import warn_of_collapse
from .solve.loop import Round
from .solve.model import BinaryModel
from .solve.registry import check_options, check_solver
from .solve.solution import Outcome
from .validation import Task, make_task
from .weights import with_weights

if TYPE_CHECKING:
    import cvxpy as cp

    from .function.symbolic import Decision
    from .problem.assemble import Compiled, Term
    from .solve.route import Problem

# Name of a block of own terms.
NAME_OF_TERMS = "own"

# Numbers of assemblies: terms belong to the rounds of one assembly.
_NUMBERS = itertools.count()


class Assembly:
    r"""The problem :math:`J_{SVM} + J_{PK}` of one binary model, as :meth:`PriorSVC.assemble` returns it.

    The problem can be read, changed, solved by any solver, refined round by round, and turned into a
    classifier.

    Parameters
    ----------
    model, task, arguments, this, lineage
        What :meth:`PriorSVC.assemble` passes: the model, its checked and unchecked arguments, a round, and a
        number that all rounds share.

    Attributes
    ----------
    f : Decision
        The decision function in affine expressions. ``f(Z)`` are its values at the rows of Z,
        ``f.slope(Z, V)`` its derivatives at Z along V, ``f.bias`` its bias, and ``f.coef`` the weights of a
        linear model.
    problem : cvxpy.Problem
        The problem, with a label for each constraint and values for all parameters.
    constraints : dict of str to cvxpy.Constraint
        Constraints by label, ``"svm.margin"`` first.
    terms : list of Term
        Penalties of the blocks: ``block``, ``name``, ``parameter`` and ``expression``. The objective contains
        the product of parameter and expression.
    slack : cvxpy.Variable
        The slack of each row of positive cost; a constant of zeros with ``C=inf``.

    See Also
    --------
    PriorSVC.assemble : Return the problem of a model.

    Examples
    --------
    A constraint on the weights, and the way back to a classifier:

    >>> from priorsvm import PriorSVC
    >>> X, y = [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [0, 0, 1, 1]
    >>> assembly = PriorSVC(C=10.0).assemble(X, y)
    >>> assembly.add(first=assembly.f.coef[0] == 1).solve().status
    'optimal'
    >>> assembly.classifier().coef_.round(4) + 0
    array([[1., 3.]])
    """

    def __init__(
        self, model: Any, task: Task, arguments: tuple[Any, ...], this: Round, lineage: int | None = None
    ):
        self._model = model
        self._task = task
        self._arguments = arguments
        self._round = this
        self._seen: Any = None  # the solution of CVXPY that the model of the round is made from
        self._parameters: dict[int, Any] = {}  # and the values of parameters
        self._infeasible = False
        self._lineage = next(_NUMBERS) if lineage is None else lineage
        self._returned: list[BinaryModel] = []  # models of classifiers that share the problem

    # ------------------------------------------------------------------ the problem

    @property
    def _compiled(self) -> Compiled:
        with single_threaded():
            compiled = self._round.problem.compiled
        compiled.f.lineage = self._lineage
        return compiled

    def _filled(self) -> Compiled:
        """Return the assembled problem, with the values of the solution if there is one."""
        if self._round.binary is not None:
            _ = self.problem
        return self._compiled

    @property
    def f(self) -> Decision:
        """The decision function in affine expressions."""
        return self._filled().f

    @property
    def regulariser(self) -> cp.Expression:
        r"""The term :math:`\frac12\|g\|^2` of the objective, or :math:`\|c\|_1` with the 1-norm."""
        return self._tied().tie.regulariser

    @property
    def problem(self) -> cp.Problem:
        """The problem; once f is evaluated at further points, a new problem that contains them."""
        problem = self._tied().problem
        binary = self._round.binary
        if binary is not None and problem.value is None:
            binary.compiled = self._compiled
            binary.solved_problem()
            self._remember()
        return problem

    def _tied(self) -> Compiled:
        """Return the assembled problem, with all that f was evaluated at."""
        compiled = self._compiled
        if "tie" in vars(compiled) and not compiled.is_tied:
            compiled.retie()
        return compiled

    @property
    def constraints(self) -> dict[str, cp.Constraint]:
        """Constraints by label."""
        return self._filled().constraints

    @property
    def terms(self) -> list[Term]:
        """Penalties of the blocks. Change their parameters by :meth:`set` only."""
        return self._filled().terms

    @property
    def slack(self) -> cp.Variable:
        """The slack of each row of positive cost."""
        return self._filled().slack

    def __repr__(self) -> str:
        problem = self._round.problem
        binary = self._round.binary
        state = "not solved" if binary is None else f"{binary.outcome.status} by {binary.outcome.solver}"
        blocks = ", ".join(member.name for member in problem.live) or "no blocks"
        name = f"{problem.training.name}, " if problem.training.name else ""
        return f"Assembly({name}{problem.n_rows} rows, {blocks}, {state})"

    def __getstate__(self) -> Any:
        raise TypeError(
            "an Assembly cannot be pickled, because it contains a cvxpy.Problem. Pickle classifier()."
        )

    # ------------------------------------------------------------------ changes

    def set(self, **values: Any) -> Assembly:
        """Set ``C`` and weights: the parameters of the problem receive new values.

        Parameters
        ----------
        **values : dict
            ``C``, ``<block>__mu``, ``<block>__weight``, and other parameters that change weights or costs
            only. Own terms have the weight ``own__mu``.

        Returns
        -------
        Assembly
            This assembly, which has to be solved again.

        Raises
        ------
        InvalidInput
            If a value changes more than weights.
        UnknownParameter
            If a parameter does not exist.

        Examples
        --------
        >>> from priorsvm import PriorSVC
        >>> assembly = PriorSVC().assemble([[0.0], [3.0]], [0, 1])
        >>> [round(float(assembly.set(C=C).problem.solve(solver="CLARABEL")), 4) for C in (0.01, 1.0)]
        [0.0195, 0.2222]
        """
        problem = self._round.problem
        own = {m.name: m for m in problem.members if isinstance(m.block, OwnTerms)}
        others = {key: value for key, value in values.items() if key.partition("__")[0] not in own}
        model = with_values(clone(self._model), others, "set")
        task = with_weights(model, make_task(model, *self._arguments), self._arguments)
        members = [
            *task.members(problem.training),
            *(_with_weight(member, values) for member in own.values()),
        ]
        sample = prepare(members, problem.training, problem.states)
        compiled = self._compiled
        if not (
            differ_in_weights(problem.spec, task.spec) and compiled.accepts(members, problem.states, sample)
        ):
            raise InvalidInput(
                f"set({', '.join(values)}) changes more than weights. Call assemble() on a model with these "
                "parameters."
            )
        compiled.set_weights(task.spec, members, problem.states, sample)
        self._model = model
        self._task = task
        problem.spec = task.spec
        self._change(members, sample)
        return self

    def add(self, penalty: Any = None, **constraints: Any) -> Assembly:
        """Add own terms to the problem.

        The terms become a block called ``"own"`` (``"own_2"`` the next time): the report, ``objective_`` and
        the search for conflicts include it, and :meth:`refine` writes its terms for the next round.

        Parameters
        ----------
        penalty : cvxpy.Expression, callable or None, default=None
            Convex scalar, or a function of ``f`` that returns one. Its weight is ``set(own__mu=...)``.
        **constraints : cvxpy.Constraint or callable
            Label -> convex constraint, or a function of ``f`` that returns one.

        Returns
        -------
        Assembly
            This assembly, which has to be solved again.

        Raises
        ------
        InvalidInput, InvalidType
            If a term is not convex, or not a term.

        Examples
        --------
        >>> import cvxpy as cp
        >>> from priorsvm import PriorSVC
        >>> assembly = PriorSVC(kernel="rbf", C=10.0).assemble([[0.0], [1.0], [3.0]], [0, 0, 1])
        >>> assembly = assembly.add(
        ...     penalty=cp.sum_squares(assembly.f([[2.0]])), level=lambda f: f([[5.0]]) >= 1
        ... )
        >>> assembly.solve().status, [label for label in assembly.constraints]
        ('optimal', ['svm.margin', 'own.level'])
        """
        _check_terms(penalty, constraints)
        problem = self._round.problem
        name = self._free_name()
        compiled = self._compiled
        kind = OwnTerms
        if _uses_slack(compiled, [penalty, *constraints.values()]):
            kind = OwnTermsOnSlack
        member = Member(name, kind(penalty, constraints, lineage=self._lineage), 1.0)
        compiled.extend(member)
        self._change([*problem.members, member], problem.sample)
        return self

    def _free_name(self) -> str:
        """Return a name for own terms that no block has."""
        taken = {member.name for member in self._round.problem.members}
        names = (NAME_OF_TERMS, *(f"{NAME_OF_TERMS}_{k}" for k in range(2, len(taken) + 3)))
        return next(name for name in names if name not in taken)

    def _change(self, members: list[Member], sample: Any) -> None:
        """Record new blocks and rows of the problem, which makes an earlier solution obsolete."""
        problem = self._round.problem
        problem.members = members
        problem.states = {member.name: problem.states.get(member.name) for member in members}
        problem.sample = sample
        vars(problem).pop("weighted", None)
        self._round.binary = None
        self._infeasible = False
        self._release()
        self._remember()

    # ------------------------------------------------------------------ solutions

    def solve(self, solver: Any = None, **options: Any) -> Outcome:
        """Solve the problem.

        Parameters
        ----------
        solver : str, list of str or None, default=None
            Name of a solver or a list of names, as in :class:`PriorSVC`. None: the solver of the model, with
            its ``solver_options``.
        **options : dict
            Options of the solver. The ``solver_options`` of the model do not apply to a solver named here.

        Returns
        -------
        Outcome
            ``status``, ``residuals`` (``primal``, ``dual``, ``stationarity`` and ``gap``), ``solver``,
            ``iterations`` and times. Variables and constraints of :attr:`problem` have their values.

        Raises
        ------
        Infeasible
            If no f satisfies all constraints. :meth:`refine` may return a weaker problem then.
        SolverFailed
            If no allowed solver returns an accurate solution.

        Examples
        --------
        >>> from priorsvm import PriorSVC
        >>> assembly = PriorSVC().assemble([[0.0], [3.0]], [0, 1])
        >>> outcome = assembly.solve("CLARABEL", max_iter=50)
        >>> outcome.status, outcome.residuals.worst < 1e-6, round(float(assembly.problem.value), 4)
        ('optimal', True, 0.2222)
        """
        chosen: dict[str, Any] | None = options
        if solver is None:
            solver = self._model.solver
            chosen = options or self._model.solver_options
        check_solver(solver)
        check_options(solver, chosen)
        problem = self._round.problem
        if "compiled" in vars(problem):
            self._tied().require_own_parameters()
        self._release()
        try:
            binary = self._round.solve(solver, chosen)
        except Infeasible:
            self._infeasible = True
            raise
        self._infeasible = False
        self._remember()
        if "compiled" in vars(problem):
            _ = self.problem  # which writes the values to variables that the user may have
        return binary.outcome

    def refine(self) -> Assembly | None:
        """Return the assembly of the next round, or None if no block has a new state.

        Blocks that cut, generate columns or switch labels go from the solution to their next state, as
        :meth:`PriorSVC.fit` does in each round. Own terms are kept. If :meth:`solve` raised ``Infeasible``,
        the next assembly is a weaker one, or None.

        Returns
        -------
        Assembly or None

        Raises
        ------
        NotFitted
            If the problem is not solved.

        Examples
        --------
        >>> from priorsvm import Box, PriorSVC
        >>> X, y = [[0.0], [1.0], [3.0]], [0, 0, 1]
        >>> assembly = PriorSVC(Box({0: (4, 6)}, label=1, hard=True), kernel="rbf").assemble(X, y)
        >>> rounds = 0
        >>> while assembly is not None:
        ...     outcome = assembly.solve()
        ...     last, assembly, rounds = assembly, assembly.refine(), rounds + 1
        >>> rounds == PriorSVC(Box({0: (4, 6)}, label=1, hard=True), kernel="rbf").fit(X, y).n_rounds_
        True
        >>> last.classifier().predict([[5.0]])
        array([1])
        """
        if self._infeasible:
            following = self._round.relaxed()
        else:
            self._solved()
            following = self._round.following()
        if following is None:
            return None
        following.problem.previous = None  # each assembly has a problem of its own
        return Assembly(self._model, self._task, self._arguments, following, self._lineage)

    def classifier(self, problem: cp.Problem | None = None) -> Any:
        """Return a fitted classifier from the solved variables.

        Parameters
        ----------
        problem : cvxpy.Problem or None, default=None
            A solved problem that has the variables of :attr:`problem` and perhaps other terms. None:
            :attr:`problem`, or the result of :meth:`solve`.

        Returns
        -------
        PriorSVC
            Fitted model. ``objective_`` and ``report_`` include own terms.

        Raises
        ------
        NotFitted
            If the problem is not solved.
        InvalidInput
            If ``problem`` does not contain f of this assembly.
        SolverFailed
            If the residuals of the solution are too large.

        Examples
        --------
        >>> import cvxpy as cp
        >>> from priorsvm import PriorSVC
        >>> assembly = PriorSVC().assemble([[0.0], [3.0]], [0, 1])
        >>> stated = assembly.problem
        >>> changed = cp.Problem(stated.objective, [*stated.constraints, assembly.f.bias == 0])
        >>> _ = changed.solve(solver="CLARABEL")
        >>> model = assembly.classifier(changed)
        >>> (model.intercept_.round(6) + 0).tolist(), model.predict([[1.0]]).tolist()
        ([0.0], [1])
        """
        if len(self._task.classes) > 2:
            raise MissingCapability(
                "this assembly is the problem of one class or pair. Call classifier() of the list which "
                "assemble() returned."
            )
        return classifier_of(self._model, self._task, [self.finished(problem)])

    def finished(self, problem: Any = None) -> BinaryModel:
        """Return the solved binary model with the findings of its blocks."""
        this = self._round
        if problem is None:
            self._solved()
        else:
            this = copy.copy(this)  # the assembly keeps its own solution
            this.record(*self._adopted(problem))
        binary = this.finished()
        if problem is None:
            self._returned.append(binary)
        warn_of_collapse(binary)
        return binary

    def _adopted(self, solved: cp.Problem) -> tuple[BinaryModel, float]:
        """Return the model of a problem that was solved by hand, and the time this takes."""
        start = time.perf_counter()
        with single_threaded():
            binary = adopted(self._round.problem, solved, self._free_name())
        return binary, time.perf_counter() - start

    def _release(self) -> None:
        """Let returned classifiers build a problem of their own, before this problem changes."""
        for binary in self._returned:
            binary.compiled = None
        self._returned.clear()

    def _solved(self) -> None:
        """Record the solution in the variables of the problem as the model of the round, if it is new."""
        this = self._round
        if _solution_of(this.problem) is self._seen:
            if this.binary is None:
                raise NotFitted("this assembly is not solved: call solve(), or problem.solve(), first.")
            if not equal(self._parameters, _parameters_of(this.problem)):
                raise NotFitted("a parameter of the problem has changed since it was solved: solve it again.")
            return
        this.record(*self._adopted(self._tied().problem))
        self._remember()

    def _remember(self) -> None:
        """Remember which solution of CVXPY, and which values of parameters, the model is made from."""
        self._seen = _solution_of(self._round.problem)
        self._parameters = _parameters_of(self._round.problem)


def classifier_of(model: Any, task: Task, binaries: list[BinaryModel]) -> Any:
    fitted = copy.copy(model)
    fitted._store(task, binaries)
    return fitted


def _solution_of(problem: Problem) -> Any:
    """Return the solution which CVXPY keeps of the assembled problem, or None."""
    compiled = problem.assembled
    tied = None if compiled is None else vars(compiled).get("problem")
    return None if tied is None else tied.solution


def _parameters_of(problem: Problem) -> dict[int, Any]:
    """Return the values of the parameters of the assembled problem, by id; empty if it is not assembled."""
    compiled = problem.assembled
    return {} if compiled is None else {p.id: p.value for p in compiled.untied.parameters()}


def _check_terms(penalty: Any, constraints: dict[str, Any]) -> None:
    """Raise InvalidInput for wrong terms of add(), with the way out."""
    import cvxpy as cp

    if penalty is None and not constraints:
        raise InvalidInput("add() takes a penalty, or constraints by label: add(cap=f(Z) <= 1).")
    if isinstance(penalty, (cp.Constraint, list, tuple)):
        raise InvalidInput("add() takes constraints by label, one for each: add(cap=f(Z) <= 1).")
    several = [label for label, part in constraints.items() if isinstance(part, (list, tuple))]
    if several:
        raise InvalidInput(f"'{several[0]}' of add() is a list. Give each constraint a label of its own.")
    if hasattr(penalty, "parameters") and penalty.parameters():
        raise InvalidInput(
            "the penalty of add() contains a cvxpy Parameter. Give the penalty without it, and set its "
            "weight by set(own__mu=...)."
        )


def _require_continuous(variables: Sequence[cp.Variable]) -> None:
    """Raise InvalidInput if a variable is integer."""
    for variable in variables:
        if variable.attributes["boolean"] or variable.attributes["integer"]:
            raise InvalidInput(
                f"the variable '{variable.name()}' is integer, and the problem must be convex."
            )


def _with_weight(member: Member, values: dict[str, Any]) -> Member:
    """Return own terms with their new weight."""
    new = {k.partition("__")[2]: v for k, v in values.items() if k.partition("__")[0] == member.name}
    unknown = [key for key in new if key != "mu"]
    if unknown:
        raise UnknownParameter(
            f"block '{member.name}' has no parameter {unknown[0]!r}. Own terms have the parameter 'mu'."
        )
    block = member.block
    mu = new.get("mu", block.mu)
    return member._replace(block=type(block)(block.penalty, block.constraints, mu, block.lineage))


def _uses_slack(compiled: Compiled, parts: Sequence[Any]) -> bool:
    """Return whether own terms contain the slack of the rows."""
    trees = [part(compiled.f) if callable(part) else part for part in parts]
    variables = [v for tree in trees if hasattr(tree, "variables") for v in tree.variables()]
    _require_continuous(variables)
    return any(v is v.decision.slack for v in variables if hasattr(v, "decision"))
