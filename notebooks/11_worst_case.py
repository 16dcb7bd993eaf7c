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
# # What is the worst that can happen to a row?
#
# A boat was seen once. Since then the tide may have carried it along, or the wind may have turned it about
# the lighthouse. Its class is still the same.
#
# With one copy for each of these places, the model minimises the *sum* of their losses. But a boat is in one
# place only. In this lesson each row pays for its worst place, and for nothing else.
#
# **You learn**
#
# - to train on the worst transformation of each row with `InvariantLoss`;
# - how the mean, the maximum and the sum of losses differ;
# - how column generation solves a problem with very many constraints;
# - why a maximum of sums is a different problem from a sum of maxima.
#
# **You need** lessons 1 and 9.
#
# **Time** 25 minutes.
#
# **Theorem** Column generation brackets the optimum in every round, and it ends.

# %%
import cvxpy as cp
import matplotlib.pyplot as plt
import numpy as np
from IPython.display import display
from sklearn.datasets import load_digits

from priorsvm import (
    RBF,
    FeatureDeletion,
    FromFunction,
    InvariantLoss,
    PriorSVC,
    Shift,
    Translation,
    VirtualSamples,
    plot,
)

# %% [markdown]
# ## Twenty-four boats
#
# Half of the boats work inshore, half offshore. The lighthouse is at the origin. `tide | wind` means one or
# the other. A boat has nine possible places, and the observed place is one of them.

# %%
rng = np.random.default_rng(16)
inshore = np.column_stack([rng.uniform(0.0, 2.6, 12), rng.uniform(0.4, 1.5, 12)])
offshore = np.column_stack([rng.uniform(-2.4, 0.6, 12), rng.uniform(1.6, 2.8, 12)])
X = np.vstack([inshore, offshore])
y = np.repeat(["inshore", "offshore"], 12)
sign = np.where(y == "offshore", 1.0, -1.0)  # classes are sorted, and the second class is +1


def turned(P, degrees):
    """Return points turned about the origin."""
    a = np.radians(degrees)
    return P @ np.array([[np.cos(a), np.sin(a)], [-np.sin(a), np.cos(a)]])


tide = Shift([1.0, 0.0], steps=5)  # by -1, -0.5, 0, 0.5, 1
wind = FromFunction(turned, thetas=[-10, -5, 5, 10])
moves = tide | wind
orbit = moves.orbit(X)  # row, place, coordinate; place 0 is the row itself
n, s, _ = orbit.shape
print(f"{n} rows, {s} places each")

# %%
# alt: Two panels with boats and the places they can drift to. The plain border runs through such places. The
# border for the worst place of each boat is flatter, and diamonds mark active places.
C = 1.0
plain = PriorSVC(C=C).fit(X, y)
robust = PriorSVC(InvariantLoss(moves), C=C, tol=1e-9).fit(X, y)
axes = plot.compare({"plain SVM": plain, "worst place of each boat": robust}, extent=(-3.4, 4.0, -0.4, 3.4))
axes[0].scatter(*orbit.reshape(-1, 2).T, color="0.4", s=3)
plt.show()

# %% [markdown]
# Small dots are the possible places of a boat. Diamonds are the worst places of the boats that determine the
# boundary. The plain model separates left from right, and it cuts through the places of nine boats. The other
# model separates near from far.


# %%
def margins(model, places=orbit):
    """Return y f at each place, of shape (rows, places)."""
    f = model.decision_function(places.reshape(-1, places.shape[-1])).reshape(places.shape[:2])
    return sign[:, None] * f


def crossed(model):
    """Return how many boats have a place on the wrong side, and the number of these places."""
    wrong = margins(model) <= 0
    return int(wrong.any(axis=1).sum()), int(wrong.sum())


print("plain: {} boats with a place on the wrong side, {} such places".format(*crossed(plain)))
print("worst: {} boats with a place on the wrong side, {} such places".format(*crossed(robust)))

