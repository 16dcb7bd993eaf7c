r"""On an ellipsoid the class is known."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import InvalidInput
from ...sample import Sample
from ..base import check_points
from .base import RegionKnowledge
from .demand import Demand
from .sets import EllipsoidSet


class Ellipsoid(RegionKnowledge):
    r"""Rows in an ellipsoid belong to a class.

    The ellipsoid holds the points :math:`c + Az` with :math:`\|z\| \le 1`.

    .. math:: J_{PK} = \mu\,\zeta, \qquad s f(c) - \|A^\top w\| \ge 1 - \zeta ,

    exact on a linear machine, one second-order cone. On a kernel machine :math:`s f(x) \ge 1 - \zeta` for all
    x of the ellipsoid, as far as ``method`` goes.

    Parameters
    ----------
    centre : (d,) array
    shape : radius, (d,) semi-axes, or (d, k) matrix A
    label : class
    mu : float
        Weight of the worst violation.
    hard : bool
        The margin must hold everywhere in the ellipsoid.
    method, points, max_cells : as in Box
        On kernel machines, see :class:`Box`.

    References
    ----------
    Shivaswamy, Bhattacharyya & Smola 2006 have the cone, for uncertain samples; Lauer & Bloch 2008,
    section 4.3.

    Examples
    --------
    >>> from priorsvm import Ellipsoid, PriorSVC
    >>> ball = Ellipsoid([3.0, 0.0], 0.5, label=1, hard=True)
    >>> model = PriorSVC(ball).fit([[0.0, 0.0], [1.0, 1.0]], [1, 0])
    >>> bool(model.decision_function([[2.5, 0.0], [3.0, 0.5]]).min() > 1 - 1e-6)
    True
    """

    def __init__(
        self,
        centre: Any,
        shape: Any,
        label: Any,
        mu: float = 1.0,
        hard: bool = False,
        method: str = "auto",
        points: Any = 256,
        max_cells: int = 1000,
    ):
        self.centre = centre
        self.shape = shape
        self.label = label
        self.mu = mu
        self.hard = hard
        self.method = method
        self.points = points
        self.max_cells = max_cells

    def demands(self, sample: Sample) -> list[Demand]:
        d = sample.X.shape[1]
        given = self.centre
        if hasattr(given, "reindex") and sample.feature_names is not None:  # a pandas Series: by its names
            if sorted(map(str, given.index)) != sorted(map(str, sample.feature_names)):
                raise InvalidInput(
                    f"centre is about {', '.join(map(str, given.index))}, and the columns are "
                    f"{', '.join(map(str, sample.feature_names))}."
                )
            given = given.reindex(sample.feature_names)
        centre = check_points("centre", np.asarray(given)[None], sample)[0]
        try:
            A = np.asarray(self.shape, float)
        except (TypeError, ValueError, OverflowError) as error:
            raise InvalidInput(f"shape must be numbers, got {self.shape!r}.") from error
        if A.ndim < 2:
            if A.shape not in ((), (d,)) or not (np.isfinite(A).all() and (A >= 0).all()):
                raise InvalidInput(
                    f"shape must be a radius, {d} semi-axes or a ({d}, k) matrix, nonnegative and finite, "
                    f"got {self.shape!r}."
                )
            A = np.diag(np.broadcast_to(A, (d,)))
        if A.ndim != 2 or A.shape[0] != d or A.shape[1] == 0 or not np.isfinite(A).all():
            raise InvalidInput(f"shape has shape {A.shape}, expected ({d}, k) and finite numbers.")
        if A.shape[1] > 1:  # the same ellipsoid without redundant columns, which make cones degenerate
            U, size, _ = np.linalg.svd(A, full_matrices=False)
            A = (U * size)[:, size > 1e-14 * size[0]] if size[0] > 0 else A[:, :1]
        return [Demand(EllipsoidSet(centre, A), sample.sign(self.label))]

    def words(self) -> str:
        return f"the ellipsoid around {self.centre!r} is {self.label!r}"
