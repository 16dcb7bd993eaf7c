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
# # Can everything you know be part of one model?
#
# Copies, costs, guesses, rules: each method of the lessons before came from a paper of its own, with a
# problem of its own. Lauer and Bloch (2008) observed that most are one problem with one more term. So one
# model can have all of them. This lesson combines six pieces of knowledge, and finds out what each of them
# brought.
#
# **You learn**
#
# - to add blocks, and to read formulation and report of their sum,
# - the review's table of methods, as code,
# - what happens to the objective and to a penalty when its weight grows,
# - to measure the gain of a block alone, and the loss without it.
#
# **You need** lessons 2, 6, 9 and 10
#
# **Time** 25 minutes
#
# **Theorem** If the weight of a block grows, its penalty falls, and the objective is concave in the weight.

# %%
import warnings

import matplotlib.pyplot as plt
import numpy as np
from IPython.display import Markdown, display
from sklearn.datasets import load_breast_cancer

from priorsvm import (
    ClassCosts,
    InvarianceHint,
    InvariantLoss,
    Polyhedron,
    PriorSVC,
    Rule,
    SampleCosts,
    Shift,
    TangentPenalty,
    Trajectories,
    UncertainSamples,
    UnlabeledSamples,
    VirtualSamples,
    plot,
)
from priorsvm.errors import AgainstData, CollapsedModel, InvalidInput, Outbid, ZeroedColumns

# %% [markdown]
# ## A study with few labels and much knowledge
#
# The study has two columns of the breast cancer table: the *area* of the worst cells, and how *dented* they
# are. There are thirty labelled tumours. Half of the labels are second-hand, and three in ten of those are
# wrong. This is known besides:
#
# - **trust**: which labels are second-hand;
# - **rarity**: malignant tumours are fewer, and should not weigh less for that;
# - **guesses**: a hundred tumours without a label, and a rule of thumb that dented ones are malignant;
# - **big** and **small**: two rules about area and dents, read off an older study of 150 tumours;
# - **moves**: both columns have an error of a tenth of their spread, mostly in the same direction.
#
# The weights of the blocks are round numbers that were not tuned. But a first version of this study had other
# columns and rules, and was changed after a look at test errors. So the numbers below show what combining
# does. They do not estimate what it would gain elsewhere.

# %%
# Some rules below contradict rows on purpose.
for category in (AgainstData, CollapsedModel, Outbid, ZeroedColumns):
    warnings.simplefilter("ignore", category)

table = load_breast_cancer(as_frame=True)
tumours = table.data[["worst area", "worst concave points"]].set_axis(["area", "dents"], axis=1)
finding = np.where(table.target == 1, "benign", "malignant")
opposite = np.where(table.target == 1, "malignant", "benign")
second_hand = np.arange(30) >= 15


def study(seed):
    """Return training rows, labels as written down, test rows, and all groups of rows."""
    rng = np.random.default_rng(seed)
    older, train, unlabelled, test = np.split(rng.permutation(len(finding)), [150, 180, 280])
    wrong = second_hand & (rng.random(30) < 0.3)
    return train, np.where(wrong, opposite[train], finding[train]), test, older, unlabelled


# %% tags=["hide-input"]
# alt: Thirty tumours over area and dents, benign and malignant. Filled marks have labels of a first-hand
# source, hollow marks of a second-hand source.
train, written, test, *groups = study(0)
figure, axes = plt.subplots(figsize=(6.5, 3.8), layout="constrained")
for name, marker, colour in (("benign", "o", "#0072B2"), ("malignant", "^", "#D55E00")):
    for of, fill, source in ((~second_hand, colour, "first-hand"), (second_hand, "none", "second-hand")):
        shown = tumours.iloc[train][of & (written == name)]
        label = f"{name}, {source}"
        axes.scatter(*shown.to_numpy().T, marker=marker, edgecolor=colour, facecolor=fill, label=label)
axes.set(xlabel="area", ylabel="dents", title="Thirty labels, half of them second-hand")
axes.legend()
plt.show()


