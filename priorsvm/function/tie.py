r"""The equations :math:`g = \Phi c + b` that connect the values of f in a problem to its coefficients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .atoms import Atoms
from .maps import FactorMap, KernelMap, LinearMap, ValueMap
from .symbolic import Coefficients, sparse_if_mostly_zero

if TYPE_CHECKING:
    import cvxpy as cp

    from .._utils.arrays import Array
    from .._utils.cache import Cache
    from ..spec import Spec
    from .fitted import Fitted
    from .symbolic import Decision


class Tie:
    r"""The equations between the evaluated values and slopes of f and its coefficients.

    Attributes
    ----------
    features : LinearMap or KernelMap
        The feature map :math:`\varphi`.
    coefficients : Coefficients
    definitions : dict of str to cvxpy.Constraint
        :math:`g = \Phi c + b` for each variable, and the cone of ``f.length`` under ``"length"``.
    parts : dict of int to tuple
        Id of an equation -> its variable, :math:`\Phi`, and whether the bias is added.
    """

    def __init__(self, f: Decision, features: LinearMap | KernelMap, unit: float = 1.0):
        """Tie f; with ``unit`` the coefficients count in multiples of it."""
        import cvxpy as cp

        self.features = features
        self.coefficients = f.coefficients or Coefficients(features.size, f.norm, f._take_first_ids())
        for half in self.coefficients.halves:
            half.decision = f
        self.b = f.b
        self.definitions: dict[str, cp.Constraint] = {}
        self.parts: dict[int, tuple[cp.Variable, Any, bool]] = {}
        for evaluation in f.evaluations:
            g = evaluation.variable
            matrix = sparse_if_mostly_zero(features.at(evaluation.atoms))
            if unit != 1.0:
                matrix = unit * matrix
            equation = g == matrix @ self.coefficients.c + (f.b if evaluation.biased else 0.0)
            self.definitions[g.name()] = equation
            self.parts[equation.id] = (g, matrix, evaluation.biased)
        if f.has_length:
            length = f.length if unit == 1.0 else f.length / unit
            self.definitions["length"] = cp.SOC(length, features.coordinate_matrix @ self.coefficients.c)

    @property
    def c(self) -> cp.Expression:
        """The coefficient vector."""
        return self.coefficients.c

    @property
    def regulariser(self) -> cp.Expression:
        r"""The term :math:`\frac12\|g\|^2` of the objective, or :math:`\|c\|_1` with the 1-norm."""
        return self.coefficients.regulariser(self.features.energy_matrix)

    def regulariser_slope(self) -> dict[cp.Variable, Any]:
        """Return the gradient of the regulariser, variable by variable."""
        return self.coefficients.regulariser_slope(self.features.energy_matrix)

    def jacobians(self) -> dict[int, Any]:
        """Return, for each equation, how its dual variable enters the gradient by each variable."""
        known: dict[int, dict[cp.Variable, Any]] = {}
        for equation, (g, matrix, biased) in self.parts.items():
            slopes: dict[cp.Variable, Any] = {g: lambda m: m, **self.coefficients.adjoint(matrix, -1.0)}
            if biased:
                slopes[self.b] = lambda m: -m.sum(keepdims=True)
            known[equation] = slopes
        return known

    def product_jacobians(self, f: Decision) -> dict[cp.Variable, dict[cp.Variable, Any]]:
        """Return, for the variable of each product, how its gradient enters the gradient by c."""
        return {g: self.coefficients.adjoint(matrix, 1.0) for g, matrix in f.products.parts}

    def fitted(self) -> Fitted:
        """Return the solved f as arrays."""
        return self.features.fitted(np.asarray(self.c.value), float(self.b.value))


def feature_map(f: Decision, rows: Array | None, maps: Cache) -> LinearMap | KernelMap:
    """Return the feature map of f; a kernel map over the same centres is taken from ``maps``.

    Models with the 1-norm expand over ``rows``, models with the 2-norm over all evaluated points and slopes.
    """
    spec = f.spec
    if spec.linear:
        return LinearMap(f.n_features, spec.scale)
    if spec.norm == "l1":
        assert rows is not None
        centres = rows
        at = along = np.empty((0, f.n_features))
    else:
        centres, at, along = f.expansion()
    key = (spec.norm, spec.kernel, spec.scale and vars(spec.scale), spec.n_centres, centres, at, along)
    kernel_map: KernelMap = maps.get(key, lambda: _kernel_map(spec, centres, at, along))
    return kernel_map


def _kernel_map(spec: Spec, centres: Array, at: Array, along: Array) -> KernelMap:
    assert spec.kernel is not None
    kernel = spec.kernel.double
    if spec.norm == "l1":
        return KernelMap(kernel, centres, spec.scale)
    factor = FactorMap(kernel, Atoms.both(centres, at, along), spec.scale, spec.n_centres)
    invertible = spec.n_centres is None and len(at) == 0 and ValueMap.suits(factor)
    return ValueMap(factor) if invertible else factor