# %% [markdown]
# ## Mean, worst, sum
#
# Let $\ell_i(\theta) = \left[1 - y_i f(T_\theta x_i)\right]_+$ be the loss of row $i$ after the
# transformation $T_\theta$, and let $|\Theta|$ be the number of transformations. No loss is negative, so for
# every $f$
#
# $$\frac{1}{|\Theta|} \sum_\theta \ell_i(\theta) \;\le\; \max_\theta \ell_i(\theta)
# \;\le\; \sum_\theta \ell_i(\theta) .$$
#
# `VirtualSamples` minimises the sum, or with $C / |\Theta|$ in place of $C$ the mean. `InvariantLoss`
# minimises the maximum. The inequality holds for every $f$, so the three optimal values have the same order.

# %%
# alt: Three panels with the border of the mean, the worst, and the sum of the losses of an orbit. The three
# borders differ.
models = {
    "mean": PriorSVC(VirtualSamples(moves), C=C / s).fit(X, y),
    "worst": robust,
    "sum": PriorSVC(VirtualSamples(moves), C=C).fit(X, y),
}
for name, model in models.items():
    boats, places = crossed(model)
    print(f"{name:5s}: optimum {model.objective_:6.2f}; on the wrong side {boats} boats, {places:2d} places")
plot.compare(models, extent=(-3.4, 4.0, -0.4, 3.4), support=False, verify=False)
plt.show()

# %% [markdown]
# The sum loses few *places*. The maximum loses few *boats*. A boat that has paid for its worst place pays
# nothing for its other places, so more places are wrong than with the sum. Neither is better: they answer
# different questions.
#
# ## The problem by hand
#
# A maximum is the smallest number that is at least as large as each member. So one slack serves all places of
# a row:
#
# $$\min_{w, b, \xi \ge 0}\; \tfrac12 \|w\|^2 + C \sum_i \xi_i \quad \text{s.t.} \quad
# y_i \left(w^\top T_\theta x_i + b\right) \ge 1 - \xi_i \quad \text{for all } i \text{ and } \theta .$$
#
# With copies each place has a slack of its own. That is the whole difference.


# %%
def solve(points, owner):
    """Solve the SVM with a margin at each point, on the slack of the row that owns the point."""
    w, b, xi = cp.Variable(points.shape[1]), cp.Variable(), cp.Variable(n, nonneg=True)
    margin = cp.multiply(sign[owner], points @ w + b) >= 1 - xi[owner]
    problem = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(w) + C * cp.sum(xi)), [margin])
    problem.solve(solver="CLARABEL")
    return problem.value, w.value, b.value, xi.value


by_hand, w_by_hand, _, _ = solve(orbit.reshape(-1, 2), np.repeat(np.arange(n), s))
print(f"by hand        {by_hand:.8f}, w = {w_by_hand}")
print(f"InvariantLoss  {robust.objective_:.8f}, w = {robust.coef_[0]}")

# %% [markdown]
# ## The theorem
#
# Here are 216 constraints. Images have many more transformations, but few constraints are active.
# **Column generation** finds those:
#
# 1. solve with a part $P$ of the constraints, at first the rows alone;
# 2. find the worst place of each row under the $f$ just found;
# 3. add the places that the slack does not cover, and solve again.
#
# **Theorem.** Let $J^*$ be the optimal value of the full problem, $J_P$ the optimal value with the
# constraints $P$, and $f_P$ its solution. Let $U_P = \frac12 \|g_P\|^2 + C \sum_i \max_\theta
# \ell_i(\theta)$ be the objective of $f_P$ with the slacks that it really needs. Then $J_P \le J^* \le U_P$
# in every round. After finitely many rounds $J_P = J^* = U_P$.
#
# **Proof.**
#
# 1. Fewer constraints cannot raise a minimum: $J_P \le J^*$.
# 2. With the needed slacks, $f_P$ satisfies all constraints. So its objective $U_P$ is at least the minimum
#    $J^*$.
# 3. If step 3 adds nothing, all needed slacks are covered. Then $U_P = J_P$, and both equal $J^*$.
# 4. Otherwise step 3 adds at least one new constraint. There are finitely many, so the rounds end. ∎
#
# The same argument holds for a kernel model. With infinitely many places, the bounds of the theorem still
# hold, and the rounds stop at a small gap $U_P - J_P$. (Teo, Globerson, Roweis and Smola, 2007.)

