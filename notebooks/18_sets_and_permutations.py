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
# # What if a sample has no first row?
#
# A flock of birds was photographed. No bird is the first, and the next photograph has another number of
# birds. So a sample is a *set* of vectors, and there is no table with one column for each bird. Two kernels
# compare sets. For sets whose members have counterparts in other sets, a block puts them in order.
#
# **You learn**
#
# - how `Bhattacharyya` compares sets by their distribution,
# - how `PrincipalAngles` compares sets by the space that they span,
# - why the second kernel is positive definite only if its cosines are squared,
# - how `RowPermutations` finds an order by linear assignments, and why the result is a local optimum.
#
# **You need** lessons 3 and 16
#
# **Time** 25 minutes
#
# **Theorem** The squared product of the cosines of principal angles is a positive definite kernel
# (Cauchy–Binet).

# %%
import itertools

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import linear_sum_assignment

from priorsvm import RBF, Bhattacharyya, PrincipalAngles, PriorSVC, RowPermutations, plot

rng = np.random.default_rng(0)
shape = {"geese": [2.4, 0.3], "starlings": [0.9, 0.9]}


def flocks(count):
    """Return flocks at random places: geese fly in a long line, starlings in a ball."""
    kind = np.where(np.arange(count) % 2, "geese", "starlings")
    birds = [rng.normal(size=2) + rng.normal(size=(rng.integers(5, 13), 2)) * shape[k] for k in kind]
    return birds, kind


photos, kind = flocks(40)
new, kind_new = flocks(300)

# %% tags=["hide-input"]
# alt: Four flocks as points with the ellipse of their covariance. Starlings have round flocks, geese have
# long flat flocks.
figure, panels = plt.subplots(1, 4, figsize=(12, 3), layout="constrained")
for axes, birds, name in zip(panels, photos, kind, strict=False):
    colour = {"geese": "#0072B2", "starlings": "#D55E00"}[name]
    axes.scatter(*birds.T, color=colour, marker={"geese": "o", "starlings": "^"}[name], s=30)
    spread, directions = np.linalg.eigh(np.cov(birds.T, bias=True) + 0.1 * np.eye(2))
    angle = np.linspace(0, 2 * np.pi, 97)
    circle = np.column_stack([np.cos(angle), np.sin(angle)])
    axes.plot(*(birds.mean(axis=0) + 2 * circle * np.sqrt(spread) @ directions.T).T, color=colour)
    axes.set(xlim=(-6, 6), ylim=(-5, 5), aspect="equal", title=f"{len(birds)} {name}")
plt.show()

# %% [markdown]
# The ellipses are Gaussians with the mean and the covariance of each set, drawn at two standard deviations.
#
# ## Sets as distributions
#
# `Bhattacharyya` measures the overlap of two Gaussians $p_A$ and $p_B$:
#
# $$k(A, B) = \int \sqrt{p_A(x)\, p_B(x)}\, dx .$$
#
# It is an inner product of the functions $\sqrt{p_A}$ and $\sqrt{p_B}$, so it is positive definite. The
# order of the vectors has no effect, and the sets may differ in size. The parameter `eta` is added to all
# variances. A list of arrays is a training set.

# %%
overlap = Bhattacharyya(eta=0.1)
as_sets = PriorSVC(kernel=overlap, C=10.0).fit(photos, kind)
means = [birds.mean(axis=0) for birds in photos]
as_means = PriorSVC(kernel="rbf", C=10.0).fit(means, kind)
right_sets = as_sets.score(new, kind_new)
right_means = as_means.score([birds.mean(axis=0) for birds in new], kind_new)
shuffled = [rng.permutation(birds) for birds in new]
by_order = np.abs(as_sets.decision_function(new) - as_sets.decision_function(shuffled)).max()
print(f"correct on new flocks: {right_sets:.0%} as sets, {right_means:.0%} by their means")
print(f"the same birds in another order: f changes by {by_order:.0e}")

# %% [markdown]
# Flocks of both kinds have the same means, so a kernel of the means has nothing to learn. The integral by
# hand, as a sum over a fine grid:


# %%
def density(birds, P):
    """Return the Gaussian of a set at the rows of P."""
    S = np.cov(birds.T, bias=True) + 0.1 * np.eye(2)
    away = P - birds.mean(axis=0)
    exponent = -0.5 * np.sum(away @ np.linalg.inv(S) * away, axis=1)
    return np.exp(exponent) / np.sqrt(np.linalg.det(2 * np.pi * S))


