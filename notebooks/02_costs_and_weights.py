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
# An SVM sees rows and labels, and all of them count the same. But you may know that one mistake is worse
# than another, or that some rows are less reliable than the rest. Such knowledge needs no new rows and no
# new constraints. It is said by the weights that are in the problem already.
#
# It begins with a disease that is rare in the data. Where should the line be?

# %%
import cvxpy as cp
import matplotlib.pyplot as plt
import numpy as np
from IPython.display import display
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV, RepeatedStratifiedKFold
from sklearn.svm import SVC

from priorsvm import RBF, ClassCosts, PriorSVC, SampleCosts
from priorsvm.errors import InvalidInput

BLUE, RED = "#0072B2", "#D55E00"

# %%
cancer = load_breast_cancer()
columns = [list(cancer.feature_names).index(name) for name in ("worst texture", "worst area")]
tumours, finding = cancer.data[:, columns], cancer.target_names[cancer.target]


def draw_patients(seed, ill=12, well=150):
    """Training rows in which the disease is rare, and all others as test rows."""
    order = np.random.default_rng(seed).permutation(len(finding))
    malignant, benign = order[finding[order] == "malignant"], order[finding[order] == "benign"]
    return np.r_[malignant[:ill], benign[:well]], np.r_[malignant[ill:], benign[well:]]


train, test = draw_patients(0)


def draw_tumours(axes, *models, size=None):
    for name, marker, colour, usual in (("benign", "o", BLUE, 14), ("malignant", "^", RED, 60)):
        of = finding[train] == name
        axes.scatter(
            *tumours[train][of].T,
            marker=marker,
            color=colour,
            s=usual if size is None else size[of],
            label=f"{of.sum()} {name}",
        )
    length = np.array([10.0, 46.0])
    for model, label, style in models:
        w, b = model.coef_[0], model.intercept_[0]
        axes.plot(length, -(b + w[0] * length) / w[1], style, color="black", label=label)
    axes.set(xlabel="worst texture", ylabel="worst area", xlim=(10, 46), ylim=(0, 2500))


plain = PriorSVC(scale="standard").fit(tumours[train], finding[train])
figure, axes = plt.subplots(figsize=(6.5, 4.2))
draw_tumours(axes, (plain, "plain SVM", "-"))
axes.set_title("Twelve malignant tumours among 150 benign ones")
axes.legend(loc="upper right", fontsize=9)
plt.show()

# %% [markdown]
# The plain model pays the same price for every mistake, so the few malignant ones weigh little. It misses
# many of them. (Who always says *benign* is right on 93 % of the training rows, and finds none. So we count
# the two kinds of mistakes apart.)


# %%
def found_and_false(model, rows=None, at=0.0):
    """The share of malignant tumours found, and of benign ones taken for malignant, on new patients."""
    rows = test if rows is None else rows
    alarm = model.decision_function(tumours[rows]) > at  # the second class, malignant, is the positive one
    return alarm[finding[rows] == "malignant"].mean(), alarm[finding[rows] == "benign"].mean()


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
# More are found, and there are more false alarms. A weight does not make the model wiser; it says which
# mistakes you would rather have. The line moves towards the many:

# %%
figure, axes = plt.subplots(figsize=(6.5, 4.2))
draw_tumours(axes, (plain, "plain SVM", "-"), (balanced, "balanced", "--"))
axes.legend(loc="upper right", fontsize=9)
plt.show()

# %% [markdown]
# ## What did that add to the problem?
#
# The slack of each row gets a price of its own:
#
# $$\min_{w, b, \xi}\; \tfrac12 \|w\|^2 + \sum_i C_i\, \xi_i
# \quad\text{s.t.}\quad y_i f(x_i) \ge 1 - \xi_i, \quad \xi_i \ge 0 .$$
#
# By hand it is one vector instead of one number. (The columns are scaled first, which is what
# `scale="standard"` does.)

# %%
C = 1.0
inner = (tumours[train] - tumours[train].mean(axis=0)) / tumours[train].std(axis=0)
sign = np.where(finding[train] == "malignant", 1.0, -1.0)
n = len(train)
n_ill, n_well = np.sum(sign > 0), np.sum(sign < 0)


