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
# # What if the kernel ignored what makes no difference?
#
# A carousel was photographed once. The place of a rider at that moment has no meaning. Its distance from the
# axle does. A kernel model compares rows by their kernel values alone. So the knowledge can go into the
# kernel: two riders are alike if they are alike after *some* turn, or on average over *all* turns.
#
# **You learn**
#
# - to build an invariant kernel from any kernel by a mean over transformations,
# - why virtual samples, the mean kernel and a hard hint are one model for a group,
# - why the best transformation instead of the mean gives a kernel that is not positive definite,
# - three ways to use such a kernel.
#
# **You need** lessons 3 and 9
#
# **Time** 25 minutes
#
# **Theorem** For a group of transformations, the model on all copies and the model with the mean kernel are
# equal.

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from priorsvm import (
    RBF,
    FromFunction,
    HaarIntegration,
    InvarianceHint,
    Jitter,
    Linear,
    PriorSVC,
    Translation,
    VirtualSamples,
    plot,
)
from priorsvm.errors import KernelNotPSD


def turned(P, degrees):
    """Turn points about the axle, at the origin."""
    a = np.radians(degrees)
    return P @ np.array([[np.cos(a), np.sin(a)], [-np.sin(a), np.cos(a)]])


# %%
# alt: Two kernels as functions of a point. The RBF kernel is a hill around one place, and its mean over all
# turns is a ring.
def turns(reach, steps=25):
    """Return turns of up to ``reach`` degrees to either side; 180 is the whole circle, each turn once."""
    full = reach == 180
    thetas = 360 / steps * np.arange(steps) if full else np.linspace(-reach, reach, steps)
    return FromFunction(turned, thetas=thetas, isometric=True)


rbf = RBF(3.0)
rider = turned(np.array([[1.2, 0.0]]), 60)
square = (-2, 2, -2, 2)
figure, panels = plt.subplots(1, 2, figsize=(8, 3.8), layout="constrained")
for axes, kernel, title in zip(
    panels, (rbf, HaarIntegration(rbf, turns(180))), ("RBF", "mean over all turns"), strict=True
):
    plot.kernel(kernel, rider[0], extent=square, ax=axes).set_title(title)
plt.show()

# %% [markdown]
# The dot with the white rim is one rider $x$, and bright points $z$ have a large $k(x, z)$. On the right the
# kernel depends on the distance from the axle alone.
#
# ## The mean over all turns
#
# Let $G$ be a finite set of turns with $|G|$ elements, and $k_0$ the base kernel. Turn both rows by all
# elements of $G$, and take the mean:
#
# $$k(x, z) = \frac{1}{|G|^2} \sum_{\theta \in G} \sum_{\theta' \in G} k_0(T_\theta x,\, T_{\theta'} z) .$$
#
# This is **Haar integration** (Haasdonk, Vossen and Burkhardt, 2005). By hand it takes three lines.


# %%
def mean_kernel(P, Q, transform, base):
    """Return the mean of the base kernel over all pairs of turns."""
    copies_P = transform.orbit(P)  # row, turn, coordinate
    copies_Q = transform.orbit(Q)
    pairs = [base(A, B) for A in copies_P.swapaxes(0, 1) for B in copies_Q.swapaxes(0, 1)]
    return np.mean(pairs, axis=0)


few = np.random.default_rng(0).uniform(-2, 2, (20, 2))
by_hand = mean_kernel(few, few, turns(90), rbf)
difference = np.abs(by_hand - HaarIntegration(rbf, turns(90))(few)).max()
print(f"largest difference from HaarIntegration: {difference:.1e}")

# %% [markdown]
# ## Range of the turns
#
# $G$ need not be the whole circle. The upper row shows the mean over turns of up to 45°, 90° and 180°. The
# lower row shows the **jittering kernel** `Jitter`. It takes the *best* turn instead of the mean.

# %%
# alt: Mean and best kernel for turns up to 45, 90 and 180 degrees. The hill becomes an arc and then a ring.
# The mean has lower values.
figure, panels = plt.subplots(2, 3, figsize=(10, 6.6), layout="constrained")
for column, reach in zip(panels.T, (45, 90, 180), strict=True):
    mean = HaarIntegration(rbf, turns(reach))
    best = Jitter(rbf, turns(reach, 121))
    plot.kernel(mean, rider[0], extent=square, ax=column[0]).set_title(f"mean, up to {reach}°")
    plot.kernel(best, rider[0], extent=square, ax=column[1]).set_title(f"best, up to {reach}°")
