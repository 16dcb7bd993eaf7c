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
# A boat was seen once. Since then the tide may have carried it along, or the wind may have turned it
# about the lighthouse, and nobody knows which. Whatever happened, it is still the same kind of boat.
#
# Copies of a row, one for each thing that can happen, are the usual answer: the model then minimises
# the *sum* of their losses. But a boat is in one place only. Here each row pays for its worst place, and
# for nothing else.

# %%
import warnings
from itertools import combinations

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
    Trajectories,
    Translation,
    UncertainSamples,
    VirtualSamples,
)
from priorsvm.errors import CollapsedModel

BLUE, RED, GREY = "#0072B2", "#D55E00", "0.4"

# %% [markdown]
# ## Twenty-four boats
#
# Half of them work inshore, half offshore. The lighthouse is at the origin. `tide | wind` is *one or the
# other*: a boat has nine places where it may be, the one where it was seen among them.

# %%
rng = np.random.default_rng(16)
inshore = np.column_stack([rng.uniform(0.0, 2.6, 12), rng.uniform(0.4, 1.5, 12)])
offshore = np.column_stack([rng.uniform(-2.4, 0.6, 12), rng.uniform(1.6, 2.8, 12)])
X = np.vstack([inshore, offshore])
y = np.repeat(["inshore", "offshore"], 12)
sign = np.where(y == "offshore", 1.0, -1.0)  # classes are sorted, and the second one is +1
n = len(X)


def turned(P, degrees):
    """Points turned about the lighthouse, at the origin."""
    a = np.radians(degrees)
    return P @ np.array([[np.cos(a), np.sin(a)], [-np.sin(a), np.cos(a)]])


tide = Shift([1.0, 0.0], steps=5)  # by -1, -0.5, 0, 0.5, 1
wind = FromFunction(turned, thetas=[-10, -5, 5, 10])
moves = tide | wind
orbit = moves.orbit(X)  # row, move, coordinate; move 0 is the row itself
s = orbit.shape[1]
print(f"{n} rows, {s} places each")


def draw(axes, *models, places=orbit):
    """Boats, where they may be, and where the models say neither."""
    for label, marker, colour in (("inshore", "o", BLUE), ("offshore", "^", RED)):
        of = y == label
        axes.scatter(*places[of].reshape(-1, 2).T, marker=marker, color=colour, s=9, alpha=0.35, linewidth=0)
        axes.scatter(*X[of].T, marker=marker, color=colour, s=36, label=label, zorder=3)
    axes.plot(0, 0, "*", color="black", markersize=11)
    axes.set(xlim=(-3.4, 4.0), ylim=(-0.4, 3.4), aspect="equal")
    mesh = np.stack(np.meshgrid(np.linspace(-3.4, 4, 200), np.linspace(-0.4, 3.4, 120)), axis=-1)
    for (label, model), style in zip(models, ("-", "--", ":"), strict=False):
        f = model.decision_function(mesh.reshape(-1, 2)).reshape(mesh.shape[:2])
        axes.contour(*np.moveaxis(mesh, -1, 0), f, levels=[0], colors="black", linestyles=style)
        axes.plot([], [], color="black", linestyle=style, label=label)


C = 1.0
plain = PriorSVC(C=C).fit(X, y)
told = PriorSVC(InvariantLoss(moves), C=C, tol=1e-9).fit(X, y)
figure, axes = plt.subplots(figsize=(8, 4.6))
draw(axes, ("plain SVM", plain), ("told what can happen", told))
axes.legend(loc="lower left")
axes.set_title("Where each of them may be")
plt.show()


def margins(model, places=orbit):
    """y f at each place, (rows, places)."""
    f = model.decision_function(places.reshape(-1, places.shape[-1])).reshape(places.shape[:2])
    return sign[:, None] * f


def crossed(model):
    """How many boats are on the wrong side at some place, and at how many places that is."""
    wrong = margins(model) <= 0
    return int(wrong.any(axis=1).sum()), int(wrong.sum())


print("plain: {} boats on the wrong side somewhere, at {} places in all".format(*crossed(plain)))
print("told:  {} boats on the wrong side somewhere, at {} places in all".format(*crossed(told)))

