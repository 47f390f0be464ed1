import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import java.util.regex.Pattern;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.SubscriptionPattern;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;

/**
 * A consumer that subscribes to a regex: by the protocol of KIP-848, where the server evaluates it,
 * or by the classic one, where the consumer does, over the topics that the server lists.
 *
 * <p>Arguments: bootstrap servers, group, regex, number of records to end after, seconds to end
 * after, and for the classic protocol whether internal topics count as well ("internal") or not
 * ("topics"). Prints a JSON object a line: {"event": "assigned", "topic": ...} for each partition
 * that it is given, "revoked" for each taken away, and {"event": "record", "topic": ..., "value":
 * ...}. It exits with 0 after the records, with 1 after the seconds.
 */
public final class RegexConsumer {
    private static final Duration POLL = Duration.ofMillis(200);

    private RegexConsumer() {}

    public static void main(String[] args) {
        int wanted = Integer.parseInt(args[3]);
        long end = System.nanoTime() + Duration.ofSeconds(Long.parseLong(args[4])).toNanos();
        int seen = 0;
        String listed = args.length > 5 ? args[5] : null;
        try (Consumer<String, String> consumer = consumer(args[0], args[1], listed)) {
            if (listed == null) {
                consumer.subscribe(new SubscriptionPattern(args[2]), new Printer());
            } else {
                consumer.subscribe(Pattern.compile(args[2]), new Printer());
            }
            while (seen < wanted && System.nanoTime() < end) {
                for (ConsumerRecord<String, String> record : consumer.poll(POLL)) {
                    print("record", record.topic(), ", \"value\": \"" + record.value() + "\"");
                    seen++;
                }
            }
        }
        System.exit(seen < wanted ? 1 : 0);
    }

    private static final class Printer implements ConsumerRebalanceListener {
        @Override
        public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
            partitions.forEach(partition -> print("assigned", partition.topic(), ""));
        }

        @Override
        public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
            partitions.forEach(partition -> print("revoked", partition.topic(), ""));
        }
    }

    private static void print(String event, String topic, String more) {
        System.out.print(String.format("{\"event\": \"%s\", \"topic\": \"%s\"%s}%n", event, topic, more));
        System.out.flush();
    }

    private static Consumer<String, String> consumer(String servers, String group, String listed) {
        Map<String, Object> settings = new HashMap<>();
        settings.put(ConsumerConfig.BOOTSTRAP_SERVERS_CONFIG, servers);
        settings.put(ConsumerConfig.GROUP_ID_CONFIG, group);
        if (listed == null) {
            settings.put(ConsumerConfig.GROUP_PROTOCOL_CONFIG, "consumer");
        } else {
            settings.put(ConsumerConfig.GROUP_PROTOCOL_CONFIG, "classic");
            settings.put(ConsumerConfig.EXCLUDE_INTERNAL_TOPICS_CONFIG, !listed.equals("internal"));
            settings.put(ConsumerConfig.METADATA_MAX_AGE_CONFIG, 500);
        }
        settings.put(ConsumerConfig.AUTO_OFFSET_RESET_CONFIG, "earliest");
        settings.put(ConsumerConfig.KEY_DESERIALIZER_CLASS_CONFIG, StringDeserializer.class);
        settings.put(ConsumerConfig.VALUE_DESERIALIZER_CLASS_CONFIG, StringDeserializer.class);
        return new KafkaConsumer<>(settings);
    }
}
