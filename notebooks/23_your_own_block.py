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
# # What if your knowledge is not in the library?
#
# A doctor compares two patients: "I am not sure whether to admit them. But if only one, then this one." No
# block of the library states this. On paper it is one line, $f(\text{this one}) \ge f(\text{the other}) + 1$.
# This lesson turns the line into a block. The block works in every model, has a weight, adds to other blocks,
# and can be searched over.
#
# **You learn**
#
# - to write a block: `__init__`, `build`, and a label for every constraint,
# - why a block may evaluate $f$ anywhere, also on kernel models,
# - to test a block with `check_knowledge`,
# - to give it a formula and a verdict.
#
# **You need** lessons 1, 3 and 6
#
# **Time** 25 minutes
#
# **Theorem** With blocks, the optimal $f$ expands over the training rows and all points that blocks evaluate.

# %%
import cvxpy as cp
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from IPython.display import display

from priorsvm import (
    Formulas,
    Knowledge,
    PriorSVC,
    SampleCosts,
    Terms,
    Verdict,
    check_knowledge,
    plot,
)
from priorsvm.errors import InvalidInput
from priorsvm.testing import LawBroken

# %% [markdown]
# ## Twenty patients and thirty opinions
#
# The patients are invented, so the truth is known. Twenty of them were admitted or sent home, not always
# rightly. Sixty others were compared in thirty pairs.


# %%
def patients(rng, n):
    return pd.DataFrame({"pulse": rng.normal(90, 15, n), "lactate": rng.gamma(4, 0.5, n)})


def severity(people):
    return ((people["pulse"] - 90) / 15 + (people["lactate"] - 2)).to_numpy()


def table(seed, n=20, pairs=30):
    """Return labelled patients, the worse and the better one of each pair, and new patients."""
    rng = np.random.default_rng(seed)
    X = patients(rng, n)
    y = np.where(severity(X) + rng.normal(0, 1, n) > 0.3, "admit", "home")
    one, other = patients(rng, pairs), patients(rng, pairs)
    ill, ill_other = (severity(people) + rng.normal(0, 0.3, pairs) for people in (one, other))
    first = (ill > ill_other)[:, None]
    worse, better = (pd.DataFrame(np.where(mask, one, other), columns=X.columns) for mask in (first, ~first))
    new = patients(rng, 2000)
    return X, y, worse, better, new, np.where(severity(new) > 0.3, "admit", "home")


X, y, worse, better, new, truth = table(seed=3)


# %%
# alt: Patients and the border of a plain model. Arrows lead from the better to the worse patient of thirty
# pairs, most of them towards larger pulse or lactate.
def draw_pairs(axes):
    """Draw an arrow from the better to the worse patient of each pair."""
    for a, b in zip(better.to_numpy(), worse.to_numpy(), strict=True):
        axes.annotate("", b, a, arrowprops={"arrowstyle": "->", "color": "0.4", "linewidth": 0.8})


window = (45, 135, 0, 5.5)
axes = plot.decision(PriorSVC(scale="standard").fit(X, y), extent=window, support=False)
draw_pairs(axes)
axes.set_title("A plain model, and thirty opinions")
plt.show()

# %% [markdown]
# Each arrow points to the worse patient. The plain model has no part in these opinions.
#
# ## On paper, and by hand
#
# Let $a_p$ be the worse and $b_p$ the better patient of pair $p$, and $s$ the sign of the class *admit*. The
# doctor errs now and then, so each pair has a slack $t_p$ with the price $\mu$:
#
# $$J_{PK} = \mu \sum_p t_p, \qquad s\,(f(a_p) - f(b_p)) \ge 1 - t_p, \quad t_p \ge 0 .$$
#
# This is convex: linear constraints on $f$, and a sum. Nothing else is required of a block. First a linear
# model in CVXPY, on columns in units of their spread.

