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
# # What if you know more than the labels say?
#
# An SVM sees rows and labels, and all of them count the same. But you may know that one mistake is worse
# than another, that some rows are less reliable than others, or that a digit moved by one pixel is still
# the same digit. This notebook tells a machine such things, by weights and by extra rows, and looks at what
# they do.
#
# It begins with a disease that is rare in the data. Where should the line be?

# %%
import matplotlib.pyplot as plt
import numpy as np
from IPython.display import display
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import SVC

from priorsvm import (
    ClassCosts,
    InvarianceHint,
    PriorSVC,
    Reflection,
    Rotation,
    SampleCosts,
    Translation,
    VirtualSamples,
    VirtualSupportVectors,
)

BLUE, RED = "#0072B2", "#D55E00"

# %%
cancer = load_breast_cancer()
columns = [list(cancer.feature_names).index(name) for name in ("worst texture", "worst area")]
tumours, finding = cancer.data[:, columns], cancer.target_names[cancer.target]

order = np.random.default_rng(0).permutation(len(finding))
ill, well = order[finding[order] == "malignant"], order[finding[order] == "benign"]
train, test = np.r_[ill[:12], well[:150]], np.r_[ill[12:], well[150:]]


def draw_tumours(axes, *machines):
    for name, marker, colour, size in (("benign", "o", BLUE, 14), ("malignant", "^", RED, 60)):
        rows = train[finding[train] == name]
        axes.scatter(*tumours[rows].T, marker=marker, color=colour, s=size, label=f"{len(rows)} {name}")
    length = np.array([10.0, 45.0])
    for model, label, style in machines:
        w, b = model.coef_[0], model.intercept_[0]
        axes.plot(length, -(b + w[0] * length) / w[1], style, color="black", label=label)
    axes.set(xlabel="worst texture", ylabel="worst area", xlim=(10, 45), ylim=(0, 2500))
    axes.legend(loc="upper right", fontsize=9)


plain = PriorSVC(scale="standard").fit(tumours[train], finding[train])
figure, axes = plt.subplots(figsize=(6.5, 4.2))
draw_tumours(axes, (plain, "plain SVM", "-"))
axes.set_title("Twelve malignant tumours among 150 benign ones")
plt.show()

# %% [markdown]
# The plain machine pays the same price for every mistake, so the few malignant ones weigh little. It misses
# many of them:


# %%
def found_and_false(model):
    """The share of malignant tumours found, and of benign ones taken for malignant, on new patients."""
    alarm = model.predict(tumours[test]) == "malignant"
    return alarm[finding[test] == "malignant"].mean(), alarm[finding[test] == "benign"].mean()


print("plain SVM: finds {:.0%} of the malignant tumours, {:.1%} false alarms".format(*found_and_false(plain)))

# %% [markdown]
# ## A mistake on one class costs more
#
# `ClassCosts` puts a factor on $C$ for each class: $C_i = C \cdot \mathrm{cost}(y_i)$. With `"balanced"`
# both classes weigh the same in total.

# %%
balanced = PriorSVC(ClassCosts("balanced"), scale="standard").fit(tumours[train], finding[train])
print(
    "balanced:  finds {:.0%} of the malignant tumours, {:.1%} false alarms".format(*found_and_false(balanced))
)

# %% [markdown]
# More are found, and there are more false alarms. A weight does not make the machine wiser; it says which
# mistakes you would rather have. The line moves towards the many:

# %%
figure, axes = plt.subplots(figsize=(6.5, 4.2))
draw_tumours(axes, (plain, "plain SVM", "-"), (balanced, "balanced", "--"))
plt.show()

# %% [markdown]
# ## What did that add to the problem?
#
# The objective of an SVM is $\frac12\|w\|^2 + C \sum_i \xi_i$. Class costs add $\sum_i (C_i - C)\,\xi_i$ to
# it. The report shows that term on a line of its own, and all lines together are the objective.

# %%
display(balanced.report_)

# %% [markdown]
# ## Some rows are to be trusted more
#
# Now all thirty measurements, and a story: the first 60 findings are those of the hospital; 140 more come
# from an archive in which, as everybody knows, about every third label is wrong.

