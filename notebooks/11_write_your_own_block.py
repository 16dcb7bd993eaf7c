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
# A doctor is shown two patients and says: "I do not know whether to admit them. But if one of them, then
# this one." No block of the library says that. On paper it is one line:
#
# $$f(\text{this one}) \ge f(\text{the other}) + 1 .$$
#
# We turn that line into a block that works in every model, has a weight, adds to other blocks and can be
# searched over, and check that it is what was on paper. Then two more: a hard constraint, and one about
# rows.

# %%
from itertools import count, islice

import cvxpy as cp
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from IPython.display import display
from sklearn.model_selection import GridSearchCV, StratifiedKFold

from priorsvm import (
    Formulas,
    Knowledge,
    Monotone,
    PriorSVC,
    SampleCosts,
    Terms,
    Verdict,
    check_knowledge,
    plot,
)
from priorsvm.errors import Infeasible, InvalidInput
from priorsvm.testing import LawBroken

BLUE, RED, GREY = "#0072B2", "#D55E00", "0.4"

# %% [markdown]
# ## Twenty patients and thirty opinions
#
# Invented patients, so that we know the truth and can count on as many new ones as we like. Twenty of them
# were admitted or sent home, in a hurry and not always rightly. Of sixty others nobody knows what became of
# them. The doctor looked at them in pairs.


# %%
def patients(rng, n):
    return pd.DataFrame({"pulse": rng.normal(90, 15, n), "lactate": rng.gamma(4, 0.5, n)})


def severity(people):
    return ((people["pulse"] - 90) / 15 + (people["lactate"] - 2)).to_numpy()


def decided(risk):
    return np.where(risk > 0.3, "admit", "home")


def compared(rng, one, other, true=severity):
    """The worse and the better one of each pair, as the doctor sees it, who errs where it is close."""
    ill, ill_other = (true(people) + rng.normal(0, 0.3, len(people)) for people in (one, other))
    first = (ill > ill_other)[:, None]
    worse, better = np.where(first, one, other), np.where(first, other, one)
    return pd.DataFrame(worse, columns=one.columns), pd.DataFrame(better, columns=one.columns)


def table(seed, n=20, pairs=30):
    """Labelled patients, the worse and the better one of each pair, and new patients with the truth."""
    rng = np.random.default_rng(seed)
    X = patients(rng, n)
    y = decided(severity(X) + rng.normal(0, 1, n))
    worse, better = compared(rng, patients(rng, pairs), patients(rng, pairs))
    new = patients(rng, 2000)
    return X, y, worse, better, new, decided(severity(new))


X, y, worse, better, new, truth = table(seed=3)
sign = np.where(y == "home", 1.0, -1.0)  # classes are sorted, and the second one is +1

left, right, bottom, top = 45, 135, 0, 5.5
mesh = np.stack(np.meshgrid(np.linspace(left, right, 120), np.linspace(bottom, top, 100)), axis=-1)
places = pd.DataFrame(mesh.reshape(-1, 2), columns=X.columns)


def draw(axes, model=None, arrows=True, title=""):
    """Patients, opinions as arrows from the better to the worse, and where the model says admit."""
    if model is not None:
        f = model.decision_function(places).reshape(mesh.shape[:2])
        across = (*np.moveaxis(mesh, -1, 0), f)
        axes.contourf(*across, levels=[-99, 0, 99], colors=[RED, BLUE], alpha=0.12, zorder=0)
        axes.contour(*across, levels=[0], colors="black")
        axes.plot(
            [left, right], [2.3 - (p - 90) / 15 for p in (left, right)], ":", color="black"
        )  # the truth
    if arrows:
        for a, b in zip(better.to_numpy(), worse.to_numpy(), strict=True):
            axes.annotate("", b, a, arrowprops={"arrowstyle": "->", "color": GREY, "linewidth": 0.8})
    for name, marker, colour in (("home", "o", BLUE), ("admit", "^", RED)):
        axes.scatter(*X[y == name].to_numpy().T, marker=marker, color=colour, s=36, label=name, zorder=3)
    axes.set(xlim=(left, right), ylim=(bottom, top), xlabel="pulse", ylabel="lactate", title=title)


figure, axes = plt.subplots(figsize=(7, 4.6))
draw(axes, title="Twenty decisions, and thirty arrows towards the worse of two")
axes.legend(loc="upper left")
plt.show()

# %% [markdown]
# ## On paper, and by hand
#
# Let $a_p$ be the worse and $b_p$ the better patient of pair $p$, and $s = \pm 1$ the sign of the class that
# is meant, *admit*. The doctor errs now and then, so each pair gets a slack $t_p$ of its own, at the price
# $\mu$:
#
# $$J_{PK} = \mu \sum_p t_p, \qquad s\,(f(a_p) - f(b_p)) \ge 1 - t_p, \quad t_p \ge 0 .$$
#
# It is convex: linear constraints on $f$, and a sum. That is all a block has to be. First a linear model
# in CVXPY, on columns in units of their spread.

