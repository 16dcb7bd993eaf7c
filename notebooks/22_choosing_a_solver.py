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
# `PriorSVC` states a problem, and a solver solves it. Some solvers accept every problem and are roughly
# right. Some are right to ten digits and accept only the simplest kind. And now and then a solver reports
# "optimal" and is wrong. This lesson sorts problems into classes, and measures how wrong an answer is,
# without the right answer.
#
# **You learn**
#
# - the classes of convex problems, and which blocks lead to which class,
# - to read residuals, and the statuses that follow from them,
# - why a duality gap bounds the distance to the optimal $f$,
# - what to do if a solver fails, or the problem is infeasible.
#
# **You need** lessons 1, 8 and 13
#
# **Time** 25 minutes
#
# **Theorem** The duality gap of an SVM bounds the distance of an answer from the optimal $f$.

# %%
import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from IPython.display import display
from sklearn.datasets import load_breast_cancer

from priorsvm import (
    ClassCosts,
    InvariantLoss,
    Monotone,
    MonotonicityHint,
    PriorSVC,
    Rule,
    Shift,
    Trajectories,
    UncertainSamples,
    errors,
    solvers,
)

# %% tags=["hide-input"]
# alt: Table of solvers and classes of problems: squares mark what a solver takes, with its accuracy and
# whether it proves that a problem is infeasible.

# This lesson is about solvers: the checks of rules against the data are silenced.
for name in ("AgainstData", "DirectionAgainstData", "FarFromData", "Outbid", "ZeroedColumns"):
    warnings.simplefilter("ignore", getattr(errors, name))
facts = {solver: entry for solver, entry in solvers().items() if entry.measured}
installed = [solver for solver, entry in facts.items() if entry.installed]
classes = ["LP", "QP", "SOCP", "SDP", "EXP"]
figure, axes = plt.subplots(figsize=(8, 0.45 * len(facts) + 1), layout="constrained")
for row, entry in enumerate(facts.values()):
    for column, kind in enumerate(classes):
        takes = kind in entry.solves
        axes.scatter(column, row, marker="s" if takes else ".", s=150 if takes else 15, color="#0072B2")
    axes.text(5, row, f"{entry.accuracy:.0e}", va="center", ha="center")
    axes.text(6, row, "yes" if entry.certifies else "no", va="center", ha="center")
axes.set_yticks(range(len(facts)), facts)
axes.set_xticks(range(7), [*classes, "accuracy", "proves\ninfeasible"])
axes.set(xlim=(-0.6, 6.6), ylim=(len(facts) - 0.5, -0.5))
axes.xaxis.tick_top()
axes.spines[:].set_visible(False)
plt.show()

# %% [markdown]
# The picture shows the solvers that the library has measured. *Accuracy* is the relative residual from which
# on the library warns. Every other solver that CVXPY has installed is a name for `solver=`, too.
#
# ## Five classes, each contained in the next
#
# | class | objective | constraints |
# |---|---|---|
# | LP | linear | linear |
# | QP | convex quadratic | linear |
# | SOCP | as QP | $\lVert Ax + b \rVert \le c^\top x + d$, second-order cones |
# | SDP | as QP | matrices that are positive semidefinite |
# | EXP | | $u\, e^{v/u} \le w$, exponential cones; only blocks of your own need them |
#
# A sum of blocks is as hard as its hardest part. Here are models of most classes, on eighty tumours.

# %%
cancer = load_breast_cancer(as_frame=True)
rows = np.random.default_rng(0).permutation(len(cancer.target))[:80]
X = cancer.data.iloc[rows, :5].rename(columns=lambda name: name.removeprefix("mean "))
y = np.where(cancer.target.iloc[rows] == 1, "benign", "malignant")

