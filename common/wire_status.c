/* SPDX-License-Identifier: Apache-2.0 */
#include "common/wire_status.h"

#include <errno.h>

int wire_status_errno(uint16_t status)
{
    switch (status) {
#define WIRE_STATUS_ERRNO(name, number, error, text)                                                                 \
    case number:                                                                                                     \
        return error;
        WIRE_STATUSES(WIRE_STATUS_ERRNO)
    }
    return EIO;
}

uint16_t wire_status_from_error(int error)
{
    switch (-error) {
#define WIRE_ERRNO_STATUS(name, number, error_number, text)                                                          \
    case error_number:                                                                                               \
        return number;
        WIRE_STATUSES(WIRE_ERRNO_STATUS)
    }
    return WIRE_IO;
}

const char *wire_status_text(uint16_t status)
{
    switch (status) {
#define WIRE_STATUS_TEXT(name, number, error, text)                                                                  \
    case number:                                                                                                     \
        return text;
        WIRE_STATUSES(WIRE_STATUS_TEXT)
    }
    return "unknown status";
}
