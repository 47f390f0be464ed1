import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.Metric;
import org.apache.kafka.common.MetricName;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Produces records to a topic, reads all of the topic, and tells the bytes that both clients have
 * sent and received, over all their connections.
 *
 * <p>Arguments: bootstrap servers, topic, number of partitions, number of records, client id of the
 * producer, client id of the consumer. Prints a JSON object a line for each client: {"client": ...,
 * "records": N, "out": N, "in": N}. It ends without closing them, since what a client says when it
 * is closed is in no metric that can be read.
 */
public final class ByteTotals {
    private static final long DEADLINE = System.nanoTime() + Duration.ofSeconds(60).toNanos();
    private static final Duration POLL = Duration.ofMillis(50);

    private record Totals(double requests, double responses, double out, double in) {}

    public static void main(String[] args) throws InterruptedException {
        KafkaProducer<String, String> producer = new KafkaProducer<>(
            Map.of(
                ProducerConfig.BOOTSTRAP_SERVERS_CONFIG, args[0],
                ProducerConfig.CLIENT_ID_CONFIG, args[4]),
            new StringSerializer(),
            new StringSerializer());
        int count = Integer.parseInt(args[3]);
        for (int number = 0; number < count; number++) {
            producer.send(new ProducerRecord<>(args[1], "key-" + number, "v".repeat(number % 700)));
        }
        producer.flush();

        KafkaConsumer<String, String> consumer = new KafkaConsumer<>(
            Map.of(
                ConsumerConfig.BOOTSTRAP_SERVERS_CONFIG, args[0],
                ConsumerConfig.CLIENT_ID_CONFIG, args[5],
                ConsumerConfig.AUTO_OFFSET_RESET_CONFIG, "earliest",
                ConsumerConfig.MAX_PARTITION_FETCH_BYTES_CONFIG, 20_000),
            new StringDeserializer(),
            new StringDeserializer());
        List<TopicPartition> all = IntStream.range(0, Integer.parseInt(args[2]))
            .mapToObj(partition -> new TopicPartition(args[1], partition)).toList();
        consumer.assign(all);
        int read = 0;
        while (read < count) {
            read += consumer.poll(POLL).count();
            check("records");
        }
        // What is paused is not fetched, so that nothing is under way once the last fetch has ended.
        consumer.pause(all);
        Totals ofProducer = idle(producer.metrics(), "producer-metrics", null);
        Totals ofConsumer = idle(consumer.metrics(), "consumer-metrics", consumer);
        print(args[4], count, ofProducer);
        print(args[5], read, ofConsumer);
        Runtime.getRuntime().halt(0);
    }

    /** The totals once every request has its response, as two looks see it. */
    private static Totals idle(
            Map<MetricName, ? extends Metric> metrics, String group, KafkaConsumer<?, ?> polled)
            throws InterruptedException {
        Totals before = totals(metrics, group);
        while (true) {
            if (polled == null) {
                Thread.sleep(POLL.toMillis());
            } else {
                polled.poll(POLL);
            }
            Totals now = totals(metrics, group);
            if (now.equals(before) && now.requests == now.responses) {
                return now;
            }
            before = now;
            check("an idle client");
        }
    }

    private static Totals totals(Map<MetricName, ? extends Metric> metrics, String group) {
        return new Totals(
            value(metrics, group, "request-total"),
            value(metrics, group, "response-total"),
            value(metrics, group, "outgoing-byte-total"),
            value(metrics, group, "incoming-byte-total"));
    }

    private static double value(
            Map<MetricName, ? extends Metric> metrics, String group, String name) {
        List<? extends Metric> found = metrics.values().stream()
            .filter(metric -> metric.metricName().group().equals(group))
            .filter(metric -> metric.metricName().name().equals(name)).toList();
        if (found.size() != 1) {
            throw new IllegalStateException(found.size() + " metrics " + name + " in " + group);
        }
        return (double) found.get(0).metricValue();
    }

    private static void check(String awaited) {
        if (System.nanoTime() > DEADLINE) {
            throw new IllegalStateException(awaited + ": not in time");
        }
    }

    private static void print(String client, int records, Totals totals) {
        System.out.print(String.format(
            "{\"client\": \"%s\", \"records\": %d, \"out\": %.0f, \"in\": %.0f}%n",
            client, records, totals.out, totals.in));
        System.out.flush();
    }
}