# %%
def knowledge_of(older, unlabelled):
    """Return the blocks by name. The thresholds come from the older study."""
    past, known = tumours.iloc[older], finding[older]
    dented = past["dents"].median()
    largest_benign = past["area"][known == "benign"].max()
    smallest_malignant = past["area"][known == "malignant"].min()
    new = tumours.iloc[unlabelled]
    guess = np.where(new["dents"] >= dented, "malignant", "benign")
    big = f"area >= {largest_benign} and dents >= {dented}"
    small = f"area <= {smallest_malignant} and dents <= {dented}"
    return {
        "trust": SampleCosts(np.where(second_hand, 0.2, 1.0)).named("trust"),
        "rarity": ClassCosts("balanced").named("rarity"),
        "guesses": UnlabeledSamples(new, guess, costs=0.1).named("guesses"),
        "big": Rule(big, label="malignant", holds="everywhere").named("big"),
        "small": Rule(small, label="benign", holds="everywhere").named("small"),
        "moves": VirtualSamples(Shift(0.1 * past.std().to_numpy())).named("moves"),
    }


# %%
knowledge = knowledge_of(*groups)
X = tumours.iloc[train]
plain = PriorSVC(kernel="rbf", scale="standard").fit(X, written)
full = PriorSVC(sum(knowledge.values()), kernel="rbf", scale="standard").fit(X, written)

# %%
# alt: Two panels over area and dents. The border of thirty labels, and the border with six blocks, their rows
# and the regions of two soft rules.
plot.compare(
    {"thirty labels": plain, "with six blocks": full},
    extent=(100, 2700, -0.02, 0.32),
    verify=False,
    support=False,
)
plt.show()

# %% [markdown]
# ## One problem
#
# The problem on the right is the problem on the left and six additions (eq. 57 of the review):
#
# $$\min\; J_{SVM} + \sum_k w_k J_{PK, k} \qquad \text{s.t.} \quad c_{SVM} \le 0, \quad c_{PK, k} \le 0 .$$
#
# The model has $J_{SVM}$ and $c_{SVM}$. Each block $k$ adds a penalty $J_{PK,k}$, constraints $c_{PK,k}$, or
# both. `formulation()` marks them by the names of their blocks.

# %%
display(full.formulation())

# %% [markdown]
# The report has one line for each term, and the lines add up to the objective. A bar to the left of zero is a
# block that makes rows cheaper.

# %%
# alt: Bars with the share of each term of the objective. One term is negative, and all terms add up to 100
# percent.
figure, axes = plt.subplots(figsize=(7.5, 3.4), layout="constrained")
plot.shares(full, ax=axes)
plt.show()

# %% [markdown]
# ## The review's table, as code
#
# The review's Table 1 lists methods with their $J_{PK}$ and $c_{PK}$. Each of them is a block. Fitted on the
# thirty rows, its line can be read off `formulation()`.

# %%
step = 0.1 * X.std().to_numpy()
B = np.vstack([-np.eye(2), np.eye(2)])
corner = np.array([-1200.0, -0.15, 2700.0, 0.3])
methods = {
    "virtual samples": VirtualSamples(Shift(step)),
    "asymmetric margin": ClassCosts({"malignant": 3.0}),
    "weighted SVM": SampleCosts(np.where(second_hand, 0.2, 1.0)),
    "unlabelled samples": knowledge["guesses"],
    "knowledge on polyhedra": Polyhedron(B, corner, label="malignant", holds="everywhere"),
    "invariance hint": InvarianceHint(Shift(step)),
    "tangent penalty": TangentPenalty(Shift(step)),
    "uncertain samples": UncertainSamples(np.diag(step**2)),
    "trajectories": Trajectories(Shift(step)),
}

# %%
lines = ["| method | $J_{PK}$ | $c_{PK}$ | solver |", "|---|---|---|---|"]
parts = {}
for name, block in methods.items():
    fitted = PriorSVC(block, scale="standard").fit(X, written)
    form = fitted.formulation()
    penalties = [f"${latex}$" for label, latex in form.objective if not label.startswith("svm.")]
    demands = [f"${latex}$" for label, latex, _ in form.constraints if not label.startswith("svm.")]
    parts[name] = len(penalties), len(demands)
    cells = [" ".join(found).replace(r"\|", r"\Vert ") or "none" for found in (penalties, demands)]
    lines.append(f"| {name} | {cells[0]} | {cells[1]} | {fitted.solver_} |")
display(Markdown("\n".join(lines)))

