/* SPDX-License-Identifier: Apache-2.0 */
#include "master/placement.h"

/* A chunk needs this much to be of any use: its header and a few blocks. */
enum { LEAST_BYTES = 64 * 1024 };

#define TURN_STEP (UINT64_C(1) << 40)

static bool is_chosen(const struct server *server, struct server *const *chosen, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (chosen[i] == server)
            return true;
    return false;
}

/* The server whose turn it is among those with room for a whole chunk; if there is none, the one with most space. */
static struct server *next_server(struct servers *servers, uint32_t chunk_bytes, struct server *const *chosen,
                                  uint32_t count)
{
    struct server *best = NULL;
    bool best_is_roomy = false;
    for (uint32_t i = 0; i < servers->count; i++) {
        struct server *server = servers->list[i];
        uint64_t free_bytes = server_free_bytes(server);
        if (!server->connected || server->draining || free_bytes < LEAST_BYTES || is_chosen(server, chosen, count))
            continue;
        bool roomy = free_bytes >= chunk_bytes;
        if (!best || (roomy && !best_is_roomy) || (roomy && best_is_roomy && server->turn < best->turn) ||
            (!roomy && !best_is_roomy && free_bytes > server_free_bytes(best))) {
            best = server;
            best_is_roomy = roomy;
        }
    }
    return best;
}

uint16_t placement_choose(struct servers *servers, uint32_t goal, uint32_t chunk_bytes,
                          struct server *chosen[WIRE_COPIES_LIMIT], uint32_t *count)
{
    bool connected = false;
    *count = 0;
    for (uint32_t i = 0; i < servers->count; i++)
        connected |= servers->list[i]->connected;
    while (*count < goal && *count < WIRE_COPIES_LIMIT) {
        struct server *server = next_server(servers, chunk_bytes, chosen, *count);
        if (!server)
            break;
        server->turn += TURN_STEP / (server_free_bytes(server) / LEAST_BYTES + 1);
        chosen[(*count)++] = server;
    }
    if (*count)
        return WIRE_OK;
    return connected ? WIRE_NO_SPACE : WIRE_NO_SERVERS;
}

void placement_welcome(struct servers *servers, struct server *server)
{
    uint64_t least = UINT64_MAX;
    for (uint32_t i = 0; i < servers->count; i++)
        if (servers->list[i] != server && servers->list[i]->connected && servers->list[i]->turn < least)
            least = servers->list[i]->turn;
    if (least != UINT64_MAX && server->turn < least)
        server->turn = least;
}
