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
# Two kinds of iris, measured by their petals. Many lines separate them about equally well. Which one does a
# support vector machine draw, and what exactly is it the best at?
#
# We write that problem down by hand, first as it stands in textbooks, then in two other shapes, and get the
# same answer each time from `PriorSVC` and from scikit-learn.

# %%
import cvxpy as cp
import matplotlib.pyplot as plt
import numpy as np
from IPython.display import display
from sklearn.datasets import load_iris
from sklearn.svm import SVC, LinearSVC

from priorsvm import RBF, MonotonicityHint, PriorSVC

# %%
iris = load_iris()
two = iris.target > 0
X = iris.data[two][:, 2:]
species = iris.target_names[iris.target[two]]
y = np.where(species == "virginica", 1.0, -1.0)
n, d = X.shape


def draw_flowers(axes, y=y):
    for sign, marker, colour in ((-1, "o", "#0072B2"), (+1, "^", "#D55E00")):
        axes.scatter(
            *X[y == sign].T, marker=marker, color=colour, s=28, label=("versicolor", "virginica")[sign > 0]
        )
    axes.set(xlabel="petal length in cm", ylabel="petal width in cm", xlim=(2.8, 7.1), ylim=(0.8, 2.7))
    axes.legend(loc="lower right")


def draw_line(axes, w, b, level=0.0, **style):
    """Where w·x + b = level."""
    length = np.array(axes.get_xlim())
    axes.plot(length, (level - b - w[0] * length) / w[1], **style)


figure, axes = plt.subplots(figsize=(6.5, 4.2))
draw_flowers(axes)
for w_guess, b_guess in (([1.0, 3.0], -9.8), ([1.0, 0.9], -6.45), ([0.3, 2.0], -4.85)):
    draw_line(axes, w_guess, b_guess, color="black", linewidth=1, linestyle="--")
axes.set_title("Three lines with few errors. Which is the SVM's?")
plt.show()

# %% [markdown]
# ## The problem
#
# The model is a function $f(x) = w^\top x + b$; its sign is the class. Each flower should lie on its own
# side, and not only just: $y_i f(x_i) \ge 1$. Where that cannot be had, a **slack** $\xi_i \ge 0$ fills the
# gap, at the price $C$. The SVM is the function that is the best bargain of flatness and slack:
#
# $$\min_{w, b, \xi}\; \tfrac12 \|w\|^2 + C \sum_i \xi_i
# \quad\text{s.t.}\quad y_i (w^\top x_i + b) \ge 1 - \xi_i, \quad \xi_i \ge 0 .$$
#
# CVXPY takes it almost as it is written.

# %%
C = 1.0
w, b = cp.Variable(d, name="w"), cp.Variable(name="b")
xi = cp.Variable(n, nonneg=True, name="xi")
margin = cp.multiply(y, X @ w + b) >= 1 - xi
by_hand = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(w) + C * cp.sum(xi)), [margin])

# %% [markdown]
# This is what CVXPY will minimise, as it prints it:

# %%
print(by_hand.objective)

# %%
by_hand.solve(solver="CLARABEL")
w_by_hand, b_by_hand = w.value, float(b.value)
flatness, slack = 0.5 * w_by_hand @ w_by_hand, C * xi.value.sum()
print(f"objective {by_hand.value:.4f} = {flatness:.4f} (flatness) + {slack:.4f} (slack)")
print("w =", w_by_hand.round(4), " b =", round(b_by_hand, 4))

# %% [markdown]
# ## Which flowers decide? Ask the duals
#
# Every constraint has a **dual value** $\alpha_i$: how much the objective would fall if that flower asked
# for a little less. Most are zero: those flowers could be removed, and the line would stay. The others are
# the **support vectors**, and the line is made of them alone:
#
# $$w = \sum_i \alpha_i y_i x_i, \qquad 0 \le \alpha_i \le C .$$

# %%
alpha = margin.dual_value
support = alpha > 1e-5
full = alpha > C - 1e-5
print(f"{support.sum()} of {n} flowers are support vectors; {full.sum()} of them are at the price C")
print("w from the duals:", (alpha * y) @ X)

# %% [markdown]
# The dashed lines are $f = \pm 1$. The support vectors, in rings, lie on them or beyond: on the wrong side
# of the dashed line of their own class.

# %%
figure, axes = plt.subplots(figsize=(6.5, 4.2))
draw_flowers(axes)
draw_line(axes, w_by_hand, b_by_hand, color="black", linewidth=2)
for level in (-1, 1):
    draw_line(axes, w_by_hand, b_by_hand, level, color="black", linewidth=1, linestyle="--")
