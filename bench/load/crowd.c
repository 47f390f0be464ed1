/* crowd: many connections, which are opened a few at a time or all at once, and share one load.
 *
 *   crowd --port P --greeting FILE --request FILE --connections C [--zero-at A,B]
 *         [--deadline SECONDS]
 *
 * Commands come on standard input, a line each; each is answered by a line of JSON when it is done:
 *
 *   open W     opens every connection, with at most W under way, and sends the requests of GREETING
 *              on each, one after the other
 *   send N D   sends the request N times: in turn on each connection, at most D of them unanswered
 *   close      closes every connection
 *
 * A connection that is refused, or ends before its greeting is answered, is opened again, and its
 * wait goes on. Connections come from several addresses of 127.0.0.0/8, because one address has some
 * 28,000 ports, and those that were closed last are not free at once. Responses to the load are
 * checked as `replay` does.
 */
#include "wire.h"

#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { READ_SIZE = 1 << 16, EVENTS = 256, SOURCES = 16, SPARE_DESCRIPTORS = 16, LINE = 80 };

/* Correlation ids of the load count from 0 on each connection. */
struct connection {
    struct crowd *crowd;
    unsigned long number;
    int fd;
    int connected;
    double began;           /* when its wait began: to be served, or for a response to the load */
    size_t greeted;         /* requests of the greeting that are answered */
    uint32_t sent, answered;
    struct reader reader;
};

struct crowd {
    unsigned port;
    struct request *greeting;
    size_t greetings;
    struct request request;
    struct checks checks;
    double deadline;
    int poll;
    unsigned long count;
    struct connection *all;
    /* Connections without an unanswered request, in the order of their last response: a ring. */
    struct connection **idle;
    unsigned long first, waiting;
    /* Of the command under way. */
    double end, longest;
    unsigned long done, retries;
};

static void note_done(struct connection *connection)
{
    struct crowd *crowd = connection->crowd;
    double wait = now() - connection->began;
    if (wait > crowd->longest)
        crowd->longest = wait;
    crowd->done++;
    crowd->idle[(crowd->first + crowd->waiting++) % crowd->count] = connection;
}

/* Of a connection that has ended, the next read tells. */
static void write_request(struct connection *connection, const struct request *request)
{
    ssize_t written = write(connection->fd, request->bytes, request->size);
    if (written < 0 && (errno == EPIPE || errno == ECONNRESET))
        return;
    if (written != (ssize_t)request->size)
        fail("a socket took %zd bytes of %zu", written, request->size);
}

static void greet(struct connection *connection)
{
    struct crowd *crowd = connection->crowd;
    if (connection->greeted < crowd->greetings)
        write_request(connection, &crowd->greeting[connection->greeted]);
    else
        note_done(connection);
}

static void on_response(void *context, const struct reader *response)
{
    struct connection *connection = context;
    struct crowd *crowd = connection->crowd;
    if (connection->greeted < crowd->greetings) {
        connection->greeted++;
        greet(connection);
        return;
    }
    if (connection->answered == connection->sent)
        fail("a response to nothing");
    check_response(&crowd->checks, response, connection->answered++);
    note_done(connection);
}

static void begin(struct connection *connection)
{
    struct crowd *crowd = connection->crowd;
    connection->connected = 0;
    connection->greeted = 0;
    connection->sent = connection->answered = 0;
    connection->reader.have = 0;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        fail("socket: %s", strerror(errno));
    int on = 1;
    if (setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on) ||
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on))
        fail("setsockopt: %s", strerror(errno));
    uint32_t source = INADDR_LOOPBACK + 1 + (uint32_t)(connection->number % SOURCES);
    struct sockaddr_in from = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(source)};
    if (bind(fd, (struct sockaddr *)&from, sizeof from))
        fail("bind: %s", strerror(errno));
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)crowd->port)};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (connect(fd, (struct sockaddr *)&to, sizeof to) && errno != EINPROGRESS)
        fail("connect to port %u: %s", crowd->port, strerror(errno));
    connection->fd = fd;
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLET, .data.ptr = connection};
    if (epoll_ctl(crowd->poll, EPOLL_CTL_ADD, fd, &event))
        fail("epoll_ctl: %s", strerror(errno));
}

/* Opens a connection anew that was not served yet. */
static void again(struct connection *connection)
{
    connection->crowd->retries++;
    close(connection->fd);
    begin(connection);
}

static void receive(struct connection *connection)
{
    static unsigned char bytes[READ_SIZE];
    for (;;) {
        ssize_t got = read(connection->fd, bytes, sizeof bytes);
        if (got < 0 && errno == EAGAIN)
            return;
        if (got <= 0) {
            if (connection->greeted == connection->crowd->greetings)
                fail("a connection ended after %lu responses", (unsigned long)connection->answered);
            again(connection);
            return;
        }
        reader_feed(&connection->reader, bytes, (size_t)got, on_response, connection);
    }
}