# %%
C, mu = 1.0, 0.5
shift = X.mean().to_numpy()
width = X.std(ddof=0).to_numpy()
inner, inner_worse, inner_better = ((rows.to_numpy() - shift) / width for rows in (X, worse, better))
sign = np.where(y == "home", 1.0, -1.0)  # classes are sorted, and the second one is +1

w, b = cp.Variable(2), cp.Variable()
xi, t = cp.Variable(len(X), nonneg=True), cp.Variable(len(worse), nonneg=True)
margin = cp.multiply(sign, inner @ w + b) >= 1 - xi
order = -(inner_worse - inner_better) @ w >= 1 - t  # "admit" is the class of sign -1
objective = 0.5 * cp.sum_squares(w) + C * cp.sum(xi) + mu * cp.sum(t)
by_hand = cp.Problem(cp.Minimize(objective), [margin, order])
by_hand.solve(solver="CLARABEL")
print(f"by hand: objective {by_hand.value:.6f}, w = {w.value / width}")

# %% [markdown]
# ## The block
#
# The block is a class. `__init__` stores its arguments under their own names. `build` is the formula. Three
# things differ from the lines above:
#
# - `f(Z)` is an affine expression with one value for each row of `Z`, whether $f$ is linear or not.
# - The penalty is written **without** its weight, under the name of the parameter that weighs it.
# - Every constraint has a label.


# %%
class Ranked(Knowledge):
    r"""Require a higher score for the first row of each pair."""

    def __init__(self, first, second, label, mu=1.0):
        self.first = first
        self.second = second
        self.label = label
        self.mu = mu

    def build(self, f, view):
        s = view.sample.sign(self.label)
        lead = s * (f(np.asarray(self.first)) - f(np.asarray(self.second)))
        t = cp.Variable(len(self.first), nonneg=True, name="t")
        return Terms({"mu": cp.sum(t)}, {"order": lead >= 1 - t})


opinions = Ranked(worse, better, label="admit", mu=mu)
block = PriorSVC(opinions, C=C, scale="standard").fit(X, y)
print(f"by hand: objective {by_hand.value:.6f}, w = {w.value / width}")
print(f"block:   objective {block.objective_:.6f}, w = {block.coef_[0]}")

# %% [markdown]
# Both are the same model. The pairs stay in the units of the table, though the model scales its columns. All
# other models work, too:

# %%
# alt: Four panels: linear and RBF models, without and with opinions. With opinions the borders are across the
# arrows.
models = {}
for kernel in ("linear", "rbf"):
    for name, prior in (("plain", None), ("with opinions", opinions)):
        model = PriorSVC(prior, C=C, kernel=kernel, scale="standard").fit(X, y)
        models[f"{kernel}, {name}: {model.score(new, truth):.0%} correct"] = model
figure, panels = plt.subplots(2, 2, figsize=(10, 7.4), layout="constrained")
for axes in plot.compare(models, axes=panels, extent=window, support=False, verify=False):
    draw_pairs(axes)
plt.show()

# %% [markdown]
# This is one table, and of a dozen the one in which the effect is easiest to see. A fair count follows below.
#
# ## The theorem: where f has its centres
#
# **Theorem.** Let blocks evaluate $f = g + b$ at finitely many points. Let $z_1, z_2, \dots$ be these points
# and the training rows, and let the regulariser be $\frac12 \lVert g \rVert_H^2$. If there is an optimal $f$,
# there is one with $g = \sum_j \beta_j k(z_j, \cdot)$.
#
# *Proof.* Let $S$ be the span of these kernel functions, and let $g = g_S + g_\perp$ with $g_\perp$
# orthogonal to $S$. By the reproducing property $g_\perp(z) = \langle g_\perp, k(z, \cdot) \rangle = 0$ at
# all $z_j$. So $f$ without $g_\perp$ has the same values there. All constraints and penalties keep their
# values. The norm does not grow: $\lVert g \rVert^2 = \lVert g_S \rVert^2 + \lVert g_\perp \rVert^2$. ∎
#
# The library uses this. $f$ expands over every point at which a block evaluates it, and no further points can
# lower the objective. `f.span(Z)` adds points without a constraint:


