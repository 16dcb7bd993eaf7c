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
# To you it is. A model has seen the labels only, and nobody told it. The oldest way to tell it is to show
# it the moved digit too, with the same label: a **virtual sample**. This notebook makes such samples, looks
# at what they are worth, and at other rows without a label of their own: those that nobody has labelled.

# %%
import matplotlib.pyplot as plt
import numpy as np
from IPython.display import display
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV, StratifiedKFold

from priorsvm import (
    RBF,
    ClassCosts,
    FromFunction,
    HaarIntegration,
    InvarianceHint,
    PriorSVC,
    Reflection,
    Rotation,
    Transductive,
    Translation,
    UnlabeledSamples,
    VirtualSamples,
    VirtualSupportVectors,
    plot,
)

BLUE, RED = "#0072B2", "#D55E00"

# %% [markdown]
# A transform says what a pattern may undergo; its `orbit` is the list of what becomes of it, the pattern
# itself first. `Translation` moves by one pixel, `Rotation` turns by the degrees it is given.

# %%
shape = (8, 8)
images, digit = load_digits(return_X_y=True)
images = images / 16.0
shift, turn = Translation(shape), Rotation(shape, degrees=15)

three = images[digit == 3][:1]
titles = ["original", "up", "down", "left", "right", "turned", "and back"]
plot.images(np.vstack([shift.orbit(three)[0], turn.orbit(three)[0, 1:]]), shape, titles=titles, limits=(0, 1))
plt.show()

# %% [markdown]
# ## What a plain model makes of it
#
# Ten handwritten digits of each kind are all we have labelled; the rest is there to test with. The plain
# model errs on about one in fourteen of them (who always says the same digit errs on nine in ten). Moved
# by one pixel, far more go wrong.


# %%
def draw_labels(seed, per_class=10, classes=range(10)):
    """Training and test rows."""
    order = np.random.default_rng(seed).permutation(np.flatnonzero(np.isin(digit, classes)))
    train = np.concatenate([order[digit[order] == k][:per_class] for k in classes])
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
# ## Show it the moved ones
#
# By hand it is two lines: put the orbits under each other, and repeat the labels. `VirtualSamples` does the
# same. (The width of the kernel depends on the rows, so both get the same.)

# %%
copies = shift.orbit(images[train]).reshape(-1, 64)
labels = np.repeat(digit[train], 5)
by_hand = PriorSVC(C=10, kernel=plain.kernel_).fit(copies, labels)
block = PriorSVC(VirtualSamples(shift), C=10, kernel=plain.kernel_).fit(images[train], digit[train])
apart = np.abs(by_hand.decision_function(images[test]) - block.decision_function(images[test])).max()
block_wrong = {name: percent_wrong(block, view, digit[test]) for name, view in views.items()}
print(f"by hand and by the block: {apart:.0e} apart")
print("virtual samples, % wrong:", {name: round(wrong, 1) for name, wrong in block_wrong.items()})

# %% [markdown]
# The moved digits gain most: they are what it was told about. But those as they were written gain too,
# because people do not write at the same place either.
#
# In the problem the copies $v$ are further rows with slacks of their own. The review by Lauer and Bloch
# writes $J_{PK} = C \sum_v \tilde\xi_v$:

# %%
display(block.formulation())

# %% [markdown]
# ## Is that luck?
#
# One draw of a hundred digits is an anecdote. Five draws, and different numbers of labels:


# %%
def errors_of(prior, seeds=range(5), per_class=10, C=10):
    """Test errors in percent of the model with this prior, for several draws of the labelled digits."""
    found = []
    for seed in seeds:
        rows, new = draw_labels(seed, per_class)
        model = PriorSVC(prior, C=C, kernel="rbf").fit(images[rows], digit[rows])
        found.append(percent_wrong(model, images[new], digit[new]))
    return np.array(found)


numbers = [2, 5, 10, 20]
curve = {
    name: np.array([errors_of(prior, per_class=number) for number in numbers])
    for name, prior in (("plain SVM", None), ("with shifted copies", VirtualSamples(shift)))
}
figure, axes = plt.subplots(figsize=(6.5, 4.2))
for (name, found), colour, style in zip(curve.items(), (BLUE, RED), ("o-", "s--"), strict=True):
    axes.errorbar(
        numbers, found.mean(axis=1), found.std(axis=1, ddof=1), fmt=style, color=colour, capsize=3, label=name
    )
