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
# # Why do finitely many rows decide about a whole function?
#
# With a kernel the decision function is one of infinitely many dimensions. But a computer minimises over
# finitely many numbers. This lesson shows why nothing is lost, and what changes when knowledge is about
# further points.
#
# **You learn**
#
# - what a kernel is, and which functions belong to it;
# - the representer theorem, with its proof;
# - to solve a kernel model by hand;
# - why a rule about a new point needs a new centre.
#
# **You need** lesson 1.
#
# **Time** 25 minutes
#
# **Theorem** Representer theorem: the best function is a sum of kernel functions at the points where $f$ is
# evaluated.

# %%
# alt: Two interleaved half moons. A straight border cuts through both classes, and the border of the RBF
# model bends between them.
import cvxpy as cp
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons
from sklearn.svm import SVC

from priorsvm import RBF, Polynomial, PriorSVC, plot

X, label = make_moons(60, noise=0.2, random_state=0)
y = np.where(label == 1, 1.0, -1.0)
n, C = len(X), 1.0
kernel = RBF(3.0)
models = {"linear": PriorSVC(C=C).fit(X, label), "RBF": PriorSVC(C=C, kernel=kernel).fit(X, label)}
plot.compare(models)
plt.show()

# %% [markdown]
# ## What a kernel is
#
# A kernel is a scalar product of features: $k(x, z) = \varphi(x)^\mathsf{T} \varphi(z)$. For example
# $(x^\mathsf{T} z)^2$ in two columns has the three features $x_1^2$, $\sqrt2\, x_1 x_2$ and $x_2^2$. The
# RBF kernel $\exp(-\gamma \lVert x - z \rVert^2)$ has infinitely many.
#
# The functions of a kernel are sums $g = \sum_j \beta_j\, k(z_j, \cdot)$ with **centres** $z_j$, and their
# limits. Their scalar product is defined by $\langle k(z, \cdot), k(x, \cdot) \rangle = k(z, x)$. So
#
# $$\langle g, k(x, \cdot) \rangle = g(x),
# \qquad \lVert g \rVert_H^2 = \sum_{i,j} \beta_i \beta_j\, k(z_i, z_j) .$$
#
# The first formula is the **reproducing property**: to evaluate $g$ is to take a scalar product. A small
# norm means a smooth function.

# %% tags=["hide-input"]
# alt: Two functions of one column: a bump of one centre, and a wave of three centres with a larger norm.
line = np.linspace(-3, 3, 301)[:, None]
figure, axes = plt.subplots(figsize=(6.5, 3.2), layout="constrained")
for centres, beta in (([[0.0]], [1.0]), ([[-1.0], [0.0], [1.0]], [1.0, -1.0, 1.0])):
    norm = np.sqrt(np.array(beta) @ kernel(centres, centres) @ beta)
    axes.plot(line, kernel(line, centres) @ beta, label=f"centres: {len(beta)}, norm {norm:.2f}")
axes.set(xlabel="x", ylabel="g(x)", title="Two functions of an RBF kernel in one column")
axes.legend()
plt.show()

# %% [markdown]
# ## The theorem
#
# The problem is that of lesson 1, with $f = g + b$ and the norm of $g$:
#
# $$\min_{g, b, \xi}\; \tfrac12 \lVert g \rVert_H^2 + C \sum_i \xi_i
# \quad\text{s.t.}\quad y_i f(x_i) \ge 1 - \xi_i, \quad \xi_i \ge 0 .$$
#
# **Theorem** (Kimeldorf and Wahba 1971; Schölkopf, Herbrich and Smola 2001). Let a problem evaluate $f$
# only at the points $z_1, \dots, z_m$, and otherwise contain only $b$ and a term that grows with
# $\lVert g \rVert_H$. Then each solution has $g = \sum_j \beta_j\, k(z_j, \cdot)$.
#
# **Proof.** Split $g = g_1 + g_2$, where $g_1$ is a sum over the centres $z_j$ and $g_2$ is orthogonal to
# all $k(z_j, \cdot)$. By the reproducing property $g_2(z_j) = \langle g_2, k(z_j, \cdot) \rangle = 0$, so
# $g$ and $g_1$ have the same values at all $z_j$. And
# $\lVert g \rVert_H^2 = \lVert g_1 \rVert_H^2 + \lVert g_2 \rVert_H^2$. If $g_2 \ne 0$, then $g_1$ has
# equal values and a smaller norm, so $g$ was not a solution. ∎
#
# Verified: take a function with centres all over the plane. Its part $g_1$ over the rows has the same
# values at the rows, and a smaller norm.