# %% [markdown]
# The plain model learnt *left or right*, and cuts through the places of nine boats. The other one
# learnt *near or far*.
#
# ## Mean, worst, sum
#
# Let $\ell_i(\theta) = \left[1 - y_i f(T_\theta x_i)\right]_+$ be the loss of row $i$ after the move
# $T_\theta$, and $s$ the number of moves. None of them is negative, so for every $f$
#
# $$\frac1s \sum_\theta \ell_i(\theta) \;\le\; \max_\theta \ell_i(\theta)
# \;\le\; \sum_\theta \ell_i(\theta) .$$
#
# `VirtualSamples` minimises the sum, or with $C/s$ in place of $C$ the mean. `InvariantLoss` minimises
# the worst. What holds for every $f$ holds for the best ones too: the three optima are in the same order.

# %%
losses = np.maximum(1 - margins(plain), 0)
three = losses.mean(axis=1), losses.max(axis=1), losses.sum(axis=1)
print("losses of the plain model, mean, worst and sum over the places of a boat:")
for i in np.argsort(three[1])[::-1][:5]:
    print(f"  boat {i:2d}, {y[i]:8s}: {three[0][i]:6.2f} <= {three[1][i]:6.2f} <= {three[2][i]:6.2f}")

models = {
    "mean": PriorSVC(VirtualSamples(moves), C=C / s).fit(X, y),
    "worst": told,
    "sum": PriorSVC(VirtualSamples(moves), C=C).fit(X, y),
}
for name, model in models.items():
    boats, places = crossed(model)
    print(
        f"{name:5s}: optimum {model.objective_:7.3f}, {boats} boats and {places:2d} places on the wrong side"
    )
figure, axes = plt.subplots(figsize=(8, 4.6))
draw(axes, *models.items())
axes.legend(loc="lower left")
axes.set_title("Mean, worst and sum of what can happen")
plt.show()

# %% [markdown]
# Count what each of them cares about. The sum loses few *places*. The worst case loses few *boats*: it
# gives up two, and having paid for the worst place of a boat it does not mind the others of that boat.
# That is why more places are wrong than with the sum. Neither is better. They answer different questions.
#
# ## The problem, by hand
#
# A maximum is the least number that is not below any of its members. So one slack serves all places of a
# row:
#
# $$\min_{w, b, \xi \ge 0}\; \tfrac12 \|w\|^2 + C \sum_i \xi_i \quad \text{s.t.} \quad
# y_i \left(w^\top T_\theta x_i + b\right) \ge 1 - \xi_i \quad \text{for all } i \text{ and } \theta .$$
#
# With copies each place would have a slack of its own. That is the whole difference.


# %%
def solve(points, owner):
    """The SVM with a margin at each of these points, on the slack of the row that owns it."""
    w, b, xi = cp.Variable(points.shape[1]), cp.Variable(), cp.Variable(n, nonneg=True)
    margin = cp.multiply(sign[owner], points @ w + b) >= 1 - xi[owner]
    problem = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(w) + C * cp.sum(xi)), [margin])
    problem.solve(solver="CLARABEL")
    return problem.value, w.value, b.value, xi.value


owner = np.repeat(np.arange(n), s)
by_hand, w_by_hand, b_by_hand, _ = solve(orbit.reshape(-1, 2), owner)
print(f"by hand        {by_hand:.8f}, w = {w_by_hand}, b = {b_by_hand:.6f}")
print(f"InvariantLoss  {told.objective_:.8f}, w = {told.coef_[0]}, b = {told.intercept_[0]:.6f}")
display(told.formulation())

# %% [markdown]
# ## Few places matter
#
# 216 constraints are no problem, but images have many more moves, and a kernel model would have a
# centre at each. Most of them never bind. **Column generation** finds those that do:
#
# 1. solve with the rows alone;
# 2. look for the worst place of each row, under the $f$ just found;
# 3. add those that the slack does not cover, and solve again.
#
# Each round brackets the answer. The restricted problem has too few constraints: its value is a **lower**
# bound. The same $f$ with the slacks it really needs is allowed in the full problem: an **upper** bound.
# When the two meet, nothing that was left out matters.

