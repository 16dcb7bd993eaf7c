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
# # What problem does an SVM solve?
#
# Two kinds of iris are measured by their petals. Many lines separate them about equally well. This lesson
# states which line a support vector machine draws, and how to prove that a line is the best one.
#
# **You learn**
#
# - what the margin is, and why a wide margin means a small $\lVert w \rVert$;
# - to write the problem in CVXPY and to solve it;
# - to prove with the dual problem that an answer is optimal;
# - to read support vectors and prices from the dual variables.
#
# **You need** linear algebra, and Python with NumPy.
#
# **Time** 25 minutes
#
# **Theorem** Strong duality: the SVM and its dual problem have the same optimal value, and the KKT conditions
# characterise the solution.

# %%
import cvxpy as cp
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris
from sklearn.svm import SVC

from priorsvm import MonotonicityHint, PriorSVC, plot

iris = load_iris()
two = iris.target > 0
X = iris.data[two][:, 2:]
species = iris.target_names[iris.target[two]]
y = np.where(species == "virginica", 1.0, -1.0)
n, d = X.shape

# %% tags=["hide-input"]
# alt: Petal widths over petal lengths of two species, with a few overlapping points. Three dashed lines
# separate most of them in different ways.
BLUE, RED = "#0072B2", "#D55E00"


def draw(*lines):
    """Draw the flowers, and lines (w, b, level, style) where w·x + b = level."""
    _, axes = plt.subplots(figsize=(6.5, 4.2))
    for sign, marker, colour, name in ((-1, "o", BLUE, "versicolor"), (1, "^", RED, "virginica")):
        axes.scatter(*X[y == sign].T, marker=marker, color=colour, s=28, label=name)
    length = np.array([2.8, 7.1])
    for w, b, level, style in lines:
        axes.plot(length, (level - b - w[0] * length) / w[1], style, color="black")
    axes.set(xlabel="petal length in cm", ylabel="petal width in cm", xlim=(2.8, 7.1), ylim=(0.8, 2.7))
    axes.legend(loc="lower right")
    return axes


guesses = (([1.0, 3.0], -9.8), ([1.0, 0.9], -6.45), ([0.3, 2.0], -4.85))
draw(*((w_guess, b_guess, 0, "--") for w_guess, b_guess in guesses)).set_title("Which line is the best?")
plt.show()

# %% [markdown]
# ## The margin
#
# The model is $f(x) = w^\mathsf{T} x + b$, and its sign is the class. The distance of a point $x$ to the line
# $f = 0$ is $|f(x)| / \lVert w \rVert$: the nearest point of the line is $x - f(x)\, w / \lVert w \rVert^2$.

# %%
w_guess, b_guess = np.array([1.0, 0.9]), -6.45
point = X[0]
foot = point - (w_guess @ point + b_guess) * w_guess / (w_guess @ w_guess)
distance = abs(w_guess @ point + b_guess) / np.linalg.norm(w_guess)
print(f"f at the foot: {w_guess @ foot + b_guess:.1e}")
print(f"distance {np.linalg.norm(point - foot):.4f}, by the formula {distance:.4f}")

# %% [markdown]
# Require $y_i f(x_i) \ge 1$ for each flower. Then each flower is at least $1 / \lVert w \rVert$ away from
# the line, on its own side. So the widest margin has the smallest $\lVert w \rVert$.
#
# These two species overlap, so a **slack** $\xi_i \ge 0$ fills the gap of a flower, at the cost $C$:
#
# $$\min_{w, b, \xi}\; \tfrac12 \lVert w \rVert^2 + C \sum_i \xi_i
# \quad\text{s.t.}\quad y_i (w^\mathsf{T} x_i + b) \ge 1 - \xi_i, \quad \xi_i \ge 0 .$$
#
# CVXPY takes the problem almost as it is written.

# %%
C = 1.0
w, b = cp.Variable(d), cp.Variable()
xi = cp.Variable(n, nonneg=True)
margin = cp.multiply(y, X @ w + b) >= 1 - xi
primal = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(w) + C * cp.sum(xi)), [margin])
primal.solve(solver="CLARABEL")
w_by_hand, b_by_hand = w.value, float(b.value)
print("w =", w_by_hand.round(4), " b =", round(b_by_hand, 4), f" objective {primal.value:.4f}")

# %% [markdown]
# `PriorSVC` without prior knowledge is this model, and so is scikit-learn's `SVC`.

# %%
model = PriorSVC(C=C).fit(X, species)
sklearn_model = SVC(C=C, kernel="linear", tol=1e-9).fit(X, species)
print("PriorSVC:     w =", model.coef_[0].round(4), " b =", model.intercept_.round(4))
print("scikit-learn: w =", sklearn_model.coef_[0].round(4), " b =", sklearn_model.intercept_.round(4))