rule = Rule("radius >= 18", label="malignant", holds="everywhere")
hint = MonotonicityHint({"radius": +1}, label="malignant")
noise = UncertainSamples(0.2 * X.std().to_numpy())
drift = Shift(0.5 * X.std().to_numpy() * np.array([0, 0, 0, 0, 1.0]))
models = {
    "1-norm": {"norm": "l1"},
    "1-norm, rule": {"prior": rule, "norm": "l1"},
    "1-norm, hint": {"prior": hint, "norm": "l1"},
    "costs": {"prior": ClassCosts({"malignant": 3})},
    "rule": {"prior": rule},
    "errors": {"prior": noise},
    "drift, degree 2": {"prior": Trajectories(drift, degree=2)},
    "drift, degree 4": {"prior": Trajectories(drift, degree=4)},
    "worst move, RBF": {"prior": InvariantLoss(drift), "kernel": "rbf"},
}


# %%
def class_of(model):
    """Return the class of a problem: from its objective, and from the cones that CVXPY compiles."""
    cones = model.problem.get_problem_data("CLARABEL")[0]["dims"]
    if cones.exp:
        return "EXP"
    if cones.psd:
        return "SDP"
    if cones.soc:
        return "SOCP"
    return "LP" if model.problem.objective.expr.is_pwl() else "QP"


found = {}
for name, parameters in models.items():
    model = PriorSVC(scale="standard", **parameters).fit(X, y)
    found[name] = {"class": class_of(model), "auto chose": model.solver_}
table = pd.DataFrame(found).T
display(table)

# %% [markdown]
# A 1-norm model is an LP, a 2-norm model a QP. A soft hint is squared. Errors of measurement add cones. A
# trajectory of degree 4 needs a matrix. `solver="auto"` looks at the class. LIBSVM, CENTRES and COLUMNS are
# routes for one kind of problem each.
#
# ## The same problem, by all solvers
#
# A name means this solver and no other. The library puts every answer back into the problem *as it was
# stated*, and computes four residuals. With constraints $h_i(x) \in -\mathcal K_i$, multipliers $u_i$
# and the Lagrangian $L$:
#
# | residual | zero if |
# |---|---|
# | primal | every $h_i(x)$ is in its cone |
# | dual | every $u_i$ is in the dual cone |
# | stationarity | $\nabla_x L = 0$ |
# | gap | $\sum_i u_i^\top h_i(x) = 0$ |

# %%
records = []
for name in ("1-norm, rule", "rule", "errors", "drift, degree 4"):
    able = [solver for solver in installed if table.loc[name, "class"] in facts[solver].solves]
    for solver in able:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", errors.InaccurateSolution)
            model = PriorSVC(scale="standard", solver=solver, **models[name]).fit(X, y)
        residuals = model.report_.solves[0]["residuals"]
        records.append({"problem": name, "solver": solver, "objective": model.objective_, **vars(residuals)})
records = pd.DataFrame(records)

# %% tags=["hide-input"]
# alt: Relative residuals of the solvers on four problems, on a logarithmic axis. They differ by more than ten
# powers of ten between solvers of one problem.
figure, panels = plt.subplots(1, 4, figsize=(13, 3.6), sharey=True, layout="constrained")
marks = {
    "primal": ("o", "#0072B2"),
    "dual": ("v", "0.6"),
    "stationarity": ("s", "#D55E00"),
    "gap": ("^", "black"),
}
for axes, (problem, group) in zip(panels, records.groupby("problem", sort=False), strict=True):
    for name, (marker, colour) in marks.items():
        axes.scatter(group["solver"], group[name].clip(1e-17), marker=marker, color=colour, s=30, label=name)
    axes.set(yscale="log", ylim=(5e-18, 1e-1), title=f"{table.loc[problem, 'class']}: {problem}")
    axes.tick_params(axis="x", rotation=60)
panels[0].set_ylabel("relative residual")
panels[-1].legend(loc="upper right", fontsize=8)
plt.show()

