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
# # How sure are you of your measurements?
#
# A table of tumours contains *smoothness 0.1184*. A second measurement would give another number, and the
# table even states how far off it may be: each measurement has a standard error. A plain SVM uses the number
# and ignores the error. This lesson adds the error to the problem.
#
# **You learn**
#
# - to train with error bars, with `UncertainSamples`;
# - to turn a statement about a probability into a second-order cone;
# - what confidence costs, and when it helps;
# - two ways to treat a kernel model, whose boundary is curved.
#
# **You need** lessons 1 and 11.
#
# **Time** 25 minutes.
#
# **Theorem** A chance constraint on a linear function of a Gaussian is a second-order cone.

# %%
import warnings

import cvxpy as cp
import matplotlib.pyplot as plt
import numpy as np
from IPython.display import display
from scipy.stats import norm
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from priorsvm import PriorSVC, UncertainSamples, plot
from priorsvm.errors import CollapsedModel, ZeroedColumns

# With large errors weights become 0, with a warning. Here that is intended.
warnings.simplefilter("ignore", ZeroedColumns)

# %% [markdown]
# ## Points with a size
#
# The table has ten measurements and ten standard errors for each of 569 tumours. Two measurements and forty
# tumours are enough for a picture. The radius is measured well, the smoothness is not.

# %%
cancer = load_breast_cancer()
names = [name.removeprefix("mean ") for name in cancer.feature_names[:10]]
means, errors = cancer.data[:, :10], cancer.data[:, 10:20]
finding = np.where(cancer.target == 1, "benign", "malignant")
pair = [names.index("radius"), names.index("smoothness")]
for j in pair:
    print(f"{names[j]:12s} error {errors[:, j].mean() / means[:, j].std():.2f} of the spread")

# %%
# alt: Two panels over radius and smoothness. The plain border is oblique. With error bars, drawn as ellipses,
# the border is almost vertical: it depends on the radius.
train, test = train_test_split(np.arange(569), train_size=40, stratify=finding, random_state=5)
X, E, y = means[train][:, pair], errors[train][:, pair], finding[train]
sign = np.where(y == "malignant", 1.0, -1.0)
confidence = 0.9
plain = PriorSVC(scale="standard").fit(X, y)
careful = PriorSVC(UncertainSamples(E, confidence), scale="standard").fit(X, y)
axes = plot.compare({"plain SVM": plain, "with error bars": careful}, support=False, verify=False)
for ax in axes:
    ax.set(xlabel="mean radius", ylabel="mean smoothness")
plt.show()

# %% [markdown]
# The ellipses are the likely places of each tumour. The plain model depends on smoothness as if the centres
# were the truth. The other model depends mostly on the radius, which is measured well.
#
# ## The theorem
#
# Let row $i$ be Gaussian with mean $x_i$ and covariance $\Sigma_i = A_i A_i^\top$. The margin is not required
# for certain, but with probability $\kappa \ge \frac12$. This is a **chance constraint**.
#
# **Theorem.** Let $\tau = \Phi^{-1}(\kappa)$, where $\Phi$ is the distribution function of the standard
# Gaussian. Three statements are equivalent:
#
# - (a) $P\left[ y_i (w^\top x + b) \ge 1 - \xi_i \right] \ge \kappa$;
# - (b) $y_i (w^\top x_i + b) - \tau \|A_i^\top w\| \ge 1 - \xi_i$, a second-order cone;
# - (c) $y_i (w^\top x + b) \ge 1 - \xi_i$ at every $x = x_i + A_i z$ with $\|z\| \le \tau$, an
#   ellipsoid.
#
# **Proof.** Write $m = y_i (w^\top x_i + b)$ and $\sigma = \|A_i^\top w\|$.
#
# 1. The number $t = y_i(w^\top x + b)$ is Gaussian with mean $m$ and variance
#    $w^\top \Sigma_i w = \sigma^2$.
# 2. So $P[t \ge 1 - \xi_i] = \Phi\left((m - 1 + \xi_i) / \sigma\right)$. It is at least $\kappa$ if and only
#    if $(m - 1 + \xi_i) / \sigma \ge \tau$. This is (b). If $\sigma = 0$, both mean $m \ge 1 - \xi_i$.
# 3. On the ellipsoid, $t = m + y_i w^\top A_i z$. By Cauchy–Schwarz $y_i w^\top A_i z \ge -\sigma \tau$,
#    with equality at $z = -\tau y_i A_i^\top w / \sigma$. So the smallest $t$ is $m - \tau\sigma$, and
#    (c) is (b). ∎
#
# Cauchy–Schwarz is enough, because $f$ is linear. For a quadratic $f$ the step from (c) to a matrix
# condition is the **S-lemma** of lesson 12. Without the Gaussian, Cantelli's inequality gives (a) for every
# distribution with this mean and covariance, with $\tau = \sqrt{\kappa / (1 - \kappa)}$. (Shivaswamy,
# Bhattacharyya and Smola, 2006.)
#
# ## The cone by hand
#
# In CVXPY the cone is one `cp.norm` for each row.