axes.scatter(*X[support].T, s=110, facecolors="none", edgecolors="black")
axes.set_title("The SVM's line, its margins, and the flowers that hold them")
plt.show()

# %% [markdown]
# ## The same from a library, or two
#
# `PriorSVC` without any prior knowledge is this model, and so is scikit-learn's `SVC`.

# %%
model = PriorSVC(C=C, kernel="linear").fit(X, species)
sklearn_model = SVC(C=C, kernel="linear", tol=1e-9).fit(X, species)

for name, weights, bias in (
    ("by hand", w_by_hand, b_by_hand),
    ("PriorSVC", model.coef_[0], model.intercept_[0]),
    ("scikit-learn", sklearn_model.coef_[0], sklearn_model.intercept_[0]),
):
    print(f"{name:13s} w = {weights[0]:.6f} {weights[1]:.6f}   b = {bias:.6f}")

# %% [markdown]
# ## What was solved
#
# A fitted `PriorSVC` says what it solved, in three ways. `formulation()` is the mathematics ($\rho_i$ is the
# margin asked of row $i$, here 1):

# %%
display(model.formulation())

# %% [markdown]
# `report_` says what each part of the objective came to. The rows with a positive dual are the "active"
# ones, "slack" is $\sum \xi_i$, and "price" is $\sum \alpha_i$.

# %%
display(model.report_)

# %% [markdown]
# And `problem` is the `cvxpy.Problem`, solved. LIBSVM computed the answer, which is faster. The variables and
# the constraints contain it. The variable `c` is our $w$, and `f0` are the values of $f$ at the rows.

# %%
problem = model.problem
print("variables:  ", [variable.name() for variable in problem.variables()])
print("constraints:", [constraint.label for constraint in problem.constraints])
print(f"solved by {model.solver_}, problem.value = {problem.value:.6f}")
print("w from its dual values:", (problem.constraints[0].dual_value * y) @ X)

# %% [markdown]
# ## The problem before it is solved
#
# `assemble` returns the problem without solving it. Its `f` is the decision function as a CVXPY expression,
# so we can add a constraint of our own. Suppose a flower with petals of 5 cm by 1.6 cm should lie exactly on
# the line.

# %%
assembly = PriorSVC(C=C).assemble(X, species)
flower = np.array([[5.0, 1.6]])
assembly.add(on_the_line=assembly.f(flower) == 0)
print(assembly)
print("constraints:", list(assembly.constraints))

# %% [markdown]
# Any solver of CVXPY can solve it. `classifier` reads the variables and returns a fitted `PriorSVC`.

# %%
assembly.problem.solve(solver="CLARABEL")
through_flower = assembly.classifier()
price = float(assembly.constraints["own.on_the_line"].dual_value[0])
print(f"f at the flower: {through_flower.decision_function(flower)[0] + 0:.6f}")
print(f"objective {through_flower.objective_:.4f} instead of {model.objective_:.4f}; dual value {price:.4f}")

# %% [markdown]
# The dashed line is the SVM without the constraint. The star is the flower.

# %%
figure, axes = plt.subplots(figsize=(6.5, 4.2))
draw_flowers(axes)
draw_line(axes, w_by_hand, b_by_hand, color="black", linewidth=1, linestyle="--")
draw_line(axes, through_flower.coef_[0], through_flower.intercept_[0], color="black", linewidth=2)
axes.scatter(*flower.T, marker="*", s=220, color="black", zorder=3)
axes.set_title("A constraint of our own: the line passes through the star")
plt.show()

# %% [markdown]
# ## Why write the slacks out?
#
# One can save a variable: $\xi_i = \max(0, 1 - y_i f(x_i))$, which CVXPY calls `cp.pos`. On paper it is the
# same problem. But then there is no constraint, so there is no dual and no support vector to read off. And
# the longer a translation is, the more can go wrong on the way: CVXPY 1.9.3 hands some solvers wrong bounds
# for `pos` of a dense expression. The solver says "optimal" and means it, of another problem.
#
# Here is the 1-norm SVM, $\|w\|_1$ instead of $\frac12\|w\|^2$, in both ways by two solvers.

# %%
import warnings


def one_norm(hinge):
    """The problem with the hinge in one of two forms, and its w and b."""
    up, down, bias = cp.Variable(d, nonneg=True), cp.Variable(d, nonneg=True), cp.Variable()
    score = cp.multiply(y, X @ (up - down) + bias)
    slack = cp.Variable(n, nonneg=True)
    rows = [score >= 1 - slack] if hinge == "slack" else []
    loss = cp.sum(slack if hinge == "slack" else cp.pos(1 - score))
    return cp.Problem(cp.Minimize(cp.sum(up + down) + C * loss), rows), up - down, bias


