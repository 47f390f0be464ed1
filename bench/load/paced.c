/* paced: sends one request at a fixed rate, whether or not earlier ones have been answered.
 *
 *   paced --port P --request FILE --count N --rate PER_SECOND [--connections C] [--zero-at A,B]
 *
 * Latency counts from the moment at which a request was due, so a stall is not hidden by requests
 * that were never sent during it. Responses are checked as `replay` does.
 */
#include "wire.h"

#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { MAX_CONNECTIONS = 64, MAX_UNANSWERED = 4096, READ_SIZE = 1 << 16 };

struct run {
    struct checks checks;
    unsigned long answered;
    uint64_t bytes_in;
    double *latencies;
    double arrival;
};

struct connection {
    struct run *run;
    uint32_t sent, answered;
    double due[MAX_UNANSWERED];
    struct reader reader;
};

static void on_response(void *context, const struct reader *response)
{
    struct connection *connection = context;
    struct run *run = connection->run;
    if (connection->answered == connection->sent)
        fail("a response to nothing");
    check_response(&run->checks, response, connection->answered);
    double due = connection->due[connection->answered % MAX_UNANSWERED];
    run->latencies[run->answered++] = run->arrival - due;
    connection->answered++;
    run->bytes_in += response->total;
}

static void send_request(struct connection *connection, int fd, const struct request *request,
                         double due)
{
    if (connection->sent - connection->answered == MAX_UNANSWERED)
        fail("%d requests are unanswered: the rate is too high", MAX_UNANSWERED);
    connection->due[connection->sent % MAX_UNANSWERED] = due;
    put_u32(request->bytes + CORRELATION_AT, connection->sent++);
    write_all(fd, request->bytes, request->size);
}

/* Waits until something can be read, but not past `until`. */
static int wait_for_responses(struct pollfd *sockets, unsigned long count, double until)
{
    double wait = until - now();
    if (wait < 0)
        wait = 0;
    struct timespec timeout = {(time_t)wait, (long)((wait - (double)(time_t)wait) * 1e9)};
    int ready = ppoll(sockets, count, &timeout, NULL);
    if (ready < 0 && errno != EINTR)
        fail("ppoll: %s", strerror(errno));
    return ready;
}

static void receive(struct connection *connection, int fd)
{
    static unsigned char bytes[READ_SIZE];
    ssize_t got = read(fd, bytes, sizeof bytes);
    if (got < 0)
        fail("read: %s", strerror(errno));
    if (!got)
        fail("connection closed after %lu responses", connection->run->answered);
    connection->run->arrival = now();
    reader_feed(&connection->reader, bytes, (size_t)got, on_response, connection);
}

static void pace(struct run *run, const struct request *request, unsigned port,
                 unsigned long connections, unsigned long count, double rate)
{
    struct pollfd sockets[MAX_CONNECTIONS];
    struct connection *all = calloc(connections, sizeof *all);
    run->latencies = calloc(count, sizeof *run->latencies);
    if (!all || !run->latencies)
        fail("out of memory");
    for (unsigned long i = 0; i < connections; i++) {
        all[i].run = run;
        sockets[i] = (struct pollfd){.fd = connect_to(port), .events = POLLIN};
    }
    double start = now() + 0.01, deadline = start + (double)count / rate + 10;
    unsigned long sent = 0;
    while (run->answered < count) {
        double due = start + (double)sent / rate;
        while (sent < count && now() >= due) {
            send_request(&all[sent % connections], sockets[sent % connections].fd, request, due);
            due = start + (double)++sent / rate;
        }
        if (now() > deadline)
            fail("%lu of %lu responses in time", run->answered, count);
        if (wait_for_responses(sockets, connections, sent < count ? due : deadline) <= 0)
            continue;
        for (unsigned long i = 0; i < connections; i++)
            if (sockets[i].revents)
                receive(&all[i], sockets[i].fd);
    }
    print_report(run->latencies, count, now() - start, count * request->size, run->bytes_in);
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        {"port", required_argument, NULL, 'p'},  {"request", required_argument, NULL, 'r'},
        {"count", required_argument, NULL, 'n'}, {"connections", required_argument, NULL, 'c'},
        {"rate", required_argument, NULL, 'f'},  {"zero-at", required_argument, NULL, 'z'},
        {NULL, 0, NULL, 0},
    };
    struct run run = {0};
    unsigned long port = 0, connections = 1, count = 0, rate = 0;
    const char *path = NULL;
    int option;
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        switch (option) {
        case 'p': port = parse_number("port", optarg, 1); break;
        case 'r': path = optarg; break;
        case 'n': count = parse_number("count", optarg, 1); break;
        case 'c': connections = parse_number("connections", optarg, 1); break;
        case 'f': rate = parse_number("rate", optarg, 1); break;
        case 'z': parse_offsets(optarg, &run.checks); break;
        default: return 2;
        }
    }
    if (!port || !path || !count || !rate || connections > MAX_CONNECTIONS || optind != argc)
        fail("usage: paced --port P --request FILE --count N --rate PER_SECOND"
             " [--connections C (at most %d)] [--zero-at A,B]", MAX_CONNECTIONS);
    /* Otherwise the kernel may wake this process up to 50 us late. */
    prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
    struct request *requests;
    if (load_requests(path, &requests) != 1)
        fail("%s: exactly one request is sent", path);
    pace(&run, &requests[0], (unsigned)port, connections, count, (double)rate);
    return 0;
}
