/* SPDX-License-Identifier: Apache-2.0
 *
 * Random operations on files of a mount, compared with a model in memory. A list that shows a difference is made shorter as
 * long as it still does, and printed.
 *
 *     model DIR [DIR2] [--ops N] [--seed N] [--seeds N] [--no-direct]
 *
 * DIR2: the same directory through a second mount. The last line is "N seeds, N operations, no difference"; exit status 0.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/check.h"
#include "common/options.h"
#include "tests/model/model_run.h"

static uint64_t seed = 1, seeds = 1, ops_count = 2000;
static bool no_direct;

static void print_op(const struct model_op *op)
{
    printf("  %-12s f%u f%u mount %u offset %u length %u fill %u\n", model_kind_name(op->kind), op->a, op->b, op->mount,
           op->offset, op->length, op->fill);
}

/* Leaves out ever smaller parts of the list, as long as what is left still fails; the list is changed in place. */
static size_t shrink(const struct model_place *place, struct model_op *ops, size_t count, char why[MODEL_WHY])
{
    struct model_op *trial = check_alloc(malloc((count + 1) * sizeof *trial));
    char trial_why[MODEL_WHY];
    size_t failed_at;
    for (size_t part = count / 2; part > 0; part /= 2)
        for (size_t from = 0; from < count;) {
            size_t left_out = part < count - from ? part : count - from;
            memcpy(trial, ops, from * sizeof *ops);
            memcpy(trial + from, ops + from + left_out, (count - from - left_out) * sizeof *ops);
            if (model_run(place, trial, count - left_out, trial_why, &failed_at)) {
                count -= left_out;
                memcpy(ops, trial, count * sizeof *ops);
                memcpy(why, trial_why, MODEL_WHY);
            } else {
                from += part;
            }
        }
    free(trial);
    return count;
}

static int run_seed(const struct model_place *place, uint64_t number)
{
    struct model_op *ops = check_alloc(malloc(ops_count * sizeof *ops));
    char why[MODEL_WHY];
    size_t failed_at;
    for (uint64_t i = 0; i < ops_count; i++) {
        ops[i] = model_draw(number, i);
        ops[i].mount = place->two ? ops[i].mount : 0;
    }
    int rc = model_run(place, ops, ops_count, why, &failed_at);
    if (rc) {
        printf("seed %llu, operation %zu: %s\n", (unsigned long long)number, failed_at, why);
        size_t count = shrink(place, ops, failed_at < ops_count ? failed_at + 1 : ops_count, why);
        printf("as few operations as show a difference (%s):\n", why);
        for (size_t i = 0; i < count; i++)
            print_op(&ops[i]);
    }
    free(ops);
    return rc;
}

int main(int argc, char **argv)
{
    static const struct option_row rows[] = {
        {.name = "ops", .kind = OPTION_NUMBER, .argument = "N", .help = "operations of a seed (default 2000)",
         .target = &ops_count, .min = 1, .max = 10000000},
        {.name = "seed", .kind = OPTION_NUMBER, .argument = "N", .help = "the first seed (default 1)", .target = &seed},
        {.name = "seeds", .kind = OPTION_NUMBER, .argument = "N", .help = "how many seeds (default 1)",
         .target = &seeds, .min = 1},
        {.name = "no-direct", .kind = OPTION_FLAG, .help = "without O_DIRECT", .target = &no_direct},
        {.name = NULL},
    };
    static const struct options options = {
        .program = "model", .usage = "DIR [DIR2] [options]", .about = "Compares a file system with a model in memory.",
        .rows = rows, .positional_min = 1, .positional_max = 2,
    };
    char **positional;
    int rc = options_parse(&options, argc, argv, &positional);
    if (rc != OPTIONS_GO_ON)
        return rc == OPTIONS_DONE ? 0 : 2;
    struct model_place place = {.mounts = {positional[0], positional[1] ? positional[1] : positional[0]},
                                .two = positional[1] != NULL, .direct = !no_direct};
    for (uint64_t i = 0; i < seeds; i++)
        if (run_seed(&place, seed + i))
            return 1;
    printf("%llu seeds, %llu operations, no difference\n", (unsigned long long)seeds,
           (unsigned long long)(seeds * ops_count));
    return 0;
}