# %%
points, owners, by_rounds = X, np.arange(n), []
while True:
    lower, w, b, xi = solve(points, owners)
    needed = np.maximum(1 - sign[:, None] * (orbit @ w + b), 0)
    upper = 0.5 * w @ w + C * needed.max(axis=1).sum()
    by_rounds.append((lower, upper))
    print(f"round {len(by_rounds)}: {len(points) - n:2d} moves in the problem, {lower:.4f} to {upper:.4f}")
    if upper - lower < 1e-6:
        break
    new = np.flatnonzero(needed.max(axis=1) > xi + 1e-8)
    points = np.vstack([points, orbit[new, needed[new].argmax(axis=1)]])
    owners = np.concatenate([owners, new])

# %% [markdown]
# ## The same in the library
#
# Now the moves are fine, 161 of them, and the model has an RBF kernel. `history_` has the bounds of
# every round.

# %%
fine = Shift([1.0, 0.0], steps=81) | FromFunction(turned, thetas=[t for t in np.linspace(-10, 10, 81) if t])
bent = PriorSVC(InvariantLoss(fine), C=10, kernel=RBF(0.3)).fit(X, y)
history = bent.history_
members = n * (len(fine.theta_grid()) - 1)
lower_bounds, upper_bounds = (np.array([entry[key] for entry in history]) for key in ("lower", "upper"))
columns = [entry["columns"] for entry in history]
rounds = np.arange(1, len(history) + 1)

figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.2), layout="constrained")
left.plot(rounds, upper_bounds, "s--", color=RED, label="upper bound")
left.plot(rounds, lower_bounds, "o-", color=BLUE, label="lower bound")
left.set(xlabel="round", ylabel="objective", title="The optimum is between the two")
left.legend(loc="upper right")
right.bar(rounds, columns, color=GREY)
right.set(xlabel="round", title=f"Moves in the problem, of {members}")
plt.show()
print(f"{len(history)} rounds, {columns[-1]} of {members} moves in the problem at the end")

# %% [markdown]
# `findings_` has the places that hold the boundary, and how hard. Most of them are at the ends of the
# tide or of the turn, but nobody had to know that.

# %%
held = bent.findings_["invariant_loss"]
strong = held.support
figure, axes = plt.subplots(figsize=(8, 4.6))
draw(axes, ("RBF, told what can happen", bent), places=fine.orbit(X))
axes.scatter(
    *held.points[strong].T, s=90, facecolor="none", edgecolor="black", label="holds the boundary", zorder=4
)
axes.legend(loc="lower left")
axes.set_title(f"{strong.sum()} places of {len(np.unique(held.rows[strong]))} boats")
plt.show()
for k in np.argsort(held.weights)[::-1][:6]:
    by_tide, by_wind = held.thetas[k]
    print(
        f"boat {held.rows[k]:2d}: tide {by_tide:+.2f}, turned {by_wind:+5.1f} degrees, "
        f"weight {held.weights[k]:.2f}"
    )
display(bent.verify())

# %% [markdown]
# ## Digits that are shifted
#
# 3 against 8, twenty labelled digits of each kind. A digit may be shifted by one pixel along rows, columns
# and diagonals: nine places, with its own. Test digits are shown at all nine, and three things are counted:
# how many are wrong as they were written, how many on average over the places, and how many at one place
# at least. Means of six draws. Always answering *3* is wrong for about half of them.

# %%
images, digit = load_digits(return_X_y=True)
images = images / 16.0
shift = Translation((8, 8), pixels=1, grid="full")


def draw_labels(classes, per_class, seed):
    """Training and test rows."""
    order = np.random.default_rng(seed).permutation(np.flatnonzero(np.isin(digit, classes)))
    train = np.concatenate([order[digit[order] == k][:per_class] for k in classes])
    return train, np.setdiff1d(order, train)


