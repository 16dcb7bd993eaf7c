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
# # What can be learnt without a label?
#
# Lesson 9 gave each copy the label of its original. This lesson uses knowledge without labels. A **hint**
# is a statement about $f$: its value changes little when a digit moves. A **tangent** is the limit of a hint
# for very small moves. And rows without labels show where rows are dense.
#
# **You learn**
#
# - to penalise changes of $f$ with `InvarianceHint`, and to choose its weight μ;
# - to penalise slopes of $f$ with `TangentPenalty`;
# - to use rows without labels with `UnlabeledSamples` and `Transductive`;
# - to read the report of a model with several blocks.
#
# **You need** lessons 2 and 9.
#
# **Time** 25 minutes.
#
# **Theorem** For a linear model, a tangent penalty is a change of coordinates.

# %%
import matplotlib.pyplot as plt
import numpy as np
from IPython.display import display
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV, StratifiedKFold

from priorsvm import (
    InvarianceHint,
    PriorSVC,
    Rotation,
    TangentPenalty,
    Transductive,
    Translation,
    UnlabeledSamples,
    VirtualSamples,
    plot,
)

BLUE, RED = "#0072B2", "#D55E00"

# %% [markdown]
# ## The task
#
# All models here separate a 3 from an 8, with five labelled digits of each class. A transform describes the
# moves: by one pixel up, down, left or right.

# %%
# alt: The ten labelled digits of 8 by 8 pixels: five threes and five eights.
shape = (8, 8)
images, digit = load_digits(return_X_y=True)
keep = np.isin(digit, (3, 8))
images, digit = images[keep] / 16.0, digit[keep]
shift = Translation(shape)
turn = Rotation(shape, degrees=15)


def draw_labels(seed, per_class=5):
    """Return the indices of training rows and of all other rows."""
    order = np.random.default_rng(seed).permutation(len(digit))
    train = np.concatenate([order[digit[order] == k][:per_class] for k in (3, 8)])
    return train, np.setdiff1d(order, train)


def percent_wrong(model, rows):
    return 100 * (1 - model.score(images[rows], digit[rows]))


train, test = draw_labels(0)
plot.images(images[train], shape, titles=digit[train], columns=10, limits=(0, 1))
plt.show()

# %% [markdown]
# ## A hint about f
#
# `InvarianceHint` adds no rows. It adds μ times the mean squared change of $f$ over the $M$ pairs of a row
# and a moved copy:
#
# $$J_{PK} = \frac{\mu}{M} \sum_{i, \theta} \left( f(T_\theta x_i) - f(x_i) \right)^2 .$$
#
# Labels have no part in this formula. `fit_path` fits the model for many values of μ and compiles the problem
# only once.

# %%
hint = InvarianceHint(shift).named("moves")
mus = np.logspace(-1, 3, 9)


def path_of(seed):
    """Return the models for all values of mu, and their test errors in percent."""
    rows, new = draw_labels(seed)
    path = PriorSVC(hint, C=10, kernel="rbf").fit_path(images[rows], digit[rows], {"moves__mu": mus})
    return path, [percent_wrong(model, new) for model in path]


paths, path_errors = zip(*[path_of(seed) for seed in range(6)], strict=True)
reports = [model.report_ for model in paths[0]]
changes = np.array([report["moves"][0].contribution / mu for report, mu in zip(reports, mus, strict=True)])
regularisers = np.array([report["svm"][0].contribution for report in reports])

# %% tags=["hide-input"]
# alt: Three panels over the weight of the hint: the change of f under moves falls, the norm of g rises, and
# the mean test error falls a little.
figure, (left, middle, right) = plt.subplots(1, 3, figsize=(12, 3.5), layout="constrained")
left.loglog(mus, changes, "o-", color=BLUE)
left.set_title("Gain: mean squared change of f\nwhen a digit moves (first draw)", fontsize=11)
middle.semilogx(mus, regularisers, "s-", color=RED)
middle.set_title(r"Price: $\frac{1}{2}\|g\|^2$" + "\n(first draw)", fontsize=11)
right.semilogx(mus, np.transpose(path_errors), color="0.75", linewidth=1)
right.semilogx(mus, np.mean(path_errors, axis=0), "o-", color="black")
right.set_title("Test error in %,\nsix draws and their mean", fontsize=11)
right.set_ylim(bottom=0)
for axes in (left, middle, right):
    axes.set_xlabel(r"weight $\mu$ of the hint")
plt.show()