# %%
C, mu = 1.0, 0.5
shift, width = X.mean().to_numpy(), X.std(ddof=0).to_numpy()
inner, inner_worse, inner_better = ((rows.to_numpy() - shift) / width for rows in (X, worse, better))

w, b = cp.Variable(2), cp.Variable()
xi, t = cp.Variable(len(X), nonneg=True), cp.Variable(len(worse), nonneg=True)
margin = cp.multiply(sign, inner @ w + b) >= 1 - xi
order = -(inner_worse - inner_better) @ w >= 1 - t  # "admit" is the class of sign -1
by_hand = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(w) + C * cp.sum(xi) + mu * cp.sum(t)), [margin, order])
by_hand.solve(solver="CLARABEL")
w_by_hand = w.value / width
print(f"by hand: objective {by_hand.value:.6f}, w = {w_by_hand}")

# %% [markdown]
# ## The block
#
# The same as a class. `build` is the formula, and three things in it differ from the lines above:
#
# * It evaluates `f`, which may be linear or not. `f(Z)` is an affine expression with one value for each row
#   of `Z`.
# * The penalty is written **without** its weight, under the name of the parameter that weighs it. The library
#   multiplies. So weights can change without a new problem, and the report has a line for each term.
# * Every constraint has a label.


# %%
class Ranked(Knowledge):
    r"""Of each pair the first one has the higher score.

    .. math:: J_{PK} = \mu \sum_p t_p, \qquad s\,(f(a_p) - f(b_p)) \ge 1 - t_p,\; t_p \ge 0 .
    """

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
print(f"by hand: objective {by_hand.value:.6f}, w = {w_by_hand}")
print(f"block:   objective {block.objective_:.6f}, w = {block.coef_[0]}")

# %% [markdown]
# The same model. And the arrows stay in the units of the table, though the model scales its columns.
# Everything else comes with it: for instance models that are not linear.

# %%
kinds = {"linear": "linear", "RBF": "rbf"}
figure, panels = plt.subplots(2, 2, figsize=(10, 7.4), sharex=True, sharey=True, layout="constrained")
right_share = {}
for row, (kind, kernel) in zip(panels, kinds.items(), strict=True):
    for axes, (told, prior) in zip(row, (("plain", None), ("told", opinions)), strict=True):
        model = PriorSVC(prior, C=C, kernel=kernel, scale="standard").fit(X, y)
        right_share[kind, told] = model.score(new, truth)
        draw(axes, model, prior is not None, f"{kind}, {told}: right for {right_share[kind, told]:.0%}")
        axes.label_outer()
plt.show()

# %% [markdown]
# The dotted line is the truth. The titles count 2000 new patients against the truth. But this is one table,
# and of a dozen that we looked at it is the one in which the effect is easiest to see. A fair count, over
# tables nobody has looked at, follows below.
#
# ## Where does $f$ have its bumps?
#
# A kernel model is a sum of bumps, $f(x) = \sum_j \beta_j k(z_j, x) + b$. The points $z_j$ are its *centres*.
# Without blocks the best $f$ needs bumps at the training rows only. With a block it also needs bumps at the
# points where the block evaluates it, and it has them there: $f$ expands over every point it is evaluated at.
# Here that is 20 training rows and 60 patients in pairs, less a few whose bump has height 0. No other bumps
# can lower the objective. `f.span(Z)` adds some:


# %%
class WithMorePoints(Ranked):
    """The same block, on an f that expands over further points."""

    def build(self, f, view):
        f.span(np.asarray(new[:50]))
        return super().build(f, view)


expanded = PriorSVC(opinions, C=C, kernel="rbf", scale="standard").fit(X, y)
wider = PriorSVC(WithMorePoints(worse, better, "admit", mu), C=C, kernel="rbf", scale="standard").fit(X, y)
print(f"{len(expanded.centres_)} centres, and the objective is {expanded.objective_:.6f}")
print(f"with 50 more points to expand over it is {wider.objective_:.6f}")

# %% [markdown]
# A block can evaluate slopes of $f$ too. Suppose that the score of *admit* rises with lactate, at the places
# of the sixty patients in pairs. For a slope the best $f$ needs another kind of bump, a derivative of the
# kernel. Each slope adds one unknown. With `spans=False` these bumps are left out, so the objective can only
# be higher. `f.span(Z)` at least adds bumps at the points themselves:


