"""Decision functions for the tests of this folder."""

import cvxpy as cp
import numpy as np
import pytest

from priorsvm import RBF, Linear, Polynomial
from priorsvm.function.maps import FactorMap, KernelMap, LinearMap, ValueMap
from priorsvm.function.scale import Scale
from priorsvm.function.symbolic import Decision
from priorsvm.function.tie import Tie
from priorsvm.spec import Spec

KERNELS = [RBF(0.5), RBF(0.01), Polynomial(3, 0.5, 1.0), Polynomial(2, 1.0), Linear(), RBF(0.3) + Linear()]

MODELS = {
    "linear": lambda X, units: (LinearMap(X.shape[1], units), "l2"),
    "linear l1": lambda X, units: (LinearMap(X.shape[1], units), "l1"),
    "factor": lambda X, units: (FactorMap(RBF(0.3), X, units), "l2"),
    "nystrom": lambda X, units: (FactorMap(RBF(0.3), X, units, 15), "l2"),
    "values": lambda X, units: (ValueMap(FactorMap(RBF(3.0), X[:12], units)), "l2"),
    "polynomial": lambda X, units: (FactorMap(Polynomial(3, 0.3, 1.0), X, units), "l2"),
    "sum": lambda X, units: (FactorMap(0.5 * RBF(0.5) + Linear(), X, units), "l2"),
    "l1": lambda X, units: (KernelMap(RBF(0.3), X, units), "l1"),
    "polynomial l1": lambda X, units: (KernelMap(Polynomial(2, 0.3, 1.0), X, units), "l1"),
}

every_model = pytest.mark.parametrize("kind", MODELS)
every_scale = pytest.mark.parametrize("scale", [None, "standard"])


def decision(features, norm="l2"):
    """Return the symbolic f of a feature map, and a function that ties it and draws values for c and b."""
    spec = Spec(1.0, getattr(features, "kernel", None), norm, "hinge", features.scale, None, 1e-6)
    f = Decision(spec, features.n_features)

    def solve(seed=0):
        rng = np.random.default_rng(seed)
        tie = Tie(f, features)
        for variable in tie.c.variables():
            variable.value = np.abs(rng.normal(size=variable.shape))
        f.b.value = rng.normal()
        for definition in tie.definitions.values():
            if isinstance(definition, cp.SOC):
                f.length.value = np.linalg.norm(definition.args[1].value)
            else:
                definition.args[0].value = definition.args[1].value
        return tie

    return f, solve


def made(kind, scale):
    """A decision function and its rows; the units of the features differ widely."""
    rng = np.random.default_rng(3)
    width = np.array([1.0, 20.0, 0.1]) if scale else np.ones(3)
    X = rng.normal(size=(30, 3)) * width + (5.0 * width if scale else 0.0)
    f, solve = decision(*MODELS[kind](X, Scale.of(scale, X)))
    return f, solve, X, width
