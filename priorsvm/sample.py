"""The rows one binary machine is trained on, and where each of them came from."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ._utils.arrays import Array, same, to_width
from ._utils.messages import did_you_mean
from .errors import InvalidInput, InvalidType

if TYPE_CHECKING:
    from .spec import Spec


@dataclass(frozen=True, eq=False)
class Sample:
    r"""Rows of the sum :math:`\sum_i C\,\mathrm{cost}_i\,\xi_i`, training rows first.

    Attributes
    ----------
    X : (n, d) array, in the user's units; a csr_array if the user gave sparse rows.
    y : (n,) array of -1.0 and +1.0.
    cost : (n,) array, the factor on C of each row; a row of cost 0 asks nothing.
    margin : (n,) array, the right-hand side of :math:`y_i f(x_i) \ge \rho_i - \xi_i`.
    source : (n,) array, the training row each row was made from, -1 for none.
    n_train : how many of the rows are training rows.
    labels : (n_train,) array, the classes as the user wrote them.
    classes : all classes; two, or more in a one-vs-rest machine.
    positive : the class that is +1 in this machine.
    feature_names : the columns' names, or None.
    seed : where the random draws of blocks start.
    shares : for each block, the part of ``cost`` it is responsible for; together they are ``cost``.
    machine : the machine they train: its kernel (None if linear), norm, scale; None if not known.
    missing : what a block made of missing values in the training rows, whose ``X`` are these; else None.
    """

    X: Array
    y: Array
    cost: Array
    margin: Array
    source: Array
    n_train: int
    labels: Array
    classes: Array
    positive: Any
    feature_names: Array | None = None
    seed: int = 0
    shares: dict[str, Array] = field(default_factory=dict)
    machine: Spec | None = None
    missing: Any = None

    @classmethod
    def training(
        cls,
        X: Array,
        labels: Array,
        classes: Array,
        positive: Any,
        cost: Array | None = None,
        feature_names: Array | None = None,
        seed: int = 0,
        machine: Spec | None = None,
        missing: Any = None,
    ) -> Sample:
        """The plain training set of the machine that tells ``positive`` from the other classes."""
        n = len(labels)
        cost = np.ones(n) if cost is None else np.asarray(cost, float)
        y = np.where(labels == positive, 1.0, -1.0)
        rows = np.arange(n)
        return cls(
            X,
            y,
            cost,
            np.ones(n),
            rows,
            n,
            labels,
            classes,
            positive,
            feature_names,
            seed,
            {"svm": cost},
            machine,
            missing,
        )

    def __len__(self) -> int:
        return len(self.y)

    @property
    def X_train(self) -> Array:
        """The training rows."""
        return self.X[: self.n_train]

    @property
    def y_train(self) -> Array:
        """The signs of the training rows."""
        return self.y[: self.n_train]

    def weighted_rows(self) -> tuple[Array, Array]:
        """The training rows that have a sample_weight, and the share of each in a mean over them."""
        weight = self.shares["svm"][: self.n_train]
        return self.X_train[weight > 0], weight[weight > 0] / weight.sum()

    def sign(self, label: Any) -> float:
        """+1 if ``label`` is this machine's positive class, else -1; an error if it is no class at all."""
        if np.ndim(label) > 0 or not np.any(self.classes == label):
            classes = self.classes.tolist()
            meant = did_you_mean(label, [c for c in classes if isinstance(c, str)])
            raise InvalidInput(
                f"label {label!r} is not among the classes of the training data: "
                f"{', '.join(map(repr, classes))}.{meant}"
            )
        return 1.0 if label == self.positive else -1.0

    def column(self, key: Any) -> int:
        """The position of a column given by name or by index."""
        d = self.X.shape[1]
        if isinstance(key, str):
            names = [] if self.feature_names is None else self.feature_names.tolist()
            if key in names:
                return int(names.index(key))
            known = f"The columns are: {', '.join(names)}." if names else "Fit on a DataFrame to use names."
            raise InvalidInput(f"there is no column {key!r}.{did_you_mean(key, names)} {known}")
        if isinstance(key, (int, np.integer)) and not isinstance(key, bool) and 0 <= key < d:
            return int(key)
        raise InvalidInput(f"there is no column {key!r}: give a name, or an index from 0 to {d - 1}.")

    def with_factor(self, factor: Array) -> Sample:
        """Multiply the cost of every training row by ``factor``."""
        cost = self.cost.copy()
        cost[: self.n_train] *= factor
        return replace(self, cost=cost)

    def with_margin(self, margin: Array) -> Sample:
        """Replace the margin asked of every training row."""
        return replace(self, margin=np.concatenate([margin, self.margin[self.n_train :]]))

    def with_training(self, X: Array) -> Sample:
        """Replace the training rows by others that stand for them."""
        return replace(self, X=np.vstack([X, self.X[self.n_train :]]))

    def with_rows(
        self, X: Array, y: Array, cost: Array, margin: Array, source: Array | None = None
    ) -> Sample:
        """Append rows that are no training rows."""
        source = np.full(len(X), -1) if source is None else source
        return replace(
            self,
            X=np.vstack([to_width(self.X, X.shape[1]), X]),  # sets may be larger than those trained on
            y=np.concatenate([self.y, y]),
            cost=np.concatenate([self.cost, cost]),
            margin=np.concatenate([self.margin, margin]),
            source=np.concatenate([self.source, source]),
        )

    def changed_by(self, name: str, after: Sample, weight: float) -> Sample:
        r"""What block ``name`` made of these rows, taken ``weight`` times.

        Its :math:`J_{PK}` is the change of :math:`\sum_i C\,\mathrm{cost}_i\,\xi_i`, so that 0 is absent
        and 1 is the block as it stands.
        """
        if not isinstance(after, Sample):
            raise InvalidType(f"block '{name}': prepare must return a Sample, got {type(after).__name__}.")
        if after is self or weight == 0:
            return self
        n = len(self)
        if weight != 1 and not np.array_equal(after.margin[:n], self.margin):
            raise InvalidInput(
                f"block '{name}' changes margins, which no outer weight can scale: "
                f"weight {weight:g} has no meaning. Remove the weight and scale its costs instead."
            )
        for what, values in (("cost", after.cost), ("margin", after.margin)):
            if not np.isfinite(values).all() or (what == "cost" and (values < 0).any()):
                bad = values[~np.isfinite(values) | (values < 0)][0]
                raise InvalidInput(
                    f"block '{name}' makes a {what} of {bad}: it must be a nonnegative number."
                )
        before = np.concatenate([self.cost, np.zeros(len(after) - n)])
        cost = before + weight * (after.cost - before)
        if np.any((cost < -1e-12) & (after.cost > 0)):
            raise InvalidInput(
                f"block '{name}' lowers costs, and its weight {weight:g} would make some of them negative. "
                "Use a weight of at most 1, or smaller costs."
            )
        cost = np.maximum(cost, 0.0)  # a row that is dropped cannot be dropped more than once
        share = cost - before
        padded = {k: np.concatenate([v, np.zeros(len(after) - n)]) for k, v in self.shares.items()}
        return replace(after, cost=cost, shares={**padded, name: share})

    def same_rows(self, other: Sample) -> bool:
        """Whether both ask the same of the same points, up to positive costs."""
        return (
            len(self) == len(other)
            and np.array_equal(self.y, other.y)
            and np.array_equal(self.margin, other.margin)
            and np.array_equal(self.cost > 0, other.cost > 0)
            and same(self.X, other.X)
        )
