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
# # What if every row is a snapshot of a movement?
#
# A pendulum is photographed once. It hangs a little to the right, but it will not stay there. The movement
# is known, and the class does not change on the way. So the margin should hold along a whole curve, at
# infinitely many points.
#
# Copies at a few places are the simple answer. A better answer turns a curve into a small matrix.
#
# **You learn**
#
# - to require a margin along a curve with `Trajectories`;
# - why "a polynomial is nowhere negative" is a condition on a matrix;
# - where the S-lemma enters, and why the range of the movement matters;
# - to check whether a polynomial is close enough to $f$.
#
# **You need** lesson 11.
#
# **Time** 25 minutes.
#
# **Theorem** A polynomial in one variable that is nowhere negative is a sum of squares.

# %%
import warnings

import cvxpy as cp
import matplotlib.pyplot as plt
import numpy as np
from IPython.display import display
from sklearn.datasets import load_digits

from priorsvm import RBF, FromFunction, PriorSVC, Rotation, Trajectories, VirtualSamples, plot
from priorsvm.errors import CoarsePolynomial, CollapsedModel

# %% [markdown]
# ## Twelve pendulums
#
# Six pendulums are short, six are long, and all hang from the same hook. By chance the short ones were
# photographed on the right, and the long ones on the left. Between two photographs a pendulum turns by up to
# 35 degrees.

# %%
length = np.array([0.86, 0.80, 0.81, 0.81, 1.00, 0.89, 1.90, 1.80, 1.90, 1.74, 1.72, 1.96])
angle = np.radians([5, 29, 26, 25, 6, 10, -26, -16, -21, -8, -10, -17])
X = np.column_stack([length * np.sin(angle), -length * np.cos(angle)])
y = np.where(length > 1.5, "long", "short")
sign = np.where(y == "short", 1.0, -1.0)  # classes are sorted, and the second class is +1
n = len(X)


def turned(P, degrees):
    """Return points turned about the hook, which is the origin."""
    a = np.radians(degrees)
    return P @ np.array([[np.cos(a), np.sin(a)], [-np.sin(a), np.cos(a)]])


swing = FromFunction(turned, thetas=[-35, 35])
fine = np.linspace(-35, 35, 401)
curves = np.stack([turned(X, theta) for theta in fine], axis=1)  # row, angle, coordinate

# %%
# alt: Two panels with pendulums and their arcs. The plain border cuts the arcs of long pendulums. With
# Trajectories both classes of arcs are separated, and diamonds mark active points.
C = 100.0
plain = PriorSVC(C=C).fit(X, y)
copies = PriorSVC(VirtualSamples(swing), C=C).fit(X, y)
moving = PriorSVC(Trajectories(swing), C=C).fit(X, y)
axes = plot.compare({"plain SVM": plain, "Trajectories": moving}, extent=(-2.1, 1.8, -2.2, 0.2), verify=False)
axes[0].plot(*np.moveaxis(curves, -1, 0).swapaxes(1, 2), color="0.5", linewidth=1)
for ax in axes:
    ax.plot(0, 0, "x", color="black")
plt.show()

# %% [markdown]
# The plain model separates left from right, and some pendulums change their predicted class as they swing.
# The other model separates deep from high.
#
# ## f along a swing
#
# Follow $y_i f$ along the swing of each pendulum. It should stay above 1.

# %%
lowest = {}
along = {}
for name, model in {"plain SVM": plain, "copies at -35, 0, 35": copies, "Trajectories": moving}.items():
    along[name] = sign[:, None] * model.decision_function(curves.reshape(-1, 2)).reshape(n, -1)
    lowest[name] = along[name].min()
    print(f"{name:22s} lowest y f: {lowest[name]:+.2f}")

# %% tags=["hide-input"]
# alt: Margins over the angle for three models. The plain margins fall below 1 and below 0, margins with
# copies fall below 1 between copies, and margins with Trajectories are at least 1.
figure, panels = plt.subplots(1, 3, figsize=(13, 3.6), sharey=True, layout="constrained")
for axes, (name, rows) in zip(panels, along.items(), strict=True):
    for row, of in zip(rows, sign, strict=True):
        axes.plot(fine, row, color="#D55E00" if of > 0 else "#0072B2", linewidth=1)
    axes.axhline(1, color="black", linestyle="--", linewidth=1)
    axes.set(xlabel="degrees", title=name, ylim=(-1, 6))