# %% [markdown]
# The objectives agree, and still there are more than ten powers of ten between the best residual and the
# worst. A simplex method ends at a corner, which is exact. An interior-point method stops within a tolerance.
# First-order methods take many cheap steps.
#
# ## The theorem: the gap bounds the error
#
# Let $P(f) = \frac12 \lVert g \rVert^2 + C \sum_i \xi_i(f)$ be the objective of an SVM, and $D(\alpha)$ the
# objective of its dual.
#
# **Theorem.** For every $f = g + b$ and every feasible $\alpha$, the optimal $g^*$ satisfies
#
# $$\tfrac12 \lVert g - g^* \rVert^2 \;\le\; P(f) - P^* \;\le\; P(f) - D(\alpha) .$$
#
# *Proof.* $P(f) - \frac12 \lVert g \rVert^2$ is convex, so with $f_t = f^* + t (f - f^*)$ and $0 < t < 1$
#
# $$P^* \le P(f_t) \le (1 - t) P^* + t P(f) - \tfrac12 t (1 - t) \lVert g - g^* \rVert^2 .$$
#
# Subtract $P^*$, divide by $t$, and let $t \to 0$: this is the first inequality. Weak duality,
# $D(\alpha) \le P^*$, is the second. ∎
#
# So $|g(x) - g^*(x)| \le \sqrt{2\, (P(f) - D(\alpha))\; k(x, x)}$. The bound needs no optimal answer. We stop
# Clarabel early, repair its multipliers so that they are feasible, and compare.

# %%
Z = ((X - X.mean()) / X.std(ddof=0)).to_numpy()
sign = np.where(y == "malignant", 1.0, -1.0)


def gap_of(model):
    """Return P(f) - D(alpha) of a plain SVM on Z, with multipliers that are made feasible."""
    margins = next(c for c in model.problem.constraints if c.label == "svm.margin")
    alpha = np.clip(margins.dual_value, 0, 1)
    sums = {s: alpha[sign == s].sum() for s in (-1, 1)}
    alpha = alpha * np.where(sign == 1, min(sums.values()) / sums[1], min(sums.values()) / sums[-1])
    w = model.coef_[0]
    primal = 0.5 * w @ w + np.maximum(1 - sign * model.decision_function(Z), 0).sum()
    dual = alpha.sum() - 0.5 * np.sum((Z.T @ (alpha * sign)) ** 2)
    return primal - dual


# %%
exact = PriorSVC(solver="CLARABEL", tol=1e-9).fit(Z, y)
stopped = []
for steps in range(4, 12):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", errors.InaccurateSolution)
            model = PriorSVC(solver="CLARABEL", solver_options={"max_iter": steps}).fit(Z, y)
    except errors.SolverFailed:
        continue
    distance = 0.5 * np.sum((model.coef_ - exact.coef_) ** 2)
    stopped.append({"steps": steps, "gap": gap_of(model), "distance": distance, "status": model.status_})
stopped = pd.DataFrame(stopped)

# %% tags=["hide-input"]
# alt: Duality gap and distance to the solution over the steps of Clarabel. Both fall by orders of magnitude,
# and the distance is below the gap.
figure, axes = plt.subplots(figsize=(7, 3.6), layout="constrained")
axes.semilogy(stopped["steps"], stopped["gap"], "o-", color="#0072B2", label="gap $P(f) - D(\\alpha)$")
axes.semilogy(
    stopped["steps"], stopped["distance"].clip(1e-17), "^--", color="#D55E00", label="$\\|g - g^*\\|^2 / 2$"
)
axes.set(xlabel="steps", title="Clarabel, stopped early")
axes.legend()
plt.show()
display(stopped[["steps", "status"]].set_index("steps").T)

# %% [markdown]
# The gap is above the distance at every step. With few steps the answer is refused, then it is reported as
# inaccurate, and then as optimal. For kernels and blocks the library uses the four residuals in the same
# way.
#
# ## When there is no answer
#
# A hard rule states that large tumours are malignant. A second hard block states the opposite direction: the
# score of *malignant* falls with the radius. A third one calls small tumours benign. No linear $f$ satisfies
# all three.

# %%
large = Rule("radius >= 18", label="malignant", hard=True).named("large")
small = Rule("radius <= 10", label="benign", hard=True).named("small")
falls = Monotone({"radius": -1}, label="malignant", hard=True).named("falls")
verdicts = {}
for solver in installed:
    norm = "l2" if "QP" in facts[solver].solves else "l1"
    try:
        PriorSVC(large + small + falls, norm=norm, scale="standard", solver=solver).fit(X, y)
    except errors.PriorSVMError as error:
        verdicts[solver] = error
        print(f"{solver:9s} {type(error).__name__}: {str(error)[:190]} ...")