def by_hand(costs):
    """w, b and the duals of the SVM with these factors on C."""
    w, b, xi = cp.Variable(2), cp.Variable(), cp.Variable(n, nonneg=True)
    margin = cp.multiply(sign, inner @ w + b) >= 1 - xi
    cp.Problem(cp.Minimize(0.5 * cp.sum_squares(w) + C * costs @ xi), [margin]).solve(solver="CLARABEL")
    return w.value / tumours[train].std(axis=0), float(b.value), margin.dual_value


cost = {"plain": np.ones(n), "balanced": np.where(sign > 0, n / (2 * n_ill), n / (2 * n_well))}
w_hand, b_hand, alpha = {}, {}, {}
for name in cost:
    w_hand[name], b_hand[name], alpha[name] = by_hand(cost[name])
print("by hand:   ", w_hand["balanced"], "\nClassCosts:", balanced.coef_[0])

# %% [markdown]
# ## A cost is the most a row may push
#
# The duals say why the line moved. Each row pushes with $\alpha_i$, and no row can push harder than its
# cost: $0 \le \alpha_i \le C_i$. And the two classes push equally hard in total, $\sum_i \alpha_i y_i = 0$,
# or the line would move. So twelve rows of cost 1 can push with 12 at most, however many stand against them.

# %%
figure, panels = plt.subplots(1, 2, figsize=(11, 4.2), sharey=True, layout="constrained")
for axes, name, model in zip(panels, cost, (plain, balanced), strict=True):
    draw_tumours(axes, (model, name, "-"), size=4 + 40 * alpha[name])
    push = alpha[name][sign > 0].sum()
    axes.set_title(f"{name}: large marks push hard\neach class pushes with {push:.1f} in total")
    axes.label_outer()
plt.show()

# %% [markdown]
# ## How the report tells it
#
# Lauer and Bloch write all such methods as the plain SVM and an addition,
# $J_{PK} = \sum_i (C_i - C)\,\xi_i$. `formulation()` shows it so, and the report has the addition on a line
# of its own. All lines together are the objective. The *price* is the sum of the duals.

# %%
display(balanced.formulation())
display(balanced.report_)

# %% [markdown]
# The addition can be negative, where a cost is below 1. That is no mistake: $\xi_i$ still has the weight
# $C_i \ge 0$ in the sum, and the problem stays convex.

# %%
lighter = PriorSVC(ClassCosts({"benign": 0.3}), scale="standard").fit(tumours[train], finding[train])
print(f"benign rows at 0.3: the addition is {lighter.report_['class_costs'][0].contribution:.3f}")

# %% [markdown]
# ## One draw is an anecdote
#
# Other patients, another line. So we repeat it on ten draws of the training rows, for a whole range of
# costs. There is a rival that needs no block at all: keep the plain model and let it give alarm earlier,
# at $f > t$ with $t < 0$.

# %%
draws = [draw_patients(seed) for seed in range(10)]
factors = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0]
thresholds = np.linspace(0.0, -1.6, 33)
by_cost, by_threshold = [], []
for rows, new in draws:
    models = [
        PriorSVC(ClassCosts({"malignant": factor}), scale="standard").fit(tumours[rows], finding[rows])
        for factor in factors
    ]
    by_cost.append([found_and_false(model, new) for model in models])
    by_threshold.append([found_and_false(models[0], new, at=t) for t in thresholds])
by_cost, by_threshold = np.array(by_cost), np.array(by_threshold)

figure, axes = plt.subplots(figsize=(6.5, 4.4))
for curves, style, colour, label in (
    (by_threshold, "-", BLUE, "plain, earlier alarm"),
    (by_cost, "o--", RED, "cost of the class"),
):
    found, false = curves.mean(axis=0).T
    axes.plot(100 * false, 100 * found, style, color=colour, label=label)
for factor, (found, false) in zip(factors, by_cost.mean(axis=0), strict=True):
    axes.annotate(f"{factor:g}", 100 * np.array([false, found]), xytext=(6, -11), textcoords="offset points")
axes.set(xlabel="false alarms in %", ylabel="malignant tumours found in %", title="Means of ten draws")
axes.legend(loc="lower right")
plt.show()

