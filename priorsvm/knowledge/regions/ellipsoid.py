r"""The class is known on an ellipsoid."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._utils.arrays import Array
from ..._utils.checks import check_moderate
from ...errors import InvalidInput
from ...sample import Sample
from ..checks import check_points
from .base import RegionKnowledge
from .requirement import Requirement
from .sets import EllipsoidSet


class Ellipsoid(RegionKnowledge):
    r"""Rows in an ellipsoid belong to a class.

    The ellipsoid contains the points :math:`m + Az` with :math:`\|z\| \le 1`.

    .. math:: J_{PK} = C \mu\,\zeta, \qquad s f(m) - \|A^\top w\| \ge 1 - \zeta ,

    which is exact on a linear model and adds one second-order cone. On a kernel model the block requires
    :math:`s f(x) \ge 1 - \zeta` for all x of the ellipsoid, with the accuracy of ``method``. Use it if the
    class is known around a typical point.

    Parameters
    ----------
    centre : array of shape (d,) or pandas Series
        The centre m. A Series is matched with the columns by name.
    shape : float, array of shape (d,) or array of shape (d, k)
        A radius, the semi-axes along the columns, or the matrix A.
    label : a class
        The class of rows in the ellipsoid.
    mu : float or "auto", default="auto"
        Weight of the block, as a number of rows. "auto" is chosen by cross-validation if the block applies
        to rows, else it is 1. In a tie of its factors 1 is preferred, then 0.3, 3 and 0.
    hard : bool, default=False
        The margin must hold everywhere in the ellipsoid.
    method : {"auto", "cuts", "points", "guaranteed"}, default="auto"
        Method on kernel models, see :class:`Box`. Linear models are exact.
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
    Box : a box of values.
    UncertainSamples : an ellipsoid around each training row.

    References
    ----------
    Shivaswamy, Bhattacharyya & Smola 2006, for the cone; Lauer & Bloch 2008, section 4.3.

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
        mu: Any = "auto",
        hard: bool = False,
        method: str = "auto",
        points: Any = 256,
        max_cells: int = 1000,
        holds: str = "auto",
        unlabeled: Any = None,
    ):
        self.centre = centre
        self.shape = shape
        self.label = label
        self.mu = mu
        self.hard = hard
        self.method = method
        self.points = points
        self.max_cells = max_cells
        self.holds = holds
        self.unlabeled = unlabeled

    def requirements(self, sample: Sample) -> list[Requirement]:
        centre = self._centre(sample)
        A = self._shape(sample.X.shape[1])
        return [Requirement(EllipsoidSet(centre, A), sample.sign(self.label))]

    def check_columns(self, sample: Sample) -> None:
        self._centre(sample)
        super().check_columns(sample)

    def _centre(self, sample: Sample) -> Array:
        centre = self.centre
        if hasattr(centre, "reindex") and sample.feature_names is not None:
            if sorted(map(str, centre.index)) != sorted(map(str, sample.feature_names)):
                raise InvalidInput(
                    f"centre names {', '.join(map(str, centre.index))}, but the columns are "
                    f"{', '.join(map(str, sample.feature_names))}. Give one entry for each column."
                )
            centre = centre.reindex(sample.feature_names)
        d = sample.X.shape[1] if sample.encoding is None else len(sample.encoding.names)
        try:
            entries = np.asarray(centre, None if sample.encoding is not None else float)
        except (TypeError, ValueError, OverflowError) as error:
            raise InvalidInput(f"centre must be {d} numbers, one for each column, got {centre!r}.") from error
        if entries.shape not in ((d,), (sample.X.shape[1],)):
            raise InvalidInput(
                f"centre has shape {entries.shape}, expected ({d},): one entry for each column."
            )
        return check_points("centre", entries[None], sample)[0]

    def _shape(self, d: int) -> Array:
        """Return the matrix A, without redundant columns."""
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
        if A.ndim != 2 or A.shape[0] != d or A.shape[1] == 0:
            raise InvalidInput(f"shape has shape {A.shape}, expected ({d}, k): one row for each column of X.")
        if not np.isfinite(A).all():
            raise InvalidInput("shape contains NaN or infinity. Give finite numbers.")
        check_moderate("shape", A, "Use other units.")
        if A.shape[1] == 1:
            return A
        # Redundant columns would make the cone degenerate.
        U, size, _ = np.linalg.svd(A, full_matrices=False)
        return (U * size)[:, size > 1e-14 * size[0]] if size[0] > 0 else A[:, :1]

    def words(self) -> str:
        return f"the ellipsoid around {self.centre!r} is {self.label!r}"
