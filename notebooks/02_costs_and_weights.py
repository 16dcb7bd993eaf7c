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
# # What if some mistakes are worse than others?
#
# An SVM treats all rows alike. But one kind of mistake may be worse than another, and some labels may be
# less reliable than others. Such knowledge needs no new constraint. It changes the costs that are in the
# problem already.
#
# **You learn**
#
# - to give classes and rows a cost with `ClassCosts` and `SampleCosts`;
# - why a cost is the largest price that a row can have;
# - to compare a cost with a threshold before you praise the cost.
#
# **You need** lesson 1.
#
# **Time** 20 minutes
#
# **Theorem** The dual variable of a row is at most its cost: $0 \le \alpha_i \le C_i$. Both classes have
# the same sum of dual variables.

# %%
import cvxpy as cp
import matplotlib.pyplot as plt
import numpy as np
from IPython.display import display
from sklearn.datasets import load_breast_cancer

from priorsvm import RBF, ClassCosts, PriorSVC, SampleCosts, plot

cancer = load_breast_cancer(as_frame=True)
tumours = cancer.data[["worst texture", "worst area"]]
finding = cancer.target_names[cancer.target]


def draw_patients(seed, ill=12, well=150):
    """Return training rows in which the disease is rare, and all other rows."""
    order = np.random.default_rng(seed).permutation(len(finding))
    malignant, benign = order[finding[order] == "malignant"], order[finding[order] == "benign"]
    return np.r_[malignant[:ill], benign[:well]], np.r_[malignant[ill:], benign[well:]]


train, test = draw_patients(0)

# %% [markdown]
# ## A rare class
#
# The training rows are 12 malignant and 150 benign tumours. The plain model has the same cost for each
# mistake, so the few malignant rows have little influence.

# %%
# alt: Two panels over texture and area. The plain border misses several malignant tumours. With balanced
# costs the border is lower and finds them, and more benign tumours are inside the margins.
X, y = tumours.iloc[train], finding[train]
models = {
    "plain": PriorSVC(scale="standard").fit(X, y),
    "balanced": PriorSVC(ClassCosts("balanced"), scale="standard").fit(X, y),
}
plot.compare(models)
plt.show()

# %% [markdown]
# `ClassCosts` multiplies $C$ by a factor for each class: $C_i = C \cdot \mathrm{cost}(y_i)$. With
# `"balanced"` both classes have the same total cost. The line moves towards the larger class.
#
# A model that always answers *benign* is right for 93 % of the training rows. So the two kinds of mistakes
# are counted apart, on the other patients.


# %%
def found_and_false(model, rows=test, threshold=0.0):
    """Return the share of malignant tumours that are found, and the share of false alarms."""
    alarm = model.decision_function(tumours.iloc[rows]) > threshold  # the class malignant is the positive one
    return alarm[finding[rows] == "malignant"].mean(), alarm[finding[rows] == "benign"].mean()


for name, model in models.items():
    print("{:10s} finds {:.0%}, false alarms {:.1%}".format(name, *found_and_false(model)))

# %% [markdown]
# ## The problem
#
# The slack of each row has a cost of its own:
#
# $$\min_{w, b, \xi}\; \tfrac12 \lVert w \rVert^2 + \sum_i C_i\, \xi_i
# \quad\text{s.t.}\quad y_i f(x_i) \ge 1 - \xi_i, \quad \xi_i \ge 0 .$$
#
# By hand this is a vector in place of a number. `scale="standard"` standardises the columns first.