priors = {"plain": None, "sum": VirtualSamples(shift), "worst": InvariantLoss(shift)}
strengths, seeds = [1.0, 10.0, 100.0], range(6)
wrong = np.zeros((len(priors), len(strengths), len(seeds), 3))
points_held = np.zeros(wrong.shape[:3])
majority = []
for seed in seeds:
    train, test = draw_labels((3, 8), 20, seed)
    shown = shift.orbit(images[test])
    majority.append(100 * np.mean(digit[test] != 3))
    for k, prior in enumerate(priors.values()):
        for c, strength in enumerate(strengths):
            model = PriorSVC(prior, C=strength, kernel=RBF(0.05)).fit(images[train], digit[train])
            miss = model.predict(shown.reshape(-1, 64)).reshape(shown.shape[:2]) != digit[test][:, None]
            wrong[k, c, seed] = 100 * miss[:, 0].mean(), 100 * miss.mean(), 100 * miss.any(axis=1).mean()
            found = model.findings_.get("invariant_loss")
            points_held[k, c, seed] = len(model.centres_) if found is None else found.support.sum()

print(f"{'':14s}{'as written':>11s}{'on average':>12s}{'somewhere':>11s}   points that hold it")
for k, name in enumerate(priors):
    for c, strength in enumerate(strengths):
        a, b, m = wrong[k, c].mean(axis=0)
        print(f"{name:6s} C = {strength:<4g}{a:10.1f} {b:11.1f} {m:10.1f} % {points_held[k, c].mean():13.0f}")
print(f"always 3: {np.mean(majority):.1f} % wrong")

# %% [markdown]
# Both kinds of knowledge are worth a lot: the plain model fails for nearly nine digits of ten at some
# place. With $C = 1$, where slack is cheap, the two differ as they should. The worst case fails for fewer
# digits somewhere; the sum is better on average, and better on digits as they were written. With a large
# $C$ hardly any row has slack, and then a sum and a maximum of zeros are the same. If each is given the best
# of the three $C$, by these very numbers, there is about a point between them, and that in favour of the sum
# on two counts of three. Copies are the cheaper kind, so try them first.
#
# (Teo, Globerson, Roweis and Smola, whose method this is, report about half as many support vectors for the
# worst case as for copies, on MNIST. Here there are fewer with the smallest $C$ only.)
#
# The digits that hold the model hardest, as they were written (upper row) and where they are worst
# (lower row):

# %%
train, test = draw_labels((3, 8), 20, 0)
model = PriorSVC(InvariantLoss(shift), C=1, kernel=RBF(0.05)).fit(images[train], digit[train])
held_digits = model.findings_["invariant_loss"]
strongest = np.argsort(held_digits.weights)[::-1][:10]
rows = held_digits.rows[strongest]
figure, panels = plt.subplots(2, 10, figsize=(12, 3.2), layout="constrained")
for k, (row, point, theta) in enumerate(
    zip(rows, held_digits.points[strongest], held_digits.thetas[strongest], strict=True)
):
    panels[0, k].set_title(f"a {digit[train][row]}", fontsize=9)
    panels[1, k].set_title("{:+.0f}, {:+.0f}".format(*(theta + 0.0)), fontsize=9)
    for axes, image in zip(panels[:, k], (images[train][row], point), strict=True):
        axes.imshow(image.reshape(8, 8), cmap="gray_r", vmin=0, vmax=1)
        axes.set(xticks=[], yticks=[])
plt.show()
print(held_digits, "of", 9 * len(train))

# %% [markdown]
# ## Features that are gone
#
# Another thing that can happen: $k$ features are lost, set to 0, and an adversary chooses which. Of 64
# pixels five can be deleted in more than seven million ways, so no list will do. But for a linear model
# the worst is known. Let $B_j = y\, w_j x_j$ be what feature $j$ contributes to $y f(x)$. Without it
# $y f$ falls by $B_j$. So the adversary takes the $k$ largest of the positive ones:
#
# $$\min_{|S| \le k} y f(x \text{ without } S)
# \;=\; y f(x) - \text{sum of the } k \text{ largest } [B_j]_+ .$$
#
# A sum of largest entries is convex, and CVXPY has it as one atom.

# %%
train, test = draw_labels((4, 9), 50, 0)
label_of = np.where(digit == 9, 1.0, -1.0)
Z, z = images[train], label_of[train]

v = np.random.default_rng(0).normal(size=64)
B = z[0] * v * Z[0]
by_formula = B.sum() - np.sort(np.maximum(B, 0))[-2:].sum()
by_search = min(B.sum() - B[list(gone)].sum() for gone in combinations(range(64), 2))
print(f"two pixels gone: {by_formula:.6f} by the formula, {by_search:.6f} by trying all 2016 pairs")

