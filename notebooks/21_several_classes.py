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
# # What does a rule mean if there are more than two classes?
#
# A decision function has two sides. With three and more classes there are several of them: one for each
# class, one for each pair, or all in one problem. The choice changes the decision boundaries, the meaning of
# a block, and the time of a fit.
#
# **You learn**
#
# - how one-vs-rest, one-vs-one and the joint model combine decision functions,
# - why one-vs-rest fails for a class in the middle, and when this does not matter,
# - the dual of the joint model of Crammer and Singer,
# - which of several models a rule belongs to.
#
# **You need** lessons 1, 3 and 5
#
# **Time** 20 minutes
#
# **Theorem** The dual of the joint model has one bound for each row, and its decision functions have the sum
# zero.

# %%
import cvxpy as cp
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from priorsvm import RBF, Polynomial, PriorSVC, Rule

COLOURS = {"low": "#0072B2", "middle": "#E69F00", "high": "#D55E00"}


def draw(count, seed):
    """Return rows of three classes that lie side by side."""
    rng = np.random.default_rng(seed)
    position = np.arange(count) % 3
    X = np.column_stack([2.2 * (position - 1) + 0.5 * rng.normal(size=count), rng.normal(size=count)])
    return X, np.array(["low", "middle", "high"])[position]


X, y = draw(60, seed=0)
X_new, y_new = draw(3000, seed=1)

# %% tags=["hide-input"]
# alt: Decision regions of three classes side by side. One-vs-rest gives the middle class a narrow strip,
# one-vs-one a wide strip.
mesh = np.stack(np.meshgrid(np.linspace(-4.2, 4.2, 140), np.linspace(-3, 3, 100)), axis=-1)


def regions(axes, model, title):
    """Draw the predicted class of the plane, and the rows."""
    names = list(COLOURS)
    predicted = np.vectorize(names.index)(model.predict(mesh.reshape(-1, 2))).reshape(mesh.shape[:2])
    colours = list(COLOURS.values())
    axes.contourf(
        *np.moveaxis(mesh, -1, 0), predicted, levels=[-0.5, 0.5, 1.5, 2.5], colors=colours, alpha=0.25
    )
    for name, marker in zip(names, "os^", strict=True):
        axes.scatter(*X[y == name].T, color=COLOURS[name], marker=marker, edgecolor="black", s=26, label=name)
    axes.set(title=title, xlabel="$x_0$")


figure, panels = plt.subplots(1, 2, figsize=(9.5, 3.4), sharey=True, layout="constrained")
for axes, kind in zip(panels, ("ovr", "ovo"), strict=True):
    model = PriorSVC(multi_class=kind).fit(X, y)
    regions(axes, model, f'"{kind}": {model.score(X_new, y_new):.0%} of new rows correct')
panels[1].legend(loc="upper left", bbox_to_anchor=(1.01, 1))
plt.show()

# %% [markdown]
# Both models are linear, with the same rows and the same $C$.
#
# ## One against the rest
#
# `multi_class="ovr"`, the default, fits one model for each class: this class against all others. The
# prediction is the class with the largest $f_k(x)$. On the left *middle* has to be separated from *low* and
# *high* together. No line does this. The best $f$ is constant:

# %%
rest = PriorSVC().fit(X, y)
for name, w, b in zip(rest.classes_, rest.coef_, rest.intercept_, strict=True):
    print(f"{name:7s} w = {w.round(2) + 0.0}, b = {b:.2f}")

# %% [markdown]
# The middle class still has a region, where $-1$ is the largest of the three values. But its width has
# nothing to do with its rows.
#
# ## One against one
#
# `multi_class="ovo"` fits one model for each pair of classes, on the rows of these two classes. Each model
# votes. For ten classes there are 45 small models. Each pair of these classes can be separated
# by a line.
#
# ## All at once
#
# `multi_class="joint"` solves one problem (Crammer and Singer, 2001). The right class has to lead every other
# class by 1:
#
# $$\min \; \tfrac12 \sum_k \lVert f_k \rVert^2 + C \sum_i \xi_i, \qquad
# f_{y_i}(x_i) - f_k(x_i) \ge 1 - \xi_i \;\text{ for all } k \ne y_i, \quad \xi_i \ge 0 .$$
#
# A row pays once, for its strongest wrong class. The joint model has no bias. A constant in the kernel
# replaces it: `Polynomial(1, gamma=1, coef0=1)` is $x^\top z + 1$.

# %%
# alt: Decision regions of the joint model: the strip of the middle class is wide, with almost parallel
# borders.
affine = Polynomial(1, gamma=1.0, coef0=1.0)
joint = PriorSVC(multi_class="joint", kernel=affine).fit(X, y)
figure, axes = plt.subplots(figsize=(5, 3.4), layout="constrained")
regions(axes, joint, f'"joint": {joint.score(X_new, y_new):.0%} of new rows correct')
plt.show()

