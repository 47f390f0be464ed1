/* idle: opens connections, makes each work once, and holds them until its standard input ends.
 *
 *   idle --port P --requests FILE --connections C
 *
 * Each connection sends the requests of FILE one after the other and reads every response. Then
 * "ready" is printed, once, and nothing happens on any connection any more.
 */
#include "wire.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SPARE_DESCRIPTORS = 16 };

static void on_response(void *context, const struct reader *response)
{
    (void)response;
    *(int *)context = 1;
}

static void exchange(int fd, const struct request *request)
{
    static unsigned char bytes[1 << 16];
    static struct reader reader;
    int answered = 0;
    write_all(fd, request->bytes, request->size);
    while (!answered) {
        ssize_t got = read(fd, bytes, sizeof bytes);
        if (got < 0)
            fail("read: %s", strerror(errno));
        if (!got)
            fail("connection closed before it answered");
        reader_feed(&reader, bytes, (size_t)got, on_response, &answered);
    }
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        {"port", required_argument, NULL, 'p'},
        {"requests", required_argument, NULL, 'r'},
        {"connections", required_argument, NULL, 'c'},
        {NULL, 0, NULL, 0},
    };
    unsigned long port = 0, connections = 0;
    const char *path = NULL;
    int option;
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        switch (option) {
        case 'p': port = parse_number("port", optarg, 1); break;
        case 'r': path = optarg; break;
        case 'c': connections = parse_number("connections", optarg, 1); break;
        default: return 2;
        }
    }
    if (!port || !path || !connections || optind != argc)
        fail("usage: idle --port P --requests FILE --connections C");
    struct request *requests;
    size_t count = load_requests(path, &requests);
    allow_descriptors(connections + SPARE_DESCRIPTORS);
    for (unsigned long i = 0; i < connections; i++) {
        int fd = connect_to((unsigned)port);
        for (size_t j = 0; j < count; j++)
            exchange(fd, &requests[j]);
    }
    puts("ready");
    fflush(stdout);
    while (getchar() != EOF)
        ;
    return 0;
}