# %%
X, y = cancer.data, finding
rng = np.random.default_rng(1)
order = rng.permutation(len(y))
train_all, test_all = order[:200], order[200:]
archive = np.arange(200) >= 60
wrong = archive & (rng.random(200) < 0.35)
y_noisy = np.where(wrong, np.where(y[train_all] == "benign", "malignant", "benign"), y[train_all])

# %% [markdown]
# `SampleCosts` takes one factor per row. They are given to `fit`, like `sample_weight`, so that a
# cross-validation would split them along with the rows.


# %%
def error(model):
    return 1 - model.score(X[test_all], y[test_all])


trust = np.where(archive, 0.1, 1.0)
equal = PriorSVC(scale="standard").fit(X[train_all], y_noisy)
weighted = PriorSVC(SampleCosts(), scale="standard").fit(X[train_all], y_noisy, sample_costs__costs=trust)
print(f"test error, all rows equal: {error(equal):.1%}; archive trusted a tenth: {error(weighted):.1%}")

# %% [markdown]
# A cost has a simple meaning: a row of cost 2 is a row that is there twice. (The width of the kernel
# depends on the rows, so the second machine takes that of the first.)

# %%
twice = np.where(np.arange(200) < 50, 2.0, 1.0)
doubled = PriorSVC(SampleCosts(twice), kernel="rbf").fit(X[train_all], y_noisy)
repeated = PriorSVC(kernel=doubled.kernel_).fit(
    np.repeat(X[train_all], twice.astype(int), axis=0), np.repeat(y_noisy, twice.astype(int))
)
difference = np.abs(doubled.decision_function(X) - repeated.decision_function(X)).max()
print(f"cost 2 against rows twice, largest difference of f: {difference:.1e}")

# %% [markdown]
# ## Or asked for another margin
#
# A cost says how bad a slack is. A **margin** says when there is one: $y_i f(x_i) \ge \rho_i - \xi_i$. With
# $\rho_i = 3$ for the rare class a malignant tumour has to lie well inside its side.

# %%
rare = finding[train] == "malignant"
asked = PriorSVC(SampleCosts(margins=np.where(rare, 3.0, 1.0)), scale="standard").fit(
    tumours[train], finding[train]
)
figure, axes = plt.subplots(figsize=(6.5, 4.2))
draw_tumours(
    axes, (plain, "plain SVM", "-"), (balanced, "balanced costs", "--"), (asked, "margin 3 for the rare", ":")
)
plt.show()
print("margin 3:  finds {:.0%} of the malignant tumours, {:.1%} false alarms".format(*found_and_false(asked)))

# %% [markdown]
# Costs alone leave a weighted SVM, which LIBSVM solves; other margins do not, so `solver="auto"` takes
# another solver and says so:

# %%
print("plain:", plain.solver_, " balanced:", balanced.solver_, " margins:", asked.solver_)

# %% [markdown]
# ## A digit moved is still that digit
#
# Ten handwritten digits of each kind are all we have labelled. But we know much about handwriting that is
# not in the labels. A transform says what a pattern may undergo; its `orbit` is the list of what becomes of
# it.

# %%
shape = (8, 8)
images, digit = load_digits(return_X_y=True)
images = images / 16.0
shift, turn = Translation(shape), Rotation(shape, degrees=15)


def show(images, titles):
    _, panels = plt.subplots(1, len(images), figsize=(1.25 * len(images), 1.7), layout="constrained")
    for axes, image, title in zip(panels, images, titles, strict=True):
        axes.imshow(image.reshape(shape), cmap="gray_r", vmin=0, vmax=1)
        axes.set(xticks=[], yticks=[])
        axes.set_title(title, fontsize=10)
    plt.show()


three = images[digit == 3][:1]
show(
    np.vstack([shift.orbit(three)[0], turn.orbit(three)[0, 1:]]),
    ["original", "up", "down", "left", "right", "clockwise", "counter-\nclockwise"],
)

# %% [markdown]
# `VirtualSamples` adds these copies to the training set, with the label of the original.


# %%
def draw_labels(seed, per_class=10, classes=range(10)):
    """Training and test rows."""
    order = np.random.default_rng(seed).permutation(np.flatnonzero(np.isin(digit, classes)))
    train = np.concatenate([order[digit[order] == k][:per_class] for k in classes])
    return train, np.setdiff1d(order, train)


