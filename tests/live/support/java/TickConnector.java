import java.util.List;
import java.util.Map;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.connector.Task;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.source.SourceConnector;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.source.SourceTask;

/** A source connector of Kafka Connect that writes {@code count} records to {@code topic}, ten a second. */
public class TickConnector extends SourceConnector {
    private Map<String, String> settings;

    @Override public void start(Map<String, String> settings) { this.settings = settings; }

    @Override public Class<? extends Task> taskClass() { return TickTask.class; }

    @Override public List<Map<String, String>> taskConfigs(int most) { return List.of(settings); }

    @Override public void stop() { }

    @Override public ConfigDef config() { return new ConfigDef(); }

    @Override public String version() { return "1"; }

    /** The connector's one task. */
    public static class TickTask extends SourceTask {
        private String topic;
        private int left;

        @Override public String version() { return "1"; }

        @Override public void start(Map<String, String> settings) {
            topic = settings.get("topic");
            left = Integer.parseInt(settings.get("count"));
        }

        @Override public List<SourceRecord> poll() throws InterruptedException {
            if (left == 0) {
                Thread.sleep(100);
                return null;
            }
            Thread.sleep(100);
            left--;
            return List.of(new SourceRecord(
                    Map.of("source", "tick"), Map.of("left", left), topic, Schema.STRING_SCHEMA, "tick-" + left));
        }

        @Override public void stop() { }
    }
}
