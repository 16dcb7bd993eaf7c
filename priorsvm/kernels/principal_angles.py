"""The angles between what two sets of vectors span."""

from __future__ import annotations

from typing import Any

import numpy as np

from priorsvm.errors import InvalidInput
from priorsvm.kernels.base import Definiteness, Kernel
from priorsvm.kernels.set_kernel import Directions, SetKernel, Sets, by_pairs

from .._utils.arrays import Array
from .._utils.checks import is_number


class PrincipalAngles(SetKernel):
    r"""The product over the principal angles between the spans of two sets of vectors.

    .. math:: k = \prod_l \cos^2\theta_l = \frac{\det(K_{AB})^2}{\det(K_{AA}) \det(K_{BB})} ,

    with :math:`K_{AB}` the inner products between the vectors of both sets, or the values of a base kernel:
    the angles are then between subspaces of its feature space. Between 0 and 1; 1 if the spans are equal, 0
    if one has a direction orthogonal to all of the other. Lengths, order and mixtures of the vectors mean
    nothing. Positive definite. The published product of plain cosines is not, and is offered as
    ``squared=False`` for machines that take any kernel (``norm="l1"``).

    Parameters
    ----------
    base : Kernel, optional
        A positive semidefinite kernel between vectors. None is the inner product.
    n_directions : int, optional
        Compare the r principal directions of each set, those of the largest eigenvalues of :math:`K_{AA}`,
        instead of all it spans. By default all, and then all sets need the same size.
    ridge : float, default 1e-8
        Added to :math:`K_{AA}`, in parts of its mean diagonal: keeps sets of (nearly) dependent vectors apart
        from division by zero; their k is then (nearly) 0 with every set.
    squared : bool, default True
        The product of squared cosines. False: of the cosines.

    References
    ----------
    Wolf & Shashua 2003; Lauer & Bloch 2008, eq. (32).

    Examples
    --------
    The plane of x and y, and two planes turned away from it by 60 degrees and by 90:

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
        whole = isinstance(r, (int, np.integer)) and not isinstance(r, bool) and r >= 1
        self._expect(r is None or whole, "n_directions", r, "None or a whole number of at least 1")
        self._expect(is_number(self.ridge) and self.ridge >= 0, "ridge", self.ridge, "a nonnegative number")
        self._expect(isinstance(self.squared, bool), "squared", self.squared, "True or False")

    def _matrix(self, A: Any, B: Any) -> Array:
        P = self._bases(A)[0]
        Q = self._bases(B)[0]
        r = P.weights.shape[2]
        s = Q.weights.shape[2]
        if r != s:
            raise InvalidInput(
                f"PrincipalAngles: sets of {r} vectors are compared with sets of {s}; all need the same "
                f"size. Give n_directions, for instance {min(r, s)}."
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
        """An orthonormal basis of what every set spans, and the lengths that the ridge has left of it."""
        r = self._number(sets)
        K = self._own_products(sets)
        size, turn = np.linalg.eigh(K)
        size = np.maximum(size[:, ::-1][:, :r], 0.0)
        turn = turn[:, :, ::-1][:, :, :r]
        if self.ridge == 0 and (size[:, -1] <= 1e-13 * size[:, 0]).any():
            i = int(np.argmax(size[:, -1] <= 1e-13 * size[:, 0]))
            raise InvalidInput(
                f"PrincipalAngles: the vectors of set {i} span fewer than {r} directions, and ridge=0. Give "
                "a smaller n_directions, or a ridge such as 1e-8."
            )
        ridge = self.ridge * np.trace(K, axis1=1, axis2=2) / sets.sizes
        length = size + ridge[:, None]
        # A set of zeros spans nothing.
        shrink = np.divide(1.0, np.sqrt(length), out=np.zeros_like(length), where=length > 0)
        return Directions(sets.elements, turn * shrink[:, None, :]), size * shrink**2

    def _number(self, sets: Sets) -> int:
        """How many directions of each set are compared."""
        r = self.n_directions
        smallest = int(sets.sizes.min())
        largest = int(sets.sizes.max())
        if r is None and smallest != largest:
            raise InvalidInput(
                f"PrincipalAngles: there are sets of {smallest} and of {largest} vectors; all need the same "
                f"size. Give n_directions, for instance {smallest}."
            )
        found = largest if r is None else r
        if found > smallest:
            raise InvalidInput(
                f"PrincipalAngles: n_directions is {r}, but set {int(np.argmin(sets.sizes))} has {smallest} "
                f"vectors. Give at most {smallest}."
            )
        if self.base is None and found > sets.width:
            raise InvalidInput(
                f"PrincipalAngles: {found} vectors of width {sets.width} are dependent. Give n_directions "
                f"below {sets.width}, or a base kernel such as RBF()."
            )
        return found