def errors_of(prior, seeds=range(5)):
    """Test errors in percent of the machine with this prior, for several draws of the labelled digits."""
    errors = []
    for seed in seeds:
        train, test = draw_labels(seed)
        model = PriorSVC(prior, C=10, kernel="rbf").fit(images[train], digit[train])
        errors.append(100 * (1 - model.score(images[test], digit[test])))
    return np.array(errors)


def tell(name, errors):
    print(f"{name:38s} {errors.mean():5.2f} ± {errors.std(ddof=1):.2f} % test error")


errors = {"plain SVM": errors_of(None), "shifts": errors_of(VirtualSamples(shift))}
for name in errors:
    tell(name, errors[name])

# %% [markdown]
# ## Only where it matters
#
# Copies of rows far from the border hardly matter, but they cost time. `VirtualSupportVectors` first fits
# the plain machine, keeps its support vectors and adds copies of those only: two rounds, both in `history_`.

# %%
errors["shifts of support vectors only"] = errors_of(VirtualSupportVectors(shift))
tell("shifts of support vectors only", errors["shifts of support vectors only"])

train_digits, test_digits = draw_labels(0)
rows = {}
for block in (VirtualSamples(shift), VirtualSupportVectors(shift)):
    model = PriorSVC(block, C=10, kernel="rbf").fit(images[train_digits], digit[train_digits])
    rows[type(block).__name__] = [history[-1]["rows"] for history in model.history_]
    print(f"{type(block).__name__}: rows in the machine of each digit {rows[type(block).__name__]}")

# %% [markdown]
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
for name in errors:
    tell(name, errors[name])

# %% [markdown]
# ## Knowledge about f, not about rows
#
# `InvarianceHint` adds no rows at all. It punishes $f$ where it differs between a digit and its shifted
# copy, by $\mu$ times the mean squared difference. Labels play no part in it. How much should it weigh?
# `fit_path` fits the machine for many values and compiles the problem only once. The task is smaller now, 3
# against 8, with five labelled digits of either kind.

# %%
pair = (3, 8)
hint = InvarianceHint(shift).named("moves")
mus = np.logspace(-1, 3, 9)


def path_of(seed):
    """The machines for all values of mu, and their test errors in percent."""
    train, test = draw_labels(seed, per_class=5, classes=pair)
    path = PriorSVC(hint, C=10, kernel="rbf").fit_path(images[train], digit[train], {"moves__mu": mus})
    return path, [100 * (1 - model.score(images[test], digit[test])) for model in path]


paths, path_errors = zip(*[path_of(seed) for seed in range(6)], strict=True)

# %% [markdown]
# The report of each machine says how large the term is, so how much $f$ changes with the move, and how flat
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

# %% [markdown]
# ## What the report says
#
# Three kinds of knowledge in one machine: a cost, extra rows, and a hint. $C$ is small here, so that there
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
# 1. A screening should find at least 90 % of the malignant tumours. Which cost of the class gets there, and
#    how many false alarms does it take? Does a cost of 1000 find them all? (`fit_path` takes
#    `{"class_costs__costs": [...]}`.)
# 2. Mirrored digits (`Reflection(axis=1)`) are as easy to make as shifted ones. Do they help?
# 3. `shift | turn` is a transform too: either the one or the other. Is one block with it the same as two
#    blocks?
# 4. The picture above suggests the best $\mu$. Why must you not take it from there? Choose it honestly.
#
# ## Solutions
#
# **1.** From some cost on nothing changes any more: once no malignant training row has any slack, its price
# plays no part. What is left to ask for is a larger margin.

# %%
costs = [{"malignant": factor} for factor in (1.0, 3.0, 10.0, 30.0, 1000.0)]
screening = PriorSVC(ClassCosts({}).named("class_costs"), scale="standard").fit_path(
    tumours[train], finding[train], {"class_costs__costs": costs}
)
shares = np.array([found_and_false(machine) for machine in screening])
for cost, (found, false) in zip(costs, shares, strict=True):
    print(f"cost {cost['malignant']:5.0f}: finds {found:.0%}, {false:.0%} false alarms")

