import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.Future;
import java.util.regex.Pattern;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * The main uses of Java's clients, by calls that kafka-clients have from 2.1 to 4.3. What a version
 * has instead of another is called by reflection, so classes compiled once run with each of them.
 *
 * <p>Arguments: bootstrap servers, the prefix of every name (a namespace), and a stem that no other
 * run has. Prints a JSON object a line, {"event": ..., "value": [...]}: names without the prefix, or
 * behind a question mark if they do not begin with it, and errors by their class.
 */
public final class AnyVersion {
    private static final int PARTITIONS = 4;
    private static final List<String> CODECS = List.of("none", "gzip", "snappy", "lz4", "zstd");

    private final AnyVersionRun run;
    private final AnyVersionAdmin admin;
    private final String in;
    private final String out;

    private AnyVersion(AnyVersionRun run, AnyVersionAdmin admin) {
        this.run = run;
        this.admin = admin;
        this.in = run.name("in");
        this.out = run.name("out");
    }

    public static void main(String[] args) throws Exception {
        AnyVersionRun run = new AnyVersionRun(args[0], args[1], args[2]);
        try (AnyVersionAdmin admin = new AnyVersionAdmin(run)) {
            AnyVersion uses = new AnyVersion(run, admin);
            admin.create(uses.in, PARTITIONS, uses.out);
            admin.configs(uses.in);
            uses.records();
            uses.group();
            uses.transactions();
            uses.offsets();
            admin.delete(uses.in, uses.out);
        }
    }

    /** A batch of each codec, by idempotent producers. */
    private void records() throws Exception {
        List<String> written = new ArrayList<>();
        for (String codec : CODECS) {
            Map<String, Object> more = Map.of(
                "compression.type", codec, "enable.idempotence", true, "acks", "all");
            try (KafkaProducer<String, String> producer = producer(more)) {
                List<Future<RecordMetadata>> sent = new ArrayList<>();
                for (int each = 0; each < PARTITIONS; each++) {
                    sent.add(producer.send(record(each, codec + "-" + each)));
                }
                for (Future<RecordMetadata> each : sent) {
                    RecordMetadata at = each.get();
                    TopicPartition place = new TopicPartition(at.topic(), at.partition());
                    written.add(run.shown(place) + "@" + at.offset());
                }
                written.add(codec + " of " + producer.partitionsFor(in).size());
            }
        }
        AnyVersionRun.print("written", written);
    }

    private ProducerRecord<String, String> record(int partition, String key) {
        ProducerRecord<String, String> made =
            new ProducerRecord<>(in, partition, run.began + partition, key, "v".repeat(30));
        made.headers().add("key", key.getBytes(StandardCharsets.UTF_8));
        return made;
    }

    /** Two members share the partitions; then a third goes on from what they have committed. */
    private void group() throws Exception {
        String group = run.name("group");
        Set<String> read = new TreeSet<>();
        try (KafkaConsumer<String, String> one = consumer(group, Map.of());
                KafkaConsumer<String, String> two = consumer(group, Map.of())) {
            List<KafkaConsumer<String, String>> members = List.of(one, two);
            members.forEach(each -> each.subscribe(List.of(in)));
            AnyVersionRun.until("both members", () -> {
                members.forEach(each -> run.poll(each, read));
                return members.stream().allMatch(each -> hasRead(each, PARTITIONS / members.size()));
            });
            for (KafkaConsumer<String, String> each : members) {
                each.commitSync();
            }
            admin.members(group);
        }
        AnyVersionRun.print("read", read);
        admin.groups();
        AnyVersionRun.print("committed", admin.committed(group));
        try (KafkaConsumer<String, String> third = consumer(group, Map.of());
                KafkaProducer<String, String> producer = producer(Map.of())) {
            producer.send(record(1, "later")).get();
            third.subscribe(Pattern.compile(run.pattern("i")));
            AnyVersionRun.print("pattern", run.read(third, 1), third.assignment().size());
        }
        admin.delete(group);
    }

    /** Whether a member has read its partitions, so many, since they were assigned. */
    private static boolean hasRead(KafkaConsumer<String, String> member, int partitions) {
        return member.assignment().size() == partitions && member.assignment().stream()
            .allMatch(each -> member.position(each) == CODECS.size());
    }

