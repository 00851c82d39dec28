/* SPDX-License-Identifier: Apache-2.0 */
#include "common/units.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static int digits(const char *text, const char **end, uint64_t *value)
{
    if (!isdigit((unsigned char)*text))
        return -EINVAL;
    char *stop;
    errno = 0;
    *value = strtoull(text, &stop, 10);
    if (errno == ERANGE)
        return -ERANGE;
    *end = stop;
    return 0;
}

int units_parse_number(const char *text, uint64_t min, uint64_t max, uint64_t *number)
{
    const char *end;
    uint64_t value;
    int rc = digits(text, &end, &value);
    if (rc < 0)
        return rc;
    if (*end)
        return -EINVAL;
    if (value < min || value > max)
        return -ERANGE;
    *number = value;
    return 0;
}

int units_parse_size(const char *text, uint64_t *bytes)
{
    const char *end;
    uint64_t value;
    int rc = digits(text, &end, &value);
    if (rc < 0)
        return rc;
    unsigned shift = 0;
    if (*end) {
        static const char letters[] = "bkmgt";
        const char *at = strchr(letters, tolower((unsigned char)*end));
        if (!at)
            return -EINVAL;
        shift = (unsigned)(at - letters) * 10;
        end++;
        if (*end && strcasecmp(end, "ib") != 0 && strcasecmp(end, "b") != 0)
            return -EINVAL;
    }
    if (value > (uint64_t)INT64_MAX >> shift)
        return -ERANGE;
    *bytes = value << shift;
    return 0;
}

int units_parse_address(const char *text, struct address *address)
{
    const char *colon = strrchr(text, ':');
    if (!colon)
        return -EINVAL;
    const char *host = text;
    size_t length = (size_t)(colon - text);
    if (length >= 2 && host[0] == '[' && host[length - 1] == ']') {
        host++;
        length -= 2;
    } else if (memchr(host, ':', length)) {
        return -EINVAL;
    }
    uint64_t port;
    if (length > HOST_LIMIT || units_parse_number(colon + 1, 0, UINT16_MAX, &port) < 0)
        return -EINVAL;
    memcpy(address->host, host, length);
    address->host[length] = '\0';
    address->port = (uint16_t)port;
    return 0;
}

const char *units_format_size(uint64_t bytes, char text[UNITS_TEXT])
{
    static const char *const suffix[] = {"", "k", "m", "g"};
    unsigned unit = 0;
    while (unit < 3 && bytes && bytes % 1024 == 0 && (unit == 0 || bytes > 4096)) {
        bytes /= 1024;
        unit++;
    }
    (void)snprintf(text, UNITS_TEXT, "%llu%s", (unsigned long long)bytes, suffix[unit]);
    return text;
}

const char *units_format_bytes(uint64_t bytes, char text[UNITS_TEXT])
{
    static const char *const names[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    double value = (double)bytes;
    unsigned unit = 0;
    while (value >= 1024 && unit < 5) {
        value /= 1024;
        unit++;
    }
    int decimals = unit == 0 || value >= 100 ? 0 : value >= 10 ? 1 : 2;
    (void)snprintf(text, UNITS_TEXT, "%.*f %s", decimals, value, names[unit]);
    return text;
}

const char *units_format_address(const struct address *address, char text[ADDRESS_TEXT])
{
    bool brackets = strchr(address->host, ':') != NULL;
    (void)snprintf(text, ADDRESS_TEXT, "%s%s%s:%u", brackets ? "[" : "", address->host, brackets ? "]" : "",
                   (unsigned)address->port);
    return text;
}