# %% [markdown]
# In the picture the dashed lines are $f = \pm 1$. Rings mark the **support vectors**: flowers on the dashed
# line of their class or beyond it. All other flowers could be removed, and the line would stay where it is.

# %%
# alt: The same flowers with the decision boundary of the SVM and its two margins. Rings mark the support
# vectors: rows on the margins, between them, or on the wrong side.
axes = plot.decision(model)
axes.set(xlabel="petal length in cm", ylabel="petal width in cm")
plt.show()

# %% [markdown]
# ## The theorem
#
# Which proof is there that no other line is better? Take any numbers $0 \le \alpha_i \le C$ with
# $\sum_i \alpha_i y_i = 0$, and set $v = \sum_i \alpha_i y_i x_i$. The **dual problem** is
#
# $$\max_\alpha\; D(\alpha) = \sum_i \alpha_i - \tfrac12 \lVert v \rVert^2
# \quad\text{s.t.}\quad 0 \le \alpha_i \le C, \quad \sum_i \alpha_i y_i = 0 .$$
#
# **Weak duality.** No $D(\alpha)$ exceeds the objective $P$ of any feasible $(w, b, \xi)$:
#
# $$P \;\ge\; \tfrac12 \lVert w \rVert^2 + \sum_i \alpha_i \xi_i
# \;\ge\; \tfrac12 \lVert w \rVert^2 + \sum_i \alpha_i (1 - y_i f(x_i))
# = \tfrac12 \lVert w \rVert^2 + \sum_i \alpha_i - w^\mathsf{T} v \;\ge\; D(\alpha) .$$
#
# The last step is $\tfrac12 \lVert w - v \rVert^2 \ge 0$, and $b$ cancels because
# $\sum_i \alpha_i y_i = 0$. All steps are equalities exactly if the **KKT conditions** hold:
#
# $$w = v, \qquad \alpha_i\,(y_i f(x_i) - 1 + \xi_i) = 0, \qquad (C - \alpha_i)\, \xi_i = 0 .$$
#
# **Strong duality.** Such an $\alpha$ exists. At the solution no direction keeps the active constraints and
# lowers the objective, because a short step would be an improvement. By Farkas' lemma (lesson 8) the
# gradient of the objective is then a nonnegative combination of the gradients of the active constraints.
# Its coefficients are $\alpha_i$ for the margins and $C - \alpha_i$ for $\xi_i \ge 0$. These are the KKT
# conditions.
#
# Verified: the two problems, solved apart, have equal values, and each KKT condition has a small residual.

# %%
a = cp.Variable(n)
bound = cp.sum(a) - 0.5 * cp.sum_squares(X.T @ cp.multiply(y, a))
dual = cp.Problem(cp.Maximize(bound), [a >= 0, a <= C, y @ a == 0])
dual.solve(solver="CLARABEL")
alpha = a.value
residuals = {
    "w - v": np.abs(w_by_hand - (alpha * y) @ X).max(),
    "margins": np.abs(alpha * (y * (X @ w_by_hand + b_by_hand) - 1 + xi.value)).max(),
    "slacks": np.abs((C - alpha) * xi.value).max(),
}
print(f"primal {primal.value:.6f}, dual {dual.value:.6f}")
print("residuals:", {name: f"{value:.0e}" for name, value in residuals.items()})

# %% [markdown]
# The conditions sort the flowers into three groups:
#
# - $\alpha_i = 0$: beyond its dashed line, without effect;
# - $0 < \alpha_i < C$: on its dashed line;
# - $\alpha_i = C$: inside the margin or on the wrong side, with slack.
#
# $\alpha_i$ is also a **price**: it is how much the objective falls per unit if flower $i$ has to reach a
# little less.

# %%
score = y * (X @ w_by_hand + b_by_hand)
groups = {
    "beyond": alpha < 1e-5,
    "on the line": (alpha > 1e-5) & (alpha < C - 1e-5),
    "with slack": alpha > C - 1e-5,
}
for name, members in groups.items():
    print(
        f"{name:12s}{members.sum():4d} flowers, y f {score[members].min():.3f} to {score[members].max():.3f}"
    )
i = int(np.flatnonzero(groups["with slack"])[0])
easier = cp.multiply(y, X @ w + b) >= 1 - xi - 0.01 * np.eye(n)[i]
gain = primal.value - cp.Problem(primal.objective, [easier]).solve(solver="CLARABEL")
print(f"flower {i} has to reach 0.01 less: the objective falls by {gain:.5f}, its price is {alpha[i]:.3f}")

# %% [markdown]
# ## Exercises

# %% [markdown] tags=["exercise"]
# ### Exercise 1: the width of the margin
#
# Compute the distance between the lines $f = -1$ and $f = 1$ of `model`, in cm.

# %% tags=["answer"]
width = ...  # your answer: a number

# %% [markdown] tags=["solution"]
# Both lines have the distance $1 / \lVert w \rVert$ from $f = 0$, on opposite sides.