# %%
class WithMorePoints(Ranked):
    """Expand f over further points, with the same terms."""

    def build(self, f, view):
        f.span(np.asarray(new[:50]))
        return super().build(f, view)


kernel_model = {"C": C, "kernel": "rbf", "scale": "standard", "tol": 1e-8}
plain = PriorSVC(**kernel_model).fit(X, y)
expanded = PriorSVC(opinions, **kernel_model).fit(X, y)
wider = PriorSVC(WithMorePoints(worse, better, "admit", mu), **kernel_model).fit(X, y)
print(f"without the block: {len(plain.centres_)} centres")
print(f"with the block:    {len(expanded.centres_)} centres, objective {expanded.objective_:.6f}")
print(f"50 more points:    {len(wider.centres_)} centres, objective {wider.objective_:.6f}")

# %% [markdown]
# ## Laws of blocks
#
# `check_knowledge` fits a block in several models with several solvers, and checks laws that all blocks have
# to satisfy. A common slip is to multiply the penalty by its weight. The weight then counts twice:


# %%
class Twice(Ranked):
    """Multiply the penalty by its weight, which is wrong."""

    def build(self, f, view):
        terms = super().build(f, view)
        return Terms({"mu": self.mu * terms.penalties["mu"]}, terms.constraints)


try:
    check_knowledge(Twice(worse, better, label="admit"), X, y)
except LawBroken as error:
    complaint = str(error)
    print(complaint)
laws = check_knowledge(opinions, X, y)
print(f"\nRanked satisfies {len(laws)} laws, among them:")
for law in laws[-4:]:
    print(" -", law)

# %% [markdown]
# ## Manners
#
# Three more parts make a block pleasant for others. `validate` finds bad arguments before any work is done.
# `verify` reports whether a fitted $f$ satisfies the block. `formulas` has its terms in LaTeX.


# %%
class Opinions(Ranked):
    """Require a higher score for the first row of each pair, with checks and a verdict."""

    formulas = Formulas(
        latex={"mu": r"\sum_p t_p", "order": r"s\,(f(a_p) - f(b_p)) \ge 1 - t_p,\; t_p \ge 0"},
        letters={"t_p": r"\text{the slack of pair } p"},
    )

    def validate(self, sample):
        if len(self.first) != len(self.second):
            raise InvalidInput(f"first has {len(self.first)} rows and second {len(self.second)}: give pairs.")
        sample.sign(self.label)  # an error if there is no such class

    def verify(self, f, view):
        first, second = np.asarray(self.first), np.asarray(self.second)
        lead = view.sample.sign(self.label) * (f.value(first) - f.value(second))
        return Verdict.at_points(lead - 1, first, "the first of each pair to lead by 1", view.tol)


model = PriorSVC(Opinions(worse, better, "admit", mu), C=C, scale="standard").fit(X, y)
display(model.formulation())
display(model.report_)
print(model.verify())

# %%
try:
    PriorSVC(Opinions(worse, better[1:], "admit")).fit(X, y)
except InvalidInput as error:
    slip = str(error)
    print(slip)

# %% [markdown]
# ## Is it worth anything?
#
# One table proves nothing. Sixteen new tables, with the weight μ = 0.3 for all of them:

# %%
# alt: Share of correct rows with opinions over the share of the plain model, for sixteen tables. Most points
# are above the diagonal.
gains = []
for seed in range(200, 216):
    X_, y_, worse_, better_, new_, truth_ = table(seed)
    scores = [
        PriorSVC(prior, kernel="rbf", scale="standard").fit(X_, y_).score(new_, truth_)
        for prior in (None, Ranked(worse_, better_, "admit", mu=0.3))
    ]
    gains.append([100 * score for score in scores])