# %% [markdown]
# ## The theorem
#
# **Theorem.** The dual of the joint model is
#
# $$\max_{\alpha \ge 0} \; \sum_{i} \sum_{k \ne y_i} \alpha_{ik}
# - \tfrac12 \sum_{i,j} k(x_i, x_j) \sum_k a_{ik} a_{jk}
# \qquad \text{s.t.} \quad \sum_{k \ne y_i} \alpha_{ik} \le C ,$$
#
# with $a_{ik} = -\alpha_{ik}$ for $k \ne y_i$, and $a_{i y_i} = \sum_{k \ne y_i} \alpha_{ik}$. Both
# optima are equal, and $f_k = \sum_i a_{ik}\, k(x_i, \cdot)$. So $\sum_k f_k = 0$ everywhere.
#
# *Proof.* Give the margin of row $i$ against class $k$ the multiplier $\alpha_{ik} \ge 0$. The Lagrangian is
#
# $$L = \tfrac12 \sum_k \lVert f_k \rVert^2 + C \sum_i \xi_i
# + \sum_{i, k \ne y_i} \alpha_{ik} \bigl(1 - \xi_i - f_{y_i}(x_i) + f_k(x_i)\bigr) - \sum_i u_i \xi_i .$$
#
# Its minimum over $f_k$ is at $f_k = \sum_i a_{ik}\, k(x_i, \cdot)$, by the reproducing property. Its
# minimum over $\xi_i$ is finite only if $\sum_k \alpha_{ik} = C - u_i \le C$. Put both into $L$: the dual
# remains. The primal is convex with affine constraints and has a feasible point, so strong duality holds.
# Since $\sum_k a_{ik} = 0$ for each row, the sum of all $f_k$ is zero. ∎
#
# The constraint replaces the box $0 \le \alpha_i \le C$ of two classes. Here is the dual in CVXPY.

# %%
Y = (y[:, None] == joint.classes_).astype(float)  # 1 at the right class
alpha = cp.Variable((60, 3), nonneg=True)
signed = cp.multiply(Y, cp.sum(alpha, axis=1, keepdims=True) @ np.ones((1, 3))) - alpha
factor = np.column_stack([X, np.ones(60)])  # K = factor @ factor.T
dual = cp.Problem(
    cp.Maximize(cp.sum(alpha) - 0.5 * cp.sum_squares(factor.T @ signed)),
    [cp.multiply(Y, alpha) == 0, cp.sum(alpha, axis=1) <= 1.0],
)
dual.solve(solver="CLARABEL")
f = joint.decision_function(X_new)
print(f"joint model {joint.objective_:.6f}, dual by hand {dual.value:.6f}")
print(f"largest sum of the three decision functions: {np.abs(f.sum(axis=1)).max():.0e}")

# %% [markdown]
# ## Does it matter?
#
# Classes side by side are hard for a linear one-vs-rest model. An RBF kernel can enclose a class. Take the
# ten digits, with ten labelled rows of each, the RBF kernel, and six draws.

# %%
images, digit = load_digits(return_X_y=True)
kinds = {"ovr": [], "ovo": [], "joint": []}
for seed in range(6):
    split = train_test_split(images / 16, digit, train_size=100, stratify=digit, random_state=seed)
    rows, rows_test, labels, labels_test = split
    for kind, found in kinds.items():
        model = PriorSVC(multi_class=kind, kernel=RBF(0.1), C=10).fit(rows, labels)
        found.append(100 * (1 - model.score(rows_test, labels_test)))
for kind, found in kinds.items():
    gain = np.array(kinds["ovr"]) - found
    error = gain.std(ddof=1) / np.sqrt(len(gain))
    print(f"{kind:6s}{np.mean(found):5.1f} % wrong, gain over ovr {gain.mean():+.1f} ± {error:.1f}")

# %% [markdown]
# There is no difference worth a choice. So choose by what the knowledge is about:
#
# | `multi_class` | fits | a block that names a class | blocks |
# |---|---|---|---|
# | `"ovr"` | one model for each class | is part of every model, with the sign of its class | nearly all |
# | `"ovo"` | one model for each pair | is part of the pairs with this class | all but `Transductive` |
# | `"joint"` | one model | only through rows | costs, added rows, `InvariantLoss` |
#
# ## A rule with three classes
#
# The rule below names *high*. In one-vs-rest it states: the model of *high* is positive there, and the models
# of *low* and *middle* are negative there. `report_` has one part for each model.

# %%
rule = Rule("x0 >= 1 and x1 >= 1", label="high", hard=True, holds="everywhere")
with_rule = PriorSVC(rule, multi_class="ovr", kernel="rbf").fit(X, y)
for check in with_rule.verify().checks:
    print(f"{check.label}: holds {check.verdict.holds}")
corner = np.column_stack([np.linspace(1, 4, 50), np.linspace(1, 3, 50)])
print("predicted along the diagonal of the region:", set(with_rule.predict(corner)))

# %% [markdown]
# ## Exercises

# %% [markdown] tags=["exercise"]
# ### Exercise 1: which pairs?
#
# Fit the same rule with `multi_class="ovo"`. List the pairs of classes whose model contains the rule. Each
# pair is a tuple in alphabetical order.

# %% tags=["answer"]
pairs_with_rule = ...  # your answer: a list of tuples of two names