# %% [markdown]
# A larger μ never increases the change of $f$, and it never decreases the rest of the objective. This holds
# for all data. The test error is different: it falls only as far as the knowledge is true. Here it falls on
# average, but not on every draw.
#
# ## From a move to a tangent
#
# A turned digit is a curve $T_\theta x$ in 64 dimensions. Its derivative $v$ at $\theta = 0$ is the
# **tangent**. A very small turn changes a linear $f$ by $\theta\, w^\top v$. `TangentPenalty` penalises these
# slopes:
#
# $$J_{PK} = \frac{\gamma}{2} \sum_i (w^\top v_i)^2 .$$

# %%
# alt: An eight, its tangent, the eight plus ten tangents, and the eight turned by ten degrees. The last two
# look alike.
tangents = turn.tangents(images[train])[:, 0]
eight = images[train[-1:]]
predicted = eight + 10 * tangents[-1]
brightest = np.abs(tangents[-1]).max()
pictures = np.vstack([eight, tangents[-1] / brightest, predicted, turn.apply(eight, 10)])
titles = ["an 8", "its tangent", "8 + 10 tangents", "turned by 10°"]
plot.images(pictures, shape, titles=titles, columns=4, limits=(-1, 1))
plt.show()

# %% [markdown]
# The tangent predicts the turned digit well for ten degrees. In the tangent, white pixels lose ink and black
# pixels gain ink.
#
# ## The theorem
#
# Write the tangents as rows of a matrix $V$, and let $S = I + \gamma V^\top V$. $S$ is positive definite, so
# it has an inverse and a root $S^{1/2}$.
#
# **Theorem.** The linear SVM with the tangent penalty on rows $x_i$ is the plain linear SVM on the rows
# $S^{-1/2} x_i$. Its weights are $u = S^{1/2} w$.
#
# **Proof.**
#
# 1. The regulariser and the penalty are one quadratic form:
#    $\frac12 w^\top w + \frac{\gamma}{2} \sum_i (w^\top v_i)^2 = \frac12 w^\top S w = \frac12 u^\top u$.
# 2. The values of $f$ stay the same: $w^\top x = w^\top S^{1/2} S^{-1/2} x = u^\top (S^{-1/2} x)$.
# 3. So both problems have the same objective and the same constraints, in other variables. ∎
#
# The new coordinates shrink directions along tangents. A row can hardly be separated along a direction in
# which it may move. (Schölkopf, Simard, Smola and Vapnik, 1998.)

# %%
gamma = 200.0
penalised = PriorSVC(TangentPenalty(turn, gamma=gamma), C=10).fit(images[train], digit[train])
size, directions = np.linalg.eigh(np.eye(64) + gamma * tangents.T @ tangents)
whiten = directions / np.sqrt(size) @ directions.T  # S^(-1/2)
whitened = PriorSVC(C=10).fit(images[train] @ whiten, digit[train])
distance = np.abs(penalised.coef_[0] - whiten @ whitened.coef_[0]).max()
print(f"largest difference between the weights: {distance:.0e}")

linear = PriorSVC(C=10).fit(images[train], digit[train])
slopes = {
    "plain SVM": np.abs(tangents @ linear.coef_[0]).mean(),
    "tangent penalty": np.abs(tangents @ penalised.coef_[0]).mean(),
}
for name, slope in slopes.items():
    print(f"{name:16s} mean slope of f: {slope:.4f} per degree")

# %% [markdown]
# ## Rows without a label
#
# There are 150 more digits without a label. Each is a 3 or an 8. Two blocks can use them.
#
# `UnlabeledSamples` takes rows with *assumed* labels, and a cost that expresses how far you trust them. Here
# the plain model makes the guess.
#
# `Transductive` treats the labels as unknowns. It searches for labels that leave the least slack. It needs
# the number of rows of one class. Here this number is counted; in practice it is knowledge of yours.


# %%
def attempt(seed):
    """Return the test errors of all ways on one draw, in percent."""
    rows, rest = draw_labels(seed)
    rest = np.random.default_rng(seed).permutation(rest)
    unlabelled, new = images[rest[:150]], rest[150:]
    eights = int(np.sum(digit[rest[:150]] == 8))
    guess = PriorSVC(C=10, kernel="rbf").fit(images[rows], digit[rows]).predict(unlabelled)
    found = Transductive(unlabelled, n_positive=eights, cost=0.1)
    priors = {
        "plain SVM": None,
        "copies": VirtualSamples(shift),
        "guessed labels": UnlabeledSamples(unlabelled, guess, costs=0.1),
        "labels found": found,
        "labels found + copies": found + VirtualSamples(shift),
        "labels found, 110 eights": Transductive(unlabelled, n_positive=110, cost=0.1),
    }
    models = {name: PriorSVC(prior, C=10, kernel="rbf") for name, prior in priors.items()}
    return {name: percent_wrong(model.fit(images[rows], digit[rows]), new) for name, model in models.items()}


