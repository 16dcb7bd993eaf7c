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
# # Is a digit that moved still the same digit?
#
# To you it is. But a model is trained on pixels and labels, and the moved digit is not among them. The oldest
# remedy is to train on the moved digit too, with the same label. This copy is called a **virtual sample**.
#
# **You learn**
#
# - to describe what may happen to a row with a *transform* and its *orbit*;
# - to train on virtual samples, of all rows or of support vectors only;
# - to add blocks and to give each block a weight;
# - when copies make $f$ exactly invariant.
#
# **You need** lessons 1 and 3.
#
# **Time** 20 minutes.
#
# **Theorem** With the copies of a whole group and an invariant kernel, the trained model is invariant.

# %%
import matplotlib.pyplot as plt
import numpy as np
from IPython.display import display
from sklearn.datasets import load_digits

from priorsvm import (
    RBF,
    FromFunction,
    PriorSVC,
    Reflection,
    Rotation,
    Translation,
    VirtualSamples,
    VirtualSupportVectors,
    plot,
)

# %% [markdown]
# ## A transform and its orbit
#
# A **transform** describes how a row may change. Its **orbit** is the row together with all its transformed
# copies, and the row itself comes first. `Translation` moves an image by one pixel. `Rotation` turns it by a
# number of degrees.

# %%
# alt: A digit three of 8 by 8 pixels, and its copies moved by one pixel up, down, left and right, and turned
# both ways.
shape = (8, 8)
images, digit = load_digits(return_X_y=True)
images = images / 16.0
shift = Translation(shape)
turn = Rotation(shape, degrees=15)

three = images[digit == 3][:1]
orbit = np.vstack([shift.orbit(three)[0], turn.orbit(three)[0, 1:]])
titles = ["original", "up", "down", "left", "right", "turned", "turned back"]
plot.images(orbit, shape, titles=titles, limits=(0, 1))
plt.show()

# %% [markdown]
# ## A plain model
#
# Ten labelled digits of each class are the training set. All other digits are test rows. The plain model is
# wrong for about 7 % of them. A constant answer is wrong for 90 %.
#
# The same test digits, moved by one pixel, are much harder for this model.


# %%
def draw_labels(seed, per_class=10):
    """Return the indices of training rows and of test rows."""
    order = np.random.default_rng(seed).permutation(len(digit))
    train = np.concatenate([order[digit[order] == k][:per_class] for k in range(10)])
    return train, np.setdiff1d(order, train)


def percent_wrong(model, rows, labels):
    return 100 * (1 - model.score(rows, labels))


train, test = draw_labels(0)
plain = PriorSVC(C=10, kernel="rbf").fit(images[train], digit[train])
places = ("as written", "up", "down", "left", "right")
views = dict(zip(places, shift.orbit(images[test]).swapaxes(0, 1), strict=True))
plain_wrong = {name: percent_wrong(plain, view, digit[test]) for name, view in views.items()}
print("plain SVM, % wrong:", {name: round(wrong, 1) for name, wrong in plain_wrong.items()})

# %% [markdown]
# ## Train on the copies
#
# By hand this takes two lines: stack the orbits, and repeat the labels. The block `VirtualSamples` does the
# same inside the model. Both models get the same kernel, because the default width depends on the rows.

# %%
copies = shift.orbit(images[train]).reshape(-1, 64)
labels = np.repeat(digit[train], 5)
by_hand = PriorSVC(C=10, kernel=plain.kernel_).fit(copies, labels)
block = PriorSVC(VirtualSamples(shift), C=10, kernel=plain.kernel_).fit(images[train], digit[train])
apart = np.abs(by_hand.decision_function(images[test]) - block.decision_function(images[test])).max()
block_wrong = {name: percent_wrong(block, view, digit[test]) for name, view in views.items()}
print(f"largest difference between the two models: {apart:.0e}")
print("virtual samples, % wrong:", {name: round(wrong, 1) for name, wrong in block_wrong.items()})

