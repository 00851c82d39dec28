/* SPDX-License-Identifier: Apache-2.0 */
#include "iobench/sweep_adaptive.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "iobench/compare.h"
#include "iobench/text_print.h"

struct sweep_adaptive sweep_adaptive_look(const struct result *r)
{
    struct sweep_adaptive look = {0};
    struct comparison c;
    char why[256];
    if (compare_init(&c, &r, 1, NULL, why, sizeof why) != 0)
        return look;
    for (size_t i = 0; i < c.cell_count; i++) {
        for (size_t arm = 0; arm < c.arm_count; arm++) {
            const struct compare_ratio *ratio = &c.cells[i].ratios[arm];
            if (arm == c.baseline || !ratio->present)
                continue;
            double width = ratio->rate.interval ? 100 * (exp(ratio->rate.high) - exp(ratio->rate.low)) : INFINITY;
            look.cells++;
            look.narrow += width <= r->until_width_hundredths / 100.0;
            if (width > look.widest_percent)
                look.widest_percent = width;
        }
    }
    compare_fini(&c);
    return look;
}

bool sweep_adaptive_enough(const struct sweep_adaptive *look)
{
    return look->narrow == look->cells;
}

static const uint32_t usual_max_rounds = 30;

/* Hundredths of a percent, 0 for what is none. */
static uint32_t parse_width(const char *text)
{
    char *end;
    double percent = strtod(text, &end);
    bool good = end != text && (*end == '\0' || strcmp(end, "%") == 0) && percent >= 0.01 && percent <= 100;
    return good ? (uint32_t)(percent * 100 + 0.5) : 0;
}

int sweep_adaptive_configure(const char *until_width, uint32_t max_rounds, struct result *config, char *why, size_t why_bytes)
{
    if (until_width && parse_width(until_width) == 0) {
        text_print(why, why_bytes, "--until-width needs a percentage from 0.01 to 100, not '%.40s'", until_width);
        return -EINVAL;
    }
    if (until_width)
        config->until_width_hundredths = parse_width(until_width);
    if (max_rounds > 0)
        config->max_rounds = max_rounds;
    if (config->until_width_hundredths == 0 && config->max_rounds == 0)
        return 0;
    if (config->max_rounds == 0)
        config->max_rounds = usual_max_rounds > config->rounds_planned ? usual_max_rounds : config->rounds_planned;
    const char *reason = NULL;
    if (config->until_width_hundredths == 0)
        reason = "--max-rounds goes with --until-width; without it, give --rounds";
    else if (config->max_rounds < config->rounds_planned)
        reason = "--max-rounds is less than the rounds that are run anyway";
    else if (config->scenario_count < 2)
        reason = "--until-width needs a second scenario to compare with, or --aa";
    if (!reason)
        return 0;
    text_print(why, why_bytes, "%s", reason);
    return -EINVAL;
}
