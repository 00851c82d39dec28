/* SPDX-License-Identifier: Apache-2.0 */
#include "client/admin_files.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include "client/admin_table.h"
#include "common/check.h"
#include "common/scope.h"
#include "common/wire_schema.h"

#define GOAL "user.calf.goal"
#define CHUNKS "user.calf.chunks"
#define VERIFY "user.calf.verify"

/* A path that is wrong is the caller's fault; anything else is the cluster's. */
static int complain_about(const char *path, int error)
{
    switch (error) {
    case ENODATA:
    case EOPNOTSUPP:
        return admin_complain(ADMIN_WRONG, "%s: not on a calf mount", path);
    case ENOENT:
    case ENOTDIR:
    case EACCES:
    case ELOOP:
    case ENAMETOOLONG:
        return admin_complain(ADMIN_WRONG, "%s: %s", path, strerror(error));
    }
    return admin_complain(ADMIN_FAILED, "%s: %s", path, strerror(error));
}

/* The attribute's text, the caller's; or complains and returns NULL with *status set. */
static char *get_text(const char *path, const char *name, int *status)
{
    char *text = check_alloc(malloc(WIRE_XATTR_LIMIT + 1));
    ssize_t n = getxattr(path, name, text, WIRE_XATTR_LIMIT);
    if (n < 0) {
        *status = complain_about(path, errno);
        free(text);
        return NULL;
    }
    text[n] = '\0';
    return text;
}

unsigned admin_files_goal(const char *path, int *status)
{
    uint64_t goal;
    SCOPE_FREE char *text = get_text(path, GOAL, status);
    if (!text)
        return 0;
    if (units_parse_number(text, 1, WIRE_COPIES_LIMIT, &goal) < 0) {
        *status = admin_complain(ADMIN_FAILED, "%s: its goal is '%s', which is no number of copies", path, text);
        return 0;
    }
    return (unsigned)goal;
}

int admin_files_copies(const char *path)
{
    char text[16];
    uint64_t goal;
    ssize_t n = getxattr(path, GOAL, text, sizeof text - 1);
    if (n < 0)
        return -errno;
    text[n] = '\0';
    return units_parse_number(text, 1, WIRE_COPIES_LIMIT, &goal) < 0 ? -EINVAL : (int)goal;
}

int admin_files_get_goal(const struct admin *admin, char **arguments)
{
    int status = ADMIN_DONE;
    unsigned goal = admin_files_goal(arguments[0], &status);
    if (goal == 0)
        return status;
    if (admin->json) {
        json_t *value = json_pack("{s:s, s:i}", "path", arguments[0], "goal", (int)goal);
        (void)json_dumpf(value, admin->out, JSON_INDENT(2));
        fputc('\n', admin->out);
        json_decref(value);
    } else {
        fprintf(admin->out, "%u\n", goal);
    }
    return ADMIN_DONE;
}

int admin_files_set_goal(const struct admin *admin, char **arguments)
{
    uint64_t goal;
    int worst = ADMIN_DONE, status = ADMIN_DONE;
    char text[8];
    (void)admin;
    if (units_parse_number(arguments[0], 1, WIRE_COPIES_LIMIT, &goal) < 0)
        return admin_complain(ADMIN_WRONG, "%s: not a number of copies (1 to %d)", arguments[0], WIRE_COPIES_LIMIT);
    (void)snprintf(text, sizeof text, "%" PRIu64, goal);
    for (char **path = arguments + 1; *path; path++) {
        /* Elsewhere, setting it would leave an attribute that means nothing. */
        if (admin_files_goal(*path, &status) && setxattr(*path, GOAL, text, strlen(text), 0) < 0)
            status = complain_about(*path, errno);
        if (status > worst)
            worst = status;
    }
    return worst;
}

/* ---- chunks ---- */

struct copy {
    json_int_t index, id, version, server, port;
    const char *host, *state;
};

/* One element of the attribute. Without a server: a chunk that has no copy. */
static bool parse_copy(json_t *element, struct copy *copy)
{
    *copy = (struct copy){.host = "", .state = "no copy"};
    return json_unpack(element, "{s:I, s:I, s:I, s?I, s?s, s?I, s?s}", "index", &copy->index, "id", &copy->id,
                       "version", &copy->version, "server", &copy->server, "host", &copy->host, "port", &copy->port,
                       "state", &copy->state) == 0 &&
           strlen(copy->host) <= HOST_LIMIT;
}

static size_t count_chunks(json_t *copies)
{
    size_t i, count = 0;
    json_int_t last = -1;
    json_t *element;
    json_array_foreach(copies, i, element)
    {
        json_int_t index = json_integer_value(json_object_get(element, "index"));
        count += index != last;
        last = index;
    }
    return count;
}

static int add_text_row(struct admin_table *table, json_t *element, json_int_t *last)
{
    struct copy copy;
    char text[ADDRESS_TEXT];
    struct address address;
    if (!parse_copy(element, &copy))
        return -EINVAL;
    if (copy.index == *last) {
        for (int i = 0; i < 3; i++)
            admin_table_cell(table, "%s", "");
    } else {
        admin_table_cell(table, "%" JSON_INTEGER_FORMAT, copy.index);
        admin_table_cell(table, "%" JSON_INTEGER_FORMAT, copy.id);
        admin_table_cell(table, "%" JSON_INTEGER_FORMAT, copy.version);
    }
    *last = copy.index;
    if (copy.server) {
        (void)snprintf(address.host, sizeof address.host, "%s", copy.host);
        address.port = (uint16_t)copy.port;
        admin_table_cell(table, "%" JSON_INTEGER_FORMAT, copy.server);
        admin_table_cell(table, "%s", units_format_address(&address, text));
    } else {
        admin_table_cell(table, "-");
        admin_table_cell(table, "-");
    }
    admin_table_cell(table, "%s", copy.state);
    return 0;
}