# %%
points = X
owners = np.arange(n)
bounds = []
while True:
    lower, w, b, xi = solve(points, owners)
    needed = np.maximum(1 - sign[:, None] * (orbit @ w + b), 0)
    upper = 0.5 * w @ w + C * needed.max(axis=1).sum()
    bounds.append((lower, upper))
    print(f"round {len(bounds)}: {len(points) - n:2d} added places, {lower:.4f} <= optimum <= {upper:.4f}")
    if upper - lower < 1e-6:
        break
    new = np.flatnonzero(needed.max(axis=1) > xi + 1e-8)
    points = np.vstack([points, orbit[new, needed[new].argmax(axis=1)]])
    owners = np.concatenate([owners, new])

# %% [markdown]
# ## The same in the library
#
# The next model has an RBF kernel and 161 places for each boat. `plot.convergence` draws the two bounds, and
# `findings_` contains the worst places with a positive dual variable.

# %%
# alt: Left: upper and lower bound of the objective meet after a few rounds. Right: the curved border of a
# kernel model between the orbits of both classes.
fine = Shift([1.0, 0.0], steps=81) | FromFunction(turned, thetas=[t for t in np.linspace(-10, 10, 81) if t])
bent = PriorSVC(InvariantLoss(fine), C=10, kernel=RBF(0.3)).fit(X, y)
figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.2), layout="constrained")
plot.convergence(bent, ax=left)
plot.decision(bent, ax=right, extent=(-3.4, 4.0, -0.4, 3.4), legend=False)
plt.show()
held = bent.findings_["invariant_loss"]
members = n * (len(fine.theta_grid()) - 1)
print(f"{len(bent.history_)} rounds, {bent.history_[-1]['columns']} of {members} places in the last problem")
print(held)
display(bent.verify())

# %% [markdown]
# ## Digits that are shifted
#
# A 3 and an 8, ten labelled digits of each. Each digit may be shifted by one pixel along rows, columns and
# diagonals, so it has nine places. Three test errors are counted: as written, on average over the places, and
# at some place. The numbers are means of four draws. A constant answer is wrong for half of the digits.

# %%
images, digit = load_digits(return_X_y=True)
images = images / 16.0
shift = Translation((8, 8), pixels=1, grid="full")
priors = {"plain": None, "sum": VirtualSamples(shift), "worst": InvariantLoss(shift)}
wrong = np.zeros((4, 3, 3))
for seed in range(4):
    order = np.random.default_rng(seed).permutation(np.flatnonzero(np.isin(digit, (3, 8))))
    train = np.concatenate([order[digit[order] == k][:10] for k in (3, 8)])
    test = np.setdiff1d(order, train)
    shown = shift.orbit(images[test])
    for k, prior in enumerate(priors.values()):
        model = PriorSVC(prior, C=1.0, kernel=RBF(0.05)).fit(images[train], digit[train])
        miss = model.predict(shown.reshape(-1, 64)).reshape(shown.shape[:2]) != digit[test][:, None]
        wrong[seed, k] = 100 * miss[:, 0].mean(), 100 * miss.mean(), 100 * miss.any(axis=1).mean()
print(f"{'% wrong':8s}{'as written':>12s}{'on average':>12s}{'at some place':>15s}")
for name, found in zip(priors, wrong.mean(axis=0), strict=True):
    print(f"{name:8s}{found[0]:12.1f}{found[1]:12.1f}{found[2]:15.1f}")

# %%
# alt: Six digits above, and the shift of each digit with the smallest margin below. Most worst shifts have
# the margin 1.
strict = PriorSVC(InvariantLoss(shift), C=10, kernel=RBF(0.05)).fit(images[train], digit[train])
plot.worst_moves(strict, count=6)
plt.show()

