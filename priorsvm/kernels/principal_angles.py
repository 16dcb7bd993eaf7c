"""Principal angles between the spans of two sets of vectors."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._utils.arrays import Array
from .._utils.checks import is_number, is_whole
from ..errors import InvalidInput
from .base import Definiteness, Kernel
from .set_kernel import Directions, SetKernel, Sets, by_pairs


class PrincipalAngles(SetKernel):
    r"""Product of squared cosines of the principal angles between the spans of two sets of vectors.

    .. math:: k = \prod_l \cos^2\theta_l = \frac{\det(K_{AB})^2}{\det(K_{AA}) \det(K_{BB})} ,

    with the inner products :math:`K_{AB}` between the vectors of both sets. With a base kernel :math:`K_{AB}`
    contains its values, and the angles are between subspaces of its feature space.

    k is 1 if the spans are equal, and 0 if one span has a direction orthogonal to the other. Replacing the
    vectors of a set by other vectors with the same span does not change k.

    k is positive definite. The product of cosines without squares is not positive definite. It is available
    as ``squared=False`` for models that accept any kernel (``norm="l1"``).

    Parameters
    ----------
    base : Kernel or None, default=None
        Positive semidefinite kernel between vectors; None means the inner product.
    n_directions : int or None, default=None
        Number r of directions of each set to compare: the eigenvectors of the r largest eigenvalues of
        :math:`K_{AA}`. None compares the whole spans, and requires sets of equal size.
    ridge : float, default=1e-8
        Number added to the diagonal of :math:`K_{AA}`, as a share of its mean diagonal. It prevents division
        by zero for sets of (nearly) dependent vectors, whose k is then (nearly) 0.
    squared : bool, default=True
        Whether the cosines are squared.

    See Also
    --------
    Bhattacharyya : Overlap of the Gaussians of two sets.
    SetKernel : Base class of kernels between sets of vectors.

    References
    ----------
    Wolf & Shashua 2003, "Learning over sets using kernel principal angles", JMLR 4;
    Lauer & Bloch 2008, eq. (32).

    Examples
    --------
    The plane of x and y, compared with itself and with two planes at angles of 60 and 90 degrees:

    >>> from priorsvm import PrincipalAngles
    >>> planes = [[[1, 0, 0], [0, 1, 0]], [[2, 0, 0], [0, 1, 3**0.5]], [[1, 0, 0], [0, 0, 5]]]
    >>> PrincipalAngles()(planes)[0].round(4)
    array([1.  , 0.25, 0.  ])
    """

    def __init__(
        self,
        base: Kernel | None = None,
        n_directions: int | None = None,
        ridge: float = 1e-8,
        squared: bool = True,
    ) -> None:
        self.base = base
        self.n_directions = n_directions
        self.ridge = ridge
        self.squared = squared

    @property
    def definiteness(self) -> Definiteness:
        if not self.squared:
            return "indefinite"
        return "psd" if self.base is None else self.base.definiteness

    def _check(self) -> None:
        super()._check()
        r = self.n_directions
        valid = r is None or (is_whole(r) and r >= 1)
        self._expect(valid, "n_directions", r, "None or a whole number of at least 1")
        self._expect(is_number(self.ridge) and self.ridge >= 0, "ridge", self.ridge, "a nonnegative number")
        self._expect(isinstance(self.squared, bool), "squared", self.squared, "True or False")

    def _matrix(self, A: Any, B: Any) -> Array:
        P = self._bases(A)[0]
        Q = self._bases(B)[0]
        r = P.weights.shape[2]
        s = Q.weights.shape[2]
        if r != s:
            raise InvalidInput(
                f"PrincipalAngles: sets of {r} vectors are compared with sets of {s}; all sets must have "
                f"equal size. Give n_directions, for instance {min(r, s)}."
            )

        def block(a: slice, b: slice) -> Array:
            cosines = np.abs(np.linalg.det(P[a].products(Q[b], self.base)))
            return cosines**2 if self.squared else cosines

        across = 0 if self.base is None else A.elements.shape[1] * B.elements.shape[1]
        return by_pairs(block, len(A), len(B), 8 * (across + 3 * r * r), symmetric=A is B)

    def _diag(self, A: Any) -> Array:
        cosines = self._bases(A)[1].prod(axis=1)
        return cosines**2 if self.squared else cosines

    def _bases(self, sets: Sets) -> tuple[Directions, Array]:
        """Return a basis of the span of every set, and its squared lengths: 1, or less with a ridge."""
        r = self._number(sets)
        K = self._own_products(sets)
        eigenvalues, eigenvectors = np.linalg.eigh(K)
        eigenvalues = np.maximum(eigenvalues[:, ::-1][:, :r], 0.0)
        eigenvectors = eigenvectors[:, :, ::-1][:, :, :r]
        if self.ridge == 0 and (eigenvalues[:, -1] <= 1e-13 * eigenvalues[:, 0]).any():
            i = int(np.argmax(eigenvalues[:, -1] <= 1e-13 * eigenvalues[:, 0]))
            raise InvalidInput(
                f"PrincipalAngles: the vectors of set {i} span fewer than {r} directions, and ridge=0. Give "
                "a smaller n_directions, or a ridge such as 1e-8."
            )
        ridge = self.ridge * np.trace(K, axis1=1, axis2=2) / sets.sizes
        length = eigenvalues + ridge[:, None]
        # A set of zero vectors has no direction.
        shrink = np.divide(1.0, np.sqrt(length), out=np.zeros_like(length), where=length > 0)
        return Directions(sets.elements, eigenvectors * shrink[:, None, :]), eigenvalues * shrink**2

    def _number(self, sets: Sets) -> int:
        """Return the number of directions of each set to compare."""
        r = self.n_directions
        smallest = int(sets.sizes.min())
        largest = int(sets.sizes.max())
        if r is None and smallest != largest:
            raise InvalidInput(
                f"PrincipalAngles: there are sets of {smallest} and of {largest} vectors; all sets must have "
                f"equal size. Give n_directions, for instance {smallest}."
            )
        number = largest if r is None else r
        if number > smallest:
            raise InvalidInput(
                f"PrincipalAngles: n_directions is {r}, but set {int(np.argmin(sets.sizes))} has {smallest} "
                f"vectors. Give at most {smallest}."
            )
        if self.base is None and number > sets.width:
            raise InvalidInput(
                f"PrincipalAngles: {number} vectors of width {sets.width} are dependent. Give n_directions "
                f"below {sets.width}, or a base kernel such as RBF()."
            )
        return number