attempts = [attempt(seed) for seed in range(8)]
unlabelled_errors = {name: np.array([found[name] for found in attempts]) for name in attempts[0]}

# %% tags=["hide-input"]
# alt: Test errors of single draws and their means for six models. Labels that the model finds give the
# smallest errors, and a wrong share of eights the largest.
figure, axes = plt.subplots(figsize=(7.5, 3.8), layout="constrained")
for place, found in enumerate(unlabelled_errors.values()):
    axes.plot(found, np.full(len(found), place), "o", color="0.6", markersize=5)
    axes.plot(found.mean(), place, "D", color=RED if place == 5 else BLUE, markersize=8)
axes.set_yticks(range(6), unlabelled_errors)
axes.invert_yaxis()
axes.set(xlabel="test error in % (diamond: mean of eight draws)", xlim=(-0.5, None))
plt.show()

# %% [markdown]
# A constant answer is wrong for half of the test digits. The unlabelled rows help, because dense clouds of
# rows show where the boundary is *not*. Guessed labels help little, because the model receives its own
# answers.
#
# The number of eights has to be true. About 75 of the 150 rows are eights. The claim of 110 forces wrong
# labels, and the error is much larger than without the block.
#
# The search for labels is not convex, so it may end in a local optimum. The last line of the report states
# this.

# %%
rows, rest = draw_labels(0)
searched = PriorSVC(Transductive(images[rest[:150]], cost=0.1), C=10, kernel="rbf")
searched.fit(images[rows], digit[rows])
print(str(searched.report_).splitlines()[-1])

# %% [markdown]
# ## A report of several blocks
#
# The next model has extra rows and a hint. $C$ is small here, so that some rows have slack. Read the report
# from the left:
#
# - *contribution* and *share*: what the term adds to the objective. The lines add up.
# - *rows* and *active*: how many rows the term contains, and how many of them have a positive dual variable.
# - *slack*: the sum of the slacks of these rows.
# - *price*: the sum of the dual variables. Extra rows with price 0 could be left out, and $f$ would not
#   change.

# %%
prior = VirtualSamples(turn).named("turns") + hint
model = PriorSVC(prior, C=0.5, kernel="rbf").fit(images[train], digit[train])
display(model.report_)

# %% [markdown]
# A hint is soft. `verify` reports how far $f$ still changes when a digit moves.

# %%
display(model.verify())

# %% [markdown]
# ## Exercises
#
# The exercises use these names.

# %%
hinted = PriorSVC(InvarianceHint(shift, mu=10.0), C=10, kernel="rbf").fit(images[train], digit[train])
members = shift.orbit(images[train])
print("orbits:", members.shape)
both = turn | shift
V = both.tangents(images[train]).reshape(-1, 64)
print("tangents:", V.shape)
few, unseen = draw_labels(0, per_class=8)

# %% [markdown] tags=["exercise"]
# ### Exercise 1: the hint by hand
#
# The model `hinted` has the hint with μ = 10. Compute its penalty $J_{PK}$ from the values of $f$, with
# the formula above. `shift.orbit(...)` has the shape (row, member, pixel), and member 0 is the row itself.

# %% tags=["answer"]
values = hinted.decision_function(members.reshape(-1, 64)).reshape(members.shape[:2])
penalty = ...  # your answer: a number

# %% tags=["solution"]
values = hinted.decision_function(members.reshape(-1, 64)).reshape(members.shape[:2])
penalty = 10.0 * np.mean((values[:, 1:] - values[:, :1]) ** 2)

# %% [markdown] tags=["solution"]
# The identity is not among the $M$ pairs. With the identity included, the mean would be too small.

# %% tags=["check"]
reported = hinted.report_["invariance_hint"][0].contribution
assert np.isclose(penalty, reported, rtol=1e-3), "The report has another value. Which pairs are in the mean?"

# %% tags=["wrong"]
values = hinted.decision_function(members.reshape(-1, 64)).reshape(members.shape[:2])
penalty = 10.0 * np.mean((values - values[:, :1]) ** 2)