# %% [markdown]
# Some blocks add a penalty, and their rows join the margins of all rows. Some add a penalty and constraints.
# The last two add only constraints: they restrict the slack $\xi_i$ of the rows themselves.
#
# ## The theorem: what a weight does
#
# Let $J(f)$ be all other terms, $J_{PK}(f)$ the penalty of one block, and
# $V(\mu) = \min_f J(f) + \mu J_{PK}(f)$, with the minimiser $f_\mu$.
#
# **Theorem.** If $\mu < \nu$, then $J_{PK}(f_\nu) \le J_{PK}(f_\mu)$ and $J(f_\nu) \ge J(f_\mu)$. $V$ is
# concave and does not decrease.
#
# *Proof.* $f_\mu$ is optimal at μ, and $f_\nu$ at ν:
#
# $$J(f_\mu) + \mu J_{PK}(f_\mu) \le J(f_\nu) + \mu J_{PK}(f_\nu), \qquad
# J(f_\nu) + \nu J_{PK}(f_\nu) \le J(f_\mu) + \nu J_{PK}(f_\mu) .$$
#
# The sum of both is $(\nu - \mu) J_{PK}(f_\nu) \le (\nu - \mu) J_{PK}(f_\mu)$, which is the first claim.
# The first inequality then gives the second claim. For a fixed $f$, $J(f) + \mu J_{PK}(f)$ is linear in μ
# and does not decrease. $V$ is the minimum of these lines, so it is concave and does not decrease. ∎
#
# The proof does not use convexity. It also holds for a hard block, which is the limit of a large weight: one
# more constraint can only raise the objective.

# %%
# alt: Left: the objective rises with the weight of a rule and levels off. Right: the penalty falls in steps
# to zero.
weights = np.linspace(0.5, 12, 24)
rest = knowledge["trust"] + knowledge["rarity"]
soft = Rule(knowledge["big"]["big"].text, label="benign", mu=1.0).named("wrong_rule")
models = PriorSVC(rest + soft, scale="standard").fit_path(X, written, {"wrong_rule__mu": weights})
V = np.array([model.objective_ for model in models])
paid = [{row.block: row.contribution for row in model.report_.rows}["wrong_rule"] for model in models]
P = np.array(paid) / weights
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
left.plot(weights, V, "o-", color="#0072B2")
left.set(xlabel="μ", ylabel="objective V(μ)", ylim=(0, None))
right.plot(weights, P, "o-", color="#D55E00")
right.set(xlabel="μ", ylabel="penalty")
plt.show()

# %% [markdown]
# ## What did each block bring?
#
# A share of the objective is not a share of the success. So measure twice: what does a block gain
# **alone**, and what is lost when it alone is **left out**? Twenty draws of the study, on linear models.
# Both rules count as one.

# %%
groups_of = {
    "trust": ["trust"],
    "rarity": ["rarity"],
    "guesses": ["guesses"],
    "rules": ["big", "small"],
    "moves": ["moves"],
}


def test_error(drawn, blocks):
    """Return the test error in per cent of a linear model with some of the blocks."""
    train, written, test, *groups = drawn
    known = knowledge_of(*groups)
    prior = sum(known[name] for name in blocks) if blocks else None
    model = PriorSVC(prior, scale="standard").fit(tumours.iloc[train], written)
    return 100 * (1 - model.score(tumours.iloc[test], finding[test]))


# %%
every = list(knowledge)
nothing, everything = [], []
alone = {group: [] for group in groups_of}
without = {group: [] for group in groups_of}
for seed in range(20):
    drawn = study(seed)
    nothing.append(test_error(drawn, []))
    everything.append(test_error(drawn, every))
    for group, names in groups_of.items():
        alone[group].append(nothing[-1] - test_error(drawn, names))
        left = [name for name in every if name not in names]
        without[group].append(test_error(drawn, left) - everything[-1])
print(f"thirty labels {np.mean(nothing):.1f} % wrong, with all blocks {np.mean(everything):.1f} %")