gains = np.array(gains)
figure, axes = plt.subplots(figsize=(4.6, 4.4), layout="constrained")
axes.plot([45, 100], [45, 100], color="0.4", linewidth=1)
axes.scatter(*gains.T, color="#0072B2")
axes.set(xlabel="plain: % correct", ylabel="with opinions: % correct", aspect="equal", title="Sixteen tables")
plt.show()
gain = gains[:, 1] - gains[:, 0]
print(f"gain {gain.mean():.1f} ± {gain.std(ddof=1) / 4:.1f} points")

# %% [markdown]
# ## What cannot be a block
#
# - What is not convex in $f$: "at least eight of ten pairs are in order", or "$f$ is *not* 0 here".
# - What needs the labels of new rows.
# - Products of two unknowns: a weight that is learnt together with $f$.
#
# Often there is a convex neighbour. The slacks $t_p$ are a neighbour of "most pairs are in order".
#
# ## Exercises

# %% [markdown] tags=["exercise"]
# ### Exercise 1: about equally ill
#
# The doctor calls two patients *about equally* ill: $|f(a_p) - f(b_p)| \le \varepsilon$. Write this as a hard
# block with two linear constraints, with the labels "above" and "below". Do not use `cp.abs`.


# %% tags=["answer"]
class AboutEqual(Knowledge):
    """Require nearly equal scores of two rows."""

    def __init__(self, first, second, within=0.1):
        self.first = first
        self.second = second
        self.within = within

    def build(self, f, view):
        return ...  # your answer: Terms with two constraints


# %% tags=["solution"]
class AboutEqual(Knowledge):
    """Require nearly equal scores of two rows."""

    def __init__(self, first, second, within=0.1):
        self.first = first
        self.second = second
        self.within = within

    def build(self, f, view):
        difference = f(np.asarray(self.first)) - f(np.asarray(self.second))
        return Terms(constraints={"above": difference <= self.within, "below": difference >= -self.within})


# %% tags=["check"]
equal = PriorSVC(AboutEqual(worse[:3], better[:3], within=0.1), kernel="rbf", scale="standard").fit(X, y)
apart = equal.decision_function(worse[:3]) - equal.decision_function(better[:3])
assert apart.max() <= 0.1 + 1e-5, "A score of the first rows is too high."
assert apart.min() >= -0.1 - 1e-5, "A score of the first rows is too low."
exact = PriorSVC(AboutEqual(worse[:3], better[:3], within=0.0), kernel="rbf", scale="standard").fit(X, y)
assert exact.objective_ > equal.objective_, "The parameter within has no effect."


# %% tags=["wrong"]
class AboutEqual(Knowledge):
    def __init__(self, first, second, within=0.1):
        self.first = first
        self.second = second
        self.within = within

    def build(self, f, view):
        difference = f(np.asarray(self.first)) - f(np.asarray(self.second))
        return Terms(constraints={"above": difference <= self.within})


# %% [markdown] tags=["exercise"]
# ### Exercise 2: old rows count less
#
# Some knowledge is about rows. Row $i$ has the age $a_i$, and its weight is $2^{-a_i / h}$ with the
# half-life $h$, divided by the mean over all rows. Such a block has the method `prepare` and the attribute
# `prepares = "reweights"`. `self.aligned("age", sample)` has the age of each training row. `prepare`
# returns `sample.with_factor(weights)`. Complete it.


# %% tags=["answer"]
class Fading(Knowledge):
    """Give old rows a smaller weight."""

    prepares = "reweights"
    row_params = ("age",)

    def __init__(self, half_life, age=None):
        self.half_life = half_life
        self.age = age

    def prepare(self, sample, state):
        weights = ...  # your answer
        return sample.with_factor(weights)


