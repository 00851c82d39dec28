/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as results.json and as a CSV of earlier figures: each is refused with a reason of one line, or is a result that can
 * be compared, printed in every form and written, and that reads back as itself.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "common/check.h"
#include "fuzz_seed.h"
#include "iobench/compare_export.h"
#include "iobench/csv_import.h"
#include "iobench/report.h"
#include "iobench/result_json.h"
#include "iobench/table.h"
#include "tests/unit/synthetic_result.h"

enum { WHY = 512, INPUT_LIMIT = 1 << 16 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);
int LLVMFuzzerInitialize(int *argc, char ***argv);

/* The whole text of a result; the caller frees. */
static char *text_of(const struct result *r, size_t *bytes)
{
    int fd = memfd_create("result", MFD_CLOEXEC);
    CHECK(fd >= 0 && result_json_write(r, fd) == 0);
    *bytes = (size_t)lseek(fd, 0, SEEK_END);
    char *text = check_alloc(malloc(*bytes + 1));
    CHECK(pread(fd, text, *bytes, 0) == (ssize_t)*bytes);
    (void)close(fd);
    return text;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    static const char csv[] = "1deployment,test,block_bytes,threads,mb_per_s\nbare,write,4096,1,12.5\nother,write,4096,1,11\n";
    struct synthetic_plan plan = {.scenarios = 5, .blocks = 1, .threads = 1, .rounds = 2, .loss = 0.1, .noise = 0.1, .seed = 1};
    struct result *r = check_alloc(calloc(1, sizeof *r));
    size_t bytes;
    result_init(r);
    synthetic_result(r, &plan);
    char *text = text_of(r, &bytes), *seed = check_alloc(malloc(bytes + 1));
    seed[0] = '0';
    memcpy(seed + 1, text, bytes);
    fuzz_seed(*argc, *argv, "json", seed, bytes + 1);
    /* Without its checksum, so that changes get further. */
    char *checksum = memmem(seed, bytes + 1, ",\n\"fnv1a64\"", 11);
    CHECK(checksum != NULL);
    strcpy(checksum, "}");
    fuzz_seed(*argc, *argv, "json-plain", seed, (size_t)(checksum - seed) + 1);
    fuzz_seed(*argc, *argv, "csv", csv, sizeof csv - 1);
    free(seed);
    free(text);
    result_fini(r);
    free(r);
    return 0;
}

static void use(const struct result *r)
{
    static FILE *nowhere;
    struct comparison c;
    char why[WHY];
    if (!nowhere)
        nowhere = fopen("/dev/null", "w");
    CHECK(nowhere != NULL);
    if (compare_init(&c, &r, 1, NULL, why, sizeof why) != 0)
        return;
    for (unsigned markdown = 0; markdown < 2; markdown++)
        table_print_comparison(nowhere, &c, &(struct table_style){.markdown = markdown, .color = true, .unit = TABLE_CHANGE});
    compare_export_json(nowhere, &c);
    compare_export_csv(nowhere, &c);
    report_print(nowhere, &c);
    compare_fini(&c);
}

/* What was read can be written, and reads back as the same text. */
static void read_back(const struct result *r)
{
    struct result *again = check_alloc(calloc(1, sizeof *again));
    size_t bytes, again_bytes;
    char why[WHY], *text = text_of(r, &bytes);
    result_init(again);
    CHECK(result_json_read(text, bytes, again, why, sizeof why) == 0);
    char *again_text = text_of(again, &again_bytes);
    CHECK(bytes == again_bytes && memcmp(text, again_text, bytes) == 0);
    free(again_text);
    free(text);
    result_fini(again);
    free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    if (bytes == 0 || bytes > INPUT_LIMIT)
        return 0;
    bool csv = data[0] & 1;
    char why[WHY] = "", *text = check_alloc(malloc(bytes));
    memcpy(text, data + 1, bytes - 1);
    text[bytes - 1] = '\0';
    struct result *r = check_alloc(calloc(1, sizeof *r));
    result_init(r);
    int rc = csv ? csv_import_text(text, bytes - 1, r, why, sizeof why) : result_json_read(text, bytes - 1, r, why, sizeof why);
    if (rc == 0) {
        use(r);
        if (!csv)
            read_back(r);
    } else {
        CHECK(why[0] != '\0' && strchr(why, '\n') == NULL);
    }
    result_fini(r);
    free(r);
    free(text);
    return 0;
}
