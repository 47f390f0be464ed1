import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import org.apache.kafka.common.Configurable;
import org.apache.kafka.connect.mirror.DefaultReplicationPolicy;
import org.apache.kafka.connect.mirror.IdentityReplicationPolicy;
import org.apache.kafka.connect.mirror.ReplicationPolicy;

/**
 * Kafka's replication policies, asked in this process: a line in, a line out, fields between tabs.
 *
 * <p>In: "default" or "identity", separator, whether internal topics have it, the source's alias or
 * nothing, a topic. Out: each method's answer, "-" for null, "=" before a text. The last is whether
 * the DefaultTopicFilter takes the topic, "?" without connect-mirror. Ends with its input.
 */
public final class ReplicationOracle {
    private ReplicationOracle() {}

    public static void main(String[] args) throws Exception {
        var in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        var out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        Map<String, ReplicationPolicy> policies = new HashMap<>();
        Object filter = filter();
        Method takes = filter == null
            ? null : filter.getClass().getMethod("shouldReplicateTopic", String.class);
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] fields = line.split("\t", -1);
            String key = fields[0] + "\t" + fields[1] + "\t" + fields[2] + "\t" + fields[3];
            ReplicationPolicy policy = policies.computeIfAbsent(key, unused -> policy(fields));
            String topic = fields[4];
            out.print(String.join("\t",
                text(policy.formatRemoteTopic("A", topic)),
                text(policy.topicSource(topic)),
                text(policy.upstreamTopic(topic)),
                text(policy.originalTopic(topic)),
                flag(policy.isHeartbeatsTopic(topic)),
                flag(policy.isCheckpointsTopic(topic)),
                flag(policy.isMM2InternalTopic(topic)),
                flag(policy.isInternalTopic(topic)),
                text(policy.offsetSyncsTopic("B")),
                text(policy.checkpointsTopic("B")),
                takes == null ? "?" : flag((Boolean) takes.invoke(filter, topic))));
            out.print('\n');
        }
        out.flush();
    }

    private static ReplicationPolicy policy(String[] fields) {
        DefaultReplicationPolicy policy = fields[0].equals("identity")
            ? new IdentityReplicationPolicy() : new DefaultReplicationPolicy();
        Map<String, Object> configs = new HashMap<>();
        configs.put("replication.policy.separator", fields[1]);
        configs.put("replication.policy.internal.topic.separator.enabled", fields[2]);
        if (!fields[3].isEmpty()) {
            configs.put("source.cluster.alias", fields[3]);
        }
        policy.configure(configs);
        return policy;
    }

    private static Object filter() throws Exception {
        try {
            Object filter = Class.forName("org.apache.kafka.connect.mirror.DefaultTopicFilter")
                .getDeclaredConstructor().newInstance();
            ((Configurable) filter).configure(Map.of());
            return filter;
        } catch (ClassNotFoundException absent) {
            return null;
        }
    }

    private static String text(String found) {
        return found == null ? "-" : "=" + found;
    }

    private static String flag(boolean found) {
        return found ? "1" : "0";
    }
}