# %% [markdown] tags=["exercise"]
# ### Exercise 2: penalise several tangents
#
# The theorem holds for any number of tangents. Compute weights $w$ of the linear SVM, $C = 10$, with
# `TangentPenalty(both, gamma=50.0)`, for turns and shifts. Use a plain `PriorSVC` on whitened rows
# only. The tangents are in `V`.

# %% tags=["answer"]
w_by_hand = ...  # your answer: 64 weights

# %% tags=["solution"]
size, directions = np.linalg.eigh(np.eye(64) + 50.0 * V.T @ V)
whiten_two = directions / np.sqrt(size) @ directions.T
w_by_hand = whiten_two @ PriorSVC(C=10).fit(images[train] @ whiten_two, digit[train]).coef_[0]

# %% tags=["check"]
by_block = PriorSVC(TangentPenalty(both, gamma=50.0), C=10).fit(images[train], digit[train])
difference = np.abs(by_block.coef_[0] - w_by_hand).max()
assert difference < 1e-4, "The weights differ from those of the block. In which coordinates are they?"

# %% tags=["wrong"]
size, directions = np.linalg.eigh(np.eye(64) + 50.0 * V.T @ V)
whiten_two = directions / np.sqrt(size) @ directions.T
w_by_hand = PriorSVC(C=10).fit(images[train] @ whiten_two, digit[train]).coef_[0]

# %% [markdown] tags=["exercise"]
# ### Exercise 3: choose μ honestly
#
# The picture of the test error suggests a good μ. But a test row that helped to choose μ is not a test row
# any more. Choose μ from `[0.1, 1.0, 10.0, 100.0]` by cross-validation over the labelled digits `few` only.
# Parameters of a block have addresses such as `prior__moves__mu`. Use `PriorSVC(hint, C=10, kernel="rbf")`.

# %% tags=["answer"]
search = ...  # your answer: a fitted GridSearchCV

# %% tags=["solution"]
search = GridSearchCV(
    PriorSVC(hint, C=10, kernel="rbf"), {"prior__moves__mu": [0.1, 1.0, 10.0, 100.0]}, cv=StratifiedKFold(4)
)
search.fit(images[few], digit[few])
print("accuracy in cross-validation:", search.cv_results_["mean_test_score"].round(3))
print(f"chosen: {search.best_params_}, test error {percent_wrong(search, unseen):.1f} %")

# %% [markdown] tags=["solution"]
# Sixteen rows say little about μ: several values have the same score, and the first of them is taken. That is
# an honest result. More labelled rows would give a sharper choice.

# %% tags=["check"]
chosen = search.best_params_["prior__moves__mu"]
refit = PriorSVC(InvarianceHint(shift, mu=chosen), C=10, kernel="rbf").fit(images[few], digit[few])
difference = np.abs(refit.decision_function(images) - search.decision_function(images)).max()
assert difference < 1e-3, "The model was fitted on other rows than the labelled digits."

# %% tags=["wrong"]
search = GridSearchCV(PriorSVC(hint, C=10, kernel="rbf"), {"prior__moves__mu": [0.1, 1.0, 10.0, 100.0]}, cv=2)
search.fit(images[unseen[:60]], digit[unseen[:60]])

# %% [markdown]
# ## What this lesson claims, checked

# %% tags=["claims"]
# The hint: the change falls with its weight, and the regulariser rises.
assert np.all(np.diff(changes) < 0)
assert np.all(np.diff(regularisers) > 0)
assert np.mean(path_errors, axis=0)[-1] < np.mean(path_errors, axis=0)[0]

# The theorem, and smaller slopes.
assert distance < 1e-5
assert slopes["tangent penalty"] < 0.5 * slopes["plain SVM"]

# Rows without labels: found labels help more than guessed labels; a wrong number does much harm.
mean_error = {name: found.mean() for name, found in unlabelled_errors.items()}
assert mean_error["labels found"] < mean_error["guessed labels"] < mean_error["plain SVM"]
assert mean_error["labels found, 110 eights"] > 2 * mean_error["plain SVM"]
assert "local optimum (transductive)" in str(searched.report_)

# The lines of a report add up.
np.testing.assert_allclose(sum(row.contribution for row in model.report_.rows), model.objective_)

# %% [markdown]
# **Next** lesson 11: the worst case of a row. See also the guide pages *Hints*, *Tangents*, *Unlabelled rows*
# and *Transductive*, and their examples in the gallery.