# %% tags=["hide-input"]
# alt: Bars of the test error. The plain SVM makes many more errors on moved digits than on digits as written.
# With virtual samples all errors are small.
figure, axes = plt.subplots(figsize=(6.5, 3.4), layout="constrained")
across = np.arange(len(places))
axes.bar(across - 0.2, list(plain_wrong.values()), 0.4, color="#0072B2", label="plain SVM")
axes.bar(across + 0.2, list(block_wrong.values()), 0.4, color="#D55E00", hatch="//", label="virtual samples")
axes.set_xticks(across, places)
axes.set(ylabel="test error in %", title="Test digits as written, and moved by one pixel")
axes.legend()
plt.show()

# %% [markdown]
# The moved digits gain most, since the copies describe them. Digits as written gain too: people do not write
# at exactly the same place.
#
# In the problem the copies are further rows. Each copy has a slack $\tilde\xi$ of its own:

# %%
display(block.formulation())

# %% [markdown]
# ## Is this luck?
#
# One draw of a hundred digits proves little. So the comparison is repeated: three draws, and three sizes of
# the training set.


# %%
def errors_of(prior, seeds=range(3), per_class=10):
    """Return the test error in percent for several draws of the labelled digits."""
    found = []
    for seed in seeds:
        rows, new = draw_labels(seed, per_class)
        model = PriorSVC(prior, C=10, kernel="rbf").fit(images[rows], digit[rows])
        found.append(percent_wrong(model, images[new], digit[new]))
    return np.array(found)


numbers = [5, 10, 20]
curve = {
    "plain SVM": np.array([errors_of(None, per_class=number) for number in numbers]),
    "with copies": np.array([errors_of(VirtualSamples(shift), per_class=number) for number in numbers]),
}

# %% tags=["hide-input"]
# alt: Test error over the number of labelled digits. The curve of the model with copies is below the curve of
# the plain SVM.
figure, axes = plt.subplots(figsize=(6.5, 3.8))
for (name, found), colour, style in zip(curve.items(), ("#0072B2", "#D55E00"), ("o-", "s--"), strict=True):
    spread = found.std(axis=1, ddof=1)
    axes.errorbar(numbers, found.mean(axis=1), spread, fmt=style, color=colour, capsize=3, label=name)
axes.set(xscale="log", ylim=(0, None), xlabel="labelled digits of each class", ylabel="test error in %")
axes.set_xticks(numbers, numbers)
axes.minorticks_off()
axes.set_title("Mean and standard deviation of three draws")
axes.legend()
plt.show()

# %% [markdown]
# Knowledge replaces labels. With copies, ten labels per class give an error that the plain model reaches
# only with more labels.
#
# ## Copies of support vectors only
#
# Copies of rows far from the boundary have little influence, but they cost time. `VirtualSupportVectors`
# works in two rounds. It fits the plain model, keeps its support vectors, and adds copies of those rows.

# %%
errors = {
    "plain SVM": curve["plain SVM"][1],
    "copies of all rows": curve["with copies"][1],
    "copies of support vectors": errors_of(VirtualSupportVectors(shift)),
}
for name, found in errors.items():
    print(f"{name:28s} {found.mean():5.2f} ± {found.std(ddof=1):.2f} % test error")

rows_in = {}
for prior in (VirtualSamples(shift), VirtualSupportVectors(shift)):
    model = PriorSVC(prior, C=10, kernel="rbf").fit(images[train], digit[train])
    rows_in[type(prior).__name__] = [history[-1]["rows"] for history in model.history_]
    print(f"{type(prior).__name__}: rows in the model of each digit {rows_in[type(prior).__name__]}")

# %% [markdown]
# This is a heuristic. It assumes that a row far from the boundary has no copy near the boundary. The report
# therefore calls the result a local optimum.
#
# ## Knowledge adds up
#
# Blocks are added with `+`. A number in front is the outer weight of a block. Turned digits are interpolated
# and only roughly right, so they get half the weight. `named` gives a block a name for reports.

# %%
prior = VirtualSamples(shift).named("shifts") + 0.5 * VirtualSamples(turn).named("turns")
errors["shifts + 0.5 * turns"] = errors_of(prior)
print("names:", prior.names)
for name, found in errors.items():
    print(f"{name:28s} {found.mean():5.2f} ± {found.std(ddof=1):.2f} % test error")

