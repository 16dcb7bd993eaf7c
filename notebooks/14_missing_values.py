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
# # What is in a gap of the table?
#
# Tables have gaps. The usual remedy fills a gap with the mean of its column. But the other columns of the row
# contain information about the gap: a tumour with a large radius has a large perimeter. And a filled value is
# less certain than a measured value. This lesson uses both facts.
#
# **You learn**
#
# - to estimate a missing entry and its uncertainty from the other entries of the row;
# - how expectation maximisation finds a mean and a covariance in spite of gaps;
# - to train and predict with NaN in the table, with `MissingValues`;
# - when this helps, and when it misleads.
#
# **You need** lesson 13.
#
# **Time** 20 minutes.
#
# **Theorem** Given some entries of a Gaussian row, the other entries are Gaussian with a known mean and
# covariance.

# %%
import matplotlib.pyplot as plt
import numpy as np
from IPython.display import display
from sklearn.datasets import load_breast_cancer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline

from priorsvm import MissingValues, PriorSVC, plot

BLUE, RED = "#0072B2", "#D55E00"

# %% [markdown]
# ## A table with gaps
#
# The table has ten measurements of 569 tumours. First, only two of them are used: radius and smoothness. Some
# entries are deleted, but no whole row.

# %%
# alt: Tumours over radius and smoothness. Hollow marks with bars are rows with a missing value, and diamonds
# are their active worst values. The border is between the classes.
cancer = load_breast_cancer()
names = [name.removeprefix("mean ") for name in cancer.feature_names[:10]]
means = cancer.data[:, :10]
finding = np.where(cancer.target == 1, "benign", "malignant")

two = means[:, [names.index("radius"), names.index("smoothness")]]
some, _ = train_test_split(np.arange(569), train_size=40, stratify=finding, random_state=5)
gone = np.random.default_rng(5).random((40, 2)) < 0.3
gone[gone.all(axis=1)] = False
table = np.where(gone, np.nan, two[some])
model = PriorSVC(MissingValues(confidence=0.9), scale="standard").fit(table, finding[some])
axes = plot.decision(model, support=False, verify=False)
axes.set(xlabel="mean radius", ylabel="mean smoothness")
plt.show()

# %% [markdown]
# A hollow marker is a row with a gap, at its estimated place. The bar shows where the missing entry may be.
# The model requires the margin along the whole bar.
#
# ## The theorem
#
# Take a Gaussian row $x$ with mean $\mu$ and covariance $\Sigma$. Its entries are partly seen ($s$) and
# partly missing ($m$). Write $\Sigma_{ms}$ for the block of $\Sigma$ with rows $m$ and columns $s$.
#
# **Theorem.** Given $x_s$, the missing entries are Gaussian with
#
# $$\text{mean}\;\; \mu_m + \Sigma_{ms}\Sigma_{ss}^{-1}(x_s - \mu_s) \qquad \text{and covariance}\;\;
# \Sigma_{mm} - \Sigma_{ms}\Sigma_{ss}^{-1}\Sigma_{sm} .$$
#
# **Proof.** Let $B = \Sigma_{ms}\Sigma_{ss}^{-1}$ and $r = (x_m - \mu_m) - B\,(x_s - \mu_s)$.
#
# 1. The covariance of $r$ and $x_s$ is $\Sigma_{ms} - B \Sigma_{ss} = 0$. Both are linear functions of one
#    Gaussian, so $r$ and $x_s$ are independent.
# 2. So also given $x_s$, the residual $r$ has mean $0$. Its covariance is
#    $\Sigma_{mm} - B\Sigma_{sm} - \Sigma_{ms}B^\top + B\Sigma_{ss}B^\top = \Sigma_{mm} - B\Sigma_{sm}$.
# 3. By definition $x_m = \mu_m + B\,(x_s - \mu_s) + r$. Given $x_s$, all terms but $r$ are constants. ∎
#
# So a row with gaps becomes a row with a mean and a covariance, which is zero for seen entries. This is a
# row of lesson 13, with the same cone. (Shivaswamy, Bhattacharyya and Smola, 2006.)


