r"""The method "kernelised" of Polyhedron: the published kernel form, which is not sound.

It substitutes :math:`x = X^\top t` and imposes the requirement on the coefficients t, not on the points of
the polyhedron.
"""

from __future__ import annotations

from typing import Any, ClassVar

from ..._utils.arrays import Array
from ..._utils.messages import warn
from ...errors import MissingCapability, UnsoundMethod
from .exact import in_model_units
from .method import Method
from .requirement import Requirement


class Kernelised(Method):
    """The kernel version of Fung, Mangasarian and Shavlik (2003), for replication."""

    needs_bounds: ClassVar[bool] = False
    everywhere: ClassVar[bool] = False

    def check(self, requirement: Requirement, kernel: Any) -> None:
        if kernel is not None and kernel.needs_bias:
            raise MissingCapability(
                f"method='kernelised' constrains the bias, but {kernel!r} is conditionally positive definite "
                "and requires a free bias. Use method='cuts', or a kernel such as RBF()."
            )


def warn_unsound() -> None:
    """Warn that the method does not constrain f on the polyhedron."""
    warn(
        "method='kernelised' constrains coefficients, not the points of the polyhedron: f may have the wrong "
        "sign there although every constraint holds. Check with verify(), or use method='cuts' or "
        "'guaranteed'.",
        UnsoundMethod,
    )


def kernelised_constraints(
    f: Any, requirements: list[Requirement], signs: Array, required: Any, X: Array, residual: Any
) -> dict[str, Any]:
    r"""Return eqs. (50)-(52): :math:`K(X, B)u + s\,(f(X) - b) = 0`, :math:`d^\top u - s b + 1 \le \zeta`."""
    import cvxpy as cp

    inner = X if f.scale is None else f.scale.points(X)
    duals = []
    values = []
    for requirement, sign in zip(requirements, signs, strict=True):
        region: Any = requirement.region
        B, d = in_model_units(f, region.B, region.d, normed=False)
        u = cp.Variable(len(B), nonneg=True, name="u")
        duals.append(f.spec.kernel(inner, B) @ u + sign * (f(X) - f.b))
        values.append(sign * f.b - d @ u)
    value = {"value": cp.hstack(values) >= required}
    dual = cp.hstack(duals)
    if residual is None:
        return {"kernel_dual": dual == 0, **value}
    return {"kernel_residual": cp.hstack([dual, -dual]) <= cp.hstack([residual, residual]), **value}