# %% [markdown]
# The plain model is wrong for most digits at some place. Both blocks help much. The maximum is best at some
# place, which is what it minimises. The sum is best as written. Copies are less expensive, so try them
# first. With a large $C$ hardly any row has slack, and then a sum and a maximum of zeros are equal.
#
# The picture shows six training digits of a model with $C = 10$, and below each digit its worst shift. The
# numbers are the margins.
#
# ## A mistake that is easily made
#
# Here is a problem with fewer constraints. It takes the maximum *after* the sum:
#
# $$\max_\theta \sum_i \ell_i(\theta) \quad\text{instead of}\quad \sum_i \max_\theta \ell_i(\theta) .$$
#
# It means that *one* transformation is chosen for the whole table. The maximum of a sum is at most the sum of
# the maxima. So this problem promises too much if each row has its own worst case.
#
# The example has mails in two languages with three words each. One word of each mail may be lost. One lost
# word for all mails harms the mails of one language only.

# %%
rng = np.random.default_rng(0)
spam = np.repeat([-1.0, 1.0], 30)
language = np.tile([0, 1], 30)
counts = spam[:, None] * np.array([2.5, 1.2, 1.2]) + rng.normal(size=(60, 3))
mails = np.tile(counts, 2) * (np.repeat([0, 1], 3) == language[:, None])
one_gone = 1 - np.eye(7, 6)  # one word gone, or none

w, b, total = cp.Variable(6), cp.Variable(), cp.Variable()
pools = [total >= cp.sum(cp.pos(1 - cp.multiply(spam, (mails * gone) @ w + b))) for gone in one_gone]
pooled = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(w) + C * total), pools)
pooled.solve(solver="CLARABEL")
each = PriorSVC(InvariantLoss(FeatureDeletion(1)), C=C, tol=1e-9).fit(mails, spam)


# %%
def objectives(w, b):
    """Return the objective with one deletion for all mails, and with one deletion for each mail."""
    loss = np.stack([np.maximum(1 - spam * ((mails * gone) @ w + b), 0) for gone in one_gone])
    return 0.5 * w @ w + C * loss.sum(axis=1).max(), 0.5 * w @ w + C * loss.max(axis=0).sum()


found = {"maximum of sums": objectives(w.value, b.value)}
found["sum of maxima"] = objectives(each.coef_[0], each.intercept_[0])
print(f"{'trained on':16s}{'one for all':>12s}{'one for each':>14s}")
for name, (for_all, for_each) in found.items():
    print(f"{name:16s}{for_all:12.2f}{for_each:14.2f}")

# %% [markdown]
# The maximum of sums promises 4.87. If each mail loses its own worst word, the objective is 12.78. The right
# model reaches 9.16. If one column fails for all rows, such as a broken sensor, then the maximum of sums is
# the right problem.
#
# ## Exercises
#
# The exercises use these names. The boats `apart` are one mile farther apart.

# %%
apart = X + np.array([0.0, 1.0]) * (sign[:, None] > 0)
wide = FromFunction(turned, thetas=[-40, 40])
ends = PriorSVC(InvariantLoss(wide, method="columns"), C=C).fit(apart, y)

# %% [markdown] tags=["exercise"]
# ### Exercise 1: the upper bound
#
# Take $f$ of the plain model `plain`. Compute the upper bound $U_P$ of the theorem for it, where $P$ contains
# the rows alone. `margins(plain)` contains $y_i f$ at all places, and $C = 1$.

# %% tags=["answer"]
upper_bound = ...  # your answer: a number

# %% tags=["solution"]
needed_slack = np.maximum(1 - margins(plain), 0).max(axis=1)
upper_bound = 0.5 * np.sum(plain.coef_**2) + C * needed_slack.sum()
print(f"{plain.objective_:.3f} <= {robust.objective_:.3f} <= {upper_bound:.3f}")

# %% tags=["check"]
assert upper_bound >= robust.objective_, "An upper bound is not below the optimum of InvariantLoss."
assert np.isclose(upper_bound, bounds[0][1], rtol=1e-3), (
    "Compare with the first round of column generation above. Each row needs one slack only."
)

# %% tags=["wrong"]
upper_bound = 0.5 * np.sum(plain.coef_**2) + C * np.maximum(1 - margins(plain), 0).sum()

# %% [markdown] tags=["exercise"]
# ### Exercise 2: when are the sum and the maximum the same?
#
# Take the boats `apart`. Find a $C$ for which `VirtualSamples(moves)` and
# `InvariantLoss(moves)` give the same model. Which slacks does this need?