# %%
class Rises(Knowledge):
    """The score of a class rises along a direction, at some points."""

    def __init__(self, points, direction, label, span="slopes"):
        self.points = points
        self.direction = direction
        self.label = label
        self.span = span

    def build(self, f, view):
        Z = np.asarray(self.points)
        if self.span == "points":
            f.span(Z)
        slope = f.slope(Z, np.tile(self.direction, (len(Z), 1)), spans=self.span == "slopes")
        return Terms(constraints={"rises": view.sample.sign(self.label) * slope >= 0})


in_pairs = pd.concat([worse, better])
by_span = {}
for span in ("slopes", "points", "rows"):
    rising = Rises(in_pairs, [0.0, 1.0], "admit", span)
    by_span[span] = PriorSVC(rising, C=C, kernel="rbf", scale="standard").fit(X, y).objective_
    print(f"f expands over rows{'' if span == 'rows' else ' and ' + span:12s}: objective {by_span[span]:.4f}")

# %% [markdown]
# All three satisfy the block. The first one is the best $f$ there is, and `spans=True` is the default. Use
# `spans=False` for thousands of slopes, or for a kernel without second derivatives.
#
# ## The laws
#
# `check_knowledge` fits a block in several models with several solvers, and checks what every block has to
# obey. One slip that it finds is to multiply by the weight oneself. Then the weight counts twice.


# %%
class Twice(Ranked):
    """The same with its weight in the penalty."""

    def build(self, f, view):
        terms = super().build(f, view)
        return Terms({"mu": self.mu * terms.penalties["mu"]}, terms.constraints)


try:
    check_knowledge(Twice(worse, better, label="admit"), X, y)
    complaint_twice = ""
except LawBroken as error:
    complaint_twice = str(error)
print(complaint_twice)

# %% [markdown]
# Another slip does not even need a check: a method whose announcement is missing. A block that changes rows
# in `prepare` sets `prepares`, and a block with `refine` derives from `Iterative`. Without it the class is an
# error:

# %%
try:

    class Impatient(Ranked):
        """Adds pairs after each solve, or so its author thinks."""

        def refine(self, f, view):
            return None

except TypeError as error:
    complaint_trait = str(error)
    print(error)

# %% [markdown]
# Ours as it was written obeys:

# %%
laws = check_knowledge(opinions, X, y)
print(f"{len(laws)} laws, among them:")
for law in laws[-9:]:
    print(" *", law)

# %% [markdown]
# ## Manners
#
# A block that others use should find bad arguments before any work is done (`validate`), report whether a
# fitted $f$ satisfies it (`verify`), and have a formula (`formulas`). It may also be hard, for a doctor who
# never errs. We write it again, in full. First what any block with points needs:


# %%
def points(name, given, sample):
    """The points a block was given as an array, or an error if they do not fit the table."""
    known = sample.feature_names  # None for a model fitted on an array
    if known is not None and list(getattr(given, "columns", known)) != list(known):
        raise InvalidInput(f"{name} has other columns than the table: {', '.join(given.columns)}.")
    rows, width = np.asarray(given, float), sample.X.shape[1]
    if rows.ndim != 2 or rows.shape[1] != width or not np.isfinite(rows).all():
        raise InvalidInput(f"{name} has shape {rows.shape}, expected (n, {width}) and finite numbers.")
    return rows


# %%
class Ranked(Knowledge):
    r"""Of each pair the first one has the higher score.

    .. math:: J_{PK} = \mu \sum_p t_p, \qquad s\,(f(a_p) - f(b_p)) \ge 1 - t_p,\; t_p \ge 0
              \quad\text{or, hard, without } t .
    """

    formulas = Formulas(
        latex={"mu": r"\sum_p t_p", "order": r"s\,(f(a_p) - f(b_p)) \ge 1 - t_p,\; t_p \ge 0"},
        letters={"t_p": r"\text{the slack of pair } p"},
    )

    def __init__(self, first, second, label, mu=1.0, hard=False):
        self.first = first
        self.second = second
        self.label = label
        self.mu = mu
        self.hard = hard

    def validate(self, sample):
        first, second = self.pairs(sample)
        if len(first) != len(second):
            raise InvalidInput(f"first has {len(first)} rows and second {len(second)}: they are pairs.")
        sample.sign(self.label)  # an error if there is no such class

    def pairs(self, sample):
        return points("first", self.first, sample), points("second", self.second, sample)

    def build(self, f, view):
        first, second = self.pairs(view.sample)
        lead = view.sample.sign(self.label) * (f(first) - f(second))
        if self.hard:
            return Terms(constraints={"order": lead >= 1})
        t = cp.Variable(len(first), nonneg=True, name="t")
        return Terms({"mu": cp.sum(t)}, {"order": lead >= 1 - t})

    def verify(self, f, view):
        first, second = self.pairs(view.sample)
        lead = view.sample.sign(self.label) * (f.value(first) - f.value(second))
        return Verdict.at_points(lead - 1, first, "the first of each pair to lead by 1", max(view.tol, 1e-6))