axes.set(xscale="log", ylim=(0, None), xlabel="labelled digits of each kind", ylabel="test error in %")
axes.set_xticks(numbers, numbers)
axes.minorticks_off()
axes.set_title("Mean and spread of five draws")
axes.legend()
plt.show()
lower = np.sum(curve["with shifted copies"] < curve["plain SVM"])
print(f"the copies lower the error in {lower} of {curve['plain SVM'].size} draws")

# %% [markdown]
# Knowledge and labels replace each other: with copies, ten labels of each kind do what takes a plain model
# some sixteen.
#
# ## Only where it matters
#
# Copies of rows far from the border hardly matter, but they cost time. `VirtualSupportVectors` first fits
# the plain model, keeps its support vectors and adds copies of those only: two rounds, both in `history_`.


# %%
def tell(name, errors):
    print(f"{name:38s} {errors.mean():5.2f} ± {errors.std(ddof=1):.2f} % test error")


errors = {
    "plain SVM": curve["plain SVM"][2],
    "shifts": curve["with shifted copies"][2],
    "shifts of support vectors only": errors_of(VirtualSupportVectors(shift)),
}
for name, found in errors.items():
    tell(name, found)

rows_in = {}
for prior in (VirtualSamples(shift), VirtualSupportVectors(shift)):
    model = PriorSVC(prior, C=10, kernel="rbf").fit(images[train], digit[train])
    rows_in[type(prior).__name__] = [history[-1]["rows"] for history in model.history_]
    print(f"{type(prior).__name__}: rows in the model of each digit {rows_in[type(prior).__name__]}")

# %% [markdown]
# A heuristic, and a good one: who was not at the border before is assumed not to get there. The report
# names it among those whose optimum is only local.
#
# ## Knowledge adds up
#
# Blocks are added with `+`, and a number in front is a weight. Turned digits are interpolated, so they are
# only roughly right: half the weight. `named` gives a block a name of your own; everything that is said
# about it later uses that name.

# %%
prior = VirtualSamples(shift).named("shifts") + 0.5 * VirtualSamples(turn).named("turns")
print(prior)
print("names:", prior.names, " weight of the turns:", prior.get_params()["turns__weight"])

# %%
errors["shifts + 0.5 * turns"] = errors_of(prior)
for name, found in errors.items():
    tell(name, found)

# %% [markdown]
# ## Knowledge about f, not about rows
#
# `InvarianceHint` adds no rows at all. It punishes $f$ where it differs between a digit and its shifted
# copy, by $\mu$ times the mean squared difference. Labels play no part in it. How much should it weigh?
# `fit_path` fits the model for many values and compiles the problem only once. The task is smaller now, 3
# against 8, with five labelled digits of either kind.

# %%
pair = (3, 8)
hint = InvarianceHint(shift).named("moves")
mus = np.logspace(-1, 3, 9)


def path_of(seed):
    """The models for all values of mu, and their test errors in percent."""
    rows, new = draw_labels(seed, per_class=5, classes=pair)
    path = PriorSVC(hint, C=10, kernel="rbf").fit_path(images[rows], digit[rows], {"moves__mu": mus})
    return path, [percent_wrong(model, images[new], digit[new]) for model in path]


paths, path_errors = zip(*[path_of(seed) for seed in range(6)], strict=True)

# %% [markdown]
# The report of each model says how large the term is, so how much $f$ changes with the move, and how flat
# $f$ is.

# %%
first = [model.report_ for model in paths[0]]
changes = np.array([report["moves"][0].contribution / mu for report, mu in zip(first, mus, strict=True)])
regularisers = np.array([report["svm"][0].contribution for report in first])

figure, (left, middle, right) = plt.subplots(1, 3, figsize=(12, 3.5), layout="constrained")
left.loglog(mus, changes, "o-", color=BLUE)
left.set_title("What it buys: mean squared change\nof f when a digit moves (first draw)", fontsize=11)
middle.semilogx(mus, regularisers, "s-", color=RED)
middle.set_title(r"What it costs: $\frac{1}{2}\|f\|^2$" + "\n(first draw)", fontsize=11)
right.semilogx(mus, np.transpose(path_errors), color="0.75", linewidth=1)
right.semilogx(mus, np.mean(path_errors, axis=0), "o-", color="black")
right.set_title("Is it worth it? Test error in %,\nsix draws and their mean", fontsize=11)
right.set_ylim(bottom=0)
for axes in (left, middle, right):
    axes.set_xlabel(r"weight $\mu$ of the hint")