    /** Produce and commit in transactions, one aborted; then the producer is fenced. */
    private void transactions() throws Exception {
        String group = run.name("copies");
        Map<String, Object> more = Map.of("transactional.id", run.name("tx"));
        TopicPartition first = new TopicPartition(in, 0);
        try (KafkaProducer<String, String> producer = producer(more);
                KafkaProducer<String, String> successor = producer(more);
                KafkaConsumer<String, String> consumer = consumer(group, Map.of())) {
            producer.initTransactions();
            consumer.subscribe(List.of(in));
            run.read(consumer, 1);
            for (String value : List.of("a", "b", "c")) {
                producer.beginTransaction();
                // Waits, because what is not sent yet goes with an abort.
                producer.send(new ProducerRecord<>(out, 0, value, value)).get();
                OffsetAndMetadata offset = new OffsetAndMetadata(value.charAt(0));
                sendOffsets(producer, Map.of(first, offset), consumer, group);
                if (value.equals("b")) {
                    producer.abortTransaction();
                } else {
                    producer.commitTransaction();
                }
            }
            // Markers are written after the response.
            AnyVersionRun.until("the offset of c",
                () -> admin.committed(group).equals(Map.of(run.shown(first), (long) 'c')));
            successor.initTransactions();
            AnyVersionRun.print("fenced", fenced(producer));
        }
        for (String level : List.of("read_committed", "read_uncommitted")) {
            try (KafkaConsumer<String, String> reader =
                    consumer(run.name(level), Map.of("isolation.level", level))) {
                reader.subscribe(List.of(out));
                int count = level.equals("read_committed") ? 2 : 3;
                AnyVersionRun.print(level, run.read(reader, count));
            }
        }
    }

    private String fenced(KafkaProducer<String, String> producer) {
        try {
            producer.beginTransaction();
            producer.send(new ProducerRecord<>(out, 0, "d", "d"));
            producer.commitTransaction();
            return "not fenced";
        } catch (KafkaException error) {
            // Whether it is wrapped is chance: send() may know before commitTransaction() asks.
            Throwable cause = error;
            while (cause.getCause() != null) {
                cause = cause.getCause();
            }
            return cause.getClass().getSimpleName();
        }
    }

    /** With the member's generation from 2.5 on (KIP-447), with the group alone before. */
    private static void sendOffsets(
            KafkaProducer<String, String> producer,
            Map<TopicPartition, OffsetAndMetadata> offsets,
            KafkaConsumer<String, String> consumer,
            String group) throws Exception {
        String method = "sendOffsetsToTransaction";
        try {
            Class<?> type = Class.forName("org.apache.kafka.clients.consumer.ConsumerGroupMetadata");
            KafkaProducer.class.getMethod(method, Map.class, type).invoke(
                producer, offsets, KafkaConsumer.class.getMethod("groupMetadata").invoke(consumer));
        } catch (ClassNotFoundException | NoSuchMethodException before) {
            KafkaProducer.class.getMethod(method, Map.class, String.class)
                .invoke(producer, offsets, group);
        }
    }

    private void offsets() throws Exception {
        TopicPartition first = new TopicPartition(in, 0);
        TopicPartition target = new TopicPartition(out, 0);
        try (KafkaConsumer<String, String> consumer = consumer(run.name("offsets"), Map.of())) {
            AnyVersionRun.print("ends", run.shown(consumer.endOffsets(List.of(first, target))));
            AnyVersionRun.print(
                "by-time", consumer.offsetsForTimes(Map.of(first, run.began)).get(first).offset());
            AnyVersionRun.print(
                "known", consumer.listTopics().get(in).size(), consumer.partitionsFor(out).size());
            admin.deleteRecords(first, 2).get();
            AnyVersionRun.print("begins", run.shown(consumer.beginningOffsets(List.of(first, target))));
            consumer.assign(List.of(first));
            consumer.seekToBeginning(List.of(first));
            AnyVersionRun.print("position", consumer.position(first));
            AnyVersionRun.print("rest", run.read(consumer, CODECS.size() - 2));
            AnyVersionRun.print("too-far", AnyVersionRun.error(admin.deleteRecords(first, 99)));
        }
    }

    private KafkaProducer<String, String> producer(Map<String, Object> more) {
        return new KafkaProducer<>(run.settings(more), new StringSerializer(), new StringSerializer());
    }

    private KafkaConsumer<String, String> consumer(String group, Map<String, Object> more) {
        Properties settings = run.settings(more);
        settings.put("group.id", group);
        settings.put("auto.offset.reset", "earliest");
        settings.put("enable.auto.commit", false);
        settings.put("heartbeat.interval.ms", 300);
        return new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer());
    }
}
