"""The assembled problems of a model: one, or a list with one problem for each class or pair of classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sklearn.base import clone

from ._utils.cache import Cache
from .assembly import Assembly, classifier_of
from .errors import InvalidInput, MissingCapability
from .solve.auto import required_route
from .solve.loop import Round, first_problem, refuse_conflicts
from .solve.solution import Outcome
from .training import support_only
from .validation import make_task
from .weights import with_weights

if TYPE_CHECKING:
    import cvxpy as cp


class Assemblies(list[Assembly]):
    """The problems of more than two classes: a list with one :class:`Assembly` for each class or pair.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from priorsvm import PriorSVC
    >>> X, y = load_iris(return_X_y=True)
    >>> assemblies = PriorSVC().assemble(X, y)
    >>> [outcome.status for outcome in assemblies.solve()]
    ['optimal', 'optimal', 'optimal']
    >>> bool(assemblies.classifier().score(X, y) > 0.9)
    True
    """

    def set(self, **values: Any) -> Assemblies:
        """Set ``C`` and weights in all problems, as :meth:`Assembly.set` does.

        Parameters
        ----------
        **values : dict
            Values by name.

        Returns
        -------
        Assemblies
            This list.
        """
        for assembly in self:
            assembly.set(**values)
        return self

    def add(self, penalty: Any = None, **constraints: Any) -> Assemblies:
        """Add own terms to all problems, as :meth:`Assembly.add` does.

        Parameters
        ----------
        penalty : callable or None, default=None
            Function of ``f`` that returns a convex scalar.
        **constraints : callable
            Label -> function of ``f`` that returns a convex constraint.

        Returns
        -------
        Assemblies
            This list.
        """
        for assembly in self:
            assembly.add(penalty, **constraints)
        return self

    def solve(self, solver: Any = None, **options: Any) -> list[Outcome]:
        """Solve all problems, as :meth:`Assembly.solve` does.

        Parameters
        ----------
        solver : str, list of str or None, default=None
            Name of a solver or a list of names.
        **options : dict
            Options of the solver.

        Returns
        -------
        list of Outcome
        """
        return [assembly.solve(solver, **options) for assembly in self]

    def refine(self) -> Assemblies | None:
        """Return the next round of all problems, or None if no block of any problem has a new state.

        A problem without a next round remains as it is.

        Returns
        -------
        Assemblies or None
        """
        following = [assembly.refine() for assembly in self]
        if all(assembly is None for assembly in following):
            return None
        return Assemblies(new or old for new, old in zip(following, self, strict=True))

    def classifier(self, problems: Sequence[cp.Problem] | None = None) -> Any:
        """Return a fitted classifier from the solved variables of all problems.

        Parameters
        ----------
        problems : list of cvxpy.Problem or None, default=None
            A solved problem for each model, as in :meth:`Assembly.classifier`.

        Returns
        -------
        PriorSVC
            Fitted model.
        """
        if problems is not None and (not isinstance(problems, Sequence) or len(problems) != len(self)):
            raise InvalidInput(f"problems must be a list with one problem for each of {len(self)} models.")
        expected = [(s.positive, s.against) for s in self[0]._task.samples] if self else []
        trained = [assembly._round.problem.training for assembly in self]
        if not self or [(s.positive, s.against) for s in trained] != expected:
            raise InvalidInput(
                "the list does not have the assemblies of all models in their order. Use the list which "
                "assemble() returned, unchanged."
            )
        solved = [None] * len(self) if problems is None else problems
        binaries = [a.finished(problem) for a, problem in zip(self, solved, strict=True)]
        return classifier_of(self[0]._model, self[0]._task, binaries)


def assemble(
    model: Any, X: Any, y: Any, sample_weight: Any, row_parameters: dict[str, Any]
) -> Assembly | Assemblies:
    """Return the problem of a model before it is solved; the model is not changed."""
    model = clone(model)
    arguments = (X, y, sample_weight, row_parameters)
    task = with_weights(model, make_task(model, *arguments), arguments)
    if model.multi_class == "joint":
        raise MissingCapability(
            "assemble() returns binary problems, and multi_class='joint' solves one problem for all classes. "
            "Use multi_class='ovr' or 'ovo', or fit()."
        )
    maps = Cache()
    grams = Cache()
    samples = task.samples
    if model.preselect:
        samples = [support_only(model, task, sample, maps, grams) for sample in samples]
    assemblies = []
    for sample in samples:
        problem = first_problem(
            task.spec, task.members(sample), sample, model.max_rounds, model.verbose, maps, grams
        )
        route = required_route(problem)
        if route is not None:
            name = route.required_by(problem)[0].name
            raise MissingCapability(
                f"block '{name}' selects the route {route.name}, which has no problem in CVXPY. Use another "
                "method of the block, or fit()."
            )
        refuse_conflicts(task.spec, problem.members, sample, problem.states)
        assemblies.append(Assembly(model, task, arguments, Round(problem)))
    return assemblies[0] if len(assemblies) == 1 else Assemblies(assemblies)
