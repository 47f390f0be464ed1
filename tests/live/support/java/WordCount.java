import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.LongDeserializer;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.streams.CloseOptions;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;

/**
 * Counts words with Kafka Streams, over a repartition topic and a store with a changelog.
 *
 * <p>Arguments: bootstrap servers, application id, input topic, output topic, processing guarantee,
 * group protocol (classic if it is left out).
 * It counts one line, closes Streams, and counts a second line with a new one, whose store is empty
 * until it has read the changelog. Stores are in memory. Prints a JSON object a line: {"event":
 * "count" | "deleted" | "error", "topic": ..., "value": ...}; a count's value is WORD=COUNT. The exit
 * status is 1 after an error.
 */
public final class WordCount {
    private static final Duration DEADLINE = Duration.ofSeconds(150);
    private static final Duration POLL = Duration.ofMillis(100);

    private final String servers;
    private final String application;
    private final String input;
    private final String output;
    private final String guarantee;
    private final String protocol;
    private volatile Throwable failure;

    private WordCount(String[] args) {
        servers = args[0];
        application = args[1];
        input = args[2];
        output = args[3];
        guarantee = args[4];
        protocol = args.length > 5 ? args[5] : "classic";
    }

    public static void main(String[] args) {
        try {
            new WordCount(args).run();
        } catch (Exception error) {
            for (Throwable each = error; each != null; each = each.getCause()) {
                print("error", each.getClass().getSimpleName(), String.valueOf(each.getMessage()));
            }
            System.exit(1);
        }
        System.exit(0);
    }

    private void run() throws Exception {
        try (Consumer<String, Long> counts = consumer()) {
            counts.assign(List.of(new TopicPartition(output, 0)));
            counts.seekToBeginning(counts.assignment());
            count(counts, "one two two", Map.of("one", 1L, "two", 2L));
            count(counts, "two three", Map.of("two", 3L, "three", 1L));
        }
    }

    /** Runs Streams until the words of a line have their counts and read records are deleted. */
    private void count(Consumer<String, Long> counts, String line, Map<String, Long> wanted)
            throws Exception {
        try (Producer<String, String> producer = producer()) {
            producer.send(new ProducerRecord<>(input, line)).get();
        }
        KafkaStreams streams = new KafkaStreams(topology(), settings());
        streams.setUncaughtExceptionHandler(
            error -> {
                failure = error;
                return StreamThreadExceptionResponse.SHUTDOWN_CLIENT;
            });
        streams.start();
        read(counts, wanted);
        awaitDeletion(counts);
        // Else the next one waits until the session of this one's member has expired.
        streams.close(
            CloseOptions.timeout(DEADLINE)
                .withGroupMembershipOperation(CloseOptions.GroupMembershipOperation.LEAVE_GROUP));
    }

    private void read(Consumer<String, Long> counts, Map<String, Long> wanted) throws Exception {
        Map<String, Long> found = new TreeMap<>();
        long end = System.nanoTime() + DEADLINE.toNanos();
        while (!wanted.equals(found)) {
            if (failure != null) {
                throw new IllegalStateException("Streams ended", failure);
            }
            if (System.nanoTime() > end) {
                throw new IllegalStateException(found + " and not " + wanted + " in " + DEADLINE);
            }
            for (ConsumerRecord<String, Long> record : counts.poll(POLL)) {
                found.put(record.key(), record.value());
            }
        }
        found.forEach((word, number) -> print("count", output, word + "=" + number));
    }

    /** Waits until records of the repartition topic are deleted, as Streams does after commits. */
    private void awaitDeletion(Consumer<?, ?> consumer) throws InterruptedException {
        String topic = application + "-by-word-repartition";
        List<TopicPartition> partitions = new ArrayList<>();
        consumer.partitionsFor(topic, DEADLINE).forEach(
            partition -> partitions.add(new TopicPartition(topic, partition.partition())));
        long end = System.nanoTime() + DEADLINE.toNanos();
        while (consumer.beginningOffsets(partitions, DEADLINE).values().stream()
                .allMatch(offset -> offset == 0)) {
            if (System.nanoTime() > end) {
                throw new IllegalStateException("no record of " + topic + " is deleted");
            }
            Thread.sleep(POLL.toMillis());
        }
        print("deleted", topic, "");
    }

    private Topology topology() {
        StreamsBuilder builder = new StreamsBuilder();
        KStream<String, String> lines =
            builder.stream(input, Consumed.with(Serdes.String(), Serdes.String()));
        lines.flatMapValues(line -> Arrays.asList(line.toLowerCase(Locale.ROOT).split(" ")))
            .groupBy((key, word) -> word, Grouped.with("by-word", Serdes.String(), Serdes.String()))
            .count(Materialized.as("counts"))
            .toStream()
            .to(output, Produced.with(Serdes.String(), Serdes.Long()));
        return builder.build();
    }

    private Properties settings() {
        Properties settings = new Properties();
        settings.put(StreamsConfig.APPLICATION_ID_CONFIG, application);
        settings.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, servers);
        settings.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, guarantee);
        settings.put(
            StreamsConfig.DSL_STORE_SUPPLIERS_CLASS_CONFIG,
            "org.apache.kafka.streams.state.BuiltInDslStoreSuppliers$InMemoryDslStoreSuppliers");
        settings.put(StreamsConfig.GROUP_PROTOCOL_CONFIG, protocol);
        settings.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, 100);
        // Delete what is read of the repartition topic after every commit.
        settings.put(StreamsConfig.REPARTITION_PURGE_INTERVAL_MS_CONFIG, 0);
        // Each is a member of the group, and one of them assigns partitions to both.
        settings.put(StreamsConfig.NUM_STREAM_THREADS_CONFIG, 2);
        settings.put(ConsumerConfig.AUTO_OFFSET_RESET_CONFIG, "earliest");
        return settings;
    }

    private Producer<String, String> producer() {
        Map<String, Object> settings = new HashMap<>();
        settings.put(ProducerConfig.BOOTSTRAP_SERVERS_CONFIG, servers);
        settings.put(ProducerConfig.KEY_SERIALIZER_CLASS_CONFIG, StringSerializer.class);
        settings.put(ProducerConfig.VALUE_SERIALIZER_CLASS_CONFIG, StringSerializer.class);
        return new KafkaProducer<>(settings);
    }

    private Consumer<String, Long> consumer() {
        Map<String, Object> settings = new HashMap<>();
        settings.put(ConsumerConfig.BOOTSTRAP_SERVERS_CONFIG, servers);
        settings.put(ConsumerConfig.ISOLATION_LEVEL_CONFIG, "read_committed");
        settings.put(ConsumerConfig.KEY_DESERIALIZER_CLASS_CONFIG, StringDeserializer.class);
        settings.put(ConsumerConfig.VALUE_DESERIALIZER_CLASS_CONFIG, LongDeserializer.class);
        return new KafkaConsumer<>(settings);
    }

    private static void print(String event, String topic, String value) {
        String text = value.replace("\\", "\\\\").replace("\"", "\\\"").replace("\n", " ");
        System.out.print(String.format(
            "{\"event\": \"%s\", \"topic\": \"%s\", \"value\": \"%s\"}%n", event, topic, text));
        System.out.flush();
    }
}
