import java.io.FileReader;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.Metric;
import org.apache.kafka.common.MetricName;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * A producer that sends a record, is idle, and sends another; and beside it a member of a group that
 * reads them, whose JoinGroup the broker may hold for long.
 *
 * <p>Arguments: the file of the login, bootstrap servers, topic, group, seconds that it takes.
 * Prints how often they joined, failed to, were disconnected and authenticated again, as JSON.
 */
public final class ExpiringSessions {
    private ExpiringSessions() {}

    public static void main(String[] args) throws Exception {
        Properties settings = new Properties();
        try (FileReader file = new FileReader(args[0])) {
            settings.load(file);
        }
        settings.put(ProducerConfig.BOOTSTRAP_SERVERS_CONFIG, args[1]);
        int seen = 0;
        try (Producer<String, String> producer = producer(settings);
                Consumer<String, String> consumer = consumer(settings, args[3])) {
            producer.send(new ProducerRecord<>(args[2], "first")).get();
            long ends = System.nanoTime() + Duration.ofSeconds(Long.parseLong(args[4])).toNanos();
            consumer.subscribe(List.of(args[2]));
            while (System.nanoTime() < ends) {
                seen += consumer.poll(Duration.ofMillis(100)).count();
            }
            producer.send(new ProducerRecord<>(args[2], "second")).get();
            while (seen < 2) {
                seen += consumer.poll(Duration.ofMillis(100)).count();
            }
            System.out.print(String.format(
                    "{\"joins\": %d, \"failed_rebalances\": %d, \"disconnects\": %d,"
                            + " \"reauthentications\": %d, \"idle_disconnects\": %d,"
                            + " \"idle_reauthentications\": %d}%n",
                    total(consumer.metrics(), "join-total"),
                    total(consumer.metrics(), "failed-rebalance-total"),
                    total(consumer.metrics(), "connection-close-total"),
                    total(consumer.metrics(), "successful-reauthentication-total"),
                    total(producer.metrics(), "connection-close-total"),
                    total(producer.metrics(), "successful-reauthentication-total")));
        }
    }

    private static Producer<String, String> producer(Properties settings) {
        Properties own = new Properties();
        own.putAll(settings);
        own.put(ProducerConfig.KEY_SERIALIZER_CLASS_CONFIG, StringSerializer.class);
        own.put(ProducerConfig.VALUE_SERIALIZER_CLASS_CONFIG, StringSerializer.class);
        return new KafkaProducer<>(own);
    }

    private static Consumer<String, String> consumer(Properties settings, String group) {
        Properties own = new Properties();
        own.putAll(settings);
        own.put(ConsumerConfig.GROUP_ID_CONFIG, group);
        own.put(ConsumerConfig.GROUP_PROTOCOL_CONFIG, "classic");
        own.put(ConsumerConfig.AUTO_OFFSET_RESET_CONFIG, "earliest");
        own.put(ConsumerConfig.KEY_DESERIALIZER_CLASS_CONFIG, StringDeserializer.class);
        own.put(ConsumerConfig.VALUE_DESERIALIZER_CLASS_CONFIG, StringDeserializer.class);
        return new KafkaConsumer<>(own);
    }

    private static long total(Map<MetricName, ? extends Metric> metrics, String name) {
        double sum = 0;
        for (Map.Entry<MetricName, ? extends Metric> each : metrics.entrySet()) {
            if (each.getKey().name().equals(name) && !each.getKey().group().contains("node")) {
                sum += (double) each.getValue().metricValue();
            }
        }
        return (long) sum;
    }
}