panels[0].set_ylabel("y f")
plt.show()

# %% [markdown]
# Copies have their margin at three angles. Between these angles one curve falls to 0.8. A condition on all
# angles at once is needed.
#
# ## From a curve to a parabola
#
# Put $u = \theta / 35$, so that $u$ runs from $-1$ to $1$. Take the parabola through $y_i f - 1 + \xi_i$ at
# the three nodes $u = -1, 0, 1$:
#
# $$p(u) = p_0 + p_1 u + p_2 u^2, \quad p_0 = p(0), \quad p_1 = \tfrac{p(1) - p(-1)}{2}, \quad
# p_2 = \tfrac{p(1) + p(-1)}{2} - p(0) .$$
#
# All three coefficients are *linear in $w$ and $b$*. So $f$ is evaluated at three points only, whatever the
# movement is.
#
# ## The theorem
#
# **Theorem.** Let $p$ be a polynomial of degree $2r$ in one variable. Then $p(u) \ge 0$ for all $u$ if and
# only if $p$ is a sum of squares of polynomials. For degree 2 this means
#
# $$\begin{pmatrix} p_0 & p_1/2 \\ p_1/2 & p_2 \end{pmatrix} \succeq 0, \qquad \text{since} \qquad
# p(u) = \begin{pmatrix} 1 \\ u \end{pmatrix}^{\!\top}
# \begin{pmatrix} p_0 & p_1/2 \\ p_1/2 & p_2 \end{pmatrix} \begin{pmatrix} 1 \\ u \end{pmatrix} .$$
#
# **Proof for degree 2.**
#
# 1. If the matrix is positive semidefinite, the quadratic form is nonnegative for every vector. So $p \ge 0$.
# 2. Let $p \ge 0$. Then $p_2 \ge 0$, because otherwise $p$ tends to $-\infty$.
# 3. If $p_2 = 0$, then $p_1 = 0$, because a sloping line is negative somewhere. So $p = (\sqrt{p_0})^2$.
# 4. If $p_2 > 0$, complete the square:
#    $p(u) = p_2 \left(u + \frac{p_1}{2 p_2}\right)^2 + \left(p_0 - \frac{p_1^2}{4 p_2}\right)$. The last term
#    is the minimum of $p$. It is nonnegative, so it is a square too.
# 5. Each square $(a + c u)^2$ has the matrix $(a, c)^\top (a, c) \succeq 0$. Their sum is the matrix above. ∎
#
# For higher degrees see Nesterov (2000). In several variables the theorem holds for degree 2, but
# not in general.
#
# A grid of angles and the matrix should give the same answer:

# %%
rng = np.random.default_rng(0)
agree = 0
for p0, p1, p2 in rng.normal(loc=[1, 0, 1], size=(1000, 3)):
    u = np.append(np.linspace(-1e3, 1e3, 101), -p1 / (2 * p2))  # the lowest point of a parabola is included
    nowhere_negative = np.all(p0 + p1 * u + p2 * u**2 >= -1e-9)
    semidefinite = np.linalg.eigvalsh([[p0, p1 / 2], [p1 / 2, p2]]).min() >= -1e-9
    agree += nowhere_negative == semidefinite
print(f"the two conditions agree for {agree} of 1000 parabolas")

# %% [markdown]
# ## Only on the span: the S-lemma
#
# The condition on all real $u$ is too strong: no pendulum turns by a million degrees. On the span
# $1 - u^2 \ge 0$. So subtract a multiple of $1 - u^2$, and require that the rest is not negative:
#
# $$p(u) = \begin{pmatrix} 1 \\ u \end{pmatrix}^{\!\top}
# \begin{pmatrix} p_0 - s & p_1/2 \\ p_1/2 & p_2 + s \end{pmatrix}
# \begin{pmatrix} 1 \\ u \end{pmatrix} + s\,(1 - u^2), \qquad s \ge 0 .$$
#
# If some $s \ge 0$ makes this matrix positive semidefinite, then $p \ge 0$ on the span. The **S-lemma**
# states the converse: if $p \ge 0$ on the span, such an $s$ exists. So the condition is exact. (Pólik and
# Terlaky, 2007.)
#
# A $2 \times 2$ matrix with diagonal $a, d$ and corner $c$ is positive semidefinite if and only if
# $\left\| (2c,\; a - d) \right\| \le a + d$. This is a second-order cone, and solvers handle it fast.