plt.show()

# %% [markdown]
# The more it weighs, the less $f$ changes when a digit moves, at the price of being less flat. That much is
# certain, whatever the data. What the test error does is not: that depends on how true the knowledge is.
# Here it is worth it on average, and not on every draw.
#
# ## When copies and hints are the same
#
# Copies ask for the same *class*, hints for the same *value*. In one case there is no difference. If the
# moves are a group (whatever you do, you can undo, and you stay among the moves) and the kernel does not
# feel them, then the objective with all copies is itself the same before and after a move. Its minimum is
# unique, so it does not change under the moves either: $f(T x) = f(x)$ everywhere, without being asked. All
# copies of a row then have one and the same slack, and three models are one:
#
# | | |
# |---|---|
# | all copies, at $C / \lvert G \rvert$ each | `VirtualSamples` |
# | the hard hint, at $C$ | `InvarianceHint(hard=True)` |
# | the kernel averaged over the moves, at $C$ | `HaarIntegration` |
#
# The smallest group is the mirror and doing nothing. A 0 and an 8 stay what they are in it.

# %%
mirror, kernel = Reflection(axis=1), RBF(0.05)
rows, _ = draw_labels(0, classes=(0, 8))
three_ways = {
    "copies": PriorSVC(VirtualSamples(mirror), C=1.0 / 2, kernel=kernel),
    "hard hint": PriorSVC(InvarianceHint(mirror, hard=True), C=1.0, kernel=kernel),
    "averaged kernel": PriorSVC(C=1.0, kernel=HaarIntegration(kernel, mirror)),
}
values = {}
for name, model in three_ways.items():
    values[name] = model.fit(images[rows], digit[rows]).decision_function(images)
    mirrored = model.decision_function(mirror.orbit(images)[:, 1])
    in_mirror, from_copies = values[name] - mirrored, values[name] - values["copies"]
    print(
        f"{name:16s} solved by {model.solver_:9s} f changes in the mirror by {np.abs(in_mirror).max():.0e},",
        f"differs from the copies by {np.abs(from_copies).max():.0e}",
    )

# %% [markdown]
# ## Rows that nobody has labelled
#
# Copies have the label of their original. Other rows have none, and there are many: 150 digits that are
# either a 3 or an 8. With five labels of each kind, can they help?
#
# One way is to guess. `UnlabeledSamples` takes rows with *supposed* labels and a cost that says how far they
# are trusted; here the plain model guesses. The other way is `Transductive`: the labels are unknowns of
# the problem, and those are looked for that leave the least slack. It has to be told how many of the rows
# are of the second class, here the 8. We count them; in life somebody has to know, so that is knowledge, too.


# %%
def study(seed):
    """Labelled, unlabelled and test rows."""
    rows, rest = draw_labels(seed, per_class=5, classes=pair)
    rest = np.random.default_rng(seed).permutation(rest)
    return rows, rest[:150], rest[150:]


def attempt(seed):
    """Test errors in percent of all ways on one draw."""
    rows, unlabelled, new = study(seed)

    def error(prior):
        model = PriorSVC(prior, C=10, kernel="rbf").fit(images[rows], digit[rows])
        return percent_wrong(model, images[new], digit[new])

    guess = PriorSVC(C=10, kernel="rbf").fit(images[rows], digit[rows]).predict(images[unlabelled])
    eights = int(np.sum(digit[unlabelled] == 8))
    found = Transductive(images[unlabelled], n_positive=eights, cost=0.1)
    return {
        "plain SVM": error(None),
        "shifts": error(VirtualSamples(shift)),
        "guessed labels": error(UnlabeledSamples(images[unlabelled], guess, costs=0.1)),
        "labels found": error(found),
        "labels found + shifts": error(found + VirtualSamples(shift)),
        "labels found, 110 eights": error(Transductive(images[unlabelled], n_positive=110, cost=0.1)),
    }