static void advance(struct connection *connection)
{
    if (!connection->connected) {
        int error = 0;
        socklen_t size = sizeof error;
        if (getsockopt(connection->fd, SOL_SOCKET, SO_ERROR, &error, &size))
            fail("getsockopt: %s", strerror(errno));
        if (error) {
            again(connection);
            return;
        }
        connection->connected = 1;
        greet(connection);
    }
    receive(connection);
}

/* Handles what has happened on the connections, or waits for it. */
static void turn(struct crowd *crowd)
{
    struct epoll_event events[EVENTS];
    int ready = epoll_wait(crowd->poll, events, EVENTS, 100);
    if (ready < 0 && errno != EINTR)
        fail("epoll_wait: %s", strerror(errno));
    for (int i = 0; i < ready; i++)
        advance(events[i].data.ptr);
    if (now() > crowd->end)
        fail("%lu done within %.0f s", crowd->done, crowd->deadline);
}

static void open_all(struct crowd *crowd, unsigned long at_once)
{
    crowd->first = crowd->waiting = 0;
    for (unsigned long i = 0; i < crowd->count; i++) {
        while (i - crowd->done >= at_once)
            turn(crowd);
        crowd->all[i].began = now();
        begin(&crowd->all[i]);
    }
    while (crowd->done < crowd->count)
        turn(crowd);
}

static void send_all(struct crowd *crowd, unsigned long count, unsigned long unanswered)
{
    unsigned long sent = 0;
    while (crowd->done < count) {
        while (sent < count && crowd->waiting && sent - crowd->done < unanswered) {
            struct connection *connection = crowd->idle[crowd->first];
            crowd->first = (crowd->first + 1) % crowd->count;
            crowd->waiting--;
            sent++;
            put_u32(crowd->request.bytes + CORRELATION_AT, connection->sent++);
            connection->began = now();
            write_request(connection, &crowd->request);
        }
        turn(crowd);
    }
}

static void close_all(struct crowd *crowd)
{
    for (unsigned long i = 0; i < crowd->count; i++)
        close(crowd->all[i].fd);
}

static void obey(struct crowd *crowd, const char *line)
{
    unsigned long count, unanswered;
    double start = now();
    crowd->end = start + crowd->deadline;
    crowd->longest = 0;
    crowd->done = crowd->retries = 0;
    if (sscanf(line, "open %lu", &count) == 1)
        open_all(crowd, count);
    else if (sscanf(line, "send %lu %lu", &count, &unanswered) == 2)
        send_all(crowd, count, unanswered);
    else if (!strncmp(line, "close", 5))
        close_all(crowd);
    else
        fail("not a command: %s", line);
    printf("{\"seconds\": %.6f, \"longest\": %.6f, \"retries\": %lu}\n", now() - start,
           crowd->longest, crowd->retries);
    fflush(stdout);
}

static void prepare(struct crowd *crowd)
{
    signal(SIGPIPE, SIG_IGN);
    allow_descriptors(crowd->count + SPARE_DESCRIPTORS);
    crowd->poll = epoll_create1(EPOLL_CLOEXEC);
    if (crowd->poll < 0)
        fail("epoll_create1: %s", strerror(errno));
    crowd->all = calloc(crowd->count, sizeof *crowd->all);
    crowd->idle = calloc(crowd->count, sizeof(struct connection *));
    if (!crowd->all || !crowd->idle)
        fail("out of memory");
    for (unsigned long i = 0; i < crowd->count; i++) {
        crowd->all[i].crowd = crowd;
        crowd->all[i].number = i;
    }
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        {"port", required_argument, NULL, 'p'},     {"greeting", required_argument, NULL, 'g'},
        {"request", required_argument, NULL, 'r'},  {"connections", required_argument, NULL, 'c'},
        {"zero-at", required_argument, NULL, 'z'},  {"deadline", required_argument, NULL, 's'},
        {NULL, 0, NULL, 0},
    };
    struct crowd crowd = {.deadline = 60};
    const char *greeting = NULL, *request = NULL;
    int option;
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        switch (option) {
        case 'p': crowd.port = (unsigned)parse_number("port", optarg, 1); break;
        case 'g': greeting = optarg; break;
        case 'r': request = optarg; break;
        case 'c': crowd.count = parse_number("connections", optarg, 1); break;
        case 'z': parse_offsets(optarg, &crowd.checks); break;
        case 's': crowd.deadline = (double)parse_number("deadline", optarg, 1); break;
        default: return 2;
        }
    }
    if (!crowd.port || !greeting || !request || !crowd.count || optind != argc)
        fail("usage: crowd --port P --greeting FILE --request FILE --connections C [--zero-at A,B]"
             " [--deadline SECONDS]");
    crowd.greetings = load_requests(greeting, &crowd.greeting);
    struct request *requests;
    if (load_requests(request, &requests) != 1)
        fail("%s: exactly one request is sent", request);
    crowd.request = requests[0];
    prepare(&crowd);
    char line[LINE];
    while (fgets(line, sizeof line, stdin))
        obey(&crowd, line);
    return 0;
}
