r"""On a polyhedron the class is known."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ..._utils.arrays import Array
from ..._utils.checks import check_nonnegative
from ..._utils.messages import warn
from ...errors import InvalidInput, UnsoundMethod
from ...function.fitted import FittedLinear
from ...sample import Sample
from ..base import Context, Terms
from .base import RegionKnowledge
from .demand import Demand, in_machine_units, polyhedra
from .sets import PolyhedronSet, polyhedron
from .within import close_all, signs_of


class Polyhedron(RegionKnowledge):
    r"""Rows with :math:`Bx \le d` belong to a class.

    On a linear machine exact, by duality: :math:`s f(x) \ge 1 - \zeta` on the whole polyhedron if and only if
    there is a :math:`u \ge 0` with

    .. math:: B^\top u + s w = 0, \qquad d^\top u - s b + 1 \le \zeta, \qquad J_{PK} = \mu\,\zeta .

    On a kernel machine :math:`s f(x) \ge 1 - \zeta` for all x of the polyhedron, as far as ``method`` goes.

    Parameters
    ----------
    B : (m, d) array, or list of such
    d : (m,) array, or list of such
    label : class, or list of classes
    mu : float
        Weight of the worst violation :math:`\zeta` of each polyhedron.
    mu_residual : float, optional
        Relax the equation as the papers do, :math:`-z \le B^\top u + s w \le z` in the machine's units, at
        the price :math:`\mu_{residual} \sum z`. The margin then need not hold on the set even where
        :math:`\zeta = 0`. For linear machines and ``method="kernelised"``.
    hard : bool
        The margin must hold everywhere in the polyhedron.
    method : "auto", "cuts", "points", "guaranteed" or "kernelised"
        On kernel machines; the first four as in :class:`Box`. ``"kernelised"`` is the published kernel
        version, for replication: it puts :math:`x = X^\top t` and speaks about the coefficients t, not
        about the points of the polyhedron, on which f may well be on the wrong side.
    within : None, "data" or dict of bounds
        None is the literal set. An unbounded set forces every weight along its unbounded directions to zero
        (or to one sign), even by a soft rule; "data" closes open sides at the range of the training rows.
    points, max_cells : as in Box
        On kernel machines, see :class:`Box`.

    Notes
    -----
    An empty polyhedron is an error: its dual form would silently leave the bias free.

    References
    ----------
    Fung, Mangasarian & Shavlik 2002 and 2003; Lauer & Bloch 2008, section 4.3.4, eqs. (46)-(52).

    Examples
    --------
    >>> from priorsvm import Polyhedron, PriorSVC
    >>> triangle = Polyhedron([[1, 1], [-1, 0], [0, -1]], [1, 0, 0], label=1, hard=True)
    >>> model = PriorSVC(triangle).fit([[3.0, 3.0], [1.0, 2.0]], [0, 1])
    >>> bool(model.decision_function([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]).min() > 1 - 1e-6)
    True
    """

    methods: ClassVar[tuple[str, ...]] = (*RegionKnowledge.methods, "kernelised")
    formulas: ClassVar[dict[str, str]] = {
        **RegionKnowledge.formulas,
        "mu_residual": r"\sum_l \mathbf{1}^\top z_l",
        "residual": r"-z_l \le B_l^\top u_l + s_l w \le z_l,\; u_l \ge 0",
        "kernel_dual": r"K(X, B_l)\, u_l + s_l (f(X) - b) = 0,\; u_l \ge 0",
        "kernel_residual": r"-z_l \le K(X, B_l)\, u_l + s_l (f(X) - b) \le z_l,\; u_l \ge 0",
    }
    letters: ClassVar[dict[str, str]] = {
        **RegionKnowledge.letters,
        "X": r"\text{the training rows, and } K(X, B_l) \text{ the kernel between them and the rows of } B_l",
    }

    def __init__(
        self,
        B: Any,
        d: Any,
        label: Any,
        mu: float = 1.0,
        mu_residual: float | None = None,
        hard: bool = False,
        method: str = "auto",
        within: Any = None,
        points: Any = 256,
        max_cells: int = 1000,
    ):
        self.B = B
        self.d = d
        self.label = label
        self.mu = mu
        self.mu_residual = mu_residual
        self.hard = hard
        self.method = method
        self.within = within
        self.points = points
        self.max_cells = max_cells

    def validate(self, sample: Sample) -> None:
        super().validate(sample)
        if self.mu_residual is not None:
            check_nonnegative(mu_residual=self.mu_residual)
            if self.hard:
                raise InvalidInput(
                    "mu_residual softens the knowledge and hard=True forbids that: choose one."
                )

        if sample.machine is None or sample.machine.kernel is None:
            return
        if self.method == "kernelised":
            warn(
                "method='kernelised' speaks about coefficients, not about the points of the polyhedron: f "
                "may be on the wrong side there although every constraint holds. verify() tells; 'cuts' or "
                "'guaranteed' mean what they say.",
                UnsoundMethod,
            )
        elif self.mu_residual is not None:
            raise InvalidInput(
                f"mu_residual belongs to linear machines and method='kernelised', not to {self.method!r}."
            )

    def demands(self, sample: Sample) -> list[Demand]:
        many = isinstance(self.B, (list, tuple)) and len(self.B) > 0 and np.ndim(self.B[0]) == 2
        if many and not isinstance(self.d, (list, tuple)):
            raise InvalidInput(
                f"B is a list of {len(self.B)} matrices, so d must be a list too, got {self.d!r}."
            )
        Bs, ds = (list(self.B), list(self.d)) if many else ([self.B], [self.d])
        if len(Bs) != len(ds):
            raise InvalidInput(f"there are {len(Bs)} matrices B and {len(ds)} vectors d.")
        literal = [_polyhedron(B, d, sample) for B, d in zip(Bs, ds, strict=True)]
        regions = close_all(literal, self.within, sample)
        signs = signs_of(self.label, len(regions), sample)
        return [Demand(region, sign) for region, sign in zip(regions, signs, strict=True)]

    def build(self, f: Any, context: Context) -> Terms:
        linear = f.linear
        if self.mu_residual is None and (linear or self.method != "kernelised"):
            return super().build(f, context)
        return self._published(f, context, linear)

    def _published(self, f: Any, context: Context, linear: bool) -> Terms:
        """With the papers' residuals (eq. 52), or in their kernel form (eqs. 50-52)."""
        import cvxpy as cp

        demands = context.state.demands
        zeta: Any = (
            np.zeros(len(demands)) if self.hard else cp.Variable(len(demands), nonneg=True, name="zeta")
        )
        X = context.sample.X_train
        signs = np.array([demand.sign for demand in demands])
        penalties: dict[str, Any] = {} if self.hard else {"mu": cp.sum(zeta)}
        residual = None
        if self.mu_residual is not None:
            size = f.n_features if linear else len(X)
            residual = cp.Variable(len(demands) * size, nonneg=True, name="z")
            penalties["mu_residual"] = cp.sum(residual)
        if linear:
            constraints = polyhedra(f, demands, signs, 1 - zeta, residual)
        else:
            constraints = _kernelised(f, demands, signs, 1 - zeta, X, residual)
        return Terms(penalties, constraints)

    def refine(self, f: Any, context: Context) -> Any:
        if self.method == "kernelised" and not isinstance(f, FittedLinear):
            return None
        return super().refine(f, context)

    def words(self) -> str:
        return f"the polyhedron is {self.label!r}"