# %% tags=["answer"]
equal_C = ...  # your answer: a number

# %% tags=["solution"]
equal_C = 1000.0

# %% [markdown] tags=["solution"]
# If no row has slack, all losses are zero. Then both problems require the full margin at every place. This
# needs classes that can be separated at all places, and a large $C$.

# %% tags=["check"]
both = [
    PriorSVC(block(moves), C=equal_C, tol=1e-9).fit(apart, y) for block in (VirtualSamples, InvariantLoss)
]
difference = np.abs(both[0].coef_ - both[1].coef_).max()
assert difference < 1e-3, "The weights differ. For which C does no place need slack?"

# %% tags=["wrong"]
equal_C = 0.05

# %% [markdown] tags=["exercise"]
# ### Exercise 3: the worst angle
#
# The wind now turns the boats `apart` by any angle up to 40 degrees. A model that was trained on both ends of
# the turn only can be wrong inside the turn. Build a prior for which the objective at all angles is the
# promised objective. The parameter `continuous` of `InvariantLoss` may help.

# %% tags=["answer"]
all_angles = ...  # your answer: a prior

# %% tags=["solution"]
all_angles = InvariantLoss(wide, method="columns", continuous=True)

# %% [markdown] tags=["solution"]
# A turning boat moves on a circle, and some boats are worst inside their turn. With `continuous=True` the
# search for the worst place looks between the listed angles too.

# %% tags=["check"]
model = PriorSVC(all_angles, C=C).fit(apart, y)
along = np.stack([turned(apart, t) for t in np.linspace(-40, 40, 801)], axis=1)
at_all_angles = 0.5 * np.sum(model.coef_**2) + C * np.maximum(1 - margins(model, along), 0).max(axis=1).sum()
gap = abs(at_all_angles - model.objective_)
assert gap < 1e-3, f"At 801 angles the objective is {gap:.2f} above the promised objective."

# %% tags=["wrong"]
all_angles = InvariantLoss(wide, method="columns")

# %% [markdown]
# ## What this lesson claims, checked

# %% tags=["claims"]
# Mean, worst and sum have this order, and the maximum loses fewer boats, the sum fewer places.
assert models["mean"].objective_ < models["worst"].objective_ < models["sum"].objective_
assert crossed(plain)[0] == 9
assert crossed(models["worst"])[0] < crossed(models["sum"])[0]
assert crossed(models["worst"])[1] > crossed(models["sum"])[1]

# One slack for all places, by hand, is the block.
np.testing.assert_allclose(robust.objective_, by_hand, rtol=1e-6)
np.testing.assert_allclose(robust.coef_[0], w_by_hand, atol=1e-6)

# %% tags=["claims"]
# The theorem, by hand and in the library.
history = [(entry["lower"], entry["upper"]) for entry in bent.history_]
for low, high in (np.array(bounds).T, np.array(history).T):
    assert np.all(np.diff(low) >= -1e-6 * high[-1])
    assert np.all(high >= low - 1e-6)
    assert high[-1] - low[-1] < 1e-5 * high[-1]
assert bent.history_[-1]["columns"] < 0.02 * members
assert bent.verify()["invariant_loss"].holds

# Digits: both blocks help much.
assert wrong[:, 1:, 2].mean(axis=0).max() < 0.5 * wrong[:, 0, 2].mean()
assert wrong[:, 2, 2].mean() < wrong[:, 1, 2].mean()
assert wrong[:, 1, 0].mean() < wrong[:, 2, 0].mean()

# A maximum of sums promises too much.
np.testing.assert_allclose(found["maximum of sums"][0], pooled.value, rtol=1e-6)
np.testing.assert_allclose(found["sum of maxima"][1], each.objective_, rtol=1e-6)
assert np.round(found["maximum of sums"], 2).tolist() == [4.87, 12.78]
assert round(found["sum of maxima"][1], 2) == 9.16

# %% [markdown]
# **Next** lesson 12: a whole curve of places, without a list. Lesson 15 returns to lost words. See also the
# guide page *Invariant loss* and the gallery examples of `InvariantLoss`.
