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
# # How does the answer change with C and μ?
#
# Every model has weights: $C$ for errors and $\mu$ for knowledge. One fit shows one value of them. This
# lesson looks at all values, finds simple laws behind the curves, and uses them.
#
# **You learn**
#
# - to fit a whole path with `fit_path`;
# - why the optimal value is concave in a weight, and what its slope is;
# - why the weights of a linear SVM change along straight lines;
# - from which $C$ on nothing changes.
#
# **You need** lesson 1.
#
# **Time** 20 minutes
#
# **Theorem** The optimal value is concave in each weight, and its slope is the weighted term, which never
# grows. The solution of an SVM is piecewise linear in $C$.

# %%
# alt: Four weights over C on a logarithmic axis. The weights of the petals grow, and the weights of the
# sepals fall below zero.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer, load_iris

from priorsvm import MonotonicityHint, PriorSVC, plot

iris = load_iris(as_frame=True)
two = iris.target > 0
X, y = iris.data[two], iris.target_names[iris.target[two]]
sign = np.where(y == "virginica", 1.0, -1.0)

grid = np.logspace(-2, 2, 25)
models = PriorSVC().fit_path(X, y, {"C": grid})
plot.path(models, grid, show="weights").set(xlabel="C")
plt.show()

# %% [markdown]
# ## A path in $C$
#
# `fit_path` returns one fitted model for each value. What the fits have in common is computed once.
#
# A large $C$ makes slack expensive: the margin becomes narrow, and the weights grow. The next picture has
# the optimal value $J(C)$ and the sum of slacks.

# %%
C = np.linspace(0.02, 1.5, 149)
path = PriorSVC(tol=1e-8).fit_path(X, y, {"C": C})
J = np.array([model.objective_ for model in path])
slack = np.array([np.maximum(0, 1 - sign * model.decision_function(X)).sum() for model in path])

# %% tags=["hide-input"]
# alt: Left: the optimal value is a concave curve over C, and the sum of slacks is its slope. Right: the sum
# of slacks falls as C grows.
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
left.plot(C, J, color="black", label="optimal value J")
tangent = J[30] + slack[30] * (C - C[30])
left.plot(C, tangent, "--", color="#D55E00", label=f"slope: sum of slacks at C = {C[30]:.2f}")
left.set(xlabel="C", ylim=(0, 1.4 * J[-1]))
left.legend()
right.plot(C, slack, color="#0072B2")
right.set(xlabel="C", title="sum of slacks", ylim=(0, None))
plt.show()

# %% [markdown]
# ## The theorem
#
# Let $J(\mu) = \min_f\, [A(f) + \mu B(f)]$, with a solution $f_\mu$ for each $\mu \ge 0$. For $\mu = C$ and
# $B = \sum_i \xi_i$ it is the SVM. For $J_{PK} = \mu B$ it is a block with weight $\mu$.
#
# **1. $J$ is concave.** For each fixed $f$ the value $A(f) + \mu B(f)$ is a straight line in $\mu$. A
# minimum of straight lines is concave.
#
# **2. The slope is $B(f_\mu)$.** The line of $f_\mu$ is above $J$ everywhere and touches it at $\mu$. So
# its slope is that of $J$ wherever $J$ has one.
#
# **3. $B(f_\mu)$ never grows, and $A(f_\mu)$ never falls.** The slope of a concave function never grows.
# And for $\mu < \nu$, $f_\mu$ is optimal at $\mu$: $A(f_\mu) + \mu B(f_\mu) \le A(f_\nu) + \mu B(f_\nu)$,
# so $A(f_\nu) - A(f_\mu) \ge \mu\,(B(f_\mu) - B(f_\nu)) \ge 0$. ∎
#
# Verified: differences of $J$ lie between the slopes at both ends.

# %%
steps = np.diff(J) / np.diff(C)
inside = np.all((steps <= slack[:-1] + 1e-3) & (steps >= slack[1:] - 1e-3))
print("each step of J lies between its slopes:", bool(inside))
print(f"largest growth of the sum of slacks: {np.diff(slack).max():.1e}")
print(f"J bends downwards: largest second difference {np.diff(J, 2).max():.1e}")

