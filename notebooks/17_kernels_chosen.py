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
# # Which kernel contains your knowledge, and how do you choose it?
#
# A handwritten digit remains the same digit if it moves by half a pixel. Such a small change moves the row
# along a *tangent*. Three kernels use tangents. This lesson compares them, and proves that one of them is a
# penalty in disguise. It ends with a criterion that chooses a kernel without a fit.
#
# **You learn**
#
# - what a tangent is, and how far it can be trusted,
# - how `TangentDistance`, `TangentVector` and `TangentInvariant` differ,
# - why a quadratic penalty on slopes of $f$ is a change of the kernel,
# - what `select_kernel` measures, and what it does not measure.
#
# **You need** lessons 10 and 16
#
# **Time** 25 minutes
#
# **Theorem** A quadratic penalty along tangents equals a kernel (Woodbury identity).

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from priorsvm import (
    RBF,
    ClassCosts,
    FromFunction,
    Linear,
    Polynomial,
    PriorSVC,
    TangentDistance,
    TangentInvariant,
    TangentPenalty,
    TangentVector,
    Translation,
    plot,
    select_kernel,
)


def turned(P, degrees):
    """Turn points about the origin."""
    a = np.radians(degrees)
    return P @ np.array([[np.cos(a), np.sin(a)], [-np.sin(a), np.cos(a)]])


# %%
# alt: Three kernels as functions of a point. The RBF kernel is round. The tangent distance is stretched along
# an arc, and the tangent vector along a line.
def radians(P, angle):
    """Turn points by an angle in radians."""
    return turned(P, np.degrees(angle))


turn = FromFunction(radians, thetas=np.linspace(-0.7, 0.7, 15))
kernels = {
    "RBF": RBF(3.0),
    "TangentDistance, one side": TangentDistance(3.0, turn, sides=1),
    "TangentVector": TangentVector(3.0, turn, spread=0.5),
}
figure, panels = plt.subplots(1, 3, figsize=(11, 3.6), layout="constrained")
for axes, (title, kernel) in zip(panels, kernels.items(), strict=True):
    plot.kernel(kernel, [0.6, 1.0], extent=(-2, 2, -2, 2), ax=axes).set_title(title)
plt.show()

# %% [markdown]
# The dot with the white rim is $x$, the small dots are turns of it, and bright points are alike. Both tangent
# kernels extend along the turn. The tangent distance has no limit for the move. The tangent vector kernel has
# one, its `spread`.
#
# ## A tangent is a derivative
#
# $T_\theta x$ is the transformed row. The **tangent** is $v = \partial T_\theta x / \partial \theta$ at
# $\theta = 0$. For a small θ, $T_\theta x \approx x + \theta v$. For images, `Translation` has two tangents,
# one for each direction.

# %%
# alt: A digit three, its tangent, and the digit plus half and twice the tangent. The last picture is
# distorted.
images, digit = load_digits(return_X_y=True)
images = images / 16.0
moves = Translation((8, 8))
three = images[3]
v = moves.tangents(images[3:4])[0, 0]
shown = [three, v, three + 0.5 * v, three + 2.0 * v]
plot.images(shown, (8, 8), titles=["x", "v", "x + 0.5 v", "x + 2 v"])
plt.show()

# %% [markdown]
# $x + 0.5\,v$ looks like a digit that has moved by half a pixel. $x + 2\,v$ does not look like a digit.
#
# ## Tangent distance is least squares
#
# Both rows move along their tangents until they are as close as possible. The tangents of $x$ are the columns
# of $L_x$:
#
# $$k(x, z) = e^{-\gamma d^2(x, z)}, \qquad
# d^2(x, z) = \min_{a, b}\, \lVert x + L_x a - z - L_z b \rVert^2 .$$
#
# This is a least-squares problem with four unknowns. By hand:


# %%
def tangent_distance(x, z):
    """Return the squared distance of two images along their tangents."""
    L_x, L_z = (moves.tangents(row[None])[0].T for row in (x, z))
    L = np.hstack([L_x, -L_z])
    unknowns = np.linalg.lstsq(L, z - x, rcond=None)[0]
    return np.sum((x + L @ unknowns - z) ** 2)