# %%
def conditional(x, mu, Sigma):
    """Return the row with its gaps filled by the conditional mean, and the conditional covariance."""
    m = np.isnan(x)
    s = ~m
    B = Sigma[np.ix_(m, s)] @ np.linalg.inv(Sigma[np.ix_(s, s)])
    full = x.copy()
    full[m] = mu[m] + B @ (x[s] - mu[s])
    covariance = np.zeros_like(Sigma)
    covariance[np.ix_(m, m)] = Sigma[np.ix_(m, m)] - B @ Sigma[np.ix_(s, m)]
    return full, covariance


# %% [markdown]
# A numerical check with many random rows of three entries: the third entry is missing. Its error should have
# the stated variance, and no covariance with the seen entries.

# %%
mu3 = np.array([1.0, 2.0, 3.0])
Sigma3 = np.array([[2.0, 0.6, 0.9], [0.6, 1.0, -0.3], [0.9, -0.3, 1.5]])
rows = np.random.default_rng(0).multivariate_normal(mu3, Sigma3, size=200_000)
_, stated = conditional(np.array([0.0, 0.0, np.nan]), mu3, Sigma3)
B = Sigma3[2, :2] @ np.linalg.inv(Sigma3[:2, :2])
error = rows[:, 2] - (mu3[2] + (rows[:, :2] - mu3[:2]) @ B)
print(f"variance of the error: {error.var():.3f}, stated by the theorem: {stated[2, 2]:.3f}")
with_seen = error @ (rows[:, :2] - mu3[:2]) / len(rows)
print("covariance with the seen entries:", with_seen.round(3))

# %% [markdown]
# ## Mean and covariance in spite of gaps
#
# The theorem needs $\mu$ and $\Sigma$. To compute them, one would need the missing entries. **Expectation
# maximisation** repeats two steps until nothing changes:
#
# 1. fill the gaps with conditional means, and note the conditional covariances;
# 2. compute $\mu$ and $\Sigma$ of the filled rows, and add the mean conditional covariance to $\Sigma$.
#
# Without the addition in step 2, $\Sigma$ would be too small. One additional row of prior, "columns are
# uncorrelated", keeps $\Sigma$ regular. Each class has a Gaussian of its own. Below, half of all entries are
# deleted, and the loop runs for the benign training rows.

# %%
rows, rest = train_test_split(np.arange(569), train_size=60, stratify=finding, random_state=1)
holes = np.where(np.random.default_rng(1).random(means.shape) < 0.5, np.nan, means)
Z, z = holes[rows], finding[rows]
unit = np.nanstd(Z, axis=0)
origin = np.nanmean(Z[z == "benign"], axis=0)
U = (Z[z == "benign"] - origin) / unit

mu, Sigma = np.zeros(10), np.eye(10)
change, rounds = 1.0, 0
while change > 1e-7:
    filled, covariances = zip(*[conditional(x, mu, Sigma) for x in U], strict=True)
    new_mu = np.mean(filled, axis=0)
    scatter = (np.array(filled) - new_mu).T @ (np.array(filled) - new_mu) + np.sum(covariances, axis=0)
    new_Sigma = (scatter + np.eye(10)) / (len(U) + 1)
    change = max(np.abs(new_mu - mu).max(), np.abs(new_Sigma - Sigma).max())
    mu, Sigma = new_mu, new_Sigma
    rounds += 1
block = MissingValues().complete(Z, z, np.ones(len(Z)))
difference = np.abs(block.gaussians["benign"].covariance / np.outer(unit, unit) - Sigma).max()
print(f"{rounds} rounds; largest difference to MissingValues: {difference:.0e}")

# %% [markdown]
# ## One gap
#
# The perimeter of a benign tumour was deleted, its radius was not.

# %%
r, p = names.index("radius"), names.index("perimeter")
i = next(k for k in range(60) if z[k] == "benign" and np.isnan(Z[k, p]) and not np.isnan(Z[k, r]))
full, covariance = conditional((Z[i] - origin) / unit, mu, Sigma)
estimate = origin[p] + unit[p] * full[p]
spread = unit[p] * np.sqrt(covariance[p, p])
print(f"true value {means[rows[i], p]:.1f}")
print(f"conditional mean   {estimate:.1f} ± {spread:.1f}")
print(f"mean of the column {np.nanmean(Z[:, p]):.1f} ± {np.nanstd(Z[:, p]):.1f}")