# %%
rng = np.random.default_rng(0)
everywhere = np.vstack([X, rng.uniform([-2, -1.5], [3, 2], (40, 2))])
beta_all = rng.normal(0, 1, len(everywhere))
K = kernel(X, X)
beta_rows = np.linalg.lstsq(K, kernel(X, everywhere) @ beta_all, rcond=1e-12)[0]
values_apart = np.abs(kernel(X, everywhere) @ beta_all - K @ beta_rows).max()
norms = beta_all @ kernel(everywhere, everywhere) @ beta_all, beta_rows @ K @ beta_rows
print(f"values at the rows differ by {values_apart:.0e}")
print(f"squared norms: {norms[0]:.1f} with all centres, {norms[1]:.1f} with the rows as centres")

# %% [markdown]
# ## The kernel model by hand
#
# So $\beta \in \mathbb{R}^N$ is enough, and $\lVert g \rVert_H^2 = \beta^\mathsf{T} K \beta$. But $K$ is
# nearly singular, which is hard for solvers. With the factors $K = \Phi \Phi^\mathsf{T}$, without
# directions in which $K$ is zero, the model is linear in $\Phi$: $g = \Phi c$ at the rows, and the norm is
# $\lVert c \rVert$.

# %%
size, direction = np.linalg.eigh(K)
kept = size > 1e-10 * size.max()
Phi = direction[:, kept] * np.sqrt(size[kept])
c, b, xi = cp.Variable(kept.sum()), cp.Variable(), cp.Variable(n, nonneg=True)
margin = cp.multiply(y, Phi @ c + b) >= 1 - xi
problem = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(c) + C * cp.sum(xi)), [margin])
problem.solve(solver="CLARABEL")
beta = margin.dual_value * y
print(f"{kept.sum()} directions; objective {problem.value:.4f}, PriorSVC {models['RBF'].objective_:.4f}")

# %% [markdown]
# The dual variables are the coefficients again: $\beta_i = \alpha_i y_i$. Only support vectors have a
# nonzero one. The function by hand is that of `PriorSVC` and of scikit-learn, also between the rows.

# %%
peer = SVC(C=C, gamma=3.0, tol=1e-9).fit(X, label)
grid = np.stack(np.meshgrid(np.linspace(-1.5, 2.5, 41), np.linspace(-1, 1.5, 31)), axis=-1).reshape(-1, 2)
surfaces = {
    "by hand": kernel(grid, X) @ beta + b.value,
    "PriorSVC": models["RBF"].decision_function(grid),
    "scikit-learn": peer.decision_function(grid),
}
for name, surface in surfaces.items():
    print(f"{name:13s} differs from PriorSVC by {np.abs(surface - surfaces['PriorSVC']).max():.0e}")
print(f"{len(models['RBF'].support_)} of {n} rows are support vectors")

# %% [markdown]
# ## Knowledge adds centres
#
# Now require $f(z) = 0$ at a new point $z$, the star in the picture. The problem evaluates $f$ at $n + 1$
# points, so the theorem gives $n + 1$ centres. `assemble` returns the problem before it is solved, and its
# `f` is a CVXPY expression.

# %%
# alt: The RBF model of the half moons with its margins and support vectors. A star marks a point at the upper
# border, far from all rows.
star = np.array([[0.0, 1.5]])
assembly = PriorSVC(C=C, kernel=kernel).assemble(X, label)
assembly.add(border=assembly.f(star) == 0)
assembly.problem.solve(solver="CLARABEL")
through = assembly.classifier()
axes = plot.decision(through, verify=False)
axes.scatter(*star.T, marker="*", s=220, color="black", zorder=5)
plt.show()
print(f"{len(through.centres_)} centres: the star and {n} rows")

# %% [markdown]
# Blocks of the library evaluate $f$ at points of their own: pairs of a hint, places of a rule. Each of
# these points is a centre. Methods that use the rows only minimise over too few functions.
#
# ## Exercises

# %% [markdown] tags=["exercise"]
# ### Exercise 1: features of a kernel
#
# Write a function `phi` with the features of $(x^\mathsf{T} z + 1)^2$ in two columns: one row of features
# for each row.


# %% tags=["answer"]
def phi(X):
    return ...  # your answer


# %% [markdown] tags=["solution"]
# Expand the square: $1 + 2 x_1 z_1 + 2 x_2 z_2 + x_1^2 z_1^2 + 2 x_1 x_2 z_1 z_2 + x_2^2 z_2^2$.