# %% [markdown]
# ## Straight lines with kinks
#
# **Theorem** (Hastie, Rosset, Tibshirani and Zhu 2004). The solution of the SVM is piecewise linear in $C$.
#
# **Proof idea.** Between two kinks each row stays in its group of lesson 1. Rows with $\alpha_i = 0$ do
# not matter, rows with slack have $\alpha_i = C$. The rows on their dashed line satisfy $y_i f(x_i) = 1$,
# and $\sum_i \alpha_i y_i = 0$. These are linear equations for $b$ and the other $\alpha_i$, and $C$ enters
# them linearly. So $\alpha$, $b$ and $w = \sum_i \alpha_i y_i x_i$ are linear in $C$ until a row changes
# its group. ∎
#
# Verified: second differences of the weights are zero but for a few steps, and there the groups change.

# %%
weights = np.array([model.coef_[0] for model in path])
bend = np.abs(np.diff(weights, 2, axis=0)).max(axis=1)
margins = np.array([sign * model.decision_function(X) for model in path])
group = (margins < 1 - 1e-4).astype(int) - (margins > 1 + 1e-4)
moves = np.any(np.diff(group, axis=0) != 0, axis=1)
near_a_move = moves[:-1] | moves[1:]
print(f"{np.sum(bend > 1e-4)} of {len(bend)} places have a kink; at {np.sum(near_a_move)} places a row moves")
print(f"largest bend without a move: {bend[~near_a_move].max():.1e}, with one: {bend[near_a_move].max():.1e}")

# %% tags=["hide-input"]
# alt: Four weights over C are piecewise straight. Grey vertical lines mark the kinks, which are dense for
# small C.
figure, axes = plt.subplots(figsize=(8, 3.8), layout="constrained")
for name, values in zip(X.columns, weights.T, strict=True):
    axes.plot(C, values, label=name)
for place in C[1:-1][bend > 1e-4]:
    axes.axvline(place, color="0.85", zorder=0)
axes.set(xlabel="C", ylabel="weight", title="Weights are straight between kinks (grey)")
axes.legend(loc="center right", fontsize=8)
plt.show()

# %% [markdown]
# ## A path in $\mu$
#
# The laws hold for knowledge too. The hint states that the score of *malignant* rises with the radius and
# with the texture. It is a penalty, so it may be violated.

# %%
cancer = load_breast_cancer(as_frame=True)
tumours = cancer.data[["mean radius", "mean texture", "mean smoothness"]]
finding = cancer.target_names[cancer.target]
few = np.random.default_rng(5).permutation(len(finding))[:30]
mu = np.logspace(-1, 4, 21)
hint = MonotonicityHint({"mean radius": +1, "mean texture": +1}, label="malignant").named("rises")
hinted = PriorSVC(hint, C=10, kernel="rbf", scale="standard").fit_path(
    tumours.iloc[few], finding[few], {"rises__mu": mu}
)
value = np.array([model.objective_ for model in hinted])
penalty = np.array([model.report_["rises"][0].contribution for model in hinted]) / mu

# %% tags=["hide-input"]
# alt: Left: the optimal value rises with the weight of the hint and levels off. Right: the penalty of the
# hint over its weight falls to almost zero.
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.4), layout="constrained")
left.semilogx(mu, value, "o-", color="black", markersize=4)
left.set(xlabel=r"$\mu$", title="optimal value")
right.loglog(mu, penalty, "o-", color="#0072B2", markersize=4)
right.set(xlabel=r"$\mu$", title="penalty of the hint over its weight")
plt.show()

# %% [markdown]
# The value rises, ever more slowly for equal steps of $\mu$, and the violation falls. No law says that the
# test error falls. How to choose $\mu$ is the subject of lesson 19.
#
# ## Exercises