# %% tags=["hide-input"]
# alt: Three values for one gap: the mean of the column is far from the true value, and the conditional mean
# with its bar contains the true value.
figure, axes = plt.subplots(figsize=(6.5, 4.2))
for label, marker, colour in (("benign", "o", BLUE), ("malignant", "^", RED)):
    axes.scatter(*Z[z == label][:, [r, p]].T, marker=marker, color=colour, s=22, label=label)
axes.errorbar(Z[i, r], estimate, 1.28 * spread, fmt="ks", capsize=4, label="conditional mean ± 1.28 sd")
axes.plot(Z[i, r], np.nanmean(Z[:, p]), "kx", markersize=9, label="mean of the column")
axes.plot(Z[i, r], means[rows[i], p], "k*", markersize=13, fillstyle="none", label="true value")
axes.set(xlabel="mean radius", ylabel="mean perimeter", title="Three values for one gap")
axes.legend(fontsize=8)
plt.show()

# %% [markdown]
# ## The block
#
# `MissingValues` does all of this. NaN may stay in `X`, in training and in prediction.

# %%
model = PriorSVC(MissingValues(0.9), scale="standard").fit(Z, z)
display(model.report_)
display(model.verify())

# %% [markdown]
# The class of a new row is unknown, so it is unknown which Gaussian fills its gaps. The row is completed
# under both classes, and the larger $|f|$ counts.

# %%
new = holes[rest][:1]
for label, gaussian in block.gaussians.items():
    value = model.decision_function(gaussian.completed(new))[0]
    print(f"completed as {label:9s}: f = {value:+.2f}")
print(f"answer: f = {model.decision_function(new)[0]:+.2f}, {model.predict(new)[0]}")

# %% [markdown]
# ## Does it help?
#
# Entries are deleted at random, in training and test rows. Three ways are compared: the mean of the column,
# the conditional mean alone (confidence 0.5, without cones), and cones at confidence 0.9.

# %%
ways = {
    "mean of\nthe column": make_pipeline(SimpleImputer(), PriorSVC(scale="standard")),
    "conditional\nmean": PriorSVC(MissingValues(0.5), scale="standard"),
    "cones, 0.9": PriorSVC(MissingValues(0.9), scale="standard"),
}
shares = [0.1, 0.3, 0.5]
right = np.zeros((3, 8, 3))
for a, share in enumerate(shares):
    for seed in range(8):
        gaps = np.where(np.random.default_rng(seed).random(means.shape) < share, np.nan, means)
        split = train_test_split(gaps, finding, train_size=60, stratify=finding, random_state=seed)
        for k, way in enumerate(ways.values()):
            right[a, seed, k] = 100 * way.fit(split[0], split[2]).score(split[1], split[3])
gain = right[:, :, 2] - right[:, :, 0]
for share, found in zip(shares, gain, strict=True):
    print(f"{share:.0%} deleted: gain of the cones {found.mean():+.1f} ± {found.std(ddof=1):.1f} points")

# %% tags=["hide-input"]
# alt: Test rows right for three treatments of gaps, with 10, 30 and 50 percent of the entries deleted: eight
# grey draws and their mean. The differences are small.
figure, panels = plt.subplots(1, 3, figsize=(11, 3.6), sharey=True, layout="constrained")
for axes, share, scores in zip(panels, shares, right, strict=True):
    axes.plot(scores.T, color="0.75", linewidth=1)
    axes.plot(scores.mean(axis=0), "o-", color="black")
    axes.set_xticks(range(3), ways)
    axes.set_title(f"{share:.0%} of the entries deleted")
panels[0].set_ylabel("test rows right, %")
plt.show()

# %% [markdown]
# Each thin line is one draw, and the black line is their mean. The gain is about one point on average, and
# not on every draw. A constant answer is right for 63 %. These columns are strongly related. If columns are
# not related, or a class has few rows, expect no gain.
#
# ## Exercises
#
# The exercises use these names.

# %%
mu2 = means[:, [r, p]].mean(axis=0)
Sigma2 = np.cov(means[:, [r, p]].T)
size = np.isin(names, ["radius", "perimeter", "area"])

# %% [markdown] tags=["exercise"]
# ### Exercise 1: fill one gap
#
# `mu2` and `Sigma2` are the mean and the covariance of radius and perimeter over all rows. A tumour has
# radius 20. Compute the conditional mean of its perimeter.