# %% [markdown]
# ## The theorem
#
# Copies require the same *class* for a row and its copy, not the same *value* of $f$. In one case the values
# are equal too.
#
# A set $G$ of transformations is a **group** if it contains the inverse of each member and the composition of
# any two. A kernel is **invariant** under $G$ if $k(Tx, Tz) = k(x, z)$ for all $T$ in $G$.
#
# **Theorem.** Let $G$ be a finite group and $k$ an invariant kernel. Train with all copies of each row. Then
# $g(Tx) = g(x)$ for all $T$ in $G$ and at *every* $x$, not only at the training rows.
#
# **Proof.**
#
# 1. Replace $g$ by $g \circ T$. The norm stays the same, because $k$ is invariant. The losses change places
#    only, because $T$ permutes the copies of each row. So the objective stays the same.
# 2. The objective is strictly convex in $g$, so its minimiser $g$ is unique. But $g \circ T$ is a minimiser
#    too. Hence $g \circ T = g$. ∎
#
# Lesson 16 shows that two other models are equal to this one: a mean kernel, and a hard hint.
#
# The smallest group with an effect contains the mirror and the identity. A mirrored 0 is still a 0, and a
# mirrored 8 is still an 8. The shifts by one pixel are not a group: two shifts to the right are not a member.

# %%
mirror = Reflection(axis=1)
kernel = RBF(0.05)
pair = train[np.isin(digit[train], (0, 8))]
change = {}
for name, transform, prior in (
    ("plain SVM, mirror", mirror, None),
    ("copies, mirror", mirror, VirtualSamples(mirror)),
    ("copies, shifts", shift, VirtualSamples(shift)),
):
    model = PriorSVC(prior, C=1.0, kernel=kernel).fit(images[pair], digit[pair])
    members = transform.orbit(images[test])[:, 1]
    change[name] = np.abs(model.decision_function(members) - model.decision_function(images[test])).max()
    print(f"{name:18s} largest change of f: {change[name]:.0e}")

# %% [markdown]
# ## False knowledge
#
# A block does not detect false knowledge. A mirrored 3 is not a 3, and a mirrored 2 looks like
# an S. For all ten digits the mirror is false knowledge, and the test error rises.

# %%
# alt: A digit two and a digit three, each beside its mirror image, which is no digit.
errors["mirrored copies"] = errors_of(VirtualSamples(mirror))
for name in ("plain SVM", "mirrored copies"):
    print(f"{name:28s} {errors[name].mean():5.2f} ± {errors[name].std(ddof=1):.2f} % test error")
plot.images(
    mirror.orbit(images[[2, 3]]).reshape(-1, 64),
    shape,
    titles=["a 2", "mirrored", "a 3", "mirrored"],
    limits=(0, 1),
)
plt.show()

# %% [markdown]
# ## Exercises

# %% [markdown] tags=["exercise"]
# ### Exercise 1: the copies, or a larger C?
#
# With four copies, each row counts five times. Perhaps the gain comes from a larger $C$ and not from the
# moves. Take copies that do not move at all, and $C = 1$. Which $C$ gives a plain SVM the same decision
# function?

# %% tags=["answer"]
same_C = ...  # your answer: a number

# %% tags=["solution"]
same_C = 5.0  # a row and its four copies each pay C = 1

# %% [markdown] tags=["solution"]
# Five equal rows have five equal slacks. So the plain SVM needs five times the $C$. In the experiments above
# $C = 10$, and no training row has slack. There a larger $C$ changes nothing, so the gain comes from the
# moves.

# %% tags=["check"]
still = FromFunction(lambda X, theta: X, thetas=[1, 2, 3, 4])
with_copies = PriorSVC(VirtualSamples(still), C=1.0, kernel=kernel).fit(images[train], digit[train])
without = PriorSVC(C=same_C, kernel=kernel).fit(images[train], digit[train])
difference = with_copies.decision_function(images) - without.decision_function(images)
assert np.abs(difference).max() < 1e-4, "The models differ. How often does the loss of one row count?"

# %% tags=["wrong"]
same_C = 4.0

