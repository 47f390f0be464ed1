#include "wire.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static const uint64_t MAX_RESPONSE = UINT64_C(1) << 30;

void fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    exit(1);
}

double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

void allow_descriptors(unsigned long count)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit))
        fail("getrlimit: %s", strerror(errno));
    if (limit.rlim_cur >= count)
        return;
    limit.rlim_cur = count;
    if (setrlimit(RLIMIT_NOFILE, &limit))
        fail("%lu open files are needed (ulimit -n): %s", count, strerror(errno));
}

int connect_to(unsigned port)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        fail("socket: %s", strerror(errno));
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (connect(fd, (struct sockaddr *)&address, sizeof address))
        fail("connect to port %u: %s", port, strerror(errno));
    int on = 1;
    if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on))
        fail("TCP_NODELAY: %s", strerror(errno));
    return fd;
}

void write_all(int fd, const unsigned char *bytes, size_t size)
{
    while (size) {
        ssize_t written = write(fd, bytes, size);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            fail("write: %s", strerror(errno));
        bytes += written;
        size -= (size_t)written;
    }
}

static unsigned char *read_file(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        fail("%s: %s", path, strerror(errno));
    if (fseek(file, 0, SEEK_END))
        fail("%s: %s", path, strerror(errno));
    long end = ftell(file);
    if (end <= 0)
        fail("%s: empty", path);
    rewind(file);
    unsigned char *bytes = malloc((size_t)end);
    if (!bytes || fread(bytes, 1, (size_t)end, file) != (size_t)end)
        fail("%s: cannot be read", path);
    fclose(file);
    *size = (size_t)end;
    return bytes;
}

size_t load_requests(const char *path, struct request **requests)
{
    size_t size, count = 0, pos = 0;
    unsigned char *bytes = read_file(path, &size);
    *requests = NULL;
    while (pos < size) {
        size_t left = size - pos;
        size_t frame = left < REQUEST_HEAD ? 0 : (size_t)get_u32(bytes + pos) + 4;
        if (frame < REQUEST_HEAD || frame > left)
            fail("%s: no request frame at byte %zu", path, pos);
        *requests = realloc(*requests, (count + 1) * sizeof **requests);
        if (!*requests)
            fail("out of memory");
        (*requests)[count++] = (struct request){bytes + pos, frame};
        pos += frame;
    }
    return count;
}

void put_u32(unsigned char *at, uint32_t value)
{
    value = htonl(value);
    memcpy(at, &value, sizeof value);
}

uint32_t get_u32(const unsigned char *at)
{
    uint32_t value;
    memcpy(&value, at, sizeof value);
    return ntohl(value);
}

void reader_feed(struct reader *reader, const unsigned char *bytes, size_t size,
                 response_fn *each, void *context)
{
    while (size) {
        uint64_t wanted = (reader->have < 4 ? 4 : reader->total) - reader->have;
        size_t taken = size < wanted ? size : (size_t)wanted;
        if (reader->have < RESPONSE_KEPT) {
            size_t room = RESPONSE_KEPT - (size_t)reader->have;
            memcpy(reader->kept + reader->have, bytes, taken < room ? taken : room);
        }
        reader->have += taken;
        bytes += taken;
        size -= taken;
        if (reader->have == 4) {
            reader->total = (uint64_t)get_u32(reader->kept) + 4;
            if (reader->total < 8 || reader->total > MAX_RESPONSE)
                fail("a response of %" PRIu64 " bytes", reader->total);
        } else if (reader->have > 4 && reader->have == reader->total) {
            each(context, reader);
            reader->have = 0;
        }
    }
}

void check_response(struct checks *checks, const struct reader *response, uint32_t correlation_id)
{
    uint32_t found = get_u32(response->kept + 4);
    if (found != correlation_id)
        fail("correlation id %" PRIu32 " instead of %" PRIu32, found, correlation_id);
    if (!checks->size)
        checks->size = response->total;
    if (checks->size != response->total)
        fail("a response of %" PRIu64 " bytes after one of %" PRIu64, response->total,
             checks->size);
    for (unsigned i = 0; i < checks->zeros; i++) {
        unsigned at = checks->zero_at[i];
        if (at + 2 > response->total || at + 2 > RESPONSE_KEPT)
            fail("there is no error code at byte %u of a response", at);
        unsigned code = (unsigned)(response->kept[at] << 8 | response->kept[at + 1]);
        if (code)
            fail("error code %d at byte %u of response %" PRIu32, (int16_t)code, at,
                 correlation_id);
    }
}

void parse_offsets(const char *text, struct checks *checks)
{
    while (*text) {
        char *end;
        unsigned long offset = strtoul(text, &end, 10);
        if (end == text || (*end && *end != ',') || checks->zeros == MAX_ZEROS)
            fail("not a list of at most %d offsets: %s", MAX_ZEROS, text);
        checks->zero_at[checks->zeros++] = (unsigned)offset;
        text = *end ? end + 1 : end;
    }
}

unsigned long parse_number(const char *name, const char *text, unsigned long least)
{
    char *end;
    errno = 0;
    unsigned long value = strtoul(text, &end, 10);
    if (errno || end == text || *end || value < least)
        fail("--%s: a number of at least %lu is needed, not %s", name, least, text);
    return value;
}

static int by_value(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

void print_report(double *latencies, size_t count, double seconds, uint64_t bytes_out,
                  uint64_t bytes_in)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += latencies[i];
    qsort(latencies, count, sizeof *latencies, by_value);
    printf("{\"requests\": %zu, \"seconds\": %.6f, \"bytes_out\": %" PRIu64
           ", \"bytes_in\": %" PRIu64 ", \"mean_us\": %.2f, \"p50_us\": %.2f, \"p90_us\": %.2f"
           ", \"p99_us\": %.2f}\n",
           count, seconds, bytes_out, bytes_in, sum / (double)count * 1e6,
           latencies[count / 2] * 1e6, latencies[count * 9 / 10] * 1e6,
           latencies[count * 99 / 100] * 1e6);
}
