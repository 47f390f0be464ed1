/* replay: sends one request again and again, up to DEPTH unanswered on each connection.
 *
 *   replay --port P --request FILE --count N [--connections C] [--depth D] [--zero-at A,B]
 *          [--deadline SECONDS]
 *
 * Depth 1 on one connection is a closed loop; a deep pipeline of small requests measures the cost
 * of a request, large produces and fetches that of a byte. Only the correlation id changes from
 * one request to the next. Any response that is out of order, of another size than the first, or
 * has an error code where --zero-at says that one stands, ends the run with status 1.
 */
#include "wire.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/uio.h>
#include <unistd.h>

enum { READ_SIZE = 1 << 20, REQUESTS_PER_WRITE = 64, EVENTS = 64 };

struct connection;

struct run {
    struct request request;
    struct checks checks;
    unsigned long depth, count, issued, answered;
    uint64_t bytes_in;
    double *latencies;
    double arrival; /* when the bytes came that are being looked at */
};

/* Correlation ids count from 0 on each connection. */
struct connection {
    struct run *run;
    int fd;
    uint32_t issued, written, answered;
    size_t part; /* bytes of the request `written` that are out already */
    double *started; /* a ring of `depth` times */
    struct reader reader;
};

static void on_response(void *context, const struct reader *response)
{
    struct connection *connection = context;
    struct run *run = connection->run;
    if (connection->answered == connection->issued)
        fail("a response to nothing");
    check_response(&run->checks, response, connection->answered);
    double started = connection->started[connection->answered % run->depth];
    run->latencies[run->answered++] = run->arrival - started;
    connection->answered++;
    run->bytes_in += response->total;
}

static void issue(struct connection *connection)
{
    struct run *run = connection->run;
    double time = now();
    while (connection->issued - connection->answered < run->depth && run->issued < run->count) {
        connection->started[connection->issued++ % run->depth] = time;
        run->issued++;
    }
}

/* Writes what was issued until all is out or the socket takes no more. */
static void flush(struct connection *connection)
{
    const struct request *request = &connection->run->request;
    static unsigned char heads[REQUESTS_PER_WRITE][REQUEST_HEAD];
    struct iovec parts[REQUESTS_PER_WRITE * 2];
    while (connection->written != connection->issued) {
        int count = 0;
        size_t skip = connection->part;
        for (int i = 0; i < REQUESTS_PER_WRITE; i++) {
            if (connection->written + (uint32_t)i == connection->issued)
                break;
            memcpy(heads[i], request->bytes, REQUEST_HEAD);
            put_u32(heads[i] + CORRELATION_AT, connection->written + (uint32_t)i);
            if (skip < REQUEST_HEAD) {
                parts[count++] = (struct iovec){heads[i] + skip, REQUEST_HEAD - skip};
                skip = REQUEST_HEAD;
            }
            parts[count++] = (struct iovec){request->bytes + skip, request->size - skip};
            skip = 0;
        }
        ssize_t written = writev(connection->fd, parts, count);
        if (written < 0) {
            if (errno == EAGAIN)
                return;
            fail("write: %s", strerror(errno));
        }
        size_t out = connection->part + (size_t)written;
        connection->written += (uint32_t)(out / request->size);
        connection->part = out % request->size;
    }
}

static void receive(struct connection *connection)
{
    static unsigned char bytes[READ_SIZE];
    for (;;) {
        ssize_t got = read(connection->fd, bytes, sizeof bytes);
        if (got < 0 && errno == EAGAIN)
            return;
        if (got < 0)
            fail("read: %s", strerror(errno));
        if (!got)
            fail("connection closed after %lu responses", connection->run->answered);
        connection->run->arrival = now();
        reader_feed(&connection->reader, bytes, (size_t)got, on_response, connection);
    }
}

static void open_connection(struct connection *connection, struct run *run, unsigned port, int poll)
{
    connection->run = run;
    connection->fd = connect_to(port);
    connection->started = calloc(run->depth, sizeof *connection->started);
    if (!connection->started)
        fail("out of memory");
    if (fcntl(connection->fd, F_SETFL, O_NONBLOCK))
        fail("O_NONBLOCK: %s", strerror(errno));
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLET, .data.ptr = connection};
    if (epoll_ctl(poll, EPOLL_CTL_ADD, connection->fd, &event))
        fail("epoll_ctl: %s", strerror(errno));
}

static void replay(struct run *run, unsigned port, unsigned long connections, double deadline)
{
    int poll = epoll_create1(EPOLL_CLOEXEC);
    if (poll < 0)
        fail("epoll_create1: %s", strerror(errno));
    struct connection *all = calloc(connections, sizeof *all);
    run->latencies = calloc(run->count, sizeof *run->latencies);
    if (!all || !run->latencies)
        fail("out of memory");
    for (unsigned long i = 0; i < connections; i++)
        open_connection(&all[i], run, port, poll);
    double start = now();
    for (unsigned long i = 0; i < connections; i++) {
        issue(&all[i]);
        flush(&all[i]);
    }
    while (run->answered < run->count) {
        struct epoll_event events[EVENTS];
        int ready = epoll_wait(poll, events, EVENTS, 100);
        if (ready < 0 && errno != EINTR)
            fail("epoll_wait: %s", strerror(errno));
        for (int i = 0; i < ready; i++) {
            struct connection *connection = events[i].data.ptr;
            receive(connection);
            issue(connection);
            flush(connection);
        }
        if (now() - start > deadline)
            fail("%lu of %lu responses within %.0f s", run->answered, run->count, deadline);
    }
    print_report(run->latencies, run->count, now() - start, run->count * run->request.size,
                 run->bytes_in);
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        {"port", required_argument, NULL, 'p'},     {"request", required_argument, NULL, 'r'},
        {"count", required_argument, NULL, 'n'},    {"connections", required_argument, NULL, 'c'},
        {"depth", required_argument, NULL, 'd'},    {"zero-at", required_argument, NULL, 'z'},
        {"deadline", required_argument, NULL, 's'}, {NULL, 0, NULL, 0},
    };
    struct run run = {.depth = 1};
    unsigned long port = 0, connections = 1, deadline = 60;
    const char *path = NULL;
    int option;
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        switch (option) {
        case 'p': port = parse_number("port", optarg, 1); break;
        case 'r': path = optarg; break;
        case 'n': run.count = parse_number("count", optarg, 1); break;
        case 'c': connections = parse_number("connections", optarg, 1); break;
        case 'd': run.depth = parse_number("depth", optarg, 1); break;
        case 'z': parse_offsets(optarg, &run.checks); break;
        case 's': deadline = parse_number("deadline", optarg, 1); break;
        default: return 2;
        }
    }
    if (!port || !path || !run.count || optind != argc)
        fail("usage: replay --port P --request FILE --count N [--connections C] [--depth D]"
             " [--zero-at A,B] [--deadline SECONDS]");
    struct request *requests;
    if (load_requests(path, &requests) != 1)
        fail("%s: exactly one request is replayed", path);
    run.request = requests[0];
    replay(&run, (unsigned)port, connections, (double)deadline);
    return 0;
}
