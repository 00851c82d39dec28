/* SPDX-License-Identifier: Apache-2.0
 *
 * Serves chunk data to clients and other chunkservers: one thread for each connection, which handles one request after the
 * other with buffers of its own. The first message must be hello. What is malformed closes its connection and is counted.
 */
#ifndef CALF_DATA_SERVICE_H
#define CALF_DATA_SERVICE_H

#include "chunkserver/serve_counters.h"
#include "chunkserver/store.h"

struct data_service;

/* Serves on a listening socket, which it takes over. store and counters must outlive it. The service is the caller's, for
 * data_service_destroy. */
struct data_service *data_service_create(int listen_fd, struct store *store, struct serve_counters *counters);

/* Serves on one more socket, a Unix one, which it takes over: clients that come this way may share memory. Once at most. */
void data_service_serve_local(struct data_service *service, int listen_fd);

/* Closes all connections, in the middle of requests if need be, and waits for their threads. */
void data_service_destroy(struct data_service *service);

#endif