lose = 5
w, b, xi = cp.Variable(64), cp.Variable(), cp.Variable(len(Z), nonneg=True)
falls = [cp.sum_largest(cp.pos(z[i] * cp.multiply(Z[i], w)), lose) for i in range(len(Z))]
margin = cp.multiply(z, Z @ w + b) - cp.hstack(falls) >= 1 - xi
by_atoms = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(w) + C * cp.sum(xi)), [margin])
by_atoms.solve(solver="CLARABEL")
robust = PriorSVC(InvariantLoss(FeatureDeletion(lose)), C=C).fit(Z, z)
print(f"by hand        {by_atoms.value:.6f}")
print(f"InvariantLoss  {robust.objective_:.6f}")

# %% [markdown]
# Now the attack. Each test digit loses the pixels that hurt *this* model most on *this* digit. To be
# fair to the plain model it is shown with two values of $C$: a small one spreads the weights too. Means
# of three draws.

# %%
deleted = np.arange(0, 11)
variants = {
    "plain, C = 1": (0, 1.0, "o-", BLUE),
    "plain, C = 0.02": (0, 0.02, "v:", GREY),
    "told of 2": (2, 1.0, "s--", RED),
    "told of 5": (5, 1.0, "^-.", "black"),
}
right_after = {name: [] for name in variants}
weights, carried = {}, {}
for seed in range(3):
    train, test = draw_labels((4, 9), 50, seed)
    for name, (k, strength, *_) in variants.items():
        prior = InvariantLoss(FeatureDeletion(k)) if k else None
        model = PriorSVC(prior, C=strength).fit(images[train], label_of[train])
        attacked = [FeatureDeletion(j).worst(images[test], model.coef_[0], label_of[test]) for j in deleted]
        right_after[name].append([100 * model.score(A, label_of[test]) for A in attacked])
        helps = np.maximum(label_of[test][:, None] * model.coef_[0] * images[test], 0)
        weights[name] = model.coef_[0]
        carried[name] = np.mean(np.sort(helps, axis=1)[:, -5:].sum(axis=1) / helps.sum(axis=1))
right_after = {name: np.mean(found, axis=0) for name, found in right_after.items()}
often = 100 * max(np.mean(label_of[test] > 0), np.mean(label_of[test] < 0))

figure, axes = plt.subplots(figsize=(7.5, 4.4))
for name, (_, _, style, colour) in variants.items():
    axes.plot(deleted, right_after[name], style, color=colour, label=name)
axes.axhline(often, color=GREY, linewidth=1)
axes.annotate("always the commoner digit", (0, often - 1), va="top", fontsize=9, color=GREY)
axes.set(
    xlabel="pixels deleted, the worst for each digit", ylabel="test digits right, %", title="4 against 9"
)
axes.legend()
plt.show()
for name, found in right_after.items():
    print(
        f"{name:16s}", "  ".join(f"{found[j]:3.0f}" for j in (0, 2, 4, 6, 8)), "% right after 0, 2, 4, 6, 8"
    )

# %% [markdown]
# Digits as they are, all models read about equally well; under attack they differ. With two pixels
# gone *told of 2* is best, from four on *told of 5*. Much of the gain of *told of 2* can be had from a
# plain model with a small $C$, but not that of *told of 5*. The price of caution: *told of 5* is wrong on
# two digits more in a hundred when nothing is deleted.
#
# How is it done? By leaning on no few pixels. Below are the weights, relative to the largest, and how
# much of what speaks for a test digit's class comes from its five strongest pixels, on average.

# %%
figure, panels = plt.subplots(1, 4, figsize=(11, 3), layout="constrained")
for axes, (name, found) in zip(panels, weights.items(), strict=True):
    axes.imshow(found.reshape(8, 8) / np.abs(found).max(), cmap="gray", vmin=-1, vmax=1)
    axes.set(xticks=[], yticks=[], title=f"{name}\nfive pixels carry {carried[name]:.0%}")
plt.show()