side = np.linspace(-12, 12, 600)
grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
area = (side[1] - side[0]) ** 2
integral = area * np.sum(np.sqrt(density(photos[0], grid) * density(photos[1], grid)))
value = overlap([photos[0]], [photos[1]])[0, 0]
print(f"kernel {value:.8f}, sum over the grid {integral:.8f}")

# %% [markdown]
# ## Sets as subspaces
#
# Two photographs of one face differ in their light. Under any light, a photograph is nearly a combination of
# a few basic images. So the *span* of the photographs matters, and not their lengths or their mixture.
# `PrincipalAngles` compares spans by their principal angles $\theta_l$:
#
# $$k(A, B) = \prod_l \cos^2 \theta_l = \frac{\det(A B^\top)^2}{\det(A A^\top) \det(B B^\top)} ,$$
#
# where the vectors of a set are the rows of a matrix. Here each class is a plane in six dimensions, and each
# sample is a pair of vectors near its plane.

# %%
# alt: Kernel matrices of twenty samples as images. The RBF of the means has no clear blocks. The kernel of
# the angles has two bright blocks.
planes = rng.normal(size=(2, 2, 6))
pairs = [rng.normal(size=(2, 2)) @ planes[k // 10] + rng.normal(0, 0.1, (2, 6)) for k in range(20)]
angles = PrincipalAngles()
matrices = {"RBF of the means": RBF(0.1)([pair.mean(axis=0) for pair in pairs]), "angles": angles(pairs)}
figure, panels = plt.subplots(1, 2, figsize=(7, 3.4), layout="constrained")
for axes, (title, matrix) in zip(panels, matrices.items(), strict=True):
    axes.imshow(matrix, cmap="cividis", vmin=0, vmax=1)
    ticks = range(0, 20, 5)
    axes.set(title=title, xlabel="sample", ylabel="sample", xticks=ticks, yticks=ticks)
plt.show()
mixed = [np.array([[2.0, 1.0], [-1.0, 3.0]]) @ pair for pair in pairs]
by_mixture = np.abs(angles(mixed) - angles(pairs)).max()
print(f"other vectors with the same spans: the kernel changes by {by_mixture:.0e}")

# %% [markdown]
# On the right the two classes are two bright blocks. Replacing the vectors by other vectors of the same span
# changes nothing.
#
# ## The theorem
#
# **Theorem.** For sets of $r$ vectors each, $k(A, B) = \prod_l \cos^2 \theta_l$ is positive definite.
#
# *Proof.* Let $A_S$ be the square matrix of the columns $S$ of $A$, with $|S| = r$. The Cauchy–Binet formula
# is
#
# $$\det(A B^\top) = \sum_S \det(A_S) \det(B_S) .$$
#
# So $\det(A B^\top)$ is an inner product of two vectors: the vectors of all minors of $A$ and of $B$. It is
# positive definite. A product of two positive definite kernels is positive definite (Schur), so its square
# is. Division by $\det(A A^\top) \det(B B^\top)$ scales rows and columns of the kernel matrix, which keeps
# its definiteness. ∎
#
# Without the square, the product of the cosines is $|\det(A B^\top)|$ up to scaling. An absolute value of an
# inner product need not be positive definite. See Wolf and Shashua (2003).


# %%
def minors(A):
    """Return all minors of size r of a matrix with r rows."""
    r, d = A.shape
    return np.array([np.linalg.det(A[:, list(S)]) for S in itertools.combinations(range(d), r)])


many = rng.normal(size=(60, 2, 3))
M = np.array([minors(A) / np.linalg.norm(minors(A)) for A in many])
cauchy_binet = np.abs((M @ M.T) ** 2 - angles(many)).max()
lowest = {
    "squared": np.linalg.eigvalsh(angles(many))[0],
    "not squared": np.linalg.eigvalsh(PrincipalAngles(squared=False)(many))[0],
}
print(f"minors against PrincipalAngles: {cauchy_binet:.0e}")
for name, low in lowest.items():
    print(f"lowest eigenvalue, {name}: {low + 0.0:.3f}")

# %% [markdown]
# ## Parts with counterparts
#
# Now each sample is a matrix $Z_i$ with $m$ rows, and each row has a counterpart in the other samples. The
# order is unknown. `RowPermutations` chooses an order $P_i$ for each sample together with a linear $f$:
#
# $$\min_{f} \; \tfrac12 \lVert w \rVert^2 + C \sum_i \min_{P_i} \bigl[ 1 - y_i f(P_i Z_i) \bigr]_+ .$$
#
# It fits $f$, puts the rows of each sample where $y_i f$ is largest, and repeats. For a given $f$ the best
# order is a *linear assignment*. Here a sample has two numbers in either order, and their difference is the
# class.

# %%
# alt: Two panels of pairs in either order. The plain border misses rows of both classes. With RowPermutations
# two borders separate pairs that are near from pairs that are far apart.
low, high = rng.normal(1.0, 0.3, 40), rng.normal(4.0, 0.3, 40)
near = np.repeat([0.0, 1.0], 20)
X = np.column_stack([low + near, high - near])
X[::2] = X[::2, ::-1]  # every other pair in the other order
y = np.where(near == 1, "near", "apart")
ordered = PriorSVC(RowPermutations((2, 1), rho=3.0), C=10).fit(X, y)
plot.compare({"plain": PriorSVC(C=10).fit(X, y), "RowPermutations": ordered}, support=False)
plt.show()

# %% [markdown]
# A straight line cannot separate the classes on the left. With the block, each pair is put in one order, and
# the decision boundary is symmetric.
#
# ## Why rho matters
#
# In training each sample takes the order that is best for *its own* class. That order may be useless for a
# new sample, whose class is unknown. The weight `rho` adds a second aim: all samples should be close to a
# common centre. The data are matrices of five rows with a known right order, six problems in all.


# %%
def problem(seed):
    """Return training and test matrices in the right order, then in random order, with classes."""
    rng = np.random.default_rng(seed)
    middle, change = rng.normal(size=(2, 5, 2))
    change -= change.mean(axis=0)  # the sum of the rows is the same in both classes
    labels = np.arange(460) % 2
    Z = 2 * middle + np.where(labels, 0.5, -0.5)[:, None, None] * change + 0.3 * rng.normal(size=(460, 5, 2))
    return Z, np.array([rng.permutation(z) for z in Z]), labels


names = ["right order", "random order", "rho = 0", "rho = 1", "rho = 10", "Bhattacharyya"]
scores = []
for seed in range(6):
    right, mixed, labels = problem(seed)
    flat = mixed.reshape(460, 10)
    blocks = [None, *(RowPermutations((5, 2), rho=rho) for rho in (0.0, 1.0, 10.0))]
    fits = [PriorSVC(block).fit(flat[:60], labels[:60]) for block in blocks]
    found = [model.score(flat[60:], labels[60:]) for model in fits]
    first = PriorSVC().fit(right[:60].reshape(60, 10), labels[:60])
    last = PriorSVC(kernel=Bhattacharyya()).fit(mixed[:60], labels[:60])
    others = first.score(right[60:].reshape(400, 10), labels[60:]), last.score(mixed[60:], labels[60:])
    scores.append([others[0], *found, others[1]])
    course = [entry["objective"] for entry in fits[1].history_]

# %%
# alt: Share of new samples that are correct, for six methods. In random order and with weight 0 most problems
# are near one half. With the weights 1 and 10 they are almost as good as with the right order.
figure, axes = plt.subplots(figsize=(8, 3.4), layout="constrained")
axes.plot(np.arange(6), np.transpose(scores), "o", color="#0072B2", alpha=0.5)
axes.plot(np.arange(6), np.mean(scores, axis=0), "_", color="black", markersize=30)
axes.set_xticks(np.arange(6), names)
axes.set(ylabel="share of new samples correct", title="Six problems, and their mean")
plt.show()

# %% [markdown]
# With `rho=0` the objective fell in every round, and most models learnt little. With `rho=10` the
# order was found. The problem is not convex in $f$ and the orders together, so the result is a local
# optimum, and `report_` states it. These data have counterparts by construction. Without counterparts use a
# kernel of sets.
#
# ## Exercises

# %% [markdown] tags=["exercise"]
# ### Exercise 1: at which distance is the overlap one half?
#
# Two sets have one vector each, and `eta=1`. So both are Gaussians with the covariance $I$. For these
# $k = e^{-\delta^2 / 8}$ with the distance δ of the means. At which δ is $k = 0.5$?

# %% tags=["answer"]
delta = ...  # your answer: a number

# %% tags=["solution"]
delta = np.sqrt(8 * np.log(2))

# %% tags=["check"]
found = Bhattacharyya(eta=1.0)([[[0.0, 0.0]]], [[[delta, 0.0]]])[0, 0]
assert np.isclose(found, 0.5, atol=1e-3), f"At this distance the kernel is {found:.3f}. Solve for δ."

# %% tags=["wrong"]
delta = np.sqrt(2 * np.log(2))

# %% [markdown] tags=["exercise"]
# ### Exercise 2: a plane with a given kernel value
#
# Give a set of two vectors in space whose `PrincipalAngles` with the plane of $x$ and $y$ is 0.5.

# %% tags=["answer"]
plane = ...  # your answer: an array of shape (2, 3)

# %% tags=["solution"]
plane = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 1.0]])