plt.show()

# %% [markdown]
# The small dots are the turned copies of the rider. The best turn makes all of them *perfectly* alike. The
# mean is highest in the middle of its range and lower towards the ends.
#
# ## Five riders
#
# Three riders sit in coaches and two on horses. A model with an RBF kernel classifies all five correctly, but
# its decision boundary depends on the angle. A larger range of turns makes the boundary rounder.

# %%
# alt: Decision regions of five rows. The RBF model has two separate islands. With turns up to 180 degrees the
# regions are rings.
radius = np.array([0.45, 1.75, 1.7, 1.1, 1.05])
angle = np.radians([200, 80, -60, 20, 150])
five = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
ride = np.array(["coach", "coach", "coach", "horse", "horse"])

models = {"RBF": PriorSVC(kernel=RBF(2.0), C=1e4).fit(five, ride)}
for reach in (90, 180):
    kernel = HaarIntegration(RBF(2.0), turns(reach))
    models[f"turns of up to {reach}°"] = PriorSVC(kernel=kernel, C=1e4).fit(five, ride)
for axes in plot.compare(models, extent=(-2.2, 2.2, -2.2, 2.2), support=False):
    axes.set_aspect("equal")
plt.show()

# %% [markdown]
# With the whole circle, $f$ is a function of the distance from the axle, and the horses have the middle
# ring. Five rows alone do not contain this rule.
#
# ## The theorem
#
# **Theorem.** Let $G$ be a finite *group* of transformations, and $k_0(T_\theta x, T_\theta z) = k_0(x, z)$
# for all $\theta \in G$. Three models then have the same $f$:
#
# 1. `VirtualSamples`: all $|G|$ copies of each row, each with weight $C / |G|$;
# 2. `HaarIntegration`: the rows as they are, with the mean kernel and weight $C$;
# 3. `InvarianceHint(hard=True)`: the rows as they are, with weight $C$ and $f(T_\theta x_i) = f(x_i)$.
#
# *Proof.* (a) The kernel is positive definite, as it is an inner product of means,
# $k(x, z) = \langle \bar\varphi(x), \bar\varphi(z) \rangle$ with
# $\bar\varphi(x) = \frac{1}{|G|} \sum_\theta \varphi_0(T_\theta x)$.
#
# (b) Let $f$ be optimal in model 1. Then $f \circ T_\theta$ is optimal too. It has the same norm, and
# $T_\theta$ only permutes the copies of a row. The mean of $f \circ T_\theta$ over $G$ is optimal by
# convexity, and is invariant.
#
# (c) So model 1 has an invariant solution. There the slacks of the copies of a row are equal, and
# $|G| \cdot C / |G| = C$. Model 1 is the SVM with weight $C$ over the invariant functions.
#
# (d) An invariant function is $\langle w, \varphi_0(x) \rangle = \langle w, \bar\varphi(x) \rangle$. These
# functions form the space of $k$, with the same norm. This is model 2.
#
# (e) Let $f$ be optimal in model 3. The mean of $f \circ T_\theta$ over $G$ has the same values at all rows
# $x_i$, and its norm is not larger. So it is optimal, and it is invariant. The rest is step (d). ∎
#
# Each optimal $g$ is unique, because $\lVert g \rVert^2$ is strictly convex.
#
# Step (b) uses that $T_\theta$ *permutes* the copies. For a part of a group, such as turns of up to 30°, this
# fails.

# %%
rng = np.random.default_rng(3)
n = 24
distance = rng.uniform(0.3, 2.0, n)
X = np.vstack(
    [turned(np.array([[r, 0.0]]), a) for r, a in zip(distance, rng.uniform(-40, 100, n), strict=True)]
)
y = np.where((distance > 0.8) & (distance < 1.5), "horse", "coach")
group = FromFunction(turned, thetas=60 * np.arange(6), isometric=True)