# %%
C = 1.0
tau = norm.ppf(confidence)
shift, width = X.mean(axis=0), X.std(axis=0)
inner, inner_error = (X - shift) / width, E / width  # as scale="standard" does
w, b, xi = cp.Variable(2), cp.Variable(), cp.Variable(len(X), nonneg=True)
cones = [
    sign[i] * (inner[i] @ w + b) - tau * cp.norm(cp.multiply(inner_error[i], w)) >= 1 - xi[i]
    for i in range(len(X))
]
by_hand = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(w) + C * cp.sum(xi)), cones)
by_hand.solve(solver="CLARABEL")
w_by_hand = w.value / width
print("by hand         ", w_by_hand)
print("UncertainSamples", careful.coef_[0])
display(careful.formulation())

# %% [markdown]
# ## Is it 90 %?
#
# Statement (a) can be tested. Each training tumour is measured ten thousand times again, and the margins are
# counted. A row may have slack, so its margin is $1 - \xi_i$. Rows with a positive dual variable should have
# their margin in nine of ten cases. All other rows have it more often.

# %%
worst = careful.findings_["uncertain_samples"]
active = np.isin(np.arange(len(X)), worst.rows[worst.support])
spread = np.linalg.norm(E * careful.coef_[0], axis=1)
slack = np.maximum(0, 1 - sign * careful.decision_function(X) + tau * spread)
again = X + E * np.random.default_rng(0).normal(size=(10_000, *X.shape))
f = again @ careful.coef_[0] + careful.intercept_[0]
often = np.mean(sign * f >= 1 - slack - 1e-9, axis=0)
print(f"{active.sum()} active rows: the margin holds in {often[active].mean():.1%} of the cases")
print(f"all other rows: in {often[~active].min():.1%} of the cases or more")
display(careful.verify())

# %% [markdown]
# *Proven* means: for a linear model the smallest value on an ellipse is known, so no sampling is needed.
#
# ## How much confidence?
#
# Now all ten measurements and 100 training rows. Test rows are used as recorded, and once more *measured
# again*, with an error of the stated size. A confidence of 0.5 is the plain SVM.

# %%
levels = [0.5, 0.7, 0.8, 0.9, 0.99]
right = np.zeros((6, len(levels), 2))
weights = np.zeros((6, len(levels), 10))
for seed in range(6):
    rows, rest = train_test_split(np.arange(569), train_size=100, stratify=finding, random_state=seed)
    noise = np.random.default_rng(seed).normal(size=(len(rest), 10))
    for k, level in enumerate(levels):
        model = PriorSVC(UncertainSamples(errors[rows], level), scale="standard")
        model.fit(means[rows], finding[rows])
        right[seed, k, 0] = 100 * model.score(means[rest], finding[rest])
        right[seed, k, 1] = 100 * model.score(means[rest] + errors[rest] * noise, finding[rest])
        weights[seed, k] = np.abs(model.coef_[0]) * means[rows].std(axis=0)
print(f"always benign: {100 * np.mean(finding == 'benign'):.1f} % right")
print("as recorded:   ", right[:, :, 0].mean(axis=0).round(1))
print("measured again:", right[:, :, 1].mean(axis=0).round(1))

# %% tags=["hide-input"]
# alt: Left: test rows right over the confidence, as recorded and measured again. Right: the weights of
# smoothness and symmetry fall with the confidence, and the weight of the radius does not.
figure, (left, axes) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
for k, (label, style, colour) in enumerate(
    [("as recorded", "o-", "#0072B2"), ("measured again", "s--", "#D55E00")]
):
    left.plot(levels, right[:, :, k].mean(axis=0), style, color=colour, label=label)
left.set(xlabel="confidence", ylabel="test rows right, %", title="Mean of six splits")
for j, style in ((0, "o-"), (4, "s--"), (8, "^:")):
    axes.plot(levels, weights[:, :, j].mean(axis=0), style, label=names[j])