# %% [markdown]
# **2.** No. A mirrored 3 is not a 3, and a mirrored 2 looks like an S. Knowledge that is wrong is paid for
# in errors, and the machine cannot tell: it does as it is told.

# %%
errors["mirrored"] = errors_of(VirtualSamples(Reflection(axis=1)))
tell("mirrored", errors["mirrored"])
show(Reflection(axis=1).orbit(images[[2, 3]]).reshape(-1, 64), ["a 2", "mirrored", "a 3", "mirrored"])

# %% [markdown]
# **3.** Yes, at equal cost: the rows are the same. Two blocks are better where they should weigh
# differently.

# %%
one = PriorSVC(VirtualSamples(shift | turn), C=10, kernel="rbf")
two = PriorSVC(VirtualSamples(shift) + VirtualSamples(turn), C=10, kernel="rbf")
scores = [m.fit(images[train_pair], digit[train_pair]).decision_function(images) for m in (one, two)]
print(f"largest difference of f: {np.abs(scores[0] - scores[1]).max():.1e}")

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
honest = 100 * (1 - search.score(images[test_pair], digit[test_pair]))
print("accuracy in cross-validation:", search.cv_results_["mean_test_score"].round(3))
print(f"chosen: mu = {search.best_params_['prior__moves__mu']:g}, test error {honest:.1f} %")

# %% [markdown]
# ## What this notebook claims, checked

# %%
# Costs: more of the rare class is found, and paid for with false alarms.
assert found_and_false(balanced)[0] > found_and_false(plain)[0] + 0.1
assert found_and_false(balanced)[1] > found_and_false(plain)[1]
peer = SVC(C=10, kernel="rbf", class_weight="balanced", tol=1e-8).fit(tumours[train], finding[train])
ours = PriorSVC(ClassCosts("balanced"), C=10, kernel="rbf").fit(tumours[train], finding[train])
np.testing.assert_allclose(ours.decision_function(tumours), peer.decision_function(tumours), atol=1e-4)
assert np.all(np.diff(shares[:, 0]) >= 0)
assert 0.9 <= shares[-1, 0] < 1

# Rows: distrust helps when it is justified, and a cost of 2 is a row twice.
assert error(weighted) < error(equal)
assert difference < 1e-4
assert (plain.solver_, asked.solver_) == ("LIBSVM", "CLARABEL")

# Virtual samples: true knowledge lowers the error on every draw, wrong knowledge raises it.
assert np.all(errors["shifts"] < errors["plain SVM"])
assert errors["shifts + 0.5 * turns"].mean() < errors["shifts"].mean()
assert abs(errors["shifts of support vectors only"].mean() - errors["shifts"].mean()) < 1
assert max(rows["VirtualSupportVectors"]) < min(rows["VirtualSamples"])
assert np.all(errors["mirrored"] > errors["plain SVM"])
np.testing.assert_allclose(scores[0], scores[1], atol=1e-5)

# A weight of 0.5 is a cost of 0.5, and a weight of 0 is no block at all.
half = PriorSVC(VirtualSamples(shift, cost=0.5), C=10, kernel="rbf").fit(
    images[train_pair], digit[train_pair]
)
outer = PriorSVC(0.5 * VirtualSamples(shift), C=10, kernel="rbf").fit(images[train_pair], digit[train_pair])
np.testing.assert_allclose(half.decision_function(images), outer.decision_function(images), atol=1e-5)
absent = PriorSVC(0 * VirtualSamples(shift), C=10, kernel="rbf").fit(images[train_pair], digit[train_pair])
bare = PriorSVC(C=10, kernel="rbf").fit(images[train_pair], digit[train_pair])
np.testing.assert_allclose(absent.decision_function(images), bare.decision_function(images), atol=1e-5)

# The hint: its violation falls with its weight, while f gets less flat; reports add up.
assert np.all(np.diff(changes) < 0)
assert np.all(np.diff(regularisers) > 0)
assert np.mean(path_errors, axis=0)[-1] < np.mean(path_errors, axis=0)[0]
np.testing.assert_allclose(sum(row.contribution for row in model.report_.rows), model.objective_)
print("all of it holds")
