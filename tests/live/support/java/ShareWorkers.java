import java.io.File;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.serialization.StringDeserializer;

/**
 * Members of share groups (KIP-932), a thread each, that acknowledge every record until a file exists.
 *
 * <p>What is done with a record depends on how its value begins: "bad" is rejected, "again" is released at its first
 * delivery, "never" at each, "renew" has its lock renewed once and is accepted then, "slow" is accepted only after the member
 * has slept at its first delivery; all others are accepted at once.
 *
 * <p>Arguments: the file whose existence ends it, then for each member: its name, bootstrap servers, group, topics (joined by
 * commas), milliseconds of sleep for "slow", milliseconds between two polls, KEY=VALUE for further settings, "end".
 * Prints an event in a line of JSON: "take" for a record as it comes; "accept", "release", "reject", "renew" once the broker has
 * confirmed that; "failed" if it has not; "error" for what poll throws.
 */
public final class ShareWorkers {
    private final String name;
    private final long sleep;
    private final Set<String> renewed = new HashSet<>();
    private final KafkaShareConsumer<String, String> consumer;

    private ShareWorkers(List<String> args) {
        name = args.get(0);
        sleep = Long.parseLong(args.get(4));
        Properties settings = new Properties();
        settings.put("bootstrap.servers", args.get(1));
        settings.put("group.id", args.get(2));
        settings.put("share.acknowledgement.mode", "explicit");
        settings.put("key.deserializer", StringDeserializer.class.getName());
        settings.put("value.deserializer", StringDeserializer.class.getName());
        for (String each : args.subList(6, args.size())) {
            String[] parts = each.split("=", 2);
            settings.put(parts[0], parts[1]);
        }
        consumer = new KafkaShareConsumer<>(settings);
    }

    public static void main(String[] args) throws InterruptedException {
        File end = new File(args[0]);
        List<String> rest = Arrays.asList(args).subList(1, args.length);
        List<Thread> threads = new ArrayList<>();
        while (!rest.isEmpty()) {
            int stop = rest.indexOf("end");
            List<String> member = rest.subList(0, stop);
            threads.add(new Thread(() -> work(member, end)));
            rest = rest.subList(stop + 1, rest.size());
        }
        threads.forEach(Thread::start);
        for (Thread thread : threads) {
            thread.join();
        }
    }

    private static void work(List<String> args, File end) {
        ShareWorkers worker = new ShareWorkers(args);
        try (KafkaShareConsumer<String, String> consumer = worker.consumer) {
            consumer.subscribe(List.of(args.get(3).split(",")));
            while (!end.exists()) {
                try {
                    worker.poll();
                } catch (KafkaException | IllegalStateException error) {
                    worker.print("error", "", "", 0, error);
                    sleep(100);
                }
                sleep(Long.parseLong(args.get(5)));
            }
        }
        worker.print("closed", "", "", 0, null);
    }

    private void poll() {
        List<ConsumerRecord<String, String>> late = new ArrayList<>();
        List<ConsumerRecord<String, String>> sent = new ArrayList<>();
        List<AcknowledgeType> types = new ArrayList<>();
        for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(200))) {
            print("take", record, null);
            if (record.value().startsWith("slow") && delivery(record) == 1) {
                late.add(record);
            } else {
                sent.add(record);
                types.add(typeFor(record));
                consumer.acknowledge(record, types.get(types.size() - 1));
            }
        }
        commit(sent, types);
        for (ConsumerRecord<String, String> record : late) {
            sleep(sleep);
            consumer.acknowledge(record, AcknowledgeType.ACCEPT);
            commit(List.of(record), List.of(AcknowledgeType.ACCEPT));
        }
    }

    private AcknowledgeType typeFor(ConsumerRecord<String, String> record) {
        String value = record.value();
        if (value.startsWith("bad")) {
            return AcknowledgeType.REJECT;
        }
        if (value.startsWith("never") || (value.startsWith("again") && delivery(record) == 1)) {
            return AcknowledgeType.RELEASE;
        }
        if (value.startsWith("renew") && renewed.add(value)) {
            return AcknowledgeType.RENEW;
        }
        return AcknowledgeType.ACCEPT;
    }

    private void commit(List<ConsumerRecord<String, String>> records, List<AcknowledgeType> types) {
        if (records.isEmpty()) {
            return;
        }
        Map<TopicIdPartition, Optional<KafkaException>> results = consumer.commitSync();
        for (int at = 0; at < records.size(); at++) {
            ConsumerRecord<String, String> record = records.get(at);
            String event = "unanswered";
            KafkaException error = null;
            for (Map.Entry<TopicIdPartition, Optional<KafkaException>> each : results.entrySet()) {
                TopicIdPartition partition = each.getKey();
                if (partition.topic().equals(record.topic()) && partition.partition() == record.partition()) {
                    error = each.getValue().orElse(null);
                    event = error == null ? types.get(at).toString() : "failed";
                }
            }
            print(event, record, error);
        }
    }

    private static int delivery(ConsumerRecord<String, String> record) {
        return record.deliveryCount().orElse((short) 0);
    }

    private void print(String event, ConsumerRecord<String, String> record, Exception error) {
        print(event, record.topic(), record.value(), delivery(record), error);
    }

    private void print(String event, String topic, String value, int delivery, Exception error) {
        String kind = error == null ? "" : error.getClass().getSimpleName();
        String format = "{\"worker\": \"%s\", \"event\": \"%s\", \"topic\": \"%s\", \"value\": \"%s\", \"delivery\": %d,"
            + " \"error\": \"%s\"}%n";
        synchronized (ShareWorkers.class) {
            System.out.print(String.format(format, name, event, topic, value, delivery, kind));
            System.out.flush();
        }
    }

    private static void sleep(long milliseconds) {
        try {
            Thread.sleep(milliseconds);
        } catch (InterruptedException error) {
            throw new IllegalStateException(error);
        }
    }
}