axes.set(
    xlabel="confidence", ylabel="|weight|, per standard deviation", title="Inexact columns lose weight first"
)
left.legend()
axes.legend()
plt.show()

# %% [markdown]
# The plain SVM loses most when rows are measured again. A confidence of 0.7 recovers a part of the loss, and
# costs almost nothing on rows as recorded. A higher confidence costs more. At 0.99 the model prepares for
# errors that hardly ever happen.
#
# ## A kernel model
#
# For a curved $f$ the smallest value on an ellipse has no closed form. There are two ways:
#
# - **First order**: the gradient of $f$ at the centre takes the place of $w$.
# - **Guarantee**: within a ball of radius $r$ an RBF model falls by at most $\|g\| \sqrt{2 - 2k(r)}$, where
#   $k(r)$ is the kernel at distance $r$. This bound takes the place of $\tau \|A_i^\top w\|$.
#
# `verify` evaluates the true $f$ in both cases. The errors are multiplied by a factor from 0.02 to 1.

# %%
factors = [0.02, 0.1, 0.2, 0.5, 1.0]
missed = {False: [], True: []}
price = {False: [], True: []}
warnings.simplefilter("ignore", CollapsedModel)  # the guarantee with the full error
for factor in factors:
    for guarantee in (False, True):
        block = UncertainSamples(factor * E, confidence, guarantee=guarantee)
        bent = PriorSVC(block, kernel="rbf", scale="standard", C=10).fit(X, y)
        missed[guarantee].append(max(0.0, -bent.verify()["uncertain_samples"].worst))
        price[guarantee].append(bent.objective_)

# %% tags=["hide-input"]
# alt: Over the size of the errors. Left: the missing margin grows for the first order and is zero for the
# guarantee. Right: the objective of the guarantee is larger.
figure, panels = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
for guarantee, style, label in ((False, "o-", "first order"), (True, "s--", "guarantee")):
    panels[0].semilogx(factors, missed[guarantee], style, label=label)
    panels[1].semilogx(factors, price[guarantee], style, label=label)
panels[0].set(title="Missing margin on the ellipses", xlabel="factor of the errors")
panels[1].set(title="Objective", xlabel="factor of the errors")
panels[0].legend()
plt.show()

# %% [markdown]
# For small errors the first order is enough. For larger errors it misses a part of the margin. The guarantee
# misses nothing, but it replaces each ellipse by a ball and uses the full norm of $g$. With the full error
# nothing of $f$ is left, and the warning `CollapsedModel` reports it.
#
# ## Exercises
#
# The exercises use these names.

# %%
i = worst.rows[np.argmax(worst.weights)]
w = careful.coef_[0]
equal = PriorSVC(UncertainSamples(0.3 * width, confidence), scale="standard").fit(X, y)

# %% [markdown] tags=["exercise"]
# ### Exercise 1: the worst point
#
# Row `i` is active in the model `careful`. Compute the point of its ellipse with the smallest margin, in the
# units of `X`. Its matrix $A_i$ is `np.diag(E[i])`, and $w$ is `careful.coef_[0]`.

# %% tags=["answer"]
worst_point = ...  # your answer: two numbers

# %% tags=["solution"]
z = -tau * sign[i] * (E[i] * w) / np.linalg.norm(E[i] * w)
worst_point = X[i] + E[i] * z

# %% [markdown] tags=["solution"]
# This is the point of step 3 of the proof. `findings_` contains it for every active row.

# %% tags=["check"]
inside = np.sum(((worst_point - X[i]) / E[i]) ** 2) <= tau**2 * (1 + 1e-6)
assert inside, "The point is outside the ellipse."
ring = 2 * np.pi * np.arange(3600) / 3600
ellipse = X[i] + tau * E[i] * np.column_stack([np.cos(ring), np.sin(ring)])
lowest = (sign[i] * careful.decision_function(ellipse)).min()
value = sign[i] * careful.decision_function([worst_point])[0]
assert np.isclose(value, lowest, atol=1e-4), "Another point of the ellipse has a smaller margin."

# %% tags=["wrong"]
worst_point = X[i] + tau * sign[i] * E[i] * (E[i] * w) / np.linalg.norm(E[i] * w)

# %% tags=["wrong"]
worst_point = X[i] - tau * sign[i] * E[i] * np.sign(w)