# %% [markdown]
# Some solvers *prove* that there is no answer. Their multipliers add the constraints up to a contradiction
# (lesson 8). The library then names the blocks. Solvers without a proof fail, which is not a verdict. A list
# such as `solver=["HIGHS", "CLARABEL"]` is an order of fallback, and a proof ends it.
#
# ## When units are far apart
#
# The usual reason for trouble is scale. Here the columns are in units that are apart by up to $10^{12}$. The
# rule is in the same units.

# %%
units = 10.0 ** np.linspace(6, -6, 5)
wide = Rule("radius >= 18000000", label="malignant", holds="everywhere")
worst = {}
for scale in (None, "standard"):
    for solver in [solver for solver in installed if "QP" in facts[solver].solves]:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", errors.InaccurateSolution)
                model = PriorSVC(wide, scale=scale, solver=solver).fit(X * units, y)
            worst[str(scale), solver] = model.report_.solves[0]["residuals"].worst
        except errors.PriorSVMError:
            worst[str(scale), solver] = np.nan
display(pd.Series(worst).unstack().map("{:.0e}".format).replace("nan", "refused"))

# %% [markdown]
# `scale="standard"` removes the units from the problem, and all solvers succeed. So:
#
# 1. Keep `solver="auto"`, and use `scale="standard"`.
# 2. Believe `status_`, and warnings.
# 3. In doubt use a second solver. It is one word, and the residuals show which answer is right.
#
# ## Exercises

# %% [markdown] tags=["exercise"]
# ### Exercise 1: guess the class
#
# Which class are these models? Give "LP", "QP", "SOCP" or "SDP" for each: the 1-norm with the squared hinge,
# the 1-norm with the rule and measurement errors, and the 2-norm with the rule and the hint.

# %% tags=["answer"]
squared_hinge = ...  # your answer: a text
rule_and_errors = ...  # your answer: a text
rule_and_hint = ...  # your answer: a text

# %% tags=["solution"]
squared_hinge = "QP"
rule_and_errors = "SOCP"
rule_and_hint = "QP"

# %% tags=["check"]
truth = [
    class_of(PriorSVC(scale="standard", **parameters).fit(X, y))
    for parameters in (
        {"norm": "l1", "loss": "squared_hinge"},
        {"norm": "l1", "prior": rule + noise},
        {"prior": rule + hint},
    )
]
answers = [squared_hinge, rule_and_errors, rule_and_hint]
assert set(answers) <= {"LP", "QP", "SOCP", "SDP"}, "Give one of the four names for each model."
wrong = [number for number, (a, b) in enumerate(zip(answers, truth, strict=True), 1) if a != b]
assert not wrong, f"Look again at model {wrong}: which part is quadratic, which part is a cone?"

# %% tags=["wrong"]
squared_hinge = "LP"
rule_and_errors = "SOCP"
rule_and_hint = "QP"

# %% [markdown] tags=["exercise"]
# ### Exercise 2: how far can a score be off?
#
# An answer has the gap `gap = 0.005`. Give the largest possible value of $|g(x) - g^*(x)|$ at the row
# `Z[0]`, for a linear model.

# %% tags=["answer"]
largest = ...  # your answer: an expression in Z[0]

# %% tags=["solution"]
largest = np.sqrt(2 * 0.005 * Z[0] @ Z[0])

# %% [markdown] tags=["solution"]
# $\lVert w - w^* \rVert \le \sqrt{2 \cdot 0.005} = 0.1$, and by Cauchy–Schwarz the score changes by at most
# 0.1 times the length of the row.

# %% tags=["check"]
steps = 0.1 * np.random.default_rng(0).normal(size=(2000, 5))
steps *= 0.1 / np.linalg.norm(steps, axis=1, keepdims=True)  # all with half of the squared length 0.005
changes = np.abs(np.vstack([steps, 0.1 * Z[:1] / np.linalg.norm(Z[0])]) @ Z[0])
assert largest >= changes.max() - 1e-9, "Some weights within the bound change the score by more."
assert largest <= changes.max() + 1e-6, "The bound can be smaller. Use Cauchy–Schwarz."

