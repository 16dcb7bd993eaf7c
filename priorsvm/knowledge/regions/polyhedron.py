r"""The class is known on a polyhedron."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from ..._utils.arrays import Array
from ..._utils.checks import check_moderate, check_nonnegative
from ...errors import InvalidInput
from ...sample import Sample
from ..base import Terms
from ..views import Building, PointTerms
from .base import RegionKnowledge
from .exact import polyhedra
from .kernelised import Kernelised, kernelised_constraints, warn_unsound
from .method import Method
from .requirement import Requirement
from .sets import PolyhedronSet, polyhedron
from .within import close_all, limits_in_words, signs_of


class Polyhedron(RegionKnowledge):
    r"""Rows with :math:`Bx \le d` belong to a class.

    On a linear model the block is exact, by duality: :math:`s f(x) \ge 1 - \zeta` on the whole polyhedron if
    and only if there is a :math:`u \ge 0` with

    .. math:: B^\top u + s w = 0, \qquad d^\top u - s b + 1 \le \zeta, \qquad J_{PK} = C \mu\,\zeta .

    On a kernel model the block requires :math:`s f(x) \ge 1 - \zeta` for all x of the polyhedron, with the
    accuracy of ``method``. Use it if the class is known where linear inequalities hold.

    Parameters
    ----------
    B : array of shape (m, d) or list of arrays
        The left-hand sides; a list describes several polyhedra.
    d : array of shape (m,) or list of arrays
        The right-hand sides.
    label : a class or list of classes
        One class for all polyhedra, or one class for each polyhedron.
    mu : float or "auto", default="auto"
        Weight of the block, as a number of rows. "auto" is chosen by cross-validation if the block applies
        to rows, else it is 1. In a tie of its factors 1 is preferred, then 0.3, 3 and 0.
    mu_residual : float or None, default=None
        Weight of residuals of the equation, :math:`-z \le B^\top u + s w \le z` in the units of the model.
        The penalty is :math:`C \mu_{residual} \sum z`. None means no residuals. With residuals the margin
        need not hold on the polyhedron even if :math:`\zeta = 0`. For linear models and
        ``method="kernelised"``.
    hard : bool, default=False
        The margin must hold everywhere in the polyhedron.
    method : {"auto", "cuts", "points", "guaranteed", "kernelised"}, default="auto"
        Method on kernel models, see :class:`Box`. Linear models are exact. ``"kernelised"`` is the published
        kernel form, for replication. It substitutes :math:`x = X^\top t` and constrains the coefficients t.
        On the polyhedron f may have the wrong sign.
    within : str, dict or None, default=None
        None means the polyhedron as given. If it is unbounded, weights along its unbounded directions are
        forced to zero or to one sign, even if the block is soft. ``"data"`` closes open sides at the range of
        the training rows; a dict is explained in :class:`Box`.
    points : int, "grid" or array of shape (n, d), default=256
        Points of ``method="points"``, see :class:`Box`.
    max_cells : int, default=1000
        Largest number of cells of ``method="guaranteed"``.
    holds : {"auto", "rows", "everywhere"}, default="auto"
        What the block applies to.

        - ``"rows"``: rows as they occur that lie in the region, and near rows moved into it.
        - ``"everywhere"``: all points of the region.
        - ``"auto"``: ``"everywhere"`` if the block is hard or ``method`` is given, else ``"rows"``.
    unlabeled : array-like of shape (m, d) or None, default=None
        Further rows without a label that a block on rows applies to.

    See Also
    --------
    Rule : inequalities as a text over the columns.
    Box : a box of values, without dual variables.

    Notes
    -----
    An empty polyhedron raises an error. Its dual form would leave the bias unrestricted.

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

    methods: ClassVar[Mapping[str, type[Method]]] = {**RegionKnowledge.methods, "kernelised": Kernelised}
    templates: ClassVar[dict[str, str]] = {
        **RegionKnowledge.templates,
        "mu_residual": r"C \sum_l \mathbf{1}^\top z_l",
        "residual": r"-z_l \le B_l^\top u_l + s_l w \le z_l,\; u_l \ge 0",
        "kernel_dual": r"K(X, B_l)\, u_l + s_l (f(X) - b) = 0,\; u_l \ge 0",
        "kernel_residual": r"-z_l \le K(X, B_l)\, u_l + s_l (f(X) - b) \le z_l,\; u_l \ge 0",
    }
    letters_of_regions: ClassVar[dict[str, str]] = {
        **RegionKnowledge.letters_of_regions,
        "X": r"\text{the training rows, and } K(X, B_l) \text{ the kernel of } X \text{ and rows of } B_l",
    }

    def __init__(
        self,
        B: Any,
        d: Any,
        label: Any,
        mu: Any = "auto",
        mu_residual: float | None = None,
        hard: bool = False,
        method: str = "auto",
        within: Any = None,
        points: Any = 256,
        max_cells: int = 1000,
        holds: str = "auto",
        unlabeled: Any = None,
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
        self.holds = holds
        self.unlabeled = unlabeled

    @property
    def on_rows(self) -> bool:
        """Whether the block applies to rows as they occur: not with residuals of the dual form."""
        return super().on_rows and not (self.holds == "auto" and self.mu_residual is not None)

    def validate(self, sample: Sample) -> None:
        super().validate(sample)
        if self.mu_residual is not None:
            check_nonnegative(mu_residual=self.mu_residual)
            if self.hard:
                raise InvalidInput(
                    "mu_residual softens the knowledge, and hard=True excludes that. Choose one."
                )
        if sample.model is None or sample.model.linear:
            return
        if self.method == "kernelised":
            warn_unsound()
        elif self.mu_residual is not None:
            raise InvalidInput(
                f"mu_residual requires a linear model or method='kernelised', got method={self.method!r}."
            )

    def requirements(self, sample: Sample) -> list[Requirement]:
        many = isinstance(self.B, (list, tuple)) and len(self.B) > 0 and np.ndim(self.B[0]) == 2
        if many and not isinstance(self.d, (list, tuple)):
            raise InvalidInput(
                f"B is a list of {len(self.B)} matrices, so d must be a list too, got {self.d!r}."
            )
        Bs = list(self.B) if many else [self.B]
        ds = list(self.d) if many else [self.d]
        if len(Bs) != len(ds):
            raise InvalidInput(
                f"there are {len(Bs)} matrices B and {len(ds)} vectors d. Give one d for each B."
            )
        literal = [_polyhedron(B, d, sample) for B, d in zip(Bs, ds, strict=True)]
        regions = close_all(literal, self.within, sample)
        signs = signs_of(self.label, len(regions), sample)
        return [Requirement(region, sign) for region, sign in zip(regions, signs, strict=True)]

    def build(self, f: Any, view: Building) -> Terms:
        linear = f.linear
        if self.mu_residual is None and (linear or self.method != "kernelised"):
            return super().build(f, view)
        return self._by_duality(f, view, linear)

    def at_points(self, view: Building, linear: bool) -> PointTerms | None:
        by_duality = self.mu_residual is not None or self.method == "kernelised"
        return None if by_duality else super().at_points(view, linear)

    def _by_duality(self, f: Any, view: Building, linear: bool) -> Terms:
        """Return the terms with residuals (eq. 52), or of the kernel form (eqs. 50-52)."""
        import cvxpy as cp

        requirements = view.state.requirements
        zeta: Any = (
            np.zeros(len(requirements))
            if self.hard
            else cp.Variable(len(requirements), nonneg=True, name="zeta")
        )
        X = view.sample.weighted_rows()[0]
        signs = np.array([requirement.sign for requirement in requirements])
        penalties: dict[str, Any] = {} if self.hard else {"mu": cp.sum(zeta)}
        residual = None
        if self.mu_residual is not None:
            size = f.n_features if linear else len(X)
            residual = cp.Variable(len(requirements) * size, nonneg=True, name="z")
            penalties["mu_residual"] = cp.sum(residual)
        if linear:
            constraints = polyhedra(f, requirements, signs, 1 - zeta, residual)
        else:
            constraints = kernelised_constraints(f, requirements, signs, 1 - zeta, X, residual)
        return Terms(penalties, constraints)

    def words(self) -> str:
        return f"the polyhedron{limits_in_words(self.within)} is {self.label!r}"


def _polyhedron(B: Any, d: Any, sample: Sample) -> PolyhedronSet:
    """Return the set {x : Bx <= d}; raise if it is empty or not a set of numbers."""
    B = _numbers("B", B)
    d = _numbers("d", d)
    if B.ndim != 2 or B.shape[1] != sample.X.shape[1] or d.shape != B.shape[:1] or len(B) == 0:
        raise InvalidInput(
            f"B has shape {B.shape} and d {d.shape}; expected (m, {sample.X.shape[1]}) and (m,), m >= 1."
        )
    for name, array in (("B", B), ("d", d)):
        if not np.isfinite(array).all():
            raise InvalidInput(
                f"{name} contains NaN or infinity. Give finite numbers, and leave out inequalities without a "
                "limit."
            )
        check_moderate(name, array, "Use other units.")
    region = polyhedron(B, d)
    if region.empty:
        raise InvalidInput(
            "the polyhedron {x : Bx <= d} is empty, and its dual form would leave the bias unrestricted. "
            "Check the signs of B and d."
        )
    return region


def _numbers(name: str, value: Any) -> Array:
    try:
        return np.asarray(value, float)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidInput(f"{name} must be an array of numbers, got {value!r}.") from error