# %% [markdown] tags=["exercise"]
# ### Exercise 2: any distribution
#
# The errors may have another distribution than the Gaussian. How many standard deviations of margin does a
# confidence of 0.9 need for *every* distribution?

# %% tags=["answer"]
tau_any = ...  # your answer: a number

# %% tags=["solution"]
tau_any = np.sqrt(confidence / (1 - confidence))

# %% [markdown] tags=["solution"]
# The answer is 3, instead of 1.28. The check uses a distribution with two values, for which 3 is just enough.

# %% tags=["check"]
with_any = PriorSVC(UncertainSamples(E, confidence, distribution="any"), scale="standard").fit(X, y)
larger = PriorSVC(UncertainSamples(E * tau_any / tau, confidence), scale="standard").fit(X, y)
chance = 1 / (1 + tau_any**2)  # t = -tau_any with this chance; mean 0 and variance 1
assert 1 - chance >= confidence - 1e-9, "A distribution with two values has the margin less often."
assert np.allclose(larger.coef_, with_any.coef_, rtol=1e-3, atol=1e-5), "More than needed is expensive."

# %% tags=["wrong"]
tau_any = tau

# %% tags=["wrong"]
tau_any = 4.0

# %% [markdown] tags=["exercise"]
# ### Exercise 3: equal errors
#
# Every column has the same error, 0.3 of its standard deviation. Then the boundary is the boundary of a
# plain SVM with another $C$. Find this $C$. You may search, or use that $\tau\, 0.3\, \|w\|$ is equal for
# all rows.

# %% tags=["answer"]
other_C = ...  # your answer: a number

# %% tags=["solution"]
length = np.linalg.norm(equal.coef_[0] * width)
total = equal.findings_["uncertain_samples"].weights.sum()
shrunk = 1 + tau * 0.3 * length
other_C = C / (shrunk * (1 + tau * 0.3 * total / length))

# %% [markdown] tags=["solution"]
# All margins are smaller by $\tau\, 0.3\, \|w\|$. Divide $f$ by $1 + \tau\, 0.3\, \|w\|$: the margins
# are those of a plain SVM again. Compare the conditions of optimality of both problems. With the dual
# variables $a_k$ they give $C' = C / \left((1 + \tau s \|w\|)(1 + \tau s \sum_k a_k / \|w\|)\right)$,
# where $s = 0.3$.

# %% tags=["check"]
other = PriorSVC(C=other_C, scale="standard", tol=1e-9).fit(X, y)
a, c = equal.coef_[0] * width, other.coef_[0] * width
cosine = a @ c / np.linalg.norm(a) / np.linalg.norm(c)
bias = equal.decision_function([shift])[0] / np.linalg.norm(a)
other_bias = other.decision_function([shift])[0] / np.linalg.norm(c)
assert cosine > 1 - 1e-5, "The boundaries have different directions."
assert abs(bias - other_bias) < 2e-3, "The boundaries are parallel, but not equal."

# %% tags=["wrong"]
other_C = C

# %% [markdown]
# ## What this lesson claims, checked

# %% tags=["claims"]
# The theorem: the cones by hand are the block, and the chance is the required chance.
np.testing.assert_allclose(careful.coef_[0] * width, w_by_hand * width, atol=1e-5)
np.testing.assert_allclose(often[active], confidence, atol=0.02)
assert often[~active].min() > confidence - 0.02
assert careful.verify()["uncertain_samples"].proven
assert careful.verify()["uncertain_samples"].holds

# The well measured column gains, relatively.
assert abs(careful.coef_[0, 0] / careful.coef_[0, 1]) > abs(plain.coef_[0, 0] / plain.coef_[0, 1])

# New measurements harm the plain model more than a model with a little confidence.
recorded, measured = right.mean(axis=0).T
assert recorded[0] - measured[0] > recorded[1] - measured[1]
assert measured[1] > measured[0]
assert abs(recorded[1] - recorded[0]) < 0.5
assert recorded[-1] < recorded[0] - 1

# First order holds for small errors only; the guarantee always, until nothing is left.
assert missed[False][0] < 0.01 < 0.05 < missed[False][-1]
assert max(missed[True]) < 1e-6
assert all(p >= q - 1e-6 for p, q in zip(price[True], price[False], strict=True))
assert np.ptp(bent.decision_function(X)) < 1e-3

# %% [markdown]
# **Next** lesson 14: entries that are missing. See also the guide page *Uncertain samples* and the gallery
# example of `UncertainSamples`.