# %% [markdown]
# ## Old friends
#
# Two other blocks are worst cases too, written as cones instead of lists. An **ellipse** of
# places: `UncertainSamples`. A **curve** of places: `Trajectories`. A list of places that gets denser
# should come closer and closer to the cone, from below. For a straight line the two ends are enough.

# %%
block = UncertainSamples([0.5, 0.15])  # standard deviations of both coordinates
cone = PriorSVC(block, C=C).fit(X, y).objective_
ring = {}
for count in (4, 16, 64, 256):
    angle = 2 * np.pi * np.arange(count) / count
    rim = block.radius * np.column_stack([0.5 * np.cos(angle), 0.15 * np.sin(angle)])
    around = FromFunction(lambda P, k, rim=rim: P + rim[int(k) - 1], thetas=np.arange(1, count + 1))
    ring[count] = cone - PriorSVC(InvariantLoss(around, method="columns"), C=C, tol=1e-9).fit(X, y).objective_
    print(f"ellipse, {count:3d} places: {ring[count]:.1e} below the cone")

straight = Shift([1.0, 0.0])
ends = PriorSVC(InvariantLoss(straight), C=C, tol=1e-9).fit(X, y).objective_
segment = PriorSVC(Trajectories(straight, degree=1), C=C, tol=1e-9).fit(X, y).objective_
print(f"line, both ends:       {abs(ends - segment):.1e} apart")
angles = np.linspace(-10, 10, 401)
dense = PriorSVC(InvariantLoss(FromFunction(turned, angles)), C=C, tol=1e-9).fit(X, y).objective_
curve = PriorSVC(Trajectories(FromFunction(turned, [-10, 10]), degree=6), C=C, tol=1e-9).fit(X, y).objective_
print(f"turn, 401 angles:      {abs(dense - curve):.1e} apart")

# %% [markdown]
# ## A mistake that is easily made
#
# *First add up, then take the worst*:
#
# $$\max_{|S| \le k} \sum_i \ell_i(S) \quad\text{instead of}\quad \sum_i \max_{|S| \le k} \ell_i(S) .$$
#
# It looks the same and has far fewer constraints. But it says that *one* deletion is chosen for the whole
# table. The adversary is not so restricted: each row loses what hurts it most. The maximum of a sum is at
# most the sum of the maxima, so the wrong problem promises too much.
#
# Mails in two languages, three words each, which speak for spam or against it. One deletion for all can hurt
# the mails of one language only.

# %%
rng = np.random.default_rng(0)
spam, language = np.repeat([-1.0, 1.0], 30), np.tile([0, 1], 30)
heard = spam[:, None] * np.array([2.5, 1.2, 1.2]) + rng.normal(size=(60, 3))
mails = np.tile(heard, 2) * (np.repeat([0, 1], 3) == language[:, None])
one_gone = 1 - np.eye(7, 6)  # one word gone, or none

w, b, total = cp.Variable(6), cp.Variable(), cp.Variable()
pools = [total >= cp.sum(cp.pos(1 - cp.multiply(spam, (mails * gone) @ w + b))) for gone in one_gone]
pooled = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(w) + C * total), pools)
pooled.solve(solver="CLARABEL")
each = PriorSVC(InvariantLoss(FeatureDeletion(1)), C=C, tol=1e-9).fit(mails, spam)


def pays(w, b):
    """What a model pays if one deletion is chosen for all mails, and if one is chosen for each."""
    loss = np.stack([np.maximum(1 - spam * ((mails * gone) @ w + b), 0) for gone in one_gone])
    return 0.5 * w @ w + C * loss.sum(axis=1).max(), 0.5 * w @ w + C * loss.max(axis=0).sum()


bills = {"pooled": pays(w.value, b.value), "each row": pays(each.coef_[0], each.intercept_[0])}
print(f"{'':10s}{'one for all':>12s}{'one for each':>14s}")
for name, (for_all, for_each) in bills.items():
    print(f"{name:10s}{for_all:12.2f}{for_each:14.2f}")
print(f"optimum of InvariantLoss: {each.objective_:.2f}")

