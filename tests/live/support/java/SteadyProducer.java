import java.time.Duration;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * An idempotent producer that writes to each of its topics again and again, until a file exists.
 *
 * <p>Arguments: bootstrap servers, the file whose existence ends it, milliseconds between two
 * rounds, topics.
 * Prints {"event": "acked", "topic": ..., "value": ..., "offset": ...} for each acknowledged record,
 * and "failed" with "error" for any other.
 */
public final class SteadyProducer {
    private SteadyProducer() {}

    public static void main(String[] args) throws InterruptedException {
        java.io.File end = new java.io.File(args[1]);
        long pause = Long.parseLong(args[2]);
        AtomicBoolean failed = new AtomicBoolean();
        Map<String, Object> settings =
                Map.of(
                        ProducerConfig.BOOTSTRAP_SERVERS_CONFIG, args[0],
                        ProducerConfig.METADATA_MAX_AGE_CONFIG, 500,
                        ProducerConfig.DELIVERY_TIMEOUT_MS_CONFIG, 600_000,
                        ProducerConfig.MAX_BLOCK_MS_CONFIG, 60_000,
                        ProducerConfig.KEY_SERIALIZER_CLASS_CONFIG, StringSerializer.class,
                        ProducerConfig.VALUE_SERIALIZER_CLASS_CONFIG, StringSerializer.class);
        try (Producer<String, String> producer = new KafkaProducer<>(settings)) {
            for (int number = 0; !end.exists(); number++) {
                for (int at = 3; at < args.length; at++) {
                    String topic = args[at];
                    String value = Integer.toString(number);
                    producer.send(
                            new ProducerRecord<>(topic, value),
                            (done, error) -> {
                                if (error == null) {
                                    print("acked", topic, value, "\"offset\": " + done.offset());
                                } else {
                                    failed.set(true);
                                    print("failed", topic, value, "\"error\": \"" + error + "\"");
                                }
                            });
                }
                Thread.sleep(pause);
            }
            producer.flush();
            producer.close(Duration.ofSeconds(60));
        }
        System.exit(failed.get() ? 1 : 0);
    }

    private static synchronized void print(String event, String topic, String value, String more) {
        System.out.print(String.format(
                "{\"event\": \"%s\", \"topic\": \"%s\", \"value\": \"%s\", %s}%n",
                event, topic, value, more.replace('\n', ' ')));
        System.out.flush();
    }
}
