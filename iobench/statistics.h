/* SPDX-License-Identifier: Apache-2.0
 *
 * The statistics of comparisons: Hodges-Lehmann estimates with exact rank intervals, verdicts, Benjamini-Hochberg marks. All
 * ratios are natural logarithms (0: no difference); where two sides change places, every result is negated exactly, since no
 * operation here prefers a sign. Pure functions: no input or output, no state, any thread.
 *
 * Sources: Hollander, Wolfe, Chicken, "Nonparametric Statistical Methods", 3rd ed., chapters 3 and 4 (signed rank, rank sum,
 * the estimates and the intervals that belong to them); Benjamini and Hochberg, J. R. Statist. Soc. B 57 (1995) 289.
 */
#ifndef CALF_IOBENCH_STATISTICS_H
#define CALF_IOBENCH_STATISTICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Beyond these the normal approximation stands in for the exact distribution: its error is then below a tenth of the level. */
enum { STATISTICS_EXACT_PAIRS = 64, STATISTICS_EXACT_SUM = 50 };

/* At most this many values a side are looked at, the first ones: the number of differences grows with the square. A result
 * has no more rounds (RESULT_ROUNDS). */
enum { STATISTICS_VALUES = 1000 };

/* Fewer pairs than this have no 95% interval: 2 / 2^5 is more than 5%. */
enum { STATISTICS_MIN_ROUNDS = 6 };

struct statistics_estimate {
    size_t count;      /* pairs, or the smaller side of an unpaired comparison; 0: nothing is known */
    bool interval;     /* low to high is the exact interval of at least 95%; otherwise the range of what was seen */
    double estimate;   /* log ratio */
    double low, high;  /* log ratios */
    double confidence; /* that the interval really has, 0.95 or a little more; 0 without one */
    double p;          /* two-sided, exact; 1 if count is 0 */
};

enum statistics_verdict {
    VERDICT_NONE,    /* no interval: too few rounds */
    VERDICT_SAME,    /* interval inside 98 to 102% */
    VERDICT_SLOWER,  /* interval below 100% and estimate at most 98% */
    VERDICT_FASTER,  /* interval above 100% and estimate at least 102% */
    VERDICT_UNCLEAR, /* all else */
    VERDICTS
};

/* One log ratio for each round: median of the Walsh averages, interval and p of the Wilcoxon signed-rank test. */
struct statistics_estimate statistics_paired(const double *log_ratios, size_t count);

/* Two sets of logarithms without pairs: median of all differences (ours - theirs), interval and p of the Mann-Whitney
 * rank-sum test. */
struct statistics_estimate statistics_unpaired(const double *ours, size_t our_count, const double *theirs,
                                               size_t their_count);

/* In the order of the enumeration: the first that holds. */
enum statistics_verdict statistics_verdict(const struct statistics_estimate *estimate);

/* "same", "slower", "faster", "unclear", "too few rounds". */
const char *statistics_verdict_name(enum statistics_verdict verdict);

/* How many more rounds would probably make an unclear verdict clear, if the estimate stays and the interval shrinks with the
 * root of the rounds: 0 if it is clear already, STATISTICS_HOPELESS if there would have to be more than that. */
enum { STATISTICS_HOPELESS = 1000 };
uint32_t statistics_rounds_needed(const struct statistics_estimate *estimate);

/* Marks the hypotheses that survive at false discovery rate `rate`, e.g. 0.05. */
void statistics_benjamini_hochberg(const double *p, size_t count, double rate, bool *survives);

/* The smallest two-sided p that the signed-rank test can give for so many rounds. */
double statistics_smallest_p(size_t rounds);

/* Median of values, which are reordered; the mean of the middle two for an even count. count > 0. */
double statistics_median(double *values, size_t count);

/* Median absolute deviation from the median; values are reordered. 0 for count < 2. */
double statistics_spread(double *values, size_t count);

#endif