# %% [markdown]
# The pooled model promises a bill of 4.87. When each mail loses its own word it has to pay 12.78, where
# 9.16 would have done. If one column really does fail for everybody, a broken sensor for instance, the
# pooled problem is the right one. It depends on the question, again.
#
# ## Exercises
#
# 1. Should a tide of 1 really count as much as one of 0.1? `cost` is the share of the margin that the
#    strongest moves are asked for. What happens between `cost=1` and `cost=0`?
# 2. The offshore boats go one mile farther out, and the wind turns boats by up to 40 degrees. Are the ends of
#    the turn enough, or does something happen in between? Try `continuous=True`.
# 3. When do sum and worst give the same model, whatever the moves?
# 4. What is left of $f$ if *all* features may be deleted?
#
# ## Solutions
#
# **1.** Less is asked, so the optimum falls. With three quarters of the margin as many boats keep their
# side as with all of it, and fewer places are lost. With `cost=0` the strongest moves need only stay on
# the right side, without any margin, and more boats are given up.

# %%
asked = [1.0, 0.75, 0.5, 0.25, 0.0]
cheaper = [PriorSVC(InvariantLoss(moves, cost=share), C=C).fit(X, y) for share in asked]
for share, model in zip(asked, cheaper, strict=True):
    boats, places = crossed(model)
    print(
        f"cost {share:4.2f}: optimum {model.objective_:.3f}, "
        f"{boats} boats and {places:2d} places on the wrong side"
    )

# %% [markdown]
# **2.** Something does. The places of a turning boat lie on a circle, and some boats are worst in the
# middle of their turn, as the pendulums of notebook 7 were. The model that knows only the ends pays
# more than it thinks.

# %%
apart = X + np.array([0.0, 1.0]) * (sign[:, None] > 0)
wide = FromFunction(turned, thetas=[-40, 40])
looked_at = np.linspace(-40, 40, 2001)
looked = np.stack([turned(apart, t) for t in looked_at], axis=1)
gaps = {}
for continuous in (False, True):
    model = PriorSVC(InvariantLoss(wide, method="columns", continuous=continuous), C=C).fit(apart, y)
    along = margins(model, looked)
    truth = 0.5 * np.sum(model.coef_**2) + C * np.maximum(1 - along.min(axis=1), 0).sum()
    gaps[continuous] = truth - model.objective_
    inside = np.sum((np.abs(looked_at[along.argmin(axis=1)]) < 39) & (along.min(axis=1) < 1 + 1e-6))
    print(
        f"continuous={continuous!s:5s}: optimum {model.objective_:.3f}, at 2001 angles {truth:.3f}; "
        f"support vectors that are worst inside their turn: {inside}"
    )

# %% [markdown]
# **3.** When no row needs slack: then all losses are zero, and both problems say that every place has the
# full margin. That takes rows whose places can be told apart, as those of exercise 2, and a large $C$. With
# a small $C$ they part again.

# %%
same = {}
for strength in (1000.0, 0.05):
    pair = InvariantLoss(moves), VirtualSamples(moves)
    two = [PriorSVC(prior, C=strength, tol=1e-9).fit(apart, y).coef_[0] for prior in pair]
    same[strength] = np.abs(two[0] - two[1]).max()
    print(f"C = {strength:6g}: w = {two[0].round(4)} and {two[1].round(4)}")

# %% [markdown]
# **4.** The adversary deletes whatever helps, so only the harmful terms stay:
#
# $$y f = y b - \sum_j \left[-y\, w_j x_j\right]_+ \le y b .$$
#
# A weight can only hurt, so $w = 0$ is best, and $f$ is its bias. The library warns.

# %%
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    nothing = PriorSVC(InvariantLoss(FeatureDeletion(64)), C=C).fit(Z, z)
print(caught[0].category.__name__ + ":", caught[0].message)
harmful = z * 0.5 - np.maximum(-z[:, None] * v * Z, 0).sum(axis=1)
all_gone = z * (FeatureDeletion(64).worst(Z, v, z) @ v + 0.5)
print("the formula, for a w of our own:", np.abs(harmful - all_gone).max())

# %% [markdown]
# ## What this notebook claims, checked

# %%
# Mean, worst and sum are in that order, row by row and at the optimum.
assert np.all(three[0] <= three[1])
assert np.all(three[1] <= three[2])
assert models["mean"].objective_ < models["worst"].objective_ < models["sum"].objective_