kernel = TangentDistance(0.2, moves)
others = {"moved by half a pixel": moves.apply(images[3:4], [0.5, 0.0])[0], "an 8": images[8]}
closer = {}
for name, z in others.items():
    along = tangent_distance(three, z)
    value = kernel(three[None], z[None])[0, 0]
    closer[name] = along / np.sum((three - z) ** 2)
    print(f"{name}: squared distance {np.sum((three - z) ** 2):.2f}, along tangents {along:.2f}")
    print(f"    kernel {value:.6f}, by hand {np.exp(-0.2 * along):.6f}")

# %% [markdown]
# The moved copy comes much closer to the 3, and the 8 hardly comes closer. The tangent distance is
# not a metric, so the kernel is not positive definite. Lesson 16 has the three remedies.
#
# ## The theorem: a penalty that is a kernel
#
# `TangentPenalty` leaves the kernel as it is, and penalises the slopes of $f$ along the tangents $v_i$ of the
# training rows:
#
# $$\min_f \; \tfrac12 \lVert g \rVert^2 + \tfrac{\mu}{2} \sum_i \bigl(\nabla f(x_i)^\top v_i\bigr)^2
# + C \sum_i \xi_i .$$
#
# **Theorem.** This model is the plain SVM with the kernel
#
# $$k_{inv}(x, z) = k(x, z) - d(x)^\top \bigl(\tfrac1\mu I + K^t\bigr)^{-1} d(z) ,$$
#
# where $d_i(x)$ is the derivative of $k(x_i, x)$ along $v_i$ in $x_i$, and
# $K^t_{ij}$ is the derivative of $k(x_i, x_j)$ along $v_i$ and $v_j$.
#
# *Proof.* Let $g(x) = w^\top \varphi(x)$, and let the columns of $\Psi$ be the derivatives of $\varphi$ at
# $x_i$ along $v_i$. Then the two quadratic terms are $\frac12 w^\top A w$ with $A = I + \mu \Psi
# \Psi^\top$.
#
# Put $u = A^{1/2} w$. The norm becomes $\frac12 \lVert u \rVert^2$, and $g(x) = u^\top A^{-1/2} \varphi(x)$.
# This is a plain SVM with the kernel $\varphi(x)^\top A^{-1} \varphi(z)$.
#
# The Woodbury identity is $A^{-1} = I - \Psi (\frac1\mu I + \Psi^\top \Psi)^{-1} \Psi^\top$. The rest are
# names: $\Psi^\top \varphi(x) = d(x)$ and $\Psi^\top \Psi = K^t$. ∎
#
# The kernel is positive definite, because $A$ is. See Chapelle and Schölkopf (2002). `TangentInvariant` is
# this kernel.

# %%
rng = np.random.default_rng(3)
n = 24
distance = rng.uniform(0.3, 2.0, n)
angle = np.radians(rng.uniform(-40, 100, n))
X = np.column_stack([distance * np.cos(angle), distance * np.sin(angle)])
y = np.where((distance > 0.8) & (distance < 1.5), "horse", "coach")
points = rng.uniform(-2, 2, (200, 2))

invariant, off = {}, {}
for mu in (0.0, 0.3, 30.0):
    block = PriorSVC(TangentPenalty(turn, mu), kernel=RBF(1.0), C=10.0, tol=1e-9).fit(X, y)
    kernel = TangentInvariant(RBF(1.0), turn, mu)
    invariant[f"μ = {mu:g}"] = model = PriorSVC(kernel=kernel, C=10.0, tol=1e-9).fit(X, y)
    off[mu] = np.abs(block.decision_function(points) - model.decision_function(points)).max()
    print(f"μ = {mu:4g}: penalty by {block.solver_}, kernel by {model.solver_}, difference {off[mu]:.0e}")

# %%
# alt: Three panels with growing weight of the tangents. The region of one class becomes longer along the
# turn.
for axes in plot.compare(invariant, extent=(-2.2, 2.2, -2.2, 2.2), support=False):
    axes.set_aspect("equal")
