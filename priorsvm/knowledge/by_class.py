"""Blocks for rows of some classes: the parameter ``classes``, and a transform for each class."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .._utils.arrays import Array, stack
from .._utils.cache import equal
from ..errors import InvalidInput
from ..sample import Sample
from ..transforms.base import Transform
from .checks import check_transform


class OfClasses:
    """Part of a block that applies to rows of some classes.

    Attributes
    ----------
    classes : class, list of classes or None, default=None
        Classes whose rows the block applies to, as the user labels them; None means all classes.
    """

    # In the class, because blocks in files of earlier versions do not have the attribute.
    classes: Any = None

    @property
    def chosen_classes(self) -> list[Any] | None:
        """Classes whose rows the block applies to; None means all classes."""
        classes = self.classes
        if classes is None:
            return None
        if isinstance(classes, (set, frozenset)):
            return sorted(classes, key=repr)
        several = isinstance(classes, (list, tuple)) or np.ndim(classes) > 0
        return list(classes) if several else [classes]

    def check_chosen_classes(self, sample: Sample) -> None:
        """Raise InvalidInput unless ``classes`` is a class of the training data, or a list of some classes.

        Parameters
        ----------
        sample : Sample
            Training rows.
        """
        chosen = self.chosen_classes
        if chosen is None:
            return
        if not chosen:
            raise InvalidInput("classes is empty. Name a class, or leave it out for all classes.")
        for label in chosen:
            sample.sign(label)

    def applies_to(self, labels: Array) -> Array:
        """Return whether the block applies to rows of these classes.

        Parameters
        ----------
        labels : array of shape (n,)
            The user's classes.

        Returns
        -------
        array of bool, of shape (n,)
        """
        chosen = self.chosen_classes
        if chosen is None:
            return np.ones(len(labels), bool)
        return np.any([labels == label for label in chosen], axis=0)

    def which_rows(self) -> str:
        """Return " of class ..." for messages and formulas; empty if the block applies to all rows."""
        chosen = self.chosen_classes
        if chosen is None:
            return ""
        names = ", ".join(repr(np.asarray(label).item()) for label in chosen)
        return f" of {'class' if len(chosen) == 1 else 'classes'} {names}"


class Group(NamedTuple):
    """Rows with the same transform.

    Attributes
    ----------
    transform : Transform
        The transform of these rows.
    rows : array of int
        Positions of the rows.
    place : int
        Position of the transform in ``ByClass.transforms``.
    """

    transform: Transform
    rows: Array
    place: int


class ByClass(OfClasses):
    """Part of a block whose transform applies to rows of some classes, or differs between classes.

    Attributes
    ----------
    transform : Transform or dict of class to Transform
        With a dict, rows of a class that is not a key stay as they are.
    """

    transform: Any

    @property
    def by_class(self) -> bool:
        """Whether the block treats rows of different classes differently."""
        return self.classes is not None or isinstance(self.transform, dict)

    @property
    def chosen_classes(self) -> list[Any] | None:
        return list(self.transform) if isinstance(self.transform, dict) else super().chosen_classes

    @property
    def transforms(self) -> list[Transform]:
        """The distinct transforms, in the order of the dict."""
        if not isinstance(self.transform, dict):
            return [] if self.transform is None else [self.transform]
        found: list[Transform] = []
        for transform in self.transform.values():
            if not any(equal(transform, known) for known in found):
                found.append(transform)
        return found

    def check_transforms(self, sample: Sample) -> None:
        """Raise InvalidInput or InvalidType unless ``classes`` and ``transform`` suit the training data.

        Parameters
        ----------
        sample : Sample
            Training rows.
        """
        if isinstance(self.transform, dict):
            if self.classes is not None:
                raise InvalidInput(
                    "transform is a dict of class to transform, and classes is given too. Leave classes "
                    "out: rows of a class that is not in the dict stay as they are."
                )
            if not self.transform:
                raise InvalidInput("transform is an empty dict. Give a transform for at least one class.")
            for label, transform in self.transform.items():
                check_transform(transform, f"transform of class {label!r}")
        else:
            check_transform(self.transform)
        self.check_chosen_classes(sample)

    def check_orbits(self, sample: Sample) -> None:
        """Raise unless every transform has a finite orbit for rows of this width.

        Parameters
        ----------
        sample : Sample
            Training rows.
        """
        self.check_transforms(sample)
        for transform in self.transforms:
            transform.orbit(sample.X_train[:1])

    def transform_of(self, labels: Array) -> Array:
        """Return the position in ``transforms`` of the transform of each row; -1 for a row without one.

        Parameters
        ----------
        labels : array of shape (n,)
            The user's classes.

        Returns
        -------
        array of int, of shape (n,)
        """
        if not isinstance(self.transform, dict):
            return np.where(self.applies_to(labels), 0, -1)
        found = np.full(len(labels), -1)
        for label, transform in self.transform.items():
            place = next(k for k, known in enumerate(self.transforms) if equal(transform, known))
            found[labels == label] = place
        return found

    def groups(self, labels: Array) -> list[Group]:
        """Return the rows of each transform, without transforms that have no rows.

        Parameters
        ----------
        labels : array of shape (n,)
            The user's classes.

        Returns
        -------
        list of Group
        """
        of_row = self.transform_of(labels)
        found = [
            Group(transform, np.flatnonzero(of_row == k), k) for k, transform in enumerate(self.transforms)
        ]
        return [group for group in found if len(group.rows)]

    def parameter_columns(self) -> list[slice]:
        """Return the columns of each transform in the parameters of all transforms.

        Returns
        -------
        list of slice
        """
        ends = np.cumsum([t.n_parameters if t.finite else 0 for t in self.transforms])
        return [slice(int(a), int(b)) for a, b in zip([0, *ends[:-1]], ends, strict=True)]

    def copies(self, labels: Array, X: Array) -> list[tuple[Group, Array]]:
        """Return the transformed copies of the rows of each group, without the rows themselves.

        Parameters
        ----------
        labels : array of shape (n,)
            The user's classes.
        X : array of shape (n, d)
            Rows.

        Returns
        -------
        list of (Group, array of shape (m, s, d))
        """
        return [(group, group.transform.orbit(X[group.rows])[:, 1:]) for group in self.groups(labels)]


def transforms_of(block: Any) -> list[Transform]:
    """Return the transforms of any block; empty for a block without a transform."""
    given = getattr(block, "transform", None)
    found = list(given.values()) if isinstance(given, dict) else [given]
    return [transform for transform in found if isinstance(transform, Transform)]


def in_order(rows: list[Array], parts: list[Any]) -> Any:
    """Return parts of rows, whose positions are ``rows``, as one array in the order of the positions."""
    return stack(*parts)[np.argsort(np.concatenate(rows))]
