import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;

/** What the parts of AnyVersion share: names, settings, waits, and the events that are printed. */
final class AnyVersionRun {
    private static final long DEADLINE = System.nanoTime() + Duration.ofSeconds(200).toNanos();
    private static final Duration POLL = Duration.ofMillis(100);

    final long began = System.currentTimeMillis();
    private final String servers;
    private final String prefix;
    private final String stem;

    AnyVersionRun(String servers, String prefix, String stem) {
        this.servers = servers;
        this.prefix = prefix;
        this.stem = stem;
    }

    String name(String what) {
        return prefix + what + "-" + stem;
    }

    /** A regular expression that matches the names of this run that begin with {@code what}. */
    String pattern(String what) {
        return java.util.regex.Pattern.quote(prefix + what) + ".*" + java.util.regex.Pattern.quote(stem);
    }

    Properties settings(Map<String, Object> more) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", servers);
        settings.put("reconnect.backoff.ms", 20);
        settings.put("reconnect.backoff.max.ms", 20);
        settings.putAll(more);
        return settings;
    }

    /** The next records of a consumer, sorted. */
    List<String> read(KafkaConsumer<String, String> consumer, int count) throws Exception {
        List<String> found = new ArrayList<>();
        until(count + " records", () -> {
            poll(consumer, found);
            return found.size() >= count;
        });
        Collections.sort(found);
        return found;
    }

    void poll(KafkaConsumer<String, String> consumer, Collection<String> found) {
        consumer.poll(POLL).forEach(record -> found.add(text(record)));
    }

    /** Records with headers show how far their timestamps are from the begin of the run. */
    private String text(ConsumerRecord<String, String> record) {
        List<String> more = new ArrayList<>();
        record.headers().forEach(each -> more.add(
            each.key() + "=" + new String(each.value(), StandardCharsets.UTF_8)));
        if (!more.isEmpty()) {
            more.add("+" + (record.timestamp() - began));
        }
        String at = shown(new TopicPartition(record.topic(), record.partition()));
        return at + "@" + record.offset() + " " + record.key() + " " + record.value() + " " + more;
    }

    /** The names of this run among others, as they are shown. */
    List<String> own(Collection<String> names) {
        List<String> found = new ArrayList<>();
        names.stream().filter(each -> each.contains(stem)).forEach(each -> found.add(shown(each)));
        Collections.sort(found);
        return found;
    }

    Map<String, Long> shown(Map<TopicPartition, Long> offsets) {
        Map<String, Long> found = new TreeMap<>();
        offsets.forEach((partition, offset) -> found.put(shown(partition), offset));
        return found;
    }

    String shown(TopicPartition partition) {
        return shown(partition.topic()) + "-" + partition.partition();
    }

    private String shown(String name) {
        String rest = name.startsWith(prefix) ? name.substring(prefix.length()) : "?" + name;
        return rest.replace("-" + stem, "");
    }

    /** The class of the error that a call ends with. */
    static String error(Future<?> future) throws InterruptedException, TimeoutException {
        try {
            future.get(60, TimeUnit.SECONDS);
            return "none";
        } catch (ExecutionException error) {
            return error.getCause().getClass().getSimpleName();
        }
    }

    /** Waits, because brokers go by a change later than they respond to it. */
    static void until(String awaited, Callable<Boolean> condition) throws Exception {
        while (!condition.call()) {
            if (System.nanoTime() > DEADLINE) {
                throw new IllegalStateException("not in time: " + awaited);
            }
            Thread.sleep(10);
        }
    }

    static void print(String event, Object... values) {
        StringBuilder text = new StringBuilder();
        for (Object each : values) {
            text.append(text.length() == 0 ? "" : ", ").append('"').append(each).append('"');
        }
        System.out.print(String.format("{\"event\": \"%s\", \"value\": [%s]}%n", event, text));
        System.out.flush();
    }
}
