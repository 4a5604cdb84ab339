#!/usr/bin/env python3
"""Holds the shipped statistics against scipy and statsmodels on random data with fixed seeds.

usage: compare_with_scipy.py ORACLE      (the program made of oracle.c)
Exit status: 0 all agree, 1 something does not, 77 (skipped) scipy or statsmodels is absent.
"""
import itertools
import subprocess
import sys

try:
    import numpy as np
    from scipy import interpolate, special, stats
    import statsmodels.api as sm
    from statsmodels.stats.diagnostic import acorr_ljungbox
    from statsmodels.stats.multitest import multipletests
    from statsmodels.stats.weightstats import DescrStatsW, ttost_paired
except ImportError as e:
    print(f'skipped: {e}; try: tools/setup torch')
    sys.exit(77)

rng = np.random.default_rng(20240611)
questions, wanted = [], []


def ask(name, parameters, x, results, tolerance=1e-9):
    words = [name, *(f'{p:.17g}' for p in parameters), ':', *(f'{v:.17g}' for v in x)]
    questions.append(' '.join(words))
    wanted.append((np.atleast_1d(np.asarray(results, dtype=float)), tolerance))


def draw(n):
    kind = rng.integers(4)
    x = [rng.normal(0.3, 1, n), rng.standard_t(2.5, n), rng.exponential(1, n) - 0.5, rng.uniform(-1, 2, n)][kind]
    return x * 10.0 ** rng.integers(-6, 7)


def t_quantile(p, df):
    """scipy 1.10's ppf is good to some 1e-9 only; a Newton step on its cdf (or sf) mends that."""
    q = stats.t.ppf(p, df)
    for _ in range(2):
        off = stats.t.cdf(q, df) - p if p < 0.5 else (1 - p) - stats.t.sf(q, df)
        q -= off / stats.t.pdf(q, df)
    return q


def exact_signed_rank(x):
    """V and P(V <= v), P(V >= v) by writing out all 2^n signs: ties and zeros allowed."""
    x = x[x != 0]
    ranks = stats.rankdata(np.abs(x))
    v = ranks[x > 0].sum()
    all_v = np.array([np.dot(signs, ranks) for signs in itertools.product((0, 1), repeat=len(x))])
    less, greater = np.mean(all_v <= v + 1e-9), np.mean(all_v >= v - 1e-9)
    return v, min(1, 2 * min(less, greater)), greater, less