C = 3.0
routes = {
    "copies with C / 6": PriorSVC(VirtualSamples(group), C=C / 6, kernel=RBF(1.0), tol=1e-9),
    "mean kernel": PriorSVC(kernel=HaarIntegration(RBF(1.0), group), C=C, tol=1e-9),
    "hard hint": PriorSVC(InvarianceHint(group, hard=True), C=C, kernel=RBF(1.0), tol=1e-9),
}
for name, model in routes.items():
    model.fit(X, y)
    print(f"{name:18s} objective {model.objective_:.6f}, {len(model.centres_)} centres")

# %%
# alt: Copies, the mean kernel and a hard hint give almost the same ring of one class around a disc of the
# other class.
for axes in plot.compare(routes, extent=(-2.2, 2.2, -2.2, 2.2), support=False, verify=False):
    axes.set_aspect("equal")
plt.show()
part = turns(30, 7)
of_part = {
    "copies": PriorSVC(VirtualSamples(part), C=C / 7, kernel=RBF(1.0)).fit(X, y),
    "mean": PriorSVC(kernel=HaarIntegration(RBF(1.0), part), C=C).fit(X, y),
}
scores = [model.decision_function(few) for model in of_part.values()]
part_difference = np.abs(scores[0] - scores[1]).max()
print(f"seven turns of up to 30°: f differs by up to {part_difference:.2f}")

# %% [markdown]
# The mean kernel needs the fewest centres, and its problem has the size of the training set. Its price is
# the evaluation of $k$, which is a mean over many pairs.
#
# ## The best turn is not an inner product
#
# Take three riders at 0°, 40° and 80°, and turns of up to 40°. The first matches the second, and the second
# matches the third. The first does not match the third. Distances in a feature space cannot have such
# values, because two points at distance 0 are equal. So the kernel matrix has a negative eigenvalue.

# %%
three = np.vstack([turned(np.array([[1.0, 0.0]]), a) for a in (0, 40, 80)])
jitter = Jitter(rbf, turns(40, 9))
K = jitter(three)
print(K.round(3), "\nlowest eigenvalue:", np.linalg.eigvalsh(K)[0].round(3))
try:
    PriorSVC(kernel=jitter).fit(X, y)
except KernelNotPSD as error:
    refused = str(error)
    print(refused)

# %% [markdown]
# With such a matrix $\frac12 \beta^\top K \beta$ is not convex. There are three remedies:
#
# - `norm="l1"` regularises by $\sum_j |\beta_j|$. This is a linear programme for any kernel.
# - `psd="clip"` sets the negative eigenvalues on the training rows to 0. New rows go through the same linear
#   map.
# - `psd="shift"` adds a number to the diagonal. A new row, which equals no training row, has no part in it.

# %%
# alt: Eigenvalues of four kernel matrices. The matrix of Jitter has negative eigenvalues. Clipping, a shift
# and the mean over the group have none.
spectra = {"Jitter": np.linalg.eigvalsh(Jitter(rbf, turns(40))(X))}
for psd in ("clip", "shift"):
    spectra[psd] = np.linalg.eigvalsh(Jitter(rbf, turns(40), psd=psd).resolved(X)(X))
spectra["Haar"] = np.linalg.eigvalsh(HaarIntegration(rbf, turns(40))(X))
figure, panels = plt.subplots(1, 4, figsize=(11, 2.8), layout="constrained", sharey=True)
for axes, (name, values) in zip(panels, spectra.items(), strict=True):
    axes.bar(np.arange(n), values[::-1], color=np.where(values[::-1] < -1e-9, "#D55E00", "#0072B2"))
    axes.axhline(0, color="black", linewidth=0.8)
    axes.set(title=f"{name}, lowest {values[0].round(2) + 0.0:.2f}", xlabel="rank")
panels[0].set(yscale="symlog", ylabel="eigenvalue (linear within ±1)")
plt.show()

# %% [markdown]
# ## What it is worth on digits
#
# The task is 3 against 8 with twenty labelled digits of each kind. Test digits appear at all nine places
# within one pixel. The width γ = 0.2 was chosen after a look at these test errors, so the table compares
# kernels and does not estimate an error.