# %% [markdown] tags=["solution"]
# Two planes in space share a line, so one principal angle is 0. The other angle has $\cos^2 \theta = 0.5$,
# and $\theta$ is 45°. The lengths of the vectors do not matter.

# %% tags=["check"]
assert np.shape(plane) == (2, 3), "A set of two vectors in space is an array of shape (2, 3)."
assert np.linalg.matrix_rank(plane) == 2, "The two vectors have to span a plane."
found = PrincipalAngles()([np.eye(3)[:2]], [plane])[0, 0]
assert np.isclose(found, 0.5, atol=1e-3), f"The kernel is {found:.3f}. Which angle has this squared cosine?"

# %% tags=["wrong"]
plane = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 3**0.5]])

# %% [markdown] tags=["exercise"]
# ### Exercise 3: the best order
#
# Write `best_order(W, Z)`. It returns the permutation `order` for which $\sum_j W_j^\top Z_{order[j]}$ is
# largest, where $W_j$ and $Z_k$ are rows. Use `linear_sum_assignment(scores, maximize=True)`. It returns the
# places and the rows that belong to them.


# %% tags=["answer"]
def best_order(W, Z):
    """Return the row of Z for each row of W."""
    return ...  # your answer


# %% tags=["solution"]
def best_order(W, Z):
    """Return the row of Z for each row of W."""
    return linear_sum_assignment(W @ Z.T, maximize=True)[1]