opinions = Ranked(worse, better, label="admit", mu=mu)
model = PriorSVC(opinions, C=C, scale="standard").fit(X, y)

# %% [markdown]
# With `formulas` the block has its place in the formulation, under its name ...

# %%
display(model.formulation())

# %% [markdown]
# ... and without a line of ours in `report_`: what it adds to the objective, how many of its rows push, and
# how hard. `verify` counts the pairs whose lead is less than 1. A soft block may be violated, that is what
# its slacks are for.

# %%
display(model.report_)
display(model.verify())

# %% [markdown]
# And who mixes something up is told so before anything is solved:

# %%
slips = {
    "an odd one out": Ranked(worse, better[1:], label="admit"),
    "a class that is none": Ranked(worse, better, label="admitted"),
    "columns in another order": Ranked(worse[["lactate", "pulse"]], better, label="admit"),
    "a weight below zero": Ranked(worse, better, label="admit", mu=-1.0),
}
told_slips = {}
for what, slip in slips.items():
    try:
        PriorSVC(slip).fit(X, y)
    except InvalidInput as error:
        told_slips[what] = str(error)
        print(f"{what}:\n    {error}")

# %% [markdown]
# ## Is it worth anything?
#
# How loud should the doctor be? A grid search knows the weight of a block by its name, and 0 leaves it out.
# It sees the twenty labelled patients only. One table proves nothing, so we draw sixteen (and draw again
# where a class has fewer than four rows, one for each fold). Beside the search we try one weight for all
# tables, 0.3, without asking the rows.

# %%
volumes = [0.0, 0.3, 1.0]
grid = {"prior__doctor__weight": volumes}
folds = StratifiedKFold(4, shuffle=True, random_state=0)
scores, chosen = [], []
fit_for_folds = (seed for seed in count(200) if 4 <= np.sum(table(seed)[1] == "admit") <= 16)
for seed in islice(fit_for_folds, 16):
    X_, y_, worse_, better_, new_, truth_ = table(seed)
    doctor = Ranked(worse_, better_, label="admit").named("doctor")
    search = GridSearchCV(PriorSVC(doctor, kernel="rbf", scale="standard"), grid, cv=folds).fit(X_, y_)
    plain = PriorSVC(kernel="rbf", scale="standard").fit(X_, y_)
    fixed = PriorSVC(0.3 * doctor, kernel="rbf", scale="standard").fit(X_, y_)
    majority = pd.Series(y_).mode()[0]
    scores.append([np.mean(truth_ == majority), *(m.score(new_, truth_) for m in (plain, search, fixed))])
    chosen.append(search.best_params_["prior__doctor__weight"])
scores = pd.DataFrame(100 * np.array(scores), columns=["majority", "plain", "searched", "always 0.3"])


def compare(scores, with_="plain"):
    """Mean scores, and what was gained over another column, table by table."""
    gain = scores.sub(scores[with_], axis=0)
    return pd.DataFrame(
        {
            "% right": scores.mean(),
            "gain": gain.mean(),
            "standard deviation": gain.std(),
            "tables better": (gain > 0).sum(),
            "tables worse": (gain < 0).sum(),
        }
    ).round(1)


display(compare(scores))
print("weights chosen:", {v: chosen.count(v) for v in volumes})

# %%
figure, panels = plt.subplots(1, 2, figsize=(9.5, 4.6), sharey=True, layout="constrained")
for axes, name in zip(panels, ("searched", "always 0.3"), strict=True):
    axes.plot([45, 100], [45, 100], color=GREY, linewidth=1)
    axes.scatter(scores["plain"], scores[name], color=BLUE, s=30)
    axes.set(xlabel="plain: % right", xlim=(45, 100), ylim=(45, 100), aspect="equal", title=name)
panels[0].set_ylabel("with the doctor: % right")
figure.suptitle("Each point is a table; above the line the doctor helped")
plt.show()

# %% [markdown]
# The doctor helps. The search is no better than a steady 0.3: five rows in a fold can hardly tell weights
# apart, and of equals it takes the first, which is 0. In the tables where it did so nothing was gained.
# Where you are sure of your knowledge, few rows are a poor judge of it.

