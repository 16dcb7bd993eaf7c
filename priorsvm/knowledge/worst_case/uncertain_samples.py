r"""Training rows with known measurement errors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from ..._utils.arrays import Array
from ..._utils.checks import check_moderate
from ...errors import InvalidInput
from ...sample import Sample
from ..base import called
from ..by_class import OfClasses
from .ellipsoidal import EllipsoidalKnowledge
from .spread import NotPSD, Spread, correlations


class UncertainSamples(OfClasses, EllipsoidalKnowledge):
    r"""Margin of each training row for all values within its measurement error.

    .. math:: y_i f(x_i) - \tau \|A_i^\top w\| \ge \rho_i - \xi_i, \qquad
              \tau = F^{-1}(\kappa) \;\text{ or }\; \sqrt{\kappa / (1 - \kappa)} .

    Row i has the mean :math:`x_i` and the covariance :math:`\Sigma_i = A_i A_i^\top`. The margin holds with
    probability :math:`\kappa` (``confidence``): :math:`P[y_i f(x) \ge \rho_i - \xi_i] \ge \kappa`. The first
    :math:`\tau` is for a Gaussian, with the distribution function F of the standard Gaussian. The second is
    for any distribution with these moments. Equivalently, the margin holds at every x with
    :math:`(x - x_i)^\top \Sigma_i^{-1} (x - x_i) \le \tau^2`. Use it if the size of the measurement errors is
    known.

    For linear models it is exact, with one second-order cone per distinct covariance. For kernel models w is
    the gradient of f at :math:`x_i`, which is accurate to first order in the size of the ellipsoid. With
    ``guarantee=True`` the margin holds on the whole ellipsoid for kernel models too. The bound for RBF is
    :math:`|f(x) - f(x_i)| \le \|g\| \sqrt{2 - 2 e^{-\gamma r^2}}`, with the longest half-axis r.

    Parameters
    ----------
    covariance : float, dict, array or callable, default=None
        Size of the errors in the units of X. A float is the standard deviation of all columns; a dict maps
        columns to standard deviations, and missing columns are exact. An array of shape (d,) contains
        standard deviations, of shape (d, d) a covariance matrix. Shapes (n, d) and (n, d, d) give them per
        row. Pass these arrays to ``fit`` as ``<block>__covariance`` if cross-validation must split them. A
        callable maps (X, y) to any of these. A row of zeros is certain.
    confidence : float, default=0.9
        Probability :math:`\kappa` of the margin, at least 0.5 and below 1.
    distribution : {"gaussian", "any"}, default="gaussian"
        Distribution of the errors: Gaussian, or any distribution with the given covariance.
    guarantee : bool, default=False
        For kernel models: a bound that always holds, instead of the first-order approximation.
    factor : array, callable or None, default=None
        Factors A instead of ``covariance``, of shape (d, k), or (n, d, k) per row.
    classes : class, list of classes or None, default=None
        Classes whose rows are uncertain; None means all classes. Rows of other classes are certain.

    See Also
    --------
    MissingValues : rows with missing entries.
    Trajectories : margins along curves of transformed rows.

    Notes
    -----
    If few columns have errors, a linear model may set the weight of its best column to 0. ``fit`` compares
    with the model without blocks and issues ``ZeroedColumns``. A lower ``confidence``, such as 0.7, keeps the
    weight more often. If all columns have errors, 0.9 has the better AUC.

    References
    ----------
    Bhattacharyya, Pannagadatta & Smola 2005; Shivaswamy, Bhattacharyya & Smola 2006. The kernel forms are
    additions.

    Examples
    --------
    >>> from priorsvm import PriorSVC, UncertainSamples
    >>> X, y = [[0.0, 0.0], [2.0, 1.0], [0.0, 1.0], [2.0, 0.0]], [0, 1, 0, 1]
    >>> model = PriorSVC(UncertainSamples([0.1, 2.0]), C=10).fit(X, y)  # the second column is inaccurate
    >>> (model.coef_.round(2) + 0.0).tolist()
    [[1.15, 0.0]]
    >>> model.verify().holds
    True
    """

    row_params: ClassVar[tuple[str, ...]] = ("covariance", "factor")

    def __init__(
        self,
        covariance: Any = None,
        confidence: float = 0.9,
        distribution: str = "gaussian",
        guarantee: bool = False,
        factor: Any = None,
        classes: Any = None,
    ):
        self.covariance = covariance
        self.confidence = confidence
        self.distribution = distribution
        self.guarantee = guarantee
        self.factor = factor
        self.classes = classes

    def validate(self, sample: Sample) -> None:
        super().validate(sample)
        self.check_chosen_classes(sample)
        if self.covariance is not None and self.factor is not None:
            raise InvalidInput(
                "exactly one of covariance and factor is required, and both are given. Leave one of them out."
            )
        if self.covariance is None and self.factor is None:
            raise InvalidInput(
                "exactly one of covariance and factor is required. Give it to the constructor, or to fit as "
                "<block>__covariance."
            )
        self._given(sample)

    def start(self, sample: Sample) -> Spread:
        array, for_all = self._given(sample)
        if for_all:
            distinct = array[None]
            owner = np.zeros(sample.n_train, int)
        else:
            distinct, owner = _distinct(array)
        owner = np.where(self.applies_to(sample.labels), owner, -1)
        if self.factor is not None:
            return Spread.of_factors(distinct, owner)
        if distinct.ndim == 2:
            return Spread.of_deviations(distinct, owner)
        try:
            return Spread.of_covariances(distinct, owner)
        except NotPSD as error:
            which = "" if for_all else f" of row {int(np.flatnonzero(owner == error.args[0])[0])}"
            raise InvalidInput(f"covariance{which} is not positive semidefinite.") from None

    def _given(self, sample: Sample) -> tuple[Array, bool]:
        """Return covariance or factor as an array, and whether it applies to all rows."""
        n = sample.n_train
        d = sample.X.shape[1]
        name = "covariance" if self.factor is None else "factor"
        value = getattr(self, name)
        if callable(value):
            value = called(value, sample, name)
        if name == "covariance":
            value = _by_name(value, name, sample.feature_names)
        if isinstance(value, Mapping):
            columns = {sample.column(key): deviation for key, deviation in value.items()}
            value = [columns.get(j, 0.0) for j in range(d)]
        array = _finite_array(name, value)
        if name == "factor":
            if array.shape[:-1] not in ((d,), (n, d)) or array.shape[-1] == 0:
                raise InvalidInput(
                    f"factor has shape {array.shape}, expected ({d}, k), or ({n}, {d}, k) for each row."
                )
            return array, array.ndim == 2
        if array.ndim == 0:
            array = np.full(d, float(array))
        for_all = array.shape in ((d,), (d, d))
        if not for_all and array.shape not in ((n, d), (n, d, d)):
            raise InvalidInput(
                f"covariance has shape {array.shape}, expected standard deviations of shape ({d},) or "
                f"({n}, {d}), or covariances of shape ({d}, {d}) or ({n}, {d}, {d}): {d} columns, {n} rows. "
                "Under cross-validation pass arrays per row to fit as <block>__covariance, which splits them."
            )
        if array.shape == (n, d) == (d, d):
            raise InvalidInput(
                f"covariance of shape {array.shape} is ambiguous with {n} rows and {d} columns: a covariance "
                "matrix or standard deviations per row. Give (n, d, d) covariances, or a factor."
            )
        if array.ndim == 1 or array.shape == (n, d):
            _check_deviations(array)
        else:
            _check_covariances(array.reshape(-1, d, d))
        return array, for_all

    def spread(self, state: Any) -> Spread:
        return state

    def order_obstacle(self, sample: Sample, swaps: Array) -> str | None:
        spread = self.start(sample)
        if self.radius == 0 or all(spread.is_invariant(order) for order in swaps):
            return None
        return (
            "its covariances differ between the rows of a matrix, so the order with the largest margin in "
            "the worst case is not a linear assignment"
        )

    def words(self) -> str:
        return f"each row{self.which_rows()} keeps its margin with confidence {self.confidence:g}"


def _finite_array(name: str, value: Any) -> Array:
    """Return a parameter as an array; raise InvalidInput unless it consists of finite numbers."""
    try:
        array = np.asarray(value, float)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidInput(f"{name} must be numbers, got {value!r}.") from error
    if isinstance(value, (bool, np.bool_)):
        raise InvalidInput(f"{name} must be numbers, got {value!r}.")
    if not np.isfinite(array).all():
        at = ", ".join(map(str, np.argwhere(~np.isfinite(array))[0]))
        where = f", first at [{at}]" if at else ""
        raise InvalidInput(
            f"{name} contains NaN or infinity{where}. Use MissingValues for missing entries, "
            "and set their errors to 0."
        )
    check_moderate(name, array, "Use other units.")
    return array


def _check_deviations(deviations: Array) -> None:
    if (deviations < 0).any():
        raise InvalidInput(
            f"covariance has a standard deviation of {deviations.min():g}. It must not be negative."
        )


def _check_covariances(S: Array) -> None:
    """Raise InvalidInput if a matrix is not symmetric, or has a variance that is impossible."""
    R = correlations(S)[1]
    variance = np.einsum("nii->ni", S)
    if (variance < 0).any() or (S[variance == 0] != 0).any():
        raise InvalidInput(
            "covariance is not positive semidefinite: a variance is negative, or is zero while its "
            "covariances are not."
        )
    if np.abs(R - R.swapaxes(1, 2)).max() > 1e-8:
        raise InvalidInput("covariance is not symmetric. If it is a factor A of S = A A', give it as factor.")


def _by_name(value: Any, what: str, names: Array | None) -> Any:
    """Return a pandas Series or DataFrame with the columns of the training data, and 0 for those left out."""
    named = [axis for axis in ("columns", "index") if hasattr(value, "reindex") and hasattr(value, axis)]
    if names is None or not named:
        return value
    known = list(names)
    axis = named[0]
    given = [str(label) for label in getattr(value, axis)]
    unknown = [label for label in given if label not in known]
    if unknown or len(set(given)) < len(given):
        raise InvalidInput(
            f"{what} has the columns {', '.join(given)}, but X has {', '.join(known)}. Use equal names, or "
            "plain numbers (.to_numpy()). Columns left out have the error 0. Leave out columns of text."
        )
    square = axis == "columns" and sorted(map(str, value.index)) == sorted(given)
    value = value.reindex(**{axis: known}, fill_value=0.0)
    return value.reindex(index=known, fill_value=0.0) if square else value


def _distinct(array: Array) -> tuple[Array, Array]:
    """Return the distinct entries in order of appearance, and the index of each entry among them."""
    places: dict[bytes, int] = {}
    owner = np.array(
        [places.setdefault(entry.tobytes(), len(places)) for entry in np.ascontiguousarray(array + 0.0)], int
    )
    first = np.unique(owner, return_index=True)[1]
    return array[first], owner
