"""ONNX: the decision function of a fitted model as a graph of standard operators, in double precision.

ONNX's own operator for support vector machines has single precision, in which models with large weights lose
their digits.
"""

from __future__ import annotations

from importlib import import_module
from itertools import combinations, count
from types import ModuleType
from typing import Any

import numpy as np

from .._utils.arrays import Array
from ..errors import InvalidInput, InvalidType, PackageNotInstalled
from ..estimator import PriorSVC
from ..function.scale import Scale
from ..kernels.base import Kernel
from ..kernels.standard import RBF, Linear, Polynomial
from ..knowledge.traits import Completes, Scores
from ..prior import live

# Versions of ONNX that every onnxruntime since 1.17 reads.
OPSET = 17
FORMAT = 8


def to_onnx(model: PriorSVC) -> Any:
    """Return a fitted model as an ONNX graph, which runs without Python and priorsvm.

    The graph has the input ``X``, double numbers of shape (n, n_features), and two outputs. ``label`` has
    the result of ``predict``, and ``scores`` the result of ``decision_function``. Only operators of the
    ONNX standard occur in it.

    Parameters
    ----------
    model : PriorSVC
        A fitted model: linear, or with the kernel :class:`RBF` or :class:`Polynomial`. ``scale``, any
        number of classes and all blocks that do not change the scores of new rows are possible.

    Returns
    -------
    onnx.ModelProto
        The graph. ``onnx.save(graph, "model.onnx")`` writes it to a file.

    Raises
    ------
    InvalidType
        If the model is not a ``PriorSVC``.
    InvalidInput
        If the model has another kernel, columns with categories, a block such as
        :class:`MissingValues` that scores new rows, or labels that are not numbers or texts.
    NotFittedError
        If ``fit`` was not called.
    PackageNotInstalled
        If the package onnx is not installed.

    See Also
    --------
    save : Write the whole model, with its blocks and reports.

    Examples
    --------
    >>> from priorsvm import PriorSVC, to_onnx
    >>> graph = to_onnx(PriorSVC(kernel="rbf").fit([[0.0], [2.0]], ["ill", "well"]))
    >>> [output.name for output in graph.graph.output]
    ['label', 'scores']
    """
    if not isinstance(model, PriorSVC):
        raise InvalidType(
            f"to_onnx requires a PriorSVC, got {type(model).__name__}. Of a pipeline, give its last step."
        )
    _check_exportable(model)
    graph = _Graph()
    X = "X"
    scores = _scores(graph, model, _functions(graph, model, X))
    two = len(model.classes_) == 2
    if two:
        flat = graph.add("Reshape", scores, graph.constant([-1], np.int64), output="scores")
        chosen = graph.add("Cast", graph.add("Greater", flat, graph.constant(0.0)), to=graph.INT64)
    else:
        graph.add("Identity", scores, output="scores")
        chosen = graph.add("ArgMax", scores, axis=1, keepdims=0)
    labels = _labels(model.classes_)
    graph.add("Gather", graph.constant(labels, labels.dtype), chosen, output="label")
    shape = ["n"] if two else ["n", len(model.classes_)]
    return graph.model(model.n_features_in_, {"label": (labels.dtype, ["n"]), "scores": (float, shape)})


def _check_exportable(model: PriorSVC) -> None:
    """Raise InvalidInput if new rows are not scored by the arrays of f alone."""
    first = model._fitted_models()[0]
    for name, block, _ in live(first.members):
        if isinstance(block, (Scores, Completes)):
            raise InvalidInput(
                f"to_onnx: block '{name}' ({type(block).__name__}) scores new rows itself, and ONNX has no "
                "operator for it. Use priorsvm.save."
            )
    if first.training.encoding is not None:
        raise InvalidInput(
            "to_onnx: X has columns with categories, which the model encodes itself. Encode them before fit, "
            "for example by OneHotEncoder, or use priorsvm.save."
        )
    if not model._linear and not isinstance(model.kernel_, (Linear, Polynomial, RBF)):
        raise InvalidInput(
            f"to_onnx: the kernel {model.kernel_!r} has no ONNX form. Linear, Polynomial and RBF have one; "
            "use priorsvm.save for other kernels."
        )


def _functions(graph: _Graph, model: PriorSVC, X: str) -> str:
    """Add all decision functions of the model, (n, number of functions)."""
    bias = graph.constant(model.intercept_)
    if model._linear:
        return graph.add("Add", graph.add("MatMul", X, graph.constant(model.coef_.T)), bias)
    scale = model._models[0].spec.scale
    if scale is not None:
        X = graph.add("Sub", X, graph.constant(scale.shift))
        X = graph.add("Div", X, graph.constant(scale.width))
    values = _kernel_values(graph, model.kernel_, X, _inner(scale, model.centres_))
    f = graph.add("Add", graph.add("MatMul", values, graph.constant(model.dual_coef_.T)), bias)
    points, directions, weights = model.slopes_
    if len(points) == 0:
        return f
    along = directions if scale is None else scale.directions(directions)
    slopes = _kernel_slopes(graph, model.kernel_, X, _inner(scale, points), along)
    return graph.add("Add", f, graph.add("MatMul", slopes, graph.constant(weights.T)))


def _inner(scale: Scale | None, Z: Array) -> Array:
    return Z if scale is None else scale.points(Z)