values = {}
for hinge in ("slack", "pos"):
    for solver in ("CLARABEL", "HIGHS"):
        candidate, _, _ = one_norm(hinge)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            values[hinge, solver] = candidate.solve(solver=solver)
        print(f"{hinge:6s} {solver:9s} {candidate.status}: {values[hinge, solver]:.6f}")

# %% [markdown]
# Where these four numbers differ, the largest is wrong, for all of them claim to be the minimum. The form
# with slacks is safe with both, and this is why `priorsvm` writes every block that way, and checks each
# answer on the problem as stated.
#
# ## The 1-norm model
#
# Its problem is a linear programme, so a simplex method can solve it. It is another model, with another
# line.

# %%
linear_programme, w_one, b_one = one_norm("slack")
linear_programme.solve(solver="HIGHS")
model_one = PriorSVC(C=C, norm="l1").fit(X, species)
for name, value, weights, bias in (
    ("by hand", linear_programme.value, w_one.value, float(b_one.value)),
    ("PriorSVC", model_one.objective_, model_one.coef_[0], model_one.intercept_[0]),
):
    print(f"{name:9s} {value:.6f}  w = {weights.round(6)}  b = {bias:.6f}")

# %% [markdown]
# ## The kernel model
#
# A kernel replaces $x_i^\top x_j$ by $k(x_i, x_j)$, and $f$ becomes $\sum_j \beta_j k(x_j, x) + b$. The
# textbook then minimises $\frac12 \beta^\top K \beta$, and solvers struggle: $K$ is nearly singular, and
# they have to be told that it is positive semidefinite at all.
#
# Better to factor it. With $K = \Phi \Phi^\top$, and directions in which $K$ is zero left out, the model
# is a linear one in the coordinates $\Phi$, and the flatness is $\frac12\|c\|^2$ again.

# %%
kernel = RBF(gamma=2.0)
K = kernel(X, X)
size, direction = np.linalg.eigh(K)
kept = size > 1e-10 * size.max()
Phi = direction[:, kept] * np.sqrt(size[kept])
print(f"{n} flowers, {kept.sum()} directions; K is reproduced to {np.abs(K - Phi @ Phi.T).max():.0e}")

# %%
c, b_kernel = cp.Variable(kept.sum(), name="c"), cp.Variable(name="b")
xi_kernel = cp.Variable(n, nonneg=True, name="xi")
margin_kernel = cp.multiply(y, Phi @ c + b_kernel) >= 1 - xi_kernel
kernel_problem = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(c) + C * cp.sum(xi_kernel)), [margin_kernel])
print(f"objective {kernel_problem.solve(solver='CLARABEL'):.4f}")

# %% [markdown]
# Where is $f$ at a new flower? The duals tell again: $\beta_i = \alpha_i y_i$.

# %%
beta = margin_kernel.dual_value * y


def f_by_hand(Z):
    return kernel(Z, X) @ beta + b_kernel.value


model_kernel = PriorSVC(C=C, kernel=kernel).fit(X, species)
sklearn_kernel = SVC(C=C, kernel="rbf", gamma=2.0, tol=1e-9).fit(X, species)

places = np.stack(np.meshgrid(np.linspace(2.8, 7.1, 120), np.linspace(0.8, 2.7, 100)), axis=-1)
grid = places.reshape(-1, 2)
surfaces = {
    "by hand": f_by_hand(grid),
    "PriorSVC": model_kernel.decision_function(grid),
    "scikit-learn": sklearn_kernel.decision_function(grid),
}
figure, panels = plt.subplots(1, 3, figsize=(12, 3.8), sharey=True, layout="constrained")
for axes, (name, surface) in zip(panels, surfaces.items(), strict=True):
    draw_flowers(axes)
    axes.contour(
        *np.moveaxis(places, -1, 0),
        surface.reshape(places.shape[:2]),
        levels=[-1, 0, 1],
        colors="black",
        linestyles=["--", "-", "--"],
    )
    axes.set_title(name)
    axes.label_outer()
plt.show()

# %% [markdown]
# ## Exercises
#
# 1. How does the number of support vectors change with $C$? Guess first, for $C = 0.01$ and $C = 100$.
# 2. Write the model with the squared hinge, $C \sum \xi_i^2$, by hand. Which argument of `PriorSVC` gives
#    it? And which class of scikit-learn?
# 3. Suppose you know that *virginica* has petals that are wider, not narrower, but the labels at hand are
#    so noisy (`noisy`, below) that the SVM believes the opposite. Add that knowledge by hand, as one
#    constraint. Which block of `priorsvm` does it?

