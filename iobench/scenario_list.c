/* SPDX-License-Identifier: Apache-2.0 */
#include "iobench/scenario_list.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "iobench/text_print.h"

static const char name_characters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
static const char a_a_suffix[] = ".aa";

/* Relative paths are made absolute at once: what was measured must not depend on where a later reader stands. */
static int make_absolute(const char *path, char absolute[RESULT_TEXT])
{
    char here[PATH_MAX] = "";
    if (path[0] != '/' && !getcwd(here, sizeof here))
        return -errno;
    int length = snprintf(absolute, RESULT_TEXT, "%s%s%s", here, here[0] ? "/" : "", path);
    return length < 0 || length >= RESULT_TEXT ? -ENAMETOOLONG : 0;
}

int scenario_list_mount_of(const char *state, const char *name, char directory[RESULT_TEXT])
{
    /* The mount table knows the real path; a state directory that is not there yet has none. */
    char real[PATH_MAX], base[RESULT_TEXT];
    if (make_absolute(realpath(state, real) ? real : state, base) < 0)
        return -EINVAL;
    int length = snprintf(directory, RESULT_TEXT, "%s/%s/mnt", base, name);
    return length < 0 || length >= RESULT_TEXT ? -EINVAL : 0;
}

static int refuse(char why[SWEEP_OPTIONS_WHY], const char *name, const char *reason)
{
    text_print(why, SWEEP_OPTIONS_WHY, "scenario '%.64s': %s", name, reason);
    return -EINVAL;
}

static int add(struct result *config, const char *name, const char *directory, char why[SWEEP_OPTIONS_WHY])
{
    size_t length = strlen(name);
    if (length == 0 || length >= RESULT_NAME - sizeof a_a_suffix || strspn(name, name_characters) != length ||
        name[0] == '.' || name[0] == '-')
        return refuse(why, name, "a name is up to 59 letters, digits, and . _ - (not first)");
    for (uint32_t i = 0; i < config->scenario_count; i++)
        if (strcmp(config->scenarios[i].name, name) == 0)
            return refuse(why, name, "the same name twice");
    if (config->scenario_count == RESULT_SCENARIOS)
        return refuse(why, name, "too many scenarios (16 at most)");
    struct scenario_info *info = &config->scenarios[config->scenario_count];
    memset(info, 0, sizeof *info);
    text_print(info->name, sizeof info->name, "%s", name);
    if (make_absolute(directory, info->directory) < 0)
        return refuse(why, name, "its directory's path is too long (255 bytes at most)");
    config->scenario_count++;
    return 0;
}

/* "/run/calf/bare/mnt" is "bare", "/srv/data" is "data". */
static void name_of_directory(const char *directory, char name[RESULT_NAME])
{
    char real[PATH_MAX];
    text_print(real, sizeof real, "%s", directory);
    if (!realpath(directory, real))
        text_print(real, sizeof real, "%s", directory);
    char *slash = strrchr(real, '/');
    if (slash && strcmp(slash, "/mnt") == 0 && slash != real) {
        *slash = '\0';
        slash = strrchr(real, '/');
    }
    const char *last = slash ? slash + 1 : real;
    text_print(name, RESULT_NAME - sizeof a_a_suffix, "%s", last[0] ? last : "root");
    for (char *c = name; *c; c++)
        if (!strchr(name_characters, *c) || (c == name && (*c == '.' || *c == '-')))
            *c = '_';
}

static int add_entry(const struct sweep_options *o, struct result *config, char *entry,
                     char why[SWEEP_OPTIONS_WHY])
{
    char mount[RESULT_TEXT];
    char *equals = strchr(entry, '=');
    if (equals) {
        *equals = '\0';
        if (!equals[1])
            return refuse(why, entry, "no directory after '='");
        return add(config, entry, equals + 1, why);
    }
    if (strchr(entry, '/'))
        return refuse(why, entry, "a directory needs a name: NAME=DIR");
    if (scenario_list_mount_of(o->state, entry, mount) < 0)
        return refuse(why, entry, "the path of --state is too long");
    return add(config, entry, mount, why);
}

static int add_list(const struct sweep_options *o, struct result *config, char why[SWEEP_OPTIONS_WHY])
{
    char *copy = strdup(o->scenarios), *rest = NULL;
    int rc = copy ? 0 : -ENOMEM;
    for (char *entry = copy ? strtok_r(copy, ",", &rest) : NULL; entry && rc == 0;
         entry = strtok_r(NULL, ",", &rest))
        rc = add_entry(o, config, entry, why);
    free(copy);
    if (rc == 0 && config->scenario_count == 0) {
        text_print(why, SWEEP_OPTIONS_WHY, "--scenarios names none");
        return -EINVAL;
    }
    return rc;
}

static int add_a_a_arm(struct result *config, char why[SWEEP_OPTIONS_WHY])
{
    char name[RESULT_NAME];
    const struct scenario_info *baseline = &config->scenarios[0];
    text_print(name, sizeof name, "%.*s%s", (int)(sizeof name - sizeof a_a_suffix), baseline->name, a_a_suffix);
    if (config->scenario_count == RESULT_SCENARIOS)
        return refuse(why, name, "too many scenarios (16 at most)");
    struct scenario_info *arm = &config->scenarios[config->scenario_count++];
    *arm = *baseline;
    text_print(arm->name, sizeof arm->name, "%s", name);
    arm->a_a_arm = true;
    return 0;
}

int scenario_list_parse(const struct sweep_options *o, struct result *config, char why[SWEEP_OPTIONS_WHY])
{
    config->scenario_count = 0;
    if (!o->directory == !o->scenarios) {
        text_print(why, SWEEP_OPTIONS_WHY,
                   o->directory ? "give either DIR or --scenarios, not both"
                                : "give a directory, or --scenarios A,B=DIR,...");
        return -EINVAL;
    }
    int rc;
    if (o->directory) {
        char name[RESULT_NAME];
        name_of_directory(o->directory, name);
        rc = add(config, name, o->directory, why);
    } else {
        rc = add_list(o, config, why);
    }
    return rc == 0 && o->a_a ? add_a_a_arm(config, why) : rc;
}
