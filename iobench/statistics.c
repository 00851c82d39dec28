/* SPDX-License-Identifier: Apache-2.0 */
#include "iobench/statistics.h"

#include <math.h>
#include <stdlib.h>

#include "common/check.h"
#include "common/scope.h"

static const double level = 0.05; /* two-sided */

/* Quantile of the normal distribution for that level. */
static const double normal_quantile = 1.959963984540054;

/* The value that would stand at index k if the values were sorted; reorders them so that none before it is larger and none
 * behind it smaller (Hoare's selection). Sorting all differences would take most of the time of a comparison. */
static double select_value(double *values, size_t count, size_t k)
{
    ptrdiff_t low = 0, high = (ptrdiff_t)count - 1;
    while (low < high) {
        double pivot = values[low + (high - low) / 2]; /* never the last one, so that both parts are shorter */
        ptrdiff_t i = low - 1, j = high + 1;
        for (;;) {
            while (values[++i] < pivot) {
            }
            while (values[--j] > pivot) {
            }
            if (i >= j)
                break;
            double swapped = values[i];
            values[i] = values[j];
            values[j] = swapped;
        }
        if ((ptrdiff_t)k <= j)
            high = j;
        else
            low = j + 1;
    }
    return values[k];
}

double statistics_median(double *values, size_t count)
{
    double upper = select_value(values, count, count / 2);
    return count % 2 ? upper : (select_value(values, count, count / 2 - 1) + upper) / 2;
}

double statistics_spread(double *values, size_t count)
{
    if (count < 2)
        return 0;
    double median = statistics_median(values, count);
    for (size_t i = 0; i < count; i++)
        values[i] = fabs(values[i] - median);
    return statistics_median(values, count);
}

/* A rank statistic: integer values 0..max, symmetric about max / 2 if there is no difference. */
struct rank_statistic {
    size_t max;
    double *cumulative; /* [v] = P(statistic <= v); owned; NULL: use the normal approximation */
    double mean, deviation;
};

static void accumulate(struct rank_statistic *rank, double scale)
{
    double sum = 0;
    for (size_t v = 0; v <= rank->max; v++) {
        sum += rank->cumulative[v] * scale;
        rank->cumulative[v] = sum < 1 ? sum : 1;
    }
}

/* Signed rank: each rank 1..count is in the sum with probability 1/2. */
static struct rank_statistic signed_rank(size_t count)
{
    double n = (double)count;
    struct rank_statistic rank = {.max = count * (count + 1) / 2};
    rank.mean = n * (n + 1) / 4;
    rank.deviation = sqrt(n * (n + 1) * (2 * n + 1) / 24);
    if (count > STATISTICS_EXACT_PAIRS)
        return rank;
    rank.cumulative = check_alloc(calloc(rank.max + 1, sizeof *rank.cumulative));
    rank.cumulative[0] = 1;
    for (size_t r = 1, top = 0; r <= count; r++) {
        top += r;
        for (size_t v = top + 1; v-- > 0;)
            rank.cumulative[v] = (rank.cumulative[v] + (v >= r ? rank.cumulative[v - r] : 0)) / 2;
    }
    accumulate(&rank, 1);
    return rank;
}

/* Rank sum: the number of pairs in which ours is larger. Its counts are the coefficients of the Gaussian binomial
 * (product of (1 - q^(b+i)) / (1 - q^i) for i = 1..a), whole numbers below 2^53 as long as a + b <= STATISTICS_EXACT_SUM. */
static struct rank_statistic rank_sum(size_t a, size_t b)
{
    double x = (double)a, y = (double)b;
    struct rank_statistic rank = {.max = a * b};
    rank.mean = x * y / 2;
    rank.deviation = sqrt(x * y * (x + y + 1) / 12);
    if (a + b > STATISTICS_EXACT_SUM)
        return rank;
    rank.cumulative = check_alloc(calloc(rank.max + 1, sizeof *rank.cumulative));
    rank.cumulative[0] = 1;
    double total = 1;
    for (size_t i = 1; i <= a; i++) {
        for (size_t v = rank.max; v >= b + i; v--)
            rank.cumulative[v] -= rank.cumulative[v - b - i];
        for (size_t v = i; v <= rank.max; v++)
            rank.cumulative[v] += rank.cumulative[v - i];
        total = total * (double)(b + i) / (double)i;
    }
    accumulate(&rank, 1 / total);
    return rank;
}

/* P(statistic <= v). */
static double probability_up_to(const struct rank_statistic *rank, size_t v)
{
    if (v >= rank->max)
        return 1;
    if (rank->cumulative)
        return rank->cumulative[v];
    return erfc((rank->mean - 0.5 - (double)v) / (rank->deviation * sqrt(2))) / 2;
}

/* How many of the sorted differences are cut at either end: the largest k with 2 P(statistic <= k - 1) <= level. */
static size_t interval_cut(const struct rank_statistic *rank)
{
    size_t k = 0;
    if (!rank->cumulative) {
        double cut = floor(rank->mean + 0.5 - normal_quantile * rank->deviation);
        return cut > 0 ? (size_t)cut : 0;
    }
    while (k < rank->max / 2 && 2 * rank->cumulative[k] <= level)
        k++;
    return k;
}

/* Twice the smaller tail. The statistic is the number of differences above 0; those equal to 0 count one half each, and half
 * a step is rounded towards the middle, so that ties never make p smaller. */