attempts = [attempt(seed) for seed in range(8)]
unlabelled_errors = {name: np.array([found[name] for found in attempts]) for name in attempts[0]}
for name, found in unlabelled_errors.items():
    tell(name, found)

# %%
names = list(unlabelled_errors)
figure, axes = plt.subplots(figsize=(7.5, 3.8), layout="constrained")
for place, found in enumerate(unlabelled_errors.values()):
    axes.plot(found, np.full(len(found), place), "o", color="0.6", markersize=5)
    axes.plot(found.mean(), place, "D", color=RED if place == 5 else BLUE, markersize=8)
axes.set_yticks(range(len(names)), names)
axes.invert_yaxis()
axes.set(xlabel="test error in % (diamond: mean of eight draws)", xlim=(-0.5, None))
plt.show()

# %% [markdown]
# (Half of the test digits are eights: who always says 8 errs on half of them.) The rows themselves know
# something: where they are dense, there is no border. Guessed labels help little, as the model hears what
# it said. And what you say about the share has to be true: about half of the rows are eights, and who claims
# that 110 of the 150 are, forces labels on rows that do not want them.
#
# The search for labels is not convex and may end in a local optimum; the last line of the report says so.

# %%
rows, unlabelled, _ = study(0)
eights = int(np.sum(digit[unlabelled] == 8))
searched = PriorSVC(Transductive(images[unlabelled], n_positive=eights, cost=0.1), C=10, kernel="rbf")
searched.fit(images[rows], digit[rows])
print(str(searched.report_).splitlines()[-1])

# %% [markdown]
# ## What the report says
#
# Three kinds of knowledge in one model: a cost, extra rows, and a hint. $C$ is small here, so that there
# is some slack to look at. Read the report from the left:
#
# - *contribution* and *share*: what the term adds to the objective. The lines add up.
# - *rows* and *active*: on how many rows the term stands, and how many of them press on $f$ (have a
#   positive dual).
# - *slack*: by how much the rows fall short of their margins, altogether.
# - *price*: the sum of the duals, or how hard these rows push. Extra rows with the price 0 could be left
#   out, and $f$ would be the same.
#
# A cost stands on rows that are there already, so its rows are among those of the first lines.

# %%
train_pair, test_pair = draw_labels(0, per_class=8, classes=pair)
everything = ClassCosts({8: 2.0}).named("eights") + VirtualSamples(turn).named("turns") + hint
model = PriorSVC(everything, C=0.5, kernel="rbf").fit(images[train_pair], digit[train_pair])
display(model.report_)

# %% [markdown]
# Whether $f$ really does what the blocks ask is another question, and `verify` answers it. A hint is a
# wish: $f$ still changes a little when a digit moves.

# %%
display(model.verify())

# %% [markdown]
# ## Exercises
#
# 1. Mirrored digits (`Reflection(axis=1)`) are as easy to make as shifted ones. Do they help?
# 2. `shift | turn` is a transform too: either the one or the other. Is one block with it the same as two
#    blocks?
# 3. With four copies each original counts five times. Is it the copies that help, or the larger $C$?
# 4. The picture of the hint suggests the best $\mu$. Why must you not take it from there? Choose it honestly.
#
# ## Solutions
#
# **1.** No. A mirrored 3 is not a 3, and a mirrored 2 looks like an S. Knowledge that is wrong is paid for
# in errors, and the model cannot tell: it does as it is told.

# %%
errors["mirrored"] = errors_of(VirtualSamples(mirror))
tell("mirrored", errors["mirrored"])
twos = mirror.orbit(images[[2, 3]]).reshape(-1, 64)
plot.images(twos, shape, titles=["a 2", "mirrored", "a 3", "mirrored"], limits=(0, 1))
plt.show()

# %% [markdown]
# **2.** Yes, at equal cost: the rows are the same. Two blocks are better where they should weigh
# differently.

# %%
one = PriorSVC(VirtualSamples(shift | turn), C=10, kernel="rbf")
two = PriorSVC(VirtualSamples(shift) + VirtualSamples(turn), C=10, kernel="rbf")
scores = [m.fit(images[train_pair], digit[train_pair]).decision_function(images) for m in (one, two)]
print(f"largest difference of f: {np.abs(scores[0] - scores[1]).max():.1e}")

# %% [markdown]
# **3.** Copies that do not move are the same rows again, so four of them are a plain SVM with five times the
# $C$. At $C = 10$ that changes nothing: no training row has any slack left. It is the moves that help.

