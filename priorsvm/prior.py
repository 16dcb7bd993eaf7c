"""``a + 0.5 * b``: blocks with names and weights, as one flat list."""

from __future__ import annotations

import copy
import itertools
import re
from collections.abc import Iterator
from numbers import Real
from typing import Any, NamedTuple

from sklearn.base import BaseEstimator, clone

from ._utils.checks import described, is_number
from ._utils.messages import did_you_mean
from .errors import InvalidInput, InvalidType, NameClash
from .knowledge.base import Knowledge, snake_case

_NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*\Z")

# The machine's own terms, and the parameters of a Prior, go by these names.
_RESERVED = frozenset({"svm", "blocks", "weights"})

# A longer sum is printed on several lines, which stand below each other in `PriorSVC(...)`, too.
WIDTH = 70
INDENT = " " * len("PriorSVC(prior=(")

# A block that has none of these leaves every model as it is.
ACTS = ("build", "prepare", "predict", "complete")


class Member(NamedTuple):
    """A block, its name, and its outer weight."""

    name: str
    block: Knowledge
    weight: float


class Prior:
    r"""All that is known beforehand: :math:`\sum_k w_k J_{PK,k}` and every :math:`c_{PK,k}`.

    Usually written as a sum, ``ClassCosts("balanced") + 0.5 * VirtualSamples(shift)``. Parameters are
    reached as ``<name>__<parameter>`` and weights as ``<name>__weight``, which is what a grid search uses.

    Parameters
    ----------
    blocks : list of (name, block)
        Names match ``[a-z][a-z0-9_]*`` without ``__``. In a sum a block's name is its class in snake_case,
        then ``_2``, ``_3`` from left to right; ``block.named("tumour")`` gives another.
    weights : dict of name to nonnegative number, optional
        Outer weights; what is not listed weighs 1.

    Examples
    --------
    >>> from priorsvm import ClassCosts, OddnessHint
    >>> prior = ClassCosts({0: 1, 1: 5}) + 0.5 * OddnessHint().named("odd")
    >>> prior.names
    ['class_costs', 'odd']
    >>> prior.get_params()["odd__weight"]
    0.5
    """

    # No BaseEstimator: scikit-learn would print `Prior(blocks=[...])`, on one line, instead of the sum.

    # NumPy scalars would otherwise take `np.float64(2) * prior` for an array operation.
    __array_ufunc__ = None

    def __init__(self, blocks: list[tuple[str, Knowledge]], weights: dict[str, float] | None = None):
        self.blocks = blocks
        self.weights = weights

    @property
    def names(self) -> list[str]:
        """The blocks' names, in order."""
        return [name for name, _ in self.blocks]

    def __iter__(self) -> Iterator[Member]:
        for name, block in self.blocks:
            yield Member(name, block, (self.weights or {}).get(name, 1.0))

    def __len__(self) -> int:
        return len(self.blocks)

    def __getitem__(self, name: str) -> Knowledge:
        for known, block in self.blocks:
            if known == name:
                return block
        raise KeyError(f"there is no block {name!r}; the blocks are {self.names}")

    def validate(self) -> Prior:
        """Names, kinds and weights are what they have to be."""
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
            if not isinstance(block, Knowledge):
                raise InvalidType(f"block '{name}' must be a Knowledge block, got {described(block)}.")
            if "weight" in vars(block):
                raise InvalidInput(
                    f"block '{name}' has a parameter called 'weight', which is the name of the outer weight. "
                    "Rename the parameter."
                )
            seen.add(name)
        if self.weights is not None and not isinstance(self.weights, dict):
            raise InvalidType(f"Prior(weights) takes a dict of name to weight, got {self.weights!r}.")
        for name, weight in (self.weights or {}).items():
            if name not in seen:
                raise InvalidInput(f"weights name '{name}', but the blocks are {sorted(seen)}.")
            if not is_number(weight) or not 0 <= weight < float("inf"):
                raise InvalidInput(f"weight of block '{name}' must be a nonnegative number, got {weight!r}.")
            if weight not in (0, 1) and self[name].moves_rows:
                raise InvalidInput(
                    f"block '{name}' puts other rows in the place of the training rows, which no outer "
                    "weight can scale. Remove the weight (0 leaves the block out)."
                )
            if weight not in (0, 1) and self[name].shares_slack:
                raise InvalidInput(
                    f"block '{name}' shares the samples' own slack, so an outer weight has no meaning there. "
                    "Remove the weight (0 leaves the block out); C and the rows' costs weigh it."
                )
        return self

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
        if is_number(other) and other == 0:  # what sum([...]) begins with
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
        """Blocks and weights; and, if ``deep``, every block and its parameters by ``<name>__<parameter>``."""
        params: dict[str, Any] = {"blocks": self.blocks, "weights": self.weights}
        if deep:
            for name, block, weight in self:
                params[name] = block
                params[f"{name}__weight"] = weight
                params.update({f"{name}__{key}": value for key, value in block.get_params().items()})
        return params

    def set_params(self, **params: Any) -> Prior:
        """Set what ``get_params`` has."""
        for key in ("blocks", "weights"):
            if key in params:
                setattr(self, key, params.pop(key))
        # Blocks that are replaced come before what is set inside them.
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
    """A name that can stand in ``prior__<name>__<parameter>``, and that the machine has not taken itself."""
    if not isinstance(name, str):
        raise InvalidType(f"a block's name is a text, got {name!r}.")
    if not _NAME.match(name):
        raise InvalidInput(
            f"block name {name!r} is not allowed: use lower-case letters, digits and single "
            "underscores, beginning with a letter."
        )
    if name in _RESERVED:
        raise InvalidInput(
            f"block name {name!r} is taken by the machine itself: choose another with block.named('...')."
        )