def _kernel_values(graph: _Graph, kernel: Kernel, X: str, B: Array) -> str:
    """Add the kernel matrix k(X, B)."""
    if isinstance(kernel, RBF):
        # exp(-γ|x - b|²) with |x - b|² = |x|² + |b|² - 2 x·b, around the mean of B for more digits.
        middle = B.mean(axis=0)
        X = graph.add("Sub", X, graph.constant(middle))
        B = B - middle
        lengths = graph.add("ReduceSum", graph.add("Mul", X, X), graph.constant([1], np.int64), keepdims=1)
        lengths = graph.add("Add", lengths, graph.constant(np.square(B).sum(axis=1)))
        products = graph.add("MatMul", X, graph.constant(2.0 * B.T))
        squares = graph.add("Max", graph.add("Sub", lengths, products), graph.constant(0.0))
        return graph.add("Exp", graph.add("Mul", squares, graph.constant(-float(kernel.gamma))))
    if isinstance(kernel, Linear):
        return graph.add("MatMul", X, graph.constant(B.T))
    return _power(graph, kernel, X, B, kernel.degree)


def _kernel_slopes(graph: _Graph, kernel: Kernel, X: str, B: Array, V: Array) -> str:
    """Add the derivatives of k(x, b) in b along the rows of V."""
    if isinstance(kernel, Polynomial):
        along = graph.add("MatMul", X, graph.constant(kernel.degree * float(kernel.gamma) * V.T))
        return graph.add("Mul", along, _power(graph, kernel, X, B, kernel.degree - 1))
    along = graph.add("MatMul", X, graph.constant(V.T))
    if isinstance(kernel, RBF):
        offsets = graph.constant(np.sum(B * V, axis=1))
        factor = graph.add("Mul", graph.add("Sub", along, offsets), graph.constant(2.0 * float(kernel.gamma)))
        return graph.add("Mul", factor, _kernel_values(graph, kernel, X, B))
    return along


def _power(graph: _Graph, kernel: Polynomial, X: str, B: Array, degree: float) -> str:
    """Add (γ X B' + c₀) to the power of the degree.

    γ is part of the constant B: onnxruntime merges a factor of a product into a number of single precision.
    """
    base = graph.add("MatMul", X, graph.constant(float(kernel.gamma) * B.T))
    base = graph.add("Add", base, graph.constant(float(kernel.coef0)))
    return graph.add("Pow", base, graph.constant(float(degree)))


def _scores(graph: _Graph, model: PriorSVC, f: str) -> str:
    """Add the scores of the classes: as f, of a joint model of two classes, or from pairs of classes."""
    n_classes = len(model.classes_)
    if model._one_vs_one:
        return _class_scores(graph, f, n_classes)
    if n_classes == 2 and len(model.intercept_) == 2:
        return graph.add("MatMul", f, graph.constant([[-1.0], [1.0]]))
    return f


def _class_scores(graph: _Graph, pairs: str, n_classes: int) -> str:
    """Add the scores of ``priorsvm.voting.class_scores``."""
    first, second = np.array(list(combinations(range(n_classes), 2))).T
    wins = np.eye(n_classes)[first]
    losses = np.eye(n_classes)[second]
    lost = graph.add("Cast", graph.add("Less", pairs, graph.constant(0.0)), to=graph.DOUBLE)
    votes = graph.add("MatMul", lost, graph.constant(losses - wins))
    votes = graph.add("Add", votes, graph.constant(wins.sum(axis=0)))
    confidence = graph.add("MatMul", pairs, graph.constant(wins - losses))
    size = graph.add("Add", graph.add("Abs", confidence), graph.constant(1.0))
    order = graph.add("Div", confidence, graph.add("Mul", size, graph.constant(3.0)))
    return graph.add("Add", votes, order)


def _labels(classes: Array) -> Array:
    """Return the labels with a type of ONNX: texts, whole numbers, numbers or truth values."""
    if classes.dtype.kind == "U" or all(isinstance(label, str) for label in classes.tolist()):
        return np.array(classes.tolist(), dtype=object)
    for kinds, dtype in (("b", np.bool_), ("iu", np.int64), ("f", np.float64)):
        if classes.dtype.kind in kinds:
            return classes.astype(dtype)
    raise InvalidInput(
        f"to_onnx: the labels {classes.tolist()!r} are neither texts nor numbers. Fit the model to "
        "texts or numbers."
    )


class _Graph:
    """Nodes and constants of a graph, added in the order of evaluation."""

    def __init__(self) -> None:
        self.onnx = _onnx()
        self.DOUBLE = self.onnx.TensorProto.DOUBLE
        self.INT64 = self.onnx.TensorProto.INT64
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.names = map("v{}".format, count())

    def constant(self, value: Any, dtype: Any = np.float64) -> str:
        """Add an array and return its name."""
        name = next(self.names)
        self.constants.append(self.onnx.numpy_helper.from_array(np.asarray(value, dtype), name))
        return name

    def add(self, operator: str, *inputs: str, output: str | None = None, **attributes: Any) -> str:
        """Add a node and return the name of its output."""
        name = output or next(self.names)
        self.nodes.append(self.onnx.helper.make_node(operator, list(inputs), [name], **attributes))
        return name

    def model(self, n_features: int, outputs: dict[str, tuple[Any, list[Any]]]) -> Any:
        """Return the checked model."""
        helper = self.onnx.helper
        entry = helper.make_tensor_value_info("X", self.DOUBLE, ["n", n_features])
        exits = [
            helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), shape)
            for name, (dtype, shape) in outputs.items()
        ]
        graph = helper.make_graph(self.nodes, "priorsvm", [entry], exits, self.constants)
        model = helper.make_model(
            graph,
            producer_name="priorsvm",
            ir_version=FORMAT,
            opset_imports=[helper.make_opsetid("", OPSET)],
        )
        self.onnx.checker.check_model(model)
        return model


def _onnx() -> ModuleType:
    try:
        return import_module("onnx")
    except ImportError as error:
        raise PackageNotInstalled(
            "to_onnx requires the package onnx. Install it: pip install onnx."
        ) from error
