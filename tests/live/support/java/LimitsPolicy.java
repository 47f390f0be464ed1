import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.common.errors.PolicyViolationException;
import org.apache.kafka.server.policy.CreateTopicPolicy;

/**
 * A policy on new topics, and the oracle of the gateway's: limits_policy.py beside this directory
 * has the same rules in the same order, and says the same words.
 */
public class LimitsPolicy implements CreateTopicPolicy {
    private static final int MOST_WHEN_COMPACTED = 2;
    private static final long LONGEST_RETENTION_MS = 604_800_000L;
    private static final int NO_LEADER = 2;
    private static final String QUIET = "quiet";

    private int mostPartitions;
    private int fewestReplicas;

    @Override
    public void configure(Map<String, ?> configs) {
        mostPartitions = 2 * Integer.parseInt(configs.get("num.partitions").toString());
        fewestReplicas = Integer.parseInt(configs.get("default.replication.factor").toString());
    }

    @Override
    public void validate(RequestMetadata asked) throws PolicyViolationException {
        if (asked.topic().startsWith(QUIET)) {
            throw new PolicyViolationException(null);
        }
        List<String> wrong = new ArrayList<>();
        checkName(asked, wrong);
        checkPartitions(asked, wrong);
        checkReplicas(asked, wrong);
        checkConfigs(asked, wrong);
        if (!wrong.isEmpty()) {
            // Not ASCII, since messages may be anything.
            throw new PolicyViolationException(asText(asked) + " \u2260 policy: "
                    + String.join("; ", wrong));
        }
    }

    @Override
    public void close() {
    }

    private static void checkName(RequestMetadata asked, List<String> wrong) {
        if (!asked.topic().matches("[a-z][a-z0-9._-]*")) {
            wrong.add("a name has small letters and begins with one");
        }
    }

    private void checkPartitions(RequestMetadata asked, List<String> wrong) {
        boolean byHand = asked.replicasAssignments() != null;
        int partitions = byHand ? asked.replicasAssignments().size() : asked.numPartitions();
        boolean compacted = "compact".equals(asked.configs().get("cleanup.policy"));
        int most = compacted ? MOST_WHEN_COMPACTED : mostPartitions;
        if (partitions > most) {
            wrong.add(partitions + " partitions are more than " + most);
        }
    }

    private void checkReplicas(RequestMetadata asked, List<String> wrong) {
        if (asked.replicasAssignments() != null) {
            new TreeMap<>(asked.replicasAssignments()).forEach((partition, brokers) -> {
                if (brokers.get(0) == NO_LEADER) {
                    wrong.add("broker " + NO_LEADER + " would lead partition " + partition);
                }
            });
        } else if (asked.replicationFactor() < fewestReplicas) {
            wrong.add("a replication factor of " + asked.replicationFactor()
                    + " is less than " + fewestReplicas);
        }
    }

    private static void checkConfigs(RequestMetadata asked, List<String> wrong) {
        String retention = asked.configs().get("retention.ms");
        if (retention == null) {
            wrong.add("retention.ms has to be set");
            return;
        }
        long milliseconds = Long.parseLong(retention.trim());
        if (milliseconds < 0 || milliseconds > LONGEST_RETENTION_MS) {
            wrong.add("retention.ms " + retention + " is longer than " + LONGEST_RETENTION_MS);
        }
    }

    /** All that the policy was asked with, so that it is compared, too. */
    private static String asText(RequestMetadata asked) {
        Map<Integer, List<Integer>> assignments = asked.replicasAssignments();
        return "topic " + asked.topic() + ", partitions " + asked.numPartitions()
                + ", replication factor " + asked.replicationFactor()
                + ", assignments " + (assignments == null ? null : new TreeMap<>(assignments))
                + ", configs " + new TreeMap<>(asked.configs());
    }
}