# %%
noisy = np.where(X[:, 1] > np.median(X[:, 1]), -1.0, 1.0) * np.where(np.arange(n) % 4 == 0, -1.0, 1.0)

# %% [markdown]
# ## Solutions
#
# **1.** A small $C$ makes slack cheap, so the margins are wide and many flowers lie between them.

# %%
counts = {value: len(PriorSVC(C=value).fit(X, species).support_) for value in (0.01, 1.0, 100.0)}
print("C -> support vectors:", counts)

# %% [markdown]
# **2.** The loss is the only thing that changes. `LinearSVC` punishes $b$ as well unless
# `intercept_scaling` is large, so it agrees only roughly.

# %%
squared = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(w) + C * cp.sum_squares(xi)), [margin])
squared.solve(solver="CLARABEL")
model_squared = PriorSVC(C=C, loss="squared_hinge").fit(X, species)
liblinear = LinearSVC(C=C, loss="squared_hinge", intercept_scaling=100.0, tol=1e-8, max_iter=100_000).fit(
    X, species
)
w_squared = w.value
print(
    "by hand  ",
    w_squared.round(5),
    "\nPriorSVC ",
    model_squared.coef_[0].round(5),
    "\nLinearSVC",
    liblinear.coef_[0].round(5),
)

# %% [markdown]
# **3.** The labels are spoilt so that narrow petals look like *virginica*. On a linear model "f rises with
# the width" is $w_2 \ge 0$, and `MonotonicityHint(..., hard=True)` says that of a column by its name or its
# number.

# %%
margin_noisy = cp.multiply(noisy, X @ w + b) >= 1 - xi
cp.Problem(by_hand.objective, [margin_noisy]).solve(solver="CLARABEL")
without = w.value
cp.Problem(by_hand.objective, [margin_noisy, w[1] >= 0]).solve(solver="CLARABEL")
told = w.value
model_told = PriorSVC(MonotonicityHint({1: +1}, hard=True), C=C).fit(X, noisy)
print("without the knowledge w =", without.round(4))
print("told by hand          w =", told.round(4))
print("told by the block     w =", model_told.coef_[0].round(4))

# %% [markdown]
# The knowledge is now a line of the problem, under its own name:

# %%
display(model_told.formulation())

# %% [markdown]
# ## What this notebook claims, checked

# %%
# Three ways to the same line, and to the same kernel model.
for other in (model, sklearn_model):
    np.testing.assert_allclose(other.coef_[0], w_by_hand, rtol=1e-4)
    np.testing.assert_allclose(other.intercept_[0], b_by_hand, rtol=1e-4)
for name in ("PriorSVC", "scikit-learn"):
    np.testing.assert_allclose(surfaces[name], surfaces["by hand"], atol=1e-4)

# The objective is the same too, and the report's rows add up to it.
np.testing.assert_allclose(model.objective_, flatness + slack, rtol=1e-5)
np.testing.assert_allclose(sum(row.contribution for row in model.report_.rows), model.objective_)
np.testing.assert_allclose(problem.value, model.objective_, rtol=1e-6)
np.testing.assert_allclose((problem.constraints[0].dual_value * y) @ X, w_by_hand, rtol=1e-4)

# The line with a constraint of our own passes through the flower, at a higher objective.
np.testing.assert_allclose(through_flower.decision_function(flower), 0.0, atol=1e-5)
assert through_flower.objective_ > model.objective_
np.testing.assert_allclose(through_flower.objective_, assembly.problem.value, rtol=1e-6)

# The duals are prices between 0 and C, and only flowers on or beyond the margin have one.
np.testing.assert_allclose((alpha * y) @ X, w_by_hand, rtol=1e-4)
assert np.all((alpha > -1e-6) & (alpha < C + 1e-6))
assert set(model.support_) <= set(np.flatnonzero(support))
assert np.all(y[support] * model.decision_function(X[support]) < 1 + 1e-4)

# The form with slacks is right with both solvers, and never worse than the other one.
np.testing.assert_allclose(values["slack", "HIGHS"], values["slack", "CLARABEL"], rtol=1e-6)
assert min(values.values()) > values["slack", "HIGHS"] - 1e-5
np.testing.assert_allclose(model_one.objective_, linear_programme.value, rtol=1e-6)

# The exercises.
assert counts[0.01] > counts[1.0] > counts[100.0]
np.testing.assert_allclose(model_squared.coef_[0], w_squared, rtol=1e-4)
np.testing.assert_allclose(liblinear.coef_[0], w_squared, rtol=1e-2)
assert without[1] < 0
np.testing.assert_allclose(model_told.coef_[0], told, atol=1e-4)
assert "monotonicity_hint.order" in [label for label, _, _ in model_told.formulation().constraints]
print("all of it holds")
