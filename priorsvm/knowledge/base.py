"""Base of every block: :class:`Knowledge`, and the :class:`Terms` it adds to the problem."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from .._utils.arrays import Array
from .._utils.messages import did_you_mean
from ..errors import InvalidInput
from ..prior import Summand
from ..sample import Sample
from .traits import Completes, Iterative, OnRowSlack, Scores
from .views import Building, Caution, Solved, Verdict

if TYPE_CHECKING:
    import cvxpy as cp

    from ..function.fitted import Fitted
    from ..function.symbolic import Decision


@dataclass(frozen=True)
class Terms:
    r"""What a block adds to the problem: the result of ``build``.

    Attributes
    ----------
    penalties : dict of str to cvxpy.Expression, default={}
        Name of a parameter of the block -> convex expression, without that parameter. The assembler
        multiplies the expression by the parameter and by the outer weight of the block.
    constraints : dict of str to cvxpy.Constraint, default={}
        Label -> constraint. Its label in the problem is ``block.label``.

    Examples
    --------
    The lasso, :math:`J_{PK} = \mu \|w\|_1`, with slack variables:

    >>> import cvxpy as cp
    >>> from priorsvm import Knowledge, PriorSVC, Terms
    >>> class Lasso(Knowledge):
    ...     def __init__(self, mu=1.0):
    ...         self.mu = mu
    ...     def build(self, f, view):
    ...         size = cp.Variable(f.coef.shape[0])
    ...         return Terms({"mu": cp.sum(size)}, {"above": size >= f.coef, "below": size >= -f.coef})
    >>> X, y = [[0.0, 0.0], [1.0, 0.0], [2.0, 0.5], [3.0, 0.5]], [0, 0, 1, 1]
    >>> models = PriorSVC(C=100.0), PriorSVC(Lasso(3.0), C=100.0)
    >>> [round(float(model.fit(X, y).coef_[0, 1]), 3) + 0 for model in models]
    [0.8, 0.0]
    """

    penalties: Mapping[str, cp.Expression] = field(default_factory=dict)
    constraints: Mapping[str, cp.Constraint] = field(default_factory=dict)


@dataclass(frozen=True)
class Formulas:
    r"""Formulas of a block, for ``formulation()``.

    Attributes
    ----------
    latex : dict of str to str, default={}
        Penalty name, constraint label or ``"sample"`` (what ``prepare`` does) -> LaTeX. In a formula ``<p>``
        is the power of the loss.
    letters : dict of str to str, default={}
        Letter -> its meaning, in LaTeX.
    numbers : dict of str to str, default={}
        Letter -> name of the attribute of the block that holds its number.

    Examples
    --------
    >>> from priorsvm import Formulas
    >>> formulas = Formulas({"mu": r"\sum_p z_p"}, {"z_p": r"\text{the slack of point } p"})
    >>> formulas.letters["z_p"]
    '\\text{the slack of point } p'
    """

    latex: Mapping[str, str] = field(default_factory=dict)
    letters: Mapping[str, str] = field(default_factory=dict)
    numbers: Mapping[str, str] = field(default_factory=dict)


# What blocks of earlier versions define, and what a block does instead.
_REMOVED = {
    "centres": "Evaluate f(Z) in build: f expands over every point it is evaluated at.",
    "slopes": "Evaluate f.slope(Z, V) in build: f expands over every slope it is evaluated at.",
    "requires": "Use f.slope, f.coef or f.kernel in build: a model without it raises MissingCapability.",
    "settle": "Return the Step of the last stage from refine, where view.settled is True.",
    "multipliers": "Name it row_duals, and derive the block from OnRowSlack.",
    "shares_slack": "Derive the block from OnRowSlack.",
    "adds_rows": "Set prepares = 'adds'.",
    "moves_rows": "Set prepares = 'moves'.",
    "allow_nan": "Derive the block from Completes.",
    "iterative": "Derive the block from Iterative.",
    "machine_decides": "Use f.linear in build.",
    "takes_sparse": "Add 'sparse' to accepts.",
    "takes_sets": "Add 'sets' to accepts.",
    "latex": "Set formulas = Formulas(latex={...}, letters={...}).",
    "letters": "Set formulas = Formulas(latex={...}, letters={...}).",
    "symbols": "Set formulas = Formulas(..., numbers={letter: attribute}).",
}

# Method -> the trait that announces it.
_TRAITS: dict[str, type] = {
    "refine": Iterative,
    "relax": Iterative,
    "row_duals": OnRowSlack,
    "predict": Scores,
    "complete": Completes,
}


_ACCEPTED = ("dense", "sparse", "sets", "precomputed", "chunks")
_PREPARES = ("reweights", "adds", "moves")


def _removed_names(cls: type) -> list[str]:
    """Return a sentence for each name of an earlier version that a class defines."""
    return [
        f"{cls.__name__} defines {name}, which blocks no longer have. {advice}"
        for name, advice in _REMOVED.items()
        if name in vars(cls)
    ]


def _missing_traits(cls: type) -> list[str]:
    """Return a sentence for each method without its trait."""
    return [
        f"{cls.__name__} defines {method} but does not derive from {trait.__name__}. Write "
        f"class {cls.__name__}({trait.__name__}, Knowledge)."
        for method, trait in _TRAITS.items()
        if hasattr(cls, method) and not issubclass(cls, trait)
    ]


def _wrong_declarations(cls: Any) -> list[str]:
    """Return a sentence for each class attribute with a wrong value, or that the library derives."""
    errors = [
        f"{cls.__name__} defines {name}, which the library derives. Remove it."
        for name in ("only_rows", "may_forbid")
        if name in vars(cls)
    ]
    accepts = cls.accepts
    if not isinstance(accepts, property) and (
        not isinstance(accepts, (set, frozenset)) or not accepts <= set(_ACCEPTED)
    ):
        errors.append(f"accepts of {cls.__name__} must be a set of {_ACCEPTED}, got {accepts!r}.")
    if isinstance(cls.prepares, property):
        pass
    elif cls.prepares not in (None, *_PREPARES):
        errors.append(f"prepares of {cls.__name__} must be one of {_PREPARES}, got {cls.prepares!r}.")
    elif cls.prepare is not Knowledge.prepare and cls.prepares is None:
        errors.append(f"{cls.__name__} defines prepare. Set prepares to one of {_PREPARES} in the class.")
    names = cls.row_params
    if not isinstance(names, (tuple, list)) or not all(isinstance(name, str) for name in names):
        errors.append(f"row_params of {cls.__name__} must be a tuple of names, got {names!r}.")
    return errors


class Knowledge(Summand):
    r"""Base of every block: a penalty and constraints added to :math:`J_{SVM}`.

    A block is independent of the model. It evaluates the decision function, and ``f(Z)`` is an affine
    expression on linear and kernel models alike. The constructor stores its arguments and does nothing else.
    Wrong arguments are found in ``validate``.

    A block of your own requires one method:

    >>> import cvxpy as cp
    >>> from priorsvm import Knowledge, PriorSVC, Terms
    >>> class Anchor(Knowledge):
    ...     def __init__(self, point, value, mu=1.0):
    ...         self.point, self.value, self.mu = point, value, mu
    ...     def build(self, f, view):
    ...         return Terms({"mu": cp.sum_squares(f([self.point]) - self.value)})
    >>> model = PriorSVC(Anchor([0.0, 3.0], 2.0, mu=100.0)).fit([[0, 0], [1, 0], [0, 1]], [0, 1, 1])
    >>> round(float(model.decision_function([[0.0, 3.0]])[0]), 1)
    2.0

    Attributes
    ----------
    accepts : frozenset of str
        What X may be: ``"dense"``, ``"sparse"``, ``"sets"`` (rows that are sets of different sizes),
        ``"precomputed"`` (a kernel matrix: the block evaluates f at training rows only, and uses nothing else
        of X), ``"chunks"`` (rows that are read in chunks: ``prepare`` reweights the rows of one chunk at a
        time, and all other methods use drawn rows, which have the ranges of all rows and the weights of the
        classes).
    prepares : str or None
        What ``prepare`` does: ``"reweights"``, ``"adds"`` or ``"moves"`` rows; None without ``prepare``.
        Blocks that reweight come first, and blocks that move rows take no outer weight.
    builds : bool
        Whether ``build`` adds terms; a property if that depends on parameters of the block.
    counts_rows : frozenset of str
        Names of penalties whose weight is a number of rows, which C multiplies.
    row_params : tuple of str
        Parameters with one entry per training row.
    formulas : Formulas
        Formulas for ``formulation()``.
    way_out_of_collapse : str or None
        Advice in the warning CollapsedModel, if the constraints or the penalty of the block leave a constant
        f. None: the warning never names the block.

    See Also
    --------
    Iterative, OnRowSlack, Scores, Completes : what a block may do besides ``build``.
    check_knowledge : check a block of your own.
    """

    accepts: ClassVar[frozenset[str]] = frozenset({"dense"})
    prepares: ClassVar[str | None] = None
    builds: ClassVar[bool] = True
    counts_rows: ClassVar[frozenset[str]] = frozenset()
    row_params: ClassVar[tuple[str, ...]] = ()
    formulas: ClassVar[Formulas] = Formulas()
    way_out_of_collapse: ClassVar[str | None] = None

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        errors = [*_removed_names(cls), *_missing_traits(cls), *_wrong_declarations(cls)]
        if errors:
            raise TypeError(" ".join(errors))

    def applies(self, sample: Sample) -> bool:
        """Return whether the block is part of this binary model.

        A one-vs-one model contains two classes. A block whose parameter ``label`` names neither class is
        left out of the model.

        Parameters
        ----------
        sample : Sample
            Training rows.

        Returns
        -------
        bool
        """
        label = getattr(self, "label", None)
        if label is None or sample.against is None:
            return True
        labels = label if isinstance(label, (list, tuple, np.ndarray)) else [label]
        return any(sample.sign(entry) != 0 for entry in labels)

    def validate(self, sample: Sample) -> None:
        """Raise InvalidInput for wrong arguments, before any heavy work.

        Parameters
        ----------
        sample : Sample
            Training rows. ``sample.model`` is the model.
        """

    def check_columns(self, sample: Sample) -> None:
        """Raise InvalidInput for names of columns that do not exist, before rows are read in chunks.

        Parameters
        ----------
        sample : Sample
            The columns of the training rows, without rows and classes.
        """

    def start(self, sample: Sample) -> Any:
        """Return the first state; None for a block without one.

        Parameters
        ----------
        sample : Sample
            Training rows.

        Returns
        -------
        object or None
        """
        return None

    def prepare(self, sample: Sample, state: Any) -> Sample:
        """Return the rows with rows added, reweighted or replaced.

        Parameters
        ----------
        sample : Sample
            Rows so far.
        state : object
            State of the block.

        Returns
        -------
        Sample
        """
        return sample

    def build(self, f: Decision, view: Building) -> Terms:
        """Return what the block adds to the problem: the formula.

        Parameters
        ----------
        f : Decision
            The decision function, in affine expressions.
        view : Building
            Rows, slack and state.

        Returns
        -------
        Terms
        """
        return Terms()

    def verify(self, f: Fitted, view: Solved) -> Verdict:
        """Return whether the fitted f satisfies the block.

        Parameters
        ----------
        f : Fitted
            The solved decision function.
        view : Solved
            The solved model.

        Returns
        -------
        Verdict
        """
        return Verdict(None, asked="nothing of f's values" if self.only_rows else "not checked: no verify()")

    def findings(self, f: Fitted, view: Solved) -> Any:
        """Return the findings on the fitted f, or None; their text is a line of the report.

        Parameters
        ----------
        f : Fitted
            The solved decision function.
        view : Solved
            The solved model.

        Returns
        -------
        object or None
        """
        return None

    def cautions(self, f: Fitted, view: Solved) -> list[Caution]:
        """Return warnings about the fitted f, which ``fit`` issues.

        Parameters
        ----------
        f : Fitted
            The solved decision function.
        view : Solved
            The solved model. ``view.plain()`` is f of the model without blocks.

        Returns
        -------
        list of Caution
        """
        return []

    def row_classes(self, sample: Sample) -> Array | None:
        """Return the sign that a soft block assigns to each training row, to find blocks of opposite signs.

        Parameters
        ----------
        sample : Sample
            Training rows.

        Returns
        -------
        ndarray of shape (n_train,) or None
            +1, -1, or 0 for rows without a sign; None for a block that assigns no signs.
        """
        return None

    def claims(self, state: Any, linear: bool) -> list[Any]:
        """Return requirements on f that hold at every point of a set, to find conflicts before a solve.

        Parameters
        ----------
        state : object
            State of the block.
        linear : bool
            Whether f is linear.

        Returns
        -------
        list of Requirement
        """
        return []

    @property
    def only_rows(self) -> bool:
        """Whether the block adds, reweights or moves rows, and adds no terms."""
        return type(self).build is Knowledge.build or not self.builds

    def adds_nothing(self, state: Any) -> bool:
        """Return whether ``build`` adds no terms in this state, so that a weighted SVM remains.

        Parameters
        ----------
        state : object
            State of the block.

        Returns
        -------
        bool
        """
        return self.only_rows

    @property
    def may_forbid(self) -> bool:
        """Whether the block can be infeasible: neither a penalty nor the slack of the rows softens it."""
        softened = isinstance(self, OnRowSlack) and not self.bounds_slack
        return bool(getattr(self, "hard", True)) and not (self.only_rows or softened)

    def aligned(self, parameter: str, sample: Sample) -> Array | None:
        """Return a row parameter as an array; None if it is not set.

        Parameters
        ----------
        parameter : str
            Name of the parameter. Its value is an array, a function of (X, y), or None.
        sample : Sample
            Training rows.

        Returns
        -------
        array of shape (n_train, ...) or None

        Raises
        ------
        InvalidInput
            If the value is not one number or array of numbers per training row.
        """
        value = getattr(self, parameter)
        if value is None:
            return None
        source = "as an array"
        if callable(value):
            value = called(value, sample, parameter)
            source = "as a function of (X, y)"
        try:
            array = np.asarray(value, float)
        except (TypeError, ValueError, OverflowError) as error:
            raise InvalidInput(f"{parameter} must be numbers, got {value!r}.") from error
        if array.ndim == 0:
            raise InvalidInput(f"{parameter} must be one number per training row, got {value!r}.")
        if array.shape[:1] != (sample.n_train,):
            raise InvalidInput(
                f"{parameter} was given {source} with shape {array.shape}, but there are {sample.n_train} "
                f"training rows. Under cross-validation pass it to fit as <block>__{parameter}, so that "
                "it is split along with the rows, or give a function of (X, y)."
            )
        return array

    def set_params(self, **params: Any) -> Knowledge:
        """Set parameters by name; the error for an unknown name lists the known names.

        Parameters
        ----------
        **params : dict
            Parameter name -> value.

        Returns
        -------
        Knowledge
            This object.
        """
        known = sorted(self.get_params(deep=False))
        for key in params:
            if (name := key.partition("__")[0]) not in known:
                raise InvalidInput(
                    f"{type(self).__name__} has no parameter {name!r}.{did_you_mean(name, known)} "
                    f"It has {', '.join(known) or 'none'}."
                )
        super().set_params(**params)
        return self

    def words(self) -> str:
        """Return a description of the block for messages; empty if the name is enough.

        Returns
        -------
        str
        """
        return ""


def called(function: Any, sample: Sample, parameter: str) -> Any:
    """Return the value of a row parameter that is a function of the training rows and their classes."""
    rows = sample.X_train
    if isinstance(rows, np.ndarray):
        rows = rows.view()
        rows.flags.writeable = False
    try:
        return function(rows, sample.labels)
    except Exception as error:
        raise InvalidInput(
            f"{parameter} was given as a function, and calling it with X, an array, and y failed: {error!r}"
        ) from error