# %%
def solve(constraints_of):
    """Solve the SVM with the given constraints along the swings; return the objective and w."""
    w, b, xi = cp.Variable(2), cp.Variable(), cp.Variable(n, nonneg=True)
    low, mid, high = (cp.multiply(sign, turned(X, t) @ w + b) - 1 + xi for t in (-35, 0, 35))
    p0, p1, p2 = mid, (high - low) / 2, (high + low) / 2 - mid
    objective = cp.Minimize(0.5 * cp.sum_squares(w) + C * cp.sum(xi))
    problem = cp.Problem(objective, constraints_of(p0, p1, p2))
    problem.solve(solver="CLARABEL")
    return problem.value, w.value


def matrices(p0, p1, p2):
    s = cp.Variable(n, nonneg=True)
    return [cp.bmat([[p0[i] - s[i], p1[i] / 2], [p1[i] / 2, p2[i] + s[i]]]) >> 0 for i in range(n)]


def cones(p0, p1, p2):
    s = cp.Variable(n, nonneg=True)
    return [cp.SOC(p0 + p2, cp.vstack([p1, p0 - p2 - 2 * s]), axis=0)]


# %% [markdown]
# As a check, a third way has the constraint at 401 angles of the parabola.


# %%
def grid(p0, p1, p2):
    return [p0 + u * p1 + u**2 * p2 >= 0 for u in np.linspace(-1, 1, 401)]


by_hand = {"matrices": solve(matrices), "cones": solve(cones), "401 angles": solve(grid)}
for name, (value, w) in by_hand.items():
    print(f"{name:13s} objective {value:.5f}, w = {w.round(4)}")
print(f"{'Trajectories':13s} objective {moving.objective_:.5f}, w = {moving.coef_[0].round(4)}")
display(moving.formulation())

# %% [markdown]
# ## Which moments are active?
#
# `findings_` contains the trajectories with a positive dual variable, and the angle $\theta^*$ at which each
# curve touches its margin.

# %%
# alt: The arcs with active points. Diamonds with their angles are at both ends of the long arcs and inside
# the short arc.
worst = moving.findings_["trajectories"]
plot.support_trajectories(moving)
plt.show()
for row, theta, weight in zip(worst.rows, worst.thetas, worst.weights, strict=True):
    if weight > 1e-3:
        print(f"row {row:2d}, {y[row]:5s}: touches its margin at {theta:+5.1f} degrees, weight {weight:.2f}")
made_of = (worst.weights * sign[worst.rows]) @ worst.points
print("w:", moving.coef_[0].round(4), " sum of weighted points:", made_of.round(4))

# %% [markdown]
# The long pendulums are worst where their swing ends. The short pendulum is worst inside its swing, where no
# copy was. The model is a weighted sum of these three points, $w = \sum_k a_k y_k x_k(\theta_k^*)$. None of
# them was ever photographed.
#
# ## Is a parabola close enough?
#
# A pendulum moves on a circle, so $f$ along it is not a parabola. After the fit, $f$ is compared with its
# polynomial at 201 places of each curve. A higher degree is closer, and it also works for kernel models.
# Then the condition contains two small matrices.

# %%
apart = {}
for label, kernel in (("linear", "linear"), ("RBF", RBF(1.0))):
    for degree in (2, 4, 6):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CoarsePolynomial)  # RBF, degree 2
            model = PriorSVC(Trajectories(swing, degree=degree), C=C, kernel=kernel).fit(X, y)
        f = sign[:, None] * model.decision_function(curves.reshape(-1, 2)).reshape(n, -1)
        apart[label, degree] = model.findings_["trajectories"].errors.max(), 1 - f.min()
for (label, degree), (error, missed) in apart.items():
    print(f"{label:6s} degree {degree}: f - polynomial {error:.0e}, missing margin {max(missed, 0):.0e}")