# %%
C = 1.0
sign = np.where(y == "malignant", 1.0, -1.0)
n, n_ill, n_well = len(y), np.sum(sign > 0), np.sum(sign < 0)
inner = ((X - X.mean()) / X.std(ddof=0)).to_numpy()
cost = {"plain": np.ones(n), "balanced": np.where(sign > 0, n / (2 * n_ill), n / (2 * n_well))}
w_by_hand, alpha = {}, {}
for name, factors in cost.items():
    w, b, xi = cp.Variable(2), cp.Variable(), cp.Variable(n, nonneg=True)
    margin = cp.multiply(sign, inner @ w + b) >= 1 - xi
    objective = cp.Minimize(0.5 * cp.sum_squares(w) + C * factors @ xi)
    cp.Problem(objective, [margin]).solve(solver="CLARABEL")
    w_by_hand[name], alpha[name] = w.value / X.std(ddof=0).to_numpy(), margin.dual_value
    print(f"{name:10s} by hand {w_by_hand[name].round(5)}, PriorSVC {models[name].coef_[0].round(5)}")

# %% [markdown]
# ## The theorem
#
# **Claim.** At the solution $0 \le \alpha_i \le C_i$ for each row, and
# $\sum_{y_i = 1} \alpha_i = \sum_{y_i = -1} \alpha_i$.
#
# **Proof.** The Lagrangian, with multipliers $\alpha_i, \nu_i \ge 0$ of margins and of $\xi_i \ge 0$, is
#
# $$L = \tfrac12 \lVert w \rVert^2 + \sum_i C_i \xi_i -
# \sum_i \alpha_i (y_i f(x_i) - 1 + \xi_i) - \sum_i \nu_i \xi_i .$$
#
# Its derivatives are 0 at the solution (lesson 1). The derivative by $\xi_i$ gives
# $\nu_i = C_i - \alpha_i$, and $\nu_i \ge 0$ gives $\alpha_i \le C_i$. The derivative by $b$ gives
# $\sum_i \alpha_i y_i = 0$. ∎
#
# So twelve rows of cost 1 have dual variables with a sum of at most 12. The 150 other rows together have
# the same sum, however many they are. Costs raise this limit.

# %%
for name, values in alpha.items():
    ill, well = values[sign > 0].sum(), values[sign < 0].sum()
    limit = C * cost[name][sign > 0].sum()
    print(f"{name:10s} sum of prices: malignant {ill:.2f}, benign {well:.2f}; limit {limit:.0f}")
    print(f"{'':10s} largest price of a row over its cost: {np.max(values / cost[name]):.6f}")

# %% [markdown]
# The report lists what the costs add to the objective, $J_{PK} = \sum_i (C_i - C)\,\xi_i$, in a line of its
# own.

# %%
display(models["balanced"].report_)

# %% [markdown]
# ## Cost or threshold?
#
# A rival needs no block: keep the plain model and raise the alarm earlier, at $f > t$ with $t < 0$. One
# draw of patients proves nothing, so the comparison uses ten draws.

# %%
draws = [draw_patients(seed) for seed in range(10)]
factors = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0]
thresholds = np.linspace(0.0, -1.6, 33)
by_cost, by_threshold = [], []
for rows, new in draws:
    fitted = [
        PriorSVC(ClassCosts({"malignant": factor}), scale="standard").fit(tumours.iloc[rows], finding[rows])
        for factor in factors
    ]
    by_cost.append([found_and_false(model, new) for model in fitted])
    by_threshold.append([found_and_false(fitted[0], new, t) for t in thresholds])
by_cost, by_threshold = np.mean(by_cost, axis=0), np.mean(by_threshold, axis=0)

# %% tags=["hide-input"]
# alt: Malignant tumours found over false alarms. The curve of costs from 1 to 32 is at most as high as the
# curve of a plain model whose alarm is earlier.
figure, axes = plt.subplots(figsize=(6.5, 4.2))
axes.plot(*100 * by_threshold.T[::-1], "-", color="#0072B2", label="plain model, earlier alarm")
axes.plot(*100 * by_cost.T[::-1], "o--", color="#D55E00", label="cost of the class malignant")
for factor, (found, false) in zip(factors, 100 * by_cost, strict=True):
    axes.annotate(f"{factor:g}", (false, found), xytext=(6, -11), textcoords="offset points")
