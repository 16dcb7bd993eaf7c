r"""Costs of errors per class."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ..._utils.arrays import Array
from ..._utils.checks import is_number
from ...errors import InvalidInput
from ...sample import Sample
from ..base import Formulas, Knowledge


class ClassCosts(Knowledge):
    r"""Factor on C per class.

    .. math:: J_{PK} = \sum_i (C_i - C)\,\xi_i, \qquad C_i = C \cdot \mathrm{costs}[y_i] .

    Use it if errors on one class are more expensive, or if one class is rare. Exact for every model: the
    block only reweights rows. Virtual rows inherit the cost of their training row. With more than two
    classes, each row keeps the cost of its own class in every one-vs-rest or one-vs-one problem.

    Parameters
    ----------
    costs : dict, "balanced" or "brown"
        A dict maps classes to nonnegative factors; a missing class has factor 1. ``"balanced"`` gives class k
        the factor N / (K n_k), like ``class_weight`` in scikit-learn. ``"brown"`` gives it the factor
        N / (2 scale n_k). With the squared hinge and C = 1 that is the hard margin with
        :math:`K_{ii} + \mathrm{scale}\, n_k / N`.
    scale : float, default=0.1
        A number of ``"brown"``.

    See Also
    --------
    SampleCosts : costs and margins per training row.

    References
    ----------
    Veropoulos, Campbell & Cristianini 1999; Brown et al. 2000; Lauer & Bloch 2008, eqs. (20)-(21). The
    constant depends on the convention: :math:`\frac12\|w\|^2 + C\sum\xi^2` goes with :math:`K + I/(2C)`.

    Examples
    --------
    >>> from priorsvm import ClassCosts, PriorSVC
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], ["well", "well", "ill", "well"]
    >>> PriorSVC(ClassCosts({"ill": 10})).fit(X, y).predict([[2.1]])
    array(['ill'], dtype='<U4')
    """

    accepts: ClassVar[frozenset[str]] = frozenset({"dense", "sparse", "sets", "precomputed", "chunks"})
    prepares: ClassVar[str | None] = "reweights"
    formulas: ClassVar[Formulas] = Formulas(
        latex={"sample": r"\sum_{i} (C_i - C)\, \xi_i<p>"},
        letters={"C_i": r"C \text{ times the cost of row } i"},
    )

    def __init__(self, costs: Any, scale: float = 0.1):
        self.costs = costs
        self.scale = scale

    def __getstate__(self) -> dict[str, Any]:
        # Pairs, because skops stores no boolean keys and classes may be True and False.
        costs = list(self.costs.items()) if isinstance(self.costs, dict) else self.costs
        return {**super().__getstate__(), "costs": costs}

    def __setstate__(self, state: dict[str, Any]) -> None:
        costs = state["costs"]
        super().__setstate__({**state, "costs": dict(costs) if isinstance(costs, list) else costs})

    def validate(self, sample: Sample) -> None:
        self.factors(sample)

    def prepare(self, sample: Sample, state: Any) -> Sample:
        return sample.with_factor(self.factors(sample)[np.searchsorted(sample.classes, sample.labels)])

    def factors(self, sample: Sample) -> Array:
        """Return the factor of each class.

        Parameters
        ----------
        sample : Sample
            Training rows.

        Returns
        -------
        array of shape (n_classes,)
            Factors in the order of ``sample.classes``.

        Raises
        ------
        InvalidInput
            A cost is not a nonnegative number, or its class does not exist.
        """
        if isinstance(self.costs, str):
            # Counts of weights, so that a weight of 2 equals a repeated row.
            weight = sample.class_weights
            counts = np.where(weight == 0, np.inf, weight)  # a class without weight has no cost
            if self.costs == "balanced":
                return weight.sum() / (len(counts) * counts)
            if self.costs == "brown":
                if not is_number(self.scale) or not 0 < self.scale < float("inf"):
                    raise InvalidInput(f"scale must be a positive number, got {self.scale!r}.")
                return weight.sum() / (2 * self.scale * counts)
            raise InvalidInput(f"costs must be a dict, 'balanced' or 'brown', got {self.costs!r}.")
        if not isinstance(self.costs, dict):
            raise InvalidInput(
                "costs must be a dict of class to factor, 'balanced' or 'brown', "
                f"got {type(self.costs).__name__}."
            )
        for label, cost in self.costs.items():
            sample.sign(label)
            if not is_number(cost) or not 0 <= cost < float("inf"):
                raise InvalidInput(f"the cost of class {label!r} must be a nonnegative number, got {cost!r}.")
        return np.array([float(self.costs.get(k, 1.0)) for k in sample.classes.tolist()])