# %% [markdown] tags=["solution"]
# The score of row $k$ in place $j$ is $W_j^\top Z_k$. The best row for each place alone may use a row twice.

# %% tags=["check"]
for seed in range(5):
    W, Z = np.random.default_rng(seed).normal(size=(2, 5, 2))
    order = best_order(W, Z)
    assert order is not ..., "Return a permutation."
    assert sorted(order) == list(range(5)), "Each row has to occur once."
    best = max(np.sum(W * Z[list(p)]) for p in itertools.permutations(range(5)))
    assert np.isclose(np.sum(W * Z[order]), best), "Another order has a larger sum."


# %% tags=["wrong"]
def best_order(W, Z):
    return (W @ Z.T).argmax(axis=1)


# %% [markdown]
# ## What this lesson claims, checked

# %% tags=["claims"]
# The claims of this lesson.
# The overlap is the integral, the order has no effect, and the shape separates the flocks.
np.testing.assert_allclose(value, integral, rtol=1e-7)
assert by_order < 1e-9
assert right_sets > 0.8 > 0.6 > right_means

# Spans: mixtures change nothing, minors give the kernel, and the square is needed.
assert by_mixture < 1e-4
assert cauchy_binet < 1e-4
assert lowest["squared"] > -1e-10
assert lowest["not squared"] < -1

# Order: the objective never rises with rho = 0, and rho decides what is learnt.
assert np.all(np.diff(course) <= 1e-9)
assert ordered.score(X, y) == 1
mean = dict(zip(names, np.mean(scores, axis=0), strict=True))
assert mean["random order"] < 0.55 < mean["rho = 0"] < 0.75 < 0.95 < mean["rho = 10"]
assert "local optimum (row_permutations)" in str(fits[-1].report_)
print("all claims hold")

# %% [markdown]
# **Next** lesson 19 evaluates knowledge without deceiving oneself.
