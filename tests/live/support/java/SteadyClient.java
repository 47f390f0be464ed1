import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * An idempotent producer and a member of a group, with the client's own settings, until a file
 * exists.
 *
 * <p>Arguments: bootstrap servers, the file whose existence ends it, milliseconds between two
 * records, topic, group, group.protocol ("classic" or "consumer"), then KEY=VALUE for further
 * settings of both.
 * Prints a line "acked VALUE" for each acknowledged record, "seen VALUE" for each consumed one, and
 * "failed ERROR".
 */
public final class SteadyClient {
    private SteadyClient() {}

    public static void main(String[] args) throws InterruptedException {
        java.io.File end = new java.io.File(args[1]);
        long pause = Long.parseLong(args[2]);
        Thread consuming = new Thread(() -> consume(args, end));
        consuming.start();
        Map<String, Object> settings = further(args);
        settings.put(ProducerConfig.BOOTSTRAP_SERVERS_CONFIG, args[0]);
        settings.put(ProducerConfig.KEY_SERIALIZER_CLASS_CONFIG, StringSerializer.class);
        settings.put(ProducerConfig.VALUE_SERIALIZER_CLASS_CONFIG, StringSerializer.class);
        try (Producer<String, String> producer = new KafkaProducer<>(settings)) {
            for (int number = 0; !end.exists(); number++) {
                String value = Integer.toString(number);
                producer.send(
                        new ProducerRecord<>(args[3], value),
                        (done, error) ->
                                print(error == null ? "acked " + value : "failed " + error));
                Thread.sleep(pause);
            }
            producer.close(Duration.ofSeconds(60));
        }
        consuming.join();
        System.exit(0);
    }

    private static void consume(String[] args, java.io.File end) {
        Map<String, Object> settings = further(args);
        settings.put(ConsumerConfig.BOOTSTRAP_SERVERS_CONFIG, args[0]);
        settings.put(ConsumerConfig.GROUP_ID_CONFIG, args[4]);
        settings.put(ConsumerConfig.GROUP_PROTOCOL_CONFIG, args[5]);
        settings.put(ConsumerConfig.AUTO_OFFSET_RESET_CONFIG, "earliest");
        settings.put(ConsumerConfig.KEY_DESERIALIZER_CLASS_CONFIG, StringDeserializer.class);
        settings.put(ConsumerConfig.VALUE_DESERIALIZER_CLASS_CONFIG, StringDeserializer.class);
        try (Consumer<String, String> consumer = new KafkaConsumer<>(settings)) {
            consumer.subscribe(List.of(args[3]));
            while (!end.exists()) {
                for (ConsumerRecord<String, String> record :
                        consumer.poll(Duration.ofMillis(100))) {
                    print("seen " + record.value());
                }
            }
        } catch (RuntimeException error) {
            print("failed " + error);
        }
    }

    private static Map<String, Object> further(String[] args) {
        Map<String, Object> settings = new HashMap<>();
        for (int at = 6; at < args.length; at++) {
            String[] parts = args[at].split("=", 2);
            settings.put(parts[0], parts[1]);
        }
        return settings;
    }

    private static synchronized void print(String line) {
        System.out.println(line.replace('\n', ' '));
        System.out.flush();
    }
}
