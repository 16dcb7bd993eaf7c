"""The decision functions of the joint model, one for each class."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .._utils.arrays import Array
from ..function.fitted import Fitted, FittedKernel, FittedLinear
from ..function.maps import LinearMap
from ..spec import Spec


@dataclass(frozen=True, eq=False)
class JointFunction:
    r"""The functions :math:`f_k(x) = \sum_p W_{pk}\, k(x_p, x)` of all classes, over common points.

    Attributes
    ----------
    spec : Spec
    points : (p, d) array
        In the units of X; sparse if X is sparse.
    weights : (p, K) array
    """

    spec: Spec
    points: Any
    weights: Array

    @classmethod
    def linear(cls, spec: Spec, coefficients: Array) -> JointFunction:
        """Return linear functions of these (K, d) coefficients, in the units of the model."""
        points = coefficients if spec.scale is None else coefficients * spec.scale.width + spec.scale.shift
        return cls(spec, points, np.eye(len(coefficients)))

    @cached_property
    def functions(self) -> list[Fitted]:
        """The function of each class."""
        spec = self.spec
        if spec.kernel is None:
            features = LinearMap(self.points.shape[1], spec.scale)
            coefficients = np.asarray(self.weights.T @ features.rows(self.points))
            return [features.fitted(w, 0.0) for w in coefficients]
        found: list[Fitted] = []
        for weights in self.weights.T:
            used = weights != 0
            found.append(FittedKernel(0.0, spec.kernel, self.points[used], weights[used], spec.scale))
        return found

    @property
    def bias(self) -> Array:
        """The bias of each class: 0, up to the shift of the scaling."""
        return np.array([f.bias for f in self.functions])

    def lead(self, true: int, other: int) -> Fitted:
        """Return the difference between the functions of two classes."""
        spec = self.spec
        if spec.kernel is not None:
            weights = self.weights[:, true] - self.weights[:, other]
            return FittedKernel(0.0, spec.kernel, self.points, weights, spec.scale)
        first: Any = self.functions[true]
        second: Any = self.functions[other]
        return FittedLinear(first.bias - second.bias, first.coef - second.coef, spec.scale)

    def value(self, Z: Any) -> Array:
        """Return the (n, K) values of all functions."""
        kernel = self.spec.kernel
        if kernel is None:
            return np.column_stack([f.value(Z) for f in self.functions])
        whole = FittedKernel(0.0, kernel, self.points, self.weights, self.spec.scale)
        return whole.expansion(Z).reshape(-1, self.weights.shape[1])

    def norm(self, kind: str) -> float:
        """Return the norm of all functions together."""
        if kind == "l2" and self.spec.kernel is not None:
            return float(np.sqrt(max(np.sum(self.weights * self.value(self.points)), 0.0)))
        return float(np.linalg.norm([f.norm(kind) for f in self.functions]))