# %% tags=["solution"]
def phi(X):
    first, second = X.T
    root = np.sqrt(2)
    return np.column_stack(
        [np.ones(len(X)), root * first, root * second, first**2, root * first * second, second**2]
    )


# %% tags=["check"]
features = phi(X)
assert np.shape(features)[:1] == (n,), "There is one row of features for each row of X."
products = features @ features.T
square = Polynomial(2, gamma=1.0, coef0=1.0)(X, X)
assert np.allclose(products, square), (
    "The scalar products are not the kernel values. Which factors are missing?"
)


# %% tags=["wrong"]
def phi(X):
    first, second = X.T
    return np.column_stack([np.ones(len(X)), first, second, first**2, first * second, second**2])


# %% [markdown] tags=["exercise"]
# ### Exercise 2: the smallest function through given values
#
# Which function of the kernel has the values `target` at `places` and the smallest norm? Compute its
# coefficients `beta_small`. By the theorem, `places` are the centres.

# %%
places = np.array([[-1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [2.0, 0.5]])
target = np.array([1.0, -1.0, 1.0, -1.0])

# %% tags=["answer"]
beta_small = ...  # your answer: four coefficients

# %% tags=["solution"]
beta_small = np.linalg.solve(kernel(places, places), target)

# %% [markdown] tags=["solution"]
# The values at the places are $K \beta$, and $K \beta = \text{target}$ has one solution.

# %% tags=["check"]
assert np.allclose(kernel(places, places) @ beta_small, target), (
    "The function has other values at the places."
)

# %% tags=["wrong"]
beta_small = target / 2

# %% [markdown] tags=["exercise"]
# ### Exercise 3: too few centres
#
# `objective(centres)` minimises over functions with these centres, with $f(\text{star}) = 0$ as a
# constraint. With rows as centres the result is too large. Give `best_centres` that reach the true minimum,
# with as few centres as possible.


# %%
def objective(centres):
    """Return the least objective with f(star) = 0 over functions with these centres."""
    size, direction = np.linalg.eigh(kernel(centres, centres))
    kept = size > 1e-10 * size.max()
    to_features = direction[:, kept] / np.sqrt(size[kept])
    c, b, xi = cp.Variable(kept.sum()), cp.Variable(), cp.Variable(n, nonneg=True)
    f_rows = kernel(X, centres) @ to_features @ c + b
    f_star = kernel(star, centres) @ to_features @ c + b
    constraints = [cp.multiply(y, f_rows) >= 1 - xi, f_star == 0]
    return cp.Problem(cp.Minimize(0.5 * cp.sum_squares(c) + C * cp.sum(xi)), constraints).solve("CLARABEL")


print(f"rows as centres: {objective(X):.4f}")

# %% tags=["answer"]
best_centres = ...  # your answer: an array of points, one in a row

# %% tags=["solution"]
best_centres = np.vstack([X, star])
print(f"rows and star: {objective(best_centres):.4f}, PriorSVC {through.objective_:.4f}")

# %% [markdown] tags=["solution"]
# The problem evaluates $f$ at the rows and at the star, so these points are enough. Further centres change
# nothing.

# %% tags=["check"]
assert np.shape(best_centres)[1:] == (2,), "best_centres is a table: one point in a row, two columns."
reached = objective(best_centres)
assert reached < through.objective_ + 1e-4, f"The objective is {reached:.4f}. Where is f evaluated?"
assert len(best_centres) <= n + 1, "Fewer centres are enough."

# %% tags=["wrong"]
best_centres = X

# %% [markdown]
# ## What this lesson claims, checked

# %% tags=["claims"]
# The part over the rows has equal values and a smaller norm.
assert values_apart < 1e-6
assert norms[1] < norms[0]

# By hand, PriorSVC and scikit-learn are one function.
np.testing.assert_allclose(problem.value, models["RBF"].objective_, rtol=1e-5)
for surface in surfaces.values():
    np.testing.assert_allclose(surface, surfaces["PriorSVC"], atol=1e-3)
assert len(models["RBF"].support_) < n

# The constraint adds one centre, holds, and costs something.
assert len(through.centres_) == n + 1
assert abs(through.decision_function(star)[0]) < 1e-5
assert through.objective_ > models["RBF"].objective_
assert objective(X) > through.objective_ + 0.1
assert models["RBF"].score(X, label) > models["linear"].score(X, label)

# %% [markdown]
# **Next** lesson 4: all values of $C$ and $\mu$ at once.