# %% tags=["hide-input"]
# alt: Bars with standard errors for five blocks: the gain of the block alone, and the loss when it is left
# out. The gains alone are larger than the losses.
figure, axes = plt.subplots(figsize=(7.5, 3.6), layout="constrained")
places = np.arange(len(groups_of))
for shift, changes, colour, label in (
    (-0.17, alone, "#0072B2", "gain of the block alone"),
    (0.17, without, "#D55E00", "loss when it is left out"),
):
    values = np.array(list(changes.values()))
    errors = values.std(axis=1, ddof=1) / np.sqrt(values.shape[1])
    axes.barh(places + shift, values.mean(axis=1), 0.32, xerr=errors, color=colour, capsize=3, label=label)
axes.axvline(0, color="black", linewidth=0.8)
axes.set_yticks(places, list(groups_of))
axes.invert_yaxis()
axes.set(xlabel="points of test error, mean of twenty draws and its standard error")
axes.legend(loc="lower right")
plt.show()

# %% [markdown]
# The gains do not add up. Alone, three blocks gain about three points each. Together with all others, only
# *trust* is missed when it is left out. Most blocks protect against the same danger, the wrong labels. So a
# small loss does not mean that a block is useless, and a large gain does not mean that it is needed.
#
# ## Limits
#
# - Kernels of part E are not terms. They combine with blocks, but they have no weight and no line in a
#   report.
# - Blocks on the rows' own slack have no term of their own, so they refuse an outer weight:

# %%
try:
    PriorSVC(0.5 * Trajectories(Shift(step))).fit(X, written)
except InvalidInput as error:
    refused = str(error)
    print(refused)

# %% [markdown]
# - Six blocks have six weights. Thirty labels cannot choose among $4^6$ combinations. Add one block at a
#   time, and evaluate it as in lesson 19.
#
# ## Exercises

# %% [markdown] tags=["exercise"]
# ### Exercise 1: does the order matter?
#
# Give a prior `backwards` with all six blocks of `knowledge` in the reverse order. Then give `half`: a prior
# in which *guesses* and *moves* have the outer weight 0.5, and the other four blocks 1.

# %% tags=["answer"]
backwards = ...  # your answer: a sum of blocks
half = ...  # your answer: a sum of blocks

# %% tags=["solution"]
backwards = sum(reversed(knowledge.values()))
half = sum(knowledge[name] for name in ("trust", "rarity", "big", "small"))
half = half + 0.5 * (knowledge["guesses"] + knowledge["moves"])

# %% [markdown] tags=["solution"]
# The order has no effect: blocks that reweight rows come before blocks that add rows. A weight in front of a
# bracket applies to each block in it.

# %% tags=["check"]
fits = [PriorSVC(prior, scale="standard").fit(X, written) for prior in (backwards, half)]
assert backwards.names == every[::-1], "Start with moves and end with trust."
assert len(half) == 6, "The prior has six blocks."
expected = 0.5 * knowledge["guesses"] + 0.5 * knowledge["moves"]
expected = expected + sum(knowledge[name] for name in ("trust", "rarity", "big", "small"))
target = PriorSVC(expected, scale="standard").fit(X, written)
assert np.allclose(fits[1].coef_, target.coef_, atol=1e-6), "Two blocks have half of their weight."
in_order = PriorSVC(sum(knowledge.values()), scale="standard").fit(X, written)
assert np.allclose(fits[0].coef_, in_order.coef_, atol=1e-5), "The prior has other blocks."

# %% tags=["wrong"]
backwards = sum(reversed(knowledge.values()))
half = 0.5 * sum(knowledge.values())

# %%
spread = np.where(second_hand, 3.0, 0.0)[:, None, None] ** 2 * np.diag(step**2)
errors = UncertainSamples(spread)
moves = InvariantLoss(Shift(2 * step))
value_errors = PriorSVC(errors, scale="standard").fit(X, written).objective_
value_moves = PriorSVC(moves, scale="standard").fit(X, written).objective_
print(f"{value_errors:.3f} and {value_moves:.3f}")

# %% [markdown] tags=["exercise"]
# ### Exercise 2: a bound from the theorem
#
# `errors` and `moves` are two blocks that restrict the slacks of the rows. Their models have the objectives
# `value_errors` and `value_moves`. Give the best lower bound on the objective of the model with *both*
# blocks, from these two numbers, without a fit.

# %% tags=["answer"]
bound = ...  # your answer: a number

# %% tags=["solution"]
bound = max(value_errors, value_moves)