# %%
images, digit = load_digits(return_X_y=True)
images = images / 16.0
shift = Translation((8, 8), pixels=1, grid="full")
smooth = RBF(0.2)
kinds = {
    "RBF": {"kernel": smooth},
    "RBF, copies": {"prior": VirtualSamples(shift), "kernel": smooth},
    "mean": {"kernel": HaarIntegration(smooth, shift)},
    "best, clip": {"kernel": Jitter(smooth, shift, psd="clip")},
    "best, 1-norm": {"kernel": Jitter(smooth, shift), "norm": "l1"},
}
errors = {name: [] for name in kinds}
rows = np.flatnonzero(np.isin(digit, [3, 8]))
for seed in range(4):
    order = np.random.default_rng(seed).permutation(rows)
    train = np.concatenate([order[digit[order] == k][:20] for k in (3, 8)])
    test = np.setdiff1d(order, train)
    shown = shift.orbit(images[test]).reshape(-1, 64)
    truth = np.repeat(digit[test], 9)
    for name, kind in kinds.items():
        model = PriorSVC(C=10.0, **kind).fit(images[train], digit[train])
        errors[name].append(100 * np.mean(model.predict(shown) != truth))
for name, found in errors.items():
    print(f"{name:14s}{np.mean(found):5.1f} % wrong on shifted digits")

# %% [markdown]
# All of them help, and copies help most. Nine shifts are not a group: after a shift by one pixel only four
# or six of the nine places agree. So the mean kernel is only *partly* invariant here.
#
# ## Exercises

# %%
between = np.arange(-120, 121, 5)

# %% [markdown] tags=["exercise"]
# ### Exercise 1: fewer evaluations
#
# 25 turns of both riders are 625 pairs. A turn of both rows leaves $k_0$ as it is, so only the turn
# *between* them counts: $k_0(T_\theta x, T_{\theta'} z) = k_0(x, T_{\theta' - \theta} z)$. The angles −60°,
# −55°, …, 60° have 49 differences.
#
# Compute the mean kernel of `X` from 49 matrices `rbf(X, turned(X, t))`. The variable `between` has the
# differences $t$. Find the right `weights`, one for each.

# %% tags=["answer"]
weights = ...  # your answer: 49 numbers with sum 1
reduced = ...  # your answer: the weighted mean of the 49 matrices

# %% tags=["solution"]
weights = (25 - np.abs(np.arange(-24, 25))) / 625
reduced = sum(weight * rbf(X, turned(X, t)) for weight, t in zip(weights, between, strict=True))

# %% [markdown] tags=["solution"]
# The difference 0 occurs 25 times and the largest difference once, so the weights are a triangle. Equal
# weights give a matrix that is not positive semidefinite. The library uses the triangle by itself for an
# `isometric` transform.

# %% tags=["check"]
assert np.isclose(np.sum(weights), 1), "The weights of a mean have the sum 1."
assert np.linalg.eigvalsh(reduced)[0] > -1e-10, (
    "A mean over pairs has no negative eigenvalue. Count the pairs."
)
expected = mean_kernel(X, X, turns(60), rbf)
assert np.abs(reduced - expected).max() < 1e-10, "Count how often each difference occurs among the 625 pairs."

# %% tags=["wrong"]
weights = np.full(49, 1 / 49)
reduced = np.mean([rbf(X, turned(X, t)) for t in between], axis=0)

# %%
mirror = FromFunction(lambda P, _: P * [-1.0, 1.0], thetas=[1], isometric=True)

# %% [markdown] tags=["exercise"]
# ### Exercise 2: what the linear kernel keeps
#
# The transform `mirror` exchanges left and right, $(x_1, x_2) \mapsto (-x_1, x_2)$, and its orbit has both
# rows. Give the kernel matrix of the linear kernel, averaged over the mirror, without a mean. Then give the
# largest entry of the linear kernel matrix averaged over the whole circle.

# %% tags=["answer"]
K_mirror = ...  # your answer: an expression in the columns of X
largest = ...  # your answer: a number

# %% tags=["solution"]
K_mirror = np.outer(X[:, 1], X[:, 1])
largest = 0.0

# %% [markdown] tags=["solution"]
# The mean of $x$ and its mirror image is $(0, x_2)$, so only the second column is left. The mean over the
# circle is the axle for every rider, and the kernel is 0. A model with this kernel has its bias alone.