# %% tags=["answer"]
perimeter = ...  # your answer: a number

# %% tags=["solution"]
perimeter = mu2[1] + Sigma2[1, 0] / Sigma2[0, 0] * (20 - mu2[0])

# %% [markdown] tags=["solution"]
# This is the line of least squares through the table. The theorem contains linear regression.

# %% tags=["check"]
slope, intercept = np.polyfit(means[:, r], means[:, p], 1)
assert np.isclose(perimeter, intercept + slope * 20, rtol=1e-6), "Your value is not on the regression line."

# %% tags=["wrong"]
perimeter = mu2[1]

# %% tags=["wrong"]
perimeter = mu2[1] + Sigma2[1, 0] / Sigma2[1, 1] * (20 - mu2[0])

# %% [markdown] tags=["exercise"]
# ### Exercise 2: without cones
#
# For one confidence the cones vanish. Then the model is a plain SVM on the completed rows `block.X`. Which
# confidence is it?

# %% tags=["answer"]
no_cones = ...  # your answer: a number

# %% tags=["solution"]
no_cones = 0.5

# %% [markdown] tags=["solution"]
# $\tau = \Phi^{-1}(0.5) = 0$. The row then counts at its conditional mean, as if it were certain.

# %% tags=["check"]
imputed = PriorSVC(scale="standard").fit(block.X, z)
with_block = PriorSVC(MissingValues(no_cones), scale="standard").fit(Z, z)
difference_of_weights = np.abs((imputed.coef_ - with_block.coef_) * unit).max()
assert difference_of_weights < 1e-3, "The weights differ, so the cones have an effect. What is γ?"

# %% tags=["wrong"]
no_cones = 0.9

# %% [markdown] tags=["exercise"]
# ### Exercise 3: gaps that are not random
#
# The theorem assumes that an entry is missing independently of its value. Break the assumption: give a
# Boolean array `hidden` of the shape of `means`. It may hide entries of radius, perimeter and area only, and
# at most half of them. On average over four splits, the filled values should be too small by more than a
# tenth of a standard deviation.

# %% tags=["answer"]
hidden = ...  # your answer: Boolean, of shape (569, 10)

# %% tags=["solution"]
chance = np.random.default_rng(0).random(means.shape)
hidden = (chance < 0.8) & (means > np.median(means, axis=0)) & size

# %% [markdown] tags=["solution"]
# Here four fifths of all large values are missing. A gap now means: the tumour is large. The Gaussians do
# not contain this information, and fill in too little. If gaps depend on values, add a column that marks the
# gaps.

# %% tags=["check"]
assert not hidden[:, ~size].any(), "Hide entries of radius, perimeter and area only."
assert 0 < hidden[:, size].mean() <= 0.5, "Hide at most half of these entries."
too_small = []
for seed in range(4):
    part, _ = train_test_split(np.arange(569), train_size=60, stratify=finding, random_state=seed)
    gaps = np.where(hidden, np.nan, means)[part]
    completed = MissingValues().complete(gaps, finding[part], np.ones(60)).X
    too_small.append(((completed - means[part]) / means.std(axis=0))[hidden[part]].mean())
too_small = np.mean(too_small)
assert too_small < -0.1, f"The error is {too_small:+.2f} standard deviations. Which values should be missing?"

# %% tags=["wrong"]
hidden = (np.random.default_rng(0).random(means.shape) < 0.4) & size

# %% [markdown]
# ## What this lesson claims, checked

# %% tags=["claims"]
# The theorem on random rows.
np.testing.assert_allclose(error.var(), stated[2, 2], rtol=0.02)
np.testing.assert_allclose(with_seen, 0, atol=0.02)

# Expectation maximisation by hand is the block, and the estimate is closer than the mean of the column.
assert difference < 1e-3
np.testing.assert_allclose(block.X[i, p], estimate, rtol=1e-3)
assert abs(estimate - means[rows[i], p]) < abs(np.nanmean(Z[:, p]) - means[rows[i], p])
assert model.verify()["missing_values"].holds

# The gain is small and positive, and all models are better than a constant answer.
assert 0 < gain.mean() < 3
assert right.min() > 100 * np.mean(finding == "benign")

# %% [markdown]
# **Next** lesson 15: features that are changed or lost on purpose. See also the guide page *Missing values*
# and the gallery example of `MissingValues`.