plt.show()

# %%
base = RBF(1.0)
V = turn.tangents(X)[:, 0]
d = base.slope(X, V, points)
K_t = base.slope_slope(X, V, X, V)
by_hand = base(points) - d.T @ np.linalg.solve(np.eye(n) / 30.0 + K_t, d)
formula = np.abs(by_hand - TangentInvariant(base, turn, 30.0).resolved(X)(points)).max()
print(f"the formula of the theorem: largest difference {formula:.0e}")

# %% [markdown]
# In both classes the parameter for μ is called `gamma`. A larger μ makes $f$ flat along the tangents at the
# riders. Half a turn away the penalty has no effect: it is local.
#
# ## What tangents are worth on digits
#
# The task is that of lesson 16: 3 against 8 with twenty labelled digits of each kind. These test digits are
# as they were written, without shifts. The width γ = 0.2 is that of lesson 16.

# %%
kinds = {
    "RBF": RBF(0.2),
    "TangentDistance": TangentDistance(0.2, moves, psd="clip"),
    "TangentVector": TangentVector(0.2, moves, spread=1.0, psd="clip"),
    "TangentInvariant": TangentInvariant(RBF(0.2), moves, 1.0),
}
rows = np.flatnonzero(np.isin(digit, [3, 8]))
wrong = {name: [] for name in kinds}
for seed in range(8):
    order = np.random.default_rng(seed).permutation(rows)
    train = np.concatenate([order[digit[order] == k][:20] for k in (3, 8)])
    test = np.setdiff1d(order, train)
    for name, kernel in kinds.items():
        model = PriorSVC(kernel=kernel, C=10.0).fit(images[train], digit[train])
        wrong[name].append(100 * (1 - model.score(images[test], digit[test])))
for name, found in wrong.items():
    gain = np.array(wrong["RBF"]) - found
    error = gain.std(ddof=1) / np.sqrt(len(gain))
    print(f"{name:17s}{np.mean(found):5.2f} % wrong, gain {gain.mean():.2f} ± {error:.2f}")

# %% [markdown]
# The gains are paired differences over eight draws, with their standard errors.
#
# ## Choose a kernel by the scatter of one class
#
# A search in a collection has few positive rows, and negative rows of many kinds. A good kernel makes the
# positive rows close to each other, and far from all others. `select_kernel` maximises
#
# $$J = \frac{\sum_{i \in n} \lVert \varphi(x_i) - m_p \rVert^2}
# {\sum_{i \in p} \lVert \varphi(x_i) - m_p \rVert^2} ,$$
#
# where $p$ are the positive rows, $n$ the other rows, and $m_p$ is the mean of $\varphi$ over the positive
# rows. The criterion needs kernel values only, and no fit (Wang and others, 2005). Here the positive class
# has two parts, on both sides of the other class.

# %%
# alt: Decision regions of two parts of a class on both sides of the other class, with two borders.
rng = np.random.default_rng(0)
parts = [rng.normal([-3, 0], 0.5, (12, 2)), rng.normal([3, 0], 0.5, (12, 2)), rng.normal(0, 1.0, (40, 2))]
Z = np.vstack(parts)
positive = np.repeat([True, False], [24, 40])
names = np.where(positive, "positive", "other")
candidates = [Linear(), Polynomial(2, gamma=1.0, coef0=1.0), (RBF(), {"gamma": (1e-3, 1e2)})]
selection = select_kernel(candidates, Z, positive, positive=True)
print(selection)
plot.decision(PriorSVC(kernel=selection.kernel).fit(Z, names), support=False)
plt.show()

# %% [markdown]
# The polynomial kernel of degree 2 is the best candidate. The linear kernel has $J < 1$: the two positive
# parts are farther from their mean than the other rows are.
#
# ## What the criterion does not measure
#
# The criterion looks at scatter, and not at errors. Compare it with errors on test rows, for RBF kernels of
# many widths. On the left is the task above, on the right the search for 3s among 200 digits of ten kinds.

