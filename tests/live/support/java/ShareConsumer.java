import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.serialization.StringDeserializer;

/**
 * Reads records of topics as a member of a share group (KIP-932) until it has accepted or rejected so many, and prints an
 * event in a line for each. A record whose value begins with "again" is released at its first delivery, a record whose value
 * begins with "bad" is rejected, all others are accepted.
 *
 * Arguments: bootstrap servers, group, number of records, seconds, topics.
 */
public class ShareConsumer {
    public static void main(String[] args) {
        int count = Integer.parseInt(args[2]);
        long end = System.nanoTime() + Long.parseLong(args[3]) * 1_000_000_000L;
        List<String> topics = List.of(args).subList(4, args.length);
        Properties settings = new Properties();
        settings.put("bootstrap.servers", args[0]);
        settings.put("group.id", args[1]);
        settings.put("share.acknowledgement.mode", "explicit");
        settings.put("key.deserializer", StringDeserializer.class.getName());
        settings.put("value.deserializer", StringDeserializer.class.getName());
        try (KafkaShareConsumer<String, String> consumer = new KafkaShareConsumer<>(settings)) {
            consumer.subscribe(topics);
            print("subscribed", String.join(",", topics), "", 0);
            int done = 0;
            while (done < count) {
                if (System.nanoTime() > end) {
                    System.exit(1);
                }
                try {
                    done += poll(consumer);
                } catch (KafkaException error) {
                    print("error", "", error.getClass().getSimpleName(), 0);
                }
            }
        }
    }

    private static int poll(KafkaShareConsumer<String, String> consumer) {
        int done = 0;
        List<ConsumerRecord<String, String>> records = new ArrayList<>();
        consumer.poll(Duration.ofMillis(500)).forEach(records::add);
        for (ConsumerRecord<String, String> record : records) {
            int delivery = record.deliveryCount().orElse((short) 0);
            AcknowledgeType type = AcknowledgeType.ACCEPT;
            if (record.value().startsWith("bad")) {
                type = AcknowledgeType.REJECT;
            } else if (record.value().startsWith("again") && delivery == 1) {
                type = AcknowledgeType.RELEASE;
            }
            consumer.acknowledge(record, type);
            print(type.toString(), record.topic(), record.value(), delivery);
            done += type == AcknowledgeType.RELEASE ? 0 : 1;
        }
        Map<TopicIdPartition, java.util.Optional<KafkaException>> committed = consumer.commitSync();
        committed.forEach((partition, error) -> error.ifPresent(
            each -> print("failed", partition.topic(), each.getClass().getSimpleName(), 0)));
        return done;
    }

    private static void print(String event, String topic, String value, int delivery) {
        System.out.print(String.format(
            "{\"event\": \"%s\", \"topic\": \"%s\", \"value\": \"%s\", \"delivery\": %d}%n", event, topic, value, delivery));
        System.out.flush();
    }
}
