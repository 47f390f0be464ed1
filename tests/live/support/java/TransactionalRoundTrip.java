import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Consumes the records of one topic and produces them to another in transactions.
 *
 * <p>Arguments: bootstrap servers, input topic, output topic, group, transactional id. It writes
 * "a", "b" and "c" to the input; copies "a" in a transaction that it commits with the offset, "b" in
 * one that it aborts, and "c" in one that it commits; then reads the output as read_committed.
 * Prints a JSON object a line: {"event": ..., "topic": ..., "value": ...} for each record, and
 * {"event": "offset", "topic": ..., "value": N} for the offset that the group has committed.
 */
public final class TransactionalRoundTrip {
    private static final Duration DEADLINE = Duration.ofSeconds(100);
    private static final Duration POLL = Duration.ofMillis(200);

    private final String servers;
    private final String group;

    private TransactionalRoundTrip(String servers, String group) {
        this.servers = servers;
        this.group = group;
    }

    public static void main(String[] args) {
        new TransactionalRoundTrip(args[0], args[3]).run(args[1], args[2], args[4]);
    }

    private void run(String input, String output, String transactionalId) {
        try (Producer<String, String> producer = producer(transactionalId)) {
            producer.initTransactions();
            write(producer, input, List.of("a", "b", "c"));
            copy(producer, input, output);
        }
        try (Consumer<String, String> reader = consumer(group + "-reader")) {
            reader.subscribe(List.of(output));
            read(reader, 2, "read");
        }
    }

    private static void write(Producer<String, String> producer, String topic, List<String> values) {
        producer.beginTransaction();
        values.forEach(value -> producer.send(new ProducerRecord<>(topic, value)));
        producer.commitTransaction();
    }

    private void copy(Producer<String, String> producer, String input, String output) {
        try (Consumer<String, String> consumer = consumer(group)) {
            consumer.subscribe(List.of(input));
            for (ConsumerRecord<String, String> record : read(consumer, 3, "input")) {
                producer.beginTransaction();
                producer.send(new ProducerRecord<>(output, record.value()));
                producer.sendOffsetsToTransaction(offsetAfter(record), consumer.groupMetadata());
                if (record.value().equals("b")) {
                    producer.abortTransaction();
                } else {
                    producer.commitTransaction();
                }
            }
            consumer.committed(consumer.assignment()).forEach((partition, offset) ->
                print("offset", partition.topic(), Long.toString(offset.offset())));
        }
    }

    private static Map<TopicPartition, OffsetAndMetadata> offsetAfter(ConsumerRecord<?, ?> record) {
        TopicPartition partition = new TopicPartition(record.topic(), record.partition());
        return Map.of(partition, new OffsetAndMetadata(record.offset() + 1));
    }

    private static List<ConsumerRecord<String, String>> read(
            Consumer<String, String> consumer, int count, String event) {
        List<ConsumerRecord<String, String>> found = new java.util.ArrayList<>();
        long end = System.nanoTime() + DEADLINE.toNanos();
        while (found.size() < count) {
            if (System.nanoTime() > end) {
                throw new IllegalStateException(
                    event + ": " + found.size() + " records of " + count + " in " + DEADLINE);
            }
            ConsumerRecords<String, String> records = consumer.poll(POLL);
            for (ConsumerRecord<String, String> record : records) {
                print(event, record.topic(), record.value());
                found.add(record);
            }
        }
        return found;
    }

    private static void print(String event, String topic, String value) {
        System.out.print(String.format(
            "{\"event\": \"%s\", \"topic\": \"%s\", \"value\": \"%s\"}%n", event, topic, value));
        System.out.flush();
    }

    private Producer<String, String> producer(String transactionalId) {
        Properties settings = new Properties();
        settings.put(ProducerConfig.BOOTSTRAP_SERVERS_CONFIG, servers);
        settings.put(ProducerConfig.TRANSACTIONAL_ID_CONFIG, transactionalId);
        settings.put(ProducerConfig.KEY_SERIALIZER_CLASS_CONFIG, StringSerializer.class);
        settings.put(ProducerConfig.VALUE_SERIALIZER_CLASS_CONFIG, StringSerializer.class);
        return new KafkaProducer<>(settings);
    }

    private Consumer<String, String> consumer(String groupId) {
        Map<String, Object> settings = new HashMap<>();
        settings.put(ConsumerConfig.BOOTSTRAP_SERVERS_CONFIG, servers);
        settings.put(ConsumerConfig.GROUP_ID_CONFIG, groupId);
        settings.put(ConsumerConfig.AUTO_OFFSET_RESET_CONFIG, "earliest");
        settings.put(ConsumerConfig.ENABLE_AUTO_COMMIT_CONFIG, false);
        settings.put(ConsumerConfig.ISOLATION_LEVEL_CONFIG, "read_committed");
        settings.put(ConsumerConfig.KEY_DESERIALIZER_CLASS_CONFIG, StringDeserializer.class);
        settings.put(ConsumerConfig.VALUE_DESERIALIZER_CLASS_CONFIG, StringDeserializer.class);
        return new KafkaConsumer<>(settings);
    }
}
