import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Does with topics of several clusters what an application does with those of one: creates them,
 * changes a config of each, writes to all with one idempotent producer, and reads all as a member of
 * one classic group, which commits.
 *
 * <p>Arguments: bootstrap servers, group, number of records for each topic, and the topics. The
 * records are the numbers from 0 on, in partition 0. Prints a JSON object a line: {"event":
 * "config" | "record" | "offset" | "error", "topic": ..., "value": ...}; the config is retention.ms,
 * as it is described after the change. The exit status is 1 after an error.
 */
public final class WorkOverVolumes {
    private static final Duration DEADLINE = Duration.ofSeconds(90);
    private static final Duration POLL = Duration.ofMillis(200);
    private static final String RETENTION = "retention.ms";

    private WorkOverVolumes() {}

    public static void main(String[] args) {
        List<String> topics = Arrays.asList(args).subList(3, args.length);
        int count = Integer.parseInt(args[2]);
        try {
            administer(args[0], topics);
            write(args[0], topics, count);
            read(args[0], args[1], topics, count);
        } catch (Exception error) {
            for (Throwable each = error; each != null; each = each.getCause()) {
                print("error", each.getClass().getSimpleName(), String.valueOf(each.getMessage()));
            }
            System.exit(1);
        }
        System.exit(0);
    }

    private static void administer(String servers, List<String> topics) throws Exception {
        try (Admin admin = Admin.create(Map.of(AdminClientConfig.BOOTSTRAP_SERVERS_CONFIG, servers))) {
            admin.createTopics(
                topics.stream()
                    .map(topic -> new NewTopic(topic, Optional.of(1), Optional.empty()))
                    .collect(Collectors.toList())).all().get();
            // A broker learns of topics, as of changes, after the controller has answered.
            long end = System.nanoTime() + DEADLINE.toNanos();
            while (System.nanoTime() < end && !known(admin, topics)) {
                Thread.sleep(20);
            }
            Map<ConfigResource, Collection<AlterConfigOp>> changes = new HashMap<>();
            for (int number = 0; number < topics.size(); number++) {
                ConfigEntry entry = new ConfigEntry(RETENTION, String.valueOf(1_000_000 + number));
                changes.put(
                    new ConfigResource(ConfigResource.Type.TOPIC, topics.get(number)),
                    List.of(new AlterConfigOp(entry, AlterConfigOp.OpType.SET)));
            }
            admin.incrementalAlterConfigs(changes).all().get();
            Map<ConfigResource, Config> described;
            do {
                described = admin.describeConfigs(changes.keySet()).all().get();
            } while (System.nanoTime() < end && !described.entrySet().stream().allMatch(each ->
                changes.get(each.getKey()).stream().allMatch(change ->
                    change.configEntry().value().equals(each.getValue().get(RETENTION).value()))));
            described.forEach((resource, config) ->
                print("config", resource.name(), config.get(RETENTION).value()));
        }
    }

    private static boolean known(Admin admin, List<String> topics) throws InterruptedException {
        try {
            return admin.describeTopics(topics).allTopicNames().get().size() == topics.size();
        } catch (ExecutionException error) {
            return false;
        }
    }

    private static void write(String servers, List<String> topics, int count) throws Exception {
        Map<String, Object> settings =
            Map.of(
                ProducerConfig.BOOTSTRAP_SERVERS_CONFIG, servers,
                ProducerConfig.KEY_SERIALIZER_CLASS_CONFIG, StringSerializer.class,
                ProducerConfig.VALUE_SERIALIZER_CLASS_CONFIG, StringSerializer.class);
        try (Producer<String, String> producer = new KafkaProducer<>(settings)) {
            List<Future<?>> sent = new ArrayList<>();
            for (int number = 0; number < count; number++) {
                for (String topic : topics) {
                    sent.add(producer.send(
                        new ProducerRecord<>(topic, 0, null, String.valueOf(number))));
                }
            }
            for (Future<?> each : sent) {
                each.get();
            }
        }
    }

    private static void read(String servers, String group, List<String> topics, int count) {
        Map<String, Object> settings = new HashMap<>();
        settings.put(ConsumerConfig.BOOTSTRAP_SERVERS_CONFIG, servers);
        settings.put(ConsumerConfig.GROUP_ID_CONFIG, group);
        settings.put(ConsumerConfig.GROUP_PROTOCOL_CONFIG, "classic");
        settings.put(ConsumerConfig.AUTO_OFFSET_RESET_CONFIG, "earliest");
        settings.put(ConsumerConfig.ENABLE_AUTO_COMMIT_CONFIG, false);
        settings.put(ConsumerConfig.KEY_DESERIALIZER_CLASS_CONFIG, StringDeserializer.class);
        settings.put(ConsumerConfig.VALUE_DESERIALIZER_CLASS_CONFIG, StringDeserializer.class);
        try (Consumer<String, String> consumer = new KafkaConsumer<>(settings)) {
            consumer.subscribe(topics);
            long end = System.nanoTime() + DEADLINE.toNanos();
            for (int found = 0; found < count * topics.size(); ) {
                if (System.nanoTime() > end) {
                    throw new IllegalStateException(found + " records in " + DEADLINE);
                }
                for (ConsumerRecord<String, String> record : consumer.poll(POLL)) {
                    print("record", record.topic(), record.value());
                    found++;
                }
            }
            consumer.commitSync();
            consumer.committed(consumer.assignment()).forEach((partition, offset) ->
                print("offset", partition.topic(), String.valueOf(offset.offset())));
        }
    }

    private static void print(String event, String topic, String value) {
        String text = value.replace("\\", "\\\\").replace("\"", "\\\"").replace("\n", " ");
        System.out.print(String.format(
            "{\"event\": \"%s\", \"topic\": \"%s\", \"value\": \"%s\"}%n", event, topic, text));
        System.out.flush();
    }
}
