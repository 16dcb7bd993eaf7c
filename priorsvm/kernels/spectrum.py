"""Kernels that are not positive definite, and their correction on the training rows."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils import gen_batches

from .._utils.arrays import Array, as_keys, distinct_rows
from ..errors import InvalidInput
from ..function.memory import refuse_beyond_memory
from .base import Definiteness, Kernel, diagonal

# "clip" drops eigenvalues below this share of the largest: dividing by them would only amplify rounding
# errors.
NOISE = 1e-10

# "shift" exceeds the smallest eigenvalue slightly. Otherwise K + s I is singular: many coefficients give one
# f on the training rows, and different functions elsewhere.
SHIFT_FACTOR = 1.001


class Spectral(Kernel):
    r"""Base class of kernels that are not positive definite, with the correction ``psd``.

    Let :math:`k_s(x, z) = \tfrac12 (k(x, z) + k(z, x))`, and let :math:`K = U \Lambda U^\top` be its matrix
    on the training rows R.

    ============  ==============================================================================  ==========
    ``psd``       the kernel after :meth:`resolved`                                               psd
    ============  ==============================================================================  ==========
    ``None``      :math:`k(x, z)`                                                                 unknown
    ``"clip"``    :math:`k_s(x, R)\, U_+ \Lambda_+^{-1} U_+^\top k_s(R, z)`, the positive part    everywhere
                  of the spectrum
    ``"shift"``   :math:`k_s(x, z) + e\,[x = z]` with :math:`e = 1.001 \max(-\lambda_{\min}, 0)`  on R
    ============  ==============================================================================  ==========

    On the training rows "clip" is K without its negative eigenvalues. The same linear map is applied to new
    rows. With "shift" it is K + e I, which amounts to a squared slack in addition to the hinge loss. A new
    row that equals no training row is not shifted.

    A subclass defines ``_raw(A, B)``, in place of ``_matrix`` of :class:`Kernel`, has the parameter ``psd``
    and the property ``symmetric``. Optional hooks are ``_raw_diag(A)`` and ``_known(X, weight)``, a copy
    whose own parameters are numbers.

    See Also
    --------
    Jitter : Kernel at the best transformation of one row.
    TangentDistance : Kernel of the distance between linearised orbits.
    TangentVector : Gaussian kernel that extends along tangents.

    Examples
    --------
    >>> import numpy as np
    >>> class Alike(Spectral):
    ...     symmetric = True
    ...     def __init__(self, psd=None):
    ...         self.psd = psd
    ...     def _raw(self, A, B):
    ...         return (np.abs(A - B.T) <= 1) * 1.0
    >>> X = [[0.0], [1.0], [2.0]]
    >>> np.linalg.eigvalsh(Alike()(X)).round(3)
    array([-0.414,  1.   ,  2.414])
    >>> np.linalg.eigvalsh(Alike("clip").resolved(X)(X)).round(3) + 0.0
    array([0.   , 1.   , 2.414])
    >>> np.linalg.eigvalsh(Alike("shift").resolved(X)(X)).round(3) + 0.0
    array([0.   , 1.415, 2.829])
    """

    psd: str | None

    @property
    def symmetric(self) -> bool:
        """Whether :math:`k(x, z) = k(z, x)` without any correction."""
        return False

    @property
    def definiteness(self) -> Definiteness:
        if self.psd is None:
            return "indefinite"
        return "psd" if self.psd == "clip" else "unknown"

    def resolved(self, X: ArrayLike, weight: Array | None = None) -> Kernel:
        self._check()
        known = self._known(X, weight)
        rows = self._rows(X, "X")
        if self.psd is None or len(rows) == 0:
            return known
        # A row that occurs twice counts once, so that weights and copies are equivalent.
        rows = distinct_rows(rows if weight is None else rows[weight > 0])[0]
        n = len(rows)
        remedy = "Give fewer rows, or use psd=None with norm='l1'."
        refuse_beyond_memory(n, n, f"the matrix whose spectrum psd={self.psd!r} requires", remedy)
        return (Clipped if self.psd == "clip" else Shifted)(known.double, rows)

    def _known(self, X: ArrayLike, weight: Array | None) -> Self:
        """Return a copy with numbers for words such as ``gamma="scale"``."""
        return clone(self)

    def _check(self) -> None:
        self._expect(self.psd in (None, "clip", "shift"), "psd", self.psd, "None, 'clip' or 'shift'")

    def _matrix(self, A: Array, B: Array) -> Array:
        self._require_rows()
        return self._raw(A, B)

    def _diag(self, A: Array) -> Array:
        self._require_rows()
        return self._raw_diag(A)

    def _raw(self, A: Array, B: Array) -> Array:
        raise NotImplementedError(f"{type(self).__name__} has to define _raw(A, B).")

    def _raw_diag(self, A: Array) -> Array:
        return diagonal(self._raw, A)

    def _either_order(self, A: Array, B: Array) -> Array:
        """Return :math:`k_s`, the mean over both orders of the arguments."""
        forward = self._raw(A, B)
        if self.symmetric:
            return forward
        backward = forward if B is A else self._raw(B, A)
        return (forward + backward.T) / 2

    def _towards(self, B: Array) -> Callable[[Array], Array]:
        self._require_rows()
        return self._raw_towards(B)

    def _raw_towards(self, B: Array) -> Callable[[Array], Array]:
        """Return the function of A that gives ``_raw(A, B)``."""
        return lambda A: self._raw(A, B)

    def _either_order_towards(self, B: Array) -> Callable[[Array], Array]:
        """Return the function of A that gives ``_either_order(A, B)``."""
        return lambda A: self._either_order(A, B)

    def _require_rows(self) -> None:
        if self.psd is not None:
            raise InvalidInput(
                f"{type(self).__name__}: psd={self.psd!r} depends on the training rows; use the kernel that "
                "resolved(X) returns, or psd=None."
            )


class _Corrected(Kernel):
    """Base class of a kernel with its training rows, whose spectrum is computed on first use."""

    whole: bool = True

    def __init__(self, kernel: Spectral, rows: Array) -> None:
        self.kernel = kernel
        self.rows = rows

    def __repr__(self) -> str:
        return repr(self.kernel)

    @property
    def plain(self) -> Kernel:
        plain = self.kernel.plain
        return self if plain is self.kernel else plain

    def set_params(self, **params: Any) -> Self:
        self.__dict__.pop("_learnt", None)
        return super().set_params(**params)

    @cached_property
    def _learnt(self) -> Any:
        raise NotImplementedError

    def _check(self) -> None:
        self.kernel._check()

    def _rows(self, X: ArrayLike, name: str) -> Array:
        return self.kernel._rows(X, name)


class Clipped(_Corrected):
    """A :class:`Spectral` kernel with ``psd="clip"`` and its training rows."""

    definiteness: Definiteness = "psd"

    @cached_property
    def _learnt(self) -> Array:
        r"""The matrix :math:`U_+ \Lambda_+^{-1/2}`."""
        spectrum, U = np.linalg.eigh(self.kernel._either_order(self.rows, self.rows))
        kept = spectrum > NOISE * np.abs(spectrum).max()
        return U[:, kept] / np.sqrt(spectrum[kept])

    def _features(self, A: Array) -> Array:
        return self.kernel._either_order(A, self.rows) @ self._learnt

    def _matrix(self, A: Array, B: Array) -> Array:
        features = self._features(A)
        return features @ (features if B is A else self._features(B)).T

    def _towards(self, B: Array) -> Callable[[Array], Array]:
        to_rows = self.kernel._either_order_towards(self.rows)
        of_b = self._features(B).T
        return lambda A: to_rows(A) @ self._learnt @ of_b

    def _diag(self, A: Array) -> Array:
        return np.concatenate(
            [(self._features(A[rows]) ** 2).sum(axis=1) for rows in gen_batches(len(A), 512)]
        )


class Shifted(_Corrected):
    """A :class:`Spectral` kernel with ``psd="shift"`` and its training rows."""

    @cached_property
    def _learnt(self) -> float:
        """The shift s."""
        lowest = float(np.linalg.eigvalsh(self.kernel._either_order(self.rows, self.rows))[0])
        return SHIFT_FACTOR * max(-lowest, 0.0)

    def _matrix(self, A: Array, B: Array) -> Array:
        K = self.kernel._either_order(A, B).copy()
        columns: dict[bytes, list[int]] = {}
        for j, key in enumerate(as_keys(B)):
            columns.setdefault(key, []).append(j)
        for i, key in enumerate(as_keys(A)):
            K[i, columns.get(key, [])] += self._learnt
        return K

    def _diag(self, A: Array) -> Array:
        return self.kernel._raw_diag(A) + self._learnt