axes.set(xlabel="false alarms in %", ylabel="malignant tumours found in %", title="Means of ten draws")
axes.legend(loc="lower right")
plt.show()

# %% [markdown]
# Here the threshold does as well as the cost, and better for large costs. The threshold only moves the
# line. A cost may also turn it, and with twelve rows it turns it by chance. Use costs where the threshold
# cannot be changed later.
#
# ## Rows of unequal trust
#
# Now all thirty columns. Twenty labels are those of a hospital, and 180 come from an archive in which every
# fourth label is wrong. `SampleCosts` has one factor for each row. The factors are arguments of `fit`, like
# `sample_weight`.


# %%
def archive_study(seed):
    """Return rows, labels as written down, whether a row is from the archive, and test rows."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(finding))
    rows, archive = order[:200], np.arange(200) >= 20
    wrong = archive & (rng.random(200) < 0.25)
    other = np.where(finding[rows] == "benign", "malignant", "benign")
    return rows, np.where(wrong, other, finding[rows]), archive, order[200:]


levels = [0.0, 0.01, 0.03, 0.1, 0.3, 1.0]
errors = np.empty((10, len(levels)))
for seed in range(10):
    rows, written, archive, new = archive_study(seed)
    for place, level in enumerate(levels):
        model = PriorSVC(SampleCosts(), scale="standard")
        model.fit(cancer.data.iloc[rows], written, sample_costs__costs=np.where(archive, level, 1.0))
        errors[seed, place] = 100 * (1 - model.score(cancer.data.iloc[new], finding[new]))

# %% tags=["hide-input"]
# alt: Test error over the cost of a row of the archive: ten grey curves and their mean. The mean is smallest
# for a cost of about 0.03 and largest for a cost of 1.
figure, axes = plt.subplots(figsize=(6.5, 4.2))
axes.plot(errors.T, color="0.8", linewidth=1)
axes.plot(errors.mean(axis=0), "o-", color="black", label="mean of ten draws")
axes.set_xticks(range(len(levels)), [f"{level:g}" for level in levels])
axes.set(xlabel="cost of a row of the archive", ylabel="test error in %", ylim=(0, None))
axes.legend(loc="upper left")
plt.show()

# %% [markdown]
# Full trust in the archive, cost 1, makes many errors. These draws cannot decide whether a little trust is
# better than none: the curve is flat on the left, and the grey lines cross.
#
# ## Exercises

# %% [markdown] tags=["exercise"]
# ### Exercise 1: balance by hand
#
# A price is at most the cost of its row, so the sum of prices of a class has a limit. Keep the cost of benign
# rows at 1. Which cost of malignant rows makes the limits of both classes equal?

# %% tags=["answer"]
factor = ...  # your answer: a number

# %% [markdown] tags=["solution"]
# The limits are $\sum C_i$ over each class. They are equal for $12 \cdot \text{factor} = 150$. This is the
# model with `"balanced"` at another $C$.

# %% tags=["solution"]
factor = n_well / n_ill

# %% tags=["check"]
assert factor > 0, "A cost is positive."
own = PriorSVC(ClassCosts({"malignant": factor}), C=C * n / (2 * n_well), scale="standard").fit(X, y)
difference = np.abs(own.coef_ - models["balanced"].coef_).max()
assert difference < 1e-4 * np.abs(own.coef_).max(), "Add up the costs of each class: the two sums differ."

# %% tags=["wrong"]
factor = n / n_ill

# %% [markdown] tags=["exercise"]
# ### Exercise 2: a row that is there twice
#
# The block below gives the first 50 rows the cost 2. Make a training set `X_more`, `y_more` with which the
# plain model is the same model, without any block.

# %%
kernel = RBF(0.5)
doubled = PriorSVC(SampleCosts(np.where(np.arange(n) < 50, 2.0, 1.0)), kernel=kernel).fit(X / 100, y)

# %% tags=["answer"]
X_more, y_more = ..., ...  # your answer: rows (divided by 100) and their classes

# %% [markdown] tags=["solution"]
# A row of cost 2 is a row that is there twice: its slack appears twice in the sum.

# %% tags=["solution"]
times = np.where(np.arange(n) < 50, 2, 1)
X_more, y_more = X.loc[X.index.repeat(times)] / 100, np.repeat(y, times)

# %% tags=["check"]
one_each = np.ndim(X_more) == 2 and np.shape(y_more) == np.shape(X_more)[:1]
assert one_each, "X_more is a table, and y_more has one class for each of its rows."
assert np.max(np.asarray(X_more)) < 100, "Divide the rows by 100, as in the cell above."
repeated = PriorSVC(kernel=kernel).fit(X_more, y_more)
places = tumours / 100
apart = np.abs(repeated.decision_function(places) - doubled.decision_function(places)).max()
assert apart < 1e-4, f"The decision functions differ by up to {apart:.3f}. How often is each row there?"

# %% tags=["wrong"]
X_more, y_more = X / 100, y

# %% [markdown] tags=["exercise"]
# ### Exercise 3: the squared hinge
#
# With the loss $C_i \xi_i^2$ the derivative by $\xi_i$ gives another condition. Compute `prices`, the dual
# variables of all rows of the model `squared`, from the slacks.

# %%
squared = PriorSVC(ClassCosts("balanced"), loss="squared_hinge", scale="standard").fit(X, y)
slack = np.maximum(0, 1 - sign * squared.decision_function(X))

# %% tags=["answer"]
prices = ...  # your answer: n numbers

# %% [markdown] tags=["solution"]
# The derivative is $2 C_i \xi_i - \alpha_i = 0$. The price grows with the slack and has no limit, so one
# row far on the wrong side can outweigh all other rows.

# %% tags=["solution"]
prices = 2 * C * cost["balanced"] * slack
print(f"largest price {prices.max():.1f}, with the cost {cost['balanced'][np.argmax(prices)]:.1f}")

# %% tags=["check"]
weights = (prices * sign) @ inner / X.std(ddof=0).to_numpy()
assert np.allclose(weights, squared.coef_[0], rtol=1e-3), (
    "The sum of prices times y x is not w of this model."
)

# %% tags=["wrong"]
prices = C * cost["balanced"] * slack

# %% [markdown]
# ## What this lesson claims, checked

# %% tags=["claims"]
# By hand and by the block; a cost bounds the price, and both classes have equal sums.
for name, model in models.items():
    np.testing.assert_allclose(w_by_hand[name], model.coef_[0], rtol=1e-3)
    assert np.all(alpha[name] < C * cost[name] + 1e-6)
    assert np.all(alpha[name] > -1e-6)
    np.testing.assert_allclose(alpha[name] @ sign, 0, atol=1e-5)
assert alpha["plain"][sign > 0].sum() < 12

# Costs find more of the rare class and raise more false alarms; the threshold is about as good.
assert found_and_false(models["balanced"])[0] > found_and_false(models["plain"])[0] + 0.1
assert np.all(np.diff(by_cost, axis=0) > 0)
at_same_alarms = np.interp(by_cost[:, 1], by_threshold[:, 1], by_threshold[:, 0])
assert np.all(at_same_alarms > by_cost[:, 0] - 0.02)
assert np.all(at_same_alarms[4:] > by_cost[4:, 0])

# Full trust in the archive is worse than a tenth in nearly all draws; the rest is flat.
assert np.sum(errors[:, 3] < errors[:, -1]) >= 8
assert np.ptp(errors[:, :4].mean(axis=0)) < errors[:, 0].std()

# %% [markdown]
# **Next** lesson 3: a kernel, and why finitely many rows are enough.