static double two_sided_p(const struct rank_statistic *rank, const double *differences)
{
    size_t above = 0, below = 0;
    for (size_t i = 0; i < rank->max; i++) {
        above += differences[i] > 0;
        below += differences[i] < 0;
    }
    size_t equal = rank->max - above - below;
    size_t smaller = (above < below ? above : below) + (equal + 1) / 2;
    double p = 2 * probability_up_to(rank, smaller);
    return p < 1 ? p : 1;
}

/* From all rank->max differences (Walsh averages or shifts), which it reorders. */
static struct statistics_estimate from_differences(const struct rank_statistic *rank, double *differences, size_t count)
{
    size_t total = rank->max;
    struct statistics_estimate e = {.count = count};
    e.estimate = statistics_median(differences, total);
    size_t cut = interval_cut(rank);
    e.interval = cut > 0;
    e.low = select_value(differences, total, e.interval ? cut - 1 : 0);
    e.high = select_value(differences, total, e.interval ? total - cut : total - 1);
    e.confidence = e.interval ? 1 - 2 * probability_up_to(rank, cut - 1) : 0;
    e.p = two_sided_p(rank, differences);
    return e;
}

static const struct statistics_estimate nothing = {.p = 1};

struct statistics_estimate statistics_paired(const double *log_ratios, size_t count)
{
    if (count == 0)
        return nothing;
    if (count > STATISTICS_VALUES)
        count = STATISTICS_VALUES;
    struct rank_statistic rank = signed_rank(count);
    SCOPE_FREE double *walsh = check_alloc(malloc(rank.max * sizeof *walsh));
    size_t used = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t j = i; j < count; j++)
            walsh[used++] = (log_ratios[i] + log_ratios[j]) / 2;
    struct statistics_estimate estimate = from_differences(&rank, walsh, count);
    free(rank.cumulative);
    return estimate;
}

struct statistics_estimate statistics_unpaired(const double *ours, size_t our_count, const double *theirs,
                                               size_t their_count)
{
    if (our_count == 0 || their_count == 0)
        return nothing;
    if (our_count > STATISTICS_VALUES)
        our_count = STATISTICS_VALUES;
    if (their_count > STATISTICS_VALUES)
        their_count = STATISTICS_VALUES;
    struct rank_statistic rank = rank_sum(our_count, their_count);
    SCOPE_FREE double *shifts = check_alloc(malloc(rank.max * sizeof *shifts));
    size_t used = 0;
    for (size_t i = 0; i < our_count; i++)
        for (size_t j = 0; j < their_count; j++)
            shifts[used++] = ours[i] - theirs[j];
    size_t smaller = our_count < their_count ? our_count : their_count;
    struct statistics_estimate estimate = from_differences(&rank, shifts, smaller);
    free(rank.cumulative);
    return estimate;
}

double statistics_smallest_p(size_t rounds)
{
    return rounds == 0 ? 1 : ldexp(2, rounds < 1000 ? -(int)rounds : -1000);
}

enum statistics_verdict statistics_verdict(const struct statistics_estimate *e)
{
    const double low_same = log(0.98), high_same = log(1.02);
    if (e->count == 0 || !e->interval)
        return VERDICT_NONE;
    if (e->low >= low_same && e->high <= high_same)
        return VERDICT_SAME;
    if (e->high < 0 && e->estimate <= low_same)
        return VERDICT_SLOWER;
    if (e->low > 0 && e->estimate >= high_same)
        return VERDICT_FASTER;
    return VERDICT_UNCLEAR;
}

const char *statistics_verdict_name(enum statistics_verdict verdict)
{
    static const char *const names[VERDICTS] = {"too few rounds", "same", "slower", "faster", "unclear"};
    return (unsigned)verdict < VERDICTS ? names[verdict] : "unclear";
}

uint32_t statistics_rounds_needed(const struct statistics_estimate *e)
{
    const double low_same = log(0.98), high_same = log(1.02);
    if (statistics_verdict(e) == VERDICT_NONE)
        return e->count < STATISTICS_MIN_ROUNDS ? (uint32_t)(STATISTICS_MIN_ROUNDS - e->count) : 1;
    if (statistics_verdict(e) != VERDICT_UNCLEAR)
        return 0;
    double margin; /* how far either end may be from the estimate for a clear verdict */
    if (e->estimate <= low_same || e->estimate >= high_same)
        margin = fabs(e->estimate);
    else
        margin = fmin(e->estimate - low_same, high_same - e->estimate);
    double half_width = fmax(e->high - e->estimate, e->estimate - e->low);
    double now = (double)e->count, factor = half_width / margin;
    if (!(factor * factor * now < now + STATISTICS_HOPELESS))
        return STATISTICS_HOPELESS;
    double more = ceil(factor * factor * now - now);
    return more > 1 ? (uint32_t)more : 1;
}

static int by_pointed_value(const void *a, const void *b)
{
    double x = **(const double *const *)a, y = **(const double *const *)b;
    return (x > y) - (x < y);
}

void statistics_benjamini_hochberg(const double *p, size_t count, double rate, bool *survives)
{
    if (count == 0)
        return;
    SCOPE_FREE const double **sorted = check_alloc(malloc(count * sizeof *sorted));
    for (size_t i = 0; i < count; i++)
        sorted[i] = &p[i];
    qsort(sorted, count, sizeof *sorted, by_pointed_value);
    double limit = -1; /* the largest p that still lies under the line */
    for (size_t k = 1; k <= count; k++)
        if (*sorted[k - 1] <= rate * (double)k / (double)count)
            limit = *sorted[k - 1];
    for (size_t i = 0; i < count; i++)
        survives[i] = p[i] <= limit;
}