# %% [markdown] tags=["exercise"]
# ### Exercise 2: one block for two moves
#
# `shift | turn` is again a transform: its orbit contains the orbits of both. `shift @ turn` is the
# composition. Build one block that gives the same model as `VirtualSamples(shift) + VirtualSamples(turn)`.

# %% tags=["answer"]
one_block = ...  # your answer: a single VirtualSamples block

# %% tags=["solution"]
one_block = VirtualSamples(shift | turn)

# %% [markdown] tags=["solution"]
# The rows are the same, so the models are the same. Two blocks are better if the two moves have different
# weights.

# %% tags=["check"]
assert isinstance(one_block, VirtualSamples), "Build one block of the class VirtualSamples."
two_blocks = VirtualSamples(shift) + VirtualSamples(turn)
values_of = []
for prior in (one_block, two_blocks):
    model = PriorSVC(prior, C=10, kernel=kernel).fit(images[pair], digit[pair])
    values_of.append(model.decision_function(images))
difference = np.abs(values_of[0] - values_of[1]).max()
assert difference < 1e-4, "The decision functions differ. Count the members of both orbits."

# %% tags=["wrong"]
one_block = VirtualSamples(shift @ turn)

# %% [markdown] tags=["exercise"]
# ### Exercise 3: make the shifts a group
#
# The shifts of `Translation` are not a group, because pixels that leave the image are lost. Let pixels that
# leave on the right enter on the left. Define `roll` with `FromFunction(function, thetas=...)` such that the
# theorem applies. The function takes the rows and one number, and returns the moved rows.

# %% tags=["answer"]
roll = ...  # your answer: FromFunction(..., thetas=...)


# %% tags=["solution"]
def rolled(X, theta):
    """Return the images moved to the right by theta pixels, around the edge."""
    return np.roll(X.reshape(-1, 8, 8), int(theta), axis=2).reshape(-1, 64)


roll = FromFunction(rolled, thetas=range(1, 8))

# %% [markdown] tags=["solution"]
# The group has eight members: the identity and seven moves. Eight moves of one pixel are the identity again.
# With one move only, its inverse is missing, and the theorem does not apply.

# %% tags=["check"]
members = roll.orbit(images).shape[1]
model = PriorSVC(VirtualSamples(roll), C=1.0 / members, kernel=kernel).fit(images[pair], digit[pair])
moved = np.roll(images.reshape(-1, 8, 8), 1, axis=2).reshape(-1, 64)
difference = np.abs(model.decision_function(moved) - model.decision_function(images)).max()
assert difference < 1e-4, "f changes under a move by one pixel. Is every composition of two moves a member?"

# %% tags=["wrong"]
roll = FromFunction(
    lambda X, theta: np.roll(X.reshape(-1, 8, 8), int(theta), axis=2).reshape(-1, 64), thetas=[-1, 1]
)

# %% [markdown]
# ## What this lesson claims, checked

# %% tags=["claims"]
# The block equals the copies by hand, and moved digits gain most.
assert apart < 1e-6
gain = {name: plain_wrong[name] - block_wrong[name] for name in views}
assert min(gain.values()) > 0
assert min(gain, key=gain.get) == "as written"

# True knowledge lowers the error, false knowledge raises it.
assert np.all(curve["with copies"].mean(axis=1) < curve["plain SVM"].mean(axis=1))
assert errors["shifts + 0.5 * turns"].mean() < errors["copies of all rows"].mean()
assert abs(errors["copies of support vectors"].mean() - errors["copies of all rows"].mean()) < 1
assert max(rows_in["VirtualSupportVectors"]) < min(rows_in["VirtualSamples"])
assert np.all(errors["mirrored copies"] > errors["plain SVM"])

# The theorem holds for the group, and only with copies.
assert change["copies, mirror"] < 1e-5
assert change["plain SVM, mirror"] > 0.1
assert change["copies, shifts"] > 0.1

# %% [markdown]
# **Next** lesson 10: knowledge about $f$ instead of rows, and rows without labels. See also the guide page
# *Virtual samples* and the gallery examples of `VirtualSamples` and `VirtualSupportVectors`.