# %% [markdown]
# ## A hard constraint
#
# A year later there are two devices for the pulse. The new one reads too high by an amount nobody knows. It
# stands on the ward, so most patients who were measured with it had been admitted, and in the table it looks
# as if the *device* made them ill. Then for one week it was decided by lot which device a patient gets.
# Nobody wrote down what became of these patients, but one thing is known: those of one device were as ill as
# those of the other, on average, up to chance.
#
# $$\Bigl| \frac1{|A|} \sum_{a \in A} f(a) - \frac1{|B|} \sum_{b \in B} f(b) \Bigr| \le \varepsilon .$$
#
# An absolute value around $f$ is better written as two rows: around dense expressions CVXPY has handed some
# solvers wrong bounds.


# %%
class EqualMeans(Knowledge):
    r"""The mean score of two groups is the same, up to ``within``.

    .. math:: -\varepsilon \le \bar f(A) - \bar f(B) \le \varepsilon .
    """

    formulas = Formulas(
        latex={
            "above": r"\bar f(A) - \bar f(B) \le \varepsilon",
            "below": r"\bar f(B) - \bar f(A) \le \varepsilon",
        },
        numbers={r"\varepsilon": "within"},
    )

    def __init__(self, one, other, within=0.05):
        self.one = one
        self.other = other
        self.within = within

    def groups(self, sample):
        return points("one", self.one, sample), points("other", self.other, sample)

    def validate(self, sample):
        self.groups(sample)
        if not self.within >= 0:
            raise InvalidInput(f"within must be a nonnegative number, got {self.within!r}.")

    def build(self, f, view):
        one, other = self.groups(view.sample)
        apart = cp.sum(f(one)) / len(one) - cp.sum(f(other)) / len(other)
        return Terms(constraints={"above": apart <= self.within, "below": -apart <= self.within})

    def verify(self, f, view):
        one, other = self.groups(view.sample)
        left_over = self.within - abs(f.value(one).mean() - f.value(other).mean())
        return Verdict(left_over > -1e-5, left_over, None, True, 1, "equal means of both groups")


def measured(people, device):
    """What the table says: the new device, 1, reads 15 too high."""
    return people.assign(pulse=people["pulse"] + 15 * device, device=np.asarray(device, float))


def year_later(seed, on_the_ward=0.9, n=120, months=24):
    """Rows, labels, their age in months, the two groups of the week, new patients by lot, and the truth."""
    rng = np.random.default_rng(seed)
    people, age = patients(rng, n), rng.uniform(0, months, n)
    y = decided(severity(people) + rng.normal(0, 1, n) - 0.06 * age)  # fewer were admitted in earlier days
    X = measured(people, rng.random(n) < np.where(y == "admit", on_the_ward, 1 - on_the_ward))
    groups = [measured(patients(rng, 60), np.full(60, device)) for device in (0, 1)]
    fresh = patients(rng, 2000)
    return X, y, age, groups, measured(fresh, rng.random(2000) < 0.5), decided(severity(fresh))


X2, y2, age, (old_device, new_device), new2, truth2 = year_later(0)
lot = EqualMeans(old_device, new_device, within=0.05)
fair = PriorSVC(lot, scale="standard").fit(X2, y2)
unfair = PriorSVC(scale="standard").fit(X2, y2)
for name, found in (("plain", unfair), ("told", fair)):
    per_unit = ", ".join(f"{c} {v:+.3f}" for c, v in zip(X2.columns, -found.coef_[0], strict=True))
    print(f"{name:6s}{per_unit}   (what each adds to the score of 'admit')")
display(fair.formulation())
display(fair.verify())

# %% [markdown]
# Scores of new patients, of whom we know which device they got:

# %%
figure, panels = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
bins = np.linspace(-5, 5, 41)
for axes, (name, found) in zip(panels, (("plain", unfair), ("told", fair)), strict=True):
    score = -found.decision_function(new2)
    for device, colour, style in ((0, BLUE, "-"), (1, RED, "--")):
        of = new2["device"] == device
        axes.hist(
            score[of], bins, histtype="step", color=colour, linestyle=style, linewidth=1.6, label=f"{device}"
        )
        axes.axvline(score[of].mean(), color=colour, linestyle=style, linewidth=1)
    axes.set(xlabel="score of 'admit'", title=f"{name}: right for {found.score(new2, truth2):.0%}")
panels[0].legend(title="device")
plt.show()

# %% [markdown]
# The plain model looks at the device and at nothing else. The other one has found out that the readings of
# the new one are to be lowered, by $-w_\text{device} / w_\text{pulse}$ beats. By hand, to be sure of the
# block:

