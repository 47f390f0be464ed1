import java.time.Duration;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
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
 * Reads several topics as a member of a group, and commits what it has read.
 *
 * <p>Arguments: bootstrap servers, group, group protocol, number of records, a transactional id and
 * an output topic (both "-": none, offsets are committed by the consumer), and the topics. With a
 * transactional id each record is copied to the output in one transaction with the offsets. Prints a
 * JSON object a line: {"event": "record" | "offset" | "error", "topic": ..., "value": ...}; of an
 * error, and of each cause, the class is the topic and the message the value; the exit status is 1.
 */
public final class GroupOverClusters {
    private static final Duration DEADLINE = Duration.ofSeconds(120);
    private static final Duration POLL = Duration.ofMillis(200);

    private GroupOverClusters() {}

    public static void main(String[] args) {
        List<String> topics = Arrays.asList(args).subList(6, args.length);
        try (Consumer<String, String> consumer = consumer(args[0], args[1], args[2])) {
            consumer.subscribe(topics);
            Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
            Map<String, Integer> values = read(consumer, Integer.parseInt(args[3]), offsets);
            if (args[4].equals("-")) {
                consumer.commitSync(offsets);
            } else {
                copy(args[0], args[4], args[5], values, offsets, consumer);
            }
            consumer.committed(consumer.assignment()).forEach((partition, offset) ->
                print("offset", partition.toString(), String.valueOf(offset.offset())));
        } catch (Exception error) {
            for (Throwable each = error; each != null; each = each.getCause()) {
                print("error", each.getClass().getSimpleName(), String.valueOf(each.getMessage()));
            }
            System.exit(1);
        }
        System.exit(0);
    }

    private static Map<String, Integer> read(
            Consumer<String, String> consumer,
            int count,
            Map<TopicPartition, OffsetAndMetadata> offsets) {
        Map<String, Integer> found = new HashMap<>();
        long end = System.nanoTime() + DEADLINE.toNanos();
        while (found.size() < count) {
            if (System.nanoTime() > end) {
                throw new IllegalStateException(found.size() + " records in " + DEADLINE);
            }
            for (ConsumerRecord<String, String> record : consumer.poll(POLL)) {
                print("record", record.topic(), record.value());
                found.put(record.value(), record.partition());
                offsets.put(
                    new TopicPartition(record.topic(), record.partition()),
                    new OffsetAndMetadata(record.offset() + 1));
            }
        }
        return found;
    }

    private static void copy(
            String servers,
            String transactionalId,
            String output,
            Map<String, Integer> values,
            Map<TopicPartition, OffsetAndMetadata> offsets,
            Consumer<String, String> consumer) throws Exception {
        try (Producer<String, String> producer = producer(servers, transactionalId)) {
            producer.initTransactions();
            producer.beginTransaction();
            for (String value : values.keySet()) {
                producer.send(new ProducerRecord<>(output, value));
            }
            producer.flush();
            producer.sendOffsetsToTransaction(offsets, consumer.groupMetadata());
            producer.commitTransaction();
        }
    }

    private static void print(String event, String topic, String value) {
        String text = value.replace("\\", "\\\\").replace("\"", "\\\"").replace("\n", " ");
        System.out.print(String.format(
            "{\"event\": \"%s\", \"topic\": \"%s\", \"value\": \"%s\"}%n", event, topic, text));
        System.out.flush();
    }

    private static Producer<String, String> producer(String servers, String transactionalId) {
        Map<String, Object> settings = new HashMap<>();
        settings.put(ProducerConfig.BOOTSTRAP_SERVERS_CONFIG, servers);
        settings.put(ProducerConfig.TRANSACTIONAL_ID_CONFIG, transactionalId);
        settings.put(ProducerConfig.MAX_BLOCK_MS_CONFIG, 30000);
        settings.put(ProducerConfig.KEY_SERIALIZER_CLASS_CONFIG, StringSerializer.class);
        settings.put(ProducerConfig.VALUE_SERIALIZER_CLASS_CONFIG, StringSerializer.class);
        return new KafkaProducer<>(settings);
    }

    private static Consumer<String, String> consumer(String servers, String group, String protocol) {
        Map<String, Object> settings = new HashMap<>();
        settings.put(ConsumerConfig.BOOTSTRAP_SERVERS_CONFIG, servers);
        settings.put(ConsumerConfig.GROUP_ID_CONFIG, group);
        settings.put(ConsumerConfig.GROUP_PROTOCOL_CONFIG, protocol);
        settings.put(ConsumerConfig.AUTO_OFFSET_RESET_CONFIG, "earliest");
        settings.put(ConsumerConfig.ENABLE_AUTO_COMMIT_CONFIG, false);
        settings.put(ConsumerConfig.KEY_DESERIALIZER_CLASS_CONFIG, StringDeserializer.class);
        settings.put(ConsumerConfig.VALUE_DESERIALIZER_CLASS_CONFIG, StringDeserializer.class);
        return new KafkaConsumer<>(settings);
    }
}