# %% [markdown] tags=["exercise"]
# ### Exercise 1: a slope from one fit
#
# How fast does the optimal value grow with $C$ at $C = 1$? Compute `slope` from `one` alone, without a
# second fit.

# %%
one = PriorSVC(C=1.0, tol=1e-8).fit(X, y)

# %% tags=["answer"]
slope = ...  # your answer: a number

# %% [markdown] tags=["solution"]
# By part 2 of the theorem it is the sum of slacks.

# %% tags=["solution"]
slope = np.maximum(0, 1 - sign * one.decision_function(X)).sum()

# %% tags=["check"]
more, less = (PriorSVC(C=value, tol=1e-8).fit(X, y).objective_ for value in (1.01, 0.99))
measured = (more - less) / 0.02
assert np.isclose(slope, measured, rtol=0.01), (
    "A difference quotient of J has another value. What does C multiply?"
)

# %% tags=["wrong"]
slope = one.objective_

# %% [markdown] tags=["exercise"]
# ### Exercise 2: a model between two models
#
# `before` and `after` have no kink between them. Compute the weights `between` at $C = 0.0042$ without a fit.

# %%
before, after = (PriorSVC(C=value, tol=1e-8).fit(X, y) for value in (0.004, 0.005))

# %% tags=["answer"]
between = ...  # your answer: four weights

# %% [markdown] tags=["solution"]
# The weights are linear in $C$, and 0.0042 is a fifth of the way.

# %% tags=["solution"]
between = 0.8 * before.coef_[0] + 0.2 * after.coef_[0]

# %% tags=["check"]
fitted = PriorSVC(C=0.0042, tol=1e-8).fit(X, y).coef_[0]
assert np.allclose(between, fitted, rtol=1e-4), "A fit at C = 0.0042 has other weights. How far along is it?"

# %% tags=["wrong"]
between = 0.5 * before.coef_[0] + 0.5 * after.coef_[0]

# %% [markdown] tags=["exercise"]
# ### Exercise 3: where the path ends
#
# A line separates *setosa* from *versicolor*. From some $C$ on the model is the one without slack, `hard`.
# Compute this `end` from the dual variables of `hard`.

# %%
first = iris.target < 2
hard = PriorSVC(C=np.inf).fit(iris.data[first], iris.target[first])
alpha = hard.problem.constraints[0].dual_value

# %% tags=["answer"]
end = ...  # your answer: a number

# %% [markdown] tags=["solution"]
# The model without slack satisfies the KKT conditions of $C$ exactly if $0 \le \alpha_i \le C$ for all rows.

# %% tags=["solution"]
end = np.max(alpha)
print(f"from C = {end:.3f} on nothing changes")

# %% tags=["check"]
assert end > 0, "C is positive."
above, below = (PriorSVC(C=c * end, tol=1e-8).fit(iris.data[first], iris.target[first]) for c in (1.02, 0.9))
assert np.allclose(above.coef_, hard.coef_, atol=1e-3), "Above this C the model still has slack."
assert not np.allclose(below.coef_, hard.coef_, atol=1e-3), "The path ends earlier: try a smaller C."

# %% tags=["wrong"]
end = np.sum(alpha)

# %% [markdown]
# ## What this lesson claims, checked

# %% tags=["claims"]
# Concave values, slopes, and violations that never grow.
assert inside
assert np.diff(slack).max() < 1e-3
assert np.diff(J, 2).max() < 1e-4
assert np.all(np.diff(value) > -1e-5)
slopes_of_value = np.diff(value) / np.diff(mu)
assert np.all(slopes_of_value <= penalty[:-1] + 1e-3)
assert np.all(slopes_of_value >= penalty[1:] - 1e-3)
assert np.diff(penalty).max() < 1e-3

# Weights bend only where a row changes its group.
assert bend[~near_a_move].max() < 1e-4 < bend[near_a_move].max()
assert len(path) == len(C)

# %% [markdown]
# **Next** part B, lesson 5: rules over the rows of a table.
