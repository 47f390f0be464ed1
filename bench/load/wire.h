/* What the load generators share: connections on loopback, request files, response framing. */
#ifndef WIRE_H
#define WIRE_H

#include <stddef.h>
#include <stdint.h>

/* A request begins with its size (4 bytes), API key (2), version (2) and correlation id (4). */
enum { REQUEST_HEAD = 12, CORRELATION_AT = 8 };

/* How much of every response is kept, so that correlation id and error codes can be looked at. */
enum { RESPONSE_KEPT = 512, MAX_ZEROS = 16 };

/* One request frame, its size included. */
struct request {
    unsigned char *bytes;
    size_t size;
};

/* What every response must satisfy; the load is worth nothing if one does not. */
struct checks {
    unsigned zero_at[MAX_ZEROS]; /* offsets in the frame of error codes (int16): none may be set */
    unsigned zeros;
    uint64_t size; /* of a whole response frame; 0 until the first has come */
};

/* Cuts a byte stream into responses without keeping more than the beginning of each. */
struct reader {
    unsigned char kept[RESPONSE_KEPT];
    uint64_t have;  /* bytes of the current frame that have come */
    uint64_t total; /* its size with the size field; known once 4 bytes have come */
};

/* Called for each whole response, of which the reader then holds the beginning. */
typedef void response_fn(void *context, const struct reader *response);

/* Prints the message to stderr and ends the process with status 1. */
_Noreturn void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Monotonic seconds. */
double now(void);

/* Raises the limit of open files to count, if it is lower. */
void allow_descriptors(unsigned long count);

/* A connection to 127.0.0.1:port with TCP_NODELAY. */
int connect_to(unsigned port);

/* Writes all of it to a blocking socket. */
void write_all(int fd, const unsigned char *bytes, size_t size);

/* Reads every frame of a file into a fresh array; returns how many there are. */
size_t load_requests(const char *path, struct request **requests);

void put_u32(unsigned char *at, uint32_t value);
uint32_t get_u32(const unsigned char *at);

/* Takes the next bytes of the stream. */
void reader_feed(struct reader *reader, const unsigned char *bytes, size_t size,
                 response_fn *each, void *context);

/* Fails unless the response has this correlation id, the size of the others and no error code. */
void check_response(struct checks *checks, const struct reader *response, uint32_t correlation_id);

/* "12,40" to offsets. */
void parse_offsets(const char *text, struct checks *checks);

/* A decimal number of at least `least`. */
unsigned long parse_number(const char *name, const char *text, unsigned long least);

/* Sorts the latencies (seconds) and prints the one line of JSON that a generator answers with. */
void print_report(double *latencies, size_t count, double seconds, uint64_t bytes_out,
                  uint64_t bytes_in);

#endif