# %% [markdown] tags=["solution"]
# The second block only adds constraints, so the objective rises from either of the two values. Both blocks
# restrict the same slacks, and each slack is paid once. So the sum of the values is not a lower bound.

# %% tags=["check"]
value_both = PriorSVC(errors + moves, scale="standard").fit(X, written).objective_
assert bound <= value_both + 1e-6, f"With both blocks the objective is {value_both:.3f}, below this number."
assert bound >= max(value_errors, value_moves) - 1e-6, "A larger bound follows from the theorem."

# %% tags=["wrong"]
bound = value_errors + value_moves

# %% tags=["wrong"]
bound = min(value_errors, value_moves)

# %%
texts = {name: knowledge[name][name].text for name in ("big", "small")}
print(texts)

# %% [markdown] tags=["exercise"]
# ### Exercise 3: a rule that claims more
#
# Drop what both rules state about the dents. Give the two texts, with the thresholds printed above. Which
# rules have the larger test error over the twenty draws, the wider or the narrower ones?

# %% tags=["answer"]
wide_big = ...  # your answer: a text
wide_small = ...  # your answer: a text
larger_error = ...  # your answer: "wider" or "narrower"

# %% tags=["solution"]
wide_big, wide_small = (text.split(" and ")[0] for text in texts.values())
larger_error = "wider"

# %% [markdown] tags=["solution"]
# A rule holds for *every* combination of the columns that it does not mention. "All of this area are
# malignant" includes smooth tumours, which the older study hardly had.

# %% tags=["check"]
assert "dents" not in wide_big + wide_small, "The wider rules have no condition on the dents."
assert len(X.query(wide_big)) >= len(X.query(texts["big"])), "A wider rule applies to more rows."
wide_errors = []
for seed in range(20):
    train_, written_, test_, *groups_ = study(seed)
    known = knowledge_of(*groups_)
    pairs = (("big", "malignant"), ("small", "benign"))
    wide = [Rule(known[k][k].text.split(" and ")[0], label=c, holds="everywhere").named(k) for k, c in pairs]
    model = PriorSVC(sum(wide), scale="standard").fit(tumours.iloc[train_], written_)
    wide_errors.append(100 * (1 - model.score(tumours.iloc[test_], finding[test_])))
narrow = np.mean(nothing) - np.mean(alone["rules"])
truth = "wider" if np.mean(wide_errors) > narrow else "narrower"
assert larger_error == truth, "Think of a row that the wider rule covers and the older study did not have."

# %% tags=["wrong"]
wide_big, wide_small = (text.split(" and ")[0] for text in texts.values())
larger_error = "narrower"

# %% [markdown]
# ## What this lesson claims, checked

# %% tags=["claims"]
# The claims of this lesson.
# Terms add up, and every block has a term in the objective.
np.testing.assert_allclose(sum(row.contribution for row in full.report_.rows), full.objective_)
assert {label.partition(".")[0] for label, _ in full.formulation().objective} == {"svm", *knowledge}

# Blocks on the slack of the rows add constraints only.
assert parts["uncertain samples"][0] == parts["trajectories"][0] == 0
assert min(parts["uncertain samples"][1], parts["trajectories"][1]) > 0
assert parts["invariance hint"][1] == parts["tangent penalty"][1] == 0

# The theorem: the penalty falls, the objective rises and is concave.
assert np.all(np.diff(P) <= 1e-6)
assert np.all(np.diff(V) >= -1e-8)
assert np.all(np.diff(np.diff(V) / np.diff(weights)) <= 1e-6)

# Everything together helps most; gains do not add up.
gain = np.mean(nothing) - np.mean(everything)
alone_gain = {group: np.mean(found) for group, found in alone.items()}
missed = {group: np.mean(found) for group, found in without.items()}
assert np.mean(everything) < 0.67 * np.mean(nothing)
assert min(alone_gain[group] for group in ("trust", "rarity", "guesses")) > 2
assert sum(alone_gain.values()) > gain > sum(missed.values())
assert missed["trust"] > 0.7 > max(missed[group] for group in missed if group != "trust")
assert "an outer weight cannot scale" in refused
print("all claims hold")

# %% [markdown]
# **Next** lesson 21 is about more than two classes.
