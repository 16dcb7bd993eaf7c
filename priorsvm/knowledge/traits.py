"""What some blocks do besides ``build``: one class for each, to derive from together with Knowledge."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

if TYPE_CHECKING:
    from .._utils.arrays import Array
    from ..function.fitted import Fitted
    from ..sample import Sample
    from .views import Building, PointTerms, SlopeTerms, Solved, Step


class AtPoints:
    """Trait of a block whose terms can be arrays: rows over values and slopes of f.

    The problem is then solved without CVXPY.
    """

    def at_points(self, view: Building, linear: bool) -> PointTerms | None:
        """Return the terms of ``build`` as arrays, or None if they have another form.

        Parameters
        ----------
        view : Building
            Rows and state; ``view.slack`` is None.
        linear : bool
            Whether f is linear.

        Returns
        -------
        PointTerms or None
        """
        return None


class AtSlopes:
    r"""Trait of a block that reduces margins of rows by norms of slopes of f, which can be arrays.

    .. math:: y_i f(x_i) - \|(\nabla f(x_i)^\top v_j)_{j \in i}\| \ge \rho_i - \xi_i .

    The problem is then solved without CVXPY, and f does not expand over the slopes.
    """

    def at_slopes(self, view: Building) -> SlopeTerms | None:
        """Return the slopes of ``build`` as arrays, or None if its terms have another form.

        Parameters
        ----------
        view : Building
            Rows and state; ``view.slack`` is None.

        Returns
        -------
        SlopeTerms or None
        """
        return None

    def duals_at_slopes(self, view: Building, alpha: Array, unit: Array) -> dict[str, Any]:
        """Return the dual variables of the constraints of ``build``, by label.

        Parameters
        ----------
        view : Building
            Rows and state.
        alpha : ndarray of shape (k,)
            Dual variables of the margins of the rows with slopes.
        unit : ndarray of shape (m,)
            The gradient of each norm by its slopes: a vector of length at most 1 for each row.

        Returns
        -------
        dict of str to ndarray or list of ndarray
        """
        return {}


def states_arrays(block: Any, method: str) -> bool:
    """Return whether a method that states terms as arrays belongs to the ``build`` of the block.

    It does not if a class that derives from the owner of the method overrides ``build``.
    """
    first = next(kind for kind in type(block).__mro__ if {method, "build"} & set(vars(kind)))
    return method in vars(first)


class Iterative:
    """Trait of a block whose problem is solved several times, each time with a new state.

    Attributes
    ----------
    exact : bool
        Whether the refinement ends in the global optimum; False for a local search.
    refines : bool
        Whether ``refine`` may return a step; False if one solve is enough.

    Examples
    --------
    A block that requires f >= 1 at its points, and adds the points where that fails:

    >>> from priorsvm import Iterative, Knowledge, PriorSVC, Step, Terms
    >>> class Above(Iterative, Knowledge):
    ...     def __init__(self, points):
    ...         self.points = points
    ...     def start(self, sample):
    ...         return self.points[:1]
    ...     def build(self, f, view):
    ...         return Terms(constraints={"above": f(view.state) >= 1})
    ...     def refine(self, f, view):
    ...         low = [z for z in self.points if f.value([z])[0] < 1 - 1e-4]
    ...         return Step(view.state + low[:1]) if low else None
    >>> PriorSVC(Above([[1.5], [1.2], [1.1]])).fit([[0.0], [1.0], [2.0]], [0, 0, 1]).n_rounds_
    3
    """

    exact: ClassVar[bool] = True
    refines: bool = True

    @abstractmethod
    def refine(self, f: Fitted, view: Solved) -> Step | None:
        """Return the step to the next round, or None if the block is done.

        Once no block returns a new state, ``refine`` is called again with ``view.settled``. A block may then
        start a further stage.

        Parameters
        ----------
        f : Fitted
            The solved decision function.
        view : Solved
            The solved model.

        Returns
        -------
        Step or None
        """

    def relax(self, state: Any, sample: Sample) -> Any:
        """Return a weaker state after infeasibility, or None.

        Parameters
        ----------
        state : object
            State of the infeasible problem.
        sample : Sample
            Training rows.

        Returns
        -------
        object or None
        """
        return None


class OnRowSlack:
    """Trait of a block whose constraints use the slack of the training rows, ``view.slack``.

    The loss of a row then is the supremum over all its constraints. Such blocks take no outer weight.

    Attributes
    ----------
    way_out_of_collapse : str
        Advice if the block leaves a constant f.
    bounds_slack : bool
        Whether a constraint bounds the slack from above, so that the block can be infeasible.

    Examples
    --------
    >>> from priorsvm import InvariantLoss, OnRowSlack
    >>> issubclass(InvariantLoss, OnRowSlack)
    True
    """

    way_out_of_collapse: ClassVar[str | None] = "Make its sets of points smaller, or use another kernel."
    bounds_slack: ClassVar[bool] = False

    def row_duals(self, view: Solved) -> Array:
        """Return the dual variable of each row's slack in this block.

        Parameters
        ----------
        view : Solved
            The solved model.

        Returns
        -------
        ndarray of shape (len(view.rows),)
        """
        return np.zeros(len(view.rows))

    def order_obstacle(self, sample: Sample, swaps: Array) -> str | None:
        r"""Return why the decrease of y f in the worst case depends on the order of columns, or None.

        A block that rearranges the columns of each row finds the order with the largest y f at the row. This
        order is also the best in the worst case if the decrease is equal for all orders.

        Parameters
        ----------
        sample : Sample
            Training rows.
        swaps : ndarray of shape (k, d)
            Orders of the columns that generate all orders in question.

        Returns
        -------
        str or None
            The reason for a message; None if the decrease is equal for all orders.
        """
        return "the order with the largest margin in the worst case is not a linear assignment"


class Scores:
    """Trait of a block that changes the scores of new rows; one in a prior.

    Examples
    --------
    >>> from priorsvm import RowPermutations, Scores
    >>> issubclass(RowPermutations, Scores)
    True
    """

    @abstractmethod
    def predict(self, f: Fitted, X: Array, state: Any = None) -> Array | None:
        """Return scores of new rows, or None for the scores f(X).

        Parameters
        ----------
        f : Fitted
            The solved decision function.
        X : ndarray of shape (n, d)
            New rows.
        state : object
            State of the block, if it has one.

        Returns
        -------
        ndarray of shape (n,) or None
        """


class AutoWeight:
    """Trait of a block whose weight ``mu="auto"`` is chosen by cross-validation.

    Examples
    --------
    >>> from priorsvm import AutoWeight, Rule
    >>> issubclass(Rule, AutoWeight)
    True
    """

    mu: Any
    chosen_weight: Any = None  # a ChosenWeight, once mu="auto" is a number

    @abstractmethod
    def needs_weight(self, linear: bool) -> bool:
        """Return whether ``mu`` has to be chosen; otherwise "auto" is 1.

        Parameters
        ----------
        linear : bool
            Whether f is linear.

        Returns
        -------
        bool
        """

    @abstractmethod
    def standard_weight(self, rows: int, blocks: int) -> float:
        """Return the weight that the chosen factor multiplies.

        Parameters
        ----------
        rows : int
            Number of training rows.
        blocks : int
            Number of blocks whose weight is chosen.

        Returns
        -------
        float
        """


class Completes:
    """Trait of a block that completes missing values of X; one in a prior.

    Examples
    --------
    >>> from priorsvm import Completes, MissingValues
    >>> issubclass(MissingValues, Completes)
    True
    """

    @abstractmethod
    def complete(self, X: Array, labels: Array, weight: Array, names: Any = None) -> Any:
        """Return ``sample.missing``: an object whose attribute ``X`` has the completed rows.

        Parameters
        ----------
        X : ndarray of shape (n, d)
            Rows with NaN.
        labels : ndarray of shape (n,)
            Classes.
        weight : ndarray of shape (n,)
            Weights of the rows.
        names : ndarray of str or None
            Names of the features.

        Returns
        -------
        object
            Its attribute ``X`` is an ndarray of shape (n, d) without NaN.
        """