def interval_by_inversion(x, level):
    """The signed-rank interval from the definition: order statistics of the Walsh averages."""
    n = len(x)
    walsh = np.sort([(x[i] + x[j]) / 2 for i in range(n) for j in range(i, n)])
    # P(V <= v) without ties, from scipy's own exact test: one value of each sign pattern's rank sum.
    counts = np.zeros(n * (n + 1) // 2 + 1)
    counts[0] = 1
    for r in range(1, n + 1):
        counts[r:] = counts[r:] + counts[:-r].copy()
    cdf = np.cumsum(counts) / 2.0 ** n
    k = max(1, int(np.searchsorted(2 * cdf, (1 - level) * (1 + 1e-12), side='right')))
    return np.median(walsh), walsh[k - 1], walsh[-k], 1 - 2 * cdf[k - 1]


for _ in range(150):
    n = int(rng.integers(2, 41))
    x, y = draw(n), draw(int(rng.integers(2, 30)))
    level = rng.choice([0.8, 0.9, 0.95, 0.99])
    ask('hodges_lehmann', [level], x, interval_by_inversion(x, level))
    ask('t_interval', [level], x, [x.mean(), *DescrStatsW(x).tconfint_mean(1 - level)], 1e-6)
    half = t_quantile(0.5 + level / 2, n - 1) * x.std(ddof=1) / np.sqrt(n)
    ask('t_interval', [level], x, [x.mean(), x.mean() - half, x.mean() + half])
    mu = float(np.median(x)) * 0.5
    t = [stats.ttest_1samp(x, mu, alternative=a) for a in ('two-sided', 'greater', 'less')]
    ask('t_test', [mu], x, [t[0].statistic, *(r.pvalue for r in t)])
    w = [stats.ttest_ind(x, y, equal_var=False, alternative=a) for a in ('two-sided', 'greater', 'less')]
    ask('welch', [n], np.concatenate([x, y]), [w[0].statistic, *(r.pvalue for r in w)], 1e-8)
    spread = np.std(x) + 1e-12
    p, low, high = ttost_paired(x, np.zeros(n), x.mean() - spread, x.mean() + 2 * spread)
    ask('tost', [x.mean() - spread, x.mean() + 2 * spread], x, [p, low[1], high[1]], 1e-8)
    r = [stats.wilcoxon(x, alternative=a, mode='exact') for a in ('greater', 'two-sided', 'less')]
    ask('signed_rank', [0], x, [r[0].statistic, r[1].pvalue, r[0].pvalue, r[2].pvalue])

for _ in range(40):
    x = rng.integers(-4, 6, int(rng.integers(1, 12))).astype(float)  # ties and zeros
    if np.any(x != 0):
        ask('signed_rank', [0], x, exact_signed_rank(x))

for _ in range(100):
    p = rng.uniform(0, 1, int(rng.integers(1, 30))) ** rng.integers(1, 5)
    if rng.uniform() < 0.3:
        p[rng.integers(len(p))] = p[0]
    ask('adjust', [0], p, multipletests(p, method='holm')[1])
    ask('adjust', [1], p, multipletests(p, method='fdr_bh')[1])

for _ in range(500):
    p = rng.choice([rng.uniform(1e-9, 1), rng.uniform(0.4, 0.6), 1 - 10.0 ** rng.uniform(-8, -1)])
    df, b = 10.0 ** rng.uniform(-0.2, 3), 10.0 ** rng.uniform(-1, 2)
    z = float(rng.normal(0, 3))
    ask('distributions', [p, df, b], [z],
        [stats.norm.cdf(z), stats.norm.ppf(p), stats.t.cdf(z, df), stats.t.sf(z, df), t_quantile(p, df),
         special.betainc(df, b, p)], 1e-8)

for _ in range(300):
    df, v = 10.0 ** rng.uniform(-0.5, 2.5), 10.0 ** rng.uniform(-2, 2.7)
    ask('chi2', [df], [v], [stats.chi2.sf(v, df), special.gammaincc(df, v)], 1e-9)

for n in (1, 2, 5, 9, 20, 60):
    pmf = np.ones(1)
    for r in range(1, n + 1):
        pmf = (np.concatenate([pmf, np.zeros(r)]) + np.concatenate([np.zeros(r), pmf])) / 2
    cdf = np.cumsum(pmf)
    for v in {0, 1, len(pmf) // 4, len(pmf) // 2, len(pmf) - 2, len(pmf) - 1} & set(range(len(pmf))):
        ask('signed_rank_cdf', [n], [v], cdf[v], 1e-10)

for _ in range(60):
    n, lags = int(rng.integers(8, 120)), int(rng.integers(1, 7))
    x = np.cumsum(rng.normal(0, 1, n)) if rng.uniform() < 0.3 else draw(n)
    table = acorr_ljungbox(x, lags=[lags], return_df=True)
    ask('ljung_box', [lags], x, [table['lb_stat'].iloc[0], table['lb_pvalue'].iloc[0]], 1e-8)
    share = float(rng.uniform(0, 0.49))
    ask('trimmed_mean', [share], x, stats.trim_mean(x, share), 1e-8)
    y = 3 - 0.5 * x + rng.standard_t(2, n) * np.std(x)
    line = stats.theilslopes(y, x, method='joint')
    ask('theil_sen', [], np.concatenate([x, y]), [line[0], line[1]], 1e-8)

for _ in range(25):
    batch = np.unique(rng.integers(1, 512, int(rng.integers(6, 40)))).astype(float)
    step = (0.05 + 0.002 * batch) * np.exp(0.01 * rng.standard_t(2, len(batch)))
    design = np.column_stack([1 / step, batch / step])
    fit = sm.RLM(np.ones(len(batch)), design, M=sm.robust.norms.HuberT()).fit(maxiter=2000, tol=1e-14)
    if np.all(fit.params > 0):
        ask('step_time', [], np.concatenate([batch, step]), fit.params, 1e-5)
    x = np.sort(rng.choice(1000, len(batch), replace=False)).astype(float)
    y = np.cumsum(rng.choice([0, 1, 3, -0.5], len(x)))
    grid = x[0] + (x[-1] - x[0]) * np.arange(21) / 20
    grid[-1] = x[-1]
    ask('pchip', [], np.concatenate([x, y]), interpolate.PchipInterpolator(x, y)(grid), 1e-8)

for _ in range(4):
    x = rng.exponential(1, int(rng.integers(8, 30)))
    b = stats.bootstrap((x,), np.mean, n_resamples=20000, method='BCa', vectorized=True, random_state=1)
    spread = (b.confidence_interval.high - b.confidence_interval.low) / np.abs(b.confidence_interval).min()
    ask('bca', [0.95], x, list(b.confidence_interval), 0.06 * spread)  # two bootstraps, never the same draws

done = subprocess.run([sys.argv[1]], input='\n'.join(questions) + '\n', capture_output=True, text=True, check=True)
answers = done.stdout.splitlines()
assert len(answers) == len(questions), f'{len(answers)} answers to {len(questions)} questions'
wrong = 0
for question, answer, (want, tolerance) in zip(questions, answers, wanted):
    got = np.array([float(w) for w in answer.split() if w != 'error'])
    scale = np.maximum(np.abs(want), 1e-300)
    good = 'error' not in answer and got.shape == want.shape and np.all(
        (np.abs(got - want) <= tolerance * scale) | (np.abs(got - want) < 1e-14) | (np.isnan(got) & np.isnan(want)))
    if not good:
        wrong += 1
        if wrong <= 10:
            print(f'{question[:300]}\n  got    {answer}\n  wanted {" ".join(f"{v:.17g}" for v in want)}')
print(f'{len(questions)} questions, {wrong} answered otherwise than by scipy and statsmodels')
sys.exit(1 if wrong else 0)