# %%
still = FromFunction(lambda X, theta: X, thetas=[1, 2, 3, 4])
again = PriorSVC(VirtualSamples(still), C=1.0, kernel=kernel).fit(images[train], digit[train])
larger = PriorSVC(C=5.0, kernel=kernel).fit(images[train], digit[train])
same_apart = np.abs(again.decision_function(images) - larger.decision_function(images)).max()
errors["plain SVM, five times C"] = errors_of(None, C=50)
print(f"four copies that do not move and five times C: {same_apart:.0e} apart")
for name in ("plain SVM", "plain SVM, five times C", "shifts"):
    tell(name, errors[name])

# %% [markdown]
# **4.** A test set that has helped to choose $\mu$ is a training set. Cross-validation asks the labelled
# digits only; with sixteen of them it cannot tell much, and of equals it takes the first. Every parameter
# of a block has an address for it, `prior__<name>__<parameter>`.

# %%
search = GridSearchCV(
    PriorSVC(hint, C=10, kernel="rbf"),
    {"prior__moves__mu": [0.1, 1.0, 10.0, 100.0]},
    cv=StratifiedKFold(4),
)
search.fit(images[train_pair], digit[train_pair])
honest = percent_wrong(search, images[test_pair], digit[test_pair])
print("accuracy in cross-validation:", search.cv_results_["mean_test_score"].round(3))
print(f"chosen: mu = {search.best_params_['prior__moves__mu']:g}, test error {honest:.1f} %")

# %% [markdown]
# ## What this notebook claims, checked

# %%
# The block is what one would do by hand, and moved digits gain most.
assert apart < 1e-6
assert all(block_wrong[name] < plain_wrong[name] for name in views)
gain = {name: plain_wrong[name] - block_wrong[name] for name in views}
assert min(gain, key=gain.get) == "as written"

# True knowledge lowers the error, wrong knowledge raises it.
assert lower >= 18
means = curve["plain SVM"].mean(axis=1)
worth = np.exp(np.interp(-curve["with shifted copies"][2].mean(), -means, np.log(numbers)))
assert 14 < worth < 19
assert errors["shifts + 0.5 * turns"].mean() < errors["shifts"].mean()
assert abs(errors["shifts of support vectors only"].mean() - errors["shifts"].mean()) < 1
assert max(rows_in["VirtualSupportVectors"]) < min(rows_in["VirtualSamples"])
assert np.all(errors["mirrored"] > errors["plain SVM"])

# The hint: its violation falls with its weight, while f gets less flat; reports add up.
assert np.all(np.diff(changes) < 0)
assert np.all(np.diff(regularisers) > 0)
assert np.mean(path_errors, axis=0)[-1] < np.mean(path_errors, axis=0)[0]
np.testing.assert_allclose(sum(row.contribution for row in model.report_.rows), model.objective_)

# Copies of a group, the hard hint and the averaged kernel are one model.
for name in ("hard hint", "averaged kernel"):
    np.testing.assert_allclose(values[name], values["copies"], atol=1e-5)

# Unlabelled rows: found labels help, more than guessed ones; a wrong share does much harm.
means = {name: found.mean() for name, found in unlabelled_errors.items()}
assert means["labels found"] < means["guessed labels"] < means["plain SVM"]
assert means["labels found, 110 eights"] > 2 * means["plain SVM"]
assert "local optimum (transductive)" in str(searched.report_)

# A weight of 0.5 is a cost of 0.5, and a weight of 0 is no block at all.
fitted = [
    PriorSVC(prior, C=10, kernel="rbf").fit(images[train_pair], digit[train_pair]).decision_function(images)
    for prior in (
        VirtualSamples(shift, cost=0.5),
        0.5 * VirtualSamples(shift),
        0 * VirtualSamples(shift),
        None,
    )
]
np.testing.assert_allclose(fitted[0], fitted[1], atol=1e-5)
np.testing.assert_allclose(fitted[2], fitted[3], atol=1e-5)

# The exercises.
np.testing.assert_allclose(scores[0], scores[1], atol=1e-5)
assert same_apart < 1e-4
assert abs(errors["plain SVM, five times C"].mean() - errors["plain SVM"].mean()) < 0.5
print("all of it holds")
