/* SPDX-License-Identifier: Apache-2.0 */
#include "iobench/result_input.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "common/check.h"
#include "iobench/csv_import.h"
#include "iobench/result_file.h"

int result_input_read(struct result_input *input, char **paths, const char *program)
{
    for (input->count = 0; paths[input->count];) {
        CHECK(input->count < RESULT_INPUT_COUNT);
        const char *path = paths[input->count];
        size_t length = strlen(path);
        bool csv = length > 4 && strcasecmp(path + length - 4, ".csv") == 0;
        struct result *r = &input->results[input->count];
        char why[RESULT_FILE_WHY];
        input->list[input->count++] = r;
        result_init(r);
        int error = csv ? csv_import_read(path, r, why, sizeof why) : result_file_read(path, r, why, sizeof why);
        if (error != 0) {
            fprintf(stderr, "%s: %s\n", program, why);
            return -EINVAL;
        }
    }
    return 0;
}

void result_input_fini(struct result_input *input)
{
    for (size_t i = 0; i < input->count; i++)
        result_fini(&input->results[i]);
    input->count = 0;
}