# %% tags=["wrong"]
largest = 0.005 * np.linalg.norm(Z[0])

# %% tags=["wrong"]
largest = 2 * np.sqrt(2 * 0.005) * np.linalg.norm(Z[0])

# %% [markdown] tags=["exercise"]
# ### Exercise 3: two right answers
#
# A table has the same column twice, and a 1-norm model has the weights `w` below. Give different weights
# `other` for the same columns that are optimal, too.

# %% tags=["answer"]
twins = pd.DataFrame({"left": [0.0, 1.0] * 3, "right": [0.0, 1.0] * 3})
w = PriorSVC(norm="l1", C=10).fit(twins, ["no", "yes"] * 3).coef_[0]
other = ...  # your answer: two numbers

# %% tags=["solution"]
twins = pd.DataFrame({"left": [0.0, 1.0] * 3, "right": [0.0, 1.0] * 3})
w = PriorSVC(norm="l1", C=10).fit(twins, ["no", "yes"] * 3).coef_[0]
share = 0.3 if abs(w[0] / w.sum() - 0.3) > 0.01 else 0.6
other = np.array([share, 1 - share]) * w.sum()

# %% [markdown] tags=["solution"]
# Any $w_1 \ge 0$ and $w_2 \ge 0$ with the same sum have the same $f$ and the same 1-norm. So different
# weights of two solvers are not an error. Different *objectives* are.

# %% tags=["check"]
assert np.shape(other) == (2,), "Give two weights."
assert np.abs(np.asarray(other) - w).max() > 1e-3, "These are the same weights."
assert np.isclose(np.sum(other), w.sum(), atol=1e-6), "The decision function has to remain the same."
assert np.isclose(np.abs(other).sum(), np.abs(w).sum(), atol=1e-6), "The 1-norm has to remain the same."

# %% tags=["wrong"]
twins = pd.DataFrame({"left": [0.0, 1.0] * 3, "right": [0.0, 1.0] * 3})
w = PriorSVC(norm="l1", C=10).fit(twins, ["no", "yes"] * 3).coef_[0]
other = np.array([-1.0, 1.0 + w.sum()])

# %% [markdown]
# ## What this lesson claims, checked

# %% tags=["claims"]
# The claims of this lesson.
assert table["class"].to_dict() == {
    "1-norm": "LP",
    "1-norm, rule": "LP",
    "1-norm, hint": "QP",
    "costs": "QP",
    "rule": "QP",
    "errors": "SOCP",
    "drift, degree 2": "SOCP",
    "drift, degree 4": "SDP",
    "worst move, RBF": "QP",
}
assert table.loc["costs", "auto chose"] == "LIBSVM"
assert table.loc["1-norm", "auto chose"] == "CENTRES"
assert table.loc["worst move, RBF", "auto chose"] == "COLUMNS"

# All solvers agree on the objective, and Clarabel's residuals are small.
for problem, group in records.groupby("problem"):
    np.testing.assert_allclose(group["objective"], group["objective"].iloc[0], rtol=2e-3, err_msg=problem)
assert records[records["solver"] == "CLARABEL"][list(marks)].max(axis=None) < 1e-8

# The gap bounds the distance at every step.
assert len(stopped) > 3
assert np.all(stopped["distance"] <= stopped["gap"] + 1e-9)
assert stopped["status"].iloc[-1] == "optimal"

# Solvers that certify name the conflict; scaling removes the trouble with units.
for solver, error in verdicts.items():
    if facts[solver].certifies:
        assert isinstance(error, errors.Infeasible), solver
assert len(verdicts) == len(installed)
assert all(value < 1e-2 for (scale, _), value in worst.items() if scale == "standard")
assert np.isnan([value for (scale, _), value in worst.items() if scale == "None"]).any()
print("all claims hold")

# %% [markdown]
# **Next** lesson 23 writes a block that is not in the library.