# %% tags=["solution"]
class Fading(Knowledge):
    """Give old rows a smaller weight."""

    prepares = "reweights"
    row_params = ("age",)

    def __init__(self, half_life, age=None):
        self.half_life = half_life
        self.age = age

    def prepare(self, sample, state):
        age = self.aligned("age", sample)
        weights = 0.5 ** (age / self.half_life)
        return sample.with_factor(weights / weights.mean())


# %% [markdown] tags=["solution"]
# `row_params` makes `age` a parameter of `fit`, which cross-validation splits with the rows. The block only
# changes weights, so the fast solvers for weighted SVMs still apply.

# %% tags=["check"]
assert ... not in Fading.prepare.__code__.co_consts, "Replace the ... in prepare by the weights."
ages = np.random.default_rng(0).uniform(0, 24, 20)
faded = PriorSVC(Fading(half_life=6.0), scale="standard").fit(X, y, fading__age=ages)
expected = 0.5 ** (ages / 6.0)
same = PriorSVC(SampleCosts(expected / expected.mean()), scale="standard").fit(X, y)
assert np.isfinite(faded.coef_).all(), "The weights have to be finite."
twice_as_old = PriorSVC(Fading(half_life=12.0), scale="standard").fit(X, y, fading__age=2 * ages)
assert np.allclose(faded.coef_, twice_as_old.coef_, atol=1e-5), "Only the ratio of age and half-life counts."
assert np.allclose(faded.coef_, same.coef_, atol=1e-5), "Check the power of 2, and the mean of the weights."


# %% tags=["wrong"]
class Fading(Knowledge):
    prepares = "reweights"
    row_params = ("age",)

    def __init__(self, half_life, age=None):
        self.half_life = half_life
        self.age = age

    def prepare(self, sample, state):
        age = self.aligned("age", sample)
        weights = 0.5 ** (age / self.half_life)
        return sample.with_factor(weights)


# %% [markdown] tags=["exercise"]
# ### Exercise 3: how many centres?
#
# An expert adds ten pairs to the thirty pairs of `opinions`, so there are 80 different patients in pairs. How
# many centres can the RBF model with the twenty training rows have, at most?

# %% tags=["answer"]
most_centres = ...  # your answer: a number

# %% tags=["solution"]
most_centres = 20 + 80

# %% tags=["check"]
ten = patients(np.random.default_rng(7), 20)
more = Ranked(pd.concat([worse, ten[:10]]), pd.concat([better, ten[10:]]), "admit", mu)
fitted = PriorSVC(more, kernel="rbf", scale="standard").fit(X, y)
assert most_centres >= len(fitted.centres_), f"The model has {len(fitted.centres_)} centres."
assert most_centres <= len(X) + 2 * 40, "Count the training rows and all points that the block evaluates."

# %% tags=["wrong"]
most_centres = 20

# %% tags=["wrong"]
most_centres = 20 + 80 + 2000

# %% [markdown]
# ## What this lesson claims, checked

# %% tags=["claims"]
# The claims of this lesson.
np.testing.assert_allclose(block.objective_, by_hand.value, rtol=1e-6)
np.testing.assert_allclose(block.coef_[0], w.value / width, rtol=1e-4)
np.testing.assert_allclose(model.coef_[0], w.value / width, rtol=1e-4)

# The theorem: centres at rows and points of the block; further points do not lower the objective.
assert len(plain.centres_) <= len(X) < len(expanded.centres_) <= len(X) + 60
np.testing.assert_allclose(wider.objective_, expanded.objective_, rtol=1e-5)

# Slips are found, and the names are in formulation and message.
assert "Leave mu out" in complaint
assert "weight 0 disables the block" in laws
assert "give pairs" in slip
assert "opinions.order" in {label for label, _, _ in model.formulation().constraints}

# Over sixteen tables the opinions help.
assert gain.mean() > 2 * gain.std(ddof=1) / 4
print("all claims hold")

# %% [markdown]
# **Next** lesson 24 fits files that are larger than the memory. The guide page on blocks of your own lists
# all methods and attributes.
