#include "stats/dist.h"

#include <float.h>
#include <math.h>

#include "stats/interval.h"
#include "stats/signed_rank.h"

double bl_normal_cdf(double x)
{
    return 0.5 * erfc(-x * M_SQRT1_2);
}

double bl_normal_quantile(double p)
{
    if (!(p > 0 && p < 1))
        return NAN;
    if (p > 0.5)
        return -bl_normal_quantile(1 - p);
    double t = sqrt(-2 * log(p));
    double x = -(t - (2.515517 + t * (0.802853 + t * 0.010328)) / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308))));
    /* The start is good to 4.5e-4; each Halley step triples the digits. */
    for (int i = 0; i < 3; i++) {
        double density = exp(-0.5 * x * x) / sqrt(2 * M_PI);
        if (density <= 0)
            break;
        double u = (bl_normal_cdf(x) - p) / density;
        x -= u / (1 + 0.5 * x * u);
    }
    return x;
}

/* lgamma writes the global signgam; its reentrant form does not. Arguments here are positive. */
static double log_gamma(double x)
{
    int sign;
    return lgamma_r(x, &sign);
}

/* The continued fraction of DLMF 8.17.22, evaluated by the modified Lentz algorithm. Converges fast for
 * x < (a + 1) / (a + b + 2). */
static double beta_fraction(double a, double b, double x)
{
    const double tiny = 1e-300;
    double c = 1;
    double d = 1 - (a + b) * x / (a + 1);
    d = 1 / (fabs(d) < tiny ? tiny : d);
    double h = d;
    for (int m = 1; m <= 10000; m++) {
        double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        double step = 1;
        for (int half = 0; half < 2; half++) {
            double numerator = half == 0 ? even : odd;
            d = 1 + numerator * d;
            d = 1 / (fabs(d) < tiny ? tiny : d);
            c = 1 + numerator / c;
            c = fabs(c) < tiny ? tiny : c;
            step = c * d;
            h *= step;
        }
        if (fabs(step - 1) < 2 * DBL_EPSILON)
            break;
    }
    return h;
}

/* I_x(a, b) with y = 1 - x given apart, so that neither end loses digits. */
static double beta_inc_xy(double a, double b, double x, double y)
{
    if (x <= 0)
        return 0;
    if (y <= 0)
        return 1;
    double front = exp(a * log(x) + b * log(y) + log_gamma(a + b) - log_gamma(a) - log_gamma(b));
    if (x < (a + 1) / (a + b + 2))
        return front * beta_fraction(a, b, x) / a;
    return 1 - front * beta_fraction(b, a, y) / b;
}

double bl_beta_inc(double a, double b, double x)
{
    if (!(a > 0 && b > 0 && x >= 0 && x <= 1) || isinf(a) || isinf(b))
        return NAN;
    return beta_inc_xy(a, b, x, 1 - x);
}

double bl_t_sf(double t, double df)
{
    if (isnan(t) || !(df > 0))
        return NAN;
    /* Beyond this the normal is closer than the log-gammas' rounding. */
    if (df > 1e10)
        return bl_normal_cdf(-t);
    if (isinf(t))
        return t > 0 ? 0 : 1;
    double square = t * t;
    double tail = 0.5 * beta_inc_xy(0.5 * df, 0.5, df / (df + square), square / (df + square));
    return t >= 0 ? tail : 1 - tail;
}

double bl_t_cdf(double t, double df)
{
    return bl_t_sf(-t, df);
}

/* The positive t with P(T > t) = tail, 0 < tail < 0.5: Newton kept inside a bracket. */
static double t_upper(double tail, double df)
{
    double low = 0;
    double high = 1;
    while (bl_t_sf(high, df) > tail && high < 1e300)
        high *= 2;
    double log_norm = log_gamma(0.5 * (df + 1)) - log_gamma(0.5 * df) - 0.5 * log(df * M_PI);
    double t = fmin(high, fmax(low, -bl_normal_quantile(tail)));
    for (int i = 0; i < 400; i++) {
        double excess = bl_t_sf(t, df) - tail;
        if (excess > 0)
            low = t;
        else
            high = t;
        double density = exp(log_norm - 0.5 * (df + 1) * log1p(t * t / df));
        double step = density > 0 ? excess / density : INFINITY;
        if (fabs(step) <= 4 * DBL_EPSILON * t)
            break;
        double next = t + step;
        if (!(next > low && next < high))
            next = 0.5 * (low + high);
        if (next == t)
            break;
        t = next;
    }
    return t;
}

double bl_t_quantile(double p, double df)
{
    if (!(p > 0 && p < 1) || !(df > 0))
        return NAN;
    if (df > 1e10)
        return bl_normal_quantile(p);
    if (p == 0.5)
        return 0;
    return p < 0.5 ? -t_upper(p, df) : t_upper(1 - p, df);
}

/* The share below x by its power series: all terms are positive. */
static double gamma_series(double a, double x)
{
    double term = 1 / a;
    double sum = term;
    for (int n = 1; n <= 100000 && term > sum * DBL_EPSILON / 4; n++) {
        term *= x / (a + n);
        sum += term;
    }
    return sum;
}

static double gamma_fraction(double a, double x)
{
    const double tiny = 1e-300;
    double b = x + 1 - a;
    double c = 1 / tiny;
    double d = 1 / (fabs(b) < tiny ? tiny : b);
    double h = d;
    for (int i = 1; i <= 100000; i++) {
        double numerator = -i * (i - a);
        b += 2;
        d = numerator * d + b;
        d = 1 / (fabs(d) < tiny ? tiny : d);
        c = b + numerator / c;
        c = fabs(c) < tiny ? tiny : c;
        h *= c * d;
        if (fabs(c * d - 1) < 2 * DBL_EPSILON)
            break;
    }
    return h;
}

double bl_gamma_q(double a, double x)
{
    if (!(a > 0 && x >= 0) || isinf(a))
        return NAN;
    if (x == 0)
        return 1;
    if (isinf(x))
        return 0;
    double front = exp(a * log(x) - x - log_gamma(a));
    return x < a + 1 ? 1 - front * gamma_series(a, x) : front * gamma_fraction(a, x);
}

double bl_chi2_sf(double x, double df)
{
    if (isnan(x) || !(df > 0))
        return NAN;
    return x <= 0 ? 1 : bl_gamma_q(0.5 * df, 0.5 * x);
}

double bl_signed_rank_cdf(double v, size_t n)
{
    if (isnan(v) || n == 0)
        return NAN;
    double count = (double)n;
    double top = count * (count + 1) / 2;
    if (v < 0 || v >= top)
        return v < 0 ? 0 : 1;
    if (n > BL_SIGNED_RANK_EXACT_MAX)
        return bl_normal_cdf((floor(v) + 0.5 - top / 2) / sqrt(count * (count + 1) * (2 * count + 1) / 24));
    double p[BL_SIGNED_RANK_EXACT_MAX * (BL_SIGNED_RANK_EXACT_MAX + 1) / 2 + 1];
    size_t ranks[BL_SIGNED_RANK_EXACT_MAX];
    for (size_t i = 0; i < n; i++)
        ranks[i] = i + 1;
    bl_signed_rank_pmf(ranks, n, p);
    double below = 0;
    for (size_t i = 0; i <= (size_t)v; i++)
        below += p[i];
    return below < 1 ? below : 1;
}
