"""Sums of blocks such as ``a + 0.5 * b``: blocks with names and weights, as one flat list."""

from __future__ import annotations

import copy
import itertools
import re
from collections.abc import Iterable, Iterator
from numbers import Real
from typing import Any, ClassVar, NamedTuple, TypeVar

from sklearn.base import BaseEstimator, clone

from ._utils.checks import described, is_number
from ._utils.messages import did_you_mean
from .errors import InvalidInput, InvalidType, NameClash
from .knowledge.traits import OnRowSlack

_NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*\Z")

# Names of the model's own terms and of the parameters of a Prior.
_RESERVED = frozenset({"svm", "blocks", "weights"})

# A longer sum is printed on several lines, aligned inside `PriorSVC(...)`.
WIDTH = 70
INDENT = " " * len("PriorSVC(prior=(")

Block = TypeVar("Block", bound="Summand")


class Member(NamedTuple):
    """Block of a sum, a Knowledge, with its name and its outer weight."""

    name: str
    block: Any
    weight: float

    @property
    def live(self) -> bool:
        """Whether the block is part of the model: a block of weight 0 is not."""
        return self.weight > 0


def live(members: Iterable[Member]) -> list[Member]:
    """Return the members that are part of the model."""
    return [member for member in members if member.live]


class Summand(BaseEstimator):
    """Base of blocks: the operators ``+`` and ``*``, and names.

    :class:`priorsvm.Knowledge` derives from it. A sum needs no more of a block than this class has, so this
    module does not import blocks.
    """

    # NumPy scalars would otherwise treat `np.float64(2) * block` as an array operation.
    __array_ufunc__: ClassVar[None] = None

    prepares: ClassVar[str | None]

    def named(self, name: str) -> Prior:
        """Return a copy of this block under another name, as a sum of one block.

        Parameters
        ----------
        name : str
            Lower-case letters, digits and single underscores, beginning with a letter.

        Returns
        -------
        Prior
            The sum.
        """
        check_name(name)
        return Prior([(name, copied(self))])

    def _as_prior(self) -> Prior:
        return Prior([(snake_case(type(self).__name__), self)])

    def __add__(self, other: Any) -> Prior:
        return self._as_prior() + other

    def __radd__(self, other: Any) -> Prior:
        return other + self._as_prior()

    def __mul__(self, weight: float) -> Prior:
        return self._as_prior() * weight

    __rmul__ = __mul__