# %% tags=["check"]
expected = HaarIntegration(Linear(), mirror)(X)
assert np.shape(K_mirror) == (n, n), "The matrix has one row and one column for each rider."
assert np.abs(K_mirror - expected).max() < 1e-10, "Take the mean of a rider and its mirror image first."
expected = np.abs(HaarIntegration(Linear(), turns(180))(X)).max()
assert abs(largest - expected) < 1e-10, "Where is the mean of a rider over the whole circle?"

# %% tags=["wrong"]
K_mirror = np.outer(X[:, 0], X[:, 0])
largest = 0.0

# %% tags=["wrong"]
K_mirror = np.outer(X[:, 1], X[:, 1])
largest = 1.0

# %% [markdown] tags=["exercise"]
# ### Exercise 3: three riders without a feature space
#
# Now riders turn by up to 20°, in steps of 5°. Choose the angles of three riders at distance 2, such
# that the matrix of `Jitter(rbf, turns(20, 9))` has an eigenvalue below −0.2.

# %% tags=["answer"]
angles = ...  # your answer: three numbers in degrees

# %% tags=["solution"]
angles = [0, 20, 40]

# %% [markdown] tags=["solution"]
# Each rider has to match the next, and the first must not match the last. So the steps are 20°, the largest
# turn. With 0°, 10° and 20° all three match, and all entries are 1.

# %% tags=["check"]
riders = np.vstack([turned(np.array([[2.0, 0.0]]), angle) for angle in angles])
assert len(riders) == 3, "Give three angles."
lowest = np.linalg.eigvalsh(Jitter(rbf, turns(20, 9))(riders))[0]
assert lowest < -0.2, f"The lowest eigenvalue is {lowest:.2f}. Which pairs of riders match?"

# %% tags=["wrong"]
angles = [0, 10, 20]

# %% tags=["wrong"]
angles = [0, 40, 80]

# %% [markdown]
# ## What this lesson claims, checked

# %% tags=["claims"]
# The claims of this lesson.
# The mean over all pairs is HaarIntegration, and its spectrum has no negative part.
assert difference < 1e-13
assert spectra["Haar"][0] > -1e-12 > -0.1 > spectra["Jitter"][0]

# The best turn is flat along its range; the mean is highest in the middle.
along = np.vstack([turned(rider, t) for t in np.linspace(-45, 45, 181)])
assert Jitter(rbf, turns(45, 181))(along, rider).min() > 1 - 1e-9
fades = HaarIntegration(rbf, turns(45))(along, rider)[:, 0]
assert fades.argmax() == 90
assert fades[[0, -1]].max() < 0.8 * fades[90]

# All models classify the five riders correctly; with the whole circle f is constant along circles.
assert all(model.score(five, ride) == 1 for model in models.values())
circle = np.vstack([turned(rider, t) for t in range(360)])
changes = [np.ptp(model.decision_function(circle)) for model in models.values()]
assert changes[0] > 1 > 1e-6 > changes[-1]

# Copies, kernel and hint are one model for a group, and not for a part of a group.
objectives = [model.objective_ for model in routes.values()]
np.testing.assert_allclose(objectives, objectives[0], rtol=1e-7)
found = [model.decision_function(few) for model in routes.values()]
np.testing.assert_allclose(found[0], found[1], atol=1e-8)
np.testing.assert_allclose(found[2], found[1], atol=1e-5)
centres = [len(model.centres_) for model in routes.values()]
assert centres[1] == min(centres)
assert centres[1] * 6 == centres[0]
assert part_difference > 0.1

# The remedies do what they state.
assert "psd='clip' or psd='shift'" in refused
np.testing.assert_allclose(spectra["clip"], np.maximum(spectra["Jitter"], 0), atol=1e-8)
np.testing.assert_allclose(spectra["shift"], spectra["Jitter"] - 1.001 * spectra["Jitter"][0], atol=1e-9)

# On shifted digits all kernels help, and copies help most.
means = {name: np.mean(found) for name, found in errors.items()}
assert min(means, key=means.get) == "RBF, copies"
assert max(means, key=means.get) == "RBF"
print("all claims hold")

# %% [markdown]
# **Next** lesson 17 uses tangents instead of orbits, and selects a kernel by data.