static int print_text(const struct admin *admin, const char *path, uint64_t size, unsigned goal, json_t *copies)
{
    static const char *const titles[] = {"chunk", "id", "version", "server", "address", "state"};
    struct admin_table table;
    char text[UNITS_TEXT];
    json_int_t last = -1;
    size_t i;
    json_t *element;
    int rc = 0;
    admin_table_init(&table, "rrrrll");
    for (size_t k = 0; k < sizeof titles / sizeof *titles; k++)
        admin_table_cell(&table, "%s", titles[k]);
    json_array_foreach(copies, i, element)
    {
        if (rc == 0)
            rc = add_text_row(&table, element, &last);
    }
    if (rc == 0) {
        fprintf(admin->out, "%s: %s, goal %u, %zu chunks\n", path, units_format_bytes(size, text), goal,
                count_chunks(copies));
        if (json_array_size(copies))
            admin_table_print(&table, 2, admin->out);
    }
    admin_table_fini(&table);
    return rc;
}

static json_t *copy_json(const struct copy *copy)
{
    return json_pack("{s:I, s:s, s:I, s:s}", "server", copy->server, "host", copy->host, "port", copy->port, "state",
                     copy->state);
}

/* {"path", "size", "goal", "chunks": [{"index", "id", "version", "copies": [{"server", "host", "port",
 * "state"}]}]} */
static int print_json(const struct admin *admin, const char *path, uint64_t size, unsigned goal, json_t *copies)
{
    json_t *chunks = json_array(), *chunk = NULL, *element;
    json_int_t last = -1;
    size_t i;
    int rc = 0;
    json_array_foreach(copies, i, element)
    {
        struct copy copy;
        if (!parse_copy(element, &copy)) {
            rc = -EINVAL;
            break;
        }
        if (copy.index != last) {
            chunk = json_pack("{s:I, s:I, s:I, s:[]}", "index", copy.index, "id", copy.id, "version", copy.version,
                              "copies");
            (void)json_array_append_new(chunks, chunk);
        }
        last = copy.index;
        if (copy.server)
            (void)json_array_append_new(json_object_get(chunk, "copies"), copy_json(&copy));
    }
    json_t *all = json_pack("{s:s, s:I, s:i, s:o}", "path", path, "size", (json_int_t)size, "goal", (int)goal, "chunks",
                            chunks);
    if (rc == 0 && all) {
        (void)json_dumpf(all, admin->out, JSON_INDENT(2));
        fputc('\n', admin->out);
    }
    rc = rc == 0 && !all ? -EINVAL : rc; /* the path is not UTF-8 */
    json_decref(all);
    return rc;
}

static int print_copies(const struct admin *admin, const char *path, uint64_t size, unsigned goal, json_t *copies)
{
    return admin->json ? print_json(admin, path, size, goal, copies) : print_text(admin, path, size, goal, copies);
}

int admin_files_print(const struct admin *admin, const char *path, uint64_t size, unsigned goal, const char *chunks)
{
    json_t *copies = json_loads(chunks, 0, NULL);
    int rc = -EINVAL;
    if (json_is_array(copies))
        rc = print_copies(admin, path, size, goal, copies);
    json_decref(copies);
    return rc;
}

json_t *admin_files_chunks(const char *path, int *status)
{
    json_t *all = json_array();
    json_int_t next = 0;
    for (size_t count = 1; count;) {
        char name[64];
        (void)snprintf(name, sizeof name, CHUNKS ".%" JSON_INTEGER_FORMAT, next);
        if (next && getxattr(path, name, NULL, 0) < 0 && errno == ENODATA)
            break; /* whatever this is, it has one page */
        SCOPE_FREE char *text = get_text(path, name, status);
        json_t *page = text ? json_loads(text, 0, NULL) : NULL;
        if (!json_is_array(page)) {
            if (text)
                *status = admin_complain(ADMIN_FAILED, "%s: what the mount says of it is not understood", path);
            json_decref(page);
            json_decref(all);
            return NULL;
        }
        count = json_array_size(page);
        if (count)
            next = json_integer_value(json_object_get(json_array_get(page, count - 1), "index")) + 1;
        (void)json_array_extend(all, page);
        json_decref(page);
    }
    return all;
}

json_t *admin_files_verify(const char *path, int64_t index)
{
    char name[64];
    SCOPE_FREE char *text = check_alloc(malloc(WIRE_XATTR_LIMIT + 1));
    (void)snprintf(name, sizeof name, VERIFY ".%" PRId64, index);
    ssize_t n = getxattr(path, name, text, WIRE_XATTR_LIMIT);
    if (n < 0)
        return NULL;
    text[n] = '\0';
    return json_loads(text, 0, NULL);
}

int admin_files_show(const struct admin *admin, char **arguments)
{
    const char *path = arguments[0];
    struct stat info;
    int status = ADMIN_DONE;
    unsigned goal = admin_files_goal(path, &status);
    if (goal == 0)
        return status;
    if (stat(path, &info) < 0)
        return complain_about(path, errno);
    if (!S_ISREG(info.st_mode))
        return admin_complain(ADMIN_WRONG, "%s: not a regular file, so it has no chunks", path);
    json_t *chunks = admin_files_chunks(path, &status);
    if (!chunks)
        return status;
    int rc = print_copies(admin, path, (uint64_t)info.st_size, goal, chunks);
    json_decref(chunks);
    if (rc < 0)
        return admin_complain(ADMIN_FAILED, "%s: what the mount says of it is not understood", path);
    return ADMIN_DONE;
}