class Prior:
    r"""Sum of blocks: the penalties :math:`\sum_k w_k J_{PK,k}` and the constraints :math:`c_{PK,k}`.

    Usually written with operators, ``ClassCosts("balanced") + 0.5 * VirtualSamples(shift)``. A grid search
    uses the names ``<name>__<parameter>`` for parameters and ``<name>__weight`` for weights.

    Parameters
    ----------
    blocks : list of (str, Knowledge)
        Pairs of a name and a block. Names match ``[a-z][a-z0-9_]*`` without ``__``. In a sum, the default
        name is the class name in snake_case, then ``_2``, ``_3`` from left to right.
        ``block.named("tumour")`` sets another name.
    weights : dict of str to float or None, default=None
        Outer weight of each block, by name. The default weight is 1.

    See Also
    --------
    PriorSVC : The model that is fitted with a sum of blocks.
    Knowledge : Base of all blocks.

    Examples
    --------
    >>> from priorsvm import ClassCosts, OddnessHint
    >>> prior = ClassCosts({0: 1, 1: 5}) + 0.5 * OddnessHint().named("odd")
    >>> prior.names
    ['class_costs', 'odd']
    >>> prior.get_params()["odd__weight"]
    0.5
    """

    # Not a BaseEstimator: scikit-learn would print `Prior(blocks=[...])` on one line instead of the sum.

    # NumPy scalars would otherwise treat `np.float64(2) * prior` as an array operation.
    __array_ufunc__ = None

    def __init__(self, blocks: list[tuple[str, Any]], weights: dict[str, float] | None = None):
        self.blocks = blocks
        self.weights = weights

    @property
    def names(self) -> list[str]:
        """Names of the blocks, in order."""
        return [name for name, _ in self.blocks]

    def __iter__(self) -> Iterator[Member]:
        for name, block in self.blocks:
            yield Member(name, block, (self.weights or {}).get(name, 1.0))

    def __len__(self) -> int:
        return len(self.blocks)

    def __getitem__(self, name: str) -> Any:
        for known, block in self.blocks:
            if known == name:
                return block
        raise KeyError(f"there is no block {name!r}; the blocks are {self.names}")

    def validate(self) -> Prior:
        """Raise an error if a name, a block or a weight is invalid; return the sum.

        Returns
        -------
        Prior
            This object.

        Raises
        ------
        InvalidInput, InvalidType, NameClash
            The message names the block and the value.
        """
        if not isinstance(self.blocks, (list, tuple)):
            raise InvalidType(
                f"Prior(blocks) takes a list of (name, block), got {type(self.blocks).__name__}."
            )
        seen: set[str] = set()
        for item in self.blocks:
            if not (isinstance(item, tuple) and len(item) == 2 and isinstance(item[0], str)):
                raise InvalidType(f"Prior(blocks) takes (name, block) pairs, got {item!r}.")
            name, block = item
            check_name(name)
            if name in seen:
                raise NameClash(f"two blocks are called '{name}'. Rename one with block.named('...').")
            if not isinstance(block, Summand):
                raise InvalidType(f"block '{name}' must be a Knowledge block, got {described(block)}.")
            if "weight" in vars(block):
                raise InvalidInput(
                    f"block '{name}' has a parameter called 'weight', which is the name of the outer weight. "
                    "Rename the parameter."
                )
            seen.add(name)
        self._check_weights(seen)
        return self

    def _check_weights(self, names: set[str]) -> None:
        if self.weights is not None and not isinstance(self.weights, dict):
            raise InvalidType(f"Prior(weights) takes a dict of name to weight, got {self.weights!r}.")
        for name, weight in (self.weights or {}).items():
            if name not in names:
                raise InvalidInput(f"weights name '{name}', but the blocks are {sorted(names)}.")
            if not is_number(weight) or not 0 <= weight < float("inf"):
                raise InvalidInput(f"weight of block '{name}' must be a nonnegative number, got {weight!r}.")
            if weight not in (0, 1) and self[name].prepares == "moves":
                raise InvalidInput(
                    f"block '{name}' replaces training rows, which an outer weight cannot scale. "
                    "Remove the weight; weight 0 disables the block."
                )
            if weight not in (0, 1) and isinstance(self[name], OnRowSlack):
                raise InvalidInput(
                    f"block '{name}' uses the slack of the training rows, which an outer weight cannot "
                    "scale. Remove the weight and change C or the costs of the rows; weight 0 disables the "
                    "block."
                )

    def __add__(self, other: Any) -> Prior:
        other = _to_prior(other)
        if other is NotImplemented:
            return NotImplemented
        blocks = list(self.blocks)
        weights = dict(self.weights or {})
        taken = {name for name, _ in blocks}
        for name, block, weight in other:
            if name in taken:
                if not _is_default(name, block):
                    raise NameClash(f"two blocks are called '{name}'. Rename one with block.named('...').")
                name = _default(block, taken | set(other.names))
            taken.add(name)
            blocks.append((name, block))
            if weight != 1:
                weights[name] = weight
        return Prior([(name, copied(block)) for name, block in blocks], weights or None)

    def __radd__(self, other: Any) -> Prior:
        if is_number(other) and other == 0:  # sum([...]) begins with 0
            return self * 1
        other = _to_prior(other)
        return NotImplemented if other is NotImplemented else other + self

    def __mul__(self, weight: float) -> Prior:
        if isinstance(weight, bool) or not isinstance(weight, Real):
            return NotImplemented
        if not is_number(weight) or not 0 <= weight < float("inf"):
            raise InvalidInput(
                f"the weight of {' + '.join(self.names)} must be a nonnegative number, got {weight!r}."
            )
        weights = {member.name: member.weight * weight for member in self}
        return Prior(
            [(name, copied(block)) for name, block in self.blocks],
            {name: w for name, w in weights.items() if w != 1} or None,
        )

    __rmul__ = __mul__

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters, as scikit-learn does.

        Parameters
        ----------
        deep : bool, default=True
            Whether to include every block and its parameters as ``<name>__<parameter>``.

        Returns
        -------
        dict
            Parameter name -> value.
        """
        params: dict[str, Any] = {"blocks": self.blocks, "weights": self.weights}
        if deep:
            for name, block, weight in self:
                params[name] = block
                params[f"{name}__weight"] = weight
                params.update({f"{name}__{key}": value for key, value in block.get_params().items()})
        return params

    def set_params(self, **params: Any) -> Prior:
        """Set parameters by the names that ``get_params`` returns.

        Parameters
        ----------
        **params : dict
            Parameter name -> value.

        Returns
        -------
        Prior
            This object.
        """
        for key in ("blocks", "weights"):
            if key in params:
                setattr(self, key, params.pop(key))
        # A block is replaced before its parameters are set.
        for key, value in sorted(params.items(), key=lambda item: "__" in item[0]):
            name, _, parameter = key.partition("__")
            if name not in self.names:
                having = [n for n, block in self.blocks if not parameter and name in block.get_params()]
                meant = f" Write {' or '.join(f'prior__{n}__{name}' for n in having)}." if having else ""
                raise InvalidInput(
                    f"there is no block {name!r} to set {key!r}; the blocks are {self.names}."
                    f"{meant or did_you_mean(name, self.names)}"
                )
            if not parameter:
                self.blocks = [(n, value if n == name else b) for n, b in self.blocks]
            elif parameter == "weight":
                self.weights = {**(self.weights or {}), name: value}
            else:
                self[name].set_params(**{parameter: value})
        return self

    def __sklearn_clone__(self) -> Prior:
        return Prior(
            [(n, clone(b)) for n, b in self.blocks], None if self.weights is None else dict(self.weights)
        )

    def __repr__(self) -> str:
        terms = []
        taken = set[str]()
        for name, block, weight in self:
            text = repr(block)
            if name != _default(block, taken):
                text += f".named({name!r})"
            taken.add(name)
            terms.append(text if weight == 1 else f"{_shortest(weight)} * {text}")
        if sum(map(len, terms)) <= WIDTH:
            return " + ".join(terms) or "Prior([])"
        return f"({f'{chr(10)}{INDENT}+ '.join(terms)})"


def check_name(name: Any) -> None:
    """Raise an error if a name cannot be part of ``prior__<name>__<parameter>`` or is reserved."""
    if not isinstance(name, str):
        raise InvalidType(f"a block name must be a str, got {name!r}.")
    if not _NAME.match(name):
        raise InvalidInput(
            f"block name {name!r} is not allowed: use lower-case letters, digits and single "
            "underscores, beginning with a letter."
        )
    if name in _RESERVED:
        raise InvalidInput(f"block name {name!r} is reserved. Choose another name with block.named('...').")


def copied(block: Block) -> Block:
    """Return a copy whose parameters, and the parameters of its transform, can be set independently."""
    twin = copy.copy(block)
    for key, value in vars(block).items():
        if isinstance(value, BaseEstimator):
            setattr(twin, key, clone(value))
    return twin


def snake_case(name: str) -> str:
    """Convert a class name to snake_case.

    >>> snake_case("VirtualSamples")
    'virtual_samples'
    """
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def _default(block: Summand, taken: set[str]) -> str:
    """Return the default name of a block in a sum where some names are taken."""
    base = snake_case(type(block).__name__)
    names = itertools.chain([base], (f"{base}_{number}" for number in itertools.count(2)))
    return next(name for name in names if name not in taken)


def _is_default(name: str, block: Summand) -> bool:
    return re.fullmatch(re.escape(snake_case(type(block).__name__)) + r"(_\d+)?", name) is not None


def _shortest(weight: float) -> str:
    short = f"{weight:g}"
    return short if float(short) == weight else repr(float(weight))


def _to_prior(value: Any) -> Any:
    if isinstance(value, Prior):
        return value
    return value._as_prior() if isinstance(value, Summand) else NotImplemented


def as_prior(value: Any) -> Prior:
    """Return the value of ``PriorSVC(prior=...)`` as a valid sum."""
    if value is None:
        return Prior([])
    prior = _to_prior(value)
    if prior is NotImplemented:
        hint = " Add them: a + b." if isinstance(value, (list, tuple)) else ""
        if isinstance(value, str):
            hint = " Write a rule as Rule(text, label)."
        raise InvalidType(f"prior must be a block or a sum of blocks, got {described(value)}.{hint}")
    return prior.validate()