# %% tags=["solution"]
width = 2 / np.linalg.norm(model.coef_[0])
print(f"{width:.2f} cm")

# %% tags=["check"]
direction = model.coef_[0] / np.linalg.norm(model.coef_[0])
start = X[0] - (model.decision_function(X[:1])[0] + 1) * model.coef_[0] / (model.coef_[0] @ model.coef_[0])
across = model.decision_function([start + width * direction])[0]
assert np.isclose(across, 1, atol=1e-6), (
    f"From f = -1, a step of this length ends at f = {across:.2f}, not at 1."
)

# %% tags=["wrong"]
width = 1 / np.linalg.norm(model.coef_[0])

# %% [markdown] tags=["exercise"]
# ### Exercise 2: a bound without a solver
#
# Every feasible $\alpha$ proves a lower bound on the objective. Find a feasible `candidate` with a positive
# $D$, without a solver. There are 50 flowers of each species, so equal numbers are a good start.

# %% tags=["answer"]
candidate = ...  # your answer: n numbers

# %% [markdown] tags=["solution"]
# Equal numbers $t$ satisfy $\sum_i \alpha_i y_i = 0$. With $v_1$ for $t = 1$, the bound
# $n t - t^2 \lVert v_1 \rVert^2 / 2$ is largest at $t = n / \lVert v_1 \rVert^2$.

# %% tags=["solution"]
v_one = y @ X
candidate = np.full(n, n / (v_one @ v_one))
v = (candidate * y) @ X
print(f"t = {candidate[0]:.4f}: the optimum is at least {candidate.sum() - 0.5 * v @ v:.3f}")

# %% tags=["check"]
feasible = np.all(candidate >= 0) and np.all(candidate <= C) and abs(y @ candidate) < 1e-8
assert feasible, "Is each number between 0 and C, and is the sum of alpha_i y_i zero?"
v = (candidate * y) @ X
proved = candidate.sum() - 0.5 * v @ v
assert 0 < proved <= primal.value + 1e-6, f"This candidate proves only the bound {proved:.2f}. Scale it."

# %% tags=["wrong"]
candidate = np.full(n, C)

# %% [markdown] tags=["exercise"]
# ### Exercise 3: your first prior knowledge
#
# In `noisy` many labels are wrong, and the SVM learns that wide petals mean *versicolor*. You know better:
# $f$ must not fall with the width. Add this knowledge as one linear constraint, and compute `w_with`.

# %%
noisy = np.where(X[:, 1] > np.median(X[:, 1]), -1.0, 1.0) * np.where(np.arange(n) % 4 == 0, -1.0, 1.0)
margin_noisy = cp.multiply(noisy, X @ w + b) >= 1 - xi
cp.Problem(primal.objective, [margin_noisy]).solve(solver="CLARABEL")
w_without = w.value
print("without the knowledge w =", w_without.round(4))

# %% tags=["answer"]
w_with = ...  # your answer: two weights

# %% tags=["solution"]
cp.Problem(primal.objective, [margin_noisy, w[1] >= 0]).solve(solver="CLARABEL")
w_with = w.value
print("with the knowledge w =", w_with.round(4))

# %% [markdown] tags=["solution"]
# `MonotonicityHint({1: +1}, hard=True)` is the block that adds this constraint.

# %% tags=["check"]
block = PriorSVC(MonotonicityHint({1: +1}, hard=True), C=C).fit(X, noisy)
assert w_with[1] >= -1e-6, "f still falls with the width."
assert np.allclose(w_with, block.coef_[0], atol=1e-4), "The model with the block MonotonicityHint differs."

# %% tags=["wrong"]
w_with = np.array([w_without[0], 0.5])

# %% [markdown]
# ## What this lesson claims, checked

# %% tags=["claims"]
# Three ways to one line, and equal values of both problems.
for other in (model, sklearn_model):
    np.testing.assert_allclose(other.coef_[0], w_by_hand, rtol=1e-4)
    np.testing.assert_allclose(other.intercept_[0], b_by_hand, rtol=1e-4)
np.testing.assert_allclose(model.objective_, primal.value, rtol=1e-5)
np.testing.assert_allclose(dual.value, primal.value, rtol=1e-6)
assert max(residuals.values()) < 1e-4

# Groups of flowers, and the price of one of them.
assert sum(members.sum() for members in groups.values()) == n
assert score[groups["beyond"]].min() > 1 - 1e-4
assert np.allclose(score[groups["on the line"]], 1, atol=1e-4)
assert score[groups["with slack"]].max() < 1 + 1e-4
assert set(model.support_) <= set(np.flatnonzero(alpha > 1e-5))
np.testing.assert_allclose(gain / 0.01, alpha[i], rtol=0.02)
np.testing.assert_allclose(np.linalg.norm(point - foot), distance)
assert w_without[1] < 0

# %% [markdown]
# **Next** lesson 2: costs bound the prices of rows.