# %%
order = np.random.default_rng(0).permutation(len(digit))
train = np.concatenate([order[digit[order] == k][:20] for k in range(10)])
test = np.setdiff1d(order, train)[:600]
new = np.vstack(
    [rng.normal([-3, 0], 0.5, (300, 2)), rng.normal([3, 0], 0.5, (300, 2)), rng.normal(0, 1, (600, 2))]
)
tasks = {
    "two parts": (Z, positive, new, np.repeat([True, False], 600)),
    "3 among digits": (images[train], digit[train] == 3, images[test], digit[test] == 3),
}
widths = 10.0 ** np.arange(-3, 1.6, 0.5)
curves = {}
for name, (A, a, B, b) in tasks.items():
    J = [select_kernel([RBF(width)], A, a, positive=True).score for width in widths]
    fits = [PriorSVC(ClassCosts("balanced"), kernel=RBF(width), C=10).fit(A, a) for width in widths]
    curves[name] = np.array(J), np.array([100 * (1 - model.score(B, b)) for model in fits])

# %% tags=["hide-input"]
# alt: Criterion and test error over the width of the kernel, for two tables. On both, the smallest criterion
# and the smallest error are at different widths.
figure, panels = plt.subplots(1, 2, figsize=(10, 3.4), layout="constrained")
for axes, (name, (J, errors)) in zip(panels, curves.items(), strict=True):
    other = axes.twinx()
    axes.semilogx(widths, J, "o-", color="#0072B2")
    other.semilogx(widths, errors, "^--", color="#D55E00")
    axes.set(xlabel="γ of the RBF kernel", title=name)
    axes.set_ylabel("J (circles)", color="#0072B2")
    other.set_ylabel("% wrong on test rows (triangles)", color="#D55E00")
plt.show()

# %% [markdown]
# On the left both curves agree on the widths that work. On the right $J$ prefers the smallest γ, and the
# test errors are lowest between γ = 0.03 and 0.1. So use the criterion to compare *kinds* of kernels, and
# cross-validation to set their width. At a large γ all points are orthogonal, and $J$ is on a plateau.
# `select_kernel` reports this.
#
# ## Exercises

# %% [markdown] tags=["exercise"]
# ### Exercise 1: from one tangent kernel to another
#
# The one-sided tangent distance to the plane of $z$ has a price for the length of the move:
# $d^2(x, z) = \min_b \lVert x - z - L_z b \rVert^2 + \eta \lVert b \rVert^2$. `TangentVector` with `gamma=3`
# and `spread=0.5` is this kernel for one `ridge` η. Which? A hint: its $b$ has the standard deviation
# `spread`, and the noise has the variance $1 / (2\gamma)$.

# %% tags=["answer"]
ridge = ...  # your answer: a number

# %% tags=["solution"]
ridge = 1 / (2 * 3.0 * 0.5**2)

# %% [markdown] tags=["solution"]
# The exponent $-\gamma (\lVert r \rVert^2 + \eta\, b^2)$ is a Gaussian log-density with the variance $1 /
# (2 \gamma)$ of $r$ and $1 / (2 \gamma \eta)$ of $b$. So $\eta = 1 / (2 \gamma t^2)$ for a spread $t$. With
# $t = 0$ the price is infinite, and the kernel is the RBF.

# %% tags=["check"]
expected = TangentVector(3.0, turn, spread=0.5)(points, X)
found = TangentDistance(3.0, turn, sides=1, symmetric=False, ridge=ridge)(points, X)
assert ridge > 0, "A move has a positive price."
assert np.abs(found - expected).max() < 1e-8, "Compare the exponent with a Gaussian in b of this spread."

# %% tags=["wrong"]
ridge = 0.5**2

# %% tags=["wrong"]
ridge = 2 * 3.0 * 0.5**2

# %% [markdown] tags=["exercise"]
# ### Exercise 2: the criterion from kernel values
#
# Write `J(K, p)`: the criterion from the kernel matrix `K` of all rows and the mask `p` of the positive
# rows. Expand the square. The mean $m_p$ is a mean of feature vectors, so all inner products are in `K`.


