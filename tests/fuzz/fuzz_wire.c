/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as a frame header, and as the body of any message, reply or journal record: the decoder refuses them or
 * makes of them what encodes to the same bytes again.
 */
#include <stdlib.h>
#include <string.h>

#include "common/check.h"
#include "common/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static uint8_t again[WIRE_BODY_LIMIT];
    static char text[4096];
    struct wire_header header;
    if (bytes >= WIRE_HEADER_BYTES && wire_get_header(data, &header) == 0) {
        CHECK(header.body_bytes <= WIRE_BODY_LIMIT);
        CHECK(wire_type_name(header.type) != NULL);
        data += WIRE_HEADER_BYTES;
        bytes -= WIRE_HEADER_BYTES;
    } else if (bytes >= 2) {
        header.type = (uint16_t)(data[0] % WIRE_TYPES | (data[1] & 1 ? WIRE_REPLY : 0));
        data += 2;
        bytes -= 2;
    } else {
        return 0;
    }
    union wire_any value;
    if (bytes > sizeof again || wire_get_any(header.type, data, bytes, &value) < 0)
        return 0;
    wire_show(header.type, &value, text, sizeof text);
    CHECK(memchr(text, 0, sizeof text) != NULL && strchr(text, '\n') == NULL);
    struct wire_out out = wire_out_on(again, sizeof again);
    CHECK(wire_put_any(header.type, &out, &value) == 0 && !out.failed);
    CHECK(out.used == bytes && (bytes == 0 || memcmp(again, data, bytes) == 0));
    return 0;
}