# %%
sign2 = np.where(y2 == "home", 1.0, -1.0)
shift2, width2 = X2.mean().to_numpy(), X2.std(ddof=0).to_numpy()
w2, b2, xi2 = cp.Variable(3), cp.Variable(), cp.Variable(len(X2), nonneg=True)
apart = (old_device.mean() - new_device.mean()).to_numpy() / width2
equal = cp.Problem(
    cp.Minimize(0.5 * cp.sum_squares(w2) + cp.sum(xi2)),
    [cp.multiply(sign2, (X2.to_numpy() - shift2) / width2 @ w2 + b2) >= 1 - xi2, cp.abs(apart @ w2) <= 0.05],
)
equal.solve(solver="CLARABEL")
w_equal = w2.value / width2
print("by hand", w_equal, "\nblock  ", fair.coef_[0])
lowered = -fair.coef_[0, 2] / fair.coef_[0, 0]
print(f"the new device reads too high: by 15 beats in truth, by {lowered:.1f} as the model has it")
laws_equal = check_knowledge(lot, X2, y2)
print(f"{len(laws_equal)} laws hold")

# %% [markdown]
# ## A block about rows
#
# Some knowledge is not about $f$ but about the table. Two years ago fewer patients were admitted than today,
# so *old rows count less*. With a half-life $h$ and the age $a_i$ of a row,
#
# $$C_i = C \, \frac{2^{-a_i / h}}{Z}, \qquad Z = \frac1n \sum_j 2^{-a_j / h} .$$
#
# $Z$ makes their mean $C$, or the block would be a smaller $C$ as well. `SampleCosts` could be given these
# numbers. A block of its own has $h$ as a parameter, which a search can choose. Such a block overrides
# `prepare`, which gets the rows and returns them reweighted, and announces it in `prepares`. The ages belong
# to rows, so they are a **row parameter**: given to `fit` and split by cross-validation.


# %%
class Fading(Knowledge):
    r"""Old rows count less: :math:`C_i = C\, 2^{-a_i / h} / Z`, with the mean :math:`C`."""

    prepares = "reweights"
    row_params = ("age",)
    formulas = Formulas(
        latex={"sample": r"\sum_i C\,(2^{-a_i / h} / Z - 1)\, \xi_i<p>"}, numbers={"h": "half_life"}
    )

    def __init__(self, half_life, age=None):
        self.half_life = half_life
        self.age = age

    def validate(self, sample):
        if not self.half_life > 0:
            raise InvalidInput(f"half_life must be a positive number, got {self.half_life!r}.")
        if self.aligned("age", sample) is None:
            raise InvalidInput("age is missing: give it to fit, as <block>__age=...")

    def prepare(self, sample, state):
        trust = 0.5 ** (self.aligned("age", sample) / self.half_life)
        return sample.with_factor(trust / trust.mean())


X3, y3, age3, *_ = year_later(0, on_the_ward=0.5)
faded = PriorSVC(Fading(half_life=8.0), scale="standard").fit(X3, y3, fading__age=age3)
trust = 0.5 ** (age3 / 8.0)
same = PriorSVC(SampleCosts(trust / trust.mean()), scale="standard").fit(X3, y3)
print("Fading     ", faded.coef_[0], "\nSampleCosts", same.coef_[0])
laws_faded = check_knowledge(Fading(half_life=8.0), X3, y3, fading__age=age3)
print(f"{len(laws_faded)} laws hold")

# %% [markdown]
# It only reweights rows, so the fast solver for plain SVMs still serves:

# %%
print("solved by", faded.solver_)
display(faded.formulation())

# %% [markdown]
# ## All of them
#
# Blocks add up, ours with those of the library. Each has its own line.


# %%
def truly(people):
    """The doctor feels the pulse, and does not read the device."""
    return severity(people.assign(pulse=people["pulse"] - 15 * people["device"]))


pairs2 = compared(np.random.default_rng(1), old_device[:30], new_device[:30], truly)
doctor2 = Ranked(*pairs2, label="admit", mu=0.3)
rises = Monotone({"lactate": +1}, hard=True, label="admit")
fading = Fading(half_life=8.0)
everything = doctor2.named("doctor") + lot + fading + rises
whole = PriorSVC(everything, scale="standard").fit(X2, y2, fading__age=age)
display(whole.formulation())
display(whole.report_)
display(whole.verify())

# %%
plot.shares(whole)
plt.show()

# %% [markdown]
# `fading` has a bar of its own: what its change of costs amounts to on the rows that err. Constraints cost
# nothing themselves. What they cost is in the other bars, and their *price* in the report says how hard they
# push.
#
# Three blocks that say different things, alone and together, on twelve tables. The world was invented so
# that each of them has something to mend, and weights were settled on other tables than these.