def check_acts(name: str, block: Knowledge) -> None:
    """A block has one of the methods through which it changes a model: a typo must not go unseen."""
    kind = type(block)
    if any(getattr(kind, method) is not getattr(Knowledge, method) for method in ACTS):
        return
    own = [method for method in dir(kind) if not hasattr(Knowledge, method)]
    typos = [f" It has {method!r}.{meant}" for method in own if (meant := did_you_mean(method, ACTS))]
    raise InvalidInput(
        f"block '{name}' ({kind.__name__}) does nothing: it has neither {' nor '.join(ACTS)}, and these are "
        f"the ways in which a block acts.{''.join(typos)}"
    )


def copied(block: Knowledge) -> Knowledge:
    """A block with parameters of its own: setting them, or those of its transform, changes no other."""
    twin = copy.copy(block)
    for key, value in vars(block).items():
        if isinstance(value, BaseEstimator):
            setattr(twin, key, clone(value))
    return twin


def _default(block: Knowledge, taken: set[str]) -> str:
    """The name a block gets in a sum where these are taken."""
    base = snake_case(type(block).__name__)
    names = itertools.chain([base], (f"{base}_{number}" for number in itertools.count(2)))
    return next(name for name in names if name not in taken)


def _is_default(name: str, block: Knowledge) -> bool:
    return re.fullmatch(re.escape(snake_case(type(block).__name__)) + r"(_\d+)?", name) is not None


def _shortest(weight: float) -> str:
    short = f"{weight:g}"
    return short if float(short) == weight else repr(float(weight))


def _to_prior(value: Any) -> Any:
    if isinstance(value, Prior):
        return value
    return value._as_prior() if isinstance(value, Knowledge) else NotImplemented


def as_prior(value: Any) -> Prior:
    """Whatever ``PriorSVC(prior=...)`` accepts, as a validated prior."""
    if value is None:
        return Prior([])
    prior = _to_prior(value)
    if prior is NotImplemented:
        hint = " Add them: a + b." if isinstance(value, (list, tuple)) else ""
        raise InvalidType(f"prior must be a block or a sum of blocks, got {described(value)}.{hint}")
    return prior.validate()