# %% tags=["solution"]
pairs_with_rule = [("high", "low"), ("high", "middle")]

# %% [markdown] tags=["solution"]
# The model of *low* and *middle* has no class that the rule names. `report_.inactive` lists these models.

# %% tags=["check"]
by_pairs = PriorSVC(rule, multi_class="ovo", kernel="rbf").fit(X, y)
inactive = set(by_pairs.report_.inactive["rule"])
assert all(len(pair) == 2 for pair in pairs_with_rule), "A pair has two names."
assert not inactive & set(pairs_with_rule), "A model without this class cannot contain the rule."
assert len(set(pairs_with_rule)) + len(inactive) == 3, "A pair is missing."

# %% tags=["wrong"]
pairs_with_rule = [("high", "low"), ("high", "middle"), ("low", "middle")]

# %% tags=["wrong"]
pairs_with_rule = [("high", "low")]

# %% [markdown] tags=["exercise"]
# ### Exercise 2: how many models, and how large?
#
# A table has ten classes with ten rows each. How many models does one-vs-one fit, and how many rows has each?

# %% tags=["answer"]
n_models = ...  # your answer: a number
n_rows = ...  # your answer: a number

# %% tags=["solution"]
n_models = 10 * 9 // 2
n_rows = 20

# %% tags=["check"]
fitted = PriorSVC(multi_class="ovo", kernel=RBF(0.1)).fit(rows, labels)
assert n_models == len(fitted.solver_), "Each pair of classes has one model. The order does not count."
assert n_rows == np.isin(labels, [0, 1]).sum(), "A model has the rows of its two classes."

# %% tags=["wrong"]
n_models = 90
n_rows = 20

# %% tags=["wrong"]
n_models = 45
n_rows = 100

# %% [markdown] tags=["exercise"]
# ### Exercise 3: two classes in the joint model
#
# For two classes the theorem gives $f_0 = -f_1$. Put $f_1 = g / 2$ into the joint problem with weight $C$. It
# becomes a factor times the problem $\frac12 \lVert g \rVert^2 + C' \sum_i \xi_i$ with
# $y_i g(x_i) \ge 1 - \xi_i$. Give the `factor` and the `new_C`, for $C = 3$.

# %% tags=["answer"]
factor_of_two = ...  # your answer: a number
new_C = ...  # your answer: a number

# %% tags=["solution"]
factor_of_two = 0.5
new_C = 6.0

# %% [markdown] tags=["solution"]
# The norms are $\frac12 \lVert g/2 \rVert^2 \cdot 2 = \frac14 \lVert g \rVert^2$. The lead is
# $f_{y_i} - f_k = y_i g$. So the objective is $\frac14 \lVert g \rVert^2 + C \sum_i \xi_i =
# \frac12 \bigl(\frac12 \lVert g \rVert^2 + 2 C \sum_i \xi_i\bigr)$.

# %% tags=["check"]
both = y != "middle"
sign = np.where(y[both] == "high", 1.0, -1.0)
u = cp.Variable((2, 3))
slack = cp.Variable(both.sum(), nonneg=True)
lead = cp.multiply(sign, factor[both] @ (u[1] - u[0]))
together = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(u) + 3.0 * cp.sum(slack)), [lead >= 1 - slack])
w = cp.Variable(3)
margin = cp.multiply(sign, factor[both] @ w)
single = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(w) + new_C * cp.sum(slack)), [margin >= 1 - slack])
values = together.solve(solver="CLARABEL"), single.solve(solver="CLARABEL")
assert new_C > 0, "The weight of the slacks is positive."
assert np.allclose(np.outer([-0.5, 0.5], w.value), u.value, atol=1e-4), "Compare norm and slack terms."
assert np.isclose(values[0], factor_of_two * values[1], rtol=1e-5), "The factor is in front of both terms."

# %% tags=["wrong"]
factor_of_two = 1.0
new_C = 3.0

# %% tags=["wrong"]
factor_of_two = 0.25
new_C = 6.0

# %% [markdown]
# ## What this lesson claims, checked

# %% tags=["claims"]
# The claims of this lesson.
# One-vs-rest has a constant for the class in the middle, and the other models separate it.
right = {kind: PriorSVC(multi_class=kind).fit(X, y).score(X_new, y_new) for kind in ("ovr", "ovo")}
middle = list(rest.classes_).index("middle")
assert np.abs(rest.coef_[middle]).max() < 1e-6
assert right["ovr"] < right["ovo"] - 0.03
assert joint.score(X_new, y_new) > right["ovr"] + 0.03

# The dual by hand is the joint model, and the decision functions have the sum zero.
np.testing.assert_allclose(joint.objective_, dual.value, rtol=1e-5)
assert np.abs(f.sum(axis=1)).max() < 1e-8

# With an RBF kernel the three are equally good on digits.
errors = [np.mean(found) for found in kinds.values()]
assert max(errors) - min(errors) < 1.5

# The rule holds in all three models.
assert all(check.verdict.holds for check in with_rule.verify().checks)
assert set(with_rule.predict(corner)) == {"high"}
print("all claims hold")

# %% [markdown]
# **Next** lesson 22 is about solvers.