# %%
def worth(on_the_ward):
    """Per cent of new patients right, table by table."""
    found = []
    for seed in range(200, 212):
        X_, y_, age_, (old_, new_), fresh_, truth_ = year_later(seed, on_the_ward)
        pairs_ = compared(np.random.default_rng(seed), old_[:30], new_[:30], truly)
        doctor_, lot_ = Ranked(*pairs_, label="admit", mu=0.3), EqualMeans(old_, new_, within=0.05)
        fading_ = Fading(half_life=8.0, age=age_)
        priors = {
            "plain": None,
            "doctor": doctor_,
            "lot": lot_,
            "fading": fading_,
            "lot + fading": lot_ + fading_,
            "all three": doctor_ + lot_ + fading_,
        }
        right = {"majority": np.mean(truth_ == pd.Series(y_).mode()[0])}
        for name, prior in priors.items():
            right[name] = PriorSVC(prior, scale="standard").fit(X_, y_).score(fresh_, truth_)
        found.append(right)
    return 100 * pd.DataFrame(found)


results = worth(on_the_ward=0.9)
display(compare(results))

# %%
figure, axes = plt.subplots(figsize=(8, 3.8))
axes.boxplot(
    results.to_numpy(), tick_labels=results.columns, medianprops={"color": "black"}, showfliers=False
)
for k, name in enumerate(results.columns):
    axes.scatter(np.full(len(results), k + 1.0), results[name], color=BLUE, s=12, zorder=3)
axes.set(ylabel="% of new patients right", title="Twelve tables")
plt.show()

# %% [markdown]
# Each knows something else, and they need each other. As long as the device gives the answer away, it is of
# no use to look at newer rows, in which it gives it away as well. Once the lot has put an end to that,
# fading adds its share. On tables in which the device was given out by lot from the start, fading helps by
# itself, and the lot has nothing to mend:

# %%
without_leak = worth(on_the_ward=0.5)
display(compare(without_leak))

# %% [markdown]
# Errors know the names too. A second doctor who never errs, and sees it the other way round:

# %%
never_errs = Ranked(worse, better, label="admit", hard=True).named("doctor")
opposite = Ranked(better, worse, label="admit", hard=True).named("colleague")
try:
    PriorSVC(never_errs + opposite, kernel="rbf", scale="standard").fit(X, y)
    message = ""
except Infeasible as error:
    message = str(error)
print(message)

# %% [markdown]
# ## What cannot be a block
#
# * What is not convex in $f$: "at least eight of ten pairs are in order", or "$f$ is *not* 0 here".
# * What needs the labels of new rows.
# * Products of two unknowns: a weight that is to be learnt together with $f$.
#
# CVXPY says so when such a problem is built. Often there is a convex neighbour, as the slacks $t_p$ are one
# for "most pairs".
#
# ## Exercises
#
# 1. Write a soft `EqualMeans`: a penalty $\mu\,(\bar f(A) - \bar f(B))^2$. What becomes of the difference as
#    $\mu$ grows, and what is the limit?
# 2. The doctor says that two patients are *about equally* ill: $|f(a) - f(b)| \le 0.1$. Which of our blocks
#    says that?
# 3. Let the doctor be *always* right, `hard=True`, on a linear model. Some of the pairs contradict each
#    other. Which? Why are three of them always enough to see it, with two columns?
#
# ## Solutions
#
# **1.** A square of one number is a penalty without slacks. In the end the difference shrinks as $1/\mu$,
# and the limit is the hard block with $\varepsilon = 0$.


# %%
class NearlyEqualMeans(EqualMeans):
    r""":math:`J_{PK} = \mu (\bar f(A) - \bar f(B))^2`."""

    formulas = Formulas(latex={"mu": r"(\bar f(A) - \bar f(B))^2"})

    def __init__(self, one, other, mu=1.0, within=0.05):
        super().__init__(one, other, within)
        self.mu = mu

    def build(self, f, view):
        one, other = self.groups(view.sample)
        return Terms({"mu": cp.square(cp.sum(f(one)) / len(one) - cp.sum(f(other)) / len(other))})


mus = [0.1, 1.0, 10.0, 100.0, 1000.0, 10000.0]
soft = PriorSVC(NearlyEqualMeans(old_device, new_device).named("lot"), scale="standard")
path = soft.fit_path(X2, y2, {"lot__mu": mus})
apart_by = [
    abs(m.decision_function(old_device).mean() - m.decision_function(new_device).mean()) for m in path
]
for value, difference in zip(mus, apart_by, strict=True):
    print(f"mu {value:7g}: means apart by {difference:.6f}")
limit = PriorSVC(EqualMeans(old_device, new_device, within=0.0), scale="standard").fit(X2, y2)
print("last of the path:", path[-1].coef_[0], "\nhard block:      ", limit.coef_[0])

# %% [markdown]
# **2.** `EqualMeans`, of two groups of one patient each. We take the pair that the plain model finds most
# different.