def _polyhedron(B: Any, d: Any, sample: Sample) -> PolyhedronSet:
    """The literal set, checked."""
    try:
        B = np.asarray(B, float)
        d = np.asarray(d, float)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidInput("B and d must be numbers.") from error
    if B.ndim != 2 or B.shape[1] != sample.X.shape[1] or d.shape != B.shape[:1] or len(B) == 0:
        raise InvalidInput(
            f"B has shape {B.shape} and d {d.shape}; expected (m, {sample.X.shape[1]}) and (m,), m >= 1."
        )
    if not (np.isfinite(B).all() and np.isfinite(d).all()):
        raise InvalidInput("B and d must be finite numbers.")
    region = polyhedron(B, d)
    if region.empty:
        raise InvalidInput(
            "the polyhedron {x : Bx <= d} is empty, so it says nothing, and its dual form would silently "
            "free the bias. Check the signs of B and d."
        )
    return region


def _kernelised(
    f: Any, demands: list[Demand], signs: Array, asked: Any, X: Array, residual: Any
) -> dict[str, Any]:
    r""":math:`K(X, B)u + s\,(f(X) - b) = 0`, :math:`d^\top u - s b + 1 \le \zeta`: rows of B as points."""
    import cvxpy as cp

    inner = X if f.scale is None else f.scale.points(X)
    turned = []
    values = []
    for demand, sign in zip(demands, signs, strict=True):
        B, d = in_machine_units(f, demand.region.B, demand.region.d, normed=False)  # type: ignore[attr-defined]
        u = cp.Variable(len(B), nonneg=True, name="u")
        turned.append(f.spec.kernel(inner, B) @ u + sign * (f(X) - f.b))
        values.append(sign * f.b - d @ u)
    value = {"value": cp.hstack(values) >= asked}
    stacked = cp.hstack(turned)
    if residual is None:
        return {"kernel_dual": stacked == 0, **value}
    return {
        "kernel_residual": cp.hstack([stacked, -stacked]) <= cp.hstack([residual, residual]),
        **value,
    }
