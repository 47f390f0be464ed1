import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Properties;
import java.util.Scanner;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.nio.ByteBuffer;
import org.HdrHistogram.Histogram;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.WakeupException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Messages at a rate, from one producer to one consumer with Kafka's defaults, and how long each takes.
 *
 * <p>Each message has a time at which it is due, and its latency counts from then, sent late or not: a pause delays
 * all that were due meanwhile (no coordinated omission). Arguments: bootstrap servers, the prefix of the topics' names, which
 * end with a number. For each line of standard input, RATE TOPICS WARMUP_MS WINDOW_MS, it prints "begin" and "end" with the
 * window, then a line of JSON: the messages due in the window that were acknowledged, that failed, and that the consumer got
 * within ten seconds; latencies of these in milliseconds.
 */
public final class Sizing {
    private static final int VALUE = 1024;
    private static final long GRACE = 10_000_000_000L;
    private static final double[] SHARES = {50, 95, 99, 99.9};

    private final KafkaProducer<byte[], byte[]> producer;
    private final String servers;
    private final String prefix;

    private Sizing(String servers, String prefix) {
        this.servers = servers;
        this.prefix = prefix;
        Properties settings = settings();
        settings.put("acks", "all");
        settings.put("key.serializer", ByteArraySerializer.class.getName());
        settings.put("value.serializer", ByteArraySerializer.class.getName());
        producer = new KafkaProducer<>(settings);
    }

    public static void main(String[] args) throws Exception {
        Sizing sizing = new Sizing(args[0], args[1]);
        try (Scanner lines = new Scanner(System.in)) {
            for (long run = 1; lines.hasNextLine(); run++) {
                long[] asked = Arrays.stream(lines.nextLine().split(" ")).mapToLong(Long::parseLong).toArray();
                sizing.run(run, asked[0], (int) asked[1], asked[2] * 1_000_000, asked[3] * 1_000_000);
            }
        }
        sizing.producer.close(Duration.ZERO);
        System.exit(0);
    }

    private Properties settings() {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", servers);
        return settings;
    }

    private void run(long run, long rate, int topics, long warmup, long window) throws InterruptedException {
        List<String> names = new ArrayList<>();
        for (int topic = 0; topic < topics; topic++) {
            names.add(prefix + topic);
        }
        Reader reader = new Reader(run, names);
        reader.start();
        reader.ready.await();
        long first = System.nanoTime();
        reader.from = first + warmup;
        reader.to = reader.from + window;
        Sender sender = new Sender(reader.from, reader.to);
        Thread marks = new Thread(() -> mark(reader.from, reader.to));
        marks.start();
        long sent = sender.send(run, rate, names, first);
        producer.flush();
        marks.join();
        long ends = System.nanoTime() + GRACE;
        while (reader.count.get() < sent && System.nanoTime() < ends) {
            Thread.sleep(10);
        }
        reader.end();
        say(String.format(Locale.ROOT, "{\"sent\": %d, \"failed\": %d, \"acked\": %d, \"received\": %d, \"late\": %s,"
            + " \"publish\": %s, \"end_to_end\": %s}", sent, sender.failed.get(), sender.publish.getTotalCount(),
            reader.latency.getTotalCount(), shares(sender.late), shares(sender.publish), shares(reader.latency)));
    }

    private static void mark(long from, long to) {
        await(from);
        say("begin");
        await(to);
        say("end");
    }

    private static void await(long time) {
        for (long left = time - System.nanoTime(); left > 0; left = time - System.nanoTime()) {
            LockSupport.parkNanos(left);
        }
    }

    private static synchronized void say(String line) {
        System.out.println(line);
        System.out.flush();
    }

    private static Histogram histogram() {
        return new Histogram(60_000_000_000L, 3);
    }

    private static String shares(Histogram histogram) {
        StringBuilder text = new StringBuilder("[");
        for (double share : SHARES) {
            text.append(String.format(Locale.ROOT, "%.3f, ", histogram.getValueAtPercentile(share) / 1e6));
        }
        return text.append(String.format(Locale.ROOT, "%.3f]", histogram.getMaxValue() / 1e6)).toString();
    }

    private static void record(Histogram histogram, long nanoseconds) {
        histogram.recordValue(Math.min(Math.max(nanoseconds, 0), 60_000_000_000L));
    }

    /** Sends each message when it is due, or as soon after that as the producer takes it. */
    private final class Sender {
        private final long from;
        private final long to;
        private final Histogram late = histogram();
        private final Histogram publish = histogram();
        private final AtomicLong failed = new AtomicLong();

        Sender(long from, long to) {
            this.from = from;
            this.to = to;
        }

        long send(long run, long rate, List<String> names, long first) {
            long sent = 0;
            for (long number = 0;; number++) {
                long due = first + number * 1_000_000_000L / rate;
                if (due >= to) {
                    return sent;
                }
                await(due);
                boolean counts = due >= from;
                byte[] value = new byte[VALUE];
                ByteBuffer.wrap(value).putLong(run).putLong(due);
                if (counts) {
                    sent++;
                    record(late, System.nanoTime() - due);
                }
                String topic = names.get((int) (number % names.size()));
                producer.send(new ProducerRecord<>(topic, value), (metadata, error) -> {
                    if (error != null) {
                        failed.incrementAndGet();
                    } else if (counts) {
                        record(publish, System.nanoTime() - due);
                    }
                });
            }
        }
    }

    /** Reads all topics, in a group of its own that begins at the end. */
    private final class Reader extends Thread {
        final CountDownLatch ready = new CountDownLatch(1);
        final AtomicLong count = new AtomicLong();
        final Histogram latency = histogram();
        volatile long from = Long.MAX_VALUE;
        volatile long to = Long.MAX_VALUE;
        private final long run;
        private final List<String> names;
        private final KafkaConsumer<byte[], byte[]> consumer;

        Reader(long run, List<String> names) {
            this.run = run;
            this.names = names;
            Properties settings = settings();
            settings.put("group.id", prefix + "readers-" + run);
            settings.put("auto.offset.reset", "latest");
            settings.put("key.deserializer", ByteArrayDeserializer.class.getName());
            settings.put("value.deserializer", ByteArrayDeserializer.class.getName());
            consumer = new KafkaConsumer<>(settings);
        }

        @Override
        public void run() {
            try (consumer) {
                consumer.subscribe(names);
                while (consumer.assignment().size() < names.size()) {
                    consumer.poll(Duration.ofMillis(100));
                }
                for (TopicPartition partition : consumer.assignment()) {
                    consumer.position(partition);
                }
                ready.countDown();
                while (true) {
                    for (ConsumerRecord<byte[], byte[]> each : consumer.poll(Duration.ofMillis(1000))) {
                        ByteBuffer value = ByteBuffer.wrap(each.value());
                        if (value.getLong() == run) {
                            got(value.getLong());
                        }
                    }
                }
            } catch (WakeupException error) {
                // It has read all, or as much as there was in time.
            }
        }

        private void got(long due) {
            if (due >= from && due < to) {
                record(latency, System.nanoTime() - due);
                count.incrementAndGet();
            }
        }

        void end() throws InterruptedException {
            consumer.wakeup();
            join();
        }
    }
}