# %% [markdown]
# ## Span or line?
#
# The published method requires $p \ge 0$ for all real $\theta$, so without $s$. Then the lower right corner
# requires $p_2 \ge 0$ for *every* row: each curve must bend away from the boundary. Short and long pendulums
# bend to the same side, so for one class this is wrong whatever $w$ is.

# %%
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    line = PriorSVC(Trajectories(swing, span="line"), C=C).fit(X, y)
print("on the line: w =", np.abs(line.coef_[0]).round(8))
print(f"{caught[0].category.__name__}: {caught[0].message}")

# %% [markdown]
# ## Digits that turn
#
# A 3 and an 8, ten labelled digits of each. Each digit may be turned by up to 15 degrees. So each image is a
# curve in 64 dimensions. The picture shows the curves with the largest weights. Frames mark
# their worst images.

# %%
# alt: Digits under a move in five steps. Framed pictures show the active points of four trajectories, at ends
# and inside.
images, digit = load_digits(return_X_y=True)
images = images / 16.0
turn = Rotation((8, 8), degrees=15)


def draw_labels(seed):
    """Return the indices of training rows and of test rows."""
    order = np.random.default_rng(seed).permutation(np.flatnonzero(np.isin(digit, (3, 8))))
    train = np.concatenate([order[digit[order] == k][:10] for k in (3, 8)])
    return train, np.setdiff1d(order, train)


train, test = draw_labels(0)
turning = PriorSVC(Trajectories(turn), C=10, kernel="rbf").fit(images[train], digit[train])
plot.support_trajectories(turning, count=4)
plt.show()

# %% [markdown]
# Three test errors: upright, on average over seven angles, and at one of these angles at least. The numbers
# are means of three draws.

# %%
priors = {
    "plain SVM": None,
    "copies at -15, 0, 15": VirtualSamples(turn),
    "Trajectories": Trajectories(turn),
    "line, degree 2": Trajectories(turn, span="line", degree=2),
}
warnings.simplefilter("ignore", CoarsePolynomial)  # degree 2
wrong = np.zeros((4, 3, 3))
for seed in range(3):
    rows, new = draw_labels(seed)
    views = [turn.apply(images[new], t) for t in (-15, -10, -5, 0, 5, 10, 15)]
    for k, prior in enumerate(priors.values()):
        model = PriorSVC(prior, C=10, kernel="rbf").fit(images[rows], digit[rows])
        miss = np.array([model.predict(view) != digit[new] for view in views])
        wrong[k, seed] = 100 * miss[3].mean(), 100 * miss.mean(), 100 * miss.any(axis=0).mean()
print(f"{'% wrong':22s}{'upright':>9s}{'turned':>9s}{'at some angle':>15s}")
for name, found in zip(priors, wrong.mean(axis=1), strict=True):
    print(f"{name:22s}{found[0]:9.1f}{found[1]:9.1f}{found[2]:15.1f}")

# %% [markdown]
# With the knowledge, far fewer digits are wrong at some angle. Three copies do as well as the whole curve,
# because a digit is mostly worst at the ends of its turn. Pendulums were different, and for
# them the line was useless. On digits the line does as well as the span. Copies are less
# expensive, so try them first. Trajectories show whether the copies left a gap.
#
# ## Exercises

# %% [markdown] tags=["exercise"]
# ### Exercise 1: a sum of squares
#
# Write $p(u) = 5 - 4u + 2u^2$ as a sum of squares. Give the pairs $(a, c)$ of the squares $(a + c\,u)^2$.

# %% tags=["answer"]
squares = ...  # your answer: a list of pairs (a, c)

# %% tags=["solution"]
squares = [(-np.sqrt(2), np.sqrt(2)), (np.sqrt(3), 0.0)]  # 2 (u - 1)² + 3

# %% [markdown] tags=["solution"]
# Complete the square as in step 4 of the proof: $2(u - 1)^2 + 3$. There are many other sums, such as the
# columns of a Cholesky factor of the matrix.

# %% tags=["check"]
u = np.linspace(-3, 3, 7)
total = sum((a + c * u) ** 2 for a, c in squares)
assert np.allclose(total, 5 - 4 * u + 2 * u**2), "The sum of the squares is a different polynomial."