# The worst case loses fewer boats, the sum fewer places.
assert crossed(plain)[0] == 9
assert crossed(models["worst"])[0] < crossed(models["sum"])[0]
assert crossed(models["worst"])[1] > crossed(models["sum"])[1]

# One slack for all places, by hand, is the block.
np.testing.assert_allclose(told.objective_, by_hand, rtol=1e-6)
np.testing.assert_allclose(told.coef_[0], w_by_hand, atol=1e-6)

# Bounds close in on the optimum, by hand and in the library, and few moves are needed.
for low, high in (np.array(by_rounds).T, (lower_bounds, upper_bounds)):
    assert np.all(np.diff(low) >= -1e-6 * high[-1])
    assert np.all(high >= low - 1e-6)
    assert high[-1] - low[-1] < 1e-5 * high[-1]
np.testing.assert_allclose(by_rounds[-1], by_hand, rtol=1e-6)
assert len(points) - n < 0.2 * n * (s - 1)
assert max(columns) < 0.02 * members
assert bent.verify()["invariant_loss"].holds
at_ends = np.isclose(np.abs(held.thetas / [1.0, 10.0]).max(axis=1), 1)
assert held.weights[at_ends].sum() > 0.5 * held.weights.sum()

# Digits: both help; cheap slack parts them, dear slack does not.
written, mean, somewhere = np.moveaxis(wrong.mean(axis=2), -1, 0)
assert somewhere[1:].max() < 25 < 80 < somewhere[0].min()
assert somewhere[2, 0] < somewhere[1, 0]
assert mean[1, 0] < mean[2, 0]
assert written[1, 0] < written[2, 0]
assert abs(somewhere[2, 2] - somewhere[1, 2]) < 1
best_of = np.stack([kind.min(axis=1) for kind in (written, mean, somewhere)])
assert np.abs(best_of[:, 2] - best_of[:, 1]).max() < 1.5
assert (best_of[:, 2] > best_of[:, 1]).tolist() == [True, True, False]
fewer = points_held[2].mean(axis=1) < points_held[1].mean(axis=1)
assert fewer.tolist() == [True, False, False]
assert 45 < np.mean(majority) < 55

# The worst deletion is the sum of the largest, and a model that was told of it falls last.
np.testing.assert_allclose(by_formula, by_search, rtol=1e-12)
np.testing.assert_allclose(robust.objective_, by_atoms.value, rtol=1e-6)
assert (
    right_after["told of 5"][6] > right_after["plain, C = 0.02"][6] + 10 > right_after["plain, C = 1"][6] + 20
)
assert right_after["told of 2"][2] == max(found[2] for found in right_after.values())
for j in range(4, 11):
    assert right_after["told of 5"][j] == max(found[j] for found in right_after.values())
assert 1 < right_after["plain, C = 1"][0] - right_after["told of 5"][0] < 3
assert carried["told of 5"] < carried["plain, C = 1"]

# Denser lists come close to the cones, from below.
assert ring[4] > ring[16] > ring[64] > ring[256] > 0
assert ring[256] < 2e-5 * cone
np.testing.assert_allclose(ends, segment, rtol=1e-8)
np.testing.assert_allclose(dense, curve, rtol=1e-6)

# One deletion for all is another problem, and promises too much.
np.testing.assert_allclose(bills["pooled"][0], pooled.value, rtol=1e-6)
np.testing.assert_allclose(bills["each row"][1], each.objective_, rtol=1e-6)
assert bills["pooled"][0] < bills["each row"][0]
assert bills["each row"][1] < bills["pooled"][1]

# The exercises.
assert np.all(np.diff([model.objective_ for model in cheaper]) < 0)
assert crossed(cheaper[1])[0] == crossed(cheaper[0])[0] < crossed(cheaper[-1])[0]
assert crossed(cheaper[1])[1] < crossed(cheaper[0])[1]
assert gaps[False] > 0.1
assert abs(gaps[True]) < 1e-4
assert same[1000.0] < 1e-5 < 0.1 < same[0.05]
assert caught[0].category is CollapsedModel
np.testing.assert_allclose(harmful, all_gone, atol=1e-12)
print("all of it holds")