# %% [markdown]
# The sober result: here the threshold does as well as the cost, and from a cost of 16 on better. Both buy
# findings with false alarms at about the same rate. The threshold only moves the line; a cost may turn it
# as well, and with twelve rows it turns it by chance. Costs are worth it where turning helps, and where a
# threshold cannot be moved afterwards, because the model stands inside something else. Compare with the
# threshold before you praise a cost.
#
# ## Some rows are to be trusted more
#
# Now all thirty measurements, and a story. Twenty findings are those of the hospital; 180 more come from an
# archive in which, as everybody knows, every fourth label is wrong. (These numbers were chosen with a look at
# curves like the one below, so that neither part wins by itself.)

# %%
X, y = cancer.data, finding


def archive_study(seed):
    """Rows, labels as they were written down, who is from the archive, and test rows."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(y))
    rows, new = order[:200], order[200:]
    archive = np.arange(200) >= 20
    wrong = archive & (rng.random(200) < 0.25)
    return rows, np.where(wrong, np.where(y[rows] == "benign", "malignant", "benign"), y[rows]), archive, new


# %% [markdown]
# `SampleCosts` takes one factor per row. They are given to `fit`, like `sample_weight`, so that a
# cross-validation would split them along with the rows.

# %%
rows, written, archive, new = archive_study(0)
trust = np.where(archive, 0.1, 1.0)
weighted = PriorSVC(SampleCosts(), scale="standard").fit(X[rows], written, sample_costs__costs=trust)
print(f"test error, archive trusted a tenth: {1 - weighted.score(X[new], y[new]):.1%}")

# %% [markdown]
# How much trust is right? 0 leaves the archive out, 1 believes it. Twenty draws:

# %%
levels = [0.0, 0.01, 0.03, 0.1, 0.3, 1.0]
errors, always_benign = [], []
for seed in range(20):
    rows, written, archive, new = archive_study(seed)
    for level in levels:
        model = PriorSVC(SampleCosts(), scale="standard")
        model.fit(X[rows], written, sample_costs__costs=np.where(archive, level, 1.0))
        errors.append(100 * (1 - model.score(X[new], y[new])))
    always_benign.append(np.mean(y[new] == "malignant"))
errors = np.reshape(errors, (20, len(levels)))

figure, axes = plt.subplots(figsize=(6.5, 4.2))
places = np.arange(len(levels))
axes.plot(places, errors.T, color="0.8", linewidth=1)
axes.plot(places, errors.mean(axis=0), "o-", color="black", label="mean of twenty draws")
axes.set_xticks(places, ["0\n(left out)", *(f"{level:g}" for level in levels[1:-1]), "1\n(as good as ours)"])
axes.set(xlabel="cost of a row of the archive", ylabel="test error in %", ylim=(0, None))
axes.legend(loc="upper left")
plt.show()
better = np.sum(errors[:, 3] < errors[:, -1])
print(f"a tenth of the trust beats full trust in {better} of 20 draws")
print(f"always benign: {100 * np.mean(always_benign):.0f} % error")

# %% [markdown]
# To believe the archive fully costs dearly, and the weight prevents that. Whether a little trust is better
# than none cannot be told from these draws: the curve is flat on the left, and the grey lines cross.
#
# ## What a cost means
#
# A row of cost 2 is a row that is there twice, and a row of cost 0 is not there. The kernel's width is
# given, as it would depend on the rows.

# %%
kernel = RBF(0.05)
twice = np.where(np.arange(200) < 50, 2.0, 1.0)
doubled = PriorSVC(SampleCosts(twice), kernel=kernel, scale=None).fit(X[rows], written)
repeated = PriorSVC(kernel=kernel).fit(
    np.repeat(X[rows], twice.astype(int), axis=0), np.repeat(written, twice.astype(int))
)
without = PriorSVC(SampleCosts(np.where(archive, 0.0, 1.0)), kernel=kernel).fit(X[rows], written)
hospital = PriorSVC(kernel=kernel).fit(X[rows][~archive], written[~archive])
twice_apart = np.abs(doubled.decision_function(X) - repeated.decision_function(X)).max()
none_apart = np.abs(without.decision_function(X) - hospital.decision_function(X)).max()
print(f"cost 2 and rows twice: {twice_apart:.0e} apart;  cost 0 and rows left out: {none_apart:.0e} apart")

# %% [markdown]
# ## Or ask for another margin
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
axes.legend(loc="upper right", fontsize=9)
plt.show()
print("margin 3:  finds {:.0%} of the malignant tumours, {:.1%} false alarms".format(*found_and_false(asked)))

# %% [markdown]
# Costs alone leave a weighted SVM, which LIBSVM solves; it knows no margin but 1, so `solver="auto"` takes
# another solver and says so:

# %%
print("plain:", plain.solver_, " balanced:", balanced.solver_, " margins:", asked.solver_)

# %% [markdown]
# ## Weights in front, and several at once
#
# Blocks are added with `+`, and their factors multiply: a doubtful row of the rare class costs both. A
# number in front of a block is a weight on its $J_{PK}$, so on what it *changes*. Half of "from 1 to 3" is
# "from 1 to 2", and a weight of 0 is no block at all.
#
# The shares of this report are beyond 100 %, up and down: the loss line is what the plain price would make of
# these slacks, and the line of *trust* takes most of that back.

# %%
both = ClassCosts("balanced").named("rarity") + SampleCosts().named("trust")
together = PriorSVC(both, scale="standard").fit(X[rows], written, trust__costs=np.where(archive, 0.1, 1.0))
display(together.report_)

half = PriorSVC(0.5 * ClassCosts({"malignant": 3.0}), scale="standard").fit(tumours[train], finding[train])
double = PriorSVC(ClassCosts({"malignant": 2.0}), scale="standard").fit(tumours[train], finding[train])
print("half of 3:", half.coef_[0], " 2:", double.coef_[0])

# %% [markdown]
# What would make a cost negative is refused, and the message says by which block:

# %%
try:
    PriorSVC(2 * ClassCosts({"malignant": 0.3}).named("rarity")).fit(tumours[train], finding[train])
    refusal = ""
except InvalidInput as error:
    refusal = str(error)
print(refusal)

# %% [markdown]
# ## Exercises
#
# 1. A missed tumour is as bad as ten false alarms. Choose the cost of the class honestly, without a look at
#    the test rows, and say what it cost.
# 2. Does a cost of 1000 find all malignant tumours of the training rows? All of the test rows?
# 3. `fit` takes `sample_weight`, too. When is it the same as `SampleCosts`, and when not?
# 4. With the squared hinge, $C_i \xi_i^2$, the cost is no longer the most a row can push. What is?
#
# ## Solutions
#
# **1.** Cross-validation on the training rows, with the costs you really have as the score. Every parameter
# of a block has an address, `prior__<parameter>`. With twelve malignant rows it is a rough choice, so it is
# repeated, and still it need not be the best one.


# %%
def damage(truth, told):
    """Per hundred patients, in false alarms, if as many are ill as in the training rows."""
    missed = np.mean(told[truth == "malignant"] == "benign")
    return 100 / n * (10 * n_ill * missed + n_well * np.mean(told[truth == "benign"] == "malignant"))


search = GridSearchCV(
    PriorSVC(ClassCosts({}), scale="standard"),
    {"prior__costs": [{"malignant": factor} for factor in factors]},
    scoring=make_scorer(damage, greater_is_better=False),
    cv=RepeatedStratifiedKFold(n_splits=4, n_repeats=5, random_state=0),
)
search.fit(tumours[train], finding[train])
chosen = search.best_params_["prior__costs"]
harm = {
    "plain": damage(finding[test], plain.predict(tumours[test])),
    "chosen": damage(finding[test], search.predict(tumours[test])),
    "always benign": damage(finding[test], np.full(len(test), "benign")),
    "always malignant": damage(finding[test], np.full(len(test), "malignant")),
}
print("chosen:", chosen)
print("damage per hundred test patients:", {name: round(float(value), 1) for name, value in harm.items()})

# %% [markdown]
# **2.** All of the training rows, as far as a line can do that. From some cost on nothing changes any more:
# once no malignant training row has any slack, its price plays no part. New patients do not care.

# %%
extreme = [
    PriorSVC(ClassCosts({"malignant": factor}), scale="standard").fit(tumours[train], finding[train])
    for factor in (100.0, 1000.0)
]
for factor, model in zip((100, 1000), extreme, strict=True):
    print(
        f"cost {factor}: finds {found_and_false(model, train)[0]:.0%} of the training rows,",
        "{:.0%} of the test rows, {:.0%} false alarms".format(*found_and_false(model)),
    )

# %% [markdown]
# **3.** It is the same problem as long as nothing else looks at the weights. `sample_weight` says how often a
# row is there, so it also counts in `scale=`, in `gamma="scale"` and in `"balanced"`. `SampleCosts` says how
# far its label is believed; the row itself is there once.

# %%
as_weight = PriorSVC(kernel=kernel).fit(X[rows], written, sample_weight=trust)
as_cost = PriorSVC(SampleCosts(trust), kernel=kernel).fit(X[rows], written)
same = np.abs(as_weight.decision_function(X) - as_cost.decision_function(X)).max()
scaled = [
    PriorSVC(scale="standard").fit(X[rows], written, sample_weight=trust),
    PriorSVC(SampleCosts(trust), scale="standard").fit(X[rows], written),
]
other = np.abs(scaled[0].decision_function(X) - scaled[1].decision_function(X)).max()
print(f"nothing else looks: {same:.0e} apart;  scale='standard' looks: {other:.2f} apart")

# %% [markdown]
# **4.** Nothing. The dual is $\alpha_i = 2 C_i \xi_i$, proportional to the slack, without an upper end. One
# row far on the wrong side can outweigh all others.

# %%
squared = PriorSVC(ClassCosts("balanced"), loss="squared_hinge", scale="standard")
squared.fit(tumours[train], finding[train])
slack = np.maximum(0, 1 - sign * squared.decision_function(tumours[train]))
push = 2 * C * cost["balanced"] * slack
print(f"hardest push: {push.max():.1f}, its cost {cost['balanced'][np.argmax(push)]:.1f}")

# %% [markdown]
# ## What this notebook claims, checked

# %%
# Costs: more of the rare class is found, and paid for with false alarms, on average over the draws.
assert found_and_false(balanced)[0] > found_and_false(plain)[0] + 0.1
assert found_and_false(balanced)[1] > found_and_false(plain)[1]
assert np.all(np.diff(by_cost.mean(axis=0), axis=0) > 0)
peer = SVC(C=10, kernel="rbf", class_weight="balanced", tol=1e-8).fit(tumours[train], finding[train])
ours = PriorSVC(ClassCosts("balanced"), C=10, kernel="rbf").fit(tumours[train], finding[train])
np.testing.assert_allclose(ours.decision_function(tumours), peer.decision_function(tumours), atol=1e-4)

# By hand and by the block; a cost is the most a row may push, and both classes push the same.
for name, model in (("plain", plain), ("balanced", balanced)):
    np.testing.assert_allclose(w_hand[name], model.coef_[0], rtol=1e-4)
    assert np.all(alpha[name] < cost[name] + 1e-6)
    np.testing.assert_allclose(alpha[name] @ sign, 0, atol=1e-6)
assert alpha["plain"][sign > 0].sum() < 12
np.testing.assert_allclose(sum(row.contribution for row in balanced.report_.rows), balanced.objective_)
assert lighter.report_["class_costs"][0].contribution < 0

# The threshold is no worse than the cost: at the false alarms of each cost it finds as many, to 2 %.
found, false = by_threshold.mean(axis=0).T
at_same_alarms = np.interp(by_cost.mean(axis=0)[:, 1], false, found)
assert np.all(at_same_alarms > by_cost.mean(axis=0)[:, 0] - 0.02)
assert np.all((at_same_alarms > by_cost.mean(axis=0)[:, 0])[4:])

# Trust: full trust is worse than a tenth in nearly all draws, and worse than the archive left out.
assert better >= 15
assert errors[:, -1].mean() > errors[:, 0].mean() + 1
assert np.ptp(errors[:, :4].mean(axis=0)) < errors[:, 0].std()
assert errors.max() < 100 * np.mean(always_benign)

# What costs and weights mean.
assert twice_apart < 1e-6
assert none_apart < 1e-6
np.testing.assert_allclose(half.coef_, double.coef_, rtol=1e-6)
assert (plain.solver_, balanced.solver_, asked.solver_) == ("LIBSVM", "LIBSVM", "NORMAL")
assert "rarity" in refusal

# The exercises.
assert chosen["malignant"] > 1
assert harm["chosen"] < harm["plain"] < min(harm["always benign"], harm["always malignant"])
np.testing.assert_allclose(extreme[0].coef_, extreme[1].coef_, rtol=1e-4)
assert found_and_false(extreme[1], train)[0] == 1 > found_and_false(extreme[1])[0]
assert same < 1e-6 < 0.01 < other
assert push.max() > cost["balanced"].max()
print("all of it holds")