# %% tags=["answer"]
def J(K, p):
    """Return the criterion from a kernel matrix and a mask."""
    return ...  # your answer


# %% tags=["solution"]
def J(K, p):
    """Return the criterion from a kernel matrix and a mask."""
    squared = np.diag(K) - 2 * K[:, p].mean(axis=1) + K[np.ix_(p, p)].mean()
    return squared[~p].sum() / squared[p].sum()


# %% [markdown] tags=["solution"]
# $\lVert \varphi(x_i) - m_p \rVert^2 = K_{ii} - 2 \cdot \text{mean}_{j \in p} K_{ij} + \text{mean}_{j, l \in
# p} K_{jl}$. The last term is the same for all rows, but it cannot be left out: it is in both sums.

# %% tags=["check"]
for width in (0.01, 0.3, 5.0):
    expected = select_kernel([RBF(width)], Z, positive, positive=True).score
    found = J(RBF(width)(Z), positive)
    assert found is not ..., "Return a number."
    assert np.isclose(found, expected, rtol=1e-6), "The square of a difference has three terms."


# %% tags=["wrong"]
def J(K, p):
    squared = np.diag(K) - 2 * K[:, p].mean(axis=1)
    return squared[~p].sum() / squared[p].sum()


# %% [markdown] tags=["exercise"]
# ### Exercise 3: how far a tangent can be trusted
#
# A point at distance 1 turns by an angle, and the tangent moves it along a straight line instead. Up to which
# angle, in degrees, is the distance between both at most 0.05? An answer within one degree is enough.

# %% tags=["answer"]
largest = ...  # your answer: degrees

# %% tags=["solution"]
largest = np.degrees(np.sqrt(2 * 0.05))

# %% [markdown] tags=["solution"]
# The first term that the tangent leaves out is $\theta^2 / 2$. So $\theta \approx \sqrt{0.1}$, which is 18°.

# %% tags=["check"]
start = np.array([[1.0, 0.0]])
tangent = turn.tangents(start)[0, 0]


def gap(degrees):
    return np.linalg.norm(start + np.radians(degrees) * tangent - turned(start, degrees))


assert gap(largest - 1) < 0.05, "At this angle the tangent is too far from the circle."
assert gap(largest + 1) > 0.05, "The angle can be larger."

# %% tags=["wrong"]
largest = 45

# %% tags=["wrong"]
largest = np.degrees(0.05)

# %% [markdown]
# ## What this lesson claims, checked

# %% tags=["claims"]
# The claims of this lesson.
# The tangent distance is least squares, and a moved digit comes closer along tangents.
np.testing.assert_allclose(value, np.exp(-0.2 * along), rtol=1e-6)
assert closer["moved by half a pixel"] < 0.25 < 0.8 < closer["an 8"]

# Penalty and kernel are one model, and the formula is the kernel.
assert max(off.values()) < 1e-5
assert formula < 1e-10

# The slopes along the tangents fall with μ.
slopes = []
for model in invariant.values():
    ahead = model.decision_function(X + 1e-4 * V)
    back = model.decision_function(X - 1e-4 * V)
    slopes.append(np.sqrt(np.mean((ahead - back) ** 2)) / 2e-4)
assert slopes[0] > slopes[1] > 10 * slopes[2]

# All tangent kernels have fewer errors than the RBF kernel, on the mean of the draws.
assert all(np.mean(wrong[name]) < np.mean(wrong["RBF"]) for name in kinds if name != "RBF")

# The criterion refuses a linear kernel for the class of two parts, and prefers a smooth kernel for digits.
assert isinstance(selection.kernel, Polynomial)
assert selection.scores[0].score < 1
J_parts, errors_parts = curves["two parts"]
assert errors_parts[J_parts.argmax()] <= errors_parts.min() + 2
J_digits, errors_digits = curves["3 among digits"]
assert J_digits.argmax() == 0
assert errors_digits[0] > errors_digits.min() + 0.5
print("all claims hold")

# %% [markdown]
# **Next** lesson 18 is about samples that are sets, and matrices whose rows come in no order.