# %% tags=["wrong"]
squares = [(-np.sqrt(2), np.sqrt(2)), (np.sqrt(5), 0.0)]

# %% [markdown] tags=["exercise"]
# ### Exercise 2: a certificate on the span
#
# The parabola $p(u) = 1.2 + 0.5u - 0.6u^2$ is negative for large $|u|$, but not on $[-1, 1]$. Find an $s \ge
# 0$ that proves it.

# %% tags=["answer"]
s = ...  # your answer: a number

# %% tags=["solution"]
s = 0.9

# %% [markdown] tags=["solution"]
# The matrix is $\begin{pmatrix} 1.2 - s & 0.25 \\ 0.25 & s - 0.6 \end{pmatrix}$. Its determinant
# $(1.2 - s)(s - 0.6) - 0.0625$ is largest at $s = 0.9$, where it is positive.

# %% tags=["check"]
matrix = np.array([[1.2 - s, 0.25], [0.25, -0.6 + s]])
assert s >= 0, "A negative s proves nothing: s (1 - u²) has to be nonnegative on the span."
assert np.linalg.eigvalsh(matrix).min() >= 0, "The matrix has a negative eigenvalue. Look at its determinant."

# %% tags=["wrong"]
s = 0.6

# %% tags=["wrong"]
s = 0.0

# %% [markdown] tags=["exercise"]
# ### Exercise 3: where does the short pendulum touch?
#
# Row 4 is the short pendulum of the picture. Compute the angle in degrees at which its parabola is lowest.
# Use $f$ of the model `moving` at the three nodes.

# %% tags=["answer"]
low, mid, high = (moving.decision_function(turned(X[[4]], t))[0] for t in (-35, 0, 35))
theta_star = ...  # your answer: degrees

# %% tags=["solution"]
low, mid, high = (moving.decision_function(turned(X[[4]], t))[0] for t in (-35, 0, 35))
p1 = (high - low) / 2
p2 = (high + low) / 2 - mid
theta_star = 35 * (-p1 / (2 * p2))

# %% tags=["check"]
reported = worst.thetas[(worst.rows == 4) & (worst.weights > 1e-3)]
assert np.isclose(theta_star, reported, atol=0.2).any(), "Another angle is lowest. Is your answer in degrees?"

# %% tags=["wrong"]
low, mid, high = (moving.decision_function(turned(X[[4]], t))[0] for t in (-35, 0, 35))
theta_star = -(high - low) / 2 / (2 * ((high + low) / 2 - mid))

# %% [markdown]
# ## What this lesson claims, checked

# %% tags=["claims"]
# Copies leave a gap between them. Trajectories leave none, up to the error of the polynomial.
assert lowest["plain SVM"] < 0 < lowest["copies at -35, 0, 35"] < 0.9
assert lowest["Trajectories"] > 1 - worst.errors.max() > 0.9

# The theorem, and four ways to the same answer.
assert agree == 1000
for value, w in by_hand.values():
    np.testing.assert_allclose(value, moving.objective_, rtol=1e-4)
    np.testing.assert_allclose(w, moving.coef_[0], rtol=1e-3)

# Three points determine the boundary, one of them inside its swing, and w is their sum.
strong = worst.weights > 1e-3
assert strong.sum() == 3
assert np.sum(np.abs(worst.thetas[strong]) < 34) == 1
np.testing.assert_allclose(made_of, moving.coef_[0], rtol=1e-6)

# The error falls with the degree, and no margin is missed by more.
for label in ("linear", "RBF"):
    found = np.array([apart[label, degree] for degree in (2, 4, 6)])
    assert np.all(np.diff(found[:, 0]) < 0)
    assert np.all(found[:, 1] < 1.01 * found[:, 0] + 1e-6)

# %% tags=["claims"]
# On the line nothing is left.
assert caught[0].category is CollapsedModel
assert np.abs(line.coef_).max() < 1e-6

# Digits: turned digits gain, and copies gain as much.
upright, mean, some = wrong.mean(axis=1).T
assert some[2] < 0.7 * some[0]
assert mean[2] < mean[0]
assert abs(some[2] - some[1]) < 1

# %% [markdown]
# **Next** lesson 13: rows that are ellipses. See also the guide page *Trajectories* and the gallery example
# of `Trajectories`.
