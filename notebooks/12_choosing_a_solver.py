# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Which solver should do it, and can you believe it?
#
# `PriorSVC` writes down a problem; somebody else solves it. There are many who could, and they are not
# equally good, nor equally honest. Some take every problem and are roughly right. Some are right to ten
# digits and take only the simplest kind. And now and then one of them says "optimal" and is wrong.
#
# This notebook sorts problems into classes, gives the same problem to all solvers at hand, and looks at the
# answers as an accountant would.

# %%
import time
import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from IPython.display import display
from sklearn.datasets import load_breast_cancer

from priorsvm import (
    ClassCosts,
    InvariantLoss,
    MonotonicityHint,
    PriorSVC,
    Rule,
    Shift,
    Trajectories,
    UncertainSamples,
    solvers,
)
from priorsvm.errors import (
    AgainstData,
    FarFromData,
    InaccurateSolution,
    Infeasible,
    Outbid,
    PriorSVMError,
    SolverUnsuited,
    ZeroedColumns,
)

# This lesson is about solvers: the checks of rules against the data are silenced.
for category in (AgainstData, FarFromData, Outbid, ZeroedColumns):
    warnings.simplefilter("ignore", category)

BLUE, RED, GREY = "#0072B2", "#D55E00", "0.4"
COLOURS = [BLUE, RED, "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "black", GREY]

# %% [markdown]
# ## Who takes what
#
# `solvers()` is a table of all solvers. We draw those that the library has measured. Every other solver of
# CVXPY is a name for `solver=`, too, once it is installed.

# %%
SOLVERS = {solver: facts for solver, facts in solvers().items() if facts.measured}
CLASSES = ("LP", "QP", "SOCP", "SDP", "EXP")
figure, axes = plt.subplots(figsize=(8, 0.5 * len(SOLVERS) + 1.2))
for row, facts in enumerate(SOLVERS.values()):
    for column, kind in enumerate(CLASSES):
        takes = kind in facts.solves
        axes.scatter(
            column, row, marker="s" if takes else ".", s=170 if takes else 20, color=BLUE if takes else "0.7"
        )
    axes.text(len(CLASSES) - 0.35, row, f"{facts.accuracy:.0e}", va="center")
    axes.text(len(CLASSES) + 0.75, row, "yes" if facts.certifies else "no", va="center")
here = [name if facts.installed else f"{name} (not installed)" for name, facts in SOLVERS.items()]
axes.set_yticks(range(len(SOLVERS)), here)
axes.set_xticks(
    [*range(len(CLASSES)), len(CLASSES) - 0.1, len(CLASSES) + 1.0],
    [*CLASSES, "held to", "proves\ninfeasible"],
)
axes.set(xlim=(-0.6, len(CLASSES) + 1.6), ylim=(len(SOLVERS) - 0.5, -0.5))
axes.xaxis.tick_top()
axes.tick_params(length=0)
axes.spines[:].set_visible(False)
plt.show()

# %% [markdown]
# *Held to* is the relative residual from which on the library warns about this solver's answer. *Proves
# infeasible* tells whose "there is no solution" can be trusted.
#
# ## Five classes, each in the next
#
# | class | objective | constraints |
# |---|---|---|
# | LP | linear, $c^\top x$ | linear, $Ax \le b$ |
# | QP | convex quadratic, $\frac12 x^\top P x + c^\top x$ | linear |
# | SOCP | as QP | $\lVert Ax + b \rVert \le c^\top x + d$, second-order cones |
# | SDP | as QP | matrices that are positive semidefinite, $A_0 + \sum_j x_j A_j \succeq 0$ |
# | EXP | | $u\, e^{v/u} \le w$, exponential cones; only blocks of your own could need them |
#
# A sum of blocks is as hard as the hardest of its parts. Which class is it? We build a model for most of
# them on eighty tumours and ask.

# %%
cancer = load_breast_cancer(as_frame=True)
rows = np.random.default_rng(0).permutation(len(cancer.target))[:80]
X = cancer.data.iloc[rows, :5].rename(columns=lambda name: name.removeprefix("mean "))
y = np.where(cancer.target.iloc[rows] == 1, "benign", "malignant")

rule = Rule("radius >= 18", label="malignant", holds="everywhere")
hint = MonotonicityHint({"radius": +1}, label="malignant")
errors = UncertainSamples(0.2 * X.std().to_numpy())
drift = Shift(0.5 * X.std().to_numpy() * np.array([0, 0, 0, 0, 1.0]))
models = {
    "1-norm": {"norm": "l1"},
    "1-norm + rule": {"prior": rule, "norm": "l1"},
    "1-norm + soft hint": {"prior": hint, "norm": "l1"},
    "plain": {},
    "costs": {"prior": ClassCosts({"malignant": 3})},
    "rule": {"prior": rule},
    "measurement errors": {"prior": errors},
    "1-norm + errors": {"prior": errors, "norm": "l1"},
    "drift, degree 2": {"prior": Trajectories(drift, degree=2)},
    "drift, degree 4": {"prior": Trajectories(drift, degree=4)},
    "worst of moves, RBF": {"prior": InvariantLoss(drift), "kernel": "rbf"},
}


def class_of(model):
    """The class of the problem: by its objective, and by the cones it has once CVXPY has compiled it."""
    cones = model.problem.get_problem_data("CLARABEL")[0]["dims"]
    linear = "LP" if model.problem.objective.expr.is_pwl() else "QP"
    return "EXP" if cones.exp else "SDP" if cones.psd else "SOCP" if cones.soc else linear


kinds = []
for name, parameters in models.items():
    model = PriorSVC(scale="standard", **parameters).fit(X, y)
    kinds.append({"model": name, "class": class_of(model), "auto chose": model.solver_})
kinds = pd.DataFrame(kinds).set_index("model")
display(kinds)

# %% [markdown]
# What one learns from it:
#
# * the 2-norm model is a QP by itself, the 1-norm model an LP, and a soft hint, which is squared, makes
#   a QP of that;
# * errors of measurement add cones; a trajectory is a cone as long as it is a parabola, and a matrix from
#   then on;
# * `solver="auto"` looks at the class, and `solver_` says what it chose. Three of the names are not in the
#   picture: **LIBSVM**, for problems that are nothing but an SVM with weights on its rows, **CENTRES**, for
#   the same with the 1-norm, and **COLUMNS**, the library's own for the worst of many moves. They solve one
#   kind of problem each, and that one faster. (So does **NORMAL**, on linear models of more rows.)
#
# Who insists on a solver that cannot do it is told why, by block:

# %%
installed = [solver for solver, facts in SOLVERS.items() if facts.installed]


def able(kind):
    """The installed solvers that take a class of problems."""
    return [solver for solver in installed if kind in SOLVERS[solver].solves]


refused = {}
for solver in installed:
    if solver not in able("SOCP"):
        try:
            PriorSVC(errors + rule, scale="standard", solver=solver).fit(X, y)
        except SolverUnsuited as error:
            refused[solver] = str(error)
            print(error)

# %% [markdown]
# ## The same problem, by all who take it
#
# A name means that solver and no other. We give one problem of each class to everybody, and look at what the
# library looks at: the answer is put back into the problem *as it was stated*, and four residuals are worked
# out.
#
# With the Lagrangian $L = J(x) + \sum_i \lambda_i^\top g_i(x)$ and constraints $g_i(x) \in -K_i$:
#
# | residual | what should be |
# |---|---|
# | primal | every $g_i(x)$ is in its cone |
# | dual | every multiplier $\lambda_i$ is in the dual cone |
# | stationarity | $\nabla_x L = 0$ |
# | gap | $\sum_i \lambda_i^\top g_i(x) = 0$ |
#
# For a convex problem these four are everything: if all are zero, the point is optimal, whoever found it.


# %%
def attempt(solver, X=X, **parameters):
    """A fitted model and what was said about it, or None and the error."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            model = PriorSVC(solver=solver, **{"scale": "standard", **parameters}).fit(X, y)
        except PriorSVMError as error:
            return None, error
    return model, [w.message for w in said if issubclass(w.category, InaccurateSolution)]


def rounded(frame, **formats):
    """Numbers as powers of ten, or as they are asked for."""
    return frame.assign(**{c: frame[c].map(formats.get(c, "{:.0e}").format) for c in frame})


def residuals_of(model):
    return model.report_.solves[0]["residuals"]


examples = ["1-norm + rule", "rule", "measurement errors", "drift, degree 4"]
found, answers = [], {}
for name in examples:
    kind = kinds.loc[name, "class"]
    for solver in able(kind):
        model, _ = attempt(solver, **models[name])
        if model is None:
            continue
        answers[name, solver] = model
        r = residuals_of(model)
        found.append([f"{kind}: {name}", solver, model.objective_, r.primal, r.dual, r.stationarity, r.gap])
found = pd.DataFrame(
    found, columns=["problem", "solver", "objective", "primal", "dual", "stationarity", "gap"]
)
worst = found.set_index(["problem", "solver"])
display(rounded(worst, objective="{:.7f}"))

# %%
figure, panels = plt.subplots(1, len(examples), figsize=(13, 3.6), sharey=True, layout="constrained")
marks = {"primal": "o", "dual": "v", "stationarity": "s", "gap": "^"}
for axes, (problem, group) in zip(panels, found.groupby("problem", sort=False), strict=True):
    for (name, marker), colour in zip(marks.items(), (BLUE, "0.6", RED, "black"), strict=True):
        # Nothing is drawn at zero on an axis of powers: what is below rounding is at its edge.
        axes.scatter(group["solver"], group[name].clip(1e-17), marker=marker, color=colour, s=32, label=name)
    axes.set(yscale="log", ylim=(5e-18, 1e-1), title=problem)
    axes.tick_params(axis="x", rotation=60)
panels[0].set_ylabel("relative residual")
panels[-1].legend(loc="upper right", fontsize=8)
plt.show()

# %% [markdown]
# The objectives agree, most of them to eight digits, and still there are more than ten powers of ten between
# the best residual and the worst. Simplex methods end at a corner, which is exact. Interior-point methods
# walk to within a tolerance of it. First-order methods take many cheap steps, and how many they need depends
# on the problem.
#
# ## What the multipliers say
#
# The dual values are half of the answer: they tell which rows are support vectors, and how hard a rule
# pushes. Are they the same? We compare them with those of the first solver.

# %%
prices = []
for (name, solver), model in answers.items():
    margin = next(c for c in model.problem.constraints if c.label == "svm.margin")
    first = next(m for (other, _), m in answers.items() if other == name)
    alpha_first = next(c for c in first.problem.constraints if c.label == "svm.margin").dual_value
    prices.append(
        {
            "problem": name,
            "solver": solver,
            "support vectors": len(model.support_),
            "sum of duals": float(np.sum(margin.dual_value)),
            "largest difference": float(np.abs(margin.dual_value - alpha_first).max()),
        }
    )
prices = pd.DataFrame(prices).set_index(["problem", "solver"])
display(rounded(prices, **{"support vectors": "{}", "sum of duals": "{:.4f}"}))

# %% [markdown]
# They agree as well as the residuals promise, and the support vectors are the same. The zeros at the bottom
# are right: with errors and drift the plain margin of a row is idle, and the multipliers are those of the
# block's own constraints.
#
# ## Two right answers
#
# An LP can have many optimal points. Take a table with the same column twice, and a 1-norm model: what one
# column can do, the other can, and any mixture.

# %%
twins = pd.DataFrame({"left": [0.0, 1.0] * 3, "right": [0.0, 1.0] * 3})
which = ["no", "yes"] * 3
weights = {}
for solver in able("LP"):
    model = PriorSVC(norm="l1", C=10, solver=solver).fit(twins, which)
    weights[solver] = model.coef_[0]
    print(f"{solver:9s} objective {model.objective_:.6f}   w = {model.coef_[0].round(4)}")

# %% [markdown]
# All are right. A simplex method ends in a corner of the set of optimal points, the others somewhere inside.
# So two solvers with different weights are no cause for alarm. Different *objectives* are. The 2-norm
# model has only one best $w$, as $\|w\|^2$ is strictly convex.
#
# ## In which order
#
# A list is an order of fall-back. A solver that cannot take the class, or fails, is passed over; one that is
# not installed too. What was used is in `solver_`.

# %%
order = ["HIGHS", "CLARABEL", "SCS"]
took = {}
for name in examples:
    took[name] = PriorSVC(scale="standard", solver=order, **models[name]).fit(X, y).solver_
    print(f"{name:20s} {kinds.loc[name, 'class']:5s} solved by {took[name]}")

# %% [markdown]
# Upper and lower case are equal. A misspelt name is an error at once.

# %%
_, misspelt = attempt("Clarabelle")
print(misspelt)

# %% [markdown]
# ## When there is no solution
#
# Two hard rules that claim the same tumours for both classes: no $f$ can obey. What does each solver say?

# %%
clash = Rule("radius >= 18", label="malignant", hard=True).named("surgeon")
clash = clash + Rule("radius >= 20", label="benign", hard=True).named("textbook")
verdicts = {}
for solver in installed:
    norm = "l2" if "QP" in SOLVERS[solver].solves else "l1"
    _, verdicts[solver] = attempt(solver, prior=clash, norm=norm)
    print(f"{solver}: {type(verdicts[solver]).__name__}")
    print("   ", str(verdicts[solver])[:160], "...")

# %% [markdown]
# Some of them *prove* it, by multipliers that add the constraints up to a contradiction. The library then
# asks which blocks are to blame, and names them. Those without a proof run into a limit or break down. That
# is no verdict, and the message sends you to somebody who can give one. A list of solvers does not go on
# after a proof: *there is no solution* is an answer.
#
# ## When units are far apart
#
# The usual reason for trouble. We measure the radius in ever smaller units and smoothness in ever larger
# ones, each by a factor of $10^p$, and tell the model not to scale. The rule is put into the same units.

# %%
powers = [0, 3, 6, 9]
trouble = []
for power in powers:
    units = 10.0 ** np.linspace(power, -power, X.shape[1])
    Z = X * units
    wide = Rule(f"radius >= {18 * 10**power}", label="malignant", holds="everywhere")
    for solver in able("QP"):
        for scale in (None, "standard"):
            model, said = attempt(solver, Z, prior=wide, scale=scale)
            trouble.append(
                {
                    "power": power,
                    "solver": solver,
                    "scale": str(scale),
                    "worst residual": np.nan if model is None else residuals_of(model).worst,
                    "what": str(said) if model is None else model.status_,
                }
            )
trouble = pd.DataFrame(trouble)
unscaled = trouble[trouble["scale"] == "None"].pivot(index="solver", columns="power", values="worst residual")
failed = trouble[trouble["worst residual"].isna()]
for _, row in failed.iterrows():
    print(f"10^{row['power']}: {row['what'][:118]} ...")

# %%
figure, panels = plt.subplots(1, 2, figsize=(11, 4), sharey=True, layout="constrained")
looks = list(zip(["o-", "s--", "^:", "v-.", "D-", "x--", "*:", "+-."], COLOURS, strict=True))
for axes, scale in zip(panels, ("None", "standard"), strict=True):
    groups = trouble[trouble["scale"] == scale].groupby("solver", sort=False)
    for k, (solver, group) in enumerate(groups):
        style, colour = looks[k % len(looks)]
        # An answer that was refused stands at 1.
        height = group["worst residual"].clip(1e-16).fillna(1.0)
        axes.plot(group["power"], height, style, color=colour, label=solver)
    axes.axhline(1e-2, color=GREY, linewidth=1)
    axes.set(
        yscale="log",
        ylim=(1e-17, 10),
        xlabel="$p$: units are apart by up to $10^{2p}$",
        title=f"scale={scale}",
    )
    axes.set_xticks(powers)
panels[0].set_ylabel("worst residual; 1: refused")
panels[0].text(0, 2e-2, "above this line an answer is refused", color=GREY, fontsize=8)
panels[1].legend(loc="upper right", fontsize=8)
plt.show()

# %% [markdown]
# On the left the solvers give up one after the other, and some of them do not know it: read what they say of
# themselves in the messages above, and what the problem says. On the right `scale="standard"` has made all
# these problems one and the same, the rule included, and the lines are level.
#
# LIBSVM is not in the picture, as it takes no rules. On data like these it can be busy for minutes if it is
# asked for by name. `"auto"` gives it a limit, checks its answer as well, and takes Clarabel's instead of a
# bad one.
#
# ## Tolerance
#
# `tol` is the residual up to which an answer counts as optimal (ten times that, or what the solver is held
# to, if that is more). It does not make solvers careless: interior-point methods are asked for more digits
# than that anyway, since a digit costs them a step or two. What `tol` changes is LIBSVM, and how long
# iterative blocks go on.

# %%
reference = PriorSVC(scale="standard", kernel="rbf", solver="CLARABEL").fit(X, y)
careful = []
for tol in (1e-1, 1e-2, 1e-4, 1e-6):
    for solver in ("LIBSVM", "CLARABEL"):
        model = PriorSVC(scale="standard", kernel="rbf", solver=solver, tol=tol).fit(X, y)
        off = np.abs(model.decision_function(X) - reference.decision_function(X)).max()
        careful.append([tol, solver, residuals_of(model).worst, off])
careful = pd.DataFrame(careful, columns=["tol", "solver", "worst residual", "f differs by"])
display(rounded(careful, solver="{}"))

# %% [markdown]
# `solver_options` goes to a solver as it is, in its own words. So a solver can be stopped early, on purpose:
# after two steps, after three, and so on. Does the residual tell how far off $f$ is?

# %%
exact = answers["measurement errors", "CLARABEL"].decision_function(X)
stopped = []
for steps in range(2, 14):
    model, _ = attempt("CLARABEL", prior=errors, solver_options={"max_iter": steps})
    stopped.append({"steps": steps, "status": "refused", "residual": np.nan, "error of f": np.nan})
    if model is not None:
        off = np.abs(model.decision_function(X) - exact).max()
        stopped[-1].update(
            {"status": model.status_, "residual": residuals_of(model).worst, "error of f": off}
        )
stopped = pd.DataFrame(stopped)
figure, axes = plt.subplots(figsize=(7, 4))
axes.plot(
    stopped["steps"], stopped["residual"], "o-", color=BLUE, label="worst residual, as the library finds it"
)
axes.plot(
    stopped["steps"],
    stopped["error of f"].replace(0.0, np.nan),
    "^--",
    color=RED,
    label="largest error of f, as only we know it",
)
for status, shade in (("refused", "0.75"), ("optimal_inaccurate", "0.88")):
    of = stopped.loc[stopped["status"] == status, "steps"]
    axes.axvspan(of.min() - 0.5, of.max() + 0.5, color=shade, zorder=0)
    axes.text(of.mean(), 1e-11, status.replace("_", "\n"), ha="center")
axes.text(11.5, 1e-11, "optimal", ha="center")
axes.set(yscale="log", xlabel="steps", title="Clarabel, stopped early", xlim=(1.5, 13.5), ylim=(1e-12, 1e2))
axes.legend(loc="upper right")
plt.show()

# %% [markdown]
# It does. Nobody has to know the right answer to see that an answer is not right.
#
# ## And time?
#
# Ratios to the time of Clarabel, everything included, of runs that take turns. They are of this problem,
# this size and this computer; nothing is claimed.

# %%
spent = {solver: [] for solver in able("QP")}
for _ in range(5):
    for solver, times in spent.items():
        start = time.process_time()
        attempt(solver, prior=rule)
        times.append(time.process_time() - start)
middle = {solver: np.median(times) for solver, times in spent.items()}
for solver, seconds in middle.items():
    print(f"{solver:9s} {seconds / middle['CLARABEL']:5.2f}")

# %% [markdown]
# On problems as small as this one CVXPY's translation is most of it, and that is the same for all. On large
# ones see the table of sizes in the guide.
#
# ## What to do
#
# 1. Leave `solver="auto"`, and `scale="standard"`.
# 2. Believe `status_`, and a warning.
# 3. In doubt ask a second solver. It is one word, and the residuals say who is right.
#
# ## Exercises
#
# 1. Which class is the 1-norm model with the squared hinge? And with a rule and errors of measurement?
#    Guess, then ask.
# 2. What becomes of `solver_options={"max_iter": 3}` if `solver` is a list?
# 3. Two wrongs: give the problem with the two hard rules to a solver that proves nothing, and let the list
#    go on to one that does.
#
# ## Solutions
#
# **1.** $\sum_i \xi_i^2$ is quadratic, so a QP. With cones it is an SOCP, whatever else there is.

# %%
guess = {
    "1-norm, squared hinge": {"norm": "l1", "loss": "squared_hinge"},
    "1-norm + rule + errors": {"norm": "l1", "prior": rule + errors},
}
asked = {
    name: class_of(PriorSVC(scale="standard", **parameters).fit(X, y)) for name, parameters in guess.items()
}
print(asked)

# %% [markdown]
# **2.** It is refused before anything is solved: every solver has words of its own, and SCS calls the same
# limit `max_iters`. With a list, options go by the solvers' names. Clarabel then ends without an answer, and
# SCS, which was not stopped, gives one.

# %%
_, unknown = attempt(["CLARABEL", "SCS"], prior=rule, solver_options={"max_iter": 3})
print(type(unknown).__name__, "-", unknown)
second, _ = attempt(["CLARABEL", "SCS"], prior=rule, solver_options={"CLARABEL": {"max_iter": 3}})
print("answered by", second.solver_)

# %% [markdown]
# **3.** A failure is passed on, a proof ends the list. Where no such solver is installed, all of them prove
# it.

# %%
doubtful = [solver for solver in able("QP") if not SOLVERS[solver].certifies]
_, ended = attempt([*doubtful, "CLARABEL"], prior=clash)
print(type(ended).__name__, "-", ended)

# %% [markdown]
# ## What this notebook claims, checked

# %%
# Classes, and what "auto" makes of them.
assert kinds["class"].to_dict() == {
    "1-norm": "LP",
    "1-norm + rule": "LP",
    "1-norm + soft hint": "QP",
    "plain": "QP",
    "costs": "QP",
    "rule": "QP",
    "measurement errors": "SOCP",
    "1-norm + errors": "SOCP",
    "drift, degree 2": "SOCP",
    "drift, degree 4": "SDP",
    "worst of moves, RBF": "QP",
}
assert kinds.loc["costs", "auto chose"] == "LIBSVM"
assert kinds.loc["1-norm", "auto chose"] == "CENTRES"
assert kinds.loc["worst of moves, RBF", "auto chose"] == "COLUMNS"
assert all("'uncertain_samples' adds second-order cones" in text for text in refused.values())

# Whoever takes a problem gets the same objective, and Clarabel's residuals are small.
for problem, group in found.groupby("problem"):
    np.testing.assert_allclose(group["objective"], group["objective"].iloc[0], rtol=2e-3, err_msg=problem)
assert found[found["solver"] == "CLARABEL"][list(marks)].max(axis=None) < 1e-8

# Twin columns: one objective, different weights with the same sum.
for w in weights.values():
    np.testing.assert_allclose(w.sum(), 2.0, atol=1e-2)

# Lists, names, conflicts.
assert took["1-norm + rule"] == "HIGHS"
assert took["rule"] == took["drift, degree 4"] == "CLARABEL"
assert "Did you mean 'CLARABEL'" in str(misspelt)
for solver, error in verdicts.items():
    assert isinstance(error, PriorSVMError), solver
    if SOLVERS[solver].certifies:
        assert isinstance(error, Infeasible), solver
assert "'surgeon'" in str(ended)
assert "'textbook'" in str(ended)

# Scaling mends what units have spoilt; what is accepted has small residuals.
assert len(failed) > 0
assert (failed["scale"] == "None").all()
assert trouble["worst residual"].max() <= 1e-2
scaled = trouble[trouble["scale"] == "standard"].pivot(
    index="solver", columns="power", values="worst residual"
)
assert (scaled.loc["CLARABEL"] < 1e-8).all()

# Tolerances, and a solver stopped early: the residual and the error of f fall together.
assert careful[careful["solver"] == "CLARABEL"]["worst residual"].max() < 1e-8
assert careful[careful["solver"] == "LIBSVM"]["f differs by"].iloc[-1] < 1e-5
kept = stopped[stopped["error of f"] > 0].set_index("steps")
assert kept["residual"].is_monotonic_decreasing
assert np.corrcoef(np.log(kept["residual"]), np.log(kept["error of f"]))[0, 1] > 0.9
assert list(stopped["status"].drop_duplicates()) == ["refused", "optimal_inaccurate", "optimal"]

# The exercises.
assert asked == {"1-norm, squared hinge": "QP", "1-norm + rule + errors": "SOCP"}
assert "'max_iter' must be a solver of the list" in str(unknown)
assert second.solver_ == "SCS"
assert isinstance(ended, Infeasible)
print("all of it holds")
