"""Fit small models of every problem class with one solver, and print what happened as JSON.

``python -m tests.solve.one_solver GUROBI`` is a process of its own, because some libraries crash when they
share one. ``--without-table`` also tries the classes without dual variables.
"""

import json
import sys
import warnings

import cvxpy as cp
import numpy as np

from priorsvm import Knowledge, MonotonicityHint, OddnessHint, PriorSVC, Terms, Trajectories, UncertainSamples
from priorsvm.errors import PriorSVMError
from priorsvm.solve import further
from priorsvm.transforms import Shift

RNG = np.random.default_rng(3)
X = RNG.normal(size=(14, 2))
Y = (X @ [1.0, -1.0] + 0.5 * RNG.normal(size=14) > 0).astype(int)


class SmoothMaximum(Knowledge):
    """The penalty mu log sum exp(w), by exponential cones."""

    def __init__(self, mu=1.0):
        self.mu = mu

    def build(self, f, view):
        t = cp.Variable(nonneg=True)
        return Terms({"mu": t}, {"cone": cp.log_sum_exp(f.coef) <= t})


class SpectralPenalty(Knowledge):
    """The penalty mu |w|, by one semidefinite cone."""

    def __init__(self, mu=1.0):
        self.mu = mu

    def build(self, f, view):
        t = cp.Variable(nonneg=True)
        w = cp.reshape(f.coef, (2, 1), order="C")
        corner = cp.reshape(t, (1, 1), order="C")
        return Terms({"mu": t}, {"cone": cp.constraints.PSD(cp.bmat([[corner, w.T], [w, t * np.eye(2)]]))})


class Opposed(Knowledge):
    """Two values of f at one point, hard."""

    hard = True

    def build(self, f, view):
        value = f(np.zeros((1, 2)))
        return Terms(constraints={"low": value <= -1.0, "high": value >= 1.0})


HINT = MonotonicityHint({0: -1}, hard=True, pairs=4)
MODELS = {
    "LP": (HINT, {"norm": "l1"}),
    "QP": (OddnessHint(mu=2.0) + HINT, {}),
    "QP kernel": (HINT, {"kernel": "rbf"}),
    "SOCP": (UncertainSamples(0.1) + OddnessHint() + HINT, {}),
    "SDP": (SpectralPenalty() + HINT, {}),
    "SDP batch": (Trajectories(Shift([0.3, 0.1]), degree=4), {}),
    "EXP": (SmoothMaximum(), {}),
    "LP infeasible": (Opposed(), {"norm": "l1"}),
}


def fit(name, solver):
    """Return status, objective and worst residual of a fit, or its error."""
    prior, parameters = MODELS[name]
    try:
        model = PriorSVC(prior, solver=solver, **parameters).fit(X, Y)
    except PriorSVMError as error:
        return {"error": type(error).__name__, "message": str(error)}
    outcome = model._models[0].outcome
    return {
        "solver": model.solver_,
        "status": model.status_,
        "objective": float(model.objective_),
        "worst": float(outcome.residuals.worst),
    }


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    if "--without-table" in sys.argv:
        further.WITHOUT_DUALS = {}
    found = {name: fit(name, sys.argv[1].lower()) for name in MODELS}
    print("\n" + json.dumps(found))