# %%
before = PriorSVC(kernel="rbf", scale="standard").fit(X, y)
k = int(np.argmax(np.abs(before.decision_function(worse) - before.decision_function(better))))
a, b_ = worse[k : k + 1], better[k : k + 1]
alike = PriorSVC(EqualMeans(a, b_, within=0.1), kernel="rbf", scale="standard").fit(X, y)
steps = [abs(float(m.decision_function(a)[0] - m.decision_function(b_)[0])) for m in (before, alike)]
print(f"f(a) and f(b) were apart by {steps[0]:.3f}, and are by {steps[1]:.3f}")

# %% [markdown]
# **3.** Make every pair a block of its own. The error then names a smallest set that cannot hold together:
# none of its pairs could be left out.

# %%
each = sum(
    Ranked(worse[k : k + 1], better[k : k + 1], label="admit", hard=True).named(f"pair_{k}")
    for k in range(len(worse))
)
try:
    PriorSVC(each, scale="standard").fit(X, y)
    clash = []
except Infeasible as error:
    clash = [k for k in range(len(worse)) if f"'pair_{k}'" in str(error)]
    print(error)

# %% [markdown]
# Each pair asks for $w^\top (b_p - a_p) \ge 1$, a half-plane of $w$. By Helly's theorem half-planes have a
# common point if every three of them have one. So there is always a set of at most three that has none, and
# a smallest set is not larger.

# %%
figure, axes = plt.subplots(figsize=(7, 4.6))
draw(axes, arrows=False, title="Opinions no straight line can share")
for k in clash:
    axes.annotate("", worse.iloc[k], better.iloc[k], arrowprops={"arrowstyle": "->", "linewidth": 1.6})
    axes.annotate(f"pair {k}", worse.iloc[k], xytext=(6, 4), textcoords="offset points")
axes.legend(loc="upper left")
plt.show()

# %% [markdown]
# ## What this notebook claims, checked

# %%
# The blocks are what stands on paper.
np.testing.assert_allclose(block.objective_, by_hand.value, rtol=1e-6)
np.testing.assert_allclose(block.coef_[0], w_by_hand, rtol=1e-4)
np.testing.assert_allclose(model.coef_[0], w_by_hand, rtol=1e-4)
np.testing.assert_allclose(fair.coef_[0], w_equal, rtol=1e-4)
np.testing.assert_allclose(faded.coef_[0], same.coef_[0], rtol=1e-6)
assert faded.solver_ == "LIBSVM"

# f expands over what it evaluates, and slips are noticed.
assert len(X) < len(expanded.centres_) <= len(X) + len(in_pairs)
np.testing.assert_allclose(wider.objective_, expanded.objective_, rtol=1e-5)
assert by_span["slopes"] < by_span["points"] - 1e-3 < by_span["rows"] - 0.5
assert "Iterative" in complaint_trait
assert "Leave mu out" in complaint_twice
assert "weight 0 disables the block" in laws
assert min(len(laws_equal), len(laws_faded)) > 20
assert list(told_slips) == list(slips)

# They are in the problem, the report and the verdict under their names.
labels = {label for label, _, _ in whole.formulation().constraints}
assert {"doctor.order", "equal_means.above", "equal_means.below", "monotone.slope"} <= labels
assert all(
    constraint.label in labels or constraint.label.startswith("f.")
    for constraint in whole.problem.constraints
)
np.testing.assert_allclose(sum(row.contribution for row in whole.report_.rows), whole.objective_)
assert whole.verify()["equal_means"].holds
assert "'doctor' and 'colleague'" in message

# What they are worth, on tables drawn for that purpose.
assert scores["majority"].mean() < scores["plain"].mean()
assert scores["plain"].mean() + 2 < min(scores["searched"].mean(), scores["always 0.3"].mean())
mean = results.mean()
assert max(mean["plain"], mean["fading"]) < mean["lot"] < mean["lot + fading"]
assert mean["plain"] < mean["doctor"]
assert mean["all three"] > mean["plain"] + 10
assert without_leak["plain"].mean() < without_leak["fading"].mean()
assert without_leak["lot"].mean() < without_leak["plain"].mean() + 1

# The plain model looks at the device only; told, it corrects the reading in the right direction.
influence = np.abs(unfair.coef_[0]) * X2.std().to_numpy()
assert influence[2] > 100 * influence[:2].max()
assert 5 < lowered < 25

# The exercises.
np.testing.assert_allclose(apart_by[-2] / apart_by[-1], 10, rtol=0.1)
np.testing.assert_allclose(path[-1].coef_, limit.coef_, rtol=1e-2)
assert steps[0] > 0.11
assert steps[1] < 0.1 + 1e-4
assert 2 <= len(clash) <= 3
print("all of it holds")
